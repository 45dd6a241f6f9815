"""The instruction words of the memory encodings: fields, forms, and what the modifiers mean.

One opcode has several *forms*: an address with or without its scalar part, an atomic that returns or does not. Each is
a class of words of its own, told apart by bits that it fixes; `InstructionWord.row_of` gives it the row with the
operands that it has. A part of the address that a form lacks stays in the row as a slot of `File.OFF`.

A word is an instruction here if LLVM finds one and does not mark a register of it as invalid. Two things that LLVM
leaves unmarked in some rows are refused in all: tuples of vector registers that start at an odd one, or end behind
the last; and registers that gfx942 does not have, such as null.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from mfma.emulator.decode.instruction import Modifiers, Operand
from mfma.emulator.decode.memory_records import Kind
from mfma.emulator.decode.records import Encoding, File, Row, Slot
from mfma.emulator.decode.words import LITERAL, InstructionWord, Reader
from mfma.encoding.word import Bits

__all__ = [
    "BUFFER_TO_LDS",
    "NO_SC1_RETURN",
    "VGPR_RETURN",
    "WORDS",
    "Ds",
    "Flat",
    "MemoryWord",
    "Mubuf",
    "Smem",
]

VGPR_RETURN = "returns in VGPRs"
"""`Row.style` of an atomic that, as GLOBAL, cannot return in AGPRs."""
NO_SC1_RETURN = "returns in AGPRs without sc1"
"""`Row.style` of an f64 atomic of FLAT and GLOBAL: LLVM knows none that returns in AGPRs with ``sc1``."""
BUFFER_TO_LDS = "can load to LDS"
"""`Row.style` of a load of MUBUF that has a form with ``lds``."""

OFF = Operand(0, 0)
M0, EXEC_LO, EXEC_HI = 124, 126, 127
SADDR_OFF = EXEC_HI
SGPRS, TTMP = range(102), range(108, 124)
"""What tuples are made of; longer ones than a pair may reach into 102 and 103, FLAT_SCRATCH elsewhere."""
SINGLES = frozenset(range(128)) - {125}
NAMED_PAIRS = frozenset([102, 104, 106, EXEC_LO])


class MemoryWord(InstructionWord):
    """A word of 8 bytes that describes an access to memory."""

    __slots__ = ()

    size = 8
    returns: ClassVar[bool] = False
    """Whether only atomics have this form, which returns what was in memory."""
    returning: ClassVar[str] = ""
    """The bit that makes an atomic return; empty where the opcode says it."""
    absent: ClassVar[tuple[str, ...]] = ()
    """Fields that hold no operand in this form."""
    pairs: ClassVar[tuple[str, ...]] = ()
    """Fields that hold a tuple of two registers in this form."""

    @classmethod
    def accepts(cls, row: Row) -> bool:
        """Whether the row has this form."""
        return not cls.returns or _kind(row) is Kind.ATOMIC

    @classmethod
    def row_of(cls, row: Row) -> Row:
        """Return the row with the operands of this form."""
        dst, src = (tuple(map(cls.slot, slots)) for slots in (row.dst, row.src))
        if not cls.returning or cls.returns or _kind(row) is not Kind.ATOMIC:
            return replace(row, dst=dst, src=src)
        returning: Bits = getattr(cls, cls.returning)
        return replace(row, dst=(), src=src, zero=row.zero | 1 << returning.low)

    @classmethod
    def slot(cls, slot: Slot) -> Slot:
        """Return the slot as this form has it."""
        if slot.field in cls.absent:
            return replace(slot, file=File.OFF, dwords=0, acc="")
        return replace(slot, dwords=2) if slot.field in cls.pairs else slot

    @classmethod
    def reader(cls, slot: Slot) -> Reader:
        """Return the function that reads the operand of a slot."""
        if slot.file is File.OFF:
            return lambda word: OFF
        read = READ.get(slot.file)
        if read is None:
            return super().reader(slot)
        bits: Bits = getattr(cls, slot.field)
        low, largest = bits.low, bits.largest
        table = [read(slot, value) for value in range(largest + 1)]
        return lambda word: table[word >> low & largest]


def number(slot: Slot, value: int) -> Operand | None:
    """Return a number of the word as the operand of the same value."""
    return Operand(128 + value) if value <= 64 else Operand(LITERAL, 1, False, value)


def scalar(slot: Slot, value: int) -> Operand | None:
    """Return the scalar registers that a number in the field names, or None if the slot cannot have them.

    A pair starts at an even register, longer tuples at a multiple of four; the low bits of the number do not count.
    """
    code = value * {"srsrc": 4, "sbase": 2}.get(slot.field, 1)
    if slot.file is File.SREG and code in (M0, EXEC_LO, EXEC_HI):
        return None
    if slot.field == "saddr" and code == SADDR_OFF:
        return None
    if slot.dwords == 1:
        return Operand(code) if code in SINGLES else None
    if slot.dwords == 2 and code in NAMED_PAIRS:
        return Operand(code, 2)
    first = code & (-2 if slot.dwords == 2 else -4)
    end = first + slot.dwords
    legal = (code in SGPRS and end <= SGPRS.stop + 2) or (code in TTMP and end <= TTMP.stop)
    return Operand(first, slot.dwords) if legal else None


READ: dict[File, Callable[[Slot, int], Operand | None]] = {
    File.SGPR: scalar,
    File.SREG: scalar,
    File.IMMEDIATE: number,
}
"""How the memory encodings read a field, where it is not as in the others."""


def _kind(row: Row) -> Kind | None:
    return row.access.kind if row.access is not None else None


def signed(value: int, bits: int) -> int:
    """Return the value of a field of so many bits in two's complement."""
    return value - (value >> bits - 1 << bits)


