"""Whether what one instruction wrote can be read by another where it lies.

D of one product is often an operand of the next: attention multiplies by the scores that it has just computed. D is
placed by columns, A and B by runs of k, so the registers fit only sometimes. A lane keeps its rows or columns as long
as nothing moves between lanes; what is left to choose is the register that serves as each element, and with it the
order in which the second product consumes k. Four answers, best first:

* the registers are the operand as they are, k ascending;
* they are the operand under another order of k, which the other operand must follow; whether the bits of the result
  change is a matter of the instruction's accumulation record: they do not if every group of products that is rounded
  at once holds the same k as before;
* registers of other lanes are needed, each pulled as a whole;
* a lane needs several of them and must select.

"Transposed" is the use of D that a kernel gets by swapping the operands of the first product: D = (B^T)(A^T) is the
transpose of A·B, and placed so that its rows lie along the lanes.

If the shapes differ, the smallest whole number of tiles that fits both is looked at: as many D as fill whole operands
of the second instruction. Elements are converted to its format where they lie and packed with their neighbours.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mfma.errors import OptionError
from mfma.formats import F32, XF32, Format
from mfma.isa.accumulation import GroupSum, IntegerSum
from mfma.isa.cdna3 import TARGET
from mfma.isa.spec import WAVE, MatrixOp
from mfma.layout.moves import Move, moves
from mfma.layout.patterns import operand_pattern
from mfma.layout.queries import record_of, runs, spell

__all__ = ["Chain", "Feed", "Source", "chain", "chains"]

Indices = npt.NDArray[np.intp]


class Source(NamedTuple):
    """One element per lane: register ``vgpr`` (the first of a pair for f64) of D number ``tile``.

    Where several D take part, they are numbered as tiles of one large matrix: k fastest, then the outer index, then
    blocks.
    """

    tile: int
    vgpr: int

    def __str__(self) -> str:
        return f"v{self.vgpr}" if self.tile == 0 else f"v{self.vgpr} of D {self.tile}"


@dataclass(frozen=True)
class Feed:
    """Where register ``vgpr`` of the operand comes from, lowest element first.

    ``instruction`` numbers the second instructions as `Source` numbers the D: k fastest. A 64-bit element is named by
    the first register of its pair.
    """

    instruction: int
    vgpr: int
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Sides:
    """Both sides of a chain, tile by tile: block, outer index and k of every (lane, element slot)."""

    sizes: tuple[int, int, int]
    held: tuple[Indices, Indices, Indices]
    wanted: tuple[Indices, Indices, Indices]

    @property
    def slots(self) -> int:
        """Elements of a lane."""
        return math.prod(self.sizes) // WAVE


@dataclass(frozen=True)
class Chain:
    """How D of ``first`` becomes ``operand`` of ``second``; made by `chain`."""

    first: MatrixOp
    second: MatrixOp
    operand: str
    transposed: bool

    def __str__(self) -> str:
        return f"D{' transposed' * self.transposed} of {self.first} as {self.operand} of {self.second}: {self.verdict}"

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        if self.direct:
            return "fits as it lies, k ascending"
        if self.k_order is not None:
            rounding = "which changes the rounding" if self.changes_rounding else "which keeps every bit"
            return f"fits as it lies if both operands take k in the order {spell_order(self.k_order)}, {rounding}"
        select = "" if self.whole_registers else ", and lanes that select among them"
        return (
            f"does not fit in any order of k: it takes {self.pulls} pulls of registers between lanes{select}, "
            f"or a way through LDS of at most {self.lds_accesses} accesses"
        )

    @property
    def direct(self) -> bool:
        """Whether the registers of D are the operand, with k ascending and nothing moved between lanes."""
        return self.k_order == tuple(range(self.k))

    @property
    def k(self) -> int:
        """Length of k that whole tiles of both instructions cover."""
        return self._sides.sizes[2]

    @property
    def tiles(self) -> int:
        """How many D take part."""
        return self._sides.slots // self.first.registers.cd.elements

    @property
    def instructions(self) -> int:
        """How many of the second instruction consume them."""
        return self._sides.slots // self._per_lane

    @property
    def in_place(self) -> int:
        """Slots of the operand that hold the right element if the registers of D are taken for it in their order.

        >>> chain("f32_16x16x16f16", "f32_16x16x16f16", "A").in_place  # of 256: the diagonal
        16
        """
        sides = self._sides
        same = np.logical_and.reduce([h == w for h, w in zip(sides.held, sides.wanted, strict=True)])
        return int(same.sum())

    @cached_property
    def k_order(self) -> tuple[int, ...] | None:
        """Order of k in which the second product reads D without any move between lanes; None if there is none.

        Position p of the second product's k takes k index ``k_order[p]`` of D; the other operand must be given in
        the same order. It is what `mfma.matmul` takes under this name.
        """
        if self._assignment is None:
            return None
        taken, wanted = self._sides.held[2][:, self._assignment], self._sides.wanted[2]
        order = np.empty(self.k, np.intp)
        order[wanted] = taken
        return tuple(order.tolist()) if (order[wanted] == taken).all() else None

    @property
    def groups_before(self) -> tuple[tuple[int, ...], ...]:
        """Values of k whose products are rounded together, in order, if k is ascending."""
        return self._groups(range(self.k))

    @property
    def groups_after(self) -> tuple[tuple[int, ...], ...]:
        """The same in the order `k_order`, as k indices of D; empty if there is no such order."""
        return self._groups(self.k_order or ())

    @property
    def changes_rounding(self) -> bool:
        """Whether `k_order` can change bits of the result: whether it moves k across groups that are rounded at once.

        Where sums of even and odd k are cut apart, moving k between the two counts as well. Integer sums never change.
        """
        if self.k_order is None or isinstance(self.second.accumulation, IntegerSum):
            return False
        return self._rounded_together(range(self.k)) != self._rounded_together(self.k_order)

    @property
    def conversion(self) -> str | None:
        """What happens to an element of D before it is used, or None if its bits are taken as they are."""
        out, used = self.first.out, self._format
        if out is used or (out is F32 and used is XF32):
            return None
        packed = 32 // used.bits
        return f"{out} to {used}" + (f", {packed} to a register" if packed > 1 else "")

    @property
    def feeds(self) -> tuple[Feed, ...]:
        """The registers of D behind every register of the operand, under `k_order`; empty if there is none.

        >>> [str(source) for source in chain("f32_32x32x8f16", "f32_32x32x8f16", "B").feeds[2].sources]
        ['v4', 'v5']
        """
        if self._assignment is None or self.k_order is None:
            return ()
        sources = [self.source(slot) for slot in self._assignment]
        width = self._format.bits
        packed = max(32 // width, 1)
        slots = range(0, len(sources), packed)
        return tuple(
            Feed(slot // self._per_lane, slot % self._per_lane * width // 32, tuple(sources[slot : slot + packed]))
            for slot in slots
        )

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """What every register of the operand takes from which lanes, for ascending k; empty if nothing moves."""
        if self.direct:
            return ()
        sides = self._sides
        lane = np.empty(sides.sizes, np.intp)
        slot = np.empty(sides.sizes, np.intp)
        lane[sides.held] = np.arange(WAVE)[:, None]
        slot[sides.held] = np.arange(sides.slots)[None, :]
        return moves(lane[sides.wanted], slot[sides.wanted], self._per_lane, self._format.bits)

    def source(self, slot: int) -> Source:
        """Return the register of D that slot number ``slot`` of a `Pull` stands for."""
        tile, element = divmod(slot, self.first.registers.cd.elements)
        return Source(tile, element * self.first.out.bits // 32)

    @property
    def pulls(self) -> int:
        """Whole registers that `moves` takes from other lanes or, before a select, from several registers."""
        return sum(len(move.pulls) for move in self.moves)

    @property
    def lds_accesses(self) -> int:
        """32-bit accesses to LDS that write every register of D and read every register of the operand."""
        return (self._sides.slots * (self.first.out.bits + self._format.bits)) // 32

    @property
    def whole_registers(self) -> bool:
        """Whether every part of `moves` is one register for all lanes, so that no lane has to select."""
        return all(len(move.pulls) == 1 for move in self.moves)

    @property
    def _format(self) -> Format:
        return self.second.a if self.operand == "A" else self.second.b

    @property
    def _per_lane(self) -> int:
        registers = self.second.registers
        return (registers.a if self.operand == "A" else registers.b).elements

    @cached_property
    def _sides(self) -> Sides:
        block, row, column = _coordinates(self.first, "D")
        outer_is_column = (self.operand == "A") == self.transposed
        held = (block, column, row) if outer_is_column else (block, row, column)
        one = (self.first.blocks, *((self.first.n, self.first.m) if outer_is_column else (self.first.m, self.first.n)))
        block, row, column = _coordinates(self.second, self.operand)
        wanted = (block, row, column) if self.operand == "A" else (block, column, row)
        other = (self.second.blocks, self.second.m if self.operand == "A" else self.second.n, self.second.k)
        blocks, outer, k = map(math.lcm, one, other)
        sizes = (blocks, outer, k)
        return Sides(sizes, _tiled(held, one, sizes), _tiled(wanted, other, sizes))

    @cached_property
    def _assignment(self) -> tuple[int, ...] | None:
        """Slot of D for every slot of the operand such that no lane needs another's, in ascending k; None if there
        is none.

        Slots whose lanes hold the same blocks and outer indices are interchangeable as far as lanes go. Ascending
        k within them gives ascending k in all if that is possible, and the fewest products in other groups.
        """
        held, wanted = (_by_lanes(side) for side in (self._sides.held, self._sides.wanted))
        if {key: len(slots) for key, slots in held.items()} != {key: len(slots) for key, slots in wanted.items()}:
            return None
        pairs = itertools.chain.from_iterable(zip(wanted[key], held[key], strict=True) for key in wanted)
        return tuple(source for _, source in sorted(pairs))

    def _groups(self, order: range | tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        accumulation = self.second.accumulation
        size = accumulation.group if accumulation else 1
        return tuple(tuple(sorted(order[at : at + size])) for at in range(0, len(order), size))

    def _rounded_together(self, order: range | tuple[int, ...]) -> list[frozenset[frozenset[int]]]:
        """The groups in order, each as the sets of k that are added before anything else happens to them."""
        accumulation = self.second.accumulation
        size = accumulation.group if accumulation else 1
        apart = 2 if isinstance(accumulation, GroupSum) and accumulation.parity else 1
        groups = (order[at : at + size] for at in range(0, len(order), size))
        return [frozenset(frozenset(group[part::apart]) for part in range(apart)) for group in groups]


def chain(
    first: object, second: object, operand: str = "A", *, transposed: bool = False, target: str = TARGET
) -> Chain:
    """Answer whether D of ``first``, transposed or not, can be the ``operand`` of ``second`` where it lies.

    ``first`` and ``second`` are names or objects of instructions; ``operand`` is ``"A"`` or ``"B"``. A has rows along
    its outer index and k along its columns, B the other way round, so D transposed suits A where D suits B.

    >>> print(chain("f32_32x32x8f16", "f32_32x32x8f16", "A", transposed=True))
    D transposed of f32_32x32x8f16 as A of f32_32x32x8f16: fits as it lies, k ascending
    >>> print(chain("f32_32x32x8f16", "f32_32x32x16_fp8_fp8", "B"))
    D of f32_32x32x8f16 as B of f32_32x32x16_fp8_fp8: fits as it lies if both operands take k in the order \
