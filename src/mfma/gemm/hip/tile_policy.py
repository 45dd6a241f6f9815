"""Tile policies in C++: where strips lie in LDS, and how they get there."""

from __future__ import annotations

from mfma.gemm.hip.conversions import conversions
from mfma.gemm.hip.source import fill
from mfma.gemm.kernel import Gemm
from mfma.gemm.lds import BANK_BYTES, BANKS, LDS_BYTES
from mfma.gemm.protocols import TilePolicy
from mfma.gemm.tiles import DirectToLdsTilePolicy, DoubleBufferTilePolicy, SingleBufferTilePolicy

__all__ = ["STRUCTS", "fallback_tile", "instance", "tile_policies"]

STRUCTS: dict[type[TilePolicy], tuple[str, ...]] = {
    SingleBufferTilePolicy: ("single",),
    DoubleBufferTilePolicy: ("double",),
    DirectToLdsTilePolicy: ("single", "direct"),
}
"""Tile policy -> the templates that make it up."""

BY_ROWS = """\
        const int product = x / (TilePolicy::block_tile_n * TilePolicy::k_tile_size);
        const int kk = x / TilePolicy::block_tile_n % TilePolicy::k_tile_size;
        const int row = product * TilePolicy::block_tile_n + x % TilePolicy::block_tile_n;"""
BY_COLUMNS = """\
        const int row = x / TilePolicy::k_tile_size, kk = x % TilePolicy::k_tile_size;"""

IN_PLACE = """\
    static __device__ constexpr int place(int, int kk) { return kk; }"""


def tile_policies(gemm: Gemm) -> str:
    """Write the tile policy of a kernel with all that it needs."""
    tile, by_columns = gemm.tile, gemm.memory.b_order == "column"
    layout, made = tile.layout_a(gemm.compute), conversions(gemm)
    parts = [
        fill(
            "tiles",
            load_a=made.a.of("*element"),
            load_b=made.b.of("*element"),
            **made.memory_types,
            b_storage="n x k: B is stored by columns" if by_columns else "k x n, row-major",
            b_index="((long long)product * block.n + j) * block.k + p"
            if by_columns
            else "((long long)product * block.k + p) * block.n + j",
            b_walk=BY_COLUMNS if by_columns else BY_ROWS,
            b_walk_comment=" and B" if by_columns else ", along n in B",
            padding=f" + {layout.padding}" if layout.padding else "",
            padding_comment=f"  // {layout.padding} unused: rows start in other banks" if layout.padding else "",
            place=_swizzled(layout.swizzle) if layout.swizzle else IN_PLACE,
        )
    ]
    for name in STRUCTS[type(tile)]:
        values = {} if name != "direct" else _direct_values(gemm, by_columns)
        parts.append(fill(name, **values))
    return "\n\n".join(parts)


def instance(tile: TilePolicy, batch: int) -> str:
    """Write the type of a tile policy."""
    sizes = [tile.block_tile_m, tile.block_tile_n, tile.k_tile_size, *([batch] if batch > 1 else [])]
    return f"{type(tile).__name__}<{', '.join(map(str, sizes))}>"


def fallback_tile(gemm: Gemm) -> tuple[str, int]:
    """Write the type of the fallback's tile policy, and say how many outputs long and wide its block is.

    It is the kernel's own with the largest square block that fits into LDS; for direct loads, which other GPUs lack,
    the one buffer that they fall back on themselves.
    """
    tile = gemm.tile
    a, b = tile.layout_a(gemm.compute), tile.layout_b(gemm.compute)
    size = 32
    while size > 4 and tile.num_buffers * size * (a.row_bytes + b.row_bytes) > LDS_BYTES:
        size //= 2
    struct = SingleBufferTilePolicy if tile.direct else type(tile)
    return f"{struct.__name__}<{size}, {size}, {tile.k_tile_size}>", size


def _swizzled(chunk: int) -> str:
    return f"""\
    // Chunks of {chunk} change places with the row, so that a column of them is spread over all banks.
    static __device__ constexpr int place(int row, int kk) {{
        constexpr int chunks = K / {chunk}, row_bytes = K * (int)sizeof(Elem);
        constexpr int rows_per_line = row_bytes < {BANKS * BANK_BYTES} ? {BANKS * BANK_BYTES} / row_bytes : 1;
        return (kk / {chunk} ^ row / rows_per_line % chunks) * {chunk} + kk % {chunk};
    }}
"""


def _direct_values(gemm: Gemm, by_columns: bool) -> dict[str, object]:
    narrow = [("elem_a", gemm.compute.a.bits)] + ([("elem_b", gemm.compute.b.bits)] if by_columns else [])
    words = [f"block.k * sizeof({name}) % 4 == 0" for name, bits in narrow if bits < 32]
    swizzle = gemm.tile.layout_a(gemm.compute).swizzle
    return {
        "whole_words": " && ".join(dict.fromkeys(words)) or "true",
        "place_comment": "  // a swizzle undoes itself" if swizzle else "",
    }
