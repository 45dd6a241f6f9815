"""Which instructions a kernel can reach."""

from __future__ import annotations

from collections.abc import Iterator

from mfma.codeobject import CodeObject
from mfma.emulator.decode import Instruction, decode
from mfma.errors import DecodeError

__all__ = ["reachable"]

ENDS = {"s_endpgm", "s_setpc_b64", "s_branch", "s_swappc_b64", "s_endpgm_saved"}


def reachable(code: CodeObject, entry: int) -> Iterator[Instruction]:
    """Instructions from a kernel's entry along both ways of every branch, by address of the image.

    Jumps to addresses in registers (calls, returns) are not followed here; functions that are called so are found
    when they are reached.
    """
    pending, seen = [entry], set()
    while pending:
        address = pending.pop()
        while address not in seen:
            seen.add(address)
            start, text = next(((s, t) for s, t in code.text if s <= address < s + len(t)), (0, b""))
            try:
                instruction = decode(text, address, address - start)
            except DecodeError:
                break
            yield instruction
            if instruction.target is not None:
                pending.append(instruction.target)
            if instruction.name in ENDS:
                break
            address += instruction.size
