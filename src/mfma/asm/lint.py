"""Find missing wait states, along every path through a program, and matrix instructions that are wrong by themselves.

Each instruction leaves behind what others may have to wait for: a matrix instruction its D, its C and the f64 path,
a VALU instruction what it wrote. Such a *pending* thing ages by the wait states of the instructions after it, loses
the registers for which a later instruction counts instead, and is dropped when it is older than any rule's window.
Pending things do not influence one another, so at the end of a block each is handed to the blocks that may follow,
until nothing new comes up: both arms of a branch, and a loop's end into its beginning.

As in LLVM every instruction is worth one wait state, whatever executes it, and a call is not followed to its return.
The lint is stricter in one respect: LLVM may look at a block by one path only, and so miss a shorter one.
"""

from __future__ import annotations

from typing import NamedTuple

from mfma.asm.edges import edge_notes
from mfma.asm.findings import Finding, Note, Report
from mfma.asm.flow import Block, blocks
from mfma.asm.forms import Kind
from mfma.asm.matrix import faults
from mfma.asm.reader import Instruction, Program, read
from mfma.asm.registers import EXEC
from mfma.asm.rules import Hazard, Leaves, hazards, left_by, replaced
from mfma.timing.hazards import WINDOW

__all__ = ["lint"]


class Pending(NamedTuple):
    """What an instruction has left behind: ``registers`` of it, since the wait state ``born``."""

    leaves: Leaves
    registers: int
    born: int
    first: Instruction


def lint(text: str) -> Report:
    """Check gfx942 assembly for missing wait states and for wrong matrix instructions.

    Operands such as ``%0`` stand for registers that a compiler chooses; they are told apart by name only.

    >>> loop = "top: v_add_f32 v0, v4, v0\\nv_mfma_f32_4x4x1_16b_f32 v[4:7], v2, v3, v[4:7]\\ns_cbranch_scc1 top"
    >>> [(f.line, f.rule, f.missing) for f in lint(loop).findings]
    [(1, 'valu-reads-result', 3)]
    """
    program = read(text)
    search = Search(program)
    search.run()
    notes = [*program.notes.values(), *search.notes.values()]
    if program.registers.unknown:
        notes += edge_notes(program, search.left_open.items())
    return Report(
        tuple(sorted(search.findings.values(), key=lambda f: (f.line, f.column, f.rule))),
        tuple(sorted(notes, key=lambda n: (n.line, n.rule))),
        len(program.lines) - (not program.lines[-1]),
        len(program.instructions),
        sum(instruction.kind is Kind.MATRIX for instruction in program.instructions),
    )


