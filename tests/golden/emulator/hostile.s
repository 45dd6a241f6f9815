; Kernels that do what no kernel may, and some that may look so. One entry, `hostile`; its argument `where` is the
; distance from `base` to the case that runs. Assembled and linked by LLVM 22.1.8:
;   llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj -g -fdebug-compilation-dir=. hostile.s -o hostile.o
;   ld.lld-22 -shared hostile.o -o hostile.co
; `out` is 64 dwords in the tests, LDS has 256 bytes and scratch 64 bytes for each lane.

  .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
  .amdhsa_code_object_version 6
  .text
  .globl hostile
  .p2align 8
  .type hostile,@function
hostile:                                  ; s[0:1] arguments, s2 work-group; then:
  s_load_dwordx8 s[8:15], s[0:1], 0x0     ; s[8:9] out, s[10:11] in, s12 where, s13 number, s[14:15] address
  v_and_b32 v1, 0x3ff, v0                 ; v1 work-item
  v_lshlrev_b32 v2, 2, v1                 ; v2 its dword in `out`
  v_readfirstlane_b32 s3, v1              ; s3 first work-item of the wave
  v_mov_b32 v3, 0
  v_mov_b32 v4, 7
  s_waitcnt lgkmcnt(0)
  s_getpc_b64 s[4:5]
base:
  s_add_u32 s4, s4, s12
  s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]

  .macro case name
  .type \name,@function
\name:
  .endm

case store_below                          ; lane 0 only
  global_store_dword v2, v4, s[8:9] offset:-4
  s_endpgm
case store_above                          ; lane 63 only
  global_store_dword v2, v4, s[8:9] offset:4
  s_endpgm
case load_between
  global_load_dword v5, v2, s[8:9] offset:1024
  s_endpgm
case load_across                          ; the last two bytes of `out` and two behind
  global_load_dword v5, v3, s[8:9] offset:254
  s_endpgm
case load_at                              ; address + 16, which wraps
  v_mov_b32 v6, s14
  v_mov_b32 v7, s15
  global_load_dwordx4 v[8:11], v[6:7], off offset:16
  s_endpgm
case store_at
  v_mov_b32 v6, s14
  v_mov_b32 v7, s15
  flat_store_dwordx2 v[6:7], v[8:9]
  s_endpgm
case atomic_misaligned
  global_atomic_add v2, v4, s[8:9] offset:2
  s_endpgm
case ds_atomic_misaligned
  v_mov_b32 v6, 6
  ds_add_u64 v6, v[8:9]
  s_endpgm
case buffer_atomic_misaligned
  s_mov_b64 s[16:17], s[8:9]
  s_mov_b32 s18, -1
  s_mov_b32 s19, 0x27000
  buffer_atomic_add v4, v2, s[16:19], 0 offen offset:1
  s_endpgm
case lds_past                             ; byte 253 + 4 of 256
  v_mov_b32 v6, 0xfd
  ds_read_b32 v5, v6
  s_endpgm
case lds_far
  ds_write_b32 v3, v4 offset:65532
  s_endpgm
case lds_wraps                            ; -4 + 8 is 4
  v_mov_b32 v6, -4
  ds_write_b32 v6, v4 offset:8
  ds_read_b32 v5, v3 offset:4
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v5, s[8:9]
  s_endpgm
case lds_second                           ; the first place is good
  ds_write2_b32 v3, v4, v4 offset0:1 offset1:64
  s_endpgm
case scratch_past
  scratch_store_dword off, v4, off offset:61
  s_endpgm
case scratch_below
  scratch_load_dword v5, off, off offset:-4
  s_endpgm
case flat_lds                             ; 256 bytes behind the base of the aperture
  s_mov_b64 s[16:17], src_shared_base
  v_mov_b32 v6, 0x100
  v_mov_b32 v7, s17
  flat_load_dword v5, v[6:7]
  s_endpgm
