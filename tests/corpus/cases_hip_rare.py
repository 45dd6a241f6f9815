"""Instructions that compilers seldom choose, after the CDNA3 manual's descriptions."""

from __future__ import annotations

import functools

import numpy as np

from corpus.case import expecting
from corpus.cases_hip_integers import leading, sad8, saturated, signed, trailing
from corpus.reference import integers, rows

__all__ = ["CASES"]

M16, M32, M64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1


def _byte(x: int, place: int) -> int:
    return x >> 8 * place & 255


def _placed(old: int, value: int, at: int, width: int) -> int:
    """Bits ``at`` to ``at + width`` of ``old``, replaced."""
    mask = (1 << width) - 1
    return old & ~(mask << at) | (value & mask) << at


def _packed_mad(x, y, z):
    """Both halves of x and y, the low one of z twice; saturated."""
    halves = [
        saturated(signed(x >> at, 16) * signed(y >> at, 16) + signed(z, 16), -1 << 15, M16 >> 1) for at in (0, 16)
    ]
    return halves[0] & M16 | (halves[1] & M16) << 16


def _qsad(x, y, z):
    """Four sums of absolute differences of z with the bytes from 0, 1, 2 and 3 on of y:x, added to halves."""
    both, added = y << 32 | x, (x ^ y) << 32 | z
    sums = [(sad8(both >> 8 * n & M32, z) + (added >> 16 * n & M16)) & M16 for n in range(4)]
    return sum(s << 16 * n for n, s in enumerate(sums))


VECTORS = [
    lambda x, y, z: abs(x - y) + z,
    lambda x, y, z: _byte(x, 1) + (y >> 16),
    lambda x, y, z: _placed(x, _byte(x, 0) + _byte(y, 3), 16, 8),
    lambda x, y, z: (x - y & M16) << 16,
    lambda x, y, z: signed(signed(_byte(x, 3), 8) + y, 8) << 8,
    lambda x, y, z: _placed(x, (x >> 16) * y + (z >> 16), 0, 16),
    lambda x, y, z: (x >> 16) + y & M16 | ((x & M16) + (y >> 16) & M16) << 16,
    _packed_mad,
    lambda x, y, z: (x & 0xFFFFFF) * (y & 0xFFFFFF) + z,
    lambda x, y, z: (x & 0xFFFFFF) * (y & 0xFFFFFF) >> 32,
    lambda x, y, z: signed(x, 24) * signed(y, 24) >> 32,
    lambda x, y, z: ((1 << (x & 31)) - 1) << (y & 31),
    lambda x, y, z: x.bit_count() + y,
    lambda x, y, z: min(signed(x), signed(y), signed(z)),
    max,
    lambda x, y, z: sorted(map(signed, (x, y, z)))[1],
    lambda x, y, z: min(x + y, M32),
    lambda x, y, z: max(x - y, 0),
    lambda x, y, z: y - 2 * x,
    lambda x, y, z: y,
    lambda x, y, z: z,
    _qsad,
    lambda x, y, z: _qsad(x, y, z) >> 32,
    lambda x, y, z: x > y,
]


def _quads(w: int, width: int) -> list[bool]:
    return [bool(w >> at & 15) for at in range(0, width, 4)]


def _quadmask(w: int, width: int) -> int:
    return sum(q << n for n, q in enumerate(_quads(w, width)))


def _whole_quads(w: int, width: int) -> int:
    return sum(15 * q << 4 * n for n, q in enumerate(_quads(w, width)))


def _sign_bits(x: int, width: int) -> int:
    """The place of the first bit from the top that differs from the sign, or -1."""
    x ^= -(x >> (width - 1)) & ((1 << width) - 1)
    return leading(x, width) if x else -1


def _first_zero(x: int, width: int) -> int:
    found = trailing(~x & ((1 << width) - 1), width)
    return -1 if found == width else found


NARROW = [
    lambda x, y, w: x & M16 | (y & M16) << 16,
    lambda x, y, w: x & M16 | y >> 16 << 16,
    lambda x, y, w: x >> 16 | y >> 16 << 16,
    lambda x, y, w: abs(signed(signed(x) - signed(y))),
    lambda x, y, w: (x << 1) + y,
    lambda x, y, w: (x << 4) + y,
    lambda x, y, w: ((1 << (x & 31)) - 1) << (y & 31),
    lambda x, y, w: _first_zero(x, 32),
    lambda x, y, w: _first_zero(w, 64),
    lambda x, y, w: 32 - x.bit_count(),
    lambda x, y, w: _sign_bits(x, 32),
    lambda x, y, w: _sign_bits(w, 64),
    lambda x, y, w: x | 1 << (y & 31),
    lambda x, y, w: x & ~(1 << (y & 31)),
    lambda x, y, w: _quadmask(x, 32),
    lambda x, y, w: _whole_quads(x, 32),
    lambda x, y, w: signed(x, 8),
    lambda x, y, w: x - 0x7FFF,
    lambda x, y, w: x * -2,
    lambda x, y, w: 7 if x >> (y & 31) & 1 else y,
    lambda x, y, w: x if w >> (y & 63) & 1 else -5,
    lambda x, y, w: 0x1234 if signed(x) > -0x8000 else x,
    lambda x, y, w: x + y + (x != 0xBEEF),
    lambda x, y, w: x - y - (x > y),
]
WIDE = [
    lambda x, y, w: sum(3 << 2 * n for n in range(32) if x >> n & 1),
    lambda x, y, w: _quadmask(w, 64),
    lambda x, y, w: _whole_quads(w, 64),
    lambda x, y, w: ((1 << (x & 63)) - 1) << (y & 63),
    lambda x, y, w: w | 1 << (y & 63),
    lambda x, y, w: ~(w ^ -2),
    lambda x, y, w: ~(w | 12),
    lambda x, y, w: signed(w >> 9, 23),
]
SCALARS = [(0xDEADBEEF, 0x12345678, 0xFEDC00A976503210), (0xBEEF, 3, M64), (5, 0xFFFF8000, 0), (M32, 31, 1 << 62)]

