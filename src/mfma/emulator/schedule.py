"""The order in which the waves of a launch run: the same one for every engine, and in every launch.

Work-groups start in ascending order (x fastest), at most ``resident`` at once, as on a device whose compute units are
full. The waves of one take turns in ascending order, and a turn ends at ``s_sleep``, at the end, or at the first
backward jump after so many instructions; at a barrier the wave stops until all others of the work-group that have not
ended are there too. Once every wave has had its turn, and some still run, the next work-group has its own. So a wave
may wait for another one, or for another work-group that is resident, and sees it arrive.

Turns are as long as what the wave has executed before, from `FIRST` to `TURN`, and after the last work-group it goes
back from there to the first: a thousand work-groups of which each waits for its neighbour, on whichever side, take two
passes, and those in the first are short.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from mfma.emulator.translator.layout import Status

if TYPE_CHECKING:
    from mfma.emulator.interpreter.wave import Group, Wave

__all__ = ["FIRST", "TURN", "WATCH_EVERY", "Index", "indices", "run", "turn"]

WATCH_EVERY = 1024
"""Instructions of a wave, a power of two, after which an engine looks whether the launch runs too long."""
FIRST, TURN = 500, 10_000
"""Instructions after which a wave lets others run, the first time and at most."""

Index = tuple[int, int, int]
"""Numbers of a work-group in x, y and z."""

UnderWay = TypeVar("UnderWay")


def indices(grid: Index) -> Iterator[Index]:
    """All work-groups of a grid, in the order in which they start.

    >>> list(indices((2, 1, 2)))
    [(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1)]
    """
    width, height, depth = grid
    return ((x, y, z) for z in range(depth) for y in range(height) for x in range(width))


def run(resident: int, start: Callable[[], UnderWay | None], turn: Callable[[UnderWay], bool]) -> None:
    """Run work-groups to their ends.

    Args:
        resident: how many are under way at once, at most.
        start: lets work-groups begin, each with its first turn, until one is still under way after it, and gives that
            one; None if there are no more. A work-group that ends in its first turn never takes a place.
        turn: lets a work-group have its turn; whether it is still under way.
    """
    under_way: deque[UnderWay] = deque()
    while True:
        while len(under_way) < resident and (group := start()) is not None:
            under_way.append(group)
        if not under_way:
            return
        under_way.reverse()
        for _ in range(len(under_way)):
            group = under_way.popleft()
            if turn(group):
                under_way.append(group)


def turn(group: Group, run_wave: Callable[[Wave], None]) -> bool:
    """Let every wave of a work-group run until it yields; whether some have not ended then.

    Native code has the same in `mfma.emulator.translator.turn`.

    Args:
        group: the work-group.
        run_wave: runs a wave from where it is until its status is another one than ``READY``.
    """
    for wave in group.waves:
        wave.turn = wave.executed + min(max(wave.executed, FIRST), TURN)
        if wave.status is Status.YIELDED:
            wave.status = Status.READY
    while True:
        for wave in group.waves:
            if wave.status is Status.READY:
                run_wave(wave)
        left = {wave.status for wave in group.waves} - {Status.ENDED}
        if not left:
            return False
        if Status.YIELDED in left:
            return True
        for wave in group.waves:
            if wave.status is Status.BARRIER:
                wave.status = Status.READY
