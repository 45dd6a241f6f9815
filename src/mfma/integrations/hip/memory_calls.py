"""The HIP functions that give memory out, take it back, and tell about it."""

from __future__ import annotations

import ctypes
from typing import Any

from mfma.integrations.hip.interface import Int, Pointer, Size, Unsigned, implements, read, store
from mfma.integrations.hip.memory import Allocation, Kind, memory
from mfma.integrations.hip.session import session
from mfma.integrations.hip.status import HipError, Status
from mfma.integrations.hip.stream_calls import in_stream

PITCH = 256
"""Rows of pitched memory begin at multiples of so many bytes; AMD's runtime has an alignment of 128 or 256."""
HOST_FLAGS = 0x1 | 0x2 | 0x4 | 0x2000_0000 | 0x4000_0000 | 0x8000_0000
REGISTER_FLAGS = 0xF | 0x8000_0000
MANAGED_FLAGS = 1, 2
"""Attached to all streams, or to none yet."""


class PitchedPointer(ctypes.Structure):
    """HIP's ``hipPitchedPtr``."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in ("pointer", "pitch", "width", "height"))


class Extent(ctypes.Structure):
    """HIP's ``hipExtent``; the width is in bytes where no array is concerned."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in ("width", "height", "depth"))


class Attributes(ctypes.Structure):
    """HIP's ``hipPointerAttribute_t``."""

    _fields_ = (
        ("kind", ctypes.c_int), ("device", ctypes.c_int), ("device_pointer", ctypes.c_size_t),
        ("host_pointer", ctypes.c_size_t), ("is_managed", ctypes.c_int), ("flags", ctypes.c_uint),
    )  # fmt: skip


def _give(pointer: int, size: int, kind: Kind, name: str, flags: int = 0) -> None:
    if not pointer:
        raise HipError(Status.INVALID_VALUE)
    store(pointer, ctypes.c_size_t, memory().allocate(size, kind, flags, name))


@in_stream("hipMallocAsync")
@implements("hipMalloc")
def malloc(pointer: Pointer, size: Size) -> None:
    """Give out memory of the device."""
    _give(pointer, size, Kind.DEVICE, "hipMalloc")


@implements("hipMallocFromPoolAsync")
def malloc_from_pool(pointer: Pointer, size: Size, pool: Pointer, stream: Pointer) -> None:
    """Give out memory of the device."""
    session().streams.stream(stream)
    _give(pointer, size, Kind.DEVICE, "hipMallocFromPoolAsync")


@implements("hipExtMallocWithFlags")
def malloc_with_flags(pointer: Pointer, size: Size, flags: Unsigned) -> None:
    """Give out memory of the device."""
    _give(pointer, size, Kind.DEVICE, "hipExtMallocWithFlags", flags)


@implements("hipMallocManaged")
def malloc_managed(pointer: Pointer, size: Size, flags: Unsigned) -> None:
    """Give out memory that host and device share, which all memory is here."""
    if not size or flags not in MANAGED_FLAGS:
        raise HipError(Status.INVALID_VALUE)
    _give(pointer, size, Kind.MANAGED, "hipMallocManaged", flags)


@implements("hipHostMalloc", "hipHostAlloc")
def host_malloc(pointer: Pointer, size: Size, flags: Unsigned) -> None:
    """Give out memory of the host that the device sees."""
    if flags & ~HOST_FLAGS:
        raise HipError(Status.INVALID_VALUE)
    _give(pointer, size, Kind.HOST, "hipHostMalloc", flags)


@implements("hipMallocHost", "hipMemAllocHost")
def malloc_host(pointer: Pointer, size: Size) -> None:
    """Give out memory of the host that the device sees."""
    _give(pointer, size, Kind.HOST, "hipMallocHost")


