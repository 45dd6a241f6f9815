"""Integer arithmetic of the vector ALU on 24, 32 and 64 bits: VOP2 and VOP3.

What each instruction does is the pseudo-code of the CDNA3 ISA manual, chapter 12; ``clamp`` takes the nearest number
of the result's type instead of wrapping around.
"""

from __future__ import annotations

from collections.abc import Callable

from mfma.emulator.semantics.bits import maximum, minimum, saturated, shift_count, signed_maximum, signed_minimum
from mfma.emulator.semantics.valu import vector
from mfma.emulator.semantics.values import B1, B32, B64, F32, Type, Value

__all__ = ["exact", "saturating", "widened"]

Function = Callable[..., Value]

# moves

vector("v_mov_b32", "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32", result=B32, sources=(B32,))(
    lambda a: a
)
vector("v_mov_b64", result=B64, sources=(B64,))(lambda a: a)
# the sources have the signs of floats
vector("v_cndmask_b32", result=F32, sources=(F32, F32, B1), flush=False, nan=False)(
    lambda a, b, mask: mask.select(b, a)
)

# clamp: results are exact on 64 bits, and then wrap or saturate


def widened(value: Value, signed: bool) -> Value:
    """The same number as a B64."""
    return value.sext(B64) if signed else value.zext(B64)


def exact(
    *names: str, result: Type, sources: tuple[Type, ...], signed: bool, function: Function, accumulate: bool = False
) -> None:
    """Define an operation from the function that gives its exact result as a B64."""
    vector(
        *names,
        result=result,
        sources=sources,
        clamped=lambda *values: saturated(function(*values), result, signed),
        accumulate=accumulate,
    )(lambda *values: function(*values).trunc(result))


def saturating(
    name: str, type_: Type, signed: bool, function: Function, count: int = 2, preserve_high: bool = False
) -> None:
    """Define an operation on numbers of one type from a function that is exact on 64 bits and wraps on fewer."""
    vector(
        name,
        result=type_,
        sources=(type_,) * count,
        clamped=lambda *values: saturated(function(*(widened(value, signed) for value in values)), type_, signed),
        preserve_high=preserve_high,
    )(function)


saturating("v_add_u32", B32, False, lambda a, b: a + b)
saturating("v_sub_u32", B32, False, lambda a, b: a - b)
saturating("v_subrev_u32", B32, False, lambda a, b: b - a)
saturating("v_add_i32", B32, True, lambda a, b: a + b)
saturating("v_sub_i32", B32, True, lambda a, b: a - b)

# carries: the mask says which lanes carry or borrow, also where the result saturates


def carrying(*names: str, function: Function, carry_in: bool) -> None:
    """Define an operation with carry out from its function of exact numbers; a carry out is a result out of range."""

    def exact(values: tuple[Value, ...]) -> tuple[Value, Value]:
        total = function(*(value.zext(B64) for value in values))
        return total, (total >> 32).differs(0)

    def wrapped(*values: Value) -> tuple[Value, Value]:
        total, carry = exact(values)
        return total.trunc(B32), carry

    def clamped(*values: Value) -> tuple[Value, Value]:
        total, carry = exact(values)
        return saturated(total, B32, signed=False), carry

    sources = (B32, B32, B1) if carry_in else (B32, B32)
    vector(*names, result=(B32, B1), sources=sources, clamped=clamped)(wrapped)


carrying("v_add_co_u32", function=lambda a, b: a + b, carry_in=False)
carrying("v_sub_co_u32", function=lambda a, b: a - b, carry_in=False)
carrying("v_subrev_co_u32", function=lambda a, b: b - a, carry_in=False)
carrying("v_addc_co_u32", function=lambda a, b, carry: a + b + carry, carry_in=True)
carrying("v_subb_co_u32", function=lambda a, b, borrow: a - b - borrow, carry_in=True)
carrying("v_subbrev_co_u32", function=lambda a, b, borrow: b - a - borrow, carry_in=True)

# sums of three, with a shift or a bitwise operation; these never saturate

