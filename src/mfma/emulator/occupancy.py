"""How many waves of a kernel an MI300X has room for at once, and which resource sets the limit."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from mfma.codeobject import Kernel
from mfma.emulator.geometry import LARGEST_LDS
from mfma.emulator.semantics.values import WAVE
from mfma.emulator.start import SIMD_VGPRS, SIMD_WAVES, UNIT_SIMDS
from mfma.render import Table

__all__ = ["Limit", "Occupancy", "occupancy"]

SIMD_SGPRS = 800
"""Scalar registers of a SIMD: what LLVM's ``getOccupancyWithNumSGPRs`` allows is this divided by those of a wave."""
GROUP, ONE = "work-group, of a compute unit", "wave, of a SIMD"
LDS_GRANULE = 512
"""LDS is handed out in so many bytes."""


@dataclass(frozen=True)
class Limit:
    """What one resource allows.

    Attributes:
        resource: its name.
        scope: who uses it, of what.
        used: what that wave or work-group takes, as the hardware hands it out.
        available: what that SIMD or compute unit has.
        groups: work-groups that a compute unit has room for, as far as this resource goes.
    """

    resource: str
    scope: str
    used: int
    available: int
    groups: int


@dataclass(frozen=True)
class Occupancy:
    """Room on a compute unit.

    Attributes:
        waves: of a work-group.
        limits: one for each resource.
    """

    waves: int
    limits: tuple[Limit, ...]

    @property
    def groups(self) -> int:
        """Work-groups that a compute unit has room for; 0 if it has none for a single one."""
        return min(limit.groups for limit in self.limits)

    @property
    def waves_per_simd(self) -> float:
        """Waves of a SIMD, on average over the four of a compute unit; at most 8."""
        return self.groups * self.waves / UNIT_SIMDS

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources without which there would be room for more."""
        return tuple(limit.resource for limit in self.limits if limit.groups == self.groups)

    @property
    def table(self) -> Table:
        """One row for each resource."""
        rows = tuple((limit.resource, limit.scope, limit.used, limit.available, limit.groups) for limit in self.limits)
        return Table(("resource", "of", "used", "available", "work-groups per CU"), rows)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "waves_of_group": self.waves,
            "groups_per_cu": self.groups,
            "waves_per_simd": self.waves_per_simd,
            "limited_by": list(self.limited_by),
            "limits": [asdict(limit) for limit in self.limits],
        }


def occupancy(kernel: Kernel, block: tuple[int, int, int], lds: int = 0) -> Occupancy:
    """Room for a kernel on a compute unit of an MI300X.

    Args:
        kernel: its descriptor has the vector registers, its metadata the scalar ones.
        block: work-items of a work-group.
        lds: bytes of dynamic LDS of a work-group, beyond the kernel's own.
    """
    waves = -(-math.prod(block) // WAVE)
    vgprs, sgprs = kernel.descriptor.vgprs, kernel.sgpr_count
    limits = [
        Limit("wave slots", GROUP, waves, UNIT_SIMDS * SIMD_WAVES, UNIT_SIMDS * SIMD_WAVES // waves),
        Limit("VGPRs and AGPRs", ONE, vgprs, SIMD_VGPRS, UNIT_SIMDS * (SIMD_VGPRS // vgprs) // waves),
        Limit("SGPRs", ONE, sgprs, SIMD_SGPRS, UNIT_SIMDS * (SIMD_SGPRS // max(1, sgprs)) // waves),
    ]
    if size := -(-(kernel.lds_size + lds) // LDS_GRANULE) * LDS_GRANULE:
        limits.append(Limit("LDS bytes", GROUP, size, LARGEST_LDS, LARGEST_LDS // size))
    return Occupancy(waves, tuple(limits))
