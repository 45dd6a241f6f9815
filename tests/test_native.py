"""Native code: the notation of kernels, the cache of machine code, and the threads that run pieces of work."""

import ctypes
import errno
import hashlib
import itertools
import os
import pwd
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from numpy.typing import NDArray

from mfma.errors import OptionError
from mfma.native import jit
from mfma.native.jit import cache_dir, function_address
from mfma.native.simd import F32, F64, I8, I16, I32, I64, POINTER, Kernel, Value, vector
from mfma.native.threads import run, thread_count


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for every test; the folder does not exist yet."""
    chosen = tmp_path / "not" / "yet"
    monkeypatch.setenv("MFMA_CACHE_DIR", str(chosen))
    return chosen


# --- the notation -------------------------------------------------------------------------------------------------

DTYPES = {F32: np.float32, F64: np.float64, I8: np.int8, I16: np.int16, I32: np.int32, I64: np.int64}
NUMBERS = itertools.count()
"""One for every kernel: the cache must not take one for another."""
LANES = 8
WHOLE = np.array([0, 1, -1, 7, -8, 2**31 - 1, -(2**31), 123456789], np.int32)
OTHER = np.array([3, 1, 31, 2, 30, 5, 31, 0], np.int32)
REAL = np.array([0.0, -0.0, 1.5, -1.5, 3e38, -np.inf, np.nan, 2.0**-149], np.float32)
FACTOR = np.array([1.0, 1.0, -1.5, 1 + 2.0**-23, 2.0, 0.5, 1.0, 0.5], np.float32)


def compiled(arguments: int, build: Callable[[Kernel], None]) -> Callable[..., None]:
    """Compile a function of pointers."""

    def write(module: ir.Module) -> None:
        kernel = Kernel(module, "tested", [POINTER] * arguments)
        build(kernel)
        kernel.finish()

    address = function_address("tested", [next(NUMBERS)], write, [])
    native = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)
    return lambda *arrays: native(*(array.ctypes.data for array in arrays))


def lanewise(expression: Callable[[Value, Value], Value], x: NDArray[Any], y: NDArray[Any], result: ir.Type) -> Any:
    """Evaluate an expression on two arrays of `LANES` elements."""
    elements = {np.dtype(dtype): type_ for type_, dtype in DTYPES.items()}

    def build(kernel: Kernel) -> None:
        out, *operands = kernel.arguments
        values = (kernel.load(p, 0, vector(elements[a.dtype], LANES)) for p, a in zip(operands, (x, y), strict=True))
        expression(*values).store(out)

    out = np.zeros(LANES, DTYPES[result])
    compiled(3, build)(out, x, y)
    return out


def wrapped(values: Any) -> Any:
    return np.asarray(values).astype(np.int64).astype(np.int32)


W, O = WHOLE.astype(np.int64), OTHER.astype(np.int64)  # noqa: E741
INTEGER = {
    "add": (lambda x, y: x + y, wrapped(W + O)),
    "add a number": (lambda x, y: x + 5, wrapped(W + 5)),
    "subtract": (lambda x, y: x - y, wrapped(W - O)),
    "subtract from a number": (lambda x, y: 5 - x, wrapped(5 - W)),
    "multiply": (lambda x, y: x * y, wrapped(W * O)),
    "divide toward zero": (lambda x, y: x // 3, wrapped(np.trunc(W / 3))),
    "and": (lambda x, y: x & y, WHOLE & OTHER),
    "or": (lambda x, y: x | y, WHOLE | OTHER),
    "xor": (lambda x, y: x ^ y, WHOLE ^ OTHER),
    "shift left": (lambda x, y: x << y, wrapped(W << O)),
    "shift right with the sign": (lambda x, y: x >> y, WHOLE >> OTHER),
    "shift right without": (lambda x, y: x.shr(y), (WHOLE.view(np.uint32) >> OTHER.view(np.uint32)).view(np.int32)),
    "maximum": (lambda x, y: x.maximum(y), np.maximum(WHOLE, OTHER)),
    "minimum": (lambda x, y: x.minimum(0), np.minimum(WHOLE, 0)),
    "saturate": (lambda x, y: x.add_saturating(y - 16), np.clip(W + O - 16, -(2**31), 2**31 - 1).astype(np.int32)),
    "leading zeros": (lambda x, y: x.leading_zeros(), [32 - int(v).bit_length() for v in WHOLE.view(np.uint32)]),
    "less": (lambda x, y: (x < y).select(x, y), np.minimum(WHOLE, OTHER)),
    "greater or equal": (lambda x, y: (x >= y).select(x.like(1), 0), (WHOLE >= OTHER).astype(np.int32)),
    "equal": (lambda x, y: x.equals(y).select(x.like(1), 0), (WHOLE == OTHER).astype(np.int32)),
    "a part": (lambda x, y: x.part(2, 4).shuffle([3, 2, 1, 0, 0, 1, 2, 3]), WHOLE[[5, 4, 3, 2, 2, 3, 4, 5]]),
    "narrower and back": (lambda x, y: x.to(I8).to(I32), WHOLE.astype(np.int8).astype(np.int32)),
    "unsigned": (lambda x, y: x.to(I8).to(I32, signed=False), WHOLE & 255),
}


@pytest.mark.parametrize(("expression", "expected"), INTEGER.values(), ids=INTEGER)
def test_integers(expression: Callable[[Value, Value], Value], expected: NDArray[np.int32]) -> None:
    np.testing.assert_array_equal(lanewise(expression, WHOLE, OTHER, I32), expected)


def fused(x: NDArray[np.float32], y: NDArray[np.float32], z: float) -> NDArray[np.float32]:
    """One rounding: float64 holds these products, and no sum of this test is near a tie."""
    return (x.astype(np.float64) * y.astype(np.float64) + z).astype(np.float32)


with np.errstate(all="ignore"):
    FLOATING = {
        "add": (lambda x, y: x + y, REAL + FACTOR),
        "subtract": (lambda x, y: x - y, REAL - FACTOR),
        "multiply": (lambda x, y: x * y, REAL * FACTOR),
        "fused": (lambda x, y: x.fma(y, x.like(-1.0)), fused(REAL, FACTOR, -1.0)),
        "floor": (lambda x, y: x.floor(), np.floor(REAL)),
        "less is false for NaN": (lambda x, y: (x < y).select(x, y), np.where(REAL < FACTOR, REAL, FACTOR)),
        "is NaN": (lambda x, y: x.is_nan().select(y, x), np.where(np.isnan(REAL), FACTOR, REAL)),
        "bits": (lambda x, y: x.bitcast(I32).bitcast(F32), REAL),
    }


@pytest.mark.parametrize(("expression", "expected"), FLOATING.values(), ids=FLOATING)
def test_floats(expression: Callable[[Value, Value], Value], expected: NDArray[np.float32]) -> None:
    got = lanewise(expression, REAL, FACTOR, F32)
    np.testing.assert_array_equal(np.where(np.isnan(got), 0, got.view(np.uint32)),
                                  np.where(np.isnan(expected), 0, expected.view(np.uint32)))  # fmt: skip
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))


def test_conversions() -> None:
    doubles = np.array([0.1, -2.9, 2.9, 1e300, -1e-300, 7.0, 2.0**-149, 2.0**-150], np.float64)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            lanewise(lambda x, y: x.to(F32), doubles, doubles, F32), doubles.astype(np.float32)
        )
    some = np.clip(doubles, -3, 7)
    np.testing.assert_array_equal(lanewise(lambda x, y: x.to(I32), some, some, I32), np.trunc(some))
    np.testing.assert_array_equal(lanewise(lambda x, y: x.to(F32), WHOLE, WHOLE, F32), WHOLE.astype(np.float32))
    unsigned = WHOLE.view(np.uint32).astype(np.float64)
    np.testing.assert_array_equal(lanewise(lambda x, y: x.to(F64, signed=False), WHOLE, WHOLE, F64), unsigned)


def test_loops_branches_and_memory() -> None:
    """Sum what a table chooses, skipping what is negative; count how often."""

    def build(kernel: Kernel) -> None:
        out, numbers = kernel.arguments
        chosen = kernel.table(I16, [5, 0, 3, 3], "chosen")
        memory = kernel.array(I64, 2)
        for place in range(2):
            kernel.constant(I64, 0).store(memory, place)
        with kernel.loop(4) as i:
            x = kernel.load(numbers, kernel.load(chosen, i, I16).to(I64), I64)
            with kernel.when(x > 0):
                (kernel.load(memory, 0, I64) + x).store(memory, 0)
                (kernel.load(memory, 1, I64) + 1).store(memory, 1)
        with kernel.loop(8, start=2, step=4) as i:
            i.store(out, i)
        kernel.load(memory, 0, vector(I64, 2)).store(out)

    out = np.zeros(10, np.int64)
    compiled(2, build)(out, np.array([-1, 20, 300, 4000, 50000, 600000]))
    np.testing.assert_array_equal(out, [608000, 3, 2, 0, 0, 0, 6, 0, 0, 0])


def test_any_lane() -> None:
    def build(kernel: Kernel) -> None:
        out, x = kernel.arguments
        for place, limit in enumerate((0, 1)):
            some = (kernel.load(x, 0, vector(I32, LANES)) > limit).any()
            some.select(kernel.constant(I32, 1), 0).store(out, place)
        (kernel.load(x, 0, I32).equals(1)).any().select(kernel.constant(I32, 1), 0).store(out, 2)

    out = np.full(3, 9, np.int32)
    compiled(2, build)(out, np.array([0, 0, 0, 1, 0, 0, 0, 0], np.int32))
    np.testing.assert_array_equal(out, [1, 0, 0])


# --- the cache ----------------------------------------------------------------------------------------------------


class Doubling:
    """A little kernel that knows how often it was written."""

    def __init__(self) -> None:
        self.written = 0

    def write(self, module: ir.Module) -> None:
        self.written += 1
        kernel = Kernel(module, "doubled", [POINTER])
        (kernel.load(kernel.arguments[0], 0, F64) * 2.0).store(kernel.arguments[0])
        kernel.finish()

    def works(self, *parameters: object) -> bool:
        x = np.array([21.0])
        address = function_address("doubled", parameters, self.write, ["mfma.native.threads"])
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(x.ctypes.data)
        return x[0] == 42.0


def test_a_kernel_is_compiled_once(folder: Path) -> None:
    kernel = Doubling()
    assert kernel.works()
    (file,) = folder.iterdir()
    assert file.name.startswith("doubled-")
    assert file.suffix == ".o"
    content = file.read_bytes()
    assert hashlib.sha256(content[32:]).digest() == content[:32]
    assert kernel.works()
    assert kernel.written == 1
    assert [*folder.iterdir()] == [file]
    assert file.read_bytes() == content


def test_what_decides_the_code_decides_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Doubling()
    assert kernel.works("a parameter")
    assert kernel.works("another")
    with monkeypatch.context() as patch:
        patch.setattr(jit, "host", lambda: ("another", ""))
        assert kernel.works("another")
    with monkeypatch.context() as patch:
        patch.setattr(jit, "_source_digest", lambda modules: repr(modules).encode())
        assert kernel.works("another")
    assert kernel.written == len([*folder.iterdir()]) == 4


DAMAGE = {
    "empty": lambda content: b"",
    "shorter than a digest": lambda content: content[:20],
    "a digest alone": lambda content: content[:32],
    "cut short": lambda content: content[:-1],
    "half": lambda content: content[: len(content) // 2],
    "one bit": lambda content: content[:100] + bytes([content[100] ^ 1]) + content[101:],
    "another program's": lambda content: b"\x7fELF" * 100,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_compiled_anew(damage: Callable[[bytes], bytes], folder: Path) -> None:
    kernel = Doubling()
    assert kernel.works()
    (file,) = folder.iterdir()
    content = file.read_bytes()
    file.write_bytes(damage(content))
    assert kernel.works()
    assert kernel.written == 2
    assert file.read_bytes()[:32] == hashlib.sha256(file.read_bytes()[32:]).digest()
    assert kernel.works()
    assert kernel.written == 2


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    kernel = Doubling()
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/mfma")):
        monkeypatch.setenv("MFMA_CACHE_DIR", str(place))
        assert kernel.works()
    assert kernel.written == 3
    assert [*tmp_path.iterdir()] == [tmp_path / "file"]


def test_a_file_that_is_a_folder_costs_only_time(folder: Path) -> None:
    kernel = Doubling()
    assert kernel.works()
    (file,) = folder.iterdir()
    file.unlink()
    (file / "full").mkdir(parents=True)
    assert kernel.works()
    assert kernel.written == 2
    assert [*folder.iterdir()] == [file]


def test_a_full_disk_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert Doubling().works()
    assert [*folder.iterdir()] == []


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MFMA_CACHE_DIR", str(tmp_path / "chosen"))
    assert cache_dir() == tmp_path / "chosen"
    monkeypatch.delenv("MFMA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "mfma"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir() == tmp_path / ".cache" / "mfma"


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> object:
        raise KeyError(uid)

    for name in ("MFMA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert cache_dir() is None
    kernel = Doubling()
    assert kernel.works()
    assert kernel.works()
    assert kernel.written == 2


def test_processes_that_compile_at_once(folder: Path) -> None:
    """All start together on an empty cache, none is harmed, and one intact file of each kernel is left."""
    code = (
        "import sys, time, test_native as t;"
        "kernel = t.Doubling(); time.sleep(max(0, float(sys.argv[1]) - time.time()));"
        "print(all(kernel.works(n) for n in range(10)))"
    )
    start = str(time.time() + 2)
    command = [sys.executable, "-c", code, start]
    here = Path(__file__).parent
    running = [subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate()[0].strip() for process in running] == ["True"] * 4
    assert [process.returncode for process in running] == [0] * 4
    files = [*folder.iterdir()]
    assert len(files) == 10
    assert {file.suffix for file in files} == {".o"}
    kernel = Doubling()
    assert all(kernel.works(n) for n in range(10))
    assert kernel.written == 0


def test_threads_that_compile_at_once() -> None:
    kernel = Doubling()
    results: list[bool] = []
    run([lambda: results.append(kernel.works())] * 8, 4)
    assert results == [True] * 8
    assert kernel.written == 1


# --- threads ------------------------------------------------------------------------------------------------------


def test_thread_count() -> None:
    assert thread_count(3) == 3
    assert 1 <= thread_count(None) <= (os.cpu_count() or 1)


@pytest.mark.parametrize("threads", [0, -1, 1.0, "2", True])
def test_a_bad_thread_count_gets_one_sentence(threads: Any) -> None:
    with pytest.raises(OptionError) as caught:
        thread_count(threads)
    given = repr(threads)
    assert str(caught.value) == f"threads is {given}: give a whole number of at least 1, or None for all processors."


@pytest.mark.parametrize("threads", [1, 2, 7, 100])
def test_every_piece_runs_once_and_is_counted(threads: int) -> None:
    ran: list[int] = []
    seen: list[tuple[int, int]] = []
    pieces = [lambda n=n: ran.append(n) for n in range(20)]
    run(pieces, threads, lambda done, total: seen.append((done, total)))
    assert sorted(ran) == [*range(20)]
    assert len(seen) == 20
    assert {total for _, total in seen} == {20}
    assert all(1 <= done <= 20 for done, _ in seen)
    if threads == 1:
        assert ran == [*range(20)]
        assert [done for done, _ in seen] == [*range(1, 21)]


@pytest.mark.parametrize("threads", [1, 3])
def test_no_pieces_are_done_at_once(threads: int) -> None:
    run([], threads)


def test_threads_are_threads() -> None:
    """Each piece waits for another one, so one thread could not finish."""
    barrier = threading.Barrier(3)
    run([lambda: barrier.wait(timeout=20)] * 3, 3)
    run([lambda: barrier.wait(timeout=20)] * 9, 3)


def test_one_thread_is_the_callers() -> None:
    names: list[str] = []
    run([lambda: names.append(threading.current_thread().name)] * 3, 1)
    assert set(names) == {threading.current_thread().name}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_stops_the_pieces_that_have_not_begun(error: type[BaseException], threads: int) -> None:
    ran: list[int] = []

    def fail() -> None:
        raise error("stop")

    def slow() -> None:
        time.sleep(0.02)
        ran.append(1)

    with pytest.raises(error, match="stop"):
        run([slow, slow, fail, *[slow] * 200], threads)
    assert len(ran) < 50
    finished = len(ran)
    time.sleep(0.05)
    assert len(ran) == finished  # nothing goes on behind the caller's back


@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_of_the_progress_bar_stops_them_too(threads: int) -> None:
    ran: list[int] = []

    def progress(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    def slow() -> None:
        time.sleep(0.02)
        ran.append(1)

    with pytest.raises(KeyboardInterrupt):
        run([slow] * 200, threads, progress)
    assert len(ran) < 50


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_the_pieces_that_have_not_begun(threads: int) -> None:
    """A real signal to another process, which must end soon and by KeyboardInterrupt."""
    code = (
        "import sys, time; from mfma.native.threads import run\n"
        "pieces = [lambda: (sys.stdout.write('.\\n'), sys.stdout.flush(), time.sleep(0.05))] * 400\n"
        "try:\n"
        "    run(pieces, int(sys.argv[1]))\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(threads)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == ".\n"
    process.send_signal(2)
    output, _ = process.communicate(timeout=15)
    lines = output.split()
    assert lines[-1] == "interrupted"
    assert len(lines) < 100
    assert process.returncode == 0
