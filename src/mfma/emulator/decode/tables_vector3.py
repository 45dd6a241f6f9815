"""VOP3, VOP3P and VOP3P-MAI of gfx942, as llvm-mc 22.1.8 disassembles them."""

from __future__ import annotations

from mfma.emulator.decode.decoder import register
from mfma.emulator.decode.records import Encoding, Feature, File, Row, Slot, Type
from mfma.emulator.decode.words_vector import Mai, Vop3, Vop3p
from mfma.encoding.instruction import OPS
from mfma.isa.spec import MatrixOp, Operand

__all__ = ["MAI", "VOP3", "VOP3P"]

B16, F16, B32, F32, B64, F64, B128 = Type.B16, Type.F16, Type.B32, Type.F32, Type.B64, Type.F64, Type.B128
PK_B16, PK_F16, PK_B32, PK_F32 = Type.PK_B16, Type.PK_F16, Type.PK_B32, Type.PK_F32
NONE, CLAMP, BOTH = Feature(0), Feature.CLAMP, Feature.CLAMP | Feature.OMOD
OP_SEL, LAX, BYTE_SEL, MIX, DOT = Feature.OP_SEL, Feature.LAX, Feature.BYTE_SEL, Feature.MIX, Feature.DOT


def _slot(field: str, type: Type, file: File = File.SRC) -> Slot:
    return Slot(field, file, type.dwords, type, signs=file is File.SRC and type.floating)


def _vop3(
    opcode: int, name: str, dst: Type, src: tuple[Type, ...], features: Feature = NONE, sdst: bool = False
) -> Row:
    """Return a row; ``sdst`` is for a second result in a pair of SGPRs."""
    results = (_slot("vdst", dst, File.VGPR), Slot("sdst", File.SDST, 2, B64))
    sources = tuple(_slot(f"src{i}", type) for i, type in enumerate(src))
    return Row(name, Encoding.VOP3, opcode, results if sdst else results[:1], sources, features=features)


def _packed(opcode: int, name: str, dst: Type, src: tuple[Type, ...], features: Feature = NONE) -> Row:
    """Return a row whose sources all take signs."""
    sources = tuple(Slot(f"src{i}", File.SRC, type.dwords, type, signs=True) for i, type in enumerate(src))
    return Row(name, Encoding.VOP3P, opcode, (_slot("vdst", dst, File.VGPR),), sources, features=features)


MQSAD_U32 = Row(
    "v_mqsad_u32_u8",
    Encoding.VOP3,
    0x1E7,
    (_slot("vdst", B128, File.VGPR),),
    (_slot("src0", B64), _slot("src1", B32), _slot("src2", B128, File.VSRC)),
    features=CLAMP,
)
SCALARS = (_slot("src0", B32, File.SSRC), _slot("src1", B32, File.SSRC))
READLANE = Row(
    "v_readlane_b32",
    Encoding.VOP3,
    0x289,
    (_slot("vdst", B32, File.SDST_NO_M0),),
    (_slot("src0", B32, File.VSRC), SCALARS[1]),
)
WRITELANE = Row("v_writelane_b32", Encoding.VOP3, 0x28A, (_slot("vdst", B32, File.VGPR),), SCALARS)

