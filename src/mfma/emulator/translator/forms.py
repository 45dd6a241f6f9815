"""Native functions of instructions: compiled together for all that a kernel lacks, and kept on disk for all kernels.

The functions of a batch are one object file. An index of the same folder says which batch has which function; both
hold for one state of the sources, one CPU and one LLVM.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mfma.emulator.decode import Instruction
from mfma.builtins.entry import native_entry
from mfma.emulator.semantics.machine import MatrixCall, Mode
from mfma.emulator.semantics.values import Op
from mfma.emulator.translator import addresses
from mfma.emulator.translator.function import Template, matrix_symbol, write
from mfma.emulator.translator.schedule import Unscheduled
from mfma.emulator.translator.template import Templates
from mfma.native import jit

__all__ = ["Form", "compile"]


LEVEL = 0


@dataclass(frozen=True, slots=True)
class Form:
    """An instruction as a native call.

    Attributes:
        address: of ``i64 form(ptr wave, ptr operands)``; see `mfma.emulator.translator.function`.
        operands: signed numbers of 64 bits.
        branches: whether the result may be `TAKEN` for the branch in the instruction's words.
        jumps: whether the result is `TAKEN` and the function sets ``pc``.
    """

    address: int
    operands: tuple[int, ...]
    branches: bool
    jumps: bool


_templates = functools.cache(Templates)
_addresses: dict[str, int] = {}


def compile(instructions: Sequence[Instruction], mode: Mode) -> list[Form | None]:
    """Find or make the native function of each instruction; None where only the interpreter can do it.

    Args:
        instructions: with definitions.
        mode: in which they run.
    """
    templates = _templates(mode)
    found = [templates.find(instruction) for instruction in instructions]
    lacking = {known.key: known.template for known, _ in filter(None, found) if known.key not in _addresses}
    if lacking:
        _make(lacking)
    forms: list[Form | None] = []
    for entry in found:
        address = _addresses[entry[0].key] if entry else 0
        if entry is None or not address:
            forms.append(None)
            continue
        known, operands = entry
        forms.append(Form(address, operands, known.branches, known.jumps))
    return forms


def _make(templates: dict[str, Template]) -> None:
    """Compile functions and enter their addresses."""
    declarations: dict[str, str] = {}
    bodies = {}
    for key, template in templates.items():
        try:
            bodies[key] = write(f"form_{key}", template, declarations)
        except Unscheduled:
            _addresses[key] = 0
    _define_helpers()
    for template in templates.values():
        _define_entries(template)
    text = "\n".join([*declarations.values(), *bodies.values()])
    address = jit.load(lambda: text, None, level=LEVEL)
    for key in bodies:
        _addresses[key] = address(f"form_{key}")


@functools.cache
def _define_helpers() -> None:
    """Let functions find what they call to access memory."""
    address = jit.library("memory", [], addresses.write, addresses.SOURCES)
    for name in addresses.names():
        jit.define_symbol(name, address(name))


def _define_entries(template: Template) -> None:
    """Let functions find the native entries of the matrix instructions that they call."""
    for node in template.nodes:
        if node.op is Op.MATRIX:
            call: MatrixCall = node.data
            entry = native_entry(call.op, call.fp16_ovfl)
            jit.define_symbol(matrix_symbol(call.op.mnemonic, call.fp16_ovfl), entry.address)
