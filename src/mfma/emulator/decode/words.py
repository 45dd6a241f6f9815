"""Instruction words as bit fields, one class per encoding: what all share, and the scalar encodings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import ClassVar

from mfma.emulator.decode.instruction import NONE, VGPR, Modifiers, Operand
from mfma.emulator.decode.records import Encoding, File, Row, Slot
from mfma.encoding.operands import REGISTERS, VALUES
from mfma.encoding.word import Bits, Word

__all__ = ["LITERAL", "LITERALS", "InstructionWord", "Reader", "Sop1", "Sop2", "Sopc", "Sopk", "Sopp", "operands"]

LITERAL = 255
"""The source code that announces a second dword with the value."""

Reader = Callable[[int], Operand | None]
"""From a word, 64 bits with what follows it, to an operand; None where no instruction has this one."""

NUMBERED = frozenset([*range(102), *range(108, 124)])
"""SGPRs and trap registers: a tuple starts at an even one, an odd number means the even one below."""

NAMED = frozenset([*range(102, 108), 126, 127])
"""FLAT_SCRATCH, XNACK_MASK, VCC and EXEC: pairs, each of whose halves is a register too."""

M0 = 124
STATUS = frozenset([*range(235, 240), 251, 252, 253])
"""Apertures, VCCZ, EXECZ and SCC: 32 bits, or extended to 64."""

LITERALS = frozenset([File.SSRC, File.SRC])
"""Kinds of sources that may be a literal behind a word of one dword."""

CONSTANTS = frozenset(VALUES)


class InstructionWord(Word):
    """A word whose leading bits name its encoding.

    A subclass says which bits of the first dword are its prefix (``mask`` and ``value``), how many bytes it has and
    where its ``op`` is. Slots name the other fields.
    """

    __slots__ = ()

    encoding: ClassVar[Encoding]
    mask: ClassVar[int]
    value: ClassVar[int]
    size: ClassVar[int] = 4
    op: ClassVar[Bits]

    def modifiers(self, row: Row) -> Modifiers | None:
        """Return the modifiers that the word holds; None if it is no instruction with them."""
        return NONE

    @classmethod
    def accepts(cls, row: Row) -> bool:
        """Whether the row, of this encoding, exists in this word at all."""
        return True

    @classmethod
    def row_of(cls, row: Row) -> Row:
        """Return the row with its slots as this word has them."""
        return row

    @classmethod
    def zero(cls, row: Row) -> int:
        """Return the bits that are 0 in every word of this row."""
        return row.zero

    @classmethod
    def reader(cls, slot: Slot) -> Reader:
        """Return the function that reads the operand of a slot from a word of this class."""
        if slot.file is File.FIXED:
            fixed = Operand(slot.code, slot.dwords)
            return lambda word: fixed
        if slot.file is File.LITERAL:
            return lambda word: Operand(LITERAL, slot.dwords, False, word >> 32)
        bits: Bits = getattr(cls, slot.field)
        low, largest = bits.low, bits.largest
        table = operands(slot.file, slot.dwords, slot.acc is True)
        if isinstance(slot.acc, str) and slot.acc:
            acc: Bits = getattr(cls, slot.acc)
            tables, bit = (table, operands(slot.file, slot.dwords, True)), acc.low
            return lambda word: tables[word >> bit & 1][word >> low & largest]
        if cls.size == 4 and slot.file in LITERALS:

            def read(word: int) -> Operand | None:
                code = word >> low & largest
                return Operand(LITERAL, slot.dwords, False, word >> 32) if code == LITERAL else table[code]

            return read
        return lambda word: table[word >> low & largest]


@cache
def operands(file: File, dwords: int, acc: bool) -> tuple[Operand | None, ...]:
    """Return what each number in a field means for operands of so many dwords; None where it means nothing.

    Codes that LLVM's disassembler knows and its assembler refuses on gfx942, null (125) and LDS direct (254), mean
    nothing here.
    """
    vgprs = [_vgprs(first, dwords, acc) for first in range(REGISTERS)]
    if file is File.VGPR:
        return (*vgprs, *[None] * 256)
    nothing = (None,) * 256
    if file is File.VSRC:
        return (*nothing, *vgprs)
    registers = [_scalars(code, dwords) for code in range(256)]
    if file in (File.SDST, File.SDST_NO_M0):
        refused = {M0} if file is File.SDST_NO_M0 else set()
        return (*[None if code >= 128 or code in refused else registers[code] for code in range(256)], *nothing)
    if file is File.SGPR:
        return (*registers, *nothing)
    if file is File.CONSTANT:
        return (*[Operand(code, dwords) if code in CONSTANTS else None for code in range(256)], *vgprs)
    sources = [Operand(code, dwords) if code in CONSTANTS else registers[code] for code in range(256)]
    return (*sources, *(nothing if file is File.SSRC else vgprs))


def _vgprs(first: int, dwords: int, acc: bool) -> Operand | None:
    if first + dwords > REGISTERS or (dwords > 1 and first % 2):
        return None
    return Operand(VGPR + first, dwords, acc)


def _scalars(code: int, dwords: int) -> Operand | None:
    if dwords == 1:
        return Operand(code, 1) if code in NUMBERED | NAMED | STATUS or code == M0 else None
    if code in NUMBERED:
        first = code & -2
        return Operand(first, dwords) if first + dwords - 1 in NUMBERED else None
    if dwords == 2 and ((code in NAMED and code % 2 == 0) or code in STATUS):
        return Operand(code, 2)
    return None


class Sop2(InstructionWord):
    """Scalar, two sources."""

    __slots__ = ()
    encoding, mask, value = Encoding.SOP2, 0xC000_0000, 0x8000_0000
    op = Bits(29, 23)
    sdst, ssrc1, ssrc0 = Bits(22, 16), Bits(15, 8), Bits(7, 0)


class Sop1(InstructionWord):
    """Scalar, one source."""

    __slots__ = ()
    encoding, mask, value = Encoding.SOP1, 0xFF80_0000, 0xBE80_0000
    op = Bits(15, 8)
    sdst, ssrc0 = Bits(22, 16), Bits(7, 0)


class Sopk(InstructionWord):
    """Scalar, with a number of 16 bits."""

    __slots__ = ()
    encoding, mask, value = Encoding.SOPK, 0xF000_0000, 0xB000_0000
    op = Bits(27, 23)
    sdst, simm16 = Bits(22, 16), Bits(15, 0)

    def modifiers(self, row: Row) -> Modifiers:
        """Return the number."""
        return immediate(self.simm16)


class Sopc(InstructionWord):
    """Scalar comparison."""

    __slots__ = ()
    encoding, mask, value = Encoding.SOPC, 0xFF80_0000, 0xBF00_0000
    op = Bits(22, 16)
    ssrc1, ssrc0 = Bits(15, 8), Bits(7, 0)

    def modifiers(self, row: Row) -> Modifiers:
        """Return the second field as a number where it is none of the sources."""
        return immediate(self.ssrc1) if len(row.src) == 1 else NONE


class Sopp(InstructionWord):
    """Scalar, program control."""

    __slots__ = ()
    encoding, mask, value = Encoding.SOPP, 0xFF80_0000, 0xBF80_0000
    op = Bits(22, 16)
    simm16 = Bits(15, 0)

    def modifiers(self, row: Row) -> Modifiers:
        """Return the number."""
        return immediate(self.simm16)


@cache
def immediate(value: int) -> Modifiers:
    """Return modifiers that hold just this number."""
    return Modifiers(imm=value) if value else NONE
