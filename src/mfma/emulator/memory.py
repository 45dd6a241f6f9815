"""The memory of a device: buffers at addresses of its own, with guard pages between them.

Device addresses are numbers that only an `AddressSpace` gives out, the same in every run, and no pointers: every
access looks its buffer up, so a kernel reaches the bytes of the buffers that it was given and nothing else, whatever
address it computes. An address is never given out twice; of the buffers that were freed the last ones are still known,
and an access to them is reported as what it is.

Flat addresses in the aperture of LDS or of scratch have `SHARED_BASE` or `PRIVATE_BASE` in their high half, and an
offset in the low one. Where AMD's driver puts its apertures depends on the GPU; a kernel reads it from
``src_shared_base`` and ``src_private_base`` or from its implicit arguments.
"""

from __future__ import annotations

import bisect
import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mfma.errors import OptionError

__all__ = ["BASE", "PAGE", "PRIVATE_BASE", "SHARED_BASE", "AddressSpace", "Buffer", "Bytes", "window"]

Bytes = npt.NDArray[np.uint8]
"""Memory: one dimension, contiguous."""

PAGE = 4096
BASE = 0x1000_0000_0000
"""Address of the first buffer."""
LIMIT = 1 << 48
REMEMBERED = 256
"""Freed buffers that are still known, at least."""
SHARED_BASE = 0x0001_0000_0000_0000
PRIVATE_BASE = 0x0002_0000_0000_0000


@dataclass(eq=False)
class Buffer:
    """A range of device addresses and the host memory behind it.

    ``bytes`` is a view of the array that the buffer was made from, so what a kernel stores is there at once; of a
    buffer that is no longer ``live`` it is empty. Kernels cannot store to addresses in ``protected``, pairs of a first
    address and the one behind the last.
    """

    address: int
    size: int
    name: str
    writable: bool
    bytes: Bytes = field(repr=False)
    live: bool = True
    protected: tuple[tuple[int, int], ...] = ()

    @property
    def end(self) -> int:
        """First address behind the buffer."""
        return self.address + self.size

    def distance(self, address: int) -> int:
        """How many bytes ``address`` is before the first or behind the last byte; 0 within."""
        return max(self.address - address, address - self.end + 1, 0)


class _Table:
    """Buffers by address, freed ones too; never changed, so that one thread reads while another replaces it.

    A launch makes and frees some ten buffers, so that is made cheap: no Python code for each buffer of the table.
    """

    def __init__(self, buffers: list[Buffer], addresses: list[int], live: list[Buffer]) -> None:
        self.buffers = buffers
        self.addresses = addresses
        self.live = live

    @functools.cached_property
    def starts(self) -> npt.NDArray[np.uint64]:
        """The addresses, for searching many at once."""
        return np.array(self.addresses, np.uint64)

    def plus(self, buffer: Buffer) -> _Table:
        """With another buffer, behind all others."""
        return _Table([*self.buffers, buffer], [*self.addresses, buffer.address], [*self.live, buffer])

    def freed(self, buffer: Buffer) -> _Table:
        """With a buffer that is no longer live, and of such ones the last `REMEMBERED`, once they are twice as many."""
        live = [other for other in self.live if other is not buffer]
        if len(self.buffers) - len(live) <= 2 * REMEMBERED:
            return _Table(self.buffers, self.addresses, live)
        first = [other for other in self.buffers if not other.live][-REMEMBERED].address
        kept = [other for other in self.buffers if other.live or other.address >= first]
        return _Table(kept, [other.address for other in kept], live)

    def last(self, address: int) -> Buffer | None:
        """The buffer that begins at or last before an address."""
        index = bisect.bisect_right(self.addresses, address)
        return self.buffers[index - 1] if index else None


