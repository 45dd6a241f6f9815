// What these kernels need of a HIP header: spelled with compiler builtins, so that no ROCm is needed.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define NOINLINE __attribute__((noinline))
#define KERNEL extern "C" __global__ void
#define INLINE static inline __device__ __attribute__((always_inline))

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long i64;
typedef unsigned long u64;
typedef _Float16 f16;
typedef __bf16 bf16;
typedef float f32;
typedef double f64;

template <class T, int n> using vec __attribute__((ext_vector_type(n))) = T;

INLINE u32 tid() { return __builtin_amdgcn_workitem_id_x(); }
INLINE u32 tid_y() { return __builtin_amdgcn_workitem_id_y(); }
INLINE u32 tid_z() { return __builtin_amdgcn_workitem_id_z(); }
INLINE u32 group() { return __builtin_amdgcn_workgroup_id_x(); }
INLINE u32 group_y() { return __builtin_amdgcn_workgroup_id_y(); }
INLINE u32 group_z() { return __builtin_amdgcn_workgroup_id_z(); }
INLINE u32 group_size() { return __builtin_amdgcn_workgroup_size_x(); }
INLINE u32 group_size_y() { return __builtin_amdgcn_workgroup_size_y(); }
INLINE u32 group_size_z() { return __builtin_amdgcn_workgroup_size_z(); }
INLINE u32 groups() { return ((__attribute__((address_space(4))) const u32 *)__builtin_amdgcn_implicitarg_ptr())[0]; }
INLINE u32 id() { return group() * group_size() + tid(); }
INLINE u32 lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

INLINE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

template <class To, class From> INLINE To bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, x);
}
