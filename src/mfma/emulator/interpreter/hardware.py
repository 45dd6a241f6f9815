"""Hardware registers and counters that instructions can read, by the ISA's names, and the MODE register."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from mfma.emulator.interpreter.wave import Wave
from mfma.emulator.memory import PRIVATE_BASE, SHARED_BASE
from mfma.emulator.semantics.machine import Mode
from mfma.errors import KernelError

__all__ = ["HARDWARE", "MODE_BITS", "decode_mode", "set_mode"]

MODE_BITS = 0x0880_03FF
"""What `decode_mode` looks at; all else that a kernel writes to MODE changes no instruction."""

APERTURE = (1 << 32) - 1

HARDWARE: dict[str, Callable[[Wave], Any]] = {
    "shared_base": lambda wave: np.uint64(SHARED_BASE),
    "shared_limit": lambda wave: np.uint64(SHARED_BASE + APERTURE),
    "private_base": lambda wave: np.uint64(PRIVATE_BASE),
    "private_limit": lambda wave: np.uint64(PRIVATE_BASE + APERTURE),
    "MODE": lambda wave: np.uint32(wave.mode),
    # A clock that runs the same every time: instructions of the wave so far.
    "SHADER_CYCLES": lambda wave: np.uint64(wave.executed),
    "REALTIME": lambda wave: np.uint64(wave.executed),
    # Everything runs on compute unit 0 of die 0.
    "HW_ID": lambda wave: np.uint32(wave.number & 0xF),
    "XCC_ID": lambda wave: np.uint32(0),
    "STATUS": lambda wave: np.uint32(int(wave.scc)),
    "TRAPSTS": lambda wave: np.uint32(0),
    "GPR_ALLOC": lambda wave: np.uint32(0),
    "LDS_ALLOC": lambda wave: np.uint32((len(wave.lds) + 511) // 512 << 12),
    "IB_STS": lambda wave: np.uint32(0),
}


@functools.cache
def decode_mode(mode: int) -> Mode:
    """The MODE register as the definitions need it.

    Raises:
        KernelError: a rounding mode other than nearest even.
    """
    if mode & 0xF:
        raise KernelError(
            f"MODE sets floating-point rounding to {mode & 0xF:#x}; only round to nearest even (0) is computed."
        )
    # a set bit keeps subnormals: bit 4 (5) of inputs (outputs) of float32, bit 6 (7) of float16 and float64
    return Mode(
        flush_32=mode >> 4 & 3 != 3,
        flush_16_64=mode >> 6 & 3 != 3,
        dx10_clamp=bool(mode >> 8 & 1),
        ieee=bool(mode >> 9 & 1),
        fp16_ovfl=bool(mode >> 23 & 1),
        gpr_idx_en=bool(mode >> 27 & 1),
    )


def set_mode(wave: Wave, mode: Any) -> None:
    """Write the MODE register."""
    decode_mode(int(mode) & MODE_BITS)
    wave.mode = int(mode)
