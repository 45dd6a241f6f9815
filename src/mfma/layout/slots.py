"""What a layout answers with: a slot in the registers, an element of a matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Element", "Slot", "SlotArrays"]


class Slot(NamedTuple):
    """Where one element sits: bits ``high_bit:low_bit`` of register ``vgpr`` in ``lane``.

    ``vgpr`` counts from the operand's first register; a 64-bit element is named by the first of its pair and spans
    bits 63:0. ``negated`` says that the hardware flips the sign while reading (f64 with ``blgp``). The text form is
    ``v1{37}.[15:0]``, ``v2{25}`` for a whole register, ``-v[3:2]{41}`` for a negated register pair.
    """

    lane: int
    vgpr: int
    low_bit: int
    high_bit: int
    negated: bool = False

    def __str__(self) -> str:
        bits = self.high_bit - self.low_bit + 1
        register = f"v[{self.vgpr + 1}:{self.vgpr}]" if bits == 64 else f"v{self.vgpr}"
        part = f".[{self.high_bit}:{self.low_bit}]" if bits < 32 else ""
        return f"{'-' if self.negated else ''}{register}{{{self.lane}}}{part}"


class Element(NamedTuple):
    """Coordinates of one element; those that its matrix does not have are None."""

    i: int | None = None
    j: int | None = None
    k: int | None = None
    block: int = 0


class SlotArrays(NamedTuple):
    """Slots of a whole operand: three integer arrays indexed [block, row, column]."""

    lane: npt.NDArray[np.intp]
    vgpr: npt.NDArray[np.intp]
    low_bit: npt.NDArray[np.intp]
