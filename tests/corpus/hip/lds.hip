// Local data share: tiles, reductions, scans, sorting, counters.
#include "gpu.h"

// A 32 x 32 tile by 32 x 8 work-items; the padding avoids bank conflicts.
template <class T> INLINE void transposed(const T *a, T *out, u32 rows, u32 columns, T (*tile)[33]) {
  u32 x = group() * 32 + tid(), y = group_y() * 32 + tid_y();
  for (u32 k = 0; k < 32; k += 8)
    if (x < columns && y + k < rows) tile[tid_y() + k][tid()] = a[(y + k) * columns + x];
  barrier();
  x = group_y() * 32 + tid();
  y = group() * 32 + tid_y();
  for (u32 k = 0; k < 32; k += 8)
    if (x < rows && y + k < columns) out[(y + k) * rows + x] = tile[tid()][tid_y() + k];
}
#define TRANSPOSE(T)                                                              \
  KERNEL transpose_##T(const T *a, T *out, u32 rows, u32 columns) {               \
    __shared__ T tile[32][33];                                                    \
    transposed(a, out, rows, columns, tile);                                      \
  }
TRANSPOSE(f32)
TRANSPOSE(f64)
TRANSPOSE(f16)
TRANSPOSE(u8)

// A tree over 256 work-items, in a stated order of additions.
KERNEL reduce(const f32 *a, f32 *out, u32 n) {
  __shared__ f32 part[256];
  u32 i = id(), t = tid();
  part[t] = i < n ? a[i] : 0.0f;
  barrier();
  for (u32 step = 128; step; step >>= 1) {
    if (t < step) part[t] += part[t + step];
    barrier();
  }
  if (t == 0) out[group()] = part[0];
}

