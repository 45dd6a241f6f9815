"""Chains of fused multiply-adds and integer sums: register tiles that walk over k.

Every accumulator sees its products in ascending k, one rounding each, so the tile's size cannot change a bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from mfma.native.jit import vector_bits
from mfma.native.simd import F32, F64, I32, I64, Kernel, Value, vector

__all__ = ["Tile", "add_chains", "add_integers", "saturated", "tile"]


@dataclass(frozen=True)
class Tile:
    """Accumulators that live in registers at once: ``rows`` by ``columns``, in vectors of ``lanes``."""

    rows: int
    columns: int
    lanes: int


def tile(element: ir.Type) -> Tile:
    """Tile for this machine: as many accumulators as its registers hold beside the operands."""
    lanes = vector_bits() // (64 if element == F64 else 32)
    vectors = 4 if vector_bits() == 512 else 2
    return Tile(rows=6, columns=vectors * lanes, lanes=lanes)


def add_chains(
    kernel: Kernel,
    element: ir.Type,
    rows: Value,
    columns: int,
    ks: Value,
    a: Value,
    a_stride: int,
    b: Value,
    accumulators: Value,
    saturate: bool,
) -> None:
    """``accumulators[i, j] = fma(a[i, k], b[k, j], accumulators[i, j])`` for ascending k.

    ``rows`` must be a multiple of the tile's; ``b`` and ``accumulators`` have ``columns`` columns.
    """
    shape = tile(element)

    def step(x: Value, y: Value, d: Value) -> Value:
        result = x.fma(y, d)
        return saturated(x, y, d, result) if saturate else result

    with kernel.loop(columns, step=shape.columns) as j, kernel.loop(rows, step=shape.rows) as i:
        places = [
            (i + r) * columns + j + first for r in range(shape.rows) for first in range(0, shape.columns, shape.lanes)
        ]
        vectors = vector(element, shape.lanes)
        sums = [kernel.load(accumulators, place, vectors) for place in places]
        sums = _over_k(kernel, shape, ks, a, a_stride, b, columns, i, j, sums, step)
        for place, total in zip(places, sums, strict=True):
            total.store(accumulators, place)


def add_integers(
    kernel: Kernel,
    rows: Value,
    columns: int,
    ks: Value,
    a: Value,
    a_stride: int,
    b: Value,
    accumulators: Value,
    saturate: bool,
) -> None:
    """``accumulators[i, j] += sum over k of a[i, k]·b[k, j]`` for int8 values held as float32.

    Exact for up to 1,024 products, whose sum float32 holds; the i32 accumulators wrap, or clamp if ``saturate``.
    """
    shape = tile(F32)
    with kernel.loop(columns, step=shape.columns) as j, kernel.loop(rows, step=shape.rows) as i:
        sums = [kernel.constant(vector(F32, shape.lanes), 0.0)] * (shape.rows * shape.columns // shape.lanes)
        sums = _over_k(kernel, shape, ks, a, a_stride, b, columns, i, j, sums, lambda x, y, d: x.fma(y, d))
        for n, total in enumerate(sums):
            r, first = divmod(n * shape.lanes, shape.columns)
            place = (i + r) * columns + j + first
            d = kernel.load(accumulators, place, vector(I32, shape.lanes))
            whole = total.to(I32)
            (d.add_saturating(whole) if saturate else d + whole).store(accumulators, place)


def _over_k(
    kernel: Kernel,
    shape: Tile,
    ks: Value,
    a: Value,
    a_stride: int,
    b: Value,
    columns: int,
    i: Value,
    j: Value,
    sums: list[Value],
    step: Callable[[Value, Value, Value], Value],
) -> list[Value]:
    """Run ``step`` over k on all accumulators of a tile, keeping them in registers."""
    builder = kernel.builder
    before = builder.block
    head, body, after = (builder.append_basic_block(name) for name in ("k", "k.body", "k.after"))
    builder.branch(head)
    builder.position_at_end(head)
    k = builder.phi(I64)
    k.add_incoming(ir.Constant(I64, 0), before)
    phis = []
    for start in sums:
        phi = builder.phi(start.type)
        phi.add_incoming(start.raw, before)
        phis.append(phi)
    builder.cbranch(builder.icmp_signed("<", k, ks.raw), body, after)
    builder.position_at_end(body)
    counter = Value(kernel, k)
    element = sums[0].type.element
    y = [
        kernel.load(b, counter * columns + j + first, vector(element, shape.lanes))
        for first in range(0, shape.columns, shape.lanes)
    ]
    new = []
    for r in range(shape.rows):
        x = kernel.load(a, (i + r) * a_stride + counter, element).splat(shape.lanes)
        new += [step(x, y[n], Value(kernel, phis[r * len(y) + n])) for n in range(len(y))]
    for phi, value in zip(phis, new, strict=True):
        phi.add_incoming(value.raw, builder.block)
    k.add_incoming(builder.add(k, ir.Constant(I64, 1)), builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    return [Value(kernel, phi) for phi in phis]


def saturated(x: Value, y: Value, d: Value, result: Value) -> Value:
    """``result = fma(x, y, d)``, but the largest finite number if it overflowed (MODE.FP16_OVFL)."""
    infinity, largest = float("inf"), float.fromhex("0x1.fffffep+127")

    def finite(v: Value) -> Value:
        return (v < infinity) & (v > -infinity)

    overflow = finite(x) & finite(y) & finite(d) & (result.equals(infinity) | result.equals(-infinity))
    return overflow.select((result > 0.0).select(result.like(largest), -largest), result)
