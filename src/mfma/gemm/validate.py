"""Every rule that a pair of policies breaks, all at once, each with the nearest legal value."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mfma.gemm.lds import DIRECT_BYTES, LDS_BYTES, TileLayout
from mfma.gemm.operands import Memory
from mfma.gemm.protocols import BrokenRule, ComputePolicy, TilePolicy, round_half_up
from mfma.gemm.registers import EACH, GRANULE, SIMDS, TOTAL, register_use
from mfma.isa.spec import WAVE
from mfma.timing.devices import Device
from mfma.timing.devices import device as find_device

__all__ = ["MAX_THREADS", "validate"]

MAX_THREADS = 1024
"""Threads of a work-group at most (HIP)."""


def validate(
    tile: TilePolicy, compute: ComputePolicy, device: str | Device = "MI300X", memory: Memory | None = None
) -> list[BrokenRule]:
    """Return every rule that two policies break together; an empty list if a kernel can be made of them.

    ``memory`` says how the matrices are stored, as the compute policy takes them by default. Raises
    `UnknownNameError` for an unknown device.

    >>> from mfma.gemm.compute import MfmaPolicy
    >>> from mfma.gemm.tiles import SingleBufferTilePolicy
    >>> for rule in validate(SingleBufferTilePolicy(48, 32, 12), MfmaPolicy("f32_16x16x8_xf32", 2, 2)):
    ...     print(rule.field, rule.given, rule.nearest)
    block_tile_m 48 32
    k_tile_size 12 16
    """
    return list(_broken(tile, compute, find_device(device), memory or Memory()))


def _broken(tile: TilePolicy, compute: ComputePolicy, device: Device, memory: Memory) -> Iterator[BrokenRule]:
    if compute.op.target != device.target:
        yield BrokenRule(
            "device",
            device.name,
            f"one of target {compute.op.target}",
            f"the policy is for {compute.op.target}, but {device} is a {device.target}.",
        )
    own = list(compute.broken_rules(tile.block_tile_m, tile.block_tile_n))
    yield from own or _cover(tile, compute)
    yield from _strips(tile, compute)
    yield from _lds(tile, compute)
    yield from _threads(tile, compute)
    yield from _registers(tile, compute)
    if tile.direct:
        yield from _direct(tile, compute, memory)


def _cover(tile: TilePolicy, compute: ComputePolicy) -> Iterator[BrokenRule]:
    """A policy that sees no problem of its own must cover every output of the block once."""
    owners = np.arange(compute.threads(tile.block_tile_m, tile.block_tile_n) // compute.owner_lanes)
    rows, columns = compute.thread_tile_offset(owners)
    m, n = compute.thread_tile_m, compute.thread_tile_n
    height, width = int(rows.max(initial=-m)) + m, int(columns.max(initial=-n)) + n
    held = {(int(row), int(column)) for row, column in zip(rows, columns, strict=True)}
    wanted = {(row, column) for row in range(0, tile.block_tile_m, m) for column in range(0, tile.block_tile_n, n)}
    if (height, width) != (tile.block_tile_m, tile.block_tile_n) or held != wanted or len(held) != len(owners):
        yield BrokenRule(
            "block_tile_m × block_tile_n",
            f"{tile.block_tile_m} × {tile.block_tile_n}",
            f"{height} × {width}",
            f"the {len(owners)} owners of {m} × {n} outputs do not cover the block of {tile.block_tile_m} × "
            f"{tile.block_tile_n} exactly once: they reach {height} × {width}.",
        )


def _strips(tile: TilePolicy, compute: ComputePolicy) -> Iterator[BrokenRule]:
    k = tile.k_tile_size
    if k % compute.k_step:
        yield BrokenRule.multiple("k_tile_size", k, compute.k_step, f"{compute.k_step}, the k that one step consumes")
    a = tile.layout_a(compute)
    if not a.swizzle:
        return
    if a.padding:
        yield BrokenRule(
            "padding", a.padding, 0, f"padding is {a.padding} and swizzle {a.swizzle}, but a tile has one of the two."
        )
    if k % a.swizzle or a.chunks & (a.chunks - 1):
        legal = [chunk for chunk in range(1, k + 1) if k % chunk == 0 and not (k // chunk) & (k // chunk - 1)]
        yield BrokenRule(
            "swizzle",
            a.swizzle,
            min(legal, key=lambda chunk: abs(chunk - a.swizzle)),
            f"swizzle is {a.swizzle}, but the chunks of a strip of {k} must number a power of two.",
        )


def _lds(tile: TilePolicy, compute: ComputePolicy) -> Iterator[BrokenRule]:
    used = tile.shared_bytes(compute)
    if used <= LDS_BYTES:
        return
    row = tile.layout_a(compute)
    per_k = used // (row.k + row.padding)
    fits = max(LDS_BYTES // per_k - row.padding, 0) // compute.k_step * compute.k_step
    advice = "" if fits else " even with the shortest strip: make the block smaller"
    yield BrokenRule(
        "k_tile_size",
        tile.k_tile_size,
        fits or compute.k_step,
        f"{tile.num_buffers} buffer{'s' * (tile.num_buffers > 1)} of strips of k_tile_size {tile.k_tile_size} take "
        f"{used} bytes of LDS, but a work-group has {LDS_BYTES}{advice}.",
    )


def _threads(tile: TilePolicy, compute: ComputePolicy) -> Iterator[BrokenRule]:
    threads = compute.threads(tile.block_tile_m, tile.block_tile_n)
    if threads > MAX_THREADS:
        owners = MAX_THREADS // compute.owner_lanes
        yield BrokenRule(
            "threads",
            threads,
            MAX_THREADS,
            f"a work-group has {threads} threads, but at most {MAX_THREADS}: give it at most {owners} "
            f"{'waves' if compute.owner_lanes == WAVE else 'threads'}, each with more outputs.",
        )


def _registers(tile: TilePolicy, compute: ComputePolicy) -> Iterator[BrokenRule]:
    use = register_use(tile, compute)
    for field, given in (("accumulation registers", use.accumulation), ("architectural registers", use.architectural)):
        if given > EACH:
            yield BrokenRule(field, given, EACH, f"a lane needs {given} {field}, but it has at most {EACH}.")
    waves = -(-compute.threads(tile.block_tile_m, tile.block_tile_n) // WAVE)
    together = -(-waves // SIMDS)
    budget = TOTAL // together // GRANULE * GRANULE
    if use.total > budget:
        yield BrokenRule(
            "registers",
            use.total,
            budget,
            f"a lane needs {use.total} registers in all, but of the {TOTAL} of a SIMD it has at most {budget}, since "
            f"{waves} wave{'s' * (waves > 1)} of a work-group lie on {SIMDS} SIMDs.",
        )


def _direct(tile: TilePolicy, compute: ComputePolicy, memory: Memory) -> Iterator[BrokenRule]:
    a, b = tile.layout_a(compute), tile.layout_b(compute)
    if a.padding:
        yield BrokenRule(
            "padding",
            a.padding,
            0,
            f"padding is {a.padding}, but direct loads fill {DIRECT_BYTES} consecutive bytes of LDS: use swizzle.",
        )
    if a.swizzle and any(layout.swizzle * layout.bits % 32 for layout in (a, b)):
        unit = max(32 // min(a.bits, b.bits), 1)
        yield BrokenRule.multiple(
            "swizzle", a.swizzle, unit, f"{unit}, the elements of a word that a direct load moves"
        )
    for name, layout in (("A", a), ("B", b)):
        used = layout.rows * layout.k * layout.bits // 8
        if used % DIRECT_BYTES:
            k = next(k for k in _outward(tile.k_tile_size, compute.k_step) if _whole_words(k, a, b))
            yield BrokenRule(
                "k_tile_size",
                tile.k_tile_size,
                k,
                f"a strip of {name} has {used} bytes, but direct loads move {WAVE} words, {DIRECT_BYTES} bytes, at a "
                "time.",
            )
    formats = memory.formats(compute)
    for name, given, wanted in (("a", formats[0], compute.a), ("b", formats[1], compute.b)):
        if getattr(memory, name) is not None and given != wanted:
            yield BrokenRule(
                name,
                given.name,
                wanted.name,
                f"{name.upper()} is {given} in memory, but direct loads cannot convert it.",
            )
    if b.bits < 32 and memory.b_order == "row":
        yield BrokenRule(
            "b_order",
            memory.b_order,
            "column",
            f"B is stored by rows, but direct loads move words, and {32 // b.bits} {compute.b} of a word must be "
            "neighbours along k.",
        )


def _whole_words(k: int, a: TileLayout, b: TileLayout) -> bool:
    return all(layout.rows * k * layout.bits // 8 % DIRECT_BYTES == 0 for layout in (a, b))


def _outward(number: int, unit: int) -> Iterator[int]:
    """Yield positive multiples of a unit, the nearest first."""
    nearest = round_half_up(number, unit) * unit
    for distance in range(0, DIRECT_BYTES * unit + nearest, unit):
        for k in (nearest - distance, nearest + distance):
            if k > 0:
                yield k
