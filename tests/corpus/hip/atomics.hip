// Atomic operations on global memory, and the orders among work-groups that they make.
#include "gpu.h"

#define RELAXED __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT

// All work-items meet on 16 places of every operation. out[operation][place]; the results do not depend on the order.
template <class T, class S> INLINE void each(const T *a, T *out, u32 n) {
  u32 i = id(), place = i & 15;
  if (i >= n) return;
  T x = a[i];
  __hip_atomic_fetch_add(&out[place], x, RELAXED);
  __hip_atomic_fetch_sub(&out[16 + place], x, RELAXED);
  __hip_atomic_fetch_min((S *)&out[32 + place], (S)x, RELAXED);
  __hip_atomic_fetch_max((S *)&out[48 + place], (S)x, RELAXED);
  __hip_atomic_fetch_min(&out[64 + place], x, RELAXED);
  __hip_atomic_fetch_max(&out[80 + place], x, RELAXED);
  __hip_atomic_fetch_and(&out[96 + place], x, RELAXED);
  __hip_atomic_fetch_or(&out[112 + place], x, RELAXED);
  __hip_atomic_fetch_xor(&out[128 + place], x, RELAXED);
}
KERNEL each_u32(const u32 *a, u32 *out, u32 n) { each<u32, i32>(a, out, n); }
KERNEL each_u64(const u64 *a, u64 *out, u32 n) { each<u64, i64>(a, out, n); }

// Old values, one place for each work-item: olds[operation][i] and out[operation][i].
template <class T, class S> INLINE void returning(const T *a, T *out, T *olds, u32 n) {
  u32 i = id(), row = 0;
  if (i >= n) return;
  T x = a[i];
#define OLD(op, type) olds[row * n + i] = (T)__hip_atomic_fetch_##op((type *)&out[row * n + i], (type)x, RELAXED), row++
  OLD(add, T);
  OLD(sub, T);
  OLD(min, S);
  OLD(max, S);
  OLD(min, T);
  OLD(max, T);
  OLD(and, T);
  OLD(or, T);
  OLD(xor, T);
  olds[row * n + i] = __hip_atomic_exchange(&out[row * n + i], x, RELAXED), row++;
  T seen = i & 1 ? out[row * n + i] : x;
  __hip_atomic_compare_exchange_strong(&out[row * n + i], &seen, (T)(x + 1), __ATOMIC_RELAXED, RELAXED);
  olds[row * n + i] = seen;
}
KERNEL returning_u32(const u32 *a, u32 *out, u32 *olds, u32 n) { returning<u32, i32>(a, out, olds, n); }
KERNEL returning_u64(const u64 *a, u64 *out, u64 *olds, u32 n) { returning<u64, i64>(a, out, olds, n); }

// Counters that wrap: every work-item of the launch counts up, then down.
KERNEL wrapping(u32 *up, u32 *down, u32 limit, u32 *olds, u32 n) {
  u32 i = id();
  if (i >= n) return;
  __builtin_amdgcn_atomic_inc32(&up[i & 7], limit, __ATOMIC_RELAXED, "agent");
  olds[i] = __builtin_amdgcn_atomic_dec32(&down[i & 63], limit, __ATOMIC_RELAXED, "agent");
}
KERNEL wrapping_u64(u64 *up, u64 *down, u64 limit, u32 n) {
  u32 i = id();
  if (i >= n) return;
  __builtin_amdgcn_atomic_inc64(&up[i & 7], limit, __ATOMIC_RELAXED, "agent");
  __builtin_amdgcn_atomic_dec64(&down[i & 63], limit, __ATOMIC_RELAXED, "agent");
}

// Sums of small integers in floats, exact in any order.
#define GLOBAL __attribute__((address_space(1)))
typedef vec<f16, 2> f16x2;
typedef vec<i16, 2> bits16x2;
KERNEL __attribute__((target("atomic-fadd-rtn-insts,atomic-global-pk-add-bf16-inst"))) floats(const f32 *a, f32 *sums, f64 *wide, f16x2 *halves, bits16x2 *brains, u32 n) {
  u32 i = id();
  if (i >= n) return;
  __builtin_amdgcn_global_atomic_fadd_f64((GLOBAL f64 *)&wide[i & 7], (f64)a[i]);
  __builtin_amdgcn_global_atomic_fadd_f32((GLOBAL f32 *)&sums[i & 7], a[i]);
  __builtin_amdgcn_global_atomic_fadd_v2f16((GLOBAL f16x2 *)&halves[i & 7], f16x2{(f16)a[i], (f16)-a[i]});
  vec<bf16, 2> pair = {(bf16)a[i], (bf16)1.0f};
  __builtin_amdgcn_global_atomic_fadd_v2bf16((GLOBAL bits16x2 *)&brains[i & 7], bits<bits16x2>(pair));
}
KERNEL floats_returning(const f32 *a, f32 *out, f64 *wide, f32 *olds, f64 *wide_olds, u32 n) {
  u32 i = id();
  if (i >= n) return;
  olds[i] = __builtin_amdgcn_global_atomic_fadd_f32((GLOBAL f32 *)&out[i], a[i]);
  wide_olds[i] = __builtin_amdgcn_global_atomic_fadd_f64((GLOBAL f64 *)&wide[i], (f64)a[i] * 0.1);
}
KERNEL extremes_f64(const f64 *a, f64 *low, f64 *high, u32 n) {
  u32 i = id();
  if (i >= n) return;
  __builtin_amdgcn_global_atomic_fmin_f64((GLOBAL f64 *)&low[i & 7], a[i]);
  __builtin_amdgcn_global_atomic_fmax_f64((GLOBAL f64 *)&high[i & 7], a[i]);
}
// Without an instruction for it the compiler writes a loop of compare and exchange.
KERNEL multiply(const u32 *a, u32 *out, u32 n) {
  u32 i = id();
  if (i >= n) return;
  u32 seen = out[i & 3];
  while (!__hip_atomic_compare_exchange_strong(&out[i & 3], &seen, seen * (2 * a[i] + 1), __ATOMIC_RELAXED, RELAXED)) {
  }
}

