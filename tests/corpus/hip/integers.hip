// Integer and bit operations; every kernel writes its results as rows out[operation][i].
#include "gpu.h"

#define ROW(x) out[row++ * n + i] = (x)
#define BEGIN u32 i = id(), row = 0; if (i >= n) return

INLINE u32 rotate_right(u32 x, u32 by) { return __builtin_amdgcn_alignbit(x, x, by); }

KERNEL bits32(const u32 *a, const u32 *b, u32 *out, u32 n) {
  BEGIN;
  u32 x = a[i], y = b[i];
  ROW(__builtin_popcount(x));
  ROW(x ? __builtin_clz(x) : 32);
  ROW(x ? __builtin_ctz(x) : 32);
  ROW(__builtin_clrsb((i32)x));
  ROW(__builtin_bitreverse32(x));
  ROW(__builtin_bswap32(x));
  ROW(rotate_right(x, y));
  ROW(x << (y & 31) | x >> (-y & 31));
  ROW(__builtin_amdgcn_alignbyte(x, y, 3));
  ROW(__builtin_amdgcn_alignbit(x, y, y));
  ROW(__builtin_amdgcn_perm(x, y, 0x07020c05));
  ROW(__builtin_amdgcn_perm(x, y, 0x0d090a0b));
  ROW(__builtin_amdgcn_perm(x, y, y));
  ROW(__builtin_amdgcn_ubfe(x, y & 31, 7));
  ROW(__builtin_amdgcn_sbfe(x, y & 31, 9));
  ROW((x & 0x00ffff00) | (y & ~0x00ffff00u));
  ROW((x & y) | (~x & i));
  ROW(x ^ y ^ i);
  ROW(x | y | i);
  ROW((x & y) | i);
  ROW((x << 5) | y);
  ROW((x << 7) + y);
  ROW((x + y) << 3);
  ROW(x + y + i);
  ROW((x ^ y) + i);
  ROW(~(x ^ y));
  ROW((x >> 8) & 0xff);
  ROW((i16)x);
  ROW((i8)(x >> 16));
  ROW((i32)x >> (y & 31));
  ROW(1u << (y & 31));
  ROW(((1u << (y & 15)) - 1) << (x & 15));
}

KERNEL arithmetic32(const u32 *a, const u32 *b, u32 *out, u32 n) {
  BEGIN;
  u32 x = a[i], y = b[i];
  i32 p = (i32)x, q = (i32)y;
  ROW(x * y);
  ROW((u64)x * y >> 32);
  ROW((i64)p * q >> 32);
  ROW((x & 0xffffff) * (y & 0xffffff));
  ROW((p << 8 >> 8) * (q << 8 >> 8));
  ROW((x & 0xffffff) * (y & 0xffffff) + i);
  ROW(__builtin_elementwise_add_sat(x, y));
  ROW(__builtin_elementwise_sub_sat(x, y));
  ROW(__builtin_elementwise_add_sat(p, q));
  ROW(__builtin_elementwise_sub_sat(p, q));
  ROW(__builtin_elementwise_min(p, q));
  ROW(__builtin_elementwise_max(p, q));
  ROW(__builtin_elementwise_min(x, y));
  ROW(__builtin_elementwise_max(x, y));
  ROW(__builtin_elementwise_max(__builtin_elementwise_min(p, q), (i32)i));
  ROW(__builtin_elementwise_min(__builtin_elementwise_max(p, -1000), 1000));
  ROW(__builtin_elementwise_min(__builtin_elementwise_max(x, 17u), 1000u));
  ROW(__builtin_elementwise_abs(p));
  ROW(__builtin_amdgcn_sad_u8(x, y, i));
  ROW(__builtin_amdgcn_sad_hi_u8(x, y, i));
  ROW(__builtin_amdgcn_sad_u16(x, y, i));
  ROW(__builtin_amdgcn_msad_u8(x, y, i));
  ROW(__builtin_amdgcn_lerp(x, y, i));
  ROW(x > y ? x - y : y - x);
}

