"""The buffer into which kernels print that clang compiled with ``-mprintf-kind=buffered``, read when they have ended.

Its first dword says how many bytes are used behind the first two, and the second how many are there; a message that
does not fit is lost, and printf returns -1. A message begins with a dword: bit 0 is set for stderr, bit 1 for a format
of which only the hash is there (the code object's metadata have the format), and from bit 2 on stands its size in bytes
with the dword. The layout is that of ROCm (``rocclr/device/rocm/rocprintf.cpp`` of ROCm/clr, ``__printf_alloc`` of the
device libraries); OpenCL's messages are others.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from mfma.emulator.hostcall_format import Streams
from mfma.emulator.memory import AddressSpace
from mfma.errors import KernelError

__all__ = ["PrintfBuffer"]

SIZE = 1 << 22
"""Bytes of the buffer, as many as ROCm has."""
HEADER = 8
"""Bytes before the first message."""
TO_STDERR, HASHED = 1, 2
FORMAT = re.compile(r"0:0:(?P<hash>[0-9a-fA-F]+),(?P<format>.*)", re.DOTALL)


class PrintfBuffer:
    """The messages of one launch.

    Args:
        space: device memory.
        formats: ``amdhsa.printf`` of the code object's metadata.
        streams: where they go.
    """

    def __init__(self, space: AddressSpace, formats: Sequence[object], streams: Streams) -> None:
        self.buffer = space.allocate(SIZE, name="the printf buffer")
        self.buffer.bytes[:HEADER].view("<u4")[1] = SIZE - HEADER
        self.streams = streams
        matches = [FORMAT.fullmatch(text) for text in formats if isinstance(text, str)]
        self._formats = {int(match["hash"], 16): match["format"].encode() for match in matches if match}

    def read(self) -> None:
        """Print all messages.

        Raises:
            KernelError: one is damaged.
        """
        memory = self.buffer.bytes.tobytes()
        (used,) = struct.unpack_from("<I", memory)
        at, end = HEADER, min(HEADER + used, SIZE)
        while at < end:
            (control,) = struct.unpack_from("<I", memory.ljust(at + 4, b"\0"), at)
            size, body = control >> 2, at + 4
            if size < 4 or at + size > end:
                raise KernelError(
                    f"the kernel prints a message of {size:,} bytes at byte {at - HEADER:,}, which is damaged"
                )
            self.streams.print(
                self._message(memory[body : at + size], bool(control & HASHED)), bool(control & TO_STDERR)
            )
            at += size

    def _message(self, body: bytes, hashed: bool) -> bytes:
        """A message with its format."""
        if not hashed:
            return body
        key = int.from_bytes(body[:8], "little")
        if key not in self._formats:
            raise KernelError(
                f"the kernel prints with the format of hash {key:#x}, which the code object does not have"
            )
        text = self._formats[key]
        return text + bytes(8 - len(text) % 8) + body[8:]
