"""The lint: every rule at its exact distance, along every path; compilers' output clean, and every gap in it found."""

import csv
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from mfma.asm import lint
from mfma.asm.rules import RULES
from mfma.cli.lint import hazards as hazards_command
from mfma.cli.lint import lint as lint_command
from mfma.encoding import Vgprs
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.timing.hazards import First, Operand, Second, required

GOLDEN = Path(__file__).parent / "golden"


def _matrix(op, d=0, a=96, b=108, c=64, acc=False):
    """Write an instruction; ``c`` is the index of a sparse one, None the constant 0."""
    registers = op.registers
    width = registers.cd.vgprs
    addend = "0" if c is None else f"v{c}" if op.sparse else Vgprs(c, width, acc)
    return (
        f"{op.mnemonic} {Vgprs(d, width, acc)}, {Vgprs(a, registers.a.vgprs)}, {Vgprs(b, registers.b.vgprs)}, {addend}"
    )


def _found(text):
    return [(finding.line, finding.rule, finding.missing) for finding in lint(text).findings]


SECONDS = {
    Second.VALU_READ: ["v_add_f32 v200, v{d}, v201", "v_readfirstlane_b32 s0, v{d}", "v_cmp_lt_f32 vcc, v{d}, v201"],
    Second.VALU_WRITE: ["v_mov_b32 v{d}, 0", "v_fmac_f32 v{d}, v201, v202"],
    Second.STORE: [
        "global_store_dword v[202:203], v{d}, off",
        "ds_write_b32 v{d}, v204",
        "buffer_store_dword v204, v{d}, s[0:3], 0 offen",
        "scratch_store_dword off, v{d}, s0",
        "flat_atomic_add v[202:203], v{d}",
    ],
    Second.LOAD: [
        "global_load_dword v{d}, v[202:203], off",
        "ds_read_b32 v{d}, v204",
        "flat_atomic_add v{d}, v[202:203], v204 sc0",
    ],
    Second.WRITE_C: ["v_mov_b32 v64, 0", "ds_read_b32 v64, v204"],
    Second.WRITE_AB: ["v_mov_b32 v96, 0", "v_mov_b32 v108, 0"],
    Second.FMA_F64: ["v_fma_f64 v[210:211], v[212:213], v[214:215], 1.0", "v_fmac_f64_e32 v[210:211], v[4:5], v[6:7]"],
}
FIRSTS = {
    First.VALU_WRITE: ["v_mov_b32 v96, 0", "v_mov_b32 v108, 0", "v_mov_b32 v64, 0"],
    First.VALU_EXEC: ["v_cmpx_lt_f32 vcc, v200, v201", "v_cmp_lt_f32_e64 exec, v200, v201"],
    First.DOT_WRITE: ["v_dot4_i32_i8 v96, v200, v201, v202"],
    First.SALU_EXEC: ["s_mov_b64 exec, -1"],
}

FILLERS = ["v_add_u32 v220, v221, v222", "s_mov_b32 s9, 0", "global_load_dword v223, v[224:225], off", "s_waitcnt 0"]
"""Instructions that have nothing to do with any other here."""


def _between(states, filler):
    if filler == "s_nop":
        return [f"s_nop {min(16, states - done) - 1}" for done in range(0, states, 16)]
    return [filler] * states


def _check(first, second, needed, rule, filler):
    for states in {0, max(needed - 1, 0), needed, needed + 1}:
        lines = [first, *_between(states, filler), second]
        expected = [(len(lines), rule, needed - states)] if states < needed else []
        assert _found("\n".join(lines)) == expected, lines


BY_NAME = {op.name: op for op in DENSE}


@pytest.mark.parametrize(
    ("op", "filler"),
    [
        *((op, "s_nop") for op in DENSE + SPARSE),
        *((BY_NAME["f32_32x32x4f16"], filler) for filler in FILLERS),
        *((BY_NAME["f64_16x16x4f64"], filler) for filler in FILLERS),
    ],
    ids=str,
)
def test_every_rule_at_its_distance(op, filler):
    first = _matrix(op)
    for second, texts in SECONDS.items():
        if op.sparse and second is Second.WRITE_C:
            continue  # its C is D
        needed = required(op, second).states
        for text in texts:
            if "v[4:5]" in text and op.registers.cd.vgprs > 4:
                continue  # would read D
            _check(first, text.format(d=op.registers.cd.vgprs - 1), needed, RULES.get(second), filler)
    for before, texts in FIRSTS.items():
        needed = required(before, op).states
        for text in texts:
            _check(text, first, needed, RULES.get(before), filler)


