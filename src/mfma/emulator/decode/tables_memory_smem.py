"""The SMEM instructions of gfx942: scalar loads, stores, atomics and caches, as llvm-mc 22.1.8 disassembles them."""

from __future__ import annotations

from mfma.emulator.decode.decoder import register
from mfma.emulator.decode.memory_records import Access, Kind, Number, atomic, load, store
from mfma.emulator.decode.memory_records import Operation as Op
from mfma.emulator.decode.memory_words import WORDS, Smem
from mfma.emulator.decode.records import Encoding, File, Row, Slot

__all__ = ["SMEM"]

U, S, B = Number.UNSIGNED, Number.SIGNED, Number.BITS
CACHE, CLOCK, PROBE = Access(Kind.CACHE), Access(Kind.CLOCK), Access(Kind.PROBE)
NO_IMM = 1 << Smem.imm.low


def _smem(opcode: int, name: str, sdst: int, sdata: int, sbase: int, access: Access) -> Row:
    """Return a row, of dwords per operand; an atomic has ``sdst`` and ``sdata`` in one field, which it prints once."""
    dst = (Slot("sdst", File.SREG, sdst, hidden=sdata > 0),) if sdst else ()
    if not sbase:
        return Row(name, Encoding.SMEM, opcode, dst, zero=NO_IMM, access=access)
    data = (Slot("sdata", File.SREG, sdata),) if sdata else ()
    if access.kind is Kind.PROBE:
        data = (Slot("sdata", File.IMMEDIATE),)
    address = (Slot("sbase", File.SGPR, sbase), Slot("soffset", File.SGPR))
    return Row(name, Encoding.SMEM, opcode, dst, (*data, *address), access=access)


