"""Kernels that share data in LDS."""

from __future__ import annotations

import functools

import numpy as np

from corpus.case import Case, expecting
from corpus.reference import random_floats, wrapped

__all__ = ["CASES"]


def _random(dtype, count, seed=1):
    return np.frombuffer(np.random.default_rng(seed).bytes(count * np.dtype(dtype).itemsize), dtype).copy()


def _matrix(dtype):
    rows, columns = 40, 70
    a = np.arange(rows * columns).astype(dtype).reshape(rows, columns)
    return [a, np.zeros((columns, rows), dtype), np.uint32(rows), np.uint32(columns)]


def _transposed(a, out, rows, columns):
    return {1: np.ascontiguousarray(a.T)}


def _to_reduce():
    return [random_floats(2, 700, np.float32), np.zeros(3, np.float32), np.uint32(700)]


def _tree(a, out, n):
    held = np.zeros((3, 256), np.float32)
    held.ravel()[:n] = a
    while held.shape[1] > 1:
        half = held.shape[1] // 2
        held = held[:, :half] + held[:, half:]
    return {1: held[:, 0]}


def _counted(a, out, n):
    return {1: out + np.bincount(a, minlength=256).astype(np.uint32)}


def _scanned(a, out):
    sums = np.cumsum(a.reshape(2, 128), 1, dtype=np.int64).astype(np.int32)
    return {1: sums.ravel()}


def _exclusive(a, out):
    parts = a.reshape(2, -1)
    return {1: (np.cumsum(parts, 1, dtype=a.dtype) - parts).ravel()}


def _widths(a, out):
    x = a.tolist()
    m32 = (1 << 32) - 1

    def low(v):
        return v & m32

    def signed(v, width):
        v &= (1 << width) - 1
        return v - (v >> (width - 1) << width)

    sums = []
    for t in range(64):
        o = t ^ 21
        p, q = x[o], x[o ^ 1]
        words = [low(p * k) for k in range(4)]
        # Sums of 32-bit operands stay in 32 bits until one of 64 comes in.
        total = low(p + 3 * low(p + 1) + 5 * low(p + 2)) + 7 * low(p + 3)
        total = total * 31 + (p ^ 1) - low((p ^ 2) * (p ^ 4))
        total = total * 31 + ((p << 32 | o) ^ (p * p))
        total = total * 31 + words[0] - words[1] + words[2] * words[3]
        total = total * 31 + signed(p >> 3, 16)
        total = total * 31 + signed(p >> 5, 8)
        total = total * 31 + (q >> 5 & 255) + (q >> 3 & 65535)
        sums.append(total)
    return {1: wrapped(sums, np.uint64)}


def _atomics(dtype, signed, a, out):
    held = a.reshape(4, 16)
    one, all_ones = dtype(1), ~dtype(0)
    smallest = np.minimum(held.view(signed).min(0), 1).view(dtype)
    largest = np.maximum(held.view(signed).max(0), 1).view(dtype)
    unions = [
        np.bitwise_and.reduce(held | one, 0) & all_ones,
        np.bitwise_or.reduce(held, 0) | one,
        np.bitwise_xor.reduce(held, 0) ^ one,
    ]
    four = np.full(16, 4, dtype)
    parts = [held.sum(0, dtype=dtype) + one, smallest, largest, np.maximum(held.max(0), one), *unions, four + one]
    # Tickets 1, 2, 3, 4 in some order.
    return {1: np.concatenate([*parts, np.full(16, 10, dtype)])}


def _floats():
    a = np.random.default_rng(5).integers(-500, 500, 64)
    return [a.astype(np.float32), a[::-1] * 0.125, np.zeros(48, np.float32), np.zeros(48)]


def _float_results(a, b, out, sums):
    def three(x):
        held = x.reshape(4, 16)
        return np.concatenate([held.sum(0), np.minimum(held.min(0), 0), np.maximum(held.max(0), 0)])

    return {2: three(a), 3: three(b)}


def _exchanged(after):
    """Each work-item saw the one that pushed before it: the tickets form one list from the last to the start."""
    links, top, last = after[0][:64].tolist(), int(after[0][64]), int(after[0][65])
    seen, at = [], top
    while at != 64:
        assert at < 64, f"a link to {at}"
        assert at not in seen, f"{at} is in the list twice"
        seen.append(at)
        at = links[at]
    assert sorted(seen) == list(range(64)), f"{64 - len(seen)} are missing"
    assert last == 77, f"{last} instead of 77"


def _cases(variant):
    obj, partial, optimised = f"hip_{variant}.co", functools.partial, variant == "lds"

    def case(kernel, grid, block, arguments, expected, *, lds=0, quick=True):
        return expecting(f"{variant}: {kernel}", obj, kernel, grid, block, arguments, expected, lds=lds, quick=quick)

    for name, dtype in (("f32", np.float32), ("f64", np.float64), ("f16", np.float16), ("u8", np.uint8)):
        quick = optimised or name == "f32"
        yield case(f"transpose_{name}", (3, 2), (32, 8), partial(_matrix, dtype), _transposed, quick=quick)
    yield case("reduce", 3, 256, _to_reduce, _tree)
    yield case(
        "histogram",
        2,
        128,
        lambda: [_random(np.uint8, 1000) % 200, np.arange(256, dtype=np.uint32), np.uint32(1000)],
        _counted,
    )
    yield case(
        "bitonic",
        2,
        256,
        lambda: [_random(np.uint32, 512)],
        lambda a: {0: np.sort(a.reshape(2, 256), 1).ravel()},
        quick=optimised,
    )
    yield case("hillis_steele", 2, 128, lambda: [_random(np.int32, 256), np.zeros(256, np.int32)], _scanned)
    yield case("blelloch", 2, 64, lambda: [_random(np.int64, 256), np.zeros(256, np.int64)], _exclusive, lds=128 * 8)
    yield case("widths", 1, 64, lambda: [_random(np.uint32, 64), np.zeros(64, np.uint64)], _widths)
    for name, dtype, signed in (("u32", np.uint32, np.int32), ("u64", np.uint64, np.int64)):
        made = partial(lambda dtype: [_random(dtype, 64, 3), np.zeros(144, dtype)], dtype)
        yield case(f"atomics_{name}", 1, 64, made, partial(_atomics, dtype, signed))
    yield case("atomics_float", 1, 64, _floats, _float_results)
    yield Case(
        f"{variant}: exchange",
        obj,
        "exchange",
        (1, 1, 1),
        (64, 1, 1),
        0,
        lambda: [np.zeros(66, np.uint32)],
        _exchanged,
        True,
        True,
    )


CASES = [*_cases("lds"), *_cases("lds_O0")]