OTHERS = [
    *("f32_4x4x4f16", "f32_16x16x8_xf32", "f32_32x32x8f16", "i32_32x32x4i8", "f32_4x4x1f32", "f32_32x32x2f32"),
    *("f64_16x16x4f64", "f64_4x4x4f64"),
]


@pytest.mark.parametrize("op", DENSE + SPARSE, ids=str)
@pytest.mark.parametrize("other", [*(BY_NAME[name] for name in OTHERS), SPARSE[0]], ids=str)
def test_matrix_instructions_after_one_another(op, other):
    first = _matrix(op, c=None if not op.sparse else 64)
    as_a = _matrix(other, d=128, a=0, c=160)
    as_b = _matrix(other, d=128, b=0, c=160)
    for second in (as_a, as_b):
        _check(first, second, required(op, other, Operand.AB).states, RULES[Operand.AB], "s_nop")
    widths = op.registers.cd.vgprs, other.registers.cd.vgprs
    if other.sparse:
        as_index = _matrix(other, d=128, c=0)
        _check(first, as_index, required(op, other, Operand.AB).states, RULES[Operand.AB], "s_nop")
    else:
        offset = 2 if widths[0] == widths[1] else 0
        if widths != (2, 2):
            part = _matrix(other, d=128, c=offset)
            _check(first, part, required(op, other, Operand.C_PART).states, RULES[Operand.C_PART], "s_nop")
        _check(first, _matrix(other, d=128, c=160), 0, None, "s_nop")  # independent
    if widths[0] == widths[1]:
        same = _matrix(other, d=0, c=160 if other.sparse else 0)
        _check(first, same, required(op, other, Operand.C_SAME).states, RULES[Operand.C_SAME], "s_nop")


def test_golden_stores():
    """The numbers of the golden table itself, through the whole lint."""
    with (GOLDEN / "hazards" / "hazards_gfx942.tsv").open() as file:
        for row in csv.reader(file, delimiter="\t"):
            if row[0] != "builtin":
                text = f"{_matrix(BY_NAME[row[0]])}\nglobal_store_dword v[202:203], v1, off"
                assert _found(text) == [(2, "store-reads-result", int(row[3]))]


HALF = "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Around the end of a loop: the last instruction of the body, and the first.
        (f"top: v_mul_f32 v0, v0, v9\ns_nop 1\n{HALF}\ns_cbranch_scc1 top\n", [(1, 6)]),
        # The wait stands behind the loop only.
        (f"s_nop 7\ntop: v_exp_f32 v10, v1\ns_nop 3\n{HALF}\ns_cbranch_scc1 top\ns_nop 6\nv_mov_b32 v0, 0", [(2, 6)]),
        # Only one arm waits.
        (f"{HALF}\ns_cbranch_scc1 b\ns_nop 4\ns_branch c\nb: s_nop 3\nc: v_mov_b32 v8, v0", [(6, 2)]),
        (f"{HALF}\ns_cbranch_scc1 b\ns_nop 3\ns_branch c\nb: s_nop 5\nc: v_mov_b32 v8, v0", [(6, 1)]),
        (f"{HALF}\ns_cbranch_scc1 b\ns_nop 4\ns_branch c\nb: s_nop 5\nc: v_mov_b32 v8, v0", []),
        # The shorter way round a block that waits long enough.
        (f"{HALF}\ns_cbranch_scc0 c\ns_nop 15\nc: v_mov_b32 v8, v0", [(4, 6)]),
        # Through several short blocks, and through a loop that adds wait states.
        (f"{HALF}\ns_branch a\na: s_branch b\nb: s_branch c\nc: v_mov_b32 v8, v0", [(5, 4)]),
        (f"{HALF}\ntop: s_cbranch_scc1 top\nv_mov_b32 v8, v0", [(3, 6)]),
        # Not behind an unconditional branch, nor the end of a program.
        (f"{HALF}\ns_branch end\nv_mov_b32 v8, v0\nend: s_endpgm\nv_mov_b32 v8, v0", []),
        # Both VALU write and v_cmpx before the branch.
        (f"s_cbranch_scc1 b\nv_mov_b32 v4, 0\nb: {HALF}", [(3, 2)]),
        (f"v_cmpx_eq_u32 vcc, v20, v21\ns_cbranch_scc1 b\nb: {HALF}", [(3, 3)]),
        # Into a subroutine, and on behind it.
        (
            f"{HALF}\ns_call_b64 s[0:1], f\nv_mov_b32 v8, v0\ns_endpgm\nf: v_mov_b32 v9, v1\ns_setpc_b64 s[0:1]",
            [(3, 6), (5, 6)],
        ),
    ],
)
def test_paths(text, expected):
    assert [(finding.line, finding.missing) for finding in lint(text).findings] == expected


