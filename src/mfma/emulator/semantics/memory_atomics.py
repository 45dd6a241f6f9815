"""What atomics make of memory: the new value from the old one, `m`, and the operands `d` and `e`.

Floats follow the chapter "Float Memory Atomics" of the CDNA ISA manuals. A sum rounds to nearest even. A NaN that
enters it comes out quiet, that of memory first. The smaller or larger one is taken from a total order in which -0 is
below +0 and a quiet NaN loses against every number; a signaling NaN wins, and becomes quiet. LDS flushes subnormals as
the MODE register says: those that sums take and give, and those that are compared, though not the one that is kept;
a float64 sum flushes none. Memory flushes none at all on gfx942, where LLVM's
``FeatureMemoryAtomicFAddF32DenormalSupport`` makes it compile an IEEE sum of floats to one instruction.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from mfma.emulator.decode.memory_records import Number, Operation
from mfma.emulator.semantics.machine import Mode, Space
from mfma.emulator.semantics.valu import MANTISSA, quiet, settled_nan
from mfma.emulator.semantics.values import B16, B32, F16, F32, F64, Value

__all__ = ["NOTES", "Combine", "combine", "rounds"]

Combine = Callable[..., Value]
Unary = Callable[[Value], Value]

PACKED = (Number.PK_F16, Number.PK_BF16)
NOTES = dict.fromkeys(
    (Number.FLOAT, *PACKED), "of two NaNs, that of memory is kept: the manual leaves open which is first"
)
"""What is not sure about atomics of these numbers."""


def rounds(operation: Operation, number: Number) -> bool:
    """Whether the order of the lanes changes the result beyond the value that each gets back."""
    return operation is Operation.ADD and (number is Number.FLOAT or number in PACKED)


def combine(operation: Operation, number: Number, bytes_: int, space: Space, mode: Mode) -> Combine | None:
    """Function of (m, d) or (m, d, e), of B32 or B64 values; always the same one for the same atomic."""
    flush = False
    if space is Space.LDS and number not in (Number.BITS, Number.UNSIGNED, Number.SIGNED):
        wide_sum = operation is Operation.ADD and bytes_ == 8
        flush = not wide_sum and mode.flushes(F64 if bytes_ == 8 else F16 if number in PACKED else F32)
    return _combine(operation, number, bytes_, flush)


@functools.cache
def _combine(operation: Operation, number: Number, bytes_: int, flush: bool) -> Combine | None:
    if number in PACKED:
        half = _half_sum if number is Number.PK_F16 else _bfloat_sum
        return lambda m, d: _by_halves(functools.partial(half, flush=flush), m, d)
    if number is Number.FLOAT:
        type_, function = (F64 if bytes_ == 8 else F32), FLOATS[operation]
        return lambda m, *operands: function(*(value.bitcast(type_) for value in (m, *operands)), flush=flush).as_int()
    if number is Number.SIGNED:
        return SIGNED[operation]
    return INTEGERS.get(operation)


SIGNED: dict[Operation, Combine] = {
    Operation.MIN: lambda m, d: d.slt(m).select(d, m),
    Operation.MAX: lambda m, d: m.slt(d).select(d, m),
}
INTEGERS: dict[Operation, Combine] = {
    Operation.SWAP: lambda m, d: d,
    Operation.CMPSWAP: lambda m, d, e: m.equals(d).select(e, m),
    Operation.ADD: lambda m, d: m + d,
    Operation.SUB: lambda m, d: m - d,
    Operation.RSUB: lambda m, d: d - m,
    Operation.INC: lambda m, d: d.ule(m).select(m.like(0), m + 1),
    Operation.DEC: lambda m, d: (m.equals(0) | d.ult(m)).select(d, m - 1),
    Operation.MIN: lambda m, d: d.ult(m).select(d, m),
    Operation.MAX: lambda m, d: m.ult(d).select(d, m),
    Operation.AND: lambda m, d: m & d,
    Operation.OR: lambda m, d: m | d,
    Operation.XOR: lambda m, d: m ^ d,
    Operation.MSKOR: lambda m, d, e: m & ~d | e,
    Operation.WRAP: lambda m, d, e: d.ule(m).select(m - d, m + e),
    Operation.APPEND: lambda m, d: m + d,
    Operation.CONSUME: lambda m, d: m - d,
}


# floats


def _flushed(value: Value) -> Value:
    """A float with its subnormals as zeros of the same sign."""
    bits, sign = value.as_int(), 1 << value.type.bits - 1
    subnormal = (bits & sign - 1).ult(1 << MANTISSA[value.type])
    return subnormal.select(bits & sign, bits).bitcast(value.type)


def _kept(value: Value) -> Value:
    return value


def _sum(m: Value, d: Value, *, flush: bool) -> Value:
    cut = _flushed if flush else _kept
    m, d = cut(m), cut(d)
    return settled_nan(cut(m + d), [m, d])


def _order(value: Value) -> Value:
    """An integer whose signed order is that of the floats, with -0 below +0."""
    bits = value.as_int()
    return bits ^ (bits.sar(value.type.bits - 1) & (1 << value.type.bits - 1) - 1)


def _chosen(m: Value, d: Value, flush: bool, second: Callable[[Value, Value], Value]) -> Value:
    """``m`` or, where ``second`` of their orders says so, ``d``; NaNs by their own rules."""
    cut = _flushed if flush else _kept
    takes_d = (second(_order(cut(m)), _order(cut(d))) | m.is_nan()) & ~d.is_nan()
    result = takes_d.select(d, m)
    for value in (d, m):
        signaling = value.is_nan() & quiet(value).as_int().differs(value.as_int())
        result = signaling.select(quiet(value), result)
    return result


def _minimum(m: Value, d: Value, *, flush: bool) -> Value:
    return _chosen(m, d, flush, lambda m, d: d.slt(m))


def _maximum(m: Value, d: Value, *, flush: bool) -> Value:
    return _chosen(m, d, flush, lambda m, d: m.slt(d))


def _compare_and_swap(m: Value, d: Value, e: Value, *, flush: bool) -> Value:
    cut = _flushed if flush else _kept
    return cut(m).equals(cut(d)).select(cut(e), m)


FLOATS: dict[Operation, Combine] = {
    Operation.ADD: _sum,
    Operation.MIN: _minimum,
    Operation.MAX: _maximum,
    Operation.CMPSWAP: _compare_and_swap,
}


def _by_halves(function: Combine, m: Value, d: Value) -> Value:
    """A function of B16 values, on both halves of a register."""
    low, high = (function(*((value >> shift).trunc(B16) for value in (m, d))) for shift in (0, 16))
    return low.concat(high)


def _half_sum(m: Value, d: Value, *, flush: bool) -> Value:
    return _sum(m.bitcast(F16), d.bitcast(F16), flush=flush).as_int()


def _bfloat_sum(m: Value, d: Value, *, flush: bool) -> Value:
    # a sum in float32 has more than twice the digits and the same exponents, so its second rounding changes nothing
    m, d = ((value.zext(B32) << 16).bitcast(F32) for value in (m, d))
    total = _sum(m, d, flush=flush)
    bits = total.as_int()
    rounded = bits + (bits.bits(16, 1) + 0x7FFF)
    return (total.is_nan().select(bits, rounded) >> 16).trunc(B16)
