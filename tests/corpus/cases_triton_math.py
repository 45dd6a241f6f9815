"""Cases of Triton kernels: elementary functions and conversions.

Correctly rounded operations are compared to the bit. The others stay within a bound of NumPy's float64 functions:

* where the kernel is one instruction of the transcendental unit, AMD's manual gives 1 ulp, 2^-23 at most; the bound
  is twice that, and where a product goes before or after it, what that product's rounding makes of it is added;
* where it is a function of AMD's device library (sin, cos, erf, tanh, ...), the bound is OpenCL's for that function
  (table "relative error as ulps" of the OpenCL C specification), which that library is made to keep.

Arguments are normal numbers, zeros, infinities and NaN: what the instructions do with subnormal ones is not stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from corpus.build_triton import CONVERSIONS
from corpus.case import Case
from corpus.cases_triton_common import DTYPES, numbers, triton_case

__all__ = ["CASES"]

i32 = np.int32
N = 250
INF, NAN = math.inf, math.nan
ULP = {"fp32": 2.0**-23, "fp64": 2.0**-52}


@dataclass(frozen=True)
class Function:
    """A function of one argument: its reference, where it is asked, and how far it may be off.

    ``relative`` is in units of the last place; None compares bits with the reference rounded to the type.
    """

    name: str
    reference: Any
    low: float
    high: float
    relative: float | None
    absolute: float = 0.0
    specials: tuple[float, ...] = (0.0, -0.0, 1.0, INF, -INF, NAN)


def _erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


POSITIVE = (0.0, 1.0, INF, NAN, -1.0)
FINITE = (0.0, -0.0, 1.0, -1.0, NAN)
FP32 = (
    # e^x = 2^(x log2 e): the product and the constant move the exponent by |x| · 1.25 · 2^-24, 100 ulp / 2 at 80.
    Function("exp", np.exp, -80, 80, 60),
    Function("exp2", np.exp2, -120, 120, 2),
    # v_log_f32 within an ulp, times ln 2 in two parts.
    Function("log", np.log, 1e-30, 1e30, 4, 2**-23, POSITIVE),
    Function("log2", np.log2, 1e-30, 1e30, 2, 2**-23, POSITIVE),
    Function("sqrt", np.sqrt, 1e-30, 1e30, 2, 0.0, POSITIVE),
    Function("sqrt_rn", np.sqrt, 1e-30, 1e30, None, 0.0, POSITIVE),
    Function("rsqrt", lambda x: 1 / np.sqrt(x), 1e-30, 1e30, 2, 0.0, POSITIVE),
    Function("sin", np.sin, -1e5, 1e5, 4, 0.0, (*FINITE, 1e9, 3e38, INF)),
    Function("cos", np.cos, -1e5, 1e5, 4, 0.0, (*FINITE, 1e9, 3e38, INF)),
    Function("erf", _erf, -5, 5, 16),
    Function("floor", np.floor, -1e6, 1e6, None),
    Function("ceil", np.ceil, -1e6, 1e6, None),
    Function("rint", np.rint, -1e3, 1e3, None, 0.0, (0.0, -0.0, 0.5, 1.5, 2.5, -0.5, INF, -INF, NAN)),
    Function("trunc", np.trunc, -1e6, 1e6, None),
    Function("tanh", np.tanh, -12, 12, 5),
    Function("atan", np.arctan, -100, 100, 5),
    Function("cosh", np.cosh, -80, 80, 4),
    Function("expm1", np.expm1, -20, 80, 3),
    # 1 / (1 + e^-x): as exp, for arguments up to 20, then a sum and a quotient.
    Function("sigmoid", lambda x: 1 / (1 + np.exp(-x)), -20, 20, 20),
)
FP64 = (
    Function("exp", np.exp, -600, 600, 4),
    Function("log", np.log, 1e-300, 1e300, 4, 0.0, POSITIVE),
    Function("sqrt", np.sqrt, 1e-300, 1e300, 1, 0.0, POSITIVE),
    Function("sin", np.sin, -1e5, 1e5, 5, 0.0, (*FINITE, 1e22, 1e300, INF)),
    Function("erf", _erf, -5, 5, 17),
    Function("floor", np.floor, -1e12, 1e12, None),
    Function("rint", np.rint, -1e3, 1e3, None, 0.0, (0.0, -0.0, 0.5, 1.5, 2.5, -0.5, INF, -INF, NAN)),
    Function("tanh", np.tanh, -20, 20, 6),
)


def _spread(low: float, high: float, count: int, seed: int):
    """Numbers over an interval: evenly, and half of them over its orders of magnitude."""
    generator = np.random.default_rng(seed)
    even = generator.uniform(low, high, count)
    small = high * 10.0 ** generator.uniform(-8 if high < 1e20 else math.log10(low) - math.log10(high), 0, count)
    sign = -1.0 if low < 0 else 1.0
    tiny = np.where((np.arange(count) % 4 == 1) & (small < -low), sign * small, small)
    return np.where(np.arange(count) % 2, np.clip(tiny, low, high), even)


def unary(kind: str, function: Function) -> Case:
    dtype = DTYPES[kind]

    def arguments():
        x = _spread(function.low, function.high, N, 40)
        x[: len(function.specials)] = function.specials
        return [x.astype(dtype), np.zeros(N, dtype), i32(N)]

    def expected(x, *_):
        with np.errstate(all="ignore"):
            wanted = function.reference(x.astype(np.float64))
        return {1: wanted.astype(dtype) if function.relative is None else wanted}

    name = f"{function.name}_{kind}"
    relative = None if function.relative is None else function.relative * ULP[kind]
    return triton_case(name, name, 1, arguments, expected, relative=relative, absolute=function.absolute)


def binary(kind: str, name: str, reference, x_of, y_of, relative: float | None) -> Case:
    dtype = DTYPES[kind]

    def arguments():
        return [x_of().astype(dtype), y_of().astype(dtype), np.zeros(N, dtype), i32(N)]

    def expected(x, y, *_):
        with np.errstate(all="ignore"):
            if relative is None:
                return {2: reference(x, y)}
            return {2: reference(x.astype(np.float64), y.astype(np.float64))}

    name = f"{name}_{kind}"
    return triton_case(name, name, 1, arguments, expected, relative=relative)


def _quotients(kind: str, seed: int):
    """Any finite numbers, subnormals and the largest among them, zeros, infinities, NaN."""
    dtype = DTYPES[kind]
    largest, smallest = float(np.finfo(dtype).max), float(np.finfo(dtype).smallest_subnormal)
    normal = float(np.finfo(dtype).smallest_normal)
    edges = [0.0, -0.0, 1.0, -3.0, INF, -INF, NAN, largest, -largest, smallest, -5 * smallest, normal, normal * 1.5]
    codes = np.random.default_rng(seed).integers(0, 1 << 8 * dtype.itemsize, N, f"u{dtype.itemsize}")
    x = codes.view(dtype).copy()
    x[N // 2 :] = np.random.default_rng(seed + 1).standard_normal(N - N // 2) * 100
    turn = len(edges) if seed % 2 else 1
    pairs = np.array(edges * turn if seed % 2 else np.repeat(edges, len(edges)), dtype)[:100]
    x[: len(pairs)] = pairs
    return x


def _power_base():
    return np.concatenate([[0.0, 1.0, 2.0, -2.0, -2.0, INF, 2.0], np.random.default_rng(50).uniform(0.1, 10, N - 7)])


def _power_exponent():
    return np.concatenate([[2.0, 7.0, 10.0, 3.0, 4.0, -1.0, -INF], np.random.default_rng(51).uniform(-20, 20, N - 7)])


# --- fused and simple -------------------------------------------------------------------------------------------


def _fma(a: float, b: float, c: float, dtype) -> Any:
    """A·b + c, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return dtype.type(a * b + c)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return dtype.type(a * b + c)  # the sign of zero is that of the sum
    nearest = float(exact)
    if dtype.itemsize < 8 and Fraction(nearest) != exact:  # round to odd, so that the second rounding is the only one
        if abs(Fraction(nearest)) > abs(exact):
            nearest = math.nextafter(nearest, 0.0)
        nearest = float((np.float64(nearest).view(np.uint64) | np.uint64(1)).view(np.float64))
    return dtype.type(nearest)


