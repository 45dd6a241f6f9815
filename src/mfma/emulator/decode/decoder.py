"""Bytes to instructions: which encoding, which row, which operands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mfma.emulator.decode.instruction import NONE, Instruction, Operand, Undecoded
from mfma.emulator.decode.records import File, Row
from mfma.emulator.decode.words import LITERALS, InstructionWord, Reader
from mfma.errors import DecodeError

__all__ = ["decode", "decode_all", "register", "rows"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to read one row from one class of words."""

    word: type[InstructionWord]
    row: Row
    dst: tuple[Reader, ...]
    src: tuple[Reader, ...]
    zero: int
    """Bits that are 0 in every word."""
    size: int
    literal: bool
    """Whether a source can be a literal that follows a word of 4 bytes."""
    plain: bool
    """Whether words of this class hold no modifiers."""


@dataclass(frozen=True, slots=True)
class Form:
    """A registered class of words with its rows by opcode, and the plans of those that were met."""

    word: type[InstructionWord]
    mask: int
    value: int
    low: int
    largest: int
    rows: dict[int, Row]
    plans: dict[int, Plan | None]

    def plan(self, opcode: int) -> Plan | None:
        """Make the plan of an opcode; None if the form has no such row."""
        row = self.rows.get(opcode)
        plan = self.plans[opcode] = None if row is None else _plan(self.word, row)
        return plan


FORMS: list[Form] = []
"""Every registered form, the more specific prefix first."""

BY_PREFIX: list[tuple[Form, ...] | None] = [None] * 512
"""Bits 31:23 of the first dword -> the forms that may match, once looked for; no prefix is longer, masks may be."""


def register(word: type[InstructionWord], rows: Iterable[Row]) -> None:
    """Make the decoder read these rows from words of this class.

    Of two classes that match a word, the one whose mask has more bits is tried first, then the one that was
    registered first; a class that has no row of the opcode or cannot read the operands leaves the word to the next.
    """
    accepted = {row.opcode: word.row_of(row) for row in rows if word.accepts(row)}
    FORMS.append(Form(word, word.mask, word.value, word.op.low, word.op.largest, accepted, {}))
    FORMS.sort(key=lambda form: -form.mask.bit_count())
    BY_PREFIX[:] = [None] * 512


def _forms(prefix: int) -> tuple[Form, ...]:
    """Look for the forms that a prefix of 9 bits may belong to."""
    forms = tuple(form for form in FORMS if (prefix << 23 ^ form.value) & form.mask & 0xFF80_0000 == 0)
    BY_PREFIX[prefix] = forms
    return forms


def rows() -> Iterator[Row]:
    """Yield every row that the decoder knows, each once, in the order of the encodings' registration."""
    yield from dict.fromkeys(row for form in FORMS for row in form.rows.values())


def _plan(word: type[InstructionWord], row: Row) -> Plan:
    dst, src = (tuple(word.reader(slot) for slot in slots) for slots in (row.dst, row.src))
    fixed = any(slot.file is File.LITERAL for slot in row.src)
    literal = word.size == 4 and any(slot.file in LITERALS for slot in row.src)
    plain = word.modifiers is InstructionWord.modifiers
    return Plan(word, row, dst, src, word.zero(row), 8 if fixed else word.size, literal, plain)


def decode(code: bytes, address: int = 0, offset: int = 0) -> Instruction:
    """Return the instruction whose bytes begin at ``offset``; ``address`` is where it stands in memory.

    Raises:
        DecodeError: the bytes are no instruction of gfx942, or end within one.

    >>> print(decode(bytes.fromhex("ff020002 0000c03f")))
    v_add_f32_e32 v0, 0x3fc00000, v1
    """
    left = len(code) - offset
    both = int.from_bytes(code[offset : offset + 8], "little")
    first = both & 0xFFFF_FFFF
    if left >= 4:
        prefix = first >> 23
        forms = BY_PREFIX[prefix]
        for form in _forms(prefix) if forms is None else forms:
            if (first ^ form.value) & form.mask:
                continue
            opcode = both >> form.low & form.largest
            plan = form.plans[opcode] if opcode in form.plans else form.plan(opcode)
            if plan is None or both & plan.zero:
                continue
            instruction = _read(plan, both, address)
            if instruction is not None and instruction.size <= left:
                return instruction
    raise DecodeError(
        f"{first:#010x} at {address:#x} is no gfx942 instruction; give the bytes of code, from its start."
    )


def _read(plan: Plan, both: int, address: int) -> Instruction | None:
    dst: list[Operand] = []
    src: list[Operand] = []
    for readers, operands in ((plan.dst, dst), (plan.src, src)):
        for read in readers:
            operand = read(both)
            if operand is None:
                return None
            operands.append(operand)
    size = plan.size
    if plan.literal:
        for operand in src:
            if operand.literal is not None:
                size = 8
    word = both if size == 8 else both & 0xFFFF_FFFF
    modifiers = NONE if plan.plain else plan.word(word).modifiers(plan.row)
    if modifiers is None:
        return None
    return Instruction(address, size, word, plan.row, tuple(dst), tuple(src), modifiers)


def decode_all(code: bytes, address: int = 0) -> Iterator[Instruction | Undecoded]:
    """Yield the instructions of ``code`` in order; a dword that begins none is passed over as `Undecoded`.

    Bytes behind the last whole dword are left out.

    >>> [str(item) for item in decode_all(bytes.fromhex("0000007e 00008cbf"))]
    ['v_nop', 's_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)']
    """
    offset = 0
    while offset + 4 <= len(code):
        try:
            instruction = decode(code, address + offset, offset)
        except DecodeError:
            yield Undecoded(address + offset, int.from_bytes(code[offset : offset + 4], "little"))
            offset += 4
            continue
        yield instruction
        offset += instruction.size
