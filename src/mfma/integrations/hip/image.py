"""Device code in the program's memory: where it ends is written nowhere but in itself."""

from __future__ import annotations

import ctypes
import struct

from mfma.codeobject.bundle import COMPRESSED, MAGIC
from mfma.integrations.hip.interface import leave
from mfma.integrations.hip.status import HipError, Status

__all__ = ["read_image"]

ELF = b"\x7fELF"
ELF_SECTIONS = struct.Struct("<40xQ10xHH")
"""Of an ELF header: offset of the section headers, the size of one, how many. They are the last of a code object."""
COUNT = struct.Struct("<Q")
ENTRY = struct.Struct("<QQQ")
MOST = 1 << 12
"""Entries of the largest plausible bundle."""
COMPRESSED_SIZES = {2: struct.Struct("<8xI"), 3: struct.Struct("<8xQ")}
"""Version of a compressed bundle -> where its size stands."""


def read_image(address: int) -> bytes:
    """Read a code object or an offload bundle.

    Raises:
        HipError: neither begins at the address.
    """
    if not address:
        raise HipError(Status.INVALID_VALUE)
    if ctypes.string_at(address, len(ELF)) == ELF:
        offset, size, count = _fields(ELF_SECTIONS, address)
        return ctypes.string_at(address, offset + size * count)
    if ctypes.string_at(address, len(COMPRESSED)) == COMPRESSED:
        (version,) = _fields(struct.Struct("<4xH"), address)
        if version not in COMPRESSED_SIZES:
            leave(
                f"the device code is a compressed bundle of version {version}, which does not say its size; compile "
                "it without --offload-compress."
            )
        return ctypes.string_at(address, *_fields(COMPRESSED_SIZES[version], address))
    if ctypes.string_at(address, len(MAGIC)) == MAGIC:
        return ctypes.string_at(address, _bundle_size(address))
    raise HipError(Status.INVALID_IMAGE)


def _fields(layout: struct.Struct, address: int) -> tuple[int, ...]:
    return layout.unpack(ctypes.string_at(address, layout.size))


def _bundle_size(address: int) -> int:
    (count,) = _fields(COUNT, address + len(MAGIC))
    if count > MOST:
        raise HipError(Status.INVALID_IMAGE)
    at = len(MAGIC) + COUNT.size
    end = at
    for _ in range(count):
        offset, size, length = _fields(ENTRY, address + at)
        at += ENTRY.size + length
        end = max(end, at, offset + size)
    return end
