"""The native loop that runs a wave from instruction to instruction, until Python has to see to something.

Code is an array of records, one for every dword of the machine code, so that any address is its own entry: an
instruction's record is the one of its first dword. The loop calls its form, and goes on behind it or where the branch
or jump leads. It counts executions for each record, and keeps the rules of `mfma.emulator.interpreter.engine`: a wave
yields at a backward jump once its turn is over.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import IntEnum

from llvmlite import ir

from mfma.emulator.translator.function import DONE, TAKEN
from mfma.emulator.translator.layout import Field
from mfma.native.jit import function_address
from mfma.native.simd import I64, POINTER, Kernel, Value

__all__ = ["RECORD_WORDS", "WATCH_EVERY", "Code", "Record", "Stop", "driver"]

SOURCES = ("mfma.emulator.translator.driver", "mfma.emulator.translator.layout")
WATCH_EVERY = 1024
"""Instructions of a wave, a power of two, after which the loop returns for the watchdog and Ctrl-C."""


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


RECORD_WORDS = len(Record)


class Stop(IntEnum):
    """Why the loop returns. ``pc`` is the address of what comes next."""

    UNKNOWN = 0  # nobody has looked at the instruction at pc
    INTERPRET = 1  # the interpreter has to execute the instruction at pc
    OUTSIDE = 2  # pc is not in this code
    WATCH = 3  # `WATCH_EVERY` instructions have been executed, or MODE has changed and with it perhaps the forms
    YIELDED = 4  # the turn was over at a backward jump, or an instruction said so
    BARRIER = 5
    ENDED = 6


@functools.cache
def driver() -> Callable[[int, int], None]:
    """The loop, ``run(wave, code)``: host addresses of the wave's block and of words as `Code` names them."""
    address = function_address("mfma_run_wave", [DONE, TAKEN], _Driver, SOURCES)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)


class _Driver:
    """Writer of the loop."""

    def __init__(self, module: ir.Module) -> None:
        self.kernel = kernel = Kernel(module, "mfma_run_wave", [POINTER, POINTER])
        self.wave, code = kernel.arguments
        self.records, self.counts, self.base, self.length = (kernel.load(code, word, I64) for word in Code)
        self.turn, self.mode = self._get(Field.TURN), self._get(Field.MODE)
        # variables, which LLVM turns into registers: the record's number, and instructions so far
        self.index, self.executed = kernel.array(I64, 1), kernel.array(I64, 1)
        self.enter, self.step, self.end = (kernel.builder.append_basic_block(name) for name in ("enter", "step", "end"))
        self._get(Field.EXECUTED).store(self.executed)
        kernel.builder.branch(self.enter)
        self._enter()
        self._step()
        kernel.builder.position_at_end(self.end)
        kernel.finish()

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
        form, operands, size, why, target = (kernel.load(record, word, I64) for word in Record)
        here, following = self.base + (index << 2), index + size
        behind = self.base + (following << 2)
        executed = before + 1
        counts = self._pointer(self.counts)
        count = kernel.load(counts, index, I64)

        with self._when(form.equals(0), likely=False):
            with self._when(why < Stop.YIELDED):
                self._stop(why, here)
            (count + 1).store(counts, index)
            self._set(Field.EXECUTED, executed)
            self._set(Field.AT, here)
            self._stop(why, behind)

        (count + 1).store(counts, index)
        self._set(Field.EXECUTED, executed)
        self._set(Field.AT, here)
        outcome = self._call(form, operands)
        executed.store(self.executed)
        watch = (executed & (WATCH_EVERY - 1)).equals(0)
        mode_is_new = self._get(Field.MODE).equals(self.mode) ^ 1

        with self._when(outcome.equals(DONE), likely=True):
            with self._when(watch | mode_is_new, likely=False):
                self._stop(Stop.WATCH, behind)
            with self._when(following < self.length, likely=True):
                following.store(self.index)
                builder.branch(self.step)
            self._stop(Stop.OUTSIDE, behind)

        with self._when(outcome.equals(TAKEN), likely=True):
            with self._when(target.equals(0) ^ 1):
                self._set(Field.PC, target)
            backward = builder.icmp_unsigned("<", self._get(Field.PC).raw, behind.raw)
            with self._when(Value(kernel, backward) & (executed >= self.turn)):
                self._stop(Stop.YIELDED)
            with self._when(watch | mode_is_new, likely=False):
                self._stop(Stop.WATCH)
            builder.branch(self.enter)

        # the form could not: as if nothing had been tried
        count.store(counts, index)
        self._set(Field.EXECUTED, before)
        self._stop(Stop.INTERPRET, here)

    def _when(self, condition: Value, likely: bool | None = None) -> AbstractContextManager[None]:
        return self.kernel.when(condition, likely)

    def _stop(self, why: Value | Stop, pc: Value | None = None) -> None:
        """Return to Python."""
        kernel = self.kernel
        self._set(Field.STOP, kernel.constant(I64, why) if isinstance(why, Stop) else why)
        if pc is not None:
            self._set(Field.PC, pc)
        kernel.builder.branch(self.end)

    def _get(self, field: Field) -> Value:
        return self.kernel.load(self.wave, field.offset // 8, I64)

    def _set(self, field: Field, value: Value) -> None:
        value.store(self.wave, field.offset // 8)

    def _pointer(self, address: Value) -> Value:
        return Value(self.kernel, self.kernel.builder.inttoptr(address.raw, POINTER))

    def _call(self, form: Value, operands: Value) -> Value:
        builder = self.kernel.builder
        function = builder.inttoptr(form.raw, ir.FunctionType(I64, [POINTER, POINTER]).as_pointer())
        return Value(self.kernel, builder.call(function, [self.wave.raw, self._pointer(operands).raw]))
