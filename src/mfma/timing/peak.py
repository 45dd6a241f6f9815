"""Peak throughput of a matrix instruction on a whole device, with the formula that gives it.

The cycles of an instruction are those of one matrix core, so the peak counts every matrix core of every
compute unit. It assumes that each of them starts the next independent instruction as soon as it can, at a
steady clock; measured figures are lower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from mfma.errors import OptionError
from mfma.isa import catalogue
from mfma.isa.spec import MatrixOp
from mfma.timing.devices import Device
from mfma.timing.devices import device as find_device

__all__ = ["Peak", "peak"]


@dataclass(frozen=True)
class Peak:
    """The peak of ``op`` on ``device`` at ``clock_mhz``."""

    op: MatrixOp
    device: Device
    clock_mhz: float

    def __str__(self) -> str:
        return f"{self.op} on {self.device}: {self.formula}; {self.per_cu_per_cycle} operations per CU and cycle"

    @property
    def per_cu_per_cycle(self) -> int:
        """Operations of one compute unit in one cycle; a multiplication and an addition are two."""
        return self.op.operations * self.device.matrix_cores_per_cu // self.op.cycles

    @property
    def tflops(self) -> float:
        """Operations of the whole device in one second, in units of 10**12."""
        return self.per_cu_per_cycle * self.device.compute_units * self.clock_mhz / 1e6

    @property
    def unit(self) -> str:
        """What ``tflops`` counts: TFLOPS, or TOPS for an integer instruction."""
        return "TOPS" if self.op.out.is_integer else "TFLOPS"

    @property
    def formula(self) -> str:
        """The whole calculation, with its numbers."""
        return (
            f"{self.op.operations} operations / {self.op.cycles} cycles"
            f" × {self.device.matrix_cores_per_cu} matrix cores × {self.device.compute_units} CUs"
            f" × {self.clock_mhz:.12g} MHz = {self.tflops:.1f} {self.unit}"
        )

    @property
    def source(self) -> str:
        """How well the numbers of the device are established, and what a sparse peak counts."""
        sources = self.device.sources
        at_peak_clock = self.clock_mhz == self.device.clock_mhz
        remarks = [
            f"compute units: {sources['compute_units']}",
            f"matrix cores: {sources['matrix_cores_per_cu']}",
            f"clock: {sources['clock_mhz'] if at_peak_clock else 'as asked for'}",
        ]
        if self.op.sparse:
            remarks.append("operations: with the products that 4:2 sparsity skips; half of them are computed")
        return "; ".join(remarks)


def peak(op: object, device: str | Device = "MI300X", clock_mhz: float | None = None) -> Peak:
    """Compute the peak throughput of an instruction on a device.

    ``op`` is any of its names, an object or a record; ``device`` a name of `mfma.timing.devices.DEVICES` in any
    case, or a record; ``clock_mhz`` the engine clock in MHz, by default the device's peak clock.

    Raises `UnknownNameError` for an unknown device, `OptionError` for a device of another target than the
    instruction's and for a clock that is not a positive number.

    >>> print(peak("f32_32x32x8f16").formula)
    16384 operations / 32 cycles × 4 matrix cores × 304 CUs × 2100 MHz = 1307.4 TFLOPS
    >>> peak("f32_32x32x8f16", "MI300A", clock_mhz=1900).per_cu_per_cycle
    2048
    """
    found = find_device(device)
    record = getattr(op, "record", op)  # the public object of an instruction wraps its record
    if not isinstance(record, MatrixOp):
        record = catalogue.find(op, found.target)  # type: ignore[arg-type]  # refuses what is no string
    if record.target != found.target:
        raise OptionError(
            f"{record} is the instruction of {record.target}, but {found} is a {found.target}; "
            f"look {record} up for target {found.target}, or name a {record.target} device."
        )
    if clock_mhz is None:
        return Peak(record, found, found.clock_mhz)
    # bool is a Real number too, but True is no clock.
    if not isinstance(clock_mhz, Real) or isinstance(clock_mhz, bool) or not 0 < clock_mhz < math.inf:
        raise OptionError(
            f"clock_mhz is {clock_mhz!r}, but a clock is a positive, finite number of MHz; "
            f"leave it out for the peak clock of {found}, {found.clock_mhz} MHz."
        )
    return Peak(record, found, float(clock_mhz))
