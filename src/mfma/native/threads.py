"""Run independent pieces of native work on threads, interruptible between pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from mfma.errors import OptionError

__all__ = ["Progress", "run", "thread_count"]

Progress = Callable[[int, int], object]
"""Called with the pieces done and the pieces in all, from any thread."""


def thread_count(threads: int | None) -> int:
    """Number of threads to use: the processors this process may run on, if None."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise OptionError(f"threads is {threads!r}: give a whole number of at least 1, or None for all processors.")
    return threads


def run(pieces: Sequence[Callable[[], object]], threads: int, progress: Progress | None = None) -> None:
    """Run all pieces; an exception (Ctrl-C among them) stops those that have not begun, then passes on."""
    done = 0
    stopped = False

    def work(piece: Callable[[], object]) -> None:
        nonlocal done
        if stopped:
            return
        piece()
        done += 1  # an approximate count is enough for a progress bar
        if progress:
            progress(done, len(pieces))

    if threads == 1 or len(pieces) < 2:
        for piece in pieces:
            work(piece)
        return
    with ThreadPoolExecutor(min(threads, len(pieces))) as pool:
        try:
            finished, _ = wait([pool.submit(work, piece) for piece in pieces], return_when=FIRST_EXCEPTION)
            for future in finished:
                future.result()
        finally:
            stopped = True
