"""What the lint says: findings, which are faults, and notes, which say what it could not know."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding", "Note", "Report"]


@dataclass(frozen=True)
class Finding:
    """One fault. ``line`` and ``column`` count from 1 and are those of the instruction that comes too early.

    ``missing`` is how many of the ``needed`` wait states are missing, and ``first_line`` the line of the instruction
    that they count from; all three are None where no wait would help.
    """

    line: int
    column: int
    rule: str
    reason: str
    source: str
    missing: int | None = None
    needed: int | None = None
    first_line: int | None = None

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.rule}: {self.reason}"


@dataclass(frozen=True)
class Note:
    """Something that is no fault by itself: what could not be read, or what sources disagree about."""

    line: int
    rule: str
    reason: str

    def __str__(self) -> str:
        return f"{self.line}: note: {self.rule}: {self.reason}"


@dataclass(frozen=True)
class Report:
    """All that the lint has to say about a text, in the order of its lines."""

    findings: tuple[Finding, ...]
    notes: tuple[Note, ...]
    lines: int
    instructions: int
    matrix_instructions: int