// Bytes and halves by compare and exchange of their word, as the compiler expands them.
KERNEL bytes(const u8 *a, u8 *out, i16 *low, u32 n) {
  u32 i = id();
  if (i >= n) return;
  __hip_atomic_fetch_or(&out[i & 7], a[i], RELAXED);
  __hip_atomic_fetch_min(&low[i & 7], (i16)(a[i] * 3 - 300), RELAXED);
}

// Orders and scopes: the fences around accesses differ.
KERNEL scopes(u32 *flags, u32 *out) {
  u32 i = id();
  __hip_atomic_store(&flags[i], i + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  u32 got = __hip_atomic_load(&flags[i], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
  got += __hip_atomic_fetch_add(&flags[i], 5, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  got += __hip_atomic_fetch_add(&flags[i], 7, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_WORKGROUP);
  got += __hip_atomic_fetch_add(&flags[i], 9, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_store(&flags[i], got, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_WAVEFRONT);
  out[i] = __hip_atomic_load(&flags[i], __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SINGLETHREAD);
}

// A running sum along the work-groups: each waits for the one before it.
KERNEL chain(const u32 *a, u32 *out, u32 *flags) {
  __shared__ u32 before, part[64];
  u32 t = tid();
  part[t] = a[id()];
  for (u32 step = 1; step < 64; step *= 2) {
    barrier();
    u32 x = t >= step ? part[t - step] : 0;
    barrier();
    part[t] += x;
  }
  if (t == 63) {
    u32 sum = 0;
    if (group()) {
      while (!__hip_atomic_load(&flags[2 * group() - 2], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) __builtin_amdgcn_s_sleep(1);
      sum = flags[2 * group() - 1];
    }
    flags[2 * group() + 1] = sum + part[63];
    __hip_atomic_store(&flags[2 * group()], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    before = sum;
  }
  barrier();
  out[id()] = before + part[t];
}

// The first work-group waits for the last: all must be resident.
KERNEL backwards(u32 *out, u32 *flag) {
  if (group() == 0) {
    while (!__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) __builtin_amdgcn_s_sleep(2);
    out[tid()] = out[64 + tid()] * 3;
  } else {
    out[64 + tid()] = tid() + 11;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    barrier();
    if (tid() == 0) __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
}

// The last work-group to finish adds the parts of all.
KERNEL last_block(const f32 *a, f32 *parts, u32 *count, f32 *out, u32 n) {
  __shared__ f32 held[128];
  __shared__ u32 last;
  u32 t = tid();
  f32 sum = 0;
  for (u32 i = id(); i < n; i += groups() * group_size()) sum += a[i];
  for (u32 round = 0; round < 2; round++) {
    held[t] = sum;
    barrier();
    for (u32 step = 64; step; step /= 2) {
      if (t < step) held[t] += held[t + step];
      barrier();
    }
    if (round == 1) break;
    if (t == 0) {
      parts[group()] = held[0];
      __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
      last = __hip_atomic_fetch_add(count, 1u, RELAXED) == groups() - 1;
    }
    barrier();
    if (!last) return;
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    sum = 0;
    for (u32 k = t; k < groups(); k += group_size()) sum += *(volatile f32 *)&parts[k];
  }
  if (t == 0) *out = held[0];
}

// A spin lock around a sum that is not atomic.
KERNEL locked(u32 *lock, u32 *sum) {
  if (tid() == 0) {
    while (__hip_atomic_exchange(lock, 1u, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) __builtin_amdgcn_s_sleep(1);
    sum[0] += group() + 1;
    sum[1] = sum[1] * 2 + 1;
    __hip_atomic_store(lock, 0u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
}
