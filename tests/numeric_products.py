"""Random matrix products of many kinds of data, and what the reference arithmetic makes of them.

Matrices hold codes: unsigned integers of the format's width.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.formats import Format
from mfma.formats.arrays import code_dtype
from mfma.isa.accumulation import Accumulation
from mfma.isa.cdna3 import DENSE
from mfma.isa.spec import MatrixOp
from mfma.numerics.reference import accumulate
from numeric_cases import EDGES

Codes = NDArray[Any]
Operands = tuple[Codes, Codes, Codes]


def _kinds() -> dict[str, list[MatrixOp]]:
    kinds: dict[tuple[Format, Format, Accumulation | None, int], list[MatrixOp]] = {}
    for op in DENSE:
        clamped = op.k if op.out.is_integer else 0  # with FP16_OVFL integers are clamped once per instruction
        kinds.setdefault((op.a, op.b, op.accumulation, clamped), []).append(op)
    return {ops[-1].mnemonic: ops for ops in kinds.values()}


KINDS = _kinds()
"""The instructions of every kind of arithmetic, by the mnemonic of one of them."""


# --- data: every function gives a (m, k), b (k, n) and c (m, n) ---------------------------------------------


def any_bits(rng: np.random.Generator, format: Format, shape: tuple[int, ...]) -> Codes:
    """Draw codes uniformly."""
    return rng.integers(0, 1 << format.bits, shape, code_dtype(format))


def numbers(rng: np.random.Generator, format: Format, shape: tuple[int, ...], low: int, high: int) -> Codes:
    """Draw finite numbers of both signs whose exponents lie from ``low`` to ``high``, as far as the format goes."""
    codes = any_bits(rng, format, shape)
    if format.is_integer:
        return codes
    stored = format.bits - 1 - format.exponent
    fields = np.clip(rng.integers(low, high + 1, shape) + format.bias, 0, format.max_exponent + format.bias)
    mask = ((1 << format.exponent) - 1) << stored
    codes = codes & codes.dtype.type(~mask & (1 << format.bits) - 1) | fields.astype(codes.dtype) << stored
    if not format.has_infinity:
        codes[codes == 1 << format.bits - 1] = 0
    return codes


def negative(codes: Codes, format: Format) -> Codes:
    """Change the sign of finite numbers."""
    return codes ^ codes.dtype.type(1 << format.bits - 1) if not format.is_integer else -codes


def _by_exponents(
    rng: np.random.Generator, op: MatrixOp, m: int, n: int, k: int, a: range, b: range, below: int, above: int
) -> Operands:
    """Draw operands by their exponents, and c around their products'."""
    c = range(a[0] + b[0] - below, a[-1] + b[-1] + above)
    shapes = (op.a, (m, k), a), (op.b, (k, n), b), (op.out, (m, n), c)
    x, y, z = (numbers(rng, format, shape, r[0], r[-1]) for format, shape, r in shapes)
    return x, y, z


def bits(rng: np.random.Generator, op: MatrixOp, m: int, n: int, k: int) -> Operands:
    return any_bits(rng, op.a, (m, k)), any_bits(rng, op.b, (k, n)), any_bits(rng, op.out, (m, n))


def unit(rng: np.random.Generator, op: MatrixOp, m: int, n: int, k: int) -> Operands:
    return _by_exponents(rng, op, m, n, k, range(-4, 2), range(-4, 2), 10, 10)


def wide(rng: np.random.Generator, op: MatrixOp, m: int, n: int, k: int) -> Operands:
    a, b = (range(f.min_exponent - 1, f.max_exponent + 1) for f in (op.a, op.b))
    return _by_exponents(rng, op, m, n, k, a, b, 40, 40)


def subnormal(rng: np.random.Generator, op: MatrixOp, m: int, n: int, k: int) -> Operands:
    """Operands at the low end of their formats, but products that an f32 still holds."""
    a, b = (range(f.min_exponent - 1, f.min_exponent + 3) for f in (op.a, op.b))
    if a[0] + b[0] < op.out.min_exponent:
        b = range(-3, 3)
    return _by_exponents(rng, op, m, n, k, a, b, 30, 3)


