// Kernels that need what is not implemented, each behind another way of control flow, and two more: `endless`
// never ends, `typed` has arguments with names and types.
//
// missing.co: llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -g -fdebug-compilation-dir=. -filetype=obj missing.s
//     -o missing.o && ld.lld-22 -shared missing.o -o missing.co
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"

.macro kernel name
.globl \name
.p2align 8
.type \name,@function
\name:
.endm

.text
kernel behind_branch
  s_cmp_eq_u32 s0, 0
  s_cbranch_scc0 .Lend
  s_cbranch_execz .Lbarrier
.Lend:
  s_endpgm
.Lbarrier:
  ds_gws_barrier v0 gds
  s_branch .Lend
.size behind_branch, .-behind_branch

kernel behind_call
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, sparse@rel32@lo+4
  s_addc_u32 s5, s5, sparse@rel32@hi+12
  s_swappc_b64 s[30:31], s[4:5]
  s_endpgm
.size behind_call, .-behind_call

kernel behind_table
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@rel32@lo+4
  s_addc_u32 s5, s5, table@rel32@hi+12
  s_load_dwordx2 s[4:5], s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_setpc_b64 s[4:5]
.size behind_table, .-behind_table

kernel after_call
  s_call_b64 s[30:31], harmless
  ds_gws_init v0 gds
  s_endpgm
.size after_call, .-after_call

kernel undecodable
  s_cbranch_execz .Lword
  s_endpgm
.Lword:
  .long 0xffffffff
.size undecodable, .-undecodable

kernel endless
  s_branch endless
.size endless, .-endless

kernel typed
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_load_dwordx4 s[4:7], s[0:1], 0x8
  v_mov_b32_e32 v1, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  v_mov_b32_e32 v4, s6
  v_mov_b32_e32 v5, s7
  global_store_dwordx4 v1, v[2:5], s[2:3]
  s_endpgm
.size typed, .-typed

kernel clean
  s_endpgm
.size clean, .-clean

.p2align 8
.type sparse,@function
sparse:
  v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10
  s_setpc_b64 s[30:31]
.size sparse, .-sparse

.p2align 8
.type harmless,@function
harmless:
  s_nop 0
  s_endpgm
.size harmless, .-harmless

.data
.p2align 3
.type table,@object
table:
  .quad sparse
.size table, .-table

.rodata
.macro descriptor name size
.p2align 6
.amdhsa_kernel \name
  .amdhsa_kernarg_size \size
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 16
  .amdhsa_next_free_sgpr 40
  .amdhsa_accum_offset 16
.end_amdhsa_kernel
.endm
descriptor behind_branch 0
descriptor behind_call 0
descriptor behind_table 0
descriptor after_call 0
descriptor undecodable 0
descriptor endless 0
descriptor typed 24
descriptor clean 0

.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - {.name: behind_branch, .symbol: behind_branch.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 40,
     .vgpr_count: 16, .agpr_count: 0, .max_flat_workgroup_size: 1024}
  - {.name: behind_call, .symbol: behind_call.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 40,
     .vgpr_count: 16, .agpr_count: 0, .max_flat_workgroup_size: 1024}
  - {.name: behind_table, .symbol: behind_table.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 40,
     .vgpr_count: 16, .agpr_count: 0, .max_flat_workgroup_size: 1024}
  - {.name: after_call, .symbol: after_call.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 40,
     .vgpr_count: 16, .agpr_count: 0, .max_flat_workgroup_size: 1024}
  - {.name: undecodable, .symbol: undecodable.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 40,
     .vgpr_count: 16, .agpr_count: 0, .max_flat_workgroup_size: 1024}
  - {.name: endless, .symbol: endless.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 40,
     .vgpr_count: 16, .agpr_count: 0, .max_flat_workgroup_size: 1024}
  - {.name: typed, .symbol: typed.kd, .kernarg_segment_size: 24, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 40,
     .vgpr_count: 16, .agpr_count: 0, .max_flat_workgroup_size: 256, .reqd_workgroup_size: [64, 1, 1], .args: [
       {.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global, .type_name: 'uint*'},
       {.name: single, .offset: 8, .size: 4, .value_kind: by_value, .type_name: float},
       {.name: whole, .offset: 12, .size: 4, .value_kind: by_value, .type_name: int},
       {.name: double, .offset: 16, .size: 8, .value_kind: by_value, .type_name: double}]}
  - {.name: clean, .symbol: clean.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 40,
     .vgpr_count: 16, .agpr_count: 0, .max_flat_workgroup_size: 1024}
.end_amdgpu_metadata
