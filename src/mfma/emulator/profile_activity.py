"""How many lanes took part in instructions, and how long the banks of LDS were at them; counted by both engines.

What banks do is a model: `mfma.timing.banks`. It gets the addresses of DS loads, stores and atomics of LDS. Other
accesses to LDS lose no cycle in it: where lanes follow one another (``..._addtid_b32``, loads from memory to LDS), and
where the wave does one access for all (append and consume). Not looked at are flat accesses that reach LDS, and
instructions that only move data between lanes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from mfma.emulator.decode import Encoding, Instruction
from mfma.emulator.decode.memory_records import Kind
from mfma.emulator.semantics.machine import EXEC
from mfma.timing.banks import ATOMIC, READ, WRITE, bank_cycles

if TYPE_CHECKING:
    from mfma.emulator.interpreter.engine import Observer
    from mfma.emulator.interpreter.wave import Wave

__all__ = ["Activity", "ActivityCounter", "BankAccess", "Tally", "bank_access"]


class Tally(IntEnum):
    """Sums over all executions of one instruction, as words in this order."""

    LANES = 0  # those that EXEC has on
    IDEAL = 1  # cycles of the banks without any conflict
    LOST = 2  # cycles beyond those
    CONFLICTING = 3  # executions that lost any


@dataclass(frozen=True)
class Activity:
    """A `Tally` with names."""

    lanes: int = 0
    ideal: int = 0
    lost: int = 0
    conflicting: int = 0

    def __add__(self, other: Activity) -> Activity:
        return Activity(
            self.lanes + other.lanes,
            self.ideal + other.ideal,
            self.lost + other.lost,
            self.conflicting + other.conflicting,
        )


DIRECTIONS = {Kind.LOAD: READ, Kind.STORE: WRITE, Kind.ATOMIC: ATOMIC}


@dataclass(frozen=True)
class BankAccess:
    """An access to LDS whose cycles depend on its addresses.

    Attributes:
        register: the vector register with the addresses.
        offsets: what is added to them: one, or two for an instruction that accesses two places one after the other.
        width: bytes of a lane at each.
        direction: one of `mfma.timing.banks`.
    """

    register: int
    offsets: tuple[int, ...]
    width: int
    direction: str


def bank_access(instruction: Instruction) -> BankAccess | None:
    """What an instruction asks of the banks, or None if its addresses do not matter for them.

    >>> from mfma.emulator.decode import decode
    >>> bank_access(decode(bytes.fromhex("100270d800000008"), 0))  # ds_read2st64_b32 v[8:9], v0 offset0:16 offset1:2
    BankAccess(register=0, offsets=(4096, 512), width=4, direction='read')
    """
    row, modifiers = instruction.row, instruction.modifiers
    access = row.access
    if row.encoding is not Encoding.DS or access is None or access.kind not in DIRECTIONS or modifiers.gds:
        return None
    address = instruction.get("addr")
    if address is None or address.vgpr is None:
        return None
    offsets: tuple[int, ...] = (modifiers.offset,)
    if access.addresses == 2:
        offsets = modifiers.offset0 * access.unit, modifiers.offset1 * access.unit
        if access.kind is Kind.STORE:  # two equal ones are one place
            offsets = tuple(dict.fromkeys(offsets))
    return BankAccess(address.vgpr, offsets, access.bytes, DIRECTIONS[access.kind])


class ActivityCounter:
    """Observer of a launch that counts `Activity`: of all instructions in the interpreter.

    Args:
        observer: another one, which sees what it would see alone.
    """

    def __init__(self, observer: Observer | None = None) -> None:
        self.observer = observer
        self._found: dict[int, Activity] = {}
        self._banks: dict[int, BankAccess | None] = {}
        self._lock = threading.Lock()

    def before(self, wave: Wave, instruction: Instruction) -> Any:
        """Count, and ask the other observer."""
        address = instruction.address
        if address not in self._banks:
            self._banks[address] = bank_access(instruction)
        self.add_all([(address, _activity(wave, self._banks[address]))])
        return self.observer.before(wave, instruction) if self.observer is not None else None

    def after(self, wave: Wave, instruction: Instruction, seen: Any) -> None:
        """Tell the other observer."""
        if self.observer is not None:
            self.observer.after(wave, instruction, seen)

    def add_all(self, found: Iterable[tuple[int, Activity]]) -> None:
        """Add to what instructions at device addresses have; from any thread."""
        with self._lock:
            for address, activity in found:
                self._found[address] = self._found.get(address, Activity()) + activity

    def items(self) -> Iterator[tuple[int, Activity]]:
        """Device addresses of instructions, and what was counted there."""
        yield from self._found.items()


def _activity(wave: Wave, access: BankAccess | None) -> Activity:
    """Of one execution."""
    lanes = int(wave.s[EXEC]).bit_count() + int(wave.s[EXEC + 1]).bit_count()
    if access is None:
        return Activity(lanes)
    offsets = np.array(access.offsets, np.uint32)[:, None]
    found = bank_cycles(
        wave.v[access.register] + offsets,
        access.width,
        access.direction,
        np.broadcast_to(wave.mask, (len(offsets), wave.mask.size)),
    )
    lost = found.cycles - found.ideal
    return Activity(lanes, found.ideal, lost, int(lost > 0))
