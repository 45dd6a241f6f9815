"""Relocations: what is added to the image once its address and those of other objects' symbols are known."""

from __future__ import annotations

import enum
import struct
from collections.abc import Callable
from dataclasses import dataclass

from mfma.codeobject.content import Content
from mfma.codeobject.elf import Binding, Elf, SectionFlag, SectionType, Symbol

__all__ = ["Relocation", "RelocationType", "apply", "relocations"]

RELA = struct.Struct("<QQq")

Resolve = Callable[[str], int | None]
"""Name of a symbol -> its absolute address, None if it is not known."""


class RelocationType(enum.Enum):
    """R_AMDGPU_...: its number, bytes that are written, from which bit on, and whether relative to the place.

    Without a size there is nothing that a loader could write: the linker has to have resolved it.
    """

    NONE = 0, 0, 0, False
    ABS32_LO = 1, 4, 0, False
    ABS32_HI = 2, 4, 32, False
    ABS64 = 3, 8, 0, False
    REL32 = 4, 4, 0, True
    REL64 = 5, 8, 0, True
    ABS32 = 6, 4, 0, False
    GOTPCREL = 7, None, 0, True
    GOTPCREL32_LO = 8, None, 0, True
    GOTPCREL32_HI = 9, None, 32, True
    REL32_LO = 10, 4, 0, True
    REL32_HI = 11, 4, 32, True
    RELATIVE64 = 13, 8, 0, False
    REL16 = 14, None, 0, True

    def __init__(self, number: int, size: int | None, shift: int, relative: bool):
        self.number = number
        self.size = size
        self.shift = shift
        self.relative = relative

    def __str__(self) -> str:
        return f"R_AMDGPU_{self.name}"


BY_NUMBER = {kind.number: kind for kind in RelocationType}
WHOLE = {RelocationType.ABS32: range(1 << 32), RelocationType.REL32: range(-(1 << 31), 1 << 31)}
"""Types that keep 32 bits only -> values that fit."""


@dataclass(frozen=True)
class Relocation:
    """Write the symbol's address, or the load address, plus ``addend`` at the virtual address ``offset``."""

    offset: int
    type: RelocationType
    symbol: Symbol | None
    addend: int


def relocations(elf: Elf, symbols: tuple[Symbol, ...]) -> list[Relocation]:
    """Read the relocations that the loader applies, with the dynamic symbols that they refer to.

    Raises:
        CodeObjectError: one has a type that is not known, or refers to a symbol that is not there.
    """
    found = []
    room = len(elf.content) // RELA.size  # sections that share their bytes would multiply them
    for section in elf.sections:
        if not section.has(SectionFlag.ALLOC):
            continue
        if section.type in (SectionType.REL, SectionType.RELR) and section.size:
            raise elf.content.refused(
                f"has its relocations in {section.name} of type {SectionType(section.type).name}; link it so that they "
                "are of type RELA, which is ld.lld's default"
            )
        if section.type != SectionType.RELA:
            continue
        count = section.size // RELA.size
        room -= count
        if room < 0:
            raise elf.content.damaged("it has more relocations than bytes for them")
        for row in elf.content.table(RELA, section.offset, count, f"section {section.name}"):
            found.append(_relocation(elf.content, symbols, *row))
    return found


def _relocation(content: Content, symbols: tuple[Symbol, ...], offset: int, info: int, addend: int) -> Relocation:
    number, index = info & 0xFFFFFFFF, info >> 32
    kind = BY_NUMBER.get(number)
    if kind is None:
        raise content.damaged(f"the relocation at {offset:#x} has type {number}, which gfx942 does not have")
    if index and index >= len(symbols):
        raise content.damaged(f"the relocation at {offset:#x} refers to symbol {index} of {len(symbols)}")
    return Relocation(offset, kind, symbols[index] if index else None, addend)


def apply(content: Content, image: bytearray, items: list[Relocation], base: int, resolve: Resolve | None) -> None:
    """Apply relocations to an image that will be at address ``base``.

    Raises:
        CodeObjectError: a place is outside the image, a type cannot be applied, a symbol is not found or its address
            does not fit.
    """
    missing: dict[str, None] = {}
    for item in items:
        if item.type.size is None:
            raise content.refused(f"has {item.type} at {item.offset:#x}, which no loader applies; link it with ld.lld")
        if item.offset + item.type.size > len(image):
            raise content.damaged(f"{item.type} at {item.offset:#x} is outside the image of {len(image):,} bytes")
        target = base if item.type is RelocationType.RELATIVE64 else _address(item.symbol, base, resolve)
        if target is None:
            missing[str(item.symbol)] = None
            continue
        value = target + item.addend - item.type.relative * (base + item.offset)
        if item.type in WHOLE and value not in WHOLE[item.type]:
            raise content.refused(
                f"has {item.type} of {item.symbol} at {item.offset:#x}, where {value:#x} does not fit 32 bits; choose "
                "a lower address or compile it for 64-bit addresses"
            )
        bits = 8 * item.type.size
        written = value >> item.type.shift & (1 << bits) - 1
        image[item.offset : item.offset + item.type.size] = written.to_bytes(item.type.size, "little")
    if missing:
        raise content.refused(
            f"uses {', '.join(missing)}, which it does not define; give the address through `resolve`, or link it with "
            "the object that does"
        )


def _address(symbol: Symbol | None, base: int, resolve: Resolve | None) -> int | None:
    if symbol is None:
        return 0
    if symbol.defined:
        return symbol.address + base * (not symbol.absolute)
    found = resolve(symbol.name) if resolve else None
    return 0 if found is None and symbol.binding is Binding.WEAK else found
