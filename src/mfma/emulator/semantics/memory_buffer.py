"""MUBUF instructions: memory through a buffer resource in four SGPRs.

The resource has the base (bits 47:0), the stride (61:48), whether records are swizzled (63), the number of records
(95:64), the format of formatted accesses (107:96 to 114:111), the log of how many indices lie side by side in a
swizzled buffer, less 3 (118:117), and whether the lane is added to the index (119); with the latter the data format
holds bits 17:14 of the stride. A swizzled buffer has elements of 4 bytes, as on all of GFX9.

An offset past the number of records, or with a stride and an index the index, is out of range: loads give zeros,
stores and atomics do nothing. The SGPR offset does not count. Each dword of a load or store of several is in range or
not for itself, so they are accesses of their own; formatted accesses and atomics are as a whole. This is the chapter
"Range Checking" of the ISA manual; where it is silent (no stride but an index) the rule is that of LLVM's intrinsics,
for which such a buffer is raw. What is in range must still lie in memory that the kernel has: a resource that says too
much gives faults, not foreign memory. An INVALID data format, 0, makes a resource unbound, with no records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mfma.emulator.decode import Operand
from mfma.emulator.decode.memory_records import Kind
from mfma.emulator.decode.tables_memory_buffer import MUBUF
from mfma.emulator.semantics.machine import Machine, Space
from mfma.emulator.semantics.memory_access import Target, build, define_rows, nothing, read_tuple, record
from mfma.emulator.semantics.memory_scalar import base_address
from mfma.emulator.semantics.values import B32, B64, Value

__all__ = ["Place", "Resource", "locate", "place"]


@dataclass(frozen=True)
class Resource:
    """A buffer resource taken apart: values of the wave, B32 but for ``base``."""

    base: Value
    stride: Value
    records: Value
    index_shift: Value
    """Log of how many indices lie side by side: 0 in a linear buffer."""
    adds_lane: Value
    """B1."""
    word: Value
    """The last dword, with the format."""

    @classmethod
    def read(cls, machine: Machine, operand: Operand, formatted: bool) -> Resource:
        """Take apart the resource that an instruction names."""
        words = read_tuple(machine, operand)
        word = words[3]
        adds_lane = word.bits(23, 1).equals(1)
        stride = words[1].bits(16, 14)
        if not formatted:
            stride = stride | adds_lane.select(word.bits(15, 4) << 14, 0)
        unbound = word.bits(15, 4).equals(0)
        if not formatted:
            unbound = unbound & ~adds_lane
        records = unbound.select(words[2].like(0), words[2])
        swizzled = words[1].bits(31, 1).equals(1)
        shift = swizzled.select(word.bits(21, 2) + 3, 0)
        return cls(base_address(words), stride, records, shift, adds_lane, word)


@dataclass(frozen=True)
class Place:
    """Where in memory every lane's record or offset is."""

    resource: Resource
    address: Value
    """B64."""
    step: Value
    """From one dword to the next, B64 of the wave: 4 in a linear buffer."""
    in_range: Callable[[int | Value], Value]
    """From a distance in bytes (B64) to whether the byte there is in range, B1."""

    def dword(self, i: int) -> Value:
        """Address of a dword."""
        return (self.address + self.step * i if i else self.address).splat()


def place(machine: Machine, operands: dict[str, Operand]) -> Place:
    """Compute the address that a buffer instruction accesses."""
    modifiers = machine.instruction.modifiers
    resource = Resource.read(machine, operands["srsrc"], record(machine.instruction).components > 0)
    vaddr = machine.register(operands["vaddr"]) if "vaddr" in operands else 0
    offset = machine.constant(B64, modifiers.offset)
    if modifiers.offen:
        offset = machine.vgpr(vaddr + modifiers.idxen).zext(B64) + offset
    index = machine.lane() & resource.adds_lane.sext(B32)
    record_index = machine.vgpr(vaddr) if modifiers.idxen else None
    if record_index is not None:
        index = record_index + index
    # linear: stride * index + offset; swizzled: elements of 4 bytes, of so many records side by side
    shift, wide = resource.index_shift.zext(B64), index.zext(B64)
    element = (wide >> shift) * resource.stride.zext(B64) + (offset & ~3)
    beside = (wide & ~(wide.like(-1) << shift)) * 4
    base = resource.base + machine.read(operands["soffset"]).zext(B64)
    address = (element << shift) + beside + (offset & 3) + base
    step = machine.constant(B64, 4) << shift
    return Place(resource, address, step, _in_range(resource, offset, record_index))


def _in_range(resource: Resource, offset: Value, index: Value | None) -> Callable[[int | Value], Value]:
    records = resource.records.zext(B64)

    def raw(distance: int | Value) -> Value:
        return (offset + distance).ult(records)

    if index is None:
        # memory to which the lane's number is added is private memory of older devices, and not checked
        return lambda distance: raw(distance) | resource.adds_lane
    structured = index.ult(resource.records)
    return lambda distance: resource.stride.equals(0).select(raw(distance), structured)


def locate(machine: Machine, operands: dict[str, Operand]) -> Target:
    """Address of every lane of an unformatted access."""
    access, where = record(machine.instruction), place(machine, operands)
    if access.kind is Kind.ATOMIC or access.bytes <= 4:
        last = max(access.bytes - 4, 0)
        return Target(Space.GLOBAL, where.dword(0), machine.exec & where.in_range(last))

    def dword(i: int) -> tuple[Value, Value]:
        return where.dword(i), machine.exec & where.in_range(4 * i)

    return Target(Space.GLOBAL, *dword(0), dword)


_UNFORMATTED = [row for row in MUBUF if row.access is not None and not row.access.components]
define_rows(_UNFORMATTED, build(locate, m0=0xFFFF), (Kind.LOAD, Kind.STORE, Kind.ATOMIC, Kind.TO_LDS))
define_rows(MUBUF, nothing, (Kind.CACHE,))
