"""The DS instructions of gfx942: LDS, lanes, global wave sync, as llvm-mc 22.1.8 disassembles them."""

from __future__ import annotations

from mfma.emulator.decode.decoder import register
from mfma.emulator.decode.memory_records import Access, Half, Kind, Number, atomic, load, store
from mfma.emulator.decode.memory_records import Operation as Op
from mfma.emulator.decode.memory_words import WORDS, Ds
from mfma.emulator.decode.records import Encoding, File, Row, Slot

__all__ = ["DS"]

FIELDS = ("addr", "data0", "data1")
GDS, ACC, OFFSETS = 1 << Ds.gds.low, 1 << Ds.acc.low, Ds.offset.largest
U, S, F, B = Number.UNSIGNED, Number.SIGNED, Number.FLOAT, Number.BITS
LANES = Access(Kind.LANES)
GWS = Access(Kind.GWS, m0=True)


def _ds(
    opcode: int, name: str, vdst: int, addr: int, data0: int, data1: int, access: Access, style: str = "", zero: int = 0
) -> Row:
    """Return a row, of dwords per operand; a field without operand must be 0."""
    dwords = {"vdst": vdst, "addr": addr, "data0": data0, "data1": data1}
    for field, count in dwords.items():
        zero |= 0 if count else 0xFF << getattr(Ds, field).low
    if not any(dwords.values()):
        zero |= ACC | (GDS | OFFSETS if access.kind is Kind.NOTHING else 0)
    takes_acc = [field for field in dwords if field != "addr" or access.kind is Kind.GWS]
    slots = {
        field: Slot(field, File.VGPR, count, acc="acc" if field in takes_acc else "")
        for field, count in dwords.items()
        if count
    }
    src = tuple(slots[field] for field in FIELDS if field in slots)
    return Row(name, Encoding.DS, opcode, (slots["vdst"],) if vdst else (), src, zero=zero, style=style, access=access)


