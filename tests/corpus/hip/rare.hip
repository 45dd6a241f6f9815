// Instructions that compilers seldom or never choose, by inline assembly. Every kernel writes rows out[operation][lane].
#include "gpu.h"

#define ROW(x) out[row++ * 64 + t] = (x)

// One instruction of two sources on x and y.
#define TWO(text)                                          \
  {                                                        \
    u32 d = x;                                             \
    asm volatile(text : "+v"(d) : "v"(x), "v"(y), "v"(z)); \
    ROW(d);                                                \
  }

KERNEL vectors(const u32 *a, const u32 *b, const u32 *c, u32 *out) {
  u32 t = tid(), row = 0, x = a[t], y = b[t], z = c[t];
  TWO("v_sad_u32 %0, %1, %2, %3")
  TWO("v_add_u32_sdwa %0, %1, %2 dst_sel:DWORD src0_sel:BYTE_1 src1_sel:WORD_1")
  TWO("v_add_u32_sdwa %0, %1, %2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:BYTE_3")
  TWO("v_sub_u32_sdwa %0, %1, %2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:WORD_0")
  TWO("v_add_u32_sdwa %0, sext(%1), %2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3 src1_sel:DWORD")
  TWO("v_mad_u16 %0, %1, %2, %3 op_sel:[1,0,1,0]")
  TWO("v_pk_add_u16 %0, %1, %2 op_sel:[1,0] op_sel_hi:[0,1]")
  TWO("v_pk_mad_i16 %0, %1, %2, %3 op_sel_hi:[1,1,0] clamp")
  TWO("v_mad_u32_u24 %0, %1, %2, %3")
  TWO("v_mul_hi_u32_u24 %0, %1, %2")
  TWO("v_mul_hi_i32_i24 %0, %1, %2")
  TWO("v_bfm_b32 %0, %1, %2")
  TWO("v_bcnt_u32_b32 %0, %1, %2")
  TWO("v_min3_i32 %0, %1, %2, %3")
  TWO("v_max3_u32 %0, %1, %2, %3")
  TWO("v_med3_i32 %0, %1, %2, %3")
  TWO("v_add_u32 %0, %1, %2 clamp")
  TWO("v_sub_u32 %0, %1, %2 clamp")
  u32 p = x, q = y;
  asm volatile("v_swap_b32 %0, %1" : "+v"(p), "+v"(q));
  ROW(p - 2 * q);
  u64 pair, sources = (u64)y << 32 | x, others = (u64)(x ^ y) << 32 | z;
  asm volatile("v_pk_mov_b32 %0, %1, %2 op_sel:[1,0]" : "=v"(pair) : "v"(sources), "v"(others));
  ROW((u32)pair);
  ROW((u32)(pair >> 32));
  asm volatile("v_qsad_pk_u16_u8 %0, %1, %2, %3" : "=&v"(pair) : "v"(sources), "v"(z), "v"(others));
  ROW((u32)pair);
  ROW((u32)(pair >> 32));
  u32 marked = 0;
  asm volatile("v_cmpx_gt_u32 exec, %1, %2\n\tv_mov_b32 %0, 1\n\ts_mov_b64 exec, -1" : "+v"(marked) : "v"(x), "v"(y) : "vcc");
  ROW(marked);
}

// Uniform operands: every result is one scalar register.
#define ONE(text)                                                  \
  {                                                                \
    u32 d = x;                                                     \
    asm volatile(text : "+s"(d) : "s"(x), "s"(y), "s"(w) : "scc"); \
    ROW(d);                                                        \
  }
#define WIDE(text)                                                 \
  {                                                                \
    u64 d = w;                                                     \
    asm volatile(text : "+s"(d) : "s"(x), "s"(y), "s"(w) : "scc"); \
    ROW((u32)d);                                                   \
    ROW((u32)(d >> 32));                                           \
  }
KERNEL scalars(u32 x, u32 y, u64 w, u32 *out) {
  u32 t = tid(), row = 0;
  ONE("s_pack_ll_b32_b16 %0, %1, %2")
  ONE("s_pack_lh_b32_b16 %0, %1, %2")
  ONE("s_pack_hh_b32_b16 %0, %1, %2")
  ONE("s_absdiff_i32 %0, %1, %2")
  ONE("s_lshl1_add_u32 %0, %1, %2")
  ONE("s_lshl4_add_u32 %0, %1, %2")
  ONE("s_bfm_b32 %0, %1, %2")
  ONE("s_ff0_i32_b32 %0, %1")
  ONE("s_ff0_i32_b64 %0, %3")
  ONE("s_bcnt0_i32_b32 %0, %1")
  ONE("s_flbit_i32 %0, %1")
  ONE("s_flbit_i32_i64 %0, %3")
  ONE("s_bitset1_b32 %0, %2")
  ONE("s_bitset0_b32 %0, %2")
  ONE("s_quadmask_b32 %0, %1")
  ONE("s_wqm_b32 %0, %1")
  ONE("s_sext_i32_i8 %0, %1")
  ONE("s_addk_i32 %0, 0x8001")
  ONE("s_mulk_i32 %0, 0xfffe")
  ONE("s_bitcmp1_b32 %1, %2\n\ts_cselect_b32 %0, 7, %2")
  ONE("s_bitcmp0_b64 %3, %2\n\ts_cmov_b32 %0, -5")
  ONE("s_cmpk_gt_i32 %1, 0x8000\n\ts_cmovk_i32 %0, 0x1234")
  ONE("s_cmpk_lg_u32 %1, 0xbeef\n\ts_addc_u32 %0, %1, %2")
  ONE("s_cmp_gt_u32 %1, %2\n\ts_subb_u32 %0, %1, %2")
  WIDE("s_bitreplicate_b64_b32 %0, %1")
  WIDE("s_quadmask_b64 %0, %3")
  WIDE("s_wqm_b64 %0, %3")
  WIDE("s_bfm_b64 %0, %1, %2")
  WIDE("s_bitset1_b64 %0, %2")
  WIDE("s_xnor_b64 %0, %3, -2")
  WIDE("s_nor_b64 %0, %3, 12")
  WIDE("s_bfe_i64 %0, %3, 0x170009")
}

