"""Questions about many elements at once: where rows, columns or a stretch of k live, and what a register holds.

`locate` and `element` of a layout answer for one element. Whoever writes a kernel asks for more: which lanes and
registers hold columns 0..7 of D, which rows are in register 0. The answers are exact and short: runs of lanes,
registers, rows and columns, split only where the set is no product of them.
"""

from __future__ import annotations

import itertools
import operator
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, SupportsIndex, TypeVar

from mfma.errors import OptionError
from mfma.isa import catalogue
from mfma.isa.cdna3 import TARGET
from mfma.isa.spec import WAVE, MatrixOp
from mfma.layout.placement import Layout, layout

__all__ = ["Bits", "Holding", "Part", "Runs", "contents", "record_of", "runs", "spell", "where"]

Runs = tuple[range, ...]
"""A set of integers as ascending runs of consecutive ones."""

Wanted = SupportsIndex | slice | Iterable[int] | None
"""A choice of indices: one, a slice, several, or None for all."""

T = TypeVar("T")


class Bits(NamedTuple):
    """The same bits ``high_bit:low_bit`` of consecutive registers; of a 64-bit element the whole pair."""

    vgprs: range
    high_bit: int = 31
    low_bit: int = 0

    def __str__(self) -> str:
        part = "" if (self.high_bit, self.low_bit) == (31, 0) else f".[{self.high_bit}:{self.low_bit}]"
        first, last = self.vgprs[0], self.vgprs[-1]
        return f"v{first}{part}" if first == last else f"v[{last}:{first}]{part}"


@dataclass(frozen=True)
class Holding:
    """Lanes that hold the wanted elements in the same bits of their registers; ``elements`` counts them a lane."""

    lanes: Runs
    registers: tuple[Bits, ...]
    elements: int

    def __str__(self) -> str:
        return f"lanes {spell(self.lanes)}: {', '.join(map(str, self.registers))}"


@dataclass(frozen=True)
class Part:
    """Every element of these blocks, rows and columns: the full product of the three."""

    blocks: Runs
    rows: Runs
    columns: Runs


def where(
    op: object,
    matrix: str,
    *,
    i: Wanted = None,
    j: Wanted = None,
    k: Wanted = None,
    block: Wanted = None,
    cbsz: int = 0,
    abid: int = 0,
    blgp: int = 0,
    target: str = TARGET,
) -> tuple[Holding, ...]:
    """Say which lanes hold the chosen elements of a matrix, and in which registers.

    ``op`` is a name or an object of an instruction. Each coordinate is an integer, a slice, a range or several
    integers; None is all. With modifiers the lanes are those that the hardware reads.

    >>> for holding in where("f32_32x32x8f16", "D", j=range(0, 8)): print(holding)
    lanes 0..7, 32..39: v[15:0]
    >>> for holding in where("f32_32x32x8f16", "A", k=slice(4, 6)): print(holding)
    lanes 32..63: v0

    Raises:
        OptionError: the instruction has no such matrix, or the matrix no such coordinate.
        UnknownNameError, ModifierError: there is no such instruction, or the modifiers are not legal.
    """
    lay = layout(record_of(op, target), matrix, cbsz, abid, blgp)
    axes = dict(zip(lay.pattern.coordinates, lay.shape, strict=True))
    given = {"block": block, "i": i, "j": j, "k": k}
    chosen = [_choose(lay, axes, name, given[name]) for name in axes]
    for name, wanted in given.items():
        if wanted is not None and name not in axes:
            _refuse(lay, axes, f"it has no {name}")
    slots = lay.slots()
    held: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for place in itertools.product(*chosen):
        held[int(slots.lane[place])].add((int(slots.vgpr[place]), int(slots.low_bit[place])))
    alike = _alike({lane: frozenset(starts) for lane, starts in held.items()})
    return tuple(Holding(runs(lanes), _bits(starts, lay.bits), len(starts)) for starts, lanes in alike.items())


