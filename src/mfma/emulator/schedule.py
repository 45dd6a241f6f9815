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
from typing import TYPE_CHECKING

from mfma.emulator.interpreter.wave import Status

if TYPE_CHECKING:
    from mfma.emulator.interpreter.wave import Group, Wave

__all__ = ["FIRST", "TURN", "Index", "indices", "run"]

FIRST, TURN = 500, 10_000
"""Instructions after which a wave lets others run, the first time and at most."""

Index = tuple[int, int, int]
"""Numbers of a work-group in x, y and z."""


def indices(grid: Index) -> Iterator[Index]:
    """All work-groups of a grid, in the order in which they start.

    >>> list(indices((2, 1, 2)))
    [(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1)]
    """
    width, height, depth = grid
    return ((x, y, z) for z in range(depth) for y in range(height) for x in range(width))


def run(
    groups: Iterator[Index],
    resident: int,
    begin: Callable[[Index], Group],
    run_wave: Callable[[Wave], None],
    end: Callable[[Group], None],
) -> None:
    """Run work-groups to their ends.

    Args:
        groups: their numbers.
        resident: how many are under way at once, at most.
        begin: makes a work-group.
        run_wave: runs a wave from where it is until its status is another one than ``READY``.
        end: gets every work-group that has ended.
    """
    under_way: deque[Group] = deque()
    while True:
        while len(under_way) < resident and (index := next(groups, None)) is not None:
            # a work-group that ends in its first turn never takes a place
            _turn(under_way, begin(index), run_wave, end)
        if not under_way:
            return
        under_way.reverse()
        for _ in range(len(under_way)):
            _turn(under_way, under_way.popleft(), run_wave, end)


def _turn(
    under_way: deque[Group], group: Group, run_wave: Callable[[Wave], None], end: Callable[[Group], None]
) -> None:
    """Let every wave of a work-group run until it yields; if some have not ended then, it stays under way."""
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
            return end(group)
        if Status.YIELDED in left:
            return under_way.append(group)
        for wave in group.waves:
            if wave.status is Status.BARRIER:
                wave.status = Status.READY
