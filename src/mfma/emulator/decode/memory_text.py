"""What follows the operands of a memory instruction: offsets, formats and cache policy."""

from __future__ import annotations

from mfma.emulator.decode.instruction import Instruction, Modifiers
from mfma.emulator.decode.memory_words import Smem
from mfma.emulator.decode.records import Encoding, File
from mfma.emulator.decode.text import WRITERS, operand_text, operands_text

__all__ = ["DATA_FORMATS", "NUMBER_FORMATS"]

DATA_FORMATS = (
    "INVALID", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8",
    "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15",
)  # fmt: skip
"""Names of ``dfmt``: the bits of the components of an element in a buffer."""
NUMBER_FORMATS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT")
"""Names of ``nfmt``: what number a component is."""
DEFAULT_DFMT, DEFAULT_NFMT = 1, 0

SWIZZLE_ROTATE, SWIZZLE_FFT = 0xC000, 0xE000
"""The least offsets of ``ds_swizzle_b32`` that rotate, and that exchange as an FFT does."""
LANES = 31
"""Mask of a lane in the groups of 32 that ``ds_swizzle_b32`` works in."""


def _smem(instruction: Instruction) -> str:
    row, modifiers = instruction.row, instruction.modifiers
    slots = zip(row.dst + row.src, instruction.dst + instruction.src, strict=True)
    parts = [operand_text(operand, slot) for slot, operand in slots if not slot.hidden and slot.file is not File.OFF]
    offset = ""
    if row.src and instruction.get("soffset") is None:
        parts.append(_hexadecimal(modifiers.offset))
    elif row.src and Smem(instruction.word).imm:
        offset = f" offset:{_hexadecimal(modifiers.offset)}"
    return ", ".join(parts) + offset + (" glc" if modifiers.sc0 else "")


def _hexadecimal(value: int) -> str:
    return f"-{-value:#x}" if value < 0 else f"{value:#x}"


def _ds(instruction: Instruction) -> str:
    modifiers = instruction.modifiers
    offset = _swizzle(modifiers.offset) if instruction.row.style == "swizzle" else str(modifiers.offset)
    text = (
        operands_text(instruction)
        + (f" offset0:{modifiers.offset0}" if modifiers.offset0 else "")
        + (f" offset1:{modifiers.offset1}" if modifiers.offset1 else "")
        + (f" offset:{offset}" if modifiers.offset else "")
        + (" gds" if modifiers.gds else "")
    )
    return text.lstrip()


def _swizzle(offset: int) -> str:
    """Return the pattern of ``ds_swizzle_b32``: which lane of 32, or of 4, each lane reads."""
    if offset >= SWIZZLE_FFT:
        pattern = f"FFT,{offset & LANES}"
    elif offset >= SWIZZLE_ROTATE:
        pattern = f"ROTATE,{offset >> 10 & 1},{offset >> 5 & LANES}"
    elif offset >> 8 == 0x80:
        pattern = f"QUAD_PERM,{','.join(str(offset >> shift & 3) for shift in (0, 2, 4, 6))}"
    elif offset >> 15:
        return str(offset)
    else:
        pattern = _bitmask(offset & LANES, offset >> 5 & LANES, offset >> 10)
    return f"swizzle({pattern})"


def _bitmask(kept: int, ones: int, flipped: int) -> str:
    """Return the pattern in which lane n reads lane ``(n & kept | ones) ^ flipped``."""
    if kept == LANES and ones == 0 and flipped.bit_count() == 1:
        return f"SWAP,{flipped}"
    if kept == LANES and ones == 0 and flipped and not flipped & flipped + 1:
        return f"REVERSE,{flipped + 1}"
    group = LANES + 1 - kept
    if group > 1 and not group & group - 1 and ones < group and flipped == 0:
        return f"BROADCAST,{group},{ones}"
    bits = [(kept >> bit & 1, ones >> bit & 1, flipped >> bit & 1) for bit in (4, 3, 2, 1, 0)]
    return f'BITMASK_PERM,"{"".join(_bit(*bit) for bit in bits)}"'


def _bit(kept: int, one: int, flipped: int) -> str:
    """Return what becomes of a bit of the lane's number: kept, inverted, 0 or 1."""
    if kept and not one:
        return "pi"[flipped]
    return "01"[one ^ flipped]


def _flat(instruction: Instruction) -> str:
    return operands_text(instruction) + _offset(instruction.modifiers) + _policy(instruction.modifiers)


def _mubuf(instruction: Instruction) -> str:
    modifiers = instruction.modifiers
    lds = " lds" if modifiers.lds else ""
    text = operands_text(instruction) + _address(modifiers) + _offset(modifiers) + _policy(modifiers) + lds
    return text.lstrip()


def _mtbuf(instruction: Instruction) -> str:
    modifiers = instruction.modifiers
    names = [f"BUF_DATA_FORMAT_{DATA_FORMATS[modifiers.dfmt]}"] * (modifiers.dfmt != DEFAULT_DFMT)
    names += [f"BUF_NUM_FORMAT_{NUMBER_FORMATS[modifiers.nfmt]}"] * (modifiers.nfmt != DEFAULT_NFMT)
    form = f" format:[{','.join(names)}]" if names else ""
    return operands_text(instruction) + form + _address(modifiers) + _offset(modifiers) + _policy(modifiers)


def _address(modifiers: Modifiers) -> str:
    return " idxen" * modifiers.idxen + " offen" * modifiers.offen


def _offset(modifiers: Modifiers) -> str:
    return f" offset:{modifiers.offset}" if modifiers.offset else ""


def _policy(modifiers: Modifiers) -> str:
    return " sc0" * modifiers.sc0 + " nt" * modifiers.nt + " sc1" * modifiers.sc1


WRITERS |= {
    Encoding.SMEM: _smem,
    Encoding.DS: _ds,
    Encoding.FLAT: _flat,
    Encoding.GLOBAL: _flat,
    Encoding.SCRATCH: _flat,
    Encoding.MUBUF: _mubuf,
    Encoding.MTBUF: _mtbuf,
}
