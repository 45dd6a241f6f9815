"""Whole HIP programs in a process of their own, whose HIP runtime is this package's."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hip_tools import DEVICE, missing, rocm, rocm_flags, tool
from mfma.errors import MissingToolError, OptionError
from mfma.integrations import toolchain
from mfma.integrations.hip.environment import environment
from mfma.integrations.hip.library import NAMES, PLAIN, library_folder, symbols

pytestmark = pytest.mark.long

PROGRAMS = Path(__file__).parent / "hip_programs"
RIGHT = (
    "async", "atomics", "cooperative", "copies", "device", "errors", "host_memory", "managed", "occupancy",
    "static_objects", "streams", "symbols", "threads", "untouched", "vector_add",
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
            link = [
                "-no-hip-rt",
                f"-L{library or library_folder()}",
                f"-l:libamdhip64.so.{major}",
                "-lstdc++",
                "-lm",
                "-pthread",
            ]
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
    assert re.fullmatch(r"mfma: _Z5storePi: .*global_store_dword.*store of 4 bytes.*is outside.*\n", done.stderr)


def test_an_assertion_that_does_not_hold_aborts_the_program(compiled):
    done = run(compiled("assertion"))
    assert (done.returncode, done.stdout) == (-signal.SIGABRT, "first\n")
    *lines, last = done.stderr.splitlines()
    assert len(lines) == 24
    assert all(line.endswith("Device-side assertion `x[threadIdx.x] < 40' failed.") for line in lines)
    assert last.startswith("mfma: _Z5checkPKi: work-group (0, 0, 0), wave 0, __assert_fail")


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
    assert re.fullmatch(r"mfma: _Z7barrierPi needs instructions.*ds_gws_barrier.*\n", done.stderr)


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


def test_what_amds_library_exports_is_exported_with_its_version():
    theirs = Path("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5")
    if not theirs.exists():
        missing("AMD's HIP runtime (libamdhip64-5)")
    wanted = _exported(theirs)
    assert len(wanted) > 400
    for name in (*NAMES, PLAIN):
        assert wanted <= _exported(library_folder() / name)


def test_a_program_that_was_linked_with_amds_library_is_right(compiled):
    folder = Path("/usr/lib/x86_64-linux-gnu")
    if not (folder / "libamdhip64.so.5").exists():
        missing("AMD's HIP runtime (libamdhip64-5)")
    done = run(compiled("vector_add", library=folder))
    assert is_right(done, "vector_add"), (done.stdout, done.stderr)


def test_nothing_else_is_exported():
    nodes = {node for node, _ in symbols()}
    for name in NAMES:
        assert _exported(library_folder() / name) == {f"{symbol}@@{node}" for node, symbol in symbols()} | nodes


def _exported(library):
    done = subprocess.run([tool("nm"), "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    names = {line.split()[-1] for line in done.stdout.splitlines()}
    return {name for name in names if "@@" in name or not name.startswith("hip_")} | {
        name.partition("@")[0] for name in names if name.startswith("hip_")
    }


@pytest.fixture(params=("5", "7"))
def include(request):
    if request.param == "7":
        return headers_7()
    if not Path("/usr/include/hip/hip_runtime_api.h").exists():
        missing("HIP (libamdhip64-dev)")
    return Path("/usr/include")


def c_answers(folder, include, statements):
    """What a program in C prints that has AMD's header of the API: lines of two words, as a dictionary."""
    source = folder / "facts.c"
    lines = "".join(f"    printf({text});\n" for text in statements)
    source.write_text(
        "#include <stddef.h>\n#include <stdbool.h>\n#include <stdio.h>\n#include <hip/hip_runtime_api.h>\n"
        f"int main(void) {{\n{lines}    return 0;\n}}\n"
    )
    command = [tool("clang-22"), "-w", "-D__HIP_PLATFORM_AMD__", "-I", include, source, "-o", folder / "facts"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = subprocess.run([folder / "facts"], check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in printed.splitlines())


def test_structures_lie_as_amds_header_says(tmp_path, include):
    from mfma.integrations.hip.device import _layout

    layout = _layout("R0000" if include == Path("/usr/include") else "R0600")
    names = [name for name, _ in layout._fields_]
    found = c_answers(
        tmp_path,
        include,
        [
            *(f'"{name} %zu\\n", offsetof(hipDeviceProp_t, {name})' for name in names),
            '"size %zu\\n", sizeof(hipDeviceProp_t)',
        ],
    )
    assert found == {
        **{name: str(getattr(layout, name).offset) for name in names},
        "size": str(ctypes.sizeof(layout)),
    }


def test_statuses_and_attributes_have_the_numbers_of_amds_header(tmp_path, include):
    from mfma.integrations.hip.device import _lines
    from mfma.integrations.hip.status import Status, names_and_texts

    text = (include / "hip" / "hip_runtime_api.h").read_text()
    ours = {name: number for number, (name, _) in names_and_texts().items()}
    ours |= {name: int(number) for number, name, *_ in _lines("attributes.txt")}
    known = {name: number for name, number in ours.items() if re.search(rf"\b{name}\b", text)}
    assert len(known) > 140
    found = c_answers(tmp_path, include, [f'"{name} %d\\n", {name}' for name in known])
    assert found == {name: str(number) for name, number in known.items()}
    for status in Status:
        name, _ = names_and_texts()[status]
        assert name.removeprefix("hipError").removeprefix("hip").lower() == status.name.replace("_", "").lower()


def test_functions_take_what_amds_header_says(tmp_path, include):
    """The sizes of all arguments agree, but for a float, a short or a char, which C passes as an int."""
    import json

    from mfma.integrations.hip import runtime
    from mfma.integrations.hip.interface import FUNCTIONS

    assert runtime.CALLS
    source = tmp_path / "api.c"
    source.write_text("#include <stddef.h>\n#include <stdbool.h>\n#include <hip/hip_runtime_api.h>\n")
    command = [tool("clang-22"), "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json", "-D__HIP_PLATFORM_AMD__"]
    done = subprocess.run([*command, "-I", include, source], check=True, capture_output=True, text=True)
    nodes = json.loads(done.stdout)["inner"]
    declared = {node["name"]: node for node in nodes if node["kind"] == "FunctionDecl"}
    common = set(declared) & set(FUNCTIONS)
    assert len(common) > 150
    for name in sorted(common):
        wanted = [_size(item["type"]) for item in declared[name].get("inner", ()) if item["kind"] == "ParmVarDecl"]
        types = FUNCTIONS[name].signature._argtypes_
        assert [ctypes.sizeof(one) for one in types] == wanted, name


SIZES = {
    "int": 4, "unsigned int": 4, "uint32_t": 4, "unsigned char": 4, "unsigned short": 4, "size_t": 8, "dim3": 12,
    "unsigned long": 8, "hipDeviceptr_t": 8, "hipDevice_t": 4, "hipPitchedPtr": 32, "hipExtent": 24,
}  # fmt: skip


def _size(given):
    for text in (given["qualType"], given.get("desugaredQualType", "")):
        name = text.removeprefix("const ").removeprefix("struct ")
        if "*" in name:
            return 8
        if name in SIZES:
            return SIZES[name]
        if name.startswith("enum "):
            return 4
    return 4  # the typedef of an enumeration


def test_memory_has_one_address_on_both_sides():
    from mfma.integrations.hip.memory import Kind, Memory

    memory = Memory()
    address = memory.allocate(10_000, Kind.DEVICE)
    data = (ctypes.c_uint8 * 10_000).from_address(address)
    data[9_999] = 77
    buffer = memory.space.find(address + 9_999)
    assert buffer.address == address
    assert buffer.bytes[9_999] == 77
    assert memory.used == 10_000
    assert f"{address:x}-" in Path("/proc/self/maps").read_text()
    memory.free(address, Kind.DEVICE)
    assert f"{address:x}-" not in Path("/proc/self/maps").read_text()
    assert memory.used == 0
    assert memory.allocate(1, Kind.HOST) > address
    memory.clear()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "fast"}, "engine is 'fast'; give native or interpreter."),
        ({"threads": 0}, "threads is 0; give a number above 0."),
        ({"timeout": -1.5}, "timeout is -1.5; give a number above 0."),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        environment(**options)


