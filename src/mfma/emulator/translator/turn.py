"""Native turns: a thread runs the waves of a work-group in the order of `mfma.emulator.schedule`.

A place is memory in which work-groups run, one after the other: as long as they end in their first turn, the next one
begins there without Python. It begins as the first one did, whose waves are kept as images, with other numbers.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from enum import IntEnum

from llvmlite import ir

from mfma.emulator.schedule import FIRST, TURN
from mfma.emulator.semantics.machine import ACC
from mfma.emulator.semantics.values import WAVE
from mfma.emulator.translator import banks
from mfma.emulator.translator.driver import Run, Stop, write_wave_loop
from mfma.emulator.translator.function import DONE, TAKEN
from mfma.emulator.translator.layout import SCALARS, SCRATCH, Field, Status
from mfma.native.jit import function_address
from mfma.native.simd import I8, I32, I64, POINTER, Kernel, Value, vector

__all__ = ["IMAGE", "ROW", "Word", "turn"]

SOURCES = (
    "mfma.emulator.schedule",
    *(f"mfma.emulator.translator.{name}" for name in ("driver", "turn", "layout")),
    *(f"mfma.emulator.semantics.{name}" for name in ("machine", "values")),
)
ROW = 4 * WAVE
"""Bytes of a vector register."""
IMAGE = ROW + SCRATCH - SCALARS
"""Bytes of a wave's image: v0, the scalar registers and the fields; all else begins as zeros."""
CHUNK = 64
"""Bytes that are copied or cleared at once; all sizes here are multiples."""


class Word(IntEnum):
    """Words of 64 bits of a place."""

    STOP = 0  # why the last turn returned, see `Stop`; after ENDED the next work-group begins
    WAVE = 1  # number of the wave that goes on; -1 if a turn begins
    WAVES = 2  # how many there are
    NUMBER = 3  # of the work-group in the launch
    LAST = 4  # of the last work-group that may begin here without Python
    IMAGES = 5  # host address of the waves' images
    BLOCKS = 6  # from here on host addresses of the waves' blocks


@functools.cache
def turn(profiled: bool = False) -> Callable[[int, int], None]:
    """``turn(run, place)``: host addresses of words as `Run` and `Word` name them.

    It runs until a turn is over, ``YIELDED`` or ``ENDED``, or until Python has to see to wave ``WAVE``.
    """
    parameters = [DONE, TAKEN, FIRST, TURN, profiled]
    write = functools.partial(_Turn, profiled=profiled)
    address = function_address("mfma_turn", parameters, write, (*SOURCES, *banks.SOURCES))
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)


def _pointer(value: Value) -> Value:
    return Value(value.kernel, value.kernel.builder.inttoptr(value.raw, POINTER))


class _Turn:
    """Writer of the function."""

    def __init__(self, module: ir.Module, profiled: bool) -> None:
        self.loop, self.begin_group = write_wave_loop(module, profiled), _write_begin(module)
        self.kernel = kernel = Kernel(module, "mfma_turn", [POINTER, POINTER])
        self.run, self.place = kernel.arguments
        names = "begin", "first", "round", "over"
        begin, first, self.round, self.over = map(kernel.builder.append_basic_block, names)
        self.waves = self._get(Word.WAVES)
        with kernel.when(self._get(Word.STOP).equals(Stop.ENDED)):
            kernel.builder.branch(begin)
        with kernel.when(self._get(Word.WAVE) < 0):
            kernel.builder.branch(first)
        kernel.builder.branch(self.round)

        kernel.builder.position_at_end(begin)
        kernel.builder.call(self.begin_group, [self.run.raw, self.place.raw])
        kernel.builder.branch(first)

        kernel.builder.position_at_end(first)
        self._begin_turn()
        kernel.builder.branch(self.round)

        kernel.builder.position_at_end(self.round)
        self._round()
        with kernel.when(self._get(Word.NUMBER) < self._get(Word.LAST)):
            kernel.builder.branch(begin)
        kernel.builder.branch(self.over)

        kernel.builder.position_at_end(self.over)
        kernel.finish()

    def _begin_turn(self) -> None:
        """Give every wave its time."""
        kernel = self.kernel
        with kernel.loop(self.waves) as number:
            wave = self._wave(number)
            executed = _field(wave, Field.EXECUTED)
            _set(wave, Field.TURN, executed + executed.maximum(FIRST).minimum(TURN))
            with kernel.when(_field(wave, Field.STATUS).equals(Status.YIELDED)):
                self._ready(wave)
        self._set(Word.WAVE, 0)

    def _round(self) -> None:
        """Run every wave that can go on until it stops, and those at a barrier once all are there."""
        kernel = self.kernel
        with kernel.loop(self.waves, start=self._get(Word.WAVE)) as number:
            wave = self._wave(number)
            with kernel.when(_field(wave, Field.STATUS).equals(Status.READY)):
                number.store(self.place, Word.WAVE)
                why = Value(kernel, kernel.builder.call(self.loop, [wave.raw, self.run.raw]))
                with kernel.when(why < Stop.YIELDED, likely=False):
                    why.store(self.place, Word.STOP)
                    kernel.builder.branch(self.over)
        zero = kernel.constant(I64, 0)
        with kernel.loop_carrying(self.waves, [zero, zero]) as (number, found):
            status = _field(self._wave(number), Field.STATUS)
            for i, kind in enumerate((Status.YIELDED, Status.BARRIER)):
                found[i] = found[i] | status.equals(kind).to(I64, signed=False)
        yielded, waiting = found
        with kernel.when(yielded > 0):
            self._end_turn(Stop.YIELDED)
            kernel.builder.branch(self.over)
        with kernel.when(waiting > 0):
            with kernel.loop(self.waves) as number:
                wave = self._wave(number)
                with kernel.when(_field(wave, Field.STATUS).equals(Status.BARRIER)):
                    self._ready(wave)
            self._set(Word.WAVE, 0)
            kernel.builder.branch(self.round)
        self._end_turn(Stop.ENDED)

    def _end_turn(self, why: Stop) -> None:
        self._set(Word.STOP, why)
        self._set(Word.WAVE, -1)

    def _ready(self, wave: Value) -> None:
        _set(wave, Field.STATUS, self.kernel.constant(I64, Status.READY))

    def _wave(self, number: Value) -> Value:
        return _pointer(self.kernel.load(self.place, number + Word.BLOCKS, I64))

    def _get(self, word: Word) -> Value:
        return self.kernel.load(self.place, word, I64)

    def _set(self, word: Word, value: int) -> None:
        self.kernel.constant(I64, value).store(self.place, word)


