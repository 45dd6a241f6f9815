"""Memory of the program and of the emulated GPU: the same bytes at the same addresses.

What `hipMalloc` and its like give out is mapped into the program at the address that it has on the device, as on an
MI300X whose whole memory the host can reach. Memory of the program itself that is registered has another address on
the device.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from mfma.emulator.device import Device
from mfma.emulator.memory import PAGE, AddressSpace, Buffer, Bytes
from mfma.errors import OptionError
from mfma.integrations.hip.interface import library
from mfma.integrations.hip.status import HipError, Status
from mfma.timing.devices import DEVICES

__all__ = ["Allocation", "Kind", "Memory", "array", "memory"]

PROTECTION = 1 | 2
"""PROT_READ | PROT_WRITE"""
FLAGS = 0x02 | 0x20 | 0x4000 | 0x10_0000
"""MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE"""
CAPACITY = DEVICES["MI300X"].hbm_gib << 30
"""Bytes of the device."""


class Kind(IntEnum):
    """Where memory is, as the program asked for it."""

    DEVICE = 0
    HOST = 1
    MANAGED = 2
    REGISTERED = 3
    """Memory of the program."""
    VARIABLE = 4
    """A variable that the program declared as managed."""

    @property
    def on_device(self) -> bool:
        """Whether it takes memory of the device."""
        return self not in (Kind.HOST, Kind.REGISTERED)


@dataclass(frozen=True)
class Allocation:
    """Memory that the program asked for.

    Attributes:
        buffer: where it is on the device.
        kind: what it was asked for as.
        flags: those of the call.
        host: its address in the program.
    """

    buffer: Buffer
    kind: Kind
    flags: int
    host: int


class _View:
    """Bytes at an address of the program, as NumPy takes them."""

    def __init__(self, address: int, size: int) -> None:
        self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}


class _Mapping(_View):
    """Pages that belong to whoever has the array, and go with it."""

    def __init__(self, address: int, size: int) -> None:
        self.range = address, max(PAGE, -(-size // PAGE) * PAGE)
        if library().mmap(*self.range, PROTECTION, FLAGS, -1, 0) != address:
            raise HipError(Status.OUT_OF_MEMORY)
        super().__init__(address, size)

    def __del__(self) -> None:
        if hasattr(self, "__array_interface__"):
            library().munmap(*self.range)


def array(address: int, size: int) -> Bytes:
    """Return bytes of the program, as an array that shares them."""
    return np.asarray(_View(address, size))


class Memory:
    """The memory of the device, and what the program asked for of it."""

    def __init__(self) -> None:
        self.device = Device()
        self.device.space = self.space = AddressSpace(lambda address, size: np.asarray(_Mapping(address, size)))
        self._by_device: dict[int, Allocation] = {}
        self._by_host: dict[int, Allocation] = {}
        self.used = 0

    def __iter__(self) -> Iterator[Allocation]:
        return iter(list(self._by_device.values()))

    def allocate(self, size: int, kind: Kind, flags: int = 0, name: str = "hipMalloc") -> int:
        """Give out memory; return its address, 0 if no byte is wanted.

        Raises:
            HipError: the device, or the host behind it, has no room.
        """
        if not size:
            return 0
        if kind.on_device and self.used + size > CAPACITY:
            raise HipError(Status.OUT_OF_MEMORY)
        try:
            buffer = self.space.allocate(size, name=f"{name}({size:,})")
        except OptionError:
            raise HipError(Status.OUT_OF_MEMORY) from None
        self._add(Allocation(buffer, kind, flags, buffer.address))
        return buffer.address

    def register(self, host: int, size: int, flags: int) -> None:
        """Let the device see memory of the program.

        Raises:
            HipError: a part of it is registered.
        """
        if any(one.host < host + size and host < one.host + one.buffer.size for one in self):
            raise HipError(Status.HOST_MEMORY_ALREADY_REGISTERED)
        buffer = self.space.allocate(size, name=f"hipHostRegister({host:#x})", data=array(host, size))
        self._add(Allocation(buffer, Kind.REGISTERED, flags, host))

    def _add(self, allocation: Allocation) -> None:
        self._by_device[allocation.buffer.address] = allocation
        self._by_host[allocation.host] = allocation
        if allocation.kind.on_device:
            self.used += allocation.buffer.size

    def free(self, address: int, *kinds: Kind, status: Status = Status.INVALID_VALUE) -> None:
        """Take memory back that begins at an address of the program.

        Raises:
            HipError: none of these kinds begins there.
        """
        allocation = self._by_host.get(address)
        if allocation is None or allocation.kind not in kinds:
            raise HipError(status)
        del self._by_host[address], self._by_device[allocation.buffer.address]
        if allocation.kind.on_device:
            self.used -= allocation.buffer.size
        self.space.free(allocation.buffer)

    def clear(self) -> None:
        """Take everything back that the program asked for by a call."""
        for allocation in self:
            if allocation.kind is not Kind.VARIABLE:
                self.free(allocation.host, allocation.kind)

    def find(self, address: int) -> Allocation | None:
        """Return the allocation that has the byte at an address of the device or of the program."""
        buffer = self.space.find(address)
        if buffer is not None:
            return self._by_device.get(buffer.address)
        return next((one for one in self if one.host <= address < one.host + one.buffer.size), None)

    def reach(self, address: int, size: int) -> int:
        """Return where the program finds bytes that it or the device knows at an address.

        Raises:
            HipError: they are behind the end of a buffer, or in one that was freed.
        """
        if not address:
            raise HipError(Status.INVALID_VALUE)
        buffer = self.space.known(address)
        if buffer is None:
            return address
        if not buffer.live or address + size > buffer.end:
            raise HipError(Status.INVALID_VALUE)
        return int(buffer.bytes.ctypes.data) + address - buffer.address

    def bytes(self, address: int, size: int) -> Bytes:
        """Return bytes at an address that `reach` allows, as an array."""
        return array(self.reach(address, size), size)


@functools.cache
def memory() -> Memory:
    """Return the memory of this process's device."""
    return Memory()