LOCAL = [
    lambda x, y, z: (x, x - y),
    lambda x, y, z: (x, y - x),
    lambda x, y, z: (x, 0 if x >= y else x + 1),
    lambda x, y, z: (x, y if x == 0 or x > y else x - 1),
    lambda x, y, z: (x, x & y),
    lambda x, y, z: (x, x | y),
    lambda x, y, z: (x, x ^ y),
    lambda x, y, z: (x, min(signed(x), signed(y))),
    lambda x, y, z: (x, max(x, y)),
    lambda x, y, z: (x, x & ~y | z),
    lambda x, y, z: (x, y if z == x else x),
    lambda x, y, z: (x >> 16, x),
    lambda x, y, z: (x & M16, x),
    lambda x, y, z: (signed(_byte(x, 1), 8) & M16, x),
    lambda x, y, z: (_byte(x, 3), x),
    lambda x, y, z: (y, _placed(x, y >> 16, 0, 16)),
    lambda x, y, z: (y, _placed(x, _byte(y, 2), 8, 8)),
    lambda x, y, z: (signed(x >> 16, 16), x),
]
MEMORY = [
    lambda x, after, y: x >> 16,
    lambda x, after, y: x & M16,
    lambda x, after, y: signed(_byte(x, 3), 8) & M16,
    lambda x, after, y: _byte(x, 1),
    lambda x, after, y: after,
    lambda x, after, y: signed(x >> 16, 16),
    lambda x, after, y: _byte(x, 0),
    lambda x, after, y: x,
]


def _columns(inputs, outputs, *more):
    return [*(integers(seed, 64, np.uint32) for seed in range(1, inputs + 1)), np.zeros(64 * outputs, np.uint32), *more]


def _vectors(a, b, c, out):
    return {3: rows(VECTORS, [x.tolist() for x in (a, b, c)], np.uint32)}


def _scalars(x, y, w, out):
    x, y, w = int(x), int(y), int(w)
    wide = [f(x, y, w) & M64 for f in WIDE]
    values = [f(x, y, w) & M32 for f in NARROW] + [part for v in wide for part in (v & M32, v >> 32)]
    return {3: np.repeat(np.array(values, np.uint32), 64)}


def _scalar_arguments(x, y, w):
    return [np.uint32(x), np.uint32(y), np.uint64(w), np.zeros(64 * (len(NARROW) + 2 * len(WIDE)), np.uint32)]


def _local(a, b, out):
    third = np.where(np.arange(64) % 2, a, a ^ b)
    columns = [a.tolist(), b.tolist(), third.tolist()]
    return {2: rows([lambda x, y, z, f=f, n=n: f(x, y, z)[n] for f in LOCAL for n in (0, 1)], columns, np.uint32)}


def _memory_arguments():
    a = integers(3, 200, np.uint32)
    return [a, integers(4, 64, np.uint32), np.zeros(64 * len(MEMORY), np.uint32), np.full(64, 0x44332211, np.uint32)]


def _memory(a, b, out, stored):
    columns = [a[:64].tolist(), a[63:127].tolist(), b.tolist()]
    high = (b >> np.uint32(16)) & np.uint32(255)
    return {
        2: rows(MEMORY, columns, np.uint32),
        3: (b & np.uint32(0xFFFF0000)) | high << np.uint32(8) | np.uint32(0x11),
    }


def _cases():
    obj, partial = "hip_rare.co", functools.partial
    yield expecting("rare: vectors", obj, "vectors", 1, 64, partial(_columns, 3, len(VECTORS)), _vectors)
    for number, values in enumerate(SCALARS):
        yield expecting(f"rare: scalars {number}", obj, "scalars", 1, 64, partial(_scalar_arguments, *values), _scalars)
    yield expecting("rare: local", obj, "local", 1, 64, partial(_columns, 2, 2 * len(LOCAL)), _local)
    yield expecting("rare: memory", obj, "memory", 1, 64, _memory_arguments, _memory)


CASES = [*_cases()]
