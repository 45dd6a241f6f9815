"""``mfma run``, ``trace`` and ``profile``: arguments of every kind, files that are whole or not there, refusals."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

import mfma
from corpus.case import OBJECTS
from mfma.cli import main
from mfma.cli.arguments import Arguments
from mfma.cli.shell import Refusal

GOLDEN = Path(__file__).parent / "golden" / "emulator"


def run(line, code=0):
    result = CliRunner().invoke(main, line.split(), prog_name="mfma")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def out(line):
    result = run(line)
    assert result.stderr == ""
    return result.stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(OBJECTS / "hip_vector_debug.co", "vector.co")
    shutil.copy(OBJECTS / "hip_flow.co", "flow.co")
    shutil.copy(OBJECTS / "triton_softmax_fp32.hsaco", "softmax.hsaco")
    shutil.copy(GOLDEN / "missing.co", "missing.co")
    x = np.arange(1000, dtype=np.float32)
    for name, array in {"x": x, "y": 2 * x, "z": 0 * x}.items():
        np.save(f"{name}.npy", array)
    return tmp_path


ADD = "run vector.co --kernel add_f32 --grid 16 --block 64 --args x.npy y.npy z.npy 1000"
TRACE = ADD.replace("run", "trace", 1)
PROFILE = ADD.replace("run", "profile", 1)


# --- run --------------------------------------------------------------------------------------------------------------


def test_run_writes_what_the_kernel_left(folder):
    shown = out(f"{ADD} -o z.npy")
    assert shown.splitlines()[1:] == ["z.npy: float32 1000"]
    assert np.array_equal(np.load("z.npy"), 3 * np.load("x.npy"))


def test_the_order_of_options_does_not_matter(folder):
    out("run --args x.npy y.npy zeros:float32:1000 1000 --block 64 -o a.npy=2 --grid 16 --kernel add_f32 vector.co")
    out(
        "run --args=x.npy y.npy --args zeros:f32:1000 1000 -o b.npy=2 --grid=16x1 --block 64 vector.co --kernel add_f32"
    )
    assert np.array_equal(np.load("a.npy"), 3 * np.load("x.npy"))
    assert np.array_equal(np.load("b.npy"), 3 * np.load("x.npy"))


def test_without_o_nothing_is_written(folder):
    before = {path: Path(path).read_bytes() for path in os.listdir()}
    out(ADD)
    assert {path: Path(path).read_bytes() for path in os.listdir()} == before


def test_the_same_file_twice_is_the_same_memory(folder):
    out("run vector.co --kernel add_f32 --grid 16 --block 64 --args x.npy y.npy x.npy 1000 -o x.npy -o again.npy=2")
    assert np.array_equal(np.load("x.npy"), 1.5 * np.load("y.npy"))
    assert np.array_equal(np.load("again.npy"), np.load("x.npy"))


def test_the_report_as_text_and_as_json(folder):
    library = mfma.load("vector.co")["add_f32"].launch(16, 64, [np.load(f"{n}.npy") for n in "xyz"] + [1000])
    first, _, table = out(f"{ADD} --report").partition("\n\n")
    assert f"{library.executed} instructions" in first
    assert [line.split()[0] for line in table.splitlines() if line[0] != " "] == [
        "instruction", *(ran.mnemonic for ran in library.instructions),
    ]  # fmt: skip
    assert json.loads(out(f"{ADD} --json")) == json.loads(json.dumps(library.as_dict()))


def test_integers_and_floats_of_every_size(folder):
    out(
        "run vector.co --kernel by_value --block 64 "
        "--args -3 0x7fffffffffffffff -0x10 float32:2 0xff -1e3 zeros:i64:6 -o v.npy=6"
    )
    assert np.load("v.npy").tolist() == [-3, 2**63 - 1, -16, 2, 255, -1000]


def test_metadata_say_which_values_are_floats(folder):
    out("run missing.co --kernel typed --args zeros:u32:4 1 -1 3 -o v.npy=0")
    assert np.load("v.npy")[1] == 2**32 - 1
    assert np.load("v.npy")[:1].view(np.float32) == 1
    assert np.load("v.npy")[2:].view(np.float64) == 3
    out("run missing.co --kernel typed --args zeros:u32:4 0x7fc00001 7 0x3ff0000000000000 -o v.npy=0")
    assert np.load("v.npy")[0] == 0x7FC0_0001
    assert np.load("v.npy")[2:].view(np.float64) == 1


def test_typed_numbers_have_their_bits(folder):
    kernel = mfma.load("vector.co")["by_value"].kernel
    sizes = {"i8": 1, "fp8": 1, "bf8": 1, "float16": 2, "bfloat16": 2, "f32": 4, "uint64": 8, "float64": 8}
    first = kernel.arguments[0]
    for name, size in sizes.items():
        one = replace(kernel, arguments=(replace(first, size=size),))
        (value,) = Arguments(one, [f"{name}:1"]).values
        assert value == 1
        assert value.dtype.itemsize == size
    one = replace(kernel, arguments=(replace(first, size=2, type_name="half"),))
    assert Arguments(one, ["0.5"]).values == [0.5]
    assert Arguments(one, ["2"]).values == [2.0]
    (tenth,) = Arguments(one, ["bfloat16:0.1"]).values
    assert tenth == ml_dtypes.bfloat16(0.1)
    with pytest.raises(Refusal, match="float16 goes to 65504"):
        Arguments(one, ["float16:1e5"])
    with pytest.raises(Refusal, match="goes to 240"):
        Arguments(one, ["fp8:inf"])
    assert np.isinf(Arguments(one, ["float16:-inf"]).values[0])


def test_bfloat16_files_keep_their_bytes(folder):
    values = np.arange(100).astype(ml_dtypes.bfloat16)
    np.save("h.npy", values)  # NumPy reads this back as bytes without a type
    out("run vector.co --kernel add_bf16 --block 128 --args h.npy h.npy zeros:bfloat16:100 100 -o sum.npy=2")
    out("run vector.co --kernel axpy_bf16 --block 128 --args bfloat16:0.5 h.npy h.npy 100 -o h.npy")
    assert np.array_equal(np.load("sum.npy").view(ml_dtypes.bfloat16), values + values)
    assert np.array_equal(np.load("h.npy").view(ml_dtypes.bfloat16), values * ml_dtypes.bfloat16(1.5))


def test_fp8_files_by_their_bytes(folder):
    shutil.copy(OBJECTS / "triton_convert_fp8e4b8_fp32.hsaco", "convert.hsaco")
    kernel = mfma.load("convert.hsaco")
    (name,) = kernel
    codes = np.arange(256, dtype=np.uint8)
    np.save("codes.npy", codes)
    count = len([a for a in kernel[name].kernel.arguments if not a.hidden])
    rest = " ".join(["256", *["null"] * (count - 3)])
    out(f"run convert.hsaco --block 64 --grid 4 --args codes.npy zeros:float32:256 {rest} -o out.npy=1")
    expected = codes.view(ml_dtypes.float8_e4m3fnuz).astype(np.float32)
    assert np.array_equal(np.load("out.npy"), expected, equal_nan=True)


def test_require(folder):
    softmax = "run softmax.hsaco --block 256 --lds 16 --args x.npy y.npy 99 99 null null"
    result = run(f"{softmax} -o y.npy --require tested", code=2)
    assert (
        result.stderr
        == "mfma: softmax used what is less than tested: v_exp_f32_e32 (assumed), v_rcp_f32_e32 (assumed).\n"
    )
    assert np.array_equal(np.load("y.npy"), 2 * np.load("x.npy"))
    out(f"{softmax} -o y.npy --require assumed")
    assert np.load("y.npy")[:99].sum() == pytest.approx(1)
    out(f"{ADD} --require recorded")


# --- trace ------------------------------------------------------------------------------------------------------------


def test_trace_shows_one_lane_of_one_wave(folder):
    lines = out(f"{TRACE} --group 3 --lane 5 --from add_f32+0x84 --to 0x7a90").splitlines()
    x = np.float32(3 * 64 + 5)
    place, add, store, end = lines
    assert re.fullmatch(r"; .*vector\.hip:\d+", place)
    assert add.split("; ")[0].strip() == "0x007a84  v_add_f32_e32 v2, v2, v3"
    assert add.split("; ")[1] == " ".join(
        [f"v2=0x{x.view('u4'):08x} ({x})", f"v3=0x{(2 * x).view('u4'):08x} ({2 * x})", "->",
         f"v2=0x{(3 * x).view('u4'):08x} ({3 * x})"]
    )  # fmt: skip
    assert "global_store_dword" in store
    assert end.split()[1] == "s_endpgm"


def test_trace_agrees_with_the_report(folder):
    report = mfma.load("vector.co")["add_f32"].launch(1, 64, [np.load(f"{n}.npy") for n in "xyz"] + [64])
    shown = out("trace vector.co --kernel add_f32 --block 64 --args x.npy y.npy z.npy 64 --json").splitlines()
    texts = [json.loads(line)["text"].split()[0] for line in shown]
    assert sorted(texts) == sorted(name for ran in report.instructions for name in [ran.mnemonic] * ran.count)


def test_trace_shows_exec_and_scc_where_they_change(folder):
    shown = out(f"{TRACE} --group 15 --json").splitlines()
    lines = [json.loads(line) for line in shown]
    (save,) = [line for line in lines if line["text"].startswith("s_and_saveexec_b64")]
    assert save["writes"]["exec"] == f"0x{(1 << 40) - 1:016x}"  # 1000 = 15 * 64 + 40
    before = [(0, (1 << 64) - 1), *((line["scc"], int(line["exec"], 16)) for line in lines)]
    for line, (scc, exec_) in zip(lines, before, strict=False):
        assert ("scc" in line["writes"]) == (line["scc"] != scc)
        assert int(line["writes"].get("exec", hex(exec_)), 16) == int(line["exec"], 16)


def test_trace_stops_at_its_limit(folder):
    result = run("trace missing.co --kernel endless --block 64 --limit 3 --timeout 20")
    assert len(result.stdout.splitlines()) == 1 + 3
    assert result.stderr == "mfma: stopped after 3 instructions; --limit takes more.\n"


def test_trace_ends_with_the_wave(folder):
    """Not with the launch: the work-groups after it would fault."""
    shown = out("trace vector.co --kernel add_f32 --grid 99 --block 64 --args x.npy y.npy z.npy 9999 --to add_f32+0x8")
    assert "s_load_dword" in shown


def test_trace_shows_what_came_before_a_fault(folder):
    line = "trace vector.co --kernel add_f32 --grid 99 --block 64 --args x.npy y.npy z.npy 9999 --group 15"
    result = run(line, code=2)
    assert "s_and_saveexec" in result.stdout
    assert "lane 40" in result.stderr


def test_device_addresses_are_the_same_in_every_run(folder):
    assert out(TRACE) == out(TRACE)


# --- profile ----------------------------------------------------------------------------------------------------------


def test_profile_is_the_librarys(folder):
    launch = mfma.load("vector.co")["add_f32"].launch
    library = launch(16, 64, [np.load(f"{n}.npy") for n in "xyz"] + [1000], profile=True).profile
    assert json.loads(out(f"{PROFILE} --json")) == json.loads(json.dumps(library.as_dict()))
    assert out(PROFILE) == f"{library}\n"
    assert out(f"{PROFILE} --listing") == "\n".join(library.listing()) + "\n"


def test_profile_writes_nothing(folder):
    before = {path: Path(path).read_bytes() for path in os.listdir()}
    out(PROFILE)
    assert {path: Path(path).read_bytes() for path in os.listdir()} == before


# --- refusals ---------------------------------------------------------------------------------------------------------

V = "run vector.co --kernel add_f32 --grid 16 --block 64"
REFUSALS = [
    ("run nofile.co --block 64", "nofile.co cannot be read: No such file or directory"),
    ("run . --block 64", ". cannot be read: Is a directory"),
    ("profile kernel.hip --block 64", "kernel.hip is source; compile it, as `mfma run kernel.hip -o PROGRAM` does"),
    ("run x.npy --block 64", "x.npy is neither ELF nor an offload bundle"),
    ("run gfx90a.co --block 64", "has no code object for gfx942, only for gfx90a"),
    ("run --block 64", "Missing argument 'FILE'."),
    ("run vector.co --block 64", "vector.co has 20 kernels; name one with --kernel: add_f32, "),
    ("run vector.co --kernel add_f33 --block 64", "Did you mean add_f32"),
    ("run vector.co --kernel add_f32", "the work-items of a work-group; add_f32 was compiled for up to 1,024."),
    (V, "add_f32 takes 4 arguments and 0 were given"),
    (f"{V} --args x.npy y.npy z.npy", "add_f32 takes 4 arguments and 3 were given"),
    (f"{V} --args x.npy y.npy z.npy 1000 5", "add_f32 takes 4 arguments and 5 were given"),
    (f"{V} --args x.npy y.npy nope.npy 1000", "cannot read nope.npy: No such file or directory."),
    (f"{V} --args x.npy y.npy text.npy 1000", "text.npy is no array that can be read"),
    (f"{V} --args x.npy y.npy 5 1000", "argument 2 is a pointer and '5' was given; give NAME.npy, "),
    (f"{V} --args x.npy y.npy z.npy x.npy", "argument 3 has 4 bytes and an array of float32 (1000,) has 4000."),
    (f"{V} --args x.npy y.npy z.npy abc", "'abc' is no value for argument 3; give an integer, a float such as 1.5"),
    (f"{V} --args x.npy y.npy z.npy f33:1", "'f33:1' begins with no type; give one of int8, "),
    (f"{V} --args x.npy y.npy z.npy float64:1", "argument 3 has 4 bytes and float64 np.float64(1.0) has 8."),
    (f"{V} --args x.npy y.npy z.npy uint8:300", "'uint8:300' is no number of its type; give an integer from 0 to 255."),
    (f"{V} --args x.npy y.npy z.npy u32:1.5", "no number of its type; give an integer from 0 to 4294967295."),
    (f"{V} --args x.npy y.npy z.npy f32:x", "'f32:x' is no number of its type; give a decimal such as f32:1.5"),
    (f"{V} --args x.npy y.npy z.npy f32:1e60", "'f32:1e60' is no number of its type; float32 goes to 3.40282e+38."),
    (f"{V} --args x.npy y.npy z.npy 4294967296", "argument 3 has 4 bytes, which do not hold 4294967296."),
    (f"{V} --args x.npy y.npy z.npy 1e300", "argument 3 is a float of 4 bytes, which does not hold 1e+300."),
    (f"{V} --args x.npy y.npy zeros:float32:a 1000", "give zeros:TYPE:SHAPE such as zeros:float32:64,64."),
    (f"{V} --args x.npy y.npy zeros:float32 1000", "give zeros:TYPE:SHAPE such as zeros:float32:64,64."),
    (f"{V} --args x.npy y.npy zeros:float32:0 1000", "give zeros:TYPE:SHAPE such as zeros:float32:64,64."),
    (f"{V} --args x.npy y.npy zeros:floot:4 1000", "'floot:4' begins with no type"),
    (f"{V} --args x.npy y.npy zeros:u8:{1 << 62},{1 << 62} 9", "is no array: "),
    (f"{V} --args x.npy y.npy zeros:float32:99999999999999 9", "not enough memory."),
    (f"{V} --args x.npy y.npy z.npy 1000 -o q.npy", "-o q.npy names no array among the arguments"),
    (f"{V} --args x.npy y.npy z.npy 1000 -o q.npy=3", "0 (x.npy), 1 (y.npy), 2 (z.npy)."),
    (f"{V} --args x.npy y.npy z.npy 1000 -o q.npy=9", "-o q.npy=9 names no array among the arguments"),
    (f"{V} --args x.npy y.npy z.npy 1000 -o q.npy=-1", "-o q.npy=-1 names no array among the arguments"),
    (f"{V} --args x.npy y.npy z.npy 1000 -o q.txt=2", "arrays are written to .npy files"),
    (f"{V} --args x.npy y.npy z.npy 1000 -o no/q.npy=2", "cannot write no/q.npy: No such file or directory."),
    (f"{V} --args x.npy y.npy z.npy 1000 -o dir.npy=2", "cannot write dir.npy: it is no regular file."),
    (f"{V} --args x.npy y.npy z.npy 1000 -o q.npy=1 -o q.npy=2", "-o q.npy is given twice"),
    (f"{ADD} --grid 0", "grid is one to three positive numbers (x, y, z), not (0, 1, 1)."),
    (f"{ADD} --grid 1,2,3,4", "'1,2,3,4' is no list of one to three integers such as 16,16."),
    (f"{ADD} --grid a", "'a' is no list of one to three integers such as 16,16."),
    (f"{ADD} --grid 1073741824 --block 64", "at most 4,294,967,295 go."),
    (f"{ADD} --block 2048", "block (2048, 1, 1) has 2,048 work-items and add_f32 was compiled for at most 1,024."),
    (f"{ADD} --block 64,0", "block is one to three positive numbers (x, y, z), not (64, 0, 1)."),
    (f"{ADD} --lds 70000", "a work-group has 65,536."),
    (f"{ADD} --lds -1", "-1 is not in the range x>=0."),
    (f"{ADD} --timeout soon", "'soon' is not a valid float range."),
    (f"{ADD} --require good", "'good' is not one of 'recorded', 'statistics', 'tested', 'documented', 'assumed'."),
    (f"{ADD} --arg x.npy", "No such option '--arg'. Did you mean '--args'? See"),
    (f"{V} --args x.npy y.npy z.npy 2000 --grid 17 -o q.npy=2", "global_load_dword v2, v[2:3], off"),
    (f"{V} --args x.npy y.npy null 1000 -o q.npy=1", "global_store_dword v[0:1], v2, off"),
    ("run missing.co --kernel typed --block 128 --args null 1 1 1", "for the block (64, 1, 1), not (128, 1, 1)."),
    ("run missing.co --kernel typed --args null 1.5 1.5 x", "'x' is no value for double"),
    ("run missing.co --kernel endless --block 64 --timeout 0.1", "the launch was stopped after 0.1 s; raise `timeout`"),
    ("run missing.co --kernel behind_call --block 64", "v_smfmac_f32_16x16x32_f16 at 0x2900, sparse+0x0 (./"),
    ("run vector.co --kernel axpy_bf16 --block 64 --args 0.5 x.npy x.npy 9", "give float16:0.5 or bfloat16:0.5."),
    ("run vector.co --kernel by_value --block 64 --args 0.5 1 1 1 1 1 null", "give fp8:0.5 or bf8:0.5."),
    (f"{TRACE} --group 16", "--group (16, 0, 0) is outside the grid (16, 1, 1); give x,y,z below it."),
    (f"{TRACE} --group -1", "--group (-1, 0, 0) is outside the grid (16, 1, 1)"),
    (f"{TRACE} --wave 1", "--wave 1 is outside the block (64, 1, 1); its waves have numbers up to 0."),
    (f"{TRACE} --lane 64", "64 is not in the range 0<=x<=63."),
    (f"{TRACE} --from zz", "'zz' is no address; give one such as 0x1a00 or add_f32+0x40."),
    (f"{TRACE} --from add_f32+zz", "'add_f32+zz' is no address"),
    (f"{TRACE} --from add_f64 --to add_f64+10", "executed nothing in this range of addresses."),
    (f"{TRACE} --limit 0", "0 is not in the range x>=1."),
    (f"{TRACE} -o q.npy", "No such option '-o'."),
    (f"{PROFILE} -o q.npy", "No such option '-o'."),
    (f"{PROFILE} --listing --json", "Give --listing or --json, not both."),
    (f"{PROFILE} --grid 17 --block 64 --args 9999", "add_f32 takes 4 arguments and 5 were given"),
    (PROFILE.replace(" 1000", " 2000") + " --grid 17", "outside every buffer"),
    ("profile missing.co --kernel endless --block 64 --timeout 0.1", "the launch was stopped after 0.1 s"),
    ("profile vector.co --kernel add_f32", "give --block, the work-items of a work-group"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "said"), REFUSALS)
def test_refusal_is_one_line_and_exit_code_2(line, said, folder):
    Path("text.npy").write_text("1 2 3\n")
    Path("dir.npy").mkdir()
    shutil.copy(GOLDEN.parent / "codeobject" / "gfx90a.co", "gfx90a.co")
    before = {path: Path(path).is_dir() or Path(path).read_bytes() for path in os.listdir()}
    result = run(line, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("mfma: ")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 700
    assert said in result.stderr
    assert {path: Path(path).is_dir() or Path(path).read_bytes() for path in os.listdir()} == before


def test_a_full_disk_is_one_line(folder, monkeypatch):
    def full(*_args, **_options):
        raise OSError("3 requested and 0 written")

    monkeypatch.setattr("numpy.lib.format.write_array", full)
    before = sorted(os.listdir())
    result = run(f"{ADD} -o z.npy -o q.npy=0", code=2)
    assert result.stderr == "mfma: cannot write z.npy: 3 requested and 0 written.\n"
    assert sorted(os.listdir()) == before


# --- in a process -----------------------------------------------------------------------------------------------------


def test_ctrl_c_is_quiet_and_leaves_no_file(folder):
    count = 64 * 50_000
    np.save("start.npy", np.full(count, 837_799, np.uint32))
    line = f"flow.co --kernel collatz --grid 50000 --block 64 --args start.npy zeros:u32:{count} {count} -o steps.npy=1"
    before = sorted(os.listdir())
    running = subprocess.Popen(
        [sys.executable, "-m", "mfma", "run", *line.split()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    limit = time.monotonic() + 60
    while sorted(os.listdir()) == before and time.monotonic() < limit:
        time.sleep(0.02)
    assert sorted(os.listdir()) != before
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=60) == ("", "")
    assert running.returncode == 130
    assert sorted(os.listdir()) == before


def test_a_closed_pipe_is_quiet(folder):
    line = f"{sys.executable} -m mfma {TRACE} | head -1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("; ")
    assert done.stderr == ""


def test_a_long_run_shows_a_bar_on_a_terminal(folder):
    controller, terminal = pty.openpty()
    code = (
        f"import mfma.cli.progress as progress; progress.PATIENCE = 0; from mfma.cli import main; main({ADD.split()!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        stderr=terminal,
        stdout=subprocess.PIPE,
        env=os.environ | {"TERM": "xterm"},
        check=True,
    )
    os.write(terminal, b"\0")
    seen = b""
    while not seen.endswith(b"\0"):
        seen += os.read(controller, 4096)
    os.close(controller)
    os.close(terminal)
    assert b"add_f32: work-groups" in seen
    assert done.stdout.startswith(b"add_f32: grid 16")
