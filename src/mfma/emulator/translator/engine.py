"""Runs a launch natively, and in the interpreter what has no native form.

The order is the one of `mfma.emulator.interpreter.engine`: both engines leave the same bits in registers and memory,
and count the same instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mfma.emulator.decode import Instruction
from mfma.emulator.interpreter.engine import Launch
from mfma.emulator.interpreter.hardware import MODE_BITS, decode_mode
from mfma.emulator.interpreter.wave import Group, Status, Wave
from mfma.emulator.translator.driver import Stop, driver
from mfma.emulator.translator.kernel import Counted, Native
from mfma.emulator.translator.layout import Field, address, buffer_table

__all__ = ["NativeLaunch"]

STATUS = {Stop.YIELDED: Status.YIELDED, Stop.BARRIER: Status.BARRIER, Stop.ENDED: Status.ENDED}


class NativeLaunch(Launch):
    """One kernel being run by native code; see `Launch`.

    Attributes:
        natives: native code of the module by mode, one for each range of executable bytes; new ones are added.
        reach: instructions that a wave at an address may come to.
    """

    def __init__(
        self,
        *args: Any,
        natives: dict[int, list[Native]],
        reach: Callable[[int], Sequence[Instruction]],
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.natives = natives
        self.reach = reach
        self.drive = driver()
        self.counted: dict[int, list[Counted]] = {}
        self.table = buffer_table(self.space)

    def _begin(self, index: tuple[int, int, int]) -> Group:
        group = super()._begin(index)
        place, count = address(self.table), len(self.table)
        for wave in group.waves:
            wave.fields[Field.BUFFERS], wave.fields[Field.BUFFER_COUNT] = place, count
        return group

    def _run_wave(self, wave: Wave) -> None:
        before, fields, place = wave.executed, wave.fields, wave.place
        while wave.status is Status.READY:
            code = self._code(wave)
            if code is None:
                self._execute(wave)  # which says why there is none
                continue
            self.drive(place, code.place)
            wave.exec_changed()
            stop = fields[Field.STOP]
            if stop in STATUS:
                wave.status = STATUS[Stop(stop)]
            elif stop == Stop.INTERPRET or (stop == Stop.UNKNOWN and not code.native.translate(wave.pc)):
                self._execute(wave)
            if wave.executed & 0x3FF == 0:
                self._watch(wave, wave.executed - before)
        self.executed += wave.executed - before
        self._watch(wave, 0)

    def _code(self, wave: Wave) -> Counted | None:
        """Native code for the mode of the wave that holds its next instruction."""
        mode, pc = wave.mode & MODE_BITS, wave.pc
        counted = self.counted.get(mode)
        if counted is None:
            natives = self.natives.get(mode)
            if natives is None:
                natives = [Native(text, decode_mode(mode), self.reach) for text in self.code]
                self.natives[mode] = natives
            counted = self.counted[mode] = [Counted(native) for native in natives]
        return None if pc & 3 else next((code for code in counted if pc in code.native), None)

    def counts(self) -> Iterator[tuple[Instruction, int]]:
        """Instructions that ran and how often."""
        yield from super().counts()
        for counted in self.counted.values():
            for code in counted:
                yield from code.items()

    @property
    def interpreted(self) -> int:
        """Instructions that have no native form, or whose form refused them."""
        return sum(self.tally.values())
