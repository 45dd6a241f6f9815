// Two small kernels with LDS, a constant, a pointer that needs a relocation, and every kind of argument.
//
// Compiled here with clang 22.1.8, CLANG = clang-22 -x hip -O2 -nogpulib -nogpuinc -fno-ident -cuid=0
//     --offload-device-only kernels.hip (with the debug information: -ffile-prefix-map=$PWD=/source):
// kernels_v6.co       CLANG --offload-arch=gfx942 --no-gpu-bundle-output
// kernels_v5_dwarf5.co  CLANG --offload-arch=gfx942 --no-gpu-bundle-output -mcode-object-version=5 -g
// kernels_v6_dwarf4.co  CLANG --offload-arch=gfx942 --no-gpu-bundle-output -gdwarf-4 -gz=zlib
// generic.co          CLANG --offload-arch=gfx9-4-generic --no-gpu-bundle-output
// gfx90a.co           CLANG --offload-arch=gfx90a --no-gpu-bundle-output
// xnack.co            CLANG --offload-arch=gfx942:sramecc+:xnack+ --no-gpu-bundle-output
// bundle.hipfb        clang-offload-bundler-22 -type=o -bundle-align=8 -output=bundle.hipfb -input=/dev/null
//     -input=gfx90a.co -input=FILE of gfx942:sramecc+:xnack- -input=xnack.co -targets=host-x86_64-unknown-linux-gnu-,
//     hipv4-amdgcn-amd-amdhsa--gfx90a,hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-,
//     hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack+
// compressed.hipfb    the same with -compress: version 3, zstd
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

typedef float float4v __attribute__((ext_vector_type(4)));

__constant__ float weights[5] = {1, 2, 3, 4, 5};
__device__ int counter;
__device__ int *where = &counter;

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(64, 128))) void scale(
    float *out, const float *in, float factor, int count) {
  __shared__ float tile[64];
  int lane = __builtin_amdgcn_workitem_id_x() & 63;
  int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + lane;
  tile[lane] = in[i] + weights[i % 5];
  __builtin_amdgcn_s_barrier();
  if (i < count) {
    out[i] = factor * tile[63 - lane];
    *where += 1;
  }
}

extern "C" __global__ void multiply(float4v *d, const float *a, const float *b) {
  int lane = __builtin_amdgcn_workitem_id_x();
  d[lane] = __builtin_amdgcn_mfma_f32_16x16x4f32(a[lane], b[lane], d[lane], 0, 0, 0);
}
