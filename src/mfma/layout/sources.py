"""What the modifiers do to placement: 64 lanes beside the pattern, from which the hardware reads."""

from __future__ import annotations

from collections.abc import Callable

from mfma.isa.spec import WAVE, Blgp, MatrixOp

__all__ = ["lane_sources"]

LANE_PATTERNS: tuple[Callable[[int], int], ...] = (
    lambda lane: lane,
    lambda lane: lane % 32,  # the lower half, twice
    lambda lane: 32 + lane % 32,  # the upper half, twice
    lambda lane: (lane + 16) % 64,  # all lanes rotated down by 16
    lambda lane: lane % 16,  # one group of 16 lanes, four times
    lambda lane: 16 + lane % 16,
    lambda lane: 32 + lane % 16,
    lambda lane: 48 + lane % 16,
)
"""``blgp`` -> the lane that a lane position of B is read from."""


def lane_sources(op: MatrixOp, matrix: str, cbsz: int = 0, abid: int = 0, blgp: int = 0) -> tuple[int, ...] | None:
    """Return, for each of the 64 lane positions, the lane whose registers the hardware reads; None if its own.

    Source: AMD's matrix instruction calculator 1.3.2. The modifiers must be legal for the instruction.

    >>> from mfma.isa.cdna3 import DENSE
    >>> lane_sources(DENSE[1], "A", cbsz=1, abid=1)[::16]  # f32_16x16x1f32: blocks 0..3 read 1, 1, 3, 3
    (16, 16, 48, 48)
    >>> lane_sources(DENSE[1], "B", blgp=3)[::16]
    (16, 32, 48, 0)
    """
    if matrix == "A" and cbsz:
        return tuple(lane + op.m * (_block_read(block, cbsz, abid) - block) for lane, block in _a_blocks(op))
    if matrix == "B" and blgp and op.blgp is Blgp.LANES:
        return tuple(LANE_PATTERNS[blgp](lane) for lane in range(WAVE))
    return None


def _block_read(block: int, cbsz: int, abid: int) -> int:
    """Block of A that the product of ``block`` uses: number ``abid`` of its group of ``2**cbsz``."""
    return (block >> cbsz << cbsz) + abid


def _a_blocks(op: MatrixOp) -> list[tuple[int, int]]:
    """Each lane with the block of A in it: lanes are ``(g blk i)``."""
    return [(lane, lane // op.m % op.blocks) for lane in range(WAVE)]
