"""Compiled kernels on the emulator: the collection that its tests run, in ``tests/corpus``."""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import mfma
from bench.measure import Measurement, Target, Work
from bench.works import matmul, python

__all__ = ["emulator"]

TESTS = Path(__file__).parent.parent / "tests"
GEMM, ATTENTION = "triton_gemm_fp16_tile128_512", "triton_attention_d64_1x1024x64"
GEMM_SIZE = 512
FIRST = """
import contextlib, mfma
function = mfma.load({path!r})[{kernel!r}]
nothing = [None if argument.size == 8 else 0 for argument in function.kernel.arguments if not argument.hidden]
with contextlib.suppress(mfma.MfmaError):
    function.launch(1, 256, nothing, max_instructions=0, engine="native")
"""
"""Translates a kernel, and does not run it."""
INSTRUCTIONS = 20_000_000
"""Of waves in a second, on one core."""


def emulator() -> Iterator[Measurement]:
    """Launches, and what comes before the first one of a kernel."""
    gemm = Work(f"emulated Triton GEMM f16, {GEMM_SIZE}³", launch(GEMM), GEMM_SIZE**3)
    targets = Target(GEMM_SIZE**3 / 0.15 / 1e9), Target(Fraction(1, 5), matmul("f32_32x32x8f16", GEMM_SIZE))
    yield Measurement(gemm, targets)
    yield Measurement(Work("emulated Triton attention, 1,024 × 64", launch(ATTENTION)), (Target(0.5),))
    run, count = collatz()
    work = Work(f"emulated Collatz, {count:,} instructions of waves", run)
    yield Measurement(work, (Target(count / INSTRUCTIONS),))
    yield Measurement(Work("emulated launch of one wave", one_wave()), (Target(1e-3),))
    code = FIRST.format(path=str(case(ATTENTION).path), kernel=case(ATTENTION).kernel)

    def cold() -> None:
        with tempfile.TemporaryDirectory() as folder:
            python(code, MFMA_CACHE_DIR=folder)()

    name = "load and translate Triton attention, new process"
    yield Measurement(Work(f"{name}, nothing cached", cold), (Target(2),))
    with tempfile.TemporaryDirectory() as folder:
        yield Measurement(Work(f"{name}, cached", python(code, MFMA_CACHE_DIR=folder)), (Target(0.5),))


@functools.cache
def case(name: str) -> Any:
    """A case of the collection."""
    sys.path.insert(0, str(TESTS))
    from corpus.cases_triton import CASES

    return next(case for case in CASES if case.name == name)


def launch(name: str) -> Callable[[], object]:
    """A launch of a case on one thread; it may change its arguments, which does not change its work."""
    what = case(name)
    function, arguments = mfma.load(what.path)[what.kernel], what.arguments()
    return lambda: function.launch(what.grid, what.block, arguments, lds=what.lds, engine="native", threads=1)


def collatz() -> tuple[Callable[[], object], int]:
    """A kernel of nothing but integer arithmetic and loops, and how many instructions it executes."""
    function = mfma.load(TESTS / "corpus" / "objects" / "hip_flow.co")["collatz"]
    x = np.full(64 * 64, 837_799, np.uint32)
    arguments = [x, np.zeros_like(x), x.size]
    run = functools.partial(function.launch, 64, 64, arguments, engine="native", threads=1)
    return run, run().executed


def one_wave() -> Callable[[], object]:
    """A sum of two vectors of 64 elements."""
    function = mfma.load(TESTS / "corpus" / "objects" / "hip_vector.co")["add_f32"]
    x = np.ones(64, np.float32)
    return functools.partial(function.launch, 1, 64, [x, x, np.zeros_like(x), x.size], engine="native")
