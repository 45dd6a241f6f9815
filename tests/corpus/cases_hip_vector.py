"""Element-wise kernels of every type, and the ways arguments are passed."""

from __future__ import annotations

import functools

import numpy as np

from corpus.case import expecting
from corpus.reference import BF16, fused, random_floats

__all__ = ["CASES"]

TYPES = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": BF16,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
}  # fmt: skip
COUNT, GROUPS, SIZE = 333, 3, 128
"""The last of three groups of two waves has 13 lanes less than one wave to do, and its second wave none."""


def _numbers(seed, dtype, count=COUNT):
    if np.dtype(dtype).kind == "i":
        info = np.iinfo(dtype)
        return np.random.default_rng(seed).integers(info.min, info.max, count, dtype, endpoint=True)
    return random_floats(seed, count, dtype)


def _add(dtype):
    return [_numbers(1, dtype), _numbers(2, dtype), np.zeros(COUNT + 3, dtype), np.uint32(COUNT)]


def _sum(a, b, c, n):
    c[:n] = a + b
    return {2: c}


def _axpy(dtype):
    return [_numbers(3, dtype, 1)[0], _numbers(4, dtype), _numbers(5, dtype), np.uint32(COUNT)]


def _scaled(s, x, y, n):
    with np.errstate(over="ignore"):
        return {2: s * x + y}


def _fused(s, x, y, n):
    if y.dtype.kind == "i":
        return _scaled(s, x, y, n)
    # bf16 is multiplied and added in f32, which rounds first.
    return {2: fused(s, x, y, np.float32 if y.dtype == BF16 else y.dtype).astype(y.dtype)}


def _where():
    return [np.zeros((4, 10, 7), np.uint32), np.uint32(7), np.uint32(10)]


def _places(out, nx, ny):
    z, y, x = np.indices(out.shape)
    inner = x % 4 + 4 * (y % 3) + 12 * (z % 2)
    return {
        0: (x % 4 | y % 3 << 4 | z % 2 << 8 | x // 4 << 12 | y // 3 << 16 | z // 2 << 20 | inner << 24).astype(
            np.uint32
        )
    }


def _wide():
    return [
        _numbers(6, np.float32, 800).reshape(200, 4),
        _numbers(7, np.float32, 400).reshape(200, 2),
        np.zeros((200, 4), np.float32),
        np.uint32(200),
    ]


def _turned(a, b, c, n):
    return {2: a[:, ::-1] * b[:, [0, 1, 0, 1]] - a}


def _turned_once(a, b, c, n):
    return {2: fused(a[:, ::-1], b[:, [0, 1, 0, 1]], -a)}


def _triple():
    return [_numbers(8, np.int32, 300).reshape(100, 3), np.zeros((100, 3), np.int32), np.uint32(100)]


def _triples(a, out, n):
    return {1: np.stack([a[:, 2], a[:, 0] - a[:, 1], a[:, 0]], 1)}


def _by_value():
    return [
        np.int8(-7),
        np.int64(-1 << 40),
        np.int16(-300),
        np.float32(2.5e9),
        np.uint8(250),
        np.float64(-1e15),
        np.zeros(6, np.int64),
    ]


def _values(a, b, c, d, e, f, out):
    return {6: np.array([a, b, c, int(d), e, int(f)], np.int64)}


def _cases(variant, fuses):
    obj = f"hip_{variant}.co"
    for name, dtype in TYPES.items():
        yield expecting(
            f"{variant}: add {name}", obj, f"add_{name}", GROUPS, SIZE, functools.partial(_add, dtype), _sum
        )
        # One group less than there are numbers: the kernel's loop comes round again.
        expected = _fused if fuses else _scaled
        yield expecting(
            f"{variant}: axpy {name}", obj, f"axpy_{name}", 2, SIZE, functools.partial(_axpy, dtype), expected
        )
    yield expecting(f"{variant}: three dimensions", obj, "where", (2, 4, 2), (4, 3, 2), _where, _places)
    yield expecting(f"{variant}: wide", obj, "wide", 4, 64, _wide, _turned_once if fuses else _turned)
    yield expecting(f"{variant}: triples", obj, "triple", 2, 64, _triple, _triples)
    yield expecting(f"{variant}: by value", obj, "by_value", 1, 64, _by_value, _values)


CASES = [
    *_cases("vector", False), *_cases("vector_O0", False), *_cases("vector_debug", False), *_cases("vector_v5", True),
]  # fmt: skip
