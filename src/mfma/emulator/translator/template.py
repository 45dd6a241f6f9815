"""What instructions have in common: from an instruction to the template of its function and its operands.

The words of an instruction hold numbers: registers, constants, offsets. Its program is written twice, for the
instruction itself and for a twin in which all those numbers differ; where the two programs differ, and only in numbers,
there is a hole in the template, and what stands there in the first program is an operand. So no definition has to say
what depends on what, and a number that is not recognised costs a function of its own, no more.

Most instructions of a kernel are told from one seen before by registers, literals, small constants and offsets alone;
of those no program is written, but each operand computed from the number it was found to follow.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from mfma.emulator.decode import Encoding, Instruction, Operand, Row
from mfma.emulator.decode.memory_records import Kind
from mfma.emulator.semantics.machine import Access, MatrixCall, Mode
from mfma.emulator.semantics.registry import program
from mfma.emulator.semantics.scalar_control import LAST_SGPR
from mfma.emulator.semantics.values import Node, Op
from mfma.emulator.translator.function import HARDWARE, Template, numbers
from mfma.emulator.translator.memory import combination
from mfma.emulator.translator.schedule import UnscheduledError, schedule, used

__all__ = ["Known", "Templates"]

UNFORMED = frozenset({Op.BARRIER, Op.END, Op.YIELD, Op.TRAP, Op.SET_MODE})
"""Ops that are left to the interpreter."""
WORD = 1 << 64
SHIFTS = 0, 32
"""By which a number that follows a field may be shifted: a literal of 64 bits has its high half in the words."""

LITERAL, VGPR = 255, 256
INDEXED = LAST_SGPR + 1
RANGES = (
    range(INDEXED), range(INDEXED, 128), range(128, 193), range(193, 209), range(240, 249), range(VGPR, VGPR + 256),
)  # fmt: skip
"""Source codes that are alike: scalar registers that M0 can index, others, small constants, negative ones, floats,
vector registers."""
FREE = (*RANGES[:3], RANGES[-1])
"""Of those, the ones whose numbers are computed without writing a program."""
ADDRESSES = 2
"""How many of an instruction's numbers, the last of them, are addresses of code."""
OFFSETS = frozenset({Encoding.FLAT, Encoding.GLOBAL, Encoding.SCRATCH, Encoding.MUBUF, Encoding.DS})
"""Encodings whose offset is added to an address, and nothing else."""


@dataclass(frozen=True)
class Source:
    """Where an operand comes from: a field of the instruction, shifted, plus ``number``, or (field None) the number."""

    field: int | None
    number: int
    shift: int = 0


