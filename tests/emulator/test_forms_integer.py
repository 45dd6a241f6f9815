"""Integer and bit instructions of the vector ALU, against Python's integers."""

import pytest

from emulator.forms import check_lanes, clamp, covers, registers_of, samples, signed

WORD, HALF = 0xFFFF_FFFF, 0xFFFF


def s32(a):
    return signed(a, 32)


def s16(a):
    return signed(a, 16)


def parts(value, width):
    """Unsigned parts of a register, the lowest first."""
    return [value >> low & (1 << width) - 1 for low in range(0, 32, width)]


def signed_parts(value, width):
    return [signed(part, width) for part in parts(value, width)]


def first_one(value, order):
    return next((i for i, bit in enumerate(order) if value >> bit & 1), -1)


def differing_from_sign(value):
    return next((i for i in range(1, 32) if (value >> 31 - i ^ value >> 31) & 1), -1)


def field(value, offset, width):
    return value >> (offset & 31) & (1 << (width & 31)) - 1


def signed_field(value, offset, width):
    width &= 31
    return signed(s32(value) >> (offset & 31), width) if width else 0


def median(*values):
    return sorted(values)[1]


def permuted_byte(data, selector):
    if selector >= 13:
        return 0xFF
    if selector == 12:
        return 0
    if selector >= 8:
        return 0xFF * (data >> 16 * (selector - 8) + 15 & 1)
    return data >> 8 * selector & 0xFF


def permuted(a, b, selectors):
    data = a << 32 | b
    return sum(permuted_byte(data, selector) << 8 * i for i, selector in enumerate(parts(selectors, 8)))


def sad(a, b, width=8):
    return sum(abs(x - y) for x, y in zip(parts(a, width), parts(b, width), strict=True))


def masked_sad(a, b):
    return sum(abs(x - y) for x, y in zip(parts(a, 8), parts(b, 8), strict=True) if y)


def quad_sad(function, finish):
    """Four windows of eight bytes against one register, each with its own 16 bits of the addend."""

    def quad(a, b, c):
        sums = [function(a >> 8 * i & WORD, b) + (c >> 16 * i & HALF) for i in range(4)]
        return sum(finish(total) << 16 * i for i, total in enumerate(sums))

    return quad


def wrap_16(total):
    return total & HALF


def clamp_16(total):
    return min(total, HALF)


def mqsad_u32(a, b, c, saturates=False):
    sums = [masked_sad(a >> 8 * i & WORD, b) + (c >> 32 * i & WORD) for i in range(4)]
    return sum((min(total, WORD) if saturates else total & WORD) << 32 * i for i, total in enumerate(sums))


def lerp(a, b, c):
    bytes_ = zip(parts(a, 8), parts(b, 8), parts(c, 8), strict=True)
    return sum((x + y + (z & 1) >> 1) << 8 * i for i, (x, y, z) in enumerate(bytes_))


def dot(a, b, c, width, is_signed):
    split = signed_parts if is_signed else parts
    return (s32(c) if is_signed else c) + sum(x * y for x, y in zip(split(a, width), split(b, width), strict=True))


def mul24(a, b):
    return signed(a, 24) * signed(b, 24)


def umul24(a, b):
    return (a & 0xFF_FFFF) * (b & 0xFF_FFFF)


def identity(a):
    return a


def pair_16(function):
    """A function of unsigned halves on both halves of registers."""
    return lambda *values: sum((function(*(value >> low & HALF for value in values)) & HALF) << low for low in (0, 16))


D, A, B, C = "v40", "v10", "v11", "v12"
D2, A2, B2, C2 = "v[40:41]", "v[10:11]", "v[20:21]", "v[30:31]"

