"""Which float sums of a launch depend on an order that the hardware does not promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mfma.emulator.memory import Bytes

__all__ = ["FloatOrder"]

CELL = 4
"""Bytes of the narrowest float sum; wider ones count at their first bytes."""


@dataclass(frozen=True)
class _Sums:
    """What happened to one memory, for every cell of it."""

    memory: Bytes
    count: np.ndarray[Any, Any]
    first: np.ndarray[Any, Any]
    shared: np.ndarray[Any, Any]


class FloatOrder:
    """Counts the lanes that added floats to a place where others did so too.

    A lane that alone adds to a place does so in the order of its program; as soon as two lanes do, of whatever waves
    and work-groups, their sums may be rounded in another order elsewhere.

    >>> order, memory = FloatOrder(), np.zeros(64, np.uint8)
    >>> order.note(memory, np.array([0, 4, 4]), np.array([1, 2, 3], np.uint32))
    >>> order.lanes
    2
    """

    def __init__(self) -> None:
        self._settled = 0
        self._open: dict[int, _Sums] = {}

    def note(self, memory: Bytes, offsets: np.ndarray[Any, Any], lanes: np.ndarray[Any, Any]) -> None:
        """Take down one atomic: where each lane adds, and numbers from 1 that tell lanes of the launch apart."""
        sums = self._open.get(id(memory))
        if sums is None:
            cells = -(-memory.size // CELL)
            arrays = (np.zeros(cells, kind) for kind in (np.uint32, np.uint32, np.bool_))
            sums = self._open[id(memory)] = _Sums(memory, *arrays)
        cell = offsets // CELL
        np.add.at(sums.count, cell, 1)
        fresh = sums.first[cell] == 0
        sums.first[cell[fresh]] = lanes[fresh]
        sums.shared[cell[sums.first[cell] != lanes]] = True

    def close(self, memory: Bytes) -> None:
        """Forget the details of a memory that goes away."""
        sums = self._open.pop(id(memory), None)
        if sums is not None:
            self._settled += _met(sums)

    @property
    def lanes(self) -> int:
        """Lanes, once for each of their atomics, that met others."""
        return self._settled + sum(map(_met, self._open.values()))


def _met(sums: _Sums) -> int:
    return int(sums.count[sums.shared].sum(dtype=np.int64))