def test_a_python_without_a_library_is_refused(monkeypatch):
    monkeypatch.setattr(toolchain, "libpython", lambda: None)
    with pytest.raises(MissingToolError, match=r"has none \(libpython3\.\d+\.so\.1\.0\); install it"):
        environment()


def test_without_a_compiler_nothing_is_built(monkeypatch):
    monkeypatch.setattr(toolchain, "c_compiler", lambda: None)
    with pytest.raises(MissingToolError, match="is built with a C compiler, and there is none; install one"):
        library_folder()


def test_a_compiler_that_fails_is_quoted(monkeypatch, tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho out of ideas >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(toolchain, "c_compiler", lambda: compiler)
    monkeypatch.setenv("MFMA_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(MissingToolError, match="cannot build the HIP runtime; it says:\nout of ideas"):
        library_folder()
    assert [path.is_file() for path in (tmp_path / "cache").rglob("*")] == [False]


def test_without_a_home_there_is_no_folder(monkeypatch):
    monkeypatch.setattr("mfma.integrations.hip.library.cache_dir", lambda: None)
    with pytest.raises(MissingToolError, match="has no folder to be built in; set MFMA_CACHE_DIR to one"):
        library_folder()


def test_what_is_in_the_way_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("MFMA_CACHE_DIR", str(tmp_path))
    folder = library_folder()
    shutil.rmtree(folder)
    folder.write_text("a file")
    with pytest.raises(MissingToolError, match=rf"in {re.escape(str(folder))}: File exists; set MFMA_CACHE_DIR to an"):
        library_folder()


def test_what_somebody_has_deleted_is_built_again(monkeypatch, tmp_path):
    monkeypatch.setenv("MFMA_CACHE_DIR", str(tmp_path))
    folder = library_folder()
    (folder / PLAIN).unlink()
    (folder / NAMES[0]).unlink()
    assert library_folder() == folder
    assert {path.name for path in folder.iterdir()} == {*NAMES, PLAIN}


def test_processes_that_build_at_once_do_not_meet(tmp_path):
    script = "from mfma.integrations.hip.library import library_folder; print(library_folder())"
    command = [sys.executable, "-c", script]

    def build(_):
        chosen = {**os.environ, "MFMA_CACHE_DIR": str(tmp_path)}
        return subprocess.run(command, env=chosen, check=True, capture_output=True, text=True).stdout.strip()

    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(build, range(4)))
    assert [str(folder) for folder in tmp_path.iterdir()] == list(folders)
    assert sorted(path.name for path in Path(folders.pop()).iterdir()) == sorted((*NAMES, PLAIN))
