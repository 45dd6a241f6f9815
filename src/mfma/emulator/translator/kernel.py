"""The code of a module as the native loop runs it: the records of every instruction that a wave may come to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from mfma.emulator.decode import Instruction, decode
from mfma.emulator.profile_activity import Activity, Tally
from mfma.emulator.reach import Reach
from mfma.emulator.semantics.machine import Mode
from mfma.emulator.semantics.registry import DEFINITIONS
from mfma.emulator.translator import banks
from mfma.emulator.translator.driver import RECORD_WORDS, Code, Record, Stop
from mfma.emulator.translator.layout import address
from mfma.emulator.translator.translation import NONE, Column, Translation, kept, translated

__all__ = ["LOCK", "Counted", "Native", "Text"]

Text = tuple[int, bytes]
"""Device address of executable bytes, and the bytes."""

LOCK = threading.RLock()
"""Held while code is translated: launches, and threads of one, share it."""


class Native:
    """Executable bytes in one mode.

    Args:
        text: the bytes and where they are, which is a multiple of 4.
        mode: what the instructions are compiled for.
        reach: instructions that a wave at an address may come to; what is made of a `Reach` is kept on disk.

    Attributes:
        records: one for every dword, see `Record`.
        instructions: those that are translated, by address, each decoded when it is asked for.
        kinds: of each translated record the number of its mnemonic in ``examples``, which has one instruction of each.
        accesses: of each record how it accesses LDS, see `mfma.emulator.translator.banks.Word`; once it was asked for.
    """

    def __init__(self, text: Text, mode: Mode, reach: Callable[[int], Sequence[Instruction]]) -> None:
        self.base, self.bytes = text
        self.mode = mode
        self.reach = reach
        self.records = np.zeros((len(self.bytes) // 4, RECORD_WORDS), np.int64)
        self.instructions = _Decoded(text)
        self.kinds = np.zeros(len(self.records), np.int32)
        self.accesses = np.zeros((0, banks.DESCRIPTION_WORDS), np.int64)
        self._examples: list[int] = []
        self._numbers: dict[str, int] = {}
        self._operands: list[npt.NDArray[np.int64]] = []

    def __contains__(self, instruction: Instruction) -> bool:
        """Whether all of an instruction is in these bytes, and where a wave can be: symbols may be anywhere."""
        end = self.base + len(self.bytes) - instruction.size
        return self.base <= instruction.address <= end and instruction.address & 3 == 0

    @property
    def examples(self) -> list[Instruction]:
        """One instruction of each mnemonic."""
        return [self.instructions[address] for address in self._examples]

    def translate(self, pc: int) -> bool:
        """Fill in the records of all instructions that a wave at ``pc`` may come to; whether there is one at pc."""
        record = self.records[(pc - self.base) // 4]
        with LOCK:
            if record[Record.STOP] == Stop.UNKNOWN:
                self._place(self._translation(pc))
            return bool(record[Record.STOP] != Stop.UNKNOWN)

    def _translation(self, pc: int) -> Translation:
        name = None
        if isinstance(self.reach, Reach):
            name = self.reach.name("translation", pc - self.base, self.base - self.reach.base, self.mode)
            found = kept(name)
            if found is not None:
                return found
        reached = [i for i in self.reach(pc) if i in self and i.name in DEFINITIONS]
        return translated(reached, self.base, self.mode, name)

    def _place(self, translation: Translation) -> None:
        """Make records of all instructions that have none."""
        index = translation.column(Column.AT) // 4
        new = self.records[index, Record.STOP] == Stop.UNKNOWN
        index = index[new]
        of = {column: translation.column(column)[new] for column in Column}
        numbers = [self._number(translation, kind) for kind in range(len(translation.mnemonics))]
        self.kinds[index] = np.array(numbers, np.int32)[of[Column.KIND]]
        operands = translation.operands.copy()
        operands[translation.moving] += self.base
        self._operands.append(operands)
        target, form = of[Column.TARGET], of[Column.FORM]
        self.records[index, Record.OPERANDS] = address(operands) + 8 * of[Column.FIRST]
        self.records[index, Record.TARGET] = np.where(target == NONE, 0, target + self.base)
        self.records[index, Record.SIZE] = of[Column.SIZE]
        if len(self.accesses):
            self._describe(index)
        # another thread may be running this code, and Ctrl-C may come: the form, and what says that all is there, last
        self.records[index, Record.FORM] = np.where(form < 0, 0, np.append(translation.addresses, 0)[form])
        self.records[index, Record.STOP] = of[Column.STOP]

    def describe(self) -> None:
        """Fill in ``accesses``, from now on of what will be translated, too."""
        with LOCK:
            if not len(self.accesses):
                self.accesses = np.zeros((len(self.records), banks.DESCRIPTION_WORDS), np.int64)
                self._describe(np.flatnonzero(self.records[:, Record.STOP] != Stop.UNKNOWN))

    def _describe(self, index: npt.NDArray[np.int64]) -> None:
        for one in index.tolist():
            self.accesses[one] = banks.description(self.instructions[self.base + 4 * one])

    def _number(self, translation: Translation, kind: int) -> int:
        """Number of a mnemonic of a translation."""
        number = self._numbers.setdefault(translation.mnemonics[kind], len(self._numbers))
        if number == len(self._examples):
            first = np.argmax(translation.rows[:, Column.KIND] == kind)
            self._examples.append(self.base + int(translation.rows[first, Column.AT]))
        return number


class _Decoded(dict[int, Instruction]):
    """Instructions of some bytes by address."""

    def __init__(self, text: Text) -> None:
        self.base, self.bytes = text

    def __missing__(self, address: int) -> Instruction:
        instruction = self[address] = decode(self.bytes, address, address - self.base)
        return instruction


class Counted:
    """Native code, with counts of its instructions for one launch.

    Attributes:
        place: host address of what the native loop gets.
        first, end: device addresses of the first byte and behind the last.
        sums: of each record `mfma.emulator.translator.banks.SUM_WORDS`, if the launch is profiled.
    """

    def __init__(self, native: Native, profiled: bool = False) -> None:
        self.native = native
        self.counts = np.zeros(len(native.records), np.int64)
        self._words = np.zeros(len(Code), np.int64)
        self._words[Code.RECORDS], self._words[Code.COUNTS] = address(native.records), address(self.counts)
        self._words[Code.BASE], self._words[Code.LENGTH] = native.base, len(native.records)
        self.sums = np.zeros((len(native.records) if profiled else 0, banks.SUM_WORDS), np.int64)
        if profiled:
            native.describe()
            self._words[Code.ACCESSES], self._words[Code.SUMS] = address(native.accesses), address(self.sums)
        self.place = address(self._words)
        self.first, self.end = native.base, native.base + 4 * len(native.records)

    def each(self) -> Iterator[tuple[Instruction, int]]:
        """Instructions that ran and how often."""
        base, instructions = self.native.base, self.native.instructions
        for index in np.flatnonzero(self.counts).tolist():
            yield instructions[base + 4 * index], int(self.counts[index])

    def activity(self) -> Iterator[tuple[int, Activity]]:
        """Device addresses of instructions that ran in a profiled launch, and what was summed up there."""
        for index in np.flatnonzero(self.counts).tolist() if len(self.sums) else ():
            yield self.native.base + 4 * index, Activity(*self.sums[index, : len(Tally)].tolist())

    def totals(self) -> Iterator[tuple[Instruction, int]]:
        """One instruction of each mnemonic, and how often all of them ran."""
        examples = self.native.examples
        totals = np.zeros(len(examples), np.int64)
        ran = np.flatnonzero(self.counts)
        np.add.at(totals, self.native.kinds[ran], self.counts[ran])
        yield from zip(examples, totals.tolist(), strict=True)
