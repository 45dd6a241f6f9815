"""Floating-point arithmetic on one element per lane: sums, products, minima, rounding, parts of a number."""

from __future__ import annotations

from mfma.emulator.semantics.machine import Mode
from mfma.emulator.semantics.valu import MANTISSA, quiet, vector
from mfma.emulator.semantics.values import B16, B32, F16, F32, F64, Type, Value

__all__ = ["add", "fma", "maximum", "minimum", "multiply", "one", "powers_of_two", "signaling"]


def add(a: Value, b: Value) -> Value:
    """Sum."""
    return a + b


def multiply(a: Value, b: Value) -> Value:
    """Product."""
    return a * b


def fma(a: Value, b: Value, c: Value) -> Value:
    """Product plus addend, rounded once."""
    return a.fma(b, c)


def _multiply_add(a: Value, b: Value, c: Value) -> Value:
    """Product plus addend, rounded twice."""
    return _flush_16(a * b) + c


def _flush_16(value: Value) -> Value:
    bits = value.as_int()
    return (bits & 0x7FFF).ult(0x400).select(bits & 0x8000, bits).bitcast(F16)


FLOATS = (F16, F32, F64)

for T in FLOATS:
    t = repr(T).lower()
    vector(f"v_add_{t}", result=T, sources=(T, T))(add)
    vector(f"v_mul_{t}", result=T, sources=(T, T))(multiply)
    vector(f"v_fma_{t}", result=T, sources=(T, T, T), preserve_high=True)(fma)
    if T != F64:
        vector(f"v_sub_{t}", result=T, sources=(T, T))(lambda a, b: a - b)
        vector(f"v_subrev_{t}", result=T, sources=(T, T))(lambda a, b: b - a)

vector("v_fma_legacy_f16", result=F16, sources=(F16, F16, F16))(fma)
vector("v_fmac_f32", result=F32, sources=(F32, F32), accumulate=True)(fma)
vector("v_fmac_f64", result=F64, sources=(F64, F64), accumulate=True)(fma)
# the text names the constant second in fmamk and last in fmaak: both multiply the first two
vector("v_fmamk_f32", result=F32, sources=(F32, F32, F32))(fma)
vector("v_fmaak_f32", result=F32, sources=(F32, F32, F32))(fma)

TWICE = "rounds the product and the sum; subnormals are flushed in every mode"
vector("v_mac_f16", result=F16, sources=(F16, F16), accumulate=True, always_flush=True, note=TWICE)(_multiply_add)
vector("v_madmk_f16", "v_madak_f16", "v_mad_legacy_f16",
       result=F16, sources=(F16, F16, F16), always_flush=True, note=TWICE)(_multiply_add)  # fmt: skip
vector("v_mad_f16", result=F16, sources=(F16, F16, F16), always_flush=True, preserve_high=True, note=TWICE)(
    _multiply_add
)


@vector("v_mul_legacy_f32", result=F32, sources=(F32, F32))
def _mul_legacy(a: Value, b: Value) -> Value:
    """Zero times anything is +0."""
    return (a.equals(0.0) | b.equals(0.0)).select((a * b).like(0.0), a * b)


# minimum and maximum: a number beats a NaN and the second NaN the first; but in IEEE mode a signaling NaN is the
# result, made quiet


def signaling(value: Value) -> Value:
    """Whether the float is a signaling NaN: above infinity, below the first quiet NaN."""
    infinity = (1 << value.type.bits - 1) - (1 << MANTISSA[value.type])
    payload = (value.as_int() & (1 << value.type.bits - 1) - 1) - (infinity + 1)
    return payload.ult((1 << MANTISSA[value.type] - 1) - 1)


def _ieee(mode: Mode, number: Value, *sources: Value) -> Value:
    for source in reversed(sources) if mode.ieee else ():
        number = signaling(source).select(quiet(source), number)
    return number


def minimum(mode: Mode, a: Value, b: Value) -> Value:
    """The smaller number; -0 is below +0."""
    smaller = ((b <= a) | a.is_nan()).select(b, a)
    # equal numbers differ in the sign of zero at most
    zero = (a.as_int() | b.as_int()).bitcast(a.type)
    return _ieee(mode, a.equals(b).select(zero, smaller), a, b)


