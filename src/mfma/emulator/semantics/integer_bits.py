"""Bitwise operations, shifts, bit fields and bit counts of the vector ALU."""

from __future__ import annotations

from collections.abc import Callable

from mfma.emulator.semantics.bits import bit_field, bit_mask, count, leading_sign_bits, shift_count
from mfma.emulator.semantics.valu import vector
from mfma.emulator.semantics.values import B32, B64, Value

Function = Callable[..., Value]

LOGIC: dict[str, Function] = {
    "v_not_b32": lambda a: ~a,
    "v_and_b32": lambda a, b: a & b,
    "v_or_b32": lambda a, b: a | b,
    "v_xor_b32": lambda a, b: a ^ b,
    "v_xnor_b32": lambda a, b: ~(a ^ b),
    "v_or3_b32": lambda a, b, c: a | b | c,
    "v_and_or_b32": lambda a, b, c: a & b | c,
    "v_lshl_or_b32": lambda a, b, c: a << shift_count(b, B32) | c,
    "v_bfi_b32": lambda a, b, c: a & b | ~a & c,
}
for name, function in LOGIC.items():
    vector(name, result=B32, sources=(B32,) * function.__code__.co_argcount)(function)

# shifts: the count comes first

vector("v_lshlrev_b32", result=B32, sources=(B32, B32))(lambda a, b: b << shift_count(a, B32))
vector("v_lshrrev_b32", result=B32, sources=(B32, B32))(lambda a, b: b >> shift_count(a, B32))
vector("v_ashrrev_i32", result=B32, sources=(B32, B32))(lambda a, b: b.sar(shift_count(a, B32)))
vector("v_lshlrev_b64", result=B64, sources=(B32, B64))(lambda a, b: b << shift_count(a, B64))
vector("v_lshrrev_b64", result=B64, sources=(B32, B64))(lambda a, b: b >> shift_count(a, B64))
vector("v_ashrrev_i64", result=B64, sources=(B32, B64))(lambda a, b: b.sar(shift_count(a, B64)))

# 32 bits out of 64: the first source is above the second
vector("v_alignbit_b32", result=B32, sources=(B32, B32, B32))(
    lambda a, b, c: (b.concat(a) >> (c & 31).zext(B64)).trunc(B32)
)
vector("v_alignbyte_b32", result=B32, sources=(B32, B32, B32))(
    lambda a, b, c: (b.concat(a) >> ((c & 3) << 3).zext(B64)).trunc(B32)
)

# bit fields

vector("v_bfe_u32", result=B32, sources=(B32, B32, B32))(lambda a, b, c: bit_field(a, b & 31, c & 31, signed=False))
vector("v_bfe_i32", result=B32, sources=(B32, B32, B32))(lambda a, b, c: bit_field(a, b & 31, c & 31, signed=True))
vector("v_bfm_b32", result=B32, sources=(B32, B32))(lambda a, b: bit_mask(a & 31, b & 31))
vector("v_bfrev_b32", result=B32, sources=(B32,))(lambda a: a.reverse())

# counts

vector("v_ffbh_u32", result=B32, sources=(B32,))(lambda a: count(a, a.leading_zeros()))
vector("v_ffbl_b32", result=B32, sources=(B32,))(lambda a: count(a, a.trailing_zeros()))
vector("v_ffbh_i32", result=B32, sources=(B32,))(leading_sign_bits)
vector("v_bcnt_u32_b32", result=B32, sources=(B32, B32))(lambda a, b: a.popcount() + b)


def lanes_below(lane: Value) -> Value:
    """A B64 with one bit for every lane below this one."""
    return (lane.zext(B64).like(1) << lane.zext(B64)) - 1


vector("v_mbcnt_lo_u32_b32", result=B32, sources=(B32, B32))(
    lambda a, b: (a & lanes_below(a.program.lane()).trunc(B32)).popcount() + b
)
vector("v_mbcnt_hi_u32_b32", result=B32, sources=(B32, B32))(
    lambda a, b: (a & (lanes_below(a.program.lane()) >> 32).trunc(B32)).popcount() + b
)


@vector("v_perm_b32", result=B32, sources=(B32, B32, B32))
def _perm(a: Value, b: Value, selectors: Value) -> Value:
    """Each byte of the third source selects: 0 to 7 a byte, the second source's first; 8 to 11 the sign of bytes 1,
    3, 5 or 7; 12 zeros; more than 12 ones."""
    data = b.concat(a)
    result = a.like(0)
    for i in range(4):
        selector = selectors.bits(8 * i, 8)
        byte = data >> ((selector & 7) << 3).zext(B64)
        sign = data >> ((selector & 3) << 4).zext(B64) >> 15
        picked = selector.ult(8).select(byte, 0 - (sign & 1)).trunc(B32) & 0xFF
        picked = selector.equals(12).select(picked.like(0), picked)
        result |= selector.ult(13).select(picked, 0xFF) << 8 * i
    return result
