"""Moves among lanes."""

from __future__ import annotations

import numpy as np

from corpus.case import expecting
from corpus.reference import random_floats

__all__ = ["CASES"]

LANES = 64


def _numbers(seed=1, low=-(1 << 31), high=1 << 31, dtype=np.int32, count=LANES):
    return np.random.default_rng(seed).integers(low, high, count, np.int64).astype(dtype)


def _source(control: int, lane: int) -> int | None:
    """The lane that a DPP control reads for ``lane``; None outside the row or wave.

    Rows for which a broadcast has no source are masked off here, as compilers do: descriptions differ on them.
    The control's values are those of the manual's table of DPP_CTRL.
    """
    row, at = lane & ~15, lane & 15
    step = control & 15
    if control < 0x100:
        return (lane & ~3) + (control >> 2 * (lane & 3) & 3)
    if control < 0x110:
        return row + at + step if at + step < 16 else None
    if control < 0x120:
        return row + at - step if at >= step else None
    if control < 0x130:
        return row + (at - step) % 16
    if control >= 0x150:
        return row + step
    return {
        0x130: lane + 1 if lane < 63 else None,
        0x134: (lane + 1) % 64,
        0x138: lane - 1 if lane else None,
        0x13C: (lane - 1) % 64,
        0x140: row + 15 - at,
        0x141: (lane & ~7) + 7 - (lane & 7),
        0x142: row - 1 if row else None,
        0x143: 31 if lane > 31 else None,
    }[control]


