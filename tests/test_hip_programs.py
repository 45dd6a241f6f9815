"""Whole HIP programs in a process of their own, whose HIP runtime is this package's."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hip_tools import DEVICE, missing, rocm, rocm_flags, tool
from mfma.integrations import toolchain
from mfma.integrations.hip.environment import environment
from mfma.integrations.hip.library import library_folder

pytestmark = pytest.mark.long

PROGRAMS = Path(__file__).parent / "hip_programs"
RIGHT = (
    "async", "atomics", "cooperative", "copies", "device", "errors", "half", "host_memory", "managed", "math",
    "occupancy", "rtc", "static_objects", "streams", "symbols", "threads", "untouched", "vector_add",
)  # fmt: skip
ENGINES = "native", "interpreter"


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Compile a program once, with the headers of one HIP and against the library of its name; return its path."""
    folder = tmp_path_factory.mktemp("programs")
    flags = rocm_flags(rocm(folder / "rocm"))
    made = {}

    def compile(name, *more, target="gfx942", major=5, library=None):
        key = name, more, target, major, library
        if key not in made:
            path = folder / f"{name}-{len(made)}"
            headers = ("-I", str(headers_7())) if major == 7 else ()
            command = [tool("clang-22"), "-x", "hip", "-std=c++17", "-O2", f"--offload-arch={target}", *flags, *headers]
            sources = [PROGRAMS / f"{name}.hip", "-o", path, *more]
            found = f"-L{library or library_folder()}", f"-l:libamdhip64.so.{major}"
            link = ["-no-hip-rt", *found, "-lstdc++", "-lm", "-pthread"]
            linked = [] if "--offload-device-only" in more else link
            done = subprocess.run([*command, *sources, *linked], check=False, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            made[key] = path
        return made[key]

    return compile


def headers_7():
    """Headers of HIP 7, which Triton brings along."""
    package = toolchain.python_package("triton")
    folder = package / "backends" / "amd" / "include" if package else None
    if folder is None or not (folder / "hip" / "hip_runtime.h").exists():
        missing("Triton with the headers of HIP")
    return folder


def run(program, *arguments, variables=None, **options):
    """Run a program in the environment that the emulator wants; return what it leaves."""
    chosen = environment(**options) if variables is None else variables
    return subprocess.run(
        [program, *arguments], check=False, capture_output=True, text=True, env={**os.environ, **chosen}
    )


def is_right(done, name):
    return (done.returncode, done.stdout.splitlines()[-1:], done.stderr) == (0, [f"{name}: right"], "")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_is_right(compiled, name, engine):
    done = run(compiled(name), engine=engine)
    assert is_right(done, name), (done.stdout, done.stderr)


@pytest.mark.parametrize("name", ["device", "host_memory", "vector_add"])
def test_programs_of_hip_7_are_right(compiled, name):
    done = run(compiled(name, major=7))
    assert is_right(done, name), (done.stdout, done.stderr)


@pytest.mark.parametrize("flags", [DEVICE[:1], DEVICE[:2]], ids=["bundle", "code object"])
def test_modules_are_loaded_from_code_objects_and_bundles(compiled, flags):
    done = run(compiled("modules"), compiled("module_kernels", *flags))
    assert is_right(done, "modules"), (done.stdout, done.stderr)


def test_a_bundle_that_cannot_be_read_ends_the_program(compiled):
    done = run(compiled("modules"), compiled("module_kernels", DEVICE[0], "--offload-compress"))
    assert done.returncode == 70
    assert "is compressed with zstd, and only zlib can be read; unpack it with" in done.stderr


def test_a_program_whose_device_code_cannot_be_read_ends(compiled):
    done = run(compiled("vector_add", "--offload-compress"))
    assert (done.returncode, done.stdout) == (70, "")
    assert re.fullmatch("mfma: .* is compressed with zstd, and only zlib can be read; .*\n", done.stderr)


def test_libraries_with_device_code_may_come_late(compiled):
    library = compiled("late_library", "-shared", "-fPIC")
    done = run(compiled("late"), library)
    assert is_right(done, "late"), (done.stdout, done.stderr)


def test_lines_of_kernels_stand_among_those_of_the_host(compiled):
    done = run(compiled("printing"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "before",
        "kernel 7: 2.500 from the device, lane 2",
        "between",
        "second: the device, z, 0000beef, 1.2e+04, -1234567890123",
        "after",
    ]


def test_another_device_name_is_reported(compiled):
    assert "gfx942:sramecc+:xnack-, 304 compute units" in run(compiled("device")).stdout
    assert ", gfx90a, 304 compute units" in run(compiled("device"), device_name="gfx90a").stdout


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fault_in_a_kernel_aborts_the_program(compiled, engine):
    done = run(compiled("fault"), engine=engine)
    assert done.returncode == -signal.SIGABRT
    assert done.stdout == "before\n"
    assert re.fullmatch(r"mfma: store\(int\*\): .*global_store_dword.*store of 4 bytes.*is outside.*\n", done.stderr)


def test_an_assertion_that_does_not_hold_aborts_the_program(compiled):
    done = run(compiled("assertion"))
    assert (done.returncode, done.stdout) == (-signal.SIGABRT, "first\n")
    *lines, last = done.stderr.splitlines()
    assert len(lines) == 24
    assert all(line.endswith("Device-side assertion `x[threadIdx.x] < 40' failed.") for line in lines)
    assert last.startswith("mfma: check(int const*): work-group (0, 0, 0), wave 0, __assert_fail")


def test_an_endless_kernel_is_stopped(compiled):
    done = run(compiled("endless"), timeout=0.5)
    assert done.returncode == -signal.SIGABRT
    assert "the launch was stopped after 0.5 s" in done.stderr


def test_a_function_that_is_not_there_ends_the_program_by_name(compiled):
    done = run(compiled("graph"))
    assert (done.returncode, done.stdout) == (70, "before\n")
    assert done.stderr == (
        "mfma: hipGraphCreate is not implemented by this HIP runtime; do without it, or run the program on a GPU.\n"
    )


def test_an_instruction_that_is_not_there_ends_the_program(compiled):
    done = run(compiled("no_instruction"))
    assert (done.returncode, done.stdout) == (70, "before\n")
    assert re.fullmatch(r"mfma: barrier\(int\*\) needs instructions.*ds_gws_barrier.*\n", done.stderr)


def test_code_for_another_gpu_is_no_code(compiled):
    done = run(compiled("vector_add", target="gfx90a"))
    assert done.returncode == 1
    assert "hipGetLastError() gives hipErrorNoBinaryForGpu" in done.stdout
    assert "no code object for gfx942, only for gfx90a; compile it with --offload-arch=gfx942" in done.stderr


def test_a_program_that_never_uses_the_gpu_never_starts_python(compiled):
    done = run(compiled("no_gpu"), variables={"LD_LIBRARY_PATH": str(library_folder())})
    assert (done.returncode, done.stdout, done.stderr) == (3, "no call\n", "")


@pytest.mark.parametrize("variable", ["MFMA_HIP_PYTHON", "MFMA_HIP_LIBPYTHON", "MFMA_HIP_PATH"])
def test_a_program_without_its_environment_says_so(compiled, variable):
    variables = {**environment(), variable: ""}
    done = run(compiled("vector_add"), variables=variables)
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr == (
        f"mfma: {variable} is not set; run the program with `mfma run`, which sets up its environment.\n"
    )


def test_a_library_that_is_no_python_is_refused(compiled):
    variables = {**environment(), "MFMA_HIP_LIBPYTHON": "/does/not/exist.so"}
    done = run(compiled("vector_add"), variables=variables)
    assert done.returncode == 70
    assert done.stderr.startswith("mfma: cannot load Python: /does/not/exist.so")


def test_python_in_the_program_is_the_one_that_started_it(compiled, tmp_path):
    """A module on the path stands for the package, and tells which Python imports it."""
    fake = tmp_path / "mfma" / "integrations" / "hip"
    fake.mkdir(parents=True)
    for folder in (fake, *fake.parents[:2]):
        (folder / "__init__.py").touch()
    (fake / "runtime.py").write_text(
        "import sys\ndef install(*_):\n    print(sys.executable, sys.prefix, flush=True)\n    raise OSError(7)\n"
    )
    variables = {**environment(), "PYTHONPATH": str(tmp_path), "MFMA_HIP_PATH": "/nowhere"}
    done = run(compiled("vector_add"), variables=variables)
    assert (done.returncode, done.stdout.split()) == (70, [sys.executable, sys.prefix])
    assert "OSError: 7" in done.stderr
    assert done.stderr.endswith(
        "mfma: the HIP runtime cannot start, for the reason above; run the program with `mfma run`, which sets up "
        "its environment.\n"
    )


def test_a_program_that_is_python_itself_keeps_its_streams():
    script = (
        "import ctypes, sys\nhip = ctypes.CDLL('libamdhip64.so.6')\nout, n = sys.stdout, ctypes.c_int()\n"
        "assert hip.hipGetDeviceCount(ctypes.byref(n)) == 0 and sys.stdout is out\n"
        "function, state = ctypes.c_void_p(), ctypes.c_int(9)\n"
        "find = lambda name: hip.hipGetProcAddress(name, ctypes.byref(function), 600, ctypes.c_uint64(0), "
        "ctypes.byref(state))\n"
        "assert find(b'hipGetDeviceCount') == 0 and state.value == 0\n"
        "assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(function.value)(ctypes.addressof(n)) == 0\n"
        "assert find(b'hipNone') == 1 and state.value == 1 and not function.value\n"
        "version = ctypes.c_int()\nassert hip.hipRuntimeGetVersion(ctypes.byref(version)) == 0\n"
        "print(n.value, version.value // 10**7)\n"
    )
    done = run(sys.executable, "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 6\n", "")


def test_hiprtc_may_be_a_library_of_its_own(compiled):
    program = compiled("rtc", "-l:libhiprtc.so.5")
    listed = subprocess.run([tool("readelf"), "-d", program], check=True, capture_output=True, text=True).stdout
    assert "[libhiprtc.so.5]" in listed
    done = run(program)
    assert is_right(done, "rtc"), (done.stdout, done.stderr)


@pytest.mark.parametrize("major", [5, 6, 7])
def test_a_process_has_one_runtime_whatever_library_it_calls(major):
    script = (
        f"import ctypes\nrtc = ctypes.CDLL('libhiprtc.so.{major}')\nhip = ctypes.CDLL('libamdhip64.so.{major}')\n"
        "program, version = ctypes.c_void_p(), ctypes.c_int()\n"
        "create, destroy = rtc.hiprtcCreateProgram, hip.hiprtcDestroyProgram\n"
        "assert create(ctypes.byref(program), b'int x;', None, 0, None, None) == 0\n"
        "assert destroy(ctypes.byref(program)) == 0 and rtc.hiprtcDestroyProgram(ctypes.byref(program)) == 4\n"
        "assert hip.hipRuntimeGetVersion(ctypes.byref(version)) == 0\nprint(version.value // 10**7, flush=True)\n"
        "rtc.hiprtcLinkCreate(0, None, None, ctypes.byref(program))\n"
    )
    done = run(sys.executable, "-c", script)
    assert (done.returncode, done.stdout) == (70, f"{major}\n")
    assert done.stderr == (
        "mfma: hiprtcLinkCreate is not implemented by this HIP runtime; do without it, or run the program on a GPU.\n"
    )


def test_a_program_that_was_linked_with_amds_library_is_right(compiled):
    folder = Path("/usr/lib/x86_64-linux-gnu")
    if not (folder / "libamdhip64.so.5").exists():
        missing("AMD's HIP runtime (libamdhip64-5)")
    done = run(compiled("vector_add", library=folder))
    assert is_right(done, "vector_add"), (done.stdout, done.stderr)
