"""Triton kernels of the corpus: products on the matrix core."""

import triton
import triton.language as tl


@triton.jit
def gemm(
    a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    T: tl.constexpr, PRECISION: tl.constexpr, B_BY_COLUMNS: tl.constexpr,
):  # fmt: skip
    """A·B of row-major matrices; with B_BY_COLUMNS B is given transposed."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), T)
    for first in range(0, k, BK):
        s = first + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * k + s[None, :], mask=(i < m)[:, None] & (s < k)[None, :], other=0.0)
        if B_BY_COLUMNS:
            y = tl.load(b + j[None, :] * k + s[:, None], mask=(s < k)[:, None] & (j < n)[None, :], other=0.0)
        else:
            y = tl.load(b + s[:, None] * n + j[None, :], mask=(s < k)[:, None] & (j < n)[None, :], other=0.0)
        total = tl.dot(x, y, total, input_precision=PRECISION, out_dtype=T)
    tl.store(c + i[:, None] * n + j[None, :], total, mask=(i < m)[:, None] & (j < n)[None, :])


@triton.jit
def gemm_persistent(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """A·B, a few programs walking over all tiles in groups of GROUP rows of tiles; result in C's type."""
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    for tile in range(tl.program_id(0), rows * columns, tl.num_programs(0)):
        first_row = tile // (GROUP * columns) * GROUP
        high = min(rows - first_row, GROUP)
        i = (first_row + tile % high) * BM + tl.arange(0, BM)
        j = tile % (GROUP * columns) // high * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for first in range(0, k, BK):
            s = first + tl.arange(0, BK)
            x = tl.load(a + i[:, None] * k + s[None, :], mask=(i < m)[:, None] & (s < k)[None, :], other=0.0)
            y = tl.load(b + s[:, None] * n + j[None, :], mask=(s < k)[:, None] & (j < n)[None, :], other=0.0)
            total = tl.dot(x, y, total)
        value = total.to(c.dtype.element_ty)
        tl.store(c + i[:, None] * n + j[None, :], value, mask=(i < m)[:, None] & (j < n)[None, :])


@triton.jit
def gemm_split(a, b, c, n, k, part, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C += A·B, k cut into parts that different programs add atomically."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for first in range(tl.program_id(2) * part, (tl.program_id(2) + 1) * part, BK):
        s = first + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * k + s[None, :])
        y = tl.load(b + s[:, None] * n + j[None, :])
        total = tl.dot(x, y, total)
    tl.atomic_add(c + i[:, None] * n + j[None, :], total)


@triton.jit
def gemm_scaled(a, b, c, row_scale, column_scale, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """fp8 with a scale for each row of A and column of B in each stretch of BK along k."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    stretches = tl.cdiv(k, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for stretch in range(stretches):
        s = stretch * BK + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * k + s[None, :])
        y = tl.load(b + s[:, None] * n + j[None, :])
        p = tl.load(row_scale + i * stretches + stretch)
        q = tl.load(column_scale + stretch * n + j)
        total += tl.dot(x, y) * p[:, None] * q[None, :]
    tl.store(c + i[:, None] * n + j[None, :], total)


@triton.jit
def attention(q, k, v, o, length, scale, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """softmax(scale Q·Kᵀ)·V of one head a program in y, BM queries a program in x."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    head = tl.program_id(1) * length * D
    x = tl.load(q + head + i[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else length
    for first in range(0, end, BN):
        j = first + tl.arange(0, BN)
        y = tl.load(k + head + j[None, :] * D + d[:, None])
        scores = tl.dot(x, y) * (scale * 1.44269504)
        if CAUSAL:
            scores = tl.where(i[:, None] >= j[None, :], scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, 1))
        e, shrink = tl.exp2(scores - new[:, None]), tl.exp2(top - new)
        weight = weight * shrink + tl.sum(e, 1)
        z = tl.load(v + head + j[:, None] * D + d[None, :])
        total = tl.dot(e.to(z.dtype), z, total * shrink[:, None])
        top = new
    tl.store(o + head + i[:, None] * D + d[None, :], (total / weight[:, None]).to(o.dtype.element_ty))
