// Every dense matrix instruction of CDNA3 on the registers of one wave, with modifiers where it has them.
#include "gpu.h"

template <class T> struct Plain;
template <class R, class T> struct Plain<R(T)> { typedef T type; };

#define MODIFIED(name, AB, CD, cbsz, abid, blgp)                                                                 \
  KERNEL __launch_bounds__(64)                                                                                   \
      name##_##cbsz##_##abid##_##blgp(const Plain<void AB>::type *a, const Plain<void AB>::type *b,              \
                                      const Plain<void CD>::type *c, Plain<void CD>::type *d) {                  \
    u32 t = tid();                                                                                               \
    d[t] = __builtin_amdgcn_mfma_##name(a[t], b[t], c[t], cbsz, abid, blgp);                                     \
  }
#define MFMA(name, AB, CD) MODIFIED(name, AB, CD, 0, 0, 0)

MFMA(f32_32x32x1f32, (f32), (vec<f32, 32>))
MFMA(f32_16x16x1f32, (f32), (vec<f32, 16>))
MFMA(f32_4x4x1f32, (f32), (vec<f32, 4>))
MFMA(f32_32x32x2f32, (f32), (vec<f32, 16>))
MFMA(f32_16x16x4f32, (f32), (vec<f32, 4>))
MFMA(f32_32x32x4f16, (vec<f16, 4>), (vec<f32, 32>))
MFMA(f32_16x16x4f16, (vec<f16, 4>), (vec<f32, 16>))
MFMA(f32_4x4x4f16, (vec<f16, 4>), (vec<f32, 4>))
MFMA(f32_32x32x8f16, (vec<f16, 4>), (vec<f32, 16>))
MFMA(f32_16x16x16f16, (vec<f16, 4>), (vec<f32, 4>))
MFMA(f32_32x32x4bf16_1k, (vec<i16, 4>), (vec<f32, 32>))
MFMA(f32_16x16x4bf16_1k, (vec<i16, 4>), (vec<f32, 16>))
MFMA(f32_4x4x4bf16_1k, (vec<i16, 4>), (vec<f32, 4>))
MFMA(f32_32x32x8bf16_1k, (vec<i16, 4>), (vec<f32, 16>))
MFMA(f32_16x16x16bf16_1k, (vec<i16, 4>), (vec<f32, 4>))
MFMA(f32_32x32x4_xf32, (vec<f32, 2>), (vec<f32, 16>))
MFMA(f32_16x16x8_xf32, (vec<f32, 2>), (vec<f32, 4>))
MFMA(f32_32x32x16_fp8_fp8, (i64), (vec<f32, 16>))
MFMA(f32_32x32x16_fp8_bf8, (i64), (vec<f32, 16>))
MFMA(f32_32x32x16_bf8_fp8, (i64), (vec<f32, 16>))
MFMA(f32_32x32x16_bf8_bf8, (i64), (vec<f32, 16>))
MFMA(f32_16x16x32_fp8_fp8, (i64), (vec<f32, 4>))
MFMA(f32_16x16x32_fp8_bf8, (i64), (vec<f32, 4>))
MFMA(f32_16x16x32_bf8_fp8, (i64), (vec<f32, 4>))
MFMA(f32_16x16x32_bf8_bf8, (i64), (vec<f32, 4>))
MFMA(f64_16x16x4f64, (f64), (vec<f64, 4>))
MFMA(f64_4x4x4f64, (f64), (f64))
MFMA(i32_32x32x4i8, (i32), (vec<i32, 32>))
MFMA(i32_16x16x4i8, (i32), (vec<i32, 16>))
MFMA(i32_4x4x4i8, (i32), (vec<i32, 4>))
MFMA(i32_32x32x16_i8, (i64), (vec<i32, 16>))
MFMA(i32_16x16x32_i8, (i64), (vec<i32, 4>))

