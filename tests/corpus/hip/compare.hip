// Comparisons, minima and maxima of floats with their special values.
#include "gpu.h"

#define ROW(x) out[row++ * n + i] = (x)
#define BEGIN u32 i = id(), row = 0; if (i >= n) return

// One bit per predicate.
#define COMPARE(T)                                                                       \
  KERNEL compare_##T(const T *a, const T *b, u32 *out, u32 n) {                          \
    BEGIN;                                                                               \
    T x = a[i], y = b[i];                                                                \
    u32 got = (x < y) | (x == y) << 1 | (x <= y) << 2 | (x > y) << 3 | (x >= y) << 4;    \
    got |= (x != y) << 5 | !(x < y) << 6 | !(x <= y) << 7 | !(x > y) << 8;               \
    got |= !(x >= y) << 9 | __builtin_isunordered(x, y) << 10;                           \
    got |= !__builtin_isunordered(x, y) << 11 | __builtin_islessgreater(x, y) << 12;     \
    got |= !__builtin_islessgreater(x, y) << 13;                                         \
    ROW(got);                                                                            \
  }                                                                                      \
  KERNEL classify_##T(const T *a, u32 *out, u32 n) {                                     \
    BEGIN;                                                                               \
    T x = a[i];                                                                          \
    ROW(__builtin_isnan(x) | __builtin_isinf(x) << 1 | (__builtin_isfinite(x) != 0) << 2 \
        | __builtin_isnormal(x) << 3 | __builtin_issubnormal(x) << 4                     \
        | __builtin_iszero(x) << 5 | __builtin_issignaling(x) << 6);                     \
  }                                                                                      \
  KERNEL signs_##T(const T *a, const T *b, T *out, u32 n) {                              \
    BEGIN;                                                                               \
    T x = a[i], y = b[i];                                                                \
    ROW(__builtin_elementwise_abs(x));                                                   \
    ROW(-x);                                                                             \
    ROW(-__builtin_elementwise_abs(x));                                                  \
    ROW(__builtin_elementwise_copysign(x, y));                                           \
    ROW(x < y ? x : y);                                                                  \
    ROW(x > y ? x : y);                                                                  \
    ROW(x == y ? -x : y);                                                                \
  }                                                                                      \
  KERNEL extremes_##T(const T *a, const T *b, T *out, u32 n) {                           \
    BEGIN;                                                                               \
    T x = a[i], y = b[i];                                                                \
    ROW(__builtin_elementwise_minnum(x, y));                                             \
    ROW(__builtin_elementwise_maxnum(x, y));                                             \
  }
COMPARE(f32)
COMPARE(f64)
COMPARE(f16)

KERNEL compare_integers(const i32 *a, const i32 *b, u32 *out, u32 n) {
  BEGIN;
  i32 x = a[i], y = b[i];
  u32 p = (u32)x, q = (u32)y;
  i64 v = (i64)x << 20, w = (i64)y << 20 | 1;
  i16 s = (i16)x, t = (i16)y;
  ROW((x < y) | (x == y) << 1 | (x <= y) << 2 | (x > y) << 3 | (x >= y) << 4 | (x != y) << 5);
  ROW((p < q) | (p == q) << 1 | (p <= q) << 2 | (p > q) << 3 | (p >= q) << 4 | (p != q) << 5);
  ROW((v < w) | (v == w) << 1 | (v <= w) << 2 | (v > w) << 3 | (v >= w) << 4 | (v != w) << 5);
  ROW(((u64)v < (u64)w) | ((u64)v > (u64)w) << 1);
  ROW((s < t) | (s == t) << 1 | (s > t) << 2 | ((u16)s < (u16)t) << 3 | ((u16)s > (u16)t) << 4);
}

// No NaNs in the data: the manual's rules for NaNs in med3 depend on a mode bit.
KERNEL medians(const f32 *a, const f32 *b, const f32 *c, f32 *out, u32 n) {
  BEGIN;
  f32 x = a[i], y = b[i], z = c[i];
  ROW(__builtin_amdgcn_fmed3f(x, y, z));
  ROW(__builtin_elementwise_minnum(__builtin_elementwise_minnum(x, y), z));
  ROW(__builtin_elementwise_maxnum(__builtin_elementwise_maxnum(x, y), z));
  ROW(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(x + y, 0.0f), 1.0f));
  ROW(__builtin_elementwise_abs(x) - __builtin_elementwise_abs(y));
  ROW(-(x * 2.0f));
  ROW((x - y) * 4.0f);
  ROW((x + z) * 0.5f);
}

KERNEL medians_f16(const f16 *a, const f16 *b, const f16 *c, f16 *out, u32 n) {
  BEGIN;
  f16 x = a[i], y = b[i], z = c[i];
  ROW(__builtin_amdgcn_fmed3h(x, y, z));
  ROW(__builtin_elementwise_minnum(__builtin_elementwise_minnum(x, y), z));
  ROW(__builtin_elementwise_maxnum(__builtin_elementwise_maxnum(x, y), z));
  ROW(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(x + y, (f16)0.0f), (f16)1.0f));
  ROW((x + z) * (f16)0.5f);
}
