// Private memory: arrays with indices known only at run time, spilled registers, memory allocated on the stack.
#include "gpu.h"

#define BEGIN u32 i = id(); if (i >= n) return

// Sorts 48 numbers in private memory by insertion.
KERNEL insertion(const u32 *a, u32 *out, u32 n) {
  BEGIN;
  u32 held[48];
  for (u32 k = 0; k < 48; k++) {
    u32 x = a[i * 48 + k], at = k;
    for (; at && held[at - 1] > x; at--) held[at] = held[at - 1];
    held[at] = x;
  }
  for (u32 k = 0; k < 48; k++) out[i * 48 + k] = held[k];
}

// Every width of private access.
KERNEL widths(const u32 *a, u64 *out, u32 n) {
  BEGIN;
  volatile u8 bytes[24];
  volatile i16 halves[12];
  volatile u64 longs[6];
  volatile vec<u32, 4> quads[3];
  for (u32 k = 0; k < 24; k++) bytes[k] = a[i] >> (k & 15);
  for (u32 k = 0; k < 12; k++) halves[k] = a[i] - bytes[2 * k + 1] * 300;
  for (u32 k = 0; k < 6; k++) longs[(k + a[i]) % 6] = (u64)(i64)halves[k] << (4 * k) | bytes[k];
  quads[a[i] % 3] = vec<u32, 4>{1, 2, 3, a[i]};
  u64 sum = quads[a[i] % 3].w;
  for (u32 k = 0; k < 6; k++) sum = sum * 31 + longs[k];
  out[i] = sum + (u64)(i8)bytes[a[i] % 24];
}

// More live values than the registers that it may use.
template <u32 count, bool accumulation = false> INLINE void pressure(const u32 *a, u32 *out, u32 i, u32 n) {
  u32 held[count];
#pragma unroll
  for (u32 k = 0; k < count; k++) held[k] = a[k * n + i] * (2 * k + 1);
  // A use of accumulation registers lets the compiler spill to them.
  if (accumulation) asm volatile("" : : : "a31");
  u32 turn = a[i] & 1;
  for (u32 round = 0; round < 2 + turn; round++) {
#pragma unroll
    for (u32 k = 0; k < count; k++) held[k] += held[(k * 5 + 3) % count] ^ round;
  }
#pragma unroll
  for (u32 k = 0; k < count; k++) out[k * n + i] = held[k];
}
KERNEL __attribute__((amdgpu_num_vgpr(24))) spills(const u32 *a, u32 *out, u32 n) {
  BEGIN;
  pressure<40>(a, out, i, n);
}
// 1024 work-items leave 128 registers, of which accumulation registers are a part.
KERNEL __attribute__((amdgpu_flat_work_group_size(1024, 1024), amdgpu_waves_per_eu(4, 4))) fills(const u32 *a, u32 *out,
                                                                                                 u32 n) {
  BEGIN;
  pressure<80, true>(a, out, i, n);
}
KERNEL __attribute__((amdgpu_flat_work_group_size(1024, 1024))) both(const u32 *a, u32 *out, u32 n) {
  BEGIN;
  pressure<150, true>(a, out, i, n);
}

// Scalar registers spilled to lanes of vector registers.
#ifdef __OPTIMIZE__
#define IN_SCALAR(x) asm volatile("" : "+s"(x))
#else
#define IN_SCALAR(x)
#endif
KERNEL __attribute__((amdgpu_num_sgpr(32))) scalar_spills(const u32 *table, u32 *out, u32 n) {
  BEGIN;
  u32 held[40];
#pragma unroll
  for (u32 k = 0; k < 40; k++) held[k] = table[k] ^ k;
  u32 sum = i;
  for (u32 round = 0; round < 3; round++) {
#pragma unroll
    for (u32 k = 0; k < 40; k++) {
      IN_SCALAR(held[k]);
      sum = sum * 3 + held[k];
    }
  }
  out[i] = sum;
}

// An array whose length only the launch knows.
NOINLINE __device__ u32 total(const u32 *from, u32 count) {
  u32 sum = 0;
  for (u32 k = 0; k < count; k++) sum += from[k] * (k + 1);
  return sum;
}
KERNEL allocates(u32 *out, u32 n, u32 count) {
  BEGIN;
  u32 *held = (u32 *)__builtin_alloca(count * sizeof(u32));
  for (u32 k = 0; k < count; k++) held[k] = i * k + 1;
  out[i] = total(held, count);
}

// A generic pointer to private or global memory or LDS, by lane.
KERNEL generic(const u32 *a, u32 *out, u32 n) {
  __shared__ u32 shared[64];
  BEGIN;
  u32 own[4] = {i, i * 2, i * 3, i * 4};
  shared[tid() & 63] = 1000 + i;
  volatile u32 *from = a[i] % 3 == 0 ? &own[a[i] & 3] : a[i] % 3 == 1 ? &shared[tid() & 63] : &out[i];
  *from += 5;
  u32 got = *from;
  out[i] = got + own[1] + shared[tid() & 63];
}
