"""The group sum (`mfma.isa.accumulation.GroupSum`) over vectors of columns.

Products are exact floating-point numbers; scaled by a power of two, their conversion to integers is the cut
toward zero. The rest of the rule happens in float64, counted in units of ``2**(E - 32)``: there every quantity
is an integer of less than 40 bits, so sums are exact, floors are ``floor`` and the last step is one conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mfma.isa.accumulation import GroupSum
from mfma.native.simd import F32, F64, I32, I64, Kernel, Value, vector
from mfma.numerics.panels import WIDE, Carrier

__all__ = ["LANES", "add_group"]

LANES = 16
"""Columns that one piece of the arithmetic handles; LLVM splits them on narrower machines."""

Load = Callable[[int, int, int], Value]
"""(k, first column, columns) -> the operand's values there."""

F32_MAX = float.fromhex("0x1.fffffep+127")


def add_group(
    kernel: Kernel,
    rule: GroupSum,
    held: Carrier,
    columns: int,
    a: Load,
    b: Load,
    a_exponent: Load,
    b_exponent: Load,
    accumulator: Value,
    offset: Value | int,
    saturate: bool,
) -> None:
    """Add one group to ``columns`` float32 accumulators that lie at ``accumulator`` plus ``offset``."""
    halves = [range(h, rule.group, 2) for h in (0, 1)] if rule.parity else [range(rule.group)]
    tops = [_largest(a_exponent, b_exponent, half, columns) for half in halves]
    top = tops[0] if len(tops) == 1 else tops[0].maximum(tops[1])
    special = (top > held.highest).any()
    width = min(LANES, columns)
    offset = offset if isinstance(offset, Value) else kernel.constant(I64, offset)

    def columns_of(with_specials: bool) -> None:
        for first in range(0, columns, width):
            start = offset + first
            d = kernel.load(accumulator, start, vector(F32, width))
            x = [a(k, first, width).splat(width) for k in range(rule.group)]
            y = [b(k, first, width) for k in range(rule.group)]
            result = _add_finite(rule, held, halves, [t.part(first, width).to(I32) for t in tops], x, y, d, saturate)
            if with_specials:
                result = _decide_specials(x, y, d, result, saturate)
            result.store(accumulator, start)

    with kernel.builder.if_else(special.raw, likely=False) as (rare, usual):
        with rare:
            columns_of(with_specials=True)
        with usual:
            columns_of(with_specials=False)


def _largest(a: Load, b: Load, ks: Sequence[int], columns: int) -> Value:
    """Largest exponent of the products ``ks``, column by column."""
    sums = [b(k, 0, columns).add_saturating(a(k, 0, columns)) for k in ks]
    while len(sums) > 1:
        sums = [x.maximum(y) for x, y in zip(sums[::2], sums[1::2], strict=True)]
    return sums[0]


def _power(exponent: Value, type_: object) -> Value:
    """2**exponent as a float of ``type_``; the exponent (i32) must be a normal number's."""
    if type_ == F32:
        return ((exponent + 127) << 23).bitcast(F32)
    return (exponent.to(I64) + 1023 << 52).bitcast(F64)


def _add_finite(
    rule: GroupSum,
    held: Carrier,
    halves: Sequence[Sequence[int]],
    tops: Sequence[Value],
    a: Sequence[Value],
    b: Sequence[Value],
    d: Value,
    saturate: bool,
) -> Value:
    # A half without a product other than zero has a top far below anything real: its sum is 0, and it must
    # raise neither the common exponent nor, through it, the floor of c.
    nothing = -600
    tops = [(top < held.lowest).select(top.like(nothing), top) for top in tops]
    sums = []
    for half, top in zip(halves, tops, strict=True):
        scale = _power(rule.product_bits - top.maximum(held.lowest), held.value)
        sums.append(_sum([(a[k] * b[k] * scale).to(I32) for k in half]))
    e_dot = tops[0]
    total = sums[0]
    if len(sums) == 2:
        e_dot = tops[0].maximum(tops[1])
        total = _sum([s >> (e_dot - top).minimum(31) for s, top in zip(sums, tops, strict=True)])

    field = d.bitcast(I32).shr(23) & 255
    e_c = field.maximum(1) - 127
    e = e_dot.maximum(e_c)

    products = total.to(F64) * _power((e_dot - e + (rule.sum_bits - rule.product_bits)), F64)
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
        addend = (e_c <= e - rule.far_addend).select(addend.like(0.0), addend)
    units = addend.fma(2.0 ** (rule.sum_bits - rule.addend_bits), products)
    result = _floor_significand(units, rule.total_bits) * _power(e - rule.sum_bits, F64)
    if saturate:
        result = (result > F32_MAX).select(result.like(F32_MAX), result)
        result = (result < -F32_MAX).select(result.like(-F32_MAX), result)
    return field.equals(255).select(d, result.to(F32))


def _sum(terms: list[Value]) -> Value:
    while len(terms) > 1:
        terms = [x + y for x, y in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]


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
    zero = d.to(F64).like(0.0)
    limit = 2.0**128
    total = zero
    wide = d.to(F64)
    for x, y in zip(a, b, strict=True):
        product = x.to(F64) * y.to(F64)
        small = (product < limit) & (product > -limit)
        total = total + small.select(zero, product * 2.0**1000)
    finite_c = (wide < limit) & (wide > -limit)
    total = total + finite_c.select(zero, wide)
    result = total.to(F32)
    if saturate:
        result = _clamp_early_overflow(a, b, d, result)
    return total.equals(0.0).select(finite, result)


def _clamp_early_overflow(a: Sequence[Value], b: Sequence[Value], d: Value, result: Value) -> Value:
    """An infinity that no operand brought in becomes the largest finite number."""
    infinity = float("inf")
    given = d.bitcast(I32) & 0x7FFFFFFF
    infinite = given.equals(0x7F800000)
    for x in (*a, *b):
        wide = x.to(F64)
        infinite = infinite | wide.equals(infinity) | wide.equals(-infinity)
    largest = (result > 0.0).select(result.like(F32_MAX), -F32_MAX)
    return (infinite | result.is_nan()).select(result, largest)
