"""Chains of fused multiply-adds and integer sums: register tiles that walk over k.

Every accumulator sees its products in ascending k, one rounding each, so the tile's size cannot change a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from llvmlite import ir

from mfma.native.jit import vector_bits
from mfma.native.simd import F32, F64, I32, Kernel, Value, vector

__all__ = ["Tile", "Walk", "add_chains", "add_integers", "saturated", "tile"]


@dataclass(frozen=True)
class Tile:
    """Accumulators that live in registers at once: ``rows`` by ``columns``, in vectors of ``lanes``."""

    rows: int
    columns: int
    lanes: int

    @property
    def firsts(self) -> range:
        """First column of every vector."""
        return range(0, self.columns, self.lanes)


def tile(element: ir.Type) -> Tile:
    """Tile for this machine: as many accumulators as its registers hold beside the operands."""
    lanes = vector_bits() // (64 if element == F64 else 32)
    vectors = 4 if vector_bits() == 512 else 2
    return Tile(rows=6, columns=vectors * lanes, lanes=lanes)


@dataclass(frozen=True)
class Walk:
    """A product of two panels: ``accumulators[i, j]`` over ``a[i, k]`` and ``b[k, j]`` for ascending k.

    ``a`` has rows of ``a_stride`` elements and room for a whole number of tiles; ``b`` and the accumulators have
    ``columns`` columns.
    """

    kernel: Kernel
    rows: Value
    columns: int
    ks: Value
    a: Value
    a_stride: int
    b: Value
    accumulators: Value


def add_chains(walk: Walk, element: ir.Type, *, saturate: bool) -> None:
    """One fused multiply-add for every k."""

    def step(x: Value, y: Value, d: Value) -> Value:
        result = x.fma(y, d)
        return saturated(x, y, d, result) if saturate else result

    for places, i, j in _tiles(walk, tile(element)):
        vectors = vector(element, tile(element).lanes)
        sums = [walk.kernel.load(walk.accumulators, place, vectors) for place in places]
        for place, total in zip(places, _over_k(walk, tile(element), i, j, sums, step), strict=True):
            total.store(walk.accumulators, place)


def add_integers(walk: Walk, *, saturate: bool) -> None:
    """Sums of int8 products whose factors are held as float32.

    Exact for up to 1,024 values of k, whose sum float32 holds; the i32 accumulators wrap, or clamp if ``saturate``.
    """
    lanes = tile(F32).lanes
    for places, i, j in _tiles(walk, tile(F32)):
        zeros = [walk.kernel.constant(vector(F32, lanes), 0.0)] * len(places)
        sums = _over_k(walk, tile(F32), i, j, zeros, lambda x, y, d: x.fma(y, d))
        for place, total in zip(places, sums, strict=True):
            d, whole = walk.kernel.load(walk.accumulators, place, vector(I32, lanes)), total.to(I32)
            (d.add_saturating(whole) if saturate else d + whole).store(walk.accumulators, place)


def _tiles(walk: Walk, shape: Tile) -> Iterator[tuple[list[Value], Value, Value]]:
    """Walk over the tiles: the places of a tile's vectors among the accumulators, its first row and column."""
    with walk.kernel.loop(walk.columns, step=shape.columns) as j, walk.kernel.loop(walk.rows, step=shape.rows) as i:
        places = [(i + r) * walk.columns + j + first for r in range(shape.rows) for first in shape.firsts]
        yield places, i, j


def _over_k(
    walk: Walk,
    shape: Tile,
    i: Value,
    j: Value,
    sums: list[Value],
    step: Callable[[Value, Value, Value], Value],
) -> list[Value]:
    """Run ``step`` over k on all accumulators of a tile, keeping them in registers."""
    kernel, element = walk.kernel, sums[0].type.element
    vectors = vector(element, shape.lanes)
    with kernel.loop_carrying(walk.ks, sums) as (k, carried):
        y = [kernel.load(walk.b, k * walk.columns + j + first, vectors) for first in shape.firsts]
        x = [kernel.load(walk.a, (i + r) * walk.a_stride + k, element).splat(shape.lanes) for r in range(shape.rows)]
        carried[:] = [step(x[n // len(y)], y[n % len(y)], d) for n, d in enumerate(carried)]
    return carried


def saturated(x: Value, y: Value, d: Value, result: Value) -> Value:
    """``result = fma(x, y, d)``, but the largest finite number if it overflowed (MODE.FP16_OVFL)."""
    infinity, largest = float("inf"), float.fromhex("0x1.fffffep+127")

    def finite(v: Value) -> Value:
        return (v < infinity) & (v > -infinity)

    overflow = finite(x) & finite(y) & finite(d) & (result.equals(infinity) | result.equals(-infinity))
    return overflow.select((result > 0.0).select(result.like(largest), -largest), result)
