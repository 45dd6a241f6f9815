"""What stands before and after the text of an inline assembly statement is the compiler's, and unknown here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mfma.asm.findings import Note
from mfma.asm.forms import Kind
from mfma.asm.reader import Instruction, Program
from mfma.timing.hazards import INTO_MFMA, First, Second, required

__all__ = ["edge_notes"]


def edge_notes(program: Program, left: Iterable[tuple[Instruction, int]]) -> Iterator[Note]:
    """Yield what to know about text with operands that a compiler replaces.

    ``left`` has the matrix instructions whose D somebody after the text may have to wait for, with the wait states
    between them and the end.
    """
    names = ", ".join(program.registers.unknown)
    first_line = program.instructions[0].line if program.instructions else 1
    yield Note(
        first_line,
        "unknown-registers",
        f"{names}: the text does not tell which registers these are, so they are told apart by name only, and their "
        "overlap with others, their alignment and width are not checked.",
    )
    needed = INTO_MFMA[First.VALU_WRITE].states
    before = 0
    for instruction in program.instructions:
        if before >= needed:
            break
        if instruction.kind is Kind.MATRIX and instruction.reads:
            reason = (
                f"{instruction.mnemonic} needs {needed} wait states after a VALU instruction that wrote A, B or C, and "
                f"{before} stand before it in this text: compilers add none before inline assembly."
            )
            yield Note(instruction.line, "open-start", reason)
            break
        before += instruction.states
    for instruction, gap in left:
        op = instruction.form.op
        if op is None:
            continue
        needs = {second: required(op, second).states for second in (Second.VALU_READ, Second.STORE)}
        if gap < max(needs.values()):
            wants = " and ".join(f"{states} before {second.value}" for second, states in needs.items())
            reason = (
                f"D of {instruction.mnemonic} needs {wants}, and {gap} stand behind it in this text: compilers add "
                "none after inline assembly."
            )
            yield Note(instruction.line, "open-end", reason)
