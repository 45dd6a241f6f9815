"""What a kernel needs that is not implemented: found before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mfma.codeobject import Kernel
from mfma.emulator.reach import reachable
from mfma.emulator.semantics.registry import DEFINITIONS
from mfma.errors import LaunchError

if TYPE_CHECKING:
    from mfma.emulator.module import Module

__all__ = ["check_supported"]


def check_supported(module: Module, kernel: Kernel) -> None:
    """Refuse a kernel that can reach instructions without a definition.

    Raises:
        LaunchError: naming mnemonic, address and source line of each (the first few).
    """
    missing = [i for i in reachable(module.code, kernel.entry) if i.name not in DEFINITIONS]
    if missing:
        base = module.image.address
        shown = "; ".join(f"{i.mnemonic} at {module.describe(base + i.address)}" for i in missing[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise LaunchError(f"{kernel.name} needs instructions that are not implemented: {shown}{more}.")
