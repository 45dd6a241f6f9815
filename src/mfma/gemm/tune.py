"""The policies that suit a problem, by the model of `mfma.gemm.model`: a search over all that are legal.

Every candidate first gets a bound from below, its cycles without bank conflicts. Those with the least bound are then
counted exactly, until no bound is left below the worst that is kept: the ranking is that of the whole space.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mfma.builtins.op import Op
from mfma.builtins.op import op as find
from mfma.errors import OptionError
from mfma.gemm.compute import MfmaPolicy, Placement
from mfma.gemm.kernel import Gemm
from mfma.gemm.lds import BANK_BYTES
from mfma.gemm.model import strip
from mfma.gemm.operands import Memory
from mfma.gemm.protocols import TilePolicy, check_count
from mfma.gemm.report import Report, report
from mfma.gemm.tiles import DirectToLdsTilePolicy, DoubleBufferTilePolicy, SingleBufferTilePolicy
from mfma.native.threads import Progress
from mfma.timing.devices import Device

__all__ = ["Candidate", "candidates", "tune"]

WAVES = tuple((m, n) for m, n in itertools.product((1, 2, 4, 8), repeat=2) if m * n <= 8)
TILES = tuple(itertools.product((1, 2, 4), repeat=2))
STEPS = (1, 2, 4, 8)
"""Steps of k in a strip."""
WIDTHS = (1, 2)
"""Instructions that one load of a lane feeds."""
TILE_POLICIES: tuple[type[SingleBufferTilePolicy | DoubleBufferTilePolicy], ...] = (
    SingleBufferTilePolicy,
    DoubleBufferTilePolicy,
    DirectToLdsTilePolicy,
)
Rank = tuple[int, int, int, int]
CHUNK = 64
"""Candidates between two reports of progress."""


@dataclass(frozen=True)
class Candidate:
    """A kernel with its report, best first in the list that `tune` returns."""

    gemm: Gemm
    report: Report

    def as_dict(self) -> dict[str, Any]:
        """Give the candidate as plain data."""
        r = self.report
        return {
            "tile": repr(self.gemm.tile),
            "compute": repr(self.gemm.compute),
            "cycles": r.cycles,
            "tflops": r.tflops,
            "share_of_peak": r.share_of_peak,
            "utilisation": r.utilisation,
            "bound": r.bound,
            "lds_bytes": r.lds_bytes,
            "conflicts": sum(x.conflicts for x in r.strip.lds.values()),
            "registers": r.strip.registers.total,
            "waves_per_simd": r.strip.waves_per_simd,
        }


def candidates(op: str | Op, memory: Memory, batch: int = 1) -> Iterator[Gemm]:
    """Yield every legal kernel of an instruction in the space of the search."""
    face = find(op)
    placements = tuple(Placement) if face.blocks > 1 else (Placement.M,)
    if batch == 1:
        placements = tuple(place for place in placements if place is not Placement.BATCH or face.blocks == 1)
    held = face.registers.a.elements
    for (waves_m, waves_n), (tiles_m, tiles_n), place, width in itertools.product(WAVES, TILES, placements, WIDTHS):
        policy = MfmaPolicy(face, waves_m, waves_n, tiles_m, tiles_n, place, held * width)
        block = waves_m * policy.thread_tile_m, waves_n * policy.thread_tile_n
        for steps, kind in itertools.product(STEPS, TILE_POLICIES):
            for tile in _variants(kind, *block, steps * policy.k_step, policy):
                try:
                    yield Gemm(tile, policy, memory)
                except OptionError:
                    continue


def _variants(
    kind: type[SingleBufferTilePolicy | DoubleBufferTilePolicy], m: int, n: int, k: int, policy: MfmaPolicy
) -> Iterator[TilePolicy]:
    """Yield the ways to lay rows out: plain, padded by what a lane loads and by a word, and swizzled."""
    yield kind(m, n, k)
    for padding in sorted({policy.kwidth, max(8 * BANK_BYTES // policy.a.bits, 1)}) if not kind.direct else ():
        yield kind(m, n, k, padding=padding)
    if k > policy.kwidth:
        yield kind(m, n, k, swizzle=policy.kwidth)


def tune(
    m: int, n: int, k: int, op: str | Op, device: str | Device = "MI300X", *, batch: int = 1, split_k: int = 1,
    clock_mhz: float | None = None, memory: Memory | None = None, top: int = 10, progress: Progress | None = None,
) -> list[Candidate]:  # fmt: skip
    """Return the ``top`` policies for a problem, the fastest by the model first.

    Candidates that the model cannot tell apart are in the order of less LDS, then of fewer registers. ``progress`` is
    called with the candidates looked at and those in all. Raises `OptionError` and `UnknownNameError`.

    >>> best = tune(4096, 4096, 4096, "f32_32x32x8f16", top=1)[0]
    >>> best.report.share_of_peak > 0.5
    True
    """
    check_count("top", top)
    check_count("split_k", split_k)
    legal = list(candidates(op, memory or Memory(), batch))
    bounded: list[tuple[Rank, Report]] = []
    model: Report | None = None
    for number, gemm in enumerate(legal):
        if model is None:
            model = report(gemm, m, n, k, device, batch=batch, clock_mhz=clock_mhz)
        parts = min(split_k, -(-k // gemm.compute.k_step))
        least = dataclasses.replace(model, gemm=gemm, split_k=parts, strip=strip(gemm, without_conflicts=True))
        bounded.append((_rank(least, number), least))
        if progress and number % CHUNK == 0:
            progress(number, 2 * len(legal))
    bounded.sort(key=lambda entry: entry[0])
    best: list[tuple[Rank, Candidate]] = []
    for done, (bound, least) in enumerate(bounded):
        if len(best) == top and bound > best[-1][0]:
            break
        exact = dataclasses.replace(least, strip=strip(least.gemm))
        bisect.insort(best, (_rank(exact, bound[-1]), Candidate(least.gemm, exact)), key=lambda entry: entry[0])
        del best[top:]
        if progress and done % CHUNK == 0:
            progress(len(legal) + done, 2 * len(legal))
    if progress:
        progress(2 * len(legal), 2 * len(legal))
    return [candidate for _, candidate in best]


def _rank(report: Report, number: int) -> Rank:
    """What candidates are sorted by: the less, the better; conflicts can only raise it."""
    return report.cycles, report.lds_bytes, report.strip.registers.total, number
