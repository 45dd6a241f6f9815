"""Functions of bits and bytes that several definitions share."""

from __future__ import annotations

from mfma.emulator.semantics.values import B32, B64, Type, Value

__all__ = [
    "absolute_difference",
    "bit_field",
    "bit_mask",
    "count",
    "leading_sign_bits",
    "maximum",
    "minimum",
    "saturated",
    "shift_count",
    "signed_maximum",
    "signed_minimum",
]


def shift_count(count: Value, type_: Type) -> Value:
    """A shift count for values of a type: its low 4, 5 or 6 bits."""
    masked = count & type_.bits - 1
    return masked.zext(type_) if type_.bits > count.type.bits else masked.trunc(type_)


def count(value: Value, number: Value) -> Value:
    """A number of leading or trailing bits of ``value`` as a B32, but -1 if the value is zero."""
    number = number.trunc(B32)
    return value.equals(0).select(number.like(-1), number)


def leading_sign_bits(value: Value) -> Value:
    """Number of bits at the top that equal the sign, as a B32, but -1 if all do."""
    differing = value ^ value.sar(value.type.bits - 1)
    return count(differing, differing.leading_zeros())


def bit_field(value: Value, offset: Value, width: Value, signed: bool) -> Value:
    """``width`` bits from ``offset`` on, extended; from the type's own width on, all bits that are left.

    The offset is less than the number of bits. Bits above the highest are zeros or signs.
    """
    bits = value.type.bits
    shifted = value.sar(offset) if signed else value >> offset
    unused = (0 - width) & bits - 1
    cut = (shifted << unused).sar(unused) if signed else (shifted << unused) >> unused
    field = width.ult(bits).select(cut, shifted)
    return width.equals(0).select(field.like(0), field)


def bit_mask(width: Value, offset: Value) -> Value:
    """``width`` one bits from ``offset`` on; both are less than the number of bits."""
    return ((width.like(1) << width) - 1) << offset


def minimum(a: Value, b: Value) -> Value:
    """The smaller one, unsigned."""
    return a.ult(b).select(a, b)


def maximum(a: Value, b: Value) -> Value:
    """The larger one, unsigned."""
    return a.ult(b).select(b, a)


def signed_minimum(a: Value, b: Value) -> Value:
    """The smaller one, signed."""
    return a.slt(b).select(a, b)


def signed_maximum(a: Value, b: Value) -> Value:
    """The larger one, signed."""
    return a.slt(b).select(b, a)


def absolute_difference(a: Value, b: Value) -> Value:
    """Distance of two unsigned numbers."""
    return a.ult(b).select(b - a, a - b)


def saturated(exact: Value, type_: Type, signed: bool) -> Value:
    """A signed B64 as the nearest number of a type of at most 32 bits."""
    assert exact.type == B64
    low, high = (-(1 << type_.bits - 1), (1 << type_.bits - 1) - 1) if signed else (0, (1 << type_.bits) - 1)
    return signed_minimum(signed_maximum(exact, exact.like(low)), exact.like(high)).trunc(type_)
