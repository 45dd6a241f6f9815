"""The context in which Triton's kernels run on the emulator, and its options."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mfma.errors import MissingToolError, OptionError
from mfma.integrations import doctor

if TYPE_CHECKING:
    from types import TracebackType

    from mfma.emulator.report import Report

__all__ = ["Emulation", "current", "emulate"]


_lock = threading.RLock()
_open: list[tuple[int, Emulation]] = []
"""Emulations that were entered and not left, with the thread of each, in the order of their entering."""
_before: Any = None
"""The driver that Triton had before the first of them."""


class Emulation:
    """Triton's kernels run on the emulator while this is entered; made by `emulate`.

    Attributes:
        reports: a `mfma.emulator.report.Report` of every launch, in order; those of an autotuner's trials are left out.
    """

    def __init__(
        self,
        engine: str = "native",
        threads: int | None = None,
        require: str | None = None,
        profile: bool = False,
        timeout: float | None = None,
        report: Callable[[Report], object] | None = None,
    ) -> None:
        from mfma.emulator.geometry import checked_engine, checked_limit
        from mfma.isa.evidence import Level
        from mfma.native.threads import thread_count

        checked_engine(engine)
        if require is not None and require not in set(Level):
            raise OptionError(f"{require!r} is no level of evidence; give one of {', '.join(Level)}.")
        thread_count(threads)
        checked_limit("timeout", timeout)
        if report is not None and not callable(report):
            raise OptionError(f"report is {report!r}; give a function that takes a Report, such as print.")
        self.engine = engine
        self.threads = threads
        self.require = require
        self.profile = profile
        self.timeout = timeout
        self.report = report
        self.reports: list[Report] = []
        self._trial = threading.local()

    def __enter__(self) -> Emulation:
        global _before  # noqa: PLW0603, Triton's driver is one for the whole process
        doctor.require("triton")
        from triton import knobs, runtime

        driver = _driver()
        if knobs.runtime.interpret:
            raise OptionError(
                "TRITON_INTERPRET=1 is set, with which Triton interprets kernels instead of compiling them; unset it "
                "before Triton is imported to run them on the emulator."
            )
        with _lock:
            if not _open:
                _before = runtime.driver._active
            runtime.driver.set_active(driver)
            _open.append((threading.get_ident(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _before  # noqa: PLW0603
        from triton import runtime

        with _lock:
            last = max(i for i, (_, emulation) in enumerate(_open) if emulation is self)
            del _open[last]
            if not _open:
                runtime.driver.set_active(_before)
                _before = None

    def do_bench(self, fn: Callable[[], object], **options: Any) -> Any:
        """The least time of ``fn`` on an MI300X, as `triton.testing.do_bench` gives one; see `modelled`."""
        from mfma.integrations.triton.benchmark import modelled

        return modelled(fn, **options)

    @contextmanager
    def trial(self) -> Iterator[list[Report]]:
        """Put reports of this thread's launches, with profiles, into a list of their own."""
        before = self._trials
        reports: list[Report] = []
        self._trial.reports = reports
        try:
            yield reports
        finally:
            self._trial.reports = before

    @property
    def profiled(self) -> bool:
        """Whether launches are to be profiled."""
        return self.profile or self._trials is not None

    @property
    def _trials(self) -> list[Report] | None:
        """Where reports go during a trial."""
        return getattr(self._trial, "reports", None)

    def launched(self, report: Report) -> None:
        """Take note of a launch.

        Raises:
            EvidenceError: something weaker ran than is required.
        """
        trials = self._trials
        if trials is not None:
            trials.append(report)
            return
        self.reports.append(report)
        if self.report is not None:
            self.report(report)
        if self.require is not None:
            report.require(self.require)


def emulate(
    engine: str = "native",
    *,
    threads: int | None = None,
    require: str | None = None,
    profile: bool = False,
    timeout: float | None = None,
    report: Callable[[Report], object] | None = None,
) -> Emulation:
    """Run Triton's kernels on the emulator, inside ``with``.

    Kernels are launched as on a GPU, ``kernel[grid](x, y, n, BLOCK=...)``, with CPU torch tensors. They are compiled
    for gfx942, and run when they are launched.

    Args:
        engine: ``native``, machine code, or ``interpreter``, which is slow and leaves the same bits.
        threads: how many threads work-groups that are independent run on; None for all processors.
        require: a level of evidence; a launch that used anything weaker raises an error when it has run.
        profile: put a profile on each report.
        timeout: seconds after which a launch is stopped.
        report: called with each launch's report, for example ``print``.

    Returns:
        What ``with`` binds: its ``reports`` has one for each launch.

    Raises:
        OptionError: an option has no such value, or ``TRITON_INTERPRET`` is set.
        MissingToolError: Triton or torch is not installed.
    """
    return Emulation(engine, threads, require, profile, timeout, report)


def current() -> Emulation | None:
    """The emulation that a launch of this thread belongs to: its own last one, or else the last of all."""
    with _lock:
        thread = threading.get_ident()
        own = [emulation for ident, emulation in _open if ident == thread]
        candidates = own or [emulation for _, emulation in _open]
        return candidates[-1] if candidates else None


def _driver() -> Any:
    try:
        from mfma.integrations.triton.driver import Driver
    except ImportError as error:
        if not str(error.name).startswith("triton"):
            raise
        import triton

        raise MissingToolError(
            f"Triton {triton.__version__} has other drivers than the emulator's is made for; install the version that "
            f"it is made for with: pip install {doctor.TRITON}"
        ) from None
    return Driver.instance()