KERNEL division32(const u32 *a, const u32 *b, u32 *out, u32 n) {
  BEGIN;
  u32 x = a[i], y = b[i] ? b[i] : 1;
  i32 p = (i32)x, q = (i32)y;
  ROW(x / y);
  ROW(x % y);
  ROW(p == (i32)0x80000000 && q == -1 ? 0 : p / q);
  ROW(p == (i32)0x80000000 && q == -1 ? 0 : p % q);
  ROW(x / 7);
  ROW(x % 10);
  ROW(p / -7);
  ROW(p % 1000);
  ROW(p / 8);
  ROW(p % 16);
  ROW((u16)x / (u16)(y | 1));
  ROW((i8)x / (i8)(y | 1));
  ROW((x & 0xffffff) / ((y & 0xffffff) | 1));
}

KERNEL bits64(const u64 *a, const u64 *b, u64 *out, u32 n) {
  BEGIN;
  u64 x = a[i], y = b[i];
  ROW(x + y);
  ROW(x - y);
  ROW(x * y);
  ROW((u64)((unsigned __int128)x * y >> 64));
  ROW(x & y);
  ROW(x | y);
  ROW(x ^ y);
  ROW(~x);
  ROW(x << (y & 63));
  ROW(x >> (y & 63));
  ROW((i64)x >> (y & 63));
  ROW(__builtin_popcountl(x));
  ROW(x ? __builtin_clzl(x) : 64);
  ROW(x ? __builtin_ctzl(x) : 64);
  ROW(__builtin_bitreverse64(x));
  ROW(__builtin_bswap64(x));
  ROW(x < y ? x : y);
  ROW((i64)x > (i64)y ? x : y);
  ROW((u64)(u32)x * (u32)y + x);
  ROW((u64)((i64)(i32)x * (i32)y + (i64)y));
  ROW((x << 3) + y);
  ROW(x == y);
  ROW(__builtin_elementwise_add_sat(x, y));
  ROW(__builtin_elementwise_sub_sat((i64)x, (i64)y));
}

KERNEL division64(const u64 *a, const u64 *b, u64 *out, u32 n) {
  BEGIN;
  u64 x = a[i], y = b[i] ? b[i] : 1;
  i64 p = (i64)x, q = (i64)y == -1 ? 3 : (i64)y;
  ROW(x / y);
  ROW(x % y);
  ROW(p / q);
  ROW(p % q);
  ROW(x / 1000000007);
  ROW(p / 1000);
  ROW(p % 8);
}

KERNEL add128(const unsigned __int128 *a, const unsigned __int128 *b, unsigned __int128 *out, u32 n) {
  BEGIN;
  ROW(a[i] + b[i]);
  ROW(a[i] - b[i]);
  ROW(a[i] * b[i]);
}

// Packed 16-bit halves and dot products.
typedef vec<i16, 2> i16x2;
typedef vec<u16, 2> u16x2;

KERNEL packed16(const u32 *a, const u32 *b, u32 *out, u32 n) {
  BEGIN;
  i16x2 p = bits<i16x2>(a[i]), q = bits<i16x2>(b[i]);
  u16x2 x = bits<u16x2>(a[i]), y = bits<u16x2>(b[i]);
  ROW(bits<u32>(x + y));
  ROW(bits<u32>(x - y));
  ROW(bits<u32>(x * y));
  ROW(bits<u32>((u16x2)(x * y + x)));
  ROW(bits<u32>((u16x2)(x << (y & (u16)15))));
  ROW(bits<u32>((u16x2)(x >> (y & (u16)15))));
  ROW(bits<u32>((i16x2)(p >> (q & (i16)15))));
  ROW(bits<u32>(__builtin_elementwise_min(p, q)));
  ROW(bits<u32>(__builtin_elementwise_max(p, q)));
  ROW(bits<u32>(__builtin_elementwise_min(x, y)));
  ROW(bits<u32>(__builtin_elementwise_max(x, y)));
  ROW(bits<u32>(__builtin_elementwise_add_sat(x, y)));
  ROW(bits<u32>(__builtin_elementwise_sub_sat(x, y)));
  ROW(bits<u32>(__builtin_elementwise_add_sat(p, q)));
  ROW(bits<u32>(__builtin_elementwise_sub_sat(p, q)));
  ROW(bits<u32>((u16x2)(x.yx + y)));
  ROW(bits<u32>((u16x2)(x.xx * y.yx)));
}

