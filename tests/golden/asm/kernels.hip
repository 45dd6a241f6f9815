// Small kernels that make a compiler insert wait states around matrix instructions; each must lint clean.
// Self-contained: no headers, device code only.
#define GLOBAL extern "C" __attribute__((global)) void
#define WAVE __attribute__((amdgpu_flat_work_group_size(64, 64)))

typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef float f32x32 __attribute__((ext_vector_type(32)));
typedef double f64x4 __attribute__((ext_vector_type(4)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef int i32x16 __attribute__((ext_vector_type(16)));
typedef int i32x32 __attribute__((ext_vector_type(32)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
typedef short s16x4 __attribute__((ext_vector_type(4)));

__attribute__((device)) static inline int lane() { return __builtin_amdgcn_workitem_id_x(); }

GLOBAL WAVE store_f16_16(const f16x4 *a, const f16x4 *b, f32x4 *d) {
  d[lane()] = __builtin_amdgcn_mfma_f32_16x16x16f16(a[lane()], b[lane()], f32x4{}, 0, 0, 0);
}

GLOBAL WAVE store_f16_32(const f16x4 *a, const f16x4 *b, f32x16 *d) {
  d[lane()] = __builtin_amdgcn_mfma_f32_32x32x8f16(a[lane()], b[lane()], f32x16{}, 0, 0, 0);
}

GLOBAL WAVE store_f16_4(const f16x4 *a, const f16x4 *b, f32x4 *d) {
  d[lane()] = __builtin_amdgcn_mfma_f32_4x4x4f16(a[lane()], b[lane()], f32x4{}, 2, 1, 0);
}

GLOBAL WAVE store_f32_32(const float *a, const float *b, f32x32 *d) {
  d[lane()] = __builtin_amdgcn_mfma_f32_32x32x1f32(a[lane()], b[lane()], d[lane()], 0, 0, 3);
}

GLOBAL WAVE store_f64_16(const double *a, const double *b, f64x4 *d) {
  d[lane()] = __builtin_amdgcn_mfma_f64_16x16x4f64(a[lane()], b[lane()], d[lane()], 0, 0, 1);
}

GLOBAL WAVE store_f64_4(const double *a, const double *b, double *d) {
  d[lane()] = __builtin_amdgcn_mfma_f64_4x4x4f64(a[lane()], b[lane()], d[lane()], 0, 0, 0);
}

GLOBAL WAVE read_f64(const double *a, const double *b, double *d, double x) {
  f64x4 r = __builtin_amdgcn_mfma_f64_16x16x4f64(a[lane()], b[lane()], f64x4{}, 0, 0, 0);
  d[lane()] = r.x * x + r.y * r.z - r.w;
}

GLOBAL WAVE fma_beside_f64(const double *a, const double *b, double *d, double *e, double x) {
  double p = a[lane()], q = b[lane()];
  double r = __builtin_amdgcn_mfma_f64_4x4x4f64(p, q, 1.0, 0, 0, 0);
  double s = __builtin_fma(p, x, q);
  e[lane()] = __builtin_fma(s, x, p);
  d[lane()] = r;
}

GLOBAL WAVE chain_f64(const double *a, const double *b, double *d, int n) {
  double r = 0;
  for (int i = 0; i < n; ++i) {
    r = __builtin_amdgcn_mfma_f64_4x4x4f64(a[i * 64 + lane()], b[i * 64 + lane()], r, 0, 0, 0);
    r = __builtin_amdgcn_mfma_f64_4x4x4f64(b[i * 64 + lane()], a[i * 64 + lane()], r, 0, 0, 0);
  }
  d[lane()] = r;
}

GLOBAL WAVE loop_f16(const f16x4 *a, const f16x4 *b, f32x16 *d, int n) {
  f32x16 r = {};
  for (int i = 0; i < n; ++i)
    r = __builtin_amdgcn_mfma_f32_32x32x8f16(a[i * 64 + lane()], b[i * 64 + lane()], r, 0, 0, 0);
  d[lane()] = r;
}

GLOBAL WAVE loop_scaled(const f16x4 *a, const f16x4 *b, f32x4 *d, float x, int n) {
  f32x4 r = {};
  for (int i = 0; i < n; ++i) {
    r = __builtin_amdgcn_mfma_f32_16x16x16f16(a[i * 64 + lane()], b[i * 64 + lane()], r, 0, 0, 0);
    r *= x; // reads and overwrites D in every round
  }
  d[lane()] = r;
}

GLOBAL WAVE loop_feeding_back(const float *a, f32x4 *d, int n) {
  float p = a[lane()];
  f32x4 r = {};
  for (int i = 0; i < n; ++i) { // A is computed from D of the round before
    r = __builtin_amdgcn_mfma_f32_16x16x4f32(p, p, r, 0, 0, 0);
    p = r.x;
  }
  d[lane()] = r;
}

GLOBAL WAVE chain_same(const f16x4 *a, const f16x4 *b, f32x4 *d) {
  f16x4 p = a[lane()], q = b[lane()];
  f32x4 r = {};
  r = __builtin_amdgcn_mfma_f32_4x4x4f16(p, q, r, 0, 0, 0);
  r = __builtin_amdgcn_mfma_f32_4x4x4f16(q, p, r, 0, 0, 0);
  r = __builtin_amdgcn_mfma_f32_4x4x4f16(q, q, r, 0, 0, 0);
  d[lane()] = r;
}

GLOBAL WAVE chain_different(const f16x4 *a, const float *b, f32x4 *d) {
  f16x4 p = a[lane()];
  float q = b[lane()];
  f32x4 r = d[lane()];
  r = __builtin_amdgcn_mfma_f32_16x16x16f16(p, p, r, 0, 0, 0);
  r = __builtin_amdgcn_mfma_f32_16x16x4f32(q, q, r, 0, 0, 0);
  r = __builtin_amdgcn_mfma_f32_4x4x4f16(p, p, r, 0, 0, 0);
  d[lane()] = r;
}

GLOBAL WAVE result_as_a(const float *a, const float *b, f32x4 *d) {
  f32x4 r = __builtin_amdgcn_mfma_f32_4x4x1f32(a[lane()], b[lane()], f32x4{}, 0, 0, 0);
  f32x4 s = __builtin_amdgcn_mfma_f32_16x16x4f32(r.x, r.y, f32x4{}, 0, 0, 0);
  d[lane()] = __builtin_amdgcn_mfma_f32_16x16x4f32(s.z, s.w, f32x4{}, 0, 0, 0);
}

GLOBAL WAVE part_of_result_as_c(const f16x4 *a, const f16x4 *b, f32x4 *d) {
  f16x4 p = a[lane()], q = b[lane()];
  f32x16 r = __builtin_amdgcn_mfma_f32_32x32x8f16(p, q, f32x16{}, 0, 0, 0);
  f32x4 lower = __builtin_shufflevector(r, r, 0, 1, 2, 3), upper = __builtin_shufflevector(r, r, 8, 9, 10, 11);
  d[lane()] = __builtin_amdgcn_mfma_f32_16x16x16f16(q, p, lower, 0, 0, 0);
  d[lane() + 64] = __builtin_amdgcn_mfma_f32_16x16x16f16(q, p, upper, 0, 0, 0);
}

GLOBAL WAVE bf16_of_sum(const float *a, const s16x4 *b, f32x16 *d, float x) {
  float p = a[lane()] * x; // the VALU writes A just before
  unsigned w = __builtin_bit_cast(unsigned, p) >> 16;
  s16x4 q = {(short)w, (short)w, (short)(w + 1), (short)(w + 2)};
  d[lane()] = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(q, b[lane()], d[lane()], 0, 0, 0);
}

GLOBAL WAVE int8_wide(const long *a, const long *b, i32x16 *d, int n) {
  i32x16 r = {};
  for (int i = 0; i < n; ++i)
    r = __builtin_amdgcn_mfma_i32_32x32x16_i8(a[i * 64 + lane()], b[i * 64 + lane()], r, 0, 0, 0);
  d[lane()] = r + 1;
}

GLOBAL WAVE int8_blocks(const int *a, const int *b, i32x32 *d) {
  d[lane()] = __builtin_amdgcn_mfma_i32_32x32x4i8(a[lane()], b[lane()], d[lane()], 1, 1, 5) * 3;
}

GLOBAL WAVE fp8_pairs(const long *a, const long *b, f32x4 *d) {
  f32x4 r = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(a[lane()], b[lane()], f32x4{}, 0, 0, 0);
  d[lane()] = __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(b[lane()], a[lane()], r, 0, 0, 0);
}

// clang 22.1.8 leaves two real shortages here: no wait before the store after the second arm, and one wait state too
// few before the product, where it counts a branch that is not executed.
GLOBAL WAVE missed_after_join(const f32x2 *a, const f32x2 *b, f32x4 *d, int n) {
  f32x4 r = __builtin_amdgcn_mfma_f32_16x16x8_xf32(a[lane()], b[lane()], f32x4{}, 0, 0, 0);
  if (n > 3) // both arms need D at once
    r = r * r;
  else
    r = __builtin_amdgcn_mfma_f32_16x16x8_xf32(f32x2{r.x, r.y}, b[lane()], r, 0, 0, 0);
  d[lane()] = r;
}

GLOBAL WAVE xf32_either_arm(const f32x2 *a, const f32x2 *b, f32x4 *d, float *e, int n) {
  f32x4 r = __builtin_amdgcn_mfma_f32_16x16x8_xf32(a[lane()], b[lane()], f32x4{}, 0, 0, 0);
  if (n > 3) // both arms need D at once
    e[lane()] = r.x * r.y;
  else
    d[lane()] = __builtin_amdgcn_mfma_f32_16x16x8_xf32(f32x2{r.x, r.y}, b[lane()], r, 0, 0, 0);
}

GLOBAL WAVE through_lds(const f16x4 *a, const f16x4 *b, f32x4 *d) {
  __attribute__((shared)) static f32x4 tile[64];
  tile[lane()] = __builtin_amdgcn_mfma_f32_16x16x16f16(a[lane()], b[lane()], f32x4{}, 0, 0, 0);
  __builtin_amdgcn_s_barrier();
  d[lane()] = tile[lane() ^ 17];
}

GLOBAL WAVE under_a_mask(const f16x4 *a, const f16x4 *b, f32x4 *d, const int *want) {
  f32x4 r = {};
  while (__builtin_amdgcn_ballot_w64(want[lane()] > r.x)) // EXEC changes around the instruction
    if (want[lane()] > r.x + 1)
      r = __builtin_amdgcn_mfma_f32_16x16x16f16(a[lane()], b[lane()], r, 0, 0, 0);
    else
      r += 1;
  d[lane()] = r;
}

GLOBAL WAVE addend_overwritten(const f16x4 *a, f32x16 *c, f32x16 *d, float x) {
  f16x4 p = a[lane()];
  f32x16 r = c[lane()], s = __builtin_amdgcn_mfma_f32_32x32x8f16(p, p, r, 0, 0, 0);
  r = r * x; // C is read by the instruction and overwritten by the VALU
  c[lane()] = r;
  d[lane()] = s;
}

GLOBAL WAVE many_accumulators(const f16x4 *a, const f16x4 *b, f32x16 *d, int n) {
  f32x16 r[16] = {}; // 256 registers: the second half lands in accumulation VGPRs
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < 16; ++j)
      r[j] = __builtin_amdgcn_mfma_f32_32x32x8f16(a[(i * 4 + j / 4) * 64 + lane()], b[(i * 4 + j % 4) * 64 + lane()],
                                                  r[j], 0, 0, 0);
#pragma unroll
  for (int j = 0; j < 16; ++j)
    d[j * 64 + lane()] = r[j];
}

GLOBAL WAVE sparse_f16(const f16x4 *a, const f16x8 *b, f32x4 *d, const int *index) {
  f32x4 r = d[lane()];
  r = __builtin_amdgcn_smfmac_f32_16x16x32_f16(a[lane()], b[lane()], r, index[lane()] + 1, 0, 0);
  d[lane()] = r + 1;
}
