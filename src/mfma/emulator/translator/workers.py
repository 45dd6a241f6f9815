"""Work-groups of one launch on several threads, where that cannot change what they compute.

It cannot if no work-group learns from memory what another one does. So there is one thread for a kernel with an atomic
on other memory than LDS, an access or a fence with ``sc0`` or ``sc1`` (by which a store becomes visible beyond the
work-group, or a load looks there), a scalar store or what concerns the scalar caches, global wave sync, or a jump to an
address in a register, because nobody knows what is there. What is left are plain accesses to places that another
work-group stores to, whose outcome HIP and Triton do not define.

If work-groups fault on several threads, the error of the first of them is reported. Further threads start once the
first one has been at work for a while, so that a small launch does not pay for them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from mfma.emulator.decode import Encoding, Instruction
from mfma.emulator.decode.memory_records import Kind
from mfma.emulator.reach import BY_REGISTER
from mfma.errors import MfmaError

__all__ = ["PATIENCE", "StoppedError", "Workers", "independent"]

PATIENCE = 1e-3
"""Seconds after which further threads start."""
LARGEST_PART = 1 << 32
"""Work-groups that a thread gets at once; their numbers must be numbers of native code, too."""
PARTS = 4
"""Into so many parts for each thread the work-groups that are left are cut; the last ones are short."""


def independent(instructions: Iterable[Instruction]) -> bool:
    """Whether work-groups that run these instructions can run in any order, and at the same time."""
    return not any(_tells(instruction) for instruction in instructions)


def _tells(instruction: Instruction) -> bool:
    """Whether an instruction may let a work-group learn what another one does."""
    row, modifiers = instruction.row, instruction.modifiers
    if instruction.name in BY_REGISTER:
        return True
    if row.access is None:
        return False
    if row.encoding is Encoding.SMEM:
        return row.access.kind in (Kind.STORE, Kind.ATOMIC, Kind.CACHE)
    if row.encoding is Encoding.DS:
        return row.access.kind is Kind.GWS or modifiers.gds
    return row.access.kind is Kind.ATOMIC or modifiers.sc0 or modifiers.sc1


class StoppedError(Exception):
    """Ends a thread because another one was interrupted."""


class Workers:
    """The threads of a launch, and what they have in common.

    Args:
        groups: how many work-groups there are.
        threads: how many threads run them, at most.
        progress: called with the work-groups that have ended and all of them.
    """

    def __init__(self, groups: int, threads: int, progress: Callable[[int, int], None] | None) -> None:
        self.groups = groups
        self.threads = threads
        self._progress = progress
        self._lock = threading.Lock()
        self._next = 0
        self._ended = 0
        self._began = 0.0
        self._further: Callable[[int], list[Callable[[], None]]] | None = None
        self._threads: list[tuple[threading.Thread, threading.Event]] = []
        self._stopped = False
        self._unexpected: list[BaseException] = []
        self._failures: list[tuple[int, MfmaError]] = []

    def part(self) -> range:
        """Numbers of work-groups for one thread, handed out in ascending order; none once one has failed."""
        with self._lock:
            left = self.groups - self._next
            if self._failures or not left:
                return range(0)
            first = self._next
            self._next += min(max(1, left // (PARTS * self.threads)) if self.threads > 1 else left, LARGEST_PART)
            return range(first, self._next)

    def ended(self, count: int) -> None:
        """Count work-groups that have ended."""
        if self._progress is None:
            return
        with self._lock:
            for _ in range(count):
                self._ended += 1
                self._progress(self._ended, self.groups)

    def look(self) -> None:
        """Start further threads if it is time; every thread calls this now and then.

        Raises:
            StoppedError: another thread was interrupted.
        """
        if self._stopped:
            raise StoppedError
        if self._further is not None and time.monotonic() - self._began > PATIENCE:
            works = self._further(min(self.threads - 1, self.groups - self._next))
            self._further = None
            for work in works:
                ended = threading.Event()
                thread = threading.Thread(target=self._thread, args=(work, ended))
                try:
                    thread.start()
                except RuntimeError:  # the system has no more, and those that there are do the work
                    return
                self._threads.append((thread, ended))

    def run(self, work: Callable[[], None], further: Callable[[int], list[Callable[[], None]]]) -> None:
        """Let this thread work until all others have ended, too.

        Args:
            work: what it does.
            further: gives what so many further threads do.

        Raises:
            MfmaError: that of the first work-group that failed.
        """
        self._began = time.monotonic()
        if self.threads > 1:
            self._further = further
        try:
            self._quiet(work)
            self._join()
        except BaseException:
            self._stopped = True
            raise
        finally:
            self._further = None
            self._join()
        try:
            if self._unexpected:
                raise self._unexpected[0]
            if self._failures:
                raise min(self._failures, key=lambda failure: failure[0])[1]
        finally:  # errors know the frames that they passed, and those what is here
            self._unexpected.clear()
            self._failures.clear()

    def _join(self) -> None:
        """Wait for the threads; they use arrays of whoever called, so even Ctrl-C has to wait for them."""
        interruption = None
        for thread, ended in self._threads:
            while not ended.is_set():  # a join that was interrupted takes its thread for ended (Python 3.11)
                try:
                    ended.wait()
                except BaseException as error:
                    self._stopped, interruption = True, error
            thread.join()
        if interruption is not None:
            raise interruption

    def fail(self, number: int, error: MfmaError) -> None:
        """Note the error of a work-group. Those before it have all been handed out."""
        self._failures.append((number, error))

    def _thread(self, work: Callable[[], None], ended: threading.Event) -> None:
        try:
            self._quiet(work)
        finally:
            ended.set()

    def _quiet(self, work: Callable[[], None]) -> None:
        try:
            work()
        except StoppedError:
            pass
        except BaseException as error:
            self._stopped = True
            self._unexpected.append(error)
