"""Tile policies: how strips of A and B travel from memory to LDS, and when.

A work-group owns a block of ``block_tile_m`` by ``block_tile_n`` outputs and walks over K in strips of ``k_tile_size``.
Strip t of A, and of B transposed, lies in a buffer of LDS in the formats of the compute policy, k contiguous. Elements
outside the matrices are zero there, so ragged sizes need no care anywhere else.

Element number ``x`` of a strip is moved by thread ``x % threads``: row ``x // k_tile_size`` and k ``x % k_tile_size``
where k is contiguous in memory (A, and B stored by columns); for B stored by rows, ``x % block_tile_n`` is the column,
so that neighbouring lanes always read neighbouring elements of memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mfma.errors import OptionError
from mfma.gemm.lds import TileLayout
from mfma.gemm.memory import SharedStorage, Strips
from mfma.gemm.protocols import ComputePolicy

__all__ = ["DirectToLdsTilePolicy", "DoubleBufferTilePolicy", "SingleBufferTilePolicy"]


LEAST = {"block_tile_m": 1, "block_tile_n": 1, "k_tile_size": 1, "padding": 0, "swizzle": 0}


@dataclass(frozen=True)
class _Tiles:
    """What the tile policies share: sizes, padding or swizzle, and the places of the tiles in LDS."""

    block_tile_m: int
    block_tile_n: int
    k_tile_size: int
    padding: int = 0
    """Unused elements at the end of every row in LDS."""
    swizzle: int = 0
    """Elements of a chunk of k that an XOR of its number with the row's moves about; 0 is none."""

    num_buffers: ClassVar[int] = 1
    direct: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, least in (
            ("block_tile_m", 1),
            ("block_tile_n", 1),
            ("k_tile_size", 1),
            ("padding", 0),
            ("swizzle", 0),
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise OptionError(f"{name} is {value!r}, but it is a whole number from {least}.")

    def layout_a(self, compute: ComputePolicy) -> TileLayout:
        """Place of a strip of A in a buffer: rows of A, of one product of the batch after the other."""
        rows = self.block_tile_m * compute.batch
        return TileLayout(rows, self.k_tile_size, compute.a.bits, self.padding, self.swizzle)

    def layout_b(self, compute: ComputePolicy) -> TileLayout:
        """Place of a strip of B, transposed: its rows are the columns of B."""
        rows = self.block_tile_n * compute.batch
        return TileLayout(rows, self.k_tile_size, compute.b.bits, self.padding, self.swizzle)

    def shared_bytes(self, compute: ComputePolicy) -> int:
        """Bytes of LDS that a work-group takes."""
        return self.num_buffers * (self.layout_a(compute).bytes + self.layout_b(compute).bytes)

    def buf_idx(self, t: int) -> int:
        """Buffer that holds strip t."""
        return t % self.num_buffers


@dataclass(frozen=True)
class SingleBufferTilePolicy(_Tiles):
    """One buffer: load a strip, wait, compute, wait.

    >>> SingleBufferTilePolicy(32, 32, 8).buf_idx(5)
    0
    """

    def prologue(self, shared: SharedStorage, strips: Strips) -> None:
        """Do nothing: there is no strip ahead of the first."""

    def prefetch(self, shared: SharedStorage, strips: Strips, t: int) -> None:
        """Load strip t, the one that is computed next."""
        shared.fill(self.buf_idx(t), strips, t)

    def acquire(self, shared: SharedStorage, t: int) -> None:
        """Wait until every wave has written its part."""
        shared.barrier()

    def release(self, shared: SharedStorage, t: int) -> None:
        """Wait until every wave has read what it needs."""
        shared.barrier()


@dataclass(frozen=True)
class DoubleBufferTilePolicy(_Tiles):
    """Two buffers: the next strip travels while this one is computed, with one barrier per strip."""

    num_buffers: ClassVar[int] = 2

    def prologue(self, shared: SharedStorage, strips: Strips) -> None:
        """Load strip 0 and wait for it."""
        shared.fill(0, strips, 0)
        shared.barrier()

    def prefetch(self, shared: SharedStorage, strips: Strips, t: int) -> None:
        """Load strip t, the one after that which is computed next, if there is one."""
        if t < strips.count:
            shared.fill(self.buf_idx(t), strips, t)

    def acquire(self, shared: SharedStorage, t: int) -> None:
        """Do nothing: the barrier of the strip before has seen to it."""

    def release(self, shared: SharedStorage, t: int) -> None:
        """Wait until the next strip is there and this one has been read."""
        shared.barrier()


@dataclass(frozen=True)
class DirectToLdsTilePolicy(SingleBufferTilePolicy):
    """One buffer that memory fills without passing through registers (``global_load_lds_dword``).

    A wave moves 64 words of 4 bytes at a time to consecutive addresses of LDS, so rows cannot be padded, the tiles
    are whole numbers of 256 bytes, nothing can be converted on the way, and elements that share a word must lie side
    by side along k in memory. Each lane chooses the word that it fetches, which is how a swizzle of whole words comes
    for free. Blocks at a ragged edge, and rows that do not start at a multiple of 4 bytes, take the way of
    `SingleBufferTilePolicy`.
    """

    direct: ClassVar[bool] = True