PLAIN = {
    # moves
    f"v_mov_b32_e32 {D}, {A}": identity,
    f"v_mov_b32_e32 {D}, s5": identity,
    f"v_mov_b32_e64 {D}, {A}": identity,
    f"v_mov_b64_e32 {D2}, {A2}": identity,
    f"v_mov_b64_e64 {D2}, s[6:7]": identity,
    f"v_accvgpr_read_b32 {D}, a10": identity,
    f"v_accvgpr_write_b32 a40, {A}": identity,
    "v_accvgpr_mov_b32 a40, a10": identity,
    f"v_cndmask_b32_e32 {D}, {A}, {B}, vcc": lambda a, b, mask: b if mask else a,
    f"v_cndmask_b32_e64 {D}, {A}, {B}, s[20:21]": lambda a, b, mask: b if mask else a,
    f"v_cndmask_b32_e64 {D}, -{A}, |{B}|, s[20:21]": lambda a, b, mask: b & 0x7FFF_FFFF if mask else a ^ 1 << 31,
    f"v_pk_mov_b32 {D2}, {A2}, {B2}": lambda a, b: a & WORD | (b & WORD) << 32,
    f"v_pk_mov_b32 {D2}, {A2}, {B2} op_sel:[0,1]": lambda a, b: a & WORD | b >> 32 << 32,
    f"v_pk_mov_b32 {D2}, {A2}, {B2} op_sel:[1,0]": lambda a, b: a >> 32 | (b & WORD) << 32,
    # sums
    f"v_add_u32_e32 {D}, {A}, {B}": lambda a, b: a + b,
    f"v_sub_u32_e32 {D}, {A}, {B}": lambda a, b: a - b,
    f"v_subrev_u32_e32 {D}, {A}, {B}": lambda a, b: b - a,
    f"v_add_u32_e64 {D}, s5, {B}": lambda a, b: a + b,
    f"v_add_u32_e64 {D}, {A}, {B} clamp": lambda a, b: min(a + b, WORD),
    f"v_sub_u32_e64 {D}, {A}, {B} clamp": lambda a, b: max(a - b, 0),
    f"v_subrev_u32_e64 {D}, {A}, {B} clamp": lambda a, b: max(b - a, 0),
    f"v_add_i32 {D}, {A}, {B}": lambda a, b: a + b,
    f"v_sub_i32 {D}, {A}, {B}": lambda a, b: a - b,
    f"v_add_i32 {D}, {A}, {B} clamp": lambda a, b: clamp(s32(a) + s32(b), 32, True),
    f"v_sub_i32 {D}, {A}, {B} clamp": lambda a, b: clamp(s32(a) - s32(b), 32, True),
    f"v_add3_u32 {D}, {A}, {B}, {C}": lambda a, b, c: a + b + c,
    f"v_lshl_add_u32 {D}, {A}, {B}, {C}": lambda a, b, c: (a << b % 32) + c,
    f"v_add_lshl_u32 {D}, {A}, {B}, {C}": lambda a, b, c: a + b << c % 32,
    f"v_lshl_or_b32 {D}, {A}, {B}, {C}": lambda a, b, c: a << b % 32 | c,
    f"v_xad_u32 {D}, {A}, {B}, {C}": lambda a, b, c: (a ^ b) + c,
    f"v_lshl_add_u64 {D2}, {A2}, {C}, {B2}": lambda a, shift, c: (a << shift % 8) + c,
    # products
    f"v_mul_i32_i24_e32 {D}, {A}, {B}": mul24,
    f"v_mul_u32_u24_e32 {D}, {A}, {B}": umul24,
    f"v_mul_i32_i24_e64 {D}, {A}, {B} clamp": lambda a, b: clamp(mul24(a, b), 32, True),
    f"v_mul_u32_u24_e64 {D}, {A}, {B} clamp": lambda a, b: clamp(umul24(a, b), 32, False),
    f"v_mul_hi_i32_i24_e32 {D}, {A}, {B}": lambda a, b: mul24(a, b) >> 32,
    f"v_mul_hi_u32_u24_e32 {D}, {A}, {B}": lambda a, b: umul24(a, b) >> 32,
    f"v_mad_i32_i24 {D}, {A}, {B}, {C}": lambda a, b, c: mul24(a, b) + c,
    f"v_mad_u32_u24 {D}, {A}, {B}, {C}": lambda a, b, c: umul24(a, b) + c,
    f"v_mad_i32_i24 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp(mul24(a, b) + s32(c), 32, True),
    f"v_mad_u32_u24 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp(umul24(a, b) + c, 32, False),
    f"v_mul_lo_u32 {D}, {A}, {B}": lambda a, b: a * b,
    f"v_mul_hi_u32 {D}, {A}, {B}": lambda a, b: a * b >> 32,
    f"v_mul_hi_i32 {D}, {A}, {B}": lambda a, b: s32(a) * s32(b) >> 32,
    # order
    f"v_min_i32_e32 {D}, {A}, {B}": lambda a, b: min(s32(a), s32(b)),
    f"v_max_i32_e32 {D}, {A}, {B}": lambda a, b: max(s32(a), s32(b)),
    f"v_min_u32_e32 {D}, {A}, {B}": min,
    f"v_max_u32_e32 {D}, {A}, {B}": max,
    f"v_min3_i32 {D}, {A}, {B}, {C}": lambda a, b, c: min(s32(a), s32(b), s32(c)),
    f"v_max3_i32 {D}, {A}, {B}, {C}": lambda a, b, c: max(s32(a), s32(b), s32(c)),
    f"v_med3_i32 {D}, {A}, {B}, {C}": lambda a, b, c: median(s32(a), s32(b), s32(c)),
    f"v_min3_u32 {D}, {A}, {B}, {C}": min,
    f"v_max3_u32 {D}, {A}, {B}, {C}": max,
    f"v_med3_u32 {D}, {A}, {B}, {C}": median,
    f"v_cvt_pk_i16_i32 {D}, {A}, {B}": lambda a, b: clamp(s32(a), 16, True) | clamp(s32(b), 16, True) << 16,
    f"v_cvt_pk_u16_u32 {D}, {A}, {B}": lambda a, b: min(a, HALF) | min(b, HALF) << 16,
    # bits
    f"v_not_b32_e32 {D}, {A}": lambda a: ~a,
    f"v_and_b32_e32 {D}, {A}, {B}": lambda a, b: a & b,
    f"v_or_b32_e32 {D}, {A}, {B}": lambda a, b: a | b,
    f"v_xor_b32_e32 {D}, {A}, {B}": lambda a, b: a ^ b,
    f"v_xnor_b32_e32 {D}, {A}, {B}": lambda a, b: ~(a ^ b),
    f"v_or3_b32 {D}, {A}, {B}, {C}": lambda a, b, c: a | b | c,
    f"v_and_or_b32 {D}, {A}, {B}, {C}": lambda a, b, c: a & b | c,
    f"v_bfi_b32 {D}, {A}, {B}, {C}": lambda a, b, c: sum(((b if a >> i & 1 else c) >> i & 1) << i for i in range(32)),
    f"v_lshlrev_b32_e32 {D}, {A}, {B}": lambda a, b: b << a % 32,
    f"v_lshrrev_b32_e32 {D}, {A}, {B}": lambda a, b: b >> a % 32,
    f"v_ashrrev_i32_e32 {D}, {A}, {B}": lambda a, b: s32(b) >> a % 32,
    f"v_lshlrev_b32_e32 {D}, 35, {B}": lambda b: b << 3,
    f"v_lshlrev_b64 {D2}, {A}, {B2}": lambda a, b: b << a % 64,
    f"v_lshrrev_b64 {D2}, {A}, {B2}": lambda a, b: b >> a % 64,
    f"v_ashrrev_i64 {D2}, {A}, {B2}": lambda a, b: signed(b, 64) >> a % 64,
    f"v_alignbit_b32 {D}, {A}, {B}, {C}": lambda a, b, c: (a << 32 | b) >> c % 32,
    f"v_alignbyte_b32 {D}, {A}, {B}, {C}": lambda a, b, c: (a << 32 | b) >> 8 * (c % 4),
    f"v_bfe_u32 {D}, {A}, {B}, {C}": field,
    f"v_bfe_i32 {D}, {A}, {B}, {C}": signed_field,
    f"v_bfm_b32 {D}, {A}, {B}": lambda a, b: (1 << a % 32) - 1 << b % 32,
    f"v_bfrev_b32_e32 {D}, {A}": lambda a: int(f"{a:032b}"[::-1], 2),
    f"v_ffbh_u32_e32 {D}, {A}": lambda a: first_one(a, range(31, -1, -1)),
    f"v_ffbl_b32_e32 {D}, {A}": lambda a: first_one(a, range(32)),
    f"v_ffbh_i32_e32 {D}, {A}": differing_from_sign,
    f"v_bcnt_u32_b32 {D}, {A}, {B}": lambda a, b: f"{a:b}".count("1") + b,
    f"v_perm_b32 {D}, {A}, {B}, {C}": permuted,
    # bytes
    f"v_sad_u8 {D}, {A}, {B}, {C}": lambda a, b, c: sad(a, b) + c,
    f"v_sad_u8 {D}, {A}, {B}, {C} clamp": lambda a, b, c: min(sad(a, b) + c, WORD),
    f"v_sad_hi_u8 {D}, {A}, {B}, {C}": lambda a, b, c: (sad(a, b) << 16) + c,
    f"v_sad_hi_u8 {D}, {A}, {B}, {C} clamp": lambda a, b, c: min((sad(a, b) << 16) + c, WORD),
    f"v_sad_u16 {D}, {A}, {B}, {C}": lambda a, b, c: sad(a, b, 16) + c,
    f"v_sad_u16 {D}, {A}, {B}, {C} clamp": lambda a, b, c: min(sad(a, b, 16) + c, WORD),
    f"v_sad_u32 {D}, {A}, {B}, {C}": lambda a, b, c: abs(a - b) + c,
    f"v_sad_u32 {D}, {A}, {B}, {C} clamp": lambda a, b, c: min(abs(a - b) + c, WORD),
    f"v_msad_u8 {D}, {A}, {B}, {C}": lambda a, b, c: masked_sad(a, b) + c,
    f"v_msad_u8 {D}, {A}, {B}, {C} clamp": lambda a, b, c: min(masked_sad(a, b) + c, WORD),
    f"v_qsad_pk_u16_u8 {D2}, {A2}, v12, {C2}": quad_sad(sad, wrap_16),
    f"v_qsad_pk_u16_u8 {D2}, {A2}, v12, {C2} clamp": quad_sad(sad, clamp_16),
    f"v_mqsad_pk_u16_u8 {D2}, {A2}, v12, {C2}": quad_sad(masked_sad, wrap_16),
    f"v_mqsad_pk_u16_u8 {D2}, {A2}, v12, {C2} clamp": quad_sad(masked_sad, clamp_16),
    f"v_mqsad_u32_u8 v[40:43], {A2}, v12, v[30:33]": mqsad_u32,
    f"v_mqsad_u32_u8 v[40:43], {A2}, v12, v[30:33] clamp": lambda a, b, c: mqsad_u32(a, b, c, saturates=True),
    f"v_lerp_u8 {D}, {A}, {B}, {C}": lerp,
    f"v_sat_pk_u8_i16_e32 {D}, {A}": lambda a: max(0, min(255, s16(a))) | max(0, min(255, s16(a >> 16))) << 8,
    # dot products
    f"v_dot2_i32_i16 {D}, {A}, {B}, {C}": lambda a, b, c: dot(a, b, c, 16, True),
    f"v_dot2_u32_u16 {D}, {A}, {B}, {C}": lambda a, b, c: dot(a, b, c, 16, False),
    f"v_dot4_i32_i8 {D}, {A}, {B}, {C}": lambda a, b, c: dot(a, b, c, 8, True),
    f"v_dot4_u32_u8 {D}, {A}, {B}, {C}": lambda a, b, c: dot(a, b, c, 8, False),
    f"v_dot8_i32_i4 {D}, {A}, {B}, {C}": lambda a, b, c: dot(a, b, c, 4, True),
    f"v_dot8_u32_u4 {D}, {A}, {B}, {C}": lambda a, b, c: dot(a, b, c, 4, False),
    f"v_dot2_i32_i16 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp(dot(a, b, c, 16, True), 32, True),
    f"v_dot2_u32_u16 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp(dot(a, b, c, 16, False), 32, False),
    f"v_dot4_i32_i8 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp(dot(a, b, c, 8, True), 32, True),
    f"v_dot4_u32_u8 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp(dot(a, b, c, 8, False), 32, False),
    f"v_dot8_i32_i4 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp(dot(a, b, c, 4, True), 32, True),
    f"v_dot8_u32_u4 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp(dot(a, b, c, 4, False), 32, False),
    # 16 bits: these zero the other half
    f"v_add_u16_e32 {D}, {A}, {B}": lambda a, b: a + b & HALF,
    f"v_sub_u16_e32 {D}, {A}, {B}": lambda a, b: a - b & HALF,
    f"v_subrev_u16_e32 {D}, {A}, {B}": lambda a, b: b - a & HALF,
    f"v_add_u16_e64 {D}, {A}, {B} clamp": lambda a, b: min((a & HALF) + (b & HALF), HALF),
    f"v_sub_u16_e64 {D}, {A}, {B} clamp": lambda a, b: max((a & HALF) - (b & HALF), 0),
    f"v_subrev_u16_e64 {D}, {A}, {B} clamp": lambda a, b: max((b & HALF) - (a & HALF), 0),
    f"v_mul_lo_u16_e32 {D}, {A}, {B}": lambda a, b: a * b & HALF,
    f"v_lshlrev_b16_e32 {D}, {A}, {B}": lambda a, b: b << a % 16 & HALF,
    f"v_lshrrev_b16_e32 {D}, {A}, {B}": lambda a, b: (b & HALF) >> a % 16,
    f"v_ashrrev_i16_e32 {D}, {A}, {B}": lambda a, b: s16(b) >> a % 16 & HALF,
    f"v_min_u16_e32 {D}, {A}, {B}": lambda a, b: min(a & HALF, b & HALF),
    f"v_max_u16_e32 {D}, {A}, {B}": lambda a, b: max(a & HALF, b & HALF),
    f"v_min_i16_e32 {D}, {A}, {B}": lambda a, b: min(s16(a), s16(b)) & HALF,
    f"v_max_i16_e32 {D}, {A}, {B}": lambda a, b: max(s16(a), s16(b)) & HALF,
    f"v_mad_legacy_u16 {D}, {A}, {B}, {C}": lambda a, b, c: a * b + c & HALF,
    f"v_mad_legacy_i16 {D}, {A}, {B}, {C}": lambda a, b, c: a * b + c & HALF,
    f"v_mad_legacy_u16 {D}, {A}, {B}, {C} clamp": lambda a, b, c: min((a & HALF) * (b & HALF) + (c & HALF), HALF),
    f"v_mad_legacy_i16 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp(s16(a) * s16(b) + s16(c), 16, True),
    f"v_mad_u32_u16 {D}, {A}, {B}, {C}": lambda a, b, c: (a & HALF) * (b & HALF) + c,
    f"v_mad_i32_i16 {D}, {A}, {B}, {C}": lambda a, b, c: s16(a) * s16(b) + c,
    f"v_mad_u32_u16 {D}, {A}, {B}, {C} op_sel:[1,0,0,0]": lambda a, b, c: (a >> 16) * (b & HALF) + c,
    f"v_mad_i32_i16 {D}, {A}, {B}, {C} op_sel:[0,1,0,0]": lambda a, b, c: s16(a) * s16(b >> 16) + c,
    f"v_mad_u32_u16 {D}, {A}, {B}, {C} clamp": lambda a, b, c: min((a & HALF) * (b & HALF) + c, WORD),
    f"v_mad_i32_i16 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp(s16(a) * s16(b) + s32(c), 32, True),
    f"v_pack_b32_f16 {D}, {A}, {B}": lambda a, b: a & HALF | (b & HALF) << 16,
    f"v_pack_b32_f16 {D}, {A}, {B} op_sel:[1,0,0]": lambda a, b: a >> 16 | (b & HALF) << 16,
    f"v_pack_b32_f16 {D}, -{A}, |{B}| op_sel:[0,1,0]": lambda a, b: (a ^ 0x8000) & HALF | (b >> 16 & 0x7FFF) << 16,
    # packed
    f"v_pk_add_u16 {D}, {A}, {B}": pair_16(lambda a, b: a + b),
    f"v_pk_add_i16 {D}, {A}, {B}": pair_16(lambda a, b: a + b),
    f"v_pk_sub_u16 {D}, {A}, {B}": pair_16(lambda a, b: a - b),
    f"v_pk_sub_i16 {D}, {A}, {B}": pair_16(lambda a, b: a - b),
    f"v_pk_mul_lo_u16 {D}, {A}, {B}": pair_16(lambda a, b: a * b),
    f"v_pk_mad_u16 {D}, {A}, {B}, {C}": pair_16(lambda a, b, c: a * b + c),
    f"v_pk_mad_i16 {D}, {A}, {B}, {C}": pair_16(lambda a, b, c: a * b + c),
    f"v_pk_add_u16 {D}, {A}, {B} clamp": pair_16(lambda a, b: clamp(a + b, 16, False)),
    f"v_pk_add_i16 {D}, {A}, {B} clamp": pair_16(lambda a, b: clamp(s16(a) + s16(b), 16, True)),
    f"v_pk_sub_u16 {D}, {A}, {B} clamp": pair_16(lambda a, b: clamp(a - b, 16, False)),
    f"v_pk_sub_i16 {D}, {A}, {B} clamp": pair_16(lambda a, b: clamp(s16(a) - s16(b), 16, True)),
    f"v_pk_mul_lo_u16 {D}, {A}, {B} clamp": pair_16(lambda a, b: clamp(a * b, 16, False)),
    f"v_pk_mad_u16 {D}, {A}, {B}, {C} clamp": pair_16(lambda a, b, c: clamp(a * b + c, 16, False)),
    f"v_pk_mad_i16 {D}, {A}, {B}, {C} clamp": pair_16(lambda a, b, c: clamp(s16(a) * s16(b) + s16(c), 16, True)),
    f"v_pk_min_u16 {D}, {A}, {B}": pair_16(min),
    f"v_pk_max_u16 {D}, {A}, {B}": pair_16(max),
    f"v_pk_min_i16 {D}, {A}, {B}": pair_16(lambda a, b: min(s16(a), s16(b))),
    f"v_pk_max_i16 {D}, {A}, {B}": pair_16(lambda a, b: max(s16(a), s16(b))),
    f"v_pk_lshlrev_b16 {D}, {A}, {B}": pair_16(lambda a, b: b << a % 16),
    f"v_pk_lshrrev_b16 {D}, {A}, {B}": pair_16(lambda a, b: b >> a % 16),
    f"v_pk_ashrrev_i16 {D}, {A}, {B}": pair_16(lambda a, b: s16(b) >> a % 16),
    f"v_pk_add_u16 {D}, {A}, {B} op_sel:[1,0] op_sel_hi:[0,1]": lambda a, b: (
        ((a >> 16) + b & HALF) | (a + (b >> 16) & HALF) << 16
    ),
    f"v_pk_sub_i16 {D}, {A}, {B} op_sel:[0,1] op_sel_hi:[0,0]": lambda a, b: (
        (a - (b >> 16) & HALF) | (a - b & HALF) << 16
    ),
    # of an inline constant, integers see the 32-bit pattern: the high half of 1 is 0
    f"v_pk_add_u16 {D}, {A}, 1": lambda a: (a + 1 & HALF) | a & ~HALF,
    f"v_pk_add_u16 {D}, {A}, 1 op_sel_hi:[1,0]": lambda a: (a + 1 & HALF) | ((a >> 16) + 1 & HALF) << 16,
    f"v_pk_add_u16 {D}, {A}, -1": pair_16(lambda a: a - 1),
}


