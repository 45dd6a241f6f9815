"""How long kernels take: on an MI300X by the model of a profile, and here by the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from mfma.integrations.triton.emulation import current

__all__ = ["Clock", "modelled"]


def modelled(
    fn: Callable[[], object],
    warmup: float = 0,
    rep: float = 0,
    grad_to_none: object = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """The least milliseconds of the kernels that ``fn`` launches on an MI300X, by `mfma.emulator.cycles`.

    It has the arguments of `triton.testing.do_bench`; as the model gives the same every time, ``fn`` runs once, and
    all ``quantiles`` are alike.
    """
    emulation = current()
    if emulation is None:
        # An autotuner keeps the benchmarker that it was given first.
        from triton.runtime import driver

        return driver.active.get_benchmarker()(fn, quantiles=quantiles)
    with emulation.trial() as reports:
        fn()
    milliseconds = sum(report.profile.cycles.seconds for report in reports if report.profile) * 1e3
    if quantiles is not None:
        return [milliseconds] * len(quantiles)
    return [milliseconds] if return_mode == "all" else milliseconds


class Event:
    """A moment, by this computer's clock."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.seconds = 0.0

    def record(self, stream: object = None) -> None:
        """Take the time."""
        self.seconds = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this moment to another."""
        return max((end.seconds - self.seconds) * 1e3, 1e-6)

    def synchronize(self) -> None:
        """Do nothing: launches have ended."""

    def query(self) -> bool:
        """Whether it has happened."""
        return True


class Clock:
    """What `triton.testing.do_bench` uses of ``torch.cuda``: with it, it measures the emulator."""

    Event = Event

    @staticmethod
    def synchronize(device: object = None) -> None:
        """Do nothing: launches have ended."""

    @staticmethod
    def current_device() -> int:
        """The only device."""
        from mfma.integrations.triton.driver import DEVICE

        return DEVICE
