"""Bit fields of instruction words, declared once for both directions, and the word of VOP3P-MAI."""

from __future__ import annotations

from typing import overload

from mfma.errors import EncodingError

__all__ = ["MAI", "Bits", "MaiWord", "Word"]

MAI = 0b110100111
"""What bits 31:23 hold in every word of this encoding."""


class Bits:
    """Bits ``high:low`` of the word that the instance holds, as an attribute that reads and writes them.

    On the class it is the declaration itself, with ``high``, ``low`` and ``largest``.
    """

    def __init__(self, high: int, low: int) -> None:
        self.high = high
        self.low = low
        self.largest = (1 << high - low + 1) - 1

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, holder: None, owner: type) -> Bits: ...
    @overload
    def __get__(self, holder: Word, owner: type) -> int: ...
    def __get__(self, holder: Word | None, owner: type) -> Bits | int:
        return self if holder is None else holder.word >> self.low & self.largest

    def __set__(self, holder: Word, value: int) -> None:
        self.check(value)
        holder.word = holder.word & ~(self.largest << self.low) | value << self.low

    def check(self, value: int) -> None:
        """Refuse a value that the field cannot hold.

        Raises:
            EncodingError: the value is negative or needs more bits.
        """
        if not 0 <= value <= self.largest:
            width = self.high - self.low + 1
            raise EncodingError(
                f"{self.name}={value} does not fit its field of {width} bits; give 0 to {self.largest}."
            )


class Word:
    """One integer whose bits have names, given as the whole word or field by field.

    >>> class Half(Word):
    ...     __slots__ = ()
    ...     low, high = Bits(7, 0), Bits(15, 8)
    >>> hex(Half(low=0x34, high=0x12).word), Half(0x1234).high
    ('0x1234', 18)
    """

    __slots__ = ("word",)

    def __init__(self, word: int = 0, **fields: int) -> None:
        self.word = word
        for name, value in fields.items():
            setattr(self, name, value)


class MaiWord(Word):
    """The 64-bit instruction word of the matrix instructions.

    ``src0``, ``src1`` and ``src2`` are A, B and C. A source of 256 + n is register n; `acc_a`, `acc_b` and
    `acc_cd` say that the register is an accumulation VGPR. On f64 ``blgp`` holds the signs of A, B and C.

    >>> word = MaiWord(0x0402_0D04_D3CA_0000)
    >>> hex(word.op), word.src0
    ('0x4a', 260)
    >>> word.cbsz = 2
    >>> hex(word.word), hex(MaiWord(op=0x4A, src0=260).word)
    ('0x4020d04d3ca0200', '0x104004a0000')
    """

    __slots__ = ()

    vdst = Bits(7, 0)
    cbsz = Bits(10, 8)
    abid = Bits(14, 11)
    acc_cd = Bits(15, 15)
    op = Bits(22, 16)
    encoding = Bits(31, 23)
    src0 = Bits(40, 32)
    src1 = Bits(49, 41)
    src2 = Bits(58, 50)
    acc_a = Bits(59, 59)
    acc_b = Bits(60, 60)
    blgp = Bits(63, 61)
