"""How a sequence of instructions issues, cycle by cycle, on one SIMD with one wave.

The model, and where each part of it comes from, is `ASSUMPTIONS`: nobody has published the pipeline, so a timeline is
a bound that published rules give, not a measurement. Its unit is the issue slot of four cycles, a pass of the ISA.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mfma.errors import OptionError
from mfma.isa.spec import MatrixOp
from mfma.render import fields, paragraph
from mfma.render.timeline_svg import Bar, Row, timeline_svg
from mfma.timing.hazards import WINDOW
from mfma.timing.step_waits import Issued
from mfma.timing.steps import Step, Unit

__all__ = ["ASSUMPTIONS", "SLOT", "Issue", "Timeline", "result_latency", "timeline"]

SLOT = 4
"""Cycles of an issue slot."""

WRITE_BACK = 4
"""Slots from the last pass of a matrix instruction until its result can be read."""

ASSUMPTIONS = (
    ("wave", "one wave runs alone on one SIMD: the other waves of a real kernel fill the gaps (a choice)"),
    (
        "slot",
        "it issues in order, at most one instruction every 4 cycles: a wave of 64 lanes passes through vector units of "
        "16 lanes in four cycles (AMD, CDNA white paper); LLVM's scheduling model issues one instruction a pass",
    ),
    (
        "matrix core",
        "an instruction occupies it for the cycles of the ROCm page, and the next one waits; LLVM 22 has the same "
        "passes. That f64 instructions share it with the others is an assumption: LLVM books them on the VALU",
    ),
    (
        "VALU",
        "its instructions take one slot each (assumption), and may issue during a matrix instruction for the cycles of "
        "co-execution that the ROCm page gives: all but the first slot, none on f32 and f64",
    ),
    (
        "result",
        "D is drawn as ready passes + 4 slots after issue, the latency that llvm-mca 22 prints for all 32: then a "
        "matrix instruction may take it as A or B. The ISA's wait states let VALU and matrix instructions read it at "
        "that time, and one slot earlier after f32 and f64_4x4x4f64; readers here obey the wait states",
    ),
    (
        "accumulation",
        "an instruction that takes exactly D as its C follows as soon as the matrix core is free, as in LLVM's model "
        "and as the ISA's table implies by asking for no wait states but 2 after 2 passes and 4 after f64_4x4x4f64",
    ),
    (
        "wait states",
        "those of the ISA's table, as LLVM counts them: one for each instruction in between, N + 1 for s_nop N. "
        "Those that the sequence lacks are drawn as if s_nop stood there",
    ),
    ("memory", "its instructions take one slot and their data is there in time: no latency of memory is modelled"),
)
"""What a timeline takes for granted: subject -> the rule with its source."""


def result_latency(op: MatrixOp) -> int:
    """Return the slots of four cycles from the issue of an instruction until its result can be read.

    It is passes + 4, as llvm-mca 22 prints for every instruction. The wait states of the ISA let a reader of an f32
    instruction, and of f64_4x4x4f64, issue one slot earlier.

    >>> from mfma.isa.catalogue import find
    >>> result_latency(find("f32_32x32x8f16"))
    12
    """
    return op.passes + WRITE_BACK


@dataclass(frozen=True)
class Issue:
    """When an instruction issues, and what it waited for; all times in slots of four cycles.

    ``missing`` are the wait states that the sequence lacks before it, and ``reason`` why they are needed; ``blocked``
    are slots in which it waited for ``blocker``, a unit that was busy.
    """

    step: Step
    slot: int
    missing: int
    reason: str
    blocked: int
    blocker: str

    @property
    def cycle(self) -> int:
        """First cycle of the slot in which it issues."""
        return self.slot * SLOT

    @property
    def free(self) -> int:
        """Slot in which the unit of the instruction is free again."""
        return self.slot + (self.step.op.passes if self.step.op else self.step.waits)

    @property
    def result(self) -> int:
        """Slot from which its result can be read."""
        return self.slot + result_latency(self.step.op) if self.step.op else self.free


@dataclass(frozen=True)
class Timeline:
    """The issue of a sequence of instructions on one SIMD; ``str`` draws it, ``svg`` gives a picture."""

    issues: tuple[Issue, ...]

    @property
    def cycles(self) -> int:
        """Cycles from the first issue until the last instruction has left its unit."""
        return SLOT * max((issue.free for issue in self.issues), default=0)

    @property
    def result_cycles(self) -> int:
        """Cycles from the first issue until every result can be read."""
        return SLOT * max((issue.result for issue in self.issues), default=0)

    @property
    def matrix(self) -> tuple[Issue, ...]:
        """The matrix instructions."""
        return tuple(issue for issue in self.issues if issue.step.op)

    @property
    def matrix_cycles(self) -> int:
        """Cycles in which the matrix core is busy."""
        return sum(issue.step.op.cycles for issue in self.matrix if issue.step.op)

    @property
    def utilisation(self) -> float:
        """Share of `cycles` in which the matrix core is busy, from 0 to 1."""
        return self.matrix_cycles / self.cycles if self.issues else 0.0

    @property
    def operations(self) -> int:
        """Multiplications and additions of all matrix instructions."""
        return sum(issue.step.op.operations for issue in self.matrix if issue.step.op)

    @property
    def missing(self) -> int:
        """Wait states that the sequence lacks."""
        return sum(issue.missing for issue in self.issues)

    @property
    def coexecution(self) -> tuple[int, int]:
        """VALU instructions that issued while the matrix core was busy, and how many of them it leaves room for."""
        busy = {slot for issue in self.matrix for slot in range(issue.slot, issue.free)}
        used = sum(issue.step.unit is Unit.VALU and issue.slot in busy for issue in self.issues)
        return used, sum(issue.step.op.coexecution // SLOT for issue in self.matrix if issue.step.op)

    @property
    def summary(self) -> tuple[tuple[str, str], ...]:
        """The totals, each with the numbers that give it."""
        used, room = self.coexecution
        rate = self.operations / self.cycles if self.issues else 0.0
        return (
            ("cycles", f"{self.cycles} until the last instruction has left its unit; results by {self.result_cycles}"),
            ("matrix core", f"busy {self.matrix_cycles} / {self.cycles} cycles = {self.utilisation:.1%}"),
            ("operations", f"{self.operations} / {self.cycles} cycles = {rate:.1f} a cycle on each matrix core"),
            ("VALU", f"{used} of {room} slots used beside the matrix core"),
            ("wait states", f"{self.missing} missing in the sequence" if self.missing else "none missing"),
        )

    @property
    def rows(self) -> tuple[Row, ...]:
        """The drawing: one row for each instruction, then one each for the matrix core and the VALU; in cycles."""
        width = len(str(len(self.issues) - 1))
        rows = [Row(f"{n:{width}} {issue.step}", tuple(_bars(issue))) for n, issue in enumerate(self.issues)]
        core = tuple(bar for issue in self.matrix for bar in _bars(issue) if bar.kind == "busy")
        valu = tuple(
            bar
            for issue in self.issues
            if issue.step.unit is Unit.VALU
            for bar in _bars(issue)
            if bar.kind == Unit.VALU.name
        )
        return (*rows, Row("matrix core", core), Row("VALU", valu))

    def svg(self, width: int = 1000) -> str:
        """Draw the timeline as SVG, ``width`` pixels wide."""
        caption = [f"{name}: {text}" for name, text in self.summary]
        return timeline_svg(self.rows, max(self.result_cycles, SLOT), KINDS, caption, width)

    def _repr_svg_(self) -> str:
        return self.svg()

    def text(self, width: int = 100) -> str:
        """Draw the timeline in ``width`` columns of text, one for each slot; what does not fit follows below."""
        rows = self.rows
        label = min(max(len(row.label) for row in rows), width // 2)
        room = max(width - label - 2, 8) // 8 * 8
        slots = self.result_cycles // SLOT
        seen: list[list[Row]] = [[] for _ in range(0, slots, room)]
        for row in rows:
            for panel in {n for bar in row.bars for n in _panels(bar, room)}:
                seen[panel].append(row)
        panels = (_panel(shown, label, n * room, min((n + 1) * room, slots)) for n, shown in enumerate(seen))
        legend = ", ".join(f"{SIGNS[kind]} {words}" for kind, words in KINDS.items())
        key = paragraph(f"One column is {SLOT} cycles: {legend}.", width)
        return "\n\n".join([*panels, key, fields(self.summary, width)])

    def __str__(self) -> str:
        return self.text()


KINDS = {
    "busy": "matrix core busy",
    "result": "result on its way",
    Unit.VALU.name: "VALU",
    "other": "other instruction",
    "missing": "wait state that is missing",
    "blocked": "waits for a unit",
}
"""Kind of bar -> what it means."""

SIGNS = {"busy": "=", "result": "-", Unit.VALU.name: "V", "other": "o", "missing": "!", "blocked": "."}


def _bars(issue: Issue) -> Iterator[Bar]:
    step, slot = issue.step, issue.slot
    start = slot - issue.missing - issue.blocked

    def bar(first: int, end: int, kind: str, title: str) -> Bar:
        return Bar(first * SLOT, end * SLOT, kind, title, thin=kind in ("result", "blocked"))

    if issue.missing:
        states = "wait state is" if issue.missing == 1 else "wait states are"
        yield bar(start, start + issue.missing, "missing", f"{issue.missing} {states} missing: {issue.reason}")
    if issue.blocked:
        yield bar(slot - issue.blocked, slot, "blocked", f"waits for the {issue.blocker}")
    if step.op:
        until = f"cycles {issue.cycle} to {issue.free * SLOT - 1}"
        yield bar(slot, issue.free, "busy", f"{step}: {until} on the matrix core")
        yield bar(issue.free, issue.result, "result", f"result can be read from cycle {issue.result * SLOT}")
    else:
        kind = Unit.VALU.name if step.unit is Unit.VALU else "other"
        yield bar(slot, issue.free, kind, f"{step}: issues in cycle {issue.cycle} ({step.unit.value})")


def _panels(bar: Bar, room: int) -> range:
    return range(bar.start // SLOT // room, (bar.end // SLOT - 1) // room + 1)


def _panel(rows: Sequence[Row], label: int, first: int, end: int) -> str:
    marks = "".join(f"{slot * SLOT:<8}" for slot in range(first, end, 8))
    lines = [f"{'cycle':{label}}  {marks}".rstrip()]
    for row in rows:
        signs = [" "] * (end - first)
        for bar in row.bars:
            for slot in range(max(bar.start // SLOT, first), min(bar.end // SLOT, end)):
                signs[slot - first] = SIGNS[bar.kind]
        lines.append(f"{_short(row.label, label):{label}}  {''.join(signs)}".rstrip())
    return "\n".join(lines)


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def timeline(steps: Iterable[Step], *, iterations: int = 1) -> Timeline:
    """Issue a sequence of instructions on one SIMD, ``iterations`` times over, and return when each one issues.

    Raise `OptionError` for a number of iterations that is no whole number from 1.

    >>> from mfma.isa.catalogue import find
    >>> from mfma.timing.steps import Span, Step, Unit, matrix_step
    >>> d = Span("a", 0, 4)
    >>> mfma = matrix_step(find("f32_16x16x16f16"), d, Span("v", 0, 2), Span("v", 2, 2), d)
    >>> read = Step("v_accvgpr_read_b32 v4, a0", Unit.VALU, reads=(Span("a", 0),), writes=(Span("v", 4),))
    >>> [issue.cycle for issue in timeline([mfma, mfma, read]).issues]
    [0, 16, 48]
    """
    if not isinstance(iterations, int) or iterations < 1:
        raise OptionError(f"iterations is {iterations!r}, but a sequence is repeated a whole number of times from 1.")
    return Timeline(tuple(_issue(list(steps) * iterations)))


def _issue(steps: list[Step]) -> Iterator[Issue]:
    slot = core_free = valu_free = 0
    issued: list[tuple[Issued, int]] = []  # what may still matter, with the wait states between it and the next one
    for step in steps:
        needs = ((need - between, why) for first, between in issued for need, why in [first.required_before(step)])
        missing, reason = max(needs, default=(0, ""), key=lambda need: need[0])
        missing, reason = (missing, reason) if missing > 0 else (0, "")
        uses_valu = step.unit in (Unit.MATRIX, Unit.VALU)
        free = max(core_free if step.op else 0, valu_free if uses_valu else 0)
        ready = slot + missing
        start = max(ready, free)
        core_first = step.op is not None and core_free >= valu_free
        blocker = "" if start == ready else ("matrix core" if core_first else "VALU, which an earlier instruction uses")
        yield Issue(step, start, missing, reason, start - ready, blocker)
        if step.op:
            core_free = start + step.op.passes
            valu_free = start + step.op.passes - step.op.coexecution // SLOT
        slot = start + step.waits
        between = missing + step.waits
        issued = [(first.after(step), past + between) for first, past in issued if past + between < WINDOW]
        issued.append((Issued.of(step), 0))
