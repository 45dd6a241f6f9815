"""hipRTC: what its functions say of wrong arguments, and what the compiler is given."""

import ctypes
import re
from pathlib import Path

import pytest

from hip_tools import missing
from mfma.errors import MissingToolError
from mfma.integrations.hip import compiler, rtc, rtc_calls
from mfma.integrations.hip.interface import FUNCTIONS
from mfma.integrations.hip.rtc import BUILT_INS, Program, RtcError, RtcStatus, plain
from mfma.integrations.hip.status import names_and_texts

HEADER = Path("/usr/include/hip/hiprtc.h")
SOURCE = b"__global__ void f() {}"
CODE = Path(__file__).parent / "corpus" / "objects" / "hip_vector.co"


class Left(Exception):
    """What stands for the end of the program."""


@pytest.fixture
def leaving(monkeypatch):
    def leave(sentence):
        raise Left(sentence)

    monkeypatch.setattr(rtc, "leave", leave)


@pytest.fixture
def call():
    """Call a function as C does; nothing there knows a last error, which hipRTC has to leave alone."""
    kept = {name: function.callback(None) for name, function in FUNCTIONS.items() if name.startswith("hiprtc")}
    return lambda name, *arguments: kept[f"hiprtc{name}"](*arguments)


def strings(*texts):
    """Return an array of strings of C."""
    return (ctypes.c_char_p * len(texts))(*texts)


def address(thing):
    return ctypes.addressof(thing) if thing is not None else 0


def created(call, source=SOURCE, count=0, headers=None, names=None):
    """Status and handle of a program."""
    handle, text = ctypes.c_size_t(), ctypes.create_string_buffer(source) if source is not None else None
    status = call("CreateProgram", address(handle), address(text), 0, count, address(headers), address(names))
    return status, handle.value


def printer(tmp_path, monkeypatch, script):
    """Put a shell script in the compiler's place."""
    (tmp_path / "clang").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "clang").chmod(0o755)
    monkeypatch.setattr(compiler, "command", lambda: [str(tmp_path / "clang")])


# --- Arguments --------------------------------------------------------------------------------------------------------


def test_statuses_have_the_numbers_of_amds_header():
    if not HEADER.exists():
        missing("HIP (libamdhip64-dev)")
    found = {name: int(number) for name, number in re.findall(r"\b(HIPRTC_\w+) = (\d+)", HEADER.read_text())}
    ours = {status.hip_name: status.value for status in RtcStatus}
    assert len(found) > 11
    assert ours.items() >= found.items()
    assert set(ours) - set(found) <= {"HIPRTC_ERROR_LINKING"}  # which newer ones have


def test_statuses_have_their_names_as_text(call):
    for status in RtcStatus:
        assert ctypes.string_at(call("GetErrorString", status)).decode() == status.hip_name
    assert call("GetErrorString", 12) == call("GetErrorString", -1) == 0


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"source": None}, RtcStatus.INVALID_INPUT),
        ({"source": b""}, RtcStatus.INVALID_INPUT),
        ({"count": -1}, RtcStatus.INVALID_INPUT),
        ({"count": 1, "headers": strings(b"int x;")}, RtcStatus.INVALID_INPUT),
        ({"count": 1, "names": strings(b"x.h")}, RtcStatus.INVALID_INPUT),
        ({"count": 1, "headers": strings(b""), "names": strings(b"x.h")}, RtcStatus.INVALID_INPUT),
        ({"count": 1, "headers": strings(b"int x;"), "names": strings(b"")}, RtcStatus.INVALID_INPUT),
        ({"count": 1, "headers": strings(None), "names": strings(b"x.h")}, RtcStatus.INVALID_INPUT),
    ],
)
def test_wrong_sources_are_refused(call, wrong, status):
    assert created(call, **wrong) == (status, 0)


def test_addresses_that_are_null_are_refused(call):
    status, program = created(call)
    assert status == RtcStatus.SUCCESS
    number = ctypes.c_int()
    text = ctypes.create_string_buffer(b"f")
    assert call("CreateProgram", 0, address(text), 0, 0, 0, 0) == RtcStatus.INVALID_PROGRAM
    for wrong in (
        ("Version", 0, address(number)), ("Version", address(number), 0), ("DestroyProgram", 0),
        ("AddNameExpression", program, 0), ("GetLoweredName", program, 0, address(number)),
        ("GetLoweredName", program, address(text), 0), ("GetCodeSize", program, 0), ("GetCode", program, 0),
        ("GetProgramLogSize", program, 0), ("GetProgramLog", program, 0), ("CompileProgram", program, 1, 0),
        ("CompileProgram", program, -1, 0),
    ):  # fmt: skip
        assert call(*wrong) == RtcStatus.INVALID_INPUT, wrong
    assert number.value == 0


