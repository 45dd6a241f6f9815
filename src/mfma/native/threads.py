"""Run independent pieces of native work on threads, interruptible between pieces."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Sequence

from mfma.errors import OptionError

__all__ = ["Progress", "run", "thread_count"]

Progress = Callable[[int, int], object]
"""Called with the pieces done and the pieces in all, from any thread."""


def thread_count(threads: int | None) -> int:
    """Number of threads to use: the processors this process may run on, if None."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        count = 0 if isinstance(threads, bool) else operator.index(threads)
    except TypeError:
        count = 0
    if count < 1:
        raise OptionError(f"threads is {threads!r}: give a whole number of at least 1, or None for all processors.")
    return count


def run(pieces: Sequence[Callable[[], object]], threads: int, progress: Progress | None = None) -> None:
    """Run all pieces; an exception (Ctrl-C among them) stops those that have not begun, then passes on."""
    # Not an executor: a Ctrl-C that arrives while it is being fed can leave one of its locks held for ever.
    waiting = iter(pieces)
    done = 0
    stopped = False
    failure: BaseException | None = None

    def work() -> None:
        nonlocal done, stopped, failure
        try:
            for piece in waiting:
                if stopped:
                    return
                piece()
                done += 1  # an approximate count is enough for a progress bar
                if progress:
                    progress(done, len(pieces))
        except BaseException as error:
            failure, stopped = error, True

    workers = [threading.Thread(target=work) for _ in range(min(threads, len(pieces)) - 1)]
    try:
        for worker in workers:
            worker.start()
        work()
        for worker in workers:
            worker.join()
    finally:
        stopped = True
        for worker in workers:
            if worker.is_alive():
                worker.join()
    if failure is not None:
        raise failure
