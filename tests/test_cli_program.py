"""``mfma run`` of whole programs: which words go where, what the compiler is told, refusals.

Programs that are really built and run are in test_hip_programs_run.py.
"""

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from corpus.case import OBJECTS
from hip_tools import missing
from mfma.cli import main
from mfma.errors import CodeObjectError, MissingToolError, OptionError
from mfma.integrations import doctor, toolchain
from mfma.integrations.hip import compiler, layout, program
from mfma.integrations.hip.words import output, sources

PYTHON = Path(sys.executable).resolve()
NOTHING = {"device_name": None, "engine": "native", "threads": None, "timeout": None}


def refused(line, code=2):
    result = CliRunner().invoke(main, line.split(), prog_name="mfma")
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    return result.stderr


def elf(path, machine=62, kind=2):
    """Write a header of an ELF file with nothing else in it."""
    path.write_bytes(
        struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", kind, machine, 1, *[0] * 4, 64, 56, 0, 64, 0, 0)
    )
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with files of every kind."""
    monkeypatch.chdir(tmp_path)
    for name in ("one.hip", "two.cpp", "three.cc", "four.cxx", "five.cu"):
        (tmp_path / name).touch()
    (tmp_path / "python").symlink_to(PYTHON)
    shutil.copy(OBJECTS / "hip_vector.co", "vector.co")
    elf(tmp_path / "static")
    elf(tmp_path / "arm", machine=183)
    elf(tmp_path / "object.o", kind=1)
    (tmp_path / "script").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "damaged").write_bytes(b"\x7fELF\2\1\1")
    return tmp_path


@pytest.fixture
def started(monkeypatch):
    """What would be compiled and run."""
    seen = []
    monkeypatch.setattr(compiler, "build", lambda words: seen.append(("build", *words)) or Path("built"))
    monkeypatch.setattr(program, "run", lambda *words, **options: seen.append((words, options)))
    return seen


# --- Words ------------------------------------------------------------------------------------------------------------

BUILT = [
    ("one.hip", ["one.hip"], [], {}),
    ("one.hip --", ["one.hip"], [], {}),
    ("-O2 -I . one.hip -o there -DX=1 -- 1 -O3 --timeout 5 -- x", ["-O2", "-I", ".", "one.hip", "-o", "there", "-DX=1"],
     ["1", "-O3", "--timeout", "5", "--", "x"], {}),
    ("--timeout 2.5 two.cpp --threads=3 --engine interpreter --device-name gfx90a", ["two.cpp"], [],
     {"timeout": 2.5, "threads": 3, "engine": "interpreter", "device_name": "gfx90a"}),
    ("three.cc four.cxx five.cu -Wall x.o", ["three.cc", "four.cxx", "five.cu", "-Wall", "x.o"], [], {}),
    ("one.hip -std=c++17 -fopenmp", ["one.hip", "-std=c++17", "-fopenmp"], [], {}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "words", "arguments", "options"), BUILT, ids=lambda value: str(value)[:40])
def test_words_of_a_source(folder, started, line, words, arguments, options):
    assert CliRunner().invoke(main, ["run", *line.split()]).exit_code == 0
    name = {"name": Path(sources(words)[0]).stem}
    assert started == [("build", *words), ((Path("built"), tuple(arguments)), NOTHING | name | options)]


@pytest.mark.parametrize(
    ("line", "arguments", "options"),
    [
        ("./python", (), {}),
        ("python -- -c 1 --", ("-c", "1", "--"), {}),
        ("--timeout 2 --device-name=gfx90a ./python --threads 1", (), {"timeout": 2, "device_name": "gfx90a",
                                                                       "threads": 1}),
        ("script -- one.hip", ("one.hip",), {}),
        ("arm", (), {}),
    ],
)  # fmt: skip
def test_words_of_an_executable(folder, started, line, arguments, options):
    assert CliRunner().invoke(main, ["run", *line.split()]).exit_code == 0
    ((words, given),) = started
    assert words == (next(word for word in line.split() if word[:1] in ".pas"), arguments)
    assert given == NOTHING | options


@pytest.mark.parametrize("more", ["--kernel add", "--block 64", "--args null", "--grid 1", "--args=null"])
def test_options_of_a_launch_make_an_executable_a_file_with_kernels(folder, started, more):
    assert "has no .hip_fatbin section" in refused(f"run python {more}") or started == []


def test_other_files_are_kernels(folder, started):
    assert "vector.co has 20 kernels" in refused("run vector.co")
    for name, words in {"object.o": "object.o ", "damaged": "damaged is damaged", "no": "No such file"}.items():
        assert words in refused(f"run {name}")
    assert started == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [("python", True), ("script", True), ("static", True), ("arm", True), ("one.hip", False), ("vector.co", False),
     ("object.o", False), ("damaged", False), ("nothing", False), (".", False)],
)  # fmt: skip
def test_what_is_something_to_start(folder, name, expected):
    assert program.is_executable(name) is expected


def test_a_library_is_nothing_to_start():
    library = toolchain.libpython() or missing("a shared library of Python")
    assert program.is_executable(library) is False


# --- Refusals ---------------------------------------------------------------------------------------------------------

REFUSED = [
    ("one.hip --report", "--report is for one kernel of a compiled file, and one.hip is a whole program, which takes "
     "--device-name, --engine, --threads, --timeout, and its own arguments after `--`."),
    ("one.hip --block 64", "--block is for one kernel of a compiled file, and one.hip is a whole program, "),
    ("python --json", "--json is for one kernel of a compiled file, and python is a whole program, which takes"),
    ("python -O3", "python is built, so -O3 is no flag for a compiler; give the program's arguments after `--`."),
    ("python 256 256", "python is built, so 256 is no flag for a compiler; give the program's"),
    ("nofile.hip -O3", "there is no file nofile.hip; give the path of a source."),
    ("./nofile -- 256", "mfma: nofile cannot be read: No such file or directory; give the path of a program."),
    ("--device-name gfx90a ./nofile", "mfma: nofile cannot be read: No such file or directory; give"),
    ("one.hip -c", "-c does not make a program that can run; leave it out."),
    ("one.hip --genco", "--genco does not make a program that can run; leave it out."),
    ("one.hip --engine fast", "'fast' is not one of"),
    ("one.hip --threads 0", "0 is not in the range"),
    ("one.hip --device-name", "Option '--device-name' requires an argument."),
    ("vector.co --kernel add_f32 --block 64 --device-name x --args null null null 1",
     "--device-name is what a whole program is told; leave it out for a kernel."),
    ("script", "mfma: script is a script; give the executable that it starts."),
    ("arm", "mfma: arm is for AArch64, and this host is x86_64; compile it for x86_64."),
    ("static", "static is linked statically, so its HIP runtime cannot be replaced; link it without -static."),
    ("python", "python is not linked with libamdhip64.so, so nothing of it would run here; link it with -lamdhip64"),
]  # fmt: skip


@pytest.fixture
def no_runtime(monkeypatch):
    """A runtime that nothing has to be built for."""
    monkeypatch.setattr(program, "require", lambda name: None)
    monkeypatch.setattr(program, "environment", lambda **options: {})
    monkeypatch.setattr(program, "library_folder", lambda: Path("/nowhere"))
    monkeypatch.setattr(program.platform, "machine", lambda: "x86_64")


@pytest.mark.parametrize(("line", "message"), REFUSED, ids=lambda value: value[:30])
def test_refusals(folder, no_runtime, line, message):
    shown = refused(f"run {line}")
    assert shown.startswith("mfma: ")
    assert message in shown
    assert shown.count("\n") == 1


def test_a_library_that_is_not_there(folder, no_runtime):
    (folder / "changed").write_bytes(PYTHON.read_bytes().replace(b"libc.so.6\0", b"libQ.so.6\0"))
    assert refused("run changed") == (
        "mfma: changed needs libQ.so.6, which is not here; only the HIP runtime is replaced, so name the folder of "
        "other libraries in LD_LIBRARY_PATH.\n"
    )


def test_a_library_that_is_too_old(folder, no_runtime):
    (folder / "changed").write_bytes(PYTHON.read_bytes().replace(b"GLIBC_2.2.5\0", b"GLIBC_9.2.5\0"))
    shown = refused("run changed")
    assert shown.startswith("mfma: changed cannot be loaded: ")
    assert "version `GLIBC_9.2.5' not found" in shown


def test_a_loader_that_is_not_there(folder, no_runtime):
    content = PYTHON.read_bytes()
    (folder / "changed").write_bytes(content.replace(b"/lib64/ld-linux", b"/lib65/ld-linux"))
    assert "changed is to be loaded by /lib65/ld-linux-x86-64.so.2, which is not here; compile" in refused(
        "run changed"
    )


@pytest.mark.parametrize("name", ["libamdhip64.so.5", "libamdhip64.so"])
def test_a_program_that_insists_on_another_runtime(folder, no_runtime, monkeypatch, name):
    listed = subprocess.CompletedProcess([], 0, f"\t{name} => /opt/rocm/lib/{name} (0x00007f)\n", "")
    monkeypatch.setattr(program.subprocess, "run", lambda *args, **options: listed)
    assert refused("run python") == (
        f"mfma: python insists on /opt/rocm/lib/{name} (DT_RPATH); link it with -Wl,--enable-new-dtags or without "
        "-rpath.\n"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [("no", "no cannot be read: No such file or directory; give"), ("damaged", "damaged is no executable that can be"),
     ("one.hip", "one.hip is no executable that can be read: Magic number")],
)  # fmt: skip
def test_the_library_refuses_what_is_no_executable(folder, no_runtime, name, message):
    with pytest.raises(CodeObjectError, match=message):
        program.run(name)


def test_an_executable_that_may_not_be_executed(folder, no_runtime, monkeypatch):
    monkeypatch.setattr(program, "check", lambda *args: None)
    monkeypatch.setattr(program.signal, "signal", lambda *args: None)  # they are those of the tests
    with pytest.raises(OptionError, match=r"one\.hip cannot be started: Permission denied\."):
        program.run("one.hip")


def test_without_a_compiler(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("ROCM_PATH", str(folder))
    message = refused("run one.hip")
    assert "needs clang, lld, clang-offload-bundler" in message
    with pytest.raises(MissingToolError) as wanted:
        doctor.require("hip")
    assert message == f"mfma: {wanted.value}\n"
    monkeypatch.setattr(doctor, "FEATURES", {"program": doctor.Feature("program", "running", ("clang",))})
    assert "running needs clang, which is not here; to install: " in refused("run python")


@pytest.fixture
def tools(folder, monkeypatch):
    """A compiler that does nothing."""
    fake = folder / "bin" / "clang++"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    monkeypatch.setattr(compiler, "require", lambda name: None)
    monkeypatch.setattr(compiler, "library_folder", lambda: folder / "runtime")
    monkeypatch.setattr(toolchain, "clang", lambda: toolchain.Clang(fake, 22))
    for name in ("headers", "device_libraries"):
        monkeypatch.setattr(toolchain, name, lambda name=name: folder / name)
        (folder / name).mkdir()
    monkeypatch.setattr(toolchain, "rocm", lambda: None)
    return fake


def test_without_a_folder_for_programs(tools, folder, monkeypatch):
    monkeypatch.setattr("mfma.native.jit.cache_dir", lambda: None)
    with pytest.raises(OptionError, match="no folder for compiled programs; set MFMA_CACHE_DIR to one"):
        compiler.build(["one.hip"])
    monkeypatch.setattr("mfma.native.jit.cache_dir", lambda: folder / "one.hip")
    with pytest.raises(OptionError, match=r"cannot make the folder .*one\.hip: File exists; set MFMA_CACHE_DIR to an"):
        compiler.build(["one.hip"])


@pytest.mark.parametrize(("code", "expected"), [("exit 7", 7), ("kill -9 $$", 137)])
def test_the_exit_code_of_a_compiler_that_fails(tools, monkeypatch, code, expected):
    monkeypatch.setenv("MFMA_CACHE_DIR", "cache")
    tools.write_text(f"#!/bin/sh\n{code}\n")
    assert refused("run one.hip", expected) == ""
    assert refused("run one.hip -o there", expected) == ""


# --- Compiling --------------------------------------------------------------------------------------------------------

RECORD = """#!/bin/sh
case "$*" in *" -E") echo "$SOURCE"; exit;; esac
echo "$*" >> calls
while [ "$1" != -o ]; do shift; done
touch "$2"
"""


@pytest.fixture
def recorded(tools, folder, monkeypatch):
    """The command lines of the compiler."""
    tools.write_text(RECORD)
    (folder / "runtime").mkdir()
    monkeypatch.setenv("MFMA_CACHE_DIR", str(folder / "cache"))
    return lambda: (folder / "calls").read_text().splitlines()


def test_the_usual_flags_where_none_are_given(recorded, folder):
    assert compiler.build(["one.hip"]).parent == folder / "cache"
    assert compiler.build(["two.cpp", "-g", "x.o", "-o", "there"]) == Path("there")
    compiler.build(["-DX", "one.hip", "--offload-arch=gfx90a", "--offload-arch=gfx942", "-o", "there"])
    (rocm,) = (folder / "cache").glob("rocm-*")
    start = f"--rocm-path={rocm} -isystem {rocm}/include -mcode-object-version=5 "
    library = f" -L{folder}/runtime"
    first, second, third = (line.removeprefix(start) for line in recorded())
    assert first.startswith(f"-O3 -std=c++17 --offload-arch=gfx942 -x hip one.hip{library} -o {folder}/cache/tmp")
    assert second == "--offload-arch=gfx942 -x hip two.cpp -x none -g x.o -o there" + library
    assert third == "-DX -x hip one.hip --offload-arch=gfx90a --offload-arch=gfx942 -o there" + library


def test_a_joined_o_names_the_program_too():
    assert output(["one.hip", "-othere"]) == Path("there")
    assert output(["one.hip", "-O3"]) is None


def test_a_program_is_compiled_again_if_something_has_changed(recorded, folder, monkeypatch):
    monkeypatch.setenv("SOURCE", "1")
    for name in ("x.o", "x.rsp"):
        (folder / name).write_text("1")
    words = ["one.hip", "x.o", "@x.rsp"]
    changes = (
        lambda: None,
        lambda: monkeypatch.setenv("SOURCE", "2"),
        lambda: (folder / "x.o").write_text("2"),
        lambda: (folder / "x.rsp").write_text("2"),
        lambda: (folder / "bin" / "clang++").write_text(f"{RECORD} "),
        lambda: words.append("-DX"),
    )
    built = []
    for change in changes:
        change()
        built += {compiler.build(words), compiler.build(words)}
    assert len(set(built)) == len(built) == len(recorded()) == len(changes)
    assert {path.name.partition("-")[0] for path in (folder / "cache").iterdir()} == {"program", "rocm"}


def test_libraries_may_have_changed_unseen(recorded):
    assert compiler.build(["one.hip", "-lm"]) == compiler.build(["one.hip", "-lm"])
    assert len(recorded()) == 2


def hip_headers(include, major):
    (include / "hip").mkdir(parents=True)
    numbers = {"MAJOR": major, "MINOR": 2, "PATCH": 3}
    lines = [f"#define HIP_VERSION_{name} {number}\n" for name, number in numbers.items()]
    (include / "hip" / "hip_version.h").write_text("".join(lines))


SIZE = "-D__AMDGCN_WAVEFRONT_SIZE=64"
OLDER = [(5, 21, False), (5, 22, True), (6, 22, True), (7, 22, False)]


@pytest.mark.parametrize(("hip", "clang", "defined"), OLDER)
def test_headers_of_a_distribution_are_laid_out(folder, monkeypatch, hip, clang, defined):
    monkeypatch.setattr(toolchain, "rocm", lambda: None)
    (folder / "bitcode").mkdir()
    for name in ("hip.bc", "oclc_isa_version_940.bc"):
        (folder / "bitcode" / name).touch()
    hip_headers(folder / "include", hip)
    root = folder / "rocm"
    layout.lay_out(root, folder / "include", folder / "bitcode")
    flags = compiler.flags(toolchain.Clang(Path("clang++"), clang), root)
    assert (SIZE in flags) is defined
    assert str(root / "amdgcn" / "bitcode" / "hip.bc") in flags
    same = root / "amdgcn" / "bitcode" / "oclc_isa_version_942.bc"
    assert same.resolve() == folder / "bitcode" / "oclc_isa_version_940.bc"
    assert (root / "bin" / ".hipVersion").read_text().split() == [
        f"HIP_VERSION_MAJOR={hip}", "HIP_VERSION_MINOR=2", "HIP_VERSION_PATCH=3",
    ]  # fmt: skip


@pytest.mark.parametrize(("hip", "clang", "defined"), OLDER)
def test_an_installed_rocm_is_used_as_it_is(folder, monkeypatch, hip, clang, defined):
    monkeypatch.setattr(toolchain, "rocm", lambda: folder)
    hip_headers(folder / "include", hip)
    found = (f"--rocm-path={folder}", "-isystem", f"{folder}/include")
    assert compiler.flags(toolchain.Clang(Path("clang++"), clang), folder) == (*found, *([SIZE] if defined else []))