def test_programs_that_are_not_there_are_refused(call):
    _, program = created(call)
    handle, size, text = ctypes.c_size_t(program), ctypes.c_size_t(7), ctypes.create_string_buffer(b"f")
    assert call("DestroyProgram", address(handle)) == RtcStatus.SUCCESS
    for wrong in (
        ("DestroyProgram", address(handle)), ("AddNameExpression", program, address(text)),
        ("CompileProgram", program, 0, 0), ("GetCodeSize", program, address(size)),
        ("GetCode", program, address(text)), ("GetProgramLogSize", program, address(size)),
        ("GetProgramLog", 0, address(text)), ("GetLoweredName", program, address(text), address(size)),
    ):  # fmt: skip
        assert call(*wrong) == RtcStatus.INVALID_PROGRAM, wrong
    assert size.value == 7


def test_before_compilation_there_is_nothing(call):
    _, program = created(call)
    size, text = ctypes.c_size_t(7), ctypes.create_string_buffer(b"f")
    assert call("AddNameExpression", program, address(text)) == RtcStatus.SUCCESS
    assert call("GetLoweredName", program, address(text), address(size)) == RtcStatus.NAME_EXPRESSION_NOT_VALID
    for name in ("GetCodeSize", "GetProgramLogSize"):
        size.value = 7
        assert call(name, program, address(size)) == RtcStatus.SUCCESS
        assert size.value == 0


def test_no_status_is_one_of_the_runtime_s():
    assert not {status.hip_name for status in RtcStatus} & {name for name, _ in names_and_texts().values()}
    assert rtc_calls.VERSION == (9, 0)


# --- Compiling --------------------------------------------------------------------------------------------------------


def test_the_compiler_is_given_options_source_and_headers(tmp_path, monkeypatch):
    printer(
        tmp_path, monkeypatch,
        'echo "$@"; while [ "$1" != -I ]; do shift; done; cat "$2/deep/x.h" >&2\n'
        'while [ "$1" != -include ]; do shift; done; built_ins=$2\n'
        'while [ "$1" != hip ]; do shift; done; cat "$2" "$built_ins" >&2; dirname "$2" >&2; exit 1',
    )  # fmt: skip
    made = Program(SOURCE, 'a "b".cu', {"deep/x.h": b"int x;\n"})
    made.add("g<int>")
    with pytest.raises(RtcError, match="COMPILATION"):
        made.compile(["-hip-pch", "-DX=1", "--gpu-architecture=gfx942:xnack-", "", "-I", "somewhere"])
    command, header, first, source, *rest = made.log.decode().splitlines()
    folder = rest.pop()
    assert command.startswith("-O3 -std=c++14 -D__HIPCC_RTC__ --offload-device-only --no-gpu-bundle-output -I /")
    assert f"hiprtc.h -DX=1 --offload-arch=gfx942:xnack- -I somewhere -x hip {folder}/source -o " in command
    assert (header, first, source) == ("int x;", r'#line 1 "a \"b\".cu"', SOURCE.decode())
    assert "const auto __mfma_name_0 = g<int>;" in made.log.decode()
    assert [line for line in rest if line.startswith("#include")] == [f"#include <hip/{name}>" for _, name in BUILT_INS]
    assert not Path(folder).exists()


def test_without_an_architecture_it_is_the_emulator_s(tmp_path, monkeypatch):
    printer(tmp_path, monkeypatch, 'echo "$@"; exit 1')
    made = Program(SOURCE)
    with pytest.raises(RtcError):
        made.compile([])
    assert b" --offload-arch=gfx942 " in made.log


def test_a_compiler_that_leaves_nothing_has_failed(tmp_path, monkeypatch):
    """Its exit code may be lost: a program that ignores SIGCHLD has no children to wait for."""
    printer(tmp_path, monkeypatch, "echo an error >&2")
    made = Program(SOURCE)
    with pytest.raises(RtcError, match="COMPILATION"):
        made.compile([])
    assert (made.code, made.log) == (b"", b"an error\n")


def test_what_is_no_code_object_is_an_error(tmp_path, monkeypatch):
    printer(tmp_path, monkeypatch, 'for last; do :; done; echo assembly > "$last"')
    made = Program(SOURCE)
    with pytest.raises(RtcError, match="COMPILATION"):
        made.compile(["-S"])
    assert made.code == b""
    assert made.log.startswith(b"mfma: the input is neither ELF nor an offload bundle")


