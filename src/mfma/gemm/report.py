"""What a kernel does for one problem on one device: instructions, LDS, traffic, registers, and a predicted time."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

from mfma.errors import OptionError
from mfma.gemm.lds import LDS_BYTES
from mfma.gemm.lds import SOURCE as LDS_SOURCE
from mfma.gemm.model import ASSUMPTIONS, LOAD_BYTES, Strip, strip
from mfma.gemm.registers import EACH, MAX_WAVES, SIMDS
from mfma.isa.spec import WAVE
from mfma.render import Table, fields, text
from mfma.timing.devices import Device
from mfma.timing.peak import Peak, peak

if TYPE_CHECKING:
    from mfma.gemm.kernel import Gemm

__all__ = ["Report", "report"]

FMA_PER_CU = 2 * WAVE // 4 * SIMDS
"""Operations of ``v_fma_f32`` that a compute unit does in a cycle: 64 lanes in 4 cycles on each of 4 SIMDs."""


@dataclass(frozen=True)
class Report:
    """A kernel, a problem and a device; ``str()`` is the report as text, `as_dict` data for JSON.

    The problem is ``batch`` products of M by K and K by N, with K in ``split_k`` parts. ``read_c`` counts C as read.
    """

    gemm: Gemm
    m: int
    n: int
    k: int
    batch: int
    split_k: int
    read_c: bool
    peak: Peak
    strip: Strip
    """What a work-group needs for a strip of K."""

    @property
    def device(self) -> Device:
        """The device."""
        return self.peak.device

    @property
    def grid(self) -> tuple[int, int, int]:
        """Work-groups along N, M and everything else: batch and parts of K."""
        tile, compute = self.gemm.tile, self.gemm.compute
        others = math.ceil(self.batch / compute.batch) * self.parts
        return math.ceil(self.n / tile.block_tile_n), math.ceil(self.m / tile.block_tile_m), others

    @property
    def workgroups(self) -> int:
        """Work-groups of the launch."""
        return math.prod(self.grid)

    @property
    def threads(self) -> int:
        """Threads of a work-group."""
        tile = self.gemm.tile
        return self.gemm.compute.threads(tile.block_tile_m, tile.block_tile_n)

    @property
    def _part(self) -> int:
        """Values of k of a whole part."""
        step = self.gemm.compute.k_step
        return math.ceil(math.ceil(self.k / step) / self.split_k) * step

    @property
    def parts(self) -> int:
        """Parts of K that have something to do."""
        return math.ceil(self.k / self._part)

    @property
    def strips(self) -> int:
        """Strips of K that all parts have together."""
        k_tile = self.gemm.tile.k_tile_size
        last = self.k - self._part * (self.parts - 1)
        return (self.parts - 1) * math.ceil(self._part / k_tile) + math.ceil(last / k_tile)

    @property
    def instructions(self) -> int:
        """Matrix instructions (or ``v_fma_f32``) of all waves, padding included."""
        return self.strip.instructions * self.strips * (self.workgroups // self.parts)

    @property
    def operations(self) -> int:
        """Useful operations: 2·M·N·K for each product."""
        return 2 * self.m * self.n * self.k * self.batch

    @property
    def useful(self) -> float:
        """Share of the instructions' operations that is not padding, from 0 to 1."""
        return self.operations / (self.instructions * self._operations_each)

    @property
    def _scalar(self) -> bool:
        return self.gemm.compute.owner_lanes < WAVE

    @property
    def _operations_each(self) -> int:
        return 2 * WAVE if self._scalar else self.gemm.compute.op.operations

    @property
    def lds_bytes(self) -> int:
        """LDS of a work-group."""
        return self.gemm.tile.shared_bytes(self.gemm.compute)

    @property
    def bytes_requested(self) -> int:
        """Bytes that all work-groups load and store: every block reads its rows of A and columns of B anew."""
        of_a, of_b, of_d = self.gemm.memory.formats(self.gemm.compute)
        columns, rows, _ = self.grid
        a, b = columns * self.m * self.k * of_a.bits, rows * self.n * self.k * of_b.bits
        return self.batch * (a + b + self.m * self.n * of_d.bits * (1 + self.read_c)) // 8 + self.workspace_bytes

    @property
    def bytes_least(self) -> int:
        """Bytes that cross the memory bus if each matrix does so once."""
        of_a, of_b, of_d = self.gemm.memory.formats(self.gemm.compute)
        a, b, d = self.m * self.k * of_a.bits, self.k * self.n * of_b.bits, self.m * self.n * of_d.bits
        return self.batch * (a + b + d * (1 + self.read_c)) // 8 + self.workspace_bytes

    @property
    def workspace_bytes(self) -> int:
        """Bytes of the partial sums of a split, written and read once."""
        partial = self.m * self.n * self.batch * self.gemm.compute.accumulator.bits // 8
        return 2 * self.parts * partial if self.parts > 1 else 0

    @property
    def intensity(self) -> float:
        """Useful operations for each byte of `bytes_least`."""
        return self.operations / self.bytes_least

    @property
    def peak_per_cu(self) -> int:
        """Operations of a compute unit in a cycle at the peak of what the kernel multiplies with."""
        return FMA_PER_CU if self._scalar else self.peak.per_cu_per_cycle

    @property
    def peak_tflops(self) -> float:
        """Peak of the device for what the kernel multiplies with, in 10**12 operations a second."""
        return self.peak_per_cu * self.device.compute_units * self.peak.clock_mhz / 1e6

    @cached_property
    def _compute_cycles(self) -> tuple[int, str]:
        """Cycles of the busiest compute unit, and what binds its full rounds."""
        units, resident = self.device.compute_units, self.strip.groups_per_cu
        rounds, rest = divmod(self.workgroups, units * resident)
        last = math.ceil(rest / units)
        each = math.ceil(self.strips / self.parts)
        of_d = self.gemm.memory.formats(self.gemm.compute)[2]
        tile, compute = self.gemm.tile, self.gemm.compute
        outputs = tile.block_tile_m * tile.block_tile_n * compute.batch
        store = math.ceil(outputs * of_d.bits * (1 + self.read_c) / 8 / LOAD_BYTES)
        full, why = self.strip.cycles(resident)
        tail, why_tail = self.strip.cycles(last)
        # A work-group with two buffers loads its first strip before there is anything to compute.
        ahead = self.strip.load_cycles if self.strip.overlaps else 0
        total = rounds * (each * full + resident * (store + ahead))
        if last:
            total += each * tail + last * (store + ahead)
        return total, why if rounds else why_tail

    @property
    def memory_cycles(self) -> int:
        """Cycles of the memory for `bytes_least`."""
        per_cycle = self.device.hbm_tb_per_s * 1e12 / (self.peak.clock_mhz * 1e6)
        return math.ceil(self.bytes_least / per_cycle)

    @property
    def cycles(self) -> int:
        """Predicted cycles of the kernel."""
        return max(self._compute_cycles[0], self.memory_cycles)

    @property
    def bound(self) -> str:
        """What the prediction is bound by."""
        cycles, why = self._compute_cycles
        return why if cycles >= self.memory_cycles else "memory"

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return self.cycles / (self.peak.clock_mhz * 1e6)

    @property
    def tflops(self) -> float:
        """Useful operations in a second, in units of 10**12."""
        return self.operations / self.seconds / 1e12

    @property
    def utilisation(self) -> float:
        """Share of the predicted cycles in which the matrix cores (or the VALU) work, padding included."""
        each = 4 if self._scalar else self.gemm.compute.op.cycles
        return self.instructions * each / (self.cycles * self.device.compute_units * SIMDS)

    @property
    def share_of_peak(self) -> float:
        """Useful operations over those of the peak, from 0 to 1."""
        return self.tflops / self.peak_tflops

    @property
    def remarks(self) -> tuple[str, ...]:
        """What deserves attention."""
        compute, use = self.gemm.compute, self.strip.registers
        of_d = self.gemm.memory.formats(compute)[2]
        found = []
        if use.accumulation >= EACH:
            found.append(f"accumulators take all {EACH} accumulation registers: nothing else can use them")
        if of_d != compute.accumulator:
            found.append(f"accumulators are {compute.accumulator}; {of_d} is a conversion of the final result")
        if self.workgroups < self.device.compute_units:
            found.append(f"{self.workgroups} work-groups leave compute units of {self.device.compute_units} idle")
        lost = sum(access.conflicts for access in self.strip.lds.values())
        if lost:
            found.append(f"bank conflicts cost {lost} cycles of LDS in every strip: try padding or swizzle")
        return tuple(found)

    @property
    def source(self) -> str:
        """Where the numbers of the device and of LDS come from."""
        return f"{self.peak.source}; memory: {self.device.sources['hbm_tb_per_s']}; LDS: {LDS_SOURCE}"

    @property
    def summary(self) -> tuple[tuple[str, str], ...]:
        """Every quantity with the numbers that give it."""
        use, columns = self.strip.registers, "n × m × (batch and parts of K)"
        what = "v_fma_f32" if self._scalar else self.gemm.compute.op.mnemonic
        unit = "TOPS" if self.gemm.compute.accumulator.is_integer else "TFLOPS"
        return (
            (
                "work-groups",
                f"{' × '.join(map(str, self.grid))} = {self.workgroups} ({columns}) of {self.threads} threads",
            ),
            (
                "strips",
                f"{self.strips} of k_tile_size {self.gemm.tile.k_tile_size}"
                + f" in {self.parts} parts" * (self.parts > 1),
            ),
            (
                "instructions",
                f"{self.instructions} {what}, {self.strip.instructions} in each strip; {self.useful:.1%} of their "
                "operations useful",
            ),
            ("LDS", f"{self.lds_bytes} of {LDS_BYTES} bytes"),
            (
                "registers",
                f"{use.architectural} architectural (fragments {use.fragments}, staging {use.staging}), "
                f"{use.accumulation} accumulation, {use.total} in all",
            ),
            (
                "occupancy",
                f"{self.strip.groups_per_cu} work-groups on a compute unit, {self.strip.waves_per_simd} of {MAX_WAVES} "
                "waves per SIMD",
            ),
            ("traffic", f"{self.bytes_requested} bytes requested, {self.bytes_least} at least through memory"),
            ("intensity", f"{self.operations} / {self.bytes_least} = {self.intensity:.1f} operations per byte"),
            (
                "prediction",
                f"{self.cycles} cycles at {self.peak.clock_mhz:.12g} MHz = {self.seconds * 1e6:.1f} µs, bound by "
                f"{self.bound}",
            ),
            (
                "utilisation",
                f"{self.utilisation:.1%} of the cycles of the {'VALU' if self._scalar else 'matrix cores'}",
            ),
            (
                "throughput",
                f"{self.tflops:.1f} of {self.peak_tflops:.1f} {unit} = {self.share_of_peak:.1%} of the peak",
            ),
        )

    @property
    def lds_table(self) -> Table:
        """LDS accesses of a work-group in a strip, by pattern."""
        header = ("access", "instructions", "bytes per lane", "cycles", "without conflict", "conflicts")
        rows = ((name, x.instructions, x.width, x.cycles, x.ideal, x.conflicts) for name, x in self.strip.lds.items())
        return Table(header, tuple(rows))

    def as_dict(self) -> dict[str, Any]:
        """Give the report as plain data."""
        compute = self.gemm.compute
        return {
            "tile": repr(self.gemm.tile),
            "compute": repr(compute),
            "op": None if self._scalar else compute.op.name,
            "device": self.device.name,
            **{name: getattr(self, name) for name in FACTS},
            "grid": list(self.grid),
            "registers": asdict(self.strip.registers) | {"total": self.strip.registers.total},
            "groups_per_cu": self.strip.groups_per_cu,
            "waves_per_simd": self.strip.waves_per_simd,
            "lds": {name: asdict(x) | {"conflicts": x.conflicts} for name, x in self.strip.lds.items()},
            "remarks": list(self.remarks),
            "assumptions": dict(ASSUMPTIONS),
            "source": self.source,
        }

    def __str__(self) -> str:
        head = f"{self.gemm.tile}\n{self.gemm.compute}\n{self.m} × {self.n} × {self.k} on {self.device}"
        lds = f"LDS of a work-group in each strip:\n{text(self.lds_table, indent='  ')}"
        notes = "".join(f"\nnote: {remark}" for remark in self.remarks)
        return f"{head}\n{fields(self.summary, indent='  ')}\n{lds}{notes}"

    def svg(self) -> str:
        """Draw the roofline of the device with the kernel on it."""
        from mfma.gemm.plot import roofline_svg

        return roofline_svg(self)

    def _repr_svg_(self) -> str:
        return self.svg()


