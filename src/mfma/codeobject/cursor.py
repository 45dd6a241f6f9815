"""A place in bytes that moves on as they are read, in the encodings of DWARF."""

from __future__ import annotations

from mfma.codeobject.content import Content

__all__ = ["Cursor"]

LONGEST_LEB = 10
"""Bytes of the longest LEB128 number of 64 bits."""


class Cursor:
    """Reads numbers from ``at`` on; whatever reaches beyond ``end`` is an error."""

    def __init__(self, content: Content, at: int, end: int, what: str):
        self.content = content
        self.at = at
        self.end = end
        self.what = what

    def skip(self, size: int) -> int:
        """Move on; return where that was."""
        start, self.at = self.at, self.at + size
        if size < 0 or self.at > self.end:
            raise self.content.damaged(f"{self.what} ends within an entry")
        return start

    def number(self, size: int) -> int:
        """Read an unsigned number of ``size`` bytes."""
        start = self.skip(size)
        return int.from_bytes(self.content.data[start : self.at], "little")

    def leb(self, *, signed: bool = False) -> int:
        """Read a LEB128 number."""
        result = 0
        for place in range(LONGEST_LEB):
            byte = self.number(1)
            result |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return result - (signed and byte >= 0x40) * (1 << 7 * place + 7)
        raise self.content.damaged(f"{self.what} has a number of more than 64 bits")

    def text(self) -> int:
        """Skip a string that ends with zero; return where it begins."""
        start = self.at
        while self.number(1):
            pass
        return start