def dpp(x, old, control, row_mask=15, bank_mask=15, zero=False, active=None):
    """Move among lanes as v_mov_b32 with DPP does.

    A lane outside the masks keeps ``old``, as does one without a valid source unless ``zero``.
    """
    active = np.ones(x.size, bool) if active is None else active
    result = np.array(old)
    for lane in range(x.size):
        if not (active[lane] and row_mask >> lane // 16 & 1 and bank_mask >> lane // 4 % 4 & 1):
            continue
        source = _source(control, lane)
        # A source that is not active gives 0 with bound_ctrl, and nothing without.
        valid = source is not None and active[source]
        if valid or zero:
            result[lane] = x[source] if valid else 0
    return result


CONTROLS = (
    0x1B, 0xB1, 0x55, 0x101, 0x108, 0x111, 0x11F, 0x121, 0x12C, 0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x150, 0x15B,
)  # fmt: skip


def _moved(a, out, n):
    old, seven = a + 1000, np.full_like(a, 7)
    found = [dpp(a, old, control) for control in CONTROLS]
    found += [dpp(a, old, control, zero=True) for control in (0x101, 0x111, 0x130)]
    found += [
        dpp(a, seven, 0x142, 0xA),
        dpp(a, seven, 0x143, 0xC),
        dpp(a, seven, 0x111, 5, 3),
        dpp(a, seven, 0x1B, 15, 6, True),
    ]
    return {1: np.concatenate([*found, a[np.arange(LANES) ^ 1]])}


def _masked(a, out, n):
    active = np.arange(LANES) % 3 != 0
    seven, minus = np.full_like(a, 7), np.full_like(a, -1)
    after = (np.arange(LANES) + 1) % 64
    found = [
        dpp(a, seven, 0x111, active=active),
        dpp(a, seven, 0x111, zero=True, active=active),
        dpp(a, seven, 0x121, zero=True, active=active),
        np.where(active[after], a[after], 0),
    ]
    return {1: np.concatenate([np.where(active, f, minus) for f in found])}


def _prefix(a, out):
    """Six steps make the inclusive sum of every lane."""
    return {1: np.cumsum(a.reshape(-1, LANES), 1, dtype=np.int32).ravel()}


def _row_max(a, out):
    return {1: np.repeat(a.reshape(-1, 16).max(1), 16)}


def _swizzled(a, out, n):
    lane = np.arange(LANES)
    half, low = lane & ~31, lane & 31
    places = [low ^ 1, low ^ 16, low & 24, low & 19 | 4, low ^ 31, low & ~3 | 3 - (low & 3), low ^ 2]
    return {1: np.concatenate([a[half + place] for place in places])}


def _permuting():
    # Two lanes that push to the same place would race: a permutation, with all lanes taking part.
    return [
        _numbers(2),
        np.random.default_rng(3).permutation(LANES).astype(np.int32),
        np.zeros(3 * LANES, np.int32),
        np.uint32(LANES),
    ]


def _permuted(a, to, out, n):
    pushed = np.empty_like(a)
    pushed[to] = a
    # Byte addresses: the two lowest bits and those above 64 lanes do not count.
    return {2: np.concatenate([a[to], pushed, a[to]])}


def _read(a, out, n, which):
    x = a.astype(np.int64)
    odd = x & 1 == 1

    def ballot(mask):
        return np.full(LANES, np.sum(mask.astype(np.uint64) << np.arange(LANES, dtype=np.uint64)), np.uint64)

    def everywhere(value):
        return np.full(LANES, value).astype(np.int64).view(np.uint64)

    between = ballot((x > 50) & (x < 100))
    before = np.cumsum(odd) - odd
    inner = np.where(odd, ballot(odd & (x > 40)), np.uint64(99))
    first = np.where(odd, x[np.argmax(odd)], 99).view(np.uint64)
    rows = [
        everywhere(x[0]),
        everywhere(x[13]),
        everywhere(x[which & 63]),
        ballot(odd),
        between,
        np.arange(LANES, dtype=np.uint64),
    ]
    rows += [before.astype(np.uint64), inner, first, ballot(odd | True), everywhere(int((x > 1 << 30).any()))]
    return {1: np.concatenate(rows)}


def _waterfall():
    return [
        _numbers(6, 0, 9, np.uint32),
        _numbers(7, 0, 1000, np.uint32, 9),
        np.zeros(LANES, np.uint32),
        np.uint32(LANES),
    ]


def _rounds(a, table, out, n):
    order = list(dict.fromkeys(a.tolist()))
    return {2: np.array([table[v] * 100 + order.index(v) + 1 for v in a.tolist()], np.uint32)}


def _written(a, out, n, value, where):
    first = a.copy()
    first[where & 63] = value
    second = first.copy()
    second[5] = value + 1
    return {1: np.concatenate([first, second])}


def _reduced(a, out, n):
    results = [a.min(), a.max(), a.sum(dtype=np.uint32), np.bitwise_xor.reduce(a)]
    return {1: np.repeat(np.array(results, np.uint32), LANES)}


def _lanes():
    obj = "hip_lanes.co"

    def case(kernel, arguments, expected, *, size=LANES):
        return expecting(f"lanes: {kernel}", obj, kernel, 1, size, arguments, expected)

    def rows(count, dtype=np.int32, extra=(), **limits):
        return lambda: [_numbers(**limits), np.zeros(count * LANES, dtype), np.uint32(LANES), *extra]

    yield case("dpp", rows(25), _moved)
    yield case("dpp_masked", rows(4), _masked)
    yield case("dpp_sum", lambda: [_numbers(4, count=128), np.zeros(128, np.int32)], _prefix, size=128)
    yield case("dpp_max", lambda: [random_floats(5, 128, np.float32), np.zeros(128, np.float32)], _row_max, size=128)
    yield case("swizzle", rows(7), _swizzled)
    yield case("permute", _permuting, _permuted)
    yield case("readers", rows(11, np.uint64, [np.uint32(29)], low=0, high=128), _read)
    yield case("waterfall", _waterfall, _rounds)
    yield case("writelane", rows(2, extra=[np.int32(-12345), np.uint32(41)]), _written)
    yield case(
        "wave_reductions", lambda: [_numbers(8, dtype=np.uint32), np.zeros(256, np.uint32), np.uint32(LANES)], _reduced
    )
    yield case(
        "butterfly",
        lambda: [_numbers(9, -999, 999, count=128), np.zeros(128, np.int32)],
        lambda a, out: {1: np.repeat(a.reshape(2, 64).sum(1, dtype=np.int32), 64)},
        size=128,
    )


CASES = [*_lanes()]
