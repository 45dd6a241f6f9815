"""How many cycles the banks of the local data share need to serve a wave.

A compute unit of CDNA3 has 64 KiB of LDS in 32 banks of 4 bytes (CDNA3 ISA manual, chapter "Data Share": "64 kB ...
32 banks"). A bank serves one of its words in a cycle, to any number of lanes. Which lanes share a cycle depends on the
width of the access: `PHASES`. Lanes that update one word with an atomic follow one another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mfma.isa.spec import WAVE

__all__ = ["ATOMIC", "BANKS", "BANK_BYTES", "PHASES", "READ", "SOURCE", "WRITE", "BankCycles", "bank_cycles", "phases"]

BANKS = 32
BANK_BYTES = 4
READ, WRITE, ATOMIC = "read", "write", "atomic"

SOURCE = (
    "CDNA3 ISA manual: 64 KiB of LDS per compute unit in 32 banks of 4 bytes; lanes that share a cycle: AMD, "
    '"Avoiding LDS Bank Conflicts on AMD GPUs Using CK-Tile Framework" for 128-bit accesses, consecutive lanes '
    "of 128 bytes in all for the others (assumption)"
)


def _consecutive(lanes: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(first, first + lanes)) for first in range(0, WAVE, lanes))


def _read_128() -> Iterator[tuple[int, ...]]:
    for half in (0, 32):
        for first, second in ((0, 20), (4, 16), (8, 28), (12, 24)):
            yield tuple(half + start + lane for start in (first, second) for lane in range(4))


PHASES = {
    (READ, 16): tuple(_read_128()),
    (WRITE, 16): _consecutive(8),
    (READ, 8): _consecutive(16),
    (WRITE, 8): _consecutive(16),
    (READ, 4): _consecutive(32),
    (WRITE, 4): _consecutive(32),
}
"""Direction and bytes per lane -> the lanes that are served together; see `phases` for the others."""


def phases(direction: str, width: int) -> tuple[tuple[int, ...], ...]:
    """The lanes that are served together in accesses of ``width`` bytes a lane, 1 to 16.

    Narrower accesses go as those of 4 bytes, 12 bytes as 16, and atomics as writes.

    >>> [len(phases("read", width)) for width in (2, 4, 8, 12, 16)]
    [2, 2, 4, 8, 8]
    """
    as_wide = next(size for size in (4, 8, 16) if width <= size)
    return PHASES[READ if direction == READ else WRITE, as_wide]


class BankCycles(NamedTuple):
    """Cycles of the LDS, and how many of them there are without any conflict: one for each phase with a lane."""

    cycles: int
    ideal: int


def bank_cycles(addresses: NDArray[Any], width: int, direction: str, active: NDArray[np.bool_]) -> BankCycles:
    """Count the cycles in which waves access ``width`` bytes a lane.

    ``addresses`` (waves, 64) are the byte addresses at which each lane's bytes begin, ``active`` (waves, 64) the lanes
    that take part. An address that is no multiple of 4 counts as the multiple below it.

    >>> lanes, everyone = np.arange(64)[None], np.ones((1, 64), np.bool_)
    >>> bank_cycles(4 * lanes, 4, "read", everyone)  # 64 consecutive words: two phases of 32 lanes
    BankCycles(cycles=2, ideal=2)
    >>> bank_cycles(128 * lanes, 4, "read", everyone)  # all in bank 0
    BankCycles(cycles=64, ideal=2)
    >>> bank_cycles(0 * lanes, 4, "read", everyone), bank_cycles(0 * lanes, 4, "atomic", everyone)  # all one word
    (BankCycles(cycles=2, ideal=2), BankCycles(cycles=64, ideal=2))
    """
    lanes = np.array(phases(direction, width))
    starts, served = (array[:, lanes].reshape(-1, lanes.shape[1]) for array in (addresses, active))
    busy = served.any(axis=1)
    cycles = _busiest_bank(starts[busy], served[busy], width, shared=direction != ATOMIC)
    return BankCycles(int(cycles.sum()), int(busy.sum()))


def _busiest_bank(addresses: NDArray[Any], active: NDArray[np.bool_], width: int, shared: bool) -> NDArray[np.int64]:
    """Cycles of each phase (phases, lanes): the most words that one bank is asked for, equal ones once if shared."""
    words = addresses[..., None] // BANK_BYTES + np.arange(max(width // BANK_BYTES, 1))
    words = np.where(active[..., None], words, -1)
    words = np.sort(words.reshape(len(words), words.shape[1] * words.shape[2]), axis=1)
    new = words >= 0
    if shared:
        new[:, 1:] &= words[:, 1:] != words[:, :-1]
    bank = np.arange(len(words))[:, None] * BANKS + words % BANKS
    asked = np.bincount(bank[new], minlength=len(words) * BANKS).reshape(-1, BANKS)
    return np.asarray(asked.max(axis=1, initial=0))
