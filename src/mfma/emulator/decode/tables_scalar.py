"""The scalar instructions of gfx942, as llvm-mc 22.1.8 disassembles them."""

from __future__ import annotations

from mfma.emulator.decode.decoder import register
from mfma.emulator.decode.records import Encoding, File, Row, Slot, Type
from mfma.emulator.decode.words import Sop1, Sop2, Sopc, Sopk, Sopp

__all__ = ["SOP1", "SOP2", "SOPC", "SOPK", "SOPP"]


def _slots(field: str, file: File, dwords: int) -> tuple[Slot, ...]:
    """Return the one slot of a field, or none for no dwords."""
    return (Slot(field, file, dwords, Type.B64 if dwords == 2 else Type.B32),) if dwords else ()


def _sop2(opcode: int, name: str, sdst: int, ssrc0: int, ssrc1: int) -> Row:
    """Return a row from the dwords of the operands."""
    src = _slots("ssrc0", File.SSRC, ssrc0) + _slots("ssrc1", File.SSRC, ssrc1)
    return Row(name, Encoding.SOP2, opcode, _slots("sdst", File.SDST, sdst), src)


def _sop1(opcode: int, name: str, sdst: int, ssrc0: int, source: File = File.SSRC) -> Row:
    return Row(name, Encoding.SOP1, opcode, _slots("sdst", File.SDST, sdst), _slots("ssrc0", source, ssrc0))


def _sopc(opcode: int, name: str, ssrc0: int, ssrc1: int) -> Row:
    src = _slots("ssrc0", File.SSRC, ssrc0) + _slots("ssrc1", File.SSRC, ssrc1)
    return Row(name, Encoding.SOPC, opcode, (), src)


def _sopk(opcode: int, name: str, written: int, read: int, style: str = "hexadecimal") -> Row:
    """Return a row from the dwords of the register where it is written or read in the text."""
    dst, src = _slots("sdst", File.SDST, written), _slots("sdst", File.SDST, read)
    return Row(name, Encoding.SOPK, opcode, dst, src, style=style)


def _sopp(opcode: int, name: str, style: str) -> Row:
    """Return a row; without a style the number must be 0."""
    return Row(name, Encoding.SOPP, opcode, zero=0 if style else Sopp.simm16.largest, style=style)