def test_a_code_object_replaces_what_was_there_before(tmp_path, monkeypatch):
    printer(tmp_path, monkeypatch, f'for last; do :; done; cp {CODE} "$last"; echo a warning >&2')
    made = Program(SOURCE)
    made.compile([])
    assert (made.code, made.log) == (CODE.read_bytes(), b"a warning\n")
    printer(tmp_path, monkeypatch, "exit 1")
    with pytest.raises(RtcError):
        made.compile([])
    assert (made.code, made.log) == (b"", b"")


@pytest.mark.parametrize("name", ["../x.h", "/x.h", "a/../../x.h"])
def test_headers_stay_inside_their_folder(tmp_path, monkeypatch, name):
    printer(tmp_path, monkeypatch, "exit 1")
    made = Program(SOURCE, headers={name: b"int x;"})
    with pytest.raises(RtcError, match="COMPILATION"):
        made.compile([])
    assert made.log.decode() == (
        f"mfma: the header {name} is outside the folder of the source; give it a name inside.\n"
    )


def test_files_that_cannot_be_written_are_an_error(tmp_path, monkeypatch):
    printer(tmp_path, monkeypatch, "exit 1")
    made = Program(SOURCE, "s.cu", {"a": b"int x;", "a/b": b"int y;"})
    with pytest.raises(RtcError, match="COMPILATION"):
        made.compile([])
    assert made.log.startswith(b"mfma: the files of s.cu cannot be written: ")


def test_bitcode_ends_the_program(leaving):
    with pytest.raises(Left, match=r"hiprtcCompileProgram with -fgpu-rdc makes bitcode, which is not implemented"):
        Program(SOURCE).compile(["-fgpu-rdc"])


def test_without_a_compiler_the_program_ends(monkeypatch, leaving):
    def command():
        raise MissingToolError("clang is not here; install it.")

    monkeypatch.setattr(compiler, "command", command)
    with pytest.raises(Left, match=r"^hipRTC cannot compile: clang is not here; install it\.$"):
        Program(SOURCE).compile([])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("&scale", "scale", True), (" f < int,3 >", "f<int, 3>", True), ("f<int>", "f<float>", False),
        ("&N::x", "&x", False), ("(void (*)(int))f", "(void(*)(int)) f", True),
    ],
)  # fmt: skip
def test_name_expressions_are_compared_without_white_space(one, other, same):
    assert (plain(one) == plain(other)) is same


@pytest.mark.long
def test_code_for_another_gpu_is_an_error_in_the_log():
    made = Program(SOURCE)
    with pytest.raises(RtcError, match="COMPILATION"):
        made.compile(["--offload-arch=gfx90a"])
    assert made.log.startswith(b"mfma: the input has no code object for gfx942, only for gfx90a; compile it with ")
    made.compile(["--offload-arch=gfx942:sramecc+:xnack-", "-Wall", "-Wextra", "-Werror"])
    assert made.log == b""
    assert made.code.startswith(b"\x7fELF")


@pytest.mark.long
def test_lowered_names_are_those_of_the_code_object():
    made = Program(
        b"template <int N> __global__ void k(int *p) { *p = N; }\nnamespace { __global__ void hidden() {} }\n"
        b"extern __constant__ float table[3];\n__constant__ float table[3];\nconstexpr int seven = 7;\n"
    )
    for expression in ("k<3>", "k<1 + 1>", "hidden", "table", "seven", "&seven", "nullptr"):
        made.add(expression)
    made.compile(["-Wall", "-Wextra", "-Wmissing-variable-declarations", "-Wno-unused-function", "-Werror"])
    found = {name: made.lowered(name).value.decode() for name in ("k<3>", "& k<1+1>", "hidden", "&table")}
    assert found == {
        "k<3>": "_Z1kILi3EEvPi", "& k<1+1>": "_Z1kILi2EEvPi", "hidden": "_ZN12_GLOBAL__N_16hiddenEv", "&table": "table",
    }  # fmt: skip
    for expression in ("nullptr", "k<4>"):
        with pytest.raises(RtcError, match="NAME_EXPRESSION_NOT_VALID"):
            made.lowered(expression)


@pytest.mark.long
def test_an_error_in_a_name_expression_says_so():
    made = Program(SOURCE)
    made.add("f")
    made.add("nothing<int>")
    with pytest.raises(RtcError, match="COMPILATION"):
        made.compile([])
    assert re.search(rb"^name expressions:2:\d+: error: .*'nothing'", made.log, re.MULTILINE)
