"""Assembly text to instructions: mnemonic, vector registers read and written, labels.

Taken are the output of compilers and of ``llvm-objdump -d --symbolize-operands``, text written by hand, and the
strings of inline assembly, with or without their quotes. Symbols given by ``.set`` are followed; macros and
conditional assembly are not, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mfma.asm.findings import Note
from mfma.asm.forms import Destination, Form, Forms, Kind
from mfma.asm.registers import EXEC, F64_PATH, Registers
from mfma.encoding import parse
from mfma.errors import EncodingError

__all__ = ["Instruction", "Program", "read"]

FORMS = Forms()

QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
ESCAPES = re.compile(r"(?:\\[nrt])+")
LABEL = re.compile(r'\s*(?:(?:[0-9a-f]{8,16}\s+)?<([^>]+)>|([\w.$@]+)|"([^"]*)"):(?!:)')
COMMENT = re.compile(r"/\*.*?\*/|(?:;|//|/\*).*")
RETURNING = re.compile(r"\b(?:sc0|glc)\b")
TO_LDS = re.compile(r"\blds\b")

DEFINITIONS = frozenset([".set", ".equ", ".equiv"])
UNFOLLOWED = frozenset(
    [".macro", ".rept", ".irp", ".irpc", ".if", ".ifdef", ".ifndef", ".ifc", ".ifeq", ".ifne", ".include", ".altmacro"]
)
METADATA = {".amdgpu_metadata": ".end_amdgpu_metadata", ".macro": ".endm"}
"""Directives after which everything up to another is skipped."""


class Instruction:
    """One instruction; ``reads`` and ``writes`` are sets of vector registers as in `mfma.asm.registers`.

    ``touched`` has both and what else wait states depend on. ``states`` is how many wait states it is worth. On
    matrix instructions ``parts`` is the text of D, A, B and C with the modifiers behind it, ``d``, ``ab`` and ``c``
    are their registers; the index of a sparse one counts as ``ab``.
    """

    __slots__ = (
        "ab",
        "at",
        "c",
        "d",
        "form",
        "kind",
        "line",
        "mnemonic",
        "operands",
        "parts",
        "reads",
        "states",
        "touched",
        "writes",
    )

    def __init__(self, line: int, at: int, mnemonic: str, operands: str, form: Form):
        self.line = line
        self.at = at
        self.mnemonic = mnemonic
        self.operands = operands
        self.form = form
        self.kind = form.kind
        self.states = 1
        self.reads = self.writes = self.touched = 0
        if form.kind is Kind.MATRIX:
            self.d = self.ab = self.c = 0
            self.parts: list[str] = []


class Program:
    """The instructions of a text in order; ``labels`` gives the index of the instruction behind each label."""

    def __init__(self, text: str):
        self.lines = text.split("\n")
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.local_labels: list[tuple[str, int]] = []
        self.notes: dict[tuple[str, str], Note] = {}
        self.registers = Registers()

    def column(self, instruction: Instruction) -> int:
        """Return the column of an instruction's mnemonic, from 1."""
        return self.lines[instruction.line - 1].find(instruction.mnemonic, instruction.at) + 1

    def note(self, line: int, rule: str, subject: str, reason: str) -> None:
        """Keep a note, the first for each rule and subject."""
        self.notes.setdefault((rule, subject), Note(line, rule, reason))

    def target(self, instruction: Instruction) -> int | None:
        """Return the index of the instruction that a branch goes to, None if the text does not tell."""
        name = instruction.operands.rpartition(",")[2].strip()
        number, direction = name[:-1], name[-1:]
        if number.isdigit() and direction in ("b", "f"):
            here = self.instructions.index(instruction)
            places = [place for label, place in self.local_labels if label == number]
            before = [place for place in places if place <= here]
            after = [place for place in places if place > here]
            return (before[-1] if before else None) if direction == "b" else (after[0] if after else None)
        return self.labels.get(name)


def read(text: str) -> Program:
    """Read assembly text.

    >>> program = read("loop: v_add_f32 v0, v1, v2 ; three registers\\ns_cbranch_scc1 loop")
    >>> [(i.line, i.mnemonic, bin(i.reads), bin(i.writes)) for i in program.instructions]
    [(1, 'v_add_f32', '0b110', '0b1'), (2, 's_cbranch_scc1', '0b0', '0b0')]
    >>> program.labels
    {'loop': 0}
    """
    program = Program(text)
    instructions = program.instructions
    finish = FINISH
    skipped_to = ""
    in_comment = False
    for number, line in enumerate(program.lines, 1):
        if ";" in line or "/" in line or in_comment:
            line, in_comment = _without_comments(line, in_comment)  # noqa: PLW2901
        parts = line.split(None, 1)
        if not parts:
            continue
        word = parts[0]
        if skipped_to:
            skipped_to = "" if word == skipped_to else skipped_to
            continue
        form = FORMS[word]
        if form is not None and "\\" not in line:
            instruction = Instruction(number, 0, word, parts[1] if len(parts) == 2 else "", form)
            finish[form.kind](instruction, program)
            instructions.append(instruction)
        elif word[0] == "." and word[-1] != ":":
            skipped_to = _directive(program, number, word, parts[1] if len(parts) == 2 else "")
        elif word[0] != "#":
            for at, piece in _pieces(line):
                _statement(program, number, at, piece)
    return program


