"""The tables of a 64-bit little-endian ELF file: header, sections, segments, symbols and notes.

Read by hand: five fixed structures, each one checked before the next depends on it.
"""

from __future__ import annotations

import enum
import functools
import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from mfma.codeobject.content import LARGEST, Content

__all__ = ["EM_AMDGPU", "MAGIC", "Elf", "Note", "Section", "SectionType", "Segment", "Symbol", "SymbolKind"]

MAGIC = b"\x7fELF"
EM_AMDGPU = 224
ET_DYN = 3

MOST = 4096
"""Sections or program headers of the largest plausible file: a linked code object has about twenty."""
MOST_TEXT = 1 << 26
"""Bytes of all symbols' names together that are taken, since many symbols may share one long name."""

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
NOTE = struct.Struct("<III")

PT_LOAD, PT_NOTE = 1, 4
SHN_UNDEF, SHN_ABS = 0, 0xFFF1


class SectionType(enum.IntEnum):
    """The types of sections that matter here."""

    SYMTAB = 2
    RELA = 4
    NOBITS = 8
    REL = 9
    DYNSYM = 11
    RELR = 19


class SectionFlag(enum.IntFlag):
    """The flags of sections that matter here."""

    ALLOC = 2
    EXECINSTR = 4
    COMPRESSED = 1 << 11


class SymbolKind(enum.Enum):
    """What a symbol stands for."""

    NOTYPE = 0
    OBJECT = 1
    FUNC = 2
    SECTION = 3
    FILE = 4
    COMMON = 5
    TLS = 6
    OTHER = None

    @classmethod
    def _missing_(cls, value: object) -> SymbolKind:
        return cls.OTHER


class Binding(enum.Enum):
    """Who sees a symbol."""

    LOCAL = 0
    GLOBAL = 1
    WEAK = 2
    OTHER = None

    @classmethod
    def _missing_(cls, value: object) -> Binding:
        return cls.OTHER


