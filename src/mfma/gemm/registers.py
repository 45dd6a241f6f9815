"""Registers that a kernel needs, and how many waves a SIMD can then hold.

A SIMD of CDNA3 has 512 32-bit registers for each of its 64 lanes. A wave takes at most 256 of them as architectural
and 256 as accumulation registers, each in multiples of 8, and all waves of a SIMD share them (LLVM, AMDGPU usage and
target description of gfx90a and later).
"""

from __future__ import annotations

from dataclasses import dataclass

from mfma.gemm.protocols import ComputePolicy, TilePolicy
from mfma.isa.spec import WAVE

__all__ = ["ADDRESSING", "EACH", "GRANULE", "MAX_WAVES", "SIMDS", "TOTAL", "RegisterUse", "register_use"]

TOTAL = 512
"""Registers per lane of a SIMD."""
EACH = 256
"""Registers per lane that a wave can have of each kind."""
GRANULE = 8
SIMDS = 4
"""SIMDs of a compute unit."""
MAX_WAVES = 8
"""Waves that a SIMD holds at most."""
ADDRESSING = 24
"""Registers set aside for addresses, indices and bounds (an estimate; a compiler needs more or fewer)."""


@dataclass(frozen=True)
class RegisterUse:
    """Registers per lane: ``accumulation`` for the accumulators, the rest ``architectural``.

    Of these, ``fragments`` hold A and B for one ``mma``, and ``staging`` what a thread moves between memory and LDS.
    """

    accumulation: int
    fragments: int
    staging: int

    @property
    def architectural(self) -> int:
        """Architectural registers, with those for addresses."""
        return self.fragments + self.staging + ADDRESSING

    @property
    def total(self) -> int:
        """Registers that a wave takes, each kind rounded up to its granule."""
        return _whole(self.architectural) + _whole(self.accumulation)

    @property
    def waves_per_simd(self) -> int:
        """Waves that fit into the registers of a SIMD."""
        return min(TOTAL // self.total, MAX_WAVES)


def register_use(tile: TilePolicy, compute: ComputePolicy) -> RegisterUse:
    """Count the registers of a pair of policies.

    Accumulators of matrix instructions lie in accumulation registers, those of a thread's own arithmetic in
    architectural ones, where ``v_fma_f32`` needs them.
    """
    threads = compute.threads(tile.block_tile_m, tile.block_tile_n)
    fragments = _words(compute.frag_size_m, compute.a.bits) + _words(compute.frag_size_n, compute.b.bits)
    accumulators = _words(compute.acc_size, compute.accumulator.bits)
    strip = tile.layout_a(compute), tile.layout_b(compute)
    staging = 0 if tile.direct else sum(_words(-(-x.rows * x.k // threads), max(x.bits, 32)) for x in strip)
    if compute.owner_lanes < WAVE:
        return RegisterUse(0, fragments + accumulators, staging)
    return RegisterUse(accumulators, fragments, staging)


def _words(elements: int, bits: int) -> int:
    return -(-elements * bits // 32)


def _whole(registers: int) -> int:
    return -(-registers // GRANULE) * GRANULE
