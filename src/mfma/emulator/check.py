"""What a kernel needs that is not implemented, and whether its work-groups are independent: found before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mfma.codeobject import Kernel
from mfma.emulator.decode import Instruction, Undecoded
from mfma.emulator.semantics.registry import DEFINITIONS
from mfma.emulator.translator.store import store
from mfma.emulator.translator.workers import independent
from mfma.errors import LaunchError

if TYPE_CHECKING:
    from mfma.emulator.module import Module

__all__ = ["check_supported"]


INDEPENDENT, ORDERED = b"independent", b"ordered"
"""What is kept of a kernel that was not refused."""
SHOWN = 5
"""Instructions that the message names."""


def check_supported(module: Module, kernel: Kernel) -> bool:
    """Refuse a kernel that can reach instructions without a definition, or words that are no instructions.

    `mfma.emulator.reach` says what counts as reached. That a kernel was not refused is kept on disk, with the result:
    whether its work-groups may run at the same time.

    Raises:
        LaunchError: naming mnemonic, address and source line of each (the first few, by address).
    """
    name = module.reach.name("supported", kernel.entry)
    kept = store().kept(name)
    if kept is not None:
        return kept == INDEPENDENT
    reached = module.reach.of(kernel.entry)
    missing = sorted(filter(_is_missing, reached), key=lambda item: item.address)
    if missing:
        shown = "; ".join(f"{_name(item)} at {_place(module, item.address)}" for item in missing[:SHOWN])
        more = f"; and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise LaunchError(f"{kernel} needs instructions that are not implemented: {shown}{more}.")
    result = independent(item for item in reached if isinstance(item, Instruction))
    store().keep(name, INDEPENDENT if result else ORDERED)
    return result


def _is_missing(item: Instruction | Undecoded) -> bool:
    return isinstance(item, Undecoded) or item.name not in DEFINITIONS


def _name(item: Instruction | Undecoded) -> str:
    return f"{item.word:#010x} (no instruction of gfx942)" if isinstance(item, Undecoded) else item.mnemonic


def _place(module: Module, address: int) -> str:
    """Address in the image, as the disassembler prints it, and what stands there."""
    return f"{address:#x}, {module.describe(module.image.address + address)}"
