"""Packed floats, sums of products of halves, and multiply-add of mixed types."""

from __future__ import annotations

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.floats import add, fma, maximum, minimum, multiply
from mfma.emulator.semantics.machine import Machine
from mfma.emulator.semantics.packed import both, halves, packed, read_packed, selection
from mfma.emulator.semantics.registry import machine
from mfma.emulator.semantics.valu import finished, flushed
from mfma.emulator.semantics.values import B32, F16, F32, Value

for T, t in (F16, "f16"), (F32, "f32"):
    packed(f"v_pk_add_{t}", element=T, sources=2)(add)
    packed(f"v_pk_mul_{t}", element=T, sources=2)(multiply)
    packed(f"v_pk_fma_{t}", element=T, sources=3)(fma)

packed("v_pk_fmac_f16", element=F16, sources=2, accumulate=True)(fma)
packed("v_pk_min_f16", element=F16, sources=2, nan=False, with_mode=True)(minimum)
packed("v_pk_max_f16", element=F16, sources=2, nan=False, with_mode=True)(maximum)


@machine("v_dot2_f32_f16", "v_dot2c_f32_f16", note="f32 subnormals are flushed in every mode")
def _dot2(m: Machine, i: Instruction) -> None:
    """Add the low product to the addend, then the high one; each sum is rounded."""
    (a, b), mask = read_packed(m, (F16, F16))
    destination = m.register(i.dst[0])
    addend = m.read(i.src[2], F32, source=2).splat() if len(i.src) > 2 else m.vgpr(destination).bitcast(F32)
    total = flushed(m, -addend if i.modifiers.neg & 4 else addend, always=True)
    sources = [total]
    for elements in zip(a, b, strict=True):
        left, right = (flushed(m, element) for element in elements)
        total = left.to_float(F32).fma(right.to_float(F32), total)
        sources += [left, right]
    m.set_vgpr_indexed(destination, finished(m, total, sources, always_flush=True).as_int(), mask)


def mixed(m: Machine, i: Instruction) -> tuple[Value, list[Value]]:
    """Multiply-add in f32, and its sources.

    ``op_sel_hi`` says which of them are f16, and ``op_sel`` in which half of the register those are.
    """
    low, high = selection(m)
    sources = []
    for n, operand in enumerate(i.src):
        if high >> n & 1:
            value = halves(both(m, operand, F16, n).splat(), F16)[low >> n & 1]
        else:
            value = m.read(operand, F32, source=n).splat()
        value = value.fabs() if i.modifiers.abs >> n & 1 else value
        value = -value if i.modifiers.neg >> n & 1 else value
        sources.append(flushed(m, value))
    a, b, c = (source.to_float(F32) for source in sources)
    return a.fma(b, c), sources


@machine("v_fma_mix_f32")
def _mix(m: Machine, i: Instruction) -> None:
    value, sources = mixed(m, i)
    m.set_vgpr_indexed(m.register(i.dst[0]), finished(m, value, sources).as_int(), m.exec)


@machine("v_fma_mixlo_f16")
def _mix_low(m: Machine, i: Instruction) -> None:
    value, sources = mixed(m, i)
    destination = m.register(i.dst[0])
    result = finished(m, value.to_float(F16), sources).as_int().zext(B32)
    m.set_vgpr_indexed(destination, m.vgpr(destination) & 0xFFFF_0000 | result, m.exec)


@machine("v_fma_mixhi_f16")
def _mix_high(m: Machine, i: Instruction) -> None:
    value, sources = mixed(m, i)
    destination = m.register(i.dst[0])
    result = finished(m, value.to_float(F16), sources).as_int().zext(B32)
    m.set_vgpr_indexed(destination, m.vgpr(destination) & 0xFFFF | result << 16, m.exec)
