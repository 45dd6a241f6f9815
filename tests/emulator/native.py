"""Runs single instructions on the native engine's functions, for the tests of instructions and of the functions."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from mfma.emulator.decode import Instruction
from mfma.emulator.interpreter.wave import Wave
from mfma.emulator.semantics.machine import Mode
from mfma.emulator.translator.forms import Form, compile
from mfma.emulator.translator.function import CANNOT, TAKEN
from mfma.emulator.translator.layout import Field, address, buffer_table

FORM = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


@cache
def _batch(mode: Mode) -> None:
    """Compile every text that the test modules name, all at once, which is much faster."""
    from emulator import forms  # which runs instructions here

    if mode == Mode():
        instructions = map(forms.instruction, forms.TEXTS)
        compile([i for i in instructions if i.row.access is None or not i.row.access.components], mode)


@cache
def _compiled(instruction: Instruction, mode: Mode) -> Form | None:
    _batch(mode)
    return compile([instruction], mode)[0]


def call(form: Form, wave: Wave, instruction: Instruction) -> bool:
    """Execute an instruction; whether it was executed, and not left to the interpreter."""
    operands = np.array([*form.operands, 0], np.int64)
    table = buffer_table(wave.space.mapped()) if wave.space is not None else np.zeros((0, 4), np.int64)
    wave.fields[Field.BUFFERS], wave.fields[Field.BUFFER_COUNT] = address(table), len(table)
    execute = lambda: FORM(form.address)(address(wave.memory), address(operands))  # noqa: E731
    result = execute()
    memories = [buffer.bytes for buffer in wave.space] if wave.space is not None else []
    while result == CANNOT and wave.float_order.supply((wave.lds, *memories)):
        result = execute()
    wave.exec_changed()
    if result == TAKEN and form.branches:
        assert instruction.target is not None
        wave.pc = instruction.target
    return result != CANNOT


def run(wave: Wave, instruction: Instruction, mode: Mode) -> bool:
    """Execute an instruction if there is a function for it; whether it was executed."""
    form = _compiled(instruction, mode)
    return form is not None and call(form, wave, instruction)