@given(st.lists(st.integers(0, 11), min_size=2, max_size=5), st.integers(0, 4), st.data())
def test_the_shortest_of_many_arms_counts(waits, before, data):
    arms = "\n".join(f"arm{n}: s_nop {wait}\ns_branch end" for n, wait in enumerate(waits))
    jumps = "\n".join(f"s_cbranch_scc1 arm{n}" for n in range(len(waits)))
    text = f"{HALF}\n" + "v_nop\n" * before + f"{jumps}\ns_branch end2\n{arms}\nend: v_mov_b32 v8, v0\nend2: s_endpgm"
    shortest = min(before + n + 1 + wait + 1 + 1 for n, wait in enumerate(waits))
    missing = [finding.missing for finding in lint(text).findings]
    assert missing == ([7 - shortest] if shortest < 7 else [])


def test_what_overwrites_d_counts_for_itself():
    slow = "v_mfma_f32_32x32x4_2b_f16 v[0:31], v[40:41], v[42:43], 0"
    quick = "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[40:41], v[42:43], 0"
    assert _found(f"{slow}\n{quick}\ns_nop 4\nv_mov_b32 v50, v0") == []
    assert _found(f"{slow}\n{quick}\ns_nop 4\nv_mov_b32 v50, v4") == [(4, "valu-reads-result", 13)]


ALONE = [
    ("v_mfma_f32_4x4x1_16b_f32 v[1:4], v8, v9, 0", "misaligned-tuple"),
    ("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[5:6], v[8:9], 0", "misaligned-tuple"),
    ("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[6:7], a[9:10], 0", "misaligned-tuple"),
    ("v_mfma_f32_4x4x4_16b_f16 %0, v[5:6], %1, %0", "misaligned-tuple"),
    ("v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[42:43], v[2:17]", "partial-overlap"),
    ("v_mfma_f64_16x16x4_f64 a[0:7], v[40:41], v[42:43], a[4:11]", "partial-overlap"),
    ("v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[42:43], a[0:15]", "register-files"),
    ("v_mfma_f32_32x32x8_f16 a[0:15], v[40:41], v[42:43], v[16:31]", "register-files"),
    ("v_mfma_f32_32x32x8_f16 v[0:15], v[40:43], v[44:45], 0", "operand-width"),
    ("v_mfma_f32_32x32x8_f16 v[0:15], v40, v[44:45], 0", "operand-width"),
    ("v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[44:45], 3.0", "refused"),
    ("v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[44:45]", "refused"),
    ("v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[44:45], 0 neg:[1,0,0]", "refused"),
    ("v_mfma_f64_4x4x4_4b_f64 v[0:1], v[2:3], v[4:5], 0 blgp:1", "refused"),
    ("v_mfma_f32_32x32x4_2b_f16 v[0:31], v[40:41], v[44:45], 0 cbsz:2", "illegal-modifier"),
    ("v_mfma_f32_32x32x4_2b_f16 v[0:31], v[40:41], v[44:45], 0 cbsz:1 abid:2", "illegal-modifier"),
    ("v_mfma_f32_32x32x4_2b_f16 v[0:31], v[40:41], v[44:45], 0 abid:1", "ignored-modifier"),
    ("v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[44:45], 0 cbsz:1", "ignored-modifier"),
    ("v_mfma_f32_16x16x8_xf32 v[0:3], v[40:41], v[44:45], 0 blgp:1", "ignored-modifier"),
    ("v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[44:45], 0 blgp:1", "illegal-modifier"),
    ("v_mfma_f64_4x4x4_4b_f64 v[0:1], v[2:3], v[4:5], 0 cbsz:1", "ignored-modifier"),
    ("v_mfma_f32_32x32x4_2b_f16 %0, %1, %2, %0 cbsz:2", "illegal-modifier"),
    ("v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], 0", "unknown-instruction"),
    ("v_mfma_i32_32x32x8i8 v[0:15], v40, v41, 0", "unknown-instruction"),
]


