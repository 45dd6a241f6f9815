"""Atomic operations on global memory, and work-groups that wait for one another."""

from __future__ import annotations

import functools

import numpy as np

from corpus.case import Case, expecting, same
from corpus.reference import BF16

__all__ = ["CASES"]

COUNT = 150
UNSIGNED = {"u32": (np.uint32, np.int32), "u64": (np.uint64, np.int64)}


def _random(dtype, count, seed=1):
    return np.frombuffer(np.random.default_rng(seed).bytes(count * np.dtype(dtype).itemsize), dtype).copy()


def _operations(dtype, signed):
    """add, sub, signed min and max, unsigned min and max, and, or, xor of memory and operand."""

    def by(function):
        return lambda m, x: function(m.view(signed), x.view(signed)).view(dtype)

    return [
        np.add,
        np.subtract,
        by(np.minimum),
        by(np.maximum),
        np.minimum,
        np.maximum,
        np.bitwise_and,
        np.bitwise_or,
        np.bitwise_xor,
    ]


def _each(dtype, signed, a, out, n):
    places = out.reshape(-1, 16).copy()
    for operation, row in zip(_operations(dtype, signed), places, strict=True):
        for start in range(0, int(n), 16):
            x = a[start : start + 16]
            row[: x.size] = operation(row[: x.size], x)
    return {1: places.ravel()}


def _returning(dtype, signed, a, out, olds, n):
    memory = out.reshape(11, -1).copy()
    before = memory.copy()
    for row, operation in enumerate(_operations(dtype, signed)):
        memory[row] = operation(memory[row], a)
    memory[9] = a
    # Odd lanes expect what is there; the even ones expect their operand, which is there in every fourth lane.
    met = (np.arange(n) % 2 == 1) | (before[10] == a)
    memory[10] = np.where(met, a + dtype(1), before[10])
    # A comparison that fails reports what it found, and one that succeeds leaves what was expected: the same.
    return {1: memory.ravel(), 2: before.ravel()}


def _to_return(dtype):
    a, out = _random(dtype, COUNT), _random(dtype, 11 * COUNT, 2)
    out[10 * COUNT :: 4] = a[::4]
    return [a, out, np.zeros(11 * COUNT, dtype), np.uint32(COUNT)]


def _wrapping(dtype, returns):
    up, down = np.zeros(8, dtype), np.arange(64, dtype=dtype) % 9
    return [up, down, dtype(5), *([np.zeros(192, dtype)] if returns else []), np.uint32(192)]


def _wrapped(up, down, limit, *rest):
    """Increment wraps to 0 above the limit; decrement wraps to it from 0, and from above it."""
    n, limit = int(rest[-1]), int(limit)
    ups, downs = up.tolist(), down.tolist()
    for i in range(n):
        ups[i & 7] = 0 if ups[i & 7] >= limit else ups[i & 7] + 1
        at = downs[i & 63]
        downs[i & 63] = limit if at == 0 or at > limit else at - 1
    return {0: np.array(ups, up.dtype), 1: np.array(downs, up.dtype)}


def _check_wrapping(after):
    """Three work-items met on each place that counts down: their old values are the three it went through."""
    up, down, limit, _, n = _wrapping(np.uint32, True)
    wanted = _wrapped(up, down, limit, n)
    same(after[0], wanted[0])
    same(after[1], wanted[1])
    for place in range(64):
        at, seen = int(down[place]), []
        for _ in range(3):
            seen.append(at)
            at = int(limit) if at == 0 or at > limit else at - 1
        assert sorted(after[3][place::64].tolist()) == sorted(seen), f"place {place}: {after[3][place::64]}, not {seen}"


def _floats():
    a = np.random.default_rng(3).integers(-3, 4, COUNT).astype(np.float32)
    return [
        a,
        np.zeros(8, np.float32),
        np.zeros(8),
        np.zeros((8, 2), np.float16),
        np.zeros((8, 2), BF16),
        np.uint32(COUNT),
    ]


def _float_sums(a, sums, wide, halves, brains, n):
    padded = np.pad(a, (0, -int(n) % 8)).reshape(-1, 8).sum(0)
    counts = np.bincount(np.arange(n) & 7)
    return {
        1: padded,
        2: padded.astype(np.float64),
        3: np.stack([padded, -padded], 1).astype(np.float16) + np.float16(0),
        4: np.stack([padded, counts.astype(np.float32)], 1).astype(BF16),
    }


def _to_add():
    random = np.random.default_rng(4)
    a, out, wide = random.normal(size=(3, COUNT)) * 100
    return [
        a.astype(np.float32),
        out.astype(np.float32),
        wide,
        np.zeros(COUNT, np.float32),
        np.zeros(COUNT),
        np.uint32(COUNT),
    ]


