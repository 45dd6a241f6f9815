"""Kernels that print: what the device libraries send, and what comes out is C's printf.

The kernels are those of ``golden/emulator/printing.hip``, once with hostcalls and once with the buffer that is read at
the end; glibc is the oracle of formats.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mfma
from corpus.build_hip import COMPILER, VERSION, built
from emulator.printing import GOLDEN, OBJECTS, SOURCE, build
from emulator.test_hostcall_format import glibc, snprintf
from hip_tools import missing, tool
from mfma.cli import main
from mfma.emulator.hostcall import Host
from mfma.emulator.hostcall_buffer import SIZE, PrintfBuffer
from mfma.emulator.hostcall_format import Streams
from mfma.emulator.hostcall_packets import LONGEST, Hostcalls
from mfma.emulator.memory import AddressSpace
from test_corpus_build import code

ENGINES = "interpreter", "native"
ALL = [(name, engine) for name in OBJECTS for engine in ENGINES]
each_way = pytest.mark.parametrize(("object_", "engine"), ALL)
each_engine = pytest.mark.parametrize("engine", ENGINES)

HOSTCALLS = "printing.co"
ASSERTED = 1 + SOURCE.read_text().partition("assert(")[0].count("\n")
"""The line of the assertion."""
BEGIN, END = 1, 2
"""Bits of a message's descriptor; its number of words begins at bit 5."""


def text(string: str) -> Any:
    return np.frombuffer(string.encode() + b"\0", np.uint8)


def printed(object_: str, engine: str, kernel: str, grid: Any, block: Any, *args: Any) -> str:
    """What a kernel prints to stdout; it must print nothing to stderr."""
    stdout, stderr = io.StringIO(), io.StringIO()
    function = mfma.load(GOLDEN / object_)[kernel]
    function.launch(grid, block, args, engine=engine, timeout=120, stdout=stdout, stderr=stderr)
    assert stderr.getvalue() == ""
    return stdout.getvalue()