@pytest.mark.parametrize(("text", "rule"), ALONE)
def test_an_instruction_that_is_wrong_by_itself(text, rule):
    (finding,) = lint(f"s_nop 1\n  {text}").findings
    assert (finding.line, finding.column, finding.rule) == (2, 3, rule)
    assert finding.missing is None
    assert finding.reason[-1] in ".?"
    assert finding.source


@pytest.mark.parametrize(
    "text",
    [
        "v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[44:45], v[0:15]",
        "v_mfma_f32_32x32x8_f16 a[0:15], v[40:41], a[44:45], a[16:31]",
        "v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[44:45], -4.0",
        "v_mfma_f32_32x32x4_2b_f16 v[0:31], v[40:41], v[44:45], 0 cbsz:1 abid:1 blgp:7",
        "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[2:3], v[4:5], 0 neg:[1,0,1]",
        "v_mfma_f32_4x4x1f32 [v0,v1,v2,v3], v8, v9, 1",
        "v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[8:11], v13",
        "v_mfma_f32_4x4x1f32 %0, %1, %2, %0 cbsz:4 abid:15",
    ],
)
def test_an_instruction_that_is_right_by_itself(text):
    assert lint(text).findings == ()


def test_nothing():
    for text in ("", "\n", "; a comment\n"):
        report = lint(text)
        assert (report.findings, report.notes, report.instructions) == ((), (), 0)


def test_several_faults_of_one_instruction():
    text = "v_mfma_f32_32x32x4_2b_f16 v[1:32], v[40:42], v[44:45], a[0:31] cbsz:3 abid:9"
    assert sorted(finding.rule for finding in lint(text).findings) == [
        "illegal-modifier",
        "illegal-modifier",
        "misaligned-tuple",
        "operand-width",
        "register-files",
    ]


def test_notes():
    chained = f"{HALF}\nv_mfma_f32_16x16x4_f32 v[0:3], v8, v9, v[0:3]"
    report = lint(chained)
    assert report.findings == ()
    assert [note.rule for note in report.notes] == ["mfma-adds-result"]
    assert "218363" in report.notes[0].reason
    assert lint(f"{HALF}\n{HALF}").notes == ()
    assert [note.rule for note in lint("v_mfma_f32_16x16x4_f32 v[0:3], v8, v9, v[2:5]").notes] == ["may-overlap"]
    sparse = "v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[8:11], v13 abid:1"
    assert [note.rule for note in lint(sparse).notes] == ["may-modifier"]


def test_inline_assembly_says_what_it_cannot_know():
    report = lint("v_mfma_f32_16x16x16_f16 %0, %1, %2, %0\ns_nop 1")
    assert report.findings == ()
    assert {note.rule: note.line for note in report.notes} == {"unknown-registers": 1, "open-start": 1, "open-end": 1}
    end = next(note for note in report.notes if note.rule == "open-end")
    assert "needs 7 before" in end.reason
    assert "2 stand behind it" in end.reason
    waited = lint("s_nop 1\nv_mfma_f32_16x16x16_f16 %0, %1, %2, %0\ns_nop 6")
    assert [note.rule for note in waited.notes] == ["unknown-registers"]
    inside = "v_mfma_f32_16x16x16_f16 %0, %1, %2, %0\nglobal_store_dwordx4 %3, %0, off"
    assert _found(inside) == [(2, "store-reads-result", 7)]


