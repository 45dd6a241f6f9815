"""The same bits everywhere: for any number of threads, any CPU, and any floating-point environment of the caller."""

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

from mfma.formats import FORMATS
from mfma.isa.spec import MatrixOp
from mfma.native import jit  # noqa: F401  (for the processes that import this module)
from mfma.native.jit import function_address
from mfma.native.simd import F32, POINTER, Kernel
from mfma.native.threads import run
from mfma.numerics import blocks, exact_sum, fast
from mfma.numerics.fast import multiply
from mfma.numerics.reference import MODELS
from numeric_cases import OPS
from numeric_products import DATA, KINDS, Codes

SHAPE = 3, 70, 37
SEEDS = 1, 2, 11  # few specials and many
ALL_WAYS = [(ops[-1], model, ovfl) for ops in KINDS.values() for model in MODELS for ovfl in (False, True)]

GENERIC_WAYS = [
    way for way in ALL_WAYS if way[1:] == ("hardware", False) or (way[0].name == "f32_16x16x16f16" and not way[2])
]
TILED_WAYS = [way for way in GENERIC_WAYS if way[0].name in ("f32_16x16x4f32", "f64_4x4x4f64", "i32_16x16x32_i8")]
"""Those whose register tiles depend on the CPU."""
PLAIN_WAYS = [way for way in ALL_WAYS if not way[2] and (way[1] == "hardware" or not way[0].out.is_integer)]


def answers(ways: list[tuple[MatrixOp, str, bool]] = ALL_WAYS, threads: int | None = None) -> dict[str, Codes]:
    """Compute products of every kind of data in all ``ways``."""
    results = []
    for op, model, ovfl in ways:
        m, n, k = SHAPE
        drawn = [data(np.random.default_rng(seed), op, m, n, k) for data in DATA for seed in SEEDS]
        a, b, d = (np.stack(matrices) for matrices in zip(*drawn, strict=True))
        multiply(op, a, b, d, model=model, fp16_ovfl=ovfl, threads=threads)
        results.append(d)
    return dict(zip(_names(ways), results, strict=True))


def assert_same(got: dict[str, Codes], expected: dict[str, Codes], ways: list[tuple[MatrixOp, str, bool]]) -> None:
    assert [*got] == _names(ways)
    assert [name for name in got if not np.array_equal(got[name], expected[name])] == []


def _names(ways: list[tuple[MatrixOp, str, bool]]) -> list[str]:
    return [f"{op.name}-{model}-{ovfl}" for op, model, ovfl in ways]


@pytest.fixture(scope="module")
def expected() -> dict[str, Codes]:
    return answers(threads=1)


def test_the_products_have_specials_and_many_values(expected: dict[str, Codes]) -> None:
    """Else equal bits would say little."""
    for name, d in expected.items():
        assert len(np.unique(d)) > d.size // 10, name
        if not name.startswith("i32"):
            x = d.view(FORMATS[name[:3]].dtype)
            assert np.isnan(x).any(), name
            assert np.isinf(x).any() or name.endswith("True"), name
    for op in ("f32_4x4x4bf16_1k", "f32_16x16x8_xf32", "f32_16x16x4f32"):
        x = np.abs(expected[f"{op}-hardware-False"].view(np.float32))
        assert ((x > 0) & (x < 2.0**-126)).any()


# --- threads --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads(threads: int, expected: dict[str, Codes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "PIECE", 1)  # pieces as small as they come
    assert_same(answers(threads=threads), expected, ALL_WAYS)


# --- CPUs -----------------------------------------------------------------------------------------------------

CPU_NAMES = "MFMA_CPU", "NUMBA_CPU_NAME"