# fmt: off
VOP3 = (
    # opcode, mnemonic, vdst, sources, modifiers
    _vop3(0x1C2, "v_mad_i32_i24",          B32, (B32, B32, B32), CLAMP),
    _vop3(0x1C3, "v_mad_u32_u24",          B32, (B32, B32, B32), CLAMP),
    _vop3(0x1C4, "v_cubeid_f32",           F32, (F32, F32, F32), BOTH),
    _vop3(0x1C5, "v_cubesc_f32",           F32, (F32, F32, F32), BOTH),
    _vop3(0x1C6, "v_cubetc_f32",           F32, (F32, F32, F32), BOTH),
    _vop3(0x1C7, "v_cubema_f32",           F32, (F32, F32, F32), BOTH),
    _vop3(0x1C8, "v_bfe_u32",              B32, (B32, B32, B32)),
    _vop3(0x1C9, "v_bfe_i32",              B32, (B32, B32, B32)),
    _vop3(0x1CA, "v_bfi_b32",              B32, (B32, B32, B32)),
    _vop3(0x1CB, "v_fma_f32",              F32, (F32, F32, F32), BOTH),
    _vop3(0x1CC, "v_fma_f64",              F64, (F64, F64, F64), BOTH),
    _vop3(0x1CD, "v_lerp_u8",              B32, (B32, B32, B32)),
    _vop3(0x1CE, "v_alignbit_b32",         B32, (B32, B32, B32), CLAMP | OP_SEL),
    _vop3(0x1CF, "v_alignbyte_b32",        B32, (B32, B32, B32), CLAMP | OP_SEL),
    _vop3(0x1D0, "v_min3_f32",             F32, (F32, F32, F32), BOTH),
    _vop3(0x1D1, "v_min3_i32",             B32, (B32, B32, B32)),
    _vop3(0x1D2, "v_min3_u32",             B32, (B32, B32, B32)),
    _vop3(0x1D3, "v_max3_f32",             F32, (F32, F32, F32), BOTH),
    _vop3(0x1D4, "v_max3_i32",             B32, (B32, B32, B32)),
    _vop3(0x1D5, "v_max3_u32",             B32, (B32, B32, B32)),
    _vop3(0x1D6, "v_med3_f32",             F32, (F32, F32, F32), BOTH),
    _vop3(0x1D7, "v_med3_i32",             B32, (B32, B32, B32)),
    _vop3(0x1D8, "v_med3_u32",             B32, (B32, B32, B32)),
    _vop3(0x1D9, "v_sad_u8",               B32, (B32, B32, B32), CLAMP),
    _vop3(0x1DA, "v_sad_hi_u8",            B32, (B32, B32, B32), CLAMP),
    _vop3(0x1DB, "v_sad_u16",              B32, (PK_B16, PK_B16, B32), CLAMP),
    _vop3(0x1DC, "v_sad_u32",              B32, (B32, B32, B32), CLAMP),
    _vop3(0x1DD, "v_cvt_pk_u8_f32",        B32, (F32, B32, B32), CLAMP | LAX),
    _vop3(0x1DE, "v_div_fixup_f32",        F32, (F32, F32, F32), BOTH),
    _vop3(0x1DF, "v_div_fixup_f64",        F64, (F64, F64, F64), BOTH),
    _vop3(0x1E0, "v_div_scale_f32",        F32, (F32, F32, F32), BOTH, sdst=True),
    _vop3(0x1E1, "v_div_scale_f64",        F64, (F64, F64, F64), BOTH, sdst=True),
    _vop3(0x1E2, "v_div_fmas_f32",         F32, (F32, F32, F32), BOTH),
    _vop3(0x1E3, "v_div_fmas_f64",         F64, (F64, F64, F64), BOTH),
    _vop3(0x1E4, "v_msad_u8",              B32, (B32, B32, B32), CLAMP),
    _vop3(0x1E5, "v_qsad_pk_u16_u8",       B64, (B64, B32, B64), CLAMP),
    _vop3(0x1E6, "v_mqsad_pk_u16_u8",      B64, (B64, B32, B64), CLAMP),
    MQSAD_U32,
    _vop3(0x1E8, "v_mad_u64_u32",          B64, (B32, B32, B64), CLAMP, sdst=True),
    _vop3(0x1E9, "v_mad_i64_i32",          B64, (B32, B32, B64), CLAMP, sdst=True),
    _vop3(0x1EA, "v_mad_legacy_f16",       F16, (F16, F16, F16), BOTH),
    _vop3(0x1EB, "v_mad_legacy_u16",       B16, (B16, B16, B16), CLAMP),
    _vop3(0x1EC, "v_mad_legacy_i16",       B16, (B16, B16, B16), CLAMP),
    _vop3(0x1ED, "v_perm_b32",             B32, (B32, B32, B32)),
    _vop3(0x1EE, "v_fma_legacy_f16",       F16, (F16, F16, F16), BOTH),
    _vop3(0x1EF, "v_div_fixup_legacy_f16", F16, (F16, F16, F16), BOTH),
    _vop3(0x1F0, "v_cvt_pkaccum_u8_f32",   B32, (F32, B32), CLAMP | LAX),
    _vop3(0x1F1, "v_mad_u32_u16",          B32, (B16, B16, B32), CLAMP | OP_SEL),
    _vop3(0x1F2, "v_mad_i32_i16",          B32, (B16, B16, B32), CLAMP | OP_SEL),
    _vop3(0x1F3, "v_xad_u32",              B32, (B32, B32, B32)),
    _vop3(0x1F4, "v_min3_f16",             F16, (F16, F16, F16), BOTH | OP_SEL),
    _vop3(0x1F5, "v_min3_i16",             B16, (B16, B16, B16), CLAMP | OP_SEL),
    _vop3(0x1F6, "v_min3_u16",             B16, (B16, B16, B16), CLAMP | OP_SEL),
    _vop3(0x1F7, "v_max3_f16",             F16, (F16, F16, F16), BOTH | OP_SEL),
    _vop3(0x1F8, "v_max3_i16",             B16, (B16, B16, B16), CLAMP | OP_SEL),
    _vop3(0x1F9, "v_max3_u16",             B16, (B16, B16, B16), CLAMP | OP_SEL),
    _vop3(0x1FA, "v_med3_f16",             F16, (F16, F16, F16), BOTH | OP_SEL),
    _vop3(0x1FB, "v_med3_i16",             B16, (B16, B16, B16), CLAMP | OP_SEL),
    _vop3(0x1FC, "v_med3_u16",             B16, (B16, B16, B16), CLAMP | OP_SEL),
    _vop3(0x1FD, "v_lshl_add_u32",         B32, (B32, B32, B32)),
    _vop3(0x1FE, "v_add_lshl_u32",         B32, (B32, B32, B32)),
    _vop3(0x1FF, "v_add3_u32",             B32, (B32, B32, B32)),
    _vop3(0x200, "v_lshl_or_b32",          B32, (B32, B32, B32)),
    _vop3(0x201, "v_and_or_b32",           B32, (B32, B32, B32)),
    _vop3(0x202, "v_or3_b32",              B32, (B32, B32, B32)),
    _vop3(0x203, "v_mad_f16",              F16, (F16, F16, F16), BOTH | OP_SEL),
    _vop3(0x204, "v_mad_u16",              B16, (B16, B16, B16), CLAMP | OP_SEL),
    _vop3(0x205, "v_mad_i16",              B16, (B16, B16, B16), CLAMP | OP_SEL),
    _vop3(0x206, "v_fma_f16",              F16, (F16, F16, F16), BOTH | OP_SEL),
    _vop3(0x207, "v_div_fixup_f16",        F16, (F16, F16, F16), BOTH | OP_SEL),
    _vop3(0x208, "v_lshl_add_u64",         B64, (B64, B32, B64)),
    _vop3(0x280, "v_add_f64",              F64, (F64, F64), BOTH),
    _vop3(0x281, "v_mul_f64",              F64, (F64, F64), BOTH),
    _vop3(0x282, "v_min_f64",              F64, (F64, F64), BOTH),
    _vop3(0x283, "v_max_f64",              F64, (F64, F64), BOTH),
    _vop3(0x284, "v_ldexp_f64",            F64, (F64, B32), BOTH | LAX),
    _vop3(0x285, "v_mul_lo_u32",           B32, (B32, B32)),
    _vop3(0x286, "v_mul_hi_u32",           B32, (B32, B32)),
    _vop3(0x287, "v_mul_hi_i32",           B32, (B32, B32)),
    _vop3(0x288, "v_ldexp_f32",            F32, (F32, B32), BOTH | LAX),
    READLANE,
    WRITELANE,
    _vop3(0x28B, "v_bcnt_u32_b32",         B32, (B32, B32)),
    _vop3(0x28C, "v_mbcnt_lo_u32_b32",     B32, (B32, B32)),
    _vop3(0x28D, "v_mbcnt_hi_u32_b32",     B32, (B32, B32)),
    _vop3(0x28F, "v_lshlrev_b64",          B64, (B32, B64)),
    _vop3(0x290, "v_lshrrev_b64",          B64, (B32, B64)),
    _vop3(0x291, "v_ashrrev_i64",          B64, (B32, B64)),
    _vop3(0x292, "v_trig_preop_f64",       F64, (F64, B32), BOTH | LAX),
    _vop3(0x293, "v_bfm_b32",              B32, (B32, B32)),
    _vop3(0x294, "v_cvt_pknorm_i16_f32",   PK_B16, (F32, F32), CLAMP),
    _vop3(0x295, "v_cvt_pknorm_u16_f32",   PK_B16, (F32, F32), CLAMP),
    _vop3(0x296, "v_cvt_pkrtz_f16_f32",    PK_F16, (F32, F32), BOTH),
    _vop3(0x297, "v_cvt_pk_u16_u32",       PK_B16, (B32, B32)),
    _vop3(0x298, "v_cvt_pk_i16_i32",       PK_B16, (B32, B32)),
    _vop3(0x299, "v_cvt_pknorm_i16_f16",   PK_B16, (F16, F16), CLAMP | OP_SEL),
    _vop3(0x29A, "v_cvt_pknorm_u16_f16",   PK_B16, (F16, F16), CLAMP | OP_SEL),
    _vop3(0x29C, "v_add_i32",              B32, (B32, B32), CLAMP),
    _vop3(0x29D, "v_sub_i32",              B32, (B32, B32), CLAMP),
    _vop3(0x29E, "v_add_i16",              B16, (B16, B16), CLAMP | OP_SEL),
    _vop3(0x29F, "v_sub_i16",              B16, (B16, B16), CLAMP | OP_SEL),
    _vop3(0x2A0, "v_pack_b32_f16",         PK_F16, (F16, F16), CLAMP | OP_SEL),
    _vop3(0x2A1, "v_mul_legacy_f32",       F32, (F32, F32), BOTH),
    _vop3(0x2A2, "v_cvt_pk_fp8_f32",       B32, (F32, F32), OP_SEL),
    _vop3(0x2A3, "v_cvt_pk_bf8_f32",       B32, (F32, F32), OP_SEL),
    _vop3(0x2A4, "v_cvt_sr_fp8_f32",       B32, (F32, B32), OP_SEL | BYTE_SEL | LAX),
    _vop3(0x2A5, "v_cvt_sr_bf8_f32",       B32, (F32, B32), OP_SEL | BYTE_SEL | LAX),
)

