"""Compiled kernels on the emulator: the collection that its tests run, in ``tests/corpus``."""

from __future__ import annotations

import functools
import itertools
import math
import struct
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
from mfma.emulator.decode import Instruction
from mfma.emulator.start import PRELOAD_PROLOGUE

__all__ = ["emulator"]

TESTS = Path(__file__).parent.parent / "tests"
GEMM, ATTENTION = "triton_gemm_fp16_tile128_512", "triton_attention_d64_1x1024x64"
GEMM_SIZE, GEMM_OP = 512, "f32_32x32x8f16"
LONG = "triton_gemm_fp8e4nv"
"""Of some 2,000 instructions."""
FIRST = """
import contextlib, time, numpy, llvmlite.binding, mfma
import mfma.emulator.check, mfma.emulator.module, mfma.emulator.start, mfma.emulator.translator.engine
start = time.perf_counter()
function = mfma.load({path!r})[{kernel!r}]
nothing = [None if argument.size == 8 else 0 for argument in function.kernel.arguments if not argument.hidden]
with contextlib.suppress(mfma.MfmaError):
    function.launch(1, {block}, nothing, lds={lds}, max_instructions=0, engine="native")
print(time.perf_counter() - start)
"""
"""Loads and translates a kernel, starts one work-group and stops it; prints the seconds, without those of imports."""
INSTRUCTIONS = 20_000_000
"""Of waves in a second, on one core."""
MOVE, END = 0x7E00_02FF, 0xBF81_0000
"""Words of ``v_mov_b32_e32 v0`` of a literal, whose register is bits 24:17, and of ``s_endpgm``."""
PAIR = 0x3A66_B555
"""Two numbers of 16 bits, some 0.8 and -0.33."""


def emulator() -> Iterator[Measurement]:
    """Launches, and what comes before the first one of a kernel."""
    gemm = Work(f"emulated Triton GEMM f16, {GEMM_SIZE}³", launch(GEMM), GEMM_SIZE**3)
    targets = Target(GEMM_SIZE**3 / 0.15 / 1e9), Target(Fraction(1, 5), matmul(GEMM_OP, GEMM_SIZE))
    yield Measurement(gemm, targets)
    run, count = matrix_part()
    work = Work(f"its {count:,} matrix instructions alone", run, GEMM_SIZE**3)
    yield Measurement(work, (Target(Fraction(2, 3), matmul(GEMM_OP, GEMM_SIZE, threads=1)),))
    yield Measurement(Work("emulated Triton attention, 1,024 × 64", launch(ATTENTION)), (Target(0.5),))
    run, count = collatz()
    work = Work(f"emulated Collatz, {count:,} instructions of waves", run)
    yield Measurement(work, (Target(count / INSTRUCTIONS),))
    yield Measurement(Work("emulated launch of one wave", one_wave()), (Target(1e-3),))
    yield from first_launches()


def first_launches() -> Iterator[Measurement]:
    """What comes before the first launch of a kernel in a new process, once its imports are done."""
    kernel = case(LONG)
    module = mfma.load(kernel.path)
    count = len(module.reach.of(module[kernel.kernel].kernel.entry))
    code = FIRST.format(path=str(kernel.path), kernel=kernel.kernel, block=kernel.block, lds=kernel.lds)
    name = f"load and translate {count:,} instructions, new process"
    yield Measurement(told(f"{name}, nothing cached", code), (Target(2),))
    with tempfile.TemporaryDirectory() as folder:
        python(code, MFMA_CACHE_DIR=folder)()
        yield Measurement(told(f"{name}, cached", code, folder), (Target(0.05),))


def told(name: str, code: str, folder: str | None = None) -> Work:
    """A new process that prints the seconds that count, with a folder of cached code or, without one, none."""
    seconds = [0.0]

    def run() -> None:
        with tempfile.TemporaryDirectory() as empty:
            seconds[0] += float(python(code, MFMA_CACHE_DIR=folder or empty)().stdout)

    return Work(name, run, clock=lambda: seconds[0])


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


def matrix_part() -> tuple[Callable[[], object], int]:
    """The matrix instructions of the GEMM and their count: a launch of as many waves as it has, each of which executes
    what the kernel's own words of these instructions are, as often as in the GEMM, and nothing else but the moves that
    fill their sources; the code object is the GEMM's with this program in place of its own.
    """
    gemm = case(GEMM)
    module = mfma.load(gemm.path)
    entry = module[gemm.kernel].kernel.entry
    report = module[gemm.kernel].launch(gemm.grid, gemm.block, gemm.arguments(), lds=gemm.lds)
    count = sum(ran.count for ran in report.instructions if ran.mnemonic.startswith("v_mfma"))
    waves = math.prod(gemm.grid) * math.prod(gemm.block) // 64
    found = [i for i in module.reach.of(entry) if isinstance(i, Instruction) and i.name.startswith("v_mfma")]
    sources = sorted({o.vgpr + n for i in found for o in i.src[:2] if o.vgpr is not None for n in range(o.dwords)})
    words = [word for register in sources for word in (MOVE | register << 17, PAIR)]
    program = struct.pack(f"<{len(words)}I", *words)
    program += b"".join(i.word.to_bytes(8, "little") for i in itertools.islice(itertools.cycle(found), count // waves))
    program += END.to_bytes(4, "little")
    code, ((section, text),) = gemm.path.read_bytes(), module.code.text
    place = code.index(text) + entry - section + PRELOAD_PROLOGUE
    assert len(program) <= section + len(text) - entry - PRELOAD_PROLOGUE
    changed = mfma.load(code[:place] + program + code[place + len(program) :])[gemm.kernel]
    arguments = gemm.arguments()
    return lambda: changed.launch(gemm.grid, gemm.block, arguments, lds=gemm.lds, engine="native", threads=1), count


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