# fmt: off
SOP2 = (
    # opcode, mnemonic, dwords of sdst, ssrc0, ssrc1
    _sop2(0x00, "s_add_u32",         1, 1, 1),
    _sop2(0x01, "s_sub_u32",         1, 1, 1),
    _sop2(0x02, "s_add_i32",         1, 1, 1),
    _sop2(0x03, "s_sub_i32",         1, 1, 1),
    _sop2(0x04, "s_addc_u32",        1, 1, 1),
    _sop2(0x05, "s_subb_u32",        1, 1, 1),
    _sop2(0x06, "s_min_i32",         1, 1, 1),
    _sop2(0x07, "s_min_u32",         1, 1, 1),
    _sop2(0x08, "s_max_i32",         1, 1, 1),
    _sop2(0x09, "s_max_u32",         1, 1, 1),
    _sop2(0x0A, "s_cselect_b32",     1, 1, 1),
    _sop2(0x0B, "s_cselect_b64",     2, 2, 2),
    _sop2(0x0C, "s_and_b32",         1, 1, 1),
    _sop2(0x0D, "s_and_b64",         2, 2, 2),
    _sop2(0x0E, "s_or_b32",          1, 1, 1),
    _sop2(0x0F, "s_or_b64",          2, 2, 2),
    _sop2(0x10, "s_xor_b32",         1, 1, 1),
    _sop2(0x11, "s_xor_b64",         2, 2, 2),
    _sop2(0x12, "s_andn2_b32",       1, 1, 1),
    _sop2(0x13, "s_andn2_b64",       2, 2, 2),
    _sop2(0x14, "s_orn2_b32",        1, 1, 1),
    _sop2(0x15, "s_orn2_b64",        2, 2, 2),
    _sop2(0x16, "s_nand_b32",        1, 1, 1),
    _sop2(0x17, "s_nand_b64",        2, 2, 2),
    _sop2(0x18, "s_nor_b32",         1, 1, 1),
    _sop2(0x19, "s_nor_b64",         2, 2, 2),
    _sop2(0x1A, "s_xnor_b32",        1, 1, 1),
    _sop2(0x1B, "s_xnor_b64",        2, 2, 2),
    _sop2(0x1C, "s_lshl_b32",        1, 1, 1),
    _sop2(0x1D, "s_lshl_b64",        2, 2, 1),
    _sop2(0x1E, "s_lshr_b32",        1, 1, 1),
    _sop2(0x1F, "s_lshr_b64",        2, 2, 1),
    _sop2(0x20, "s_ashr_i32",        1, 1, 1),
    _sop2(0x21, "s_ashr_i64",        2, 2, 1),
    _sop2(0x22, "s_bfm_b32",         1, 1, 1),
    _sop2(0x23, "s_bfm_b64",         2, 1, 1),
    _sop2(0x24, "s_mul_i32",         1, 1, 1),
    _sop2(0x25, "s_bfe_u32",         1, 1, 1),
    _sop2(0x26, "s_bfe_i32",         1, 1, 1),
    _sop2(0x27, "s_bfe_u64",         2, 2, 1),
    _sop2(0x28, "s_bfe_i64",         2, 2, 1),
    _sop2(0x29, "s_cbranch_g_fork",  0, 2, 2),
    _sop2(0x2A, "s_absdiff_i32",     1, 1, 1),
    _sop2(0x2B, "s_rfe_restore_b64", 0, 2, 1),
    _sop2(0x2C, "s_mul_hi_u32",      1, 1, 1),
    _sop2(0x2D, "s_mul_hi_i32",      1, 1, 1),
    _sop2(0x2E, "s_lshl1_add_u32",   1, 1, 1),
    _sop2(0x2F, "s_lshl2_add_u32",   1, 1, 1),
    _sop2(0x30, "s_lshl3_add_u32",   1, 1, 1),
    _sop2(0x31, "s_lshl4_add_u32",   1, 1, 1),
    _sop2(0x32, "s_pack_ll_b32_b16", 1, 1, 1),
    _sop2(0x33, "s_pack_lh_b32_b16", 1, 1, 1),
    _sop2(0x34, "s_pack_hh_b32_b16", 1, 1, 1),
)

