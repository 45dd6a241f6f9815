"""Bytes of a file with its name: every access is checked, and a failed one says what it was for."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mfma.errors import CodeObjectError

__all__ = ["LARGEST", "Buffer", "Content", "inflate"]

Buffer = bytes | bytearray | memoryview

LARGEST = 1 << 30
"""Bytes of the largest file, decompressed bundle or loaded image that is taken."""
LONGEST = 320
"""Characters of the longest part of a message."""


class Content:
    """A named run of bytes that nobody copies until they are needed."""

    def __init__(self, data: Buffer, name: str = "the input"):
        self.data = memoryview(data).cast("B").toreadonly()
        self.name = name

    def __len__(self) -> int:
        return len(self.data)

    @classmethod
    def read(cls, source: str | os.PathLike[str] | Buffer) -> Content:
        """Take bytes as they are, or read a file.

        Raises:
            CodeObjectError: the file cannot be read or is larger than 1 GiB.
        """
        if isinstance(source, Buffer):
            return cls(source)
        path = Path(source)
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size > LARGEST:
                    raise CodeObjectError(f"{path} is larger than {LARGEST} bytes; give a file with less in it.")
                # what is read is allocated before; a pipe does not say its size
                return cls(file.read(size or LARGEST), str(path))
        except (OSError, ValueError) as error:
            if isinstance(error, CodeObjectError):
                raise
            reason = error.strerror if isinstance(error, OSError) else error
            raise CodeObjectError(f"{path} cannot be read: {reason}; give the path of a file.") from None

    def damaged(self, reason: str) -> CodeObjectError:
        """Return the error for content that contradicts itself."""
        return CodeObjectError(
            f"{_short(self.name)} is damaged: {_short(reason)}; give the file as the compiler wrote it."
        )

    def refused(self, reason: str) -> CodeObjectError:
        """Return the error for content that is sound but not what can be used; the reason says what to do."""
        return CodeObjectError(f"{_short(self.name)} {_short(reason)}.")

    def take(self, offset: int, size: int, what: str) -> memoryview:
        """Return ``size`` bytes from ``offset`` on.

        Raises:
            CodeObjectError: they are not all there.
        """
        if offset < 0 or size < 0 or offset + size > len(self.data):
            raise self.damaged(
                f"{what} should be {size:,} bytes from byte {offset:,} on, and there are {len(self.data):,} bytes"
            )
        return self.data[offset : offset + size]

    def unpack(self, layout: struct.Struct, offset: int, what: str) -> tuple[Any, ...]:
        """Return the fields of a structure."""
        return layout.unpack(self.take(offset, layout.size, what))

    def table(self, layout: struct.Struct, offset: int, count: int, what: str) -> Iterator[tuple[Any, ...]]:
        """Yield the fields of ``count`` structures, one after the other."""
        return layout.iter_unpack(self.take(offset, layout.size * count, what))

    def text(self, offset: int, size: int, what: str) -> str:
        """Return text of one line.

        Raises:
            CodeObjectError: it has control characters or is not UTF-8.
        """
        try:
            found = str(self.take(offset, size, what), "utf-8")
        except UnicodeDecodeError:
            found = "\0"
        if not found.isprintable():
            raise self.damaged(f"{what} at byte {offset:,} is not text of one line")
        return found

    def part(self, offset: int, size: int, what: str) -> Content:
        """Return some of the bytes as content of its own, with the same name in messages."""
        return Content(self.take(offset, size, what), self.name)


def _short(message: str) -> str:
    """Leave out the middle of a long message: names may have thousands of characters."""
    return message if len(message) <= LONGEST else f"{message[: LONGEST - 100]} ... {message[-95:]}"


def inflate(content: Content, data: Buffer, size: int, what: str, most: int = LARGEST) -> tuple[bytes, int]:
    """Decompress zlib data that must have ``size`` bytes; return them and how many bytes they took.

    Raises:
        CodeObjectError: it has another size, more than ``most``, or is no zlib data.
    """
    if size > most:
        raise content.damaged(f"{what} would have {size:,} bytes, where {most:,} are the most")
    machine = zlib.decompressobj()
    try:
        plain = machine.decompress(data, size + 1)
    except zlib.error as error:
        raise content.damaged(f"{what} does not decompress ({error})") from None
    if len(plain) != size or not machine.eof:
        raise content.damaged(f"{what} does not decompress to the {size:,} bytes that are promised")
    return plain, len(data) - len(machine.unused_data)
