"""The FLAT, GLOBAL and SCRATCH instructions of gfx942, as llvm-mc 22.1.8 disassembles them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from mfma.emulator.decode.decoder import register
from mfma.emulator.decode.memory_records import Access, Half, Kind, Number, atomic, load, store
from mfma.emulator.decode.memory_records import Operation as Op
from mfma.emulator.decode.memory_words import NO_SC1_RETURN, VGPR_RETURN, WORDS, Flat
from mfma.emulator.decode.records import Encoding, File, Row, Slot

__all__ = ["FLAT", "GLOBAL", "SCRATCH"]

U, S, F, B = Number.UNSIGNED, Number.SIGNED, Number.FLOAT, Number.BITS
FLAT_ZERO = 1 << Flat.sve.low | Flat.saddr.largest << Flat.saddr.low
GLOBAL_ZERO = 1 << Flat.sve.low
ACC = 1 << Flat.acc.low
to_lds = partial(Access, Kind.TO_LDS, m0=True)


def _row(opcode: int, name: str, vdst: int, vdata: int, access: Access, style: str = "") -> Row:
    """Return a row without its segment, of dwords per operand."""
    dst = (Slot("vdst", File.VGPR, vdst, acc="acc"),) if vdst else ()
    data = (Slot("vdata", File.VGPR, vdata, acc="acc"),) if vdata else ()
    zero = ACC if access.kind is Kind.TO_LDS else 0
    return Row(
        name, Encoding.FLAT, opcode, dst, (Slot("vaddr", File.VGPR), *data), zero=zero, style=style, access=access
    )


# fmt: off
DATA = (
    # opcode, mnemonic,         vdst, vdata, access
    _row(0x10, "load_ubyte",         1, 0, load(1)),
    _row(0x11, "load_sbyte",         1, 0, load(1, signed=True)),
    _row(0x12, "load_ushort",        1, 0, load(2)),
    _row(0x13, "load_sshort",        1, 0, load(2, signed=True)),
    _row(0x14, "load_dword",         1, 0, load(4)),
    _row(0x15, "load_dwordx2",       2, 0, load(8)),
    _row(0x16, "load_dwordx3",       3, 0, load(12)),
    _row(0x17, "load_dwordx4",       4, 0, load(16)),
    _row(0x18, "store_byte",         0, 1, store(1)),
    _row(0x19, "store_byte_d16_hi",  0, 1, store(1, half=Half.HIGH)),
    _row(0x1A, "store_short",        0, 1, store(2)),
    _row(0x1B, "store_short_d16_hi", 0, 1, store(2, half=Half.HIGH)),
    _row(0x1C, "store_dword",        0, 1, store(4)),
    _row(0x1D, "store_dwordx2",      0, 2, store(8)),
    _row(0x1E, "store_dwordx3",      0, 3, store(12)),
    _row(0x1F, "store_dwordx4",      0, 4, store(16)),
    _row(0x20, "load_ubyte_d16",     1, 0, load(1, half=Half.LOW)),
    _row(0x21, "load_ubyte_d16_hi",  1, 0, load(1, half=Half.HIGH)),
    _row(0x22, "load_sbyte_d16",     1, 0, load(1, signed=True, half=Half.LOW)),
    _row(0x23, "load_sbyte_d16_hi",  1, 0, load(1, signed=True, half=Half.HIGH)),
    _row(0x24, "load_short_d16",     1, 0, load(2, half=Half.LOW)),
    _row(0x25, "load_short_d16_hi",  1, 0, load(2, half=Half.HIGH)),
)
TO_LDS = (
    _row(0x26, "load_lds_ubyte",     0, 0, to_lds(1)),
    _row(0x27, "load_lds_sbyte",     0, 0, to_lds(1, signed=True)),
    _row(0x28, "load_lds_ushort",    0, 0, to_lds(2)),
    _row(0x29, "load_lds_sshort",    0, 0, to_lds(2, signed=True)),
    _row(0x2A, "load_lds_dword",     0, 0, to_lds(4)),
)
ATOMICS = (
    _row(0x40, "atomic_swap",        1, 1, atomic(Op.SWAP, B)),
    _row(0x41, "atomic_cmpswap",     1, 2, atomic(Op.CMPSWAP, B)),
    _row(0x42, "atomic_add",         1, 1, atomic(Op.ADD, U)),
    _row(0x43, "atomic_sub",         1, 1, atomic(Op.SUB, U)),
    _row(0x44, "atomic_smin",        1, 1, atomic(Op.MIN, S)),
    _row(0x45, "atomic_umin",        1, 1, atomic(Op.MIN, U)),
    _row(0x46, "atomic_smax",        1, 1, atomic(Op.MAX, S)),
    _row(0x47, "atomic_umax",        1, 1, atomic(Op.MAX, U)),
    _row(0x48, "atomic_and",         1, 1, atomic(Op.AND, B)),
    _row(0x49, "atomic_or",          1, 1, atomic(Op.OR, B)),
    _row(0x4A, "atomic_xor",         1, 1, atomic(Op.XOR, B)),
    _row(0x4B, "atomic_inc",         1, 1, atomic(Op.INC, U)),
    _row(0x4C, "atomic_dec",         1, 1, atomic(Op.DEC, U)),
    _row(0x4D, "atomic_add_f32",     1, 1, atomic(Op.ADD, F), style=VGPR_RETURN),
    _row(0x4E, "atomic_pk_add_f16",  1, 1, atomic(Op.ADD, Number.PK_F16), style=VGPR_RETURN),
    _row(0x4F, "atomic_add_f64",     2, 2, atomic(Op.ADD, F, 8), style=NO_SC1_RETURN),
    _row(0x50, "atomic_min_f64",     2, 2, atomic(Op.MIN, F, 8), style=NO_SC1_RETURN),
    _row(0x51, "atomic_max_f64",     2, 2, atomic(Op.MAX, F, 8), style=NO_SC1_RETURN),
    _row(0x52, "atomic_pk_add_bf16", 1, 1, atomic(Op.ADD, Number.PK_BF16)),
    _row(0x60, "atomic_swap_x2",     2, 2, atomic(Op.SWAP, B, 8)),
    _row(0x61, "atomic_cmpswap_x2",  2, 4, atomic(Op.CMPSWAP, B, 8)),
    _row(0x62, "atomic_add_x2",      2, 2, atomic(Op.ADD, U, 8)),
    _row(0x63, "atomic_sub_x2",      2, 2, atomic(Op.SUB, U, 8)),
    _row(0x64, "atomic_smin_x2",     2, 2, atomic(Op.MIN, S, 8)),
    _row(0x65, "atomic_umin_x2",     2, 2, atomic(Op.MIN, U, 8)),
    _row(0x66, "atomic_smax_x2",     2, 2, atomic(Op.MAX, S, 8)),
    _row(0x67, "atomic_umax_x2",     2, 2, atomic(Op.MAX, U, 8)),
    _row(0x68, "atomic_and_x2",      2, 2, atomic(Op.AND, B, 8)),
    _row(0x69, "atomic_or_x2",       2, 2, atomic(Op.OR, B, 8)),
    _row(0x6A, "atomic_xor_x2",      2, 2, atomic(Op.XOR, B, 8)),
    _row(0x6B, "atomic_inc_x2",      2, 2, atomic(Op.INC, U, 8)),
    _row(0x6C, "atomic_dec_x2",      2, 2, atomic(Op.DEC, U, 8)),
)
# fmt: on


def _flat(row: Row) -> Row:
    return replace(row, name=f"flat_{row.name}", zero=FLAT_ZERO)


def _global(row: Row) -> Row:
    to_lds = row.access is not None and row.access.kind is Kind.TO_LDS
    saddr = Slot("saddr", File.SGPR if to_lds else File.SREG)
    zero = row.zero | GLOBAL_ZERO
    return replace(row, name=f"global_{row.name}", encoding=Encoding.GLOBAL, src=(*row.src, saddr), zero=zero)


def _scratch(row: Row) -> Row:
    src = (*row.src, Slot("saddr", File.SGPR))
    return replace(row, name=f"scratch_{row.name}", encoding=Encoding.SCRATCH, src=src)


FLAT = tuple(map(_flat, DATA + ATOMICS))
GLOBAL = tuple(map(_global, DATA + TO_LDS + ATOMICS))
SCRATCH = tuple(map(_scratch, DATA + TO_LDS))

for rows in (FLAT, GLOBAL, SCRATCH):
    for word in WORDS[rows[0].encoding]:
        register(word, rows)
