// Conversions among all number formats.
#include "gpu.h"

#define CONVERT(From, To)                                          \
  KERNEL From##_to_##To(const From *a, To *out, u32 n) {           \
    u32 i = id();                                                  \
    if (i < n) out[i] = (To)a[i];                                  \
  }
CONVERT(f32, f16)
CONVERT(f32, bf16)
CONVERT(f32, f64)
CONVERT(f32, i32)
CONVERT(f32, u32)
CONVERT(f32, i64)
CONVERT(f32, u64)
CONVERT(f16, f32)
CONVERT(f16, f64)
CONVERT(f16, i16)
CONVERT(f16, u16)
CONVERT(bf16, f32)
CONVERT(f64, f32)
CONVERT(f64, f16)
CONVERT(f64, i32)
CONVERT(f64, u32)
CONVERT(f64, i64)
CONVERT(f64, u64)
CONVERT(i32, f32)
CONVERT(i32, f64)
CONVERT(i32, f16)
CONVERT(u32, f32)
CONVERT(u32, f64)
CONVERT(i64, f32)
CONVERT(i64, f64)
CONVERT(u64, f32)
CONVERT(u64, f64)
CONVERT(i16, f16)
CONVERT(u16, f16)
CONVERT(u8, f32)
CONVERT(i8, f32)
CONVERT(i8, i64)

#define ROW(x) out[row++ * n + i] = (x)
#define BEGIN u32 i = id(), row = 0; if (i >= n) return

// Pairs of floats to the 8-bit formats of CDNA3, and back.
KERNEL to_fp8(const f32 *a, const f32 *b, u32 *out, u32 n) {
  BEGIN;
  u32 old = 0xa5a5a5a5;
  ROW(__builtin_amdgcn_cvt_pk_fp8_f32(a[i], b[i], old, false));
  ROW(__builtin_amdgcn_cvt_pk_fp8_f32(a[i], b[i], old, true));
  ROW(__builtin_amdgcn_cvt_pk_bf8_f32(a[i], b[i], old, false));
  ROW(__builtin_amdgcn_cvt_pk_bf8_f32(a[i], b[i], old, true));
}

KERNEL from_fp8(const u32 *a, f32 *out, u32 n) {
  BEGIN;
  ROW(__builtin_amdgcn_cvt_f32_fp8(a[i], 0));
  ROW(__builtin_amdgcn_cvt_f32_fp8(a[i], 1));
  ROW(__builtin_amdgcn_cvt_f32_fp8(a[i], 2));
  ROW(__builtin_amdgcn_cvt_f32_fp8(a[i], 3));
  ROW(__builtin_amdgcn_cvt_f32_bf8(a[i], 0));
  ROW(__builtin_amdgcn_cvt_f32_bf8(a[i], 3));
  vec<f32, 2> low = __builtin_amdgcn_cvt_pk_f32_fp8(a[i], false), high = __builtin_amdgcn_cvt_pk_f32_bf8(a[i], true);
  ROW(low.x);
  ROW(low.y);
  ROW(high.x);
  ROW(high.y);
}

// Stochastic rounding adds random bits below the last kept one, and cuts.
KERNEL stochastic(const f32 *a, const u32 *random, u32 *out, u32 n) {
  BEGIN;
  ROW(__builtin_amdgcn_cvt_sr_fp8_f32(a[i], random[i], 0, 0));
  ROW(__builtin_amdgcn_cvt_sr_bf8_f32(a[i], random[i], 0, 2));
}

KERNEL packing(const f32 *a, const f32 *b, u32 *out, u32 n) {
  BEGIN;
  ROW(bits<u32>(__builtin_amdgcn_cvt_pkrtz(a[i], b[i])));
  ROW(bits<u32>(__builtin_amdgcn_cvt_pknorm_i16(a[i], b[i])));
  ROW(bits<u32>(__builtin_amdgcn_cvt_pknorm_u16(a[i], b[i])));
  ROW(__builtin_amdgcn_cvt_pk_u8_f32(a[i], 2, 0x11223344));
  ROW(bits<u32>(vec<f16, 2>{(f16)a[i], (f16)b[i]}));
  ROW(bits<u32>(vec<bf16, 2>{(bf16)a[i], (bf16)b[i]}));
}

KERNEL packing_integers(const i32 *a, const i32 *b, u32 *out, u32 n) {
  BEGIN;
  ROW(bits<u32>(__builtin_amdgcn_cvt_pk_i16(a[i], b[i])));
  ROW(bits<u32>(__builtin_amdgcn_cvt_pk_u16((u32)a[i], (u32)b[i])));
  ROW(bits<u32>((f32)(((u32)a[i] >> 16) & 255)));
  ROW(bits<u32>((f32)((u32)a[i] >> 24)));
  ROW(bits<u32>((f32)((u32)b[i] & 255)));
  ROW((u32)(u16)a[i] | (u32)b[i] << 16);
}

#define PARTS(T, I)                                                         \
  KERNEL parts_##T(const T *a, const i32 *e, T *out, u32 n) {               \
    BEGIN;                                                                  \
    T x = a[i];                                                             \
    ROW(__builtin_elementwise_trunc(x));                                    \
    ROW(__builtin_elementwise_ceil(x));                                     \
    ROW(__builtin_elementwise_floor(x));                                    \
    ROW(__builtin_elementwise_rint(x));                                     \
    ROW(__builtin_elementwise_roundeven(x));                                \
    ROW(__builtin_elementwise_round(x));                                    \
    ROW(__builtin_amdgcn_fract##I(x));                                      \
    ROW(__builtin_amdgcn_frexp_mant##I(x));                                 \
    ROW((T)__builtin_amdgcn_frexp_exp##I(x));                               \
    ROW(__builtin_elementwise_ldexp(x, e[i]));                              \
  }
PARTS(f32, f)
PARTS(f64, )
PARTS(f16, h)