// LDS by its addresses: 4 bytes a lane from `at` on.
KERNEL local(const u32 *a, const u32 *b, u32 *out) {
  __shared__ u32 words[4][64];
  u32 t = tid(), row = 0, x = a[t], y = b[t], z = t & 1 ? x : x ^ y, old;
  u32 at = (u32)(u64)(__attribute__((address_space(3))) u32 *)&words[0][t];
#define LOCAL(text) LOCAL_PART(text, 0, ~0u)
#define LOCAL_PART(text, shift, mask)                                                             \
  words[0][t] = x;                                                                                \
  old = y;                                                                                        \
  asm volatile(text "\n\ts_waitcnt lgkmcnt(0)" : "+v"(old) : "v"(at), "v"(y), "v"(z) : "memory"); \
  ROW(old >> shift & mask);                                                                       \
  ROW(words[0][t]);
  LOCAL("ds_sub_rtn_u32 %0, %1, %2")
  LOCAL("ds_rsub_rtn_u32 %0, %1, %2")
  LOCAL("ds_inc_rtn_u32 %0, %1, %2")
  LOCAL("ds_dec_rtn_u32 %0, %1, %2")
  LOCAL("ds_and_rtn_b32 %0, %1, %2")
  LOCAL("ds_or_rtn_b32 %0, %1, %2")
  LOCAL("ds_xor_rtn_b32 %0, %1, %2")
  LOCAL("ds_min_rtn_i32 %0, %1, %2")
  LOCAL("ds_max_rtn_u32 %0, %1, %2")
  LOCAL("ds_mskor_rtn_b32 %0, %1, %2, %3")
  LOCAL("ds_cmpst_rtn_b32 %0, %1, %3, %2")
  LOCAL_PART("ds_read_u16_d16 %0, %1 offset:2", 0, 0xffff)
  LOCAL_PART("ds_read_u16_d16_hi %0, %1", 16, 0xffff)
  LOCAL_PART("ds_read_i8_d16 %0, %1 offset:1", 0, 0xffff)
  LOCAL_PART("ds_read_u8_d16_hi %0, %1 offset:3", 16, 0xffff)
  LOCAL("ds_write_b16_d16_hi %1, %2")
  LOCAL("ds_write_b8_d16_hi %1, %2 offset:1")
  LOCAL("ds_read_i16 %0, %1 offset:2")
}

// Loads of halves of registers (what the other half becomes depends on ECC), stores of them, and offsets below the address.
KERNEL memory(const u32 *a, const u32 *b, u32 *out, u32 *bytes) {
  u32 t = tid(), row = 0, old;
  const u32 *from = a + t;
#define LOAD(text) LOAD_PART(text, 0, ~0u)
#define LOAD_PART(text, shift, mask)                                                                             \
  old = b[t];                                                                                                    \
  asm volatile(text "\n\ts_waitcnt vmcnt(0) lgkmcnt(0)" : "+v"(old) : "v"(from), "v"(t * 4), "s"(a) : "memory"); \
  ROW(old >> shift & mask);
  LOAD_PART("global_load_short_d16 %0, %1, off offset:2", 0, 0xffff)
  LOAD_PART("global_load_short_d16_hi %0, %1, off", 16, 0xffff)
  LOAD_PART("global_load_sbyte_d16 %0, %1, off offset:3", 0, 0xffff)
  LOAD_PART("global_load_ubyte_d16_hi %0, %1, off offset:1", 16, 0xffff)
  LOAD("global_load_dword %0, %2, %3 offset:252")
  LOAD("flat_load_sshort %0, %1 offset:2")
  LOAD_PART("flat_load_ubyte_d16 %0, %1", 0, 0xffff)
  from += 1000;
  LOAD("global_load_dword %0, %1, off offset:-4000")
  asm volatile("global_store_byte_d16_hi %0, %1, off offset:1\n\tglobal_store_short_d16_hi %0, %1, off offset:2"
               : : "v"(bytes + t), "v"(b[t]) : "memory");
}
