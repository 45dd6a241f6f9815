"""VOP1, VOP2 and VOPC of gfx942 and their forms in VOP3, as llvm-mc 22.1.8 disassembles them."""

from __future__ import annotations

from dataclasses import replace

from mfma.emulator.decode.decoder import register
from mfma.emulator.decode.records import Encoding, Feature, File, Row, Slot, Type
from mfma.emulator.decode.words_vector import (
    Vop1,
    Vop1Dpp,
    Vop1Sdwa,
    Vop2,
    Vop2Dpp,
    Vop2Sdwa,
    Vop3,
    Vopc,
    VopcSdwa,
)

__all__ = ["FROM_SHORT", "VOP1", "VOP2", "VOPC"]

B16, F16, B32, F32, B64, F64 = Type.B16, Type.F16, Type.B32, Type.F32, Type.B64, Type.F64
PK_B16, PK_F16, PK_F32 = Type.PK_B16, Type.PK_F16, Type.PK_F32
NONE, CLAMP, BOTH = Feature(0), Feature.CLAMP, Feature.CLAMP | Feature.OMOD
SDWA, DPP, LAX = Feature.SDWA, Feature.DPP, Feature.LAX

VCC = Slot("", File.FIXED, 2, B64, code=106)
ACC_D, ACC_A = Slot("vdst", File.VGPR, acc=True), Slot("src0", File.VSRC, acc=True)
NO_RESULT = Vop1.vdst.largest << Vop1.vdst.low


def _vdst(type: Type) -> Slot:
    return Slot("vdst", File.VGPR, type.dwords, type)


def _source(field: str, type: Type) -> Slot:
    return Slot(field, File.SRC if field == "src0" else File.VGPR, type.dwords, type, signs=type.floating)


def _vop1(opcode: int, name: str, dst: Type, src: Type, features: Feature = NONE, style: str = "") -> Row:
    """Return a row; all have a form with DPP, those of 32 bits and less one with SDWA."""
    wide = {dst, src} & {B64, F64}
    features |= DPP if wide else DPP | SDWA
    return Row(name, Encoding.VOP1, opcode, (_vdst(dst),), (_source("src0", src),), "_e32", 0, style, features)


def _vop2(opcode: int, name: str, dst: Type, src0: Type, src1: Type, features: Feature = NONE) -> Row:
    """Return a row; all have a form with DPP."""
    src = (_source("src0", src0), _source("vsrc1", src1))
    return Row(name, Encoding.VOP2, opcode, (_vdst(dst),), src, "_e32", features=features | DPP)


def _k(opcode: int, name: str, type: Type, place: int) -> Row:
    """Return a row with a literal in this place among the sources, which exists in VOP2 alone."""
    src = [replace(_source(field, type), signs=False) for field in ("src0", "vsrc1")]
    src.insert(place, Slot("", File.LITERAL, 1, type))
    return Row(name, Encoding.VOP2, opcode, (_vdst(type),), tuple(src))


def _carry(opcode: int, name: str, carry_in: bool) -> Row:
    """Return a row that writes the carry to VCC, or to any pair of SGPRs in VOP3."""
    row = _vop2(opcode, name, B32, B32, B32, CLAMP | SDWA)
    return replace(row, dst=(*row.dst, VCC), src=(*row.src, VCC) if carry_in else row.src)


def _cndmask() -> Row:
    row = _vop2(0x00, "v_cndmask_b32", B32, B32, B32, SDWA)
    return replace(row, src=(*[replace(slot, signs=True) for slot in row.src], VCC))


def _ldexp_f16() -> Row:
    """Return a row whose second source, an integer, has the constants of an f16."""
    row = _vop2(0x33, "v_ldexp_f16", F16, F16, F16, BOTH | SDWA | LAX)
    return replace(row, src=(row.src[0], replace(row.src[1], signs=False)))


CNDMASK, LDEXP_F16 = _cndmask(), _ldexp_f16()

