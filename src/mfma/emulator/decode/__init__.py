"""Instruction words of gfx942 to instructions, and instructions to text."""

from mfma.emulator.decode import (  # noqa: F401  they enter rows with the decoder, and texts
    memory_text,
    tables_memory_buffer,
    tables_memory_ds,
    tables_memory_flat,
    tables_memory_smem,
    tables_scalar,
    tables_vector,
    tables_vector3,
    text_scalar,
    text_vector,
)
from mfma.emulator.decode.decoder import decode, decode_all, rows
from mfma.emulator.decode.instruction import Dpp, Instruction, Modifiers, Operand, Sdwa, Undecoded
from mfma.emulator.decode.memory_records import Access, Half, Kind, Number, Operation
from mfma.emulator.decode.records import Encoding, Feature, File, Row, Slot, Type

__all__ = [
    "Access",
    "Dpp",
    "Encoding",
    "Feature",
    "File",
    "Half",
    "Instruction",
    "Kind",
    "Modifiers",
    "Number",
    "Operand",
    "Operation",
    "Row",
    "Sdwa",
    "Slot",
    "Type",
    "Undecoded",
    "decode",
    "decode_all",
    "rows",
]
