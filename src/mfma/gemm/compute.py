"""Compute policies: fused multiply-adds thread by thread, or any matrix instruction wave by wave."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.builtins.op import Op
from mfma.builtins.op import op as find
from mfma.errors import OptionError, UnknownNameError, near
from mfma.formats import Format
from mfma.formats.arrays import value_dtype, view
from mfma.gemm.elementwise import add
from mfma.gemm.memory import Tile
from mfma.gemm.protocols import BrokenRule, Outputs, check_count
from mfma.gemm.scalar import ScalarFMAPolicy
from mfma.isa import targets
from mfma.isa.cdna3 import TARGET
from mfma.isa.spec import WAVE, Blgp

__all__ = ["Fragment", "MfmaCdna3XF32Policy", "MfmaPolicy", "Placement", "ScalarFMAPolicy"]

Indices = NDArray[np.int64]


class Placement(enum.StrEnum):
    """Where the blocks of an instruction of several blocks go; with one block all are the same."""

    M = "m"
    """Next to one another along M; they share B."""
    N = "n"
    """Next to one another along N; they share A."""
    BATCH = "batch"
    """Each to another product of a batch."""
    K = "k"
    """All to the same outputs, each with its own stretch of k; their sums are added at the end."""


@dataclass(frozen=True)
class Fragment:
    """What each lane loads of A or B for one tile and one ``mma``, for tile row (or column) 0 and k 0.

    All arrays are (64, elements of a lane). ``rows`` are rows of A or columns of B, ``ks`` values of k, ``batch`` the
    product; lanes whose registers the instruction does not read under the modifiers are not ``active``.
    """

    rows: Indices
    ks: Indices
    batch: Indices
    active: NDArray[np.bool_]


@dataclass(frozen=True, init=False)
class MfmaPolicy:
    """A wave multiplies with a matrix instruction: ``tiles_m`` by ``tiles_n`` accumulators of it.

    Args:
        op: the instruction, by any of its names or as an object.
        waves_m: waves of a work-group along M.
        waves_n: waves along N; wave w has the place (w // waves_n, w % waves_n).
        tiles_m: instruction tiles of a wave along M; each fragment of A serves ``tiles_n`` instructions.
        tiles_n: instruction tiles along N.
        placement: where the blocks of an instruction of several blocks go: ``"m"``, ``"n"``, ``"batch"``, ``"k"``.
        kwidth: consecutive k that a lane loads at a time, a multiple of the elements that it holds for one
            instruction, and that many by default. More of them make wider reads from LDS and another order of k:
            ``k_order={"kwidth": w}`` of `mfma.matmul`.
        target: the GPU for which ``op`` is looked up.

    Along M the blocks share B, along N A. Where the hardware has a modifier for it, the shared operand is loaded once
    and broadcast (`modifiers`); elsewhere each lane loads its own copy.

    >>> policy = MfmaPolicy("f32_16x16x4f16", waves_m=2, waves_n=2, placement="n")
    >>> policy.thread_tile_m, policy.thread_tile_n, policy.modifiers
    (16, 64, (2, 0, 0))

    Raises `UnknownNameError` for ``op`` and `OptionError` for everything else.
    """

    op: Op
    waves_m: int
    waves_n: int
    tiles_m: int
    tiles_n: int
    placement: Placement
    kwidth: int
    target: str

    def __init__(
        self,
        op: str | Op,
        waves_m: int = 1,
        waves_n: int = 1,
        tiles_m: int = 1,
        tiles_n: int = 1,
        placement: str | Placement = Placement.M,
        kwidth: int | None = None,
        target: str = TARGET,
    ):
        face = find(op, target)
        held = face.registers.a.elements
        counts = {"waves_m": waves_m, "waves_n": waves_n, "tiles_m": tiles_m, "tiles_n": tiles_n}
        for name, value in counts.items():
            check_count(name, value)
        if placement not in tuple(Placement):
            choices = [str(choice) for choice in Placement]
            raise OptionError(
                f"placement is {placement!r}, but blocks go along one of {', '.join(choices)}."
                f"{near(str(placement), choices)}"
            )
        width = held if kwidth is None else kwidth
        if not isinstance(width, int) or isinstance(width, bool) or width < 1 or width % held:
            raise OptionError(
                f"kwidth is {kwidth!r}, but it is a multiple of the {held} elements that a lane of {face} holds."
            )
        facts = {"op": face, **counts, "placement": Placement(placement), "kwidth": width, "target": face.target}
        for name, fact in facts.items():
            object.__setattr__(self, name, fact)

    @property
    def a(self) -> Format:
        """Format of A in LDS and registers."""
        return self.op.a

    @property
    def b(self) -> Format:
        """Format of B in LDS and registers."""
        return self.op.b

    @property
    def accumulator(self) -> Format:
        """Format of the accumulator."""
        return self.op.cd

    @property
    def model(self) -> str:
        """The arithmetic of the instruction itself."""
        return "hardware"

    @property
    def owner_lanes(self) -> int:
        """An output sub-tile belongs to a wave."""
        return WAVE

    def _blocks(self, placement: Placement) -> int:
        return self.op.blocks if self.placement is placement else 1

    @cached_property
    def batch(self) -> int:
        """Products of a batch that a work-group computes side by side."""
        return self._blocks(Placement.BATCH)

    @cached_property
    def op_tile_m(self) -> int:
        """Rows of the outputs of one instruction."""
        return self.op.m * self._blocks(Placement.M)

    @cached_property
    def op_tile_n(self) -> int:
        """Columns of the outputs of one instruction."""
        return self.op.n * self._blocks(Placement.N)

    @cached_property
    def thread_tile_m(self) -> int:
        """Rows of a wave's outputs."""
        return self.op_tile_m * self.tiles_m

    @cached_property
    def thread_tile_n(self) -> int:
        """Columns of a wave's outputs."""
        return self.op_tile_n * self.tiles_n

    @cached_property
    def effective_lanes(self) -> int:
        """Lanes that store outputs: all 64, fewer where blocks in other lanes are added up."""
        return len(np.unique(self._stored[0]))

    @cached_property
    def instructions_per_step(self) -> int:
        """Instructions that one load of ``kwidth`` feeds, for each pair of tiles."""
        return self.kwidth // self.op.registers.a.elements

    @cached_property
    def lane_groups(self) -> int:
        """Groups of lanes among which an instruction splits its k."""
        return self.op.k // self.op.registers.a.elements

    @cached_property
    def k_step(self) -> int:
        """Values of k that one `mma` consumes."""
        return self.op.k * self.instructions_per_step * self._blocks(Placement.K)

    @property
    def frag_size_m(self) -> int:
        """Elements of A that a lane holds for one `mma`."""
        return self.tiles_m * self.kwidth

    @property
    def frag_size_n(self) -> int:
        """Elements of B that a lane holds for one `mma`."""
        return self.tiles_n * self.kwidth

    @property
    def acc_size(self) -> int:
        """Elements of the accumulator that a lane holds."""
        return self.tiles_m * self.tiles_n * self.op.registers.cd.elements

    @cached_property
    def modifiers(self) -> tuple[int, int, int]:
        """``cbsz``, ``abid`` and ``blgp`` of the instruction.

        Blocks along N all read block 0 of A. Blocks along M all read B from the lanes of block 0, where a lane
        pattern of the width of a block exists: 32 lanes or 16.
        """
        record = self.op.record
        if self.placement is Placement.N and record.max_cbsz:
            return record.max_cbsz, 0, 0
        if self.placement is Placement.M and record.blocks > 1 and record.blgp is Blgp.LANES:
            return 0, 0, BROADCAST_OF_LANES.get(record.n, 0)
        return 0, 0, 0

    def threads(self, block_tile_m: int, block_tile_n: int) -> int:
        """Threads of a work-group: 64 for each wave, whatever the block."""
        return self.waves_m * self.waves_n * WAVE

    def broken_rules(self, block_tile_m: int, block_tile_n: int) -> list[BrokenRule]:
        """Rules that a block of this size breaks: the waves do not cover it, or cover more."""
        sides = (
            ("block_tile_m", block_tile_m, "waves_m", self.waves_m, self.thread_tile_m, "rows"),
            ("block_tile_n", block_tile_n, "waves_n", self.waves_n, self.thread_tile_n, "columns"),
        )
        return [
            BrokenRule(
                name,
                size,
                waves * tile,
                f"{name} is {size}, but {waves} wave{'s' * (waves > 1)} of {tile} {what} cover {waves * tile}"
                + (f"; {size // tile} for {field} would cover it." if size % tile == 0 else "."),
            )
            for name, size, field, waves, tile, what in sides
            if waves * tile != size
        ]

    @cached_property
    def chains(self) -> Sequence[Indices]:
        """For each partial accumulator the k within a ``k_step`` that it consumes, in that order."""
        held = self.op.registers.a.elements
        blocks = self._blocks(Placement.K)
        ks = np.arange(self.k_step).reshape(blocks, self.lane_groups, self.instructions_per_step, held)
        return tuple(ks.swapaxes(1, 2).reshape(blocks, -1))

    @cached_property
    def fragment_a(self) -> Fragment:
        """What each lane loads of A."""
        return self._fragment("A", self._blocks(Placement.M), self.op.m)

    @cached_property
    def fragment_b(self) -> Fragment:
        """What each lane loads of B."""
        return self._fragment("B", self._blocks(Placement.N), self.op.n)

    def _fragment(self, matrix: str, spread: int, size: int) -> Fragment:
        """Number the elements of the logical operand, and let its layout place the numbers in lanes."""
        op, width = self.op, self.kwidth
        held = op.registers.a.elements
        block, row, k = np.indices((op.blocks, size, op.k))
        group, element = k // held, k % held
        k_block = block * (self.placement is Placement.K)
        first = (k_block * self.lane_groups + group) * width + element  # of the first instruction of a step
        batch = block * (self.placement is Placement.BATCH)
        place = row + size * block * (spread > 1)
        layout = op.layout(matrix, *self.modifiers)

        def placed(numbers: Indices) -> Indices:
            registers = layout.pack(numbers if matrix == "A" else numbers.swapaxes(1, 2)).reshape(WAVE, 1, held)
            return np.repeat(registers, self.instructions_per_step, axis=1)

        later = held * np.arange(self.instructions_per_step)[:, None]
        return Fragment(
            rows=placed(place).reshape(WAVE, width),
            ks=(placed(first) + later).reshape(WAVE, width),
            batch=placed(batch).reshape(WAVE, width),
            active=placed(np.ones_like(block)).reshape(WAVE, width) != 0,
        )

    @cached_property
    def _stored(self) -> tuple[Indices, Indices]:
        """Lane and element of the accumulator of every output of a tile: of block 0 where the blocks are added."""
        op = self.op
        lanes, held = WAVE, op.registers.cd.elements
        place = op.layout("D").unpack(np.arange(lanes * held).reshape(op.layout("D").register_shape))
        kept = place[:1] if self.placement is Placement.K else place
        lane, element = np.divmod(kept.ravel(), held)
        return lane, element

    def thread_tile_offset(self, owners: Indices) -> tuple[Indices, Indices]:
        """Row and column of the sub-tile of each wave within the block."""
        return owners // self.waves_n * self.thread_tile_m, owners % self.waves_n * self.thread_tile_n

    def zero(self, groups: int, owners: int) -> NDArray[Any]:
        """Accumulators at zero: (groups, owners, tiles_m, tiles_n, 64, n), without n if it is 1."""
        lanes = self.op.layout("D").register_shape
        return np.zeros((groups, owners, self.tiles_m, self.tiles_n, *lanes), value_dtype(self.accumulator))

    def load_a(self, tile: Tile, rows: Indices, ki: int) -> NDArray[Any]:
        """Fragments of A: (groups, owners, tiles_m, 64, kwidth)."""
        block = tile.layout.rows // self.batch
        return _load(tile, self.fragment_a, rows[:, None] + self.op_tile_m * np.arange(self.tiles_m), block, ki)

    def load_b(self, tile: Tile, columns: Indices, ki: int) -> NDArray[Any]:
        """Fragments of B: (groups, owners, tiles_n, 64, kwidth)."""
        block = tile.layout.rows // self.batch
        return _load(tile, self.fragment_b, columns[:, None] + self.op_tile_n * np.arange(self.tiles_n), block, ki)

    def mma(self, acc: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Execute the instructions of one step, on every pair of tiles, one after the other along k."""
        held = self.op.registers.a.elements
        for r in range(self.instructions_per_step):
            now = slice(r * held, (r + 1) * held) if held > 1 else r
            for i in range(self.tiles_m):
                for j in range(self.tiles_n):
                    d = acc[:, :, i, j]
                    self.op(a[:, :, i, :, now], b[:, :, j, :, now], d, *self.modifiers, out=d)
        return acc

    def store_c(self, acc: NDArray[Any]) -> Outputs:
        """Outputs of every lane, tile after tile; with blocks along k their sums, in ascending order of blocks."""
        op = self.op
        matrices = op.layout("D").unpack(acc)  # (groups, owners, tiles_m, tiles_n, blocks, m, n)
        if self.placement is Placement.K:
            total = matrices[..., 0, :, :]
            for b in range(1, op.blocks):
                total = add(total, matrices[..., b, :, :], op.cd)
            matrices = total[..., None, :, :]
        place: tuple[Indices, ...] = tuple(np.indices(matrices.shape[2:]))
        i, j, block, row, column = place
        rows = i * self.op_tile_m + block * op.m * (self.placement is Placement.M) + row
        columns = j * self.op_tile_n + block * op.n * (self.placement is Placement.N) + column
        batch = block * (self.placement is Placement.BATCH)
        return Outputs(matrices.reshape(*acc.shape[:2], -1), batch.ravel(), rows.ravel(), columns.ravel())


BROADCAST_OF_LANES = {32: 1, 16: 4}
"""Lanes of a block of B -> the ``blgp`` that lets every block read those of block 0."""


def MfmaCdna3XF32Policy(  # noqa: N802  (the name under which the ROCm page has it)
    waves_m: int = 2, waves_n: int = 2, *, target: str = TARGET
) -> MfmaPolicy:
    """Return the policy of the ROCm page's example: xf32 16x16x8, a 16x16 tile for each of 2x2 waves.

    Raises `UnknownNameError` for a target without the instruction, such as gfx950.

    >>> MfmaCdna3XF32Policy().k_step
    8
    """
    name = "f32_16x16x8_xf32"
    if target != TARGET:
        raise UnknownNameError(str(targets.why_not(name, targets.target(target).name)))
    return MfmaPolicy(name, waves_m, waves_n)


def _load(tile: Tile, fragment: Fragment, first: Indices, block: int, ki: int) -> NDArray[Any]:
    """Read the fragments of all tiles: their first rows are ``first`` (owners, tiles), a product has ``block`` rows."""
    rows = first[:, :, None, None] + fragment.rows + block * fragment.batch
    ks = np.broadcast_to(ki + fragment.ks, rows.shape)
    return view(tile.read(rows, ks, np.broadcast_to(fragment.active, rows.shape)), tile.format)
