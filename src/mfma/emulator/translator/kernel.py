"""The code of a module as the native loop runs it: the records of every instruction that a wave may come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.machine import Mode
from mfma.emulator.semantics.registry import DEFINITIONS
from mfma.emulator.translator.driver import RECORD_WORDS, Code, Record, Stop
from mfma.emulator.translator.forms import Form, compile
from mfma.emulator.translator.layout import address

__all__ = ["Counted", "Native", "Text"]

Text = tuple[int, bytes]
"""Device address of executable bytes, and the bytes."""

STOPS = {
    "s_barrier": Stop.BARRIER,
    "s_endpgm": Stop.ENDED,
    "s_endpgm_saved": Stop.ENDED,
    "s_endpgm_ordered_ps_done": Stop.ENDED,
    "s_sleep": Stop.YIELDED,
}
"""What only changes whether the wave goes on; the engine does that."""


class Native:
    """Executable bytes in one mode.

    Args:
        text: the bytes and where they are.
        mode: what the instructions are compiled for.
        reach: instructions that a wave at an address may come to.
    """

    def __init__(self, text: Text, mode: Mode, reach: Callable[[int], Sequence[Instruction]]) -> None:
        self.base, self.bytes = text
        self.mode = mode
        self.reach = reach
        self.records = np.zeros((len(self.bytes) // 4, RECORD_WORDS), np.int64)
        self.instructions: dict[int, Instruction] = {}
        self._operands: list[npt.NDArray[np.int64]] = []

    def __contains__(self, pc: int) -> bool:
        """Whether an address is in these bytes."""
        return self.base <= pc < self.base + 4 * len(self.records)

    def translate(self, pc: int) -> bool:
        """Fill in the records of all instructions that a wave at ``pc`` may come to; whether there is one at pc."""
        new = [
            i for i in self.reach(pc)
            if i.address in self and i.address not in self.instructions and i.name in DEFINITIONS
        ]  # fmt: skip
        forms: list[Form | None] = compile(new, self.mode)
        operands = np.array([word for form in forms if form for word in form.operands], np.int64)
        self._operands.append(operands)
        place = address(operands)
        for instruction, form in zip(new, forms, strict=True):
            record = self.records[(instruction.address - self.base) // 4]
            record[Record.SIZE] = instruction.size // 4
            record[Record.STOP] = STOPS.get(instruction.name, Stop.INTERPRET)
            if form is not None:
                record[Record.FORM], record[Record.OPERANDS] = form.address, place
                record[Record.TARGET] = instruction.target if form.branches else 0
                place += 8 * len(form.operands)
            self.instructions[instruction.address] = instruction
        return pc in self.instructions


class Counted:
    """Native code, with counts of its instructions for one launch.

    Attributes:
        place: host address of what the native loop gets.
    """

    def __init__(self, native: Native) -> None:
        self.native = native
        self.counts = np.zeros(len(native.records), np.int64)
        self._words = np.zeros(len(Code), np.int64)
        self._words[Code.RECORDS], self._words[Code.COUNTS] = address(native.records), address(self.counts)
        self._words[Code.BASE], self._words[Code.LENGTH] = native.base, len(native.records)
        self.place = address(self._words)

    def items(self) -> Iterator[tuple[Instruction, Any]]:
        """Instructions that ran and how often."""
        base, instructions = self.native.base, self.native.instructions
        for index in np.flatnonzero(self.counts).tolist():
            yield instructions[base + 4 * index], int(self.counts[index])
