"""Exact numbers for the reference: dyadic rationals in Python integers, and the codes that stand for them.

Nothing here rounds unless it is told where. The two ways in and out are `decoder` (code to number) and
`round_to` (number to code, to nearest even).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from mfma.errors import OperandTypeError
from mfma.formats import Format
from mfma.numerics.nans import is_nan

__all__ = ["ZERO", "Dyadic", "Number", "Rounding", "decoder", "round_to"]


@dataclass(frozen=True, slots=True, eq=False)
class Dyadic:
    """The exact number ``count · 2**scale``.

    >>> three_halves = Dyadic(3, -1)
    >>> str(three_halves * three_halves - Dyadic(1, -30)), three_halves.floor(0) == Dyadic(1, 0)
    ('0x1.1ffffffep+1', True)
    """

    count: int
    scale: int

    def __add__(self, other: Dyadic) -> Dyadic:
        shift = self.scale - other.scale
        if shift >= 0:
            return Dyadic((self.count << shift) + other.count, other.scale)
        return Dyadic(self.count + (other.count << -shift), self.scale)

    def __neg__(self) -> Dyadic:
        return Dyadic(-self.count, self.scale)

    def __sub__(self, other: Dyadic) -> Dyadic:
        return self + -other

    def __mul__(self, other: Dyadic) -> Dyadic:
        return Dyadic(self.count * other.count, self.scale + other.scale)

    def __bool__(self) -> bool:
        return self.count != 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dyadic) and not (self - other)

    def __hash__(self) -> int:
        return hash(self.fraction)

    @property
    def fraction(self) -> Fraction:
        """The same number as a `fractions.Fraction`."""
        return Fraction(self.count) * Fraction(2) ** self.scale

    @property
    def binade(self) -> int:
        """``floor(log2|x|)``; undefined for zero."""
        return self.scale + self.count.bit_length() - 1

    def floor(self, position: int) -> Dyadic:
        """Round toward minus infinity to a multiple of ``2**position``."""
        if self.scale >= position:
            return self
        return Dyadic(self.count >> position - self.scale, position)

    def truncate(self, position: int) -> Dyadic:
        """Round toward zero to a multiple of ``2**position``."""
        return self.floor(position) if self.count >= 0 else -(-self).floor(position)

    def hex(self) -> str:
        """Write the number exactly as ``float.fromhex`` reads it, with as many digits as it has."""
        if not self.count:
            return "0x0p+0"
        magnitude = abs(self.count)
        bits = magnitude.bit_length() - 1
        digits = -(-bits // 4)
        fraction = f"{(magnitude << 4 * digits - bits) - (1 << 4 * digits):0{digits}x}".rstrip("0") if bits else ""
        return f"{'-' * (self.count < 0)}0x1{'.' * bool(fraction)}{fraction}p{self.binade:+d}"

    def __str__(self) -> str:
        """Write for people: plain decimal where that is short, a power of two, else hexadecimal."""
        magnitude = abs(self.count)
        if not magnitude:
            return "0"
        lowest_bit = self.scale + (magnitude & -magnitude).bit_length() - 1
        if (lowest_bit >= -8 and self.binade < 24) or (lowest_bit >= 0 and self.binade < 40):
            return repr(float(self.fraction)).removesuffix(".0")
        if lowest_bit == self.binade:
            return f"{'-' * (self.count < 0)}2^{self.binade}"
        digits, power = self.hex().split("p")
        return f"{digits[:13]}…p{power}" if len(digits) > 18 else self.hex()


ZERO = Dyadic(0, 0)


@dataclass(frozen=True, slots=True)
class Number:
    """What a code stands for. ``value`` is zero for infinities and NaNs.

    ``exponent`` is that of the code: ``floor(log2|value|)``, but never below the format's smallest normal
    exponent, which it has for subnormals and zero.
    """

    code: int
    negative: bool
    value: Dyadic
    exponent: int
    infinite: bool = False
    nan: bool = False

    @property
    def finite(self) -> bool:
        """Whether the code is neither an infinity nor a NaN."""
        return not (self.infinite or self.nan)

    @property
    def zero(self) -> bool:
        """Whether the code is +0 or -0."""
        return not self.value and self.finite

    @property
    def negative_zero(self) -> bool:
        """Whether the code is -0."""
        return self.negative and self.zero

    def hex(self) -> str:
        """Write exactly, as ``float.fromhex`` reads it."""
        return self._special_text or "-" * self.negative_zero + self.value.hex()

    def __float__(self) -> float:
        return float.fromhex(self.hex())

    def __str__(self) -> str:
        return self._special_text or "-" * self.negative_zero + str(self.value)

    @property
    def _special_text(self) -> str:
        return "nan" if self.nan else "-" * self.negative + "inf" if self.infinite else ""


@functools.cache
def decoder(format: Format) -> Callable[[int], Number]:
    """Make the function from codes of ``format`` to exact numbers; it remembers what it has decoded.

    The bits that the format ignores are cut off first, which is the truncation of xf32 operands. The function
    raises `OperandTypeError` for an integer that is no code.

    >>> from mfma.formats import BF8, I8, XF32
    >>> [str(decoder(f)(code)) for f, code in ((BF8, 0x40), (XF32, 0x40501FFF), (I8, 0xFF))]
    ['1', '3.25', '-1']
    """

    @functools.lru_cache(maxsize=1 << 16)
    def decode(code: int) -> Number:
        if not 0 <= code < 1 << format.bits:
            raise OperandTypeError(
                f"{code} is not a code of {format}: codes are 0 to {(1 << format.bits) - 1}; "
                "take an array's bits with .view() of the unsigned type, or convert values with mfma.encode."
            )
        negative = bool(code >> format.bits - 1)
        if format.is_integer:
            return Number(code, negative, Dyadic(code - (negative << format.bits), 0), 0)
        stored = format.bits - 1 - format.exponent
        magnitude = (code & (1 << format.bits - 1) - 1) >> format.ignored << format.ignored
        field, fraction = magnitude >> stored, magnitude & (1 << stored) - 1
        exponent = max(field, 1) - format.bias
        if is_nan(code, format):
            return Number(code, negative, ZERO, exponent, nan=True)
        if exponent > format.max_exponent:
            return Number(code, negative, ZERO, exponent, infinite=True)
        count = fraction + ((field > 0) << stored)
        return Number(code, negative, Dyadic(-count if negative else count, exponent - stored), exponent)

    return decode


@dataclass(frozen=True, slots=True)
class Rounding:
    """One rounding to nearest even: the exact number, and the ``number`` of the format that it became."""

    exact: Dyadic
    number: Number
    tie: bool
    overflow: bool

    @property
    def error(self) -> Dyadic:
        """What rounding added; meaningless after an overflow."""
        return self.number.value - self.exact


def round_to(exact: Dyadic, format: Format, *, negative_zero: bool = False, saturate: bool = False) -> Rounding:
    """Round to the nearest number of an IEEE ``format``, ties to even; subnormals are kept.

    An exact zero takes its sign from ``negative_zero``, any other result from ``exact``. With ``saturate``
    an overflow gives the largest finite number instead of an infinity.

    >>> from mfma.formats import F32
    >>> f"{round_to(Dyadic(0x1FFFFFF, 0), F32).number.code:08X}"
    '4C000000'
    """
    magnitude = abs(exact.count)
    lowest = max(exact.binade, format.min_exponent) if magnitude else format.min_exponent
    shift = lowest - format.significand - exact.scale
    tie = False
    if shift <= 0:
        units = magnitude << -shift
    else:
        units, rest = magnitude >> shift, magnitude & (1 << shift) - 1
        tie = rest == 1 << shift - 1
        units += rest > 1 << shift - 1 or (tie and units & 1)
    # The leading bit of a normal number's units carries into the exponent field, as does a rounding up to the
    # next binade; a subnormal has no leading bit and stays in field 0.
    code = units + (lowest - format.min_exponent << format.significand)
    infinity = (1 << format.exponent) - 1 << format.significand
    overflow = code >= infinity
    if overflow:
        code = infinity - saturate
    negative = exact.count < 0 or (negative_zero and not magnitude)
    return Rounding(exact, decoder(format)(code | negative << format.bits - 1), tie, overflow)
