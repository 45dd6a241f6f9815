"""Instructions as text, in the words and spacing of ``llvm-objdump``."""

from __future__ import annotations

import struct
from collections.abc import Callable

from mfma.emulator.decode.instruction import VGPR, Instruction, Operand
from mfma.emulator.decode.records import Encoding, File, Slot, Type
from mfma.encoding.operands import VALUES, InlineConstant

__all__ = ["SINGLES_OF", "WRITERS", "constant_text", "operand_text", "operands_text", "render"]

WRITERS: dict[Encoding, Callable[[Instruction], str]] = {}
"""Encoding -> what follows the mnemonic, where it is more than the operands; encodings enter their own."""


def render(instruction: Instruction) -> str:
    """Return the instruction's line, without address and comment."""
    writer = WRITERS.get(instruction.row.encoding, operands_text)
    return f"{instruction.mnemonic} {writer(instruction)}".rstrip()


def operands_text(instruction: Instruction) -> str:
    """Return the operands with commas, without modifiers."""
    row = instruction.row
    pairs = [*zip(row.dst, instruction.dst, strict=True), *zip(row.src, instruction.src, strict=True)]
    return ", ".join(operand_text(operand, slot) for slot, operand in pairs if not slot.hidden)


SINGLE = {
    124: "m0", 235: "src_shared_base", 236: "src_shared_limit", 237: "src_private_base", 238: "src_private_limit",
    239: "src_pops_exiting_wave_id", 251: "src_vccz", 252: "src_execz", 253: "src_scc",
}  # fmt: skip
PAIRS = {102: "flat_scratch", 104: "xnack_mask", 106: "vcc", 126: "exec"}
TTMP = 108
INTEGERS = 209
"""Inline constants below this code are integers, the others floating-point numbers."""


def operand_text(operand: Operand, slot: Slot) -> str:
    """Return one operand: a register, a constant or a literal."""
    if slot.file is File.OFF:
        return "off"
    if operand.literal is not None:
        return f"{operand.literal:#x}" if slot.file is File.LITERAL else literal_text(operand.literal, slot.type)
    if operand.code in VALUES:
        return constant_text(operand.code, slot.type)
    return register_text(operand.code, operand.dwords, operand.acc)


def register_text(code: int, dwords: int, acc: bool) -> str:
    """Return the name of a register or of a tuple of them."""
    if code in SINGLE:
        return SINGLE[code]
    pair = code & ~1
    if pair in PAIRS:
        return PAIRS[pair] + ("" if dwords == 2 else ("_lo", "_hi")[code & 1])
    file, start = ("a" if acc else "v", VGPR) if code >= VGPR else ("ttmp", TTMP) if code >= TTMP else ("s", 0)
    first = code - start
    return f"{file}{first}" if dwords == 1 else f"{file}[{first}:{first + dwords - 1}]"


def constant_text(code: int, type: Type) -> str:
    """Return an inline constant, which integers of 16 bits show as the bits of an f16."""
    constant = InlineConstant(code)
    if type is Type.B16 and code >= INTEGERS:
        return f"{_half(constant):#x}"
    return constant.text(64 if type.bits == 64 else 32)


def literal_text(value: int, type: Type) -> str:
    """Return a literal; one that an inline constant could hold is marked, so that it assembles to the same word."""
    if type is Type.F64:  # the literal is the upper half, the lower is 0
        return F64_UPPER.get(value, f"{value:#x}")
    small = value <= 64 or (value >= 0xFFFF_FFF0 and type is not Type.B64)
    marked = small or value in FLOATS.get(type, ())
    if type in (Type.B16, Type.F16):
        low = value & 0xFFFF
        marked = marked or (type is Type.F16 and (low <= 64 or low >= 0xFFF0 or low in HALVES))
        return f"lit({value:#x})" if marked else f"{low:#x}"
    return f"lit({value:#x})" if marked else f"{value:#x}"


def _half(constant: InlineConstant) -> int:
    return int.from_bytes(struct.pack("<e", constant.value), "little")


FLOAT_CONSTANTS = [InlineConstant(code) for code in range(240, 249)]
SINGLES = frozenset(constant.pattern(32) for constant in FLOAT_CONSTANTS)
SINGLES_OF = {InlineConstant(code).pattern(32): InlineConstant(code).text(32) for code in VALUES}
"""Pattern of 32 bits -> the inline constant that has it."""
HALVES = frozenset(map(_half, FLOAT_CONSTANTS))
FLOATS = dict.fromkeys((Type.B32, Type.F32, Type.B16, Type.PK_B16), SINGLES) | {Type.PK_F16: HALVES}
"""Type of an operand -> the literals that are marked for being those of floating-point constants."""
F64_UPPER = {0: "0"} | {c.pattern(64) >> 32: str(c) for c in FLOAT_CONSTANTS if c.pattern(64) & 0xFFFF_FFFF == 0}
"""Upper half of an f64 -> the constant that has it, with 0 as lower half."""