# fmt: off
SMEM = (
    # opcode, mnemonic,                   sdst, sdata, sbase, access
    _smem(0x00, "s_load_dword",                1, 0, 2, load(4)),
    _smem(0x01, "s_load_dwordx2",              2, 0, 2, load(8)),
    _smem(0x02, "s_load_dwordx4",              4, 0, 2, load(16)),
    _smem(0x03, "s_load_dwordx8",              8, 0, 2, load(32)),
    _smem(0x04, "s_load_dwordx16",            16, 0, 2, load(64)),
    _smem(0x05, "s_scratch_load_dword",        1, 0, 2, load(4, unit=64)),
    _smem(0x06, "s_scratch_load_dwordx2",      2, 0, 2, load(8, unit=64)),
    _smem(0x07, "s_scratch_load_dwordx4",      4, 0, 2, load(16, unit=64)),
    _smem(0x08, "s_buffer_load_dword",         1, 0, 4, load(4)),
    _smem(0x09, "s_buffer_load_dwordx2",       2, 0, 4, load(8)),
    _smem(0x0A, "s_buffer_load_dwordx4",       4, 0, 4, load(16)),
    _smem(0x0B, "s_buffer_load_dwordx8",       8, 0, 4, load(32)),
    _smem(0x0C, "s_buffer_load_dwordx16",     16, 0, 4, load(64)),
    _smem(0x10, "s_store_dword",               0, 1, 2, store(4)),
    _smem(0x11, "s_store_dwordx2",             0, 2, 2, store(8)),
    _smem(0x12, "s_store_dwordx4",             0, 4, 2, store(16)),
    _smem(0x15, "s_scratch_store_dword",       0, 1, 2, store(4, unit=64)),
    _smem(0x16, "s_scratch_store_dwordx2",     0, 2, 2, store(8, unit=64)),
    _smem(0x17, "s_scratch_store_dwordx4",     0, 4, 2, store(16, unit=64)),
    _smem(0x18, "s_buffer_store_dword",        0, 1, 4, store(4)),
    _smem(0x19, "s_buffer_store_dwordx2",      0, 2, 4, store(8)),
    _smem(0x1A, "s_buffer_store_dwordx4",      0, 4, 4, store(16)),
    _smem(0x20, "s_dcache_inv",                0, 0, 0, CACHE),
    _smem(0x21, "s_dcache_wb",                 0, 0, 0, CACHE),
    _smem(0x22, "s_dcache_inv_vol",            0, 0, 0, CACHE),
    _smem(0x23, "s_dcache_wb_vol",             0, 0, 0, CACHE),
    _smem(0x24, "s_memtime",                   2, 0, 0, CLOCK),
    _smem(0x25, "s_memrealtime",               2, 0, 0, CLOCK),
    _smem(0x26, "s_atc_probe",                 0, 0, 2, PROBE),
    _smem(0x27, "s_atc_probe_buffer",          0, 0, 4, PROBE),
    _smem(0x28, "s_dcache_discard",            0, 0, 2, Access(Kind.CACHE, 64)),
    _smem(0x29, "s_dcache_discard_x2",         0, 0, 2, Access(Kind.CACHE, 128)),
    _smem(0x40, "s_buffer_atomic_swap",        1, 1, 4, atomic(Op.SWAP, B)),
    _smem(0x41, "s_buffer_atomic_cmpswap",     1, 2, 4, atomic(Op.CMPSWAP, B)),
    _smem(0x42, "s_buffer_atomic_add",         1, 1, 4, atomic(Op.ADD, U)),
    _smem(0x43, "s_buffer_atomic_sub",         1, 1, 4, atomic(Op.SUB, U)),
    _smem(0x44, "s_buffer_atomic_smin",        1, 1, 4, atomic(Op.MIN, S)),
    _smem(0x45, "s_buffer_atomic_umin",        1, 1, 4, atomic(Op.MIN, U)),
    _smem(0x46, "s_buffer_atomic_smax",        1, 1, 4, atomic(Op.MAX, S)),
    _smem(0x47, "s_buffer_atomic_umax",        1, 1, 4, atomic(Op.MAX, U)),
    _smem(0x48, "s_buffer_atomic_and",         1, 1, 4, atomic(Op.AND, B)),
    _smem(0x49, "s_buffer_atomic_or",          1, 1, 4, atomic(Op.OR, B)),
    _smem(0x4A, "s_buffer_atomic_xor",         1, 1, 4, atomic(Op.XOR, B)),
    _smem(0x4B, "s_buffer_atomic_inc",         1, 1, 4, atomic(Op.INC, U)),
    _smem(0x4C, "s_buffer_atomic_dec",         1, 1, 4, atomic(Op.DEC, U)),
    _smem(0x60, "s_buffer_atomic_swap_x2",     2, 2, 4, atomic(Op.SWAP, B, 8)),
    _smem(0x61, "s_buffer_atomic_cmpswap_x2",  2, 4, 4, atomic(Op.CMPSWAP, B, 8)),
    _smem(0x62, "s_buffer_atomic_add_x2",      2, 2, 4, atomic(Op.ADD, U, 8)),
    _smem(0x63, "s_buffer_atomic_sub_x2",      2, 2, 4, atomic(Op.SUB, U, 8)),
    _smem(0x64, "s_buffer_atomic_smin_x2",     2, 2, 4, atomic(Op.MIN, S, 8)),
    _smem(0x65, "s_buffer_atomic_umin_x2",     2, 2, 4, atomic(Op.MIN, U, 8)),
    _smem(0x66, "s_buffer_atomic_smax_x2",     2, 2, 4, atomic(Op.MAX, S, 8)),
    _smem(0x67, "s_buffer_atomic_umax_x2",     2, 2, 4, atomic(Op.MAX, U, 8)),
    _smem(0x68, "s_buffer_atomic_and_x2",      2, 2, 4, atomic(Op.AND, B, 8)),
    _smem(0x69, "s_buffer_atomic_or_x2",       2, 2, 4, atomic(Op.OR, B, 8)),
    _smem(0x6A, "s_buffer_atomic_xor_x2",      2, 2, 4, atomic(Op.XOR, B, 8)),
    _smem(0x6B, "s_buffer_atomic_inc_x2",      2, 2, 4, atomic(Op.INC, U, 8)),
    _smem(0x6C, "s_buffer_atomic_dec_x2",      2, 2, 4, atomic(Op.DEC, U, 8)),
    _smem(0x80, "s_atomic_swap",               1, 1, 2, atomic(Op.SWAP, B)),
    _smem(0x81, "s_atomic_cmpswap",            1, 2, 2, atomic(Op.CMPSWAP, B)),
    _smem(0x82, "s_atomic_add",                1, 1, 2, atomic(Op.ADD, U)),
    _smem(0x83, "s_atomic_sub",                1, 1, 2, atomic(Op.SUB, U)),
    _smem(0x84, "s_atomic_smin",               1, 1, 2, atomic(Op.MIN, S)),
    _smem(0x85, "s_atomic_umin",               1, 1, 2, atomic(Op.MIN, U)),
    _smem(0x86, "s_atomic_smax",               1, 1, 2, atomic(Op.MAX, S)),
    _smem(0x87, "s_atomic_umax",               1, 1, 2, atomic(Op.MAX, U)),
    _smem(0x88, "s_atomic_and",                1, 1, 2, atomic(Op.AND, B)),
    _smem(0x89, "s_atomic_or",                 1, 1, 2, atomic(Op.OR, B)),
    _smem(0x8A, "s_atomic_xor",                1, 1, 2, atomic(Op.XOR, B)),
    _smem(0x8B, "s_atomic_inc",                1, 1, 2, atomic(Op.INC, U)),
    _smem(0x8C, "s_atomic_dec",                1, 1, 2, atomic(Op.DEC, U)),
    _smem(0xA0, "s_atomic_swap_x2",            2, 2, 2, atomic(Op.SWAP, B, 8)),
    _smem(0xA1, "s_atomic_cmpswap_x2",         2, 4, 2, atomic(Op.CMPSWAP, B, 8)),
    _smem(0xA2, "s_atomic_add_x2",             2, 2, 2, atomic(Op.ADD, U, 8)),
    _smem(0xA3, "s_atomic_sub_x2",             2, 2, 2, atomic(Op.SUB, U, 8)),
    _smem(0xA4, "s_atomic_smin_x2",            2, 2, 2, atomic(Op.MIN, S, 8)),
    _smem(0xA5, "s_atomic_umin_x2",            2, 2, 2, atomic(Op.MIN, U, 8)),
    _smem(0xA6, "s_atomic_smax_x2",            2, 2, 2, atomic(Op.MAX, S, 8)),
    _smem(0xA7, "s_atomic_umax_x2",            2, 2, 2, atomic(Op.MAX, U, 8)),
    _smem(0xA8, "s_atomic_and_x2",             2, 2, 2, atomic(Op.AND, B, 8)),
    _smem(0xA9, "s_atomic_or_x2",              2, 2, 2, atomic(Op.OR, B, 8)),
    _smem(0xAA, "s_atomic_xor_x2",             2, 2, 2, atomic(Op.XOR, B, 8)),
    _smem(0xAB, "s_atomic_inc_x2",             2, 2, 2, atomic(Op.INC, U, 8)),
    _smem(0xAC, "s_atomic_dec_x2",             2, 2, 2, atomic(Op.DEC, U, 8)),
)
# fmt: on

for word in WORDS[Encoding.SMEM]:
    register(word, SMEM)