def _pitch(width: int) -> int:
    return -(-width // PITCH) * PITCH


@implements("hipMallocPitch")
def malloc_pitch(pointer: Pointer, pitch: Pointer, width: Size, height: Size) -> None:
    """Give out memory of rows whose beginnings are aligned."""
    store(pitch, ctypes.c_size_t, _pitch(width))
    _give(pointer, _pitch(width) * height, Kind.DEVICE, "hipMallocPitch")


@implements("hipMemAllocPitch")
def memory_pitch(pointer: Pointer, pitch: Pointer, width: Size, height: Size, element: Unsigned) -> None:
    """Give out memory of rows whose beginnings are aligned."""
    malloc_pitch(pointer, pitch, width, height)


@implements("hipMalloc3D")
def malloc_3d(pointer: Pointer, extent: Extent) -> None:
    """Give out memory of rows whose beginnings are aligned."""
    pitch = _pitch(extent.width)
    address = memory().allocate(pitch * extent.height * extent.depth, Kind.DEVICE, name="hipMalloc3D")
    found = read(pointer, PitchedPointer)
    found.pointer, found.pitch, found.width, found.height = address, pitch, extent.width, extent.height


@in_stream("hipFreeAsync")
@implements("hipFree")
def free(pointer: Pointer) -> None:
    """Take memory back; NULL is no memory."""
    if pointer:
        memory().free(pointer, Kind.DEVICE, Kind.MANAGED)


@implements("hipHostFree", "hipFreeHost")
def host_free(pointer: Pointer) -> None:
    """Take memory of the host back; NULL is no memory."""
    if pointer:
        memory().free(pointer, Kind.HOST)


@implements("hipHostRegister")
def host_register(pointer: Pointer, size: Size, flags: Unsigned) -> None:
    """Let the device see memory of the program."""
    if not pointer or not size or flags & ~REGISTER_FLAGS:
        raise HipError(Status.INVALID_VALUE)
    memory().register(pointer, size, flags)


@implements("hipHostUnregister")
def host_unregister(pointer: Pointer) -> None:
    """End that."""
    if not pointer:
        raise HipError(Status.INVALID_VALUE)
    memory().free(pointer, Kind.REGISTERED, status=Status.HOST_MEMORY_NOT_REGISTERED)


@implements("hipHostGetDevicePointer")
def host_device_pointer(device: Pointer, host: Pointer, flags: Unsigned) -> None:
    """Say where the device sees memory of the host."""
    allocation = memory().find(host) if host else None
    if allocation is None or allocation.kind is Kind.DEVICE or flags:
        raise HipError(Status.INVALID_VALUE)
    store(device, ctypes.c_size_t, allocation.buffer.address + host - allocation.host)


@implements("hipHostGetFlags")
def host_flags(flags: Pointer, host: Pointer) -> None:
    """Say how memory of the host was asked for."""
    allocation = memory().find(host)
    if allocation is None or allocation.kind.on_device:
        raise HipError(Status.INVALID_VALUE)
    store(flags, ctypes.c_uint, allocation.flags)


def _found(pointer: int, status: Status = Status.INVALID_VALUE) -> tuple[Allocation, int]:
    """The allocation with the byte at an address of either side, and how far inside that is."""
    allocation = memory().find(pointer)
    if allocation is None:
        raise HipError(status)
    start = allocation.buffer.address if memory().space.find(pointer) else allocation.host
    return allocation, pointer - start


@implements("hipPointerGetAttributes")
def pointer_attributes(attributes: Pointer, pointer: Pointer) -> None:
    """Say what is behind an address; the numbers of kinds of memory are others since HIP 6."""
    found = read(attributes, Attributes)
    modern = session().major > 5
    ctypes.memset(attributes, 0, ctypes.sizeof(found))
    allocation = memory().find(pointer)
    if allocation is None:
        found.device = -2 if modern else 0
        if not modern:
            raise HipError(Status.INVALID_VALUE)
        return
    _, inside = _found(pointer)
    managed = allocation.kind in (Kind.MANAGED, Kind.VARIABLE)
    if modern:
        found.kind = 3 if managed else 2 if allocation.kind.on_device else 1
    else:
        found.kind = 1 if allocation.kind.on_device else 0
    found.device_pointer = allocation.buffer.address + inside
    found.host_pointer = 0 if allocation.kind is Kind.DEVICE else allocation.host + inside
    found.is_managed = managed
    found.flags = allocation.flags


@implements("hipMemGetAddressRange")
def address_range(base: Pointer, size: Pointer, pointer: Pointer) -> None:
    """Say where the memory begins that has a byte, and how large it is."""
    allocation, _ = _found(pointer, Status.NOT_FOUND)
    if base:
        store(base, ctypes.c_size_t, allocation.buffer.address)
    if size:
        store(size, ctypes.c_size_t, allocation.buffer.size)


@implements("hipMemPtrGetInfo")
def pointer_size(pointer: Pointer, size: Pointer) -> None:
    """Say how large the memory is that begins somewhere."""
    allocation, _ = _found(pointer)
    store(size, ctypes.c_size_t, allocation.buffer.size)


@implements("hipMemPrefetchAsync")
def prefetch(pointer: Pointer, size: Size, device: Int, stream: Pointer) -> None:
    """Nothing moves: there is one memory."""
    session().streams.stream(stream)
    memory().reach(pointer, size)


@implements("hipMemAdvise")
def advise(pointer: Pointer, size: Size, advice: Int, device: Int) -> None:
    """Nothing moves: there is one memory."""
    memory().reach(pointer, size)


@implements("hipStreamAttachMemAsync")
def attach(stream: Pointer, pointer: Pointer, size: Size, flags: Unsigned) -> None:
    """Nothing moves: there is one memory."""
    session().streams.stream(stream)


@implements("hipDeviceGetDefaultMemPool", "hipDeviceGetMemPool")
def default_pool(pool: Pointer, device: Int) -> None:
    """Return the handle of the only pool."""
    store(pool, ctypes.c_size_t, 1)


@implements("hipMemPoolTrimTo")
def trim(pool: Pointer, keep: Size) -> None:
    """Nothing is kept in a pool."""


@implements("hipMemPoolSetAttribute")
def set_pool_attribute(pool: Pointer, attribute: Int, value: Pointer) -> None:
    """Nothing is kept in a pool."""


@implements("hipPointerGetAttribute")
def pointer_attribute(data: Pointer, attribute: Int, pointer: Pointer) -> None:
    """Say one thing about what is behind an address."""
    about = Attributes()
    pointer_attributes(ctypes.addressof(about), pointer)
    allocation, inside = _found(pointer)
    answers: dict[int, tuple[Any, int]] = {
        2: (ctypes.c_int, about.kind),
        3: (ctypes.c_size_t, about.device_pointer),
        4: (ctypes.c_size_t, about.host_pointer),
        8: (ctypes.c_int, about.is_managed),
        9: (ctypes.c_int, about.device),
        11: (ctypes.c_size_t, pointer - inside),
        12: (ctypes.c_size_t, allocation.buffer.size),
        13: (ctypes.c_int, 1),
    }
    if attribute not in answers:
        raise HipError(Status.NOT_SUPPORTED)
    store(data, *answers[attribute])
