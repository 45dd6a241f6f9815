"""The record of one instruction of one encoding: its opcode, its operands and where the word holds them."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property

from mfma.emulator.decode.memory_records import Access

__all__ = ["Encoding", "Feature", "File", "Row", "Slot", "Type"]


class Encoding(enum.Enum):
    """The instruction formats of gfx942, by the names of the ISA manual."""

    SOP1 = "SOP1"
    SOP2 = "SOP2"
    SOPK = "SOPK"
    SOPC = "SOPC"
    SOPP = "SOPP"
    SMEM = "SMEM"
    VOP1 = "VOP1"
    VOP2 = "VOP2"
    VOPC = "VOPC"
    VOP3 = "VOP3"
    VOP3P = "VOP3P"
    MAI = "VOP3P-MAI"
    DS = "DS"
    FLAT = "FLAT"
    GLOBAL = "GLOBAL"
    SCRATCH = "SCRATCH"
    MUBUF = "MUBUF"
    MTBUF = "MTBUF"

    @cached_property
    def vector(self) -> bool:
        """Whether the vector ALU or the matrix core executes it."""
        return self.name.startswith("V") or self is Encoding.MAI


class File(enum.Enum):
    """What the number in an operand's field can name."""

    VGPR = "a vector register, by its number"
    SDST = "a scalar register that is written: SGPRs, VCC, EXEC, M0, trap registers"
    SDST_NO_M0 = "a scalar register but M0, written by the vector ALU"
    SSRC = "a scalar source of 8 bits: scalar registers, constants, a literal"
    SGPR = "a scalar register that is read, status bits and apertures too: no constant, no literal"
    SRC = "a source of 9 bits: scalar sources, and 256 + n is vector register n"
    VSRC = "a source of 9 bits that must be a vector register: 256 + n"
    CONSTANT = "a source of 9 bits that is a vector register or an inline constant"
    FIXED = "no field: the register is always the same"
    LITERAL = "the 32 bits that follow the word"
    IMMEDIATE = "a number of the word itself, which stands among the operands in the text"
    SREG = "a scalar register other than M0 and EXEC"
    OFF = "no register: the address has no such part"


class Type(enum.Enum):
    """How the bits of an operand are read; inline constants take their pattern and their text from it."""

    B16 = "b16", 16, False
    F16 = "f16", 16, True
    BF16 = "bf16", 16, True
    B32 = "b32", 32, False
    F32 = "f32", 32, True
    B64 = "b64", 64, False
    F64 = "f64", 64, True
    PK_B16 = "2 x b16", 16, False
    PK_F16 = "2 x f16", 16, True
    PK_B32 = "2 x b32", 32, False
    PK_F32 = "2 x f32", 32, True
    B128 = "b128", 128, False

    def __init__(self, text: str, bits: int, floating: bool) -> None:
        self.text = text
        self.bits = bits
        """Width of one element."""
        self.floating = floating
        """Whether the element is a floating-point number."""

    @cached_property
    def packed(self) -> bool:
        """Whether a register holds two elements, or two registers one element each."""
        return self.name.startswith("PK_")

    @cached_property
    def dwords(self) -> int:
        """32-bit registers of one operand."""
        return max(1, self.bits * (2 if self.packed else 1) // 32)


class Feature(enum.Flag):
    """What the words of a vector instruction may hold besides operands, and in which encodings they exist."""

    CLAMP = enum.auto()
    OMOD = enum.auto()
    OP_SEL = enum.auto()
    SDWA = enum.auto()
    DPP = enum.auto()
    LAX = enum.auto()
    """Sources without signs have ignored bits in the places of neg and abs, not bits that must be 0."""
    BYTE_SEL = enum.auto()
    """The place of a third source in op_sel is the second bit of the byte that is written."""
    MIX = enum.auto()
    """VOP3P with scalar elements: neg_hi is abs."""
    DOT = enum.auto()
    """VOP3P of whole registers: no op_sel."""


NO_FEATURES = Feature(0)


@dataclass(frozen=True)
class Slot:
    """Where an instruction word holds one operand, and what may stand there.

    ``field`` names a bit field of the encoding's word; ``dwords`` counts 32-bit registers; ``signs`` says that the
    modifiers ``neg`` and ``abs`` apply; ``acc`` names the field that turns VGPRs to AGPRs, or is True for AGPRs only;
    ``code`` is the source code of a `File.FIXED` register, such as 106 for VCC. A ``hidden`` operand is read or
    written but not printed.
    """

    field: str
    file: File
    dwords: int = 1
    type: Type = Type.B32
    signs: bool = False
    acc: str | bool = ""
    code: int = 0
    hidden: bool = False


@dataclass(frozen=True)
class Row:
    """One instruction of one encoding.

    ``name`` is the mnemonic without the suffix of an encoding, so an instruction of VOP2 and its form in VOP3 share
    it; ``suffix`` is what the disassembler appends, such as ``_e32``. ``dst`` and ``src`` are in the order of the
    text. ``zero`` are the bits of the word, outside prefix and opcode, that must be 0.
    """

    name: str
    encoding: Encoding
    opcode: int
    dst: tuple[Slot, ...] = ()
    src: tuple[Slot, ...] = ()
    suffix: str = ""
    zero: int = 0
    style: str = ""
    """What is special about the text, read by the encoding's own functions; mostly empty."""
    features: Feature = NO_FEATURES
    access: Access | None = None
    """What an instruction of the memory encodings does to memory."""

    @cached_property
    def signs(self) -> int:
        """The sources that take ``neg`` and ``abs``, source i as bit i."""
        return sum(1 << i for i, slot in enumerate(self.src) if slot.signs)
