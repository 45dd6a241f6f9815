"""Floating-point arithmetic."""

from __future__ import annotations

import functools
import math

import numpy as np

from corpus.case import Case, close, expecting, same
from corpus.cases_hip_compare import TYPES, every_pair, three
from corpus.reference import fused, random_floats

__all__ = ["CASES"]


def _basic_arguments(dtype):
    a, b, c = three(dtype, 1)[:3]
    p, q = every_pair(dtype)
    # Results that are denormal, and sums that cancel.
    tiny = float(np.finfo(dtype).tiny)
    small = random_floats(9, 60, np.float64, -3, 3)
    a = np.concatenate([a, p, (small * tiny).astype(dtype), a[:20]])
    b = np.concatenate([b, q, random_floats(10, 60, dtype, -2, 2), b[:20]])
    c = np.concatenate([c, np.roll(q, 7), (small[::-1] * tiny).astype(dtype), (-a[:20] * b[:20]).astype(dtype)])
    return [a, b, c, np.zeros(10 * a.size, dtype), np.uint32(a.size)]


def _basic(contracts, a, b, c, out, n):
    dtype = a.dtype
    one, factor, addend = dtype.type(1), dtype.type(2.5), dtype.type(-0.75)
    with np.errstate(all="ignore"):
        last = fused(a, factor, np.full_like(a, addend)) if contracts else a * factor + addend
        root = np.sqrt(a)
        found = [
            a + b,
            a - b,
            a * b,
            a / b,
            root,
            fused(a, b, c),
            fused(-a, b, c),
            fused(a, b, -np.abs(c)),
            one / a,
            last,
        ]
    return {3: np.concatenate(found)}


def _basic_f16(contracts):
    """The root of an f16 may be off by one unit in the last place: the hardware's own, other than division."""

    def check(after):
        before = _basic_arguments(np.float16)
        wanted = _basic(contracts, *before)[3].reshape(10, -1)
        got = after[3].reshape(10, -1)
        for row in range(10):
            if row != 4:
                same(got[row], wanted[row])
        close(got[4], wanted[4], 2.0**-10, 2.0**-24)

    return check


def _positive(dtype, low, high, rows):
    a = np.concatenate([np.abs(random_floats(11, 150, dtype, low, high)), np.array([1, 2, 4, 0.5, 3], dtype)])
    return [a, np.zeros(rows * a.size, dtype), np.uint32(a.size)]


def _between(dtype, low, high, rows, count=150):
    a = np.random.default_rng(12).uniform(low, high, count).astype(dtype)
    return [a, np.zeros(rows * count, dtype), np.uint32(count)]


def _functions(*functions):
    def expected(a, out, n):
        x = a.astype(np.float64)
        return {1: np.concatenate([f(x) for f in functions])}

    return expected


def _reciprocal(x):
    return 1 / x


def _reciprocal_root(x):
    return 1 / np.sqrt(x)


def _turn(function):
    return lambda x: function(2 * math.pi * x)


def _newton(a, out, n):
    y = np.where(a > 1, a, 1.0)
    for _ in range(30):
        y = 0.5 * (y + a / y)
    polynomial = ((((a * 0.5 + 0.25) * a - 1.5) * a) + 2.0) * a
    return {1: np.concatenate([y, polynomial, np.sqrt(a * np.abs(y))])}


def _newton_arguments():
    a = np.abs(random_floats(13, 70, np.float64, -10, 10))
    return [a, np.zeros(210, np.float64), np.uint32(70)]


def _packed(dtype, rows):
    columns = [random_floats(20 + k, 260, dtype, -6, 6).reshape(130, 2) for k in range(3)]
    return [*columns, np.zeros((rows * 130, 2), dtype), np.uint32(130)]


def _packed_f32(a, b, c, out, n):
    first = np.repeat(a[:, :1], 2, 1)
    found = [a + b, a * b, fused(a, b, c), a - b, a[:, ::-1] * b, fused(first, b, -c), a * np.float32(3)]
    return {3: np.concatenate(found)}


def _packed_f16(a, b, c, out, n):
    first = np.repeat(a[:, :1], 2, 1)
    found = [a + b, a * b, fused(a, b, c), a - b, a[:, ::-1] * b, fused(first, b, -c)]
    found += [np.minimum(a, b), np.maximum(a, b[:, ::-1]), a * np.float16(3)]
    return {3: np.concatenate(found)}