case flat_scratch
  s_mov_b64 s[16:17], src_private_base
  v_mov_b32 v6, 0x40
  v_mov_b32 v7, s17
  flat_store_dword v[6:7], v4
  s_endpgm
case flat_atomic
  s_mov_b64 s[16:17], src_shared_base
  v_mov_b32 v6, 2
  v_mov_b32 v7, s17
  flat_atomic_add v[6:7], v4
  s_endpgm
case scalar_past
  s_load_dwordx2 s[16:17], s[8:9], 0xfc
  s_endpgm
case scalar_store
  s_load_dword s16, s[14:15], 0x0
  s_endpgm
case buffer_records                       ; as many records as a resource can name
  s_mov_b64 s[16:17], s[8:9]
  s_mov_b32 s18, -1
  s_mov_b32 s19, 0x27000
  v_mov_b32 v6, 0x7ffff000
  buffer_load_dword v5, v6, s[16:19], 0 offen
  s_endpgm
case buffer_base
  s_mov_b32 s16, 0x56789000
  s_mov_b32 s17, 0x1234
  s_mov_b32 s18, -1
  s_mov_b32 s19, 0x27000
  buffer_load_dword v5, off, s[16:19], 0
  s_endpgm
case buffer_partly                        ; the first dword is the last of `out`
  s_mov_b64 s[16:17], s[8:9]
  s_mov_b32 s18, -1
  s_mov_b32 s19, 0x27000
  v_mov_b32 v8, v4
  buffer_store_dwordx4 v[8:11], off, s[16:19], 0 offset:252
  s_endpgm
case to_lds
  s_movk_i32 m0, 0x4
  global_load_lds_dword v2, s[8:9]
  s_endpgm
case write_code
  s_getpc_b64 s[16:17]
  global_store_dword v3, v4, s[16:17]
  s_endpgm
case write_arguments
  global_store_dword v3, v4, s[0:1]
  s_endpgm
case write_in
  global_store_dword v2, v4, s[10:11]
  s_endpgm
case jump
  s_setpc_b64 s[14:15]
case endless
  s_branch endless
case endless_sleep
  s_sleep 1
  s_branch endless_sleep
case endless_barrier
  s_barrier
  s_branch endless_barrier
case recursion                            ; every call keeps its return address in scratch
  s_mov_b32 s32, 0
deeper:
  v_mov_b32 v6, s30
  scratch_store_dword off, v6, s32
  s_add_u32 s32, s32, 4
  s_getpc_b64 s[16:17]
  s_add_u32 s16, s16, deeper-.
  s_addc_u32 s17, s17, -1
  s_swappc_b64 s[30:31], s[16:17]
  s_endpgm
case calls                                ; and one that keeps nothing
  s_getpc_b64 s[16:17]
  s_add_u32 s16, s16, calls-.
  s_addc_u32 s17, s17, -1
  s_swappc_b64 s[30:31], s[16:17]
  s_endpgm
case one_ends                             ; wave 1 never comes to the barrier
  s_cmp_eq_u32 s3, 64
  s_cbranch_scc1 gone
  s_barrier
  global_store_dword v2, v4, s[8:9]
gone:
  s_endpgm
case one_spins
  s_cmp_eq_u32 s3, 64
  s_cbranch_scc1 endless
  s_barrier
  s_endpgm
case trap
  s_trap 2
  s_endpgm
case halt
  s_sethalt 1
  s_endpgm
case breakpoint
  s_trap 3
  global_store_dword v2, v4, s[8:9]
  s_endpgm
case saved
  global_store_dword v2, v4, s[8:9]
  s_endpgm_saved
case illegal                              ; where the check before the launch does not look
  s_getpc_b64 s[16:17]
  s_add_u32 s16, s16, illegal_word-.
  s_addc_u32 s17, s17, 0
  s_setpc_b64 s[16:17]
illegal_word:
  .long 0xffffffff
