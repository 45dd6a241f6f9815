"""Cases of Triton kernels: products on the matrix core.

A `tl.dot` chains one instruction along k, so `mfma.matmul` says its bits. The order in which k is consumed follows
from the layout that Triton gives the operands: a lane loads ``kWidth`` consecutive values, `kpack` times as many as an
instruction takes. Where these are equal the order is ascending. Triton swaps the operands (``isTransposed``), which
changes no product, but the name of the instruction where the types differ.
"""

from __future__ import annotations

import numpy as np

import mfma
from corpus.case import Case
from corpus.cases_triton_common import DTYPES, numbers, triton_case

__all__ = ["CASES", "GEMMS"]

i32 = np.int32

# build, types of A and B, of C, instruction, kWidth, tile (m, n), B by columns
E4, E5 = "fp8e4b8", "fp8e5b16"
GEMMS = (
    ("fp16_32", "fp16", "fp16", "fp32", "f32_32x32x8f16", 4, (32, 32), False),
    ("fp16_16", "fp16", "fp16", "fp32", "f32_16x16x16f16", 4, (32, 32), False),
    ("fp16_32_kpack2", "fp16", "fp16", "fp32", "f32_32x32x8f16", 8, (32, 32), True),
    ("fp16_16_kpack2", "fp16", "fp16", "fp32", "f32_16x16x16f16", 8, (32, 32), True),
    ("fp16_tile64", "fp16", "fp16", "fp32", "f32_32x32x8f16", 4, (64, 64), False),
    ("fp16_16x16_flat", "fp16", "fp16", "fp32", "f32_16x16x16f16", 4, (16, 16), False),
    ("fp16_one_stage", "fp16", "fp16", "fp32", "f32_32x32x8f16", 4, (32, 32), True),
    ("fp16_three_stages", "fp16", "fp16", "fp32", "f32_32x32x8f16", 4, (32, 32), True),
    ("fp16_tile128", "fp16", "fp16", "fp32", "f32_32x32x8f16", 4, (128, 128), False),
    ("bf16_32", "bf16", "bf16", "fp32", "f32_32x32x8bf16_1k", 4, (32, 32), False),
    ("bf16_16", "bf16", "bf16", "fp32", "f32_16x16x16bf16_1k", 4, (32, 32), False),
    ("bf16_32_kpack2", "bf16", "bf16", "fp32", "f32_32x32x8bf16_1k", 8, (32, 32), True),
    ("bf16_16_kpack2", "bf16", "bf16", "fp32", "f32_16x16x16bf16_1k", 8, (32, 32), True),
    ("bf16_tile64", "bf16", "bf16", "fp32", "f32_32x32x8bf16_1k", 4, (64, 64), False),
    ("fp8e4b8_fp8e4b8_16", E4, E4, "fp32", "f32_16x16x32_fp8_fp8", 8, (32, 32), True),
    ("fp8e4b8_fp8e4b8_32", E4, E4, "fp32", "f32_32x32x16_fp8_fp8", 8, (32, 32), True),
    ("fp8e5b16_fp8e5b16_16", E5, E5, "fp32", "f32_16x16x32_bf8_bf8", 8, (32, 32), True),
    ("fp8e5b16_fp8e5b16_32", E5, E5, "fp32", "f32_32x32x16_bf8_bf8", 8, (32, 32), True),
    ("fp8e4b8_fp8e5b16_16", E4, E5, "fp32", "f32_16x16x32_fp8_bf8", 8, (32, 32), True),
    ("fp8e4b8_fp8e5b16_32", E4, E5, "fp32", "f32_32x32x16_fp8_bf8", 8, (32, 32), True),
    ("fp8e5b16_fp8e4b8_16", E5, E4, "fp32", "f32_16x16x32_bf8_fp8", 8, (32, 32), True),
    ("fp8e5b16_fp8e4b8_32", E5, E4, "fp32", "f32_32x32x16_bf8_fp8", 8, (32, 32), True),
    ("fp8e4b8_kpack2", E4, E4, "fp32", "f32_32x32x16_fp8_fp8", 16, (32, 32), True),
    ("fp8e4b8_rows", E4, E4, "fp32", "f32_16x16x32_fp8_fp8", 8, (32, 32), False),
    ("xf32_16", "fp32", "fp32", "fp32", "f32_16x16x8_xf32", 2, (32, 32), False),
    ("xf32_32", "fp32", "fp32", "fp32", "f32_32x32x4_xf32", 2, (32, 32), False),
    ("xf32_kpack2", "fp32", "fp32", "fp32", "f32_32x32x4_xf32", 4, (32, 32), True),
    ("fp32_16", "fp32", "fp32", "fp32", "f32_16x16x4f32", 1, (32, 32), False),
    ("fp32_32", "fp32", "fp32", "fp32", "f32_32x32x2f32", 1, (32, 32), False),
    ("fp32_kpack2", "fp32", "fp32", "fp32", "f32_32x32x2f32", 2, (32, 32), True),
    ("i8_16", "i8", "i8", "i32", "i32_16x16x32_i8", 8, (32, 32), True),
    ("i8_32", "i8", "i8", "i32", "i32_32x32x16_i8", 8, (32, 32), False),
    ("i8_kpack2", "i8", "i8", "i32", "i32_32x32x16_i8", 16, (64, 64), False),
    ("fp64", "fp64", "fp64", "fp64", "f64_16x16x4f64", 1, (16, 16), False),
    ("fp64_32", "fp64", "fp64", "fp64", "f64_16x16x4f64", 1, (32, 32), True),
)


