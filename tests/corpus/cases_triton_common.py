"""What the cases of the corpus's Triton kernels share."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np

from corpus.case import OBJECTS, Case, expecting

__all__ = ["DTYPES", "SCRATCH", "block_of", "launch_facts", "numbers", "triton_case"]

SCRATCH = (None, None)
"""Triton's two last arguments: memory for global scratch and for the profiler, null where a kernel asks for none."""

DTYPES = {
    "fp64": np.dtype(np.float64),
    "fp32": np.dtype(np.float32),
    "fp16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp8e4b8": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "fp8e5b16": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "fp8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
    "fp8e5": np.dtype(ml_dtypes.float8_e5m2),
    **{f"{kind}{bits}": np.dtype(f"{kind}{bits // 8}") for kind in "iu" for bits in (8, 16, 32, 64)},
}
"""NumPy's types by Triton's names."""


@functools.cache
def launch_facts() -> dict[str, dict]:
    """Kernel, wavefronts and LDS of every object, as the build wrote them down."""
    return json.loads((OBJECTS / "triton_launch.json").read_text())


def block_of(build: str) -> int:
    """Work-items of a program."""
    return 64 * launch_facts()[build]["warps"]


def triton_case(
    name: str,
    build: str,
    grid,
    arguments: Callable[[], list],
    expected: Callable[..., Mapping[int, object]],
    *,
    quick: bool = True,
    relative: float | None = None,
    absolute: float = 0.0,
) -> Case:
    """A case of ``objects/triton_BUILD.hsaco``; ``arguments`` and ``expected`` leave out Triton's scratch."""
    facts = launch_facts()[build]
    return expecting(
        f"triton_{name}",
        f"triton_{build}.hsaco",
        facts["kernel"],
        grid,
        block_of(build),
        lambda: [*arguments(), *SCRATCH],
        lambda *given: expected(*given[: -len(SCRATCH)]),
        lds=facts["lds"],
        quick=quick,
        relative=relative,
        absolute=absolute,
    )


def numbers(kind: str, shape, seed: int, scale: float = 1.0):
    """Normal numbers, or integers over the whole range, of a Triton type."""
    generator, dtype = np.random.default_rng(seed), DTYPES[kind]
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return generator.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    return (generator.standard_normal(shape) * scale).astype(dtype)
