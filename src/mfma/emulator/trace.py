"""Instruction by instruction: what one wave executes, with the registers that it reads and writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mfma.emulator.decode import Instruction, Operand
from mfma.emulator.semantics.machine import ACC, EXEC, VCC

if TYPE_CHECKING:
    from mfma.emulator.interpreter.wave import Wave
    from mfma.emulator.module import Module

__all__ = ["Line", "Tracer"]

SGPRS = 102
NAMES = {VCC: "vcc", EXEC: "exec", 124: "m0"}


@dataclass(frozen=True)
class Line:
    """One executed instruction; ``reads`` and ``writes`` map register names to hexadecimal values of the lane."""

    address: int
    text: str
    reads: dict[str, str]
    writes: dict[str, str]
    scc: int
    exec: int
    source: str

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "address": f"{self.address:#x}", "text": self.text, "reads": self.reads, "writes": self.writes,
            "scc": self.scc, "exec": f"{self.exec:#x}", "source": self.source,
        }  # fmt: skip

    def __str__(self) -> str:
        values = " ".join(f"{name}={value}" for name, value in self.reads.items())
        results = " ".join(f"{name}={value}" for name, value in self.writes.items())
        arrow = f"  ; {values}" + (f" -> {results}" if results else "")
        return f"{self.address:#08x}  {self.text:<60}{arrow if values or results else ''}".rstrip()


class Tracer:
    """Observer of a launch that emits a `Line` for each instruction of one wave in a range of addresses.

    Args:
        module: what runs; addresses are relative to its image, as the disassembler prints them.
        group, wave, lane: whose registers.
        first, last: addresses, both included.
        limit: lines after which nothing more is emitted.
        emit: gets each line, after the instruction has run.
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

    def before(self, wave: Wave, instruction: Instruction) -> dict[str, str] | None:
        """Values of the sources, or None if the instruction is not followed."""
        if wave.number != self.wave or wave.group.index != self.group or self.lines >= self.limit:
            return None
        if instruction.address - self.module.image.address not in self.range:
            return None
        return self._values(wave, instruction.src)

    def after(self, wave: Wave, instruction: Instruction, reads: dict[str, str]) -> None:
        """Emit the line."""
        self.lines += 1
        address = instruction.address - self.module.image.address
        line = self.module.code.source_line(address)
        self.emit(
            Line(
                address=address,
                text=instruction.text,
                reads=reads,
                writes=self._values(wave, instruction.dst),
                scc=int(wave.scc),
                exec=int(wave.s[EXEC]) | int(wave.s[EXEC + 1]) << 32,
                source=f"{line[0]}:{line[1]}" if line else "",
            )
        )

    def _values(self, wave: Wave, operands: tuple[Operand, ...]) -> dict[str, str]:
        values = {}
        for operand in operands:
            name, words = self._words(wave, operand)
            if name:
                values[name] = "0x" + "".join(f"{int(word):08x}" for word in reversed(words))
        return values

    def _words(self, wave: Wave, operand: Operand) -> tuple[str, Any]:
        """A register's name and 32-bit words, the lowest first; constants have none."""
        count = operand.dwords
        if operand.vgpr is not None:
            first = operand.vgpr
            row = first + ACC if operand.acc else first
            return _name("a" if operand.acc else "v", first, count), wave.v[row : row + count, self.lane]
        if operand.code < SGPRS:
            return _name("s", operand.code, count), wave.s[operand.code : operand.code + count]
        if operand.code in NAMES:
            return NAMES[operand.code], wave.s[operand.code : operand.code + count]
        return "", ()


def _name(file: str, first: int, count: int) -> str:
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"
