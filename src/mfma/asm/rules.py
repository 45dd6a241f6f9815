"""Which rows of the wait-state table two instructions meet, given what the first left behind."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator
from dataclasses import dataclass

from mfma.asm.forms import Kind
from mfma.asm.reader import Instruction
from mfma.asm.registers import F64_PATH, listed
from mfma.isa.spec import MatrixOp, Pipe
from mfma.timing.hazards import INTO_MFMA, WINDOW, First, Operand, Second, Wait, required

__all__ = ["RULES", "Hazard", "Leaves", "hazards", "left_by", "replaced"]


class Leaves(enum.Enum):
    """What an instruction leaves behind that others may have to wait for, and for how many wait states at most."""

    RESULT = "D of a matrix instruction", WINDOW
    ADDEND = "C of a matrix instruction, until it is read", WINDOW
    F64 = "the f64 path in use", 2
    VALU_RESULT = "registers written by the VALU", 2
    EXEC = "EXEC written by the VALU", 4

    def __init__(self, meaning: str, window: int):
        self.meaning = meaning
        self.window = window


RULES: dict[Second | Operand | First, str] = {
    Second.VALU_READ: "valu-reads-result",
    Second.VALU_WRITE: "valu-overwrites-result",
    Second.STORE: "store-reads-result",
    Second.LOAD: "load-overwrites-result",
    Second.WRITE_C: "addend-overwritten",
    Second.FMA_F64: "f64-fma-after-mfma",
    Operand.AB: "mfma-multiplies-result",
    Operand.C_SAME: "mfma-adds-result",
    Operand.C_PART: "mfma-adds-part-of-result",
    First.VALU_WRITE: "mfma-reads-valu-result",
    First.VALU_EXEC: "mfma-after-exec-write",
}
"""Row of the wait-state table -> name of the rule in findings."""


@dataclass(frozen=True)
class Hazard:
    """A row of the table that two instructions meet through ``registers``."""

    row: Second | Operand | First
    wait: Wait
    registers: int

    @property
    def rule(self) -> str:
        """The name of the rule."""
        return RULES[self.row]

    def reason(self, first: Instruction, gap: int) -> str:
        """Say what the two instructions do, ``gap`` wait states apart."""
        states = "1 wait state" if gap == 1 else f"{gap} wait states"
        names = listed(self.registers) or "a register"
        where = f"{first.mnemonic} on line {first.line}"
        if isinstance(self.row, First):
            what = "EXEC" if self.row is First.VALU_EXEC else names
            return f"this reads {what}, which {where} wrote, after {states}"
        passes = f"{first.form.op.passes} passes" if first.form.op else "unknown"
        if self.row is Second.FMA_F64:
            return f"{self.row.value}, comes {states} after {where} ({passes})"
        operand = "C" if self.row is Second.WRITE_C else "D"
        action = f"this takes it {self.row.value}," if isinstance(self.row, Operand) else f"{self.row.value}"
        return f"{names} is in {operand} of {where} ({passes}); {action} after {states}"


def left_by(matrix: Instruction) -> Iterator[tuple[Leaves, int]]:
    """Yield what a matrix instruction leaves behind, with the registers concerned."""
    op = matrix.form.op
    if op is None:
        return
    if matrix.d:
        yield Leaves.RESULT, matrix.d
    if matrix.c and matrix.c != matrix.d and op.pipe is Pipe.XDL:  # an equal D outlasts it
        yield Leaves.ADDEND, matrix.c
    if op.pipe is Pipe.DGEMM:
        yield Leaves.F64, F64_PATH


def replaced(leaves: Leaves, second: Instruction) -> int:
    """Return the registers for which nobody has to wait any longer once a second instruction was issued.

    A later matrix instruction that writes D starts after an earlier one and ends after it, so its D is what counts;
    likewise the C of a later XDL instruction. That the VALU has overwritten D does not end the wait: LLVM still has
    a store wait for the f64 instruction, which takes longer to release D to memory than to the VALU.
    """
    if leaves is Leaves.RESULT:
        return second.d if second.kind is Kind.MATRIX else 0
    if leaves is Leaves.ADDEND:
        is_xdl = second.form.op is not None and second.form.op.pipe is Pipe.XDL
        return second.c if is_xdl else 0
    return second.writes if leaves is not Leaves.F64 else 0


def hazards(leaves: Leaves, first: Instruction, registers: int, second: Instruction) -> Iterator[Hazard]:
    """Yield the rows that a second instruction meets in what a first left in ``registers``."""
    if second.kind is Kind.MATRIX:
        if second.form.op is not None:
            yield from _before_matrix(leaves, first, registers, second, second.form.op)
    elif first.form.op is not None:
        yield from _after_matrix(leaves, first.form.op, registers, second)


def _before_matrix(
    leaves: Leaves, first: Instruction, registers: int, second: Instruction, op: MatrixOp
) -> Iterator[Hazard]:
    if leaves is Leaves.EXEC:
        yield Hazard(First.VALU_EXEC, INTO_MFMA[First.VALU_EXEC], registers)
    elif leaves is Leaves.VALU_RESULT and registers & second.reads:
        yield Hazard(First.VALU_WRITE, INTO_MFMA[First.VALU_WRITE], registers & second.reads)
    elif leaves is Leaves.RESULT and first.form.op is not None:
        if registers & second.ab:
            yield Hazard(Operand.AB, _required(first.form.op, op, Operand.AB), registers & second.ab)
        if registers & second.c:
            operand = Operand.C_SAME if second.c == first.d else Operand.C_PART
            yield Hazard(operand, _required(first.form.op, op, operand), registers & second.c)


def _after_matrix(leaves: Leaves, op: MatrixOp, registers: int, second: Instruction) -> Iterator[Hazard]:
    is_memory = second.kind is Kind.MEMORY
    reads, writes = registers & second.reads, registers & second.writes
    if leaves is Leaves.F64:
        if second.form.is_f64_fma:
            yield Hazard(Second.FMA_F64, _required(op, Second.FMA_F64), 0)
    elif leaves is Leaves.ADDEND:
        if writes:
            yield Hazard(Second.WRITE_C, _required(op, Second.WRITE_C), writes)
    elif leaves is Leaves.RESULT:
        if reads:
            row = Second.STORE if is_memory else Second.VALU_READ
            yield Hazard(row, _required(op, row), reads)
        if writes & ~reads:
            row = Second.LOAD if is_memory else Second.VALU_WRITE
            yield Hazard(row, _required(op, row), writes & ~reads)


_required = functools.cache(required)
