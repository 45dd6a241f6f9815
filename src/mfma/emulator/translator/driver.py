"""The native loop that runs a wave from instruction to instruction, until it stops or Python has to see to something.

Code is an array of records, one for every dword of the machine code, so that any address is its own entry: an
instruction's record is the one of its first dword. The loop calls its form, and goes on behind it or where the branch
or jump leads. It counts executions for each record, and keeps the rules of `mfma.emulator.interpreter.engine`: a wave
yields at a backward jump once its turn is over.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import IntEnum

from llvmlite import ir

from mfma.emulator.profile_activity import Tally
from mfma.emulator.schedule import WATCH_EVERY
from mfma.emulator.semantics.machine import EXEC
from mfma.emulator.translator import banks
from mfma.emulator.translator.banks import DESCRIPTION_WORDS, SUM_WORDS, Word
from mfma.emulator.translator.function import DONE, TAKEN
from mfma.emulator.translator.layout import SCALARS, Field, Status
from mfma.native.simd import I8, I64, POINTER, Kernel, Value

__all__ = ["RECORD_WORDS", "Code", "Record", "Run", "Stop", "write_wave_loop"]


class Record(IntEnum):
    """Words of 64 bits of a record."""

    FORM = 0  # host address of the form; 0 if there is none
    OPERANDS = 1  # host address of what the form gets
    SIZE = 2  # dwords of the instruction
    STOP = 3  # of an instruction without a form, why the loop returns: a `Stop`
    TARGET = 4  # of a branch, the device address that it goes to; 0 if the form sets pc


class Code(IntEnum):
    """Words of 64 bits that describe the code that the loop gets."""

    RECORDS = 0  # host address
    COUNTS = 1  # host address of one count for each record
    BASE = 2  # device address of the first dword
    LENGTH = 3  # dwords
    ACCESSES = 4  # of a profiled launch, host address of `mfma.emulator.translator.banks.Word`s for each record
    SUMS = 5  # of a profiled launch, host address of `SUM_WORDS` for each record


RECORD_WORDS = len(Record)


class Run(IntEnum):
    """Words of 64 bits that a thread has for its part of a launch."""

    EXECUTED = 0  # instructions of all its waves so far
    BOUND = 1  # value of EXECUTED from which on it returns to Python
    COLUMNS = 2  # work-groups in x
    ROWS = 3  # in y
    X = 4  # the scalar register that begins with the work-group's number in x, or -1
    Y = 5
    Z = 6
    VECTORS = 7  # vector registers that waves may change, from the first on
    ACCUMULATORS = 8  # accumulation registers


class Stop(IntEnum):
    """Why the loop returns. ``pc`` is the address of what comes next."""

    UNKNOWN = 0  # nobody has looked at the instruction at pc
    INTERPRET = 1  # the interpreter has to execute the instruction at pc
    OUTSIDE = 2  # pc is not in the wave's code, or MODE has changed, and with it perhaps the code
    WATCH = 3  # enough has been executed; the wave may have stopped, too
    # the wave stops, and its status says the same
    YIELDED = 4  # the turn was over at a backward jump, or an instruction said so
    BARRIER = 5
    ENDED = 6


STATUS = Stop.YIELDED - Status.YIELDED
"""What a reason to stop has more than the wave's status."""


def write_wave_loop(module: ir.Module, profiled: bool) -> ir.Function:
    """``i64 loop(wave, run)``: host addresses of the wave's block and of words as `Run` names them; a `Stop`.

    A ``profiled`` one also sums up what `mfma.emulator.profile_activity` names.
    """
    return _WaveLoop(module, banks.write(module) if profiled else None).kernel.function


