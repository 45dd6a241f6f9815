"""Roots, reciprocals, powers, logarithms and sines.

How the hardware approximates them is not published; the manual gives error bounds. Here the result is the exact
function's value, rounded once, the same on every host: only additions and products of float64, each rounded to
nearest even, and tables. Narrower results are right although the function's float64 was rounded before: all float32
inputs were compared with arithmetic of more digits, and none but one lies too near the middle of two results.
Quotients and roots of narrow types cannot, as float64 has more than twice their digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mfma.emulator.semantics.floats import powers_of_two
from mfma.emulator.semantics.registry import Basis
from mfma.emulator.semantics.tables import LOG_FIRST, LOG_STEPS, TURN, logarithms, powers, series
from mfma.emulator.semantics.valu import DEFAULT_NAN, settled_nan, vector
from mfma.emulator.semantics.values import B32, F16, F32, F64, Value

__all__ = ["cosine", "exponential", "logarithm", "reciprocal", "reciprocal_root", "root", "sine"]


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Sum of coefficients times powers of ``x``, from the constant on."""
    *rest, last = coefficients
    total = x.like(last)
    for coefficient in reversed(rest):
        total = total * x + coefficient
    return total


EXP_STEPS = 8
HARD = float.fromhex("-0x1.e7526ep-6")
"""The float32 whose power is 2**-57 off the middle of two float32, too near for a float64 to tell."""
HARD_POWER = float.fromhex("0x1.f58d62p-1")


def exponential(x: Value) -> Value:
    """2 to the x, as a float64 with a relative error below 2**-52.

    With k the nearest multiple of 1/256 it is 2**k, from a table and an exponent, times 2**(x - k), from a series.
    """
    wide = x.to_float(F64)
    # far enough for 0 and infinity in the narrower types
    wide = (wide < -256.0).select(wide.like(-256.0), wide)
    wide = (wide > 256.0).select(wide.like(256.0), wide)
    steps = (wide * 2.0**EXP_STEPS).rint()
    rest = wide - steps * 2.0**-EXP_STEPS
    k = steps.to_signed(B32)
    power = k.bits(0, EXP_STEPS).lookup(powers(1 << EXP_STEPS), F64)
    above_one = rest * polynomial(rest, series("exp", 5))
    result = (power + power * above_one) * powers_of_two(k.sar(EXP_STEPS), F64)
    return wide.equals(HARD).select(result.like(HARD_POWER), result)


def logarithm(x: Value) -> Value:
    """Logarithm to base 2, as a float64 with a relative error below 2**-51.

    The number is 2**e * m with m near 1, and a factor from a table brings m to 1 + r; log2(1 + r) is a series.
    """
    narrow = x.to_float(F32)
    bits = narrow.as_int()
    exponent = (bits - LOG_FIRST).sar(23)
    mantissa = (bits - (exponent << 23)).bitcast(F32).to_float(F64)
    entry = (bits - LOG_FIRST).bits(23 - LOG_STEPS, LOG_STEPS)
    factor, high, low = (entry.lookup(table, F64) for table in logarithms())
    rest = mantissa * factor - 1.0
    small = rest * polynomial(rest, series("log", 5)) + low
    result = exponent.signed_to(F64) + high + small
    # zero, negative numbers, infinity and NaN
    result = narrow.equals(0.0).select(result.like(-float("inf")), result)
    result = (narrow < float("inf")).select(result, narrow.to_float(F64))
    return (narrow < 0.0).select(result.like(float("nan")), result)


def _sine_of_quarter(y: Value) -> Value:
    """Sine of up to a quarter revolution to both sides. The product with `TURN` is exact."""
    return y * TURN + y * polynomial(y * y, series("sin", 12))


def sine(x: Value) -> Value:
    """Sine of x revolutions, as a float64 with a relative error below 2**-52."""
    wide = x.to_float(F64)
    turns = wide.rint()
    part = turns.equals(0.0).select(wide, wide - turns)  # keeps -0
    folded = (part > 0.25).select(0.5 - part, part)
    folded = (part < -0.25).select(-0.5 - part, folded)
    return _sine_of_quarter(folded)


def cosine(x: Value) -> Value:
    """Cosine of x revolutions, as a float64 with a relative error below 2**-51: a sine."""
    wide = x.to_float(F64)
    return _sine_of_quarter(0.25 - (wide - wide.rint()).fabs())


def reciprocal(x: Value) -> Value:
    """One divided by x."""
    return 1.0 / x


def root(x: Value) -> Value:
    """Square root."""
    return x.sqrt()


def reciprocal_root(x: Value) -> Value:
    """One divided by the square root, as a float64."""
    return 1.0 / x.to_float(F64).sqrt()


def rounded(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """A function with its result in the type of its source; what is not defined is the negative NaN of the manual."""

    def build(x: Value) -> Value:
        return settled_nan(function(x).to_float(x.type), [x], DEFAULT_NAN[x.type] | 1 << x.type.bits - 1)

    return build


ULP = "manual: error up to 1 ulp"
ULP_64 = "manual: error up to 2**29 ulp"
# mnemonic without type, function, whether f32 subnormals are flushed in every mode
FUNCTIONS = (
    ("exp",        exponential,     True),
    ("log",        logarithm,       True),
    ("rcp",        reciprocal,      True),
    ("rsq",        reciprocal_root, True),
    ("sqrt",       root,            True),
    ("sin",        sine,            False),
    ("cos",        cosine,          False),
    ("exp_legacy", exponential,     True),
    ("log_legacy", logarithm,       True),
    ("rcp_iflag",  reciprocal,      True),
)  # fmt: skip
for name, function, always_flush in FUNCTIONS:
    for T in (F32,) if "_" in name else (F32, F16):
        vector(
            f"v_{name}_{repr(T).lower()}",
            result=T,
            sources=(T,),
            always_flush=always_flush and T == F32,
            nan=False,
            basis=Basis.ASSUMED,
            note=ULP,
        )(rounded(function))
