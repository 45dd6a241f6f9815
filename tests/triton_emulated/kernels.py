"""Triton kernels for the emulator, beside those of the corpus."""

import triton
import triton.language as tl

from corpus.triton_kernels import layer_norm, softmax, vector_add
from corpus.triton_kernels_dot import attention

__all__ = [
    "add_into", "asserting", "attention", "column_sums", "dropout", "failing", "halves", "heuristic", "layer_norm",
    "layer_norm_backward", "matmul", "negate", "of_tuple", "printing", "scalars", "softmax", "tile_of", "tuned",
    "tuned_negate", "vector_add",
]  # fmt: skip


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul(
    a, b, c, m, n, k, a_row, a_column, b_row, b_column, c_row, c_column,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    """C = activation(A·B) of matrices with any strides, tiles in groups of GROUP rows of tiles."""
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    tile = tl.program_id(0)
    first_row = tile // (GROUP * columns) * GROUP
    high = min(rows - first_row, GROUP)
    i = (first_row + tile % (GROUP * columns) % high) * BM + tl.arange(0, BM)
    j = tile % (GROUP * columns) // high * BN + tl.arange(0, BN)
    s = tl.arange(0, BK)
    x = a + (i % m)[:, None] * a_row + s[None, :] * a_column
    y = b + s[:, None] * b_row + (j % n)[None, :] * b_column
    total = tl.zeros((BM, BN), tl.float32)
    for first in range(0, k, BK):
        left = tl.load(x, mask=s[None, :] < k - first, other=0.0)
        right = tl.load(y, mask=s[:, None] < k - first, other=0.0)
        total = tl.dot(left, right, total)
        x += BK * a_column
        y += BK * b_row
    if ACTIVATION == "leaky":
        total = leaky(total)
    inside = (i < m)[:, None] & (j < n)[None, :]
    tl.store(c + i[:, None] * c_row + j[None, :] * c_column, total.to(c.dtype.element_ty), mask=inside)


CONFIGS = [
    triton.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP": 4}, num_warps=warps, num_stages=2)
    for bm, bn, bk, warps in ((32, 32, 32, 1), (64, 64, 32, 4), (64, 32, 64, 2))
]
tuned = triton.autotune(CONFIGS, key=["m", "n", "k"])(matmul)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, i) > p
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(kept, value / (1 - p), 0.0), mask=i < n)


@triton.jit
def layer_norm_backward(
    dx, dy, dw, db, x, w, mean, rstd, lock, pitch, n, GROUP: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Gradients of one row a program; those of weight and bias are added to one of GROUP partial sums, behind a lock.

    ``lock`` has GROUP locks, then GROUP counters.
    """
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    inside = j < n
    value = tl.load(x + row * pitch + j, mask=inside, other=0.0)
    slope = tl.load(dy + row * pitch + j, mask=inside, other=0.0)
    weight = tl.load(w + j, mask=inside, other=0.0)
    scale = tl.load(rstd + row)
    normal = tl.where(inside, (value - tl.load(mean + row)) * scale, 0.0)
    scaled = tl.where(inside, weight * slope, 0.0)
    along = tl.sum(normal * scaled, 0) / n
    middle = tl.sum(scaled, 0) / n
    tl.store(dx + row * pitch + j, (scaled - (normal * along + middle)) * scale, mask=inside)
    mine = row % GROUP
    weights, biases = slope * normal, slope
    while tl.atomic_cas(lock + mine, 0, 1) == 1:
        pass
    count = tl.load(lock + GROUP + mine, volatile=True)
    if count == 0:
        tl.atomic_xchg(lock + GROUP + mine, 1)
    else:
        weights += tl.load(dw + mine * n + j, mask=inside, volatile=True)
        biases += tl.load(db + mine * n + j, mask=inside, volatile=True)
    tl.store(dw + mine * n + j, weights, mask=inside)
    tl.store(db + mine * n + j, biases, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock + mine, 0)


@triton.jit
def column_sums(x, out, rows, n, BM: tl.constexpr, BN: tl.constexpr):
    j = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for first in range(0, rows, BM):
        i = first + tl.arange(0, BM)
        total += tl.load(x + i[:, None] * n + j[None, :], mask=(i < rows)[:, None] & (j < n)[None, :], other=0.0)
    tl.store(out + j, tl.sum(total, 0), mask=j < n)


# --- arguments --------------------------------------------------------------------------------------------------


@triton.jit
def scalars(out, i, wide, f, flag, h: tl.float16, b: tl.bfloat16, d: tl.float64, small: tl.int8, u: tl.uint64, none):
    """Every number that a kernel can be given, as f64."""
    tl.store(out, i)
    tl.store(out + 1, wide)
    tl.store(out + 2, f)
    tl.store(out + 3, flag)
    tl.store(out + 4, h)
    tl.store(out + 5, b)
    tl.store(out + 6, d)
    tl.store(out + 7, small)
    tl.store(out + 8, u)
    if none is None:
        tl.store(out + 9, 1)


@triton.jit
def of_tuple(both, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(both[0] + i) * both[1][0] + both[1][1])


@triton.jit
def tile_of(matrix, out, M: tl.constexpr, N: tl.constexpr):
    """The tile in row 1, column 0 of tiles, by a descriptor."""
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], matrix.load([M, 0]))


@triton.jit
def negate(x, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(x + i, -tl.load(x + i))


@triton.jit
def halves(x, out, N: tl.constexpr):
    """x / 2 in the type of ``out``."""
    i = tl.arange(0, N)
    tl.store(out + i, (tl.load(x + i).to(tl.float32) * 0.5).to(out.dtype.element_ty))


@triton.jit
def add_into(x, y, N: tl.constexpr):
    """x += y, one element after the other, so that what overlaps is seen to."""
    for i in range(N):
        tl.store(x + i, tl.load(x + i) + tl.load(y + i))
        tl.debug_barrier()


heuristic = triton.heuristics({"N": lambda given: triton.next_power_of_2(given["x"].numel())})(negate)
tuned_negate = triton.autotune(
    [triton.Config({"N": 64}, num_warps=1), triton.Config({"N": 64}, num_warps=4)], key=[], restore_value=["x"]
)(negate)


# --- what a kernel says -----------------------------------------------------------------------------------------


@triton.jit
def printing(x, N: tl.constexpr):
    tl.device_print("value", tl.load(x + tl.arange(0, N)))


@triton.jit
def asserting(x, N: tl.constexpr):
    tl.device_assert(tl.load(x + tl.arange(0, N)) > 0, "not positive")


@triton.jit
def failing(x, n, BLOCK: tl.constexpr):
    """Stores to n elements of x, however many it has."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, i.to(tl.float32), mask=i < n)
