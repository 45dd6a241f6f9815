"""Vector instructions as text: signs around the operands, modifiers behind them."""

from __future__ import annotations

from mfma.emulator.decode.instruction import Dpp, Instruction, Modifiers, Sdwa
from mfma.emulator.decode.records import Encoding, Feature, Row
from mfma.emulator.decode.text import WRITERS, operand_text
from mfma.isa.cdna3 import DENSE
from mfma.isa.spec import Blgp

__all__: list[str] = []

OMOD = ("", " mul:2", " mul:4", " div:2")
SELECTIONS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
NEGATING = frozenset(op.mnemonic for op in DENSE if op.blgp is Blgp.NEG)
"""Matrix instructions whose ``blgp`` is the signs of A, B and C."""


def _vector(instruction: Instruction) -> str:
    row, modifiers = instruction.row, instruction.modifiers
    behind = _behind(row, modifiers) if modifiers != Modifiers() or row.encoding is Encoding.VOP3P else ""
    return _operands(instruction) + behind


def _operands(instruction: Instruction) -> str:
    row, modifiers = instruction.row, instruction.modifiers
    parts = [operand_text(operand, slot) for slot, operand in zip(row.dst, instruction.dst, strict=True)]
    packed = row.encoding is Encoding.VOP3P and Feature.MIX not in row.features
    neg, absolute = (0, 0) if packed else (modifiers.neg, modifiers.abs)
    sdwa = modifiers.sdwa
    extended = (sdwa.src0_sext, sdwa.src1_sext) if sdwa else (False, False)
    for i, (slot, operand) in enumerate(zip(row.src, instruction.src, strict=True)):
        text = operand_text(operand, slot)
        if absolute >> i & 1:
            text = f"|{text}|"
        if neg >> i & 1:
            constant = 128 <= operand.code <= 248 and not 235 <= operand.code <= 239
            text = f"neg({text})" if constant and not absolute >> i & 1 else f"-{text}"
        parts.append(f"sext({text})" if i < 2 and extended[i] else text)
    return ", ".join(parts)


def _behind(row: Row, modifiers: Modifiers) -> str:
    clamp = (" clamp" if modifiers.clamp else "") + OMOD[modifiers.omod]
    if modifiers.sdwa:
        return clamp + _sdwa(row, modifiers.sdwa)
    if modifiers.dpp:
        return _dpp(modifiers.dpp)
    if row.encoding is Encoding.MAI:
        return _matrix(row, modifiers)
    if row.encoding is Encoding.VOP3P:
        return _packed(row, modifiers) + clamp
    if Feature.OP_SEL not in row.features:
        return clamp
    count = 3 if Feature.BYTE_SEL in row.features else len(row.src)
    selected = modifiers.op_sel & (1 << count) - 1 | modifiers.op_sel >> 3 << count
    return _bits("op_sel", selected, count + 1, 0) + clamp


def _packed(row: Row, modifiers: Modifiers) -> str:
    count = len(row.src)
    if Feature.MIX in row.features:
        return _bits("op_sel", modifiers.op_sel, count, 0) + _bits("op_sel_hi", modifiers.op_sel_hi, count, 0)
    selections = ""
    if Feature.DOT not in row.features:
        selections = _bits("op_sel", modifiers.op_sel, count, 0)
        selections += _bits("op_sel_hi", modifiers.op_sel_hi, count, (1 << count) - 1)
    return selections + _bits("neg_lo", modifiers.neg, count, 0) + _bits("neg_hi", modifiers.neg_hi, count, 0)


def _bits(name: str, value: int, count: int, default: int) -> str:
    return "" if value == default else f" {name}:[{','.join(str(value >> i & 1) for i in range(count))}]"


def _matrix(row: Row, modifiers: Modifiers) -> str:
    given = "".join(f" {name}:{value}" for name in ("cbsz", "abid") if (value := getattr(modifiers, name)))
    if row.name in NEGATING:
        return given + _bits("neg", modifiers.blgp, 3, 0)
    return given + (f" blgp:{modifiers.blgp}" if modifiers.blgp else "")


def _sdwa(row: Row, sdwa: Sdwa) -> str:
    text = f" src0_sel:{SELECTIONS[sdwa.src0_sel]}"
    if row.encoding is not Encoding.VOP1:
        text += f" src1_sel:{SELECTIONS[sdwa.src1_sel]}"
    if row.encoding is Encoding.VOPC or row.style == "dword":
        return text
    return f" dst_sel:{SELECTIONS[sdwa.dst_sel]} dst_unused:{UNUSED[sdwa.dst_unused]}" + text


MOVES = {
    0x130: "wave_shl:1",
    0x134: "wave_rol:1",
    0x138: "wave_shr:1",
    0x13C: "wave_ror:1",
    0x140: "row_mirror",
    0x141: "row_half_mirror",
    0x142: "row_bcast:15",
    0x143: "row_bcast:31",
}
COUNTED = {0x100: "row_shl", 0x110: "row_shr", 0x120: "row_ror", 0x150: "row_newbcast"}


def _dpp(dpp: Dpp) -> str:
    if dpp.ctrl < 0x100:
        move = f"quad_perm:[{','.join(str(dpp.ctrl >> 2 * i & 3) for i in range(4))}]"
    else:
        move = MOVES.get(dpp.ctrl) or f"{COUNTED[dpp.ctrl & ~15]}:{dpp.ctrl & 15}"
    bound = " bound_ctrl:1" if dpp.bound_ctrl else ""
    return f" {move} row_mask:{dpp.row_mask:#x} bank_mask:{dpp.bank_mask:#x}{bound}"


for encoding in Encoding:
    if encoding.vector:
        WRITERS[encoding] = _vector
