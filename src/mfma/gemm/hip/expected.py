"""The bits that a small product must have, for operands that the program makes by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.formats import F32, XF32, Format, arrays
from mfma.gemm.hip.elements import SPREAD, RandomElement, random_element
from mfma.gemm.kernel import Gemm
from mfma.gemm.operands import Number, epilogue, factor
from mfma.matrices.matmul import matmul

__all__ = ["Problem", "codes", "fallback", "matrix_core", "random_elements"]

SEED = 1
WHOLE_XF32 = "f32_32x32x1f32"
"""An instruction that multiplies f32 without cutting bits off, as the scalar policy does in the place of xf32."""


@dataclass(frozen=True)
class Problem:
    """Sizes and factors of the small product."""

    m: int
    n: int
    k: int
    batch: int
    alpha: Number
    beta: Number


def matrix_core(gemm: Gemm, problem: Problem) -> NDArray[Any]:
    """Return the bits of C as the kernel computes them, (batch · m · n,)."""
    a, b, c = _operands(gemm, problem)
    return codes(gemm.run(a, b, c, problem.alpha, problem.beta))


def fallback(gemm: Gemm, problem: Problem) -> NDArray[Any]:
    """Return the bits of C by fused multiply-adds, k ascending: what `ScalarFMAPolicy` computes."""
    a, b, c = _operands(gemm, problem)
    op = WHOLE_XF32 if gemm.compute.a == XF32 else gemm.compute.op
    accumulator, memory = gemm.compute.accumulator, gemm.memory
    of_a, of_b, of_c = memory.formats(gemm.compute)
    a, b = _loaded(gemm, a, of_a, gemm.compute.a), _loaded(gemm, b, of_b, gemm.compute.b)
    c = _loaded(gemm, c, of_c, accumulator)
    alpha, beta = factor("alpha", problem.alpha, accumulator), factor("beta", problem.beta, accumulator)
    d = epilogue(matmul(a, b, op=op, model="fma"), c, alpha, beta, accumulator)
    return codes(memory.stored(d, accumulator, of_c))


def codes(values: NDArray[Any]) -> NDArray[Any]:
    """Return the bits of an array, flat, as unsigned integers."""
    return np.ascontiguousarray(values).view(f"u{values.itemsize}").ravel()


def random_elements(gemm: Gemm) -> tuple[RandomElement, RandomElement, RandomElement]:
    """Return how elements of A, B and C are made: in the formats in memory, such that conversions do not overflow."""
    compute = gemm.compute
    *operands, of_d = gemm.memory.formats(compute)
    # Where D has few binades, so must A and B, lest most of their sums are infinite.
    room = SPREAD if of_d.is_integer else max(1, min(SPREAD, of_d.max_exponent // 3))
    a, b = (
        random_element(given, room if given == wanted else min(room, wanted.max_exponent))
        for given, wanted in zip(operands, (compute.a, compute.b), strict=True)
    )
    return a, b, random_element(of_d, room)


def _loaded(gemm: Gemm, numbers: NDArray[Any], given: Format, wanted: Format) -> NDArray[Any]:
    converted = gemm.memory.loaded(np.ascontiguousarray(numbers).view(arrays.code_dtype(given)), given, wanted)
    return arrays.view(converted, F32 if wanted == XF32 else wanted)


def _operands(gemm: Gemm, problem: Problem) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Make the operands as the program does: A, then B as it is stored, then C, from one generator."""
    batch, (of_a, of_b, of_c) = problem.batch, gemm.memory.formats(gemm.compute)
    how_a, how_b, how_c = random_elements(gemm)
    draw = _generator(SEED)
    a = _array(draw, of_a, how_a, (batch, problem.m, problem.k))
    if gemm.memory.b_order == "column":
        b = _array(draw, of_b, how_b, (batch, problem.n, problem.k)).swapaxes(1, 2)
    else:
        b = _array(draw, of_b, how_b, (batch, problem.k, problem.n))
    return a, b, _array(draw, of_c, how_c, (batch, problem.m, problem.n))


def _array(draw: Callable[[], int], format: Format, how: RandomElement, shape: tuple[int, ...]) -> NDArray[Any]:
    elements = _elements(draw, how)
    numbers = np.fromiter(elements, np.uint64, int(np.prod(shape))).astype(f"u{format.bits // 8}")
    stored = F32 if format == XF32 else format
    return arrays.view(numbers.view(arrays.code_dtype(stored)).reshape(shape), stored)


def _generator(seed: int) -> Callable[[], int]:
    state = seed

    def draw() -> int:
        nonlocal state
        state = (1664525 * state + 1013904223) % 2**32
        return state >> 8

    return draw


def _elements(draw: Callable[[], int], how: RandomElement) -> Iterator[int]:
    while True:
        sign = draw() & 1
        exponent = how.lowest + draw() % how.exponents
        high, low = draw(), draw()
        mantissa = (high << 40 | low << 16) % 2**64 >> 64 - how.mantissa_bits
        yield sign << how.exponent_bits + how.mantissa_bits | exponent << how.mantissa_bits | mantissa