# fmt: off
VOP1 = (
    # opcode, mnemonic, vdst, src0, modifiers
    Row("v_nop", Encoding.VOP1, 0x00, zero=NO_RESULT),
    _vop1(0x01, "v_mov_b32",                    B32, B32),
    Row("v_readfirstlane_b32", Encoding.VOP1, 0x02, (Slot("vdst", File.SDST_NO_M0),), (Slot("src0", File.VSRC),)),
    _vop1(0x03, "v_cvt_i32_f64",                B32, F64, BOTH),
    _vop1(0x04, "v_cvt_f64_i32",                F64, B32, BOTH),
    _vop1(0x05, "v_cvt_f32_i32",                F32, B32, BOTH),
    _vop1(0x06, "v_cvt_f32_u32",                F32, B32, BOTH),
    _vop1(0x07, "v_cvt_u32_f32",                B32, F32, BOTH),
    _vop1(0x08, "v_cvt_i32_f32",                B32, F32, BOTH),
    _vop1(0x0A, "v_cvt_f16_f32",                F16, F32, BOTH),
    _vop1(0x0B, "v_cvt_f32_f16",                F32, F16, BOTH),
    _vop1(0x0C, "v_cvt_rpi_i32_f32",            B32, F32, CLAMP),
    _vop1(0x0D, "v_cvt_flr_i32_f32",            B32, F32, CLAMP),
    _vop1(0x0E, "v_cvt_off_f32_i4",             F32, B32, BOTH),
    _vop1(0x0F, "v_cvt_f32_f64",                F32, F64, BOTH),
    _vop1(0x10, "v_cvt_f64_f32",                F64, F32, BOTH),
    _vop1(0x11, "v_cvt_f32_ubyte0",             F32, B32, BOTH),
    _vop1(0x12, "v_cvt_f32_ubyte1",             F32, B32, BOTH),
    _vop1(0x13, "v_cvt_f32_ubyte2",             F32, B32, BOTH),
    _vop1(0x14, "v_cvt_f32_ubyte3",             F32, B32, BOTH),
    _vop1(0x15, "v_cvt_u32_f64",                B32, F64, BOTH),
    _vop1(0x16, "v_cvt_f64_u32",                F64, B32, BOTH),
    _vop1(0x17, "v_trunc_f64",                  F64, F64, BOTH),
    _vop1(0x18, "v_ceil_f64",                   F64, F64, BOTH),
    _vop1(0x19, "v_rndne_f64",                  F64, F64, BOTH),
    _vop1(0x1A, "v_floor_f64",                  F64, F64, BOTH),
    _vop1(0x1B, "v_fract_f32",                  F32, F32, BOTH),
    _vop1(0x1C, "v_trunc_f32",                  F32, F32, BOTH),
    _vop1(0x1D, "v_ceil_f32",                   F32, F32, BOTH),
    _vop1(0x1E, "v_rndne_f32",                  F32, F32, BOTH),
    _vop1(0x1F, "v_floor_f32",                  F32, F32, BOTH),
    _vop1(0x20, "v_exp_f32",                    F32, F32, BOTH),
    _vop1(0x21, "v_log_f32",                    F32, F32, BOTH),
    _vop1(0x22, "v_rcp_f32",                    F32, F32, BOTH),
    _vop1(0x23, "v_rcp_iflag_f32",              F32, F32, BOTH),
    _vop1(0x24, "v_rsq_f32",                    F32, F32, BOTH),
    _vop1(0x25, "v_rcp_f64",                    F64, F64, BOTH),
    _vop1(0x26, "v_rsq_f64",                    F64, F64, BOTH),
    _vop1(0x27, "v_sqrt_f32",                   F32, F32, BOTH),
    _vop1(0x28, "v_sqrt_f64",                   F64, F64, BOTH),
    _vop1(0x29, "v_sin_f32",                    F32, F32, BOTH),
    _vop1(0x2A, "v_cos_f32",                    F32, F32, BOTH),
    _vop1(0x2B, "v_not_b32",                    B32, B32),
    _vop1(0x2C, "v_bfrev_b32",                  B32, B32),
    _vop1(0x2D, "v_ffbh_u32",                   B32, B32),
    _vop1(0x2E, "v_ffbl_b32",                   B32, B32),
    _vop1(0x2F, "v_ffbh_i32",                   B32, B32),
    _vop1(0x30, "v_frexp_exp_i32_f64",          B32, F64, BOTH),
    _vop1(0x31, "v_frexp_mant_f64",             F64, F64, BOTH),
    _vop1(0x32, "v_fract_f64",                  F64, F64, BOTH),
    _vop1(0x33, "v_frexp_exp_i32_f32",          B32, F32, CLAMP),
    _vop1(0x34, "v_frexp_mant_f32",             F32, F32, BOTH),
    Row("v_clrexcp", Encoding.VOP1, 0x35, zero=NO_RESULT),
    _vop1(0x37, "v_screen_partition_4se_b32",   B32, B32),
    _vop1(0x38, "v_mov_b64",                    B64, B64),
    _vop1(0x39, "v_cvt_f16_u16",                F16, B16, BOTH),
    _vop1(0x3A, "v_cvt_f16_i16",                F16, B16, BOTH),
    _vop1(0x3B, "v_cvt_u16_f16",                B16, F16, BOTH),
    _vop1(0x3C, "v_cvt_i16_f16",                B16, F16, BOTH),
    _vop1(0x3D, "v_rcp_f16",                    F16, F16, BOTH),
    _vop1(0x3E, "v_sqrt_f16",                   F16, F16, BOTH),
    _vop1(0x3F, "v_rsq_f16",                    F16, F16, BOTH),
    _vop1(0x40, "v_log_f16",                    F16, F16, BOTH),
    _vop1(0x41, "v_exp_f16",                    F16, F16, BOTH),
    _vop1(0x42, "v_frexp_mant_f16",             F16, F16, BOTH),
    _vop1(0x43, "v_frexp_exp_i16_f16",          B16, F16, BOTH),
    _vop1(0x44, "v_floor_f16",                  F16, F16, BOTH),
    _vop1(0x45, "v_ceil_f16",                   F16, F16, BOTH),
    _vop1(0x46, "v_trunc_f16",                  F16, F16, BOTH),
    _vop1(0x47, "v_rndne_f16",                  F16, F16, BOTH),
    _vop1(0x48, "v_fract_f16",                  F16, F16, BOTH),
    _vop1(0x49, "v_sin_f16",                    F16, F16, BOTH),
    _vop1(0x4A, "v_cos_f16",                    F16, F16, BOTH),
    _vop1(0x4B, "v_exp_legacy_f32",             F32, F32, BOTH),
    _vop1(0x4C, "v_log_legacy_f32",             F32, F32, BOTH),
    _vop1(0x4D, "v_cvt_norm_i16_f16",           B16, F16, BOTH),
    _vop1(0x4E, "v_cvt_norm_u16_f16",           B16, F16, BOTH),
    _vop1(0x4F, "v_sat_pk_u8_i16",              B32, B32),
    Row("v_swap_b32", Encoding.VOP1, 0x51, (Slot("vdst", File.VGPR),), (Slot("src0", File.VSRC),)),
    Row("v_accvgpr_mov_b32", Encoding.VOP1, 0x52, (ACC_D,), (ACC_A,)),
    _vop1(0x54, "v_cvt_f32_fp8",                F32, B32, BOTH, style="dword"),
    _vop1(0x55, "v_cvt_f32_bf8",                F32, B32, BOTH, style="dword"),
    _vop1(0x56, "v_cvt_pk_f32_fp8",             PK_F32, B32, BOTH, style="dword"),
    _vop1(0x57, "v_cvt_pk_f32_bf8",             PK_F32, B32, BOTH, style="dword"),
)