class _WaveLoop:
    """Writer of the loop."""

    def __init__(self, module: ir.Module, count_banks: ir.Function | None) -> None:
        self.count_banks = count_banks
        self.kernel = kernel = Kernel(module, "run_wave", [POINTER, POINTER], exported=False, result=I64)
        self.wave, self.run = kernel.arguments
        # variables, which LLVM turns into registers: the record's number, instructions so far, and why the loop ends
        self.index, self.executed, self.why = (kernel.array(I64, 1) for _ in range(3))
        names = "enter", "step", "end", "outside"
        self.enter, self.step, self.end, self.outside = map(kernel.builder.append_basic_block, names)
        started, self.before = self._get(Field.EXECUTED), kernel.load(self.run, Run.EXECUTED, I64)
        self.bound = kernel.load(self.run, Run.BOUND, I64) - self.before + started
        started.store(self.executed)
        code = self._get(Field.CODE)
        with self._when(code.equals(0), likely=False):
            kernel.builder.branch(self.outside)
        self.records, self.counts, self.base, self.length, self.accesses, self.sums = (
            kernel.load(self._pointer(code), word, I64) for word in Code
        )
        self.turn, self.mode = self._get(Field.TURN), self._get(Field.MODE)
        kernel.builder.branch(self.enter)
        self._enter()
        self._step()
        kernel.builder.position_at_end(self.outside)
        self._stop(Stop.OUTSIDE)
        kernel.builder.position_at_end(self.end)
        (self.before + self._get(Field.EXECUTED) - started).store(self.run, Run.EXECUTED)
        kernel.finish(kernel.load(self.why, 0, I64))

    def _enter(self) -> None:
        """Find the record of the instruction at pc."""
        builder = self.kernel.builder
        builder.position_at_end(self.enter)
        offset = self._get(Field.PC) - self.base
        dword = offset.shr(2)
        dword.store(self.index)
        with self._when((offset & 3).equals(0) & (dword < self.length), likely=True):
            builder.branch(self.step)
        self._stop(Stop.OUTSIDE)

    def _step(self) -> None:
        """Execute the instruction of the record."""
        kernel, builder = self.kernel, self.kernel.builder
        builder.position_at_end(self.step)
        index, before = kernel.load(self.index, 0, I64), kernel.load(self.executed, 0, I64)
        record = self._pointer(self.records + index * (8 * RECORD_WORDS))
        # in the order opposite to the one in which `Native` fills a record in, maybe at this moment
        form, why = (self._published(record, word) for word in (Record.FORM, Record.STOP))
        operands, size, target = (
            kernel.load(record, word, I64) for word in (Record.OPERANDS, Record.SIZE, Record.TARGET)
        )
        here, following = self.base + (index << 2), index + size
        behind = self.base + (following << 2)
        executed = before + 1
        count = kernel.load(self._pointer(self.counts), index, I64)

        with self._when(form.equals(0), likely=False):
            with self._when(why < Stop.YIELDED):
                self._stop(why, here)
            self._count(index, count + 1, executed, here)
            self._set(Field.PC, behind)
            self._stop_wave(why, executed)

        self._count(index, count + 1, executed, here)
        self._sum_up(index, 1)
        outcome = self._call(form, operands)
        executed.store(self.executed)
        watch = (executed & (WATCH_EVERY - 1)).equals(0) & (executed >= self.bound)
        mode_is_new = self._get(Field.MODE).equals(self.mode) ^ 1

        with self._when(outcome.equals(DONE), likely=True):
            with self._when(watch | mode_is_new, likely=False):
                self._set(Field.PC, behind)
                self._look_up(mode_is_new, watch)
            with self._when(following < self.length, likely=True):
                following.store(self.index)
                builder.branch(self.step)
            self._stop(Stop.OUTSIDE, behind)

        with self._when(outcome.equals(TAKEN), likely=True):
            with self._when(target.equals(0) ^ 1):
                self._set(Field.PC, target)
            backward = builder.icmp_unsigned("<", self._get(Field.PC).raw, behind.raw)
            with self._when(Value(kernel, backward) & (executed >= self.turn)):
                with self._when(mode_is_new, likely=False):
                    self._forget_code()
                self._stop_wave(kernel.constant(I64, Stop.YIELDED), executed)
            with self._when(watch | mode_is_new, likely=False):
                self._look_up(mode_is_new, watch)
            builder.branch(self.enter)

        # the form could not: as if nothing had been tried
        self._count(index, count, before, here)
        self._sum_up(index, -1)
        self._stop(Stop.INTERPRET, here)

    def _count(self, index: Value, count: Value, executed: Value, here: Value) -> None:
        """Say what the wave executes."""
        count.store(self._pointer(self.counts), index)
        self._set(Field.EXECUTED, executed)
        self._set(Field.AT, here)

    def _sum_up(self, index: Value, times: int) -> None:
        """Add an execution that is to come to the sums of a profile, or (-1) take back one that was none."""
        if self.count_banks is None:
            return
        kernel = self.kernel
        sums = self._pointer(self.sums + index * (8 * SUM_WORDS))
        active = kernel.load(kernel.address(self.wave, SCALARS + 4 * EXEC, I8), 0, I64)
        lanes = kernel.call("llvm.ctpop", active) * times
        (kernel.load(sums, Tally.LANES, I64) + lanes).store(sums, Tally.LANES)
        access = self._pointer(self.accesses + index * (8 * DESCRIPTION_WORDS))
        with self._when(kernel.load(access, Word.PLACES, I64) > 0):
            given = self.wave, access, sums, kernel.constant(I64, times)
            kernel.builder.call(self.count_banks, [value.raw for value in given])

    def _look_up(self, mode_is_new: Value, watch: Value) -> None:
        """Stop because enough has been executed, or for the code of a new mode, or for both."""
        with self._when(mode_is_new):
            self._forget_code()
        stop = self.kernel.constant(I64, Stop.WATCH)
        self._stop(watch.select(stop, stop.like(Stop.OUTSIDE)))

    def _forget_code(self) -> None:
        self._set(Field.CODE, self.kernel.constant(I64, 0))

    def _stop_wave(self, why: Value, executed: Value) -> None:
        """Stop because the wave does."""
        self._set(Field.STATUS, why - STATUS)
        self._stop((executed >= self.bound).select(why.like(Stop.WATCH), why))

    def _when(self, condition: Value, likely: bool | None = None) -> AbstractContextManager[None]:
        return self.kernel.when(condition, likely)

    def _stop(self, why: Value | Stop, pc: Value | None = None) -> None:
        """Leave the loop."""
        kernel = self.kernel
        (kernel.constant(I64, why) if isinstance(why, Stop) else why).store(self.why)
        if pc is not None:
            self._set(Field.PC, pc)
        kernel.builder.branch(self.end)

    def _get(self, field: Field) -> Value:
        return self.kernel.load(self.wave, field.offset // 8, I64)

    def _set(self, field: Field, value: Value) -> None:
        value.store(self.wave, field.offset // 8)

    def _published(self, record: Value, word: Record) -> Value:
        """A word of a record, read before all that is read after it."""
        kernel = self.kernel
        place = kernel.address(record, 8 * word, I8)
        return Value(kernel, kernel.builder.load_atomic(place.raw, "acquire", 8, typ=I64))

    def _pointer(self, address: Value) -> Value:
        return Value(self.kernel, self.kernel.builder.inttoptr(address.raw, POINTER))

    def _call(self, form: Value, operands: Value) -> Value:
        builder = self.kernel.builder
        function = builder.inttoptr(form.raw, ir.FunctionType(I64, [POINTER, POINTER]).as_pointer())
        return Value(self.kernel, builder.call(function, [self.wave.raw, self._pointer(operands).raw]))