case index_source                         ; v250 + number
  s_set_gpr_idx_on s13, 1
  v_mov_b32 v5, v250
  s_endpgm
case index_destination
  s_set_gpr_idx_on s13, 8
  v_mov_b32 v250, v4
  s_endpgm
case index_good                           ; v5 + 255 is no register, v0 + 4 is v4
  s_set_gpr_idx_on s13, 1
  v_mov_b32 v5, v0
  s_set_gpr_idx_off
  global_store_dword v2, v5, s[8:9]
  s_endpgm
case rounding
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
  s_endpgm
case modes                                ; writes numbers to bits of MODE that change nothing
  s_setreg_b32 hwreg(HW_REG_MODE, 10, 13), s13
  s_sub_u32 s13, s13, 1
  s_cmp_lg_u32 s13, 0
  s_cbranch_scc1 modes
  s_endpgm
case chain                                ; work-group i waits for work-group i + 1; the last is `number`
  s_lshl_b32 s16, s2, 2
  v_mov_b32 v6, s16
  s_cmp_eq_u32 s2, s13
  s_cbranch_scc1 linked
waiting:
  global_load_dword v5, v6, s[8:9] offset:4 sc0 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s17, v5
  s_cmp_eq_u32 s17, 0
  s_cbranch_scc1 waiting
linked:
  global_store_dword v6, v4, s[8:9]
  s_endpgm
case chain_barrier                        ; the same with a barrier in the loop
  s_lshl_b32 s16, s2, 2
  v_mov_b32 v6, s16
  s_cmp_eq_u32 s2, s13
  s_cbranch_scc1 linked
waiting_together:
  s_barrier
  global_load_dword v5, v6, s[8:9] offset:4 sc0 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s17, v5
  s_barrier
  s_cmp_eq_u32 s17, 0
  s_cbranch_scc1 waiting_together
  s_branch linked
case float_sum                            ; a dword for each work-item of a work-group
  global_atomic_add_f32 v2, v4, s[8:9]
  s_endpgm
case float_sum_one                        ; one dword for all
  global_atomic_add_f32 v3, v4, s[8:9]
  s_endpgm
case float_sum_lds
  ds_add_f32 v2, v4
  s_endpgm
case float_sum_scratch
  s_mov_b64 s[16:17], src_private_base
  v_mov_b32 v7, s17
  v_mov_b32 v6, 0
  flat_atomic_add_f32 v[6:7], v4
  flat_atomic_add_f32 v[6:7], v4
  s_endpgm
case straddle                             ; the second dword of a load would be behind the code
  s_getpc_b64 s[16:17]
  s_add_u32 s16, s16, first_half-.
  s_addc_u32 s17, s17, 0
  s_setpc_b64 s[16:17]
first_half:
  .long 0xdc508000
  .size straddle, .-straddle

  .rodata
  .p2align 6
  .amdhsa_kernel hostile
    .amdhsa_next_free_vgpr 16
    .amdhsa_next_free_sgpr 40
    .amdhsa_accum_offset 16
    .amdhsa_group_segment_fixed_size 256
    .amdhsa_private_segment_fixed_size 64
    .amdhsa_enable_private_segment 1
    .amdhsa_kernarg_size 32
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_system_sgpr_workgroup_id_x 1
  .end_amdhsa_kernel

  .amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: hostile
    .symbol: hostile.kd
    .kernarg_segment_size: 32
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 256
    .private_segment_fixed_size: 64
    .wavefront_size: 64
    .sgpr_count: 48
    .vgpr_count: 16
    .max_flat_workgroup_size: 1024
    .args:
      - {.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: in, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: where, .offset: 16, .size: 4, .value_kind: by_value}
      - {.name: number, .offset: 20, .size: 4, .value_kind: by_value}
      - {.name: address, .offset: 24, .size: 8, .value_kind: by_value}
  .end_amdgpu_metadata