SOP1 = (
    # opcode, mnemonic, dwords of sdst, ssrc0
    _sop1(0x00, "s_mov_b32",              1, 1),
    _sop1(0x01, "s_mov_b64",              2, 2),
    _sop1(0x02, "s_cmov_b32",             1, 1),
    _sop1(0x03, "s_cmov_b64",             2, 2),
    _sop1(0x04, "s_not_b32",              1, 1),
    _sop1(0x05, "s_not_b64",              2, 2),
    _sop1(0x06, "s_wqm_b32",              1, 1),
    _sop1(0x07, "s_wqm_b64",              2, 2),
    _sop1(0x08, "s_brev_b32",             1, 1),
    _sop1(0x09, "s_brev_b64",             2, 2),
    _sop1(0x0A, "s_bcnt0_i32_b32",        1, 1),
    _sop1(0x0B, "s_bcnt0_i32_b64",        1, 2),
    _sop1(0x0C, "s_bcnt1_i32_b32",        1, 1),
    _sop1(0x0D, "s_bcnt1_i32_b64",        1, 2),
    _sop1(0x0E, "s_ff0_i32_b32",          1, 1),
    _sop1(0x0F, "s_ff0_i32_b64",          1, 2),
    _sop1(0x10, "s_ff1_i32_b32",          1, 1),
    _sop1(0x11, "s_ff1_i32_b64",          1, 2),
    _sop1(0x12, "s_flbit_i32_b32",        1, 1),
    _sop1(0x13, "s_flbit_i32_b64",        1, 2),
    _sop1(0x14, "s_flbit_i32",            1, 1),
    _sop1(0x15, "s_flbit_i32_i64",        1, 2),
    _sop1(0x16, "s_sext_i32_i8",          1, 1),
    _sop1(0x17, "s_sext_i32_i16",         1, 1),
    _sop1(0x18, "s_bitset0_b32",          1, 1),
    _sop1(0x19, "s_bitset0_b64",          2, 1),
    _sop1(0x1A, "s_bitset1_b32",          1, 1),
    _sop1(0x1B, "s_bitset1_b64",          2, 1),
    _sop1(0x1C, "s_getpc_b64",            2, 0),
    _sop1(0x1D, "s_setpc_b64",            0, 2, File.SGPR),
    _sop1(0x1E, "s_swappc_b64",           2, 2),
    _sop1(0x1F, "s_rfe_b64",              0, 2, File.SGPR),
    _sop1(0x20, "s_and_saveexec_b64",     2, 2),
    _sop1(0x21, "s_or_saveexec_b64",      2, 2),
    _sop1(0x22, "s_xor_saveexec_b64",     2, 2),
    _sop1(0x23, "s_andn2_saveexec_b64",   2, 2),
    _sop1(0x24, "s_orn2_saveexec_b64",    2, 2),
    _sop1(0x25, "s_nand_saveexec_b64",    2, 2),
    _sop1(0x26, "s_nor_saveexec_b64",     2, 2),
    _sop1(0x27, "s_xnor_saveexec_b64",    2, 2),
    _sop1(0x28, "s_quadmask_b32",         1, 1),
    _sop1(0x29, "s_quadmask_b64",         2, 2),
    _sop1(0x2A, "s_movrels_b32",          1, 1, File.SGPR),
    _sop1(0x2B, "s_movrels_b64",          2, 2, File.SGPR),
    _sop1(0x2C, "s_movreld_b32",          1, 1),
    _sop1(0x2D, "s_movreld_b64",          2, 2),
    _sop1(0x2E, "s_cbranch_join",         0, 1, File.SGPR),
    _sop1(0x30, "s_abs_i32",              1, 1),
    _sop1(0x32, "s_set_gpr_idx_idx",      0, 1),
    _sop1(0x33, "s_andn1_saveexec_b64",   2, 2),
    _sop1(0x34, "s_orn1_saveexec_b64",    2, 2),
    _sop1(0x35, "s_andn1_wrexec_b64",     2, 2),
    _sop1(0x36, "s_andn2_wrexec_b64",     2, 2),
    _sop1(0x37, "s_bitreplicate_b64_b32", 2, 1),
)

SOPC = (
    # opcode, mnemonic, dwords of ssrc0, ssrc1
    _sopc(0x00, "s_cmp_eq_i32",  1, 1),
    _sopc(0x01, "s_cmp_lg_i32",  1, 1),
    _sopc(0x02, "s_cmp_gt_i32",  1, 1),
    _sopc(0x03, "s_cmp_ge_i32",  1, 1),
    _sopc(0x04, "s_cmp_lt_i32",  1, 1),
    _sopc(0x05, "s_cmp_le_i32",  1, 1),
    _sopc(0x06, "s_cmp_eq_u32",  1, 1),
    _sopc(0x07, "s_cmp_lg_u32",  1, 1),
    _sopc(0x08, "s_cmp_gt_u32",  1, 1),
    _sopc(0x09, "s_cmp_ge_u32",  1, 1),
    _sopc(0x0A, "s_cmp_lt_u32",  1, 1),
    _sopc(0x0B, "s_cmp_le_u32",  1, 1),
    _sopc(0x0C, "s_bitcmp0_b32", 1, 1),
    _sopc(0x0D, "s_bitcmp1_b32", 1, 1),
    _sopc(0x0E, "s_bitcmp0_b64", 2, 1),
    _sopc(0x0F, "s_bitcmp1_b64", 2, 1),
    _sopc(0x10, "s_setvskip",    1, 1),
    Row("s_set_gpr_idx_on", Encoding.SOPC, 0x11, (), (Slot("ssrc0", File.SSRC),), style="gpr_index"),
    _sopc(0x12, "s_cmp_eq_u64",  2, 2),
    _sopc(0x13, "s_cmp_lg_u64",  2, 2),
)

