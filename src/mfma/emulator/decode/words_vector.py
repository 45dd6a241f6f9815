"""Instruction words of the vector encodings, with the second dwords of SDWA and DPP."""

from __future__ import annotations

from mfma.emulator.decode.instruction import NONE, Dpp, Modifiers, Sdwa
from mfma.emulator.decode.records import Encoding, Feature, File, Row, Slot
from mfma.emulator.decode.words import InstructionWord, Reader, operands
from mfma.encoding.word import MAI, Bits, MaiWord

__all__ = [
    "Mai",
    "Vop1",
    "Vop1Dpp",
    "Vop1Sdwa",
    "Vop2",
    "Vop2Dpp",
    "Vop2Sdwa",
    "Vop3",
    "Vop3p",
    "Vopc",
    "VopcSdwa",
]

SDWA, DPP = 249, 250
"""What src0 of VOP1, VOP2 and VOPC holds if a second dword has the source."""

VCC = 106


class Vop1(InstructionWord):
    """Vector, one source."""

    __slots__ = ()
    encoding, mask, value = Encoding.VOP1, 0xFE00_0000, 0x7E00_0000
    op = Bits(16, 9)
    vdst, src0 = Bits(24, 17), Bits(8, 0)


class Vop2(InstructionWord):
    """Vector, two sources, the second a register."""

    __slots__ = ()
    encoding, mask, value = Encoding.VOP2, 0x8000_0000, 0x0000_0000
    op = Bits(30, 25)
    vdst, vsrc1, src0 = Bits(24, 17), Bits(16, 9), Bits(8, 0)


class Vopc(InstructionWord):
    """Vector comparison into VCC."""

    __slots__ = ()
    encoding, mask, value = Encoding.VOPC, 0xFE00_0000, 0x7C00_0000
    op = Bits(24, 17)
    vsrc1, src0 = Bits(16, 9), Bits(8, 0)


class SdwaWord(InstructionWord):
    """The second dword of sub-dword addressing."""

    __slots__ = ()
    size = 8
    src0 = Bits(39, 32)
    dst_sel, dst_unused = Bits(42, 40), Bits(44, 43)
    clamp, omod = Bits(45, 45), Bits(47, 46)
    src0_sel, src0_sext, src0_neg, src0_abs, s0 = Bits(50, 48), Bits(51, 51), Bits(52, 52), Bits(53, 53), Bits(55, 55)
    src1_sel, src1_sext, src1_neg, src1_abs, s1 = Bits(58, 56), Bits(59, 59), Bits(60, 60), Bits(61, 61), Bits(63, 63)
    vsrc1: Bits

    @classmethod
    def accepts(cls, row: Row) -> bool:
        """Whether the instruction has a form with sub-dword addressing."""
        return Feature.SDWA in row.features

    @classmethod
    def zero(cls, row: Row) -> int:
        """Return the bits of signs that the sources do not take, and of modifiers that the row lacks."""
        zero = 0
        sources = [slot for slot in row.src if slot.field]
        for slot, low in zip(sources, (48, 56), strict=False):
            zero |= (0b001000 if slot.signs else 0b110000) << low
        if len(sources) == 1:
            zero |= 0xBF << 56
        if cls.encoding is not Encoding.VOPC and not row.dst[0].type.floating:
            zero |= 3 << 46
        return zero

    @classmethod
    def reader(cls, slot: Slot) -> Reader:
        """Return a reader that takes scalars where the bit of the source says so."""
        if slot.field not in ("src0", "vsrc1"):
            return super().reader(slot)
        bits: Bits = getattr(cls, slot.field)
        low, scalar = bits.low, (cls.s0 if slot.field == "src0" else cls.s1).low
        tables = operands(File.VGPR, slot.dwords, False), operands(File.SSRC, slot.dwords, False)
        return lambda word: tables[word >> scalar & 1][word >> low & 255]

    def modifiers(self, row: Row) -> Modifiers | None:
        """Return selections, signs, clamp and omod; None for selection 7, which names nothing."""
        compares = self.encoding is Encoding.VOPC
        two = compares or self.encoding is Encoding.VOP2
        signs = 0 if row.src[0].type.packed else row.signs  # packed elements have none here, whatever the bits say
        src1_sel = self.src1_sel if two else 6
        # The conversions from fp8 write all of the destination.
        whole = compares or row.style == "dword"
        dst_sel = 6 if whole else self.dst_sel
        if 7 in (self.src0_sel, src1_sel, dst_sel) or (row.style == "dword" and self.dst_sel != 6):
            return None
        sdwa = Sdwa(
            dst_sel,
            0 if whole else self.dst_unused % 3,
            self.src0_sel,
            src1_sel,
            bool(self.src0_sext),
            bool(self.src1_sext) and two,
        )
        return Modifiers(
            neg=(self.src0_neg | self.src1_neg << 1) & signs,
            abs=(self.src0_abs | self.src1_abs << 1) & signs,
            clamp=not compares and bool(self.clamp),
            omod=0 if compares else self.omod,
            sdwa=sdwa,
        )


