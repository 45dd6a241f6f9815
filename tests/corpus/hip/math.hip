// Floating-point arithmetic: basic operations in the bits of IEEE 754, approximations within their bounds.
#include "gpu.h"

#define ROW(x) out[row++ * n + i] = (x)
#define BEGIN u32 i = id(), row = 0; if (i >= n) return

#define BASIC(T)                                                                      \
  KERNEL basic_##T(const T *a, const T *b, const T *c, T *out, u32 n) {               \
    BEGIN;                                                                            \
    T x = a[i], y = b[i], z = c[i];                                                   \
    ROW(x + y);                                                                       \
    ROW(x - y);                                                                       \
    ROW(x * y);                                                                       \
    ROW(x / y);                                                                       \
    ROW(__builtin_elementwise_sqrt(x));                                               \
    ROW(__builtin_elementwise_fma(x, y, z));                                          \
    ROW(__builtin_elementwise_fma(-x, y, z));                                         \
    ROW(__builtin_elementwise_fma(x, y, -__builtin_elementwise_abs(z)));              \
    ROW((T)1 / x);                                                                    \
    ROW(x * (T)2.5f + (T)-0.75f);                                                     \
  }
BASIC(f32)
BASIC(f64)
BASIC(f16)

// The hardware's approximations, raw.
KERNEL approximations_f32(const f32 *a, f32 *out, u32 n) {
  BEGIN;
  f32 x = a[i];
  ROW(__builtin_amdgcn_rcpf(x));
  ROW(__builtin_amdgcn_rsqf(x));
  ROW(__builtin_amdgcn_sqrtf(x));
  ROW(__builtin_amdgcn_logf(x));
}
KERNEL exp2_f32(const f32 *a, f32 *out, u32 n) {
  BEGIN;
  ROW(__builtin_amdgcn_exp2f(a[i]));
}
// The argument is a number of turns.
KERNEL turns_f32(const f32 *a, f32 *out, u32 n) {
  BEGIN;
  ROW(__builtin_amdgcn_sinf(a[i]));
  ROW(__builtin_amdgcn_cosf(a[i]));
}
KERNEL approximations_f64(const f64 *a, f64 *out, u32 n) {
  BEGIN;
  ROW(__builtin_amdgcn_rcp(a[i]));
  ROW(__builtin_amdgcn_rsq(a[i]));
}
KERNEL approximations_f16(const f16 *a, f16 *out, u32 n) {
  BEGIN;
  f16 x = a[i];
  ROW(__builtin_amdgcn_rcph(x));
  ROW(__builtin_amdgcn_rsqh(x));
  ROW(__builtin_amdgcn_sqrth(x));
  ROW(__builtin_elementwise_log2(x));
  ROW(__builtin_elementwise_exp2(x));
  ROW(__builtin_amdgcn_sinh(x));
  ROW(__builtin_amdgcn_cosh(x));
}

// The compiler's expansions, which scale denormals and keep the specials.
KERNEL logarithms(const f32 *a, f32 *out, u32 n) {
  BEGIN;
  f32 x = a[i];
  ROW(__builtin_elementwise_log2(x));
  ROW(__builtin_elementwise_log(x));
  ROW(__builtin_elementwise_log10(x));
}
KERNEL exponentials(const f32 *a, f32 *out, u32 n) {
  BEGIN;
  f32 x = a[i];
  ROW(__builtin_elementwise_exp2(x));
  ROW(__builtin_elementwise_exp(x));
}
KERNEL circle(const f32 *a, f32 *out, u32 n) {
  BEGIN;
  ROW(__builtin_elementwise_sin(a[i]));
  ROW(__builtin_elementwise_cos(a[i]));
}

// A polynomial, a Newton step and a geometric mean in f64.
KERNEL newton_f64(const f64 *a, f64 *out, u32 n) {
  BEGIN;
  f64 x = a[i], y = x > 1 ? x : 1;
  for (u32 step = 0; step < 30; step++) y = 0.5 * (y + x / y);
  ROW(y);
  ROW(((((x * 0.5 + 0.25) * x - 1.5) * x) + 2.0) * x);
  ROW(__builtin_elementwise_sqrt(x * __builtin_elementwise_abs(y)));
}

// Two numbers an instruction.
typedef vec<f32, 2> f32x2;
typedef vec<f16, 2> f16x2;

KERNEL packed_f32(const f32x2 *a, const f32x2 *b, const f32x2 *c, f32x2 *out, u32 n) {
  BEGIN;
  f32x2 x = a[i], y = b[i], z = c[i];
  ROW(x + y);
  ROW(x * y);
  ROW(__builtin_elementwise_fma(x, y, z));
  ROW(x - y);
  ROW(x.yx * y);
  ROW(__builtin_elementwise_fma(x.xx, y, -z));
  ROW(x * 3.0f);
}

KERNEL packed_f16(const f16x2 *a, const f16x2 *b, const f16x2 *c, f16x2 *out, u32 n) {
  BEGIN;
  f16x2 x = a[i], y = b[i], z = c[i];
  ROW(x + y);
  ROW(x * y);
  ROW(__builtin_elementwise_fma(x, y, z));
  ROW(x - y);
  ROW(x.yx * y);
  ROW(__builtin_elementwise_fma(x.xx, y, -z));
  ROW(__builtin_elementwise_minnum(x, y));
  ROW(__builtin_elementwise_maxnum(x, y.yx));
  ROW(x * (f16)3.0f);
}

// Mixed precision: halves multiplied into a float.
KERNEL mixed(const f16x2 *a, const f16x2 *b, const f32 *c, f32 *out, u32 n) {
  BEGIN;
  f16x2 x = a[i], y = b[i];
  ROW(__builtin_fmaf(x.x, y.y, c[i]));
  ROW(__builtin_fmaf(x.y, -(f32)y.y, c[i]));
  ROW(__builtin_amdgcn_fdot2(x, y, c[i], false));
}
KERNEL mixed_low(const f16 *a, const f16 *b, const f32 *c, f16 *out, u32 n) {
  BEGIN;
  ROW((f16)__builtin_fmaf(a[i], b[i], c[i]));
}

// Classes of arguments by bit mask, the ten of v_cmp_class in turn.
KERNEL classes(const f32 *a, u32 *out, u32 n) {
  BEGIN;
  u32 got = 0;
  for (u32 bit = 0; bit < 10; bit++) got |= __builtin_amdgcn_classf(a[i], 1u << bit) << bit;
  ROW(got);
}
