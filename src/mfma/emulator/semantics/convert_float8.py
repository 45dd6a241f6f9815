"""Conversions of the 8-bit floats, fp8 and bf8 in their FNUZ forms: one NaN, no infinity, no -0."""

from __future__ import annotations

from functools import cache

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.machine import Machine, Mode
from mfma.emulator.semantics.registry import Basis, machine
from mfma.emulator.semantics.valu import DEFAULT_NAN, flushed, read_sources, vector
from mfma.emulator.semantics.values import B16, B32, B64, F32, Value
from mfma.formats import BF8, FP8, Format

FORMATS = {"fp8": FP8, "bf8": BF8}
NAN, LARGEST = 0x80, 0x7F
F32_BIAS, F32_MANTISSA = 127, 23


@cache
def numbers(format: Format) -> tuple[int, ...]:
    """Every code's number as the bits of a float32."""
    from mfma.formats.codec import values

    bits = values(format).astype("float32").view("uint32").tolist()
    return tuple(DEFAULT_NAN[F32] if code == NAN else bits[code] for code in range(256))


def widened(x: Value, format: Format) -> Value:
    """The number of the code in the low byte."""
    return x.bits(0, 8).lookup(numbers(format), F32)


def coded(mode: Mode, x: Value, magnitude: Value, overflow: Value) -> Value:
    """Code of ``x``, B32, from the code of its magnitude, if ``overflow`` does not say that it has none."""
    sign = x.as_int().bits(31, 1) << 7
    code = magnitude.equals(0).select(magnitude, magnitude | sign)
    # MODE.FP16_OVFL: finite numbers that are too large become the largest
    beyond = (x.fabs() < float("inf")).select(sign | LARGEST, NAN) if mode.fp16_ovfl else code.like(NAN)
    return overflow.select(beyond, code)


def nearest(mode: Mode, x: Value, format: Format) -> Value:
    """Code of the nearest number, ties to even."""
    kept, smallest = format.significand, F32_BIAS - format.bias + 1
    exponent = x.as_int() & 0x7F80_0000
    exponent = exponent.ult(smallest << F32_MANTISSA).select(exponent.like(smallest << F32_MANTISSA), exponent)
    # a power of two whose last place is that of the result: adding it rounds
    rounder = (exponent + (F32_MANTISSA - kept << F32_MANTISSA)).bitcast(F32)
    rounded = (x.fabs() + rounder) - rounder
    # with the format's exponents as float32 has them, the code is what stands before the bits dropped
    scaled = rounded * 2.0 ** (format.bias - F32_BIAS)
    return coded(mode, x, scaled.as_int() >> F32_MANTISSA - kept, ~(rounded <= format.max))


def stochastic(mode: Mode, x: Value, random: Value, format: Format) -> Value:
    """Code of a number beside it: random bits are added below the last place, and the sum is cut off."""
    kept, smallest = format.significand, F32_BIAS - format.bias + 1
    exponent = x.as_int().bits(F32_MANTISSA, 8)
    mantissa = x.as_int().bits(0, F32_MANTISSA) | 1 << F32_MANTISSA
    subnormal = exponent.ult(smallest)
    shift = subnormal.select(exponent.like(smallest) - exponent, 0)
    aligned = mantissa >> shift.ult(31).select(shift, 31)
    magnitude = aligned + (random >> 32 - F32_MANTISSA + kept) >> F32_MANTISSA - kept
    magnitude = subnormal.select(magnitude, magnitude + (exponent - smallest << kept))
    return coded(mode, x, magnitude, magnitude.like(LARGEST).ult(magnitude))


SEED = "the manual's pseudo-code lets the sum of the mantissa wrap; here it carries into the exponent, and is cut off"

for name, format in FORMATS.items():
    vector(f"v_cvt_f32_{name}", result=F32, sources=(B32,))(lambda x, f=format: widened(x, f))
    vector(f"v_cvt_pk_f32_{name}", result=B64, sources=(B32,))(
        lambda x, f=format: widened(x, f).as_int().concat(widened(x >> 8, f).as_int())
    )

    vector(f"v_cvt_pk_{name}_f32", result=B16, sources=(F32, F32), preserve_high=True, with_mode=True)(
        lambda mode, a, b, f=format: (nearest(mode, a, f) | nearest(mode, b, f) << 8).trunc(B16)
    )

    @machine(f"v_cvt_sr_{name}_f32", basis=Basis.ASSUMED, note=SEED)
    def _stochastic(m: Machine, i: Instruction, f: Format = format) -> None:
        """Write one byte, which bits 2 and 3 of op_sel name."""
        values, mask = read_sources(m, (F32, B32), m.exec)
        place, destination = 8 * (i.modifiers.op_sel >> 2), m.register(i.dst[0])
        code = stochastic(m.mode, flushed(m, values[0]), values[1], f)
        old = m.vgpr(destination) & ~(0xFF << place)
        m.set_vgpr_indexed(destination, old | code << place, mask)
