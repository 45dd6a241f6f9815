"""Throughput of every matrix instruction of a target: operations, cycles, registers and the peak of each device.

Cycles and co-execution are those of the ROCm page of the target's generation. Each compute unit of every CDNA
generation has four matrix cores. A peak takes every matrix core to start the next independent instruction as soon as
it can, at the device's peak clock; the power limit lowers the clock and the peak with it, so measure at a steady one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mfma.errors import OptionError, UnknownNameError
from mfma.formats import FORMATS
from mfma.isa import cdna3, targets
from mfma.isa.spec import WAVE
from mfma.isa.targets import Listing
from mfma.render import Table
from mfma.timing.devices import DEVICES, Device
from mfma.timing.devices import device as find_device

__all__ = ["VECTOR", "Throughput", "VectorRate", "operations", "table", "throughput", "throughputs"]

MATRIX_CORES_PER_CU = 4
KEPT_BY_SPARSITY = 2
"""A sparse instruction holds one of so many elements of A: 4:2 sparsity keeps half."""


@dataclass(frozen=True)
class Throughput:
    """How fast one matrix instruction of ``target`` is, and the 32-bit registers that a lane spends on it.

    ``cycles_8bit`` is set on the block-scaled instructions only: their cycles when A or B has 8-bit elements.
    """

    target: str
    listing: Listing

    def __str__(self) -> str:
        return (
            f"{self.listing} on {self.target}: {self.operations} operations in {self.cycles} cycles, "
            f"{self.per_cu_per_cycle} per CU and cycle"
        )

    @property
    def name(self) -> str:
        """Short name of the instruction."""
        return str(self.listing)

    @property
    def operations(self) -> int:
        """Multiplications and additions of one instruction; a sparse one counts the products that it skips."""
        return self.listing.operations

    @property
    def cycles(self) -> int:
        """Cycles for which one instruction occupies its matrix core."""
        return self.listing.cycles

    @property
    def cycles_8bit(self) -> int | None:
        """Cycles of a block-scaled instruction with 8-bit elements in A or B; None for every other instruction."""
        return self.listing.cycles_8bit

    @property
    def passes(self) -> int:
        """The cycles in passes of four, the unit of the ISA's wait states."""
        return self.cycles // 4

    @property
    def coexecution(self) -> int | None:
        """Cycles of them in which the VALU may issue; None where the page gives none."""
        return self.listing.coexecution

    @property
    def per_cu_per_cycle(self) -> int:
        """Operations of one compute unit in one cycle; a multiplication and an addition are two."""
        return self.operations * MATRIX_CORES_PER_CU // self.cycles

    @property
    def registers(self) -> tuple[int | None, int | None, int]:
        """32-bit registers per lane of A, of B, and of C and D alike; None where the format is chosen by a modifier.

        >>> throughput("f32_32x32x8f16").registers
        (2, 2, 16)
        """
        listing = self.listing
        elements = listing.m * listing.k * listing.blocks // WAVE
        kept = elements // KEPT_BY_SPARSITY if listing.sparse else elements
        results = listing.m * listing.m * listing.blocks // WAVE
        return _vgprs(kept, listing.a), _vgprs(elements, listing.b), results * listing.out.bits // 32

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices of this target whose figures are known."""
        return tuple(device for device in DEVICES.values() if device.target == self.target)

    @property
    def peaks(self) -> Mapping[str, float]:
        """Device name -> 10**12 operations in a second, for each of `devices`."""
        return {
            device.name: self.per_cu_per_cycle * device.compute_units * device.clock_mhz / 1e6
            for device in self.devices
        }


def _vgprs(elements: int, kind: str) -> int | None:
    return elements * FORMATS[kind].bits // 32 if kind in FORMATS else None


def throughput(op: object, target: str | None = None) -> Throughput:
    """Return how fast an instruction is on a target.

    ``op`` is any of its names, or an object or record. ``target`` is, left out, the object's, and gfx942 for a name;
    the same name may have other cycles on another target. Raise `UnknownNameError` for a target that is not known and
    for an instruction that does not exist there, with the reason.

    >>> throughput("f32_32x32x8f16").per_cu_per_cycle, throughput("f32_32x32x8f16", "gfx90a").per_cu_per_cycle
    (2048, 1024)
    """
    name = getattr(op, "builtin", op)
    where = targets.target(target or str(getattr(op, "target", cdna3.TARGET)))
    if not isinstance(name, str):
        raise UnknownNameError(f"an instruction is given by name, object or record; got {op!r} ({type(op).__name__}).")
    listing = targets.BY_SPELLING.get(name.strip().lower(), {}).get(where.name)
    if listing is None:
        raise UnknownNameError(str(targets.why_not(name, where.name)))
    return Throughput(where.name, listing)


def throughputs(target: str = cdna3.TARGET, *, sparse: bool = False) -> tuple[Throughput, ...]:
    """Return the throughput of every dense (or every sparse) instruction of a target, in the page's order.

    >>> len(throughputs()), max(row.per_cu_per_cycle for row in throughputs())
    (32, 4096)
    """
    found = targets.target(target)
    return tuple(Throughput(found.name, listing) for listing in (found.sparse if sparse else found.dense))


def table(rows: Iterable[Throughput]) -> Table:
    """Return throughputs of one target as a table, with a column of 10**12 operations in a second for each device.

    >>> from mfma.render import text
    >>> print(text(table([throughput("f32_32x32x8f16")]), 120))
    instruction     operations  cycles  passes  VALU cycles  per CU, cycle  A  B  C/D  MI300X  MI300A  MI325X
    f32_32x32x8f16       16384      32       8           28           2048  2  2   16  1307.4   980.6  1307.4
    """
    listed = tuple(rows)
    devices = listed[0].devices if listed else ()
    return Table(
        (*COLUMNS, *(device.name for device in devices)),
        tuple(
            (
                *(row.name, row.operations, row.cycles, row.passes, row.coexecution, row.per_cu_per_cycle),
                *row.registers,
                *(round(tflops, 1) for tflops in row.peaks.values()),
            )
            for row in listed
        ),
    )


COLUMNS = ("instruction", "operations", "cycles", "passes", "VALU cycles", "per CU, cycle", "A", "B", "C/D")


def operations(op: object, workgroups: int, threads: int, instructions: int = 1) -> int:
    """Count the operations of a launch whose every wave executes ``instructions`` of an instruction.

    A wave is 64 threads, and an instruction is executed once for a wave, not for a thread. Raise `OptionError` unless
    all are whole numbers and ``threads`` of a workgroup is a positive multiple of 64.

    >>> operations("i32_32x32x16_i8", workgroups=1, threads=256) // operations("i32_32x32x16_i8", 1, 128)
    2
    """
    if not all(isinstance(value, int) and value >= 0 for value in (workgroups, threads, instructions)):
        raise OptionError(
            f"workgroups={workgroups!r}, threads={threads!r}, instructions={instructions!r}: give whole numbers from 0."
        )
    if threads == 0 or threads % WAVE:
        raise OptionError(
            f"a workgroup of {threads} threads does not fill its waves, and a matrix instruction needs all {WAVE} "
            f"lanes; give a multiple of {WAVE}."
        )
    return throughput(op).operations * workgroups * (threads // WAVE) * instructions


@dataclass(frozen=True)
class VectorRate:
    """What the VALU reaches in one format: the yardstick for a matrix instruction of the same format.

    ``per_cu_per_cycle`` counts operations of one compute unit in one cycle; a fused multiply-add is two.
    """

    format: str
    per_cu_per_cycle: int

    def tflops(self, device: str | Device = "MI300X") -> float:
        """Return the peak of a device; raise `UnknownNameError` for one that is not known.

        >>> print(f"{VECTOR['f64'].tflops('MI300X'):.1f}")
        81.7
        """
        found = find_device(device)
        return self.per_cu_per_cycle * found.compute_units * found.clock_mhz / 1e6


VECTOR = {rate.format: rate for rate in (VectorRate("f64", 128), VectorRate("f32", 256))}
"""Format -> rate of the VALU of CDNA3 (ROCm documentation, MI300 microarchitecture). f32 needs packed instructions."""
