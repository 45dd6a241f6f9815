// Moves among the lanes of a wave. Every kernel writes rows out[move][work-item].
#include "gpu.h"

#define ROW(x) out[row++ * n + i] = (x)
#define BEGIN u32 i = id(), row = 0; if (i >= n) return

// update_dpp(old, source, control, row mask, bank mask, bound control)
#define DPP(control) ROW(__builtin_amdgcn_update_dpp(1000 + x, x, control, 0xf, 0xf, false))
#define ZERO(control) ROW(__builtin_amdgcn_update_dpp(1000 + x, x, control, 0xf, 0xf, true))
KERNEL dpp(const i32 *a, i32 *out, u32 n) {
  BEGIN;
  i32 x = a[i];
  DPP(0x1b);   // quad_perm:[3,2,1,0]
  DPP(0xb1);   // quad_perm:[1,0,3,2]
  DPP(0x55);   // quad_perm:[1,1,1,1]
  DPP(0x101);  // row_shl:1
  DPP(0x108);  // row_shl:8
  DPP(0x111);  // row_shr:1
  DPP(0x11f);  // row_shr:15
  DPP(0x121);  // row_ror:1
  DPP(0x12c);  // row_ror:12
  DPP(0x130);  // wave_shl:1
  DPP(0x134);  // wave_rol:1
  DPP(0x138);  // wave_shr:1
  DPP(0x13c);  // wave_ror:1
  DPP(0x140);  // row_mirror
  DPP(0x141);  // row_half_mirror
  DPP(0x150);  // row_newbcast:0
  DPP(0x15b);  // row_newbcast:11
  ZERO(0x101);
  ZERO(0x111);
  ZERO(0x130);
  ROW(__builtin_amdgcn_update_dpp(7, x, 0x142, 0xa, 0xf, false));
  ROW(__builtin_amdgcn_update_dpp(7, x, 0x143, 0xc, 0xf, false));
  ROW(__builtin_amdgcn_update_dpp(7, x, 0x111, 0x5, 0x3, false));
  ROW(__builtin_amdgcn_update_dpp(7, x, 0x1b, 0xf, 0x6, true));
  ROW(__builtin_amdgcn_mov_dpp(x, 0xb1, 0xf, 0xf, true));
}

// Inactive lanes as sources: odd ones do not take part.
KERNEL dpp_masked(const i32 *a, i32 *out, u32 n) {
  BEGIN;
  i32 x = a[i], got = -1, zeroed = -1, rolled = -1, swizzled = -1;
  if (i % 3) {
    got = __builtin_amdgcn_update_dpp(7, x, 0x111, 0xf, 0xf, false);
    zeroed = __builtin_amdgcn_update_dpp(7, x, 0x111, 0xf, 0xf, true);
    rolled = __builtin_amdgcn_update_dpp(7, x, 0x121, 0xf, 0xf, true);
    swizzled = __builtin_amdgcn_ds_bpermute((i + 1) * 4, x);
  }
  ROW(got);
  ROW(zeroed);
  ROW(rolled);
  ROW(swizzled);
}

// The sum of a wave in six steps, the way of the compiler's libraries: the compiler folds the moves into additions.
KERNEL dpp_sum(const i32 *a, i32 *out) {
  i32 x = a[id()];
  x += __builtin_amdgcn_update_dpp(0, x, 0x111, 0xf, 0xf, false);
  x += __builtin_amdgcn_update_dpp(0, x, 0x112, 0xf, 0xf, false);
  x += __builtin_amdgcn_update_dpp(0, x, 0x114, 0xf, 0xe, false);
  x += __builtin_amdgcn_update_dpp(0, x, 0x118, 0xf, 0xc, false);
  x += __builtin_amdgcn_update_dpp(0, x, 0x142, 0xa, 0xf, false);
  x += __builtin_amdgcn_update_dpp(0, x, 0x143, 0xc, 0xf, false);
  out[id()] = x;
}
KERNEL dpp_max(const f32 *a, f32 *out) {
  f32 x = a[id()];
#define STEP(control) x = __builtin_elementwise_maxnum(x, bits<f32>(__builtin_amdgcn_mov_dpp(bits<i32>(x), control, 0xf, 0xf, true)))
  STEP(0xb1);
  STEP(0x4e);
  STEP(0x141);
  STEP(0x140);
  out[id()] = x;
}