@dataclass(frozen=True)
class Section:
    """A section header with its name."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    entry_size: int

    def has(self, flag: SectionFlag) -> bool:
        """Say whether a flag is set."""
        return bool(self.flags & flag)


@dataclass(frozen=True)
class Segment:
    """A piece of memory that the loader fills: ``size`` bytes from the virtual ``address`` on, and who may use them."""

    address: int
    size: int
    readable: bool
    writable: bool
    executable: bool
    offset: int
    """Where its bytes begin in the file."""
    stored: int
    """How many of its bytes are in the file; the others are zero."""

    def covers(self, address: int, size: int = 1) -> bool:
        """Say whether bytes are all inside."""
        return self.address <= address and address + size <= self.address + self.size


@dataclass(frozen=True)
class Symbol:
    """A name for ``size`` bytes at a virtual ``address``; an undefined one has its bytes in another object."""

    name: str
    address: int
    size: int
    kind: SymbolKind
    binding: Binding
    section: int

    @property
    def defined(self) -> bool:
        """Whether this object has what the symbol names."""
        return self.section != SHN_UNDEF

    @property
    def absolute(self) -> bool:
        """Whether `address` is just a number, which loading does not move."""
        return self.section == SHN_ABS

    @property
    def is_object(self) -> bool:
        """Whether it names data of this object that are placed in memory."""
        return self.kind is SymbolKind.OBJECT and self.defined and not self.absolute

    def __str__(self) -> str:
        return self.name


class Note(NamedTuple):
    """One note: who defined its type, the type, and what it says."""

    owner: bytes
    type: int
    content: memoryview


class Elf:
    """A checked view of one ELF file.

    Raises:
        CodeObjectError: it is not ELF, not of 64 bits, or its header points outside the file.
    """

    def __init__(self, content: Content):
        self.content = content
        if content.data[:4] != MAGIC:
            raise content.refused("is not an ELF file; give a code object as the compiler wrote it")
        (
            ident, self.type, self.machine, _, self.entry, self._programs, self._sections, self.flags,
            _, self._program_size, self._program_count, self._section_size, self._section_count, self._names,
        ) = content.unpack(HEADER, 0, "the ELF header")  # fmt: skip
        if ident[4:6] != b"\x02\x01":
            raise content.refused("is not a 64-bit little-endian ELF file; give a code object as the compiler wrote it")
        self.os_abi, self.abi_version = ident[7], ident[8]

    @functools.cached_property
    def segments(self) -> tuple[Segment, ...]:
        """What is to be loaded, by ascending address."""
        found = []
        for kind, flags, offset, address, _, stored, size, _ in self._program_headers():
            if kind != PT_LOAD or not size:
                continue
            if stored > size:
                raise self.content.damaged(f"a segment has {stored:,} bytes in the file and {size:,} in memory")
            if address + size > LARGEST:
                raise self.content.refused(
                    f"wants memory up to address {address + size:#x}; an image may have {LARGEST:,} bytes at most, so "
                    "link it without a fixed base address and with less zero-filled data"
                )
            self.content.take(offset, stored, "a segment")
            found.append(Segment(address, size, bool(flags & 4), bool(flags & 2), bool(flags & 1), offset, stored))
        found.sort(key=lambda segment: segment.address)
        for one, other in itertools.pairwise(found):
            if one.address + one.size > other.address:
                raise self.content.damaged(f"two segments share the memory at {other.address:#x}")
        return tuple(found)

    @functools.cached_property
    def sections(self) -> tuple[Section, ...]:
        """All sections with their names."""
        count = self._checked_count(self._section_count, self._section_size, SECTION, "section headers")
        if not count:
            return ()
        rows = list(self.content.table(SECTION, self._sections, count, "the table of section headers"))
        names = self._strings(rows[self._names][4:6] if self._names < count else (0, 0))
        return tuple(
            Section(names(name), kind, flags, address, offset, size, link, entry_size)
            for name, kind, flags, address, offset, size, link, _, _, entry_size in rows
        )

    def section(self, name: str) -> Section | None:
        """Return the first section of a name."""
        return next((section for section in self.sections if section.name == name), None)

    def bytes_of(self, section: Section) -> memoryview:
        """Return what the file has of a section."""
        size = 0 if section.type == SectionType.NOBITS else section.size
        return self.content.take(section.offset, size, f"section {section.name}")

    def symbols(self, kind: SectionType) -> tuple[Symbol, ...]:
        """Return all symbols of the first table of a kind, the empty one at index 0 included."""
        section = next((section for section in self.sections if section.type == kind), None)
        if section is None:
            return ()
        if section.entry_size != SYMBOL.size or section.link >= len(self.sections):
            raise self.content.damaged(f"symbol table {section.name} has entries of {section.entry_size} bytes, not 24")
        strings = self.sections[section.link]
        names = self._strings((strings.offset, strings.size))
        rows = self.content.table(SYMBOL, section.offset, section.size // SYMBOL.size, f"section {section.name}")
        return tuple(
            Symbol(names(name), value, size, SymbolKind(info & 15), Binding(info >> 4), index)
            for name, info, _, index, value, size in rows
        )

    def notes(self) -> Iterator[Note]:
        """Yield the notes that are loaded with the code."""
        for kind, _, offset, _, _, size, _, _ in self._program_headers():
            if kind != PT_NOTE:
                continue
            content = self.content.part(offset, size, "a segment of notes")
            at = 0
            while at < size:
                owner, length, number = content.unpack(NOTE, at, "a note")
                text = content.take(at + NOTE.size, owner, "the owner of a note")
                at += NOTE.size + (owner + 3 & ~3)
                yield Note(bytes(text[:64]).rstrip(b"\0"), number, content.take(at, length, "a note"))
                at += length + 3 & ~3

    def _program_headers(self) -> Iterator[tuple[int, ...]]:
        count = self._checked_count(self._program_count, self._program_size, PROGRAM, "program headers")
        return self.content.table(PROGRAM, self._programs, count, "the table of program headers")

    def _checked_count(self, count: int, size: int, layout: struct.Struct, what: str) -> int:
        if count > MOST:
            raise self.content.refused(f"has {count:,} {what}; give a linked code object, which has at most {MOST:,}")
        if count and size != layout.size:
            raise self.content.damaged(f"its {what} have {size} bytes, not {layout.size}")
        return count

    def _strings(self, place: tuple[int, ...]) -> _Strings:
        return _Strings(self.content.part(place[0], place[1], "a table of names"))


class _Strings:
    """A table of names, each read once."""

    def __init__(self, content: Content):
        self.content = content
        self.text = bytes(content.data)
        self.known: dict[int, str] = {}
        self.taken = 0

    def __call__(self, offset: int) -> str:
        if offset not in self.known:
            end = self.text.find(b"\0", offset)
            if end < 0:
                if offset == 0 and not self.text:
                    return ""
                raise self.content.damaged(f"a name at byte {offset:,} of a table of names does not end in it")
            self.taken += end - offset
            if self.taken > MOST_TEXT:
                raise self.content.damaged(f"its symbols' names have more than {MOST_TEXT:,} bytes")
            self.known[offset] = self.content.text(offset, end - offset, "a name")
        return self.known[offset]
