"""A decoded instruction: one value that says all that its bytes say."""

from __future__ import annotations

from dataclasses import dataclass

from mfma.emulator.decode.records import Encoding, Row

__all__ = ["NONE", "VGPR", "Dpp", "Instruction", "Modifiers", "Operand", "Sdwa", "Undecoded"]

VGPR = 256
"""Source code of v0."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A register, a constant or a literal that an instruction reads or writes.

    ``code`` is the source code of the ISA manual: 0 to 101 are SGPRs, 106 is VCC, 124 M0, 126 EXEC, 128 to 208 and
    240 to 248 inline constants, 255 the ``literal``, 256 + n VGPR n, or AGPR n with ``acc``. ``dwords`` counts
    32-bit registers from there.
    """

    code: int
    dwords: int = 1
    acc: bool = False
    literal: int | None = None

    @property
    def vgpr(self) -> int | None:
        """Number of the first vector register, or None for everything else."""
        return self.code - VGPR if self.code >= VGPR else None


@dataclass(frozen=True, slots=True)
class Sdwa:
    """Sub-dword addressing: selections 0 to 3 are bytes, 4 and 5 words, 6 the dword; ``dst_unused`` pads, extends
    or preserves."""

    dst_sel: int = 6
    dst_unused: int = 0
    src0_sel: int = 6
    src1_sel: int = 6
    src0_sext: bool = False
    src1_sext: bool = False


@dataclass(frozen=True, slots=True)
class Dpp:
    """Data-parallel primitives: which lane the first source comes from, and which rows and banks are written."""

    ctrl: int
    row_mask: int = 15
    bank_mask: int = 15
    bound_ctrl: bool = False


@dataclass(frozen=True, slots=True)
class Modifiers:
    """Everything of an instruction besides row and operands; the defaults mean "none".

    ``neg``, ``abs``, ``op_sel``, ``op_sel_hi`` and ``neg_hi`` have bit i for source i, ``op_sel`` bit 3 for the
    destination; ``imm`` is the 16-bit field of SOPK and SOPP as it stands, without a sign.
    """

    neg: int = 0
    abs: int = 0
    op_sel: int = 0
    op_sel_hi: int = 0
    neg_hi: int = 0
    clamp: bool = False
    omod: int = 0
    sdwa: Sdwa | None = None
    dpp: Dpp | None = None
    imm: int = 0
    cbsz: int = 0
    abid: int = 0
    blgp: int = 0
    # Memory: `offset` in bytes, with its sign; sc0 (glc on SMEM), nt and sc1 are the cache policy.
    offset: int = 0
    offset0: int = 0
    offset1: int = 0
    sc0: bool = False
    nt: bool = False
    sc1: bool = False
    lds: bool = False
    gds: bool = False
    offen: bool = False
    idxen: bool = False
    dfmt: int = 0
    nfmt: int = 0


NONE = Modifiers()
"""No modifier at all; most instructions share this value."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction at an address.

    ``size`` is in bytes, 4 or 8; ``word`` holds them as one little-endian integer, a literal or the dword of SDWA or
    DPP included. ``dst`` and ``src`` are in the order of the text and one to one with the slots of ``row``.
    """

    address: int
    size: int
    word: int
    row: Row
    dst: tuple[Operand, ...] = ()
    src: tuple[Operand, ...] = ()
    modifiers: Modifiers = NONE

    @property
    def name(self) -> str:
        """The mnemonic without the suffix of an encoding."""
        return self.row.name

    @property
    def mnemonic(self) -> str:
        """The mnemonic as the disassembler prints it, with ``_e32``, ``_e64``, ``_sdwa`` or ``_dpp``."""
        if self.modifiers.sdwa is not None:
            return self.row.name + "_sdwa"
        if self.modifiers.dpp is not None:
            return self.row.name + "_dpp"
        return self.row.name + self.row.suffix

    def get(self, field: str) -> Operand | None:
        """Return the operand in a field such as ``saddr``, or None if the instruction has none there.

        Of a field that is written and read, such as ``vdst`` of an accumulating instruction, it is the written one.
        """
        for slot, operand in zip(self.row.dst + self.row.src, self.dst + self.src, strict=True):
            if slot.field == field:
                return operand if operand.dwords else None
        return None

    @property
    def text(self) -> str:
        """The line as ``llvm-objdump`` prints it, without address and comment."""
        from mfma.emulator.decode.text import render

        return render(self)

    @property
    def target(self) -> int | None:
        """Address that a branch or a call goes to, or None if this is none or goes where a register says."""
        if self.row.encoding not in (Encoding.SOPP, Encoding.SOPK) or self.row.style != "branch":
            return None
        jump = (self.modifiers.imm ^ 0x8000) - 0x8000
        return self.address + 4 + 4 * jump & 0xFFFF_FFFF_FFFF_FFFF

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Undecoded:
    """A dword that begins no instruction of gfx942."""

    address: int
    word: int
