"""The timeline: laws over random sequences, sequences whose issue is known, and LLVM's scheduling model."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.asm.timeline import steps
from mfma.cli.timing import roofline as roofline_command
from mfma.cli.timing import timeline as timeline_command
from mfma.errors import EncodingError, OptionError
from mfma.isa.catalogue import find, ops, sparse_ops
from mfma.isa.spec import Pipe
from mfma.render.timeline_svg import PALETTE, Bar, Row, timeline_svg
from mfma.timing.hazards import Operand, Second, required
from mfma.timing.steps import Span, Step, Unit, matrix_step, nop
from mfma.timing.timeline import ASSUMPTIONS, KINDS, SLOT, Timeline, result_latency, timeline

OPS = ops() + sparse_ops()
every = pytest.mark.parametrize("op", OPS, ids=str)
dense = pytest.mark.parametrize("op", ops(), ids=str)

A, B, INDEX = 200, 216, 250  # registers that no result of these tests lies in


def matrix(op, d=0, c=None, file="v"):
    """An instruction with D at register ``d`` and C at ``c``; A and B are never written."""
    registers = op.registers
    span = Span(file, d, registers.cd.vgprs)
    third = Span("v", INDEX) if op.sparse else None if c is None else Span(file, c, registers.cd.vgprs)
    return matrix_step(op, span, Span("v", A, registers.a.vgprs), Span("v", B, registers.b.vgprs), third)


def valu(read=255, write=254):
    return Step(f"v_mov_b32 v{write}, v{read}", Unit.VALU, (Span("v", read),), (Span("v", write),))


def slots(sequence):
    return [issue.slot for issue in timeline(sequence).issues]


@every
def test_result_latency(op):
    assert result_latency(op) == op.cycles // 4 + 4
    assert timeline([matrix(op)]).result_cycles == op.cycles + 16


@every
def test_independent_instructions_follow_when_the_matrix_core_is_free(op):
    width = op.registers.cd.vgprs
    drawn = timeline([matrix(op, n * width) for n in range(3)])
    assert [issue.cycle for issue in drawn.issues] == [0, op.cycles, 2 * op.cycles]
    assert drawn.cycles == drawn.matrix_cycles == 3 * op.cycles
    assert drawn.utilisation == 1.0
    assert drawn.missing == 0
    assert drawn.operations / drawn.cycles == op.operations / op.cycles


@every
def test_a_chain_through_the_accumulator(op):
    """It runs at full rate but for the shortest instructions of each pipe, which need wait states."""
    extra = {(Pipe.XDL, 2): 1, (Pipe.SGEMM, 2): 1, (Pipe.DGEMM, 4): 1}.get((op.pipe, op.passes), 0)
    assert slots([matrix(op, 0, 0)] * 3) == [n * (op.passes + extra) for n in range(3)]


@every
def test_the_first_valu_instruction_that_may_read_the_result(op):
    states = required(op, Second.VALU_READ).states
    drawn = timeline([matrix(op), valu(read=0)])
    assert drawn.issues[1].slot == max(states + 1, op.passes if op.pipe is not Pipe.XDL else 0)
    # LLVM's latency, but for the pipes that the ISA lets be read one slot earlier.
    early = op.pipe is Pipe.SGEMM or (op.pipe, op.passes) == (Pipe.DGEMM, 4)
    assert drawn.issues[1].slot == result_latency(op) - early
    assert drawn.missing == states
    assert drawn.issues[1].reason == f"a VALU instruction reads D, {Span('v', 0, op.registers.cd.vgprs)}"


@every
def test_valu_instructions_beside_a_matrix_instruction(op):
    """Co-execution room is filled to the last slot without delaying the next matrix instruction, and no further."""
    room = op.coexecution // 4
    width = op.registers.cd.vgprs
    full = timeline([matrix(op), *[valu()] * room, matrix(op, width)])
    assert full.issues[-1].slot == op.passes
    assert full.coexecution == (room, 2 * room)
    assert full.utilisation == 1.0
    over = timeline([matrix(op), *[valu()] * (room + 1), matrix(op, width)])
    assert over.issues[-1].slot == op.passes + 1
    first = timeline([matrix(op), valu()]).issues[1]
    assert first.slot == op.passes - room
    assert first.blocker == ("" if first.slot == 1 else "VALU, which an earlier instruction uses")


@pytest.mark.parametrize(
    ("name", "second", "states"),
    [
        ("f32_32x32x8f16", Step("store", Unit.MEMORY, reads=(Span("v", 3),)), 11),
        ("f64_16x16x4f64", Step("store", Unit.MEMORY, reads=(Span("v", 3),)), 18),
        ("f64_16x16x4f64", Step("load", Unit.MEMORY, writes=(Span("v", 3),)), 11),
        ("f64_16x16x4f64", Step("v_fma_f64", Unit.VALU, f64_fma=True), 2),
        ("f32_32x32x8f16", Step("v_fma_f64", Unit.VALU, f64_fma=True), 0),
        ("f32_32x32x4f16", Step("overwrite", Unit.VALU, writes=(Span("v", 31),)), 19),
        ("f32_32x32x4f16", Step("overwrite", Unit.VALU, writes=(Span("v", 32),)), 0),
        ("f32_32x32x8f16", Step("s_add_u32 s0, s0, s1", Unit.SALU), 0),
        ("f32_32x32x8f16", matrix_step(ops()[8], Span("v", 20, 16), Span("v", 0, 2), Span("v", 250, 2)), 11),
        ("f32_32x32x8f16", matrix_step(ops()[8], Span("v", 20, 16), Span("v", 90, 2), Span("v", 92, 2)), 0),
    ],
    ids=str,
)
def test_wait_states_after_a_matrix_instruction(name, second, states):
    issue = timeline([matrix(find(name)), second]).issues[1]
    assert issue.missing == states
    assert bool(issue.reason) == bool(states)


def test_wait_states_before_a_matrix_instruction():
    mfma = matrix(find("f32_32x32x8f16"), 0, 32)
    writes = Step("v_mov_b32 v201, v0", Unit.VALU, writes=(Span("v", A + 1),))
    dot = Step("v_dot2_f32_f16 v201, v0, v1, v2", Unit.VALU, writes=(Span("v", A + 1),), dot=True)
    execs = Step("v_cmpx_lt_f32 vcc, v0, v1", Unit.VALU, writes=(Span("exec"),))
    scalar = Step("s_mov_b64 exec, s[0:1]", Unit.SALU, writes=(Span("exec"),))
    addend = Step("v_mov_b32 v40, v0", Unit.VALU, writes=(Span("v", 40),))
    first = [timeline([step, mfma]).issues[1] for step in (writes, dot, execs, scalar, addend, valu())]
    assert [issue.missing for issue in first] == [2, 0, 4, 0, 2, 0]
    assert first[0].reason == "a VALU instruction wrote A, B or C"


def test_a_valu_instruction_must_not_overwrite_the_addend_too_early():
    late = Step("v_mov_b32 v33, v0", Unit.VALU, writes=(Span("v", 33),))
    issue = timeline([matrix(find("f32_32x32x8f16"), 0, 32), late]).issues[1]
    assert (issue.missing, issue.reason) == (7, "a VALU instruction or a load overwrites C, v[32:47]")


def test_what_is_overwritten_counts_no_more():
    """The result of a long instruction is gone once a short one has the same D; likewise for C."""
    long, short = find("f32_16x16x4f32"), find("f32_4x4x4f16")
    assert timeline([matrix(long), valu(read=0)]).missing == 10
    assert timeline([matrix(long), matrix(short), valu(read=0)]).missing == 5
    wide = find("f32_32x32x8f16")
    late = Step("v_mov_b32 v33, v0", Unit.VALU, writes=(Span("v", 33),))
    assert timeline([matrix(wide, 0, 32), matrix(wide, 64, 96), late]).missing == 6
    # The second reads v[32:35] only, and v33 is among them, or v36 is not.
    narrow = matrix(find("f32_16x16x16f16"), 64, 32)
    assert timeline([matrix(wide, 0, 32), narrow, late]).missing == 3
    outside = Step("v_mov_b32 v36, v0", Unit.VALU, writes=(Span("v", 36),))
    assert timeline([matrix(wide, 0, 32), narrow, outside]).missing == 6
    assert timeline([matrix(wide, 0, 32), matrix(wide, 64, 32), late]).missing == 7


def test_accumulators_that_overlap_in_part():
    first, second = matrix(find("f32_32x32x8f16"), 0), matrix(find("f32_32x32x8f16"), 64, 8)
    assert timeline([first, second]).missing == required(first.op, second.op, Operand.C_PART).states == 9


def test_instructions_and_nops_are_wait_states():
    mfma, read = matrix(find("f32_16x16x16f16")), valu(read=0)
    for between in ([nop(6)], [valu()] * 7, [nop(3), valu(), nop(1)], [nop(15)]):
        assert timeline([mfma, *between, read]).missing == 0
    for between, missing in (([nop(5)], 1), ([valu()] * 3, 4), ([], 7)):
        assert timeline([mfma, *between, read]).missing == missing


some_op = st.sampled_from(OPS)
register = st.sampled_from([0, 2, 8, 32, 64])
some_step = st.one_of(
    st.builds(matrix, some_op, register, st.none() | register),
    st.builds(valu, st.integers(0, 70), st.integers(0, 70)),
    st.builds(nop, st.integers(0, 15)),
    st.just(Step("s_waitcnt vmcnt(0)", Unit.SALU)),
    st.builds(lambda r: Step("store", Unit.MEMORY, reads=(Span("v", r, 4),)), register),
)


@given(st.lists(some_step, max_size=25))
@settings(deadline=None)
def test_laws(sequence):
    drawn = timeline(sequence)
    issues = drawn.issues
    assert [issue.step for issue in issues] == sequence
    assert all(b.slot >= a.slot + a.step.waits for a, b in itertools.pairwise(issues)), "in order, one a slot"
    assert all(b.slot >= a.free for a, b in itertools.pairwise(drawn.matrix)), "one matrix instruction at a time"
    assert 0 <= drawn.utilisation <= 1
    assert drawn.matrix_cycles <= drawn.cycles <= drawn.result_cycles
    used, room = drawn.coexecution
    assert used <= room
    for issue in issues:
        if issue.step.unit is Unit.VALU:
            for other in drawn.matrix:
                inside = other.slot <= issue.slot < other.free
                assert not inside or issue.slot >= other.free - other.step.op.coexecution // 4


@given(st.lists(some_step, max_size=20))
@settings(deadline=None)
def test_missing_wait_states_are_drawn_as_the_s_nops_that_would_cure_them(sequence):
    drawn = timeline(sequence)
    cured = []
    for issue in drawn.issues:
        rest = issue.missing
        while rest:
            cured.append(nop(min(rest, 16) - 1))
            rest -= cured[-1].waits
        cured.append(issue.step)
    again = timeline(cured)
    assert again.missing == 0
    assert [i.slot for i in again.issues if i.step.unit is not Unit.NOP] == [
        i.slot for i in drawn.issues if i.step.unit is not Unit.NOP
    ]


@given(st.lists(some_step, min_size=1, max_size=6), st.integers(1, 4))
@settings(deadline=None)
def test_iterations_repeat_the_sequence(sequence, iterations):
    assert timeline(sequence, iterations=iterations) == timeline(sequence * iterations)


def test_nothing_takes_no_time():
    drawn = timeline([])
    assert (drawn.cycles, drawn.result_cycles, drawn.utilisation, drawn.coexecution) == (0, 0, 0.0, (0, 0))
    assert "matrix core" in drawn.text()
    ET.fromstring(drawn.svg())


LOOP = """\
loop:
  v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
  ds_read_b64 v[4:5], v20
  v_mfma_f32_32x32x8_f16 a[16:31], v[0:1], v[2:3], a[16:31] ; independent
  v_add_u32_e32 v20, v20, v21
  s_cbranch_scc1 loop
  s_nop 7
  v_accvgpr_read_b32 v50, a16
  global_store_dwordx4 v[60:61], a[16:19], off
