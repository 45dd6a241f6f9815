// Kernels as networks use them: products of matrices, softmax, normalisation, attention.
#include "gpu.h"

typedef vec<f16, 4> f16x4;
typedef vec<f32, 4> f32x4;

INLINE f32 across(f32 x, u32 mask) { return bits<f32>(__builtin_amdgcn_ds_bpermute((i32)((lane() ^ mask) * 4), bits<i32>(x))); }
INLINE f32 wave_max(f32 x) {
  for (u32 mask = 32; mask; mask /= 2) x = __builtin_elementwise_maxnum(x, across(x, mask));
  return x;
}
INLINE f32 wave_sum(f32 x) {
  for (u32 mask = 32; mask; mask /= 2) x += across(x, mask);
  return x;
}
INLINE f32 exponential(f32 x) { return __builtin_amdgcn_exp2f(x * 1.44269504f); }

// One row a wave.
KERNEL softmax(const f32 *a, f32 *out, u32 columns) {
  u32 row = group() * (group_size() / 64) + tid() / 64;
  const f32 *x = a + row * columns;
  f32 top = -__builtin_inff();
  for (u32 j = lane(); j < columns; j += 64) top = __builtin_elementwise_maxnum(top, x[j]);
  top = wave_max(top);
  f32 sum = 0;
  for (u32 j = lane(); j < columns; j += 64) sum += exponential(x[j] - top);
  sum = wave_sum(sum);
  for (u32 j = lane(); j < columns; j += 64) out[row * columns + j] = exponential(x[j] - top) / sum;
}

// One row a work-group of 128, with weight and bias, in f16.
KERNEL layer_norm(const f16 *a, const f16 *weight, const f16 *bias, f16 *out, u32 columns, f32 epsilon) {
  __shared__ f32 part[2][2];
  const f16 *x = a + group() * columns;
  f32 sum = 0, squares = 0;
  for (u32 j = tid(); j < columns; j += group_size()) {
    f32 value = x[j];
    sum += value;
    squares += value * value;
  }
  sum = wave_sum(sum);
  squares = wave_sum(squares);
  if (lane() == 0) {
    part[0][tid() / 64] = sum;
    part[1][tid() / 64] = squares;
  }
  barrier();
  f32 mean = (part[0][0] + part[0][1]) / columns;
  f32 scale = 1.0f / __builtin_sqrtf((part[1][0] + part[1][1]) / columns - mean * mean + epsilon);
  for (u32 j = tid(); j < columns; j += group_size())
    out[group() * columns + j] = (f16)(((f32)x[j] - mean) * scale * (f32)weight[j] + (f32)bias[j]);
}

// C = A B in f16 with sums in f32. Four waves make 32 x 32 of C from strips of 32 k in LDS.
KERNEL __launch_bounds__(256) gemm_f16(const f16 *a, const f16 *b, f32 *c, u32 m, u32 n, u32 k) {
  __shared__ f16 rows[32][36], columns[32][36];
  u32 t = tid(), wave = t / 64, l = t % 64, top = group_y() * 32, left = group() * 32;
  u32 i = wave / 2 * 16, j = wave % 2 * 16;
  f32x4 sum = {};
  for (u32 at = 0; at < k; at += 32) {
    for (u32 x = t; x < 1024; x += 256) {
      u32 row = x / 32, column = x % 32;
      rows[row][column] = top + row < m && at + column < k ? a[(top + row) * k + at + column] : (f16)0.0f;
      columns[column][row] = at + row < k && left + column < n ? b[(at + row) * n + left + column] : (f16)0.0f;
    }
    barrier();
    for (u32 step = 0; step < 32; step += 16) {
      f16x4 x = *(f16x4 *)&rows[i + l % 16][step + l / 16 * 4];
      f16x4 y = *(f16x4 *)&columns[j + l % 16][step + l / 16 * 4];
      sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
    }
    barrier();
  }
  for (u32 g = 0; g < 4; g++) {
    u32 row = top + i + l / 16 * 4 + g, column = left + j + l % 16;
    if (row < m && column < n) c[row * n + column] = sum[g];
  }
}

// Parts of k in work-groups of their own, one wave and 16 x 16 of C each, added with atomics. K is a multiple of 16.
KERNEL __launch_bounds__(64) split_k(const f16 *a, const f16 *b, f32 *c, u32 n, u32 k, u32 part) {
  u32 l = tid(), top = group_y() * 16, left = group() * 16, first = group_z() * part;
  f32x4 sum = {};
  for (u32 at = first; at < first + part && at < k; at += 16) {
    f16x4 x = *(const f16x4 *)&a[(top + l % 16) * k + at + l / 16 * 4], y;
    for (u32 e = 0; e < 4; e++) y[e] = b[(at + l / 16 * 4 + e) * n + left + l % 16];
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
  }
  for (u32 g = 0; g < 4; g++)
    __builtin_amdgcn_global_atomic_fadd_f32(
        (__attribute__((address_space(1))) f32 *)&c[(top + l / 16 * 4 + g) * n + left + l % 16], sum[g]);
}

// Attention of 16 queries a wave over `count` keys (a multiple of 16), with heads of 32, online softmax.
// The scores are computed transposed, keys by queries: a lane then holds four keys of one query, which is how the
// second product wants its operand B, so that the weights never leave their lanes.
KERNEL __launch_bounds__(64) attention(const f16 *q, const f16 *k, const f16 *v, f32 *out, u32 count, f32 scale) {
  u32 l = tid(), column = l % 16, quarter = l / 16;
  q += group() * 16 * 32;
  f16x4 query[2];
  for (u32 h = 0; h < 2; h++) query[h] = *(const f16x4 *)&q[column * 32 + h * 16 + quarter * 4];
  f32x4 sums[2] = {};
  f32 top = -__builtin_inff(), total = 0;
  for (u32 at = 0; at < count; at += 16) {
    f32x4 score = {};
    for (u32 h = 0; h < 2; h++) {
      f16x4 key = *(const f16x4 *)&k[(at + column) * 32 + h * 16 + quarter * 4];
      score = __builtin_amdgcn_mfma_f32_16x16x16f16(key, query[h], score, 0, 0, 0);
    }
    score *= scale;
    f32 now = top;
    for (u32 g = 0; g < 4; g++) now = __builtin_elementwise_maxnum(now, score[g]);
    now = __builtin_elementwise_maxnum(now, across(now, 16));
    now = __builtin_elementwise_maxnum(now, across(now, 32));
    f32 shrink = exponential(top - now);
    top = now;
    f16x4 weight;
    f32 part = 0;
    for (u32 g = 0; g < 4; g++) {
      f32 w = exponential(score[g] - top);
      part += w;
      weight[g] = (f16)w;
    }
    part += across(part, 16);
    part += across(part, 32);
    total = total * shrink + part;
    for (u32 h = 0; h < 2; h++) {
      f16x4 value;
      for (u32 e = 0; e < 4; e++) value[e] = v[(at + quarter * 4 + e) * 32 + h * 16 + column];
      sums[h] = __builtin_amdgcn_mfma_f32_16x16x16f16(value, weight, sums[h] * shrink, 0, 0, 0);
    }
  }
  for (u32 h = 0; h < 2; h++)
    for (u32 g = 0; g < 4; g++) out[(group() * 16 + column) * 32 + h * 16 + quarter * 4 + g] = sums[h][g] / total;
}
