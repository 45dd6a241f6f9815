"""Integer and bit operations, expected in Python's integers."""

from __future__ import annotations

import functools

import numpy as np

from corpus.case import expecting
from corpus.reference import integers, rows, wrapped

__all__ = ["CASES", "COUNT", "expected_rows", "halves", "results_of", "reversed_bits", "saturated", "signed", "swapped"]

M16, M32, M64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1
COUNT = 150


def signed(x: int, width: int = 32) -> int:
    x &= (1 << width) - 1
    return x - (x >> (width - 1) << width)


def saturated(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


def reversed_bits(x: int, width: int) -> int:
    return int(f"{x:0{width}b}"[::-1], 2)


def swapped(x: int, size: int) -> int:
    return int.from_bytes(x.to_bytes(size, "little"), "big")


def leading(x: int, width: int) -> int:
    return width - x.bit_length()


def trailing(x: int, width: int) -> int:
    return (x & -x).bit_length() - 1 if x else width


def quotient(x: int, y: int) -> int:
    """Division towards zero."""
    return abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)


def remainder(x: int, y: int) -> int:
    return x - y * quotient(x, y)


def perm(x: int, y: int, selector: int) -> int:
    """v_perm_b32: 0..7 a byte of y then x, 8..11 the sign of a half, 12 zero, above it 0xff."""
    both, result = x << 32 | y, 0
    for place in range(4):
        s = selector >> 8 * place & 255
        if s < 8:
            byte = both >> 8 * s & 255
        elif s < 12:
            byte = 255 * (both >> (16 * (s - 8) + 15) & 1)
        else:
            byte = 0 if s == 12 else 255
        result |= byte << 8 * place
    return result


def octets(x: int, of: int = 4) -> list[int]:
    return [x >> 8 * i & 255 for i in range(of)]


def halves(x: int) -> list[int]:
    return [x & M16, x >> 16]


def sad8(x: int, y: int, masked: bool = False) -> int:
    return sum(abs(p - q) for p, q in zip(octets(x), octets(y), strict=True) if q or not masked)


