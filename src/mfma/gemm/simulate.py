"""The kernel as the hardware runs it: work-groups, waves, LDS, a fragment in every lane, register by register."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.formats import Format
from mfma.formats.arrays import value_dtype
from mfma.gemm.elementwise import add
from mfma.gemm.memory import SharedStorage
from mfma.gemm.operands import Codes, Memory, Operands
from mfma.gemm.protocols import ComputePolicy, TilePolicy
from mfma.native.threads import Progress

__all__ = ["accumulate"]

AT_ONCE = 1 << 22
"""Elements of LDS, fragments and accumulators of the work-groups that are simulated side by side."""

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class _Grid:
    """Places of all work-groups: (batch, row, column) of blocks, and how many there are of each."""

    batches: int
    rows: int
    columns: int

    def groups(self) -> tuple[Indices, Indices, Indices]:
        """Place of every work-group, columns fastest."""
        z, y, x = np.indices((self.batches, self.rows, self.columns)).reshape(3, -1)
        return z, y, x


@dataclass(frozen=True)
class _Blocks:
    """Strips of A and B of some work-groups, in memory cut into blocks and padded with zeros.

    ``blocks_a`` is (batches, batch, block rows, block_tile_m, strips, k_tile_size); ``blocks_b`` likewise, transposed.
    """

    memory: Memory
    formats: tuple[tuple[Format, Format], tuple[Format, Format]]
    blocks_a: Codes
    blocks_b: Codes
    z: Indices
    y: Indices
    x: Indices

    @property
    def count(self) -> int:
        """Strips along K."""
        return int(self.blocks_a.shape[4])

    def a(self, t: int) -> Codes:
        """Strip t of A, converted: (work-groups, rows of LDS, k_tile_size)."""
        return self._strip(self.blocks_a[self.z, :, self.y, :, t], *self.formats[0])

    def b(self, t: int) -> Codes:
        """Strip t of B, converted and transposed: (work-groups, columns, k_tile_size)."""
        return self._strip(self.blocks_b[self.z, :, self.x, :, t], *self.formats[1])

    def _strip(self, codes: Codes, given: Format, wanted: Format) -> Codes:
        groups, batch, rows, k = codes.shape
        return self.memory.loaded(codes, given, wanted).reshape(groups, batch * rows, k)


def accumulate(
    tile: TilePolicy,
    compute: ComputePolicy,
    memory: Memory,
    given: Operands,
    parts: list[Indices],
    progress: Progress | None,
) -> NDArray[Any]:
    """Return the accumulators (batch, M, N) after all parts of K have been added up."""
    batch, m, n, _ = given.shape
    grid = _Grid(-(-batch // compute.batch), -(-m // tile.block_tile_m), -(-n // tile.block_tile_n))
    total = None
    for number, part in enumerate(parts):
        moved = (
            (lambda done, all_, number=number: progress(number * all_ + done, len(parts) * all_)) if progress else None
        )
        d = _part(tile, compute, memory, given, part, grid, moved)
        total = d if total is None else add(total, d, compute.accumulator)
    assert total is not None  # a split has at least one part
    return total


def _part(
    tile: TilePolicy,
    compute: ComputePolicy,
    memory: Memory,
    given: Operands,
    part: Indices,
    grid: _Grid,
    progress: Progress | None,
) -> NDArray[Any]:
    """Run all work-groups over one part of K."""
    batch, m, n, _ = given.shape
    of_a, of_b, _ = memory.formats(compute)
    k = tile.k_tile_size
    a = _cut(_columns(given.a, part), compute.batch, tile.block_tile_m, k)
    b = _cut(_columns(given.b.swapaxes(1, 2), part), compute.batch, tile.block_tile_n, k)
    shape = (grid.batches * compute.batch, grid.rows * tile.block_tile_m, grid.columns * tile.block_tile_n)
    d = np.zeros(shape, value_dtype(compute.accumulator))
    z, y, x = grid.groups()
    step = max(AT_ONCE // _elements(tile, compute), 1)
    for first in range(0, len(z), step):
        here = slice(first, first + step)
        formats = (of_a, compute.a), (of_b, compute.b)
        strips = _Blocks(memory, formats, a, b, z[here], y[here], x[here])
        _work(tile, compute, strips, d)
        if progress:
            progress(min(first + step, len(z)), len(z))
    return d[:batch, :m, :n]


def _work(tile: TilePolicy, compute: ComputePolicy, strips: _Blocks, d: NDArray[Any]) -> None:
    """The kernel itself: what every work-group of ``strips`` does, writing its block of ``d``."""
    owners = np.arange(compute.threads(tile.block_tile_m, tile.block_tile_n) // compute.owner_lanes)
    rows, columns = compute.thread_tile_offset(owners)
    layouts = tile.layout_a(compute), tile.layout_b(compute)
    shared = SharedStorage(len(strips.z), tile.num_buffers, *layouts, (compute.a, compute.b))
    acc = compute.zero(len(strips.z), len(owners))
    if strips.count:
        tile.prologue(shared, strips)
    for t in range(strips.count):
        tile.prefetch(shared, strips, t + tile.num_buffers - 1)
        tile.acquire(shared, t)
        tile_a, tile_b = (views[tile.buf_idx(t)] for views in (shared.a, shared.b))
        for ki in range(0, tile.k_tile_size, compute.k_step):
            acc = compute.mma(acc, compute.load_a(tile_a, rows, ki), compute.load_b(tile_b, columns, ki))
        tile.release(shared, t)
    out = compute.store_c(acc)
    z = (strips.z * compute.batch)[:, None, None] + out.batch
    i = (strips.y * tile.block_tile_m)[:, None, None] + rows[:, None] + out.rows
    j = (strips.x * tile.block_tile_n)[:, None, None] + columns[:, None] + out.columns
    d[z, i, j] = out.values


def _columns(matrix: Codes, part: Indices) -> Codes:
    """The k of a part in their order, zero where it is padded."""
    taken = (
        matrix[..., np.maximum(part, 0)]
        if matrix.shape[-1]
        else np.zeros((*matrix.shape[:-1], len(part)), matrix.dtype)
    )
    taken[..., part < 0] = 0
    return taken


def _cut(matrix: Codes, batch: int, rows: int, k: int) -> Codes:
    """Pad (batch, rows, k) to whole blocks and give each kind of block its own axis."""
    size = matrix.shape
    padded = np.pad(matrix, ((0, -size[0] % batch), (0, -size[1] % rows), (0, 0)))
    return padded.reshape(padded.shape[0] // batch, batch, padded.shape[1] // rows, rows, size[2] // k, k)


def _elements(tile: TilePolicy, compute: ComputePolicy) -> int:
    """Elements that the simulation of one work-group keeps at a time."""
    threads = compute.threads(tile.block_tile_m, tile.block_tile_n)
    return tile.shared_bytes(compute) + threads * (compute.acc_size + compute.frag_size_m + compute.frag_size_n)