# fmt: off
DS = (
    # opcode, mnemonic,            vdst, addr, data0, data1, access
    _ds(0x00, "ds_add_u32",              0, 1, 1, 0, atomic(Op.ADD, U)),
    _ds(0x01, "ds_sub_u32",              0, 1, 1, 0, atomic(Op.SUB, U)),
    _ds(0x02, "ds_rsub_u32",             0, 1, 1, 0, atomic(Op.RSUB, U)),
    _ds(0x03, "ds_inc_u32",              0, 1, 1, 0, atomic(Op.INC, U)),
    _ds(0x04, "ds_dec_u32",              0, 1, 1, 0, atomic(Op.DEC, U)),
    _ds(0x05, "ds_min_i32",              0, 1, 1, 0, atomic(Op.MIN, S)),
    _ds(0x06, "ds_max_i32",              0, 1, 1, 0, atomic(Op.MAX, S)),
    _ds(0x07, "ds_min_u32",              0, 1, 1, 0, atomic(Op.MIN, U)),
    _ds(0x08, "ds_max_u32",              0, 1, 1, 0, atomic(Op.MAX, U)),
    _ds(0x09, "ds_and_b32",              0, 1, 1, 0, atomic(Op.AND, B)),
    _ds(0x0A, "ds_or_b32",               0, 1, 1, 0, atomic(Op.OR, B)),
    _ds(0x0B, "ds_xor_b32",              0, 1, 1, 0, atomic(Op.XOR, B)),
    _ds(0x0C, "ds_mskor_b32",            0, 1, 1, 1, atomic(Op.MSKOR, B)),
    _ds(0x0D, "ds_write_b32",            0, 1, 1, 0, store(4)),
    _ds(0x0E, "ds_write2_b32",           0, 1, 1, 1, store(4, addresses=2, unit=4)),
    _ds(0x0F, "ds_write2st64_b32",       0, 1, 1, 1, store(4, addresses=2, unit=256)),
    _ds(0x10, "ds_cmpst_b32",            0, 1, 1, 1, atomic(Op.CMPSWAP, B)),
    _ds(0x11, "ds_cmpst_f32",            0, 1, 1, 1, atomic(Op.CMPSWAP, F)),
    _ds(0x12, "ds_min_f32",              0, 1, 1, 0, atomic(Op.MIN, F)),
    _ds(0x13, "ds_max_f32",              0, 1, 1, 0, atomic(Op.MAX, F)),
    _ds(0x14, "ds_nop",                  0, 0, 0, 0, Access(Kind.NOTHING)),
    _ds(0x15, "ds_add_f32",              0, 1, 1, 0, atomic(Op.ADD, F)),
    _ds(0x17, "ds_pk_add_f16",           0, 1, 1, 0, atomic(Op.ADD, Number.PK_F16)),
    _ds(0x18, "ds_pk_add_bf16",          0, 1, 1, 0, atomic(Op.ADD, Number.PK_BF16)),
    _ds(0x1D, "ds_write_addtid_b32",     0, 0, 1, 0, store(4, m0=True)),
    _ds(0x1E, "ds_write_b8",             0, 1, 1, 0, store(1)),
    _ds(0x1F, "ds_write_b16",            0, 1, 1, 0, store(2)),
    _ds(0x20, "ds_add_rtn_u32",          1, 1, 1, 0, atomic(Op.ADD, U)),
    _ds(0x21, "ds_sub_rtn_u32",          1, 1, 1, 0, atomic(Op.SUB, U)),
    _ds(0x22, "ds_rsub_rtn_u32",         1, 1, 1, 0, atomic(Op.RSUB, U)),
    _ds(0x23, "ds_inc_rtn_u32",          1, 1, 1, 0, atomic(Op.INC, U)),
    _ds(0x24, "ds_dec_rtn_u32",          1, 1, 1, 0, atomic(Op.DEC, U)),
    _ds(0x25, "ds_min_rtn_i32",          1, 1, 1, 0, atomic(Op.MIN, S)),
    _ds(0x26, "ds_max_rtn_i32",          1, 1, 1, 0, atomic(Op.MAX, S)),
    _ds(0x27, "ds_min_rtn_u32",          1, 1, 1, 0, atomic(Op.MIN, U)),
    _ds(0x28, "ds_max_rtn_u32",          1, 1, 1, 0, atomic(Op.MAX, U)),
    _ds(0x29, "ds_and_rtn_b32",          1, 1, 1, 0, atomic(Op.AND, B)),
    _ds(0x2A, "ds_or_rtn_b32",           1, 1, 1, 0, atomic(Op.OR, B)),
    _ds(0x2B, "ds_xor_rtn_b32",          1, 1, 1, 0, atomic(Op.XOR, B)),
    _ds(0x2C, "ds_mskor_rtn_b32",        1, 1, 1, 1, atomic(Op.MSKOR, B)),
    _ds(0x2D, "ds_wrxchg_rtn_b32",       1, 1, 1, 0, atomic(Op.SWAP, B)),
    _ds(0x2E, "ds_wrxchg2_rtn_b32",      2, 1, 1, 1, atomic(Op.SWAP, B, addresses=2, unit=4)),
    _ds(0x2F, "ds_wrxchg2st64_rtn_b32",  2, 1, 1, 1, atomic(Op.SWAP, B, addresses=2, unit=256)),
    _ds(0x30, "ds_cmpst_rtn_b32",        1, 1, 1, 1, atomic(Op.CMPSWAP, B)),
    _ds(0x31, "ds_cmpst_rtn_f32",        1, 1, 1, 1, atomic(Op.CMPSWAP, F)),
    _ds(0x32, "ds_min_rtn_f32",          1, 1, 1, 0, atomic(Op.MIN, F)),
    _ds(0x33, "ds_max_rtn_f32",          1, 1, 1, 0, atomic(Op.MAX, F)),
    _ds(0x34, "ds_wrap_rtn_b32",         1, 1, 1, 1, atomic(Op.WRAP, U)),
    _ds(0x35, "ds_add_rtn_f32",          1, 1, 1, 0, atomic(Op.ADD, F)),
    _ds(0x36, "ds_read_b32",             1, 1, 0, 0, load(4)),
    _ds(0x37, "ds_read2_b32",            2, 1, 0, 0, load(4, addresses=2, unit=4)),
    _ds(0x38, "ds_read2st64_b32",        2, 1, 0, 0, load(4, addresses=2, unit=256)),
    _ds(0x39, "ds_read_i8",              1, 1, 0, 0, load(1, signed=True)),
    _ds(0x3A, "ds_read_u8",              1, 1, 0, 0, load(1)),
    _ds(0x3B, "ds_read_i16",             1, 1, 0, 0, load(2, signed=True)),
    _ds(0x3C, "ds_read_u16",             1, 1, 0, 0, load(2)),
    _ds(0x3D, "ds_swizzle_b32",          1, 1, 0, 0, LANES, style="swizzle"),
    _ds(0x3E, "ds_permute_b32",          1, 1, 1, 0, LANES, zero=GDS),
    _ds(0x3F, "ds_bpermute_b32",         1, 1, 1, 0, LANES, zero=GDS),
    _ds(0x40, "ds_add_u64",              0, 1, 2, 0, atomic(Op.ADD, U, 8)),
    _ds(0x41, "ds_sub_u64",              0, 1, 2, 0, atomic(Op.SUB, U, 8)),
    _ds(0x42, "ds_rsub_u64",             0, 1, 2, 0, atomic(Op.RSUB, U, 8)),
    _ds(0x43, "ds_inc_u64",              0, 1, 2, 0, atomic(Op.INC, U, 8)),
    _ds(0x44, "ds_dec_u64",              0, 1, 2, 0, atomic(Op.DEC, U, 8)),
    _ds(0x45, "ds_min_i64",              0, 1, 2, 0, atomic(Op.MIN, S, 8)),
    _ds(0x46, "ds_max_i64",              0, 1, 2, 0, atomic(Op.MAX, S, 8)),
    _ds(0x47, "ds_min_u64",              0, 1, 2, 0, atomic(Op.MIN, U, 8)),
    _ds(0x48, "ds_max_u64",              0, 1, 2, 0, atomic(Op.MAX, U, 8)),
    _ds(0x49, "ds_and_b64",              0, 1, 2, 0, atomic(Op.AND, B, 8)),
    _ds(0x4A, "ds_or_b64",               0, 1, 2, 0, atomic(Op.OR, B, 8)),
    _ds(0x4B, "ds_xor_b64",              0, 1, 2, 0, atomic(Op.XOR, B, 8)),
    _ds(0x4C, "ds_mskor_b64",            0, 1, 2, 2, atomic(Op.MSKOR, B, 8)),
    _ds(0x4D, "ds_write_b64",            0, 1, 2, 0, store(8)),
    _ds(0x4E, "ds_write2_b64",           0, 1, 2, 2, store(8, addresses=2, unit=8)),
    _ds(0x4F, "ds_write2st64_b64",       0, 1, 2, 2, store(8, addresses=2, unit=512)),
    _ds(0x50, "ds_cmpst_b64",            0, 1, 2, 2, atomic(Op.CMPSWAP, B, 8)),
    _ds(0x51, "ds_cmpst_f64",            0, 1, 2, 2, atomic(Op.CMPSWAP, F, 8)),
    _ds(0x52, "ds_min_f64",              0, 1, 2, 0, atomic(Op.MIN, F, 8)),
    _ds(0x53, "ds_max_f64",              0, 1, 2, 0, atomic(Op.MAX, F, 8)),
    _ds(0x54, "ds_write_b8_d16_hi",      0, 1, 1, 0, store(1, half=Half.HIGH)),
    _ds(0x55, "ds_write_b16_d16_hi",     0, 1, 1, 0, store(2, half=Half.HIGH)),
    _ds(0x56, "ds_read_u8_d16",          1, 1, 0, 0, load(1, half=Half.LOW)),
    _ds(0x57, "ds_read_u8_d16_hi",       1, 1, 0, 0, load(1, half=Half.HIGH)),
    _ds(0x58, "ds_read_i8_d16",          1, 1, 0, 0, load(1, signed=True, half=Half.LOW)),
    _ds(0x59, "ds_read_i8_d16_hi",       1, 1, 0, 0, load(1, signed=True, half=Half.HIGH)),
    _ds(0x5A, "ds_read_u16_d16",         1, 1, 0, 0, load(2, half=Half.LOW)),
    _ds(0x5B, "ds_read_u16_d16_hi",      1, 1, 0, 0, load(2, half=Half.HIGH)),
    _ds(0x5C, "ds_add_f64",              0, 1, 2, 0, atomic(Op.ADD, F, 8)),
    _ds(0x60, "ds_add_rtn_u64",          2, 1, 2, 0, atomic(Op.ADD, U, 8)),
    _ds(0x61, "ds_sub_rtn_u64",          2, 1, 2, 0, atomic(Op.SUB, U, 8)),
    _ds(0x62, "ds_rsub_rtn_u64",         2, 1, 2, 0, atomic(Op.RSUB, U, 8)),
    _ds(0x63, "ds_inc_rtn_u64",          2, 1, 2, 0, atomic(Op.INC, U, 8)),
    _ds(0x64, "ds_dec_rtn_u64",          2, 1, 2, 0, atomic(Op.DEC, U, 8)),
    _ds(0x65, "ds_min_rtn_i64",          2, 1, 2, 0, atomic(Op.MIN, S, 8)),
    _ds(0x66, "ds_max_rtn_i64",          2, 1, 2, 0, atomic(Op.MAX, S, 8)),
    _ds(0x67, "ds_min_rtn_u64",          2, 1, 2, 0, atomic(Op.MIN, U, 8)),
    _ds(0x68, "ds_max_rtn_u64",          2, 1, 2, 0, atomic(Op.MAX, U, 8)),
    _ds(0x69, "ds_and_rtn_b64",          2, 1, 2, 0, atomic(Op.AND, B, 8)),
    _ds(0x6A, "ds_or_rtn_b64",           2, 1, 2, 0, atomic(Op.OR, B, 8)),
    _ds(0x6B, "ds_xor_rtn_b64",          2, 1, 2, 0, atomic(Op.XOR, B, 8)),
    _ds(0x6C, "ds_mskor_rtn_b64",        2, 1, 2, 2, atomic(Op.MSKOR, B, 8)),
    _ds(0x6D, "ds_wrxchg_rtn_b64",       2, 1, 2, 0, atomic(Op.SWAP, B, 8)),
    _ds(0x6E, "ds_wrxchg2_rtn_b64",      4, 1, 2, 2, atomic(Op.SWAP, B, 8, addresses=2, unit=8)),
    _ds(0x6F, "ds_wrxchg2st64_rtn_b64",  4, 1, 2, 2, atomic(Op.SWAP, B, 8, addresses=2, unit=512)),
    _ds(0x70, "ds_cmpst_rtn_b64",        2, 1, 2, 2, atomic(Op.CMPSWAP, B, 8)),
    _ds(0x71, "ds_cmpst_rtn_f64",        2, 1, 2, 2, atomic(Op.CMPSWAP, F, 8)),
    _ds(0x72, "ds_min_rtn_f64",          2, 1, 2, 0, atomic(Op.MIN, F, 8)),
    _ds(0x73, "ds_max_rtn_f64",          2, 1, 2, 0, atomic(Op.MAX, F, 8)),
    _ds(0x76, "ds_read_b64",             2, 1, 0, 0, load(8)),
    _ds(0x77, "ds_read2_b64",            4, 1, 0, 0, load(8, addresses=2, unit=8)),
    _ds(0x78, "ds_read2st64_b64",        4, 1, 0, 0, load(8, addresses=2, unit=512)),
    _ds(0x7C, "ds_add_rtn_f64",          2, 1, 2, 0, atomic(Op.ADD, F, 8)),
    _ds(0x7E, "ds_condxchg32_rtn_b64",   2, 1, 2, 0, atomic(Op.CONDXCHG, B, 8)),
    _ds(0x98, "ds_gws_sema_release_all", 0, 0, 0, 0, GWS),
    _ds(0x99, "ds_gws_init",             0, 1, 0, 0, GWS),
    _ds(0x9A, "ds_gws_sema_v",           0, 0, 0, 0, GWS),
    _ds(0x9B, "ds_gws_sema_br",          0, 1, 0, 0, GWS),
    _ds(0x9C, "ds_gws_sema_p",           0, 0, 0, 0, GWS),
    _ds(0x9D, "ds_gws_barrier",          0, 1, 0, 0, GWS),
    _ds(0xB6, "ds_read_addtid_b32",      1, 0, 0, 0, load(4, m0=True)),
    _ds(0xB7, "ds_pk_add_rtn_f16",       1, 1, 1, 0, atomic(Op.ADD, Number.PK_F16)),
    _ds(0xB8, "ds_pk_add_rtn_bf16",      1, 1, 1, 0, atomic(Op.ADD, Number.PK_BF16)),
    _ds(0xBD, "ds_consume",              1, 0, 0, 0, Access(Kind.ATOMIC, 4, Op.CONSUME, U, m0=True)),
    _ds(0xBE, "ds_append",               1, 0, 0, 0, Access(Kind.ATOMIC, 4, Op.APPEND, U, m0=True)),
    _ds(0xDE, "ds_write_b96",            0, 1, 3, 0, store(12)),
    _ds(0xDF, "ds_write_b128",           0, 1, 4, 0, store(16)),
    _ds(0xFE, "ds_read_b96",             3, 1, 0, 0, load(12)),
    _ds(0xFF, "ds_read_b128",            4, 1, 0, 0, load(16)),
)
# fmt: on
"""Every row of DS."""

for word in WORDS[Encoding.DS]:
    register(word, DS)
