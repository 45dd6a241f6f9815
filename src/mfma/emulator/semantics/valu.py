"""How vector ALU instructions read operands and write results; their arithmetic is in the modules beside this one.

A definition is a function of typed values. Here its sources pass through sub-dword selection (SDWA), lane
permutation (DPP), op_sel, abs and neg; its result through omod, clamp, op_sel and SDWA's destination, under EXEC.
The order is the ISA manual's: selection, then signs; scaling, then clamping.

Floats flush subnormals where the MODE register says so, and NaNs are settled here for all engines: a result that
is NaN is the first source that is NaN, made quiet, or else the default quiet NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mfma.emulator.decode import Operand
from mfma.emulator.semantics.dpp import moved
from mfma.emulator.semantics.machine import VCC, Machine
from mfma.emulator.semantics.registry import Basis, Definition, define
from mfma.emulator.semantics.values import B1, B16, B32, B64, F16, F32, F64, Type, Value

__all__ = ["quiet", "settled_nan", "vector"]

Function = Callable[..., Any]

MANTISSA = {F16: 10, F32: 23, F64: 52}
DEFAULT_NAN = {F16: 0x7E00, F32: 0x7FC0_0000, F64: 0x7FF8_0000_0000_0000}


def vector(
    *names: str,
    result: Type | tuple[Type, ...],
    sources: tuple[Type, ...],
    clamped: Function | None = None,
    flush: bool = True,
    always_flush: bool = False,
    nan: bool = True,
    with_mode: bool = False,
    preserve_high: bool = False,
    accumulate: bool = False,
    reads_vcc: bool = False,
    basis: Basis = Basis.ISA,
    note: str = "",
) -> Callable[[Function], Function]:
    """Register a function of the source values, lane by lane, for these mnemonics.

    Args:
        names: base mnemonics.
        result: type of the result. A ``B1`` result goes as a mask into a scalar register pair, with zeros for lanes
            outside EXEC; two types are a vector result and such a mask.
        sources: types of the sources; ``B1`` reads a scalar pair as a mask.
        clamped: the function to take when ``clamp`` is set, for integers; floats clamp to 0 to 1 by themselves.
        flush: whether subnormals are flushed when the mode says so.
        always_flush: whether they are flushed whatever the mode says.
        nan: whether NaN results are settled here.
        with_mode: whether the function takes the `Mode` before the values.
        preserve_high: whether a 16-bit result leaves the other half of its register alone, instead of zeroing it.
        accumulate: whether what the destination holds before is the last source, which is no operand.
        reads_vcc: whether VCC as a mask is, in the same way.
        basis: how sure the bits are.
        note: why, or the manual's error bound.
    """
    results = result if isinstance(result, tuple) else (result,)

    def register(function: Function) -> Function:
        def build(machine: Machine) -> None:
            instruction = machine.instruction
            exec_ = machine.exec
            values, mask = read_sources(machine, sources, exec_)
            if accumulate:
                old = machine.vgpr_indexed(machine.register(instruction.dst[0]), 3, results[0].bits // 32 or 1)
                values.append(old.trunc(results[0].integer).bitcast(results[0]))
            if reads_vcc:
                values.append(machine.sgpr(VCC, 2).unballot())
            if flush:
                values = [flushed(machine, value, always_flush) for value in values]
            chosen = clamped if clamped is not None and instruction.modifiers.clamp else function
            answers = chosen(machine.mode, *values) if with_mode else chosen(*values)
            answers = answers if isinstance(answers, tuple) else (answers,)
            for operand, type_, answer in zip(instruction.dst, results, answers, strict=True):
                if type_ == B1:
                    machine.set_sgpr(operand.code, (answer.splat() & mask).ballot())
                    continue
                value = finished(machine, answer, values, flush, always_flush, nan) if type_.is_float else answer
                write_vector(machine, operand, value, mask, preserve_high)

        for name in names:
            define(Definition(name, build, basis, note))
        return function

    return register


def read_sources(
    machine: Machine, types: tuple[Type, ...], exec_: Value, signed: bool = False
) -> tuple[list[Value], Value]:
    """Source values after all their modifiers, and the mask of lanes to write.

    ``signed`` sign-extends a literal of 64 bits.
    """
    instruction = machine.instruction
    modifiers = instruction.modifiers
    values, mask = [], exec_
    for i, (operand, type_) in enumerate(zip(instruction.src, types, strict=True)):
        if type_ == B1:
            values.append(machine.read(operand, B64).unballot())
            continue
        half = type_.bits == 16
        if modifiers.sdwa is not None and i < 2:
            value = _selected(machine, operand, type_, i)
        elif half and modifiers.op_sel >> i & 1:
            value = (machine.read(operand, source=i) >> 16).trunc(B16).bitcast(type_)
        else:
            value = machine.read(operand, type_, source=i, signed=signed)
        value = value.splat()
        if modifiers.dpp is not None and i == 0:
            value, mask = moved(machine, modifiers.dpp, value, exec_)
        if type_.is_float:
            if modifiers.abs >> i & 1:
                value = value.fabs()
            if modifiers.neg >> i & 1:
                value = -value
        values.append(value)
    return values, mask


def _selected(machine: Machine, operand: Operand, type_: Type, i: int) -> Value:
    """A source through SDWA: a byte, a word or all of the register, zero- or sign-extended."""
    sdwa = machine.instruction.modifiers.sdwa
    assert sdwa is not None
    select, extend = ((sdwa.src0_sel, sdwa.src0_sext), (sdwa.src1_sel, sdwa.src1_sext))[i]
    value = machine.read(operand)
    if select < 6:
        width = 8 if select < 4 else 16
        value = part(value, 8 * select if select < 4 else 16 * (select - 4), width, extend)
    return (value.trunc(B16) if type_.bits == 16 else value).bitcast(type_)


def part(value: Value, low: int, width: int, extend: bool) -> Value:
    """Bits of a B32 as a B32, zero- or sign-extended."""
    if not extend:
        return value.bits(low, width)
    return (value << 32 - low - width).sar(32 - width)


def flushed(machine: Machine, value: Value, always: bool = False) -> Value:
    """A float with its subnormals as zeros of the same sign, if the mode says so or ``always``."""
    if not value.type.is_float or not (always or machine.mode.flushes(value.type)):
        return value
    bits, sign = value.as_int(), 1 << value.type.bits - 1
    smallest_normal = 1 << MANTISSA[value.type]
    subnormal = (bits & (sign - 1)).ult(smallest_normal)
    return subnormal.select(bits & sign, bits).bitcast(value.type)


def quiet(value: Value, type_: Type | None = None) -> Value:
    """A NaN made quiet; as another type (the value's own by default) it keeps its sign and its leading bits."""
    source, type_ = value.type, type_ or value.type
    bits = value.as_int() | 1 << MANTISSA[source] - 1
    if type_ == source:
        return bits.bitcast(type_)
    bits, shift = bits.zext(Type(max(source.bits, type_.bits))), MANTISSA[type_] - MANTISSA[source]
    mantissa = (bits << shift if shift > 0 else bits >> -shift) & (1 << MANTISSA[type_]) - 1
    sign = bits.bits(source.bits - 1, 1) << type_.bits - 1
    exponent = (1 << type_.bits - 1) - (1 << MANTISSA[type_])
    return (mantissa | exponent | sign).trunc(type_.integer).bitcast(type_)


def settled_nan(answer: Value, sources: Sequence[Value], default: int | None = None) -> Value:
    """``answer``, but a NaN is the first source that is one, made quiet, or else the default quiet NaN.

    Without a float among the sources there is nothing to settle.
    """
    type_ = answer.type
    floats = [source for source in sources if source.type.is_float]
    if not floats:
        return answer
    nan = answer.program.constant(type_.integer, DEFAULT_NAN[type_] if default is None else default).bitcast(type_)
    if all(source.type == type_ for source in floats):
        for source in reversed(floats):
            nan = source.is_nan().select(source, nan)
        nan = quiet(nan)
    else:
        for source in reversed(floats):
            nan = source.is_nan().select(quiet(source, type_), nan)
    return answer.is_nan().select(nan, answer)


def finished(
    machine: Machine,
    value: Value,
    sources: Sequence[Value],
    flush: bool = True,
    always_flush: bool = False,
    nan: bool = True,
) -> Value:
    """A float result as it is written: its NaN settled, then flushed, scaled (omod) and clamped."""
    modifiers, mode = machine.instruction.modifiers, machine.mode
    if nan:
        value = settled_nan(value, sources)
    if flush:
        value = flushed(machine, value, always_flush)
    # omod has no effect in IEEE mode and where the mode keeps subnormals of the type; it makes +0 of -0
    if modifiers.omod and mode.flushes(value.type) and not mode.ieee:
        scaled = flushed(machine, value * {1: 2.0, 2: 4.0, 3: 0.5}[modifiers.omod] + 0.0)
        value = value.is_nan().select(value, scaled)
    if mode.fp16_ovfl and value.type == F16:
        value = _saturated(value, sources)
    if modifiers.clamp:
        one, zero = value.like(1.0), value.like(0.0)
        clamped = (value > zero).select((value < one).select(value, one), zero)
        value = clamped if mode.dx10_clamp else value.is_nan().select(value, clamped)
    return value


def _saturated(value: Value, sources: Sequence[Value]) -> Value:
    """What MODE.FP16_OVFL makes of an infinity that no source was: the largest number."""
    overflow = value.fabs().equals(float("inf"))
    for source in sources:
        if source.type.is_float:
            overflow = overflow & (source.fabs() < float("inf"))
    return overflow.select((value.as_int() - 1).bitcast(F16), value)


def write_vector(machine: Machine, operand: Operand, value: Value, mask: Value, preserve_high: bool) -> None:
    """Write a vector result where the mask is true."""
    modifiers = machine.instruction.modifiers
    number = machine.register(operand)
    bits = value.as_int()
    if modifiers.sdwa is not None and bits.type.bits <= 32:  # wider results fill their registers
        bits = _placed(machine, number, bits.zext(B32))
    elif bits.type.bits == 16:
        bits = bits.zext(B32)
        if modifiers.op_sel & 8:
            bits = machine.vgpr_indexed(number, 3) & 0xFFFF | bits << 16
        elif preserve_high:
            bits = machine.vgpr_indexed(number, 3) & 0xFFFF_0000 | bits
    machine.set_vgpr_indexed(number, bits, mask)


def _placed(machine: Machine, number: int, bits: Value) -> Value:
    """A result through SDWA's destination: at its place in the register, the rest padded, extended or preserved."""
    sdwa = machine.instruction.modifiers.sdwa
    assert sdwa is not None
    if sdwa.dst_sel == 6:
        return bits
    width = 8 if sdwa.dst_sel < 4 else 16
    low = 8 * sdwa.dst_sel if sdwa.dst_sel < 4 else 16 * (sdwa.dst_sel - 4)
    field = (1 << width) - 1 << low
    placed = (bits << low) & field
    if sdwa.dst_unused == 1:
        return part(bits, 0, width, extend=True) << low
    if sdwa.dst_unused == 2:
        return machine.vgpr_indexed(number, 3) & ~field | placed
    return placed
