"""Instruction by instruction: what one wave executes, with the registers that it reads and writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mfma.emulator.decode import Instruction, Operand, Slot, Type
from mfma.emulator.semantics.machine import ACC, EXEC, VCC

if TYPE_CHECKING:
    from mfma.emulator.interpreter.wave import Wave
    from mfma.emulator.module import Module

__all__ = ["Line", "TraceEnd", "Tracer"]

SGPRS = 102
NAMES = {VCC: "vcc", EXEC: "exec", 124: "m0"}
FLOATS = {Type.F16: "<f2", Type.F32: "<f4", Type.F64: "<f8"}
ENDS = {"s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done"}
"""Instructions after which a wave does nothing more."""


class TraceEnd(Exception):  # noqa: N818, no error: there is nothing left to see
    """Ends a launch whose rest the trace does not show."""


@dataclass(frozen=True)
class Line:
    """One executed instruction.

    Attributes:
        address: in the image, as the disassembler prints it.
        text: the instruction.
        reads, writes: register names to the bits of the lane, in hexadecimal; among the writes are ``scc`` and
            ``exec`` where the instruction changed them.
        numbers: the values of those registers that hold floats, by their names after ``reads.`` or ``writes.``.
        scc, exec: as they are afterwards.
        source: file and line, if the object tells.
    """

    address: int
    text: str
    reads: dict[str, str]
    writes: dict[str, str]
    numbers: dict[str, str]
    scc: int
    exec: int
    source: str

    def as_dict(self) -> dict[str, Any]:
        """Everything but ``numbers`` as plain data."""
        return {
            "address": f"{self.address:#x}", "text": self.text, "reads": self.reads, "writes": self.writes,
            "scc": self.scc, "exec": f"{self.exec:#x}", "source": self.source,
        }  # fmt: skip

    def __str__(self) -> str:
        reads, writes = self._words("reads", self.reads), self._words("writes", self.writes)
        values = f"{reads} -> {writes}" if reads and writes else f"-> {writes}" if writes else reads
        return f"{self.address:#08x}  {self.text:<50}{f'  ; {values}' if values else ''}".rstrip()

    def _words(self, kind: str, values: dict[str, str]) -> str:
        numbers = {name: self.numbers.get(f"{kind}.{name}") for name in values}
        return " ".join(
            f"{name}={bits}" + (f" ({numbers[name]})" if numbers[name] is not None else "")
            for name, bits in values.items()
        )


class Tracer:
    """Observer of a launch that emits a `Line` for each instruction of one wave in a range of addresses.

    It ends the launch, by raising `TraceEnd`, once the wave has ended or ``limit`` lines are out.

    Args:
        module: what runs; addresses are relative to its image, as the disassembler prints them.
        group, wave, lane: whose registers.
        first, last: addresses, both included.
        limit: lines after which nothing more is emitted.
        emit: gets each line, after the instruction has run.

    Attributes:
        lines: how many were emitted.
        cut: whether ``limit`` ended the launch.
    """

    def __init__(
        self,
        module: Module,
        group: tuple[int, int, int],
        wave: int,
        lane: int,
        first: int,
        last: int,
        limit: int,
        emit: Callable[[Line], None],
    ) -> None:
        self.module = module
        self.group = group
        self.wave = wave
        self.lane = lane
        self.range = range(first, last + 1)
        self.limit = limit
        self.emit = emit
        self.lines = 0
        self.cut = False

    def before(self, wave: Wave, instruction: Instruction) -> Line | None:
        """What the wave is about to do, or None if the instruction is not followed."""
        if wave.number != self.wave or wave.group.index != self.group:
            return None
        address = instruction.address - self.module.image.address
        if address not in self.range:
            if instruction.name in ENDS:
                raise TraceEnd
            return None
        if self.lines >= self.limit:
            self.cut = True
            raise TraceEnd
        numbers: dict[str, str] = {}
        reads = self._values(wave, instruction.row.src, instruction.src, "reads", numbers)
        place = self.module.code.source_line(address)
        source = f"{place[0]}:{place[1]}" if place else ""
        return Line(address, instruction.text, reads, {}, numbers, int(wave.scc), _exec(wave), source)

    def after(self, wave: Wave, instruction: Instruction, seen: Line) -> None:
        """Emit the line."""
        self.lines += 1
        numbers = seen.numbers
        writes = self._values(wave, instruction.row.dst, instruction.dst, "writes", numbers)
        scc, exec_ = int(wave.scc), _exec(wave)
        if exec_ != seen.exec:
            writes["exec"] = f"0x{exec_:016x}"
        if scc != seen.scc:
            writes["scc"] = str(scc)
        self.emit(Line(seen.address, seen.text, seen.reads, writes, numbers, scc, exec_, seen.source))
        if instruction.name in ENDS:
            raise TraceEnd

    def _values(
        self,
        wave: Wave,
        slots: tuple[Slot, ...],
        operands: tuple[Operand, ...],
        kind: str,
        numbers: dict[str, str],
    ) -> dict[str, str]:
        values = {}
        for slot, operand in zip(slots, operands, strict=True):
            name, words = self._words(wave, operand)
            if not name:
                continue
            bits = sum(int(word) << 32 * i for i, word in enumerate(words))
            values[name] = f"0x{bits:0{8 * operand.dwords}x}"
            code = FLOATS.get(slot.type)
            if code and operand.dwords == slot.type.dwords:
                size = slot.type.bits // 8
                numbers[f"{kind}.{name}"] = str(np.frombuffer(bits.to_bytes(16, "little")[:size], code)[0])
        return values

    def _words(self, wave: Wave, operand: Operand) -> tuple[str, Any]:
        """A register's name and 32-bit words, the lowest first; constants and absent operands have none."""
        count = operand.dwords
        if not count:
            return "", ()
        if operand.vgpr is not None:
            first = operand.vgpr
            row = first + ACC if operand.acc else first
            return _name("a" if operand.acc else "v", first, count), wave.v[row : row + count, self.lane]
        if operand.code < SGPRS:
            return _name("s", operand.code, count), wave.s[operand.code : operand.code + count]
        if operand.code in NAMES:
            return NAMES[operand.code], wave.s[operand.code : operand.code + count]
        return "", ()


def _exec(wave: Wave) -> int:
    return int(wave.s[EXEC]) | int(wave.s[EXEC + 1]) << 32


def _name(file: str, first: int, count: int) -> str:
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"
