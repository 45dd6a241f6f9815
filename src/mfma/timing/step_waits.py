"""Wait states between instructions with their registers: which rows of `mfma.timing.hazards` two of them meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mfma.isa.spec import MatrixOp, Pipe
from mfma.timing.hazards import First, Operand, Second, required
from mfma.timing.steps import Span, Step, Unit

__all__ = ["EXEC", "Issued"]

EXEC = Span("exec")
READING = {Unit.VALU: Second.VALU_READ, Unit.MEMORY: Second.STORE}
WRITING = {Unit.VALU: Second.VALU_WRITE, Unit.MEMORY: Second.LOAD}


@dataclass(frozen=True)
class Issued:
    """An instruction that was issued, and the registers for which others may still have to wait.

    ``result`` is what is left of those that it wrote, ``addend`` of C of a matrix instruction.
    """

    step: Step
    result: tuple[Span, ...]
    addend: tuple[Span, ...]

    @classmethod
    def of(cls, step: Step) -> Issued:
        """Return an instruction as it was just issued."""
        return cls(step, step.writes, () if step.c is None else (step.c,))

    def after(self, second: Step) -> Issued:
        """Return what is left of it once a second instruction was issued.

        Registers that the second overwrites are its own from then on. An XDL instruction starts to read C when earlier
        ones have read theirs, so its C is what counts.
        """
        is_xdl = second.op is not None and second.op.pipe is Pipe.XDL
        addend = _without(self.addend, (second.c,)) if is_xdl and second.c else self.addend
        return Issued(self.step, _without(self.result, second.writes), addend)

    def required_before(self, second: Step) -> tuple[int, str]:
        """Return the wait states that must lie between it and a second instruction, and why; (0, "") if none.

        >>> from mfma.isa.catalogue import find
        >>> from mfma.timing.steps import matrix_step
        >>> mfma = matrix_step(find("f32_16x16x8_xf32"), Span("v", 0, 4), Span("v", 4, 2), Span("v", 6, 2))
        >>> Issued.of(mfma).required_before(Step("v_mov_b32 v8, v0", Unit.VALU, reads=(Span("v", 0),)))
        (7, 'a VALU instruction reads D, v[0:3]')
        """
        return max(self._rules(second), default=(0, ""), key=lambda rule: rule[0])

    def _rules(self, second: Step) -> Iterator[tuple[int, str]]:
        if self.step.op and second.op:
            yield from self._between(self.step.op, second, second.op)
        elif self.step.op:
            yield from self._out_of(self.step.op, second)
        elif second.op:
            yield from self._into(second, second.op)

    def _between(self, op: MatrixOp, second: Step, reader: MatrixOp) -> Iterator[tuple[int, str]]:
        d = self.step.writes[0]
        if _overlap(self.result, second.reads):
            yield required(op, reader, Operand.AB).states, f"D, {d}, is read {Operand.AB}"
        if second.c and _overlap(self.result, (second.c,)):
            how = Operand.C_SAME if second.c == d else Operand.C_PART
            yield required(op, reader, how).states, f"D, {d}, is read {how}"

    def _out_of(self, op: MatrixOp, second: Step) -> Iterator[tuple[int, str]]:
        d = self.step.writes[0]
        if second.unit in READING and _overlap(self.result, second.reads):
            yield required(op, READING[second.unit]).states, f"{READING[second.unit]}, {d}"
        if second.unit in WRITING and _overlap(self.result, second.writes):
            yield required(op, WRITING[second.unit]).states, f"{WRITING[second.unit]}, {d}"
        if second.unit in WRITING and _overlap(self.addend, second.writes):
            yield required(op, Second.WRITE_C).states, f"{Second.WRITE_C}, {self.step.c}"
        if second.f64_fma:
            yield required(op, Second.FMA_F64).states, Second.FMA_F64

    def _into(self, second: Step, op: MatrixOp) -> Iterator[tuple[int, str]]:
        step = self.step
        if EXEC in self.result and step.unit in (Unit.VALU, Unit.SALU):
            kind = First.VALU_EXEC if step.unit is Unit.VALU else First.SALU_EXEC
            yield required(kind, op).states, kind
        if step.unit is Unit.VALU and _overlap(self.result, second.sources):
            kind = First.DOT_WRITE if step.dot else First.VALU_WRITE
            yield required(kind, op).states, kind


def _overlap(some: tuple[Span, ...], others: tuple[Span, ...]) -> bool:
    return any(span.overlaps(other) for span in some for other in others)


def _without(spans: tuple[Span, ...], taken: tuple[Span, ...]) -> tuple[Span, ...]:
    for other in taken:
        spans = tuple(part for span in spans for part in span.without(other))
    return spans
