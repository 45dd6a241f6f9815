"""The group sum (`mfma.isa.accumulation.GroupSum`) over vectors of columns.

Products are exact floating-point numbers; scaled by a power of two, their conversion to integers is the cut
toward zero. What follows exists twice. `_add_narrow` works on 32-bit lanes and covers every ordinary case. `_add_wide`
counts in units of ``2**(E - 32)`` in float64, where every quantity is an integer of less than 40 bits, and
covers all cases, results below the smallest normal number among them. A branch that is hardly ever taken chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from mfma.isa.accumulation import GroupSum
from mfma.native.simd import F32, F64, I32, I64, Kernel, Value, vector
from mfma.numerics.panels import WIDE, Carrier, power_of_two

__all__ = ["LANES", "Load", "Side", "add_group"]

LANES = 16
"""Columns that one piece of the arithmetic handles; LLVM splits them on narrower machines."""

Load = Callable[[int, int, int], Value]
"""(k, first column, columns) -> the operand's values there."""

F32_MAX = float.fromhex("0x1.fffffep+127")
NOTHING = -600
"""Exponent of a group without a product other than zero: far below anything real."""


@dataclass(frozen=True)
class Side:
    """One operand of a group: how to load its values and their exponents."""

    value: Load
    exponent: Load


@dataclass(frozen=True)
class Sums:
    """What the products of a group come to in some columns.

    ``total`` (i32) counts units of ``2**(e_dot - product_bits)``; ``e`` is the larger of ``e_dot`` and the exponent
    ``e_c`` of ``d``, whose exponent field is ``field``.
    """

    total: Value
    e_dot: Value
    e_c: Value
    e: Value
    d: Value
    field: Value


def add_group(
    kernel: Kernel,
    rule: GroupSum,
    held: Carrier,
    columns: int,
    a: Side,
    b: Side,
    accumulator: Value,
    offset: Value,
    *,
    saturate: bool,
) -> None:
    """Add one group to ``columns`` float32 accumulators that lie ``offset`` elements behind ``accumulator``."""
    halves = [range(h, rule.group, 2) for h in (0, 1)] if rule.parity else [range(rule.group)]
    tops = [_largest(a.exponent, b.exponent, half, columns) for half in halves]
    top = tops[0] if len(tops) == 1 else tops[0].maximum(tops[1])
    width = min(LANES, columns)

    def all_columns(special: bool) -> None:
        for first in range(0, columns, width):
            start = offset + first
            d = kernel.load(accumulator, start, vector(F32, width))
            x = [a.value(k, first, width).splat(width) for k in range(rule.group)]
            y = [b.value(k, first, width) for k in range(rule.group)]
            sums = _add_products(rule, held, halves, [t.part(first, width).to(I32) for t in tops], x, y, d)
            if special:
                finite = _add_wide(rule, held, sums, saturate)
                _decide_specials(x, y, d, finite, saturate).store(accumulator, start)
                continue
            if held is not WIDE:
                _add_narrow(rule, held, sums, saturate).store(accumulator, start)
                continue
            extreme = (sums.e_dot >= held.lowest) & ((sums.e < -90) | (sums.e > 100))
            with kernel.builder.if_else(extreme.any().raw, likely=False) as (rare, usual):
                with rare:
                    _add_wide(rule, held, sums, saturate).store(accumulator, start)
                with usual:
                    _add_narrow(rule, held, sums, saturate).store(accumulator, start)

    with kernel.builder.if_else((top > held.highest).any().raw, likely=False) as (rare, usual):
        with rare:
            all_columns(special=True)
        with usual:
            all_columns(special=False)


def _largest(a: Load, b: Load, ks: Sequence[int], columns: int) -> Value:
    """Largest exponent of the products ``ks``, column by column."""
    sums = [b(k, 0, columns).add_saturating(a(k, 0, columns)) for k in ks]
    while len(sums) > 1:
        sums = [x.maximum(y) for x, y in zip(sums[::2], sums[1::2], strict=True)]
    return sums[0]


def _power(exponent: Value, type_: ir.Type) -> Value:
    """2**exponent as a float of ``type_``; the exponent (i32) must be a normal number's."""
    if type_ == F32:
        return ((exponent + 127) << 23).bitcast(F32)
    return (exponent.to(I64) + 1023 << 52).bitcast(F64)


def _sum(terms: list[Value]) -> Value:
    while len(terms) > 1:
        terms = [x + y for x, y in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]


def _add_products(
    rule: GroupSum,
    held: Carrier,
    halves: Sequence[Sequence[int]],
    tops: Sequence[Value],
    a: Sequence[Value],
    b: Sequence[Value],
    d: Value,
) -> Sums:
    """Cut the products and add them: steps 1 and 2 of the rule."""
    # A half without a product other than zero must raise neither the common exponent nor, through it, the
    # floor of c.
    tops = [(top < held.lowest).select(top.like(NOTHING), top) for top in tops]
    sums = []
    for half, top in zip(halves, tops, strict=True):
        scale = _power(rule.product_bits - top.maximum(held.lowest), held.value)
        sums.append(_sum([(a[k] * b[k] * scale).to(I32) for k in half]))
    e_dot, total = tops[0], sums[0]
    if len(sums) == 2:
        e_dot = tops[0].maximum(tops[1])
        total = _sum([s >> (e_dot - top).minimum(31) for s, top in zip(sums, tops, strict=True)])
    field = d.bitcast(I32).shr(23) & 255
    e_c = field.maximum(1) - 127
    return Sums(total, e_dot, e_c, e_dot.maximum(e_c), d, field)


