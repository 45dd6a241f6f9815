"""DS instructions: loads, stores and atomics of LDS, and those that move data between lanes.

Accesses outside the LDS of the work-group are reported; hardware would load zeros there and store nothing. M0 limits
no address: since GFX9 LLVM does not set it for LDS.
"""

from __future__ import annotations

from mfma.emulator.decode import Operand
from mfma.emulator.decode.memory_records import Kind, Operation
from mfma.emulator.decode.tables_memory_ds import DS
from mfma.emulator.semantics.machine import M0, Machine, Space
from mfma.emulator.semantics.memory_access import (
    Target,
    atomic,
    define_rows,
    fields,
    halves,
    load,
    nothing,
    read_tuple,
    record,
    store,
    write_tuple,
)
from mfma.emulator.semantics.registry import machine
from mfma.emulator.semantics.values import B32, Value

__all__: list[str] = []

ONCE = (Operation.APPEND, Operation.CONSUME)
"""Atomics that the wave does once, for all its active lanes."""


def _target(m: Machine, operands: dict[str, Operand], offset: int, mask: Value) -> Target:
    if "addr" in operands:
        return Target(Space.LDS, m.read(operands["addr"]) + offset, mask)
    base = (m.sgpr(M0) & 0xFFFF) + offset
    if record(m.instruction).operation in ONCE:
        return Target(Space.LDS, base.splat(), mask)
    return Target(Space.LDS, m.lane() * 4 + base, mask)


def _define(m: Machine) -> None:
    access, operands, modifiers = record(m.instruction), fields(m.instruction), m.instruction.modifiers
    if access.operation in ONCE:
        _count(m, operands)
        return
    offsets = [modifiers.offset]
    if access.addresses == 2:
        offsets = [modifiers.offset0 * access.unit, modifiers.offset1 * access.unit]
    targets = [_target(m, operands, offset, m.exec) for offset in offsets]
    data = [read_tuple(m, operands[name]) for name in ("data0", "data1") if name in operands]
    result = []
    match access.kind:
        case Kind.LOAD:
            for target in targets:
                result += load(m, access, target)
        case Kind.STORE:
            # two equal offsets are one address, which takes the first data
            for target, values in zip(targets[: len(set(offsets))], data, strict=False):
                store(m, access, target, values)
        case Kind.ATOMIC:
            values = [value for registers in data for value in halves(registers, access.bytes)]
            if len(targets) == 1:
                result = atomic(m, access, targets[0], values)
            else:
                for target, value in zip(targets, values, strict=True):
                    result += atomic(m, access, target, [value])
    if "vdst" in operands:
        write_tuple(m, operands["vdst"], result)


def _count(m: Machine, operands: dict[str, Operand]) -> None:
    """Add or subtract the number of active lanes once; every one of them gets the old value."""
    active = m.exec.ballot()
    first = active.trailing_zeros().trunc(B32)
    target = _target(m, operands, m.instruction.modifiers.offset, m.lane().equals(first))
    (old,) = atomic(m, record(m.instruction), target, [active.popcount().trunc(B32)])
    write_tuple(m, operands["vdst"], [old.read_lane(first & 63)])


define_rows(
    [row for row in DS if row.access is None or row.access.operation is not Operation.CONDXCHG],
    _define,
    (Kind.LOAD, Kind.STORE, Kind.ATOMIC),
)
define_rows(DS, nothing, (Kind.NOTHING,))


# between lanes


def _named(m: Machine, operands: dict[str, Operand]) -> Value:
    """Lane that every lane names: its address counts bytes of a wave's dwords, and wraps."""
    return (m.read(operands["addr"]) + m.instruction.modifiers.offset).bits(2, 6)


def _active(m: Machine, value: Value) -> Value:
    """``value``, and 0 in lanes that EXEC turns off."""
    return m.exec.select(value, 0)


@machine("ds_bpermute_b32")
def _backward(m: Machine, instruction: object) -> None:
    operands = fields(m.instruction)
    data = _active(m, m.read(operands["data0"]))
    write_tuple(m, operands["vdst"], [data.gather(_named(m, operands))])


@machine("ds_permute_b32")
def _forward(m: Machine, instruction: object) -> None:
    """Of several lanes that name the same one, the highest wins; a lane that none names gets 0."""
    operands = fields(m.instruction)
    named, lane = _named(m, operands), m.lane()
    # for every lane the set of those that name it, bit by bit of its number
    senders = m.exec.ballot().splat()
    for bit in range(6):
        plane = named.bits(bit, 1).equals(1).ballot()
        senders = senders & lane.bits(bit, 1).equals(1).select(plane, ~plane)
    highest = 63 - senders.leading_zeros().trunc(B32)
    received = m.read(operands["data0"]).gather(highest & 63)
    write_tuple(m, operands["vdst"], [senders.equals(0).select(received.like(0), received)])


def _swizzled(lane: int, pattern: int) -> int:
    """Lane from which ``lane`` takes its data under ds_swizzle's 16-bit pattern."""
    if pattern >= 0xE000:  # FFT: bits of the number reversed, a mask of them kept
        mask = pattern & 0x1F
        backward = int(f"{lane & 0x1F:05b}"[::-1], 2) >> mask.bit_count()
        return backward | lane & mask | lane & 0x20
    if pattern >= 0xC000:  # rotation within the lanes that the mask tells apart
        mask, count = pattern & 0x1F, pattern >> 5 & 0x1F
        moved = lane - count if pattern & 0x400 else lane + count
        return lane & mask | moved & ~mask & 0x1F | lane & 0x20
    if pattern & 0x8000:  # any of the four lanes of a quad
        return lane & ~3 | pattern >> 2 * (lane & 3) & 3
    and_, or_, xor = pattern & 0x1F, pattern >> 5 & 0x1F, pattern >> 10 & 0x1F
    return ((lane & 0x1F & and_) | or_) ^ xor | lane & 0x20


@machine("ds_swizzle_b32")
def _swizzle(m: Machine, instruction: object) -> None:
    operands = fields(m.instruction)
    source = m.lane().lookup([_swizzled(lane, m.instruction.modifiers.offset) for lane in range(64)], B32)
    data = _active(m, m.read(operands["addr"]))
    write_tuple(m, operands["vdst"], [data.gather(source)])
