"""One code object: kernels, symbols and memory of a linked ELF file for an AMD GPU."""

from __future__ import annotations

import bisect
import functools
import struct
from collections.abc import Mapping
from types import MappingProxyType

from mfma.codeobject.content import Content, inflate
from mfma.codeobject.elf import EM_AMDGPU, ET_DYN, Elf, Section, SectionFlag, SectionType, Segment, Symbol, SymbolKind
from mfma.codeobject.kernel import Kernel, read_kernel
from mfma.codeobject.lines import Lines
from mfma.codeobject.metadata import document, listed, value
from mfma.codeobject.relocation import Relocation, Resolve, apply, relocations
from mfma.codeobject.target import TargetId

__all__ = ["CodeObject"]

OS_ABI_HSA = 64
SYSTEM = ["amd", "amdhsa"]
VERSIONS = {3: 5, 4: 6}
"""``EI_ABIVERSION`` -> version of the code object."""

COMPRESSION = struct.Struct("<IIQQ")
ELFCOMPRESS_ZLIB = 1


class CodeObject:
    """A linked code object of version 5 or 6.

    Raises:
        CodeObjectError: it is not one, or contradicts itself.
    """

    def __init__(self, content: Content):
        self._content = content
        self._elf = elf = Elf(content)
        if elf.machine != EM_AMDGPU:
            raise content.refused(f"is for machine {elf.machine}, not for AMD GPUs (224); give a code object")
        if elf.os_abi != OS_ABI_HSA or elf.abi_version not in VERSIONS:
            raise content.refused(
                f"has OS ABI {elf.os_abi} version {elf.abi_version}, not HSA (64) version 3 or 4; compile it for "
                "amdgcn-amd-amdhsa with -mcode-object-version=5 or 6"
            )
        if elf.type != ET_DYN:
            raise content.refused("is not linked; link it with ld.lld -shared")
        self.version = VERSIONS[elf.abi_version]
        self.target_id = TargetId.of_flags(elf.flags)
        self.segments: list[Segment] = list(elf.segments)
        self.metadata = document(elf)
        self._check_target()
        self._dynamic_symbols = elf.symbols(SectionType.DYNSYM)
        self.symbols = self._checked_symbols()
        self.relocations: list[Relocation] = relocations(elf, self._dynamic_symbols)
        self.text = self._text()
        kernels = (read_kernel(content, self, entry) for entry in listed(content, self.metadata, "amdhsa.kernels"))
        self.kernels: Mapping[str, Kernel] = MappingProxyType({kernel.name: kernel for kernel in kernels})
        self._lines = Lines(self._debug_section)

    def __repr__(self) -> str:
        return f"<code object for {self.target_id}, version {self.version}: {', '.join(self.kernels) or 'no kernels'}>"

    @property
    def target(self) -> str:
        """The processor, as in ``gfx942``."""
        return self.target_id.processor

    @property
    def features(self) -> dict[str, str]:
        """``sramecc`` and ``xnack``, each ``on``, ``off``, ``any`` or ``unsupported``."""
        return self.target_id.features

    @functools.cached_property
    def image(self) -> bytes:
        """Memory after loading at address 0 without relocations: all segments, zeros between and after them."""
        pieces: list[bytes | memoryview] = []
        end = 0
        for segment in self.segments:
            pieces += [bytes(segment.address - end), self._stored(segment), bytes(segment.size - segment.stored)]
            end = segment.address + segment.size
        return b"".join(pieces)

    def relocated(self, base: int, resolve: Resolve | Mapping[str, int] | None = None) -> bytearray:
        """Return the image as it is after loading at an address.

        Args:
            base: the address of the image's first byte.
            resolve: absolute addresses of the symbols that other objects define, as a function of the name that may
                return None, or as a mapping.

        Raises:
            CodeObjectError: a symbol is not known or not near enough, or a relocation cannot be applied.
        """
        image = bytearray(self.image)
        known = resolve.get if isinstance(resolve, Mapping) else resolve
        apply(self._content, image, self.relocations, base, known)
        return image

    def source_line(self, address: int) -> tuple[str, int] | None:
        """Return file and line of an instruction, None where the object does not tell.

        Raises:
            CodeObjectError: the debug information is damaged.
        """
        return self._lines.at(address)

    def function_at(self, address: int) -> Symbol | None:
        """Return the function that an instruction belongs to; one without a size reaches to the next."""
        starts, functions = self._functions
        index = bisect.bisect_right(starts, address) - 1
        if index < 0 or not self.segment_at(address):
            return None
        function = functions[index]
        return function if not function.size or address < function.address + function.size else None

    def segment_at(self, address: int) -> Segment | None:
        """Return the segment that an address is in."""
        return next((segment for segment in self.segments if segment.covers(address)), None)

    def read(self, address: int, size: int, what: str = "memory") -> bytes:
        """Return bytes of the image, which must be of one segment.

        Raises:
            CodeObjectError: they are not.
        """
        for segment in self.segments:
            if segment.covers(address, size):
                start = address - segment.address
                return bytes(self._stored(segment)[start : start + size]).ljust(size, b"\0")
        raise self._content.damaged(f"{what} at {address:#x} is not in any segment")

    def _stored(self, segment: Segment) -> memoryview:
        return self._content.data[segment.offset : segment.offset + segment.stored]

    def _check_target(self) -> None:
        text = value(self._content, self.metadata, "amdhsa.target", str)
        # The architecture and the environment have several spellings; the target may have dashes itself.
        parts = text.split("-", 4)
        if len(parts) < 5 or parts[1:3] != SYSTEM or str(TargetId.parse(parts[4])) != str(self.target_id):
            raise self._content.damaged(f"its metadata are for {text} and its header is for {self.target_id}")

    def _checked_symbols(self) -> tuple[Symbol, ...]:
        """Return the named symbols of both tables, each once, by address."""
        both = dict.fromkeys((*self._elf.symbols(SectionType.SYMTAB), *self._dynamic_symbols))
        named = [symbol for symbol in both if symbol.name and symbol.kind is not SymbolKind.FILE]
        end = max((segment.address + segment.size for segment in self.segments), default=0)
        for symbol in named:
            is_placed = symbol.defined and not symbol.absolute and symbol.kind in (SymbolKind.OBJECT, SymbolKind.FUNC)
            if is_placed and symbol.address + symbol.size > end:
                raise self._content.damaged(f"symbol {symbol.name} at {symbol.address:#x} is outside the image")
        return tuple(sorted(named, key=lambda symbol: symbol.address))

    def _text(self) -> list[tuple[int, bytes]]:
        """Return address and bytes of the executable sections."""
        found, end = [], 0
        sections = [section for section in self._elf.sections if section.has(SectionFlag.EXECINSTR) and section.size]
        for section in sorted(sections, key=lambda section: section.address):
            inside = any(
                segment.executable and segment.covers(section.address, section.size) for segment in self.segments
            )
            if not inside or section.address < end or section.size > len(self._content):
                raise self._content.damaged(f"section {section.name} is not a part of its own of an executable segment")
            end = section.address + section.size
            found.append((section.address, self.read(section.address, section.size)))
        return found

    @functools.cached_property
    def _functions(self) -> tuple[list[int], list[Symbol]]:
        functions = [symbol for symbol in self.symbols if symbol.kind is SymbolKind.FUNC and symbol.defined]
        return [symbol.address for symbol in functions], functions

    @functools.cached_property
    def objects(self) -> Mapping[str, Symbol]:
        """Constants, variables and kernel descriptors by name."""
        return MappingProxyType({symbol.name: symbol for symbol in self.symbols if symbol.is_object})

    def _debug_section(self, name: str) -> Content:
        section = self._elf.section(name)
        if section is None:
            return Content(b"", self._content.name)
        stored = Content(self._elf.bytes_of(section), self._content.name)
        if not section.has(SectionFlag.COMPRESSED):
            return stored
        return self._inflated(section, stored)

    def _inflated(self, section: Section, stored: Content) -> Content:
        method, _, size, _ = stored.unpack(COMPRESSION, 0, f"section {section.name}")
        if method != ELFCOMPRESS_ZLIB:
            raise stored.refused(f"has {section.name} compressed otherwise than with zlib; compile it with -gz=zlib")
        data, _ = inflate(stored, stored.data[COMPRESSION.size :], size, f"section {section.name}")
        return Content(data, self._content.name)
