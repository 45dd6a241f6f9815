"""Operands as the fast kernels hold them: the value of every code, and for group sums its exponent.

A group sum needs products that are exact and exponents that can be added and compared quickly. Two carriers
serve all formats: float32 values with int8 exponents where every product and every power of two in play fits
float32 (f16, fp8, bf8), float64 with int16 for the wide exponent ranges (bf16, xf32). Zeros and specials carry
exponents far outside a format's range, so that one maximum over a group finds them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from llvmlite import ir

from mfma.formats import Format, Specials
from mfma.native.simd import F32, F64, I8, I16, I32, I64, Value
from mfma.numerics.nans import quiet_nan

__all__ = [
    "NARROW",
    "STORAGE",
    "WIDE",
    "Carrier",
    "Panel",
    "carrier",
    "decode",
    "decode_integer",
    "power_of_two",
    "with_quiet_nans",
]


STORAGE = {8: I8, 16: I16, 32: I32, 64: I64}
"""Bits of a format -> type of its codes in memory."""


@dataclass(frozen=True)
class Carrier:
    """Types that hold the values and exponents of a group sum.

    The sum of two ``exponent``s is a real product's exponent if it lies from ``lowest`` to ``highest``. It
    is below if a factor is zero and neither is special, and above if a factor is an infinity or a NaN.
    """

    value: ir.Type
    exponent: ir.Type
    zero: int
    special: int
    lowest: int
    highest: int


NARROW = Carrier(F32, I8, zero=-64, special=127, lowest=-40, highest=40)
WIDE = Carrier(F64, I16, zero=-1000, special=2000, lowest=-300, highest=126)
"""An exponent of 127 is in the formats' range, but the product may be 2**128: one more special case."""


def carrier(*formats: Format) -> Carrier:
    """Smallest carrier that is exact for products of these formats."""
    return NARROW if all(f.exponent <= 5 for f in formats) else WIDE


def power_of_two(exponent: int) -> float:
    """Constant ``2**exponent``, exact in any rounding mode of the thread that writes the kernel, unlike ``**``."""
    return math.ldexp(1.0, exponent)


def decode(codes: Value, format: Format) -> tuple[Value, Value, Value, Value]:
    """Value (float32, exact), exponent (i32), and the masks "is zero" and "is infinite or NaN" of i32 codes.

    The exponent is the number's own, never below the format's smallest normal one.
    """
    stored = format.bits - 1 - format.exponent
    sign_bit = 1 << format.bits - 1
    field_mask = (1 << format.exponent) - 1
    magnitude = codes & (sign_bit - (1 << format.ignored))
    field = magnitude.shr(stored) if stored else magnitude
    sign = (codes.shr(format.bits - 1) & 1) << 31
    scaled = ((magnitude << 23 - stored) | sign).bitcast(F32) * power_of_two(127 - format.bias)
    if format.specials is Specials.FNUZ:
        special = codes.equals(sign_bit)
        bits = special.select(codes.like(0x7FC00000), scaled.bitcast(I32))
    else:
        special = field.equals(field_mask)
        bits = special.select((magnitude << 23 - stored) | sign | 0x7F800000, scaled.bitcast(I32))
    zero = magnitude.equals(0)
    if format.specials is Specials.FNUZ:
        zero = zero & (special ^ 1)
    return bits.bitcast(F32), field.maximum(1) - format.bias, zero, special


def decode_integer(codes: Value, format: Format) -> Value:
    """Signed integers of ``format`` in i32 codes, as float32: exact for the formats of A and B."""
    shift = 32 - format.bits
    return ((codes << shift) >> shift).to(F32)


@dataclass(frozen=True)
class Panel:
    """Decoded elements of an operand in memory: their values and, for group sums, their exponents."""

    format: Format
    held: Carrier | None
    values: Value
    exponent_memory: Value | None

    @property
    def exponents(self) -> Value:
        """Memory of the exponents; only group sums have them."""
        assert self.exponent_memory is not None
        return self.exponent_memory

    def put(self, codes: Value, index: Value) -> None:
        """Decode codes (of the format's width, or i32 with the code in the low bits) to ``index`` and on."""
        if self.format.bits == 64:
            codes.bitcast(F64).store(self.values, index)
            return
        codes = codes.to(I32, signed=False)
        if self.format.is_integer:
            decode_integer(codes, self.format).store(self.values, index)
            return
        number, exponent, zero, special = decode(codes, self.format)
        number.to(self.held.value if self.held else F32).store(self.values, index)
        if self.held:
            finite = zero.select(exponent.like(self.held.zero), exponent)
            special.select(exponent.like(self.held.special), finite).to(self.held.exponent).store(self.exponents, index)


def with_quiet_nans(codes: Value, format: Format) -> Value:
    """Codes of a result with every NaN replaced by the one that results carry."""
    if format.is_integer:
        return codes
    value = codes.bitcast(F64 if format.bits == 64 else F32)
    return value.is_nan().select(codes.like(quiet_nan(format)), codes)