def fused(kind: str) -> Case:
    dtype = DTYPES[kind]

    def arguments():
        x, y, z = (numbers(kind, N, seed, scale) for seed, scale in ((52, 1), (53, 2), (54, 3)))
        z[:100] = (-x[:100].astype(np.float64) * y[:100].astype(np.float64)).astype(dtype)  # the product's rounding
        x[:8], y[:8] = [NAN, 1, INF, INF, 0, -0.0, 3, -9], [2, NAN, 1, 0, 7, 7, NAN, 1]
        z[:8] = [1, 2, 3, 4, 0, -0.0, NAN, NAN]
        return [x, y, z, np.zeros((7, N), dtype), i32(N)]

    def expected(x, y, z, *_):
        with np.errstate(all="ignore"):
            once = [_fma(float(a), float(b), float(c), dtype) for a, b, c in zip(x, y, z, strict=True)]
            clamped = np.fmin(np.fmax(x, dtype.type(-2)), dtype.type(2))
            rows = [once, once, clamped, np.fmax(x, y), np.fmin(x, y), np.maximum(x, z), np.abs(x) + y]
        return {3: np.array(rows, dtype)}

    return triton_case(f"fma_{kind}", f"fma_{kind}", 1, arguments, expected)


# --- conversions ------------------------------------------------------------------------------------------------


LARGEST = {"fp16": 65504.0, "bf16": 3.3e38, "fp8e4b8": 240.0, "fp8e5b16": 57344.0, "fp8e4nv": 448.0, "fp8e5": 57344.0}
FP8 = ("fp8e4b8", "fp8e5b16", "fp8e4nv", "fp8e5")


