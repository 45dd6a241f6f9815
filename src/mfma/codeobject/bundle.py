"""Clang's offload bundles: several objects in one file, each for one target, possibly compressed."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from mfma.codeobject.content import LARGEST, Content, inflate
from mfma.codeobject.target import TargetId

__all__ = ["COMPRESSED", "MAGIC", "Entry", "entries"]

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED = b"CCOB"

COUNT = struct.Struct("<Q")
ENTRY = struct.Struct("<QQQ")
LONGEST_ID = 512
"""Bytes of the longest entry ID that is plausible."""

METHODS = {0: "zlib", 1: "zstd"}
COMMON = struct.Struct("<4sHH")
SIZES = {1: (struct.Struct("<IQ"), False), 2: (struct.Struct("<IIQ"), True), 3: (struct.Struct("<QQQ"), True)}
"""Version of a compressed bundle -> what follows magic number, version and method: the size of the whole (where the
flag says so), of what it holds, and the low half of the MD5 hash of that."""


@dataclass(frozen=True)
class Entry:
    """One object of a bundle.

    ``kind`` is who loads it (``host``, ``hip``, ``hipv4``, ``openmp``), ``triple`` as in ``amdgcn-amd-amdhsa``, and
    ``target`` the processor with its features; of the host's it is empty. ``name`` is what messages call it.
    """

    kind: str
    triple: str
    target: str
    data: memoryview
    name: str

    def runs_on(self, target: str) -> bool:
        """Say whether a GPU, given as a target ID, runs the code."""
        return self.target_id.runs_on(TargetId.parse(target))

    @property
    def target_id(self) -> TargetId:
        """The parsed target."""
        return TargetId.parse(self.target)


def entries(content: Content) -> Iterator[Entry]:
    """Yield the objects of one bundle after the other; between bundles there may be padding.

    Raises:
        CodeObjectError: a bundle is damaged, or compressed in a way that is not understood.
    """
    at, room = 0, LARGEST
    while at < len(content):
        rest = Content(content.data[at:], content.name)
        if rest.data[: len(MAGIC)] == MAGIC:
            found, size = _bundle(rest)
        elif rest.data[: len(COMPRESSED)] == COMPRESSED:
            plain, size = _decompressed(rest, room)
            room -= len(plain)
            found, _ = _bundle(plain)
        else:
            raise content.damaged(f"byte {at:,} begins no offload bundle")
        yield from found
        at = _next(content, at + size)


def _next(content: Content, at: int) -> int:
    """Return where the next bytes other than zero begin."""
    while at < len(content):
        chunk = bytes(content.data[at : at + 4096])
        rest = chunk.lstrip(b"\0")
        at += len(chunk) - len(rest)
        if rest:
            break
    return at


def _bundle(content: Content) -> tuple[list[Entry], int]:
    """Read one bundle; return its entries and its size."""
    if content.data[: len(MAGIC)] != MAGIC:
        raise content.damaged("what was compressed is no offload bundle")
    (count,) = content.unpack(COUNT, len(MAGIC), "the number of entries")
    at = len(MAGIC) + COUNT.size
    found, end = [], at
    for number in range(count):
        offset, size, length = content.unpack(ENTRY, at, f"entry {number} of {count:,}")
        if length > LONGEST_ID:
            raise content.damaged(f"the ID of entry {number} should have {length:,} characters")
        text = content.text(at + ENTRY.size, length, f"the ID of entry {number}")
        data = content.take(offset, size, f"entry {number} ({text})")
        found.append(_entry(text, data, content.name))
        at += ENTRY.size + length
        end = max(end, at, offset + size)
    return found, end


def _entry(text: str, data: memoryview, name: str) -> Entry:
    """Split an entry ID: the kind, three or four parts of the triple, and the target, which may have dashes itself."""
    kind, *parts = text.split("-")
    length = 3 if parts[3:] and parts[3].startswith("gfx") else 4
    triple, target = "-".join(parts[:length]).rstrip("-"), "-".join(parts[length:])
    return Entry(kind, triple, target, data, f"{name}, entry {text}")


def _decompressed(content: Content, room: int) -> tuple[Content, int]:
    """Return what a compressed bundle holds, and its size."""
    _, version, method = content.unpack(COMMON, 0, "the header of a compressed bundle")
    if version not in SIZES:
        raise content.refused(f"is a compressed bundle of version {version}; known are versions 1, 2 and 3")
    layout, is_sized = SIZES[version]
    *sizes, digest = content.unpack(layout, COMMON.size, "the header of a compressed bundle")
    if METHODS.get(method) != "zlib":
        raise content.refused(
            f"is compressed with {METHODS.get(method, f'method {method}')}, and only zlib can be read; unpack it with "
            "clang-offload-bundler --unbundle, or compile without --offload-compress"
        )
    start = COMMON.size + layout.size
    size = sizes[0] if is_sized else len(content)
    data = content.take(start, size - start, "a compressed bundle")
    plain, taken = inflate(content, data, sizes[-1], "a compressed bundle", room)
    if int.from_bytes(hashlib.md5(plain, usedforsecurity=False).digest()[:8], "little") != digest:
        raise content.damaged("a compressed bundle does not have the hash that is promised")
    return Content(plain, content.name), size if is_sized else start + taken
