"""Which instructions a kernel can reach."""

from __future__ import annotations

from collections.abc import Iterator

from mfma.codeobject import CodeObject
from mfma.codeobject.elf import SymbolKind
from mfma.emulator.decode import Instruction, Undecoded, decode
from mfma.errors import DecodeError

__all__ = ["reachable"]

ENDS = {"s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done", "s_branch", "s_setpc_b64"}
"""Instructions behind which a wave does not go on."""
BY_REGISTER = {"s_setpc_b64", "s_swappc_b64", "s_cbranch_g_fork"}
"""Jumps, calls and returns to where a register says."""


def reachable(code: CodeObject, entry: int) -> Iterator[Instruction | Undecoded]:
    """Instructions from a kernel's entry along both ways of every branch, by address of the image.

    A path ends at a dword that begins no instruction, which is yielded too, or at the end of a section. Where a jump
    or call goes to an address in registers, every function of the object counts as reached: its address may come
    from the program counter, from a table in memory, or from an argument. Kernels are no functions in this sense, and
    a function without a symbol is not found.
    """
    image = code.image
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
