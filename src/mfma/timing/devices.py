"""The GPUs that the peak figures know, with the source of every number.

An unknown device is an error, never a default: a peak of the wrong part looks just as plausible.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from mfma.errors import UnknownNameError

__all__ = ["DEVICES", "Device", "Origin", "Source", "device"]


class Origin(enum.Enum):
    """Where a number comes from, the best first."""

    AMD = "stated by AMD"
    QUOTED = "quoted from AMD by others"
    INFERRED = "inferred"


@dataclass(frozen=True)
class Source:
    """The origin of a number, and where to look it up or how it was inferred."""

    origin: Origin
    detail: str

    def __str__(self) -> str:
        return f"{self.origin.value} ({self.detail})"


@dataclass(frozen=True)
class Device:
    """One GPU: what its peak figures depend on.

    ``clock_mhz`` is the peak engine clock; ``hbm_gib`` the size of its memory in GiB and ``hbm_tb_per_s`` the
    memory's peak bandwidth in TB/s (10**12 bytes); ``sources`` has one entry for each number, by field name.
    """

    name: str
    target: str
    compute_units: int
    matrix_cores_per_cu: int
    clock_mhz: int
    hbm_gib: int
    hbm_tb_per_s: float
    sources: Mapping[str, Source] = field(hash=False, repr=False)

    def __str__(self) -> str:
        return self.name

    @property
    def matrix_cores(self) -> int:
        """Matrix cores of the whole device."""
        return self.compute_units * self.matrix_cores_per_cu


SPECS = Source(Origin.AMD, "ROCm documentation, GPU specifications")
MI300 = Source(Origin.AMD, "ROCm documentation, MI300 microarchitecture")
BLOG = Source(Origin.AMD, "AMD's blog on matrix core programming, f16 on MI325X: 1216 matrix cores, 2100 MHz")
SAME_CU = Source(Origin.INFERRED, "the compute units are those of MI325X, which has 1216 matrix cores in 304 of them")
REPORTS = Source(Origin.QUOTED, "reports of the product's specification")

MI300X_CLOCK = Source(
    Origin.INFERRED, "2100 is the only whole number of MHz that gives the 1307.4 TFLOPS which AMD states for f16"
)
MI300A_CLOCK = Source(
    Origin.INFERRED, "2100 is the only whole number of MHz that gives the 980.6 TFLOPS which reports quote for f16"
)

DEVICES = {
    device.name: device
    for device in (
        Device(
            *("MI300X", "gfx942", 304, 4, 2100, 192, 5.3),
            {
                "compute_units": SPECS,
                "matrix_cores_per_cu": SAME_CU,
                "clock_mhz": MI300X_CLOCK,
                "hbm_gib": SPECS,
                "hbm_tb_per_s": MI300,
            },
        ),
        Device(
            *("MI300A", "gfx942", 228, 4, 2100, 128, 5.3),
            {
                "compute_units": SPECS,
                "matrix_cores_per_cu": SAME_CU,
                "clock_mhz": MI300A_CLOCK,
                "hbm_gib": SPECS,
                "hbm_tb_per_s": REPORTS,
            },
        ),
        Device(
            *("MI325X", "gfx942", 304, 4, 2100, 256, 6.0),
            {
                "compute_units": SPECS,
                "matrix_cores_per_cu": BLOG,
                "clock_mhz": BLOG,
                "hbm_gib": SPECS,
                "hbm_tb_per_s": REPORTS,
            },
        ),
    )
}
"""The known devices by name."""


def device(name: str | Device) -> Device:
    """Look up a device by its name, in any case.

    Raises `UnknownNameError` for a name that is not in `DEVICES`.

    >>> device("mi300a").compute_units
    228
    """
    if isinstance(name, Device):
        return name
    found = DEVICES.get(name.upper()) if isinstance(name, str) else None
    if found is None:
        raise UnknownNameError(
            f"There are no figures for the device {name!r}; known are {', '.join(DEVICES)}. "
            "Name one of these: no other part is taken in its place."
        )
    return found