def selectors(seed, bits, count):
    """Four bytes, each most often one that `v_perm_b32` tells from the others."""
    for value in samples(seed, bits, count):
        yield value & 0x0F0F_0F0F if value % 8 else value


MAKERS = {f"v_perm_b32 {D}, {A}, {B}, {C}": {2: selectors}}


@pytest.mark.parametrize("text", covers("test_lanes", PLAIN))
def test_lanes(text):
    check_lanes(text, PLAIN[text], bits=MAKERS.get(text))


KEPT = {
    f"v_add_i16 {D}, {A}, {B}": lambda a, b: a + b,
    f"v_sub_i16 {D}, {A}, {B}": lambda a, b: a - b,
    f"v_add_i16 {D}, {A}, {B} clamp": lambda a, b: clamp(s16(a) + s16(b), 16, True),
    f"v_sub_i16 {D}, {A}, {B} clamp": lambda a, b: clamp(s16(a) - s16(b), 16, True),
    f"v_add_i16 {D}, {A}, {B} op_sel:[1,1,0]": lambda a, b: (a >> 16) + (b >> 16),
    f"v_mad_u16 {D}, {A}, {B}, {C}": lambda a, b, c: a * b + c,
    f"v_mad_i16 {D}, {A}, {B}, {C}": lambda a, b, c: a * b + c,
    f"v_mad_u16 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp((a & HALF) * (b & HALF) + (c & HALF), 16, False),
    f"v_mad_i16 {D}, {A}, {B}, {C} clamp": lambda a, b, c: clamp(s16(a) * s16(b) + s16(c), 16, True),
    f"v_mad_u16 {D}, {A}, {B}, {C} op_sel:[0,1,1,0]": lambda a, b, c: a * (b >> 16) + (c >> 16),
    f"v_min3_i16 {D}, {A}, {B}, {C}": lambda a, b, c: min(s16(a), s16(b), s16(c)),
    f"v_max3_i16 {D}, {A}, {B}, {C}": lambda a, b, c: max(s16(a), s16(b), s16(c)),
    f"v_med3_i16 {D}, {A}, {B}, {C}": lambda a, b, c: median(s16(a), s16(b), s16(c)),
    f"v_min3_u16 {D}, {A}, {B}, {C}": lambda a, b, c: min(a & HALF, b & HALF, c & HALF),
    f"v_max3_u16 {D}, {A}, {B}, {C}": lambda a, b, c: max(a & HALF, b & HALF, c & HALF),
    f"v_med3_u16 {D}, {A}, {B}, {C}": lambda a, b, c: median(a & HALF, b & HALF, c & HALF),
}


