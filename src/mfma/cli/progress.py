"""A progress bar for work that takes longer than a moment, on a terminal only."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Bar", "progress_bar"]

PATIENCE = 2.0
"""Seconds before a bar appears."""


class Bar:
    """What the library calls, from any thread, with the pieces of work done and the pieces in all."""

    def __init__(self, label: str):
        self._label = label
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._progress: Progress | None = None

    def __call__(self, done: int, total: int) -> None:
        """Show the bar, or move it, once the work has taken longer than `PATIENCE`."""
        with self._lock:
            if self._progress is None:
                if time.monotonic() - self._started < PATIENCE:
                    return
                self._progress = self._shown()
            for task in self._progress.task_ids:
                self._progress.update(task, completed=done, total=total)

    def close(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()

    def _shown(self) -> Progress:
        from rich.console import Console
        from rich.progress import Progress

        progress = Progress(console=Console(stderr=True), transient=True)
        progress.add_task(self._label)
        progress.start()
        return progress


@contextmanager
def progress_bar(label: str) -> Iterator[Bar | None]:
    """Yield what to hand to the library: a bar, or None if standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = Bar(label)
    try:
        yield bar
    finally:
        bar.close()