class Smem(MemoryWord):
    """Scalar memory; ``soffset`` is a register, ``offset`` an immediate, and each can be there or not."""

    __slots__ = ()
    encoding, mask, value = Encoding.SMEM, 0xFC00_0000, 0xC000_0000
    returning = "glc"
    op = Bits(25, 18)
    sbase, sdata, sdst, soffset_en, glc, imm = (
        Bits(5, 0), Bits(12, 6), Bits(12, 6), Bits(14, 14), Bits(16, 16), Bits(17, 17),
    )  # fmt: skip
    offset, soffset = Bits(52, 32), Bits(63, 57)
    bare: ClassVar[bool] = False
    """Whether this is the form of the instructions without an address."""

    @classmethod
    def accepts(cls, row: Row) -> bool:
        """Whether the row has this form."""
        return super().accepts(row) and cls.bare is not bool(row.src)

    def modifiers(self, row: Row) -> Modifiers | None:
        """Return the modifiers that the word holds; None if it is no instruction with them."""
        cached = _kind(row) in (Kind.LOAD, Kind.STORE, Kind.ATOMIC)
        return Modifiers(offset=signed(self.offset, 21) if self.imm else 0, sc0=bool(cached and self.glc))


class SmemRegister(Smem):
    """The older form of a register offset, in the place of the immediate."""

    __slots__ = ()
    soffset = Bits(38, 32)


class Ds(MemoryWord):
    """Local data share and global wave sync; with two addresses a row has an offset of 8 bits for each."""

    __slots__ = ()
    encoding, mask, value = Encoding.DS, 0xFC00_0000, 0xD800_0000
    op = Bits(24, 17)
    offset, offset0, offset1, gds, acc = Bits(15, 0), Bits(7, 0), Bits(15, 8), Bits(16, 16), Bits(25, 25)
    addr, data0, data1, vdst = Bits(39, 32), Bits(47, 40), Bits(55, 48), Bits(63, 56)

    @classmethod
    def accepts(cls, row: Row) -> bool:
        """Whether the row has this form."""
        return _kind(row) is not Kind.GWS

    def modifiers(self, row: Row) -> Modifiers | None:
        """Return the modifiers that the word holds; None if it is no instruction with them."""
        access = row.access
        if access is not None and access.addresses == 2:
            return Modifiers(offset0=self.offset0, offset1=self.offset1)
        return Modifiers(offset=self.offset, gds=_kind(row) is Kind.GWS)


class Gws(Ds):
    """DS words with ``gds``, which only global wave sync has."""

    __slots__ = ()
    mask, value = Ds.mask | 1 << 16, Ds.value | 1 << 16

    @classmethod
    def accepts(cls, row: Row) -> bool:
        """Whether the row has this form."""
        return _kind(row) is Kind.GWS


