"""Whole HIP programs through ``mfma run``: compiled by the installed clang, run on the emulator."""

import os
import signal
import subprocess
import sys

import pytest

from hip_broken import BROKEN, PAGE
from hip_cases import OPS, TILES, kernel, placements
from hip_tools import missing
from mfma import MissingToolError
from mfma.gemm import Gemm, Memory
from mfma.gemm.hip import expected_output, hip
from mfma.integrations import doctor
from mfma.integrations.hip.library import library_folder
from test_hip import EXAMPLE, is_fulfilled

pytestmark = pytest.mark.long

LINE = "-O3 -std=c++17 --offload-arch=gfx942"
"""The flags of the ROCm page."""
KINDS = tuple(TILES)
CASES = [(op, KINDS[n % len(KINDS)], placements(op)[n % len(placements(op))]) for n, op in enumerate(OPS)]


@pytest.fixture(scope="module", autouse=True)
def _tools():
    try:
        doctor.require("hip")
    except MissingToolError as error:
        missing(str(error))


def run(folder, *words, **options):
    """Run a program, with the cache of all tests unless the environment has another."""
    command = [sys.executable, "-m", "mfma", "run", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **options)


# --- The generated program --------------------------------------------------------------------------------------------


def test_the_page_s_example_as_the_page_compiles_it(tmp_path):
    done = run(tmp_path, *LINE.split(), EXAMPLE, "-o", "example")
    wanted = EXAMPLE.with_suffix(".expected.txt").read_text().replace("4096 x 4096 x 4096", "256 x 256 x 256")
    assert (done.returncode, done.stderr) == (0, "")
    assert is_fulfilled(wanted, done.stdout), done.stdout
    assert os.listdir(tmp_path) == ["example"]
    for arguments, sizes in ([], "256 x 256 x 256"), (["--", "40", "30", "20"], "40 x 30 x 20"):
        done = run(tmp_path, "./example", *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert is_fulfilled(wanted.replace("256 x 256 x 256", sizes), done.stdout), done.stdout
    refused = run(tmp_path, "./example", "--", "40", "30")
    assert (refused.returncode, refused.stderr) == (1, "usage: ./example [M N K], each at least 1\n")


@pytest.mark.parametrize(("op", "kind", "placement"), CASES, ids=str)
def test_every_instruction_passes_and_so_does_its_fallback(tmp_path, op, kind, placement):
    waves = (1, 2) if op.blocks > 1 else (2, 2)
    tile, compute, memory = kernel(op, kind, placement, waves)
    (tmp_path / "program.hip").write_text(hip(tile, compute, memory))
    done = run(tmp_path, "program.hip", "-o", "program", "--", 24, 20, 36)
    wanted = expected_output(Gemm(tile, compute, memory)).splitlines()
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert lines[0].startswith("gfx942:")
    assert lines[0].endswith(wanted[0].removeprefix("gfx942*"))
    assert (lines[1:3], lines[-1]) == (wanted[1:3], "PASSED")
    other = run(tmp_path, "--device-name", "gfx90a", "./program", "--", 24, 20, 36)
    assert (other.returncode, other.stderr) == (0, ""), other.stdout
    assert other.stdout.startswith("gfx90a: ScalarFMAPolicy\n")
    assert other.stdout.endswith("PASSED\n")


@pytest.mark.parametrize("kind", ["single", "double_padded", "direct_swizzled"])
def test_the_interpreter_passes_too(tmp_path, kind):
    (tmp_path / "program.hip").write_text(hip(*kernel("f32_16x16x16f16", kind)))
    done = run(tmp_path, "program.hip", "--engine", "interpreter", "--", 9, 7, 20)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.endswith("PASSED\n")


def test_other_formats_in_memory_pass(tmp_path):
    tile, compute, _ = kernel("f32_32x32x8f16", "double")
    (tmp_path / "program.hip").write_text(hip(tile, compute, Memory("f32", "f32", "bf16")))
    done = run(tmp_path, "program.hip", "--threads", "1", "--", 24, 20, 36)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.endswith("PASSED\n")


@pytest.mark.parametrize("name", ["an index of the result", "a lost strip", "a sum with two roundings"])
def test_a_wrong_program_fails(tmp_path, name):
    right, instead = BROKEN[name]
    (tmp_path / "program.hip").write_text(hip(*PAGE).replace(right, instead))
    done = run(tmp_path, "program.hip", "--", 8, 12, 9)
    assert done.returncode == 1
    assert done.stdout.endswith("FAILED\n")


# --- Any program ------------------------------------------------------------------------------------------------------

SOURCE = """
#include <hip/hip_runtime.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "factor.h"

__global__ void scaled(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = FACTOR * x[i];
}

int main(int argc, char** argv) {
    constexpr int n = 100;
    float x[n], *in, *out;
    int ok = 1, read = 0;
    for (int i = 0; i < n; ++i) x[i] = i;
    ok &= hipMalloc(&in, sizeof x) == hipSuccess && hipMalloc(&out, sizeof x) == hipSuccess;
    ok &= hipMemcpy(in, x, sizeof x, hipMemcpyHostToDevice) == hipSuccess;
    scaled<<<2, 64>>>(in, out, n);
    ok &= hipMemcpy(x, out, sizeof x, hipMemcpyDeviceToHost) == hipSuccess;
    for (int i = 0; i < n; ++i) ok &= x[i] == FACTOR * i;
    ok &= std::signal(SIGPIPE, SIG_DFL) == SIG_DFL && std::signal(SIGINT, SIG_DFL) == SIG_DFL;
    ok &= std::scanf("%d", &read) == 1;
    std::printf("%s %d %d %s\\n", argv[0], ok, read, argc > 1 ? argv[argc - 1] : "");
    std::fflush(stdout);
    if (argc > 1 && !std::strcmp(argv[1], "abort")) std::abort();
    return 40 + argc;
}
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "scaled.cpp").write_text(SOURCE)
    (tmp_path / "factor.h").write_text(f"constexpr float FACTOR = {2 + len(str(tmp_path))};\n")
    return tmp_path


def test_standard_streams_arguments_and_exit_code_are_the_program_s(program):
    done = run(program, "scaled.cpp", "--", "a", "-O3", "b c", input="17")
    assert (done.stdout, done.stderr, done.returncode) == ("scaled 1 17 b c\n", "", 44)
    done = run(program, "-O1", "scaled.cpp", input="18")
    assert (done.stdout, done.stderr, done.returncode) == ("scaled 1 18 \n", "", 41)
    assert {path.name for path in program.iterdir()} == {"scaled.cpp", "factor.h"}


def test_a_signal_ends_the_program_alone(program):
    done = run(program, "scaled.cpp", "--", "abort", input="1")
    assert (done.stdout, done.returncode) == ("scaled 1 1 abort\n", -signal.SIGABRT)


def test_a_program_is_kept_until_its_source_changes(program):
    cache = program / "cache"
    kept = []
    for factor in ("3.5f", "3.5f", "4.5f"):
        (program / "factor.h").write_text(f"constexpr float FACTOR = {factor};\n")
        done = run(program, "scaled.cpp", input="1", env=os.environ | {"MFMA_CACHE_DIR": str(cache)})
        assert (done.stdout, done.stderr) == ("scaled 1 1 \n", "")
        kept.append({path.name for path in cache.glob("program-*")})
    assert list(map(len, kept)) == [1, 1, 2]
    assert kept[0] == kept[1] < kept[2]
    assert not list(cache.glob("tmp*"))


def test_what_the_compiler_says_goes_to_standard_error(program):
    (program / "scaled.cpp").write_text(SOURCE + "#warning careful\n")
    done = run(program, "scaled.cpp", input="1")
    assert "scaled.cpp:" in done.stderr
    assert "careful [-W#warnings]" in done.stderr
    assert done.returncode == 41
    (program / "scaled.cpp").write_text(SOURCE + "int x = nothing;\n")
    done = run(program, "scaled.cpp", input="1")
    assert "error: use of undeclared identifier 'nothing'" in done.stderr
    assert (done.stdout, done.returncode) == ("", 1)
    (program / "factor.h").unlink()
    done = run(program, "scaled.cpp", input="1")
    assert "fatal error: 'factor.h' file not found" in done.stderr
    assert done.returncode == 1


def test_several_sources_and_objects(program):
    (program / "more.cu").write_text("#include <hip/hip_runtime.h>\n__global__ void f() {}\nint more() { return 1; }\n")
    subprocess.run(["cc", "-c", "-x", "c", "-", "-o", "zero.o"], input="int zero(void) { return 0; }", text=True,
                   check=True, cwd=program)  # fmt: skip
    text = SOURCE.replace("int main", 'int more(); extern "C" int zero();\nint main').replace(
        "40 +", "40 + more() + zero() +"
    )
    (program / "scaled.cpp").write_text(text)
    done = run(program, "scaled.cpp", "more.cu", "zero.o", input="1")
    assert (done.stdout, done.stderr, done.returncode) == ("scaled 1 1 \n", "", 42)


def test_an_endless_kernel_is_stopped(tmp_path):
    (tmp_path / "endless.hip").write_text(
        "#include <hip/hip_runtime.h>\n__global__ void endless(volatile int* x) { while (!*x) {} }\n"
        "int main() { int* x; if (hipMalloc(&x, 4) != hipSuccess || hipMemset(x, 0, 4) != hipSuccess) return 3;\n"
        "endless<<<1, 64>>>(x); return hipDeviceSynchronize() != hipSuccess; }\n"
    )
    done = run(tmp_path, "endless.hip", "--timeout", "0.5")
    assert "the launch was stopped after 0.5 s" in done.stderr
    assert done.returncode != 0


def test_a_program_that_names_another_folder_for_its_runtime(program):
    for runtime in library_folder().iterdir():
        (program / runtime.name).write_bytes(runtime.read_bytes())
    done = run(program, "scaled.cpp", "-Wl,--disable-new-dtags", f"-Wl,-rpath,{program}", input="1")
    assert "insists on" in done.stderr
    assert "(DT_RPATH); link it with -Wl,--enable-new-dtags or without -rpath." in done.stderr
    assert done.returncode == 2


def test_a_built_program_that_may_not_be_executed(program):
    assert run(program, "scaled.cpp", "-o", "built", input="1").returncode == 41
    (program / "built").chmod(0o644)
    done = run(program, "built", input="1")
    assert (done.returncode, done.stderr) == (2, "mfma: built cannot be started: Permission denied.\n")