def _write_begin(module: ir.Module) -> ir.Function:
    """``void begin(run, place)``: let the next work-group begin."""
    kernel = Kernel(module, "begin_group", [POINTER, POINTER], exported=False)
    run, place = kernel.arguments
    number = kernel.load(place, Word.NUMBER, I64) + 1
    number.store(place, Word.NUMBER)
    waves = kernel.load(place, Word.WAVES, I64)
    columns, rows = (kernel.load(run, word, I64) for word in (Run.COLUMNS, Run.ROWS))
    row, layer = number // columns, number // columns // rows
    numbers = number - row * columns, row - layer * rows, layer
    vectors, accumulators = (kernel.load(run, word, I64) for word in (Run.VECTORS, Run.ACCUMULATORS))
    images = kernel.load(place, Word.IMAGES, I64)
    with kernel.loop(waves) as i:
        at = kernel.load(place, i + Word.BLOCKS, I64)
        wave, image = _pointer(at), images + i * IMAGE
        _clear(wave, vectors * ROW)
        _clear(_pointer(at + ACC * ROW), accumulators * ROW)
        _copy(_pointer(image), wave, ROW)
        _copy(_pointer(image + ROW), _pointer(at + SCALARS), IMAGE - ROW)
        _set(wave, Field.SERIAL, number * waves + i)
        for word, value in zip((Run.X, Run.Y, Run.Z), numbers, strict=True):
            register = kernel.load(run, word, I64)
            with kernel.when(register >= 0):
                value.to(I32).store(_pointer(at + SCALARS), register)
        _clear(_pointer(_field(wave, Field.SCRATCH)), _field(wave, Field.SCRATCH_SIZE) * WAVE)
    wave = _pointer(kernel.load(place, Word.BLOCKS, I64))
    lds, size = _pointer(_field(wave, Field.LDS)), _field(wave, Field.LDS_SIZE)
    with kernel.loop(size) as byte:
        kernel.constant(I8, 0).store(lds, byte)
    kernel.finish()
    return kernel.function


def _clear(memory: Value, size: Value) -> None:
    kernel = memory.kernel
    chunk = vector(I64, CHUNK // 8)
    with kernel.loop(size.shr(3), step=CHUNK // 8) as word:
        kernel.constant(chunk, 0).store(memory, word)


def _copy(source: Value, target: Value, size: int) -> None:
    kernel = source.kernel
    chunk = vector(I64, CHUNK // 8)
    with kernel.loop(size // 8, step=CHUNK // 8) as word:
        kernel.load(source, word, chunk).store(target, word)


def _field(wave: Value, field: Field) -> Value:
    return wave.kernel.load(wave, field.offset // 8, I64)


def _set(wave: Value, field: Field, value: Value) -> None:
    value.store(wave, field.offset // 8)