KERNEL swizzle(const i32 *a, i32 *out, u32 n) {
  BEGIN;
  i32 x = a[i];
  ROW(__builtin_amdgcn_ds_swizzle(x, 0x041f));  // lane ^ 1
  ROW(__builtin_amdgcn_ds_swizzle(x, 0x401f));  // lane ^ 16
  ROW(__builtin_amdgcn_ds_swizzle(x, 0x0018));  // lane & 24
  ROW(__builtin_amdgcn_ds_swizzle(x, 0x0093));  // lane & 19 | 4
  ROW(__builtin_amdgcn_ds_swizzle(x, 0x7c1f));  // lane ^ 31
  ROW(__builtin_amdgcn_ds_swizzle(x, 0x801b));  // quads reversed
  ROW(__builtin_amdgcn_ds_swizzle(x, 0x804e));  // halves of quads exchanged
}

KERNEL permute(const i32 *a, const i32 *to, i32 *out, u32 n) {
  BEGIN;
  ROW(__builtin_amdgcn_ds_bpermute(to[i] * 4, a[i]));
  ROW(__builtin_amdgcn_ds_permute(to[i] * 4, a[i]));
  ROW(__builtin_amdgcn_ds_bpermute(to[i] * 4 + 3 + 1024, a[i]));
}

KERNEL readers(const i32 *a, u64 *out, u32 n, u32 which) {
  BEGIN;
  i32 x = a[i];
  ROW(__builtin_amdgcn_readfirstlane(x));
  ROW(__builtin_amdgcn_readlane(x, 13));
  ROW(__builtin_amdgcn_readlane(x, which & 63));
  ROW(__builtin_amdgcn_ballot_w64(x & 1));
  ROW(__builtin_amdgcn_ballot_w64(x > 50) & __builtin_amdgcn_ballot_w64(x < 100));
  ROW(lane());
  u64 odd = __builtin_amdgcn_ballot_w64(x & 1);
  ROW(__builtin_amdgcn_mbcnt_hi(odd >> 32, __builtin_amdgcn_mbcnt_lo(odd, 0)));
  u64 inner = 99, first = 99;
  if (x & 1) {
    inner = __builtin_amdgcn_ballot_w64(x > 40);
    first = __builtin_amdgcn_readfirstlane(x);
  }
  ROW(inner);
  ROW(first);
  ROW(__builtin_amdgcn_ballot_w64(true));
  u64 uniform_any = __builtin_amdgcn_ballot_w64(x > 1 << 30) != 0;
  ROW(uniform_any);
}

// One lane's value at a time: the loop over different values that compilers write for scalar operands.
KERNEL waterfall(const u32 *a, const u32 *table, u32 *out, u32 n) {
  u32 i = id();
  if (i >= n) return;
  u32 done = 0, rounds = 0;
  while (!done) {
    u32 wanted = __builtin_amdgcn_readfirstlane(a[i]);
    rounds++;
    if (wanted == a[i]) {
      out[i] = table[wanted] * 100 + rounds;
      done = 1;
    }
  }
}

// Writes one lane of a register; the rest keep theirs.
KERNEL writelane(const i32 *a, i32 *out, u32 n, i32 value, u32 where) {
  BEGIN;
  i32 x = a[i];
  asm volatile("s_mov_b32 m0, %2\n\tv_writelane_b32 %0, %1, m0" : "+v"(x) : "s"(value), "s"(where));
  ROW(x);
  asm volatile("v_writelane_b32 %0, %1, 5" : "+v"(x) : "s"(value + 1));
  ROW(x);
}

KERNEL wave_reductions(const u32 *a, u32 *out, u32 n) {
  BEGIN;
  ROW(__builtin_amdgcn_wave_reduce_min_u32(a[i], 0));
  ROW(__builtin_amdgcn_wave_reduce_max_u32(a[i], 0));
  ROW(__builtin_amdgcn_wave_reduce_add_u32(a[i], 0));
  ROW(__builtin_amdgcn_wave_reduce_xor_b32(a[i], 0));
}

// Butterflies with ds_swizzle below 32 and ds_bpermute at 32.
KERNEL butterfly(const i32 *a, i32 *out) {
  i32 x = a[id()];
  x += __builtin_amdgcn_ds_swizzle(x, 0x041f);
  x += __builtin_amdgcn_ds_swizzle(x, 0x081f);
  x += __builtin_amdgcn_ds_swizzle(x, 0x101f);
  x += __builtin_amdgcn_ds_swizzle(x, 0x201f);
  x += __builtin_amdgcn_ds_swizzle(x, 0x401f);
  x += __builtin_amdgcn_ds_bpermute((lane() ^ 32) * 4, x);
  out[id()] = x;
}
