"""Work-groups of one launch on several threads, where that cannot change what they compute.

It cannot if no work-group learns from memory what another one does. So there is one thread for a kernel with an atomic
on other memory than LDS, an access or a fence with ``sc0`` or ``sc1`` (by which a store becomes visible beyond the
work-group, or a load looks there), global wave sync, or a jump to an address in a register, because nobody knows what
is there. What is left are plain accesses to places that another work-group stores to, whose outcome HIP and Triton do
not define.

If work-groups fault on several threads, the error of the first of them is reported.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

from mfma.emulator.decode import Encoding, Instruction
from mfma.emulator.decode.memory_records import Kind
from mfma.emulator.reach import BY_REGISTER
from mfma.emulator.schedule import Index
from mfma.errors import MfmaError

__all__ = ["Shared", "StoppedError", "independent", "run"]


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
    if row.encoding is Encoding.DS:
        return row.access.kind is Kind.GWS or modifiers.gds
    return row.access.kind is Kind.ATOMIC or modifiers.sc0 or modifiers.sc1


class StoppedError(Exception):
    """Ends a thread because another one was interrupted."""


class Shared:
    """What the threads of a launch have in common.

    Args:
        groups: work-groups, handed out one by one.
        progress: called with the work-groups that have ended and all of them.
    """

    def __init__(self, groups: Iterator[Index], progress: Callable[[int, int], None] | None) -> None:
        self._groups = groups
        self._progress = progress
        self._lock = threading.Lock()
        self._ended = 0
        self.stopped = False
        self.failures: list[tuple[Index, MfmaError]] = []

    def groups(self) -> Iterator[Index]:
        """Work-groups for one thread; there are no more once one has failed."""
        while not self.failures:
            with self._lock:
                index = next(self._groups, None)
            if index is None:
                return
            yield index

    def ended(self, _: int, total: int) -> None:
        """Count a work-group."""
        with self._lock:
            self._ended += 1
            if self._progress is not None:
                self._progress(self._ended, total)

    def fail(self, index: Index, error: MfmaError) -> None:
        """Note the error of a work-group. Those before it have all been handed out."""
        self.failures.append((index[::-1], error))


def run(shared: Shared, works: list[Callable[[], None]]) -> None:
    """Run each on a thread of its own, the first on this one.

    Raises:
        MfmaError: that of the first work-group that failed.
    """

    def quiet(work: Callable[[], None]) -> None:
        try:
            work()
        except StoppedError:
            pass
        except BaseException as error:
            shared.stopped = True
            unexpected.append(error)

    unexpected: list[BaseException] = []
    threads = [threading.Thread(target=quiet, args=(work,)) for work in works[1:]]
    try:
        for thread in threads:
            thread.start()
        quiet(works[0])
        for thread in threads:
            thread.join()
    except BaseException:
        shared.stopped = True
        raise
    finally:
        for thread in threads:
            if thread.is_alive():
                thread.join()
    if unexpected:
        raise unexpected[0]
    if shared.failures:
        raise min(shared.failures, key=lambda failure: failure[0])[1]
