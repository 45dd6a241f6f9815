"""Whole products by the fast kernels: cut into pieces for threads, the same bits for any cut."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mfma.formats import F32
from mfma.isa.accumulation import FmaChain
from mfma.isa.spec import MatrixOp
from mfma.native.threads import Progress, run, thread_count
from mfma.numerics.blocks import COLUMNS, Arithmetic, product, scratch_bytes
from mfma.numerics.exact_sum import exact_product, exact_scratch_bytes

__all__ = ["multiply"]

Codes = NDArray[Any]
INT32_PRODUCTS = 1 << 16
"""Products of int8 whose sum an int32 certainly holds."""
PIECE = 1 << 25
"""Multiply-adds of a group sum that make a piece of work: some milliseconds, so that Ctrl-C and progress are prompt."""


def multiply(
    op: MatrixOp,
    a: Codes,
    b: Codes,
    d: Codes,
    *,
    model: str = "hardware",
    order: NDArray[np.int64] | None = None,
    fp16_ovfl: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Add ``a @ b`` to ``d`` in place, by the arithmetic of ``op``.

    ``a`` (..., M, K), ``b`` (..., K, N) and ``d`` (..., M, N) are codes: unsigned integers of the widths of
    ``op.a``, ``op.b`` and ``op.out``; leading axes of a and b broadcast to those of d, whose rows must be
    contiguous. ``order`` lists the k index of every step, -1 for a zero product; None is ascending k.
    """
    m, n = d.shape[-2:]
    ks = a.shape[-1]
    threads = thread_count(threads)
    order = np.arange(ks, dtype=np.int64) if order is None else np.ascontiguousarray(order, np.int64)
    if model == "hardware" and len(order) % op.k:
        order = np.concatenate([order, np.full(-len(order) % op.k, -1, np.int64)])
    if 0 in (m, n, len(order)) or d.size == 0:
        return
    if model == "exact" and fp16_ovfl and op.out.is_integer:
        _clamp_once(op, a, b, d, order, threads)
        return
    kernel = _kernel(op, model, fp16_ovfl)
    a, b = (x if _is_walkable(x) else np.ascontiguousarray(x) for x in (a, b))
    pieces: list[Callable[[], object]] = []
    for a_, b_, d_ in _batches(a, b, d):
        count, step = d_.shape[0], [x.strides[0] // x.itemsize for x in (a_, b_, d_)]
        lead = [x.strides[1] // x.itemsize for x in (a_, b_, d_)]
        for at, entries, i, rows, j, columns in _cut(count, m, n, len(order), kernel):

            def piece(a_=a_, b_=b_, d_=d_, step=step, lead=lead, cut=(at, entries, i, rows, j, columns)) -> None:  # type: ignore[no-untyped-def]
                at, entries, i, rows, j, columns = cut
                working = np.empty(kernel.scratch_bytes, np.uint8)
                kernel.call(
                    d_.ctypes.data + d_.itemsize * (at * step[2] + i * lead[2] + j),
                    a_.ctypes.data + a_.itemsize * (at * step[0] + i * lead[0]),
                    b_.ctypes.data + b_.itemsize * (at * step[1] + j),
                    order.ctypes.data,
                    rows,
                    columns,
                    len(order),
                    *lead,
                    entries,
                    *step,
                    working.ctypes.data,
                )

            pieces.append(piece)
    run(pieces, threads, progress)


def _clamp_once(op: MatrixOp, a: Codes, b: Codes, d: Codes, order: NDArray[np.int64], threads: int | None) -> None:
    """Integers whose whole sum is clamped, not that of every instruction."""
    total = d.view(np.int32).astype(np.int64)
    for first in range(0, len(order), INT32_PRODUCTS):
        part = np.zeros_like(d)
        multiply(op, a, b, part, order=order[first : first + INT32_PRODUCTS], threads=threads)
        total += part.view(np.int32)
    limits = np.iinfo(np.int32)
    d.view(np.int32)[...] = np.clip(total, limits.min, limits.max)


class _Kernel(NamedTuple):
    """A native function, the working memory it needs, and the pieces of work that suit it.

    ``rows`` is the height of a piece, ``speed`` how fast the function is beside a group sum.
    """

    call: Callable[..., None]
    scratch_bytes: int
    rows: int
    speed: float


@functools.cache
def _kernel(op: MatrixOp, model: str, fp16_ovfl: bool) -> _Kernel:
    """Native function of an arithmetic."""
    saturate = fp16_ovfl and (op.out == F32 or op.out.is_integer)
    if model == "exact" and not op.out.is_integer:
        call = exact_product(op.a, op.b, op.out, saturate)
        return _Kernel(call, exact_scratch_bytes(op.a, op.b, op.out), rows=96, speed=0.25)
    rule = op.accumulation
    assert rule is not None  # the public functions refuse instructions without arithmetic
    if model == "fma" and not op.out.is_integer:
        rule = FmaChain()
    arithmetic = Arithmetic(op.a, op.b, op.out, rule, saturate, op.k if saturate and op.out.is_integer else 0)
    speed = 1 if arithmetic.held else 8
    return _Kernel(product(arithmetic), scratch_bytes(arithmetic), arithmetic.rows, speed)


def _is_walkable(x: Codes) -> bool:
    """Whether rows are contiguous and every stride is a whole number of elements."""
    return x.strides[-1] == x.itemsize and all(stride % x.itemsize == 0 for stride in x.strides)


def _batches(a: Codes, b: Codes, d: Codes):  # type: ignore[no-untyped-def]
    """Split the leading axes into stretches that one native call can walk: (count, rows, columns) each."""
    lead = d.shape[:-2]
    a, b = (np.broadcast_to(x, lead + x.shape[-2:]) for x in (a, b))
    flat = [_flatten(x, len(lead)) for x in (a, b, d)]
    if all(x is not None for x in flat):
        yield tuple(flat)
        return
    for index in itertools.product(*map(range, lead[:-1])):
        yield a[index], b[index], d[index]


def _flatten(x: Codes, axes: int) -> Codes | None:
    """The leading axes as one, without a copy; None if their strides do not allow it."""
    steps = [(size, stride) for size, stride in zip(x.shape[:axes], x.strides[:axes], strict=True) if size != 1]
    for (_, outer), (size, inner) in itertools.pairwise(steps):
        if outer != inner * size:
            return None
    count = math.prod(x.shape[:axes])
    stride = steps[-1][1] if steps else 0
    shape, strides = (count, *x.shape[axes:]), (stride, *x.strides[axes:])
    return np.lib.stride_tricks.as_strided(x, shape, strides)


def _cut(count: int, m: int, n: int, ks: int, kernel: _Kernel):  # type: ignore[no-untyped-def]
    """Cut a stretch into pieces: (first entry, entries, first row, rows, first column, columns)."""
    piece = max(int(PIECE * kernel.speed), 1)
    if m * n * ks <= piece:
        entries = piece // (m * n * ks)
        for at in range(0, count, entries):
            yield at, min(entries, count - at), 0, m, 0, n
        return
    rows = _share(m, kernel.rows)
    columns = _share(-(-n // COLUMNS), max(piece // (rows * ks) // COLUMNS, 1)) * COLUMNS
    for at, i, j in itertools.product(range(count), range(0, m, rows), range(0, n, columns)):
        yield at, 1, i, min(rows, m - i), j, min(columns, n - j)


def _share(whole: int, most: int) -> int:
    """Size of a part if ``whole`` is cut evenly into parts of at most ``most``."""
    return -(-whole // -(-whole // most))