VOP2 = (
    # opcode, mnemonic, vdst, src0, vsrc1, modifiers
    CNDMASK,
    _vop2(0x01, "v_add_f32",             F32, F32, F32, BOTH | SDWA),
    _vop2(0x02, "v_sub_f32",             F32, F32, F32, BOTH | SDWA),
    _vop2(0x03, "v_subrev_f32",          F32, F32, F32, BOTH | SDWA),
    _vop2(0x04, "v_fmac_f64",            F64, F64, F64, BOTH),
    _vop2(0x05, "v_mul_f32",             F32, F32, F32, BOTH | SDWA),
    _vop2(0x06, "v_mul_i32_i24",         B32, B32, B32, CLAMP | SDWA),
    _vop2(0x07, "v_mul_hi_i32_i24",      B32, B32, B32, SDWA),
    _vop2(0x08, "v_mul_u32_u24",         B32, B32, B32, CLAMP | SDWA),
    _vop2(0x09, "v_mul_hi_u32_u24",      B32, B32, B32, SDWA),
    _vop2(0x0A, "v_min_f32",             F32, F32, F32, BOTH | SDWA),
    _vop2(0x0B, "v_max_f32",             F32, F32, F32, BOTH | SDWA),
    _vop2(0x0C, "v_min_i32",             B32, B32, B32, SDWA),
    _vop2(0x0D, "v_max_i32",             B32, B32, B32, SDWA),
    _vop2(0x0E, "v_min_u32",             B32, B32, B32, SDWA),
    _vop2(0x0F, "v_max_u32",             B32, B32, B32, SDWA),
    _vop2(0x10, "v_lshrrev_b32",         B32, B32, B32, SDWA),
    _vop2(0x11, "v_ashrrev_i32",         B32, B32, B32, SDWA),
    _vop2(0x12, "v_lshlrev_b32",         B32, B32, B32, SDWA),
    _vop2(0x13, "v_and_b32",             B32, B32, B32, SDWA),
    _vop2(0x14, "v_or_b32",              B32, B32, B32, SDWA),
    _vop2(0x15, "v_xor_b32",             B32, B32, B32, SDWA),
    _k(0x17, "v_fmamk_f32",           F32, 1),
    _k(0x18, "v_fmaak_f32",           F32, 2),
    _carry(0x19, "v_add_co_u32",      False),
    _carry(0x1A, "v_sub_co_u32",      False),
    _carry(0x1B, "v_subrev_co_u32",   False),
    _carry(0x1C, "v_addc_co_u32",     True),
    _carry(0x1D, "v_subb_co_u32",     True),
    _carry(0x1E, "v_subbrev_co_u32",  True),
    _vop2(0x1F, "v_add_f16",             F16, F16, F16, BOTH | SDWA),
    _vop2(0x20, "v_sub_f16",             F16, F16, F16, BOTH | SDWA),
    _vop2(0x21, "v_subrev_f16",          F16, F16, F16, BOTH | SDWA),
    _vop2(0x22, "v_mul_f16",             F16, F16, F16, BOTH | SDWA),
    _vop2(0x23, "v_mac_f16",             F16, F16, F16, BOTH),
    _k(0x24, "v_madmk_f16",           F16, 1),
    _k(0x25, "v_madak_f16",           F16, 2),
    _vop2(0x26, "v_add_u16",             B16, B16, B16, CLAMP | SDWA),
    _vop2(0x27, "v_sub_u16",             B16, B16, B16, CLAMP | SDWA),
    _vop2(0x28, "v_subrev_u16",          B16, B16, B16, CLAMP | SDWA),
    _vop2(0x29, "v_mul_lo_u16",          B16, B16, B16, SDWA),
    _vop2(0x2A, "v_lshlrev_b16",         B16, B16, B16, SDWA),
    _vop2(0x2B, "v_lshrrev_b16",         B16, B16, B16, SDWA),
    _vop2(0x2C, "v_ashrrev_i16",         B16, B16, B16, SDWA),
    _vop2(0x2D, "v_max_f16",             F16, F16, F16, BOTH | SDWA),
    _vop2(0x2E, "v_min_f16",             F16, F16, F16, BOTH | SDWA),
    _vop2(0x2F, "v_max_u16",             B16, B16, B16, SDWA),
    _vop2(0x30, "v_max_i16",             B16, B16, B16, SDWA),
    _vop2(0x31, "v_min_u16",             B16, B16, B16, SDWA),
    _vop2(0x32, "v_min_i16",             B16, B16, B16, SDWA),
    LDEXP_F16,
    _vop2(0x34, "v_add_u32",             B32, B32, B32, CLAMP | SDWA),
    _vop2(0x35, "v_sub_u32",             B32, B32, B32, CLAMP | SDWA),
    _vop2(0x36, "v_subrev_u32",          B32, B32, B32, CLAMP | SDWA),
    _vop2(0x37, "v_dot2c_f32_f16",       F32, PK_F16, PK_F16, BOTH),
    _vop2(0x38, "v_dot2c_i32_i16",       B32, PK_B16, PK_B16, CLAMP | LAX),
    _vop2(0x39, "v_dot4c_i32_i8",        B32, B32, B32, CLAMP | LAX),
    _vop2(0x3A, "v_dot8c_i32_i4",        B32, B32, B32, CLAMP | LAX),
    _vop2(0x3B, "v_fmac_f32",            F32, F32, F32, BOTH),
    _vop2(0x3C, "v_pk_fmac_f16",         PK_F16, PK_F16, PK_F16, BOTH | SDWA),
    _vop2(0x3D, "v_xnor_b32",            B32, B32, B32, SDWA),
)
# fmt: on

