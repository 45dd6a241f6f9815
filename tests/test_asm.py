"""The reader of assembly: registers read and written, labels, comments, symbols, inline assembly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfma.asm import read
from mfma.asm.flow import blocks
from mfma.asm.registers import EXEC, Registers, listed


def _only(text):
    (instruction,) = read(text).instructions
    return instruction


#   text, registers read, registers written
INSTRUCTIONS = """
v_add_f32_e32 v1, v2, v3                                        | v[2:3]         | v1
v_mov_b32_e32 v1, 0x3f800000                                    |                | v1
v_add_f32_e64 v1, |v2|, -v3 clamp                               | v[2:3]         | v1
v_mov_b32_dpp v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf | v2         | v1
v_lshlrev_b64 v[4:5], 2, v[6:7]                                 | v[6:7]         | v[4:5]
v_mad_u64_u32 v[0:1], s[2:3], v4, v5, v[6:7]                    | v[4:7]         | v[0:1]
v_add_co_u32_e32 v0, vcc, s0, v1                                | v1             | v0
v_cmp_lt_i32_e32 vcc, v4, v5                                    | v[4:5]         |
v_cmp_lt_i32_e64 s[0:1], v4, v5                                 | v[4:5]         |
v_readfirstlane_b32 s0, v9                                      | v9             |
v_readlane_b32 s0, v9, 3                                        | v9             |
v_writelane_b32 v9, s0, 3                                       |                | v9
v_swap_b32 v1, v2                                               | v[1:2]         | v[1:2]
v_accvgpr_write_b32 a3, v1                                      | v1             | a3
v_accvgpr_read_b32 v1, a3                                       | a3             | v1
v_accvgpr_read_b32 v1, acc3                                     | a3             | v1
v_nop                                                           |                |
global_load_dwordx4 v[0:3], v[4:5], off offset:16               | v[4:5]         | v[0:3]
global_load_dword a0, v4, s[2:3]                                | v4             | a0
global_load_lds_dword v[4:5], off                               | v[4:5]         |
global_store_dwordx2 v[4:5], v[0:1], off                        | v[0:1], v[4:5] |
global_store_dwordx4 v0, a[0:3], s[0:1]                         | v0, a[0:3]     |
global_atomic_add v[0:1], v2, off                               | v[0:2]         |
global_atomic_add v3, v[0:1], v2, off sc0                       | v[0:2]         | v3
buffer_atomic_add v3, v2, s[4:7], 0 offen sc0                   | v[2:3]         | v3
buffer_atomic_add v3, v2, s[4:7], 0 offen                       | v[2:3]         |
flat_load_ubyte v0, v[2:3]                                      | v[2:3]         | v0
scratch_store_dword off, v1, s32 offset:4                       | v1             |
scratch_load_dwordx4 v[8:11], off, s33 offset:32                |                | v[8:11]
buffer_load_dwordx2 v[0:1], v2, s[4:7], 0 offen                 | v2             | v[0:1]
buffer_load_dword v2, s[4:7], 0 offen lds                       | v2             |
buffer_store_dword v0, v2, s[4:7], 0 offen                      | v0, v2         |
buffer_wbl2 sc1                                                 |                |
ds_read_b64 v[0:1], v2 offset:8                                 | v2             | v[0:1]
ds_read2st64_b64 v[0:3], v9 offset1:8                           | v9             | v[0:3]
ds_write_b32 v0, v1                                             | v[0:1]         |
ds_write2_b64 v0, v[2:3], v[4:5] offset1:1                      | v0, v[2:5]     |
ds_add_u32 v0, v1                                               | v[0:1]         |
ds_add_rtn_u32 v2, v0, v1                                       | v[0:1]         | v2
ds_bpermute_b32 v2, v0, v1                                      | v[0:1]         | v2
ds_swizzle_b32 v2, v0 offset:swizzle(BITMASK_PERM, "00p11")     | v0             | v2
s_add_u32 s0, s1, s2                                            |                |
s_waitcnt vmcnt(0) & lgkmcnt(0)                                 |                |
v_mov_b32 v[4], v[2+3]                                          | v5             | v4
v_mov_b64 [v2,v3], v[4:5]                                       | v[4:5]         | v[2:3]
v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], a[6:7], v[8:11] cbsz:1 | v[4:5], v[8:11], a[6:7] | v[0:3]
v_mfma_f32_4x4x4f16 a[0:3], v[4:5], v[6:7], 1.0                 | v[4:7]         | a[0:3]
v_mfma_f64_4x4x4_4b_f64 v[0:1], v[2:3], v[4:5], v[6:7] neg:[1,0,0] | v[2:7]      | v[0:1]
v_mfma_f32_4x4x1_16b_f32 [v0,v1,v2,v3], v4, v5, 0               | v[4:5]         | v[0:3]
v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[8:11], v12          | v[0:5], v[8:12] | v[0:3]
"""
ROWS = [tuple(cell.strip() for cell in row.rsplit("|", 2)) for row in INSTRUCTIONS.strip().split("\n")]


@pytest.mark.parametrize(("text", "reads", "writes"), ROWS)
def test_registers(text, reads, writes):
    instruction = _only(text)
    assert listed(instruction.reads) == reads
    assert listed(instruction.writes) == writes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v_cmpx_lt_i32_e32 vcc, v0, v1", True),
        ("v_cmpx_lt_i32_e64 s[0:1], v0, v1", True),
        ("v_cmp_lt_i32_e64 exec, v0, v1", True),
        ("v_cmp_lt_i32_e32 vcc, v0, v1", False),
        ("v_mov_b32 v0, exec_lo", False),
        ("s_mov_b64 exec, -1", False),
    ],
)
def test_valu_writes_of_exec(text, expected):
    assert bool(_only(text).writes & EXEC) == expected


@given(st.integers(0, 255), st.integers(1, 32), st.sampled_from("va"))
def test_a_tuple_is_listed_as_it_was_written(first, count, file):
    first = min(first, 256 - count)
    text = f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"
    registers = Registers()
    assert registers[text].bit_count() == count
    assert listed(registers[text]) == text


def test_labels_comments_and_positions():
    program = read(
        "/* a comment v_add_f32 v0, v1, v2\n still */ s_nop 3 // s_nop 9\n"
        ".LBB0_1:  ; %bb.1\n\tfirst: second: v_nop ; v_mov_b32 v9, v9\n\n"
        "0000000000001900 <third>:\n<L0>:\n  s_endpgm // 0"
    )
    assert [(i.line, program.column(i), i.mnemonic) for i in program.instructions] == [
        (2, 11, "s_nop"),
        (4, 17, "v_nop"),
        (8, 3, "s_endpgm"),
    ]
    assert program.instructions[0].states == 4
    assert program.labels == {".LBB0_1": 1, "first": 1, "second": 1, "third": 2, "L0": 2}
    assert not program.notes


def test_what_is_not_code_is_skipped():
    program = read(
        '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n.type f,@function\n# 1 "f.s"\n'
        ".amdgpu_metadata\n---\namdhsa.kernels:\n  - .args:\n      - v_nop\n...\n.end_amdgpu_metadata\n"
    )
    assert not program.instructions
    assert not program.labels
    assert not program.notes


def test_symbols():
    program = read(
        ".set base, 4\nlast = base + 3\nv_mov_b32 v0, v[base]\nglobal_store_dwordx4 v[0:1], v[base:last], off\n"
        ".set base, 2*(3+1)\nv_mov_b32 v0, v[base]\ns_nop base-1\nv_mov_b32 v0, v[unknown+1]\n"
    )
    assert [listed(i.reads) for i in program.instructions[:3]] == ["v4", "v[0:1], v[4:7]", "v8"]
    assert program.instructions[3].states == 8
    assert list(program.registers.unknown) == ["v[unknown+1]"]


def test_what_cannot_be_read_is_noted():
    program = read(".macro twice x\nv_nop\n.endm\ntwice 3\ns_nop 16\n.if 1\ns_branch nowhere\ns_setpc_b64 s[0:1]\n")
    blocks(program)
    expanded = "is not followed: assemble the text and lint the disassembly, or lint the expanded text."
    assert [str(note) for note in program.notes.values()] == [
        f"1: note: not-followed: .macro {expanded}",
        "4: note: not-read: twice is no instruction, label or directive that is known here; it counts as no wait "
        "state.",
        "5: note: not-read: '16' is not 0 to 15; the s_nop counts as one wait state.",
        f"6: note: not-followed: .if {expanded}",
        "7: note: not-followed: no label nowhere in this text.",
        "8: note: not-followed: s_setpc_b64 goes to a computed address.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "v_mfma_f32_4x4x1f32 %0, %1, %2, %0\ns_nop 3",
        r"v_mfma_f32_4x4x1f32 %0, %1, %2, %0\n\ts_nop 3\n",
        '"v_mfma_f32_4x4x1f32 %0, %1, %2, %0\\n\\t"\n"s_nop 3"\n',
        "v_mfma_f32_4x4x1f32 $0, $1, $2, $0\ns_nop 3",
        "v_mfma_f32_4x4x1f32 %[d], %[a], %[b], %[d]\ns_nop 3",
    ],
)
def test_inline_assembly(text):
    program = read(text)
    matrix, nop = program.instructions
    assert (matrix.mnemonic, nop.states) == ("v_mfma_f32_4x4x1f32", 4)
    assert matrix.d == matrix.c
    assert matrix.d.bit_count() == 1
    assert matrix.ab.bit_count() == 2
    assert not matrix.d & matrix.ab
    assert len(program.registers.unknown) == 3


def test_blocks_and_branches():
    program = read(
        "s_cbranch_scc1 1f\nv_nop\n1: v_nop\ns_cbranch_vccnz 1b\ns_call_b64 s[0:1], out\ns_branch end\nout: v_nop\n"
        "s_setpc_b64 s[0:1]\nend: v_nop"
    )
    graph = [(b.start, b.end, b.next, b.falls_off) for b in blocks(program)]
    assert graph == [
        (0, 1, (2, 1), False),
        (1, 2, (2,), False),
        (2, 4, (2, 3), False),
        (4, 5, (5, 4), False),
        (5, 6, (6,), False),
        (6, 8, (), False),
        (8, 9, (), True),
    ]
