"""Exact arithmetic for expectations: Python's integers and fractions, rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np

__all__ = ["BF16", "fused", "integers", "nearest", "random_floats", "rows", "specials", "wrapped"]

BF16 = np.dtype(ml_dtypes.bfloat16)
PRECISION = {np.dtype(t): p for t, p in ((np.float16, 11), (BF16, 8), (np.float32, 24), (np.float64, 53))}


def nearest(value: Fraction, dtype) -> float:
    """Round to the nearest number of a format, ties to even, gradual underflow, overflow to infinity."""
    info = ml_dtypes.finfo(dtype)
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, int(info.minexp)) - PRECISION[np.dtype(dtype)] + 1)
    kept = round(size / unit) * unit
    limit = Fraction(2) ** (int(info.maxexp))
    result = math.inf if kept >= limit else float(kept)
    return result if value > 0 else -result


def _fused(x: float, y: float, z: float, dtype) -> float:
    if not (math.isfinite(x) and math.isfinite(y)):
        return float(np.float64(x) * np.float64(y) + np.float64(z))
    if not math.isfinite(z):
        return z
    total = Fraction(x) * Fraction(y) + Fraction(z)
    if total:
        # A result that rounds to zero keeps its sign.
        return math.copysign(nearest(total, dtype), 1 if total > 0 else -1)
    minus = math.copysign(1, x) * math.copysign(1, y) < 0 and math.copysign(1, z) < 0
    return -0.0 if minus and not z and not (x and y) else 0.0


def fused(x, y, z, dtype=None):
    """x * y + z with one rounding, element by element, in the type of ``z`` or ``dtype``."""
    dtype = np.dtype(dtype or np.asarray(z).dtype)
    x, y, z = np.broadcast_arrays(x, y, z)
    with np.errstate(all="ignore"):
        found = [_fused(float(p), float(q), float(r), dtype) for p, q, r in zip(x.flat, y.flat, z.flat, strict=True)]
        return np.array(found, np.float64).astype(dtype).reshape(x.shape)


def wrapped(values, dtype):
    """Python integers, cut to the width of ``dtype``."""
    width = 8 * np.dtype(dtype).itemsize
    unsigned = np.array([int(v) & ((1 << width) - 1) for v in values], f"u{width // 8}")
    return unsigned.view(dtype)


def rows(operations, columns, dtype):
    """One row for each operation over the zipped columns of Python integers, all as one flat array."""
    return np.concatenate(
        [wrapped([operation(*values) for values in zip(*columns, strict=True)], dtype) for operation in operations]
    )


def integers(seed: int, count: int, dtype) -> np.ndarray:
    """Integers of every magnitude, the extreme ones first."""
    random = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    width = info.bits
    edges = [0, 1, 2, info.max, info.max - 1, info.max // 2, 1 << (width - 1), (1 << width) - 1, 7, 10, 255, 0x55]
    values = [int.from_bytes(random.bytes(width // 8), "little") >> int(random.integers(width)) for _ in range(count)]
    signs = random.integers(2, size=count) if info.min else np.zeros(count, int)
    values = [-v if s else v for v, s in zip(values, signs, strict=True)]
    return wrapped((random.permutation(edges).tolist() + values)[:count] if seed else (edges + values)[:count], dtype)


def specials(dtype, *, nan: bool = True) -> np.ndarray:
    """Zeros, the least and the largest numbers, infinities, a NaN, and ordinary ones, of either sign."""
    info = ml_dtypes.finfo(dtype)
    tiny, least = float(info.tiny), float(info.smallest_subnormal)
    sizes = [0.0, least, tiny - least, tiny, 1.0, 1.0 + float(info.eps), 1.5, 3.25, float(info.max), math.inf]
    return np.array([s * v for v in sizes for s in (1, -1)] + [math.nan] * nan, np.float64).astype(dtype)


def random_floats(seed: int, count: int, dtype, low: float = -8, high: float = 8) -> np.ndarray:
    """Numbers of either sign whose binary logarithms lie evenly between ``low`` and ``high``."""
    random = np.random.default_rng(seed)
    return (random.choice([-1, 1], count) * 2.0 ** random.uniform(low, high, count)).astype(dtype)