// Broadcasts of blocks of A (cbsz, abid) and moves of lanes of B (blgp); on f64 blgp negates A, B and C.
MODIFIED(f32_32x32x1f32, (f32), (vec<f32, 32>), 1, 1, 0)
MODIFIED(f32_16x16x1f32, (f32), (vec<f32, 16>), 2, 3, 5)
MODIFIED(f32_4x4x1f32, (f32), (vec<f32, 4>), 4, 11, 0)
MODIFIED(f32_16x16x4f16, (vec<f16, 4>), (vec<f32, 16>), 1, 1, 4)
MODIFIED(f32_4x4x4f16, (vec<f16, 4>), (vec<f32, 4>), 3, 6, 2)
MODIFIED(f32_32x32x4f16, (vec<f16, 4>), (vec<f32, 32>), 0, 0, 3)
MODIFIED(f32_4x4x4bf16_1k, (vec<i16, 4>), (vec<f32, 4>), 2, 2, 7)
MODIFIED(f32_32x32x4bf16_1k, (vec<i16, 4>), (vec<f32, 32>), 0, 0, 6)
MODIFIED(i32_32x32x4i8, (i32), (vec<i32, 32>), 1, 0, 1)
MODIFIED(i32_4x4x4i8, (i32), (vec<i32, 4>), 4, 15, 0)
MODIFIED(f64_16x16x4f64, (f64), (vec<f64, 4>), 0, 0, 1)
MODIFIED(f64_16x16x4f64, (f64), (vec<f64, 4>), 0, 0, 6)
MODIFIED(f64_4x4x4f64, (f64), (f64), 0, 0, 5)

// All operands in accumulation registers.
KERNEL __launch_bounds__(64) accumulation(const vec<f16, 4> *a, const vec<f16, 4> *b, const vec<f32, 4> *c, vec<f32, 4> *d) {
  u32 t = tid();
  vec<f32, 4> sum = c[t];
  asm volatile("s_nop 4\n\tv_mfma_f32_16x16x16_f16 %0, %1, %2, %0\n\ts_nop 15" : "+a"(sum) : "a"(a[t]), "a"(b[t]));
  d[t] = sum;
}

// C is a constant, and D lies elsewhere.
KERNEL __launch_bounds__(64) inline_constant(const vec<f16, 4> *a, const vec<f16, 4> *b, vec<f32, 4> *d) {
  u32 t = tid();
  d[t] = __builtin_amdgcn_mfma_f32_16x16x16f16(a[t], b[t], vec<f32, 4>{1, 1, 1, 1}, 0, 0, 0);
  d[t + 64] = __builtin_amdgcn_mfma_f32_16x16x16f16(b[t], a[t], vec<f32, 4>{}, 0, 0, 0);
}

// The first product feeds the second as its operand B: the layout of D is that of B in this shape.
KERNEL __launch_bounds__(64) chained(const vec<f16, 4> *a, const vec<f16, 4> *b, vec<f32, 4> *d) {
  u32 t = tid();
  vec<f32, 4> first = __builtin_amdgcn_mfma_f32_16x16x16f16(a[t], b[t], vec<f32, 4>{}, 0, 0, 0);
  vec<f16, 4> again = __builtin_convertvector(first, vec<f16, 4>);
  d[t] = __builtin_amdgcn_mfma_f32_16x16x16f16(a[t], again, first, 0, 0, 0);
}

// More accumulators than vector registers: sixteen blocks of 32 x 32, 256 accumulation registers.
KERNEL __launch_bounds__(64) many(const f32 *a, const f32 *b, vec<f32, 16> *d, u32 rounds) {
  u32 t = tid();
  vec<f32, 16> sum[16] = {};
  for (u32 k = 0; k < rounds; k++)
#pragma unroll
    for (u32 j = 0; j < 16; j++)
      sum[j] = __builtin_amdgcn_mfma_f32_32x32x2f32(a[(k * 4 + j / 4) * 64 + t], b[(k * 4 + j % 4) * 64 + t], sum[j], 0, 0, 0);
#pragma unroll
  for (u32 j = 0; j < 16; j++) d[j * 64 + t] = sum[j];
}

// Lanes that are not active take part in a matrix instruction all the same, and receive their part of D.
KERNEL __launch_bounds__(64) masked(const vec<f16, 4> *a, const vec<f16, 4> *b, vec<f32, 4> *d, u64 active) {
  u32 t = tid();
  vec<f32, 4> sum = {};
  asm volatile(
      "s_mov_b64 exec, %3\n\t"
      "s_nop 4\n\t"
      "v_mfma_f32_16x16x16_f16 %0, %1, %2, %0\n\t"
      "s_nop 15\n\t"
      "s_mov_b64 exec, -1"
      : "+v"(sum)
      : "v"(a[t]), "v"(b[t]), "s"(active));
  d[t] = sum;
}