KERNEL scalar16(const u16 *a, const u16 *b, u16 *out, u32 n) {
  BEGIN;
  u16 x = a[i], y = b[i];
  i16 p = (i16)x, q = (i16)y;
  ROW((u16)(x + y));
  ROW((u16)(x - y));
  ROW((u16)(x * y));
  ROW((u16)(x * y + x));
  ROW((u16)(x << (y & 15)));
  ROW((u16)(x >> (y & 15)));
  ROW((u16)(p >> (y & 15)));
  ROW((u16)(p < q ? p : q));
  ROW((u16)(p > q ? p : q));
  ROW(x < y ? x : y);
  ROW(x > y ? x : y);
  ROW(__builtin_elementwise_add_sat(x, y));
  ROW((u16)__builtin_elementwise_sub_sat(p, q));
  ROW(__builtin_bitreverse16(x));
  ROW((u16)(x << 8 | x >> 8));
}

KERNEL dots(const u32 *a, const u32 *b, const u32 *c, u32 *out, u32 n) {
  BEGIN;
  u32 x = a[i], y = b[i], z = c[i];
  ROW(__builtin_amdgcn_sdot4((i32)x, (i32)y, (i32)z, false));
  ROW(__builtin_amdgcn_sdot4((i32)x, (i32)y, (i32)z, true));
  ROW(__builtin_amdgcn_udot4(x, y, z, false));
  ROW(__builtin_amdgcn_udot4(x, y, z, true));
  ROW(__builtin_amdgcn_sdot8((i32)x, (i32)y, (i32)z, false));
  ROW(__builtin_amdgcn_udot8(x, y, z, false));
  ROW(__builtin_amdgcn_sdot2(bits<i16x2>(x), bits<i16x2>(y), (i32)z, false));
  ROW(__builtin_amdgcn_udot2(bits<u16x2>(x), bits<u16x2>(y), z, true));
}

// Uniform values: the scalar unit does the same work.
KERNEL uniform(u32 x, u32 y, u64 p, u64 q, u64 *out) {
  u32 n = 1, i = 0, row = 0;
  ROW(__builtin_popcount(x));
  ROW(x ? __builtin_clz(x) : 32);
  ROW(y ? __builtin_ctz(y) : 32);
  ROW(__builtin_bitreverse32(x));
  ROW(x * y);
  ROW((u64)x * y);
  ROW((u64)((i64)(i32)x * (i32)y));
  ROW(__builtin_elementwise_abs((i32)x));
  ROW(__builtin_elementwise_min((i32)x, (i32)y));
  ROW(__builtin_elementwise_max(x, y));
  ROW((i64)(i8)x);
  ROW((i64)(i16)x);
  ROW(x & ~y);
  ROW(~(x & y));
  ROW(~(x | y));
  ROW(~(x ^ y));
  ROW(x | ~y);
  ROW(x << (y & 31));
  ROW((i32)x >> (y & 31));
  ROW((x >> 5) & 0x7ff);
  ROW((i64)((i32)(x << 9) >> 20));
  ROW((x << 2) + y);
  ROW(p + q);
  ROW(p - q);
  ROW(p * q);
  ROW(p << (q & 63));
  ROW((i64)p >> (q & 63));
  ROW(p & q);
  ROW(p & ~q);
  ROW(~(p ^ q));
  ROW(__builtin_popcountl(p));
  ROW(p ? __builtin_clzl(p) : 64);
  ROW(q ? __builtin_ctzl(q) : 64);
  ROW(__builtin_bitreverse64(p));
  ROW(p == q);
  ROW((i64)p < (i64)q ? p : q);
  ROW(x >> 16 | y << 16);
  ROW((x & 0xffff) | (y & 0xffff0000));
  ROW(p / q);
  ROW(x / y);
  ROW((p >> 7) & 1);
  ROW(p >> 11 & 0x3ffffffff);
}