BITS32 = [
    lambda x, y, i: x.bit_count(),
    lambda x, y, i: leading(x, 32),
    lambda x, y, i: trailing(x, 32),
    lambda x, y, i: leading(x ^ M32 if x >> 31 else x, 32) - 1,
    lambda x, y, i: reversed_bits(x, 32),
    lambda x, y, i: swapped(x, 4),
    lambda x, y, i: (x << 32 | x) >> (y & 31),
    lambda x, y, i: (x << 32 | x) << (y & 31) >> 32,
    lambda x, y, i: (x << 32 | y) >> 24,
    lambda x, y, i: (x << 32 | y) >> (y & 31),
    lambda x, y, i: perm(x, y, 0x07020C05),
    lambda x, y, i: perm(x, y, 0x0D090A0B),
    lambda x, y, i: perm(x, y, y),
    lambda x, y, i: x >> (y & 31) & 127,
    lambda x, y, i: signed(signed(x) >> (y & 31), 9),
    lambda x, y, i: (x & 0x00FFFF00) | (y & 0xFF0000FF),
    lambda x, y, i: (x & y) | (~x & i),
    lambda x, y, i: x ^ y ^ i,
    lambda x, y, i: x | y | i,
    lambda x, y, i: (x & y) | i,
    lambda x, y, i: (x << 5) | y,
    lambda x, y, i: (x << 7) + y,
    lambda x, y, i: (x + y) << 3,
    lambda x, y, i: x + y + i,
    lambda x, y, i: (x ^ y) + i,
    lambda x, y, i: ~(x ^ y),
    lambda x, y, i: x >> 8 & 255,
    lambda x, y, i: signed(x, 16),
    lambda x, y, i: signed(x >> 16, 8),
    lambda x, y, i: signed(x) >> (y & 31),
    lambda x, y, i: 1 << (y & 31),
    lambda x, y, i: ((1 << (y & 15)) - 1) << (x & 15),
]
ARITHMETIC32 = [
    lambda x, y, i: x * y,
    lambda x, y, i: x * y >> 32,
    lambda x, y, i: signed(x) * signed(y) >> 32,
    lambda x, y, i: (x & 0xFFFFFF) * (y & 0xFFFFFF),
    lambda x, y, i: signed(x, 24) * signed(y, 24),
    lambda x, y, i: (x & 0xFFFFFF) * (y & 0xFFFFFF) + i,
    lambda x, y, i: min(x + y, M32),
    lambda x, y, i: max(x - y, 0),
    lambda x, y, i: saturated(signed(x) + signed(y), -1 << 31, M32 >> 1),
    lambda x, y, i: saturated(signed(x) - signed(y), -1 << 31, M32 >> 1),
    lambda x, y, i: min(signed(x), signed(y)),
    lambda x, y, i: max(signed(x), signed(y)),
    lambda x, y, i: min(x, y),
    lambda x, y, i: max(x, y),
    lambda x, y, i: max(min(signed(x), signed(y)), i),
    lambda x, y, i: min(max(signed(x), -1000), 1000),
    lambda x, y, i: min(max(x, 17), 1000),
    lambda x, y, i: abs(signed(x)),
    lambda x, y, i: sad8(x, y) + i,
    lambda x, y, i: (sad8(x, y) << 16) + i,
    lambda x, y, i: sum(abs(p - q) for p, q in zip(halves(x), halves(y), strict=True)) + i,
    lambda x, y, i: sad8(x, y, masked=True) + i,
    lambda x, y, i: sum(
        ((p + q + (r & 1)) >> 1) << 8 * n
        for n, (p, q, r) in enumerate(zip(octets(x), octets(y), octets(i), strict=True))
    ),
    lambda x, y, i: abs(x - y),
]
DIVISION32 = [
    lambda x, y, i: x // y,
    lambda x, y, i: x % y,
    lambda x, y, i: 0 if (x, y) == (1 << 31, M32) else quotient(signed(x), signed(y)),
    lambda x, y, i: 0 if (x, y) == (1 << 31, M32) else remainder(signed(x), signed(y)),
    lambda x, y, i: x // 7,
    lambda x, y, i: x % 10,
    lambda x, y, i: quotient(signed(x), -7),
    lambda x, y, i: remainder(signed(x), 1000),
    lambda x, y, i: quotient(signed(x), 8),
    lambda x, y, i: remainder(signed(x), 16),
    lambda x, y, i: (x & M16) // (y & M16 | 1),
    lambda x, y, i: quotient(signed(x, 8), signed(y | 1, 8)),
    lambda x, y, i: (x & 0xFFFFFF) // (y & 0xFFFFFF | 1),
]
BITS64 = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x * y >> 64,
    lambda x, y: x & y,
    lambda x, y: x | y,
    lambda x, y: x ^ y,
    lambda x, y: ~x,
    lambda x, y: x << (y & 63),
    lambda x, y: x >> (y & 63),
    lambda x, y: signed(x, 64) >> (y & 63),
    lambda x, y: x.bit_count(),
    lambda x, y: leading(x, 64),
    lambda x, y: trailing(x, 64),
    lambda x, y: reversed_bits(x, 64),
    lambda x, y: swapped(x, 8),
    min,
    lambda x, y: max(signed(x, 64), signed(y, 64)),
    lambda x, y: (x & M32) * (y & M32) + x,
    lambda x, y: signed(x) * signed(y) + y,
    lambda x, y: (x << 3) + y,
    lambda x, y: x == y,
    lambda x, y: min(x + y, M64),
    lambda x, y: saturated(signed(x, 64) - signed(y, 64), -1 << 63, M64 >> 1),
]
DIVISION64 = [
    lambda x, y: x // y,
    lambda x, y: x % y,
    lambda x, y: quotient(signed(x, 64), 3 if y == M64 else signed(y, 64)),
    lambda x, y: remainder(signed(x, 64), 3 if y == M64 else signed(y, 64)),
    lambda x, y: x // 1000000007,
    lambda x, y: quotient(signed(x, 64), 1000),
    lambda x, y: remainder(signed(x, 64), 8),
]
UNIFORM = [
    lambda x, y, p, q: x.bit_count(),
    lambda x, y, p, q: leading(x, 32),
    lambda x, y, p, q: trailing(y, 32),
    lambda x, y, p, q: reversed_bits(x, 32),
    lambda x, y, p, q: x * y & M32,
    lambda x, y, p, q: x * y,
    lambda x, y, p, q: signed(x) * signed(y),
    lambda x, y, p, q: signed(abs(signed(x))),
    lambda x, y, p, q: min(signed(x), signed(y)),
    lambda x, y, p, q: max(x, y),
    lambda x, y, p, q: signed(x, 8),
    lambda x, y, p, q: signed(x, 16),
    lambda x, y, p, q: x & ~y,
    lambda x, y, p, q: ~(x & y) & M32,
    lambda x, y, p, q: ~(x | y) & M32,
    lambda x, y, p, q: ~(x ^ y) & M32,
    lambda x, y, p, q: (x | ~y) & M32,
    lambda x, y, p, q: x << (y & 31) & M32,
    lambda x, y, p, q: signed(x) >> (y & 31),
    lambda x, y, p, q: x >> 5 & 0x7FF,
    lambda x, y, p, q: signed(x << 9) >> 20,
    lambda x, y, p, q: (x << 2) + y & M32,
    lambda x, y, p, q: p + q,
    lambda x, y, p, q: p - q,
    lambda x, y, p, q: p * q,
    lambda x, y, p, q: p << (q & 63),
    lambda x, y, p, q: signed(p, 64) >> (q & 63),
    lambda x, y, p, q: p & q,
    lambda x, y, p, q: p & ~q,
    lambda x, y, p, q: ~(p ^ q),
    lambda x, y, p, q: p.bit_count(),
    lambda x, y, p, q: leading(p, 64),
    lambda x, y, p, q: trailing(q, 64),
    lambda x, y, p, q: reversed_bits(p, 64),
    lambda x, y, p, q: p == q,
    lambda x, y, p, q: min(signed(p, 64), signed(q, 64)),
    lambda x, y, p, q: (x >> 16 | y << 16) & M32,
    lambda x, y, p, q: (x & 0xFFFF) | (y & 0xFFFF0000),
    lambda x, y, p, q: p // q,
    lambda x, y, p, q: x // y,
    lambda x, y, p, q: p >> 7 & 1,
    lambda x, y, p, q: p >> 11 & 0x3FFFFFFFF,
]
SCALARS = ((0xDEADBEEF, 0x12345678, 0xFEDCBA9876543210, 0x1234567), (1, M32, 1 << 63, M64), (0, 32, 5, 5))


