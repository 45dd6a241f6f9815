"""Conversions among all number formats."""

from __future__ import annotations

import functools
from fractions import Fraction

import ml_dtypes
import numpy as np

from corpus.case import Case, expecting, same
from corpus.reference import BF16, integers, nearest, random_floats, specials

__all__ = ["CASES"]

TYPES = {
    "f16": np.float16, "bf16": BF16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "u8": np.uint8,
    "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
}  # fmt: skip
PAIRS = """
f32 f16, f32 bf16, f32 f64, f32 i32, f32 u32, f32 i64, f32 u64, f16 f32, f16 f64, f16 i16, f16 u16, bf16 f32,
f64 f32, f64 f16, f64 i32, f64 u32, f64 i64, f64 u64, i32 f32, i32 f64, i32 f16, u32 f32, u32 f64,
i64 f32, i64 f64, u64 f32, u64 f64, i16 f16, u16 f16, u8 f32, i8 f32, i8 i64
"""
FP8, BF8 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz


def _is_float(dtype):
    return np.dtype(dtype).kind not in "iu"


def _samples(source, target):
    """Numbers of the source whose conversion C++ or the manual defines: integers of 32 bits and less saturate."""
    if not _is_float(source):
        values = integers(0, 150, source)
        # By way of f32, which must hold them.
        return (values >> 12).astype(source) if (source, target) == (np.int32, np.float16) else values
    if not _is_float(target):
        width = np.iinfo(target).bits
        lowest = -(2.0**63) if np.iinfo(target).min else 0.0
        values = random_floats(40, 150, source, -3, min(width + 2, 15) if source == np.float16 else width + 2)
        if width == 64:
            inside = np.abs(values.astype(np.float64)) < 2.0 ** (63 if np.iinfo(target).min else 64)
            return np.where(inside & (values.astype(np.float64) >= lowest), values, np.asarray(values.dtype.type(7.75)))
        return np.concatenate([specials(source), values])
    smaller = min(source, target, key=lambda t: ml_dtypes.finfo(t).maxexp)
    info = ml_dtypes.finfo(smaller)
    reach = random_floats(
        41, 200, source, max(int(info.minexp) - 14, int(ml_dtypes.finfo(source).minexp)), int(info.maxexp)
    )
    # Halfway between two numbers of the target, and its neighbours.
    unit = float(ml_dtypes.finfo(target).eps)
    ties = 1 + unit * (np.arange(40) + 0.5)
    ties = np.concatenate([ties, ties + float(ml_dtypes.finfo(source).eps), ties - float(ml_dtypes.finfo(source).eps)])
    return np.concatenate([specials(source), reach, ties.astype(source)])


def _convert(values, target):
    source = values.dtype
    if not _is_float(target) and _is_float(source):
        info = np.iinfo(target)
        wide = values.astype(np.float64)
        clipped = [
            0 if np.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v) for v in wide
        ]
        return np.array(clipped, target)
    if not _is_float(target):
        return values.astype(target)
    if _is_float(source):
        wide = values.astype(np.float64)
        found = [nearest(Fraction(v), target) if np.isfinite(v) else v for v in wide.tolist()]
        return np.copysign(np.array(found), wide).astype(target)
    return np.array([nearest(Fraction(int(v)), target) for v in values]).astype(target)


def _arguments(source, target):
    values = _samples(source, target)
    return [values, np.zeros(values.size, target), np.uint32(values.size)]


def _expected(a, out, n):
    return {1: _convert(a, out.dtype)}


def _floats_of_fp8():
    """All within the range of both formats."""
    a = np.concatenate(
        [random_floats(50, 200, np.float32, -12, 7.5), np.array([0, -0.0, np.nan, 1, -1.0625], np.float32)]
    )
    return [a, np.roll(a, 31), np.zeros(4 * a.size, np.uint32), np.uint32(a.size)]


def _to_fp8(a, b, out, n):
    def pair(dtype, high):
        low = a.astype(dtype).view(np.uint8).astype(np.uint32) | b.astype(dtype).view(np.uint8).astype(np.uint32) << 8
        return low << 16 | 0xA5A5 if high else low | 0xA5A50000

    return {2: np.concatenate([pair(dtype, high) for dtype in (FP8, BF8) for high in (False, True)]).astype(np.uint32)}


def _words_of_fp8():
    a = np.random.default_rng(51).permuted(np.tile(np.arange(256, dtype=np.uint8), (4, 1)), axis=1).T.copy()
    return [a.view(np.uint32).ravel(), np.zeros(10 * 256, np.float32), np.uint32(256)]


def _from_fp8(a, out, n):
    octets = a.view(np.uint8).reshape(-1, 4)
    fp8, bf8 = (octets.view(dtype).astype(np.float32) for dtype in (FP8, BF8))
    columns = [*fp8.T, bf8[:, 0], bf8[:, 3], fp8[:, 0], fp8[:, 1], bf8[:, 2], bf8[:, 3]]
    return {1: np.concatenate(columns)}


def _stochastic():
    a = random_floats(52, 200, np.float32, -6, 7)
    random = np.random.default_rng(53).integers(1 << 32, size=200, dtype=np.uint32)
    return [a, random, np.zeros(400, np.uint32), np.uint32(200)]


