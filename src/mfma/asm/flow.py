"""The control-flow graph of a program: blocks of instructions and where each goes on."""

from __future__ import annotations

from dataclasses import dataclass

from mfma.asm.forms import Flow, Kind
from mfma.asm.reader import Program

__all__ = ["Block", "blocks"]


@dataclass(frozen=True)
class Block:
    """Instructions ``start`` to ``end`` (not included), executed in a row; ``next`` are the blocks that may follow.

    ``falls_off`` says that execution may go on behind the end of the text.
    """

    start: int
    end: int
    next: tuple[int, ...]
    falls_off: bool = False


def blocks(program: Program) -> list[Block]:
    """Cut a program into its blocks. A note tells of every branch that cannot be followed.

    >>> from mfma.asm.reader import read
    >>> blocks(read("top: s_nop 0\\ns_cbranch_scc1 top\\ns_endpgm"))
    [Block(start=0, end=2, next=(0, 1), falls_off=False), Block(start=2, end=3, next=(), falls_off=False)]
    """
    instructions = program.instructions
    end = len(instructions)
    if not end:
        return []
    goes_to: dict[int, tuple[int, ...]] = {}
    for place, instruction in enumerate(instructions):
        if instruction.kind is Kind.BRANCH:
            goes_to[place] = _targets(program, place)
    starts = {0, *(place + 1 for place in goes_to), *(target for targets in goes_to.values() for target in targets)}
    ordered = sorted(start for start in starts if start < end)
    number = {start: block for block, start in enumerate(ordered)}
    return [
        Block(start, stop, tuple(number[target] for target in targets if target < end), end in targets)
        for start, stop in zip(ordered, (*ordered[1:], end), strict=True)
        for targets in (goes_to.get(stop - 1, (stop,)),)
    ]


def _targets(program: Program, place: int) -> tuple[int, ...]:
    branch = program.instructions[place]
    flow = branch.form.flow
    jump: tuple[int, ...] = ()
    if flow in (Flow.JUMP, Flow.EITHER):
        target = program.target(branch)
        if target is None:
            program.note(branch.line, "not-followed", branch.operands, f"no label {branch.operands} in this text.")
        else:
            jump = (target,)
    elif branch.operands:
        program.note(branch.line, "not-followed", branch.mnemonic, f"{branch.mnemonic} goes to a computed address.")
    falls = (place + 1,) if flow in (Flow.EITHER, Flow.NEXT) else ()
    return (*jump, *falls)