THREE: dict[str, Function] = {
    "v_add3_u32": lambda a, b, c: a + b + c,
    "v_lshl_add_u32": lambda a, b, c: (a << shift_count(b, B32)) + c,
    "v_add_lshl_u32": lambda a, b, c: a + b << shift_count(c, B32),
    "v_xad_u32": lambda a, b, c: (a ^ b) + c,
}
for name, function in THREE.items():
    vector(name, result=B32, sources=(B32, B32, B32))(function)

# the count has three bits, of which the shift takes 0 to 4
vector("v_lshl_add_u64", result=B64, sources=(B64, B32, B64))(lambda a, b, c: (a << (b & 7).zext(B64)) + c)

# products


def low_24(value: Value, signed: bool) -> Value:
    """The low 24 bits of a B32 as a B64."""
    return widened((value << 8).sar(8) if signed else value & 0xFF_FFFF, signed)


def products_24(kind: str, signed: bool) -> None:
    """Define the products of 24-bit numbers."""

    def product(a: Value, b: Value) -> Value:
        return low_24(a, signed) * low_24(b, signed)

    def product_sum(a: Value, b: Value, c: Value) -> Value:
        return product(a, b) + widened(c, signed)

    exact(f"v_mul_{kind}", result=B32, sources=(B32, B32), signed=signed, function=product)
    exact(f"v_mad_{kind}", result=B32, sources=(B32, B32, B32), signed=signed, function=product_sum)
    vector(f"v_mul_hi_{kind}", result=B32, sources=(B32, B32))(lambda a, b: (product(a, b) >> 32).trunc(B32))


products_24("i32_i24", signed=True)
products_24("u32_u24", signed=False)

vector("v_mul_lo_u32", result=B32, sources=(B32, B32))(lambda a, b: a * b)
vector("v_mul_hi_u32", result=B32, sources=(B32, B32))(lambda a, b: (a.zext(B64) * b.zext(B64) >> 32).trunc(B32))
vector("v_mul_hi_i32", result=B32, sources=(B32, B32))(lambda a, b: (a.sext(B64) * b.sext(B64) >> 32).trunc(B32))


# 64-bit sums: bit 64 of the exact one goes into the mask, the carry or the sign


def mad_unsigned(a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """Sum on 64 bits, and its carry."""
    total = a.zext(B64) * b.zext(B64) + c
    return total, total.ult(c)


def mad_unsigned_clamped(a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """Nearest number of 64 bits, and the carry."""
    total, carry = mad_unsigned(a, b, c)
    return carry.select(total.like(-1), total), carry


def mad_signed(a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """Sum on 64 bits, and the sign of the exact sum."""
    product = a.sext(B64) * b.sext(B64)
    total = product + c
    overflow = ((product ^ total) & (c ^ total)).slt(0)
    return total, overflow ^ total.slt(0)


def mad_signed_clamped(a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """Nearest signed number of 64 bits, and the sign."""
    total, negative = mad_signed(a, b, c)
    limit = negative.select(total.like(-1 << 63), (1 << 63) - 1)
    return (negative ^ total.slt(0)).select(limit, total), negative


vector("v_mad_u64_u32", result=(B64, B1), sources=(B32, B32, B64), clamped=mad_unsigned_clamped)(mad_unsigned)
vector("v_mad_i64_i32", result=(B64, B1), sources=(B32, B32, B64), clamped=mad_signed_clamped)(mad_signed)

# minimum, maximum and the middle one of three

for kind, small, large in (("i32", signed_minimum, signed_maximum), ("u32", minimum, maximum)):
    vector(f"v_min_{kind}", result=B32, sources=(B32, B32))(small)
    vector(f"v_max_{kind}", result=B32, sources=(B32, B32))(large)
    vector(f"v_min3_{kind}", result=B32, sources=(B32, B32, B32))(lambda a, b, c, f=small: f(f(a, b), c))
    vector(f"v_max3_{kind}", result=B32, sources=(B32, B32, B32))(lambda a, b, c, f=large: f(f(a, b), c))
    vector(f"v_med3_{kind}", result=B32, sources=(B32, B32, B32))(
        lambda a, b, c, low=small, high=large: low(high(a, b), high(low(a, b), c))
    )