class Search:
    """The state of one search through a program."""

    def __init__(self, program: Program):
        self.program = program
        self.findings: dict[tuple[Instruction, str], Finding] = {}
        self.notes: dict[tuple[Instruction, str], Note] = {}
        self.left_open: dict[Instruction, int] = {}

    def run(self) -> None:
        """Walk every block once by itself, then with whatever arrives from others."""
        graph = blocks(self.program)
        seen: list[dict[tuple[Instruction, Leaves], list[Pending]]] = [{} for _ in graph]
        work = [(block, self.first_walk(block)) for block in graph]
        while work:
            block, left = work.pop()
            if block.falls_off:
                self.leave_open(left)
            for successor in block.next:
                new = [one for one in left if _is_new(one, seen[successor])]
                if new:
                    work.append((graph[successor], self.second_walk(graph[successor], new)))

    def first_walk(self, block: Block) -> list[Pending]:
        """Walk a block with nothing pending; return what is pending at its end, with ages as negative births."""
        instructions = self.program.instructions
        pending: list[Pending] = []
        live = 0
        now = 0
        last = before_last = None  # the latest VALU instructions that wrote registers: no rule looks further back
        matrix, valu = Kind.MATRIX, Kind.VALU
        for place in range(block.start, block.end):
            instruction = instructions[place]
            kind = instruction.kind
            if live & instruction.touched:
                pending = self.meet(pending, instruction, now)
                live = 0
                for one in pending:
                    live |= one.registers
            if kind is matrix:
                if last is not None:
                    self.meet([one for one in (before_last, last) if one is not None], instruction, now)
                self.check(instruction)
                for leaves, registers in left_by(instruction):
                    pending.append(Pending(leaves, registers, now, instruction))
                    live |= registers
            elif kind is valu:
                before_last, last = last, Pending(Leaves.VALU_RESULT, instruction.writes, now, instruction)
                if instruction.writes & EXEC:
                    pending.append(Pending(Leaves.EXEC, EXEC, now, instruction))
                    live |= EXEC
            now += instruction.states
        return _aged([*pending, *(one for one in (before_last, last) if one is not None)], now)

    def second_walk(self, block: Block, pending: list[Pending]) -> list[Pending]:
        """Walk a block with what arrives from others, as long as any of it matters."""
        instructions = self.program.instructions
        now = 0
        for place in range(block.start, block.end):
            if now > WINDOW or not pending:
                return []
            instruction = instructions[place]
            if instruction.touched:
                pending = self.meet(pending, instruction, now)
            now += instruction.states
        return _aged(pending, now)

    def meet(self, pending: list[Pending], instruction: Instruction, now: int) -> list[Pending]:
        """Report what an instruction should have waited for; return what is still pending after it."""
        kept = []
        for one in pending:
            gap = now - one.born - 1
            if gap >= one.leaves.window:
                continue
            if one.registers & instruction.touched:
                for hazard in hazards(one.leaves, one.first, one.registers, instruction):
                    if gap < hazard.wait.cautious:
                        self.report(hazard, one.first, instruction, gap)
                registers = one.registers & ~replaced(one.leaves, instruction)
                if registers != one.registers:
                    if registers:
                        kept.append(one._replace(registers=registers))
                    continue
            kept.append(one)
        return kept

    def leave_open(self, left: list[Pending]) -> None:
        """Keep what is pending where the text ends without an end of the program."""
        for one in left:
            if one.leaves is Leaves.RESULT:
                gap = -one.born - 1
                self.left_open[one.first] = min(gap, self.left_open.get(one.first, gap))

    def report(self, hazard: Hazard, first: Instruction, second: Instruction, gap: int) -> None:
        """Keep the worst finding for each instruction and rule, or a note where only some source wants a wait."""
        key = second, hazard.rule
        wait = hazard.wait
        if gap >= wait.states:
            reason = f"{hazard.reason(first, gap)}; {wait.dissent}: {wait.cautious} instead of {wait.states}."
            self.notes.setdefault(key, Note(second.line, hazard.rule, reason))
            return
        missing = wait.states - gap
        known = self.findings.get(key)
        if known is None or (known.missing or 0) < missing:
            missing_text = "1 is missing" if missing == 1 else f"{missing} are missing"
            reason = f"{hazard.reason(first, gap)}; it needs {wait.states}: {missing_text}."
            column = self.program.column(second)
            self.findings[key] = Finding(
                second.line, column, hazard.rule, reason, wait.source, missing, wait.states, first.line
            )

    def check(self, instruction: Instruction) -> None:
        """Report what is wrong with a matrix instruction by itself."""
        for rule, reason, source in faults(instruction, self.program.registers):
            if rule.startswith("may-"):
                self.notes.setdefault((instruction, rule), Note(instruction.line, rule, reason))
            else:
                column = self.program.column(instruction)
                key = instruction, rule + reason
                self.findings[key] = Finding(instruction.line, column, rule, reason, source)


def _aged(pending: list[Pending], now: int) -> list[Pending]:
    """Return what still matters at the end of a block, born before the next one begins."""
    return [one._replace(born=one.born - now) for one in pending if now - one.born - 1 < one.leaves.window]


def _is_new(one: Pending, seen: dict[tuple[Instruction, Leaves], list[Pending]]) -> bool:
    """Say whether a pending thing tells a block more than it has seen, and remember it."""
    before = seen.setdefault((one.first, one.leaves), [])
    if any(other.born >= one.born and not one.registers & ~other.registers for other in before):
        return False
    before.append(one)
    return True