class Flat(MemoryWord):
    """A 64-bit address in a pair of VGPRs, for global, LDS or scratch memory."""

    __slots__ = ()
    encoding, mask, value = Encoding.FLAT, 0xFC00_C000, 0xDC00_0000
    returning = "sc0"
    op = Bits(24, 18)
    offset, sve, sc0, nt, sc1 = Bits(12, 0), Bits(13, 13), Bits(16, 16), Bits(17, 17), Bits(25, 25)
    vaddr, vdata, saddr, acc, vdst = Bits(39, 32), Bits(47, 40), Bits(54, 48), Bits(55, 55), Bits(63, 56)
    pairs: ClassVar[tuple[str, ...]] = ("vaddr",)

    def modifiers(self, row: Row) -> Modifiers | None:
        """Return the modifiers that the word holds; None if it is no instruction with them."""
        if row.style == NO_SC1_RETURN and self.returns and self.acc and self.sc1:
            return None
        return Modifiers(offset=self.distance, sc0=bool(self.sc0), nt=bool(self.nt), sc1=bool(self.sc1))

    @property
    def distance(self) -> int:
        """Value of the offset in bytes."""
        return self.offset


class Segment(Flat):
    """FLAT words that name their memory; 0x7F in ``saddr`` says that there is no scalar address."""

    __slots__ = ()

    def modifiers(self, row: Row) -> Modifiers | None:
        """Return the modifiers that the word holds; None if it is no instruction with them."""
        return None if "saddr" in self.absent and self.saddr != SADDR_OFF else super().modifiers(row)

    @property
    def distance(self) -> int:
        """Value of the offset in bytes."""
        return signed(self.offset, 13)


class Global(Segment):
    """A 64-bit address in VGPRs, or in SGPRs with an offset of 32 bits in a VGPR."""

    __slots__ = ()
    encoding, mask, value = Encoding.GLOBAL, 0xFC00_C000, 0xDC00_8000

    @classmethod
    def row_of(cls, row: Row) -> Row:
        """Return the row with the operands of this form."""
        row = super().row_of(row)
        if not cls.returns or row.style != VGPR_RETURN:
            return row
        dst, src = (tuple(replace(slot, acc="") for slot in slots) for slots in (row.dst, row.src))
        return replace(row, dst=dst, src=src, zero=row.zero | 1 << cls.acc.low)


class Scratch(Segment):
    """An offset of 32 bits into the lane's own memory: VGPR, SGPR, both or neither."""

    __slots__ = ()
    encoding, mask, value = Encoding.SCRATCH, 0xFC00_C000, 0xDC00_4000
    pairs = ()


class Mubuf(MemoryWord):
    """A buffer described by four SGPRs, untyped."""

    __slots__ = ()
    encoding, mask, value = Encoding.MUBUF, 0xFC00_0000, 0xE000_0000
    returning = "sc0"
    op = Bits(24, 18)
    offset, offen, idxen, sc0, sc1, lds, nt = (
        Bits(11, 0), Bits(12, 12), Bits(13, 13), Bits(14, 14), Bits(15, 15), Bits(16, 16), Bits(17, 17),
    )  # fmt: skip
    vaddr, vdata, vdst, srsrc, acc, soffset = (
        Bits(39, 32), Bits(47, 40), Bits(47, 40), Bits(52, 48), Bits(55, 55), Bits(63, 56),
    )  # fmt: skip

    def modifiers(self, row: Row) -> Modifiers | None:
        """Return the modifiers that the word holds; None if it is no instruction with them."""
        if _kind(row) is Kind.CACHE:
            return Modifiers(sc0=bool(self.sc0), sc1=bool(self.sc1))
        return Modifiers(
            offset=self.offset,
            sc0=bool(self.sc0),
            nt=bool(self.nt),
            sc1=bool(self.sc1),
            lds=bool(self.lds),
            offen=bool(self.offen),
            idxen=bool(self.idxen),
        )


