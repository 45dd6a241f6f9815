"""The native counter of LDS bank cycles: for every execution of an instruction, by the model of `mfma.timing.banks`.

The loop of a profiled launch calls it before an LDS instruction that has a description. To look bank by bank
takes longer than the instruction, but waves and rounds of a loop nearly always have their lanes at the same distances
from one another, and then the answer is the same: what moves all addresses by some words gives the banks other numbers.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from mfma.emulator.decode import Instruction
from mfma.emulator.profile_activity import Tally, bank_access
from mfma.emulator.semantics.machine import EXEC
from mfma.emulator.semantics.values import WAVE
from mfma.emulator.translator.layout import SCALARS, address
from mfma.native.simd import I1, I8, I32, I64, POINTER, Kernel, Value, vector
from mfma.timing.banks import ATOMIC, BANK_BYTES, BANKS, phases

__all__ = ["DESCRIPTION_WORDS", "SOURCES", "SUM_WORDS", "Word", "description", "write"]

SOURCES = ("mfma.emulator.translator.banks", "mfma.emulator.profile_activity", "mfma.timing.banks")
CHUNK = 16


class Word(IntEnum):
    """Words of 64 bits that describe an access; all zero for an instruction that makes none."""

    ROW = 0  # byte of the wave's block at which the address register begins
    LANES = 1  # host address of the lanes' numbers, a byte each, in the order in which phases serve them
    PHASE = 2  # how many lanes a phase has
    WIDTH = 3  # words of a bank that a lane accesses
    SHARED = 4  # 1 if lanes with one word share its cycle
    PLACES = 5  # 1, or 2 if there are two offsets
    OFFSET = 6
    OFFSET_2 = 7


DESCRIPTION_WORDS = len(Word)


class Sum(IntEnum):
    """Words of 64 bits that the loop has for each record, behind those of a `Tally`; then 64 places of 32 bits."""

    SEEN_ACTIVE = len(Tally)  # the active lanes when somebody looked how long the banks take
    SEEN_BYTE = len(Tally) + 1  # where in its word the first of them was
    SEEN_IDEAL = len(Tally) + 2  # what came out
    SEEN_LOST = len(Tally) + 3


SUM_WORDS = len(Tally) + len(Sum) + WAVE // 2
"""Of each record, all zero at first, which is right for no active lane."""


def description(instruction: Instruction) -> tuple[int, ...]:
    """What the native counter needs of an instruction, as `Word` names it."""
    access = bank_access(instruction)
    if access is None:
        return (0,) * len(Word)
    order, phase = _order(access.direction, access.width)
    first, *more = access.offsets
    return (
        4 * WAVE * access.register,
        address(order),
        phase,
        max(1, access.width // BANK_BYTES),
        int(access.direction != ATOMIC),
        len(access.offsets),
        first,
        *(more or [0]),
    )


@cache  # which also keeps the array alive
def _order(direction: str, width: int) -> tuple[npt.NDArray[np.uint8], int]:
    lanes = np.array(phases(direction, width), np.uint8)
    return lanes.ravel(), lanes.shape[1]


def write(module: ir.Module) -> ir.Function:
    """Add ``void count(wave, description, sums, times)`` to a module.

    It adds so many executions to an instruction's sums: 1, or -1 to take one back before anything has changed.
    """
    return _Counter(module).kernel.function


class _Counter:
    """Writer of the function."""

    def __init__(self, module: ir.Module) -> None:
        self.kernel = kernel = Kernel(module, "bank_cycles", [POINTER, POINTER, POINTER, I64], exported=False)
        wave, described, self.sums, times = kernel.arguments
        self.words = [kernel.load(described, word, I64) for word in Word]
        self.active = kernel.load(kernel.address(wave, SCALARS + 4 * EXEC, I8), 0, I64)
        self.row = kernel.address(wave, self.words[Word.ROW], I8)
        self.lanes = Value(kernel, kernel.builder.inttoptr(self.words[Word.LANES].raw, POINTER))
        first = kernel.call("llvm.cttz", self.active, kernel.constant(I1, 0)) & (WAVE - 1)
        self.base = kernel.load(self.row, first, I32)
        # of the phase at hand: for each bank the words that it was asked for, and how many; the most of any bank
        self.asked, self.counts, self.worst = (kernel.array(I32, n) for n in (BANKS * WAVE, BANKS, 1))
        with kernel.when(self._differs(), likely=False):
            self._look()
        ideal, lost = (kernel.load(self.sums, word, I64) for word in (Sum.SEEN_IDEAL, Sum.SEEN_LOST))
        more = (lost > 0).select(kernel.constant(I64, 1), 0)
        for word, value in ((Tally.IDEAL, ideal), (Tally.LOST, lost), (Tally.CONFLICTING, more)):
            (kernel.load(self.sums, word, I64) + value * times).store(self.sums, word)
        kernel.finish()

    def _offsets(self, lane: Value) -> Value:
        """Where a chunk of lanes is, seen from the first active one."""
        return self.kernel.load(self.row, lane, vector(I32, CHUNK)) - self.base

    def _seen(self, lane: Value) -> Value:
        """Where the chunk was when somebody looked."""
        return self.kernel.address(self.sums, lane + 2 * (len(Tally) + len(Sum)), I32)

    def _differs(self) -> Value:
        """Whether lanes are elsewhere, relative to one another, than when somebody looked."""
        kernel = self.kernel
        same = kernel.load(self.sums, Sum.SEEN_ACTIVE, I64).equals(self.active)
        same = same & kernel.load(self.sums, Sum.SEEN_BYTE, I64).equals((self.base & (BANK_BYTES - 1)).to(I64))
        nobody = kernel.constant(vector(I1, CHUNK), 0)
        with kernel.loop_carrying(WAVE, [nobody], step=CHUNK) as (lane, others):
            bits = self.active.shr(lane).to(ir.IntType(CHUNK))
            mask = Value(kernel, kernel.builder.bitcast(bits.raw, vector(I1, CHUNK)))
            there = kernel.load(self._seen(lane), 0, vector(I32, CHUNK))
            others[0] = others[0] | (mask & (self._offsets(lane).equals(there) ^ 1))
        return others[0].any() | (same ^ 1)

    def _look(self) -> None:
        """Find the cycles, and keep for which lanes at which places."""
        kernel, words = self.kernel, self.words
        zero = kernel.constant(I64, 0)
        phases_ = Value(kernel, kernel.builder.udiv(ir.Constant(I64, WAVE), words[Word.PHASE].raw))
        with kernel.loop_carrying(words[Word.PLACES], [zero, zero]) as (place, totals):
            offset = place.equals(0).select(words[Word.OFFSET], words[Word.OFFSET_2]).to(I32)
            with kernel.loop_carrying(phases_, totals) as (phase, sums):
                cycles = self._phase(phase * words[Word.PHASE], offset)
                busy = (cycles > 0).select(zero + 1, zero)
                sums[:] = [sums[0] + busy, sums[1] + cycles - busy]
            totals[:] = sums
        totals[0].store(self.sums, Sum.SEEN_IDEAL)
        totals[1].store(self.sums, Sum.SEEN_LOST)
        self.active.store(self.sums, Sum.SEEN_ACTIVE)
        (self.base & (BANK_BYTES - 1)).to(I64).store(self.sums, Sum.SEEN_BYTE)
        with kernel.loop(WAVE, step=CHUNK) as lane:
            self._offsets(lane).store(self._seen(lane))

    def _phase(self, first: Value, offset: Value) -> Value:
        """Cycles of the phase of the lanes that stand at ``first`` and behind."""
        kernel, one = self.kernel, self.kernel.constant(I32, 1)
        words = ((one.to(I64) << self.words[Word.WIDTH]) - 1).to(I32)
        # nearly always banks are asked once at most: then there are as many of them as words
        with kernel.loop_carrying(self.words[Word.PHASE], [one - 1, one - 1]) as (position, found):
            lane, word = self._word(first + position, offset)
            active = (self.active.shr(lane) & 1).to(I32)
            asked = kernel.call("llvm.fshl", words, words, word & (BANKS - 1)) & (0 - active)
            found[:] = [found[0] | asked, found[1] + active]
        asked, lanes = found
        (lanes > 0).select(one, 0).store(self.worst)
        apart = kernel.call("llvm.ctpop", asked).equals(lanes * self.words[Word.WIDTH].to(I32))
        with kernel.when(apart ^ 1, likely=False):
            self._count(first, offset)
        return kernel.load(self.worst, 0, I32).to(I64)

    def _word(self, place: Value, offset: Value) -> tuple[Value, Value]:
        """Number of the lane that stands at a place, and of the first word that it accesses."""
        lane = self.kernel.load(self.lanes, place, I8).to(I64, signed=False)
        return lane, (self.kernel.load(self.row, lane, I32) + offset).shr(2)

    def _count(self, first: Value, offset: Value) -> None:
        """Ask bank by bank."""
        kernel = self.kernel
        for bank in range(0, BANKS, CHUNK):
            kernel.constant(vector(I32, CHUNK), 0).store(self.counts, bank)
        with kernel.loop(self.words[Word.PHASE]) as position:
            lane, word = self._word(first + position, offset)
            with kernel.when((self.active.shr(lane) & 1) > 0), kernel.loop(self.words[Word.WIDTH]) as more:
                self._ask(word + more.to(I32))

    def _ask(self, word: Value) -> None:
        """Ask a bank for a word, unless it was and lanes share it."""
        kernel = self.kernel
        bank = (word & (BANKS - 1)).to(I64)
        count = kernel.load(self.counts, bank, I32)
        compared = count.to(I64) * self.words[Word.SHARED]
        with kernel.loop_carrying(compared, [kernel.constant(I1, 0)]) as (earlier, known):
            known[0] = known[0] | kernel.load(self.asked, bank * WAVE + earlier, I32).equals(word)
        with kernel.when(known[0] ^ 1):
            word.store(self.asked, bank * WAVE + count.to(I64))
            (count + 1).store(self.counts, bank)
            worst = kernel.load(self.worst, 0, I32)
            (count + 1 > worst).select(count + 1, worst).store(self.worst)
