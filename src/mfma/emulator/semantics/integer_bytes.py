"""Sums of absolute differences of bytes, and other vector operations on the bytes of a register."""

from __future__ import annotations

from collections.abc import Callable

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.bits import absolute_difference, saturated, signed_maximum, signed_minimum
from mfma.emulator.semantics.integer import exact
from mfma.emulator.semantics.machine import Machine
from mfma.emulator.semantics.registry import machine
from mfma.emulator.semantics.valu import vector
from mfma.emulator.semantics.values import B16, B32, B64, Value

Difference = Callable[[Value, Value], Value]


def differences(a: Value, b: Value, width: int = 8, masked: bool = False) -> Value:
    """Sum of the distances of the parts of two B32, as a B32; masked, parts count where ``b`` is not 0."""
    total = a.like(0)
    for low in range(0, 32, width):
        x, y = a.bits(low, width), b.bits(low, width)
        distance = absolute_difference(x, y)
        total += y.equals(0).select(distance.like(0), distance) if masked else distance
    return total


def accumulating(name: str, difference: Difference) -> None:
    """Define the sum of a difference and the third source."""
    exact(
        name,
        result=B32,
        sources=(B32, B32, B32),
        signed=False,
        function=lambda a, b, c: difference(a, b).zext(B64) + c.zext(B64),
    )


accumulating("v_sad_u8", differences)
accumulating("v_sad_hi_u8", lambda a, b: differences(a, b) << 16)
accumulating("v_sad_u16", lambda a, b: differences(a, b, width=16))
accumulating("v_sad_u32", absolute_difference)
accumulating("v_msad_u8", lambda a, b: differences(a, b, masked=True))


def windows(a: Value, b: Value, masked: bool) -> list[Value]:
    """The four differences of ``b`` and the B32 that begin at bytes 0 to 3 of the B64 ``a``."""
    return [differences((a >> 8 * i).trunc(B32), b, masked=masked) for i in range(4)]


def quad(masked: bool, clamp: bool) -> Callable[[Value, Value, Value], Value]:
    """Four differences, each added to 16 bits of the third source."""

    def define(a: Value, b: Value, c: Value) -> Value:
        result = c.like(0)
        for i, difference in enumerate(windows(a, b, masked)):
            total = difference.zext(B64) + c.bits(16 * i, 16)
            part = saturated(total, B16, signed=False) if clamp else total.trunc(B16)
            result |= part.zext(B64) << 16 * i
        return result

    return define


for name, masked in (("v_qsad_pk_u16_u8", False), ("v_mqsad_pk_u16_u8", True)):
    vector(name, result=B64, sources=(B64, B32, B64), clamped=quad(masked, clamp=True))(quad(masked, clamp=False))


@machine("v_mqsad_u32_u8")
def _mqsad_u32_u8(m: Machine, i: Instruction) -> None:
    a, b = m.read(i.src[0], B64).splat(), m.read(i.src[1])
    first, destination = m.register(i.src[2]), m.register(i.dst[0])
    # all of the sources are read before any result is written
    addends = [m.vgpr(first + part) for part in range(4)]
    for part, (difference, addend) in enumerate(zip(windows(a, b, masked=True), addends, strict=True)):
        total = difference + addend
        if i.modifiers.clamp:
            total = total.ult(addend).select(total.like(-1), total)
        m.set_vgpr(destination + part, total)


@vector("v_lerp_u8", result=B32, sources=(B32, B32, B32))
def _lerp(a: Value, b: Value, c: Value) -> Value:
    """Average of bytes; the lowest bit of the third source's byte rounds it up."""
    result = a.like(0)
    for low in range(0, 32, 8):
        result |= (a.bits(low, 8) + b.bits(low, 8) + c.bits(low, 1) >> 1) << low
    return result


@vector("v_sat_pk_u8_i16", result=B16, sources=(B32,))
def _sat_pk(a: Value) -> Value:
    """Two signed halves as unsigned bytes, each the nearest one."""
    low, high = (_clamped_byte(half.trunc(B16)) for half in (a, a >> 16))
    return low | high << 8


def _clamped_byte(half: Value) -> Value:
    return signed_minimum(signed_maximum(half, half.like(0)), half.like(255))