@pytest.mark.parametrize("text", covers("test_other_half_is_kept", KEPT))
def test_other_half_is_kept(text):
    function = KEPT[text]
    sources = len(registers_of(text)) - 1
    if sources == 2:
        check_lanes(text, lambda old, a, b: old & ~HALF | function(a, b) & HALF, reads_result=True)
    else:
        check_lanes(text, lambda old, a, b, c: old & ~HALF | function(a, b, c) & HALF, reads_result=True)


HIGH = {
    f"v_add_i16 {D}, {A}, {B} op_sel:[0,0,1]": lambda a, b: a + b,
    f"v_sub_i16 {D}, {A}, {B} op_sel:[1,0,1]": lambda a, b: (a >> 16) - b,
}


@pytest.mark.parametrize("text", covers("test_high_half_is_written", HIGH))
def test_high_half_is_written(text):
    function = HIGH[text]
    check_lanes(text, lambda old, a, b: old & HALF | (function(a, b) & HALF) << 16, reads_result=True)


SUMMED = {
    f"v_dot2c_i32_i16_e32 {D}, {A}, {B}": lambda c, a, b: dot(a, b, c, 16, True),
    f"v_dot4c_i32_i8_e32 {D}, {A}, {B}": lambda c, a, b: dot(a, b, c, 8, True),
    f"v_dot8c_i32_i4_e32 {D}, {A}, {B}": lambda c, a, b: dot(a, b, c, 4, True),
    f"v_dot4c_i32_i8_e64 {D}, {A}, {B} clamp": lambda c, a, b: clamp(dot(a, b, c, 8, True), 32, True),
}


