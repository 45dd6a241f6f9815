"""What is wrong with one matrix instruction by itself: registers, overlap, modifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mfma.asm.forms import MATRIX
from mfma.asm.reader import Instruction
from mfma.asm.registers import Registers, Tuple, aligned
from mfma.encoding import Vgprs, parse
from mfma.errors import EncodingError, ModifierError, near
from mfma.isa.modifiers import blgp_is_disputed, check_modifiers
from mfma.isa.spec import Blgp, MatrixOp
from mfma.isa.spellings import RETIRED

__all__ = ["ASSEMBLER", "MODIFIERS", "faults"]

MODIFIER = re.compile(r"[\s,]*\b(?:cbsz|abid|blgp|neg)\s*:.*")

ASSEMBLER = "what LLVM's assembler takes for gfx942"
MODIFIERS = "AMD's matrix instruction calculator"

SMALL = 4
"""Up to so many registers C may overlap D in part."""

Fault = tuple[str, str, str]
"""Rule, reason, source. A rule that begins with ``may-`` is worth a note, no more."""


def faults(instruction: Instruction, registers: Registers) -> Iterator[Fault]:
    """Yield what is wrong with a matrix instruction, whatever stands around it."""
    op = instruction.form.op
    if op is None:
        yield "unknown-instruction", _why_unknown(instruction.mnemonic), ASSEMBLER
        return
    if _is_plain(instruction, op, registers):
        return
    if len(instruction.parts) < 4:
        yield "refused", _refusal(f"{instruction.mnemonic} {instruction.operands}"), ASSEMBLER
        return
    *parts, last = instruction.parts
    modifiers = MODIFIER.search(last)
    texts = [*parts, last[: modifiers.start()] if modifiers else last]
    tuples = [registers.one(text) for text in texts]
    written = modifiers.group().lstrip(" ,\t") if modifiers else ""
    found = list(_operand_faults(op, tuples))
    yield from found
    refusal = _refusal(_respelled(op, texts, tuples, registers, written))
    if refusal and not [rule for rule, _, _ in found if not rule.startswith("may-")]:
        yield "refused", refusal, ASSEMBLER
    elif written:
        yield from _modifier_faults(op, written)


def _is_plain(instruction: Instruction, op: MatrixOp, registers: Registers) -> bool:
    """Say quickly whether an instruction is one of the many that have nothing unusual."""
    if len(instruction.parts) < 4 or op.sparse:
        return False
    d, a, b, c = instruction.parts
    width, width_a, width_b = _widths(op)
    tuples = aligned(width)
    d_mask, c_mask = registers[d], registers[c]
    return (
        d_mask in tuples
        and registers[a] in aligned(width_a)
        and registers[b] in aligned(width_b)
        and ":" not in c[c.find("]") :]
        and (c_mask == d_mask or c.strip() == "0" or (c_mask in tuples and _apart(d_mask, c_mask)))
    )


def _apart(d: int, c: int) -> bool:
    return not d & c and d.bit_length() > 256 == c.bit_length() > 256


def _widths(op: MatrixOp) -> tuple[int, int, int]:
    registers = op.registers
    return registers.cd.vgprs, registers.a.vgprs, registers.b.vgprs


def _operand_faults(op: MatrixOp, tuples: list[Tuple | None]) -> Iterator[Fault]:
    width, width_a, width_b = _widths(op)
    names = "D", "A", "B", "the index" if op.sparse else "C"
    for name, found, count in zip(names, tuples, (width, width_a, width_b, 1 if op.sparse else width), strict=True):
        if found is None:
            continue
        first, given, acc = found
        if given != count:
            reason = f"{name} of {op.mnemonic} has {count} registers, but {Vgprs(*found)} are {given}."
            yield "operand-width", reason, ASSEMBLER
        elif count > 1 and first % 2:
            other = Vgprs(first - 1, count, acc)
            reason = f"{Vgprs(*found)} is {name}: a tuple must start at an even register, as {other} does."
            yield "misaligned-tuple", reason, ASSEMBLER
    d, c = tuples[0], tuples[3]
    if op.sparse or d is None or c is None or d == c:
        return
    if d[2] != c[2]:
        reason = f"D is {Vgprs(*d)} and C is {Vgprs(*c)}: both must be in v or both in a."
        yield "register-files", reason, ASSEMBLER
    elif Vgprs(*d).overlaps(Vgprs(*c)):
        reason = (
            f"C, {Vgprs(*c)}, partly overlaps D, {Vgprs(*d)}: they must be the same registers or have none in common"
        )
        if width > SMALL:
            yield "partial-overlap", f"{reason}.", ASSEMBLER
        else:
            yield "may-overlap", f"{reason}; up to {SMALL} registers LLVM accepts it.", ASSEMBLER


def _modifier_faults(op: MatrixOp, written: str) -> Iterator[Fault]:
    read = parse(f"{op.mnemonic} {_any_operands(op)} {written}")
    if op.sparse:
        if read.cbsz or read.abid:
            reason = "vendor texts disagree about cbsz and abid of sparse instructions, so what they do is uncertain."
            yield "may-modifier", reason, MODIFIERS
        return
    cbsz, abid, blgp = read.cbsz, read.abid, read.blgp
    # One at a time, so that each is reported.
    for values, ignored in (
        ((cbsz, 0, 0), op.max_cbsz == 0),
        ((min(cbsz, op.max_cbsz), abid, 0), min(cbsz, op.max_cbsz) == 0),
        ((0, 0, blgp), op.blgp is Blgp.NONE and not blgp_is_disputed(op)),
    ):
        try:
            check_modifiers(op, *values)
        except ModifierError as error:
            yield "ignored-modifier" if ignored else "illegal-modifier", str(error), MODIFIERS


def _any_operands(op: MatrixOp) -> str:
    width, width_a, width_b = _widths(op)
    return f"{Vgprs(0, width)}, {Vgprs(0, width_a)}, {Vgprs(0, width_b)}, {'v0' if op.sparse else Vgprs(0, width)}"


def _respelled(op: MatrixOp, texts: list[str], tuples: list[Tuple | None], registers: Registers, modifiers: str) -> str:
    """Write the instruction with numbers for symbols, and with harmless registers for those that nobody knows."""
    width, width_a, width_b = _widths(op)
    d, c = tuples[0], tuples[3]
    if not op.sparse:
        stand_in = d or c or (0, width, False)
        d = d or stand_in
    spare = (d or (0, width, False), (0, width_a, False), (0, width_b, False), (0, 1, False) if op.sparse else d)
    operands = []
    for text, found, other in zip(texts, (d, *tuples[1:]), spare, strict=True):
        is_constant = found is None and not registers[text]
        operands.append(text.strip() if is_constant else str(Vgprs(*(found or other))))  # type: ignore[misc]
    return f"{op.mnemonic} {', '.join(operands)} {modifiers}"


def _refusal(text: str) -> str:
    """Return why the assembler refuses an instruction; nothing if it does not."""
    try:
        parse(text)
    except EncodingError as error:
        return str(error)
    return ""


def _why_unknown(mnemonic: str) -> str:
    name = mnemonic.lower()
    if name in RETIRED:
        return f"{mnemonic} is not on gfx942; {RETIRED[name]} is the same tile with twice the K."
    return f"gfx942 has no {mnemonic}.{near(name, list(MATRIX))}"
