"""What a launch executed, instruction by instruction, and what that means for an MI300X.

Counts are exact, and bytes are those that active lanes ask for. A buffer instruction's lanes outside the range count,
and one whose format only a descriptor in memory gives counts 4 bytes a component, the most that there are. Cycles are
those of models: of the banks of LDS by `mfma.timing.banks`, of the launch by `mfma.emulator.cycles`.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mfma.codeobject import CodeObject, Kernel
from mfma.emulator.cycles import Cycles, Load, cycles
from mfma.emulator.decode import Instruction
from mfma.emulator.occupancy import Occupancy, occupancy
from mfma.emulator.profile_activity import Activity
from mfma.emulator.profile_lines import Class, Line, Traffic, line_of, traffic
from mfma.errors import CodeObjectError
from mfma.isa.catalogue import find
from mfma.isa.spec import MatrixOp
from mfma.render import Table, fields, text
from mfma.timing.banks import SOURCE

__all__ = ["Profile"]

UNIT = {
    Class.VALU: "VALU", Class.SALU: "SALU", Class.BRANCH: "branch", Class.WAIT: "wait", Class.SMEM: "scalar memory",
    Class.LDS: "LDS", **dict.fromkeys((Class.GLOBAL, Class.FLAT, Class.SCRATCH, Class.BUFFER), "vector memory"),
}  # fmt: skip
"""What takes a slot when an instruction of the class issues."""
LONGEST_NOP = 16
"""``s_nop`` waits for up to so many slots; it heeds no other bits of its number."""


class Profile:
    """What one launch executed; ``str()`` of it is a text with tables.

    Attributes:
        code: what the kernel is in.
        kernel: what ran.
        grid, block: work-groups, and work-items of one.
        occupancy: how much of it an MI300X has room for.
    """

    def __init__(
        self,
        code: CodeObject,
        kernel: Kernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        lds: int,
        base: int,
        counts: Iterable[tuple[Instruction, int]],
        activity: Iterable[tuple[int, Activity]],
    ) -> None:
        self.kernel = kernel
        self.grid = grid
        self.block = block
        self.occupancy: Occupancy = occupancy(kernel, block, lds)
        self.code = code
        self._counts = list(counts)
        self._activity = list(activity)
        self._base = base

    @functools.cached_property
    def lines(self) -> tuple[Line, ...]:
        """Every instruction that ran, by address."""
        total: Counter[int] = Counter()
        found = {}
        for instruction, count in self._counts:
            total[instruction.address] += count
            found[instruction.address] = instruction
        active = dict.fromkeys(found, Activity())
        for address, activity in self._activity:
            active[address] += activity
        return tuple(
            line_of(found[address], self._base, total[address], active[address])
            for address in sorted(found)
            if total[address]
        )

    @property
    def executed(self) -> int:
        """Instructions of all waves."""
        return sum(line.count for line in self.lines)

    @property
    def waves(self) -> int:
        """Waves of the launch."""
        return math.prod(self.grid) * self.occupancy.waves

    @functools.cached_property
    def mix(self) -> Mapping[Class, int]:
        """How many instructions of each class ran; those with none are left out."""
        total: Counter[Class] = Counter()
        for line in self.lines:
            total[line.kind] += line.count
        return {kind: total[kind] for kind in Class if total[kind]}

    @functools.cached_property
    def matrix(self) -> Mapping[MatrixOp, int]:
        """Matrix instructions and how often they ran."""
        total: Counter[MatrixOp] = Counter()
        for line in self.lines:
            if line.kind is Class.MFMA:
                total[find(line.instruction.name)] += line.count
        return total

    @property
    def operations(self) -> int:
        """Multiplications and additions of all matrix instructions."""
        return sum(op.operations * count for op, count in self.matrix.items())

    @functools.cached_property
    def traffic(self) -> tuple[Traffic, ...]:
        """Accesses by kind of memory. Flat instructions count apart: they reach global memory, LDS and scratch."""
        return traffic(self.lines)

    @functools.cached_property
    def lanes(self) -> Mapping[Class, float]:
        """Active lanes on average, of 64, for each class of instructions that heed them and of which any ran."""
        total: Counter[Class] = Counter()
        for line in self.lines:
            if line.lanes is not None:
                total[line.kind] += line.lanes
        return {kind: total[kind] / count for kind, count in self.mix.items() if kind in total}

    @functools.cached_property
    def banks(self) -> Activity:
        """Cycles of the banks of LDS, of all instructions whose addresses matter for them; lanes of these."""
        return sum((line.activity for line in self.lines if line.banked), Activity())

    @functools.cached_property
    def cycles(self) -> Cycles:
        """The least time on an MI300X by the model of `mfma.emulator.cycles`."""
        units: Counter[str] = Counter()
        for kind, count in self.mix.items():
            if kind is not Class.MFMA:
                units[UNIT[kind]] += count
        nops = (line for line in self.lines if line.instruction.name == "s_nop")
        slots = self.executed + sum(line.count * (line.instruction.modifiers.imm % LONGEST_NOP) for line in nops)
        banks = self.banks.ideal + self.banks.lost
        load = Load(math.prod(self.grid), self.occupancy.waves, slots, self.matrix, units, banks)
        return cycles(load, self.occupancy.groups)

    def source(self, address: int) -> str:
        """File and line of an address of the image, or an empty string."""
        try:
            place = self.code.source_line(address)
        except CodeObjectError:  # damaged debug information must not hide what ran
            return ""
        return f"{place[0]}:{place[1]}" if place else ""

    def listing(self) -> Iterator[str]:
        """Yield disassembly with counts: every function of which something ran, and what ran outside functions."""
        from mfma.emulator.profile_text import listing

        return listing(self)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "kernel": self.kernel.name,
            "grid": list(self.grid),
            "block": list(self.block),
            "waves": self.waves,
            "executed": self.executed,
            "mix": {kind.value: count for kind, count in self.mix.items()},
            "matrix": [{"op": op.name, "count": n, "operations": n * op.operations} for op, n in self.matrix.items()],
            "operations": self.operations,
            "traffic": [one.as_dict() for one in self.traffic],
            "active_lanes": {kind.value: lanes for kind, lanes in self.lanes.items()},
            "lds_banks": {
                "cycles": self.banks.ideal + self.banks.lost,
                "cycles_lost": self.banks.lost,
                "instructions": sum(line.count for line in self.lines if line.banked),
                "conflicting": self.banks.conflicting,
                "source": SOURCE,
            },
            "occupancy": self.occupancy.as_dict(),
            "cycles": self.cycles.as_dict(),
            "instructions": [self._as_dict(line) for line in self.lines],
        }

    def _as_dict(self, line: Line) -> dict[str, Any]:
        found = {
            "address": line.instruction.address, "text": line.instruction.text, "class": line.kind.value,
            "count": line.count, "lanes": line.lanes, "source": self.source(line.instruction.address) or None,
        }  # fmt: skip
        if line.banked:
            activity = line.activity
            found |= {
                "lds_cycles": activity.ideal + activity.lost,
                "lds_cycles_lost": activity.lost,
                "conflicting": activity.conflicting,
            }
        return found

    def __str__(self) -> str:
        from mfma.emulator.profile_text import sections

        parts = []
        for title, body in sections(self):
            shown = text(body) if isinstance(body, Table) else fields(body)
            parts.append(f"{title}\n{shown}" if title else shown)
        return "\n\n".join(parts)
