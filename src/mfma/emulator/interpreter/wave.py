"""State of one wave: registers, private memory, where it is and whether it can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mfma.emulator.interpreter.float_order import FloatOrder
from mfma.emulator.memory import Bytes
from mfma.emulator.semantics.machine import EXEC
from mfma.emulator.semantics.values import WAVE
from mfma.emulator.translator.layout import FIELDS, SCALARS, SCRATCH, SGPRS, VGPRS, Field, Status, address, block

if TYPE_CHECKING:
    from mfma.emulator.interpreter.engine import Launch

__all__ = ["Group", "Status", "Wave"]


STATUSES = tuple(Status)


def _field(number: Field) -> Any:
    """A field of the wave's block as an attribute of the wave."""
    index = int(number)

    def get(wave: Wave) -> int:
        return wave.fields[index]

    def put(wave: Wave, value: int) -> None:
        wave.fields[index] = value

    return property(get, put)


class Group:
    """A work-group on its way: its LDS and its waves.

    Attributes:
        index: work-group numbers (x, y, z).
        lds: its local memory, bytes.
        waves: its waves, in the order of their work-items.
        float_order: which of its float sums depend on their order.
    """

    def __init__(self, index: tuple[int, int, int], lds: int, float_order: FloatOrder | None = None) -> None:
        self.index = index
        self.float_order = float_order or FloatOrder()
        self.lds = np.zeros(lds, np.uint8)
        self.waves: list[Wave] = []


class Wave:
    """One wave of a work-group: views of a block of memory that native code works on too, and what only Python needs.

    Attributes:
        memory: the block, see `mfma.emulator.translator.layout`; given zeroed, or made here.
        place: its host address.
        fields: its fields of 64 bits, by `Field`.
        v: vector registers, uint32 (512, 64): architectural from 0, accumulation from 256 on.
        s: scalar registers by operand code, uint32 (128,): VCC at 106, M0 at 124, EXEC at 126.
        scc: the scalar condition code.
        pc: device address of the next instruction.
        mode: the MODE register.
        scratch: private memory of every lane, uint8 (64, bytes).
        executed: instructions so far, the current one included.
        turn: what ``executed`` is when the wave's turn is over; it yields at the next backward jump.
        at: address of the instruction that it executes or executed last; 0 before the first.
        status: whether it can go on.
        serial: its number in the launch.
        undo: what stores of the instruction overwrote, if it has several: memory, indices, old elements.
    """

    def __init__(
        self, launch: Launch, group: Group, number: int, pc: int, mode: int, scratch: int, memory: Bytes | None = None
    ) -> None:
        self.launch = launch
        self.space = launch.space
        self.group = group
        self.number: int = number
        self.memory = memory = block(scratch) if memory is None else memory
        self.place: int = address(memory)
        self.fields = memoryview(memory[FIELDS:SCRATCH]).cast("Q")  # type: ignore[arg-type]
        self.v = memory[:SCALARS].view(np.uint32).reshape(VGPRS, WAVE)
        self.s = memory[SCALARS:FIELDS].view(np.uint32)[:SGPRS]
        self.lds = group.lds
        self.scratch = memory[SCRATCH:].reshape(WAVE, scratch)
        self.fields[Field.NUMBER] = number
        self.pc = pc
        self.mode = mode
        self.float_order = group.float_order
        self.fields[Field.FLOAT_ORDER] = group.float_order.place
        self.undo: list[tuple[Any, Any, Any]] | None = None
        self._mask: Any = None

    pc = _field(Field.PC)
    mode = _field(Field.MODE)
    executed = _field(Field.EXECUTED)
    turn = _field(Field.TURN)
    at = _field(Field.AT)
    serial = _field(Field.SERIAL)

    @property
    def status(self) -> Status:  # noqa: D102, see the attributes of the class
        return STATUSES[self.fields[Field.STATUS]]

    @status.setter
    def status(self, value: Status) -> None:
        self.fields[Field.STATUS] = value

    @property
    def scc(self) -> Any:  # noqa: D102
        return np.bool_(self.fields[Field.SCC])

    @scc.setter
    def scc(self, value: Any) -> None:
        self.fields[Field.SCC] = bool(value)

    @property
    def lds(self) -> Bytes:  # noqa: D102
        return self._lds

    @lds.setter
    def lds(self, memory: Bytes) -> None:
        self._lds = memory
        self.fields[Field.LDS], self.fields[Field.LDS_SIZE] = address(memory), memory.size

    @property
    def scratch(self) -> Any:  # noqa: D102
        return self._scratch

    @scratch.setter
    def scratch(self, memory: Any) -> None:
        self._scratch = memory
        self.fields[Field.SCRATCH], self.fields[Field.SCRATCH_SIZE] = address(memory), memory.shape[1]

    @property
    def mask(self) -> Any:
        """EXEC, bool (64,)."""
        if self._mask is None:
            self._mask = np.unpackbits(self.s[EXEC : EXEC + 2].view(np.uint8), bitorder="little").view(np.bool_)
        return self._mask

    def exec_changed(self) -> None:
        """Forget the unpacked form of EXEC."""
        self._mask = None