def test_the_command(tmp_path):
    bad, good = tmp_path / "bad.s", tmp_path / "good.s"
    bad.write_text(f"{HALF}\nv_mov_b32 v8, v0\n")
    good.write_text(f"{HALF}\ns_nop 6\nv_mov_b32 v8, v0\n")
    run = CliRunner().invoke
    result = run(lint_command, [str(bad)])
    assert result.exit_code == 1
    assert result.output.startswith(f"{bad}:2:1: valu-reads-result: v0 is in D of v_mfma_f32_16x16x16_f16 on line 1")
    assert "write s_nop 6 before it" in result.output
    assert run(lint_command, [str(good)]).exit_code == 0
    result = run(lint_command, ["-", "--json"], input=bad.read_text())
    report = json.loads(result.output)
    assert result.exit_code == 1
    assert [(f["line"], f["missing"], f["needed"], f["first_line"]) for f in report["findings"]] == [(2, 7, 7, 1)]
    for text, message in ((b"\x7fELF\0", "is a binary file"), (b"; nothing\n", "has no instruction")):
        result = run(lint_command, ["-"], input=text)
        assert result.exit_code == 2
        assert message in result.output


def test_the_table_as_a_command():
    run = CliRunner().invoke
    result = run(hazards_command, ["f32_16x16x16f16", "--then", "store", "--json"])
    assert [row["wait_states"] for row in json.loads(result.output)] == [7]
    result = run(hazards_command, ["f32_16x16x16f16"])
    assert result.exit_code == 0
    assert "s_nop 6" in result.output
    result = run(hazards_command, ["f32_16x16x16f16", "--then", "v_mfma_f32_16x16x4_f32"])
    assert "5 instead of 0" in " ".join(result.output.split())
    error = run(hazards_command, ["f32_16x16x16f16", "--then", "branch"]).exception
    assert str(error).startswith("--then takes valu, store, load, fma_f64 or an instruction: gfx942 has no instruction")


# What follows lints the output of real compilers.

KERNELS = GOLDEN / "asm" / "kernels.hip"
LLVM_MISSES = "missed_after_join"
"""A kernel with a shortage that clang 22.1.8 really leaves."""
LEVELS = ["-O0", "-O1", "-O2", "-O3"]
PLAIN = re.compile(r"(v|a)(?:(\d+)\b|\[(\d+):(\d+)\])")


def _absent(what):
    pytest.fail(what) if os.environ.get("CI") else pytest.skip(what)


