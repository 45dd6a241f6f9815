"""Which float sums of a launch depend on an order that the hardware does not promise.

Both engines write this record: native code finds it by the host addresses that the words of `Head` and `Row` hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from mfma.emulator.memory import Bytes
from mfma.emulator.translator.layout import address

__all__ = ["CELL", "NUMBERS", "RECORD", "SHARED", "FloatOrder", "Head", "Row"]

CELL = 4
"""Bytes of the narrowest float sum; wider ones count at their first bytes."""
NUMBERS = (1 << 32) - 2
"""Lanes of a launch that numbers tell apart: from 1 on, as 0 stands for nobody."""
SHARED = NUMBERS + 1
"""Stands for several lanes."""
RECORD = np.dtype([("count", "<u4"), ("who", "<u4")])
"""What is kept of a cell: how often something was added, and the number of the lane that did, 0 or `SHARED`."""


class Head(IntEnum):
    """Words of 64 bits with which the record begins."""

    ROWS = 0  # host address of the rows, one for each memory, by address
    COUNT = 1  # how many there are
    MISSING = 2  # host address of a sum of which native code found no row; 0 if there was none


class Row(IntEnum):
    """Words of 64 bits of a row."""

    START = 0  # host address of the memory's first byte
    END = 1  # of the one behind its last
    CELLS = 2  # host address of what is kept of its cells, 8 bytes of each


@dataclass(frozen=True, eq=False)
class _Sums:
    """What happened to memory from one host address to another."""

    start: int
    end: int
    memories: tuple[Bytes, ...]  # kept, so that nothing else gets their addresses
    cells: npt.NDArray[Any]

    @property
    def met(self) -> int:
        """Lanes, once for each of their sums, in cells of several."""
        return int(self.cells["count"][self.cells["who"] == SHARED].sum(dtype=np.int64))


class FloatOrder:
    """Counts the lanes that added floats to a place where others did so too.

    A lane that alone adds to a place does so in the order of its program; as soon as two lanes do, of whatever waves
    and work-groups, their sums may be rounded in another order elsewhere.

    Attributes:
        place: host address of the words of `Head`.

    >>> order, memory = FloatOrder(), np.zeros(64, np.uint8)
    >>> order.note(memory, np.array([0, 4, 4]), np.array([1, 2, 3], np.uint32))
    >>> order.lanes
    2
    """

    def __init__(self) -> None:
        self._settled = 0
        self._open: list[_Sums] = []
        self._of_memory: dict[int, _Sums] = {}
        self._rows = np.zeros((0, len(Row)), np.int64)
        self._head = np.zeros(len(Head), np.int64)
        self.place = address(self._head)

    def note(self, memory: Bytes, offsets: npt.NDArray[Any], numbers: npt.NDArray[Any]) -> None:
        """Take down one atomic: where each lane adds, and numbers from 1 to `NUMBERS` that tell lanes apart."""
        sums = self._of_memory.get(id(memory)) or self._begin(memory)
        where = (offsets + (address(memory) - sums.start)) // CELL
        np.add.at(sums.cells["count"], where, 1)
        _enter(sums.cells["who"], where, numbers)

    def supply(self, memories: Iterable[Bytes]) -> bool:
        """Begin the record of the memory in which native code found none; whether it looked for one of these."""
        missing, self._head[Head.MISSING] = int(self._head[Head.MISSING]), 0
        for memory in memories:
            if address(memory) <= missing < address(memory) + memory.size:
                self._begin(memory)
                return True
        return False

    def close(self, memory: Bytes) -> None:
        """Forget the details of a memory that goes away."""
        sums = self._of_memory.get(id(memory))
        if sums is not None:
            self._settled += sums.met
            for closed in sums.memories:
                del self._of_memory[id(closed)]
            self._put([other for other in self._open if other is not sums])

    @property
    def lanes(self) -> int:
        """Lanes, once for each of their atomics, that met others."""
        return self._settled + sum(sums.met for sums in self._open)

    def _begin(self, memory: Bytes) -> _Sums:
        """A record for a memory; those that share bytes have one."""
        start = address(memory)
        end = start + memory.size
        known = [sums for sums in self._open if sums.start < end and start < sums.end]
        first, last = min([start, *(sums.start for sums in known)]), max([end, *(sums.end for sums in known)])
        memories = (memory, *(kept for sums in known for kept in sums.memories))
        made = _Sums(first, last, memories, np.zeros(-(-(last - first) // CELL), RECORD))
        for sums in known:
            where = (sums.start - first) // CELL + np.arange(len(sums.cells))
            made.cells["count"][where] += sums.cells["count"]
            _enter(made.cells["who"], where, sums.cells["who"])
        self._of_memory.update((id(kept), made) for kept in memories)
        self._put([made, *(sums for sums in self._open if sums not in known)])
        return made

    def _put(self, sums: list[_Sums]) -> None:
        """Let native code find these, and no others."""
        self._open = sorted(sums, key=lambda one: one.start)
        rows = [(one.start, one.end, address(one.cells)) for one in self._open]
        self._rows = np.array(rows, np.int64).reshape(-1, len(Row))
        self._head[Head.ROWS], self._head[Head.COUNT] = address(self._rows), len(rows)


def _enter(who: npt.NDArray[Any], where: npt.NDArray[Any], numbers: npt.NDArray[Any]) -> None:
    """Enter the numbers of lanes into cells; several different ones make `SHARED`, and 0 nothing."""
    fresh = who[where] == 0
    who[where[fresh]] = numbers[fresh]
    who[where[(numbers != 0) & (who[where] != numbers)]] = SHARED
