"""One line of assembler text to an instruction, with the assembler's own tolerance.

Commas are optional, ``acc`` is ``a``, a tuple may be listed register by register, numbers may be hexadecimal,
binary or octal, and the mnemonic may be an older spelling. Expressions such as ``v[2*2:7]`` are not read.
"""

from __future__ import annotations

from mfma.encoding.instruction import OPS, Instruction
from mfma.encoding.line import Line
from mfma.errors import EncodingError, near
from mfma.isa.spec import Blgp, MatrixOp
from mfma.isa.spellings import ASSEMBLER_SPELLINGS, RETIRED

__all__ = ["parse"]

BY_MNEMONIC = {op.mnemonic: op for op in OPS}
BY_SPELLING = BY_MNEMONIC | {old: BY_MNEMONIC[mnemonic] for old, mnemonic in ASSEMBLER_SPELLINGS.items()}


def parse(text: str) -> Instruction:
    """Return the instruction of one line of assembler text.

    Modifiers stand behind the operands in the order ``cbsz:``, ``abid:``, ``blgp:`` (``neg:[a,b,c]`` on f64,
    neither on a sparse instruction), as the assembler wants them. Comments are skipped.

    Raises:
        EncodingError: the line cannot be read, or the assembler would refuse it.

    >>> print(parse("v_mfma_f32_4x4x4f16 a[0:3], v[4:5], v[6:7], 0 cbsz:2 abid:1"))
    v_mfma_f32_4x4x4_16b_f16 a[0:3], v[4:5], v[6:7], 0 cbsz:2 abid:1
    """
    line = Line(text)
    op = _op(line)
    d = line.registers("D")
    line.take(",")
    a = line.registers("A")
    line.take(",")
    b = line.registers("B")
    line.take(",")
    c = line.registers("the index") if op.sparse else line.source("C", op.out.bits)
    modifiers = _modifiers(op, line)
    blgp = modifiers.get("blgp", modifiers.get("neg", 0))
    return Instruction(op, d, a, b, c, modifiers.get("cbsz", 0), modifiers.get("abid", 0), blgp)


def _op(line: Line) -> MatrixOp:
    given = line.token("a mnemonic", "word")
    name = given.lower().removesuffix("_e64")
    op = BY_SPELLING.get(name)
    if op is None:
        if name in RETIRED:
            raise EncodingError(f"{given} is not on gfx942; use {RETIRED[name]}, the same tile with twice the K.")
        raise EncodingError(f"{given} is no matrix instruction of gfx942.{near(name, list(BY_SPELLING))}")
    return op


def _modifiers(op: MatrixOp, line: Line) -> dict[str, int]:
    third = "neg" if op.blgp is Blgp.NEG else "blgp"
    allowed = ["cbsz", "abid"] if op.sparse else ["cbsz", "abid", third]
    found = {}
    for name in allowed:
        if line.take(",", name, ":") or line.take(name, ":"):
            found[name] = line.signs() if name == "neg" else line.integer(name)
    line.take(",")
    if not line.at_end:
        raise EncodingError(
            f"{line.rest!r} cannot stand behind the operands of {op.mnemonic}; it takes {', '.join(allowed)}, each at "
            "most once and in this order."
        )
    return found