def contents(
    op: object,
    matrix: str,
    *,
    lanes: Wanted = None,
    vgprs: Wanted = None,
    cbsz: int = 0,
    abid: int = 0,
    blgp: int = 0,
    target: str = TARGET,
) -> tuple[Part, ...]:
    """Say which blocks, rows and columns the chosen lanes hold in the chosen registers.

    The registers count from the operand's first; an f64 is named by the first of its pair. Elements that the
    hardware does not read under the modifiers are not part of the answer.

    >>> [spell(part.rows) for part in contents("f32_16x16x16f16", "D", vgprs=0)]
    ['0, 4, 8, 12']
    >>> [spell(part.rows) for part in contents("f32_32x32x8f16", "D", vgprs=0)]
    ['0, 4']

    Raises:
        OptionError: the instruction has no such matrix, or the operand no such lane or register.
        UnknownNameError, ModifierError: there is no such instruction, or the modifiers are not legal.
    """
    lay = layout(record_of(op, target), matrix, cbsz, abid, blgp)
    per_lane = lay.pattern.register_shape[1] * lay.bits // 32 or 1
    sizes = {"lanes": WAVE, "vgprs": per_lane}
    in_lanes = frozenset(_choose(lay, sizes, "lanes", lanes))
    in_vgprs = frozenset(_choose(lay, sizes, "vgprs", vgprs))
    slots = lay.slots()
    spans = max(lay.bits // 32, 1)  # registers of an element
    columns: dict[tuple[int, int], set[int]] = defaultdict(set)
    for place in itertools.product(*map(range, lay.shape)):
        block, row, column = place
        first = int(slots.vgpr[place])
        if int(slots.lane[place]) in in_lanes and not in_vgprs.isdisjoint(range(first, first + spans)):
            columns[block, row].add(column)
    tiles: dict[int, set[tuple[Runs, Runs]]] = defaultdict(set)
    for block in range(lay.shape[0]):
        of_block = {row: frozenset(found) for (b, row), found in columns.items() if b == block}
        tiles[block] = {(runs(rows), runs(found)) for found, rows in _alike(of_block).items()}
    alike = _alike({block: frozenset(parts) for block, parts in tiles.items()})
    return tuple(Part(runs(blocks), *part) for parts, blocks in alike.items() for part in sorted(parts, key=_first))


def runs(numbers: Iterable[int]) -> Runs:
    """Cut a set of integers into ascending runs.

    >>> runs([0, 1, 2, 32, 33])
    (range(0, 3), range(32, 34))
    """
    found: list[range] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1].stop:
            found[-1] = range(found[-1].start, number + 1)
        else:
            found.append(range(number, number + 1))
    return tuple(found)


def spell(found: Runs) -> str:
    """Write runs as text.

    >>> spell(runs([0, 1, 2, 32, 40, 41]))
    '0..2, 32, 40..41'
    """
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in found)


def record_of(op: object, target: str = TARGET) -> MatrixOp:
    """Return the record behind an instruction's name or object.

    >>> record_of("v_mfma_f32_32x32x8_f16").name
    'f32_32x32x8f16'
    """
    record: Any = getattr(op, "record", op)
    return record if isinstance(record, MatrixOp) else catalogue.find(record, target)


def _alike(facts: dict[int, T]) -> dict[T, list[int]]:
    """Group the keys that have equal values, in ascending order."""
    groups: dict[T, list[int]] = {}
    for key in sorted(facts):
        groups.setdefault(facts[key], []).append(key)
    return groups


def _bits(starts: Iterable[tuple[int, int]], width: int) -> tuple[Bits, ...]:
    """Join elements to registers: runs of bits within a register, then runs of registers with the same bits."""
    covered: dict[int, set[int]] = defaultdict(set)
    for vgpr, low in starts:
        for bit in range(low, low + width):
            covered[vgpr + bit // 32].add(bit % 32)
    alike = _alike({vgpr: runs(bits) for vgpr, bits in covered.items()})
    found = (Bits(vgprs, part[-1], part[0]) for parts, held in alike.items() for vgprs in runs(held) for part in parts)
    return tuple(sorted(found, key=lambda bits: (bits.vgprs[0], bits.low_bit)))


def _first(part: tuple[Runs, Runs]) -> tuple[int, int]:
    return part[0][0][0], part[1][0][0]


def _choose(lay: Layout, sizes: dict[str, int], name: str, wanted: Wanted) -> tuple[int, ...]:
    """Indices that a choice names along one axis."""
    size = sizes[name]
    if wanted is None:
        return tuple(range(size))
    if isinstance(wanted, slice):
        # A slice of a longer axis is no smaller slice: refuse what Python would cut off silently.
        ends = [end for end in (wanted.start, wanted.stop) if end is not None]
        if any(not 0 <= end <= size for end in ends) or not range(size)[wanted]:
            _refuse(lay, sizes, f"{name} {wanted.start}:{wanted.stop} is not within them")
        return tuple(range(size)[wanted])
    try:
        indices = (operator.index(wanted),) if isinstance(wanted, SupportsIndex) else tuple(map(operator.index, wanted))
    except TypeError:
        _refuse(lay, sizes, f"{name}={wanted!r} is no integer, slice or range of integers")
    for index in indices:
        if not 0 <= index < size:
            _refuse(lay, sizes, f"{name}={index} is not one of them")
    if not indices:
        _refuse(lay, sizes, f"{name}={wanted!r} is empty")
    return indices


def _refuse(lay: Layout, sizes: dict[str, int], problem: str) -> NoReturn:
    ranges = ", ".join(f"{name} 0..{size - 1}" if size > 1 else f"{name} 0" for name, size in sizes.items())
    raise OptionError(f"{lay} has {ranges}; {problem}.")
