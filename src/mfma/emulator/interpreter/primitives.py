"""What each pure `Op` computes, on NumPy arrays of 64 lanes or, for the wave's own values, on NumPy scalars.

The two are written once: every function takes arrays of any shape.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from mfma.emulator.semantics.values import B1, WAVE, Node, Op, Type

__all__ = ["PURE", "dtype", "pure"]

Array = Any
"""An array or scalar of NumPy."""

LANES = np.arange(WAVE, dtype=np.uint32)


@functools.cache
def dtype(type_: Type) -> np.dtype[Any]:
    """NumPy type that holds values of ``type_``."""
    if type_ == B1:
        return np.dtype(np.bool_)
    return np.dtype(f"{'f' if type_.is_float else 'u'}{type_.bits // 8}")


def _signed(x: Array) -> Array:
    return x.view(f"i{x.dtype.itemsize}")


def _unsigned(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def _sar(x: Array, count: Array) -> Array:
    return _unsigned(np.right_shift(_signed(x), _signed(count)))


def _bit_length(x: Array) -> Array:
    """Number of bits of an unsigned integer; a float64 holds 32 bits of it at a time exactly."""
    if x.dtype.itemsize < 8:
        return np.frexp(x.astype(np.float64))[1]
    high = np.right_shift(x, np.uint64(32)).astype(np.float64)
    low = np.bitwise_and(x, np.uint64(0xFFFF_FFFF)).astype(np.float64)
    return np.where(high != 0, np.frexp(high)[1] + 32, np.frexp(low)[1])


def _leading_zeros(x: Array) -> Array:
    return (x.dtype.itemsize * 8 - _bit_length(x)).astype(x.dtype)


def _trailing_zeros(x: Array) -> Array:
    lowest = np.bitwise_and(x, np.negative(x))
    return np.bitwise_count(np.subtract(lowest, x.dtype.type(1))).astype(x.dtype)


_REVERSED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)[:, ::-1], axis=1)[:, 0]


def _reverse(x: Array) -> Array:
    # the bytes in the opposite order, each with its bits reversed
    values = np.atleast_1d(x)
    bytes_ = _REVERSED[values.byteswap().view(np.uint8)].view(x.dtype)
    return bytes_ if np.ndim(x) else bytes_[0]


def _sext(x: Array, target: np.dtype[Any]) -> Array:
    if x.dtype == np.bool_:
        return np.where(x, target.type(-1 & (1 << 8 * target.itemsize) - 1), target.type(0))
    return _unsigned(_signed(x).astype(f"i{target.itemsize}"))


def _to_integer(x: Array, target: np.dtype[Any], signed: bool) -> Array:
    """Truncate toward zero, clamp, NaN to 0. Types up to 32 bits, which float64 holds exactly."""
    bits = 8 * target.itemsize
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1) if signed else (0.0, 2.0**bits - 1)
    wide = np.trunc(x.astype(np.float64))
    clamped = np.where(np.isnan(wide), 0.0, np.clip(wide, low, high))
    return clamped.astype(np.int64).astype(f"i{target.itemsize}" if signed else target).view(target)


def _fma(a: Array, b: Array, c: Array) -> Array:
    """Round once. Narrow types: the product is exact in float64, and the sum is rounded to odd there, so that the
    second rounding sees which side of a tie it is on (Boldo and Melquiond, 2008)."""
    if a.dtype == np.float64:
        return _fma_64(a, b, c)
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    inexact_even = (error != 0) & np.isfinite(error) & (np.atleast_1d(total).view(np.uint64) & np.uint64(1) == 0)
    odd = np.where(inexact_even, np.nextafter(total, np.copysign(np.inf, error)), total)
    result = odd.astype(a.dtype)
    return result if np.ndim(a) else result[0]


def _fma_64(a: Array, b: Array, c: Array) -> Array:
    plain = a * b + c  # right where a factor is infinite or NaN, and for the sign of an exact zero
    # an infinite addend is the sum, also of a product that only overflows
    plain = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, plain)
    result = np.array(np.atleast_1d(plain))
    operands = [np.atleast_1d(x) for x in (a, b, c)]
    finite = np.isfinite(operands[0]) & np.isfinite(operands[1]) & np.isfinite(operands[2])
    for lane in np.flatnonzero(finite):
        x, y, z = (Fraction(float(operand[lane])) for operand in operands)
        exact = x * y + z
        if exact:
            try:
                rounded = exact.numerator / exact.denominator  # Python rounds the quotient of integers once
            except OverflowError:
                rounded = float("inf")
            result[lane] = np.copysign(abs(rounded), 1 if exact > 0 else -1)
        elif not (x * y):
            continue  # 0 + 0: the plain sum has the right sign
        else:
            result[lane] = 0.0
    return result if np.ndim(plain) else result[0]


def _ballot(mask: Array) -> Array:
    return np.packbits(mask, bitorder="little").view("<u8")[0]


def _unballot(bits: Array) -> Array:
    return np.unpackbits(np.array([bits], "<u8").view(np.uint8), bitorder="little").view(np.bool_)


def _select(condition: Array, yes: Array, no: Array) -> Array:
    if np.ndim(condition):
        return np.where(condition, yes, no)
    return yes if condition else no


PURE: dict[Op, Callable[..., Array]] = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.AND: np.bitwise_and,
    Op.OR: np.bitwise_or,
    Op.XOR: np.bitwise_xor,
    Op.SHL: np.left_shift,
    Op.SHR: np.right_shift,
    Op.SAR: _sar,
    Op.POPCOUNT: lambda x: np.bitwise_count(x).astype(x.dtype),
    Op.LEADING_ZEROS: _leading_zeros,
    Op.TRAILING_ZEROS: _trailing_zeros,
    Op.REVERSE: _reverse,
    Op.EQ: np.equal,
    Op.ULT: np.less,
    Op.ULE: np.less_equal,
    Op.SLT: lambda x, y: np.less(_signed(x), _signed(y)),
    Op.SLE: lambda x, y: np.less_equal(_signed(x), _signed(y)),
    Op.FEQ: np.equal,
    Op.FLT: np.less,
    Op.FLE: np.less_equal,
    Op.IS_NAN: np.isnan,
    Op.FADD: np.add,
    Op.FSUB: np.subtract,
    Op.FMUL: np.multiply,
    Op.FDIV: np.divide,
    Op.FSQRT: np.sqrt,
    Op.FMA: _fma,
    Op.FLOOR: np.floor,
    Op.CEIL: np.ceil,
    Op.FTRUNC: np.trunc,
    Op.RINT: np.rint,
    Op.GATHER: lambda values, lanes: values[lanes],
    Op.READ_LANE: lambda values, lane: values[lane],
    Op.BALLOT: _ballot,
    Op.UNBALLOT: _unballot,
    Op.LANE: lambda: LANES,
    Op.SELECT: _select,
}
"""Ops whose result depends on the arguments alone."""


def _constant(node: Node) -> Array:
    integer = np.dtype(np.bool_) if node.type == B1 else dtype(node.type.integer)
    return integer.type(node.data).view(dtype(node.type))


def _with_type(node: Node) -> Callable[..., Array]:
    """Function of an op whose meaning depends on the type of the result or on data."""
    target = dtype(node.type)
    match node.op:
        case Op.CONST:
            value = _constant(node)
            function: Callable[..., Array] = lambda: value  # noqa: E731 one expression for each op
        case Op.SINT_TO_FLOAT:
            function = lambda x: _signed(x).astype(target)  # noqa: E731
        case Op.SEXT:
            function = lambda x: _sext(x, target)  # noqa: E731
        case Op.BITCAST:
            function = lambda x: x.view(target)  # noqa: E731
        case Op.FLOAT_TO_UINT | Op.FLOAT_TO_SINT:
            function = functools.partial(_to_integer, target=target, signed=node.op is Op.FLOAT_TO_SINT)
        case Op.SPLAT:
            function = lambda x: np.full(WAVE, x, target)  # noqa: E731
        case Op.LOOKUP:
            table = np.array(node.data, dtype(node.type.integer)).view(target)
            function = lambda x: table[x]  # noqa: E731
        case Op.TRUNC if node.type == B1:
            function = lambda x: np.bitwise_and(x, x.dtype.type(1)).astype(np.bool_)  # noqa: E731
        case _:
            function = lambda x: x.astype(target)  # noqa: E731
    return function


TYPED = frozenset(
    {
        Op.CONST, Op.SINT_TO_FLOAT, Op.SEXT, Op.BITCAST, Op.FLOAT_TO_UINT, Op.FLOAT_TO_SINT, Op.SPLAT, Op.LOOKUP,
        Op.TRUNC, Op.ZEXT, Op.UINT_TO_FLOAT, Op.FLOAT_TO_FLOAT,
    }
)  # fmt: skip


def pure(node: Node) -> Callable[..., Array] | None:
    """Function from a node's arguments to its result, or None if the node depends on more."""
    return _with_type(node) if node.op in TYPED else PURE.get(node.op)