FLOATING = ("f", "lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru")
INTEGER = ("f", "lt", "eq", "le", "gt", "ne", "ge", "t")
"""Conditions, in the order of the opcodes."""

COMPARED = {
    0x20: ("f16", F16, FLOATING),
    0x40: ("f32", F32, FLOATING),
    0x60: ("f64", F64, FLOATING),
    0xA0: ("i16", B16, INTEGER),
    0xA8: ("u16", B16, INTEGER),
    0xC0: ("i32", B32, INTEGER),
    0xC8: ("u32", B32, INTEGER),
    0xE0: ("i64", B64, INTEGER),
    0xE8: ("u64", B64, INTEGER),
}
"""First opcode of ``v_cmp_<condition>_<type>``; ``v_cmpx``, which writes EXEC too, is 16 above."""

CLASSES = {0x10: ("f32", F32), 0x12: ("f64", F64), 0x14: ("f16", F16)}
"""Opcode of ``v_cmp_class_<type>``; ``v_cmpx`` is 1 above."""


def _vopc(opcode: int, name: str, src0: Type, src1: Type, features: Feature) -> Row:
    features |= SDWA if src0.bits <= 32 else NONE
    src = (_source("src0", src0), _source("vsrc1", src1))
    return Row(name, Encoding.VOPC, opcode, (VCC,), src, "_e32", features=features)