class AddressSpace:
    """The buffers of a device, by address.

    >>> space = AddressSpace()
    >>> out = space.allocate(64, name="out")
    >>> hex(out.address), space.find(out.address + 63) is out, space.find(out.address + 64)
    ('0x100000000000', True, None)

    Args:
        backing: what gives the memory of a buffer that is made of no array, for its address and its size, zeros; it may
            be called once for every address. NumPy's if None.
    """

    def __init__(self, backing: Callable[[int, int], Bytes] | None = None) -> None:
        self._backing = backing or (lambda address, size: np.zeros(size, np.uint8))
        self._table = _Table([], [], [])
        self._next = BASE
        # launches of several threads share a device, and a module that is collected frees its image
        self._lock = threading.RLock()

    def __iter__(self) -> Iterator[Buffer]:
        """Every live buffer, by address."""
        return iter(self._table.live)

    def allocate(
        self,
        size: int,
        *,
        name: str,
        alignment: int = 256,
        writable: bool = True,
        data: npt.NDArray[Any] | None = None,
    ) -> Buffer:
        """Give out a range of addresses that no other buffer has or had.

        Args:
            size: bytes.
            name: what reports call the buffer.
            alignment: power of two; at least a page is taken.
            writable: whether kernels may store to it; memory that NumPy must not write stays read-only.
            data: C-contiguous array of at least ``size`` bytes whose own memory backs the buffer; zeros if none.

        Raises:
            OptionError: for a negative size, another alignment, or an array that cannot back the buffer.
        """
        if size < 0:
            raise OptionError(f"buffer {name!r} cannot have {size} bytes; give 0 or more")
        if alignment < 1 or alignment & alignment - 1:
            raise OptionError(f"buffer {name!r} cannot be aligned to {alignment} bytes; give a power of two")
        step = max(alignment, PAGE)
        if -(-self._next // step) * step + size + PAGE > LIMIT:
            raise OptionError(
                f"buffer {name!r} of {size:,} bytes does not fit below {LIMIT:#x}; take fewer or smaller ones"
            )
        with self._lock:
            address = -(-self._next // step) * step
            memory = self._backing(address, size) if data is None else _backing(data, size, name)
            buffer = Buffer(address, size, name, writable and bool(memory.flags.writeable), memory)
            self._replace(lambda table: table.plus(buffer))
            self._next = buffer.end + PAGE
        return buffer

    def free(self, buffer: Buffer) -> None:
        """Take a buffer away; later accesses to its addresses are reported as use after free."""
        with self._lock:
            if not buffer.live:
                raise OptionError(f"buffer {buffer.name!r} was freed before; free a buffer once")
            if self._table.last(buffer.address) is not buffer:
                raise OptionError(f"buffer {buffer.name!r} belongs to another address space; free it there")
            buffer.live = False
            self._replace(lambda table: table.freed(buffer))
            buffer.bytes = np.zeros(0, np.uint8)

    def _replace(self, change: Callable[[_Table], _Table]) -> None:
        """Change the table. A module that is collected while that is computed frees its image, and changes it, too."""
        while True:
            before = self._table
            after = change(before)
            if self._table is before:
                self._table = after
                return

    def mapped(self) -> list[tuple[Buffer, Bytes]]:
        """Every live buffer with its memory, by address; whoever has the memory keeps it when the buffer is freed."""
        pairs = [(buffer, buffer.bytes) for buffer in self]
        return [(buffer, memory) for buffer, memory in pairs if memory.size == buffer.size]

    def find(self, address: int) -> Buffer | None:
        """Return the live buffer that holds the byte at ``address``, if there is one."""
        buffer = self._at(address)
        return buffer if buffer is not None and buffer.live else None

    def known(self, address: int) -> Buffer | None:
        """Return the buffer that holds or held the byte at ``address``, if there is or was one."""
        return self._at(address)

    def nearest(self, address: int) -> Buffer | None:
        """Return the live buffer with the byte nearest to ``address``, the lower one of two; None without buffers."""
        return min(self, key=lambda buffer: buffer.distance(address), default=None)

    def _at(self, address: int) -> Buffer | None:
        buffer = self._table.last(address)
        return buffer if buffer is not None and address < buffer.end else None

    def groups(self, addresses: npt.NDArray[np.uint64]) -> Iterator[tuple[Buffer | None, npt.NDArray[np.intp]]]:
        """Split addresses by the buffer, live or freed, that begins at or last before each: it and their indices."""
        table = self._table
        index = np.searchsorted(table.starts, addresses, side="right")
        for i in np.unique(index):
            yield (table.buffers[i - 1] if i else None), np.flatnonzero(index == i)


def _backing(data: npt.NDArray[Any], size: int, name: str) -> Bytes:
    """The first ``size`` bytes of an array, as they lie in memory."""
    if not data.flags.c_contiguous:
        raise OptionError(f"the array for buffer {name!r} is not C-contiguous; give numpy.ascontiguousarray of it")
    if data.nbytes < size:
        raise OptionError(f"buffer {name!r} has {size} bytes and its array {data.nbytes}; give an array of that size")
    return data.reshape(-1).view(np.uint8)[:size]


def window(memory: Bytes, bytes_: int) -> npt.NDArray[Any]:
    """Return memory as one element of 1, 2, 4 or 8 bytes for every byte at which one can start, aligned or not.

    >>> window(np.arange(5, dtype=np.uint8), 4)
    array([50462976, 67305985], dtype=uint32)
    """
    count = max(0, memory.size - bytes_ + 1)
    return np.ndarray((count,), f"<u{bytes_}", memory if count else b"", 0, (1,))
