"""One instruction of a profile: its class, how often and with how many lanes it ran, and what it moved."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mfma.emulator.decode import Access, Encoding, Instruction
from mfma.emulator.decode.memory_records import Kind, Operation
from mfma.emulator.profile_activity import Activity, bank_access
from mfma.emulator.reach import BY_REGISTER, ENDS
from mfma.emulator.semantics.registry import DEFINITIONS, Basis

__all__ = ["Class", "Line", "Traffic", "class_of", "line_of", "traffic"]


class Class(enum.Enum):
    """What executes an instruction."""

    VALU = "VALU"
    MFMA = "MFMA"
    SALU = "SALU"
    BRANCH = "branch"
    WAIT = "wait"  # every other SOPP: waits, barriers, priorities, messages
    SMEM = "SMEM"
    LDS = "LDS"
    GLOBAL = "global"
    FLAT = "flat"
    SCRATCH = "scratch"
    BUFFER = "buffer"


BY_ENCODING = {
    Encoding.SOP1: Class.SALU, Encoding.SOP2: Class.SALU, Encoding.SOPK: Class.SALU, Encoding.SOPC: Class.SALU,
    Encoding.SOPP: Class.WAIT, Encoding.SMEM: Class.SMEM, Encoding.DS: Class.LDS, Encoding.GLOBAL: Class.GLOBAL,
    Encoding.FLAT: Class.FLAT, Encoding.SCRATCH: Class.SCRATCH, Encoding.MUBUF: Class.BUFFER,
    Encoding.MTBUF: Class.BUFFER,
}  # fmt: skip
"""Of all encodings that are not the vector ALU's."""
BRANCHES = ENDS | BY_REGISTER | {"s_cbranch_join"}
"""Those that have no address to go to in the word."""
LANELESS = Class.SALU, Class.BRANCH, Class.WAIT, Class.SMEM, Class.MFMA
"""Classes whose instructions do not heed EXEC."""
ONCE = Operation.APPEND, Operation.CONSUME
"""Atomics that a wave does once, whatever its lanes."""
LARGEST_COMPONENT = 4
"""Bytes of one component of a formatted buffer access, at most."""


def class_of(instruction: Instruction) -> Class:
    """The class of an instruction.

    >>> from mfma.emulator.decode import decode
    >>> class_of(decode(bytes.fromhex("000081bf"), 0)).value  # s_endpgm
    'branch'
    """
    if instruction.target is not None or instruction.name in BRANCHES:
        return Class.BRANCH
    if instruction.row.encoding in BY_ENCODING:
        return BY_ENCODING[instruction.row.encoding]
    return Class.MFMA if DEFINITIONS[instruction.name].basis is Basis.MATRIX else Class.VALU


@dataclass(frozen=True)
class Line:
    """One instruction that ran.

    Attributes:
        instruction: it, at its address in the image, as the disassembler prints it.
        kind: its class.
        count: how many waves executed it.
        activity: sums over these executions, of instructions that heed EXEC; of the banks of LDS only if ``banked``.
    """

    instruction: Instruction
    kind: Class
    count: int
    activity: Activity

    @property
    def lanes(self) -> int | None:
        """Active lanes of all executions together, or None if the instruction does not heed them."""
        return None if self.kind in LANELESS else self.activity.lanes

    @property
    def banked(self) -> bool:
        """Whether it accesses LDS in a way that may lose cycles to bank conflicts."""
        return bank_access(self.instruction) is not None

    @property
    def transfers(self) -> int:
        """Lanes that access memory, of all executions together."""
        access = self.instruction.row.access
        once = access is not None and access.operation in ONCE
        return self.count if self.lanes is None or once else self.lanes

    @property
    def bytes(self) -> int:
        """Bytes at the addresses that all executions access."""
        access = self.instruction.row.access
        return 0 if access is None else self.transfers * _size(access)


def _size(access: Access) -> int:
    """Bytes that one lane accesses; of an access whose format a descriptor in memory gives, at most."""
    return (access.bytes or LARGEST_COMPONENT * access.components) * access.addresses


@dataclass(frozen=True)
class Traffic:
    """Accesses to one kind of memory: instructions of waves and bytes of loads, stores and atomics."""

    space: str
    loads: int = 0
    loaded: int = 0
    stores: int = 0
    stored: int = 0
    atomics: int = 0
    updated: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return dict(zip(TRAFFIC, self.row, strict=True))

    @property
    def row(self) -> tuple[str, int, int, int, int, int, int]:
        """The attributes in their order."""
        return self.space, self.loads, self.loaded, self.stores, self.stored, self.atomics, self.updated


TRAFFIC = "space", "loads", "bytes_loaded", "stores", "bytes_stored", "atomics", "bytes_of_atomics"
WAYS: Mapping[Kind, tuple[str, ...]] = {
    Kind.LOAD: ("load",), Kind.STORE: ("store",), Kind.ATOMIC: ("atomic",),
    Kind.TO_LDS: ("load", "to LDS"),
}  # fmt: skip
"""What an access that moves data counts as."""
SPACES = {
    Class.GLOBAL: "global", Class.BUFFER: "global", Class.SMEM: "scalar", Class.LDS: "LDS", Class.SCRATCH: "scratch",
    Class.FLAT: "flat",
}  # fmt: skip
"""Memory that the instructions of a class access."""


def traffic(lines: Iterable[Line]) -> tuple[Traffic, ...]:
    """Accesses by kind of memory, in the order of `SPACES`; flat ones apart, as they reach several."""
    sums: dict[str, Counter[str]] = {}
    for line in lines:
        access = line.instruction.row.access
        for way in WAYS.get(access.kind, ()) if access is not None else ():
            space, direction = (Class.LDS.value, "store") if way == "to LDS" else (SPACES[line.kind], way)
            total = sums.setdefault(space, Counter())
            total[direction] += line.count
            total[f"{direction} bytes"] += line.bytes
    keys = [key for way in ("load", "store", "atomic") for key in (way, f"{way} bytes")]
    ordered = dict.fromkeys(SPACES.values())
    return tuple(Traffic(space, *(sums[space][key] for key in keys)) for space in ordered if space in sums)


def line_of(instruction: Instruction, base: int, count: int, activity: Activity) -> Line:
    """A line of a profile, from an instruction at a device address and an image at ``base``."""
    i, kind = instruction, class_of(instruction)
    moved = Instruction(i.address - base, i.size, i.word, i.row, i.dst, i.src, i.modifiers)
    return Line(moved, kind, count, Activity() if kind in LANELESS else activity)
