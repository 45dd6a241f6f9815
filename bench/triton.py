"""Triton's kernels on the emulator, launched by Triton: the kernels of ``tests/triton_emulated``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import Any

from bench.emulator import TESTS
from bench.measure import Measurement, Target, Work
from bench.works import python

__all__ = ["triton"]

SIZE, TILE = 512, 128
FIRST = f"""
import sys
sys.path[:0] = {[str(TESTS), str(TESTS.parent)]!r}
from bench.triton import matmul
matmul()()
"""
"""One product in a process of its own, imports of torch and Triton included."""


def triton() -> Iterator[Measurement]:
    """A product, warm and in a new process, and a launch that does next to nothing."""
    works: tuple[tuple[str, Callable[[], Callable[[], object]], float], ...] = (
        (f"Triton matmul f16, {SIZE}³, launched by Triton", matmul, 1.0),
        (f"Triton matmul f16, {SIZE}³, new process, cached", lambda: python(FIRST, TRITON_DEFAULT_FP_FUSION="1"), 5.0),
        ("Triton vector add of one wave, launched by Triton", add, 1e-3),
    )
    missing = next((name for name in ("torch", "triton") if importlib.util.find_spec(name) is None), None)
    for name, make, seconds in works:
        work = Work(f"{name} ({missing} is not installed)", None) if missing else Work(name, make())
        yield Measurement(work, (Target(seconds),))


def kernels() -> Any:
    """Their module."""
    sys.path.insert(0, str(TESTS))
    return importlib.import_module("triton_emulated.kernels")


def emulated(run: Callable[[], object]) -> Callable[[], None]:
    """The run, inside an emulation, whose beginning and end count."""
    import mfma

    def inside() -> None:
        with mfma.triton.emulate():
            run()

    return inside


def matmul() -> Callable[[], None]:
    """The tutorials' product, in tiles of 128 × 128 × 32."""
    import torch

    a, b = torch.randn(SIZE, SIZE).half(), torch.randn(SIZE, SIZE).half()
    c, kernel = torch.zeros(SIZE, SIZE).half(), kernels().matmul
    sizes = {"BM": TILE, "BN": TILE, "BK": 32, "GROUP": 8, "ACTIVATION": "", "enable_fp_fusion": True}
    strides = (*a.stride(), *b.stride(), *c.stride())
    return emulated(lambda: kernel[((SIZE // TILE) ** 2,)](a, b, c, SIZE, SIZE, SIZE, *strides, **sizes))


def add() -> Callable[[], None]:
    """A sum of two vectors of 64 elements."""
    import torch

    x, y, out, kernel = torch.randn(64), torch.randn(64), torch.zeros(64), kernels().vector_add
    return emulated(lambda: kernel[(1,)](x, y, out, 64, BLOCK=64, num_warps=1, enable_fp_fusion=True))
