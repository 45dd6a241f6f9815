"""Reciprocals and roots of float64, correctly rounded."""

from __future__ import annotations

from mfma.emulator.semantics.registry import Basis
from mfma.emulator.semantics.transcendental import reciprocal, root, rounded
from mfma.emulator.semantics.valu import MANTISSA, vector
from mfma.emulator.semantics.values import F64, Value

FRACTION = (1 << MANTISSA[F64]) - 1


def reciprocal_root_64(x: Value) -> Value:
    """One divided by the square root.

    An approximation is corrected by its residual, computed with twice the digits. That leaves an error of 2**-100,
    and so doubt, where the value is so near the middle of two numbers. There X * M**2, with the integers X of the
    number and M of the middle, is so near the power of two which stands for 1 that its low 64 bits tell the sign of
    the difference.
    """
    # away from subnormals, of the square of the result too
    tiny, huge = x < 2.0**-1000, x > 2.0**1000
    scaled = tiny.select(x * 2.0**200, huge.select(x * 2.0**-200, x))
    first = 1.0 / scaled.sqrt()

    square = first * first
    residual = scaled.fma(square, -1.0) + scaled * first.fma(first, -square)
    correction = first * residual * (residual * 0.375 - 0.5)
    near = first + correction
    rest = correction - (near - first)

    bits, above = near.as_int(), rest > 0.0
    power = (bits & ~FRACTION).bitcast(F64)
    doubtful = (power * 2.0**-53 - rest.fabs()).fabs() < power * 2.0**-99
    step = above.select(bits.like(1), -1)
    number, middle = ((value.as_int() & FRACTION) | FRACTION + 1 for value in (scaled, near))
    middle = (middle << 1) + step
    below_one = (number * middle * middle).slt(0)
    moved = (doubtful & ~(below_one ^ above)).select(bits + step, bits).bitcast(F64)

    ordinary = (scaled > 0.0) & (scaled < float("inf"))
    result = ordinary.select(moved, first)
    return tiny.select(result * 2.0**100, huge.select(result * 2.0**-100, result))


for name, function in ("rcp", reciprocal), ("rsq", reciprocal_root_64), ("sqrt", root):
    vector(
        f"v_{name}_f64",
        result=F64,
        sources=(F64,),
        nan=False,
        basis=Basis.ASSUMED,
        note="manual: error up to 2**29 ulp",
    )(rounded(function))