@pytest.mark.parametrize("text", covers("test_sum_in_the_destination", SUMMED))
def test_sum_in_the_destination(text):
    check_lanes(text, SUMMED[text], reads_result=True)


def carry(total):
    return total, not 0 <= total <= WORD


def clamped_carry(total):
    return max(0, min(WORD, total)), not 0 <= total <= WORD


CARRIES = {
    f"v_add_co_u32_e32 {D}, vcc, {A}, {B}": lambda a, b: carry(a + b),
    f"v_sub_co_u32_e32 {D}, vcc, {A}, {B}": lambda a, b: carry(a - b),
    f"v_subrev_co_u32_e32 {D}, vcc, {A}, {B}": lambda a, b: carry(b - a),
    f"v_addc_co_u32_e32 {D}, vcc, {A}, {B}, vcc": lambda a, b, mask: carry(a + b + mask),
    f"v_subb_co_u32_e32 {D}, vcc, {A}, {B}, vcc": lambda a, b, mask: carry(a - b - mask),
    f"v_subbrev_co_u32_e32 {D}, vcc, {A}, {B}, vcc": lambda a, b, mask: carry(b - a - mask),
    f"v_add_co_u32_e64 {D}, s[8:9], {A}, {B}": lambda a, b: carry(a + b),
    f"v_add_co_u32_e64 {D}, s[8:9], {A}, {B} clamp": lambda a, b: clamped_carry(a + b),
    f"v_sub_co_u32_e64 {D}, s[8:9], {A}, {B} clamp": lambda a, b: clamped_carry(a - b),
    f"v_subrev_co_u32_e64 {D}, s[8:9], {A}, {B}": lambda a, b: carry(b - a),
    f"v_addc_co_u32_e64 {D}, s[8:9], {A}, {B}, s[20:21]": lambda a, b, mask: carry(a + b + mask),
    f"v_addc_co_u32_e64 {D}, s[8:9], {A}, {B}, s[20:21] clamp": lambda a, b, mask: clamped_carry(a + b + mask),
    f"v_subb_co_u32_e64 {D}, s[8:9], {A}, {B}, s[20:21] clamp": lambda a, b, mask: clamped_carry(a - b - mask),
    f"v_subbrev_co_u32_e64 {D}, s[8:9], {A}, {B}, s[20:21]": lambda a, b, mask: carry(b - a - mask),
    f"v_mad_u64_u32 {D2}, s[8:9], {A}, {B}, {C2}": lambda a, b, c: (a * b + c, a * b + c >> 64),
    f"v_mad_i64_i32 {D2}, s[8:9], {A}, {B}, {C2}": lambda a, b, c: (
        s32(a) * s32(b) + signed(c, 64),
        s32(a) * s32(b) + signed(c, 64) < 0,
    ),
    f"v_mad_u64_u32 {D2}, s[8:9], {A}, {B}, {C2} clamp": lambda a, b, c: (clamp(a * b + c, 64, False), a * b + c >> 64),
    f"v_mad_i64_i32 {D2}, s[8:9], {A}, {B}, {C2} clamp": lambda a, b, c: (
        clamp(s32(a) * s32(b) + signed(c, 64), 64, True),
        s32(a) * s32(b) + signed(c, 64) < 0,
    ),
}