SOPK = (
    # opcode, mnemonic, dwords of the register where written, where read, what the number is
    _sopk(0x00, "s_movk_i32",         1, 0),
    _sopk(0x01, "s_cmovk_i32",        1, 0),
    _sopk(0x02, "s_cmpk_eq_i32",      0, 1),
    _sopk(0x03, "s_cmpk_lg_i32",      0, 1),
    _sopk(0x04, "s_cmpk_gt_i32",      0, 1),
    _sopk(0x05, "s_cmpk_ge_i32",      0, 1),
    _sopk(0x06, "s_cmpk_lt_i32",      0, 1),
    _sopk(0x07, "s_cmpk_le_i32",      0, 1),
    _sopk(0x08, "s_cmpk_eq_u32",      0, 1),
    _sopk(0x09, "s_cmpk_lg_u32",      0, 1),
    _sopk(0x0A, "s_cmpk_gt_u32",      0, 1),
    _sopk(0x0B, "s_cmpk_ge_u32",      0, 1),
    _sopk(0x0C, "s_cmpk_lt_u32",      0, 1),
    _sopk(0x0D, "s_cmpk_le_u32",      0, 1),
    _sopk(0x0E, "s_addk_i32",         1, 0),
    _sopk(0x0F, "s_mulk_i32",         1, 0),
    _sopk(0x10, "s_cbranch_i_fork",   0, 2, "branch"),
    _sopk(0x11, "s_getreg_b32",       1, 0, "hwreg"),
    _sopk(0x12, "s_setreg_b32",       0, 1, "setreg"),
    Row("s_setreg_imm32_b32", Encoding.SOPK, 0x14, (), (Slot("", File.LITERAL),), style="setreg"),
    _sopk(0x15, "s_call_b64",         2, 0, "branch"),
)

SOPP = (
    # opcode, mnemonic, what the number is
    _sopp(0x00, "s_nop",                       "number"),
    _sopp(0x01, "s_endpgm",                    "optional"),
    _sopp(0x02, "s_branch",                    "branch"),
    _sopp(0x03, "s_wakeup",                    ""),
    _sopp(0x04, "s_cbranch_scc0",              "branch"),
    _sopp(0x05, "s_cbranch_scc1",              "branch"),
    _sopp(0x06, "s_cbranch_vccz",              "branch"),
    _sopp(0x07, "s_cbranch_vccnz",             "branch"),
    _sopp(0x08, "s_cbranch_execz",             "branch"),
    _sopp(0x09, "s_cbranch_execnz",            "branch"),
    _sopp(0x0A, "s_barrier",                   ""),
    _sopp(0x0B, "s_setkill",                   "number"),
    _sopp(0x0C, "s_waitcnt",                   "waitcnt"),
    _sopp(0x0D, "s_sethalt",                   "number"),
    _sopp(0x0E, "s_sleep",                     "number"),
    _sopp(0x0F, "s_setprio",                   "number"),
    _sopp(0x10, "s_sendmsg",                   "message"),
    _sopp(0x11, "s_sendmsghalt",               "message"),
    _sopp(0x12, "s_trap",                      "number"),
    _sopp(0x13, "s_icache_inv",                ""),
    _sopp(0x14, "s_incperflevel",              "number"),
    _sopp(0x15, "s_decperflevel",              "number"),
    _sopp(0x16, "s_ttracedata",                ""),
    _sopp(0x17, "s_cbranch_cdbgsys",           "branch"),
    _sopp(0x18, "s_cbranch_cdbguser",          "branch"),
    _sopp(0x19, "s_cbranch_cdbgsys_or_user",   "branch"),
    _sopp(0x1A, "s_cbranch_cdbgsys_and_user",  "branch"),
    _sopp(0x1B, "s_endpgm_saved",              ""),
    _sopp(0x1C, "s_set_gpr_idx_off",           ""),
    _sopp(0x1D, "s_set_gpr_idx_mode",          "gpr_index"),
    _sopp(0x1E, "s_endpgm_ordered_ps_done",    ""),
)
# fmt: on

for word, rows in ((Sop2, SOP2), (Sop1, SOP1), (Sopc, SOPC), (Sopk, SOPK), (Sopp, SOPP)):
    register(word, rows)
