"""What an instruction does to memory, as a record: how many bytes, which way, and what an atomic computes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import partial

__all__ = ["Access", "Half", "Kind", "Number", "Operation", "atomic", "load", "store"]


class Kind(enum.Enum):
    """What an instruction of the memory encodings does."""

    LOAD = "memory to registers"
    STORE = "registers to memory"
    ATOMIC = "reads and writes memory in one step; returns what was there if the row has a destination"
    TO_LDS = "memory to LDS, through no register"
    LANES = "moves data between lanes and touches no memory; each row is its own case"
    CACHE = "writes back or invalidates caches"
    CLOCK = "reads a counter"
    PROBE = "asks for a translation of an address and moves no data"
    GWS = "synchronizes waves of the whole device (global wave sync)"
    NOTHING = "does nothing"


class Operation(enum.Enum):
    """What an atomic writes, of ``m`` in memory, ``d`` in the data register and, where there are two, ``e``.

    On DS ``d`` is ``data0`` and ``e`` ``data1``. The other encodings have one tuple of registers, and their
    compare-and-swap has ``e``, the new value, in the first half of it and ``d``, the compared one, in the second.
    """

    SWAP = "d"
    CMPSWAP = "e if m = d, else m"
    ADD = "m + d"
    SUB = "m - d"
    RSUB = "d - m"
    INC = "0 if m >= d, else m + 1"
    DEC = "d if m = 0 or m > d, else m - 1"
    MIN = "the smaller"
    MAX = "the larger"
    AND = "m & d"
    OR = "m | d"
    XOR = "m ^ d"
    MSKOR = "m & ~d | e"
    WRAP = "m - d if m >= d, else m + e"
    CONDXCHG = "each dword of d without its top bit, where that is set"
    APPEND = "m + the number of active lanes, once for the wave"
    CONSUME = "m - the number of active lanes, once for the wave"


class Number(enum.Enum):
    """How an atomic reads the bits in memory; `Access.bytes` has their size."""

    BITS = "bits"
    UNSIGNED = "unsigned integer"
    SIGNED = "signed integer"
    FLOAT = "floating-point number"
    PK_F16 = "2 x f16"
    PK_BF16 = "2 x bf16"


class Half(enum.Enum):
    """Where 16-bit data stand in a register."""

    LOW = "bits 15:0"
    HIGH = "bits 31:16"
    PACKED = "two in a register, the first in bits 15:0"


@dataclass(frozen=True)
class Access:
    """What each lane, or the wave for scalar instructions, does to memory.

    ``bytes`` is what stands at one address, 0 where the buffer's format decides; ``addresses`` counts addresses, 2 for
    the DS instructions with two offsets, and ``unit`` is how many bytes a step of such an offset, or of the scalar
    offset of SMEM, counts. A load of 1 or 2 bytes fills the register with the sign if ``signed``, else with zeros,
    unless ``half`` says that the data are 16 bits wide. ``components`` counts what a formatted access converts.
    With ``m0`` that register enters the address. `Kind.TO_LDS` and the two DS instructions without ``addr`` that move
    data (``..._addtid_b32``) have lane ``n`` at M0 + offset + ``4 * n`` of LDS, where the former writes a dword.
    """

    kind: Kind
    bytes: int = 0
    operation: Operation | None = None
    number: Number = Number.BITS
    addresses: int = 1
    unit: int = 1
    signed: bool = False
    half: Half | None = None
    components: int = 0
    m0: bool = False


load = partial(Access, Kind.LOAD)
"""The access of a load, from the bytes on."""
store = partial(Access, Kind.STORE)
"""The access of a store, from the bytes on."""


def atomic(operation: Operation, number: Number, bytes: int = 4, addresses: int = 1, unit: int = 1) -> Access:
    """Return the access of an atomic."""
    return Access(Kind.ATOMIC, bytes, operation, number, addresses, unit)
