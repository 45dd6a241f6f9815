"""What ran in a launch, how often, and how sure its bits are."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mfma.codeobject.demangle import demangled
from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.registry import DEFINITIONS, Basis
from mfma.errors import EvidenceError
from mfma.isa.catalogue import find
from mfma.isa.evidence import Level, evidence
from mfma.render import Table, text

if TYPE_CHECKING:
    from mfma.emulator.profile import Profile

__all__ = ["DEFINED", "Ran", "Report", "evidence_of"]

DEFINED = "defined"
"""Stronger than every level of evidence: the ISA manual leaves nothing to find out (integers, moves, IEEE floats)."""


@dataclass(frozen=True)
class Ran:
    """One kind of instruction in a launch.

    Attributes:
        mnemonic: as the disassembler prints it.
        count: how many waves executed one.
        level: `DEFINED`, or the name of a `mfma.isa.evidence.Level`; of a matrix instruction that of its arithmetic.
        source: where that comes from, and error bounds.
    """

    mnemonic: str
    count: int
    level: str
    source: str

    @property
    def rank(self) -> int:
        """0 is the strongest."""
        return 0 if self.level == DEFINED else 1 + Level(self.level).rank


@dataclass(frozen=True)
class Report:
    """One launch; ``str()`` of it is a table.

    Attributes:
        kernel: its name.
        grid, block: work-groups, and work-items of one.
        executed: instructions of all waves.
        instructions: every kind of instruction that ran, the most frequent first.
        float_atomics: lanes of float atomics that met others at their address, so that another order of lanes, waves
            or work-groups (a GPU's, say) may give other bits; here the order is fixed.
        interpreted: of the instructions that a native launch executed, those that the interpreter did; the bits are
            the same.
        profile: of a launch with ``profile=True``, what ran instruction by instruction, and its model on a GPU.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    executed: int
    instructions: tuple[Ran, ...]
    float_atomics: int
    interpreted: int = 0
    profile: Profile | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        counts: Iterable[tuple[Instruction, int]],
        float_atomics: int,
        interpreted: int = 0,
    ) -> Report:
        """Collect what a launch counted."""
        total: dict[tuple[str, str], int] = {}
        for instruction, count in counts:
            kind = instruction.mnemonic, instruction.name
            total[kind] = total.get(kind, 0) + count
        ran = _ran(tuple((mnemonic, name, count) for (mnemonic, name), count in total.items() if count))
        return cls(kernel, grid, block, sum(total.values()), ran, float_atomics, interpreted)

    @property
    def weakest(self) -> str:
        """The weakest level of all instructions that ran."""
        return max(self.instructions, key=lambda ran: ran.rank).level if self.instructions else DEFINED

    def require(self, level: str) -> None:
        """Refuse a launch that used something weaker than a level of evidence.

        Raises:
            EvidenceError: naming what was weaker.
            OptionError: there is no such level.
        """
        required = 1 + _level(level).rank
        weaker = [f"{ran.mnemonic} ({ran.level})" for ran in self.instructions if ran.rank > required]
        if self.float_atomics and required <= 1 + Level.TESTED.rank:
            weaker.append(f"the order of {self.float_atomics:,} float atomics (assumed)")
        if weaker:
            raise EvidenceError(f"{demangled(self.kernel)} used what is less than {level}: {', '.join(weaker)}.")

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        data = {**asdict(replace(self, profile=None)), "weakest": self.weakest}
        del data["profile"]
        return data if self.profile is None else {**data, "profile": self.profile.as_dict()}

    def __str__(self) -> str:
        rows = tuple((ran.mnemonic, ran.count, ran.level, ran.source) for ran in self.instructions)
        lines = [
            f"{demangled(self.kernel)}: grid {_times(self.grid)}, block {_times(self.block)}, {self.executed:,} "
            f"instructions of waves, weakest evidence: {self.weakest}"
        ]
        if self.float_atomics:
            lines.append(f"{self.float_atomics:,} lanes of float atomics: another order may give other bits")
        if self.interpreted:
            lines.append(f"{self.interpreted:,} instructions without a native form were interpreted: slow, same bits")
        return "\n".join((*lines, "", text(Table(("instruction", "count", "evidence", "source"), rows))))


def _times(numbers: tuple[int, int, int]) -> str:
    return " × ".join(map(str, numbers))


def _level(name: str) -> Level:
    from mfma.errors import OptionError

    try:
        return Level(name)
    except ValueError:
        raise OptionError(f"{name!r} is no level of evidence; give one of {', '.join(Level)}.") from None


@functools.lru_cache(256)
def _ran(counts: tuple[tuple[str, str, int], ...]) -> tuple[Ran, ...]:
    """Mnemonics, names and counts, the most frequent first; the same object for all launches that did the same."""
    found = [Ran(mnemonic, count, *evidence_of(name)) for mnemonic, name, count in counts]
    return tuple(sorted(found, key=lambda ran: (-ran.count, ran.mnemonic)))


@functools.cache
def evidence_of(name: str) -> tuple[str, str]:
    """Level of a defined instruction's bits and where it comes from, as `Ran` has them."""
    definition = DEFINITIONS[name]
    match definition.basis:
        case Basis.ISA:
            return DEFINED, definition.note
        case Basis.MATRIX:
            level, source = evidence(find(name))["arithmetic"]
            return str(level), source
        case Basis.ASSUMED:
            return str(Level.ASSUMED), definition.note
