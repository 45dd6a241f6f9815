"""DPP: where each lane's first source comes from, and which lanes are written."""

from __future__ import annotations

from mfma.emulator.decode import Dpp
from mfma.emulator.semantics.machine import Machine
from mfma.emulator.semantics.values import B64, WAVE, Value

__all__ = ["moved", "source_lanes"]

ROW = 16


def source_lanes(ctrl: int) -> list[int | None]:
    """For each lane, the lane whose value it takes, or None where there is none.

    Args:
        ctrl: the 9-bit dpp_ctrl field.

    >>> source_lanes(0x111)[:3]          # row_shr:1
    [None, 0, 1]
    """
    return [_source(ctrl, lane) for lane in range(WAVE)]


def _source(ctrl: int, lane: int) -> int | None:  # noqa: PLR0911, PLR0912 one row of the manual's table each
    row, at = lane // ROW * ROW, lane % ROW
    step = ctrl & 15
    if ctrl <= 0xFF:  # quad_perm
        return lane & ~3 | ctrl >> 2 * (lane & 3) & 3
    if 0x101 <= ctrl <= 0x10F:  # row_shl
        return row + at + step if at + step < ROW else None
    if 0x111 <= ctrl <= 0x11F:  # row_shr
        return row + at - step if at >= step else None
    if 0x121 <= ctrl <= 0x12F:  # row_ror
        return row + (at - step) % ROW
    if 0x150 <= ctrl <= 0x15F:  # row_newbcast
        return row + step
    match ctrl:
        case 0x130:  # wave_shl:1
            return lane + 1 if lane + 1 < WAVE else None
        case 0x134:  # wave_rol:1
            return (lane + 1) % WAVE
        case 0x138:  # wave_shr:1
            return lane - 1 if lane else None
        case 0x13C:  # wave_ror:1
            return (lane - 1) % WAVE
        case 0x140:  # row_mirror
            return row + ROW - 1 - at
        case 0x141:  # row_half_mirror
            return lane & ~7 | 7 - (lane & 7)
        case 0x142:  # row_bcast:15, into the next row; the first row keeps its own
            return row - 1 if row else lane
        case 0x143:  # row_bcast:31, into the third and fourth row; the others keep their own
            return 31 if lane >= 2 * ROW else lane
        case _:
            raise ValueError(f"dpp_ctrl {ctrl:#x} is reserved")


def moved(machine: Machine, dpp: Dpp, value: Value, exec_: Value) -> tuple[Value, Value]:
    """The permuted value and the mask of lanes to write.

    A source lane that does not exist or that EXEC switches off gives 0 with bound_ctrl, else keeps the lane unwritten.
    """
    sources = source_lanes(dpp.ctrl)
    lane = machine.lane()
    from_lane = lane.lookup([source or 0 for source in sources], lane.type)
    exists = sum(1 << lane for lane, source in enumerate(sources) if source is not None)
    there = machine.constant(B64, exists).unballot() & exec_.gather(from_lane)
    rows = sum(0xFFFF << ROW * row for row in range(4) if dpp.row_mask >> row & 1)
    banks = sum(0xF << 4 * bank for bank in range(4) if dpp.bank_mask >> bank & 1) * 0x0001_0001_0001_0001
    mask = exec_ & machine.constant(B64, rows & banks).unballot()
    taken = value.gather(from_lane)
    if dpp.bound_ctrl:
        return there.select(taken, taken.as_int().like(0).bitcast(taken.type)), mask
    return taken, mask & there
