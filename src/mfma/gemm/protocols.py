"""The two sides of the kernel as protocols: whoever has these members can take part.

The kernel, for every work-group (`mfma.gemm.simulate` is this loop)::

    compute.zero
    tile.prologue
    for t in range(strips):
        tile.prefetch(t + tile.num_buffers - 1); tile.acquire(t)
        for ki in range(0, k_tile_size, k_step):
            compute.mma(accumulator, compute.load_a(ki), compute.load_b(ki))
        tile.release(t)
    compute.store_c

Where the C++ of a kernel names one thread, a method here does the work of all owners of all work-groups at once: arrays
have the leading axes ``(work-groups, owners)``. An owner is what holds an output sub-tile: a wave of a matrix
instruction, or a single thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mfma.builtins.op import Op
from mfma.errors import OptionError
from mfma.formats import Format
from mfma.gemm.lds import TileLayout
from mfma.gemm.memory import SharedStorage, Strips, Tile

__all__ = ["BrokenRule", "ComputePolicy", "Outputs", "TilePolicy", "check_count"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Outputs:
    """What `ComputePolicy.store_c` stores: values with their places inside the owner's sub-tile.

    ``values`` is (work-groups, owners, n) in the accumulator's element type; ``batch``, ``rows`` and ``columns`` are
    (n,), the same for every owner.
    """

    values: NDArray[Any]
    batch: Indices
    rows: Indices
    columns: Indices


@dataclass(frozen=True)
class BrokenRule:
    """A rule that a pair of policies breaks; ``str()`` is the whole sentence.

    ``field`` is the name of what is wrong, ``given`` its value and ``nearest`` the nearest legal one; ``reason`` says
    what was given and what is allowed.
    """

    field: str
    given: object
    nearest: object
    reason: str

    @classmethod
    def multiple(cls, field: str, given: int, unit: int, of: str) -> BrokenRule:
        """Word the rule that ``field`` is a positive multiple of ``unit``."""
        nearest = max(round_half_up(given, unit), 1) * unit
        return cls(field, given, nearest, f"{field} is {given}, but it must be a multiple of {of}.")

    def __str__(self) -> str:
        return f"{self.reason} The nearest legal {self.field} is {self.nearest}."


def round_half_up(number: int, unit: int) -> int:
    """Return how many units are nearest to a number."""
    return (2 * number + unit) // (2 * unit)


def check_count(name: str, value: object) -> None:
    """Raise `OptionError` unless a value is a whole number from 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise OptionError(f"{name} is {value!r}, but it is a whole number from 1.")


@runtime_checkable
class ComputePolicy(Protocol):
    """The arithmetic: which output sub-tile an owner has, what it loads, how it multiplies."""

    @property
    def thread_tile_m(self) -> int:
        """Rows of an owner's output sub-tile."""

    @property
    def thread_tile_n(self) -> int:
        """Columns of an owner's output sub-tile."""

    @property
    def batch(self) -> int:
        """Products of a batch that a work-group computes side by side."""

    @property
    def owner_lanes(self) -> int:
        """Lanes of an owner: 64 for a wave, 1 for a thread."""

    @property
    def effective_lanes(self) -> int:
        """Lanes of an owner that hold outputs when all is added up."""

    @property
    def k_step(self) -> int:
        """Values of k that one `mma` consumes."""

    @property
    def frag_size_m(self) -> int:
        """Elements of A that a lane holds for one `mma`."""

    @property
    def frag_size_n(self) -> int:
        """Elements of B that a lane holds for one `mma`."""

    @property
    def acc_size(self) -> int:
        """Elements of the accumulator that a lane holds."""

    @property
    def a(self) -> Format:
        """Format of A in LDS and registers."""

    @property
    def b(self) -> Format:
        """Format of B in LDS and registers."""

    @property
    def accumulator(self) -> Format:
        """Format of the accumulator."""

    @property
    def op(self) -> Op:
        """Instruction whose arithmetic the fast run uses; only its ``k`` and formats matter to ``model`` fma."""

    @property
    def model(self) -> str:
        """``"hardware"`` or ``"fma"``, as in `mfma.matmul`."""

    @property
    def chains(self) -> Sequence[Indices]:
        """For each partial accumulator the k within a ``k_step`` that it consumes, in that order.

        The partial accumulators are added in this order before anything is stored.
        """

    def threads(self, block_tile_m: int, block_tile_n: int) -> int:
        """Threads of a work-group with this block of outputs."""

    def broken_rules(self, block_tile_m: int, block_tile_n: int) -> Sequence[BrokenRule]:
        """Rules of the policy's own that a block of this size breaks; empty if its owners cover the block."""

    def thread_tile_offset(self, owners: Indices) -> tuple[Indices, Indices]:
        """Row and column of the sub-tile of each owner within the block."""

    def zero(self, groups: int, owners: int) -> NDArray[Any]:
        """Accumulators of all owners, at zero."""

    def load_a(self, tile: Tile, rows: Indices, ki: int) -> NDArray[Any]:
        """Fragments of A for k from ``ki``; ``rows`` is the first row of each owner."""

    def load_b(self, tile: Tile, columns: Indices, ki: int) -> NDArray[Any]:
        """Fragments of B for k from ``ki``; ``columns`` is the first column of each owner."""

    def mma(self, acc: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Accumulators with the product of the fragments added; may be ``acc`` itself."""

    def store_c(self, acc: NDArray[Any]) -> Outputs:
        """What each owner stores, with the places."""


@runtime_checkable
class TilePolicy(Protocol):
    """The data movement: what lies where in LDS, and when it is loaded and waited for."""

    @property
    def block_tile_m(self) -> int:
        """Rows of a work-group's block of outputs."""

    @property
    def block_tile_n(self) -> int:
        """Columns of a work-group's block of outputs."""

    @property
    def k_tile_size(self) -> int:
        """Values of k in a strip."""

    @property
    def num_buffers(self) -> int:
        """Buffers in LDS, 1 or 2."""

    @property
    def direct(self) -> bool:
        """Whether memory fills LDS without passing through registers."""

    def layout_a(self, compute: ComputePolicy) -> TileLayout:
        """Place of a strip of A in a buffer."""

    def layout_b(self, compute: ComputePolicy) -> TileLayout:
        """Place of a strip of B, transposed, in a buffer."""

    def shared_bytes(self, compute: ComputePolicy) -> int:
        """Bytes of LDS that a work-group takes."""

    def buf_idx(self, t: int) -> int:
        """Buffer that holds strip t."""

    def prologue(self, shared: SharedStorage, strips: Strips) -> None:
        """Load what must be there before the loop."""

    def prefetch(self, shared: SharedStorage, strips: Strips, t: int) -> None:
        """Load strip t; called with the strip ``num_buffers - 1`` ahead, which need not exist."""

    def acquire(self, shared: SharedStorage, t: int) -> None:
        """Wait until strip t may be read."""

    def release(self, shared: SharedStorage, t: int) -> None:
        """Wait until the buffer of strip t may be overwritten."""
