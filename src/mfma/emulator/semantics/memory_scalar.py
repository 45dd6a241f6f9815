"""SMEM instructions: the wave's own loads, stores and atomics, whatever EXEC is; caches and clocks.

All parts of an address, and a buffer's base and final address, have their two low bits ignored. A buffer's dwords
behind its last record load as zeros and are not stored; its stride counts for nothing else.
"""

from __future__ import annotations

from mfma.emulator.decode import Operand
from mfma.emulator.decode.memory_records import Access as Record
from mfma.emulator.decode.memory_records import Kind
from mfma.emulator.decode.tables_memory_smem import SMEM
from mfma.emulator.semantics.machine import Access, Machine, Space
from mfma.emulator.semantics.memory_access import (
    Target,
    atomic,
    define_rows,
    fields,
    halves,
    nothing,
    read_tuple,
    record,
    write_tuple,
)
from mfma.emulator.semantics.registry import machine
from mfma.emulator.semantics.values import B64, Value

__all__: list[str] = []

DWORD = ~3


def _base_address(words: list[Value]) -> Value:
    """Base of a buffer resource, B64."""
    return words[0].concat(words[1] & 0xFFFF)


def _offset(m: Machine, access: Record, operands: dict[str, Operand]) -> Value:
    """What is added to the base, B64."""
    offset = m.constant(B64, m.instruction.modifiers.offset & DWORD)
    if "soffset" in operands:
        scalar = (m.sgpr(operands["soffset"].code) & DWORD).zext(B64)
        offset = offset + (scalar * access.unit if access.unit > 1 else scalar)
    return offset


def _in_range(words: list[Value], offset: Value) -> Value:
    """Whether the dword at an offset belongs to the buffer."""
    stride = words[1].bits(16, 14)
    stride = stride.equals(0).select(stride.like(1), stride)
    return offset.ult(words[2].zext(B64) * stride.zext(B64))


def _define(m: Machine) -> None:
    access, operands = record(m.instruction), fields(m.instruction)
    offset = _offset(m, access, operands)
    words = read_tuple(m, operands["sbase"])
    if access.kind is Kind.LOAD:
        load = _load_buffer if len(words) == 4 else _load
        write_tuple(m, operands["sdst"], load(m, words, offset, access.bytes // 4))
        return
    # one lane does what the wave does
    once = m.lane().equals(0)
    if len(words) == 2:
        address = (words[0].concat(words[1]) & DWORD) + offset
        target = Target(Space.GLOBAL, address.splat(), once)
    else:
        base = _base_address(words) & DWORD

        def dword(i: int) -> tuple[Value, Value]:
            return (base + offset + 4 * i).splat(), once & _in_range(words, offset + 4 * i).splat()

        target = Target(Space.GLOBAL, *dword(0), dword)
    data = read_tuple(m, operands["sdata"])
    if access.kind is Kind.STORE:
        for i, (bytes_, address, mask) in enumerate(target.pieces(access.bytes)):
            m.store(Access(Space.GLOBAL, bytes_), address, data[i : i + 1] if target.dwords else data, mask)
        return
    old = atomic(m, access, target, halves(data, access.bytes)[::-1])
    if "sdst" in operands:
        write_tuple(m, operands["sdst"], [part.read_lane(0) for part in old])


def _load(m: Machine, words: list[Value], offset: Value, dwords: int) -> list[Value]:
    return m.load_wave((words[0].concat(words[1]) & DWORD) + offset, dwords)


def _load_buffer(m: Machine, words: list[Value], offset: Value, dwords: int) -> list[Value]:
    """Lane n loads dword n, so that each can be in range or not."""
    lane = m.lane()
    offsets = offset + lane.zext(B64) * 4
    mask = lane.ult(dwords) & _in_range(words, offsets)
    (loaded,) = m.load(Access(Space.GLOBAL, 4), (_base_address(words) & DWORD) + offsets, mask)
    return [loaded.read_lane(i) for i in range(dwords)]


define_rows(SMEM, _define, (Kind.LOAD, Kind.STORE, Kind.ATOMIC))
define_rows(SMEM, nothing, (Kind.CACHE, Kind.PROBE))


@machine("s_memtime")
def _clock(m: Machine, instruction: object) -> None:
    m.set_sgpr(m.instruction.dst[0].code, m.hardware("SHADER_CYCLES", B64))


@machine("s_memrealtime")
def _real_time(m: Machine, instruction: object) -> None:
    m.set_sgpr(m.instruction.dst[0].code, m.hardware("REALTIME", B64))
