"""The MUBUF and MTBUF instructions of gfx942, as llvm-mc 22.1.8 disassembles them."""

from __future__ import annotations

from dataclasses import replace

from mfma.emulator.decode.decoder import register
from mfma.emulator.decode.memory_records import Access, Half, Kind, Number, atomic, load, store
from mfma.emulator.decode.memory_records import Operation as Op
from mfma.emulator.decode.memory_words import BUFFER_TO_LDS, WORDS, Mubuf
from mfma.emulator.decode.records import Encoding, File, Row, Slot

__all__ = ["MTBUF", "MUBUF"]

U, S, F, B = Number.UNSIGNED, Number.SIGNED, Number.FLOAT, Number.BITS
CACHE = Access(Kind.CACHE)
VADDR, SRSRC, SOFFSET = Slot("vaddr", File.VGPR), Slot("srsrc", File.SGPR, 4), Slot("soffset", File.SSRC)
OFFEN, IDXEN, LDS, ACC = (1 << bits.low for bits in (Mubuf.offen, Mubuf.idxen, Mubuf.lds, Mubuf.acc))


def _buffer(encoding: Encoding, opcode: int, name: str, vdst: int, vdata: int, access: Access, zero: int) -> Row:
    """Return a row, of dwords per operand; an atomic has both in one field, which it prints once."""
    dst = (Slot("vdst", File.VGPR, vdst, acc="acc", hidden=vdata > 0),) if vdst else ()
    data = (Slot("vdata", File.VGPR, vdata, acc="acc"),) if vdata else ()
    return Row(name, encoding, opcode, dst, (*data, VADDR, SRSRC, SOFFSET), zero=zero, access=access)


def _mubuf(opcode: int, name: str, vdst: int, vdata: int, access: Access, style: str = "") -> Row:
    if access.kind is Kind.CACHE:
        return Row(name, Encoding.MUBUF, opcode, zero=OFFEN | IDXEN | LDS | ACC, access=access)
    return replace(_buffer(Encoding.MUBUF, opcode, name, vdst, vdata, access, LDS), style=style)


def _mtbuf(opcode: int, name: str, vdst: int, vdata: int, access: Access) -> Row:
    return _buffer(Encoding.MTBUF, opcode, name, vdst, vdata, access, 0)