def _add_narrow(rule: GroupSum, held: Carrier, sums: Sums, saturate: bool) -> Value:
    """Steps 3 to 5 where 2**E is far from both ends of float32, or nothing is added.

    The total is held as ``high`` (units of 2**(E - addend_bits)) and the 8 bits ``low`` below it.
    """
    extra = rule.sum_bits - rule.addend_bits
    d, e = sums.d, sums.e.maximum(-90)
    # Where c lies far below E its floor is 0 or -1 whatever the distance; it is bounded to keep -1 from
    # underflowing to -0.
    addend = (d * _power(rule.addend_bits - e.minimum(sums.e_c + 31), F32)).floor().to(I32)
    if rule.far_addend is not None:
        addend = (sums.e_c <= e - rule.far_addend).select(addend.like(0), addend)
    shift = e - sums.e_dot
    total = sums.total >> (shift - 31).maximum(0).minimum(31)
    shift = shift.minimum(31)
    high = addend + (total >> shift)
    low = (total << 1 << 31 - shift).shr(32 - extra)
    # The floor of the total drops what exceeds total_bits + 1 significant bits; x ^ (x >> 31) is -x - 1 for
    # negative x, which has the leading bit of |total| unless ``low`` is 0 and nothing can be dropped.
    dropped = (31 + extra - rule.total_bits - (high ^ (high >> 31)).leading_zeros()).maximum(0)
    low = low & (low.like(-1) << dropped)
    # Both parts are exact in float32, so their fused sum is the one rounding.
    upper = (high & -256).to(F32)
    lower = ((high & 255) << extra | low).to(F32)
    result = lower.fma(power_of_two(-extra), upper) * _power(e - rule.addend_bits, F32)
    if saturate:
        result = _saturated(result)
    result = (sums.e_dot < held.lowest).select(d + 0.0, result)
    return sums.field.equals(255).select(d, result)


def _add_wide(rule: GroupSum, held: Carrier, sums: Sums, saturate: bool) -> Value:
    """Steps 3 to 5 for any exponents."""
    d, e = sums.d, sums.e
    products = sums.total.to(F64) * _power(sums.e_dot - e + (rule.sum_bits - rule.product_bits), F64)
    if held is WIDE:
        # At the smallest exponent the last floor, which follows the total's own exponent, cannot go below
        # E - total_bits, one bit above the floor of the sum: subnormal totals need it here.
        at_bottom = e.equals(-126)
        products = (products * at_bottom.select(products.like(0.5), 1.0)).floor()
        products = products * at_bottom.select(products.like(2.0), 1.0)
    else:
        products = products.floor()
    addend = (d.to(F64) * _power(rule.addend_bits - e, F64)).floor()
    if rule.far_addend is not None:
        addend = (sums.e_c <= e - rule.far_addend).select(addend.like(0.0), addend)
    units = addend.fma(power_of_two(rule.sum_bits - rule.addend_bits), products)
    result = (_floor_significand(units, rule.total_bits) * _power(e - rule.sum_bits, F64)).to(F32)
    if saturate:
        result = _saturated(result)
    return sums.field.equals(255).select(d, result)


def _saturated(x: Value) -> Value:
    x = (x > F32_MAX).select(x.like(F32_MAX), x)
    return (x < -F32_MAX).select(x.like(-F32_MAX), x)


def _floor_significand(x: Value, fraction_bits: int) -> Value:
    """Floor a float64 to a multiple of its own ``2**(exponent - fraction_bits)``."""
    dropped = (1 << 52 - fraction_bits) - 1
    bits = x.bitcast(I64)
    return (bits + ((bits >> 63) & dropped) & ~dropped).bitcast(F64)


def _decide_specials(a: Sequence[Value], b: Sequence[Value], d: Value, finite: Value, saturate: bool) -> Value:
    """``finite``, or the infinity or NaN that the specials of a group decide.

    In float64 the products of all formats are exact, and IEEE addition of only the infinite ones, with an
    infinite or NaN c, is the rule. A product of 2**128 or more is infinite by itself.
    """
    limit = power_of_two(128)
    wide = d.to(F64)
    total = wide.like(0.0)
    for x, y in zip(a, b, strict=True):
        product = x.to(F64) * y.to(F64)
        small = (product < limit) & (product > -limit)
        total = total + small.select(product.like(0.0), product * power_of_two(1000))
    total = total + ((wide < limit) & (wide > -limit)).select(wide.like(0.0), wide)
    result = total.to(F32)
    if saturate:
        result = _clamp_early_overflow(a, b, d, result)
    return total.equals(0.0).select(finite, result)


def _clamp_early_overflow(a: Sequence[Value], b: Sequence[Value], d: Value, result: Value) -> Value:
    """An infinity that no operand brought in becomes the largest finite number."""
    infinity = float("inf")
    given = (d.bitcast(I32) & 0x7FFFFFFF).equals(0x7F800000)
    for x in (*a, *b):
        wide = x.to(F64)
        given = given | wide.equals(infinity) | wide.equals(-infinity)
    return (given | result.is_nan()).select(result, _saturated(result))