VOP3P = (
    # opcode, mnemonic, vdst, sources, kind
    _packed(0x00, "v_pk_mad_i16",     PK_B16, (PK_B16, PK_B16, PK_B16)),
    _packed(0x01, "v_pk_mul_lo_u16",  PK_B16, (PK_B16, PK_B16)),
    _packed(0x02, "v_pk_add_i16",     PK_B16, (PK_B16, PK_B16)),
    _packed(0x03, "v_pk_sub_i16",     PK_B16, (PK_B16, PK_B16)),
    _packed(0x04, "v_pk_lshlrev_b16", PK_B16, (PK_B16, PK_B16)),
    _packed(0x05, "v_pk_lshrrev_b16", PK_B16, (PK_B16, PK_B16)),
    _packed(0x06, "v_pk_ashrrev_i16", PK_B16, (PK_B16, PK_B16)),
    _packed(0x07, "v_pk_max_i16",     PK_B16, (PK_B16, PK_B16)),
    _packed(0x08, "v_pk_min_i16",     PK_B16, (PK_B16, PK_B16)),
    _packed(0x09, "v_pk_mad_u16",     PK_B16, (PK_B16, PK_B16, PK_B16)),
    _packed(0x0A, "v_pk_add_u16",     PK_B16, (PK_B16, PK_B16)),
    _packed(0x0B, "v_pk_sub_u16",     PK_B16, (PK_B16, PK_B16)),
    _packed(0x0C, "v_pk_max_u16",     PK_B16, (PK_B16, PK_B16)),
    _packed(0x0D, "v_pk_min_u16",     PK_B16, (PK_B16, PK_B16)),
    _packed(0x0E, "v_pk_fma_f16",     PK_F16, (PK_F16, PK_F16, PK_F16)),
    _packed(0x0F, "v_pk_add_f16",     PK_F16, (PK_F16, PK_F16)),
    _packed(0x10, "v_pk_mul_f16",     PK_F16, (PK_F16, PK_F16)),
    _packed(0x11, "v_pk_min_f16",     PK_F16, (PK_F16, PK_F16)),
    _packed(0x12, "v_pk_max_f16",     PK_F16, (PK_F16, PK_F16)),
    _packed(0x20, "v_fma_mix_f32",    F32, (F16, F16, F16), MIX),
    _packed(0x21, "v_fma_mixlo_f16",  F16, (F16, F16, F16), MIX),
    _packed(0x22, "v_fma_mixhi_f16",  F16, (F16, F16, F16), MIX),
    _packed(0x23, "v_dot2_f32_f16",   F32, (PK_F16, PK_F16, F32)),
    _packed(0x26, "v_dot2_i32_i16",   B32, (PK_B16, PK_B16, B32)),
    _packed(0x27, "v_dot2_u32_u16",   B32, (PK_B16, PK_B16, B32)),
    _packed(0x28, "v_dot4_i32_i8",    B32, (B32, B32, B32), DOT),
    _packed(0x29, "v_dot4_u32_u8",    B32, (B32, B32, B32), DOT),
    _packed(0x2A, "v_dot8_i32_i4",    B32, (B32, B32, B32), DOT),
    _packed(0x2B, "v_dot8_u32_u4",    B32, (B32, B32, B32), DOT),
    _packed(0x30, "v_pk_fma_f32",     PK_F32, (PK_F32, PK_F32, PK_F32)),
    _packed(0x31, "v_pk_mul_f32",     PK_F32, (PK_F32, PK_F32)),
    _packed(0x32, "v_pk_add_f32",     PK_F32, (PK_F32, PK_F32)),
    _packed(0x33, "v_pk_mov_b32",     PK_B32, (PK_B32, PK_B32)),
)
# fmt: on


