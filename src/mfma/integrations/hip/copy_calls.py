"""The HIP functions that copy and fill memory; it has happened when they return, whatever the stream."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from mfma.integrations.hip.interface import Int, Pointer, Size, implements, library, read, store
from mfma.integrations.hip.memory import memory
from mfma.integrations.hip.memory_calls import Extent, PitchedPointer
from mfma.integrations.hip.session import session
from mfma.integrations.hip.status import HipError, Status
from mfma.integrations.hip.stream_calls import in_stream

KINDS = range(5)
"""From host to host, host to device, device to host, device to device, and where the addresses say."""


def _copy(target: int, source: int, size: int) -> None:
    if size:
        library().memmove(memory().reach(target, size), memory().reach(source, size), size)


@in_stream("hipMemcpyAsync", "hipMemcpyWithStream", "hipMemcpyAsync_spt")
@implements("hipMemcpy", "hipMemcpy_spt")
def copy(target: Pointer, source: Pointer, size: Size, kind: Int) -> None:
    """Copy bytes."""
    if not size:
        return
    if not target or not source:
        raise HipError(Status.INVALID_VALUE)
    if kind not in KINDS:
        raise HipError(Status.INVALID_MEMCPY_DIRECTION)
    _copy(target, source, size)


@in_stream("hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync", "hipMemcpyDtoDAsync")
@implements("hipMemcpyHtoD", "hipMemcpyDtoH", "hipMemcpyDtoD")
def copy_directed(target: Pointer, source: Pointer, size: Size) -> None:
    """Copy bytes."""
    _copy(target, source, size)


@in_stream("hipMemcpyPeerAsync")
@implements("hipMemcpyPeer")
def copy_between(target: Pointer, device: Int, source: Pointer, other: Int, size: Size) -> None:
    """Copy bytes within the only device."""
    if device or other:
        raise HipError(Status.INVALID_DEVICE)
    _copy(target, source, size)


def _rows(address: int, pitch: int, width: int, height: int, depth: int, step: int) -> npt.NDArray[Any]:
    """Bytes of rows of layers, as an array [layer, row, byte] that shares them.

    Args:
        address: of the first byte.
        pitch: bytes from one row to the next.
        width, height, depth: bytes of a row, rows of a layer, layers.
        step: bytes from one layer to the next.
    """
    size = (depth - 1) * step + (height - 1) * pitch + width
    flat = memory().bytes(address, size)
    return np.lib.stride_tricks.as_strided(flat, (depth, height, width), (step, pitch, 1))


def _copy_rows(target: int, target_pitch: int, source: int, source_pitch: int, width: int, height: int) -> None:
    if not width or not height:
        return
    if not target or not source:
        raise HipError(Status.INVALID_VALUE)
    if width > target_pitch or width > source_pitch:
        raise HipError(Status.INVALID_PITCH_VALUE)
    _rows(target, target_pitch, width, height, 1, 0)[:] = _rows(source, source_pitch, width, height, 1, 0)


@in_stream("hipMemcpy2DAsync", "hipMemcpy2DAsync_spt")
@implements("hipMemcpy2D", "hipMemcpy2D_spt")
def copy_2d(
    target: Pointer, target_pitch: Size, source: Pointer, source_pitch: Size, width: Size, height: Size, kind: Int
) -> None:
    """Copy a rectangle of bytes."""
    if kind not in KINDS:
        raise HipError(Status.INVALID_MEMCPY_DIRECTION)
    _copy_rows(target, target_pitch, source, source_pitch, width, height)


class Copy3D(ctypes.Structure):
    """HIP's ``hipMemcpy3DParms``."""

    _fields_ = (
        ("source_array", ctypes.c_size_t), ("source_at", Extent), ("source", PitchedPointer),
        ("target_array", ctypes.c_size_t), ("target_at", Extent), ("target", PitchedPointer),
        ("extent", Extent), ("kind", ctypes.c_int),
    )  # fmt: skip


@in_stream("hipMemcpy3DAsync", "hipMemcpy3DAsync_spt")
@implements("hipMemcpy3D", "hipMemcpy3D_spt")
def copy_3d(parameters: Pointer) -> None:
    """Copy a box of bytes."""
    p = read(parameters, Copy3D)
    if p.source_array or p.target_array:
        raise HipError(Status.NOT_SUPPORTED)
    extent = p.extent
    if not extent.width or not extent.height or not extent.depth:
        return
    sides = []
    for side, at in (p.target, p.target_at), (p.source, p.source_at):
        if not side.pointer or extent.width > side.pitch:
            raise HipError(Status.INVALID_VALUE)
        step = side.pitch * side.height
        start = side.pointer + at.depth * step + at.height * side.pitch + at.width
        sides.append(_rows(start, side.pitch, extent.width, extent.height, extent.depth, step))
    sides[0][:] = sides[1]