"""


def test_assembly_text():
    drawn = timeline(steps(LOOP))
    assert [issue.step.unit for issue in drawn.issues] == [
        *(Unit.MATRIX, Unit.MEMORY, Unit.MATRIX, Unit.VALU, Unit.SALU, Unit.NOP, Unit.VALU, Unit.MEMORY),
    ]
    # The read of a16 needs 11 wait states and has v_add_u32, s_cbranch_scc1 and the 8 of s_nop 7.
    assert [issue.missing for issue in drawn.issues] == [0, 0, 0, 0, 0, 0, 1, 0]
    assert [issue.slot for issue in drawn.issues] == [0, 1, 8, 9, 10, 11, 20, 21]
    body = timeline(steps(LOOP, 1, 6), iterations=3)
    assert (len(body.issues), body.utilisation, body.missing) == (15, 1.0, 0)


def test_assembly_text_of_every_instruction():
    """What the reader makes of the text is what Python builds from the record."""
    for op in OPS:
        built = matrix(op, 0, 0)
        c = INDEX if op.sparse else built.c
        text = f"{op.mnemonic} {built.writes[0]}, {built.reads[0]}, {built.reads[1]}, {f'v{c}' if op.sparse else c}"
        (read,) = steps(text)
        assert (read.op, read.writes, read.c, read.unit) == (op, built.writes, built.c, Unit.MATRIX)
        assert registers(read.reads) == registers(built.reads)


def registers(spans):
    return {(span.file, span.first + n) for span in spans for n in range(span.count)}


def test_unknown_registers_of_inline_assembly_overlap_only_themselves():
    text = "v_mfma_f32_16x16x16_f16 %0, %1, %2, %0\nv_mov_b32 %3, v0\nv_mov_b32 %3, %0"
    drawn = timeline(steps(text))
    assert [issue.missing for issue in drawn.issues] == [0, 0, 6]


def test_symbols_are_those_at_the_place():
    text = ".set x, 4\nv_mfma_f32_4x4x4_16b_f16 v[x:x+3], v[20:21], v[22:23], 0\n.set x, 40\nv_mov_b32 v60, v[x]"
    mfma, read = steps(text)
    assert (str(mfma.writes[0]), str(read.reads[0])) == ("v[4:7]", "v40")


def test_refused_text():
    with pytest.raises(EncodingError, match=r"line 1: v_mfma_i32_32x32x8i8 is no matrix instruction of gfx942"):
        steps("v_mfma_i32_32x32x8i8 a[0:15], v0, v1, a[0:15]")
    with pytest.raises(EncodingError, match=r"line 2: 'v_mfma_f32_16x16x16_f16 v\[0:3\], 0' cannot be read; write D"):
        steps("s_nop 0\nv_mfma_f32_16x16x16_f16 v[0:3], 0")
    with pytest.raises(OptionError, match="there is no instruction in lines 5 to 9; give gfx942 assembly text"):
        steps("s_nop 0", 5, 9)


def test_refused_steps():
    op = find("f32_32x32x8f16")
    with pytest.raises(OptionError, match=r"D of v_mfma_f32_32x32x8_f16 has 16 registers; v\[0:3\] has 4\."):
        matrix_step(op, Span("v", 0, 4), Span("v", 0, 2), Span("v", 2, 2))
    with pytest.raises(OptionError, match="op is 'f16'; give the record of a matrix instruction"):
        matrix_step("f16", Span("v", 0, 4), Span("v", 0, 2), Span("v", 2, 2))
    with pytest.raises(OptionError, match="'v_mfma': a matrix instruction needs its record in op"):
        Step("v_mfma", Unit.MATRIX)
    with pytest.raises(OptionError, match="'v_add': a matrix instruction needs its record in op, and no other has one"):
        Step("v_add", Unit.VALU, op=op)
    with pytest.raises(OptionError, match="'s_nop -2' counts as -1 wait states; every instruction counts as 1"):
        nop(-2)
    for iterations in (0, -1, 1.5, "2"):
        with pytest.raises(OptionError, match="a sequence is repeated a whole number of times from 1"):
            timeline([], iterations=iterations)


@given(st.lists(some_step, max_size=12), st.integers(50, 160))
@settings(deadline=None)
def test_the_text_can_be_counted(sequence, width):
    """Signs of the drawing, panel by panel, add up to the numbers below it."""
    drawn = timeline(sequence)
    text = drawn.text(width)
    chart = text.split("One column")[0]
    assert all(len(line) <= width for line in chart.splitlines())
    rows = [line for line in chart.splitlines() if line.startswith("matrix core")]
    assert sum(line.removeprefix("matrix core").count("=") for line in rows) * SLOT == drawn.matrix_cycles
    assert chart.count("!") == drawn.missing
    valu_rows = [line for line in chart.splitlines() if line.startswith("VALU")]
    counted = sum(line.removeprefix("VALU").count("V") for line in valu_rows)
    assert counted == sum(step.unit is Unit.VALU for step in sequence)


SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture():
    drawn = timeline(steps(LOOP))
    root = ET.fromstring(drawn.svg())
    assert root.get("width") == "1000"
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert all(any(step.text in word for word in words) for step in steps(LOOP))
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert "1 wait state is missing: a VALU instruction reads D, a[16:31]" in titles
    assert any("cycles 32 to 63 on the matrix core" in title for title in titles)
    assert "prefers-color-scheme: dark" in drawn.svg()
    assert drawn._repr_svg_() == drawn.svg()
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    assert len(bars) == sum(len(row.bars) for row in drawn.rows)


def test_bars_are_where_their_cycles_are():
    root = ET.fromstring(timeline_svg([Row("a", (Bar(0, 16, "x", "first"), Bar(48, 64, "y", "last")))], 64, KEYS))
    first, last = (rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None)
    left, right = float(first.get("x")), float(last.get("x")) + float(last.get("width"))
    assert float(last.get("x")) - left == pytest.approx(0.75 * (right + 1 - left), abs=0.1)
    assert (first.get("fill"), last.get("fill")) == PALETTE[:2]
    ticks = {text.text for text in root.iter(f"{SVG}text")}
    assert {"cycle", "0", "64", "first kind", "second kind"} <= ticks
    assert "third kind" not in ticks, "a kind that does not occur needs no entry"


KEYS = {"x": "first kind", "y": "second kind", "z": "third kind"}


def test_markup_in_labels_is_text():
    root = ET.fromstring(timeline_svg([Row("<a & b>", (Bar(0, 4, "x", "<i>"),))], 4, KEYS, ["<c>"]))
    assert {"<a & b>", "<c>"} <= {text.text for text in root.iter(f"{SVG}text")}


def test_every_kind_of_bar_has_its_own_colour():
    assert len(KINDS) <= len(set(PALETTE))


def test_assumptions_name_their_sources():
    assert len(dict(ASSUMPTIONS)) == len(ASSUMPTIONS)
    for _, text in ASSUMPTIONS:
        assert any(word in text for word in ("AMD", "ROCm page", "LLVM", "ISA", "assumption", "choice", "modelled"))


def test_command_timeline(tmp_path):
    file = tmp_path / "loop.s"
    file.write_text(LOOP)
    run = CliRunner().invoke
    text = run(timeline_command, [str(file)])
    assert text.exit_code == 0
    assert "1 missing in the sequence" in text.output
    assert "This takes for granted" in text.output
    from_stdin = run(timeline_command, ["-", "--lines", "1-6", "--iterations", "2", "--json"], input=LOOP)
    facts = json.loads(from_stdin.output)
    assert facts["utilisation"] == 1.0
    assert [issue["cycle"] for issue in facts["issues"]][:3] == [0, 4, 32]
    assert set(facts["assumptions"]) == set(dict(ASSUMPTIONS))
    picture = tmp_path / "loop.svg"
    assert run(timeline_command, [str(file), "--format", "svg", "-o", str(picture)]).output == ""
    assert ET.parse(picture).getroot().tag == f"{SVG}svg"
    wrong = run(timeline_command, [str(file), "--lines", "1:3"])
    assert wrong.exit_code == 2
    assert "'1:3' is not FIRST-LAST, as in 10-40." in wrong.output


def test_command_roofline():
    run = CliRunner().invoke
    text = run(roofline_command, ["4096", "4096", "4096", "--op", "f32_32x32x8f16"])
    assert text.output.startswith("4096 x 4096 x 4096 with f32_32x32x8f16 on MI300X: bound by compute\n")
    small = ["64", "64", "64"]
    facts = json.loads(run(roofline_command, [*small, "--op", "f32_32x32x8f16", "--device", "MI325X", "--json"]).output)
    assert (facts["instructions"], facts["device"], facts["bound"]) == (32, "MI325X", "memory")
    assert run(roofline_command, small).exit_code == 2


def test_lookup_needs_no_numpy():
    code = "import sys, mfma.timing.timeline; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# The real llvm-mca. Its unit is the pass of four cycles.


def mca(lines):
    path = shutil.which("llvm-mca-22")
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("llvm-mca-22 is not installed")
    command = [path, "-mtriple=amdgcn", "-mcpu=gfx942", "-iterations=1", "-timeline", "-json"]
    command += ["-timeline-max-iterations=1", "-timeline-max-cycles=0"]
    printed = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    return json.loads(printed)["CodeRegions"][0]


def issued(lines):
    return [row["CycleIssued"] for row in mca(lines)["TimelineView"]["TimelineInfo"]]


@pytest.mark.long
def test_latency_and_passes_of_llvm_mca():
    rows = mca([matrix(op).text for op in ops()])["InstructionInfoView"]["InstructionList"]
    assert len(rows) == 32
    for op, row in zip(ops(), rows, strict=True):
        assert row["Latency"] == result_latency(op), op
        assert row["RThroughput"] == op.passes, op


@pytest.mark.long
@dense
def test_issue_of_llvm_mca(op):
    """Independent instructions of one kind, and a second matrix instruction that reads the result."""
    width = op.registers.cd.vgprs
    independent = [matrix(op, n * width) for n in range(3)]
    assert issued([step.text for step in independent]) == slots(independent)
    reader = find("f32_32x32x8f16")
    second = matrix_step(reader, Span("v", 64, 16), Span("v", 0, 2), Span("v", B, 2))
    pair = [matrix(op), second]
    # LLVM's model delays every reading matrix instruction to passes + 4; the ISA lets it in a slot earlier after
    # f32 and f64_4x4x4f64.
    early = op.pipe is Pipe.SGEMM or (op.pipe, op.passes) == (Pipe.DGEMM, 4)
    assert issued([step.text for step in pair]) == [0, result_latency(op)]
    assert slots(pair) == [0, result_latency(op) - early]


@pytest.mark.long
@dense
def test_where_llvm_mca_differs_as_the_assumptions_say(op):
    texts = [step.text for step in (matrix(op, 0, 0), matrix(op, 0, 0), valu(read=0), valu())]
    # A chain runs at full rate; what the wait states of the ISA add is in test_a_chain_through_the_accumulator.
    assert issued([texts[0], texts[1]]) == [0, op.passes]
    # LLVM counts the passes only until a VALU instruction reads, and leaves the wait states to the hazard recogniser.
    assert issued([texts[0], texts[2]]) == [0, op.passes]
    # It books f64 on the VALU, and lets the VALU run beside everything else.
    assert issued([texts[0], texts[3]]) == [0, op.passes if op.pipe is Pipe.DGEMM else 1]


def test_timeline_is_a_value():
    assert isinstance(timeline([valu()]), Timeline)
    assert timeline([valu()]) == timeline([valu()])