class Vop1Sdwa(SdwaWord):
    """VOP1 with sub-dword addressing."""

    __slots__ = ()
    encoding, mask, value = Encoding.VOP1, 0xFE00_01FF, 0x7E00_0000 | SDWA
    op, vdst = Vop1.op, Vop1.vdst


class Vop2Sdwa(SdwaWord):
    """VOP2 with sub-dword addressing."""

    __slots__ = ()
    encoding, mask, value = Encoding.VOP2, 0x8000_01FF, SDWA
    op, vdst, vsrc1 = Vop2.op, Vop2.vdst, Vop2.vsrc1


class VopcSdwa(SdwaWord):
    """VOPC with sub-dword addressing: the result goes to VCC or to any pair of scalar registers."""

    __slots__ = ()
    encoding, mask, value = Encoding.VOPC, 0xFE00_01FF, 0x7C00_0000 | SDWA
    op, vsrc1 = Vopc.op, Vopc.vsrc1
    sdst, sd = Bits(46, 40), Bits(47, 47)

    @classmethod
    def reader(cls, slot: Slot) -> Reader:
        """Return a reader; the register that is fixed in VOPC may be another one here."""
        if slot.file is not File.FIXED:
            return super().reader(slot)
        table = operands(File.SDST, slot.dwords, False)
        low, given = cls.sdst.low, cls.sd.low
        vcc = super().reader(slot)
        return lambda word: table[word >> low & 127] if word >> given & 1 else vcc(word)


class DppWord(InstructionWord):
    """The second dword of data-parallel primitives."""

    __slots__ = ()
    size = 8
    src0 = Bits(39, 32)
    ctrl, bound_ctrl = Bits(48, 40), Bits(51, 51)
    src0_neg, src0_abs, src1_neg, src1_abs = Bits(52, 52), Bits(53, 53), Bits(54, 54), Bits(55, 55)
    bank_mask, row_mask = Bits(59, 56), Bits(63, 60)

    @classmethod
    def accepts(cls, row: Row) -> bool:
        """Whether the instruction has a form with data-parallel primitives."""
        return Feature.DPP in row.features

    @classmethod
    def zero(cls, row: Row) -> int:
        """Return the bits of signs that the sources do not take."""
        zero, sources = 0, [slot for slot in row.src if slot.field]
        for i, low in enumerate((52, 54)):
            lax = Feature.LAX in row.features and i < len(sources)
            if not lax and not row.signs >> i & 1:
                zero |= 3 << low
        return zero

    @classmethod
    def reader(cls, slot: Slot) -> Reader:
        """Return a reader; the first source is a vector register."""
        if slot.field != "src0":
            return super().reader(slot)
        table, low = operands(File.VGPR, slot.dwords, False), cls.src0.low
        return lambda word: table[word >> low & 255]

    def modifiers(self, row: Row) -> Modifiers | None:
        """Return control, masks and signs; None if the control means nothing."""
        ctrl = self.ctrl
        # Operands of 64 bits move between lanes by row_newbcast only.
        wide = max(row.dst[0].dwords, row.src[0].dwords) > 1
        if not NEWBCAST <= ctrl < NEWBCAST + 16 and (wide or ctrl not in CONTROLS):
            return None
        return Modifiers(
            neg=(self.src0_neg | self.src1_neg << 1) & row.signs,
            abs=(self.src0_abs | self.src1_abs << 1) & row.signs,
            dpp=Dpp(ctrl, self.row_mask, self.bank_mask, bool(self.bound_ctrl)),
        )


NEWBCAST = 0x150
CONTROLS = frozenset(
    [
        *range(0x100),
        *range(0x101, 0x110),
        *range(0x111, 0x120),
        *range(0x121, 0x130),
        *(0x130, 0x134, 0x138, 0x13C),
        *range(0x140, 0x144),
    ]
)
"""The movements of 32-bit operands: quad_perm, row shifts and rotation, wave shifts, mirrors, broadcasts."""


class Vop1Dpp(DppWord):
    """VOP1 with data-parallel primitives."""

    __slots__ = ()
    encoding, mask, value = Encoding.VOP1, 0xFE00_01FF, 0x7E00_0000 | DPP
    op, vdst = Vop1.op, Vop1.vdst


class Vop2Dpp(DppWord):
    """VOP2 with data-parallel primitives."""

    __slots__ = ()
    encoding, mask, value = Encoding.VOP2, 0x8000_01FF, DPP
    op, vdst, vsrc1 = Vop2.op, Vop2.vdst, Vop2.vsrc1


