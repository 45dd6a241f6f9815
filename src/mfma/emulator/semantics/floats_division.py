"""The steps of division: scale, multiply-add with the scale undone, special cases; and 2/pi for large angles.

A compiler divides n by d so: scale them where the quotient, or what leads to it, is too large or too small; refine a
reciprocal; undo the scale in the last multiply-add; put in what special operands give. The manual's pseudo-code of
two of the steps cannot give quotients: it scales a denominator up that is almost infinity, and it undoes the scale
by half its exponent, upwards always. Read here as what makes the quotient right.
"""

from __future__ import annotations

from mfma.emulator.semantics.floats import ldexp_64, one
from mfma.emulator.semantics.tables import two_over_pi
from mfma.emulator.semantics.valu import DEFAULT_NAN, MANTISSA, quiet, vector
from mfma.emulator.semantics.values import B1, B32, B64, F16, F32, F64, Value

STEP = {F32: 64, F64: 128}
"""Exponent of the scale."""
APART = {F32: 96, F64: 768}
"""Difference of the exponents from which on the quotient is near the largest number."""
TINY = {F32: 23, F64: 53}
"""Exponent field of a numerator that is scaled away from the subnormals."""
UNDERFLOW = {F32: 150, F64: 1075}
"""Difference of the exponents beyond which the quotient is 0."""

CORRECTED = "as the quotient needs it; the manual's pseudo-code cannot be meant"


def exponent(x: Value) -> Value:
    """The exponent's field, as an integer of the number's width."""
    mantissa = MANTISSA[x.type]
    return x.as_int().bits(mantissa, x.type.bits - 1 - mantissa)


def scale(x: Value, denominator: Value, numerator: Value) -> tuple[Value, Value]:
    """Numerator or denominator, whichever ``x`` is, scaled if need be; and whether to scale the quotient back."""
    type_ = x.type
    up, down, keep = (x.like(2.0**n) for n in (STEP[type_], -STEP[type_], 0))
    bias = one(type_) >> MANTISSA[type_]
    is_numerator, is_denominator = x.equals(numerator), x.equals(denominator)
    zero = numerator.equals(0.0) | denominator.equals(0.0)
    overflow = (exponent(denominator) + APART[type_]).ule(exponent(numerator))
    low = denominator.fabs() < 2.0 ** (1 - bias)
    finite = denominator.fabs() < float("inf")
    # its reciprocal is subnormal
    high = (denominator.fabs() > 2.0 ** (bias - 1)) & finite
    # |n / d| is: both sides are exact where it can be
    middle = bias // 2 + 1
    underflow = ((numerator * 2.0**middle).fabs() < (denominator * 2.0 ** (middle + 1 - bias)).fabs()) & finite

    factor = exponent(numerator).ule(TINY[type_]).select(up, keep)
    factor = underflow.select(is_numerator.select(up, keep), factor)
    factor = high.select((~underflow | is_denominator).select(down, keep), factor)
    factor = low.select(up, factor)
    factor = overflow.select(is_denominator.select(up, keep), factor)
    nan = x.program.constant(type_.integer, DEFAULT_NAN[type_]).bitcast(type_)
    return zero.select(nan.splat(), x * factor), ~zero & (overflow | ~low & underflow)


def scaled_fma(a: Value, b: Value, c: Value, scaled: Value) -> Value:
    """Product plus addend, which undoes the scale where the quotient is scaled; rounded once.

    The sum is rounded before it is scaled down, to a subnormal perhaps. If it is then in the middle of two, the error
    of the first rounding decides; it is exact where the product is small against the addend.
    """
    type_ = a.type
    step, precision = STEP[type_], MANTISSA[type_] + (one(type_) >> MANTISSA[type_])
    up, down, smallest = 2.0**step, 2.0**-step, 2.0 ** (1 - precision)
    total = a.fma(b, c)
    enlarged, reduced = total * up, total * down
    error = (a * up).fma(b, c * up - enlarged)
    side = (enlarged - reduced * up * up) * 2.0 ** (precision - 2 * step)  # +1 or -1 in the middle
    beyond = side.fabs().equals(1.0) & (error * side > 0.0)
    reduced = beyond.select(reduced + side * smallest, reduced)
    return scaled.select((c.fabs() >= 2.0).select(enlarged, reduced), total)


def fixup(quotient: Value, denominator: Value, numerator: Value) -> Value:
    """The quotient, or what special operands give instead; where the refinement ended as NaN, it had overflowed."""
    type_ = quotient.type
    sign_bit = 1 << type_.bits - 1
    sign = (denominator.as_int() ^ numerator.as_int()) & sign_bit
    infinity = float("inf")
    result = quotient.is_nan().select(quotient.like(infinity), quotient.fabs()).as_int()
    if type_ in UNDERFLOW:
        gone = (exponent(numerator) + UNDERFLOW[type_]).ult(exponent(denominator))
        result = gone.select(result.like(0), result)
    d_zero, n_zero = denominator.equals(0.0), numerator.equals(0.0)
    d_infinite, n_infinite = denominator.fabs().equals(infinity), numerator.fabs().equals(infinity)
    result = (d_infinite | n_zero).select(result.like(0), result)
    result = (d_zero | n_infinite).select(quotient.like(infinity).as_int(), result) | sign
    invalid = d_zero & n_zero | d_infinite & n_infinite
    result = invalid.select(result.like(DEFAULT_NAN[type_] | sign_bit), result).bitcast(type_)
    return numerator.is_nan().select(quiet(numerator), denominator.is_nan().select(quiet(denominator), result))


for T in F32, F64:
    t = repr(T).lower()
    vector(f"v_div_scale_{t}", result=(T, B1), sources=(T, T, T), note=CORRECTED)(scale)
    vector(f"v_div_fmas_{t}", result=T, sources=(T, T, T), reads_vcc=True, note=CORRECTED)(scaled_fma)
    vector(f"v_div_fixup_{t}", result=T, sources=(T, T, T), nan=False)(fixup)
vector("v_div_fixup_f16", result=F16, sources=(F16, F16, F16), nan=False, preserve_high=True)(fixup)
vector("v_div_fixup_legacy_f16", result=F16, sources=(F16, F16, F16), nan=False)(fixup)


@vector("v_trig_preop_f64", result=F64, sources=(F64, B32), nan=False)
def _trig_preop(x: Value, segment: Value) -> Value:
    """53 bits of 2/pi at their place: those that the segment's number and, for a large angle, its exponent select."""
    field = exponent(x).trunc(B32)
    beyond = field.ule(1077).select(field.like(0), field - 1077)
    shift = segment.bits(0, 5) * 53 + beyond
    words = two_over_pi()
    first = shift >> 5
    last = len(words) - 3
    first = first.ult(last).select(first, last)  # there are only zeros
    a, b, c = ((first + n).lookup(words, B32) for n in range(3))
    rest = shift.bits(0, 5).zext(B64)
    window = (b.concat(a) << rest | (c.zext(B64) << rest) >> 32) >> 11
    scale_ = field.ult(1968).select(field.like(-53), 128 - 53) - shift
    return ldexp_64(window.unsigned_to(F64), scale_)
