"""Constants that definitions look up, computed with Python's integers and decimals: the same on every host."""

from __future__ import annotations

import struct
from decimal import Context, Decimal, localcontext
from functools import cache
from math import factorial

__all__ = ["logarithms", "pi", "powers", "series", "two_over_pi"]

DIGITS = 60


@cache
def pi(bits: int) -> int:
    """Pi times a power of two, rounded down up to an error of a few units.

    >>> pi(16)
    205887
    """
    guard = 32
    one = 1 << bits + guard

    def arctangent_of_inverse(n: int) -> int:
        power, total, k = one // n, 0, 1
        while power:
            total += power // k if k % 4 == 1 else -(power // k)
            power, k = power // (n * n), k + 2
        return total

    return 4 * (4 * arctangent_of_inverse(5) - arctangent_of_inverse(239)) >> guard


@cache
def two_over_pi() -> tuple[int, ...]:
    """The 1201 bits of 2/pi behind the point that the hardware holds, in words of 32 bits, and words of zeros.

    >>> hex(two_over_pi()[0])
    '0xa2f9836e'
    """
    bits, words = 1201, 41
    precision = bits + 64
    fraction = (2 << 2 * precision) // pi(precision) >> precision - bits << 32 * words - bits
    return tuple(fraction >> 32 * (words - 1 - n) & 0xFFFF_FFFF for n in range(words))


def _float(number: Decimal) -> int:
    return int.from_bytes(struct.pack("<d", float(number)), "little")


@cache
def powers(steps: int) -> tuple[int, ...]:
    """The float64 next to 2**(n / steps), for n below ``steps``, as bits."""
    with localcontext(Context(prec=DIGITS)):
        return tuple(_float(Decimal(2) ** (Decimal(n) / steps)) for n in range(steps))


LOG_STEPS = 9
"""Bits of the mantissa that select an entry of the table of logarithms."""
LOG_FIRST = 0x3F80_0000 - 299 * (1 << 23 - LOG_STEPS) - (1 << 22 - LOG_STEPS)
"""Bits of the float32 at which the first entry begins: near the root of 1/2, with 1 in the middle of an entry."""


@cache
def logarithms() -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """For each entry a factor that brings its numbers near 1, and minus the factor's logarithm to base 2, in two parts.

    All are float64 bits. The factor has 12 bits behind the point, so its product with a float32 is exact; the first
    part of the logarithm is a multiple of 2**-44, so its sum with an exponent is.
    """
    factors, high, low = [], [], []
    with localcontext(Context(prec=DIGITS)):
        for n in range(1 << LOG_STEPS):
            middle = LOG_FIRST + (n << 23 - LOG_STEPS) + (1 << 22 - LOG_STEPS)
            (number,) = struct.unpack("<f", struct.pack("<I", middle))
            factor = Decimal(round(4096 / number)) / 4096
            logarithm = -factor.ln() / Decimal(2).ln()
            head = (logarithm * 2**44).to_integral_value() / 2**44
            factors.append(_float(factor))
            high.append(_float(head))
            low.append(_float(logarithm - head))
    return tuple(factors), tuple(high), tuple(low)


@cache
def series(kind: str, terms: int) -> tuple[float, ...]:
    """Coefficients of power series, as float64.

    ``exp``: 2**x - 1, from x on. ``log``: log2(1 + x), from x on. ``sin``: the sine of x revolutions, from x on,
    odd powers; of the first it is what is left behind 16 bits of 2 pi, `TURN`.
    """
    with localcontext(Context(prec=DIGITS)):
        ln2 = Decimal(2).ln()
        match kind:
            case "exp":
                return tuple(float(ln2**n / factorial(n)) for n in range(1, terms + 1))
            case "log":
                return tuple(float(Decimal((-1) ** (n + 1)) / n / ln2) for n in range(1, terms + 1))
            case _:
                turn = 2 * Decimal(pi(200)) / 2**200
                first = turn - Decimal(TURN)
                rest = ((-1) ** n * turn ** (2 * n + 1) / factorial(2 * n + 1) for n in range(1, terms))
                return (float(first), *map(float, rest))


TURN = int(2 * 3.141592653589793 * 2**14) / 2**14
"""2 pi, cut off behind 17 bits: its product with a number of up to 36 bits is exact."""