@pytest.mark.parametrize("text", covers("test_carries", CARRIES))
def test_carries(text):
    check_lanes(text, CARRIES[text], results=2)


# sub-dword addressing: a byte or a word of each source, a place in the result


def byte(value, i):
    return value >> 8 * i & 0xFF


def word(value, i):
    return value >> 16 * i & HALF


WHOLE = "dst_sel:DWORD dst_unused:UNUSED_PAD"
SELECTED = {
    **{
        f"v_add_u32_sdwa {D}, {A}, {B} {WHOLE} src0_sel:BYTE_{i} src1_sel:WORD_{j}": (
            lambda a, b, i=i, j=j: byte(a, i) + word(b, j)
        )
        for i in range(4)
        for j in range(2)
    },
    f"v_add_u32_sdwa {D}, sext({A}), {B} {WHOLE} src0_sel:BYTE_1 src1_sel:DWORD": lambda a, b: signed(a >> 8, 8) + b,
    f"v_add_u32_sdwa {D}, {A}, sext({B}) {WHOLE} src0_sel:DWORD src1_sel:WORD_1": lambda a, b: a + s16(b >> 16),
    f"v_mov_b32_sdwa {D}, {A} {WHOLE} src0_sel:BYTE_3": lambda a: byte(a, 3),
    f"v_mov_b32_sdwa {D}, sext({A}) {WHOLE} src0_sel:BYTE_0": lambda a: signed(a, 8),
    f"v_mul_u32_u24_sdwa {D}, {A}, {B} {WHOLE} src0_sel:BYTE_2 src1_sel:BYTE_1": lambda a, b: byte(a, 2) * byte(b, 1),
    f"v_lshlrev_b16_sdwa {D}, {A}, {B} {WHOLE} src0_sel:BYTE_2 src1_sel:WORD_1": (
        lambda a, b: word(b, 1) << byte(a, 2) % 16 & HALF
    ),
    f"v_add_u16_sdwa {D}, {A}, {B} clamp {WHOLE} src0_sel:WORD_1 src1_sel:WORD_0": (
        lambda a, b: min(word(a, 1) + word(b, 0), HALF)
    ),
    **{
        f"v_mov_b32_sdwa {D}, {A} dst_sel:BYTE_{i} dst_unused:UNUSED_PAD src0_sel:DWORD": (
            lambda a, i=i: byte(a, 0) << 8 * i
        )
        for i in range(4)
    },
    **{
        f"v_mov_b32_sdwa {D}, {A} dst_sel:WORD_{i} dst_unused:UNUSED_SEXT src0_sel:DWORD": (
            lambda a, i=i: s16(a) << 16 * i
        )
        for i in range(2)
    },
    f"v_mov_b32_sdwa {D}, {A} dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:DWORD": lambda a: signed(a, 8) << 8,
    f"v_cndmask_b32_sdwa {D}, {A}, {B}, vcc {WHOLE} src0_sel:WORD_1 src1_sel:BYTE_0": (
        lambda a, b, mask: byte(b, 0) if mask else word(a, 1)
    ),
}


