"""Everything that is measured, with its targets."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import mfma
from bench.measure import Measurement, Target, Work
from bench.peers import mmasim, numpy
from mfma.formats import Format
from mfma.layout import Layout

__all__ = ["measurements"]

SIZE = 1024
MODEL_SIZE = 512
WAVES = 1000
THREADS = 2

COMMANDS = (
    "list",
    "show f32_32x32x8f16",
    "locate f32_32x32x8f16 A -i 5 -k 6",
    "layout f32_32x32x8f16 D",
    "where f32_32x32x8f16 D --columns 0:8",
    "chain f32_32x32x8f16 f32_32x32x8f16",
    "peak",
    "hazards f32_32x32x8f16",
)
"""Look-ups, each a new process."""

BODY = """\
; %bb: one step of a loop as a compiler writes it
    ds_read_b64 v[20:21], v18 offset:64
    ds_read_b64 v[22:23], v19
    global_load_dwordx4 v[24:27], v[28:29], off
    s_waitcnt lgkmcnt(0)
    v_mfma_f32_32x32x8_f16 a[0:15], v[20:21], v[22:23], a[0:15]
    v_add_u32_e32 v18, 0x80, v18
    v_add_u32_e32 v19, 0x80, v19
    s_add_i32 s4, s4, 1
    v_mfma_f32_32x32x8_f16 a[16:31], v[20:21], v[22:23], a[16:31]
    v_lshl_add_u64 v[28:29], v[28:29], 0, s[6:7]
    s_waitcnt vmcnt(0)
    ds_write_b128 v30, v[24:27]
    s_cmp_lt_i32 s4, s5
    s_nop 7
    s_nop 3
    v_accvgpr_read_b32 v40, a0
