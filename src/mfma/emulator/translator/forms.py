"""Instructions as native calls: learned, compiled together for all that a kernel lacks, and kept for all kernels."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.machine import Mode
from mfma.emulator.translator.function import Template, write
from mfma.emulator.translator.store import store
from mfma.emulator.translator.template import Known, Templates

__all__ = ["Form", "compile"]

_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Form:
    """An instruction as a native call.

    Attributes:
        address: of ``i64 form(ptr wave, ptr operands)``; see `mfma.emulator.translator.function`.
        operands: signed numbers of 64 bits.
        branches: whether the result may be `TAKEN` for the branch in the instruction's words.
        jumps: whether the result is `TAKEN` and the function sets ``pc``.
        function: its name in the store.
        moving: which operands follow the instruction's address, or None if that is not certain.
    """

    address: int
    operands: tuple[int, ...]
    branches: bool
    jumps: bool
    function: str
    moving: tuple[bool, ...] | None


@functools.cache
def _templates(mode: Mode) -> Templates:
    return Templates(mode, store().known)


def compile(instructions: Sequence[Instruction], mode: Mode) -> list[Form | None]:
    """Find or make the native function of each instruction; None where only the interpreter can do it.

    Args:
        instructions: with definitions.
        mode: in which they run.
    """
    with _LOCK:
        templates = _templates(mode)
        found = [templates.find(instruction) for instruction in instructions]
        lacking: dict[str, Template] = {}
        for instruction, entry in zip(instructions, found, strict=True):
            if entry is not None and store().address(_name(entry[0].key)) is None:
                # what the store knows is only good with the function
                known = entry[0] if entry[0].template else templates.learn(instruction)
                assert known is not None
                assert known.template is not None
                lacking[known.key] = known.template
        declarations: dict[str, str] = {}
        bodies = {_name(key): write(_name(key), template, declarations) for key, template in lacking.items()}
        store().add(bodies, declarations, templates.taken())
        return [entry and _form(*entry) for entry in found]


def _name(key: str) -> str:
    return f"form_{key}"


def _form(known: Known, operands: tuple[int, ...], moving: tuple[bool, ...] | None) -> Form:
    function = _name(known.key)
    address = store().address(function)
    assert address is not None
    return Form(address, operands, known.branches, known.jumps, function, moving)
