"""MUBUF instructions: memory through a buffer resource in four SGPRs.

The resource has the base (bits 47:0), the stride (61:48), whether records are swizzled (63), the number of records
(95:64), component selects and format of formatted accesses (114:96), the log of how many records lie side by side in
a swizzled buffer, less 3 (118:117), and whether the lane is added to the index (119); with the latter the data format
holds bits 17:14 of the stride. A swizzled buffer has elements of 4 bytes, as on all of GFX9.

What is out of range loads as zeros and is not stored. In a buffer with a stride and an index the index decides; else
the bytes, counted from the base with SGPR and other offsets, must end within the number of records. Each dword of a
load or store of several is in range or not for itself, so they are accesses of their own; formatted accesses and
atomics are as a whole. Where lanes are added nothing is checked. These are the rules of the ISA manual's chapter
"Range Checking" as rocm-systems' pull request 10928 corrects them by what hardware (gfx950) does: the manual does not
count the SGPR's offset and the access's size. An INVALID data format, 0, makes a resource unbound, with no records.

What is in range must still lie in memory that the kernel has: a resource that says too much gives faults, not foreign
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mfma.emulator.decode import Operand
from mfma.emulator.decode.memory_records import Kind
from mfma.emulator.decode.tables_memory_buffer import MUBUF
from mfma.emulator.semantics.machine import Machine, Space
from mfma.emulator.semantics.memory_access import Target, build, define_rows, nothing, record
from mfma.emulator.semantics.values import B32, B64, Value

__all__ = ["Place", "Resource", "locate", "place"]

UNLIMITED = 1 << 62


@dataclass(frozen=True)
class Resource:
    """A buffer resource taken apart, into B64 values of the wave."""

    base: Value
    stride: Value
    records: Value
    shift: Value
    """Log of how many records lie side by side: 0 in a linear buffer."""
    adds_lane: Value
    """0 or 1."""
    word: Value
    """The last dword, B32, with the format."""

    @classmethod
    def read(cls, machine: Machine, operand: Operand, formatted: bool) -> Resource:
        """Take apart the resource that an instruction names."""
        low, high = machine.sgpr(operand.code, 2), machine.sgpr(operand.code + 2, 2)
        stride, data_format, adds_lane = low.bits(48, 14), high.bits(47, 4), high.bits(55, 1)
        if not formatted:
            stride = stride | data_format * adds_lane << 14
        records = data_format.equals(0).select(low.like(0), high.bits(0, 32))
        shift = (high.bits(53, 2) + 3) * low.bits(63, 1)
        return cls(low.bits(0, 48), stride, records, shift, adds_lane, (high >> 32).trunc(B32))


@dataclass(frozen=True)
class Place:
    """Where in memory every lane's record or offset is."""

    resource: Resource
    address: Value
    """B64."""
    step: Value
    """From one dword to the next, B64 of the wave: 4 in a linear buffer."""
    in_range: Callable[[int | Value], Value]
    """Whether so many bytes (B64) from there on are in range, B1."""

    def dword(self, i: int) -> Value:
        """Address of a dword."""
        return (self.address + self.step * i if i else self.address).splat()


def place(machine: Machine, operands: dict[str, Operand]) -> Place:
    """Compute the address that a buffer instruction accesses."""
    modifiers = machine.instruction.modifiers
    resource = Resource.read(machine, operands["srsrc"], record(machine.instruction).components > 0)
    vaddr = machine.register(operands["vaddr"]) if "vaddr" in operands else 0
    offset = machine.constant(B32, modifiers.offset)
    if modifiers.offen:
        offset = machine.vgpr(vaddr + modifiers.idxen) + offset  # wraps at 32 bits
    offset = offset.zext(B64)
    index = machine.lane().zext(B64) * resource.adds_lane
    record_index = machine.vgpr(vaddr).zext(B64) if modifiers.idxen else None
    if record_index is not None:
        index = record_index + index
    scalar = machine.read(operands["soffset"]).zext(B64)
    # linear: stride * index + offset; swizzled: elements of 4 bytes, of so many records side by side
    element = (index >> resource.shift) * resource.stride + (offset & ~3)
    beside = (index & ~(scalar.like(-1) << resource.shift)) * 4
    address = (element << resource.shift) + beside + (offset & 3) + (resource.base + scalar)
    step = machine.constant(B64, 4) << resource.shift
    return Place(resource, address, step, _in_range(resource, offset, scalar, record_index))


def _in_range(resource: Resource, offset: Value, scalar: Value, index: Value | None) -> Callable[[int | Value], Value]:
    unchecked = resource.adds_lane.equals(1)

    def raw(bytes_: int | Value) -> Value:
        # signed, because there may be less room than nothing
        return offset.sle(unchecked.select(scalar.like(UNLIMITED), resource.records - scalar - bytes_))

    if index is None:
        return raw
    structured = index.ult(unchecked.select(scalar.like(UNLIMITED), resource.records))
    return lambda bytes_: resource.stride.equals(0).select(raw(bytes_), structured)


def locate(machine: Machine, operands: dict[str, Operand]) -> Target:
    """Address of every lane of an unformatted access."""
    access, where = record(machine.instruction), place(machine, operands)
    if access.kind is Kind.ATOMIC or access.bytes <= 4:
        return Target(Space.GLOBAL, where.dword(0), machine.exec & where.in_range(access.bytes))

    def dword(i: int) -> tuple[Value, Value]:
        return where.dword(i), machine.exec & where.in_range(4 * i + 4)

    return Target(Space.GLOBAL, *dword(0), dword)


_UNFORMATTED = [row for row in MUBUF if row.access is not None and not row.access.components]
define_rows(_UNFORMATTED, build(locate, m0=0xFFFF), (Kind.LOAD, Kind.STORE, Kind.ATOMIC, Kind.TO_LDS))
define_rows(MUBUF, nothing, (Kind.CACHE,))