"""

RNG = np.random.default_rng(0)
POOL = ThreadPoolExecutor(THREADS)


def measurements() -> Iterator[Measurement]:
    """Every measurement, its operands made just before it."""
    yield from products()
    yield from models()
    yield from calls()
    yield from entries()
    yield from lookups()
    yield from assembly()
    yield from starts()


def products() -> Iterator[Measurement]:
    """Whole matrices as the hardware multiplies them, beside a BLAS and beside mmasim."""
    for op, of_numpy, suffix, dtype, of_mmasim in (
        ("f32_32x32x8f16", Fraction(1, 20), "f32_32x32x8_f16", "float16", 300),
        ("f32_32x32x8bf16_1k", Fraction(1, 32), "f32_32x32x8_bf16", "bfloat16", 150),
        ("f32_32x32x4_xf32", Fraction(1, 32), "f32_32x32x4_xf32", "float32", 150),
        ("f32_32x32x16_fp8_fp8", Fraction(1, 32), "f32_32x32x16_fp8_fp8", "float8_e4m3fnuz", 150),
        ("f32_32x32x16_bf8_bf8", Fraction(1, 32), "f32_32x32x16_bf8_bf8", "float8_e5m2fnuz", 150),
    ):
        targets = Target(of_numpy, numpy(np.float32, SIZE)), Target(of_mmasim, mmasim(suffix, dtype))
        yield Measurement(matmul(op, SIZE), targets)
    for op, of_numpy, number in (
        ("f32_32x32x2f32", Fraction(1, 4), np.float32),
        ("f64_16x16x4f64", Fraction(1, 4), np.float64),
        ("i32_32x32x16_i8", Fraction(1, 2), np.float32),
    ):
        yield Measurement(matmul(op, SIZE), (Target(of_numpy, numpy(number, SIZE)),))


def models() -> Iterator[Measurement]:
    """The other arithmetics over the same kinds of operands."""
    ops = ("f32_32x32x8f16", "f32_32x32x8bf16_1k", "f32_32x32x2f32", "f64_16x16x4f64", "f32_32x32x16_fp8_fp8")
    for model in ("exact", "fma"):
        for op in ops:
            yield Measurement(matmul(op, MODEL_SIZE, model), (Target(0.1),))


def calls() -> Iterator[Measurement]:
    """A builtin on one wave, and on many in one call."""
    for name, most in (("f32_16x16x16f16", 40e-6), ("f32_32x32x8f16", 80e-6)):
        op = mfma.op(name)
        a, b, c = (x[0] for x in lanes(op, 1))
        yield Measurement(Work(f"{op}, one call", functools.partial(op, a, b, c)), (Target(most),))
    op = mfma.op("f32_32x32x8f16")
    a, b, c = lanes(op, WAVES)
    run = functools.partial(op, a, b, c)
    yield Measurement(Work(f"{op}, one call, {WAVES:,} waves", run, macs(op, WAVES)), (Target(2),))


def entries() -> Iterator[Measurement]:
    """A native entry of every arithmetic, beside whole matrices in the same arithmetic."""
    for name in (
        "f32_32x32x2f32",
        "f32_32x32x4f16",
        "f32_32x32x8f16",
        "f32_32x32x4bf16_1k",
        "f32_32x32x8bf16_1k",
        "f32_32x32x4_xf32",
        "f32_32x32x16_fp8_fp8",
        "f32_32x32x16_bf8_bf8",
        "f64_16x16x4f64",
        "i32_32x32x16_i8",
    ):
        yield Measurement(entry(mfma.op(name)), (Target(4), Target(1, matmul(name, SIZE))))


def lookups() -> Iterator[Measurement]:
    """Questions to a layout."""
    layout = mfma.op("f32_32x32x8f16").layout("A")
    yield Measurement(Work("layout.locate", lambda: layout.locate(i=5, k=6)), (Target(5e-6),))
    yield Measurement(Work("layout.element", lambda: layout.element(lane=37, vgpr=1)), (Target(5e-6),))
    largest = mfma.op("f32_32x32x4f16").record  # D has 2,048 elements
    # A layout remembers its slots, so each run asks a new one.
    yield Measurement(Work("layout.slots", lambda: Layout(largest, "D").slots()), (Target(2e-3),))


def assembly() -> Iterator[Measurement]:
    """The lint over a text as long as a library of kernels."""
    text = BODY * (100_000 // BODY.count("\n"))
    lines = text.count("\n")
    yield Measurement(Work(f"mfma.lint, {lines:,} lines", lambda: mfma.lint(text)), (Target(lines / 100_000),))


def starts() -> Iterator[Measurement]:
    """New processes, from start to end."""
    yield Measurement(Work("import mfma, new process", python("import mfma")), (Target(0.15),))
    for words in COMMANDS:
        command = process(str(Path(sys.executable).with_name("mfma")), *words.split())
        yield Measurement(Work(f"mfma {words}", command if succeeds(command) else None), (Target(0.3),))

    def first_product() -> None:
        code = "import mfma, numpy as np; a = np.ones((64, 64), np.float16); mfma.matmul(a, a, op='f32_32x32x8f16')"
        with tempfile.TemporaryDirectory() as folder:
            python(code, MFMA_CACHE_DIR=folder)()

    yield Measurement(Work("first product (f16, 64³), no kernel cached", first_product), (Target(10),))


def matmul(name: str, size: int, model: str = "hardware", threads: int | None = None) -> Work:
    """`mfma.matmul` of two square matrices."""
    op = mfma.op(name)
    a, b = values(op.a, size, size), values(op.b, size, size)
    told = "" if model == "hardware" else f", {model}"
    if threads is not None:
        told += f", {threads} thread{'s' * (threads > 1)}"
    return Work(f"matmul {op}, {size}³{told}", lambda: mfma.matmul(a, b, op=op, model=model, threads=threads), size**3)


def entry(op: mfma.Op) -> Work:
    """The native entry of an instruction, as an emulator calls it: again and again on a wave's registers, in cache."""
    # From words of a lane, [lane, vgpr], to the registers that an entry reads, [vgpr, lane]; one wave for each thread.
    words = (x.reshape(THREADS, 64, -1).view(np.uint32).swapaxes(1, 2) for x in lanes(op, THREADS))
    a, b, c = map(np.ascontiguousarray, words)
    d = np.empty_like(c)
    call = op.native().call

    def part(wave: int) -> None:
        call(*(x[wave].ctypes.data for x in (d, a, b, c)), 0, 0, 0, WAVES, 0, 0, 0, 0)

    def run() -> None:
        list(POOL.map(part, range(THREADS)))

    return Work(f"entry {op}, {THREADS} threads", run, macs(op, WAVES * THREADS))


def macs(op: mfma.Op, waves: int) -> int:
    """Multiply-adds of an instruction on so many waves."""
    return op.operations // 2 * waves


def lanes(op: mfma.Op, waves: int) -> list[np.ndarray[Any, Any]]:
    """Per-lane operands A, B and C."""
    registers = op.registers
    return [values(x.format, waves, 64, x.elements) for x in (registers.a, registers.b, registers.cd)]


def values(format: Format, *shape: int) -> np.ndarray[Any, Any]:
    """Normally distributed values of a float format, evenly distributed bytes of an integer format."""
    if format.is_integer:
        return RNG.integers(-128, 128, shape).astype(format.dtype)
    return mfma.encode(RNG.standard_normal(shape), format)


def python(code: str, **variables: str) -> Callable[[], subprocess.CompletedProcess[Any]]:
    """A new Python that executes ``code``."""
    return process(sys.executable, "-c", code, **variables)


def process(*arguments: str, **variables: str) -> Callable[[], subprocess.CompletedProcess[Any]]:
    """A new process with these environment variables besides our own."""
    environment = os.environ | variables
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    return functools.partial(subprocess.run, arguments, env=environment, check=True, capture_output=True)


def succeeds(run: Callable[[], object]) -> bool:
    """Whether a process starts and ends well."""
    try:
        run()
    except (OSError, subprocess.CalledProcessError):
        return False
    return True
