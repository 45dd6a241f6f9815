"""Local data share: where the elements of a tile lie, and how many cycles a wave needs to reach them.

How its banks serve a wave is the business of `mfma.timing.banks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.isa.spec import WAVE
from mfma.timing.banks import BANK_BYTES, BANKS, PHASES, SOURCE, bank_cycles

__all__ = ["BANKS", "BANK_BYTES", "DIRECT_BYTES", "LDS_BYTES", "PHASES", "SOURCE", "Access", "TileLayout", "access"]

LDS_BYTES = 64 * 1024
"""LDS of a compute unit; a work-group can have all of it."""
DIRECT_BYTES = WAVE * BANK_BYTES
"""Bytes that a wave moves from memory to LDS with one ``global_load_lds_dword``."""


@dataclass(frozen=True)
class TileLayout:
    """Where element (row, k) of a tile lies in LDS: rows one after the other, k contiguous.

    Args:
        rows: rows of A or columns of B, those of all products of a batch that a work-group holds.
        k: elements of a row.
        bits: width of an element.
        padding: unused elements at the end of every row, so that rows start in other banks.
        swizzle: elements of a chunk of k that stays together, or 0. The chunks of a row change places: chunk ``c``
            goes to ``c ^ (row // rows_per_line % chunks)``, where ``rows_per_line`` rows fill all banks once. It
            spreads a column of chunks over the banks as padding does, and takes no memory. ``k / swizzle`` must
            be a power of two.
    """

    rows: int
    k: int
    bits: int
    padding: int = 0
    swizzle: int = 0

    @property
    def row_bytes(self) -> int:
        """Distance of rows in bytes."""
        return (self.k + self.padding) * self.bits // 8

    @property
    def bytes(self) -> int:
        """Bytes of the whole tile."""
        return self.rows * self.row_bytes

    @property
    def chunks(self) -> int:
        """Chunks of a row that change places; 1 without a swizzle."""
        return self.k // self.swizzle if self.swizzle else 1

    @property
    def rows_per_line(self) -> int:
        """Rows that lie within one line of all banks, at least 1."""
        return max(1, BANKS * BANK_BYTES // self.row_bytes)

    def address(self, row: Any, k: Any) -> Any:
        """Byte offset of an element, or of arrays of elements, from the start of the tile.

        >>> TileLayout(rows=16, k=32, bits=16, padding=8).address(1, 2)
        84
        >>> TileLayout(rows=16, k=32, bits=16, swizzle=8).address(2, 0)  # chunk 0 of row 2 is in place 1
        144
        """
        column = k
        if self.swizzle:
            chunk = k // self.swizzle ^ row // self.rows_per_line % self.chunks
            column = chunk * self.swizzle + k % self.swizzle
        return row * self.row_bytes + column * self.bits // 8


WIDTHS = (16, 8, 4, 2, 1)
"""Bytes that one lane can read or write with one instruction (``ds_read_b128`` to ``ds_read_u8``)."""


@dataclass(frozen=True)
class Access:
    """What a wave's access to LDS costs: ``instructions`` of ``width`` bytes a lane, in ``cycles`` of the LDS.

    ``ideal`` are the cycles without any conflict, the number of phases. A conflict is a cycle above that.
    """

    instructions: int
    width: int
    cycles: int
    ideal: int

    @property
    def conflicts(self) -> int:
        """Cycles lost to bank conflicts."""
        return self.cycles - self.ideal

    def __mul__(self, count: int) -> Access:
        return Access(self.instructions * count, self.width, self.cycles * count, self.ideal * count)

    def __add__(self, other: Access) -> Access:
        return Access(
            self.instructions + other.instructions,
            max(self.width, other.width),
            self.cycles + other.cycles,
            self.ideal + other.ideal,
        )


def access(addresses: NDArray[Any], size: int, direction: str, active: NDArray[np.bool_] | None = None) -> Access:
    """Count the cycles in which waves read or write runs of elements.

    ``addresses`` (..., 64, n) are the byte addresses of n elements of ``size`` bytes that each lane moves; those of a
    lane go together, with the widest instruction for which every lane's bytes are contiguous and aligned.
    ``direction`` is ``"read"`` or ``"write"``; lanes that are not ``active`` (..., 64) take no part. The result is the
    sum over all leading axes.

    >>> lanes = np.arange(64)[:, None]
    >>> access(4 * lanes, 4, "read")  # 64 consecutive words: two phases of 32 lanes
    Access(instructions=1, width=4, cycles=2, ideal=2)
    >>> access(128 * lanes, 4, "read").conflicts  # all in bank 0
    62
    """
    count = addresses.shape[-1]
    waves = addresses.reshape(-1, WAVE, count)
    taking = np.ones((1, WAVE), np.bool_) if active is None else active.reshape(-1, WAVE)
    taking = np.broadcast_to(taking, waves.shape[:2])
    width = _width(waves[taking], size)
    starts = waves[:, :, :: max(width // size, 1)].swapaxes(1, 2).reshape(-1, WAVE)
    taken = np.repeat(taking, len(starts) // len(waves), axis=0)
    instructions = int(np.count_nonzero(taken.any(axis=1)))
    return Access(instructions, width, *bank_cycles(starts, width, direction, taken))


def _width(addresses: NDArray[Any], size: int) -> int:
    """Bytes of the widest instruction that all lanes can use for their elements."""
    for width in WIDTHS:
        count = width // size
        if count < 1 or addresses.shape[1] % count:
            continue
        runs = addresses.reshape(len(addresses), -1, count)
        if np.all(runs[..., 0] % width == 0) and np.all(np.diff(runs, axis=-1) == size):
            return width
    return size
