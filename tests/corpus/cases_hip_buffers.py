"""Buffer instructions: what lies beyond the size that the descriptor gives reads as zero and is not written."""

from __future__ import annotations

import functools

import numpy as np

from corpus.case import expecting

__all__ = ["CASES"]

LANES = 64
SIZE = 192
"""Bytes: a multiple of 4, 8, 12 and 16, so that no access lies half outside."""


def _words(seed, count):
    return np.random.default_rng(seed).integers(1 << 32, size=count, dtype=np.uint32)


def _within(octets, offset, width):
    """The ``width`` bytes at each offset as words; zero outside."""
    inside = offset + width <= SIZE
    places = np.where(inside, offset, 0)[:, None] + np.arange(width)
    got = np.where(inside[:, None], octets[places], 0).astype(np.uint8)
    pad = -width % 4
    return np.pad(got, ((0, 0), (0, pad))).view(np.uint32)


def _loaded(a, out, size, n):
    octets, i = a.view(np.uint8), np.arange(LANES)
    one = [_within(octets, offset, 4) for offset in (i * 4, i * 4 + 20)]
    narrow = [_within(octets, i * 2, 2), _within(octets, i + SIZE - 32, 1)]
    wide = [
        _within(octets, i * width, width) * np.array([1, 3, 5, 7], np.uint32)[: width // 4] for width in (8, 12, 16)
    ]
    return {1: np.concatenate([np.bitwise_xor.reduce(x, 1) for x in (*one, *narrow, *wide)])}


def _offset(a, out, size, n):
    """The manual: out of range where the offset is not below the number of records less the scalar offset."""
    octets, i = a.view(np.uint8), np.arange(LANES)
    return {1: np.concatenate([_within(octets, i * 4 + 64, 4), _within(octets, i + SIZE - 32, 1)]).ravel()}


STORE = 1536


def _stored(out, halves, octets, size):
    i = np.arange(LANES, dtype=np.uint32)
    out = out.copy()
    size = int(size)
    for values, offset in (
        ((i + 1)[:, None], 0),
        (np.stack([i + 1000, i + 2000], 1), 512),
        (np.stack([i, i + 1, i + 2, i + 3], 1), 1024),
    ):
        inside = values.ravel()[: max(size - offset, 0) // 4]
        out[offset // 4 : offset // 4 + inside.size] = inside
    inside = min(size // 16, LANES)
    halves[:inside] = (i * 3)[:inside]
    octets[:inside] = (i * 5)[:inside] & 255
    return {0: out, 1: halves, 2: octets}


def _structured(a, out, records, n):
    low, high = a.reshape(-1, 2)[:n].T
    inside = np.arange(n) < records
    return {1: np.where(inside, low + high * np.uint32(3), 0).astype(np.uint32)}


def _summed(out, sums, size):
    i = np.arange(LANES)
    both = np.pad((i[:32] + i[32:]) * (np.arange(32) * 4 < size), (0, 8))
    return {0: out + both.astype(np.uint32), 1: sums + both.astype(np.float32)}


def _scalars(offset, a, out, given):
    past = a[offset // 4] if offset < 96 else np.uint32(0)
    words = [a[4], past, a[2], a[3], a[8], a[11], a[8], a[15], a[0], a[15]]
    total = sum(int(w) * f for w, f in zip(words, (1, 3, 5, 7, 11, 13, 17, 19, 23, 29), strict=True)) & 0xFFFFFFFF
    return {1: (np.uint64(total) * np.arange(1, 65, dtype=np.uint64)).astype(np.uint32)}


def _direct():
    order = np.random.default_rng(15).permutation(512).astype(np.uint32)
    return [_words(14, 512), order, np.zeros(512, np.uint32)]


def _gathered(a, order, out):
    place = np.arange(512)
    other = place & ~255 | (place & 255) ^ 65
    return {2: a[order[other]] + np.uint32(1)}


def _direct_buffer(a, out, size):
    octets, t = a.view(np.uint8), np.arange(LANES)
    first, second = (_within(octets, t * 4 + offset, 4)[:, 0] for offset in (0, 128))
    return {1: np.concatenate([first[t ^ 1], second[t ^ 2]])}


def _cases():
    obj = "hip_buffers.co"

    def words(count, seed=10):
        return _words(seed, count)

    def case(name, kernel, grid, block, arguments, expected):
        return expecting(f"buffers: {name}", obj, kernel, grid, block, arguments, expected)

    def loads():
        return [words(256), np.zeros(7 * LANES, np.uint32), np.uint32(SIZE), np.uint32(LANES)]

    yield case("loads", "loads", 1, 64, loads, _loaded)
    made = lambda: [words(256), np.zeros(2 * LANES, np.uint32), np.uint32(SIZE), np.uint32(LANES)]  # noqa: E731
    yield case("scalar offsets", "scalar_offsets", 1, 64, made, _offset)
    for size in (STORE, 128, 640):
        made = functools.partial(
            lambda size: [
                np.full(600, 7, np.uint32),
                np.full(128, 7, np.uint16),
                np.full(128, 7, np.uint8),
                np.uint32(size),
            ],
            size,
        )
        yield case(f"stores, {size} bytes", "stores", 1, 64, made, _stored)
    yield case(
        "structured",
        "structured",
        1,
        64,
        lambda: [words(128, 11), np.zeros(50, np.uint32), np.uint32(37), np.uint32(50)],
        _structured,
    )
    yield case(
        "atomics",
        "atomics",
        1,
        64,
        lambda: [np.arange(40, dtype=np.uint32), np.arange(40, dtype=np.float32), np.uint32(80)],
        _summed,
    )
    for offset in (92, 96, 4096):
        made = functools.partial(lambda offset: [words(32, 12), np.zeros(64, np.uint32), np.uint32(offset)], offset)
        yield case(f"scalar at {offset}", "scalar", 1, 64, made, functools.partial(_scalars, offset))
    yield case("into LDS", "direct", 2, 256, _direct, _gathered)
    yield case(
        "through a buffer into LDS",
        "direct_buffer",
        1,
        64,
        lambda: [words(128, 13), np.zeros(128, np.uint32), np.uint32(SIZE)],
        _direct_buffer,
    )


CASES = [*_cases()]
