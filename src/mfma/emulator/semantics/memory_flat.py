"""FLAT, GLOBAL and SCRATCH instructions: addresses from registers, without a resource.

A FLAT address says itself whether it means global memory, LDS or scratch; GLOBAL and SCRATCH name theirs.
"""

from __future__ import annotations

from mfma.emulator.decode import Encoding, Operand
from mfma.emulator.decode.memory_records import Kind
from mfma.emulator.decode.tables_memory_flat import FLAT, GLOBAL, SCRATCH
from mfma.emulator.semantics.machine import Machine, Space
from mfma.emulator.semantics.memory_access import Target, build, define_rows
from mfma.emulator.semantics.values import B32, B64, Value

__all__ = ["locate"]

SPACES = {Encoding.FLAT: Space.FLAT, Encoding.GLOBAL: Space.GLOBAL, Encoding.SCRATCH: Space.SCRATCH}


def locate(machine: Machine, operands: dict[str, Operand]) -> Target:
    """Address of every lane: VGPRs, SGPRs and the instruction's offset together."""
    space = SPACES[machine.instruction.row.encoding]
    wide = B32 if space is Space.SCRATCH else B64
    address: Value = machine.constant(wide, machine.instruction.modifiers.offset)
    if "saddr" in operands:
        address = machine.read(operands["saddr"], wide) + address
    if "vaddr" in operands:
        vaddr = operands["vaddr"]
        # beside an SGPR address, a VGPR holds an unsigned offset of 32 bits
        address = machine.read(vaddr, B64 if vaddr.dwords == 2 else B32).zext(wide) + address
    return Target(space, address.splat(), machine.exec)


define_rows((*FLAT, *GLOBAL, *SCRATCH), build(locate), (Kind.LOAD, Kind.STORE, Kind.ATOMIC, Kind.TO_LDS))