def _stochastic_check(after):
    """The result is one of the two neighbours; with random bits all zero or all one it is the lower or the upper."""
    a, _, _, n = _stochastic()
    wide = np.abs(a.astype(np.float64))
    for row, (dtype, place) in enumerate(((FP8, 0), (BF8, 16))):
        words = after[2].reshape(2, n)[row]
        same(words & ~np.uint32(255 << place), np.zeros(n, np.uint32))
        codes = (words >> place & 255).astype(np.uint8)
        same(codes >> 7, np.signbit(a).astype(np.uint8))
        got = np.abs(codes.view(dtype).astype(np.float64))
        finite = np.unique(np.abs(np.arange(128, dtype=np.uint8).view(dtype).astype(np.float64)))
        lower = np.searchsorted(finite, wide, "right") - 1
        neighbours = (got == finite[lower]) | (got == finite[lower + 1])
        assert neighbours.all(), f"{a[~neighbours][0]!r} became {got[~neighbours][0]!r}"
        # On average nothing is lost: half of the numbers round up.
        share = np.mean(
            (got - finite[lower]) / (finite[lower + 1] - finite[lower])
            - (wide - finite[lower]) / (finite[lower + 1] - finite[lower])
        )
        assert abs(share) < 0.1, f"rounded up too often or too rarely by {share:.2f}"


def _packing():
    a = np.concatenate(
        [
            random_floats(54, 120, np.float32, -8, 2),
            np.array([0, 300, 255.5, 0.5, 1.5, 2.5, -3, 1, -1, 65000], np.float32),
        ]
    )
    return [a, np.roll(a, 17), np.zeros(6 * a.size, np.uint32), np.uint32(a.size)]


def _toward_zero(x):
    near = x.astype(np.float16)
    beyond = np.abs(near.astype(np.float64)) > np.abs(x.astype(np.float64))
    return np.where(beyond, np.nextafter(near, np.float16(0)), near)


def _words(low, high):
    return low.view(np.uint16).astype(np.uint32) | high.view(np.uint16).astype(np.uint32) << 16


def _packed(a, b, out, n):
    def norm(x, limit, dtype):
        return np.rint(np.clip(x.astype(np.float64), -1 if dtype == np.int16 else 0, 1) * limit).astype(dtype)

    octet = np.clip(np.rint(a.astype(np.float64)), 0, 255).astype(np.uint32)
    with np.errstate(over="ignore"):
        halves = a.astype(np.float16), b.astype(np.float16)
        return {
            2: np.concatenate([
                _words(_toward_zero(a), _toward_zero(b)),
                _words(norm(a, 32767, np.int16), norm(b, 32767, np.int16)),
                _words(norm(a, 65535, np.uint16), norm(b, 65535, np.uint16)),
                octet << 16 | 0x11003344,
                _words(*halves),
                _words(a.astype(BF16), b.astype(BF16)),
            ]).astype(np.uint32)
        }  # fmt: skip


def _packing_integers():
    a, b = integers(1, 150, np.int32), integers(2, 150, np.int32)
    return [a, b, np.zeros(6 * 150, np.uint32), np.uint32(150)]


def _packed_integers(a, b, out, n):
    p, q = a.view(np.uint32), b.view(np.uint32)
    saturated = [np.clip(x, -32768, 32767).astype(np.int16) for x in (a, b)]
    unsigned = [np.minimum(x, 65535).astype(np.uint16) for x in (p, q)]
    octets = [(x & 255).astype(np.float32).view(np.uint32) for x in (p >> 16, p >> 24, q)]
    return {2: np.concatenate([_words(*saturated), _words(*unsigned), *octets, (p & 65535) | q << 16])}


def _parts(dtype):
    a = np.concatenate(
        [specials(dtype), random_floats(55, 150, dtype, -4, 12), np.array([0.5, 1.5, 2.5, -0.5, -1.5], dtype)]
    )
    e = np.random.default_rng(56).integers(-30, 30, a.size, np.int32)
    return [a, e, np.zeros(10 * a.size, dtype), np.uint32(a.size)]


def _parted(a, e, out, n):
    dtype = a.dtype
    with np.errstate(all="ignore"):
        below = np.nextafter(dtype.type(1), dtype.type(0))
        rounded = np.copysign(np.trunc(np.abs(a).astype(np.float64) + 0.5), a).astype(dtype)
        # Above the last fraction every number is an integer already.
        rounded = np.where(np.abs(a.astype(np.float64)) < 2.0 ** np.finfo(dtype).nmant, rounded, a)
        fraction = np.where(np.isinf(a), dtype.type(np.nan), np.minimum(a - np.floor(a), below))
        mantissa, exponent = np.frexp(a)
        exponent = np.where(np.isfinite(a), exponent, 0)
        scaled = np.ldexp(a.astype(np.longdouble), e).astype(dtype)
    whole = [np.trunc(a), np.ceil(a), np.floor(a), np.rint(a), np.rint(a), rounded]
    return {2: np.concatenate([*whole, fraction, mantissa, exponent.astype(dtype), scaled])}


def _cases():
    obj, partial = "hip_convert.co", functools.partial
    for pair in PAIRS.replace("\n", " ").split(","):
        source, target = pair.split()
        made = partial(_arguments, TYPES[source], TYPES[target])
        yield expecting(f"{source} to {target}", obj, f"{source}_to_{target}", 6, 64, made, _expected)
    yield expecting("to fp8", obj, "to_fp8", 4, 64, _floats_of_fp8, _to_fp8)
    yield expecting("from fp8", obj, "from_fp8", 4, 64, _words_of_fp8, _from_fp8)
    yield Case(
        "stochastic fp8", obj, "stochastic", (4, 1, 1), (64, 1, 1), 0, _stochastic, _stochastic_check, True, False
    )
    yield expecting("packing", obj, "packing", 3, 64, _packing, _packed)
    yield expecting("packing integers", obj, "packing_integers", 3, 64, _packing_integers, _packed_integers)
    for name in ("f32", "f64", "f16"):
        yield expecting(f"parts {name}", obj, f"parts_{name}", 3, 64, partial(_parts, TYPES[name]), _parted)


CASES = [*_cases()]
