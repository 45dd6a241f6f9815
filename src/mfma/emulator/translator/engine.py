"""Runs a launch natively, and in the interpreter what has no native form.

The order is the one of `mfma.emulator.interpreter.engine`: both engines leave the same bits in registers and memory,
and count the same instructions.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mfma.emulator.decode import Instruction
from mfma.emulator.interpreter.engine import Launch
from mfma.emulator.interpreter.float_order import FloatOrder
from mfma.emulator.interpreter.hardware import MODE_BITS, decode_mode
from mfma.emulator.interpreter.wave import Group, Status, Wave
from mfma.emulator.schedule import Index
from mfma.emulator.translator.driver import WATCH_EVERY, Stop, driver
from mfma.emulator.translator.kernel import LOCK, Counted, Native
from mfma.emulator.translator.layout import Field, address, buffer_table
from mfma.emulator.translator.workers import Shared, StoppedError, run
from mfma.errors import MfmaError

__all__ = ["NativeLaunch"]

STATUS: dict[int, Status] = {
    Stop.YIELDED: Status.YIELDED, Stop.BARRIER: Status.BARRIER, Stop.ENDED: Status.ENDED,
}  # fmt: skip


class NativeLaunch(Launch):
    """One kernel being run by native code; see `Launch`.

    Attributes:
        natives: native code of the module by mode, one for each range of executable bytes; new ones are added.
        reach: instructions that a wave at an address may come to.
        threads: how many threads run work-groups; more than one only if they are independent.
    """

    def __init__(
        self,
        *args: Any,
        natives: dict[int, list[Native]],
        reach: Callable[[int], Sequence[Instruction]],
        threads: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.threads = min(threads, math.prod(self.grid))
        self.shared: Shared | None = None
        self.workers: list[NativeLaunch] = []
        self.now: Index
        self.natives = natives
        self.reach = reach
        self.drive = driver()
        self.counted: dict[int, list[Counted]] = {}
        self.table = buffer_table(self.space)
        # native code has their host addresses, whoever frees a buffer during the launch
        self.memory = [buffer.bytes for buffer in self.space]

    def run(self) -> None:
        """Run every work-group to its end; see `Launch.run`."""
        if self.threads == 1:
            super().run()
            return
        shared = Shared(self.pending, self.progress)
        self.workers = [self._worker(shared) for _ in range(self.threads)]
        run(shared, [worker._work for worker in self.workers])

    def _worker(self, shared: Shared) -> NativeLaunch:
        """A launch of the work-groups that one thread gets."""
        worker = copy.copy(self)
        worker.threads, worker.shared = 1, shared
        worker.pending, worker.progress = shared.groups(), shared.ended
        worker.resident = max(1, self.resident // self.threads)
        worker.tally, worker.counted, worker.float_order = Counter(), {}, FloatOrder()
        worker.groups, worker._blocks = set(), []
        return worker

    def _work(self) -> None:
        """Run on a thread."""
        assert self.shared is not None
        try:
            self.run()
        except MfmaError as error:
            self.shared.fail(self.now, error)

    def _watch(self, wave: Wave, more: int) -> None:
        if self.shared is not None and self.shared.stopped:
            raise StoppedError
        super()._watch(wave, more)

    def _begin(self, index: tuple[int, int, int]) -> Group:
        group = super()._begin(index)
        place, count = address(self.table), len(self.table)
        for wave in group.waves:
            wave.fields[Field.BUFFERS], wave.fields[Field.BUFFER_COUNT] = place, count
        return group

    def _run_wave(self, wave: Wave) -> None:
        before, fields, place = wave.executed, wave.fields, wave.place
        self.now = wave.group.index
        while wave.status is Status.READY:
            code = self._code(wave)
            if code is None:
                self._execute(wave)  # which says why there is none
                continue
            self.drive(place, code.place)
            wave.exec_changed()
            stop = fields[Field.STOP]
            if stop in STATUS:
                wave.status = STATUS[stop]
            elif stop == Stop.INTERPRET or (stop == Stop.UNKNOWN and not code.native.translate(wave.pc)):
                self._execute(wave)
            if wave.executed % WATCH_EVERY == 0:
                self._watch(wave, wave.executed - before)
        self.executed += wave.executed - before
        self._watch(wave, 0)

    def _code(self, wave: Wave) -> Counted | None:
        """Native code for the mode of the wave that holds its next instruction."""
        mode, pc = wave.mode & MODE_BITS, wave.pc
        for code in self.counted.get(mode) or self._of_mode(mode):
            if code.first <= pc < code.end and pc & 3 == 0:
                return code
        return None

    def _of_mode(self, mode: int) -> list[Counted]:
        with LOCK:
            natives = self.natives.get(mode)
            if natives is None:
                natives = self.natives[mode] = [Native(text, decode_mode(mode), self.reach) for text in self.code]
        counted = self.counted[mode] = [Counted(native) for native in natives]
        return counted

    def _ran(self) -> Iterator[Counted]:
        """The native code of this launch, as each thread counted it."""
        for launch in (self, *self.workers):
            yield from itertools.chain.from_iterable(launch.counted.values())

    def counts(self) -> Iterator[tuple[Instruction, int]]:
        """Instructions that ran and how often; one may come several times."""
        for launch in (self, *self.workers):
            yield from ((step.instruction, count) for step, count in launch.tally.items())
        for code in self._ran():
            yield from code.each()

    def totals(self) -> Iterator[tuple[Instruction, int]]:
        """One instruction of each mnemonic that ran, and how often they all did."""
        for launch in (self, *self.workers):
            yield from ((step.instruction, count) for step, count in launch.tally.items())
        for code in self._ran():
            yield from code.totals()

    @property
    def float_atomics(self) -> int:
        """Lanes of float atomics that met others."""
        return sum(launch.float_order.lanes for launch in (self, *self.workers))

    @property
    def interpreted(self) -> int:
        """Instructions that have no native form, or whose form refused them."""
        return sum(sum(launch.tally.values()) for launch in (self, *self.workers))