def _floats(source: str, target: str):
    """Numbers around what the target holds: ordinary, tiny, ties, and too large where the result is agreed on."""
    dtype, generator = DTYPES[source], np.random.default_rng(55)
    limit = min(LARGEST.get(target, 1e30), LARGEST.get(source, 1e30))
    x = generator.uniform(-limit, limit, N)
    x[::2] = limit * 2.0 ** generator.uniform(-30, 0, N - N // 2) * generator.choice([-1, 1], N - N // 2)
    if target in DTYPES and DTYPES[target].kind not in "iu" and DTYPES[target].itemsize < dtype.itemsize:
        codes = np.arange(1, 61)
        low = codes.astype(np.uint8 if DTYPES[target].itemsize == 1 else f"u{DTYPES[target].itemsize}")
        values = low.view(DTYPES[target]).astype(np.float64)
        x[40:99] = (values[:-1] + values[1:]) / 2  # ties, subnormal ones among them
    x[:2] = 0.0, -0.0
    x = np.clip(x, -limit, limit).astype(dtype)
    if target in ("fp8e4b8", "fp8e5b16"):
        beyond = limit * np.array([1.03, -1.5, 8, -1.1])
        x[2:6] = np.clip(beyond, -LARGEST.get(source, INF), LARGEST.get(source, INF)).astype(dtype)
    elif target not in FP8:
        x[2:5] = INF, -INF, NAN
    return np.where(np.isfinite(x) | (DTYPES[target].itemsize > 1), x, dtype.type(1))


def _wholes(source: str, target: str):
    """Floats within the range of an integer type, halves and numbers next to whole ones among them."""
    bounds = np.iinfo(DTYPES[target])
    low, high = max(float(bounds.min), -(2.0**62)), min(float(bounds.max), 2.0**62)
    if source == "fp16":
        low, high = -60000.0, 60000.0
    generator = np.random.default_rng(56)
    x = generator.uniform(low, high, N)
    near = generator.integers(max(low, -500), min(high, 500), N) + generator.choice([-0.5, 0.5, 0.25, 0.0], N)
    return np.where(np.arange(N) % 2, x, np.clip(near, low, high)).astype(DTYPES[source])


def _codes(source: str):
    count, dtype = 256, DTYPES[source]
    return np.arange(count).astype(np.uint8).view(dtype)


def conversion(source: str, target: str) -> Case:
    from_type, to_type = DTYPES[source], DTYPES[target]
    is_whole, to_whole = from_type.kind in "iu", to_type.kind in "iu"

    def arguments():
        if from_type.itemsize == 1 and not is_whole:
            x = _codes(source)
        elif is_whole:
            x = numbers(source, N, 57)
            x[::3] >>= x.dtype.type(8 * x.itemsize // 2)
        else:
            x = _wholes(source, target) if to_whole else _floats(source, target)
        return [x, np.zeros(len(x), to_type), i32(len(x))]

    def expected(x, *_):
        with np.errstate(all="ignore"):
            if target in ("fp8e4b8", "fp8e5b16"):  # too large becomes the largest: MODE.FP16_OVFL is set
                x = np.clip(x.astype(np.float32), -LARGEST[target], LARGEST[target])
            return {1: x.astype(to_type)}

    name = f"convert_{source}_{target}"
    return triton_case(name, name, 1, arguments, expected)


def toward_zero() -> Case:
    """f32 to f16, cut off: NumPy's nearest value, one step back where that lies outward."""

    def arguments():
        x = np.concatenate([numbers("fp32", 200, 58, 100), numbers("fp32", 50, 59, 1e-6)])
        x[:3] = 65504.0, 0.0, -0.0
        return [x, np.zeros(N, np.float16), i32(N)]

    def expected(x, *_):
        nearest = x.astype(np.float16)
        outward = np.abs(nearest.astype(np.float32)) > np.abs(x)
        return {1: np.where(outward, np.nextafter(nearest, np.float16(0)), nearest)}

    return triton_case("convert_fp32_fp16_rtz", "convert_fp32_fp16_rtz", 1, arguments, expected)


CASES = (
    *(unary("fp32", function) for function in FP32),
    *(unary("fp64", function) for function in FP64),
    *(
        binary("fp32", name, np.divide, lambda: _quotients("fp32", 60), lambda: _quotients("fp32", 61), None)
        for name in ("divide", "fdiv", "div_rn")
    ),
    binary("fp64", "divide", np.divide, lambda: _quotients("fp64", 60), lambda: _quotients("fp64", 61), None),
    *(
        binary(kind, name, np.fmod, lambda: numbers("fp64", N, 62, 1e6), lambda: numbers("fp64", N, 63, 3), None)
        for kind, name in (("fp32", "fmod"), ("fp32", "remainder"), ("fp64", "fmod"))
    ),
    # OpenCL allows 16 and 4 ulp.
    binary("fp32", "power", np.power, _power_base, _power_exponent, 16 * 2.0**-23),
    binary(
        "fp32", "hypot", np.hypot, lambda: numbers("fp32", N, 64, 1e3), lambda: numbers("fp32", N, 65), 4 * 2.0**-23
    ),
    *(fused(kind) for kind in ("fp32", "fp16", "fp64")),
    *(conversion(source, target) for source, targets in CONVERSIONS.items() for target in targets.split()),
    toward_zero(),
)