@pytest.mark.parametrize("text", covers("test_sub_dwords", SELECTED))
def test_sub_dwords(text):
    check_lanes(text, SELECTED[text])


PRESERVED = {
    f"v_mov_b32_sdwa {D}, {A} dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1": (
        lambda old, a: old & ~0xFF_0000 | byte(a, 1) << 16
    ),
    f"v_mov_b32_sdwa {D}, {A} dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0": (
        lambda old, a: old & HALF | word(a, 0) << 16
    ),
    f"v_add_u16_sdwa {D}, {A}, {B} dst_sel:BYTE_0 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD": (
        lambda old, a, b: old & ~0xFF | a + b & 0xFF
    ),
}


@pytest.mark.parametrize("text", covers("test_sub_dword_preserves_the_rest", PRESERVED))
def test_sub_dword_preserves_the_rest(text):
    check_lanes(text, PRESERVED[text], reads_result=True)


def test_carry_of_sub_dwords():
    (text,) = TEXT_CARRY
    check_lanes(text, lambda a, b: carry(signed(a >> 8, 8) % (1 << 32) + word(b, 1)), results=2)


TEXT_CARRY = covers(
    "test_carry_of_sub_dwords",
    [f"v_add_co_u32_sdwa {D}, vcc, sext({A}), {B} {WHOLE} src0_sel:BYTE_1 src1_sel:WORD_1"],
)