class Side(ctypes.Structure):
    """One side of ``hip_Memcpy2D``: where its rectangle begins, which of the addresses counts, bytes of its rows."""

    _fields_ = (
        ("x", ctypes.c_size_t), ("y", ctypes.c_size_t), ("kind", ctypes.c_int), ("host", ctypes.c_size_t),
        ("device", ctypes.c_size_t), ("array", ctypes.c_size_t), ("pitch", ctypes.c_size_t),
    )  # fmt: skip

    @property
    def start(self) -> int:
        """Address of the rectangle's first byte."""
        on_host = self.kind == (1 if session().major > 5 else 0)
        address = self.host if on_host else self.device
        return int(address + self.y * self.pitch + self.x)


class Copy2D(ctypes.Structure):
    """HIP's ``hip_Memcpy2D``."""

    _fields_ = (("source", Side), ("target", Side), ("width", ctypes.c_size_t), ("height", ctypes.c_size_t))


@in_stream("hipMemcpyParam2DAsync")
@implements("hipMemcpyParam2D", "hipDrvMemcpy2DUnaligned")
def copy_rectangle(parameters: Pointer) -> None:
    """Copy a rectangle of bytes."""
    p = read(parameters, Copy2D)
    source, target = p.source, p.target
    if source.array or target.array:
        raise HipError(Status.NOT_SUPPORTED)
    _copy_rows(target.start, target.pitch or p.width, source.start, source.pitch or p.width, p.width, p.height)


def _fill(target: int, value: int, count: int, width: int) -> None:
    """Store one element of some bytes many times."""
    if count:
        memory().bytes(target, count * width).view(f"<u{width}")[:] = value & (1 << 8 * width) - 1


@in_stream("hipMemsetAsync", "hipMemsetAsync_spt", "hipMemsetD8Async")
@implements("hipMemset", "hipMemset_spt", "hipMemsetD8")
def fill(target: Pointer, value: Int, size: Size) -> None:
    """Fill bytes."""
    _fill(target, value, size, 1)


@in_stream("hipMemsetD16Async")
@implements("hipMemsetD16")
def fill_16(target: Pointer, value: Int, count: Size) -> None:
    """Fill elements of two bytes."""
    _fill(target, value, count, 2)


@in_stream("hipMemsetD32Async")
@implements("hipMemsetD32")
def fill_32(target: Pointer, value: Int, count: Size) -> None:
    """Fill elements of four bytes."""
    _fill(target, value, count, 4)


@in_stream("hipMemset2DAsync", "hipMemset2DAsync_spt")
@implements("hipMemset2D", "hipMemset2D_spt")
def fill_2d(target: Pointer, pitch: Size, value: Int, width: Size, height: Size) -> None:
    """Fill a rectangle of bytes."""
    if not width or not height:
        return
    if width > pitch:
        raise HipError(Status.INVALID_VALUE)
    _rows(target, pitch, width, height, 1, 0)[:] = value & 0xFF


@in_stream("hipMemset3DAsync", "hipMemset3DAsync_spt")
@implements("hipMemset3D", "hipMemset3D_spt")
def fill_3d(target: PitchedPointer, value: Int, extent: Extent) -> None:
    """Fill a box of bytes."""
    if not extent.width or not extent.height or not extent.depth:
        return
    step = target.pitch * target.height
    _rows(target.pointer, target.pitch, extent.width, extent.height, extent.depth, step)[:] = value & 0xFF


def _symbol(symbol: int, offset: int, size: int) -> int:
    variable = session().code.variable(symbol)
    if offset + size > variable.size:
        raise HipError(Status.INVALID_VALUE)
    return variable.address + offset


@in_stream("hipMemcpyToSymbolAsync", "hipMemcpyToSymbolAsync_spt")
@implements("hipMemcpyToSymbol", "hipMemcpyToSymbol_spt")
def copy_to_symbol(symbol: Pointer, source: Pointer, size: Size, offset: Size, kind: Int) -> None:
    """Copy bytes to a variable of the device."""
    _copy(_symbol(symbol, offset, size), source, size)


@in_stream("hipMemcpyFromSymbolAsync", "hipMemcpyFromSymbolAsync_spt")
@implements("hipMemcpyFromSymbol", "hipMemcpyFromSymbol_spt")
def copy_from_symbol(target: Pointer, symbol: Pointer, size: Size, offset: Size, kind: Int) -> None:
    """Copy bytes from a variable of the device."""
    _copy(target, _symbol(symbol, offset, size), size)


@implements("hipGetSymbolAddress")
def symbol_address(address: Pointer, symbol: Pointer) -> None:
    """Say where a variable of the device is."""
    store(address, ctypes.c_size_t, session().code.variable(symbol).address)


@implements("hipGetSymbolSize")
def symbol_size(size: Pointer, symbol: Pointer) -> None:
    """Say how large a variable of the device is."""
    store(size, ctypes.c_size_t, session().code.variable(symbol).size)