def huge(rng: np.random.Generator, op: MatrixOp, m: int, n: int, k: int) -> Operands:
    """Operands at the high end, and products that an f32 just holds or just not."""
    a, b = (range(f.max_exponent - 3, f.max_exponent + 1) for f in (op.a, op.b))
    if a[-1] + b[-1] > op.out.max_exponent:
        b = range(-3, 2)
    return _by_exponents(rng, op, m, n, k, a, b, 30, 3)


def cancellation(rng: np.random.Generator, op: MatrixOp, m: int, n: int, k: int) -> Operands:
    """Products that cancel in pairs at any distance, among small ones."""
    a, b, c = _by_exponents(rng, op, m, n, k, range(-6, 7), range(-6, 7), 20, 3)
    half = k // 2
    a[:, half : 2 * half] = a[:, :half]
    b[half : 2 * half] = negative(b[:half], op.b)
    small = rng.random(k) < 0.3
    a[:, small] = numbers(rng, op.a, (m, k), -15, -6)[:, small]
    shuffled = rng.permutation(k)
    return a[:, shuffled], b[shuffled], c


def edges(rng: np.random.Generator, op: MatrixOp, m: int, n: int, k: int) -> Operands:
    """Any numbers with edge values among them: in A and B few, so that some outputs stay finite, or many."""
    few = rng.choice([0.03, 0.5, 1.0])
    drawn = []
    for codes, format, share in zip(wide(rng, op, m, n, k), (op.a, op.b, op.out), (few, few, 0.5), strict=True):
        values = np.array(EDGES[format.name], codes.dtype)
        drawn.append(np.where(rng.random(codes.shape) < share, rng.choice(values, codes.shape), codes))
    return drawn[0], drawn[1], drawn[2]


def sparse(rng: np.random.Generator, op: MatrixOp, m: int, n: int, k: int) -> Operands:
    """Mostly zeros, of both signs where the format has them: groups of nothing beside groups with a special."""
    drawn = []
    for codes, format in zip(wide(rng, op, m, n, k), (op.a, op.b, op.out), strict=True):
        zeros = np.zeros_like(codes)
        if format.has_infinity:
            zeros = negative(zeros, format) * rng.integers(0, 2, codes.shape).astype(codes.dtype)
        values = np.array(EDGES[format.name], codes.dtype)
        some = np.where(rng.random(codes.shape) < 0.05, rng.choice(values, codes.shape), codes)
        drawn.append(np.where(rng.random(codes.shape) < 0.7, zeros, some))
    return drawn[0], drawn[1], drawn[2]


Draw = Callable[[np.random.Generator, MatrixOp, int, int, int], Operands]
DATA: tuple[Draw, ...] = (bits, unit, wide, subnormal, huge, cancellation, edges, sparse)


# --- the reference's answer ----------------------------------------------------------------------------------


def reference(
    op: MatrixOp,
    a: Codes,
    b: Codes,
    c: Codes,
    *,
    model: str = "hardware",
    order: NDArray[np.int64] | None = None,
    fp16_ovfl: bool = False,
) -> Codes:
    """Compute every output of one product by the slow arithmetic; ``order`` is `mfma.numerics.fast.multiply`'s."""
    steps = range(a.shape[-1]) if order is None else order.tolist()
    rows = [[row[k] if k >= 0 else 0 for k in steps] for row in a.tolist()]
    columns = [[column[k] if k >= 0 else 0 for k in steps] for column in b.T.tolist()]
    d = np.empty_like(c)
    for i, j in np.ndindex(d.shape):
        d[i, j] = accumulate(op, rows[i], columns[j], int(c[i, j]), model=model, fp16_ovfl=fp16_ovfl)
    return d
