"""What all vector memory instructions share: where an access goes, and how its data stand in registers.

Every encoding has its own way to an address; it says so as a `Target`. From there loads, stores, atomics and loads to
LDS are the same for all.

A load of 16 bits into half a register puts zeros into the other half: SRAM with ECC, which all devices of gfx942 have
(their target is ``gfx942:sramecc+``), writes whole registers, as the ISA manual says in "16-bit Memory Operations" and
as LLVM assumes when it compiles without ``sramecc-``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mfma.emulator.decode import File, Instruction, Operand, Row
from mfma.emulator.decode.memory_records import Access as Record
from mfma.emulator.decode.memory_records import Half, Kind
from mfma.emulator.semantics import memory_atomics
from mfma.emulator.semantics.machine import M0, Access, Machine, Space
from mfma.emulator.semantics.registry import Definition, define
from mfma.emulator.semantics.values import B32, Op, Value

__all__ = [
    "Locate",
    "Target",
    "atomic",
    "build",
    "define_rows",
    "fields",
    "nothing",
    "read_tuple",
    "record",
    "write_tuple",
]


@dataclass(frozen=True)
class Target:
    """Memory that every lane accesses: from an address on, where the mask is true.

    ``dwords`` splits accesses of more than 4 bytes whose dwords have masks of their own: address and mask of a dword.
    """

    space: Space
    address: Value
    mask: Value
    dwords: Callable[[int], tuple[Value, Value]] | None = None

    def pieces(self, bytes_: int) -> list[tuple[int, Value, Value]]:
        """Size, address and mask of the accesses that make up one of ``bytes_``."""
        if self.dwords is None or bytes_ <= 4:
            return [(bytes_, self.address, self.mask)]
        return [(4, *self.dwords(i)) for i in range(bytes_ // 4)]


Locate = Callable[[Machine, dict[str, Operand]], Target]


def define_rows(rows: Iterable[Row], build: Callable[[Machine], None], kinds: Sequence[Kind]) -> None:
    """Register one definition for all rows of these kinds."""
    for row in rows:
        if row.access is not None and row.access.kind in kinds:
            define(Definition(row.name, build, note=memory_atomics.NOTES.get(row.access.number, "")))


def nothing(machine: Machine) -> None:
    """Do nothing: caches are always coherent here."""


def record(instruction: Instruction) -> Record:
    """Return what the instruction does to memory."""
    access = instruction.row.access
    assert access is not None
    return access


def fields(instruction: Instruction) -> dict[str, Operand]:
    """Return the operands by the names of their fields, without those that the form lacks."""
    row = instruction.row
    slots, operands = (*row.dst, *row.src), (*instruction.dst, *instruction.src)
    return {slot.field: o for slot, o in zip(slots, operands, strict=True) if slot.file is not File.OFF}


def read_tuple(machine: Machine, operand: Operand) -> list[Value]:
    """Registers of an operand, B32 each."""
    if operand.vgpr is None:
        return [machine.sgpr(operand.code + i) for i in range(operand.dwords)]
    first = machine.register(operand)
    return [machine.vgpr(first + i) for i in range(operand.dwords)]


def write_tuple(machine: Machine, operand: Operand, values: Sequence[Value]) -> None:
    """Write B32 values into the registers of an operand, vector registers under EXEC."""
    assert len(values) == operand.dwords
    for i, value in enumerate(values):
        if operand.vgpr is None:
            machine.set_sgpr(operand.code + i, value)
        else:
            machine.set_vgpr(machine.register(operand) + i, value)


def build(locate: Locate, m0: int = 0x3FFFC) -> Callable[[Machine], None]:
    """Return the definition of every load, store, atomic and load to LDS of an encoding.

    ``m0`` masks the offset in LDS that register M0 holds.
    """

    def definition(machine: Machine) -> None:
        instruction = machine.instruction
        access, operands = record(instruction), fields(instruction)
        target = locate(machine, operands)
        match access.kind:
            case Kind.LOAD:
                write_tuple(machine, operands["vdst"], load(machine, access, target))
            case Kind.STORE:
                store(machine, access, target, read_tuple(machine, operands["vdata"]))
            case Kind.ATOMIC:
                words = halves(read_tuple(machine, operands["vdata"]), access.bytes)
                # a compare-and-swap has the new value first
                old = atomic(machine, access, target, words[::-1])
                if "vdst" in operands:
                    write_tuple(machine, operands["vdst"], old)
            case Kind.TO_LDS:
                (value,) = load(machine, access, target)
                offset = (machine.sgpr(M0) & m0) + instruction.modifiers.offset
                machine.store(Access(Space.LDS, 4), machine.lane() * 4 + offset, [value])

    return definition


def load(machine: Machine, access: Record, target: Target) -> list[Value]:
    """Registers that a load fills; zeros where the target's mask is false."""
    parts = []
    for bytes_, address, mask in target.pieces(access.bytes):
        parts += machine.load(Access(target.space, bytes_), address, mask)
    if access.bytes >= 4:
        return parts
    (value,) = parts
    unused = 32 - 8 * access.bytes
    if access.signed:
        value = (value << unused).sar(unused)
    if access.half is Half.HIGH:
        value = value << 16
    elif access.half is Half.LOW and access.signed:
        value = value & 0xFFFF
    return [value]


def store(machine: Machine, access: Record, target: Target, values: Sequence[Value]) -> None:
    """Store registers, or the half of one that the access says."""
    if access.half is Half.HIGH:
        values = [values[0] >> 16]
    for i, (bytes_, address, mask) in enumerate(target.pieces(access.bytes)):
        machine.store(Access(target.space, bytes_), address, values[i : i + 1] if target.dwords else values, mask)


def halves(values: Sequence[Value], bytes_: int) -> list[Value]:
    """Registers as values of ``bytes_``, 4 or 8."""
    if bytes_ == 4:
        return list(values)
    return [low.concat(high) for low, high in zip(values[::2], values[1::2], strict=True)]


def atomic(machine: Machine, access: Record, target: Target, operands: Sequence[Value]) -> list[Value]:
    """Do an atomic with operands ``d`` and ``e`` of its record's operation; the old value, register by register."""
    assert access.operation is not None
    node = Access(
        target.space,
        access.bytes,
        access.bytes,
        memory_atomics.combine(access.operation, access.number, access.bytes, target.space, machine.mode),
        memory_atomics.rounds(access.operation, access.number),
    )
    parts = [operand.splat() for operand in operands]
    emit = machine.program.emit
    old = emit(Op.ATOMIC, B32, True, target.address.splat(), target.mask, *parts, data=node)
    return [emit(Op.PART, B32, True, old, data=i) for i in range(access.bytes // 4)]
