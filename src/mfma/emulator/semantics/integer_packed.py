"""Packed integers: two 16-bit results per register, and products of the parts of two registers, summed."""

from __future__ import annotations

from collections.abc import Callable

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.bits import maximum, minimum, saturated, shift_count, signed_maximum, signed_minimum
from mfma.emulator.semantics.integer import exact, widened
from mfma.emulator.semantics.machine import Machine
from mfma.emulator.semantics.packed import packed, read_packed
from mfma.emulator.semantics.registry import machine
from mfma.emulator.semantics.values import B16, B32, Value

Function = Callable[..., Value]


def saturating(name: str, signed: bool, function: Function, count: int = 2) -> None:
    """Define a packed operation from a function that is exact on 64 bits and wraps on 16."""
    packed(
        name,
        element=B16,
        sources=count,
        clamped=lambda *values: saturated(function(*(widened(value, signed) for value in values)), B16, signed),
    )(function)


saturating("v_pk_add_u16", False, lambda a, b: a + b)
saturating("v_pk_add_i16", True, lambda a, b: a + b)
saturating("v_pk_sub_u16", False, lambda a, b: a - b)
saturating("v_pk_sub_i16", True, lambda a, b: a - b)
saturating("v_pk_mul_lo_u16", False, lambda a, b: a * b)
saturating("v_pk_mad_u16", False, lambda a, b, c: a * b + c, 3)
saturating("v_pk_mad_i16", True, lambda a, b, c: a * b + c, 3)

packed("v_pk_min_u16", element=B16, sources=2)(minimum)
packed("v_pk_max_u16", element=B16, sources=2)(maximum)
packed("v_pk_min_i16", element=B16, sources=2)(signed_minimum)
packed("v_pk_max_i16", element=B16, sources=2)(signed_maximum)
packed("v_pk_lshlrev_b16", element=B16, sources=2)(lambda a, b: b << shift_count(a, B16))
packed("v_pk_lshrrev_b16", element=B16, sources=2)(lambda a, b: b >> shift_count(a, B16))
packed("v_pk_ashrrev_i16", element=B16, sources=2)(lambda a, b: b.sar(shift_count(a, B16)))


@machine("v_pk_mov_b32")
def _pk_mov(m: Machine, i: Instruction) -> None:
    """The low result is an element of the first source, the high one of the second; op_sel names the elements."""
    (first, second), mask = read_packed(m, (B32, B32))
    m.set_vgpr(m.register(i.dst[0]), first[0].concat(second[0]), mask)


# dot products: the sum is exact, and wraps or saturates once, at the end


def dot(width: int, signed: bool) -> Function:
    """Products of the parts of two B32, summed with the third source as a B64."""

    def part(value: Value, low: int) -> Value:
        return widened((value << 32 - low - width).sar(32 - width) if signed else value.bits(low, width), signed)

    def define(a: Value, b: Value, c: Value) -> Value:
        total = widened(c, signed)
        for low in range(0, 32, width):
            total += part(a, low) * part(b, low)
        return total

    return define


for count, width in ((2, 16), (4, 8), (8, 4)):
    for kind, signed in (("i", True), ("u", False)):
        name = f"v_dot{count}_{kind}32_{kind}{width}"
        exact(name, result=B32, sources=(B32, B32, B32), signed=signed, function=dot(width, signed))
    # here the third source is the destination
    name = f"v_dot{count}c_i32_i{width}"
    exact(name, result=B32, sources=(B32, B32), signed=True, function=dot(width, signed=True), accumulate=True)