# constants

CONSTANTS = {
    f"v_mov_b32_e32 {D}, 64": 64,
    f"v_mov_b32_e32 {D}, -16": -16,
    f"v_mov_b32_e32 {D}, 0.5": 0x3F00_0000,
    f"v_mov_b32_e32 {D}, -4.0": 0xC080_0000,
    f"v_mov_b32_e32 {D}, 0.15915494": 0x3E22_F983,
    f"v_mov_b32_e32 {D}, 0x12345678": 0x1234_5678,
    f"v_mov_b64_e32 {D2}, -1": -1,
    f"v_mov_b64_e32 {D2}, 1.0": 0x3FF0_0000_0000_0000,
    f"v_mov_b64_e32 {D2}, 0xffffffff": 0xFFFF_FFFF,
}


@pytest.mark.parametrize("text", covers("test_constants", CONSTANTS))
def test_constants(text):
    check_lanes(text, lambda: CONSTANTS[text], rounds=1)


# 16-bit integers take the low half of the 32-bit pattern of a float constant (LLVM's SIInstrInfo, bug 46302)
ADDED = {
    f"v_add_u16_e32 {D}, 0x1234, {A}": 0x1234,
    f"v_add_u16_e32 {D}, -3, {A}": -3,
    f"v_add_u16_e32 {D}, 1.0, {A}": 0,
    f"v_add_u16_e32 {D}, 0.15915494, {A}": 0xF983,
}


@pytest.mark.parametrize("text", covers("test_added_constants", ADDED))
def test_added_constants(text):
    check_lanes(text, lambda a: ADDED[text] + a & HALF)