def answers_of(cpu: dict[str, str], folder: Path, ways: str) -> tuple[dict[str, Codes], str]:
    """Compute ``answers`` of named ways in a new process for a CPU; give also its target and vector width."""
    code = (
        "import sys, numpy, test_same_bits as t; numpy.savez(sys.argv[1], **t.answers(getattr(t, sys.argv[2])));"
        "print(t.jit.host()[0], t.jit.vector_bits())"
    )
    out = folder / "answers.npz"
    environment = {name: value for name, value in os.environ.items() if name not in CPU_NAMES}
    done = subprocess.run(
        [sys.executable, "-c", code, str(out), ways],
        cwd=Path(__file__).parent,
        env={**environment, **cpu, "MFMA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with np.load(out) as data:
        return dict(data), done.stdout.strip()


needs_x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names CPUs and registers of x86")


def check_cpus(folder: Path, expected: dict[str, Codes], ways: dict[str, str]) -> None:
    """Compare the bits of CPUs, each given with its vector width and the name of its ways."""
    folders = [folder / str(number) for number in range(len(ways))]
    for made in folders:
        made.mkdir()
    with ThreadPoolExecutor(2) as pool:
        names = [{"MFMA_CPU": cpu.split()[0]} for cpu in ways]
        results = [*pool.map(answers_of, names, folders, ways.values())]
    for (got, target), cpu, some in zip(results, ways, ways.values(), strict=True):
        assert target == cpu
        assert_same(got, expected, globals()[some])


@needs_x86
def test_cpus(tmp_path: Path, expected: dict[str, Codes]) -> None:
    check_cpus(tmp_path, expected, {"generic 128": "GENERIC_WAYS"})


@pytest.mark.long
@needs_x86
def test_cpus_in_all_ways(tmp_path: Path, expected: dict[str, Codes]) -> None:
    check_cpus(tmp_path, expected, dict.fromkeys(["generic 128", "haswell 256"], "ALL_WAYS"))


def test_numbas_name_for_a_cpu(tmp_path: Path, expected: dict[str, Codes]) -> None:
    """It chooses the very same code."""
    first, _ = answers_of({"MFMA_CPU": "generic"}, tmp_path, "TILED_WAYS")
    compiled = {path.name for path in tmp_path.glob("*.o")}
    second, target = answers_of({"NUMBA_CPU_NAME": "generic"}, tmp_path, "TILED_WAYS")
    assert target == "generic 128"
    assert {path.name for path in tmp_path.glob("*.o")} == compiled
    for got in (first, second):
        assert_same(got, expected, TILED_WAYS)


# --- the floating-point environment of the calling thread -------------------------------------------------------

MXCSR = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
define void @set_mxcsr(i32 %value) {
  %place = alloca i32
  store i32 %value, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}
define i32 @get_mxcsr() {
  %place = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %value = load i32, ptr %place
  ret i32 %value
}
"""

DEFAULT = 0x1F80
FLAGS = 0x3F
"""Status flags, which NumPy and Python raise and clear all the time."""
ENVIRONMENTS = {
    "flush to zero": DEFAULT | 0x8000,
    "denormals are zero": DEFAULT | 0x0040,
    "round to nearest": DEFAULT,
    "round down": DEFAULT | 0x2000,
    "round up": DEFAULT | 0x4000,
    "round toward zero": DEFAULT | 0x6000,
    "all at once": DEFAULT | 0xE040,
    "traps on invalid, zero divide and overflow": DEFAULT & ~0x0680,
}
each_environment = pytest.mark.parametrize("value", ENVIRONMENTS.values(), ids=ENVIRONMENTS)


@dataclass(frozen=True)
class Environment:
    """The control and status register of SSE on the calling thread."""

    get: Callable[[], int]
    set: Callable[[int], None]

    @contextmanager
    def of(self, value: int) -> Iterator[None]:
        """Run the block with ``value``, and check that nothing in it leaves another one, but for the flags."""
        before = self.get()
        self.set(value)
        try:
            yield
            after = self.get()
        finally:
            self.set(before)
        assert f"{after & ~FLAGS:04X}" == f"{value:04X}"


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("MXCSR is a register of x86")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(MXCSR), machine)
    engine.finalize_object()
    get = ctypes.CFUNCTYPE(ctypes.c_uint32)(engine.get_function_address("get_mxcsr"))
    set_ = ctypes.CFUNCTYPE(None, ctypes.c_uint32)(engine.get_function_address("set_mxcsr"))
    yield Environment(get, set_)
    del engine


def sensitive_sums() -> list[float]:
    """What NumPy makes of sums and products that every setting but the default changes."""
    x = np.array([2.0**-126, 2.0**-130, 1, -1, 1], np.float32)
    y = np.array([0.5, 2.0, 2.0**-30, -(2.0**-30), -(2.0**-30)], np.float32)
    return [*(x[:2] * y[:2]).tolist(), *(x[2:] + y[2:]).tolist()]


def test_the_environments_matter(environment: Environment) -> None:
    default = sensitive_sums()
    for name, value in ENVIRONMENTS.items():
        with environment.of(value):
            sums = sensitive_sums()
        assert (sums == default) == (name == "round to nearest" or name.startswith("traps")), name


@each_environment
@pytest.mark.parametrize("threads", [1, 3])
def test_environment_of_the_caller(
    value: int, threads: int, environment: Environment, expected: dict[str, Codes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """New threads inherit it, so the workers run in it as well."""
    monkeypatch.setattr(fast, "PIECE", 1)
    with environment.of(value):
        got = answers(PLAIN_WAYS, threads=threads)
    assert_same(got, expected, PLAIN_WAYS)


@each_environment
def test_environment_of_workers(value: int, environment: Environment, expected: dict[str, Codes]) -> None:
    """A kernel gives a worker thread back as it was."""
    got: list[dict[str, Codes]] = []

    def piece() -> None:
        with environment.of(value):
            got.append(answers(PLAIN_WAYS, threads=1))

    run([piece] * 2, 2)
    assert len(got) == 2
    for some in got:
        assert_same(some, expected, PLAIN_WAYS)


@each_environment
def test_a_kernel_gives_back_every_bit(value: int, environment: Environment) -> None:
    """Status flags as well: nothing but the kernel runs here between the two looks at the register."""

    def write(module: ir.Module) -> None:
        kernel = Kernel(module, "square", [POINTER])
        x = kernel.load(kernel.arguments[0], 0, F32)
        (x * x).store(kernel.arguments[0])
        kernel.finish()

    square = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function_address("square", [], write, []))
    for flags in (0, FLAGS):
        x = np.array([1e30, 0], np.float32)  # overflows
        place = x.ctypes.data
        before = environment.get()
        environment.set(value | flags)
        square(place)
        after = environment.get()
        environment.set(before)
        assert x[0] == np.inf
        assert f"{after:04X}" == f"{value | flags:04X}"


@pytest.mark.parametrize("name", ["round up", "all at once"])
def test_environment_while_compiling(
    name: str, environment: Environment, expected: dict[str, Codes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel's constants do not depend on it either; wrong ones would stay in the cache for good."""
    ways = [(OPS[name], "hardware", False) for name in ("f32_16x16x16f16", "f32_16x16x8_xf32", "f32_16x16x32_bf8_bf8")]
    ways.append((OPS["f32_16x16x16f16"], "exact", False))
    caches = fast._kernel, blocks.product, exact_sum.exact_product
    monkeypatch.setenv("MFMA_CACHE_DIR", str(tmp_path))
    for cache in caches:
        cache.cache_clear()
    try:
        with environment.of(ENVIRONMENTS[name]):
            got = answers(ways, threads=1)
    finally:
        for cache in caches:
            cache.cache_clear()
    assert len([*tmp_path.glob("*.o")]) == len(ways)
    assert_same(got, expected, ways)
