"""How a pair of policies uses LDS: every access of a strip, recorded from the policies' own loads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.formats import Format
from mfma.formats.arrays import code_dtype
from mfma.gemm.lds import BANK_BYTES, BANKS, Access, TileLayout, access
from mfma.gemm.memory import Tile
from mfma.gemm.protocols import ComputePolicy, TilePolicy
from mfma.isa.spec import WAVE

__all__ = ["accesses", "ideal_accesses"]

Indices = NDArray[np.int64]

LINE = BANKS * BANK_BYTES
"""Bytes that LDS moves in a cycle."""


@dataclass
class _Recorder:
    """A tile that notes the addresses of every read and answers with zeros."""

    layout: TileLayout
    format: Format
    addresses: list[NDArray[Any]] = field(default_factory=list)
    active: list[NDArray[np.bool_]] = field(default_factory=list)

    def read(self, rows: Indices, ks: Indices, active: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Note the addresses, lane by lane: threads that are their own owners make up waves of 64."""
        count = rows.shape[-1]
        where = self.layout.address(rows, ks).reshape(-1, count)
        taking = np.ones(len(where), np.bool_) if active is None else np.any(active.reshape(-1, count), axis=1)
        spare = -len(where) % WAVE
        if spare:
            where, taking = np.pad(where, ((0, spare), (0, 0))), np.pad(taking, (0, spare))
        self.addresses.append(where.reshape(-1, WAVE, count))
        self.active.append(taking.reshape(-1, WAVE))
        return np.zeros((1, *rows.shape), code_dtype(self.format))

    def total(self) -> Access:
        """Count all reads."""
        return access(np.concatenate(self.addresses), self.layout.bits // 8, "read", np.concatenate(self.active))


def accesses(tile: TilePolicy, compute: ComputePolicy, b_order: str = "row") -> dict[str, Access]:
    """Return what each access pattern costs a work-group per strip: stores and loads of A and of B.

    Loads are those that the compute policy makes, all waves and all k of a strip; stores follow the order in which the
    threads move the elements (`mfma.gemm.tiles`). Direct loads fill 256 consecutive bytes at a time, without conflict.

    >>> from mfma.gemm.compute import MfmaPolicy
    >>> from mfma.gemm.tiles import SingleBufferTilePolicy
    >>> policy = MfmaPolicy("f32_16x16x16f16", 2, 2)
    >>> plain, padded = (accesses(SingleBufferTilePolicy(32, 32, 64, padding=p), policy) for p in (0, 4))
    >>> plain["load A"].conflicts, padded["load A"].conflicts
    (960, 0)
    """
    threads = compute.threads(tile.block_tile_m, tile.block_tile_n)
    owners = np.arange(threads // compute.owner_lanes)
    rows, columns = compute.thread_tile_offset(owners)
    a, b = tile.layout_a(compute), tile.layout_b(compute)
    return {
        "store A": _store(a, threads, tile.direct, by_rows=False),
        "store B": _store(b, threads, tile.direct, by_rows=b_order == "row"),
        "load A": _load(compute.load_a, rows, tile, compute, a, compute.a),
        "load B": _load(compute.load_b, columns, tile, compute, b, compute.b),
    }


def _load(
    load: Callable[[Tile, Indices, int], object],
    first: Indices,
    tile: TilePolicy,
    compute: ComputePolicy,
    layout: TileLayout,
    format: Format,
) -> Access:
    """Count the loads of a strip; waves that load the same are counted once and multiplied."""
    starts, counts = (
        np.unique(first, return_counts=True) if compute.owner_lanes == WAVE else (first, np.ones_like(first))
    )
    total = Access(0, 0, 0, 0)
    for count in np.unique(counts).tolist():
        recorder = _Recorder(layout, format)
        for ki in range(0, tile.k_tile_size, compute.k_step):
            load(recorder, starts[counts == count], ki)
        total += recorder.total() * count
    return total


def ideal_accesses(tile: TilePolicy, compute: ComputePolicy) -> dict[str, Access]:
    """Return what the accesses of `accesses` cost at least: all lanes side by side, no conflict, nothing measured."""
    threads = compute.threads(tile.block_tile_m, tile.block_tile_n)
    owners, steps = threads // compute.owner_lanes, tile.k_tile_size // compute.k_step
    strips = (("A", tile.layout_a(compute), compute.frag_size_m), ("B", tile.layout_b(compute), compute.frag_size_n))
    found = {}
    for name, layout, fragment in strips:
        size = layout.bits // 8
        moved = max(size, BANK_BYTES)  # bytes of a phase that a lane of a store takes, however narrow
        elements = layout.rows * layout.k * size // BANK_BYTES if tile.direct else layout.rows * layout.k
        stored = -(-elements * (BANK_BYTES if tile.direct else moved) // LINE)
        found[f"store {name}"] = Access(-(-elements // WAVE), size, stored, stored)
        held = owners * compute.owner_lanes * fragment * steps * size
        shared = compute.op.blocks if compute.owner_lanes == WAVE else WAVE  # lanes that one lane's load may feed
        found[f"load {name}"] = Access(held // WAVE // 16, 16, *[held // shared // LINE] * 2)
    return found


def _store(layout: TileLayout, threads: int, direct: bool, by_rows: bool) -> Access:
    """Count the stores of a strip by all threads."""
    elements = layout.rows * layout.k
    if direct:
        words = -(-elements * layout.bits // 32)
        lanes = np.arange(-(-words // WAVE) * WAVE).reshape(-1, WAVE, 1)
        return access(4 * lanes, 4, "write")
    waves = -(-threads // WAVE)
    x = np.arange(-(-elements // threads))[:, None] * threads + np.arange(waves * WAVE)
    taking = (x < elements) & (np.arange(waves * WAVE) < threads)
    column, row = (x // layout.rows, x % layout.rows) if by_rows else (x % layout.k, x // layout.k)
    addresses = layout.address(np.where(taking, row, 0), np.where(taking, column, 0))
    return access(addresses.reshape(-1, WAVE, 1), layout.bits // 8, "write", taking.reshape(-1, WAVE))
