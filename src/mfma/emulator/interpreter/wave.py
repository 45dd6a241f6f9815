"""State of one wave: registers, private memory, where it is and whether it can go on."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import numpy as np

from mfma.emulator.semantics.machine import ACC, EXEC
from mfma.emulator.semantics.values import WAVE

if TYPE_CHECKING:
    from mfma.emulator.decode import Instruction
    from mfma.emulator.interpreter.engine import Launch

__all__ = ["Group", "Status", "Wave"]

SGPRS = 128


class Status(Enum):
    """What a wave is doing."""

    READY = auto()
    YIELDED = auto()  # its turn is over; it can go on
    BARRIER = auto()
    ENDED = auto()


class Group:
    """A work-group on its way: its LDS and its waves.

    Attributes:
        index: work-group numbers (x, y, z).
        lds: its local memory, bytes.
        waves: its waves, in the order of their work-items.
    """

    def __init__(self, index: tuple[int, int, int], lds: int) -> None:
        self.index = index
        self.lds = np.zeros(lds, np.uint8)
        self.waves: list[Wave] = []


class Wave:
    """One wave of a work-group.

    Attributes:
        v: vector registers, uint32 (512, 64): architectural from 0, accumulation from 256 on.
        s: scalar registers by operand code, uint32 (128,): VCC at 106, M0 at 124, EXEC at 126.
        scc: the scalar condition code.
        pc: device address of the next instruction.
        mode: the MODE register.
        scratch: private memory of every lane, uint8 (64, bytes).
        turn: instructions that the wave may still run before it yields at a backward jump.
    """

    def __init__(self, launch: Launch, group: Group, number: int, pc: int, mode: int, scratch: int) -> None:
        self.launch = launch
        self.space = launch.space
        self.group = group
        self.number = number
        self.lds = group.lds
        self.v = np.zeros((2 * ACC, WAVE), np.uint32)
        self.s = np.zeros(SGPRS, np.uint32)
        self.scc = np.bool_(False)
        self.pc = pc
        self.mode = mode
        self.scratch = np.zeros((WAVE, scratch), np.uint8)
        self.status = Status.READY
        self.executed = 0
        self.turn = 0
        self.at: Instruction
        self.float_atomics = 0
        self._mask: Any = None

    @property
    def mask(self) -> Any:
        """EXEC, bool (64,)."""
        if self._mask is None:
            self._mask = np.unpackbits(self.s[EXEC : EXEC + 2].view(np.uint8), bitorder="little").view(np.bool_)
        return self._mask

    def exec_changed(self) -> None:
        """Forget the unpacked form of EXEC."""
        self._mask = None