@each_way
def test_what_a_kernel_prints_goes_to_stdout(object_: str, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    mfma.load(GOLDEN / object_)["hello"].launch(2, 64, [-7, 2], engine=engine)
    assert capsys.readouterr() == ("item 0 of hello: -7\nitem 1 of hello: -7\n", "")
    redirected = io.StringIO()
    with contextlib.redirect_stdout(redirected):
        mfma.load(GOLDEN / object_)["hello"].launch(2, 64, [8, 1], engine=engine)
    assert redirected.getvalue() == "item 0 of hello: 8\n"
    assert capsys.readouterr() == ("", "")


@each_way
def test_a_kernel_that_prints_nothing(object_: str, engine: str) -> None:
    assert printed(object_, engine, "hello", 3, 128, 1, 0) == ""


@each_way
def test_lanes_follow_one_another(object_: str, engine: str) -> None:
    lines = [f"item {i} of hello: 3\n" for i in range(64)]
    assert printed(object_, engine, "hello", 1, 64, 3, 64) == "".join(lines)
    assert printed(object_, engine, "hello", 1, 256, 3, 17) == "".join(lines[:17])


@each_way
def test_many_waves_print_at_once(object_: str, engine: str) -> None:
    groups, block = (12, 1024) if engine == "native" else (2, 256)
    items = groups * block - 100
    lines = printed(object_, engine, "hello", groups, block, 3, items).splitlines()
    assert sorted(lines) == sorted(f"item {i} of hello: 3" for i in range(items))
    numbers = [int(line.split()[1]) for line in lines]
    for wave in range(groups * block // 64):
        mine = [number for number in numbers if number // 64 == wave]
        assert mine == sorted(mine)


@pytest.mark.parametrize("object_", OBJECTS)
def test_both_engines_print_in_the_same_order(object_: str) -> None:
    for kernel, grid, block, *args in (("hello", 3, 128, 9, 300), ("divergent", 1, 128, 100), ("steps", 2, 128, 3)):
        assert printed(object_, "native", kernel, grid, block, *args) == printed(
            object_, "interpreter", kernel, grid, block, *args
        )


@each_way
def test_divergent_items_print_all_that_they_have(object_: str, engine: str) -> None:
    expected = []
    for n in range(70):
        for i in range(n % 5):
            expected.append(f"odd {n}, {i}" if n & 1 else f"even {n}, {'again' if i else 'first'}")
    lines = printed(object_, engine, "divergent", 1, 128, 70).splitlines()
    assert sorted(lines) == sorted(expected)
    for n in range(70):
        mine = [line for line in lines if line.split(",")[0].split()[1] == str(n)]
        assert mine == [line for line in expected if line.split(",")[0].split()[1] == str(n)]


@each_way
def test_barriers_order_what_waves_print(object_: str, engine: str) -> None:
    lines = printed(object_, engine, "steps", 2, 128, 3).splitlines()
    assert len(lines) == 12
    for group in (0, 1):
        steps = [int(line.split()[-1]) for line in lines if line.startswith(f"group {group} ")]
        assert steps == sorted(steps)


@each_way
def test_strings_of_any_length(object_: str, engine: str) -> None:
    lengths = [*range(18), 55, 56, 57, 99, 0, 1, *([300, 2000] if engine == "native" else [])]
    rows = [bytes(97 + (i + k) % 26 for k in range(length)) for i, length in enumerate(lengths)]
    memory = np.zeros((len(rows), 1 + max(lengths)), np.uint8)
    for row, string in zip(memory, rows, strict=True):
        row[: len(string)] = list(string)
    counts = np.zeros(64, np.int32)
    lines = printed(object_, engine, "strings", 1, 64, memory, memory.shape[1], len(rows), counts).splitlines()
    expected = []
    for i, string in enumerate(row.decode() for row in rows):
        expected.append(f"<{string}> [{string:>12}] {{{string:<12}}} ({string[:3]}) {i}")
    assert lines == expected
    returned = [len(line) + 1 for line in expected] if object_ == HOSTCALLS else [0] * len(expected)
    assert counts[: len(rows)].tolist() == returned


@each_engine
def test_a_null_string_is_empty(engine: str) -> None:
    line = printed(HOSTCALLS, engine, "strings", 1, 64, None, 0, 1, np.zeros(64, np.int32))
    assert line == f"<> [{'':12}] {{{'':12}}} () 0\n"


@each_way
def test_bytes_beyond_ascii(object_: str, engine: str) -> None:
    counts = np.zeros(1, np.int32)
    assert printed(object_, engine, "integers", 1, 1, text("µ%lld√%c%c\n"), 1, 0xC3, 0xA9, counts) == "µ1√é\n"
    assert printed(object_, engine, "integers", 1, 1, text("%c|%c|%c"), 0xFF, 65, 0, counts) == "\\xff|A|\0"


@glibc
@each_way
def test_numbers_of_a_kernel_print_as_c_prints_them(object_: str, engine: str) -> None:
    count = np.zeros(1, np.int32)
    for kernel, kind, format_, values in (
        ("integers", ctypes.c_longlong, "%lld %#x %-5hhd|\n", (-(1 << 63), 1 << 31, 200)),
        ("integers", ctypes.c_longlong, "%-*.*llu|", (30, 25, -1)),
        ("doubles", ctypes.c_double, "%.17g %+a", (0.1, -1e-310)),
    ):
        expected = snprintf(format_.encode(), *map(kind, values)).decode()
        assert printed(object_, engine, kernel, 1, 1, text(format_), *values, count) == expected
        assert count[0] == (len(expected) if object_ == HOSTCALLS else 0)


@each_way
def test_an_assertion_prints_to_stderr_and_ends_the_launch(object_: str, engine: str) -> None:
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.raises(mfma.KernelError, match="the kernel stopped itself: s_trap"):
        mfma.load(GOLDEN / object_)["checked"].launch(1, 64, [62], engine=engine, stdout=stdout, stderr=stderr)
    assert stdout.getvalue() == "".join(f"item {i}\n" for i in range(64))
    line = "printing.hip:{}: void checked(int): Device-side assertion `item() < limit' failed.\n"
    assert stderr.getvalue() == 2 * line.format(ASSERTED)
    stdout = io.StringIO()
    mfma.load(GOLDEN / object_)["checked"].launch(1, 64, [64], engine=engine, stdout=stdout)
    assert stdout.getvalue().count("\n") == 64


def test_a_launch_that_prints_runs_on_one_thread_with_the_same_output() -> None:
    stdout = io.StringIO()
    mfma.load(GOLDEN / HOSTCALLS)["hello"].launch(8, 64, [1, 300], threads=4, stdout=stdout)
    assert stdout.getvalue() == printed(HOSTCALLS, "native", "hello", 8, 64, 1, 300)


BAD_FORMATS = {
    "100%": "printf's format b'100%' has no conversion at position 3; write a percent sign as %%",
    "%lld %y": "printf's format b'%lld %y' has no conversion at position 5; write a percent sign as %%",
    "%*.*ld %d": (
        "printf's format b'%*.*ld %d' has more conversions than there are arguments; write a percent sign as %%"
    ),
    "%70000d": "b'%70000d' of printf asks for more than 65,536 characters",
    "%.70000lld": "b'%.70000lld' of printf asks for more than 65,536 characters",
}


@each_way
@pytest.mark.parametrize("format_", BAD_FORMATS)
def test_a_bad_format_ends_the_launch(object_: str, engine: str, format_: str) -> None:
    with pytest.raises(mfma.KernelError) as caught:
        printed(object_, engine, "integers", 1, 1, text(format_), 1, 2, 3, np.zeros(1, np.int32))
    place = "work-group (0, 0, 0): " if object_ == HOSTCALLS else ""
    assert str(caught.value) == place + BAD_FORMATS[format_].replace("b'", "'")


REQUESTS = {
    "a function of the host": ((1, 0x1234, 0, 0), "the kernel calls the host's function at 0x1234, and there is none"),
    "memory": (
        (3, 0, 4096, 0),
        "the kernel allocates device memory while it runs, which is not supported; pass it an array",
    ),
    "an unknown service": ((9, 0, 0, 0), "the kernel asks the host for service 9, which nobody knows"),
    "a message never begun": ((2, 5 << 8, 0, 0), "the kernel goes on with message 5, which it has not begun"),
    "another stream": (
        (2, BEGIN | END | 2 << 5, 2, 0),
        "the kernel prints to stream 2; there are 0, stdout, and 1, stderr",
    ),
    "nothing at all": (
        (2, BEGIN | END, 0, 0),
        "the kernel prints to stream 0; there are 0, stdout, and 1, stderr",
    ),
}  # fmt: skip


@each_engine
@pytest.mark.parametrize("case", REQUESTS)
def test_requests_that_nobody_answers(engine: str, case: str) -> None:
    request, expected = REQUESTS[case]
    with pytest.raises(mfma.KernelError) as caught:
        printed(HOSTCALLS, engine, "asks", 1, 1, *request, np.zeros(2, np.int64))
    assert str(caught.value) == f"work-group (0, 0, 0): {expected}"


@each_engine
def test_answers_of_the_host(engine: str) -> None:
    answers = np.zeros(2, np.int64)
    assert printed(HOSTCALLS, engine, "asks", 1, 1, 2, BEGIN | 1 << 5, 0, 0, answers) == ""
    assert answers[0] == 1 << 5  # message 0 has begun
    assert printed(HOSTCALLS, engine, "asks", 1, 1, 2, BEGIN | END | 2 << 5, 0, 0x2021, answers) == "! "
    assert answers[0] == 2


@each_engine
@pytest.mark.parametrize("entry", [3, 1])
def test_a_damaged_stack_ends_the_launch(engine: str, entry: int) -> None:
    """Of three packets: a fourth one, and one that comes after itself."""
    kernel = mfma.load(GOLDEN / HOSTCALLS)["damages"]
    with pytest.raises(mfma.KernelError) as caught:
        kernel.launch(3, 1, [entry], engine=engine, threads=1)  # it has no atomics, so more would run it
    assert str(caught.value) == "work-group (0, 0, 0): the kernel damaged the hostcall buffer, through which it prints"


def test_a_message_has_an_end() -> None:
    calls = Hostcalls(AddressSpace(), 1, Streams(io.StringIO(), io.StringIO()))
    number = calls._receive(BEGIN, b"") >> 8
    parts = LONGEST // 56
    for _ in range(parts):
        calls._receive(number << 8 | 7 << 5, bytes(56))
    with pytest.raises(mfma.KernelError) as caught:
        calls._receive(number << 8 | 7 << 5, bytes(56))
    assert str(caught.value) == "the kernel prints more than 1,048,576 bytes at once"


def buffer(*words: int) -> PrintfBuffer:
    made = PrintfBuffer(AddressSpace(), ["0:0:ff,%d", "no format of HIP", 3], Streams(io.StringIO(), io.StringIO()))
    made.buffer.bytes[: 4 * len(words)].view("<u4")[:] = words
    return made


BUFFERS = {
    (4, 0, 0 << 2): "the kernel prints a message of 0 bytes at byte 0, which is damaged",
    (8, 0, 99 << 2): "the kernel prints a message of 99 bytes at byte 0, which is damaged",
    (12, 0, 12 << 2 | 2, 7, 0): "the kernel prints with the format of hash 0x7, which the code object does not have",
}


@pytest.mark.parametrize("words", BUFFERS)
def test_a_damaged_buffer(words: tuple[int, ...]) -> None:
    with pytest.raises(mfma.KernelError) as caught:
        buffer(*words).read()
    assert str(caught.value) == BUFFERS[words]


def test_a_buffer_whose_length_is_damaged() -> None:
    made = buffer(0xFFFF_FFFF, 0, SIZE << 2)
    with pytest.raises(mfma.KernelError, match=r"a message of 4,194,304 bytes at byte 0, which is damaged"):
        made.read()


def test_the_error_of_a_launch_comes_before_that_of_its_buffer() -> None:
    kernel = mfma.load(GOLDEN / "printing_buffered.co")["hello"].kernel
    host = Host(kernel, (), AddressSpace(), 1, Streams(io.StringIO(), io.StringIO()))
    assert host.printf is not None
    host.printf.buffer.bytes[0] = 4
    with pytest.raises(mfma.MemoryFault), host:
        raise mfma.MemoryFault("elsewhere", lane=0, address=0, bytes_=4, reason="")
    with pytest.raises(mfma.KernelError, match="which is damaged"), host:
        pass


def test_a_full_buffer_loses_messages() -> None:
    count = np.zeros(64, np.int32)
    long = text("x" * 100_000)
    assert printed("printing_buffered.co", "native", "integers", 1, 64, long, 0, 0, 0, count) == "x" * 100_000 * 41
    assert Counter(count.tolist()) == {0: 41, -1: 23}


@pytest.mark.long
@pytest.mark.parametrize("name", OBJECTS)
def test_the_objects_come_from_their_source(tmp_path: Path, name: str) -> None:
    tool(COMPILER)
    made = code(build(tmp_path / name, *OBJECTS[name]))
    if built() != VERSION:
        missing(f"{COMPILER} of version {VERSION}")
    assert made == code(GOLDEN / name)


@pytest.mark.parametrize("command", ["run", "trace", "profile"])
def test_json_of_the_command_line_has_stdout_for_itself(command: str) -> None:
    line = [command, str(GOLDEN / HOSTCALLS), "--kernel", "hello", "--block", "64", "--args", "5", "1"]
    limit = ["--limit", "100000"] if command == "trace" else []
    done = CliRunner().invoke(main, [*line, *limit, "--json"])
    assert done.exit_code == 0, done.output
    assert "item 0 of hello: 5\n" in done.stderr
    for document in done.stdout.splitlines() if command == "trace" else [done.stdout]:
        json.loads(document)
    assert "item 0 of hello: 5\n" in CliRunner().invoke(main, [*line, *limit]).stdout


@pytest.mark.long
@pytest.mark.parametrize("flags", [("-O0",), ("-O3",), ("-O0", *OBJECTS["printing_buffered.co"])])
def test_kernels_of_any_optimisation_print_the_same(tmp_path: Path, flags: tuple[str, ...]) -> None:
    tool(COMPILER)
    made = build(tmp_path / "printing.co", *flags)
    strings = np.frombuffer(b"one\0\0\0\0\0twelve bytes\0\0\0\0", np.uint8)
    for kernel, *args in (("hello", 5, 64), ("strings", strings, 8, 2, np.zeros(64, np.int32)), ("divergent", 20)):
        lines = printed(HOSTCALLS, "native", kernel, 1, 64, *args).splitlines()
        assert sorted(printed(str(made), "native", kernel, 1, 64, *args).splitlines()) == sorted(lines)
        assert lines


@pytest.fixture
def triton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    try:
        import triton  # noqa: F401
    except ImportError:
        missing("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    from emulator import triton_printing

    return triton_printing


@pytest.mark.long
@each_engine
@pytest.mark.parametrize(("kind", "warps"), [("fp32", 1), ("fp64", 2), ("fp16", 1), ("i8", 1), ("i64", 2)])
def test_device_print_of_triton(triton: Any, engine: str, kind: str, warps: int) -> None:
    dtype = {"fp32": np.float32, "fp64": np.float64, "fp16": np.float16, "i8": np.int8, "i64": np.int64}[kind]
    block, programs, n = 64 * warps, 2, 100
    x = np.arange(-20, 108).astype(dtype) if kind.startswith("i") else (np.arange(128) / 8 - 3).astype(dtype)
    x = np.resize(x, block * programs)
    path = Path(os.environ["TRITON_CACHE_DIR"], "printing.hsaco")
    path.write_bytes(triton.compiled(triton.printing, kind, block, warps))
    stdout = io.StringIO()
    mfma.load(path)["printing"].launch(programs, block, [x, n, None, None], engine=engine, stdout=stdout)
    expected = []
    for i in range(block * programs):
        value = x[i] if i < n else dtype(-1)
        number = f"{value:f}" if x.dtype.kind == "f" else f"{value:d}"
        place = f"pid ({i // block}, 0, 0) idx ({i % block:{len(str(block - 1))}d})"
        expected += [f"{place} values: (operand 0) {number}", f"{place} values: (operand 1) {3 * i}"]
        expected += [f"{place} bits: {i:#010x}"]
    lines = [" ".join(line.split()) for line in stdout.getvalue().splitlines()]
    # every lane prints a number that is the same for all
    assert {f"pid ({p}, 0, 0) idx () program: {p}" for p in range(programs)} <= set(lines)
    assert sorted(line for line in lines if "program" not in line) == sorted(
        " ".join(line.split()) for line in expected
    )


@pytest.mark.long
@each_engine
def test_device_assert_of_triton(triton: Any, engine: str) -> None:
    code_ = triton.compiled(triton.asserting, "i32", 64, 1)
    stderr = io.StringIO()
    kernel = mfma.load(code_)["asserting"]
    kernel.launch(1, 64, [np.arange(64, dtype=np.int32), 50, None, None], engine=engine, stderr=stderr)
    assert stderr.getvalue() == ""
    with pytest.raises(mfma.KernelError, match="the kernel stopped itself: s_trap"):
        kernel.launch(1, 64, [np.arange(64, dtype=np.int32), 64, None, None], engine=engine, stderr=stderr)
    assert stderr.getvalue().count("device assertion failed: 'a value is too large'") == 14
