"""The commands ``where``, ``chain``, ``choose``, ``targets``: they answer as the library does, and refuse in a line."""

import json
import shlex

import pytest
from click.testing import CliRunner

from mfma.cli.questions import chain, where
from mfma.cli.selection import choose, targets
from mfma.cli.shell import Commands
from mfma.isa.choice import choose as ranked
from mfma.isa.differences import availability, differences
from mfma.isa.targets import TARGETS
from mfma.layout.chaining import chains
from mfma.layout.queries import contents
from mfma.layout.queries import where as held

COMMANDS = {"where": where, "chain": chain, "choose": choose, "targets": targets}
HOMES = {name: f"{command.callback.__module__}:{name}" for name, command in COMMANDS.items()}
mfma = Commands("mfma", sections={"Questions": HOMES})


def run(line, code=0):
    result = CliRunner().invoke(mfma, shlex.split(line), prog_name="mfma")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def data(line):
    return json.loads(run(f"{line} --json"))


def flat(ends):
    return [n for first, last in ends for n in range(first, last + 1)]


@pytest.mark.parametrize("example", [example for command in COMMANDS.values() for example in command.examples])
def test_examples_run(example):
    line = example.removeprefix("mfma ")
    assert run(line).strip()
    assert data(line) is not None


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name):
    assert "Examples:" in run(f"{name} --help")


def test_where():
    assert run("where f32_32x32x8f16 D --columns 0:8").splitlines()[1].split() == ["0..7,", "32..39", "16", "v[15:0]"]
    (answer,) = data("where f32_32x32x8f16 d --columns 0:4,6")
    (holding,) = held("f32_32x32x8f16", "D", j=[0, 1, 2, 3, 6])
    assert flat(answer["lanes"]) == [lane for run in holding.lanes for lane in run]
    assert answer["elements"] == holding.elements
    assert answer["registers"] == [{"vgprs": [0, 15], "high_bit": 31, "low_bit": 0}]
    assert run("where f32_4x4x4f16 A --cbsz 4 --abid 5").splitlines()[1].split() == ["20..23", "4", "v[1:0]"]


def test_where_the_other_way_round():
    assert run("where f32_16x16x16f16 D --vgprs 0").splitlines() == [
        "blocks  rows (i)     columns (j)",
        "0       0, 4, 8, 12  0..15",
    ]
    (part,) = contents("f32_16x16x16f16", "D", vgprs=0)
    (answer,) = data("where f32_16x16x16f16 D --vgprs 0")
    assert flat(answer["rows"]) == [row for run in part.rows for row in run]
    nothing = "where f32_4x4x4f16 A --lanes 0 --cbsz 4 --abid 5"
    assert run(nothing) == "none: with these modifiers nothing is read from there\n"
    assert data(nothing) == []


def test_chain():
    answers = data("chain f32_16x16x16f16 f32_16x16x32_fp8_fp8 --moves")
    ways = chains("f32_16x16x16f16", "f32_16x16x32_fp8_fp8")
    assert [(x["operand"], x["transposed"], x["verdict"]) for x in answers] == [
        (way.operand, way.transposed, way.verdict) for way in ways
    ]
    for answer, way in zip(answers, ways, strict=True):
        assert answer["k_order"] == (None if way.k_order is None else list(way.k_order))
        assert sum(len(move["pulls"]) for move in answer["moves"]) == answer["pulls"] == way.pulls
        assert [move["source_lanes"] for move in answer["moves"]] == [list(move.source_lanes) for move in way.moves]
    (one,) = data("chain f32_16x16x16f16 f32_16x16x32_fp8_fp8 --operand a --transposed")
    assert "moves" not in one
    assert one["feeds"][1]["sources"][0] == {"tile": 1, "vgpr": 0}


def test_chain_in_words():
    table = run("chain f32_32x32x8f16 f32_32x32x8f16")
    assert [line.split()[:1] for line in table.splitlines() if "fits as it lies, k ascending" in line] == [["A"], ["B"]]
    detail = " ".join(run("chain f32_16x16x16f16 f32_16x16x32_fp8_fp8 --operand A --transposed --moves").split())
    assert "rounded together 0..15; 16..31 in that order 0..7, 16..23; 8..15, 24..31" in detail
    assert "v1 D 1: v0, v1, v2, v3" in detail
    assert "ds_bpermute_b32 0..15 <- 0..15, 16..31 <- 32..47" in detail
    integers = run("chain i32_32x32x16_i8 i32_32x32x16_i8 --operand B --plain")
    assert "nothing: sums of integers are exact" in integers
    floats = run("chain f32_32x32x2f32 f32_32x32x2f32 --operand B --plain")
    assert "every k by itself, in the order 0..31" in floats
    assert "every k by itself, in the order 0, 4, 1, 5, 2" in floats


def test_choose():
    choice = ranked(16, 64, 128, "fp8", "bf8", pad=False)
    answers = data("choose -m 16 -n 64 -k 128 --a fp8 --b bf8 --exact")
    assert [(x["name"], x["passes"], x["reason"]) for x in answers] == [
        (str(candidate), candidate.passes, reason)
        for candidate, reason in zip(choice.candidates, choice.reasons, strict=True)
    ]
    assert run("choose --m 16 --n 64 --k 128 --a f16").startswith("16x64x128 on gfx942\nname ")


def test_targets():
    assert [x["name"] for x in data("targets")] == list(TARGETS)
    one = data("targets gfx90a")
    assert [x["builtin"] for x in one["builtins"]] == [x.builtin for x in TARGETS["gfx90a"].listings]
    assert run("targets gfx950").splitlines()[0] == "gfx950: CDNA4, MI350X, MI355X"
    assert "32 (64 of 8 bits)" in run("targets gfx950")
    assert [(x["target"], x["reason"]) for x in data("targets i32_32x32x8i8")] == [
        (str(x.target), x.reason) for x in availability("i32_32x32x8i8")
    ]
    found = differences("gfx942", "gfx950")
    answer = data("targets --diff gfx942 gfx950")
    assert answer["added"] == list(map(str, found.added))
    assert [x["name"] for x in answer["dropped"]] == ["f32_32x32x4_xf32", "f32_16x16x8_xf32"]
    assert len(answer["changed"]) == len(found.changed)
    assert "f64_4x4x4f64: cycles 16 -> 32" in run("targets --diff gfx942 gfx950")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("where f32_4x4x4f16 A --rows 7", "i=7 is not one of them"),
        ("where f32_4x4x4f16 A --rows x", "'x' names no indices; write 3, 0:8"),
        ("where f32_4x4x4f16 A --rows 3:3", "'3:3' names no indices"),
        ("where f32_4x4x4f16 A --rows 0 --lanes 3", "or lanes and registers, not both"),
        ("where f32_4x4x4f16 E --rows 0", "has the matrices A, B, C, D, not 'E'"),
        ("chain f32_4x4x4f16 f32_4x4x4f61", "gfx942 has no instruction 'f32_4x4x4f61'"),
        ("choose -m 0 -n 1 -k 1 --a f16", "m is 0, but a size is an integer of at least 1"),
        ("choose -m 1 -n 1 -k 1 --a f16 --b i8", "gfx942 has no instruction with a=f16, b=i8; nearest are"),
        ("targets gfx1100", "gfx1100 has no MFMA instructions"),
        ("targets f32_1x1x1f16", "no target has a builtin 'f32_1x1x1f16'"),
        ("targets gfx942 --diff gfx90a gfx942", "Give NAME or --diff, not both"),
    ],
)
def test_refusals_are_one_line(line, message):
    error = run(line, code=2)
    assert message in error
    assert error.count("\n") == 1