def operands(a: str, b: str, m: int, n: int, k: int, seed: int = 70):
    """Two matrices with numbers over several orders of magnitude."""

    def matrix(kind, shape, seed):
        if DTYPES[kind].kind in "iu":
            return numbers(kind, shape, seed)
        spread = 2.0 ** np.random.default_rng(seed + 1).integers(-6, 4, shape)
        return (numbers("fp64", shape, seed) * spread).astype(DTYPES[kind])

    return matrix(a, (m, k), seed), matrix(b, (k, n), seed + 2)


def gemm(row, m: int, n: int, k: int, *, quick: bool = True, suffix: str = "") -> Case:
    name, a, b, c, op, kwidth, tile, by_columns = row

    def arguments():
        x, y = operands(a, b, m, n, k)
        y = np.ascontiguousarray(y.T) if by_columns else y
        return [x, y, np.zeros((m, n), DTYPES[c]), i32(m), i32(n), i32(k)]

    def expected(x, y, *_):
        return {2: mfma.matmul(x, y.T if by_columns else y, op=op, k_order={"kwidth": kwidth})}

    grid = (-(-m // tile[0]), -(-n // tile[1]))
    return triton_case(f"gemm_{name}{suffix}", f"gemm_{name}", grid, arguments, expected, quick=quick)


def from_ocp(kind: str) -> Case:
    """OCP's fp8, which gfx942 has no products for: Triton converts it to f16, exactly."""
    m, n, k = 37, 48, 48

    def arguments():
        x, y = operands(kind, kind, m, n, k)
        return [x, np.ascontiguousarray(y.T), np.zeros((m, n), np.float32), i32(m), i32(n), i32(k)]

    def expected(x, y, *_):
        return {2: mfma.matmul(x.astype(np.float16), y.T.astype(np.float16), op="f32_32x32x8f16")}

    return triton_case(f"gemm_{kind}", f"gemm_{kind}", (2, 2), arguments, expected)


def persistent() -> Case:
    """Three programs for twelve tiles, the result rounded to f16."""
    m, n, k = 100, 80, 64

    def arguments():
        return [*operands("fp16", "fp16", m, n, k), np.zeros((m, n), np.float16), i32(m), i32(n), i32(k)]

    def expected(x, y, *_):
        with np.errstate(over="ignore"):
            return {2: mfma.matmul(x, y, op="f32_32x32x8f16").astype(np.float16)}

    return triton_case("gemm_persistent", "gemm_persistent", 3, arguments, expected)


def split() -> Case:
    """Two parts, which programs add to zeros in whichever order: the rounded sum of two numbers has none."""
    m, n, k = 32, 64, 128

    def arguments():
        return [*operands("bf16", "bf16", m, n, k), np.zeros((m, n), np.float32), i32(n), i32(k), i32(k // 2)]

    def expected(x, y, *_):
        return {2: mfma.matmul(x, y, op="f32_32x32x8bf16_1k", split_k=2)}

    return triton_case("gemm_split", "gemm_split", (1, 2, 2), arguments, expected)


def scaled() -> Case:
    """fp8 with scales: compiled without fusion, so that products and sums are rounded one by one."""
    m, n, k = 32, 64, 192

    def arguments():
        scales = [np.abs(numbers("fp32", shape, seed)) for shape, seed in (((m, k // 64), 80), ((k // 64, n), 81))]
        return [*operands(E4, E4, m, n, k), np.zeros((m, n), np.float32), *scales, i32(n), i32(k)]

    def expected(x, y, _, rows, columns, *__):
        total = np.zeros((m, n), np.float32)
        for stretch in range(k // 64):
            at = slice(64 * stretch, 64 * stretch + 64)
            part = mfma.matmul(x[:, at], y[at], op="f32_32x32x16_fp8_fp8")
            total += part * rows[:, stretch, None] * columns[stretch]
        return {2: total}

    return triton_case("gemm_scaled", "gemm_scaled", (1, 2), arguments, expected)


def attention(build: str, kind: str, result: str, heads: int, length: int, d: int, rows: int, *,
              causal=False, quick=True) -> Case:  # fmt: skip
    """Against softmax in float64.

    Weights are rounded to the operands' type before the second product, relative to 2^-p with p significant bits,
    while their sum is not: that moves the result by 2^-p of the largest |v|. Scores are f32 sums of products of exact
    factors: an error of d · 2^-24 of sums below 16, which the exponential makes relative, and again an order less than
    2^-11. Then the result is rounded. Twice 2^-p of the largest |v| covers all.
    """
    bits = {"fp16": 11, "bf16": 8}[kind]

    def arguments():
        shape = (heads, length, d)
        return [
            *(numbers(kind, shape, seed) for seed in (90, 91, 92)),
            np.zeros(shape, DTYPES[result]), i32(length), np.float32(d**-0.5),
        ]  # fmt: skip

    def expected(q, k, v, *_):
        q, k, v = (x.astype(np.float64) for x in (q, k, v))
        scores = q @ k.swapaxes(1, 2) * d**-0.5
        if causal:
            scores[:, np.triu(np.ones((length, length), bool), 1)] = -np.inf
        weights = np.exp(scores - scores.max(2, keepdims=True))
        return {3: weights / weights.sum(2, keepdims=True) @ v}

    largest = float(np.abs(arguments()[2].astype(np.float64)).max())
    absolute = 2.0 ** (1 - bits) * largest
    name = f"{build}_{heads}x{length}x{d}"
    grid = (length // rows, heads)
    return triton_case(name, build, grid, arguments, expected, quick=quick, relative=0.0, absolute=absolute)


def _sizes(row) -> tuple[int, int, int]:
    """Sizes with ragged tiles, where the tile permits it in a quick case."""
    m, n = row[6]
    return (m + 5, n + 16, 80) if m <= 32 else (m, n - 16, 96)


CASES = (
    *(gemm(row, *_sizes(row)) for row in GEMMS),
    gemm(next(row for row in GEMMS if row[0] == "fp16_tile128"), 512, 512, 512, quick=False, suffix="_512"),
    from_ocp("fp8e4nv"),
    persistent(),
    split(),
    scaled(),
    attention("attention_fp16", "fp16", "fp32", 2, 64, 32, 32),
    attention("attention_bf16", "bf16", "fp32", 1, 96, 32, 32, causal=True),
    attention("attention_d64", "fp16", "fp16", 1, 128, 64, 64),
    attention("attention_d64", "fp16", "fp16", 1, 1024, 64, 64, quick=False),
)
