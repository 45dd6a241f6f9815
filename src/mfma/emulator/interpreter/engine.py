"""Runs a launch: work-groups in turn, their waves in turn, instruction by instruction.

Their order is the business of `mfma.emulator.schedule`.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from mfma.emulator import schedule
from mfma.emulator.decode import Instruction, decode
from mfma.emulator.interpreter.environment import default_environment
from mfma.emulator.interpreter.float_order import FloatOrder
from mfma.emulator.interpreter.hardware import MODE_BITS, decode_mode
from mfma.emulator.interpreter.step import Step
from mfma.emulator.interpreter.wave import Group, Status, Wave
from mfma.emulator.memory import AddressSpace, Bytes
from mfma.emulator.schedule import WATCH_EVERY
from mfma.emulator.semantics.machine import ACC
from mfma.emulator.semantics.registry import DEFINITIONS
from mfma.emulator.translator.layout import block
from mfma.errors import DecodeError, KernelError, MfmaError, WatchdogError

__all__ = ["Launch", "Observer"]


class Observer(Protocol):
    """Somebody who watches instructions being executed."""

    def before(self, wave: Wave, instruction: Instruction) -> Any:
        """Say what `after` shall get, or None to hear no more of this one."""

    def after(self, wave: Wave, instruction: Instruction, seen: Any) -> None:
        """Look at the wave once the instruction has run."""


class Launch:
    """One kernel being run by the interpreter.

    Args:
        space: device memory.
        start: makes the waves of a work-group, given its numbers.
        code: what can be executed: device addresses, and the bytes from there on.
        grid: work-groups in x, y, z.
        resident: how many of them are under way at once, at most.
        steps: instructions of this code that are ready to run, by address and mode; new ones are added.
        limit: instructions of all waves after which the launch is stopped, or None.
        seconds: time after which it is stopped, or None.
        observer: asked before each instruction and, unless it said None, told after it.
        describe: names the place of a device address in messages.
        progress: called with the work-groups that have ended and all of them, at the end of each.
        host: called when waves of a work-group let others run, to answer those that wait for the host.
    """

    def __init__(
        self,
        space: AddressSpace,
        start: Callable[[Launch, tuple[int, int, int]], Group],
        code: Sequence[tuple[int, bytes]],
        grid: tuple[int, int, int],
        resident: int,
        steps: dict[tuple[int, int], Step],
        limit: int | None = None,
        seconds: float | None = None,
        observer: Observer | None = None,
        describe: Callable[[int], str] = hex,
        progress: Callable[[int, int], None] | None = None,
        host: Callable[[], None] | None = None,
    ) -> None:
        self.space = space
        self.start = start
        self.code = code
        self.grid = grid
        self.resident = resident
        self.limit = limit
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.seconds = seconds
        self.observer = observer
        self.describe = describe
        self.progress = progress
        self.host = host
        self.ended = 0
        self.steps = steps
        self.tally: Counter[Step] = Counter()
        self.executed = 0
        self.waves = 0
        self.float_order = FloatOrder()
        self.pending = schedule.indices(grid)
        self.groups: set[Group] = set()
        self._blocks: list[Bytes] = []

    def run(self) -> None:
        """Run every work-group to its end.

        Raises:
            MfmaError: memory fault, trap, watchdog or illegal instruction, with the place where it happened.
        """
        with default_environment(), np.errstate(all="ignore"):
            try:
                schedule.run(self.resident, self._start, self._turn)
            finally:
                for group in self.groups:  # their waves refer to them, and to the launch
                    group.waves.clear()

    def _start(self) -> Any:
        """Let work-groups begin; see `mfma.emulator.schedule.run`."""
        for index in self.pending:
            group = self._begin(index)
            if self._turn(group):
                return group
        return None

    def _turn(self, group: Any) -> bool:
        """Let a work-group have its turn; whether it is still under way."""
        if schedule.turn(group, self._run_wave):
            self._yielded(group)
            return True
        self._end(group)
        return False

    def _begin(self, index: tuple[int, int, int]) -> Group:
        group = self.start(self, index)
        for wave in group.waves:
            wave.serial = self.waves
            self.waves += 1
        self.groups.add(group)
        return group

    def _yielded(self, group: Group) -> None:
        if self.host is not None:
            try:
                self.host()
            except MfmaError as error:
                error.args = (f"work-group {group.index}: {error}",)
                raise

    def _end(self, group: Group) -> None:
        self.float_order.close(group.lds)
        self._blocks += [wave.memory for wave in group.waves]
        self.groups.remove(group)
        group.waves.clear()
        self.ended += 1
        if self.progress is not None:
            self.progress(self.ended, math.prod(self.grid))

    def _run_wave(self, wave: Wave) -> None:
        before = wave.executed
        while wave.status is Status.READY:
            self._execute(wave)
            if wave.executed % WATCH_EVERY == 0:
                self._watch(wave, self.executed + wave.executed - before)
        self.executed += wave.executed - before
        self._watch(wave, self.executed)

    def _execute(self, wave: Wave) -> None:
        """Execute the wave's next instruction."""
        place = wave.pc, wave.mode & MODE_BITS
        step = self.steps.get(place)
        if step is None:
            try:
                step = self._link(*place)
            except MfmaError as error:
                raise self._placed(error, wave, "after ") from None
        wave.at = step.instruction.address
        try:
            reads = None if self.observer is None else self.observer.before(wave, step.instruction)
            wave.pc = step.next
            wave.executed += 1
            self.tally[step] += 1
            step.run(wave)
            if reads is not None and self.observer is not None:
                self.observer.after(wave, step.instruction, reads)
        except MfmaError as error:
            raise self._placed(error, wave) from None

    def _watch(self, wave: Wave, executed: int) -> None:
        """End a launch that runs too long, now that so many instructions have been executed."""
        if self.limit is not None and executed > self.limit:
            after, option = f"{self.limit:,} instructions", "max_instructions"
        elif self.deadline is not None and time.monotonic() > self.deadline:
            after, option = f"{self.seconds:g} s", "timeout"
        else:
            return
        message = f"the launch was stopped after {after}; raise `{option}` if it is no endless loop."
        raise self._placed(WatchdogError(message), wave)

    def _placed(self, error: MfmaError, wave: Wave, after: str = "") -> MfmaError:
        """The error with work-group, wave, instruction and source line."""
        x, y, z = wave.group.index
        place = f"{after}{self.describe(wave.at)} `{self._decode(wave.at).text}`" if wave.at else "at its start"
        error.args = (f"work-group ({x}, {y}, {z}), wave {wave.number}, {place}: {error}",)
        return error

    def _link(self, pc: int, mode: int) -> Step:
        """Decode and link the instruction at a device address."""
        instruction = self._decode(pc)
        if instruction.name not in DEFINITIONS:
            raise KernelError(f"{instruction.mnemonic} at {self.describe(pc)} is not implemented")
        step = self.steps[pc, mode] = Step(instruction, decode_mode(mode))
        return step

    def _decode(self, pc: int) -> Instruction:
        start, code = next(((s, c) for s, c in self.code if s <= pc < s + len(c)), (0, b""))
        if pc & 3 or not code:
            raise KernelError(f"the wave goes on at {pc:#x}, which is {'no multiple of 4' if code else 'no code'}")
        try:
            return decode(code, pc, pc - start)
        except DecodeError:
            word = code[pc - start : pc - start + 4][::-1].hex()
            raise KernelError(f"0x{word} at {self.describe(pc)} is no instruction of gfx942") from None

    def block(self, scratch: int) -> Bytes:
        """Zeroed memory for a wave: that of one which has ended, or new."""
        if not self._blocks:
            return block(scratch)
        memory = self._blocks.pop()
        memory.fill(0)
        return memory

    # what nodes ask of the launch

    def register(self, wave: Wave, number: int, offset: int) -> int:
        """The number of a vector register that M0 indexes, checked: it must be of the same file."""
        if number % ACC + offset >= ACC:
            file, first = "av"[number < ACC], number % ACC
            raise KernelError(f"M0 adds {offset} to {file}{first}, and the last register is {file}{ACC - 1}")
        return number + offset

    def trap(self, wave: Wave, what: Any) -> None:
        """Stop because the kernel asks for it."""
        raise KernelError(f"the kernel stopped itself: {what}")

    @property
    def float_atomics(self) -> int:
        """Lanes of float atomics that met others."""
        return self.float_order.lanes

    @property
    def interpreted(self) -> int:
        """Instructions that this engine executed because another one could not."""
        return 0

    def totals(self) -> Iterator[tuple[Instruction, int]]:
        """Counts by mnemonic, as far as an engine has them: instructions that stand for all of theirs."""
        return self.counts()

    def counts(self) -> Iterator[tuple[Instruction, int]]:
        """Instructions that ran and how often."""
        for step, count in self.tally.items():
            yield step.instruction, count
