"""One matrix instruction with its operands: checked when made, printed as the disassembler prints it."""

from __future__ import annotations

from dataclasses import dataclass

from mfma.encoding.operands import InlineConstant, Source, Vgprs
from mfma.encoding.word import MaiWord
from mfma.errors import EncodingError
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.spec import Blgp, MatrixOp

__all__ = ["OPS", "Instruction"]

OPS = DENSE + SPARSE
"""The instructions that this package encodes: all 46 of gfx942."""


@dataclass(frozen=True)
class Instruction:
    """A matrix instruction with registers: what one word encodes.

    ``d``, ``a`` and ``b`` are registers; ``c`` is registers or an inline constant. A sparse instruction adds to
    ``d``, and its ``c`` is the one VGPR of indices. ``blgp`` is the field of that name; on f64 its bits negate A,
    B and C. The encoding is more permissive than the builtins: modifiers need only fit their fields.

    Raises:
        EncodingError: the assembler would refuse this instruction.

    >>> op = next(op for op in OPS if op.name == "f32_4x4x4f16")
    >>> print(Instruction(op, Vgprs(0, 4), Vgprs(4, 2), Vgprs(6, 2), InlineConstant.of(1.0), cbsz=2))
    v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], 1.0 cbsz:2
    """

    op: MatrixOp
    d: Vgprs
    a: Vgprs
    b: Vgprs
    c: Source
    cbsz: int = 0
    abid: int = 0
    blgp: int = 0

    def __post_init__(self) -> None:
        registers = self.op.registers
        self._check_registers("D", self.d, registers.cd.vgprs)
        self._check_registers("A", self.a, registers.a.vgprs)
        self._check_registers("B", self.b, registers.b.vgprs)
        if self.op.sparse:
            self._check_index()
        else:
            self._check_addend()
        MaiWord.cbsz.check(self.cbsz)
        MaiWord.abid.check(self.abid)
        MaiWord.blgp.check(self.blgp)

    def _check_registers(self, name: str, operand: Source, count: int) -> None:
        if not isinstance(operand, Vgprs):
            raise EncodingError(f"{name} of {self.op.mnemonic} cannot be the constant {operand}; give registers.")
        if operand.count != count:
            raise EncodingError(
                f"{name} of {self.op.mnemonic} has width {count}, but {operand} has width {operand.count}; write it as "
                f"in {Vgprs(0, count, operand.acc)}."
            )
        if count > 1 and operand.first % 2:
            raise EncodingError(
                f"{operand} cannot be {name} of {self.op.mnemonic}; tuples must be 64-bit aligned, so start at an even "
                f"register, as {Vgprs(operand.first - 1, count, operand.acc)} does."
            )

    def _check_addend(self) -> None:
        if not isinstance(self.c, Vgprs):
            return
        self._check_registers("C", self.c, self.d.count)
        if self.c.acc != self.d.acc:
            raise EncodingError(
                f"D is {self.d} and C is {self.c}, in different register files; put both in v or both in a."
            )
        # Up to 128 bits the assembler lets C and D overlap in part.
        if self.d.count > 4 and self.c != self.d and self.c.overlaps(self.d):
            raise EncodingError(
                f"C, {self.c}, partly overlaps D, {self.d}; above 4 registers they must be the same or apart."
            )

    def _check_index(self) -> None:
        self._check_registers("the index", self.c, 1)
        if isinstance(self.c, Vgprs) and self.c.acc:
            raise EncodingError(f"{self.c} cannot be the index of {self.op.mnemonic}; give one of v0 to v255.")
        if self.blgp:
            raise EncodingError(f"{self.op.mnemonic} has no blgp, but blgp={self.blgp} was given; leave it 0.")

    @property
    def modifiers(self) -> str:
        """The modifiers as the assembler writes them, without those that are 0."""
        given = [f"{name}:{value}" for name, value in (("cbsz", self.cbsz), ("abid", self.abid)) if value]
        if self.blgp and self.op.blgp is Blgp.NEG:
            given.append(f"neg:[{self.blgp & 1},{self.blgp >> 1 & 1},{self.blgp >> 2}]")
        elif self.blgp:
            given.append(f"blgp:{self.blgp}")
        return " ".join(given)

    def __str__(self) -> str:
        c = self.c.text(self.op.out.bits) if isinstance(self.c, InlineConstant) else self.c
        return f"{self.op.mnemonic} {self.d}, {self.a}, {self.b}, {c} {self.modifiers}".rstrip()