def _mixed():
    a, b = (random_floats(30 + k, 240, np.float16, -5, 5).reshape(120, 2) for k in range(2))
    return [a, b, random_floats(32, 120, np.float32), np.zeros(360, np.float32), np.uint32(120)]


def _mixed_check(after):
    """Products of halves are exact; how the dot product of two rounds inside is not stated."""
    a, b, c, _, n = _mixed()
    got = after[3].reshape(3, n)
    x, y = a.astype(np.float64), b.astype(np.float64)
    same(got[0], fused(x[:, 0], y[:, 1], c, np.float32))
    same(got[1], fused(x[:, 1], -y[:, 1], c, np.float32))
    close(got[2] - (x * y).sum(1) - c, np.zeros(n), 0, 2.0**-22 * (np.abs(x * y).sum(1) + np.abs(c)).max())


def _mixed_low():
    a, b = (random_floats(33 + k, 120, np.float16, -5, 5) for k in range(2))
    return [a, b, random_floats(35, 120, np.float32), np.zeros(120, np.float16), np.uint32(120)]


def _mixed_low_expected(a, b, c, out, n):
    # f32 first, f16 then: two roundings, as the source says.
    return {3: fused(a, b, c, np.float32).astype(np.float16)}


def _arithmetic(variant, contracts):
    obj, partial = f"hip_{variant}.co", functools.partial
    for name, dtype in TYPES.items():
        made = partial(_basic_arguments, dtype)
        groups = -(-len(made()[0]) // 128)
        if name == "f16":
            check = _basic_f16(contracts)
            yield Case(
                f"{variant}: basic f16", obj, "basic_f16", (groups, 1, 1), (128, 1, 1), 0, made, check, True, False
            )
        else:
            yield expecting(
                f"{variant}: basic {name}", obj, f"basic_{name}", groups, 128, made, partial(_basic, contracts)
            )
    newton = {"relative": 1e-12, "absolute": 1e-12} if contracts else {}
    yield expecting(f"{variant}: newton f64", obj, "newton_f64", 2, 64, _newton_arguments, _newton, **newton)


def _bounded():
    """The manual promises about one unit in the last place; these bounds are two to four."""
    obj, partial = "hip_math.co", functools.partial
    positive, between = partial(partial, _positive), partial(partial, _between)

    def case(kernel, arguments, functions, relative, absolute=0.0):
        return expecting(
            f"math: {kernel}",
            obj,
            kernel,
            3,
            64,
            arguments,
            _functions(*functions),
            relative=relative,
            absolute=absolute,
        )

    four = (_reciprocal, _reciprocal_root, np.sqrt, np.log2)
    yield case("approximations_f32", positive(np.float32, -60, 60, 4), four, 2.0**-21, 2.0**-22)
    yield case("exp2_f32", between(np.float32, -120, 120, 1), (np.exp2,), 2.0**-21)
    yield case("turns_f32", between(np.float32, -4, 4, 2), (_turn(np.sin), _turn(np.cos)), 0, 2.0**-18)
    yield case("approximations_f64", positive(np.float64, -300, 300, 2), (_reciprocal, _reciprocal_root), 2.0**-22)
    halves = (*four, np.exp2, _turn(np.sin), _turn(np.cos))
    yield case("approximations_f16", positive(np.float16, -6, 3, 7), halves, 2.0**-9, 2.0**-9)
    yield case("logarithms", positive(np.float32, -140, 120, 3), (np.log2, np.log, np.log10), 2.0**-20, 2.0**-20)
    yield case("exponentials", between(np.float32, -80, 80, 2), (np.exp2, np.exp), 2.0**-19)
    yield case("circle", between(np.float32, -30, 30, 2), (np.sin, np.cos), 0, 2.0**-16)


def _rest():
    obj, partial = "hip_math.co", functools.partial
    yield expecting("packed f32", obj, "packed_f32", 3, 64, partial(_packed, np.float32, 7), _packed_f32)
    yield expecting("packed f16", obj, "packed_f16", 3, 64, partial(_packed, np.float16, 9), _packed_f16)
    yield Case("mixed", obj, "mixed", (2, 1, 1), (64, 1, 1), 0, _mixed, _mixed_check, True, False)
    yield expecting("mixed low", obj, "mixed_low", 2, 64, _mixed_low, _mixed_low_expected)


CASES = [*_arithmetic("math", False), *_arithmetic("math_fused", True), *_bounded(), *_rest()]
