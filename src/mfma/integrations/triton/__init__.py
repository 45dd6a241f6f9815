"""Triton kernels on the emulator: inside `emulate`, ``@triton.jit`` functions take CPU torch tensors.

They are compiled by the installed Triton for gfx942. Nothing here imports Triton or torch before `emulate` is entered.
"""

from __future__ import annotations

from mfma.integrations.triton.emulation import Emulation, emulate

__all__ = ["Emulation", "emulate"]
