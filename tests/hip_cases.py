"""Kernels of which HIP programs are made: every instruction, placement of blocks and tile policy."""

import mfma
from mfma.gemm.compute import MfmaPolicy, Placement
from mfma.gemm.operands import Memory
from mfma.gemm.tiles import DirectToLdsTilePolicy, DoubleBufferTilePolicy, SingleBufferTilePolicy

OPS = tuple(mfma.ops())
TILES = {
    "single": (SingleBufferTilePolicy, {}),
    "padded": (SingleBufferTilePolicy, {"padding": 4}),
    "swizzled": (SingleBufferTilePolicy, {"swizzle": 8}),
    "double": (DoubleBufferTilePolicy, {}),
    "double_padded": (DoubleBufferTilePolicy, {"padding": 8}),
    "double_swizzled": (DoubleBufferTilePolicy, {"swizzle": 4}),
    "direct": (DirectToLdsTilePolicy, {}),
    "direct_swizzled": (DirectToLdsTilePolicy, {"swizzle": 8}),
}


def placements(op):
    return tuple(Placement) if op.blocks > 1 else (Placement.M,)


def kernel(op, kind, placement=Placement.M, waves=(2, 2), tiles=(1, 1), strip=16, **options):
    """Return tile policy, compute policy and memory: strips of at least ``strip`` k."""
    compute = MfmaPolicy(op, *waves, *tiles, placement=placement, **options)
    struct, extra = TILES[kind]
    is_direct = struct is DirectToLdsTilePolicy
    k = compute.k_step
    while k < strip or (is_direct and _bytes(compute, waves, k) % 256):
        k *= 2
    tile = struct(compute.thread_tile_m * waves[0], compute.thread_tile_n * waves[1], k, **extra)
    return tile, compute, Memory(b_order="column" if is_direct and compute.b.bits < 32 else "row")


def _bytes(compute, waves, k):
    rows = min(compute.thread_tile_m * waves[0], compute.thread_tile_n * waves[1]) * compute.batch
    return rows * k * compute.a.bits // 8