def _added(a, out, wide, olds, wide_olds, n):
    return {1: out + a, 2: wide + a.astype(np.float64) * 0.1, 3: out, 4: wide}


def _extremes(a, low, high, n):
    low, high = low.copy(), high.copy()
    np.minimum.at(low, np.arange(n) & 7, a)
    np.maximum.at(high, np.arange(n) & 7, a)
    return {1: low, 2: high}


def _multiplied(a, out, n):
    factors = np.uint32(2) * a + np.uint32(1)
    return {1: out * np.stack([np.multiply.reduce(factors[k::4], dtype=np.uint32) for k in range(4)])}


def _bytes(a, out, low, n):
    out, low = out.copy(), low.copy()
    np.bitwise_or.at(out, np.arange(n) & 7, a)
    np.minimum.at(low, np.arange(n) & 7, a.astype(np.int16) * np.int16(3) - np.int16(300))
    return {1: out, 2: low}


def _scopes(flags, out):
    x = np.arange(1, out.size + 1, dtype=np.uint32)
    got = x + x + (x + 5) + (x + 12)
    return {0: got, 1: got}


def _chain():
    return [_random(np.uint32, 5 * 64, 5), np.zeros(5 * 64, np.uint32), np.zeros(10, np.uint32)]


def _chained(a, out, flags):
    sums = np.cumsum(a, dtype=np.uint32)
    return {1: sums, 2: np.stack([np.ones(5, np.uint32), sums[63::64]], 1).ravel()}


def _backwards(out, flag):
    later = np.arange(11, 75, dtype=np.uint32)
    return {0: np.concatenate([later * np.uint32(3), later]), 1: np.ones(1, np.uint32)}


def _last_block():
    a = np.random.default_rng(6).integers(-1000, 1000, 1500).astype(np.float32)
    return [a, np.zeros(6, np.float32), np.zeros(1, np.uint32), np.zeros(1, np.float32), np.uint32(1500)]


def _blocks(a, parts, count, out, n):
    """Sums of small integers: exact in every order."""
    step = parts.size * 128
    parts = np.pad(a, (0, -a.size % step)).reshape(-1, parts.size, 128).sum((0, 2))
    return {1: parts, 2: np.full(1, parts.size, np.uint32), 3: parts.sum(keepdims=True)}


def _cases():
    obj, partial = "hip_atomics.co", functools.partial

    def case(kernel, grid, block, arguments, expected):
        return expecting(f"atomics: {kernel}", obj, kernel, grid, block, arguments, expected)

    for name, (dtype, signed) in UNSIGNED.items():
        made = partial(lambda dtype: [_random(dtype, COUNT), _random(dtype, 144, 2), np.uint32(COUNT)], dtype)
        yield case(f"each_{name}", 2, 128, made, partial(_each, dtype, signed))
        yield case(f"returning_{name}", 2, 128, partial(_to_return, dtype), partial(_returning, dtype, signed))
    made = partial(_wrapping, np.uint32, True)
    yield Case("atomics: wrapping", obj, "wrapping", (3, 1, 1), (64, 1, 1), 0, made, _check_wrapping, True, True)
    yield case("wrapping_u64", 3, 64, partial(_wrapping, np.uint64, False), _wrapped)
    yield case("floats", 2, 128, _floats, _float_sums)
    yield case("floats_returning", 2, 128, _to_add, _added)
    made = np.random.default_rng(7).normal(size=COUNT) * 1e100
    yield case(
        "extremes_f64", 2, 128, lambda: [made.copy(), np.full(8, 1e99), np.full(8, -1e99), np.uint32(COUNT)], _extremes
    )
    yield case(
        "multiply",
        2,
        64,
        lambda: [_random(np.uint32, 100), np.arange(1, 5, dtype=np.uint32), np.uint32(100)],
        _multiplied,
    )
    yield case(
        "bytes",
        2,
        64,
        lambda: [
            _random(np.uint8, 100) & 0x5B,
            np.arange(8, dtype=np.uint8),
            np.arange(8, dtype=np.int16),
            np.uint32(100),
        ],
        _bytes,
    )
    yield case("scopes", 2, 64, lambda: [np.zeros(128, np.uint32), np.zeros(128, np.uint32)], _scopes)
    yield case("chain", 5, 64, _chain, _chained)
    yield case("backwards", 2, 64, lambda: [np.zeros(128, np.uint32), np.zeros(1, np.uint32)], _backwards)
    yield case("last_block", 6, 128, _last_block, _blocks)
    yield case(
        "locked",
        7,
        64,
        lambda: [np.zeros(1, np.uint32), np.zeros(2, np.uint32)],
        lambda lock, total: {1: np.array([28, 127], np.uint32)},
    )


CASES = [*_cases()]
