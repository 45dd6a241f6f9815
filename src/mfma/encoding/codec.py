"""Instruction to 64-bit word and back."""

from __future__ import annotations

from mfma.encoding.instruction import OPS, Instruction
from mfma.encoding.operands import REGISTERS, InlineConstant, Source, Vgprs
from mfma.encoding.word import MAI, MaiWord
from mfma.errors import EncodingError

__all__ = ["decode", "encode"]

BY_OPCODE = {op.opcode: op for op in OPS}


def encode(instruction: Instruction) -> int:
    """Return the 64-bit word of an instruction; in memory its bytes are little-endian.

    >>> op = next(op for op in OPS if op.name == "f32_4x4x4f16")
    >>> hex(encode(Instruction(op, Vgprs(0, 4), Vgprs(4, 2), Vgprs(6, 2), Vgprs(0, 4))))
    '0x4020d04d3ca0000'
    """
    return MaiWord(
        encoding=MAI,
        op=instruction.op.opcode,
        vdst=instruction.d.first,
        acc_cd=instruction.d.acc,
        src0=instruction.a.code,
        acc_a=instruction.a.acc,
        src1=instruction.b.code,
        acc_b=instruction.b.acc,
        src2=instruction.c.code,
        cbsz=instruction.cbsz,
        abid=instruction.abid,
        blgp=instruction.blgp,
    ).word


def decode(word: int) -> Instruction:
    """Return the instruction of a 64-bit word: its first dword is the low half.

    Raises:
        EncodingError: the word is no matrix instruction of gfx942, or one that the assembler would refuse.

    >>> print(decode(0x0402_0D04_D3CA_0000))
    v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]
    """
    if not 0 <= word < 1 << 64:
        raise EncodingError(f"{word:#x} is no word of 64 bits; give both dwords, the first in the low half.")
    fields = MaiWord(word)
    op = BY_OPCODE.get(fields.op)
    if fields.encoding != MAI or op is None:
        raise EncodingError(
            f"{word:#018x} is no matrix instruction of gfx942; give a word with {MAI:#011b} in bits 31 to 23 and the "
            "opcode of one in bits 22 to 16."
        )
    registers = op.registers
    return Instruction(
        op,
        d=Vgprs(fields.vdst, registers.cd.vgprs, bool(fields.acc_cd)),
        a=_registers("A", fields.src0, registers.a.vgprs, bool(fields.acc_a)),
        b=_registers("B", fields.src1, registers.b.vgprs, bool(fields.acc_b)),
        c=_registers("The index", fields.src2, 1, False)
        if op.sparse
        else _source(fields.src2, registers.cd.vgprs, bool(fields.acc_cd)),
        cbsz=fields.cbsz,
        abid=fields.abid,
        blgp=fields.blgp,
    )


def _registers(name: str, code: int, count: int, acc: bool) -> Vgprs:
    if code < REGISTERS:
        raise EncodingError(f"{name} has source code {code}, which is no vector register; those are 256 to 511.")
    return Vgprs(code - REGISTERS, count, acc)


def _source(code: int, count: int, acc: bool) -> Source:
    return InlineConstant(code) if code < REGISTERS else _registers("C", code, count, acc)
