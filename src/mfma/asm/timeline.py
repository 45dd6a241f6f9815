"""Assembly text to the steps of a timeline, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterator

from mfma.asm.forms import Kind
from mfma.asm.reader import Instruction, Program, read
from mfma.asm.registers import EXEC, F64_PATH, FILE
from mfma.errors import EncodingError, OptionError
from mfma.timing.steps import Span, Step, Unit

__all__ = ["steps"]

UNITS = {
    Kind.SCALAR: Unit.SALU,
    Kind.BRANCH: Unit.SALU,
    Kind.NOP: Unit.NOP,
    Kind.VALU: Unit.VALU,
    Kind.DOT: Unit.VALU,
    Kind.MEMORY: Unit.MEMORY,
}


def steps(text: str | Program, first_line: int = 1, last_line: int | None = None) -> list[Step]:
    """Return the instructions of a text, or of some of its lines, as steps for `mfma.timing.timeline.timeline`.

    Branches are not followed: they are instructions like others. An operand such as ``%0`` of inline assembly stands
    for registers that nothing else overlaps. Raise `EncodingError` for a matrix instruction that cannot be read, and
    `OptionError` if there is no instruction in these lines.

    >>> from mfma.timing.timeline import timeline
    >>> text = "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], 0\\ns_nop 4\\nv_mov_b32 v8, v0"
    >>> [issue.cycle for issue in timeline(steps(text)).issues]
    [0, 4, 24]
    """
    program = read(text) if isinstance(text, str) else text
    last = len(program.lines) if last_line is None else last_line
    found = [_step(i, program) for i in program.instructions if first_line <= i.line <= last]
    if not found:
        raise OptionError(f"there is no instruction in lines {first_line} to {last}; give gfx942 assembly text.")
    return found


def _step(instruction: Instruction, program: Program) -> Step:
    text = " ".join(f"{instruction.mnemonic} {instruction.operands}".split())
    if instruction.kind is Kind.MATRIX:
        return _matrix(instruction, program, text)
    return Step(
        text,
        UNITS[instruction.kind],
        reads=tuple(_spans(instruction.reads, program)),
        writes=tuple(_spans(instruction.writes, program)),
        waits=instruction.states,
        f64_fma=instruction.form.is_f64_fma,
        dot=instruction.kind is Kind.DOT,
    )


def _matrix(instruction: Instruction, program: Program, text: str) -> Step:
    op = instruction.form.op
    if op is None:
        raise EncodingError(f"line {instruction.line}: {instruction.mnemonic} is no matrix instruction of gfx942.")
    d, ab, c = (tuple(_spans(mask, program)) for mask in (instruction.d, instruction.ab, instruction.c))
    if len(d) != 1 or not ab or len(c) > 1:
        raise EncodingError(
            f"line {instruction.line}: {text!r} cannot be read; write D, A, B and C, each as one tuple of registers."
        )
    return Step(text, Unit.MATRIX, ab, d, op, c[0] if c else None)


def _spans(mask: int, program: Program) -> Iterator[Span]:
    """Take a set of registers apart into tuples."""
    for file, start in (("v", 0), ("a", FILE)):
        bits = mask >> start & (1 << FILE) - 1
        while bits:
            first = (bits & -bits).bit_length() - 1
            run = bits >> first
            count = (~run & run + 1).bit_length() - 1
            yield Span(file, first, count)
            bits &= ~(((1 << count) - 1) << first)
    if mask & EXEC:
        yield Span("exec")
    if mask > F64_PATH | EXEC:
        yield from (Span(name) for name, bit in program.registers.unknown.items() if mask >> bit & 1)
