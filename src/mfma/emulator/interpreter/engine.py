"""Runs a launch: work-groups in turn, their waves in turn, instruction by instruction.

The order is fixed, so results are the same every time. Work-groups start in ascending order (x fastest), at most
`RESIDENT` at once, as on a device whose compute units are full. The oldest runs first: its waves take turns in
ascending order, and a turn ends at a barrier, at ``s_sleep``, at the end, or at the first backward jump after `TURN`
instructions. Once every wave of the work-group has had a turn, and some still run, the next work-group has its
own. So a wave may wait for another one, or for another work-group that is resident, and sees it arrive.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from mfma.emulator.decode import Instruction, decode
from mfma.emulator.interpreter.environment import default_environment
from mfma.emulator.interpreter.hardware import decode_mode
from mfma.emulator.interpreter.step import Step
from mfma.emulator.interpreter.wave import Group, Status, Wave
from mfma.emulator.memory import AddressSpace
from mfma.emulator.semantics.machine import ACC
from mfma.emulator.semantics.registry import DEFINITIONS
from mfma.errors import KernelError, MfmaError, WatchdogError

__all__ = ["RESIDENT", "TURN", "Launch", "Observer"]

RESIDENT = 304
"""Work-groups that are under way at once: one for each compute unit of an MI300X."""
TURN = 10_000
"""Instructions after which a wave lets others run."""


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
        code: bytes of the executable image and the device address of its first byte.
        grid: work-groups in x, y, z.
        limit: instructions of all waves after which the launch is stopped, or None.
        seconds: time after which it is stopped, or None.
        observer: asked before each instruction and, unless it said None, told after it.
    """

    def __init__(
        self,
        space: AddressSpace,
        start: Callable[[Launch, tuple[int, int, int]], Group],
        code: tuple[bytes, int],
        grid: tuple[int, int, int],
        limit: int | None = None,
        seconds: float | None = None,
        observer: Observer | None = None,
        describe: Callable[[int], str] = hex,
    ) -> None:
        self.space = space
        self.start = start
        self.code, self.base = code
        self.grid = grid
        self.limit = limit
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.seconds = seconds
        self.observer = observer
        self.describe = describe
        self.steps: dict[tuple[int, int], Step] = {}
        self.executed = 0
        self.float_atomics = 0

    def run(self) -> None:
        """Run every work-group to its end.

        Raises:
            MfmaError: memory fault, trap, watchdog or illegal instruction, with the place where it happened.
        """
        groups = ((x, y, z) for z, y, x in itertools.product(*(range(n) for n in reversed(self.grid))))
        resident: deque[Group] = deque()
        with default_environment(), np.errstate(all="ignore"):
            while True:
                while len(resident) < RESIDENT and (index := next(groups, None)) is not None:
                    # a work-group that ends in its first turn never takes a place
                    group = self.start(self, index)
                    if not self._turn(group):
                        resident.append(group)
                if not resident:
                    return
                for _ in range(len(resident)):
                    group = resident.popleft()
                    if not self._turn(group):
                        resident.append(group)

    def _turn(self, group: Group) -> bool:
        """Let every wave of a work-group run until it yields; whether the work-group has ended."""
        had_turn: set[int] = set()
        while True:
            ready = [w for w in group.waves if w.status is Status.READY and w.number not in had_turn]
            for wave in ready:
                self._run_wave(wave)
                if wave.status is Status.YIELDED:
                    wave.status = Status.READY
                    had_turn.add(wave.number)
            alive = [w for w in group.waves if w.status is not Status.ENDED]
            if not alive:
                self.float_atomics += sum(w.float_atomics for w in group.waves)
                return True
            if all(w.status is Status.BARRIER for w in alive):
                for wave in alive:
                    wave.status = Status.READY
            elif not any(w.status is Status.READY and w.number not in had_turn for w in alive):
                return False

    def _run_wave(self, wave: Wave) -> None:
        wave.turn = wave.executed + TURN
        before = wave.executed
        try:
            while wave.status is Status.READY:
                step = self.steps.get((wave.pc, wave.mode)) or self._link(wave.pc, wave.mode)
                wave.at = step.instruction
                reads = None if self.observer is None else self.observer.before(wave, step.instruction)
                wave.pc = step.next
                wave.executed += 1
                step.count += 1
                step.run(wave)
                if reads is not None and self.observer is not None:
                    self.observer.after(wave, step.instruction, reads)
                if wave.executed & 0x3FF == 0:
                    self._watch(wave, wave.executed - before)
        except MfmaError as error:
            raise self._placed(error, wave) from None
        self.executed += wave.executed - before
        self._watch(wave, 0)

    def _watch(self, wave: Wave, more: int) -> None:
        """End a launch that runs too long."""
        if self.limit is not None and self.executed + more > self.limit:
            raise WatchdogError(
                f"the launch was stopped after {self.limit:,} instructions; raise `max_instructions` if it is no "
                "endless loop"
            )
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise WatchdogError(
                f"the launch was stopped after {self.seconds:g} s; raise `timeout` if it is no endless loop"
            )

    def _placed(self, error: MfmaError, wave: Wave) -> MfmaError:
        """The error with work-group, wave, instruction and source line."""
        x, y, z = wave.group.index
        where = f"work-group ({x}, {y}, {z}), wave {wave.number}, {self.describe(wave.at.address)} `{wave.at.text}`"
        error.args = (f"{where}: {error}",)
        return error

    def _link(self, pc: int, mode: int) -> Step:
        """Decode and link the instruction at a device address."""
        offset = pc - self.base
        if pc & 3 or not 0 <= offset < len(self.code):
            raise KernelError(f"the program counter left the code: {pc:#x}")
        instruction = decode(self.code, pc, offset)
        if instruction.name not in DEFINITIONS:
            raise KernelError(f"{instruction.mnemonic} is not implemented")
        step = self.steps[pc, mode] = Step(instruction, decode_mode(mode))
        return step

    # what nodes ask of the launch

    def register(self, wave: Wave, number: int) -> int:
        """A vector register number that a program computed, checked."""
        if not 0 <= number < 2 * ACC:
            raise KernelError(f"v{number} is no vector register")
        return number

    def trap(self, wave: Wave, what: Any) -> None:
        """Stop because the kernel asks for it."""
        raise KernelError(f"the kernel stopped itself: {what}")

    def counts(self) -> Iterator[tuple[Instruction, int]]:
        """Instructions that ran and how often."""
        for step in self.steps.values():
            yield step.instruction, step.count