# fmt: off
MUBUF = (
    # opcode, mnemonic,                    vdst, vdata, access
    _mubuf(0x00, "buffer_load_format_x",        1, 0, load(0, components=1), style=BUFFER_TO_LDS),
    _mubuf(0x01, "buffer_load_format_xy",       2, 0, load(0, components=2)),
    _mubuf(0x02, "buffer_load_format_xyz",      3, 0, load(0, components=3)),
    _mubuf(0x03, "buffer_load_format_xyzw",     4, 0, load(0, components=4)),
    _mubuf(0x04, "buffer_store_format_x",       0, 1, store(0, components=1)),
    _mubuf(0x05, "buffer_store_format_xy",      0, 2, store(0, components=2)),
    _mubuf(0x06, "buffer_store_format_xyz",     0, 3, store(0, components=3)),
    _mubuf(0x07, "buffer_store_format_xyzw",    0, 4, store(0, components=4)),
    _mubuf(0x08, "buffer_load_format_d16_x",    1, 0, load(0, components=1, half=Half.LOW)),
    _mubuf(0x09, "buffer_load_format_d16_xy",   1, 0, load(0, components=2, half=Half.PACKED)),
    _mubuf(0x0A, "buffer_load_format_d16_xyz",  2, 0, load(0, components=3, half=Half.PACKED)),
    _mubuf(0x0B, "buffer_load_format_d16_xyzw", 2, 0, load(0, components=4, half=Half.PACKED)),
    _mubuf(0x0C, "buffer_store_format_d16_x",   0, 1, store(0, components=1, half=Half.LOW)),
    _mubuf(0x0D, "buffer_store_format_d16_xy",  0, 1, store(0, components=2, half=Half.PACKED)),
    _mubuf(0x0E, "buffer_store_format_d16_xyz", 0, 2, store(0, components=3, half=Half.PACKED)),
    _mubuf(0x0F, "buffer_store_format_d16_xyzw", 0, 2, store(0, components=4, half=Half.PACKED)),
    _mubuf(0x10, "buffer_load_ubyte",           1, 0, load(1), style=BUFFER_TO_LDS),
    _mubuf(0x11, "buffer_load_sbyte",           1, 0, load(1, signed=True), style=BUFFER_TO_LDS),
    _mubuf(0x12, "buffer_load_ushort",          1, 0, load(2), style=BUFFER_TO_LDS),
    _mubuf(0x13, "buffer_load_sshort",          1, 0, load(2, signed=True), style=BUFFER_TO_LDS),
    _mubuf(0x14, "buffer_load_dword",           1, 0, load(4), style=BUFFER_TO_LDS),
    _mubuf(0x15, "buffer_load_dwordx2",         2, 0, load(8)),
    _mubuf(0x16, "buffer_load_dwordx3",         3, 0, load(12)),
    _mubuf(0x17, "buffer_load_dwordx4",         4, 0, load(16)),
    _mubuf(0x18, "buffer_store_byte",           0, 1, store(1)),
    _mubuf(0x19, "buffer_store_byte_d16_hi",    0, 1, store(1, half=Half.HIGH)),
    _mubuf(0x1A, "buffer_store_short",          0, 1, store(2)),
    _mubuf(0x1B, "buffer_store_short_d16_hi",   0, 1, store(2, half=Half.HIGH)),
    _mubuf(0x1C, "buffer_store_dword",          0, 1, store(4)),
    _mubuf(0x1D, "buffer_store_dwordx2",        0, 2, store(8)),
    _mubuf(0x1E, "buffer_store_dwordx3",        0, 3, store(12)),
    _mubuf(0x1F, "buffer_store_dwordx4",        0, 4, store(16)),
    _mubuf(0x20, "buffer_load_ubyte_d16",       1, 0, load(1, half=Half.LOW)),
    _mubuf(0x21, "buffer_load_ubyte_d16_hi",    1, 0, load(1, half=Half.HIGH)),
    _mubuf(0x22, "buffer_load_sbyte_d16",       1, 0, load(1, signed=True, half=Half.LOW)),
    _mubuf(0x23, "buffer_load_sbyte_d16_hi",    1, 0, load(1, signed=True, half=Half.HIGH)),
    _mubuf(0x24, "buffer_load_short_d16",       1, 0, load(2, half=Half.LOW)),
    _mubuf(0x25, "buffer_load_short_d16_hi",    1, 0, load(2, half=Half.HIGH)),
    _mubuf(0x26, "buffer_load_format_d16_hi_x", 1, 0, load(0, components=1, half=Half.HIGH)),
    _mubuf(0x27, "buffer_store_format_d16_hi_x", 0, 1, store(0, components=1, half=Half.HIGH)),
    _mubuf(0x28, "buffer_wbl2",                 0, 0, CACHE),
    _mubuf(0x29, "buffer_inv",                  0, 0, CACHE),
    _mubuf(0x40, "buffer_atomic_swap",          1, 1, atomic(Op.SWAP, B)),
    _mubuf(0x41, "buffer_atomic_cmpswap",       1, 2, atomic(Op.CMPSWAP, B)),
    _mubuf(0x42, "buffer_atomic_add",           1, 1, atomic(Op.ADD, U)),
    _mubuf(0x43, "buffer_atomic_sub",           1, 1, atomic(Op.SUB, U)),
    _mubuf(0x44, "buffer_atomic_smin",          1, 1, atomic(Op.MIN, S)),
    _mubuf(0x45, "buffer_atomic_umin",          1, 1, atomic(Op.MIN, U)),
    _mubuf(0x46, "buffer_atomic_smax",          1, 1, atomic(Op.MAX, S)),
    _mubuf(0x47, "buffer_atomic_umax",          1, 1, atomic(Op.MAX, U)),
    _mubuf(0x48, "buffer_atomic_and",           1, 1, atomic(Op.AND, B)),
    _mubuf(0x49, "buffer_atomic_or",            1, 1, atomic(Op.OR, B)),
    _mubuf(0x4A, "buffer_atomic_xor",           1, 1, atomic(Op.XOR, B)),
    _mubuf(0x4B, "buffer_atomic_inc",           1, 1, atomic(Op.INC, U)),
    _mubuf(0x4C, "buffer_atomic_dec",           1, 1, atomic(Op.DEC, U)),
    _mubuf(0x4D, "buffer_atomic_add_f32",       1, 1, atomic(Op.ADD, F)),
    _mubuf(0x4E, "buffer_atomic_pk_add_f16",    1, 1, atomic(Op.ADD, Number.PK_F16)),
    _mubuf(0x4F, "buffer_atomic_add_f64",       2, 2, atomic(Op.ADD, F, 8)),
    _mubuf(0x50, "buffer_atomic_min_f64",       2, 2, atomic(Op.MIN, F, 8)),
    _mubuf(0x51, "buffer_atomic_max_f64",       2, 2, atomic(Op.MAX, F, 8)),
    _mubuf(0x60, "buffer_atomic_swap_x2",       2, 2, atomic(Op.SWAP, B, 8)),
    _mubuf(0x61, "buffer_atomic_cmpswap_x2",    2, 4, atomic(Op.CMPSWAP, B, 8)),
    _mubuf(0x62, "buffer_atomic_add_x2",        2, 2, atomic(Op.ADD, U, 8)),
    _mubuf(0x63, "buffer_atomic_sub_x2",        2, 2, atomic(Op.SUB, U, 8)),
    _mubuf(0x64, "buffer_atomic_smin_x2",       2, 2, atomic(Op.MIN, S, 8)),
    _mubuf(0x65, "buffer_atomic_umin_x2",       2, 2, atomic(Op.MIN, U, 8)),
    _mubuf(0x66, "buffer_atomic_smax_x2",       2, 2, atomic(Op.MAX, S, 8)),
    _mubuf(0x67, "buffer_atomic_umax_x2",       2, 2, atomic(Op.MAX, U, 8)),
    _mubuf(0x68, "buffer_atomic_and_x2",        2, 2, atomic(Op.AND, B, 8)),
    _mubuf(0x69, "buffer_atomic_or_x2",         2, 2, atomic(Op.OR, B, 8)),
    _mubuf(0x6A, "buffer_atomic_xor_x2",        2, 2, atomic(Op.XOR, B, 8)),
    _mubuf(0x6B, "buffer_atomic_inc_x2",        2, 2, atomic(Op.INC, U, 8)),
    _mubuf(0x6C, "buffer_atomic_dec_x2",        2, 2, atomic(Op.DEC, U, 8)),
)
MTBUF = (
    _mtbuf(0x00, "tbuffer_load_format_x",       1, 0, load(0, components=1)),
    _mtbuf(0x01, "tbuffer_load_format_xy",      2, 0, load(0, components=2)),
    _mtbuf(0x02, "tbuffer_load_format_xyz",     3, 0, load(0, components=3)),
    _mtbuf(0x03, "tbuffer_load_format_xyzw",    4, 0, load(0, components=4)),
    _mtbuf(0x04, "tbuffer_store_format_x",      0, 1, store(0, components=1)),
    _mtbuf(0x05, "tbuffer_store_format_xy",     0, 2, store(0, components=2)),
    _mtbuf(0x06, "tbuffer_store_format_xyz",    0, 3, store(0, components=3)),
    _mtbuf(0x07, "tbuffer_store_format_xyzw",   0, 4, store(0, components=4)),
    _mtbuf(0x08, "tbuffer_load_format_d16_x",   1, 0, load(0, components=1, half=Half.LOW)),
    _mtbuf(0x09, "tbuffer_load_format_d16_xy",  1, 0, load(0, components=2, half=Half.PACKED)),
    _mtbuf(0x0A, "tbuffer_load_format_d16_xyz", 2, 0, load(0, components=3, half=Half.PACKED)),
    _mtbuf(0x0B, "tbuffer_load_format_d16_xyzw", 2, 0, load(0, components=4, half=Half.PACKED)),
    _mtbuf(0x0C, "tbuffer_store_format_d16_x",  0, 1, store(0, components=1, half=Half.LOW)),
    _mtbuf(0x0D, "tbuffer_store_format_d16_xy", 0, 1, store(0, components=2, half=Half.PACKED)),
    _mtbuf(0x0E, "tbuffer_store_format_d16_xyz", 0, 2, store(0, components=3, half=Half.PACKED)),
    _mtbuf(0x0F, "tbuffer_store_format_d16_xyzw", 0, 2, store(0, components=4, half=Half.PACKED)),
)
# fmt: on

for rows in (MUBUF, MTBUF):
    for word in WORDS[rows[0].encoding]:
        register(word, rows)
