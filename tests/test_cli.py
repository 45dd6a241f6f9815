"""The command line: answers agree with the library and with others' data, errors are one line, files are whole."""

import csv
import dataclasses
import json
import os
import pty
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import mfma
from mfma.cli import literals, main
from mfma.cli.facts import accumulation_words
from mfma.cli.shell import Command
from mfma.formats import BF8, BF16, F16, F32, F64, FP8, I8, XF32
from mfma.formats.codec import decode
from mfma.integrations import doctor
from mfma.integrations.hip import compiler, program
from mfma.isa import catalogue
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.errata import errata
from mfma.isa.evidence import claims, evidence
from mfma.isa.signature import signature
from mfma.layout import layout
from mfma.timing.devices import DEVICES

GOLDEN = Path(__file__).parent / "golden"
OBJECTS = Path(__file__).parent / "corpus" / "objects"
LAST_WIDTH = 101


def run(*args, code=0):
    result = CliRunner().invoke(main, [str(x) for x in args], prog_name="mfma")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def out(*args):
    result = run(*args)
    assert result.stderr == ""
    return result.stdout


def data(*args):
    return json.loads(out(*args, "--json"))


def refused(*args):
    """Return the one line on standard error of a command that fails."""
    result = run(*args, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("mfma: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith(".\n") or result.stderr.endswith("?\n") or result.stderr.endswith(")\n")
    return result.stderr


def process(*args, **options):
    return subprocess.run(
        [sys.executable, "-m", "mfma", *map(str, args)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files of the examples."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(7)
    np.save("A.npy", random.standard_normal((20, 40)).astype(np.float32))
    np.save("B.npy", random.standard_normal((40, 24)).astype(np.float32))
    (tmp_path / "kernel.s").write_text(KERNEL)
    return tmp_path


KERNEL = """\
.Lloop:
    v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]
    v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], v[8:11]
    s_nop 7
    v_add_f32_e32 v12, v0, v1
"""


# --- help -------------------------------------------------------------------------------------------------------------


def commands():
    with main.make_context("mfma", ["list"]) as context:
        return {name: main.get_command(context, name) for name in main.list_commands(context)}


def test_version():
    assert out("--version") == f"mfma {mfma.__version__}\n"


def test_help_lists_every_command_in_its_section_on_one_line():
    lines = out("--help").split("\n")
    for title, names in main.sections.items():
        at = lines.index(f"{title}:")
        assert [line.split()[0] for line in lines[at + 1 : at + 1 + len(names)]] == list(names)


@pytest.mark.parametrize("name", main.homes)
def test_every_help_ends_with_examples_that_run(name, folder, monkeypatch):
    command = commands()[name]
    assert isinstance(command, Command)
    compiled_kernels()
    every_tool(monkeypatch)
    _, _, examples = out(name, "--help").partition("Examples:\n")
    lines = [line.strip() for line in examples.strip().split("\n")]
    assert lines == list(command.examples)
    for line in lines:
        program, *args = shlex.split(line)
        assert program == "mfma"
        assert (run if name == "trace" else out)(*args)


def compiled_kernels():
    """Add code objects and the arrays that the examples give to them."""
    shutil.copy(GOLDEN / "codeobject" / "kernels_v6.co", "kernel.co")
    shutil.copy(OBJECTS / "hip_vector_debug.co", "vector_add.co")
    shutil.copy(OBJECTS / "triton_gemm_fp16_32.hsaco", "gemm.hsaco")
    for name in "xyz":
        np.save(f"{name}.npy", np.arange(1000, dtype=np.float32))
    for name, dtype in (("left", np.float16), ("right", np.float16), ("d", np.float32)):
        np.save(f"{name}.npy", np.ones((32, 32), dtype))


def every_tool(monkeypatch):
    """Make every tool be there, and whole programs do nothing, which test_hip_programs_run.py really runs."""
    found = {name: dataclasses.replace(tool, find=lambda: Path(sys.executable)) for name, tool in doctor.TOOLS.items()}
    monkeypatch.setattr(doctor, "TOOLS", found)
    monkeypatch.setattr(compiler, "build", lambda words: words)
    monkeypatch.setattr(program, "run", lambda *words, **options: print(words))
    Path("program").symlink_to(sys.executable)


def test_python_m_mfma():
    done = process("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"mfma {mfma.__version__}\n", "")


def test_nothing_heavy_is_imported_for_look_ups():
    heavy = "numpy", "ml_dtypes", "einops", "llvmlite", "rich", "tabulate"
    for command in (["list"], ["errata"], ["peak"], ["--help"]):
        code = f"import sys; from mfma.cli import main; main({command!r}, standalone_mode=False); " + (
            f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stderr == "[]\n"


def test_placement_compiles_nothing():
    code = (
        "import sys; from mfma.cli import main; "
        "main(['locate', 'f32_32x32x8f16', 'A', '-i', '5', '-k', '6'], standalone_mode=False); "
        "assert 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


# --- look-ups ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("flags", "records"), [((), DENSE), (("--sparse",), SPARSE)])
def test_list(flags, records):
    header, *lines = out("list", *flags).splitlines()
    assert header.split() == ["name", "mnemonic", "shape", "types", "VGPRs", "cycles", "ops"]
    assert len(lines) == len(records)
    for line, op in zip(lines, records, strict=True):
        r = op.registers
        assert line.split() == [
            *(op.name, op.mnemonic, f"{op.blocks}x{op.m}x{op.n}x{op.k}", op.a.name, op.b.name, op.out.name),
            *map(str, (r.a.vgprs, r.b.vgprs, r.cd.vgprs, op.cycles, op.operations)),
        ]
    assert max(map(len, lines)) <= LAST_WIDTH


def test_list_as_json_agrees_with_the_library():
    listed = data("list")
    assert len(listed) == 32
    for item, op in zip(listed, mfma.ops(), strict=True):
        for fact in (
            "name",
            "builtin",
            "mnemonic",
            "m",
            "n",
            "k",
            "blocks",
            "operations",
            "cycles",
            "passes",
            "opcode",
        ):
            assert item[fact] == getattr(op, fact)
        assert item["valu_coexecution_cycles"] == op.valu_coexecution_cycles
        assert (item["a"], item["b"], item["cd"]) == (op.a.name, op.b.name, op.cd.name)
        for matrix, operand in item["registers"].items():
            expected = getattr(op.registers, matrix)
            assert operand == {
                "format": expected.format.name,
                "elements": expected.elements,
                "vgprs": expected.vgprs,
            }


@pytest.mark.parametrize("op", DENSE + SPARSE, ids=lambda op: op.mnemonic)
def test_show(op):
    flags = ("--sparse",) if op.sparse else ()
    shown, known = out("show", op.name, *flags), data("show", op.name, *flags)
    assert max(map(len, shown.splitlines())) <= 100
    c = signature(op)
    facts = [*catalogue.names(op), str(c), c.clang, f"0x{op.opcode:02X}", f"__{op.target}__", *DEVICES]
    facts += [f"{op.cycles} on one matrix core, {op.passes} passes", f"{op.coexecution} of the cycles"]
    facts += [x.typedef for x in (c.a, c.b, c.d) if not x.is_scalar]
    for matrix in "ABD":
        facts += layout(op, matrix).pattern.equations
        assert known["layouts"][matrix]["equations"] == list(layout(op, matrix).pattern.equations)
    for fact in facts:
        assert fact in shown
    assert known["names"] == list(catalogue.names(op))
    assert known["signature"]["page"] == str(c)
    assert {aspect: (x["level"], x["source"]) for aspect, x in known["evidence"].items()} == {
        aspect: (str(x.level), x.source) for aspect, x in evidence(op).items()
    }
    flat = " ".join(shown.split())
    for claim in claims(op):
        assert re.search(rf"^  {re.escape(claim.aspect)} +{claim.level} ", shown, re.MULTILINE)
        for source in claim.sources:
            assert str(source) in flat
    for peak in known["peaks"]:
        assert peak["tflops"] == pytest.approx(mfma.peak(op, peak["device"]).tflops)
        assert f"{peak['tflops']:.1f} {peak['unit']}" in shown
    assert " ".join(accumulation_words(op).split()) in flat


def test_show_finds_every_kind_of_name():
    texts = {out("show", name) for name in (*catalogue.names(DENSE[8]), "V_MFMA_F32_32X32X8_F16")}
    assert len(texts) == 1


def test_show_says_which_modifiers_are_legal():
    assert data("show", "f32_4x4x1f32")["modifiers"]["cbsz"].startswith("0..4")
    assert data("show", "f64_4x4x4f64")["modifiers"]["blgp"] == "0..7: negates A (bit 0), B (bit 1), C (bit 2)"
    assert set(data("show", "f32_16x16x8_xf32")["modifiers"].values()) == {"must be 0"}


def test_accumulation_is_in_words():
    words = {op.name: accumulation_words(op) for op in DENSE}
    assert "fma(a[k], b[k], d)" in words["f64_4x4x4f64"]
    assert "modulo 2**32" in words["i32_4x4x4i8"]
    assert "Groups of 8" in words["f32_32x32x8f16"]
    assert "Even and odd" not in words["f32_32x32x8f16"]
    assert "Even and odd" in words["f32_16x16x32_fp8_fp8"]
    assert "E - 26" in words["f32_16x16x32_fp8_fp8"]
    assert words["f32_16x16x8_xf32"].startswith("The low 13 bits of A and B are cut off first.")
    assert accumulation_words(SPARSE[0]).startswith("Nobody")


def test_peak():
    shown = out("peak", "f32_32x32x8f16")
    peak = mfma.peak("f32_32x32x8f16")
    flat = " ".join(shown.split())
    assert peak.formula in flat
    assert "2048 operations" in flat
    assert all(part in flat for part in peak.source.split("; "))
    found = data("peak", "f32_32x32x8f16", "--device", "mi300a", "--clock", 1900)
    expected = mfma.peak("f32_32x32x8f16", "MI300A", 1900)
    assert (found["device"], found["tflops"], found["formula"]) == ("MI300A", expected.tflops, expected.formula)


def test_peak_of_all_instructions():
    lines = out("peak", "--device", "MI300A").splitlines()
    assert lines[0] == "MI300A: 228 CUs, 4 matrix cores each, 2100 MHz"
    assert [line.split()[0] for line in lines[2:]] == [op.name for op in DENSE]
    assert [x["tflops"] for x in data("peak", "--device", "MI300A")] == [mfma.peak(op, "MI300A").tflops for op in DENSE]
    assert len(data("peak", "--sparse")) == len(SPARSE)


def test_errata():
    shown = " ".join(out("errata").split())
    for item in errata():
        for said in (item.id, item.where, item.says, item.truth, item.how_known):
            assert " ".join(said.split()) in shown
    assert [x["id"] for x in data("errata")] == [x.id for x in errata()]
    assert data("errata", "page-peak-formula")[0]["truth"] == next(
        x.truth for x in errata() if x.id == "page-peak-formula"
    )


# --- placement --------------------------------------------------------------------------------------------------------

# AMD's matrix instruction calculator 1.3.2 says so.
ORACLE = [
    ("f32_32x32x8f16 D -i 5 -j 7", "v1{39}"),
    ("f32_32x32x8f16 A -i 5 -k 6", "v1{37}.[15:0]"),
    ("f64_16x16x4f64 D -i 6 -j 9", "v[3:2]{41}"),
    ("i32_16x16x32_i8 A -i 3 -k 21", "v1{35}.[15:8]"),
    ("f32_16x16x32_fp8_fp8 B -k 21 -j 3", "v1{35}.[15:8]"),
    ("f32_32x32x1f32 D -i 0 -j 1 --block 1", "v16{1}"),
    ("f32_4x4x1f32 A -i 2 -k 0 --block 7 --cbsz 2 --abid 3", "v0{30}"),
    ("f32_4x4x4f16 A -i 2 -k 1 --block 0 --cbsz 4 --abid 5", "v0{22}.[31:16]"),
    ("f32_32x32x1f32 B -j 5 -k 0 --block 1 --blgp 3", "v0{53}"),
]


@pytest.mark.parametrize(("query", "slot"), ORACLE)
def test_locate_and_element_are_inverse(query, slot):
    name, matrix, *options = query.split()
    assert out("locate", name, matrix, *options).split()[0] == slot
    found = data("locate", name, matrix, *options)
    assert found["text"] == slot
    asked = dict(zip((x.lstrip("-") for x in options[::2]), map(int, options[1::2]), strict=True))
    modifiers = [x for n in ("cbsz", "abid", "blgp") if n in asked for x in (f"--{n}", asked[n])]
    place = ("--lane", found["lane"], "--vgpr", found["vgpr"], "--bit", found["low_bit"])
    elements = data("element", name, matrix, *place, *modifiers)
    assert {"block": 0} | {n: v for n, v in asked.items() if n not in ("cbsz", "abid", "blgp")} in elements


def test_locate_says_where_in_words():
    assert out("locate", "f32_32x32x8f16", "a", "-i", 5, "-k", 6) == ("v1{37}.[15:0]  lane 37, register 1, bits 15:0\n")
    assert out("locate", "f64_16x16x4f64", "A", "-i", 5, "-k", 3, "--blgp", 1) == (
        "-v[1:0]{53}  lane 53, registers 0 and 1, bits 63:0, negated as it is read\n"
    )


def test_element_in_words():
    assert out("element", "f32_32x32x8f16", "D", "--lane", 39, "--vgpr", 1) == "D[5][7]  i 5, j 7, block 0\n"
    shared = out("element", "f32_32x32x1f32", "B", "--lane", 5, "--vgpr", 0, "--blgp", 1)
    assert shared == "B[0][5].0  k 0, j 5, block 0\nB[0][5].1  k 0, j 5, block 1\n"
    unread = ("element", "f32_32x32x1f32", "B", "--lane", 37, "--vgpr", 0, "--blgp", 1)
    assert out(*unread) == "none: with these modifiers nothing is read from there\n"
    assert data(*unread) == []


def golden(path):
    """Slots by block, row and column, as AMD's calculator writes them."""
    block, slots = None, {}
    for row in csv.reader(path.read_text().splitlines()):
        if row and row[0].startswith("Block"):
            block = int(row[0].removeprefix("Block "))
        elif row and row[0].isdigit() and block is not None:
            slots |= {(block, int(row[0]), column): slot for column, slot in enumerate(row[1:])}
    return slots


@pytest.mark.parametrize(
    "name", ["f32_4x4x4f16", "f32_32x32x8f16", "f64_4x4x4f64", "i32_16x16x32_i8", "f32_32x32x1f32"]
)
@pytest.mark.parametrize("matrix", "ABD")
def test_layout_by_elements_is_the_calculators(name, matrix):
    op = catalogue.find(name)
    expected = golden(GOLDEN / "layouts" / f"{op.mnemonic}.{matrix}.csv")
    header, *rows = csv.reader(out("layout", name, matrix, "--format", "csv").splitlines())
    labels = 2 if op.blocks > 1 else 1
    found = {
        (int(row[0]) if op.blocks > 1 else 0, int(row[labels - 1]), column): slot
        for row in rows
        for column, slot in enumerate(row[labels:])
    }
    assert found == expected
    assert header[labels:] == [f"{layout(op, matrix).pattern.coordinates[2]}={n}" for n in range(len(header) - labels)]


@pytest.mark.parametrize("name", ["f32_4x4x4f16", "f32_32x32x8f16", "f64_16x16x4f64", "i32_16x16x32_i8"])
@pytest.mark.parametrize("matrix", "ABCD")
def test_layout_by_registers_is_the_inverse(name, matrix):
    op = catalogue.find(name)
    header, *rows = csv.reader(out("layout", name, matrix, "--by", "registers", "--format", "csv").splitlines())
    for row in rows:
        for start, cell in zip(header[1:], row[1:], strict=True):
            row_index, column, block = map(int, re.fullmatch(r"[ABCD]\[(\d+)\]\[(\d+)\](?:\.(\d+))?", cell).groups("0"))
            _, i, j = layout(op, matrix).pattern.coordinates
            slot = str(layout(op, matrix).locate(**{i: row_index, j: column, "block": block}))
            assert (
                slot == start.replace("v", "v", 1).split(".")[0] + f"{{{row[0]}}}" + start[len(start.split(".")[0]) :]
            )


def test_layout_under_modifiers():
    rows = list(
        csv.reader(
            out(
                *["layout", "f32_4x4x4f16", "A", "--cbsz", "2", "--abid", "1", "--by", "registers", "--format", "csv"]
            ).splitlines()
        )
    )
    assert rows[1][1:] == ["unused"] * 4
    assert rows[5] == ["4", "A[0][0].0..3", "A[0][1].0..3", "A[0][2].0..3", "A[0][3].0..3"]
    rotated = data(*["layout", "f32_16x16x1f32", "B", "--blgp", "3"])
    assert {x["lane"] for x in rotated if x["block"] == 0} == set(range(16, 32))


@pytest.mark.parametrize("by", ["elements", "registers"])
def test_layout_as_json_has_every_slot(by):
    found = data("layout", "f32_4x4x4f16", "A", "--by", by)
    assert found == json.loads(out("layout", "f32_4x4x4f16", "A", "--by", by, "--format", "json"))
    assert len(found) == 16 * 4 * 4
    places = {(x["lane"], x["vgpr"], x["low_bit"]) for x in found}
    assert len(places) == len(found)
    if by == "registers":
        assert all(len(x["elements"]) == 1 for x in found)


@pytest.mark.parametrize("name", ["f32_4x4x4f16", "f32_32x32x8f16", "f64_16x16x4f64"])
@pytest.mark.parametrize("by", ["elements", "registers"])
def test_layout_as_text_fits_and_has_every_slot(name, by):
    shown = out("layout", name, "D", "--by", by)
    assert max(map(len, shown.splitlines())) <= 100
    csv_cells = [
        cell for row in csv.reader(out("layout", name, "D", "--by", by, "--format", "csv").splitlines()) for cell in row
    ]
    assert {cell for cell in csv_cells if "{" in cell or "[" in cell} <= set(shown.split())


def test_layout_as_documents():
    assert out("layout", "f32_4x4x4f16", "A", "--format", "markdown").startswith("| block |")
    assert out("layout", "f32_4x4x4f16", "A", "--format", "asciidoc").startswith("[%header,cols=")


def test_the_index_of_sparse_instructions():
    assert out("locate", "f32_16x16x32_f16", "K", "-i", 0, "-k", 1, "--sparse").split()[0] == "v0{0}.[7:4]"


# --- matmul -----------------------------------------------------------------------------------------------------------

TYPES = {
    "f32_16x16x4f32": (np.float32, np.float32, np.float32),
    "f32_32x32x8f16": (np.float16, np.float16, np.float32),
    "f32_32x32x8bf16_1k": (ml_dtypes.bfloat16, ml_dtypes.bfloat16, np.float32),
    "f32_16x16x32_fp8_bf8": (ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz, np.float32),
    "f32_16x16x8_xf32": (np.float32, np.float32, np.float32),
    "f64_16x16x4f64": (np.float64, np.float64, np.float64),
    "i32_16x16x32_i8": (np.int8, np.int8, np.int32),
}


def operands(name, shape_a=(9, 37), shape_b=(37, 5)):
    random = np.random.default_rng(3)
    a_type, b_type, c_type = TYPES[name]
    scale = 40 if a_type is np.int8 else 1
    return (
        (scale * random.standard_normal(shape_a)).astype(a_type),
        (scale * random.standard_normal(shape_b)).astype(b_type),
        (scale * random.standard_normal((shape_a[0], shape_b[1]))).astype(c_type),
    )


@pytest.mark.parametrize("name", TYPES)
def test_matmul_of_files_is_the_librarys(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a, b, c = operands(name)
    for file, array in (("A.npy", a), ("B.npy", b), ("C.npy", c)):
        np.save(file, array)
    shown = out("matmul", "A.npy", "B.npy", "--c", "C.npy", "--op", name, "-o", "D.npy")
    d = np.load("D.npy")
    expected = mfma.matmul(a, b, c, op=name)
    assert d.dtype == expected.dtype
    assert d.tobytes() == expected.tobytes()
    assert shown == f"D.npy: {d.dtype} (9, 5), {name}, model hardware\n"
    assert sorted(os.listdir()) == ["A.npy", "B.npy", "C.npy", "D.npy"]


def test_matmul_takes_the_integers_that_hold_codes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a, b, _ = operands("f32_32x32x8bf16_1k")
    np.save("A.npy", a.view(np.uint16))
    np.save("B.npy", b.view(np.int16))
    out("matmul", "A.npy", "B.npy", "--op", "f32_32x32x8bf16_1k", "-o", "D.npy")
    assert np.array_equal(np.load("D.npy"), mfma.matmul(a, b, op="f32_32x32x8bf16_1k"))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matmul_converts_if_asked(name, dtype, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(5)
    a, b = random.standard_normal((4, 16)).astype(dtype), random.standard_normal((16, 3)).astype(dtype)
    np.save("A.npy", a)
    np.save("B.npy", b)
    out("matmul", "A.npy", "B.npy", "--op", name, "--convert", "-o", "D.npy")
    op = mfma.op(name)
    # xf32 operands are float32 in memory: the matrix core does the cutting.
    a, b = (mfma.encode(x, {"xf32": "f32"}.get(f.name, f.name)) for x, f in ((a, op.a), (b, op.b)))
    assert np.load("D.npy").tobytes() == mfma.matmul(a, b, op=name).tobytes()


def test_matmul_passes_its_options_on(folder):
    a, b = np.load("A.npy").astype(np.float16), np.load("B.npy").astype(np.float16)
    np.save("a.npy", a)
    np.save("b.npy", b)
    line = ("matmul", "a.npy", "b.npy", "--op", "f32_32x32x8f16", "-o", "D.npy")
    permutation = [*range(39, -1, -1)]
    for options, arguments in (
        (("--model", "fma"), {"model": "fma"}),
        (("--model", "exact"), {"model": "exact"}),
        (("--kwidth", 8), {"k_order": {"kwidth": 8}}),
        (("--k-order", ",".join(map(str, permutation))), {"k_order": permutation}),
        (("--split-k", 3), {"split_k": 3}),
        (("--threads", 1), {"threads": 1}),
    ):
        out(*line, *options)
        assert np.load("D.npy").tobytes() == mfma.matmul(a, b, op="f32_32x32x8f16", **arguments).tobytes()


def test_matmul_in_batches(folder):
    a = np.arange(2 * 3 * 8, dtype=np.float16).reshape(2, 3, 8)
    np.save("a.npy", a)
    np.save("b.npy", a.swapaxes(1, 2))
    answer = data("matmul", "a.npy", "b.npy", "--op", "f32_32x32x8f16", "-o", "D.npy")
    assert answer == {
        "op": "f32_32x32x8f16",
        "model": "hardware",
        "shape": [2, 3, 3],
        "dtype": "float32",
        "output": "D.npy",
        "comparisons": {},
    }


def test_compare_counts_as_numpy_does(folder):
    """Cancellation leaves small outputs, whose differences are many steps wide."""
    a = np.array([[2048, 1, 2048, 3], [4, 1, 1, 1], [0.3, 0.2, 0.1, 0.4]], np.float16)
    b = np.array([[2048, 1], [0.125, 1], [-2047, 1], [1, 1]], np.float16)
    np.save("a.npy", a)
    np.save("b.npy", b)
    answer = data("matmul", "a.npy", "b.npy", "--op", "f32_32x32x8f16", "--compare", "-o", "D.npy")
    hardware = np.load("D.npy")
    exact = np.array(
        [
            [float(sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(r, c, strict=True))) for c in b.T]
            for r in a
        ]
    )
    exact = exact.astype(np.float32)
    fma = np.zeros_like(exact)
    for k in range(4):  # products of f16 are exact in float64, and here each sum is too
        fma = (fma.astype(np.float64) + a[:, k : k + 1].astype(np.float64) * b[k].astype(np.float64)).astype(np.float32)
    for model, reference in (("exact", exact), ("fma", fma)):
        steps = np.abs(hardware.view(np.int32).astype(np.int64) - reference.view(np.int32))  # both are positive
        assert (hardware > 0).all()
        assert (reference > 0).all()
        errors = hardware.astype(np.float64) - reference
        found = answer["comparisons"][model]
        assert found["outputs"] == 6
        assert found["differing"] == np.count_nonzero(hardware != reference)
        assert found["max_ulp"] == steps.max()
        assert found["bias"] == pytest.approx(errors.mean(), rel=1e-14)
        assert found["bias_ulp"] == pytest.approx((errors / np.spacing(hardware)).mean(), rel=1e-14)
    assert answer["comparisons"]["exact"]["differing"] > 0


def test_compare_as_a_table(folder):
    shown = out("matmul", "A.npy", "B.npy", "--op", "f32_32x32x8f16", "--convert", "--compare", "--model", "exact")
    first, header, fma, exact = shown.splitlines()
    assert first == "D: float32 (20, 24), f32_32x32x8f16, model exact"
    assert header.split("  ")[0] == "against"
    assert fma.split()[:2] == ["fma", "480"]
    assert exact.split() == ["exact", "480", "0", "0", "-", "+0", "+0"]
    assert not Path("D.npy").exists()


def test_compare_says_where_only_one_is_nan(folder):
    # Single products of 2**200 count as infinite, and the two have opposite signs.
    np.save("a.npy", np.array([[2.0**100, 2.0**100]], ml_dtypes.bfloat16))
    np.save("b.npy", np.array([[2.0**100], [-(2.0**100)]], ml_dtypes.bfloat16))
    shown = out("matmul", "a.npy", "b.npy", "--op", "f32_32x32x8bf16_1k", "--compare")
    assert "NaN in only one of the result and exact: 1\n" in shown


def test_results_replace_files_whole(folder):
    target = folder / "D.npy"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link = folder / "link.npy"
    link.symlink_to(target)
    out("matmul", "A.npy", "B.npy", "--op", "f32_16x16x4f32", "-o", link)
    assert link.is_symlink()
    assert np.load(target).shape == (20, 24)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_new_files_have_the_permissions_of_the_umask(folder):
    before = os.umask(0o027)
    try:
        out("matmul", "A.npy", "B.npy", "--op", "f32_16x16x4f32", "-o", "D.npy")
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("D.npy").stat().st_mode) == 0o640


def test_a_failure_keeps_the_old_file_and_leaves_nothing_behind(folder):
    Path("D.npy").write_bytes(b"old")
    refused("matmul", "A.npy", "A.npy", "--op", "f32_16x16x4f32", "-o", "D.npy")
    assert Path("D.npy").read_bytes() == b"old"
    assert sorted(os.listdir()) == ["A.npy", "B.npy", "D.npy", "kernel.s"]


def test_the_result_may_replace_an_operand(folder):
    expected = mfma.matmul(np.load("A.npy"), np.load("B.npy"), op="f32_16x16x4f32")
    out("matmul", "A.npy", "B.npy", "--op", "f32_16x16x4f32", "-o", "A.npy")
    assert np.array_equal(np.load("A.npy"), expected)


# --- explain ----------------------------------------------------------------------------------------------------------


def test_explain_of_lists():
    shown = out("explain", "f32_32x32x8f16", "--a", "2048,0x6800", "--b", "2048,-2048", "--c", "0xB5800000")
    a, b = np.array([2048, 2048], np.float16), np.array([2048, -2048], np.float16)
    expected = mfma.explain("f32_32x32x8f16", a, b, np.float32(-(2.0**-20)))
    assert shown == f"{expected}\n"


def test_explain_as_json_is_the_librarys():
    line = ("explain", "f32_16x16x32_fp8_fp8", "--a", "0x38,0x01", "--b", "1,240", "--c", "-1.5")
    a = np.array([0x38, 0x01], np.uint8)
    b = np.array([1, 240], ml_dtypes.float8_e4m3fnuz)
    assert data(*line) == mfma.explain("f32_16x16x32_fp8_fp8", a, b, -1.5).as_dict()


def test_explain_of_files(folder):
    c = np.arange(20 * 24, dtype=np.float32).reshape(20, 24)
    np.save("C.npy", c)
    a, b = np.load("A.npy").astype(np.float16), np.load("B.npy").astype(np.float16)
    found = data("explain", "f32_32x32x8f16", "--from", "A.npy", "B.npy", "C.npy", "--at", "3,5", "--convert")
    assert int(found["result"]["code"], 16) == mfma.matmul(a, b, c, op="f32_32x32x8f16").view(np.uint32)[3, 5]
    without = data("explain", "f32_32x32x8f16", "--from", "A.npy", "B.npy", "--at", "3,5", "--convert")
    assert int(without["result"]["code"], 16) == mfma.matmul(a, b, op="f32_32x32x8f16").view(np.uint32)[3, 5]


def test_explain_of_a_batch(folder):
    a = np.random.default_rng(1).standard_normal((3, 1, 4, 8)).astype(np.float16)
    b = np.random.default_rng(2).standard_normal((2, 8, 5)).astype(np.float16)
    np.save("a.npy", a)
    np.save("b.npy", b)
    found = data("explain", "f32_32x32x8f16", "--from", "a.npy", "b.npy", "--at", "2,1,3,4")
    assert int(found["result"]["code"], 16) == mfma.matmul(a, b, op="f32_32x32x8f16").view(np.uint32)[2, 1, 3, 4]


@pytest.mark.parametrize(
    ("options", "order"), [(("--kwidth", "8"), {"kwidth": 8}), (("--k-order", "2,0,1"), [2, 0, 1])]
)
def test_explain_in_another_order(options, order):
    a, b = np.array([1, 2, 3], np.float16), np.array([4, 5, 6], np.float16)
    found = data("explain", "f32_32x32x8f16", "--a", "1,2,3", "--b", "4,5,6", *options)
    assert found == mfma.explain("f32_32x32x8f16", a, b, k_order=order).as_dict()


# --- numbers ----------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.sampled_from([F16, BF16, FP8, BF8]), st.data())
def test_every_finite_number_is_read_exactly(format, data):
    code = data.draw(st.integers(0, 2**format.bits - 1))
    value = decode(np.array(code, f"uint{format.bits}"), format).item()
    if np.isfinite(value):
        assert literals.code(repr(value), format, convert=False) == code
    assert literals.code(hex(code), format, convert=False) == code


@settings(deadline=None)
@given(st.sampled_from([F16, BF16, FP8, BF8, I8]), st.floats(-1e6, 1e6))
def test_converting_is_encoding(format, number):
    if format is I8:
        number = number % 127
    expected = mfma.encode(number, format).view(f"uint{format.bits}").item()
    assert literals.code(repr(number), format, convert=True) == expected


@pytest.mark.parametrize(
    ("text", "format", "code"),
    [
        ("inf", F16, 0x7C00),
        ("-inf", F32, 0xFF800000),
        ("nan", F16, 0x7E00),
        ("0.1", F64, 0x3FB999999999999A),
        ("nan", FP8, 0x80),
        ("-0", F16, 0x8000),
        ("-0", I8, 0),
        ("-128", I8, 0x80),
        (" 1.5 ", BF16, 0x3FC0),
        ("1.0009765625", XF32, 0x3F802000),
        ("1.00000011920928955078125", XF32, 0x3F800001),
        ("5e-324", F64, 1),
    ],
)
def test_numbers(text, format, code):
    assert literals.code(text, format, convert=False) == code


# --- errors -----------------------------------------------------------------------------------------------------------

ERRORS = [
    ("lis", "No such command 'lis'"),
    ("list --target gfx90a", "full records exist for gfx942"),
    ("list --target gfx9999", "unknown target 'gfx9999'"),
    ("list --foo", "No such option '--foo'. See `mfma list --help`."),
    ("--foo", "No such option '--foo'. See `mfma --help`."),
    ("show", "Missing argument 'OP'"),
    ("show f32_16x16x16f61", "Did you mean f32_16x16x16f16"),
    ("show f32_32x32x4bf16", "on gfx942 use f32_32x32x8bf16_1k"),
    ("show smfmac_f32_16x16x32_f16", "is a sparse instruction"),
    ("peak f32_32x32x8f16 --device MI250", "no figures for the device 'MI250'"),
    ("peak f32_32x32x8f16 --clock -5", "clock_mhz is -5.0"),
    ("peak f32_32x32x8f16 --clock fast", "'fast' is not a valid float"),
    ("errata page-peak", "no erratum has the id 'page-peak'"),
    ("layout f32_32x32x8f16 Q", "has the matrices A, B, C, D, not 'Q'"),
    ("layout f32_32x32x8f16 A --cbsz 1", "takes cbsz 0 only, not 1"),
    ("layout f32_32x32x8f16 A --format png", "'png' is not one of 'text'"),
    ("inputs f32_32x32x8f16 -i 32 -j 0", "i=32 is not one of them"),
    ("locate f32_32x32x8f16 A -i 5", "k is missing"),
    ("locate f32_32x32x8f16 A -i 5 -k 99", "k=99 is not one of them"),
    ("locate f32_32x32x8f16 A -i x -k 1", "'x' is not a valid integer"),
    ("element f32_32x32x8f16 D --lane 64 --vgpr 0", "lane=64 is not one of them"),
    ("element f32_32x32x8f16 D --lane 0", "Missing option '--vgpr'"),
    ("explain f32_32x32x8f16", "Give --a LIST and --b LIST, or --from"),
    ("explain f32_32x32x8f16 --a 1", "Give --a LIST and --b LIST, or --from"),
    ("explain f32_32x32x8f16 --a 1 --b 1 --at 0,0", "Give --a LIST and --b LIST, or --from"),
    ("explain f32_32x32x8f16 --a 1 --b 1 C.npy", "Give --a LIST and --b LIST, or --from"),
    ("explain f32_32x32x8f16 --from A.npy B.npy", "Give --a LIST and --b LIST, or --from"),
    ("explain f32_32x32x8f16 --from A.npy B.npy --at 0,0 --c 1", "Give --a LIST and --b LIST, or --from"),
    ("explain f32_32x32x8f16 --from A.npy B.npy --at 0,0 --a 1 --b 1", "Give --a LIST and --b LIST, or --from"),
    ("explain f32_32x32x8f16 --a 1 --b 1,2", "give both the same K"),
    ("explain f32_32x32x8f16 --a 1,x --b 1,2", "'x' is no number: give codes such as 0x3C00"),
    ("explain f32_32x32x8f16 --a 1, --b 1,2", "'' is no number"),
    ("explain f32_32x32x8f16 --a 1 --b 1e99999999999999999999", "is too large for a float64"),
    ("explain f32_16x16x32_fp8_fp8 --a=-0 --b 1", "-0 is no fp8 number: give 0x00 = 0.0, which it rounds to"),
    ("explain f32_32x32x8f16 --a 0.1 --b 1", "0.1 is no f16 number: give 0x2E66 = 0.0999755859375, which it rounds to"),
    ("explain f32_16x16x32_fp8_fp8 --a inf --b 1", "inf is no fp8 number"),
    ("explain f64_4x4x4f64 --a 1e400 --b 1", "1e400 is too large for a float64: give inf for infinity"),
    ("explain f32_32x32x8f16 --a 0x13C00 --b 1", "0x13c00 is no code of f16: after 0x give up to 4 hexadecimal digits"),
    ("explain f32_32x32x8f16 --a 0x1.8 --b 1", "is no code of f16"),
    ("explain i32_4x4x4i8 --a 128 --b 1", "128 is no i8 number: give an integer from -128 to 127"),
    ("explain i32_4x4x4i8 --a nan --b 1", "nan is no i8 number"),
    ("explain i32_4x4x4i8 --a 1.5 --b 1", "1.5 is no i8 number"),
    ("explain f32_32x32x8f16 --a 1 --b 1 --kwidth 8 --k-order 0", "Give --kwidth or --k-order, not both"),
    ("explain f32_32x32x8f16 --a 1 --b 1 --kwidth 3", "k_order is {'kwidth': 3}"),
    ("explain f32_32x32x8f16 --a 1 --b 1 --k-order 0,a", "'0,a' is no list of integers such as 0,2,1"),
    ("explain f32_32x32x8f16 --a 1,2 --b 1,2 --k-order 0,0", "k_order is no permutation"),
    ("explain f32_16x16x4f32 --from A.npy B.npy --at 20,0", "--at 20,0 is no output: D has shape (20, 24)"),
    ("explain f32_16x16x4f32 --from A.npy B.npy --at 1", "so give 2 indices from 0"),
    ("explain f32_16x16x4f32 --from A.npy B.npy --at=-1,0", "--at -1,0 is no output"),
    ("explain f32_16x16x4f32 --from A.npy A.npy --at 0,0", "give both the same K"),
    ("explain f32_16x16x4f32 --from A.npy B.npy A.npy --at 0,0", "must be (..., M, K), (..., K, N) and (..., M, N)"),
    ("explain f32_16x16x4f32 --from row.npy B.npy --at 0,0", "must be (..., M, K), (..., K, N) and (..., M, N)"),
    ("matmul A.npy B.npy --op f32_16x16x4f32", "Give -o D.npy for the result, or --compare, or both"),
    ("matmul A.npy B.npy -o D.npy", "Missing option '--op'"),
    ("matmul A.npy B.npy --op nope -o D.npy", "has no instruction 'nope'"),
    ("matmul A.npy A.npy --op f32_16x16x4f32 -o D.npy", "they must be (..., M, K) and (..., K, N) with one K"),
    ("matmul A.npy B.npy --op f32_16x16x4f32 -o D.npy --c A.npy", "C has shape (20, 40)"),
    ("matmul A.npy B.npy --op f32_16x16x4f32 -o D.npy --model fast", "a model is one of hardware, fma, exact"),
    ("matmul A.npy B.npy --op f32_16x16x4f32 -o D.npy --split-k 99", "split_k is 99"),
    ("matmul A.npy B.npy --op f32_16x16x4f32 -o D.npy --threads 0", "threads is 0"),
    (
        "matmul A.npy B.npy --op f32_32x32x8f16 -o D.npy",
        "A (A.npy) is float32, but an operand of format f16 is float16: add --convert",
    ),
    ("matmul A.npy B.npy --op i32_16x16x32_i8 -o D.npy --convert --c big.npy", "outside the range of i32"),
    ("matmul brain.npy B.npy --op f32_32x32x8f16 -o D.npy --convert", "(A is brain.npy.)"),
    ("matmul bool.npy B.npy --op f32_32x32x8f16 -o D.npy --convert", "A is bool"),
    ("matmul nope.npy B.npy --op f32_16x16x4f32 -o D.npy", "cannot read nope.npy: No such file or directory"),
    ("matmul . B.npy --op f32_16x16x4f32 -o D.npy", "cannot read .: Is a directory"),
    ("matmul text.npy B.npy --op f32_16x16x4f32 -o D.npy", "text.npy is no array that can be read"),
    ("matmul empty.npy B.npy --op f32_16x16x4f32 -o D.npy", "empty.npy is no array that can be read"),
    ("matmul cut.npy B.npy --op f32_16x16x4f32 -o D.npy", "cut.npy is no array that can be read"),
    ("matmul pickled.npy B.npy --op f32_16x16x4f32 -o D.npy", "Object arrays cannot be loaded"),
    ("matmul zipped.npz B.npy --op f32_16x16x4f32 -o D.npy", "zipped.npz is no array that can be read"),
    ("matmul ocp.npy B.npy --op f32_16x16x32_bf8_bf8 -o D.npy", "8-bit floats by their bytes (array.view('uint8'))"),
    (
        "matmul A.npy B.npy --op f32_16x16x4f32 -o nowhere/D.npy",
        "cannot write nowhere/D.npy: No such file or directory",
    ),
    ("matmul A.npy B.npy --op f32_16x16x4f32 -o A.npy/D.npy", "cannot write A.npy/D.npy: Not a directory"),
    ("matmul A.npy B.npy --op f32_16x16x4f32 -o .", "cannot write .: it is no regular file"),
    ("matmul A.npy B.npy --op f32_16x16x4f32 -o /dev/null", "cannot write /dev/null: it is no regular file"),
]


@pytest.fixture
def bad_files(folder):
    np.save("row.npy", np.zeros(40, np.float32))
    np.save("big.npy", np.full((20, 24), 1e12))
    np.save("brain.npy", np.zeros((20, 40), ml_dtypes.bfloat16))
    np.save("bool.npy", np.zeros((20, 40), bool))
    np.save("ocp.npy", np.zeros((20, 40), ml_dtypes.float8_e5m2))
    np.save("pickled.npy", np.array([[object()]]), allow_pickle=True)
    np.savez("zipped.npz", a=np.zeros(3))
    Path("text.npy").write_text("1 2 3\n")
    Path("empty.npy").write_bytes(b"")
    Path("cut.npy").write_bytes(Path("A.npy").read_bytes()[:-100])
    return folder


@pytest.mark.parametrize(("line", "said"), ERRORS)
def test_bad_input_is_one_line_and_exit_code_2(line, said, bad_files):
    before = sorted(os.listdir())
    assert said in refused(*line.split())
    assert sorted(os.listdir()) == before


def test_too_large_a_result_is_one_line(folder, monkeypatch):
    def no_memory(*_args, **_options):
        raise MemoryError("Unable to allocate 14.6 TiB")

    monkeypatch.setattr("mfma.matrices.matmul.matmul", no_memory)
    line = "matmul A.npy B.npy --op f32_16x16x4f32 -o D.npy"
    result = run(*line.split(), code=2)
    assert result.stderr == "mfma: not enough memory. Unable to allocate 14.6 TiB\n"


def test_a_full_disk_is_one_line(folder, monkeypatch):
    def full(*_args, **_options):
        raise OSError("3 requested and 0 written")

    monkeypatch.setattr("numpy.lib.format.write_array", full)
    said = refused(*["matmul", "A.npy", "B.npy", "--op", "f32_16x16x4f32", "-o", "D.npy"])
    assert "cannot write D.npy: 3 requested and 0 written" in said
    assert sorted(os.listdir()) == ["A.npy", "B.npy", "kernel.s"]


def test_errors_in_a_process(tmp_path):
    done = process("show", "f32_32x32x4bf16", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mfma: f32_32x32x4bf16 exists on gfx908")
    assert done.stderr.count("\n") == 1


def test_a_closed_pipe_is_quiet():
    line = f"{shlex.quote(sys.executable)} -m mfma layout f32_32x32x1f32 D --json | head -1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("[\n", "")


def test_a_terminal_without_the_letters_gets_others():
    done = process("peak", "f32_32x32x8f16", env=os.environ | {"PYTHONIOENCODING": "cp437"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "16384 operations / 32 cycles ? 4 matrix cores" in done.stdout


def test_json_is_ascii():
    assert out("show", "f32_32x32x8f16", "--json").isascii()


def test_nothing_is_coloured():
    for line in ("show f32_32x32x8f16", "--help", "errata"):
        assert "\x1b" not in out(*line.split())


def test_interrupting_is_quiet(monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("mfma.isa.catalogue.ops", interrupted)
    result = run("list", code=130)
    assert (result.stdout, result.stderr) == ("", "")


def test_ctrl_c_in_a_process_leaves_no_file(tmp_path):
    size = 2500
    np.save(tmp_path / "A.npy", np.ones((size, size), np.float32))
    line = [sys.executable, "-m", "mfma", "matmul", "A.npy", "A.npy", "--op", "f32_16x16x4f32", "--model", "exact"]
    running = subprocess.Popen(
        [*line, "-o", "D.npy"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + 60
    while len(os.listdir(tmp_path)) == 1 and time.monotonic() < limit:
        time.sleep(0.02)
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    shown, errors = running.communicate(timeout=60)
    assert (running.returncode, shown, errors) == (130, "", "")
    assert os.listdir(tmp_path) == ["A.npy"]


# --- progress ---------------------------------------------------------------------------------------------------------


def on_a_terminal(patience, folder):
    """Run a product with standard error on a terminal and return what appears there."""
    controller, terminal = pty.openpty()
    code = (
        f"import mfma.cli.progress as progress; progress.PATIENCE = {patience}; from mfma.cli import main; "
        "main(['matmul', 'A.npy', 'B.npy', '--op', 'f32_16x16x4f32', '-o', 'D.npy'])"
    )
    environment = os.environ | {"TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, stderr=terminal, stdout=subprocess.PIPE, env=environment, check=True
    )
    os.write(terminal, b"\0")
    seen = b""
    while not seen.endswith(b"\0"):
        seen += os.read(controller, 4096)
    os.close(controller)
    os.close(terminal)
    assert done.stdout.startswith(b"D.npy: float32")
    return seen[:-1]


def test_slow_work_shows_a_bar_on_a_terminal(folder):
    assert b"hardware" in on_a_terminal(0, folder)


def test_fast_work_shows_no_bar(folder):
    assert on_a_terminal(60, folder) == b""
