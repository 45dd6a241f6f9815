"""Which instructions a kernel can reach."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from functools import cached_property

from mfma.codeobject import CodeObject
from mfma.codeobject.elf import SymbolKind
from mfma.emulator.decode import Instruction, Undecoded, decode
from mfma.errors import DecodeError

__all__ = ["BY_REGISTER", "Reach", "reachable"]

ENDS = {"s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done", "s_branch", "s_setpc_b64"}
"""Instructions behind which a wave does not go on."""
BY_REGISTER = {"s_setpc_b64", "s_swappc_b64", "s_cbranch_g_fork"}
"""Jumps, calls and returns to where a register says."""


def reachable(code: CodeObject, entry: int, loaded: bytes | None = None) -> Iterator[Instruction | Undecoded]:
    """Instructions from a kernel's entry along both ways of every branch, by address of the image.

    They are those of the image as it is ``loaded``, in case relocations change instructions, or of the object's.

    A path ends at a dword that begins no instruction, which is yielded too, or at the end of a section. Where a jump
    or call goes to an address in registers, every function of the object counts as reached: its address may come
    from the program counter, from a table in memory, or from an argument. Kernels are no functions in this sense, and
    a function without a symbol is not found.
    """
    image = code.image if loaded is None else loaded
    sections = [range(start, start + len(text)) for start, text in code.text]
    pending, seen, functions = [entry], set(), _functions(code)
    while pending:
        address = pending.pop()
        section = next((section for section in sections if address in section), range(0))
        while address in section and address not in seen:
            seen.add(address)
            try:
                instruction = decode(image, address, address)
            except DecodeError:
                yield Undecoded(address, int.from_bytes(image[address : address + 4], "little"))
                break
            yield instruction
            if instruction.target is not None:
                pending.append(instruction.target)
            if instruction.name in BY_REGISTER:
                pending += functions
                functions = []
            if instruction.name in ENDS:
                break
            address += instruction.size


def _functions(code: CodeObject) -> list[int]:
    kernels = {kernel.entry for kernel in code.kernels.values()}
    symbols = (symbol for symbol in code.symbols if symbol.kind is SymbolKind.FUNC and symbol.defined)
    return [symbol.address for symbol in symbols if symbol.address not in kernels]


class Reach:
    """What waves may come to in a code object in device memory; see `reachable`.

    Args:
        code: the object.
        base: device address of its image.
        image: the image as it is there.
    """

    def __init__(self, code: CodeObject, base: int, image: bytes) -> None:
        self.base = base
        self._image = image
        self._code = code
        self._found: list[dict[int, Instruction | Undecoded]] = []

    def of(self, entry: int) -> Collection[Instruction | Undecoded]:
        """What is reached from an address of the image, or from an earlier one that leads there."""
        for found in self._found:
            if entry in found:
                return found.values()
        found = {item.address: item for item in reachable(self._code, entry, self._image)}
        self._found.append(found)
        return found.values()

    def __call__(self, address: int) -> list[Instruction]:
        """Instructions, at device addresses, that a wave may come to from a device address on."""
        return [
            Instruction(self.base + i.address, i.size, i.word, i.row, i.dst, i.src, i.modifiers)
            for i in self.of(address - self.base)
            if isinstance(i, Instruction)
        ]

    def name(self, what: str, *more: object) -> str:
        """Name of something that follows from all code of the object and ``more``; equal in every process."""
        return hashlib.sha256(self._digest + repr((what, *more)).encode()).hexdigest()[:24]

    @cached_property
    def _digest(self) -> bytes:
        digest = hashlib.sha256(repr(_functions(self._code)).encode())
        for address, text in self._code.text:
            digest.update(f" {address} {len(text)} ".encode())
            digest.update(self._image[address : address + len(text)])
        return digest.digest()