def maximum(mode: Mode, a: Value, b: Value) -> Value:
    """The larger number; +0 is above -0."""
    larger = ((b >= a) | a.is_nan()).select(b, a)
    zero = (a.as_int() & b.as_int()).bitcast(a.type)
    return _ieee(mode, a.equals(b).select(zero, larger), a, b)


def minimum_3(mode: Mode, a: Value, b: Value, c: Value) -> Value:
    """The smallest number."""
    return minimum(mode, minimum(mode, a, b), c)


def maximum_3(mode: Mode, a: Value, b: Value, c: Value) -> Value:
    """The largest number."""
    return maximum(mode, maximum(mode, a, b), c)


def median(mode: Mode, a: Value, b: Value, c: Value) -> Value:
    """The number in the middle; with a NaN, the smallest number."""
    largest = maximum_3(mode, a, b, c)
    middle = largest.equals(b).select(maximum(mode, a, c), maximum(mode, a, b))
    middle = largest.equals(a).select(maximum(mode, b, c), middle)
    return (a.is_nan() | b.is_nan() | c.is_nan()).select(minimum_3(mode, a, b, c), middle)


for T in FLOATS:
    t = repr(T).lower()
    vector(f"v_min_{t}", result=T, sources=(T, T), nan=False, with_mode=True)(minimum)
    vector(f"v_max_{t}", result=T, sources=(T, T), nan=False, with_mode=True)(maximum)
    for name, function in ("min3", minimum_3), ("max3", maximum_3), ("med3", median):
        if T != F64:
            vector(f"v_{name}_{t}", result=T, sources=(T, T, T), nan=False, with_mode=True, preserve_high=True)(
                function
            )


# integral parts


def fract(x: Value) -> Value:
    """Distance from the next integral value below, at most the largest number below 1."""
    largest = x.program.constant(x.type.integer, one(x.type) - 1).bitcast(x.type)
    distance = x - x.floor()
    return distance.equals(1.0).select(largest, distance)


def one(type_: Type) -> int:
    """Bits of 1.0."""
    return (1 << type_.bits - 2) - (1 << MANTISSA[type_])


for T in FLOATS:
    t = repr(T).lower()
    vector(f"v_fract_{t}", result=T, sources=(T,))(fract)
    vector(f"v_trunc_{t}", result=T, sources=(T,))(Value.trunc_float)
    vector(f"v_ceil_{t}", result=T, sources=(T,))(Value.ceil)
    vector(f"v_floor_{t}", result=T, sources=(T,))(Value.floor)
    vector(f"v_rndne_{t}", result=T, sources=(T,))(Value.rint)


# exponent and mantissa


def powers_of_two(exponent: Value, type_: Type) -> Value:
    """2 to an integer that gives a normal number."""
    bias = one(type_) >> MANTISSA[type_]
    wide = exponent.sext(type_.integer) if exponent.type.bits < type_.bits else exponent
    return (wide + bias << MANTISSA[type_]).bitcast(type_)


def _clamped(value: Value, low: int, high: int) -> Value:
    value = value.slt(low).select(value.like(low), value)
    return value.slt(high).select(value, high)


# Beyond the limit everything is 0 or infinity; inside, the wider type holds value and product exactly.
for name, T, wide, exponent_type, limit in (
    ("v_ldexp_f16", F16, F32, B16, 50),
    ("v_ldexp_f32", F32, F64, B32, 300),
):

    def ldexp(x: Value, exponent: Value, wide: Type = wide, limit: int = limit) -> Value:
        """The number times a power of two, rounded once."""
        exponent = _clamped(exponent, -limit, limit)
        return (x.to_float(wide) * powers_of_two(exponent, wide)).to_float(x.type)

    vector(name, result=T, sources=(T, exponent_type))(ldexp)


