"""The compute policy that needs no matrix instruction: fused multiply-adds, thread by thread."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.builtins.op import Op
from mfma.builtins.op import op as find
from mfma.formats import F32, Format
from mfma.formats.arrays import view
from mfma.gemm.elementwise import fma
from mfma.gemm.memory import Tile
from mfma.gemm.protocols import BrokenRule, Outputs, check_count

__all__ = ["ScalarFMAPolicy"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class ScalarFMAPolicy:
    """A thread multiplies f32 with ``v_fma_f32``: a rank-1 update of its outputs for every k, k ascending.

    Thread t has the sub-tile in row ``t // block_dim_x`` and column ``t % block_dim_x`` of sub-tiles.

    >>> ScalarFMAPolicy(4, 4, 8).threads(32, 32)
    64
    """

    thread_tile_m: int
    thread_tile_n: int
    block_dim_x: int

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            check_count(field.name, getattr(self, field.name))

    @property
    def a(self) -> Format:
        """Format of A in LDS and registers."""
        return F32

    @property
    def b(self) -> Format:
        """Format of B in LDS and registers."""
        return F32

    @property
    def accumulator(self) -> Format:
        """Format of the accumulator."""
        return F32

    @property
    def op(self) -> Op:
        """An instruction of the same formats, whose k of 1 adds no padding."""
        return find("f32_32x32x1f32")

    @property
    def model(self) -> str:
        """Fused multiply-adds, as `mfma.matmul` has them."""
        return "fma"

    @property
    def batch(self) -> int:
        """One product at a time."""
        return 1

    @property
    def owner_lanes(self) -> int:
        """An output sub-tile belongs to a thread."""
        return 1

    @property
    def effective_lanes(self) -> int:
        """The lane itself."""
        return 1

    @property
    def k_step(self) -> int:
        """One k at a time."""
        return 1

    @property
    def frag_size_m(self) -> int:
        """Elements of A that a thread holds: one for each of its rows."""
        return self.thread_tile_m

    @property
    def frag_size_n(self) -> int:
        """Elements of B that a thread holds: one for each of its columns."""
        return self.thread_tile_n

    @property
    def acc_size(self) -> int:
        """Elements of the accumulator."""
        return self.thread_tile_m * self.thread_tile_n

    @property
    def chains(self) -> Sequence[Indices]:
        """One accumulator, which consumes the one k of a step."""
        return (np.zeros(1, np.int64),)

    def threads(self, block_tile_m: int, block_tile_n: int) -> int:
        """Threads that cover a block, sub-tile by sub-tile."""
        return -(-block_tile_m // self.thread_tile_m) * -(-block_tile_n // self.thread_tile_n)

    def broken_rules(self, block_tile_m: int, block_tile_n: int) -> list[BrokenRule]:
        """Rules that a block of this size breaks: the threads do not cover it."""
        broken = [
            BrokenRule.multiple(name, size, unit, f"{unit}, the {what} of a thread's outputs")
            for name, size, unit, what in (
                ("block_tile_m", block_tile_m, self.thread_tile_m, "rows"),
                ("block_tile_n", block_tile_n, self.thread_tile_n, "columns"),
            )
            if size % unit
        ]
        across = -(-block_tile_n // self.thread_tile_n)
        if self.block_dim_x != across:
            broken.append(
                BrokenRule(
                    "block_dim_x",
                    self.block_dim_x,
                    across,
                    f"block_dim_x is {self.block_dim_x}, but threads of {self.thread_tile_n} columns stand {across} "
                    f"across a block of {block_tile_n}: a row of threads would cover "
                    f"{self.block_dim_x * self.thread_tile_n} columns.",
                )
            )
        return broken

    def thread_tile_offset(self, owners: Indices) -> tuple[Indices, Indices]:
        """Row and column of the sub-tile of each thread within the block."""
        return owners // self.block_dim_x * self.thread_tile_m, owners % self.block_dim_x * self.thread_tile_n

    def zero(self, groups: int, owners: int) -> NDArray[Any]:
        """Accumulators at zero: (groups, owners, thread_tile_m, thread_tile_n)."""
        return np.zeros((groups, owners, self.thread_tile_m, self.thread_tile_n), np.float32)

    def load_a(self, tile: Tile, rows: Indices, ki: int) -> NDArray[Any]:
        """Fragments of A: (groups, owners, thread_tile_m)."""
        at = rows[:, None] + np.arange(self.thread_tile_m)
        return view(tile.read(at, np.full_like(at, ki)), F32)

    def load_b(self, tile: Tile, columns: Indices, ki: int) -> NDArray[Any]:
        """Fragments of B: (groups, owners, thread_tile_n)."""
        at = columns[:, None] + np.arange(self.thread_tile_n)
        return view(tile.read(at, np.full_like(at, ki)), F32)

    def mma(self, acc: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Add the outer product of the fragments, one fused multiply-add for each output."""
        return fma(a[..., :, None], b[..., None, :], acc, F32)

    def store_c(self, acc: NDArray[Any]) -> Outputs:
        """Outputs of every thread, row by row."""
        rows, columns = np.indices(acc.shape[2:]).reshape(2, -1)
        return Outputs(acc.reshape(*acc.shape[:2], -1), np.zeros_like(rows), rows, columns)
