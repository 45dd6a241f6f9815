"""Which GPU a code object is for: the processor and its two features, in ``e_flags`` and in target IDs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

__all__ = ["FEATURES", "MACHINES", "TargetId"]

MACHINES: dict[int, str] = {
    0x020: "gfx600", 0x021: "gfx601", 0x03A: "gfx602",
    0x022: "gfx700", 0x023: "gfx701", 0x024: "gfx702", 0x025: "gfx703", 0x026: "gfx704", 0x03B: "gfx705",
    0x028: "gfx801", 0x029: "gfx802", 0x02A: "gfx803", 0x03C: "gfx805", 0x02B: "gfx810",
    0x02C: "gfx900", 0x02D: "gfx902", 0x02E: "gfx904", 0x02F: "gfx906", 0x030: "gfx908", 0x031: "gfx909",
    0x03F: "gfx90a", 0x032: "gfx90c", 0x040: "gfx940", 0x04B: "gfx941", 0x04C: "gfx942", 0x04F: "gfx950",
    0x033: "gfx1010", 0x034: "gfx1011", 0x035: "gfx1012", 0x042: "gfx1013",
    0x036: "gfx1030", 0x037: "gfx1031", 0x038: "gfx1032", 0x039: "gfx1033", 0x03E: "gfx1034", 0x03D: "gfx1035",
    0x045: "gfx1036",
    0x041: "gfx1100", 0x046: "gfx1101", 0x047: "gfx1102", 0x044: "gfx1103",
    0x043: "gfx1150", 0x04A: "gfx1151", 0x055: "gfx1152", 0x058: "gfx1153",
    0x048: "gfx1200", 0x04E: "gfx1201", 0x049: "gfx1250", 0x05A: "gfx1251",
    0x051: "gfx9-generic", 0x05F: "gfx9-4-generic", 0x052: "gfx10-1-generic", 0x053: "gfx10-3-generic",
    0x054: "gfx11-generic", 0x059: "gfx12-generic",
}  # fmt: skip
"""``EF_AMDGPU_MACH``, the low byte of ``e_flags`` -> processor, as LLVM 22 writes it."""

FEATURES = {"sramecc": 10, "xnack": 8}
"""Feature -> lowest of its two bits in ``e_flags``, in the order of target IDs."""
SETTINGS = ("unsupported", "any", "off", "on")
"""What the two bits mean."""
OPEN = ("unsupported", "any")
"""Settings with which it does not matter what the other side has."""

GENERIC = {"gfx942": "gfx9-4-generic"}
"""Processor -> the generic one whose code it also runs."""


@dataclass(frozen=True)
class TargetId:
    """A processor with the setting of each feature: ``any``, ``on``, ``off`` or ``unsupported``.

    >>> print(TargetId.of_flags(0xE4C)), print(TargetId.of_flags(0x54C))
    gfx942:sramecc+:xnack-
    gfx942
    (None, None)
    """

    processor: str
    sramecc: str = "any"
    xnack: str = "any"

    @classmethod
    def of_flags(cls, flags: int) -> Self:
        """Read ``e_flags`` of a code object of version 4 or later."""
        processor = MACHINES.get(flags & 0xFF, f"processor {flags & 0xFF:#04x}")
        return cls(processor, **{name: SETTINGS[flags >> low & 3] for name, low in FEATURES.items()})

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a target ID such as ``gfx942:sramecc+:xnack-``; what it leaves out is ``any``."""
        processor, *features = text.split(":")
        settings = {feature[:-1]: {"+": "on", "-": "off"}.get(feature[-1:]) for feature in features}
        return cls(processor, **{name: settings.get(name) or "any" for name in FEATURES})

    def __str__(self) -> str:
        signs = ((name, {"on": "+", "off": "-"}.get(setting)) for name, setting in self.features.items())
        return self.processor + "".join(f":{name}{sign}" for name, sign in signs if sign)

    @property
    def features(self) -> dict[str, str]:
        """Feature -> setting."""
        return {name: getattr(self, name) for name in FEATURES}

    def runs_on(self, device: TargetId) -> bool:
        """Say whether a device may run the code, where ``any`` of the device means that it does not matter."""
        same = self.processor == device.processor or self.processor == GENERIC.get(device.processor)
        pairs = ((getattr(self, name), getattr(device, name)) for name in FEATURES)
        return same and all(code == there or code in OPEN or there in OPEN for code, there in pairs)