def ldexp_64(x: Value, exponent: Value) -> Value:
    """The number times a power of two, rounded once.

    A step down by 2^-969 leaves a subnormal only of numbers that the rest of the way makes 0.
    """
    for _ in range(2):
        up, down = exponent.like(1023).slt(exponent), exponent.slt(-1022)
        step = up.select(exponent.like(1023), down.select(exponent.like(-969), 0))
        x, exponent = x * powers_of_two(step, F64), exponent - step
    return x * powers_of_two(_clamped(exponent, -1022, 1023), F64)


vector("v_ldexp_f64", result=F64, sources=(F64, B32))(ldexp_64)


def _normalized(x: Value) -> tuple[Value, int]:
    """Bits of a float that is normal where ``x`` is a finite number but zero, and by what its exponent is off."""
    if x.type != F64:
        wide = F64 if x.type == F32 else F32
        return x.to_float(wide).as_int(), 0
    subnormal = x.fabs() < 2.0**-1022
    return subnormal.select(x * 2.0**64, x).as_int(), 64


def _finite(x: Value) -> Value:
    return x.fabs() < float("inf")


def frexp_mantissa(x: Value) -> Value:
    """Sign and mantissa, in 0.5 to 1; zero, infinity and NaN as they are."""
    bits, _ = _normalized(x)
    wide = Type(bits.type.bits, is_float=True)
    sign_and_mantissa = 1 << wide.bits - 1 | (1 << MANTISSA[wide]) - 1
    half = one(wide) - (1 << MANTISSA[wide])
    mantissa = (bits & sign_and_mantissa | half).bitcast(wide).to_float(x.type)
    return (_finite(x) & x.differs(0.0)).select(mantissa, x)


def frexp_exponent(x: Value) -> Value:
    """Exponent that goes with the mantissa; 0 for zero, infinity and NaN."""
    bits, off = _normalized(x)
    wide = Type(bits.type.bits, is_float=True)
    bias = one(wide) >> MANTISSA[wide]
    exponent = bits.bits(MANTISSA[wide], wide.bits - 1 - MANTISSA[wide]) - (bias - 1)
    if off:
        exponent = (x.fabs() < 2.0**-1022).select(exponent - off, exponent)
    exponent = exponent.trunc(B16 if x.type == F16 else B32)
    return (_finite(x) & x.differs(0.0)).select(exponent, 0)


for T, integer in (F16, "i16"), (F32, "i32"), (F64, "i32"):
    t = repr(T).lower()
    vector(f"v_frexp_mant_{t}", result=T, sources=(T,))(frexp_mantissa)
    vector(f"v_frexp_exp_{integer}_{t}", result=B16 if T == F16 else B32, sources=(T,))(frexp_exponent)


# cube maps: x, y, z name a point; the face is the axis that is longest, z before y before x


def _face(x: Value, y: Value, z: Value) -> tuple[Value, Value]:
    return (z.fabs() >= x.fabs()) & (z.fabs() >= y.fabs()), y.fabs() >= x.fabs()


def _negative(value: Value, yes: Value, no: Value | float) -> Value:
    return (value < 0.0).select(yes, no)


@vector("v_cubeid_f32", result=F32, sources=(F32, F32, F32))
def _cube_id(x: Value, y: Value, z: Value) -> Value:
    on_z, on_y = _face(x, y, z)
    x_face, y_face, z_face = (_negative(v, x.like(2.0 * n + 1), 2.0 * n) for n, v in enumerate((x, y, z)))
    return on_z.select(z_face, on_y.select(y_face, x_face))


@vector("v_cubesc_f32", result=F32, sources=(F32, F32, F32))
def _cube_s(x: Value, y: Value, z: Value) -> Value:
    on_z, on_y = _face(x, y, z)
    return on_z.select(_negative(z, -x, x), on_y.select(x, _negative(x, z, -z)))


@vector("v_cubetc_f32", result=F32, sources=(F32, F32, F32))
def _cube_t(x: Value, y: Value, z: Value) -> Value:
    on_z, on_y = _face(x, y, z)
    return (~on_z & on_y).select(_negative(y, -z, z), -y)


@vector("v_cubema_f32", result=F32, sources=(F32, F32, F32))
def _cube_major(x: Value, y: Value, z: Value) -> Value:
    on_z, on_y = _face(x, y, z)
    return on_z.select(z, on_y.select(y, x)) * 2.0
