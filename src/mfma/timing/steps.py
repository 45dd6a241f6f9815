"""An instruction as its timing sees it: what executes it, and which registers it reads and writes."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from mfma.errors import OptionError
from mfma.isa.spec import MatrixOp

__all__ = ["Span", "Step", "Unit", "matrix_step", "nop"]


class Unit(enum.Enum):
    """What executes an instruction."""

    MATRIX = "matrix core"
    VALU = "VALU"
    SALU = "SALU, branch or wait"
    MEMORY = "VMEM, FLAT or LDS"
    NOP = "s_nop"


@dataclass(frozen=True)
class Span:
    """``count`` consecutive registers of a file from ``first``.

    The file is ``v`` or ``a``. A longer name is a file of its own that holds what the name stands for: ``exec``, or
    an operand such as ``%0`` whose registers nobody knows yet, which overlaps nothing but itself.

    >>> print(Span("v", 0, 4), Span("a", 7), Span("exec"))
    v[0:3] a7 exec
    """

    file: str
    first: int = 0
    count: int = 1

    def __str__(self) -> str:
        if self.is_symbol:
            return self.file
        end = self.first + self.count - 1
        return f"{self.file}{self.first}" if self.count == 1 else f"{self.file}[{self.first}:{end}]"

    @property
    def is_symbol(self) -> bool:
        """Whether this is a name that stands for registers."""
        return len(self.file) > 1

    def overlaps(self, other: Span) -> bool:
        """Whether some register is in both."""
        return (
            self.file == other.file and self.first < other.first + other.count and other.first < self.first + self.count
        )

    def without(self, other: Span) -> tuple[Span, ...]:
        """Return what is left if the registers of another span are taken away.

        >>> [str(span) for span in Span("v", 0, 8).without(Span("v", 2, 2))]
        ['v[0:1]', 'v[4:7]']
        """
        if not self.overlaps(other):
            return (self,)
        before = other.first - self.first
        after = self.first + self.count - (other.first + other.count)
        low = Span(self.file, self.first, before) if before > 0 else None
        high = Span(self.file, other.first + other.count, after) if after > 0 else None
        return tuple(span for span in (low, high) if span)


@dataclass(frozen=True)
class Step:
    """One instruction of a sequence.

    ``reads`` of a matrix instruction are A and B (and the index of a sparse one); ``c`` is its addend, None for a
    constant; ``writes`` is D. ``waits`` is the number of wait states that the instruction counts as: N + 1 for
    ``s_nop N``, 1 for every other. Rules of their own have ``v_fma_f64`` and ``v_fmac_f64``, which ``f64_fma`` marks,
    and ``v_dot...``, which ``dot`` marks.
    """

    text: str
    unit: Unit
    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()
    op: MatrixOp | None = None
    c: Span | None = None
    waits: int = 1
    f64_fma: bool = False
    dot: bool = False

    def __post_init__(self) -> None:
        if (self.op is None) == (self.unit is Unit.MATRIX):
            raise OptionError(f"{self.text!r}: a matrix instruction needs its record in op, and no other has one.")
        if self.waits < 1:
            raise OptionError(f"{self.text!r} counts as {self.waits} wait states; every instruction counts as 1.")

    def __str__(self) -> str:
        return self.text

    @property
    def sources(self) -> tuple[Span, ...]:
        """Every register that is read, the addend of a matrix instruction included."""
        return self.reads if self.c is None else (*self.reads, self.c)


def matrix_step(op: object, d: Span, a: Span, b: Span, c: Span | None = None, text: str | None = None) -> Step:
    """Return the step of a matrix instruction; ``op`` is a record or the object that `mfma.op` returns.

    The registers of a sparse instruction are D, A, B and, in the place of C, the index; it adds to D. Raise
    `OptionError` for a tuple of the wrong width.

    >>> from mfma.isa.cdna3 import DENSE
    >>> print(matrix_step(DENSE[8], Span("a", 0, 16), Span("v", 0, 2), Span("v", 2, 2)))
    v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], 0
    """
    record = getattr(op, "record", op)
    if not isinstance(record, MatrixOp):
        raise OptionError(f"op is {op!r}; give the record of a matrix instruction, or the object of mfma.op.")
    registers = record.registers
    index_or_c = 1 if record.sparse else registers.cd.vgprs
    widths = registers.cd.vgprs, registers.a.vgprs, registers.b.vgprs, index_or_c
    for name, span, width in zip("DABC", (d, a, b, c), widths, strict=True):
        if span is not None and not span.is_symbol and span.count != width:
            raise OptionError(f"{name} of {record.mnemonic} has {width} registers; {span} has {span.count}.")
    written = text or f"{record.mnemonic} {d}, {a}, {b}, {0 if c is None else c}"
    if record.sparse:
        return Step(written, Unit.MATRIX, (a, b) if c is None else (a, b, c), (d,), record, d)
    return Step(written, Unit.MATRIX, (a, b), (d,), record, c)


def nop(count: int) -> Step:
    """Return ``s_nop count``, which is count + 1 wait states.

    >>> nop(6).waits
    7
    """
    return Step(f"s_nop {count}", Unit.NOP, waits=count + 1)
