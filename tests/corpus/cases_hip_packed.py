"""Halves of 16 bits, alone and in pairs, and dot products of packed integers."""

from __future__ import annotations

import functools

import numpy as np

from corpus.case import expecting
from corpus.cases_hip_integers import (
    COUNT,
    expected_rows,
    halves,
    results_of,
    reversed_bits,
    saturated,
    signed,
    swapped,
)

__all__ = ["CASES"]

M16, M32 = (1 << 16) - 1, (1 << 32) - 1

SCALAR16 = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x * y + x,
    lambda x, y: x << (y & 15),
    lambda x, y: x >> (y & 15),
    lambda x, y: signed(x, 16) >> (y & 15),
    lambda x, y: min(signed(x, 16), signed(y, 16)),
    lambda x, y: max(signed(x, 16), signed(y, 16)),
    min,
    max,
    lambda x, y: min(x + y, M16),
    lambda x, y: saturated(signed(x, 16) - signed(y, 16), -1 << 15, M16 >> 1),
    lambda x, y: reversed_bits(x, 16),
    lambda x, y: swapped(x, 2),
]


def _both(operation):
    """Apply an operation to both halves."""

    def packed(x, y):
        low, high = (operation(p, q) & M16 for p, q in zip(halves(x), halves(y), strict=True))
        return low | high << 16

    return packed


def _signed_halves(operation):
    return _both(lambda p, q: operation(signed(p, 16), signed(q, 16)))


PACKED16 = [
    _both(lambda p, q: p + q),
    _both(lambda p, q: p - q),
    _both(lambda p, q: p * q),
    _both(lambda p, q: p * q + p),
    _both(lambda p, q: p << (q & 15)),
    _both(lambda p, q: p >> (q & 15)),
    _both(lambda p, q: signed(p, 16) >> (q & 15)),
    _signed_halves(min),
    _signed_halves(max),
    _both(min),
    _both(max),
    _both(lambda p, q: min(p + q, M16)),
    _both(lambda p, q: max(p - q, 0)),
    _signed_halves(lambda p, q: saturated(p + q, -1 << 15, M16 >> 1)),
    _signed_halves(lambda p, q: saturated(p - q, -1 << 15, M16 >> 1)),
    lambda x, y: ((x >> 16) + y & M16) | ((x + (y >> 16)) & M16) << 16,
    lambda x, y: ((x & M16) * (y >> 16) & M16) | ((x & M16) * (y & M16) & M16) << 16,
]


def _dot(width, sign):
    def split(x):
        parts = [x >> at & ((1 << width) - 1) for at in range(0, 32, width)]
        return [signed(p, width) for p in parts] if sign else parts

    return lambda x, y: sum(p * q for p, q in zip(split(x), split(y), strict=True))


S8, U8, S4, U4, S16, U16 = (_dot(width, sign) for width in (8, 4, 16) for sign in (True, False))
DOTS = [
    lambda x, y, z: S8(x, y) + signed(z),
    lambda x, y, z: saturated(S8(x, y) + signed(z), -1 << 31, M32 >> 1),
    lambda x, y, z: U8(x, y) + z,
    lambda x, y, z: min(U8(x, y) + z, M32),
    lambda x, y, z: S4(x, y) + signed(z),
    lambda x, y, z: U4(x, y) + z,
    lambda x, y, z: S16(x, y) + signed(z),
    lambda x, y, z: min(U16(x, y) + z, M32),
]
KERNELS = [("packed16", np.uint32, PACKED16, 2), ("scalar16", np.uint16, SCALAR16, 2), ("dots", np.uint32, DOTS, 3)]


def _cases(variant):
    for name, dtype, operations, inputs in KERNELS:
        made = functools.partial(results_of, COUNT, dtype, operations, inputs)
        wanted = functools.partial(expected_rows, operations, False)
        yield expecting(f"{variant}: {name}", f"hip_{variant}.co", name, 3, 64, made, wanted)


CASES = [*_cases("integers"), *_cases("integers_O0")]
