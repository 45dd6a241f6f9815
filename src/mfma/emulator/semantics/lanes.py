"""Vector instructions that reach into other lanes or between the register files."""

from __future__ import annotations

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.machine import EXEC, Machine
from mfma.emulator.semantics.registry import machine
from mfma.emulator.semantics.values import B32, Op


@machine("v_nop", "v_clrexcp")
def _nop(m: Machine, i: Instruction) -> None:
    pass


@machine("v_readfirstlane_b32")
def _readfirstlane(m: Machine, i: Instruction) -> None:
    """The lowest lane of EXEC, or lane 0 if it has none."""
    first = m.sgpr(EXEC, 2).trailing_zeros().trunc(B32) & 63
    m.write(i.dst[0], m.read(i.src[0], source=0).read_lane(first))


@machine("v_readlane_b32")
def _readlane(m: Machine, i: Instruction) -> None:
    m.write(i.dst[0], m.read(i.src[0], source=0).read_lane(m.read(i.src[1]) & 63))


@machine("v_writelane_b32")
def _writelane(m: Machine, i: Instruction) -> None:
    value, lane = m.read(i.src[0]), m.read(i.src[1]) & 63
    m.program.emit(Op.WRITE_LANE, B32, False, value, lane, data=m.register(i.dst[0]))


@machine("v_swap_b32")
def _swap(m: Machine, i: Instruction) -> None:
    one, other = m.register(i.dst[0]), m.register(i.src[0])
    first, second = m.vgpr(one), m.vgpr(other)
    m.set_vgpr(one, second)
    m.set_vgpr(other, first)


@machine("v_screen_partition_4se_b32", note="no manual says what its table holds")
def _screen_partition(m: Machine, i: Instruction) -> None:
    m.act(Op.TRAP, data=f"{i.name}, whose table AMD has not published")
