// A kernel whose descriptor has something in every field that assembly can set for gfx942, arguments with all that
// metadata can say of them, data that refer to symbols of other objects, and a function without a size.
//
// descriptor.co: llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx942 --amdhsa-code-object-version=6 -filetype=obj
//     descriptor.s -o descriptor.o && ld.lld-22 -shared descriptor.o -o descriptor.co
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"

.text
.globl busy
.p2align 8
.type busy,@function
busy:
  s_endpgm
.size busy, .-busy
.p2align 8
.type helper,@function
helper:
  s_setpc_b64 s[30:31]

.data
.p2align 3
.globl table
.type table,@object
table:
  .quad elsewhere + 16
  .quad table + 8
  .quad maybe
.size table, .-table
.weak maybe

.rodata
.p2align 6
.amdhsa_kernel busy
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_private_segment_fixed_size 128
  .amdhsa_kernarg_size 72
  .amdhsa_accum_offset 40
  .amdhsa_tg_split 1
  .amdhsa_next_free_vgpr 100
  .amdhsa_next_free_sgpr 60
  .amdhsa_reserve_vcc 0
  .amdhsa_float_round_mode_32 1
  .amdhsa_float_round_mode_16_64 2
  .amdhsa_float_denorm_mode_32 1
  .amdhsa_float_denorm_mode_16_64 2
  .amdhsa_dx10_clamp 0
  .amdhsa_ieee_mode 0
  .amdhsa_fp16_overflow 1
  .amdhsa_enable_private_segment 1
  .amdhsa_system_sgpr_workgroup_id_x 0
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_sgpr_workgroup_id_z 1
  .amdhsa_system_sgpr_workgroup_info 1
  .amdhsa_system_vgpr_workitem_id 2
  .amdhsa_exception_fp_ieee_invalid_op 1
  .amdhsa_exception_fp_denorm_src 0
  .amdhsa_exception_fp_ieee_div_zero 1
  .amdhsa_exception_fp_ieee_overflow 0
  .amdhsa_exception_fp_ieee_underflow 1
  .amdhsa_exception_fp_ieee_inexact 0
  .amdhsa_exception_int_div_zero 1
  .amdhsa_user_sgpr_dispatch_ptr 1
  .amdhsa_user_sgpr_queue_ptr 0
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_dispatch_id 1
  .amdhsa_user_sgpr_private_segment_size 1
  .amdhsa_user_sgpr_kernarg_preload_length 5
  .amdhsa_user_sgpr_kernarg_preload_offset 2
  .amdhsa_uses_dynamic_stack 1
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: busy
    .symbol: busy.kd
    .kernarg_segment_size: 72
    .kernarg_segment_align: 16
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 128
    .uses_dynamic_stack: true
    .wavefront_size: 64
    .sgpr_count: 60
    .vgpr_count: 100
    .agpr_count: 60
    .max_flat_workgroup_size: 256
    .reqd_workgroup_size: [64, 2, 2]
    .uniform_work_group_size: 1
    .args:
      - {.name: out, .type_name: "float*", .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global,
         .actual_access: write_only, .is_restrict: true}
      - {.name: in, .type_name: "float*", .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: constant,
         .is_const: true, .is_volatile: true}
      - {.name: scratch, .offset: 16, .size: 4, .value_kind: dynamic_shared_pointer, .address_space: local,
         .pointee_align: 16}
      - {.name: picture, .offset: 24, .size: 8, .value_kind: image, .access: read_only}
      - {.offset: 32, .size: 4, .value_kind: hidden_block_count_x}
      - {.offset: 64, .size: 8, .value_kind: hidden_shared_base}
...
.end_amdgpu_metadata
