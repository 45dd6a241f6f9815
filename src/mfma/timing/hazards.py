"""Wait states between instructions that gfx942 does not interlock, as data.

A matrix instruction writes D many cycles after it was issued, and some later instructions do not wait for it. The
program must put enough *wait states* between the two: one for every instruction, ``N + 1`` for an ``s_nop N``.
Compilers do; whoever writes assembly must.

The numbers are those that LLVM inserts for gfx942, measured for every kind of pair; the CDNA3 ISA manual has the
same, except where a row carries a dissent. ``passes`` (of four cycles) of the first instruction choose the column.

>>> from mfma.isa.catalogue import find
>>> required(find("f32_16x16x8_xf32"), Second.VALU_READ).states
7
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from mfma.errors import OptionError
from mfma.isa.spec import MatrixOp, Pipe

__all__ = [
    "COLUMNS",
    "INTO_MFMA",
    "OUT_OF_MFMA",
    "WINDOW",
    "First",
    "Operand",
    "Row",
    "Second",
    "Wait",
    "required",
    "s_nops",
]


class First(enum.StrEnum):
    """What comes before a matrix instruction, unless that is a matrix instruction itself."""

    VALU_WRITE = "a VALU instruction wrote A, B or C"
    DOT_WRITE = "a dot product instruction (v_dot...) wrote A, B or C"
    VALU_EXEC = "a VALU instruction (v_cmpx...) wrote EXEC"
    SALU_EXEC = "a SALU instruction wrote EXEC"


class Second(enum.StrEnum):
    """What comes after a matrix instruction, unless that is a matrix instruction itself."""

    VALU_READ = "a VALU instruction reads D"
    VALU_WRITE = "a VALU instruction overwrites D"
    STORE = "a VMEM, FLAT or LDS instruction reads D"
    LOAD = "a load overwrites D"
    WRITE_C = "a VALU instruction or a load overwrites C"
    WRITE_AB = "a VALU instruction or a load overwrites A or B"
    FMA_F64 = "v_fma_f64 or v_fmac_f64, dependent or not"


class Operand(enum.StrEnum):
    """How a second matrix instruction takes D of the first."""

    AB = "as A or B, or as the index of a sparse instruction"
    C_SAME = "as C, exactly (same first register and size)"
    C_PART = "as C, overlapping in part"


MEASURED = "LLVM's hazard recognizer for gfx942, measured; the CDNA3 ISA manual"
LLVM_ONLY = "LLVM's hazard recognizer for gfx942, measured"
SAME_REGISTERS = (
    "between different instructions the manual wants equal passes, and a change proposed to LLVM "
    "(llvm/llvm-project#218363) the wait states of a partial overlap"
)
AS_MANY_AS_PASSES = "the manual asks for as many as passes, LLVM inserts none"


@dataclass(frozen=True)
class Wait:
    """How many wait states a pair of instructions needs, and who says so.

    ``cautious`` is the number of the source that wants most, ``dissent`` what it says; where all agree they are
    ``states`` and empty.
    """

    states: int
    source: str
    cautious: int
    dissent: str = ""


@dataclass(frozen=True)
class Row:
    """One line of the table: wait states for the first instruction's pipe and passes, in the order of `COLUMNS`.

    ``second_pipes`` are those of the second instruction, if that is a matrix instruction and its pipe matters.
    """

    second: Second | Operand
    xdl: tuple[int, int, int, int]
    sgemm: tuple[int, int, int]
    dgemm: tuple[int, int]
    second_pipes: tuple[Pipe, ...] = tuple(Pipe)
    cautious_sgemm: tuple[int, int, int] | None = None
    dissent: str = ""

    def wait(self, first: MatrixOp) -> Wait:
        """Return the wait states after this instruction, with their source."""
        states = self._cell(first, self.sgemm)
        cautious = self._cell(first, self.cautious_sgemm or self.sgemm)
        return Wait(states, MEASURED, cautious, self.dissent if cautious > states else "")

    def _cell(self, first: MatrixOp, sgemm: tuple[int, ...]) -> int:
        cells = {Pipe.XDL: self.xdl, Pipe.SGEMM: sgemm, Pipe.DGEMM: self.dgemm}[first.pipe]
        return cells[COLUMNS[first.pipe].index(first.passes)]


COLUMNS = {Pipe.XDL: (2, 4, 8, 16), Pipe.SGEMM: (2, 8, 16), Pipe.DGEMM: (4, 8)}
"""The passes that instructions of each pipe have: the columns of the table. Sparse instructions are XDL."""

#   second                     XDL 2  4   8  16   SGEMM 2  8  16   f64 4x4x4, 16x16x4
OUT_OF_MFMA = (
    Row(Second.VALU_READ, (5, 7, 11, 19), (4, 10, 18), (6, 11)),
    Row(Second.VALU_WRITE, (5, 7, 11, 19), (4, 10, 18), (6, 11)),
    Row(Second.STORE, (5, 7, 11, 19), (4, 10, 18), (9, 18)),
    Row(Second.LOAD, (5, 7, 11, 19), (4, 10, 18), (6, 11)),
    Row(Operand.AB, (5, 7, 11, 19), (4, 10, 18), (6, 11)),
    Row(Operand.C_SAME, (2, 0, 0, 0), (2, 0, 0), (4, 0)),
    Row(Operand.C_PART, (3, 5, 9, 17), (0, 0, 0), (0, 0), (Pipe.XDL,), (2, 8, 16), AS_MANY_AS_PASSES),
    Row(Operand.C_PART, (3, 5, 9, 17), (2, 8, 16), (4, 9), (Pipe.SGEMM, Pipe.DGEMM)),
    Row(Second.WRITE_C, (1, 3, 7, 15), (0, 0, 0), (0, 0)),
    Row(Second.WRITE_AB, (0, 0, 0, 0), (0, 0, 0), (0, 0)),
    Row(Second.FMA_F64, (0, 0, 0, 0), (0, 0, 0), (2, 2)),
)
"""After a matrix instruction. An independent matrix instruction, or one that overwrites D, needs no wait states."""

INTO_MFMA = {
    First.VALU_WRITE: Wait(2, MEASURED, 2),
    First.DOT_WRITE: Wait(0, LLVM_ONLY, 0),
    First.VALU_EXEC: Wait(4, MEASURED, 4),
    First.SALU_EXEC: Wait(0, LLVM_ONLY, 0),
}
"""Before any matrix instruction."""

WINDOW = max(max(row.xdl + row.sgemm + row.dgemm) for row in OUT_OF_MFMA)
"""No pair needs more wait states than this."""


def required(first: MatrixOp | First, second: MatrixOp | Second, operand: Operand | None = None) -> Wait:
    """Return the wait states that must stand between two instructions, with their source.

    One of the two is a matrix instruction, or both; then ``operand`` says how the second takes D of the first.

    Raises:
        OptionError: neither is a matrix instruction, or ``operand`` is missing or means nothing.

    >>> from mfma.isa.catalogue import find
    >>> f16, f64 = find("f32_32x32x8f16"), find("f64_16x16x4f64")
    >>> required(f16, f16, Operand.C_SAME).states, required(f16, f16, Operand.AB).states
    (0, 11)
    >>> required(f64, Second.STORE).states, required(First.VALU_EXEC, f64).states
    (18, 4)
    """
    if isinstance(first, MatrixOp) and isinstance(second, MatrixOp):
        if not isinstance(operand, Operand):
            raise OptionError(
                f"{first} before {second}: give the operand that is D of the first, one of "
                f"{', '.join(f'Operand.{choice.name}' for choice in Operand)}."
            )
        wait = _row(operand, second.pipe).wait(first)
        if operand is Operand.C_SAME and first != second:
            cautious = required(first, second, Operand.C_PART).cautious
            if cautious > wait.states:
                return replace(wait, cautious=cautious, dissent=SAME_REGISTERS)
        return wait
    if operand is not None:
        raise OptionError(f"operand ({operand}) is for two matrix instructions; leave it out here.")
    if isinstance(first, MatrixOp) and isinstance(second, Second):
        return _row(second, first.pipe).wait(first)
    if isinstance(first, First) and isinstance(second, MatrixOp):
        return INTO_MFMA[first]
    raise OptionError(
        f"{first} before {second}: at least one must be the record of a matrix instruction, the other a record too, a "
        "First before it or a Second after it."
    )


def s_nops(states: int) -> tuple[int, ...]:
    """Return the operands of the fewest ``s_nop`` that make so many wait states; ``s_nop N`` makes N + 1, at most 16.

    >>> s_nops(7), s_nops(19), s_nops(0)
    ((6,), (15, 2), ())
    """
    whole, rest = divmod(states, 16)
    return (15,) * whole + ((rest - 1,) if rest else ())


def _row(second: Second | Operand, pipe: Pipe) -> Row:
    return next(row for row in OUT_OF_MFMA if row.second is second and pipe in row.second_pipes)
