"""Where every lane's access goes, and whether it may go there.

An access becomes *pieces*: lanes whose bytes lie in one host memory, of a buffer, of the LDS of the work-group or of
the scratch of the wave. A lane that must not do what it does raises a `MemoryFault` before anything is read or
written.

Alignment follows the mode in which Linux runs compute kernels (``kfd_device_queue_manager_v9.c`` sets
``SH_MEM_CONFIG.ALIGNMENT_MODE`` to UNALIGNED, and LLVM compiles for it with ``unaligned-access-mode``): loads and
stores may have any address in every space, atomics need a multiple of their size.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from mfma.emulator.interpreter.float_order import FloatOrder
from mfma.emulator.memory import PRIVATE_BASE, SHARED_BASE, AddressSpace, Buffer, Bytes
from mfma.emulator.semantics.machine import Access, Space
from mfma.emulator.semantics.values import WAVE
from mfma.errors import MemoryFault

__all__ = ["ATOMIC", "LOAD", "STORE", "Array", "Lanes", "Mask", "Piece", "WaveMemory", "pieces", "wave_bytes"]

NULL = 1 << 16
"""Below this an address is a null pointer and an offset."""
FAR = 1 << 40
"""Bytes from the nearest buffer that no index explains."""

Lanes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]

ALL = np.arange(WAVE)
LOAD, STORE, ATOMIC = "load", "store", "atomic"
SHARED_HIGH, PRIVATE_HIGH = np.uint64(SHARED_BASE >> 32), np.uint64(PRIVATE_BASE >> 32)


class WaveMemory(Protocol):
    """What a wave has of memory: ``scratch`` has a row for every lane."""

    space: AddressSpace
    lds: Bytes
    scratch: npt.NDArray[np.uint8]
    serial: int
    float_order: FloatOrder
    undo: list[tuple[Array, Array, Array]] | None


class Piece(NamedTuple):
    """Lanes whose bytes lie in one memory, and where there each begins."""

    lanes: Lanes
    memory: Bytes
    offsets: Lanes


def pieces(wave: WaveMemory, access: Access, what: str, address: Array, mask: Mask) -> list[Piece]:
    """Split an access by all lanes of the mask; every piece is checked when this returns.

    Args:
        wave: whose memory.
        access: the space, how many bytes, and what they are aligned to.
        what: `LOAD`, `STORE` or `ATOMIC`.
        address: uint64 (64,) in global and flat memory, else uint32 (64,).
        mask: bool (64,).

    Raises:
        MemoryFault: a lane's bytes are not all in one buffer, or in LDS or scratch, or it may not write them.
    """
    lanes = ALL if mask.all() else np.flatnonzero(mask)
    if not lanes.size:
        return []
    if lanes is not ALL:
        address = address[lanes]
    misaligned = np.bitwise_and(address, address.dtype.type(access.alignment - 1)) if access.alignment > 1 else None
    if misaligned is not None and misaligned.any():
        bad = np.flatnonzero(misaligned)
        reason = f"is misaligned: atomics need a multiple of {access.alignment} bytes"
        _fault(access, what, access.space.value, int(address[bad[0]]), lanes[bad], reason)
    match access.space:
        case Space.GLOBAL:
            return _global(wave, access, what, address, lanes)
        case Space.LDS:
            return [_lds(wave, access, what, address, lanes)]
        case Space.SCRATCH:
            return [_scratch(wave, access, what, address, lanes)]
        case Space.FLAT:
            return _flat(wave, access, what, address, lanes)


def wave_bytes(wave: WaveMemory, access: Access, address: int) -> Bytes:
    """Return the bytes of a load by the wave itself from global memory.

    Raises:
        MemoryFault: they are not all in one buffer.
    """
    buffer = wave.space.find(address)
    if buffer is None or address + access.bytes_ > buffer.end:
        _global_fault(wave.space, access, LOAD, address, None)
    start = address - buffer.address
    return buffer.bytes[start : start + access.bytes_]


def _flat(wave: WaveMemory, access: Access, what: str, address: Array, lanes: Lanes) -> list[Piece]:
    high = np.right_shift(address, np.uint64(32))
    shared, private = high == SHARED_HIGH, high == PRIVATE_HIGH
    if not (shared.any() or private.any()):
        return _global(wave, access, what, address, lanes)
    found = []
    if shared.any():
        found.append(_lds(wave, access, what, address[shared].astype(np.uint32), lanes[shared]))
    if private.any():
        found.append(_scratch(wave, access, what, address[private].astype(np.uint32), lanes[private]))
    others = ~(shared | private)
    if others.any():
        found += _global(wave, access, what, address[others], lanes[others])
    return found


def _global(wave: WaveMemory, access: Access, what: str, address: Array, lanes: Lanes) -> list[Piece]:
    # nearly always all lanes are in the buffer of the first
    first = wave.space.known(int(address[0]))
    groups: Any = [(first, slice(None))] if first and _inside(first, address, access.bytes_).all() else None
    found = []
    for buffer, members in groups or wave.space.groups(address):
        where, who = address[members], lanes[members]
        if buffer is None or not buffer.live or (what != LOAD and not buffer.writable):
            _global_fault(wave.space, access, what, int(where[0]), who)
        outside = ~_inside(buffer, where, access.bytes_)
        if outside.any():
            _global_fault(wave.space, access, what, int(where[outside][0]), who[outside])
        if what != LOAD and buffer.protected:
            shielded = _shielded(buffer, where, access.bytes_)
            if shielded.any():
                _global_fault(wave.space, access, what, int(where[shielded][0]), who[shielded])
        found.append(Piece(who, buffer.bytes, np.subtract(where, np.uint64(buffer.address)).astype(np.intp)))
    return found


def _inside(buffer: Buffer, address: Array, bytes_: int) -> Mask:
    """Where all bytes of an access are in the buffer; an address below it wraps to a large offset."""
    if buffer.size < bytes_:
        return np.zeros(address.shape, np.bool_)
    return np.subtract(address, np.uint64(buffer.address)) <= np.uint64(buffer.size - bytes_)


def _shielded(buffer: Buffer, address: Array, bytes_: int) -> Mask:
    """Where an access to a buffer touches a part of it that is read-only."""
    found = np.zeros(address.shape, np.bool_)
    for start, end in buffer.protected:
        found |= (address + np.uint64(bytes_) > np.uint64(start)) & (address < np.uint64(end))
    return found


def _lds(wave: WaveMemory, access: Access, what: str, offsets: Array, lanes: Lanes) -> Piece:
    _limit(access, what, Space.LDS, offsets, lanes, wave.lds.size)
    return Piece(lanes, wave.lds, offsets.astype(np.intp))


def _scratch(wave: WaveMemory, access: Access, what: str, offsets: Array, lanes: Lanes) -> Piece:
    size = wave.scratch.shape[1]
    _limit(access, what, Space.SCRATCH, offsets, lanes, size)
    return Piece(lanes, wave.scratch.reshape(-1), offsets.astype(np.intp) + lanes * size)


def _limit(access: Access, what: str, space: Space, offsets: Array, lanes: Lanes, size: int) -> None:
    outside = offsets.astype(np.int64) + access.bytes_ > size
    if outside.any():
        bad = np.flatnonzero(outside)
        _fault(
            access, what, space.value, int(offsets[bad[0]]), lanes[bad], f"is outside the {space.value} of {size} bytes"
        )


def _global_fault(space: AddressSpace, access: Access, what: str, address: int, lanes: Lanes | None) -> NoReturn:
    """Report why no live and writable buffer holds the bytes of an access."""
    buffer, nearest = space.known(address), space.nearest(address)
    name = Space.GLOBAL.value
    if buffer is not None:
        if not buffer.live:
            reason = "which was freed"
        elif address + access.bytes_ > buffer.end:
            reason = "and crosses its end"
        else:
            reason = "which is read-only"
        _fault(access, what, name, address, lanes, f"is in {_range(buffer)}, {reason}", buffer)
    if nearest is None:
        _fault(access, what, name, address, lanes, "is outside every buffer, and there is none")
    bytes_, side = nearest.distance(address), "before" if address < nearest.address else "behind"
    if address < NULL:
        reason = "is outside every buffer; its pointer is null"
    elif bytes_ > FAR:
        reason = "is outside every buffer, and far from all; if it is a pointer of the host, copy what is there"
    else:
        reason = f"is outside every buffer, {bytes_:,} byte{'s' * (bytes_ != 1)} {side} {_range(nearest)}"
    _fault(access, what, name, address, lanes, reason, nearest)


def _range(buffer: Buffer) -> str:
    last = f" to {buffer.end - 1:#x}" if buffer.size else ""
    return f"{buffer.name!r} ({buffer.address:#x}{last}, {buffer.size:,} bytes)"


def _fault(
    access: Access, what: str, space: str, address: int, lanes: Lanes | None, reason: str, nearest: Buffer | None = None
) -> NoReturn:
    lane = None if lanes is None else int(lanes[0])
    by = "the wave" if lanes is None else f"lane {lane}" + (f" and {len(lanes) - 1} more" if len(lanes) > 1 else "")
    size = f"{access.bytes_} byte{'s' * (access.bytes_ > 1)}"
    raise MemoryFault(
        f"{what} of {size} at {space} address {address:#x} by {by} {reason}",
        lane=lane,
        address=address,
        bytes_=access.bytes_,
        reason=reason,
        nearest=nearest,
    )