class Vop3(InstructionWord):
    """Vector, up to three sources of any kind (VOP3A), or two results (VOP3B, with ``sdst``)."""

    __slots__ = ()
    encoding, mask, value = Encoding.VOP3, 0xFC00_0000, 0xD000_0000
    size = 8
    vdst, abs, op_sel, clamp, op = Bits(7, 0), Bits(10, 8), Bits(14, 11), Bits(15, 15), Bits(25, 16)
    sdst = Bits(14, 8)
    src0, src1, src2, omod, neg = Bits(40, 32), Bits(49, 41), Bits(58, 50), Bits(60, 59), Bits(63, 61)

    @classmethod
    def zero(cls, row: Row) -> int:
        """Return the bits of signs that the sources do not take, and of modifiers that the row lacks."""
        zero = row.zero
        double = any(slot.field == "sdst" for slot in row.dst)
        for i in range(3):
            absent = i >= len(row.src) and not (i == 2 and Feature.BYTE_SEL in row.features)
            if absent or not (row.signs >> i & 1 or Feature.LAX in row.features):
                zero |= 1 << cls.neg.low + i | (0 if double else 1 << cls.abs.low + i)
            if absent and Feature.OP_SEL in row.features:
                zero |= 1 << cls.op_sel.low + i
        if Feature.CLAMP not in row.features:
            zero |= 1 << cls.clamp.low
        if Feature.OMOD not in row.features:
            zero |= 3 << cls.omod.low
        return zero

    def modifiers(self, row: Row) -> Modifiers:
        """Return signs, clamp, omod and op_sel."""
        if not self.word & 0xF800_0000_0000_FF00:
            return NONE
        double = any(slot.field == "sdst" for slot in row.dst)
        return Modifiers(
            neg=self.neg & row.signs,
            abs=0 if double else self.abs & row.signs,
            op_sel=self.op_sel if Feature.OP_SEL in row.features else 0,
            clamp=bool(self.clamp),
            omod=self.omod if Feature.OMOD in row.features else 0,
        )


class Vop3p(InstructionWord):
    """Vector, packed elements."""

    __slots__ = ()
    encoding, mask, value = Encoding.VOP3P, 0xFF80_0000, 0xD380_0000
    size = 8
    vdst, neg_hi, op_sel, clamp, op = Bits(7, 0), Bits(10, 8), Bits(13, 11), Bits(15, 15), Bits(22, 16)
    op_sel_hi_2, op_sel_hi, neg = Bits(14, 14), Bits(60, 59), Bits(63, 61)
    src0, src1, src2 = Bits(40, 32), Bits(49, 41), Bits(58, 50)

    @classmethod
    def zero(cls, row: Row) -> int:
        """Return the bits of a third source that is absent, and of op_sel where there is none."""
        zero = 0
        if len(row.src) < 3:
            zero |= 1 << cls.neg.low + 2 | 1 << cls.neg_hi.low + 2 | 1 << cls.op_sel.low + 2
        if Feature.DOT in row.features:
            zero |= 7 << cls.op_sel.low
        return zero

    def modifiers(self, row: Row) -> Modifiers:
        """Return signs and selections of the low and the high element, and clamp."""
        mix, dot = Feature.MIX in row.features, Feature.DOT in row.features
        high = (self.op_sel_hi | self.op_sel_hi_2 << 2) & (1 << len(row.src)) - 1
        return Modifiers(
            neg=self.neg,
            abs=self.neg_hi if mix else 0,
            neg_hi=0 if mix else self.neg_hi,
            op_sel=self.op_sel,
            op_sel_hi=0 if dot else high,
            clamp=bool(self.clamp),
        )


class Mai(InstructionWord):
    """The matrix instructions, and the moves between VGPRs and AGPRs."""

    __slots__ = ()
    encoding, mask, value = Encoding.MAI, 0xFF80_0000, MAI << 23
    size = 8
    op, vdst, src0, src1, src2 = MaiWord.op, MaiWord.vdst, MaiWord.src0, MaiWord.src1, MaiWord.src2
    acc_a, acc_b, acc_cd = MaiWord.acc_a, MaiWord.acc_b, MaiWord.acc_cd
    cbsz, abid, blgp = MaiWord.cbsz, MaiWord.abid, MaiWord.blgp

    @classmethod
    def zero(cls, row: Row) -> int:
        """Return the modifiers of the moves, and ``blgp`` of the sparse instructions."""
        if row.style == "matrix":
            return row.zero
        return cls.cbsz.largest << cls.cbsz.low | 7 << cls.abid.low | cls.blgp.largest << cls.blgp.low

    def modifiers(self, row: Row) -> Modifiers:
        """Return broadcast and lane pattern; the moves have none."""
        if row.style != "matrix":
            return NONE
        return Modifiers(cbsz=self.cbsz, abid=self.abid, blgp=self.blgp) if self.cbsz | self.abid | self.blgp else NONE