@pytest.fixture(scope="module")
def clang():
    found = shutil.which("clang-22")
    if found is None:
        _absent("clang-22 is not installed (Debian: clang-22)")

    def compiled(level):
        flags = "-x hip --offload-arch=gfx942 --offload-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -S -o -"
        command = [found, *flags.split(), level, str(KERNELS)]
        return _functions(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    return compiled


def _functions(text):
    """Cut a compiler's output into its functions."""
    starts = re.compile(r"^(\w+):\s.*?(?=^\.Lfunc_end\d+:)", re.MULTILINE | re.DOTALL)
    return {match[1]: match[0] for match in starts.finditer(text)}


def _registers(text):
    found = set()
    for file, one, first, last in PLAIN.findall(text):
        numbers = [int(one)] if one else range(int(first), int(last) + 1)
        found |= {(file, number) for number in numbers}
    return found


def _shortage(lines, place):
    """Say how many wait states the instruction at ``place`` lacks, as far as the same block tells.

    A second, naive reading of the golden table, by looking back from the later instruction. It looks only at D of
    dense instructions and at VALU results that an instruction reads, so it may say too little but never too much.
    """
    with (GOLDEN / "hazards" / "hazards_gfx942.tsv").open() as file:
        table = {row["builtin"]: row for row in csv.DictReader(file, delimiter="\t")}
    rows = {op.mnemonic: table[_measured(op.name)] for op in DENSE}
    later = lines[place].split(";")[0]
    word = later.split()[0]
    is_matrix = word.startswith("v_mfma")
    operands = later.split(None, 1)[1].split(",") if " " in later.strip() or "\t" in later.strip() else []
    sources = _registers(",".join(operands[1:3]) if is_matrix else ",".join(operands))
    states, lacking = 0, 0
    for line in reversed(lines[:place]):
        code = line.split(";")[0].strip()
        if not code or (code.startswith(".") and not code.endswith(":")):
            continue
        if code.endswith(":") or states > 19:
            break
        earlier, _, rest = code.partition(" ")
        written = _registers(rest.split(",")[0])
        if earlier in rows and written & sources:
            column = "same op A<-D" if is_matrix else "VALU read D" if word.startswith("v_") else "store D"
            lacking = max(lacking, int(rows[earlier][column]) - states)
            break
        if is_matrix and earlier.startswith("v_") and not earlier.startswith("v_mfma") and written & sources:
            lacking = max(lacking, 2 - states)
        states += int(rest) + 1 if earlier == "s_nop" else 1
    return lacking


def _measured(name):
    """Return the instruction of the same shape that was measured: one FP8 pair and the first of the BF8 pairs."""
    return re.sub(r"_(fp8|bf8)_(fp8|bf8)$", "_fp8_fp8", name)


def _check_mutations(name, text):
    """Take every needed wait out of a clean function; return how many there were."""
    lines = text.split("\n")
    before = lint(text).findings
    filler = next(n for n in range(255, 0, -1) if f"v{n}" not in text and not _is_inside(n, text))
    needed = 0
    for place, line in enumerate(lines):
        if line.split()[:1] != ["s_nop"]:
            continue
        count = int(line.split()[1])
        for left, is_shorter in ((-1, False), (count - 1, True)):
            changed = lines.copy()
            changed[place] = f"\ts_nop {left}" if left >= 0 else ""
            following = next(n for n in range(place + 1, len(lines)) if re.match(r"\t[a-z]", lines[n]))
            shortage = _shortage(changed, following)
            if shortage <= 0:
                continue
            needed += not is_shorter
            found = {(f.line, f.missing) for f in lint("\n".join(changed)).findings} - {
                (f.line, f.missing) for f in before
            }
            assert any(at == following + 1 and missing >= shortage for at, missing in found), (name, place + 1, found)
        independent = lines.copy()
        independent[place] = "\n".join([f"\tv_mov_b32_e32 v{filler}, 0"] * (count + 1))
        assert len(lint("\n".join(independent)).findings) == len(before), (name, place + 1)
    return needed


def _is_inside(number, text):
    return ("v", number) in _registers(text)


@pytest.mark.long
@pytest.mark.parametrize("level", LEVELS)
def test_the_output_of_clang_is_clean(clang, level):
    functions = {name: text for name, text in clang(level).items() if "v_mfma" in text or "v_smfmac" in text}
    assert len(functions) >= 26
    for name, text in functions.items():
        if name != LLVM_MISSES:
            assert lint(text).findings == (), name
    whole = lint("\n".join(text for name, text in functions.items() if name != LLVM_MISSES))
    assert whole.findings == ()
    assert whole.matrix_instructions >= 35


@pytest.mark.long
@pytest.mark.parametrize("level", ["-O1", "-O3"])
def test_every_wait_that_is_taken_out_is_found(clang, level):
    needed = {name: _check_mutations(name, text) for name, text in clang(level).items() if "v_mfma" in text}
    assert sum(count > 0 for count in needed.values()) >= 20, needed


@pytest.mark.long
@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
def test_a_shortage_that_llvm_leaves(clang, level):
    """After one arm the store comes too early: LLVM looks at each block once, by whichever path leads there first."""
    findings = lint(clang(level)[LLVM_MISSES]).findings
    assert "store-reads-result" in [finding.rule for finding in findings]


@pytest.mark.long
def test_the_output_of_triton_is_clean(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    try:
        import triton  # noqa: F401
    except ImportError:
        _absent("triton is not installed (pip install triton==3.9.0)")
    from triton_kernels import compiled

    needed = 0
    for name, text in compiled():
        report = lint(text)
        assert report.matrix_instructions, name
        assert report.findings == (), name
        needed += _check_mutations(name, text)
    assert needed