def _matrix(op: MatrixOp) -> Row:
    """Return the row of a matrix instruction: D and C share the choice of register file."""
    registers = op.registers
    d = Slot("vdst", File.VGPR, registers.cd.vgprs, _element(registers.cd), acc="acc_cd")
    c = Slot("src2", File.CONSTANT, registers.cd.vgprs, _element(registers.cd), acc="acc_cd")
    index = Slot("src2", File.VSRC)
    sources = (
        Slot("src0", File.VSRC, registers.a.vgprs, _element(registers.a), acc="acc_a"),
        Slot("src1", File.VSRC, registers.b.vgprs, _element(registers.b), acc="acc_b"),
        index if op.sparse else c,
    )
    zero = Mai.blgp.largest << Mai.blgp.low if op.sparse else 0
    return Row(op.mnemonic, Encoding.MAI, op.opcode, (d,), sources, "", zero, "matrix")


def _element(operand: Operand) -> Type:
    """Return the type that decides the constants of an operand: f64, or 32-bit elements."""
    return F64 if operand.format.bits == 64 else B32


MAI = (
    *map(_matrix, OPS),
    Row("v_accvgpr_read_b32", Encoding.MAI, 0x58, (Slot("vdst", File.VGPR),), (Slot("src0", File.VSRC, acc=True),)),
    Row("v_accvgpr_write_b32", Encoding.MAI, 0x59, (Slot("vdst", File.VGPR, acc=True),), (Slot("src0", File.SRC),)),
)

for word, rows in ((Vop3, VOP3), (Vop3p, VOP3P), (Mai, MAI)):
    register(word, rows)