VOPC = (
    *[
        _vopc(first + writes_exec, f"v_cmp{'x' * writes_exec}_class_{text}", type, B32, NONE)
        for first, (text, type) in CLASSES.items()
        for writes_exec in (0, 1)
    ],
    *[
        _vopc(
            first + 16 * writes_exec + number,
            f"v_cmp{'x' * writes_exec}_{condition}_{text}",
            type,
            type,
            CLAMP if type.floating else NONE,
        )
        for first, (text, type, conditions) in COMPARED.items()
        for writes_exec in (0, 1)
        for number, condition in enumerate(conditions)
    ],
)

OFFSETS = {Encoding.VOPC: 0x000, Encoding.VOP2: 0x100, Encoding.VOP1: 0x140}
"""Opcode in VOP3 of opcode 0 of a short encoding."""


def _long(row: Row) -> Row:
    """Return the row of an instruction in VOP3: VCC gives way to any pair of SGPRs, every source to any other."""
    dst, src = list(row.dst), list(row.src)
    if VCC in dst:
        alone = row.encoding is Encoding.VOPC
        dst[dst.index(VCC)] = Slot("vdst" if alone else "sdst", File.SDST, 2, B64)
    for i, slot in enumerate(src):
        file = File.SGPR if slot == VCC else File.SRC
        src[i] = replace(slot, field=f"src{i}", file=file, code=0)
    return replace(
        row,
        encoding=Encoding.VOP3,
        opcode=row.opcode + OFFSETS[row.encoding],
        dst=tuple(dst),
        src=tuple(src),
        suffix="_e64" if row.suffix else "",
        zero=Vop3.vdst.largest if row.zero else 0,
        style="",
        features=row.features & ~(SDWA | DPP),
    )


SHORT_ONLY = {"v_readfirstlane_b32", "v_swap_b32", "v_accvgpr_mov_b32"} | {
    row.name for row in VOP2 if any(slot.file is File.LITERAL for slot in row.src)
}
FROM_SHORT = tuple(_long(row) for row in (*VOPC, *VOP2, *VOP1) if row.name not in SHORT_ONLY)
"""The rows of VOP3 that are instructions of a short encoding."""

for table, words in (
    (VOP1, (Vop1, Vop1Sdwa, Vop1Dpp)),
    (VOP2, (Vop2, Vop2Sdwa, Vop2Dpp)),
    (VOPC, (Vopc, VopcSdwa)),
    (FROM_SHORT, (Vop3,)),
):
    for word in words:
        register(word, table)