class MubufLds(Mubuf):
    """Loads that go to LDS, at an address from M0, and leave the registers alone."""

    __slots__ = ()
    mask, value = Mubuf.mask | 1 << 16, Mubuf.value | 1 << 16

    @classmethod
    def accepts(cls, row: Row) -> bool:
        """Whether the row has this form."""
        return row.style == BUFFER_TO_LDS

    @classmethod
    def row_of(cls, row: Row) -> Row:
        """Return the row with the operands of this form."""
        row = super().row_of(row)
        access = row.access and replace(row.access, kind=Kind.TO_LDS, m0=True)
        return replace(row, dst=(), zero=row.zero & ~(1 << cls.lds.low) | 1 << cls.acc.low, access=access)


class Mtbuf(MemoryWord):
    """A buffer described by four SGPRs, with the format of its elements in the word."""

    __slots__ = ()
    encoding, mask, value = Encoding.MTBUF, 0xFC00_0000, 0xE800_0000
    op = Bits(18, 15)
    offset, offen, idxen, sc0, dfmt, nfmt = (
        Bits(11, 0), Bits(12, 12), Bits(13, 13), Bits(14, 14), Bits(22, 19), Bits(25, 23),
    )  # fmt: skip
    vaddr, vdata, vdst, srsrc, sc1, nt, acc, soffset = (
        Bits(39, 32), Bits(47, 40), Bits(47, 40), Bits(52, 48), Bits(53, 53), Bits(54, 54), Bits(55, 55), Bits(63, 56),
    )  # fmt: skip

    def modifiers(self, row: Row) -> Modifiers | None:
        """Return the modifiers that the word holds; None if it is no instruction with them."""
        return Modifiers(
            offset=self.offset,
            sc0=bool(self.sc0),
            nt=bool(self.nt),
            sc1=bool(self.sc1),
            offen=bool(self.offen),
            idxen=bool(self.idxen),
            dfmt=self.dfmt,
            nfmt=self.nfmt,
        )


def _form(word: type[MemoryWord], fixed: dict[str, int], **facts: object) -> type[MemoryWord]:
    """Return the class of the words with these values in one-bit fields of the first dword."""
    mask, value = word.mask, word.value
    for field, number in fixed.items():
        low = getattr(word, field).low
        mask, value = mask | 1 << low, value | number << low
    return type(word.__name__, (word,), {"__slots__": (), "mask": mask, "value": value, **facts})


def _returning(words: list[type[MemoryWord]]) -> list[type[MemoryWord]]:
    """Return the classes and, for each, the one of the atomics that return."""
    return [*words, *(_form(word, {word.returning: 1}, returns=True) for word in words)]


def _buffer(word: type[MemoryWord]) -> list[type[MemoryWord]]:
    """Return the four forms of a buffer address: no VGPR, an offset, an index, or both."""
    return [
        _form(word, {"offen": 0, "idxen": 0}, absent=("vaddr",)),
        _form(word, {"offen": 1, "idxen": 0}),
        _form(word, {"offen": 0, "idxen": 1}),
        _form(word, {"offen": 1, "idxen": 1}, pairs=("vaddr",)),
    ]


_SMEM = [
    _form(Smem, {"imm": 1, "soffset_en": 0}, absent=("soffset",)),
    _form(Smem, {"imm": 1, "soffset_en": 1}),
    _form(Smem, {"imm": 0, "soffset_en": 1}),
    _form(SmemRegister, {"imm": 0, "soffset_en": 0}),
]
_SCRATCH = [
    _form(Scratch, {"sve": 0}, absent=("vaddr", "saddr")),
    _form(Scratch, {"sve": 0}, absent=("vaddr",)),
    _form(Scratch, {"sve": 1}, absent=("saddr",)),
    _form(Scratch, {"sve": 1}),
]
_GLOBAL = [_form(Global, {}, absent=("saddr",)), _form(Global, {}, pairs=("saddr",))]

WORDS: dict[Encoding, list[type[MemoryWord]]] = {
    Encoding.SMEM: [*_returning(_SMEM), _form(Smem, {"imm": 0}, bare=True)],
    Encoding.DS: [Ds, Gws],
    Encoding.FLAT: _returning([Flat]),
    Encoding.GLOBAL: _returning(_GLOBAL),
    Encoding.SCRATCH: _SCRATCH,
    Encoding.MUBUF: [*_returning(_buffer(Mubuf)), *_buffer(MubufLds)],
    Encoding.MTBUF: _buffer(Mtbuf),
}
"""Every form of every memory encoding."""
