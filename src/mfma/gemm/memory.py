"""What a simulated kernel reads from memory and keeps in LDS, for all work-groups at once.

LDS is bytes, and every barrier is checked: between two barriers nothing may be read that was written, nor written that
was read or written. A real kernel that does so has a race, whatever a simulation in lockstep makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mfma.errors import OptionError
from mfma.formats import Format
from mfma.formats.arrays import code_dtype
from mfma.gemm.lds import TileLayout

__all__ = ["SharedStorage", "Strips", "Tile", "TileView"]

Codes = NDArray[Any]


class Strips(Protocol):
    """The strips of A and B that the work-groups walk over, converted to the formats of the instruction."""

    @property
    def count(self) -> int:
        """Strips along K."""

    def a(self, t: int) -> Codes:
        """Strip t of A as codes (work-groups, rows of LDS, k_tile_size), zero outside the matrix."""

    def b(self, t: int) -> Codes:
        """Strip t of B, transposed: codes (work-groups, columns, k_tile_size), zero outside the matrix."""


class Tile(Protocol):
    """What a compute policy loads its fragments from."""

    @property
    def layout(self) -> TileLayout:
        """Where the elements lie."""

    @property
    def format(self) -> Format:
        """Format of the elements."""

    def read(self, rows: NDArray[Any], ks: NDArray[Any], active: NDArray[np.bool_] | None = None) -> Codes:
        """Read elements as codes: (work-groups, *shape of the indices), zero where they are not ``active``.

        The last axis of the indices is what one lane reads, the one before it the lanes.
        """


class SharedStorage:
    """The LDS of ``groups`` work-groups: buffers that each hold a strip of A and one of B."""

    def __init__(self, groups: int, buffers: int, a: TileLayout, b: TileLayout, formats: tuple[Format, Format]):
        self.a = [TileView(self, i * (a.bytes + b.bytes), a, formats[0]) for i in range(buffers)]
        self.b = [TileView(self, i * (a.bytes + b.bytes) + a.bytes, b, formats[1]) for i in range(buffers)]
        size = buffers * (a.bytes + b.bytes)
        self.memory = np.zeros((groups, size), np.uint8)
        self.read = np.zeros(size, np.bool_)
        self.written = np.zeros(size, np.bool_)

    def fill(self, buffer: int, strips: Strips, t: int) -> None:
        """Write strip t into a buffer, every thread its part."""
        for view, codes in ((self.a[buffer], strips.a(t)), (self.b[buffer], strips.b(t))):
            place = np.indices(codes.shape[1:])
            view.write(place[0], place[1], codes)

    def barrier(self) -> None:
        """Let every wave arrive: what was written may be read, and the other way round."""
        self.read[:] = False
        self.written[:] = False


@dataclass(frozen=True)
class TileView:
    """A tile in LDS, from byte ``offset``: element access by row and k."""

    shared: SharedStorage
    offset: int
    layout: TileLayout
    format: Format

    def _bytes(self, rows: NDArray[Any], ks: NDArray[Any]) -> NDArray[np.int64]:
        address = np.asarray(self.offset + self.layout.address(rows, ks))
        return address[..., None] + np.arange(self.layout.bits // 8)

    def read(self, rows: NDArray[Any], ks: NDArray[Any], active: NDArray[np.bool_] | None = None) -> Codes:
        """Read elements as codes: (work-groups, *shape of the indices), zero where they are not ``active``.

        The last axis of the indices is what one lane reads, the one before it the lanes.

        Raises `OptionError` for a race: the policy has no barrier between writing and reading.
        """
        if active is not None:
            codes = np.zeros((len(self.shared.memory), *rows.shape), code_dtype(self.format))
            codes[:, active] = self.read(rows[active], ks[active])
            return codes
        at = self._bytes(rows, ks)
        if self.shared.written[at].any():
            raise OptionError(
                "LDS is read that was written since the last barrier: the tile policy must wait in acquire, or in "
                "prologue and release."
            )
        self.shared.read[at] = True
        return self.shared.memory.take(at, axis=1).view(code_dtype(self.format))[..., 0]

    def write(self, rows: NDArray[Any], ks: NDArray[Any], codes: Codes) -> None:
        """Write elements given as codes (work-groups, *shape of the indices).

        Raises `OptionError` for a race: the policy has no barrier between reading, or writing, and writing.
        """
        at = self._bytes(rows, ks)
        if self.shared.read[at].any() or self.shared.written[at].any():
            raise OptionError(
                "LDS is written that was read or written since the last barrier: the tile policy must wait in release."
            )
        self.shared.written[at] = True
        self.shared.memory[:, at] = np.ascontiguousarray(codes)[..., None].view(np.uint8)
