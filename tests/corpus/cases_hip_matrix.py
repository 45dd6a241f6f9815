"""Matrix instructions on the registers of a wave.

The expectation is ``mfma.op``, whose arithmetic and layouts other tests hold against vectors of the hardware and
against AMD's own tools; integers and small numbers are checked here with NumPy besides.
"""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np

import mfma
from corpus.case import Case, close, expecting, same
from corpus.reference import BF16, random_floats

__all__ = ["CASES"]

OBJECT = "hip_mfma.co"
MODIFIED = [
    ("f32_32x32x1f32", 1, 1, 0), ("f32_16x16x1f32", 2, 3, 5), ("f32_4x4x1f32", 4, 11, 0), ("f32_16x16x4f16", 1, 1, 4),
    ("f32_4x4x4f16", 3, 6, 2), ("f32_32x32x4f16", 0, 0, 3), ("f32_4x4x4bf16_1k", 2, 2, 7),
    ("f32_32x32x4bf16_1k", 0, 0, 6), ("i32_32x32x4i8", 1, 0, 1), ("i32_4x4x4i8", 4, 15, 0),
    ("f64_16x16x4f64", 0, 0, 1), ("f64_16x16x4f64", 0, 0, 6), ("f64_4x4x4f64", 0, 0, 5),
]  # fmt: skip
ELEMENTS = {
    "f16": np.float16, "bf16": BF16, "f32": np.float32, "xf32": np.float32, "f64": np.float64, "i8": np.int8,
    "i32": np.int32, "fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip


def _registers(seed, form, count):
    """``count`` elements for each of 64 lanes, as numbers of every magnitude that the format has."""
    dtype = ELEMENTS[form]
    if np.dtype(dtype).kind == "i":
        info = np.iinfo(dtype)
        values = np.random.default_rng(seed).integers(info.min, info.max, 64 * count, dtype, endpoint=True)
    else:
        reach = {"fp8": 6, "bf8": 8, "f16": 8}.get(form, 16)
        values = random_floats(seed, 64 * count, dtype, -reach, reach)
    return values.reshape(64, count)


def _arguments(op):
    """A, B and C in the order of lanes, and room for D."""
    registers = op.registers
    a, b = (
        _registers(seed, form.name, r.elements) for seed, form, r in ((1, op.a, registers.a), (2, op.b, registers.b))
    )
    c = _registers(3, op.cd.name, registers.cd.elements)
    return [a, b, c, np.zeros_like(c)]


def _given(x):
    """As `mfma.op` takes registers: a scalar of the C type has no axis."""
    return x[:, 0] if x.shape[1] == 1 else x


def _result(op, cbsz, abid, blgp, a, b, c, d):
    found = np.asarray(op(_given(a), _given(b), _given(c), cbsz, abid, blgp))
    return {3: found.reshape(d.shape).astype(d.dtype, copy=False)}


def _each():
    for op in mfma.ops():
        for cbsz, abid, blgp in ((0, 0, 0), *(m for name, *m in MODIFIED if name == op.name)):
            kernel = f"{op.name}_{cbsz}_{abid}_{blgp}"
            yield expecting(
                f"mfma: {kernel}", OBJECT, kernel, 1, 64, functools.partial(_arguments, op),
                functools.partial(_result, op, cbsz, abid, blgp),
            )  # fmt: skip


HALF = mfma.op("f32_16x16x16f16")


def _small():
    """Small integers, whose products and sums are exact in every order: NumPy multiplies them."""
    random = np.random.default_rng(4)
    return random.integers(-8, 9, (16, 16)), random.integers(-8, 9, (16, 16))


def _packed(left, right):
    """Lane l holds row l % 16 of A, or column l % 16 of B, at the four k from 4 (l // 16) on."""
    lane, k = np.arange(64)[:, None], np.arange(4)
    at = lane // 16 * 4 + k
    return left[lane % 16, at].astype(np.float16), right[at, lane % 16].astype(np.float16)


def _unpacked(d):
    """Lane l holds column l % 16 of D in the four rows from 4 (l // 16) on."""
    matrix = np.empty((16, 16))
    lane, g = np.arange(64)[:, None], np.arange(4)
    matrix[lane // 16 * 4 + g, lane % 16] = d
    return matrix


def _small_arguments(copies):
    return [*_packed(*_small()), np.zeros((64 * copies, 4), np.float32)]


def _constant_check(after):
    left, right = _small()
    same(_unpacked(after[2][:64]), left @ right + 1.0)
    # The operands the other way round: B's columns as rows of A, A's rows as columns of B.
    same(_unpacked(after[2][64:]), right.T @ left.T + 0.0)


def _chained_check(after):
    """The first product is stored in f16 and multiplied again: bounded by 2^11, so exact."""
    left, right = _small()
    first = left @ right
    same(_unpacked(after[2]), (left @ first + first).astype(np.float64))


def _masked_check(after):
    """Twenty active lanes: the arithmetic ignores EXEC, and all lanes receive their part of D."""
    left, right = _small()
    same(_unpacked(after[2]), (left @ right).astype(np.float64))


def _accumulated(a, b, c, d):
    return {3: np.asarray(HALF(a, b, c, 0, 0, 0))}


ROUNDS = 3


def _many():
    random = np.random.default_rng(5)
    a, b = random.normal(size=(2, ROUNDS * 4 * 64)).astype(np.float32)
    return [a, b, np.zeros((16 * 64, 16), np.float32), np.uint32(ROUNDS)]


def _many_results(a, b, d, rounds):
    op = mfma.op("f32_32x32x2f32")
    a, b = a.reshape(ROUNDS, 4, 64), b.reshape(ROUNDS, 4, 64)
    sums = np.zeros((16, 64, 16), np.float32)
    for k in range(ROUNDS):
        for j in range(16):
            sums[j] = op(a[k, j // 4], b[k, j % 4], sums[j], 0, 0, 0)
    return {2: sums.reshape(d.shape)}


def _others():
    def case(kernel, arguments, check):
        return Case(f"mfma: {kernel}", OBJECT, kernel, (1, 1, 1), (64, 1, 1), 0, arguments, check, True, True)

    yield expecting(
        "mfma: accumulation", OBJECT, "accumulation", 1, 64, functools.partial(_arguments, HALF), _accumulated
    )
    yield case("inline_constant", functools.partial(_small_arguments, 2), _constant_check)
    yield case("chained", functools.partial(_small_arguments, 1), _chained_check)
    yield case("masked", lambda: [*_small_arguments(1), np.uint64((1 << 20) - 1)], _masked_check)
    yield expecting("mfma: many", OBJECT, "many", 1, 64, _many, _many_results)


# --- networks ---

NETWORKS = "hip_networks.co"


def _softmax():
    x = np.random.default_rng(6).normal(size=(6, 150)).astype(np.float32) * 4
    return [x, np.zeros_like(x), np.uint32(150)]


def _softmaxed(x, out, columns):
    wide = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return {1: wide / wide.sum(1, keepdims=True)}


def _norm():
    random = np.random.default_rng(7)
    x, weight, bias = random.normal(1, 2, (5, 200)), random.normal(size=200), random.normal(size=200)
    halves = [v.astype(np.float16) for v in (x, weight, bias, np.zeros((5, 200)))]
    return [*halves, np.uint32(200), np.float32(1e-5)]


def _normed(x, weight, bias, out, columns, epsilon):
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    return {3: centred / np.sqrt(wide.var(1, keepdims=True) + np.float64(epsilon)) * weight + bias}


def _product(m, n, k):
    a, b = (
        random_floats(8, m * k, np.float16, -6, 6).reshape(m, k),
        random_floats(9, k * n, np.float16, -6, 6).reshape(k, n),
    )
    return a, b, np.zeros((m, n), np.float32)


def _gemm():
    a, b, c = _product(40, 50, 75)
    return [a, b, c, np.uint32(40), np.uint32(50), np.uint32(75)]


def _multiplied(a, b, c, m, n, k):
    return {2: mfma.matmul(a, b, op=HALF)}


PARTS = 4


def _split():
    a, b, c = _product(16, 32, 256)
    return [a, b, c, np.uint32(32), np.uint32(256), np.uint32(256 // PARTS)]


def _split_check(after):
    """The parts are exact in the instruction's arithmetic; they are added in any order, each time with a rounding."""
    a, b, c, _, k, part = _split()
    parts = [
        mfma.matmul(a[:, s : s + part], b[s : s + part], op=HALF).astype(np.float64)
        for s in range(0, int(k), int(part))
    ]
    size = np.abs(parts).sum(0)
    close((after[2] - sum(parts)) / size, np.zeros(c.shape), 0, PARTS * 2.0**-24)


def _attention():
    random = np.random.default_rng(10)
    q, k, v = random.normal(size=(32, 32)), random.normal(size=(48, 32)), random.normal(size=(48, 32))
    halves = [x.astype(np.float16) for x in (q, k, v)]
    return [*halves, np.zeros((32, 32), np.float32), np.uint32(48), np.float32(32**-0.5)]


def _attended(q, k, v, out, count, scale):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    weights = np.exp(q @ k.T * np.float64(scale))
    return {3: weights / weights.sum(1, keepdims=True) @ v}


def _networks():
    def case(kernel, grid, block, arguments, expected, **bound):
        return expecting(f"networks: {kernel}", NETWORKS, kernel, grid, block, arguments, expected, **bound)

    yield case("softmax", 3, 128, _softmax, _softmaxed, relative=2.0**-17)
    # Two roundings to f16 at most, and sums of 200 numbers in f32.
    yield case("layer_norm", 5, 128, _norm, _normed, relative=2.0**-10, absolute=2.0**-12)
    yield case("gemm_f16", (2, 2), 256, _gemm, _multiplied)
    yield Case(
        "networks: split_k", NETWORKS, "split_k", (2, 1, PARTS), (64, 1, 1), 0, _split, _split_check, True, False
    )
    # The weights are rounded to f16: half a unit in 11 bits of each.
    yield case("attention", 2, 64, _attention, _attended, relative=2.0**-10, absolute=2.0**-9)


CASES = [*_each(), *_others(), *_networks()]
