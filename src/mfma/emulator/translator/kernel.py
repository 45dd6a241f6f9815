"""The code of a module as the native loop runs it: the records of every instruction that a wave may come to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.machine import Mode
from mfma.emulator.semantics.registry import DEFINITIONS
from mfma.emulator.translator.driver import RECORD_WORDS, Code, Record, Stop
from mfma.emulator.translator.forms import Form, compile
from mfma.emulator.translator.layout import address

__all__ = ["LOCK", "Counted", "Native", "Text"]

Text = tuple[int, bytes]
"""Device address of executable bytes, and the bytes."""

LOCK = threading.RLock()
"""Held while code is translated: launches, and threads of one, share it."""

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

    Attributes:
        records: one for every dword, see `Record`.
        instructions: those that are translated, by address.
        kinds: of each translated record the number of its mnemonic in ``examples``, which has one instruction of each.
    """

    def __init__(self, text: Text, mode: Mode, reach: Callable[[int], Sequence[Instruction]]) -> None:
        self.base, self.bytes = text
        self.mode = mode
        self.reach = reach
        self.records = np.zeros((len(self.bytes) // 4, RECORD_WORDS), np.int64)
        self.instructions: dict[int, Instruction] = {}
        self.kinds = np.zeros(len(self.records), np.int32)
        self.examples: list[Instruction] = []
        self._numbers: dict[str, int] = {}
        self._operands: list[npt.NDArray[np.int64]] = []

    def __contains__(self, instruction: Instruction) -> bool:
        """Whether all of an instruction is in these bytes."""
        return self.base <= instruction.address <= self.base + len(self.bytes) - instruction.size

    def translate(self, pc: int) -> bool:
        """Fill in the records of all instructions that a wave at ``pc`` may come to; whether there is one at pc."""
        with LOCK:
            if pc not in self.instructions:
                self._translate(self.reach(pc))
            return pc in self.instructions

    def _translate(self, reached: Sequence[Instruction]) -> None:
        new = [i for i in reached if i in self and i.address not in self.instructions and i.name in DEFINITIONS]
        forms: list[Form | None] = compile(new, self.mode)
        operands = np.array([word for form in forms if form for word in form.operands], np.int64)
        self._operands.append(operands)
        place = address(operands)
        for instruction, form in zip(new, forms, strict=True):
            index = (instruction.address - self.base) // 4
            record = self.records[index]
            record[Record.SIZE] = instruction.size // 4
            record[Record.STOP] = STOPS.get(instruction.name, Stop.INTERPRET)
            self.instructions[instruction.address] = instruction
            self.kinds[index] = self._kind(instruction)
            if form is not None:
                record[Record.OPERANDS] = place
                record[Record.TARGET] = instruction.target if form.branches else 0
                record[Record.FORM] = form.address  # last: another thread may be running this code
                place += 8 * len(form.operands)

    def _kind(self, instruction: Instruction) -> int:
        """Number of the mnemonic."""
        number = self._numbers.setdefault(instruction.mnemonic, len(self.examples))
        if number == len(self.examples):
            self.examples.append(instruction)
        return number


class Counted:
    """Native code, with counts of its instructions for one launch.

    Attributes:
        place: host address of what the native loop gets.
        first, end: device addresses of the first byte and behind the last.
    """

    def __init__(self, native: Native) -> None:
        self.native = native
        self.counts = np.zeros(len(native.records), np.int64)
        self._words = np.zeros(len(Code), np.int64)
        self._words[Code.RECORDS], self._words[Code.COUNTS] = address(native.records), address(self.counts)
        self._words[Code.BASE], self._words[Code.LENGTH] = native.base, len(native.records)
        self.place = address(self._words)
        self.first, self.end = native.base, native.base + 4 * len(native.records)

    def each(self) -> Iterator[tuple[Instruction, int]]:
        """Instructions that ran and how often."""
        base, instructions = self.native.base, self.native.instructions
        for index in np.flatnonzero(self.counts).tolist():
            yield instructions[base + 4 * index], int(self.counts[index])

    def totals(self) -> Iterator[tuple[Instruction, int]]:
        """One instruction of each mnemonic, and how often all of them ran."""
        totals = np.zeros(len(self.native.examples), np.int64)
        ran = np.flatnonzero(self.counts)
        np.add.at(totals, self.native.kinds[ran], self.counts[ran])
        yield from zip(self.native.examples, totals.tolist(), strict=True)