KERNEL histogram(const u8 *a, u32 *out, u32 n) {
  __shared__ u32 bins[256];
  for (u32 k = tid(); k < 256; k += group_size()) bins[k] = 0;
  barrier();
  for (u32 i = id(); i < n; i += groups() * group_size()) __hip_atomic_fetch_add(&bins[a[i]], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  for (u32 k = tid(); k < 256; k += group_size())
    if (bins[k]) __hip_atomic_fetch_add(&out[k], bins[k], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KERNEL bitonic(u32 *a) {
  __shared__ u32 held[256];
  u32 t = tid();
  held[t] = a[group() * 256 + t];
  for (u32 size = 2; size <= 256; size *= 2)
    for (u32 step = size / 2; step; step /= 2) {
      barrier();
      u32 other = t ^ step;
      if (other > t && (held[t] > held[other]) == !(t & size)) {
        u32 moved = held[t];
        held[t] = held[other];
        held[other] = moved;
      }
    }
  barrier();
  a[group() * 256 + t] = held[t];
}

KERNEL hillis_steele(const i32 *a, i32 *out) {
  __shared__ i32 held[2][128];
  u32 t = tid(), now = 0;
  held[0][t] = a[group() * 128 + t];
  for (u32 step = 1; step < 128; step *= 2, now ^= 1) {
    barrier();
    held[now ^ 1][t] = held[now][t] + (t >= step ? held[now][t - step] : 0);
  }
  barrier();
  out[group() * 128 + t] = held[now][t];
}

// Exclusive, in dynamic LDS of two elements a work-item.
extern "C" __shared__ i64 dynamic[];
KERNEL blelloch(const i64 *a, i64 *out) {
  u32 t = tid(), size = group_size() * 2, at = group() * size;
  dynamic[2 * t] = a[at + 2 * t];
  dynamic[2 * t + 1] = a[at + 2 * t + 1];
  u32 offset = 1;
  for (u32 half = size / 2; half; half /= 2, offset *= 2) {
    barrier();
    if (t < half) dynamic[offset * (2 * t + 2) - 1] += dynamic[offset * (2 * t + 1) - 1];
  }
  if (t == 0) dynamic[size - 1] = 0;
  for (u32 half = 1; half < size; half *= 2) {
    offset /= 2;
    barrier();
    if (t < half) {
      u32 low = offset * (2 * t + 1) - 1, high = offset * (2 * t + 2) - 1;
      i64 moved = dynamic[low];
      dynamic[low] = dynamic[high];
      dynamic[high] += moved;
    }
  }
  barrier();
  out[at + 2 * t] = dynamic[2 * t];
  out[at + 2 * t + 1] = dynamic[2 * t + 1];
}

// Every width of LDS access, odd strides, and pairs that become read2 and write2.
KERNEL widths(const u32 *a, u64 *out) {
  __shared__ vec<u32, 4> quads[64];
  __shared__ vec<u32, 3> triples[64];
  __shared__ u64 longs[128];
  __shared__ u32 words[65 * 9];
  __shared__ i16 halves[64];
  __shared__ i8 bytes[64];
  u32 t = tid(), x = a[t];
  quads[t] = vec<u32, 4>{x, x + 1, x + 2, x + 3};
  triples[t] = vec<u32, 3>{x ^ 1, x ^ 2, x ^ 4};
  longs[t] = (u64)x << 32 | t;
  longs[t + 64] = (u64)x * x;
  for (u32 k = 0; k < 8; k++) words[t + 65 * k] = x * k;
  halves[t] = x >> 3;
  bytes[t] = x >> 5;
  barrier();
  u32 o = t ^ 21;
  vec<u32, 4> quad = quads[o];
  vec<u32, 3> triple = triples[o];
  u64 sum = quad.x + 3 * quad.y + 5 * quad.z + 7 * (u64)quad.w;
  sum = sum * 31 + triple.x - triple.y * triple.z;
  sum = sum * 31 + (longs[o] ^ longs[o + 64]);
  sum = sum * 31 + words[o] - words[o + 65] + (u64)words[o + 130] * words[o + 195];
  sum = sum * 31 + (u64)(i64)halves[o];
  sum = sum * 31 + (u64)(i64)bytes[o];
  sum = sum * 31 + (u64)(u8)bytes[o ^ 1] + (u16)halves[o ^ 1];
  out[t] = sum;
}

// Each atomic operation of LDS, with and without its old value. Lanes meet on 16 places in no stated order; the sums,
// minima, maxima and bit operations do not depend on it.
#define ATOMIC(op, p, x) __hip_atomic_fetch_##op(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP)
template <class T, class S> INLINE void atomics(const T *a, T *out, T (*at)[16]) {
  u32 t = tid();
  if (t < 16)
    for (u32 k = 0; k < 8; k++) at[k][t] = k == 4 ? ~(T)0 : 1;
  barrier();
  T x = a[t];
  ATOMIC(add, &at[0][t & 15], x);
  ATOMIC(min, (S *)&at[1][t & 15], (S)x);
  ATOMIC(max, (S *)&at[2][t & 15], (S)x);
  ATOMIC(max, &at[3][t & 15], x);
  ATOMIC(and, &at[4][t & 15], x | 1);
  ATOMIC(or, &at[5][t & 15], x);
  ATOMIC(xor, &at[6][t & 15], x);
  T ticket = ATOMIC(add, &at[7][t & 15], (T)1);
  barrier();
  for (u32 k = t; k < 128; k += 64) out[k] = at[k >> 4][k & 15];
  ATOMIC(add, &out[128 + (t & 15)], ticket);
}
KERNEL atomics_u32(const u32 *a, u32 *out) {
  __shared__ u32 at[8][16];
  atomics<u32, i32>(a, out, at);
}
KERNEL atomics_u64(const u64 *a, u64 *out) {
  __shared__ u64 at[8][16];
  atomics<u64, i64>(a, out, at);
}
KERNEL atomics_float(const f32 *a, const f64 *b, f32 *out, f64 *sums) {
  __shared__ f32 at[3][16];
  __shared__ f64 wide[3][16];
  u32 t = tid();
  if (t < 48) ((f32 *)at)[t] = ((f64 *)wide)[t] = 0;
  barrier();
  ATOMIC(add, &at[0][t & 15], a[t]);
  ATOMIC(min, &at[1][t & 15], a[t]);
  ATOMIC(max, &at[2][t & 15], a[t]);
  ATOMIC(add, &wide[0][t & 15], b[t]);
  ATOMIC(min, &wide[1][t & 15], b[t]);
  ATOMIC(max, &wide[2][t & 15], b[t]);
  barrier();
  if (t < 48) {
    out[t] = ((f32 *)at)[t];
    sums[t] = ((f64 *)wide)[t];
  }
}
// Exchange, and compare and exchange: a stack of tickets under a lock-free push.
KERNEL exchange(u32 *out) {
  __shared__ u32 head;
  u32 t = tid();
  if (t == 0) head = 64;
  barrier();
  u32 seen = head;
  while (!__hip_atomic_compare_exchange_strong(&head, &seen, t, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP)) {
  }
  out[t] = seen;
  barrier();
  if (t == 5) out[64] = __hip_atomic_exchange(&head, 77u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  if (t == 6) out[65] = head;
}
