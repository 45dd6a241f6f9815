"""The least time of a launch on an MI300X, by a model of issue slots and matrix cores; `ASSUMPTIONS` says which.

Nobody has published the pipeline, and no memory is modelled: a real launch takes longer, one that waits for memory
much longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mfma.isa.spec import MatrixOp
from mfma.timing.devices import DEVICES, Device
from mfma.timing.timeline import SLOT

__all__ = ["ASSUMPTIONS", "Cycles", "Load", "cycles"]

ASSUMPTIONS = (
    (
        "slot",
        "a wave issues at most one instruction every 4 cycles, in order (AMD, CDNA white paper); s_nop N takes N + 1",
    ),
    (
        "units",
        "of a SIMD's waves one may issue to each unit (VALU, SALU, LDS, vector memory, scalar memory, branches, waits) "
        "every 4 cycles; every instruction takes one slot of its unit (assumption: f64 and transcendental ones, and "
        "wide memory instructions, may take more)",
    ),
    ("matrix core", "one for each SIMD, busy for the cycles of the ROCm page, beside everything else"),
    (
        "waves",
        "work-groups are spread evenly over the compute units, their waves over the SIMDs, as many at once as there is "
        "room for; all waves execute the same",
    ),
    (
        "LDS banks",
        "of a compute unit, one access of a wave at a time, in the cycles that its 32 banks of 4 bytes need (CDNA3 ISA "
        "manual); lanes that share a cycle of 128-bit accesses as AMD publishes them, of narrower ones in order, and "
        "lanes of an atomic at one word one after the other (assumption)",
    ),
    ("memory", "data is there in time: no latency, bandwidth, cache or wait state is modelled"),
)
"""What the cycles take for granted: subject -> the rule with its source."""

MATRIX, BANKS, ISSUE = "matrix core", "LDS banks", "issue of each wave"


@dataclass(frozen=True)
class Load:
    """What all waves of a launch execute.

    Attributes:
        groups: how many work-groups there are.
        waves: how many a work-group has.
        slots: issue slots of all of them.
        matrix: matrix instructions and how many.
        units: how many instructions go to each other unit.
        banks: cycles that the banks of LDS need.
    """

    groups: int
    waves: int
    slots: int
    matrix: Mapping[MatrixOp, int]
    units: Mapping[str, int]
    banks: int = 0


@dataclass(frozen=True)
class Cycles:
    """Cycles of the model.

    Attributes:
        device: whose SIMDs, clock and peak.
        simds: those that have a wave at all.
        by_unit: for each unit the cycles that it is busy on the SIMD with the most waves, or for the banks of LDS on
            the compute unit with the most work-groups; for the waves, the cycles that they need to issue one after the
            other where there is no room for more of them at once.
        matrix: cycles of all matrix cores together.
        operations: multiplications and additions of all matrix instructions.
    """

    device: Device
    simds: int
    by_unit: Mapping[str, float]
    matrix: int
    operations: int

    @property
    def cycles(self) -> float:
        """The least cycles of the launch."""
        return max(self.by_unit.values(), default=0.0)

    @property
    def bound(self) -> str:
        """What takes them."""
        return max(self.by_unit, key=lambda unit: self.by_unit[unit])

    @property
    def utilisation(self) -> float:
        """Share of the cycles in which the matrix cores are busy, of the SIMDs that have waves; from 0 to 1."""
        return self.matrix / (self.simds * self.cycles) if self.cycles else 0.0

    @property
    def seconds(self) -> float:
        """The cycles at the device's peak clock."""
        return self.cycles / (self.device.clock_mhz * 1e6)

    @property
    def tera_operations(self) -> float:
        """Matrix operations in a second, in units of 10**12, at most."""
        return self.operations / self.seconds / 1e12 if self.cycles else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "device": self.device.name,
            "clock_mhz": self.device.clock_mhz,
            "cycles": self.cycles,
            "bound": self.bound,
            "by_unit": dict(self.by_unit),
            "seconds": self.seconds,
            "simds": self.simds,
            "all_simds": self.device.matrix_cores,
            "matrix_core_utilisation": self.utilisation,
            "tera_operations_per_second": self.tera_operations,
            "assumptions": dict(ASSUMPTIONS),
        }


def cycles(load: Load, room: int, device: str = "MI300X") -> Cycles:
    """The least time of a launch.

    Args:
        load: what it executes.
        room: how many work-groups a compute unit has room for.
        device: one of `mfma.timing.devices.DEVICES`.

    >>> from mfma.isa.catalogue import find
    >>> op = find("f32_32x32x8f16")  # 32 cycles
    >>> waves = 2 * 1216
    >>> two = cycles(Load(waves // 4, 4, waves * 100, {op: waves * 50}, {"VALU": waves * 50}), 2)
    >>> two.cycles, two.bound, two.utilisation
    (3200.0, 'matrix core', 1.0)
    """
    found = DEVICES[device]
    waves, simds_of_unit = load.groups * load.waves, found.matrix_cores_per_cu
    groups = -(-load.groups // found.compute_units)  # of the compute unit that has the most
    share = -(-groups * load.waves // simds_of_unit) / waves  # of the waves, on the SIMD that has the most
    units = min(load.groups, found.compute_units)
    simds = min(waves, units * min(simds_of_unit, groups * load.waves))
    matrix = sum(op.cycles * count for op, count in load.matrix.items())
    by_unit = {MATRIX: matrix * share} if matrix else {}
    by_unit |= {unit: SLOT * count * share for unit, count in load.units.items()}
    if load.banks:
        by_unit[BANKS] = load.banks * groups / load.groups
    by_unit[ISSUE] = SLOT * load.slots / waves * -(-groups // max(1, room))
    operations = sum(op.operations * count for op, count in load.matrix.items())
    return Cycles(found, simds, by_unit, matrix, operations)
