"""One record per measurement, and the runner that times a work beside its peers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from timeit import Timer

__all__ = ["COLUMNS", "Measurement", "Row", "Target", "Work", "measure"]

COLUMNS = ("work", "measured", "peer", "ratio", "target", "met?")

SAMPLE = 0.04, 0.3
"""Least and most seconds of a sample, unless one run takes longer."""

SETTLE = 0.25
"""Seconds of rest before a sample: the threads of a BLAS spin for some 100 ms after a product and slow what follows."""

TURNS, PATIENCE = 5, 4
"""Samples of each work at least, unless they take so many times the budget."""


@dataclass(frozen=True)
class Work:
    """Something to time: its figure is GMAC/s if a run does ``macs`` multiply-adds, else the seconds of a run.

    ``run`` is None for what cannot run here; the name of such a peer says why. ``clock`` gives seconds; it is another
    one for a run of which a part counts.
    """

    name: str
    run: Callable[[], object] | None
    macs: int = 0
    clock: Callable[[], float] = time.perf_counter

    def figure(self, seconds: float) -> float:
        """Figure of a run of ``seconds``."""
        return self.macs / seconds / 1e9 if self.macs else seconds

    def text(self, figure: float | Fraction) -> str:
        """Word a figure with its unit."""
        if self.macs:
            return f"{float(figure):.3g} GMAC/s"
        size, unit = next((x for x in ((1, "s"), (1e-3, "ms")) if figure >= x[0]), (1e-6, "µs"))
        return f"{float(figure) / size:.3g} {unit}"


@dataclass(frozen=True)
class Target:
    """The least ratio of the work's rate to its peer's; without a peer the least GMAC/s or the most seconds."""

    bound: float | Fraction
    peer: Work | None = None


@dataclass(frozen=True)
class Measurement:
    """A work and its targets."""

    work: Work
    targets: tuple[Target, ...]


@dataclass(frozen=True)
class Row:
    """One target and what was found; None where something cannot run."""

    work: Work
    target: Target
    figure: float | None
    peer_figure: float | None

    @property
    def ratio(self) -> float | None:
        """The work's rate over its peer's."""
        return self.figure / self.peer_figure if self.figure and self.peer_figure else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met."""
        found = self.ratio if self.target.peer else self.figure
        if found is None:
            return None
        return found >= self.target.bound if self.work.macs else found <= self.target.bound

    def cells(self) -> tuple[str, ...]:
        """Texts of the row, one per column."""
        work, peer, bound, ratio = self.work, self.target.peer, self.target.bound, self.ratio
        return (
            work.name,
            work.text(self.figure) if self.figure else "n/a",
            "" if peer is None else f"{peer.name}: {peer.text(self.peer_figure)}" if self.peer_figure else peer.name,
            "" if ratio is None else f"{ratio:.3g}" if ratio >= 1 else f"1/{1 / ratio:.3g}",
            f"{'≥' if work.macs else '≤'} {bound if peer else work.text(bound)}",
            {True: "yes", False: "NO", None: "n/a"}[self.met],
        )

    def record(self) -> dict[str, object]:
        """The row for a program."""
        return {
            "work": self.work.name,
            "unit": "GMAC/s" if self.work.macs else "s",
            "measured": self.figure,
            "peer": self.target.peer and self.target.peer.name,
            "peer_measured": self.peer_figure,
            "ratio": self.ratio,
            "target": float(self.target.bound),
            "met": self.met,
        }


def measure(measurement: Measurement, budget: float) -> list[Row]:
    """Time a work and its peers for about ``budget`` seconds: one row per target."""
    work = measurement.work
    works = [work, *(target.peer for target in measurement.targets if target.peer)]
    timers = {x: Timer(x.run, timer=x.clock) for x in works if x.run}
    seconds = dict(zip(timers, _fewest_seconds([*timers.values()], budget), strict=True))
    figures = {x: x.figure(taken) for x, taken in seconds.items()}
    return [
        Row(work, target, figures.get(work), figures.get(target.peer) if target.peer else None)
        for target in measurement.targets
    ]


def _fewest_seconds(timers: Sequence[Timer], budget: float) -> list[float]:
    """Seconds of a run of each in its fastest sample.

    Samples take turns and last alike, so that noise hits all alike: a short one would more often find a quiet moment.
    """
    for timer in timers:
        timer.timeit(1)  # warm up
    shortest, longest = SAMPLE
    length = min(max(shortest, *(timer.timeit(1) for timer in timers)), longest)
    numbers = [_repetitions(timer, length) for timer in timers]
    taken: list[list[float]] = []
    start = time.perf_counter()
    while not taken or time.perf_counter() - start < budget * (PATIENCE if len(taken) < TURNS else 1):
        taken.append([_sample(timer, number) for timer, number in zip(timers, numbers, strict=True)])
    return [min(times) for times in zip(*taken, strict=True)]


def _sample(timer: Timer, number: int) -> float:
    """Seconds of a run, of ``number`` runs; some more go before, because caches and cores are cold after the rest."""
    time.sleep(SETTLE)
    timer.timeit(math.ceil(number / 4))
    return timer.timeit(number) / number


def _repetitions(timer: Timer, length: float) -> int:
    """Runs that take about ``length`` seconds."""
    number = 1
    while (seconds := timer.timeit(number)) < length / 2:
        number = math.ceil(number * length / max(seconds, length / 100))
    return number
