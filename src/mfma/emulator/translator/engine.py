"""Runs a launch natively, and in the interpreter what has no native form.

The order is the one of `mfma.emulator.schedule`, whose turns native code runs as a whole: both engines leave the same
bits in registers and memory, and count the same instructions.
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
from mfma.emulator.interpreter.wave import Status, Wave
from mfma.emulator.profile_activity import ActivityCounter
from mfma.emulator.schedule import WATCH_EVERY
from mfma.emulator.start import Start
from mfma.emulator.translator.driver import Run, Stop
from mfma.emulator.translator.kernel import LOCK, Counted, Native
from mfma.emulator.translator.layout import Field, address, buffer_table
from mfma.emulator.translator.place import Place, Words
from mfma.emulator.translator.turn import Word, turn
from mfma.emulator.translator.workers import Workers
from mfma.errors import KernelError, MfmaError

__all__ = ["BUDGET", "NativeLaunch"]

BUDGET = 1 << 14
"""Instructions of waves after which a thread looks at the time, and whether it has to stop."""


class NativeLaunch(Launch):
    """One kernel being run by native code; see `Launch`.

    Attributes:
        natives: native code of the module by mode, one for each range of executable bytes; new ones are added.
        reach: instructions that a wave at an address may come to.
        team: the threads that run work-groups; more than one only if these are independent.
        counter: gets what a profile needs of what ran natively; it is the observer of all else.
    """

    def __init__(
        self,
        *args: Any,
        natives: dict[int, list[Native]],
        reach: Callable[[int], Sequence[Instruction]],
        threads: int = 1,
        counter: ActivityCounter | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.counter = self.observer = counter
        count = math.prod(self.grid)
        self.team = Workers(count, min(threads, count), self.progress)
        self.natives = natives
        self.reach = reach
        self.native_turn = turn(profiled=counter is not None)
        mapped = self.space.mapped()
        self.table = buffer_table(mapped)
        # native code has their host addresses, whoever frees a buffer during the launch
        self.memory = [memory for _, memory in mapped]
        # work-groups that begin in the hardware's way differ by their numbers alone
        self.alike = isinstance(self.start, Start)
        self._prepare()

    def _prepare(self) -> None:
        """Make what each thread has of its own."""
        self.workers: list[NativeLaunch] = []
        self.tally, self.float_order, self.groups = Counter(), FloatOrder(), set()
        self.counted: dict[int, list[Counted]] = {}
        self.words = Words.of_run(self.grid, self.start.numbers if isinstance(self.start, Start) else (None,) * 3)
        self.part = range(0)  # work-groups that this thread has still to start
        self.number = 0  # of the work-group that runs
        self.idle: list[Place] = []

    def run(self) -> None:
        """Run every work-group to its end; see `Launch.run`."""
        self.team.run(self._work, self._further)
        if self.counter is not None:
            for code in self._ran():
                self.counter.add_all(code.activity())

    def _further(self, count: int) -> list[Callable[[], None]]:
        """What further threads do."""
        for _ in range(count):
            worker = copy.copy(self)
            worker._prepare()
            worker.resident = max(1, self.resident // self.team.threads)
            self.workers.append(worker)
        return [worker._work for worker in self.workers]

    def _work(self) -> None:
        """Run on a thread."""
        try:
            super().run()
        except MfmaError as error:
            self.team.fail(self.number, error)

    def _start(self) -> Place | None:
        while self.part or (part := self.team.part()):
            self.part = self.part or part
            place = self._place(self.part[0])
            under_way = self._run_turn(place, self.part[-1] if place.keep else self.part[0])
            self.part = range(self.number + 1, self.part.stop)
            if under_way:
                return place
        return None

    def _place(self, number: int) -> Place:
        """Where a work-group begins."""
        self.number = number  # in time for what goes wrong here
        if self.idle:
            place = self.idle.pop()
            place.follow(number)
            return place
        group = self._begin(self._index(number))
        table, count = address(self.table), len(self.table)
        for wave in group.waves:
            wave.serial = number * len(group.waves) + wave.number
            wave.fields[Field.BUFFERS], wave.fields[Field.BUFFER_COUNT] = table, count
            self._find_code(wave)
        return Place(group, number, keep=self.alike and self.team.groups > 1)

    def _index(self, number: int) -> tuple[int, int, int]:
        """Numbers of a work-group in x, y and z."""
        columns, rows, _ = self.grid
        return number % columns, number // columns % rows, number // (columns * rows)

    def _turn(self, place: Place) -> bool:
        self.number = place.words[Word.NUMBER]
        return self._run_turn(place, self.number)

    def _run_turn(self, place: Place, last: int) -> bool:
        """Let the work-group of a place have its turn, and others follow up to the last; whether one is under way."""
        place.words[Word.LAST] = last
        while (stop := self._run(place)) < Stop.YIELDED:
            self._attend(place, stop)
        self._watch(place.wave, self.words[Run.EXECUTED])
        if stop == Stop.YIELDED:
            self._yielded(place.group)
            return True
        self._end(place)
        return False

    def _run(self, place: Place) -> int:
        """Run natively; why that came to its end."""
        words, run, before = place.words, self.words, self.number
        bound = run[Run.EXECUTED] + BUDGET
        run[Run.BOUND] = bound if self.limit is None else min(bound, self.limit + 1)
        self.native_turn(run.place, words.place)
        self.number = words[Word.NUMBER]
        if self.number > before:
            self.team.ended(self.number - before)
        place.group.index = self._index(self.number)
        return words[Word.STOP]

    def _attend(self, place: Place, stop: int) -> None:
        """See to what native code stopped for."""
        wave = place.wave
        if stop == Stop.WATCH:
            self._watch(wave, self.words[Run.EXECUTED])
        elif stop == Stop.OUTSIDE:
            if not self._find_code(wave):
                self._interpret(wave)  # which says why there is none
        elif stop == Stop.INTERPRET or not self._translate(wave):
            place.words[Word.LAST] = self.number  # at its end there may be something to forget
            if not self.float_order.supply((wave.lds, *self.memory)):
                self._interpret(wave)

    def _interpret(self, wave: Wave) -> None:
        """Execute the wave's next instruction in the interpreter."""
        wave.exec_changed()
        self._execute(wave)
        self.words[Run.EXECUTED] += 1
        self._find_code(wave)
        if wave.executed % WATCH_EVERY == 0 or wave.status is not Status.READY:
            self._watch(wave, self.words[Run.EXECUTED])

    def _watch(self, wave: Wave, executed: int) -> None:
        self.team.look()
        super()._watch(wave, executed)

    def _end(self, place: Any) -> None:
        self.float_order.close(place.group.lds)
        if place.keep:
            self.idle.append(place)
        else:
            self.groups.remove(place.group)
            place.group.waves.clear()
        self.team.ended(1)

    def _find_code(self, wave: Wave) -> bool:
        """Tell native code where it finds the wave's next instruction; whether there is such code."""
        code = self._code(wave)
        wave.fields[Field.CODE] = code.place if code else 0
        return code is not None

    def _translate(self, wave: Wave) -> bool:
        """Translate what the wave comes to; whether there is native code at its pc now."""
        code = self._code(wave)
        return code is not None and code.native.translate(wave.pc)

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
                natives = self.natives[mode] = self._made(mode)
        counted = self.counted[mode] = [Counted(native, self.counter is not None) for native in natives]
        return counted

    def _made(self, mode: int) -> list[Native]:
        """Native code for a mode: none for a mode that is refused, or where no address is one of a record."""
        try:
            decoded = decode_mode(mode)
        except KernelError:  # the interpreter says what is wrong, and where the wave is
            return []
        return [Native(text, decoded, self.reach) for text in self.code if text[0] & 3 == 0]

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
