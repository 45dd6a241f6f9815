"""The record of one matrix instruction. Independent facts only; every other answer is derived from them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from mfma.formats import Format
from mfma.isa.accumulation import Accumulation

__all__ = ["WAVE", "Blgp", "MatrixOp", "Operand", "Pipe", "Registers"]

WAVE = 64
"""Lanes of a CDNA wavefront."""


class Pipe(enum.Enum):
    """The execution pipe of the matrix core; it decides wait states and VALU co-execution."""

    XDL = "XDL"
    SGEMM = "SGEMM"
    DGEMM = "DGEMM"


class Blgp(enum.Enum):
    """What the 3-bit ``blgp`` field of an instruction does on this target."""

    LANES = "lane pattern of B"
    NEG = "negates A (bit 0), B (bit 1), C (bit 2)"
    NONE = "must be 0"


@dataclass(frozen=True)
class Operand:
    """What one lane holds of an operand: ``elements`` values of ``format`` in ``vgprs`` 32-bit registers."""

    format: Format
    elements: int

    @property
    def vgprs(self) -> int:
        """32-bit registers per lane."""
        return self.elements * self.format.bits // 32


@dataclass(frozen=True)
class Registers:
    """Per-lane register use of A, B and the accumulator (C, and D alike)."""

    a: Operand
    b: Operand
    cd: Operand


@dataclass(frozen=True)
class MatrixOp:
    """One matrix instruction of one target.

    ``suffix`` is the irregular end of the compiler builtin's name; ``cycles`` the issue interval on one matrix
    core; ``coexecution`` the cycles of it that leave the VALU free; ``k`` counts the uncompressed products;
    ``accumulation`` is None where nobody has established how the instruction adds up.
    """

    target: str
    out: Format
    m: int
    n: int
    k: int
    blocks: int
    a: Format
    b: Format
    suffix: str
    opcode: int
    cycles: int
    coexecution: int
    pipe: Pipe
    blgp: Blgp
    accumulation: Accumulation | None
    sparse: bool = False

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash((self.target, self.opcode))  # records are keys in hot look-ups

    @property
    def family(self) -> str:
        """``mfma``, or ``smfmac`` for the sparse instructions."""
        return "smfmac" if self.sparse else "mfma"

    @property
    def name(self) -> str:
        """Short name: the builtin's without its prefix, as in ``f32_32x32x8f16``."""
        return f"{self.out}_{self.m}x{self.n}x{self.k}{self.suffix}"

    @property
    def builtin(self) -> str:
        """Name of the compiler builtin."""
        return f"__builtin_amdgcn_{self.family}_{self.name}"

    @property
    def mnemonic(self) -> str:
        """Name in the ISA manual and the assembler."""
        blocks = f"_{self.blocks}b" if self.blocks > 1 else ""
        types = f"{self.a}_{self.b}" if self.a.bits == 8 and not self.a.is_integer else self.a.name
        return f"v_{self.family}_{self.out}_{self.m}x{self.n}x{self.k}{blocks}_{types}"

    @property
    def operations(self) -> int:
        """Multiplications and additions of one instruction: 2·M·N·K·blocks."""
        return 2 * self.m * self.n * self.k * self.blocks

    @property
    def passes(self) -> int:
        """Passes of four cycles, the unit of the ISA's wait-state rules."""
        return self.cycles // 4

    @property
    def registers(self) -> Registers:
        """Elements and 32-bit registers per lane of A, B and C/D."""
        kept = self.k // 2 if self.sparse else self.k
        return Registers(
            a=Operand(self.a, self.m * kept * self.blocks // WAVE),
            b=Operand(self.b, self.n * self.k * self.blocks // WAVE),
            cd=Operand(self.out, self.m * self.n * self.blocks // WAVE),
        )

    @property
    def max_cbsz(self) -> int:
        """Largest legal ``cbsz``: log2 of the blocks; 0 on f64, which has no broadcast."""
        return 0 if self.pipe is Pipe.DGEMM else self.blocks.bit_length() - 1