FACTS = (
    *("m", "n", "k", "batch", "split_k", "read_c", "threads", "workgroups", "strips", "instructions", "operations"),
    *("useful", "lds_bytes", "bytes_requested", "bytes_least", "workspace_bytes", "intensity", "cycles", "bound"),
    *("seconds", "tflops", "peak_tflops", "utilisation", "share_of_peak"),
)


def report(
    gemm: Gemm, m: int, n: int, k: int, device: str | Device = "MI300X", *, batch: int = 1, split_k: int = 1,
    read_c: bool = False, clock_mhz: float | None = None,
) -> Report:  # fmt: skip
    """Count what a kernel does for a problem, and predict its time on a device.

    Raises `OptionError` for sizes that are no positive whole numbers and for a split of more parts than K has steps,
    `UnknownNameError` for an unknown device.
    """
    for name, size in (("M", m), ("N", n), ("K", k), ("batch", batch)):
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
            raise OptionError(f"{name} is {size!r}, but a size is a whole number from 1.")
    units = math.ceil(k / gemm.compute.k_step)
    if not isinstance(split_k, Integral) or isinstance(split_k, bool) or not 1 <= split_k <= units:
        raise OptionError(f"split_k is {split_k!r}, but it is a whole number from 1 to {units}, the steps of K.")
    found = peak(gemm.compute.op, device, clock_mhz)
    return Report(gemm, int(m), int(n), int(k), int(batch), int(split_k), bool(read_c), found, strip(gemm))