def results_of(count, dtype, operations, inputs=2):
    columns = [integers(seed, count, dtype) for seed in range(inputs)]
    return [*columns, np.zeros(len(operations) * count, dtype), np.uint32(count)]


def expected_rows(operations, lanes, *arguments):
    *columns, out, n = arguments
    columns = [column.tolist() for column in columns]
    return {len(columns): rows(operations, [*columns, range(int(n))] if lanes else columns, out.dtype)}


def _nonzero(operations, lanes, a, b, out, n):
    return expected_rows(operations, lanes, a, np.where(b == 0, 1, b).astype(b.dtype), out, n)


def _uniform(values):
    x, y, p, q = values
    return [np.uint32(x), np.uint32(y), np.uint64(p), np.uint64(q), np.zeros(len(UNIFORM), np.uint64)]


def _uniforms(x, y, p, q, out):
    return {4: rows(UNIFORM, [[int(v)] for v in (x, y, p, q)], np.uint64)}


def _wide():
    return [*(integers(seed, 140, np.uint64) for seed in (1, 2)), np.zeros(3 * 140, np.uint64), np.uint32(70)]


def _wides(a, b, out, n):
    a, b = ([int(low) | int(high) << 64 for low, high in x.reshape(-1, 2)] for x in (a, b))
    values = [
        *(p + q for p, q in zip(a, b, strict=True)),
        *(p - q for p, q in zip(a, b, strict=True)),
        *(p * q for p, q in zip(a, b, strict=True)),
    ]
    return {2: wrapped([part for v in values for part in (v, v >> 64)], np.uint64)}


KERNELS = [
    ("bits32", np.uint32, BITS32, True, expected_rows),
    ("arithmetic32", np.uint32, ARITHMETIC32, True, expected_rows),
    ("division32", np.uint32, DIVISION32, True, _nonzero),
    ("bits64", np.uint64, BITS64, False, expected_rows),
    ("division64", np.uint64, DIVISION64, False, _nonzero),
]


def _cases(variant):
    obj = f"hip_{variant}.co"
    for name, dtype, operations, lanes, expected in KERNELS:
        made = functools.partial(results_of, COUNT, dtype, operations)
        wanted = functools.partial(expected, operations, lanes)
        yield expecting(f"{variant}: {name}", obj, name, 3, 64, made, wanted)
    for number, values in enumerate(SCALARS):
        yield expecting(
            f"{variant}: uniform {number}", obj, "uniform", 1, 1, functools.partial(_uniform, values), _uniforms
        )
    yield expecting(f"{variant}: 128 bits", obj, "add128", 2, 64, _wide, _wides)


CASES = [*_cases("integers"), *_cases("integers_O0")]
