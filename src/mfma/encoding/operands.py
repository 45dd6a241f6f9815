"""The operands of an instruction as values: register tuples and inline constants."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from mfma.errors import EncodingError

__all__ = ["InlineConstant", "Source", "Vgprs"]

REGISTERS = 256
"""Registers of each file that the encoding can name: v0 to v255 and a0 to a255."""


@dataclass(frozen=True)
class Vgprs:
    """``count`` consecutive 32-bit vector registers from ``first``; ``acc`` for accumulation VGPRs.

    Raises:
        EncodingError: a register outside 0 to 255, or no register at all.

    >>> print(Vgprs(0, 4), Vgprs(4, 1), Vgprs(0, 16, acc=True))
    v[0:3] v4 a[0:15]
    """

    first: int
    count: int
    acc: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.count <= REGISTERS:
            raise EncodingError(f"A tuple of {self.count} registers cannot be named; give 1 to {REGISTERS}.")
        if not 0 <= self.first <= REGISTERS - self.count:
            raise EncodingError(
                f"{self} is out of range: registers go from 0 to {REGISTERS - 1}; a tuple of {self.count} starts at "
                f"{REGISTERS - self.count} or below."
            )

    def __str__(self) -> str:
        file = "a" if self.acc else "v"
        return f"{file}{self.first}" if self.count == 1 else f"{file}[{self.first}:{self.last}]"

    @property
    def last(self) -> int:
        """The highest register of the tuple."""
        return self.first + self.count - 1

    @property
    def code(self) -> int:
        """The tuple's first register as a source of the instruction word, without the ``acc`` bit."""
        return REGISTERS + self.first

    def overlaps(self, other: Vgprs) -> bool:
        """Whether some register is in both tuples."""
        return self.acc == other.acc and self.first <= other.last and other.first <= self.last


INV_2PI = 0.15915494309189532  # 1/(2π) as LLVM prints it; the nearest double would end in ...535

# The constants that a source field holds in place of a register. The type is part of the value: 1 is the bit
# pattern 1, 1.0 the floating-point number.
VALUES: dict[int, int | float] = {
    **{128 + n: n for n in range(65)},
    **{192 + n: -n for n in range(1, 17)},
    **dict(enumerate((0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, INV_2PI), start=240)),
}


@dataclass(frozen=True)
class InlineConstant:
    """A constant that the instruction word holds itself; every element of C has this value.

    ``code`` is the source field: 128 to 192 for 0 to 64, 193 to 208 for -1 to -16, 240 to 248 for ±0.5, ±1.0,
    ±2.0, ±4.0 and 1/(2π). `InlineConstant.of` finds it from the value.

    Raises:
        EncodingError: the code stands for no inline constant.

    >>> print(InlineConstant.of(1), InlineConstant.of(1.0), InlineConstant.of(-16))
    1 1.0 -16
    """

    code: int

    def __post_init__(self) -> None:
        if self.code not in VALUES:
            raise EncodingError(
                f"Source code {self.code} is no inline constant; integers are 128 to 208, floats 240 to 248."
            )

    @classmethod
    def of(cls, value: int | float) -> InlineConstant:
        """Return the constant of this value: an int means the integer's bits, a float the floating-point number.

        Raises:
            EncodingError: there is no inline constant of this value.
        """
        code = CODES.get((type(value), value))
        if code is None:
            raise EncodingError(f"{value!r} is no inline constant; C takes {ALLOWED}.")
        return cls(code)

    @classmethod
    def read(cls, value: int | float, bits: int) -> InlineConstant:
        """Return the constant that the assembler makes of a written number for elements of ``bits`` (32 or 64) bits.

        An integer is a bit pattern, so ``0x3f800000`` is 1.0 in 32 bits; a float is rounded to the element.

        Raises:
            EncodingError: the number gives no inline constant.

        >>> print(InlineConstant.read(0x3F800000, 32), InlineConstant.read(0xFFFFFFFF, 32))
        1.0 -1
        """
        # No float constant is that small but 0; the bits of a subnormal float are those of an integer constant.
        small = isinstance(value, float) and 0 < abs(value) < 0.1
        fits = -(1 << bits - 1) <= value < 1 << bits
        code = PATTERNS[bits].get(_pattern(value, bits)) if fits and not small else None
        if code is None:
            raise EncodingError(f"{value!r} gives no inline constant in {bits} bits; C takes {ALLOWED}.")
        return cls(code)

    @property
    def value(self) -> int | float:
        """The constant as a Python number: an int stands for the integer's bits."""
        return VALUES[self.code]

    def pattern(self, bits: int) -> int:
        """Return the bits of one element of C, ``bits`` (32 or 64) wide.

        >>> hex(InlineConstant.of(1.0).pattern(64)), InlineConstant.of(1).pattern(64)
        ('0x3ff0000000000000', 1)
        """
        return _pattern(self.value, bits)

    def text(self, bits: int) -> str:
        """Return the assembler's text where elements are ``bits`` (32 or 64) wide; only 1/(2π) depends on it."""
        return "0.15915494" if self.value == INV_2PI and bits == 32 else str(self.value)

    def __str__(self) -> str:
        return self.text(64)


def _pattern(value: int | float, bits: int) -> int:
    if isinstance(value, int):
        return value & (1 << bits) - 1
    return int.from_bytes(struct.pack("<f" if bits == 32 else "<d", value), "little")


CODES = {(type(value), value): code for code, value in VALUES.items()}
PATTERNS = {bits: {_pattern(value, bits): code for code, value in VALUES.items()} for bits in (32, 64)}
ALLOWED = "0 to 64, -1 to -16, ±0.5, ±1.0, ±2.0, ±4.0, 1/(2π) or registers"

Source = Vgprs | InlineConstant
