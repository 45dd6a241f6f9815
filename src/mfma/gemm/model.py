"""Cycles of a kernel by published rates: a bound that ranks policies, not a measurement."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mfma.gemm.accesses import accesses, ideal_accesses
from mfma.gemm.lds import DIRECT_BYTES, LDS_BYTES, Access
from mfma.gemm.protocols import ComputePolicy
from mfma.gemm.registers import MAX_WAVES, SIMDS, RegisterUse, register_use
from mfma.isa.spec import WAVE, MatrixOp
from mfma.timing.steps import Span, matrix_step
from mfma.timing.timeline import SLOT, timeline

if TYPE_CHECKING:
    from mfma.gemm.kernel import Gemm

__all__ = ["ASSUMPTIONS", "LOAD_BYTES", "Strip", "strip"]

LOAD_BYTES = 64
"""Bytes that a compute unit loads or stores through its vector cache in a cycle."""
LOAD_LATENCY = 500
"""Cycles from a load of a strip until its data are there (a round number, not a measurement)."""
LDS_LATENCY = 64
"""Cycles from a read of LDS until its data are there (a round number, not a measurement)."""

ASSUMPTIONS = (
    (
        "matrix core",
        "an instruction occupies it for the cycles of the ROCm page; the instructions of a step follow one another as "
        "`mfma timeline` issues them on one SIMD, and the waves of a SIMD fill each other's gaps",
    ),
    ("VALU", "v_fma_f32 takes one slot of 4 cycles for a wave of 64 lanes (v_pk_fma_f32 is not used)"),
    (
        "LDS",
        "one access at a time for the whole compute unit, in the cycles that its banks need; 64 KiB in 32 banks of 4 "
        "bytes (CDNA3 ISA manual); lanes that share a cycle of 128-bit accesses as AMD publishes them, of narrower "
        "ones in order (assumption)",
    ),
    (
        "loads",
        f"{LOAD_BYTES} bytes in a cycle through the vector cache of a compute unit (assumption: one cache request a "
        "cycle), each element by an instruction of its own, as the kernel is written; direct loads move 256 bytes",
    ),
    (
        "memory",
        "every matrix crosses the memory bus once, at the bandwidth of the device: what work-groups share is found in "
        "caches (at best)",
    ),
    (
        "latency",
        f"a strip is there {LOAD_LATENCY} cycles after it was asked for, LDS answers after {LDS_LATENCY} (round "
        "numbers of the right size, not measurements)",
    ),
    (
        "overlap",
        "a work-group with one buffer loads, then computes; with two it does both at once. Other work-groups of the "
        "compute unit fill the gaps as far as registers and LDS let them be there",
    ),
    ("issue", "a wave issues one instruction every 4 cycles (AMD, CDNA white paper)"),
    ("registers", "counted from fragments, accumulators and staging, and 24 for addresses (estimate)"),
)
"""What the prediction takes for granted: subject -> the rule with its source."""


@dataclass(frozen=True)
class Strip:
    """What a work-group needs for one strip of K, and how many work-groups a compute unit holds.

    ``instructions`` are matrix instructions, or ``v_fma_f32``, of all waves of the work-group; ``core_cycles`` those
    of the busiest SIMD in which they occupy it, ``chain_cycles`` those of one wave alone. ``lds`` has the accesses by
    pattern, ``bytes_loaded`` what the work-group loads; a wave issues instructions that move a strip in
    ``moving_issue_cycles``, and those that compute with it in ``computing_issue_cycles``. ``groups_per_cu`` are the
    work-groups that are resident.
    """

    unit: str
    instructions: int
    core_cycles: int
    chain_cycles: int
    lds: dict[str, Access]
    bytes_loaded: int
    moving_issue_cycles: int
    computing_issue_cycles: int
    groups_per_cu: int
    waves_per_simd: int
    registers: RegisterUse
    overlaps: bool

    @property
    def load_lds_cycles(self) -> int:
        """Cycles of the LDS for the loads of fragments."""
        return sum(access.cycles for name, access in self.lds.items() if name.startswith("load"))

    @property
    def store_lds_cycles(self) -> int:
        """Cycles of the LDS for storing the strips."""
        return sum(access.cycles for name, access in self.lds.items() if name.startswith("store"))

    @property
    def load_cycles(self) -> int:
        """Cycles of the vector cache."""
        return math.ceil(self.bytes_loaded / LOAD_BYTES)

    @property
    def alone_cycles(self) -> int:
        """Cycles of a work-group that has the compute unit for itself."""
        moving = max(self.load_cycles, self.store_lds_cycles, self.moving_issue_cycles)
        computing = max(self.core_cycles, self.chain_cycles, self.load_lds_cycles, self.computing_issue_cycles)
        if not self.overlaps:
            return LOAD_LATENCY + moving + LDS_LATENCY + computing
        lds = self.load_lds_cycles + self.store_lds_cycles
        issue = self.moving_issue_cycles + self.computing_issue_cycles
        return max(LOAD_LATENCY + moving, LDS_LATENCY + computing, lds, issue)

    def cycles(self, groups: int) -> tuple[int, str]:
        """Cycles in which a compute unit does the strip of ``groups`` resident work-groups, and what binds them."""
        bounds = {
            self.unit: groups * self.core_cycles,
            "LDS": groups * (self.load_lds_cycles + self.store_lds_cycles),
            "loads": groups * self.load_cycles,
            "a work-group alone": self.alone_cycles,
        }
        name = max(bounds, key=lambda bound: bounds[bound])
        return bounds[name], name


def strip(gemm: Gemm, *, without_conflicts: bool = False) -> Strip:
    """Count what one strip of K takes; ``without_conflicts`` gives a quick bound from below."""
    tile, compute = gemm.tile, gemm.compute
    threads = compute.threads(tile.block_tile_m, tile.block_tile_n)
    waves = -(-threads // WAVE)
    per_wave, core, chain = _arithmetic(compute, tile.k_tile_size // compute.k_step)
    lds = ideal_accesses(tile, compute) if without_conflicts else accesses(tile, compute, gemm.memory.b_order)
    of_a, of_b, _ = gemm.memory.formats(compute)
    a, b = tile.layout_a(compute), tile.layout_b(compute)
    loaded = (a.rows * of_a.bits + b.rows * of_b.bits) * tile.k_tile_size // 8
    loads = loaded // DIRECT_BYTES if tile.direct else sum(waves * -(-x.rows * x.k // threads) for x in (a, b))
    stores = 0 if tile.direct else lds["store A"].instructions + lds["store B"].instructions
    reads = lds["load A"].instructions + lds["load B"].instructions
    registers = register_use(tile, compute)
    groups, resident = occupancy(registers, waves, tile.shared_bytes(compute))
    return Strip(
        unit="VALU" if compute.owner_lanes < WAVE else "matrix cores",
        instructions=per_wave * waves,
        core_cycles=core * -(-waves // SIMDS),
        chain_cycles=chain,
        lds=lds,
        bytes_loaded=loaded,
        moving_issue_cycles=SLOT * -(-(loads + stores) // waves),
        computing_issue_cycles=SLOT * (per_wave + -(-reads // waves)),
        groups_per_cu=groups,
        waves_per_simd=resident,
        registers=registers,
        overlaps=tile.num_buffers > 1,
    )


def occupancy(registers: RegisterUse, waves: int, shared_bytes: int) -> tuple[int, int]:
    """Return the work-groups that a compute unit holds at a time, and the waves on its busiest SIMD."""
    by_registers = registers.waves_per_simd * SIMDS // waves
    by_lds = LDS_BYTES // shared_bytes
    groups = max(min(by_registers, by_lds), 1)
    return groups, min(-(-groups * waves // SIMDS), MAX_WAVES)


def _arithmetic(compute: ComputePolicy, steps: int) -> tuple[int, int, int]:
    """Instructions of a wave, cycles in which they occupy its SIMD, and cycles that it takes alone."""
    if compute.owner_lanes < WAVE:
        count = compute.acc_size * compute.k_step * steps
        return count, SLOT * count, SLOT * count
    record = compute.op.record
    outputs = compute.thread_tile_m * compute.thread_tile_n * compute.batch
    count = 2 * outputs * compute.k_step // record.operations
    accumulators = compute.acc_size // record.registers.cd.elements
    return count * steps, record.cycles * count * steps, _chain(record, accumulators, count // accumulators) * steps


@functools.cache
def _chain(op: MatrixOp, accumulators: int, rounds: int) -> int:
    """Cycles between one step and the next, when one wave executes the steps on all its accumulators in turn."""
    size, half = op.registers.cd.vgprs, op.registers.a.vgprs
    a, b = Span("v", 0, half), Span("v", half, op.registers.b.vgprs)
    few = min(accumulators, 8)  # more of them never wait for one another
    spans = [Span("a", size * n, size) for n in range(few)]
    sequence = [matrix_step(op, d, a, b, d) for d in spans]
    steady = timeline(sequence, iterations=3).cycles - timeline(sequence, iterations=2).cycles
    return steady * accumulators * rounds // few