def _without_comments(line: str, in_comment: bool) -> tuple[str, bool]:
    if in_comment:
        inside, end, line = line.partition("*/")
        if not end:
            return "", True
        line = " " * (len(inside) + 2) + line
    comments = COMMENT.findall(line)
    is_open = bool(comments) and comments[-1].startswith("/*") and not comments[-1].endswith("*/")
    return COMMENT.sub(" ", line), is_open


def _directive(program: Program, number: int, word: str, rest: str) -> str:
    """Follow a directive; return the directive up to which everything is to be skipped, if there is one."""
    if word in DEFINITIONS:
        name, _, expression = rest.partition(",")
        program.registers.define(name.strip(), expression)
    elif word in UNFOLLOWED:
        reason = f"{word} is not followed: assemble the text and lint the disassembly, or lint the expanded text."
        program.note(number, "not-followed", word, reason)
    return METADATA.get(word, "")


def _pieces(line: str) -> list[tuple[int, str]]:
    """Split a line of an inline assembly string at its escapes; return each piece with its position."""
    quoted = list(QUOTED.finditer(line)) if line.lstrip().startswith('"') and not LABEL.match(line) else []
    spans = [match.span(1) for match in quoted] or [(0, len(line))]
    pieces = []
    for start, end in spans:
        at = start
        for escape in ESCAPES.finditer(line, start, end):
            pieces.append((at, line[at : escape.start()]))
            at = escape.end()
        pieces.append((at, line[at:end]))
    return pieces


def _statement(program: Program, number: int, at: int, text: str) -> None:
    """Read labels and an instruction from text that is not just an instruction."""
    while label := LABEL.match(text):
        name, place = label[label.lastindex or 0], len(program.instructions)
        program.labels[name] = place
        if name.isdigit():
            program.local_labels.append((name, place))
        at += label.end()
        text = text[label.end() :]
    text = COMMENT.sub(" ", text)
    parts = text.split(None, 1)
    if not parts:
        return
    word, rest = parts[0], parts[1].rstrip() if len(parts) == 2 else ""
    form = FORMS[word]
    if form is not None:
        instruction = Instruction(number, at, word, rest, form)
        FINISH[form.kind](instruction, program)
        program.instructions.append(instruction)
    elif rest.startswith("="):
        program.registers.define(word, rest.removeprefix("="))
    elif word[0] != ".":
        reason = f"{word} is no instruction, label or directive that is known here; it counts as no wait state."
        program.note(number, "not-read", word, reason)


def _finish_scalar(instruction: Instruction, program: Program) -> None:
    """Leave a scalar instruction as it is: nothing here depends on its operands."""


def _finish_nop(instruction: Instruction, program: Program) -> None:
    count = program.registers.evaluate(instruction.operands)
    if count is None or not 0 <= count <= 15:
        reason = f"{instruction.operands!r} is not 0 to 15; the s_nop counts as one wait state."
        program.note(instruction.line, "not-read", instruction.operands, reason)
        return
    instruction.states = count + 1


def _finish_vector(instruction: Instruction, program: Program) -> None:
    registers = program.registers
    form = instruction.form
    first, _, others = instruction.operands.partition(",")
    if first[:1] == "[":  # a tuple listed register by register
        first, _, others = instruction.operands.partition("]")
    written = registers[first]
    reads = 0
    for operand in others.split(","):
        reads |= registers[operand]
    destination = form.destination
    if destination is Destination.FIRST:
        if instruction.kind is Kind.MEMORY and " lds" in others and TO_LDS.search(others):
            reads, written = reads | written, 0
    elif destination is Destination.NONE:
        reads, written = reads | written, 0
    elif destination is Destination.ALL:
        reads = written = reads | written
    elif not RETURNING.search(others):
        reads, written = reads | written, 0
    elif destination is Destination.EXCHANGED:
        reads |= written
    if form.writes_exec:
        written |= EXEC
    instruction.reads, instruction.writes = reads, written
    instruction.touched = reads | written | F64_PATH if form.is_f64_fma else reads | written


def _finish_matrix(instruction: Instruction, program: Program) -> None:
    registers = program.registers
    operands = instruction.operands
    parts = operands.split(",", 3)
    if len(parts) < 4 or operands[0] == "[" or " [" in operands or ",[" in operands:
        parts = _parts(instruction)
    instruction.parts = parts
    if len(parts) < 4:
        return
    d, a, b, c = (registers[part] for part in parts)
    if instruction.form.op is not None and instruction.form.op.sparse:
        instruction.d, instruction.ab, instruction.c = d, a | b | c, d
    else:
        instruction.d, instruction.ab, instruction.c = d, a | b, c
    instruction.reads = instruction.ab | instruction.c
    instruction.writes = d
    instruction.touched = instruction.reads | d | EXEC


def _parts(instruction: Instruction) -> list[str]:
    """Return the operands where they are written in one of the rarer ways; none if they cannot be read."""
    try:
        read = parse(f"{instruction.mnemonic} {instruction.operands}")
    except EncodingError:
        return []
    return [str(read.d), str(read.a), str(read.b), f"{read.c} {read.modifiers}"]


FINISH: dict[Kind, Callable[[Instruction, Program], None]] = {
    Kind.SCALAR: _finish_scalar,
    Kind.BRANCH: _finish_scalar,
    Kind.NOP: _finish_nop,
    Kind.VALU: _finish_vector,
    Kind.DOT: _finish_vector,
    Kind.MATRIX: _finish_matrix,
    Kind.MEMORY: _finish_vector,
}
"""What is left to be found out about an instruction, by its kind."""
