"""Floating-point comparisons, classes, minima and maxima."""

from __future__ import annotations

import functools

import numpy as np

from corpus.case import expecting
from corpus.reference import random_floats, specials

__all__ = ["CASES", "TYPES", "every_pair", "three"]

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16}


def every_pair(dtype, *, nan=True):
    """Every pair of special numbers."""
    s = specials(dtype, nan=nan)
    return np.repeat(s, len(s)), np.tile(s, len(s))


def _pairs(dtype, out, rows, nan, expected_only=False):
    a, b = every_pair(dtype, nan=nan)
    return [a, b, np.zeros(rows * a.size, out or dtype), np.uint32(a.size)]


def _flags(*bits):
    return functools.reduce(np.bitwise_or, (np.asarray(b).astype(np.uint32) << n for n, b in enumerate(bits)))


def _compared(a, b, out, n):
    with np.errstate(invalid="ignore"):
        less, equal, more = a < b, a == b, a > b
    unordered = np.isnan(a) | np.isnan(b)
    no_less, no_more = less | equal, more | equal
    return {
        2: _flags(
            less, equal, no_less, more, no_more, ~equal, ~less, ~no_less, ~more, ~no_more,
            unordered, ~unordered, less | more, ~(less | more),
        )
    }  # fmt: skip


def _signalling(dtype):
    """Special numbers, and a signalling NaN."""
    info = np.finfo(dtype)
    quiet_bit = 1 << (info.nmant - 1)
    bits = np.array([np.inf], dtype).view(f"u{np.dtype(dtype).itemsize}") | (quiet_bit >> 1)
    return np.concatenate([specials(dtype), bits.view(dtype)])


def _to_classify(dtype):
    a = _signalling(dtype)
    return [a, np.zeros(a.size, np.uint32), np.uint32(a.size)]


def _is_signalling(a):
    bits = a.view(f"u{a.itemsize}")
    return np.isnan(a) & (bits >> (np.finfo(a.dtype).nmant - 1) & 1 == 0)


def _is_subnormal(a):
    return (np.abs(a) < np.finfo(a.dtype).tiny) & (a != 0)


def _classified(a, out, n):
    finite, zero, small = np.isfinite(a), a == 0, _is_subnormal(a)
    return {1: _flags(np.isnan(a), np.isinf(a), finite, finite & ~zero & ~small, small, zero, _is_signalling(a))}


def _ten_classes(a, out, n):
    """v_cmp_class: signalling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf."""
    minus, small, nan = np.signbit(a), _is_subnormal(a), np.isnan(a)
    normal = np.isfinite(a) & ~small & (a != 0)
    sizes = [np.isinf(a), normal, small, a == 0]
    below = [s & minus for s in sizes]
    above = [s & ~minus & ~nan for s in sizes]
    return {1: _flags(_is_signalling(a), nan & ~_is_signalling(a), *below, *reversed(above))}


def _signs(a, b, out, n):
    with np.errstate(invalid="ignore"):
        chosen = [np.where(a < b, a, b), np.where(a > b, a, b), np.where(a == b, -a, b)]
    return {2: np.concatenate([np.abs(a), -a, -np.abs(a), np.copysign(a, b), *chosen])}


def _smaller(a, b):
    """minNum, where -0 lies below +0."""
    zero = (a == 0) & (b == 0)
    return np.where(zero, np.where(np.signbit(a), a, b), np.fmin(a, b))


def _larger(a, b):
    return -_smaller(-a, -b)


def _extremes(a, b, out, n):
    with np.errstate(invalid="ignore"):
        return {2: np.concatenate([_smaller(a, b), _larger(a, b)])}


def three(dtype, rows, seed=1, count=130):
    columns = [random_floats(seed + k, count, dtype) for k in range(3)]
    return [*columns, np.zeros(rows * count, dtype), np.uint32(count)]


def _medians(a, b, c, out, n):
    ordered = np.sort(np.stack([a, b, c]), 0)
    two = a.dtype.type(2)
    clamped = np.clip(a + b, 0, 1).astype(a.dtype)
    rest = [] if a.dtype == np.float16 else [np.abs(a) - np.abs(b), -(a * two), (a - b) * 4]
    return {3: np.concatenate([ordered[1], ordered[0], ordered[2], clamped, *rest, (a + c) * a.dtype.type(0.5)])}


def _integers():
    random = np.random.default_rng(4)
    a = random.integers(-(1 << 31), 1 << 31, 200, np.int64).astype(np.int32)
    b = np.where(random.integers(3, size=200) == 0, a, random.permutation(a)).astype(np.int32)
    return [a, b, np.zeros(5 * 200, np.uint32), np.uint32(200)]


def _compared_integers(a, b, out, n):
    def six(x, y):
        return _flags(x < y, x == y, x <= y, x > y, x >= y, x != y)

    v, w = a.astype(np.int64) << 20, b.astype(np.int64) << 20 | 1
    s, t = a.astype(np.int16), b.astype(np.int16)
    u, x = v.view(np.uint64), w.view(np.uint64)
    p, q = s.view(np.uint16), t.view(np.uint16)
    found = [six(a, b), six(a.view(np.uint32), b.view(np.uint32)), six(v, w), _flags(u < x, u > x)]
    return {2: np.concatenate([*found, _flags(s < t, s == t, s > t, p < q, p > q)])}


def _cases():
    obj, partial = "hip_compare.co", functools.partial
    for name, dtype in TYPES.items():
        yield expecting(
            f"compare {name}", obj, f"compare_{name}", 7, 64, partial(_pairs, dtype, np.uint32, 1, True), _compared
        )
        yield expecting(f"classify {name}", obj, f"classify_{name}", 1, 64, partial(_to_classify, dtype), _classified)
        yield expecting(f"signs {name}", obj, f"signs_{name}", 7, 64, partial(_pairs, dtype, None, 7, True), _signs)
        yield expecting(
            f"extremes {name}", obj, f"extremes_{name}", 7, 64, partial(_pairs, dtype, None, 2, True), _extremes
        )
    yield expecting("compare integers", obj, "compare_integers", 4, 64, _integers, _compared_integers)
    yield expecting("medians f32", obj, "medians", 3, 64, partial(three, np.float32, 8), _medians)
    yield expecting("medians f16", obj, "medians_f16", 3, 64, partial(three, np.float16, 5), _medians)
    yield expecting("ten classes", "hip_math.co", "classes", 1, 64, partial(_to_classify, np.float32), _ten_classes)


CASES = [*_cases()]