@dataclass(frozen=True)
class Known:
    """What is known of instructions that differ in free numbers only.

    Attributes:
        key: digest of the template.
        template: of their function, if it is at hand.
        sources: their operands.
        branches: whether the function's result says if the branch is taken.
        jumps: whether it sets ``pc``.
    """

    key: str
    template: Template | None
    sources: tuple[Source, ...]
    branches: bool
    jumps: bool

    def operands(self, fields: Sequence[int]) -> tuple[int, ...]:
        """Operands of an instruction with these fields, signed numbers of 64 bits."""
        return tuple(
            (source.number + (0 if source.field is None else fields[source.field] << source.shift) + WORD // 2) % WORD
            - WORD // 2
            for source in self.sources
        )

    def moving(self, fields: Sequence[int]) -> tuple[bool, ...]:
        """Which operands follow the address of an instruction with these fields, or the target of its branch."""
        first = len(fields) - ADDRESSES
        return tuple(source.field is not None and source.field >= first for source in self.sources)


class Templates:
    """All instructions seen so far in one mode.

    Args:
        mode: in which they run.
        stored: what was learned before, by the digest of a likeness and mode.
    """

    def __init__(self, mode: Mode, stored: Mapping[str, Known | None]) -> None:
        self.mode = mode
        self._stored = stored
        self._known: dict[Any, Known | None] = {}
        self._fresh: dict[str, Known | None] = {}

    def find(self, instruction: Instruction) -> tuple[Known, tuple[int, ...], tuple[bool, ...] | None] | None:
        """What is known of an instruction, its operands, and which of these follow its address if that is certain.

        None if it is left to the interpreter.
        """
        likeness, fields = _likeness(instruction), _fields(instruction)
        certain = likeness in self._known
        if certain:
            known = self._known[likeness]
        else:
            digest = _digest_of_likeness(likeness, instruction.row, self.mode)
            certain = digest in self._stored
            known, certain = (self._stored[digest], True) if certain else self._learn(instruction, fields)
            if certain:
                self._known[likeness] = known
                if digest not in self._stored:
                    self._fresh[digest] = known
        return (known, known.operands(fields), known.moving(fields) if certain else None) if known else None

    def learn(self, instruction: Instruction) -> Known | None:
        """What is known of an instruction, with its template."""
        return self._learn(instruction, _fields(instruction))[0]

    def taken(self) -> dict[str, Known | None]:
        """What was learned since the last time, by the digest of likeness and mode."""
        fresh, self._fresh = self._fresh, {}
        return fresh

    def _learn(self, instruction: Instruction, fields: Sequence[int]) -> tuple[Known | None, bool]:
        """Write the programs; also whether the result holds for all instructions of this likeness."""
        first = _counting(program(instruction, self.mode).nodes)
        if any(_unformed(node) for node in first):
            return None, True
        with contextlib.suppress(UnscheduledError):
            return self._compare(instruction, fields, first)
        return None, True

    def _compare(self, instruction: Instruction, fields: Sequence[int], first: list[Node]) -> tuple[Known, bool]:
        schedule(first)
        twin, steps = self._twin(instruction, fields, RANGES)
        differs = not _alike(first, twin)
        if differs:
            twin, steps = self._twin(instruction, fields, FREE)
        certain = not differs or _alike(first, twin)
        slots: list[tuple[int | None, ...]] = []
        sources: dict[Any, int] = {}
        exact: list[tuple[int, int]] = []
        for index, node in enumerate(first):
            slot: list[int | None] = []
            for position, number in enumerate(numbers(node)):
                other = numbers(twin[index])[position] if certain else number
                if other == number:
                    slot.append(None)
                    continue
                source: Any = _source(number, other, node, fields, steps)
                if source is None:
                    # it follows a number in another way
                    exact.append((index, position))
                    source = Source(None, number), index, position
                slot.append(sources.setdefault(source, len(sources)))
            slots.append(tuple(slot))
        if exact:
            # right for this instruction alone, unless the number that it follows is not free
            near = twin if differs else self._twin(instruction, fields, FREE)[0]
            certain = _alike(first, near) and all(numbers(first[i])[j] == numbers(near[i])[j] for i, j in exact)
        template = Template(tuple(first), tuple(slots))
        found = tuple(source[0] if isinstance(source, tuple) else source for source in sources)
        ops = {node.op for node in first}
        known = Known(_digest(template), template, found, Op.BRANCH in ops, Op.JUMP in ops)
        return known, certain

    def _twin(
        self, instruction: Instruction, fields: Sequence[int], ranges: Sequence[range]
    ) -> tuple[list[Node], list[int]]:
        """The program of a twin, and what was added to each field."""
        twin, steps = _twin(instruction, fields, ranges)
        return _counting(program(twin, self.mode).nodes), steps


def _counting(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that act or that something depends on, numbered anew."""
    found: list[Node] = []
    new = {}
    for index, (node, is_used) in enumerate(zip(nodes, used(nodes), strict=True)):
        if is_used:
            new[index] = len(found)
            arguments = tuple(new[argument] for argument in node.arguments)
            found.append(Node(node.op, node.type, node.lanes, arguments, node.data))
    return found


def _unformed(node: Node) -> bool:
    if node.op is Op.HARDWARE:
        return node.data not in HARDWARE
    return node.op in UNFORMED


def _alike(first: Sequence[Node], second: Sequence[Node]) -> bool:
    return len(first) == len(second) and all(
        a.op is b.op and a.type == b.type and a.arguments == b.arguments and _rest(a) == _rest(b)
        for a, b in zip(first, second, strict=True)
    )


def _rest(node: Node) -> Any:
    """What a node's data hold besides numbers."""
    data = node.data
    match node.op:
        case Op.LOOKUP | Op.PART | Op.ARGUMENT | Op.HARDWARE:
            return data
        case Op.LOAD | Op.LOAD_WAVE | Op.STORE | Op.ATOMIC:
            access: Access = data
            return access.space, access.bytes_, access.alignment, access.combine, access.rounds
        case Op.MATRIX:
            call: MatrixCall = data
            return call.op.mnemonic, call.c is None, call.cbsz, call.abid, call.blgp, call.fp16_ovfl
        case _:
            return None


def _digest(template: Template) -> str:
    """Name of a template; those with one name have one function."""
    lines = [_line(node, slots) for node, slots in zip(template.nodes, template.slots, strict=True)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:24]


def _line(node: Node, slots: tuple[int | None, ...]) -> str:
    kept = [number if slot is None else f"operand {slot}" for number, slot in zip(numbers(node), slots, strict=True)]
    rest = _rest(node)
    if node.op is Op.LOOKUP:
        rest = _table(node.data)
    elif node.op is Op.ATOMIC:
        access: Access = node.data
        nodes = combination(access, len(node.arguments) - 2)
        inner = [_line(inner, (None,) * len(numbers(inner))) for inner in nodes]
        rest = access.space, access.bytes_, access.alignment, access.rounds, inner
    return f"{node.op.name} {node.type!r} {node.lanes} {node.arguments} {kept} {rest}"


@cache
def _table(data: tuple[int, ...]) -> str:
    return hashlib.sha256(repr(data).encode()).hexdigest()


# the numbers in an instruction's words


def _offset_counts(instruction: Instruction) -> bool:
    """Whether the offset is added to an address, and nothing else."""
    row = instruction.row
    access = row.access
    if row.encoding not in OFFSETS or access is None:
        return False
    return access.addresses == 1 and access.kind is not Kind.LANES


def _likeness(instruction: Instruction) -> Any:
    """Equal for instructions that differ in free numbers only."""
    kinds = tuple((*_kind(operand), operand.dwords, operand.acc) for operand in instruction.dst + instruction.src)
    m = instruction.modifiers
    offset = None if _offset_counts(instruction) else m.offset
    imm = None if instruction.target is not None else m.imm
    rest = (
        m.neg, m.abs, m.op_sel, m.op_sel_hi, m.neg_hi, m.clamp, m.omod, m.sdwa, m.dpp, imm, m.cbsz, m.abid, m.blgp,
        m.offset0, m.offset1, m.sc0, m.nt, m.sc1, m.lds, m.gds, m.offen, m.idxen, m.dfmt, m.nfmt,
    )  # fmt: skip
    return id(instruction.row), kinds, offset, rest


def _digest_of_likeness(likeness: Any, row: Row, mode: Mode) -> str:
    """A likeness and mode as a name that holds for every process."""
    text = repr((row.name, row.encoding.value, row.opcode, row.suffix, likeness[1:], mode))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _kind(operand: Operand) -> tuple[int, int]:
    """The first of the codes whose numbers are free, or the code itself; and a literal's sign, which may extend it."""
    code = operand.code
    return next((codes.start for codes in FREE if code in codes), code), (operand.literal or 0) >> 31


def _fields(instruction: Instruction) -> list[int]:
    """All numbers: of each operand its code and literal, then the modifiers', the address and a branch's target."""
    found = []
    for operand in instruction.dst + instruction.src:
        found += [operand.code, operand.literal or 0]
    m = instruction.modifiers
    return [*found, m.offset, m.offset0, m.offset1, m.imm, instruction.address, instruction.target or 0]


def _twin(instruction: Instruction, fields: Sequence[int], ranges: Sequence[range]) -> tuple[Instruction, list[int]]:
    """An instruction with other numbers in these ranges, and what was added to each field.

    It is of the same likeness if the ranges are `FREE`; otherwise numbers that are not free differ, too.
    """
    operands = []
    for position, operand in enumerate(instruction.dst + instruction.src):
        code, literal = operand.code, operand.literal
        for codes in ranges:
            if code in codes:
                step = min(1 << position, len(codes) - 1)
                code += step if code + step in codes else -step if code - step in codes else 1 - len(codes)
                break
        if literal is not None:
            literal += 1 << 20 + position if literal < 1 << 31 else -(1 << 20 + position)
        operands.append(Operand(code, operand.dwords, operand.acc, literal))
    m = instruction.modifiers
    changes: dict[str, Any] = {}
    if _offset_counts(instruction):
        changes["offset"] = m.offset + (1 << 9)
    everything = ranges is RANGES
    if everything and instruction.row.access is not None and instruction.row.access.addresses == 2:
        # by more than any operand changes, which is up to 32: a number must follow one field only
        changes |= {"offset0": m.offset0 ^ 64, "offset1": m.offset1 ^ 128}
    if (everything and instruction.row.encoding is Encoding.SOPK) or instruction.target is not None:
        changes["imm"] = m.imm ^ 1 << 12
    split = len(instruction.dst)
    twin = dataclasses.replace(
        instruction,
        address=instruction.address + (1 << 40),
        dst=tuple(operands[:split]),
        src=tuple(operands[split:]),
        modifiers=dataclasses.replace(m, **changes),
    )
    return twin, [other - number for number, other in zip(fields, _fields(twin), strict=True)]


def _source(number: int, other: int, node: Node, fields: Sequence[int], steps: Sequence[int]) -> Source | None:
    """The field that a number follows, or None if it is none alone."""
    modulus = 1 << node.type.bits if node.op is Op.CONST else WORD
    for field, (value, step) in enumerate(zip(fields, steps, strict=True)):
        for shift in SHIFTS:
            if step and (other - number - (step << shift)) % modulus == 0:
                return Source(field, number - (value << shift), shift)
    return None
