"""Moves of registers between lanes: what a lane needs from others, and the instruction that brings it.

A move fills one register of an operand, or one element of it where its elements come from different lanes. It is a
set of pulls: each takes one register of D (or several of its elements, packed into one) from lanes to lanes. One pull
for all lanes is one instruction; of several, every lane selects one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mfma.isa.spec import WAVE

__all__ = ["Move", "Pull", "means", "moves"]

ROW = 16
"""Lanes of a DPP row."""


@dataclass(frozen=True)
class Pull:
    """One register taken from lane to lane: ``slots`` are the elements of D in it, ``lanes`` receiver -> source."""

    slots: tuple[int, ...]
    lanes: tuple[tuple[int, int], ...]

    @property
    def means(self) -> str:
        """The instruction that does it on gfx942."""
        return means(self.lanes)


@dataclass(frozen=True)
class Move:
    """How elements ``first`` to ``first + count - 1`` of register ``vgpr`` of an instruction's operand are filled."""

    instruction: int
    vgpr: int
    first: int
    count: int
    pulls: tuple[Pull, ...]

    @property
    def source_lanes(self) -> tuple[int, ...]:
        """For each of the 64 lanes the lane that it takes from."""
        source = dict(pair for pull in self.pulls for pair in pull.lanes)
        return tuple(source[lane] for lane in range(WAVE))


def moves(lanes: npt.NDArray[np.intp], slots: npt.NDArray[np.intp], per_lane: int, bits: int) -> tuple[Move, ...]:
    """List the moves that fill the operands of some instructions, ``per_lane`` elements of ``bits`` bits each.

    ``lanes`` and ``slots`` (64, elements) say for every element the lane and the slot of D that it comes from.
    """
    packed = max(32 // bits, 1)
    found = []
    for at in range(0, lanes.shape[1], packed):
        instruction, element = divmod(at, per_lane)
        together = (lanes[:, at : at + packed] == lanes[:, at : at + 1]).all()
        size = packed if together else 1
        found += [
            Move(
                instruction,
                element * bits // 32,
                first,
                size,
                _pulls(lanes[:, at + first], slots[:, at + first :][:, :size]),
            )
            for first in range(0, packed, size)
        ]
    return tuple(found)


def means(lanes: Iterable[tuple[int, int]]) -> str:
    """Name an instruction of gfx942 that takes a register along these (receiver, source) pairs of lanes.

    In this order: none at all, a DPP rotation within rows of 16 lanes, a swizzle within halves of 32, a permutation of
    all 64 with its sources in a register. Lanes that are not named may receive anything.

    >>> means([(0, 0), (5, 5)])
    'none'
    >>> means([(16, 17), (31, 16)])
    'v_mov_b32_dpp row_ror:15'
    >>> means((lane, lane ^ 16) for lane in range(64))
    'ds_swizzle_b32 offset:swizzle(BITMASK_PERM,"ipppp")'
    """
    pairs = tuple(lanes)
    if all(lane == source for lane, source in pairs):
        return "none"
    turns = {(lane - source) % ROW for lane, source in pairs}
    if len(turns) == 1 and all(lane // ROW == source // ROW for lane, source in pairs):
        return f"v_mov_b32_dpp row_ror:{turns.pop()}"
    mask = _bitmask(pairs)
    if mask is not None:
        return f'ds_swizzle_b32 offset:swizzle(BITMASK_PERM,"{mask}")'
    return "ds_bpermute_b32"


def _bitmask(pairs: tuple[tuple[int, int], ...]) -> str | None:
    """The pattern of ``swizzle(BITMASK_PERM)``: for each bit of a lane in its 32, highest first, keep, invert, 0, 1."""
    if any(lane // 32 != source // 32 for lane, source in pairs):
        return None
    letters = ""
    for bit in (4, 3, 2, 1, 0):
        seen = {(lane >> bit & 1, source >> bit & 1) for lane, source in pairs}
        letter = next((name for name, allowed in BIT_RULES if seen <= allowed), None)
        if letter is None:
            return None
        letters += letter
    return letters


BIT_RULES = (
    ("p", {(0, 0), (1, 1)}),
    ("i", {(0, 1), (1, 0)}),
    ("0", {(0, 0), (1, 0)}),
    ("1", {(0, 1), (1, 1)}),
)
"""Letter of a swizzle -> (receiver's bit, source's bit) pairs that it makes."""


def _pulls(lanes: npt.NDArray[np.intp], slots: npt.NDArray[np.intp]) -> tuple[Pull, ...]:
    by_register: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
    for lane, (source, registers) in enumerate(zip(lanes.tolist(), slots.tolist(), strict=True)):
        by_register[tuple(registers)].append((lane, source))
    return tuple(Pull(registers, tuple(pairs)) for registers, pairs in by_register.items())
