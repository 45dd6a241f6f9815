// Buffer instructions with their range checks, scalar buffers, loads from global memory straight into LDS.
#include "gpu.h"

#define BEGIN u32 i = id()
#define RAW 0x00027000  // the descriptor's last word: raw, 32-bit data

INLINE __amdgpu_buffer_rsrc_t resource(const void *p, u32 size) {
  return __builtin_amdgcn_make_buffer_rsrc((void *)p, 0, size, RAW);
}

// The same descriptor as words, for assembly.
INLINE vec<u32, 4> words(const void *p, u32 stride, u32 size) {
  return vec<u32, 4>{(u32)(u64)p, (u32)((u64)p >> 32) | stride << 16, size, RAW};
}

// What lies at or beyond `size` bytes reads as zero.
KERNEL loads(const u32 *a, u32 *out, u32 size, u32 n) {
  BEGIN;
  __amdgpu_buffer_rsrc_t r = resource(a, size);
  u32 row = 0;
#define ROW(x) out[row++ * n + i] = (x)
  ROW(__builtin_amdgcn_raw_buffer_load_b32(r, i * 4, 0, 0));
  ROW(__builtin_amdgcn_raw_buffer_load_b32(r, i * 4 + 20, 0, 0));
  ROW(__builtin_amdgcn_raw_buffer_load_b16(r, i * 2, 0, 0));
  ROW(__builtin_amdgcn_raw_buffer_load_b8(r, i + 160, 0, 0));
  vec<u32, 2> two = __builtin_amdgcn_raw_buffer_load_b64(r, i * 8, 0, 0);
  vec<u32, 3> three = __builtin_amdgcn_raw_buffer_load_b96(r, i * 12, 0, 0);
  vec<u32, 4> four = __builtin_amdgcn_raw_buffer_load_b128(r, i * 16, 0, 0);
  ROW(two.x ^ two.y * 3);
  ROW(three.x ^ three.y * 3 ^ three.z * 5);
  ROW(four.x ^ four.y * 3 ^ four.z * 5 ^ four.w * 7);
}

// With an offset in a scalar register, which the check subtracts from the size.
KERNEL scalar_offsets(const u32 *a, u32 *out, u32 size, u32 n) {
  BEGIN;
  __amdgpu_buffer_rsrc_t r = resource(a, size);
  u32 row = 0;
  ROW(__builtin_amdgcn_raw_buffer_load_b32(r, i * 4, 64, 0));
  ROW(__builtin_amdgcn_raw_buffer_load_b8(r, i, size - 32, 0));
}

// Stores beyond the end are dropped.
KERNEL stores(u32 *out, u16 *halves, u8 *bytes, u32 size) {
  BEGIN;
  __builtin_amdgcn_raw_buffer_store_b32(i + 1, resource(out, size), i * 4, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b64(vec<u32, 2>{i + 1000, i + 2000}, resource(out, size), i * 8 + 512, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b128(vec<u32, 4>{i, i + 1, i + 2, i + 3}, resource(out, size), i * 16 + 1024, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b16((u16)(i * 3), resource(halves, size / 8), i * 2, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b8((u8)(i * 5), resource(bytes, size / 16), i, 0, 0);
}

// Records of 8 bytes by index: a structured buffer, in range by its number of records.
KERNEL structured(const u32 *a, u32 *out, u32 records, u32 n) {
  BEGIN;
  u32 low, high;
  asm volatile(
      "buffer_load_dword %0, %2, %3, 0 idxen\n\t"
      "buffer_load_dword %1, %2, %3, 0 idxen offset:4\n\t"
      "s_waitcnt vmcnt(0)"
      : "=&v"(low), "=&v"(high)
      : "v"(i), "s"(words(a, 8, records))
      : "memory");
  if (i < n) out[i] = low + high * 3;
}

// Sums through buffer atomics; those out of range do nothing.
KERNEL atomics(u32 *out, f32 *sums, u32 size) {
  BEGIN;
  u32 at = (i & 31) * 4;
  asm volatile("buffer_atomic_add %0, %1, %2, 0 offen\n\tbuffer_atomic_add_f32 %3, %1, %4, 0 offen"
               :
               : "v"(i), "v"(at), "s"(words(out, 0, size)), "v"((f32)i), "s"(words(sums, 0, size))
               : "memory");
}

// Scalar loads of every width, with offsets in the instruction and in a register.
KERNEL scalar(const u32 *a, u32 *out, u32 offset) {
  u32 one, past;
  vec<u32, 2> two;
  vec<u32, 4> four;
  vec<u32, 8> eight;
  vec<u32, 16> sixteen;
  asm volatile(
      "s_buffer_load_dword %0, %6, 0x10\n\t"
      "s_buffer_load_dword %1, %6, %7\n\t"
      "s_buffer_load_dwordx2 %2, %6, 0x8\n\t"
      "s_buffer_load_dwordx4 %3, %6, 0x20\n\t"
      "s_load_dwordx8 %4, %8, 0x20\n\t"
      "s_load_dwordx16 %5, %8, %9\n\t"
      "s_waitcnt lgkmcnt(0)"
      : "=&s"(one), "=&s"(past), "=&s"(two), "=&s"(four), "=&s"(eight), "=&s"(sixteen)
      : "s"(words(a, 0, 96)), "s"(offset), "s"(a), "s"(0)
      : "memory");
  u32 t = tid();
  u32 sum = one + past * 3 + two.x * 5 + two.y * 7 + four.x * 11 + four.w * 13 + eight.s0 * 17 + eight.s7 * 19;
  out[t] = (sum + sixteen.s0 * 23 + sixteen.sf * 29) * (t + 1);
}

// Lane by lane into consecutive words of LDS.
typedef __attribute__((address_space(1))) void global_void;
typedef __attribute__((address_space(3))) void shared_void;
KERNEL direct(const u32 *a, const u32 *order, u32 *out) {
  __shared__ u32 tile[4 * 64];
  u32 t = tid(), wave = __builtin_amdgcn_readfirstlane(t >> 6);
  __builtin_amdgcn_global_load_lds((global_void *)(a + order[id()]), (shared_void *)(tile + wave * 64), 4, 0, 0);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_waitcnt(0x0f70);  // vmcnt(0)
  barrier();
  out[id()] = tile[t ^ 65] + 1;
}
KERNEL direct_buffer(const u32 *a, u32 *out, u32 size) {
  __shared__ u32 tile[2][64];
  u32 t = tid();
  tile[0][t] = tile[1][t] = 99;
  barrier();
  __amdgpu_buffer_rsrc_t r = resource(a, size);
  __builtin_amdgcn_raw_ptr_buffer_load_lds(r, (shared_void *)tile[0], 4, t * 4, 0, 0, 0);
  __builtin_amdgcn_raw_ptr_buffer_load_lds(r, (shared_void *)tile[1], 4, t * 4 + 128, 0, 0, 0);
  __builtin_amdgcn_s_waitcnt(0x0f70);
  barrier();
  out[t] = tile[0][t ^ 1];
  out[t + 64] = tile[1][t ^ 2];
}
