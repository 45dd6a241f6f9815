"""The library that HIP programs load: what it exports, what AMD's headers say about that, and how it is built."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hip_tools import missing, tool
from mfma.errors import MissingToolError, OptionError
from mfma.integrations import toolchain
from mfma.integrations.hip.environment import environment
from mfma.integrations.hip.library import LIBRARIES, NAMES, PLAIN, RTC_NAMES, RTC_PLAIN, library_folder, symbols
from test_hip_programs import headers_7

pytestmark = pytest.mark.long


def test_what_amds_library_exports_is_exported_with_its_version():
    theirs = Path("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5")
    if not theirs.exists():
        missing("AMD's HIP runtime (libamdhip64-5)")
    wanted = _exported(theirs)
    assert len(wanted) > 400
    for name in (*NAMES, PLAIN):
        assert wanted <= _exported(library_folder() / name)


def test_nothing_else_is_exported():
    nodes = {node for node, _ in symbols()}
    for name in NAMES:
        assert _exported(library_folder() / name) == {f"{symbol}@@{node}" for node, symbol in symbols()} | nodes


def test_the_libraries_of_hiprtc_export_its_functions_without_versions():
    wanted = {name for _, name in symbols() if name.startswith("hiprtc")}
    assert len(wanted) == 18
    for name in (*RTC_NAMES, RTC_PLAIN):
        assert _names(library_folder() / name) == wanted
    assert (library_folder() / RTC_PLAIN).read_bytes() in [(library_folder() / name).read_bytes() for name in RTC_NAMES]


def _names(library):
    done = subprocess.run([tool("nm"), "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


def _exported(library):
    names = _names(library)
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
    from mfma.integrations.hip import runtime
    from mfma.integrations.hip.interface import FUNCTIONS

    assert runtime.CALLS
    source = tmp_path / "api.c"
    has_rtc = (include / "hip" / "hiprtc.h").exists()
    rtc = "#include <hip/hiprtc.h>\n" if has_rtc else ""
    source.write_text(f"#include <stddef.h>\n#include <stdbool.h>\n#include <hip/hip_runtime_api.h>\n{rtc}")
    command = [tool("clang-22"), "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json", "-D__HIP_PLATFORM_AMD__"]
    done = subprocess.run([*command, "-I", include, source], check=True, capture_output=True, text=True)
    nodes = json.loads(done.stdout)["inner"]
    declared = {node["name"]: node for node in nodes if node["kind"] == "FunctionDecl"}
    common = set(declared) & set(FUNCTIONS)
    assert len(common) > 150
    assert has_rtc == ("hiprtcCompileProgram" in common)
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
    assert {path.name for path in folder.iterdir()} == set(LIBRARIES)


def test_processes_that_build_at_once_do_not_meet(tmp_path):
    script = "from mfma.integrations.hip.library import library_folder; print(library_folder())"
    command = [sys.executable, "-c", script]

    def build(_):
        chosen = {**os.environ, "MFMA_CACHE_DIR": str(tmp_path)}
        return subprocess.run(command, env=chosen, check=True, capture_output=True, text=True).stdout.strip()

    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(build, range(4)))
    assert [str(folder) for folder in tmp_path.iterdir()] == list(folders)
    assert sorted(path.name for path in Path(folders.pop()).iterdir()) == sorted(LIBRARIES)