0..3, 8..11, 4..7, 12..19, 24..27, 20..23, 28..31, which keeps every bit

    Raises:
        UnknownNameError: there is no such instruction.
        OptionError: ``operand`` is neither A nor B, or the second instruction is sparse.
    """
    producer, consumer = record_of(first, target), record_of(second, target)
    if operand not in ("A", "B"):
        raise OptionError(f"D can become operand A or B of {consumer}, not {operand!r}; as C it needs the same shape.")
    if consumer.sparse:
        raise OptionError(f"{consumer} is sparse: its A is compressed and k is chosen by an index; give a dense one.")
    return Chain(producer, consumer, operand, bool(transposed))


def chains(first: object, second: object, target: str = TARGET) -> tuple[Chain, ...]:
    """Return all four ways to feed D of ``first`` to ``second``: as A and as B, each as it is and transposed.

    >>> [(way.operand, way.transposed) for way in chains("f64_16x16x4f64", "f64_16x16x4f64") if way.direct]
    [('A', True), ('B', False)]
    """
    ways = itertools.product("AB", (False, True))
    return tuple(chain(first, second, operand, transposed=transposed, target=target) for operand, transposed in ways)


def spell_order(order: tuple[int, ...]) -> str:
    """Write a permutation as its ascending stretches: ``0..3, 8..11, 4..7``."""
    stretches: list[list[int]] = []
    for k in order:
        if stretches and stretches[-1][-1] + 1 == k:
            stretches[-1].append(k)
        else:
            stretches.append([k])
    return ", ".join(spell(runs(stretch)) for stretch in stretches)


def _coordinates(op: MatrixOp, matrix: str) -> tuple[Indices, Indices, Indices]:
    """Block, row and column of every (lane, element) of an operand."""
    pattern = operand_pattern(op, matrix)
    block, row, column = (pattern.to_registers(axis) for axis in np.indices(pattern.shape))
    return block, row, column


def _tiled(
    side: tuple[Indices, Indices, Indices], one: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[Indices, Indices, Indices]:
    """Lay tiles of size ``one`` side by side until they fill ``sizes``, the last axis fastest."""
    steps = itertools.product(*(range(0, whole, part) for whole, part in zip(sizes, one, strict=True)))
    block, outer, k = (
        np.concatenate(axis, axis=1) for axis in zip(*(_shifted(side, step) for step in steps), strict=True)
    )
    return block, outer, k


def _shifted(side: tuple[Indices, Indices, Indices], step: tuple[int, ...]) -> tuple[Indices, ...]:
    return tuple(axis + distance for axis, distance in zip(side, step, strict=True))


def _by_lanes(side: tuple[Indices, Indices, Indices]) -> dict[bytes, list[int]]:
    """Slots by the blocks and outer indices that they hold in the 64 lanes; slots of a class in ascending k."""
    block, outer, k = side
    classes: dict[bytes, list[int]] = defaultdict(list)
    for slot in np.argsort(k[0], kind="stable").tolist():
        classes[block[:, slot].tobytes() + outer[:, slot].tobytes()].append(slot)
    return classes
