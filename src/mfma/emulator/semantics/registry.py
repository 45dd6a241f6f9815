"""Which definition belongs to which mnemonic, and what each definition says of itself.

There are three kinds. `scalar` and `vector` register a plain function from operand values to the result; reading
the operands, their modifiers and writing the result is the same for all and lives in `mfma.emulator.semantics.salu`
and `.valu`. `machine` registers a function that sees the whole `Machine`, for everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.machine import Machine, Mode
from mfma.emulator.semantics.values import Program

__all__ = ["DEFINITIONS", "Basis", "Definition", "define", "machine", "program"]


class Basis(Enum):
    """What the bits of a definition rest on, from strong to weak; reports and the docs' table print it."""

    ISA = "the ISA manual or LLVM's documentation says the bits"
    MATRIX = "the evidence of the matrix instruction, by aspect"
    ASSUMED = "the hardware's bits are unpublished: correctly rounded here"


@dataclass(frozen=True)
class Definition:
    """One instruction's meaning: ``build`` writes it into a Machine.

    ``basis`` says how sure the bits are, ``note`` why, or the error bound that the manual gives.
    """

    name: str
    build: Callable[[Machine], None]
    basis: Basis = Basis.ISA
    note: str = ""


DEFINITIONS: dict[str, Definition] = {}


def define(definition: Definition) -> None:
    """Register a definition; a mnemonic has one."""
    if definition.name in DEFINITIONS:
        raise ValueError(f"{definition.name} is defined twice")
    DEFINITIONS[definition.name] = definition


def machine(
    *names: str, basis: Basis = Basis.ISA, note: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register ``build(machine, instruction)`` for these mnemonics."""

    def register(build: Callable[..., None]) -> Callable[..., None]:
        for name in names:
            define(Definition(name, lambda m: build(m, m.instruction), basis, note))
        return build

    return register


def program(instruction: Instruction, mode: Mode) -> Program:
    """Write the program of an instruction; the name must be in `DEFINITIONS`."""
    context = Machine(instruction, mode)
    DEFINITIONS[instruction.name].build(context)
    return context.program
