"""Products of whole matrices with the bits of a kernel that chains one instruction over k."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.builtins.op import Op
from mfma.builtins.op import op as find
from mfma.builtins.operands import output
from mfma.errors import OperandShapeError, OptionError, near
from mfma.formats import arrays
from mfma.isa.spec import MatrixOp
from mfma.matrices.order import KOrder, steps
from mfma.native.threads import Progress
from mfma.numerics.addition import add_to
from mfma.numerics.fast import multiply
from mfma.numerics.reference import MODELS

__all__ = ["matmul"]

PARTIAL_BYTES = 1 << 24
"""Largest block of partial sums of a split."""


def matmul(
    a: object,
    b: object,
    c: object = None,
    *,
    op: str | Op,
    model: str = "hardware",
    k_order: KOrder = None,
    split_k: int = 1,
    threads: int | None = None,
    out: Any = None,
    fp16_ovfl: bool = False,
    progress: Progress | None = None,
) -> NDArray[Any]:
    """Compute A·B + C as a kernel computes it that chains ``op`` through its accumulator over k.

    Args:
        a: (..., M, K), of the element type of ``op.a``; any sizes.
        b: (..., K, N), of the element type of ``op.b``; leading axes broadcast as in `numpy.matmul`.
        c: (..., M, N), of the element type of ``op.cd``: where the accumulators start; None is zero.
        op: the instruction, by any of its names or as an object. Of its shape only k matters: it says how many
            products one instruction consumes. A ragged K is padded with zeros, as a kernel does.
        model: ``"hardware"``; ``"fma"``, sequential fused multiply-adds in the result type; or ``"exact"``, the
            whole sum with C rounded once. All three read the operands as the instruction does.
        k_order: the order in which the instructions consume k. None is ascending. ``{"kwidth": w}``: each lane
            loads w consecutive values of k, so w / (elements per lane) instructions share a stretch of k; Triton's
            ``kpack=2`` on f16 is ``{"kwidth": 8}``. Or a permutation of ``range(K)``.
        split_k: number of parts into which K is cut, in whole instructions (and stretches of ``kwidth``): equal
            parts, rounded up, so the last may be shorter or have nothing to do. Each part is accumulated from zero;
            the partial sums are then added in ascending order in the result type, and C last. The exact model has
            one sum, whatever the split.
        threads: processors to use, all by default; the result does not depend on it.
        out: array that receives the result; it may be ``c``.
        fp16_ovfl: MODE.FP16_OVFL: overflow gives the largest finite number, or the nearest int32.
        progress: called with the pieces of work done and the pieces in all.

    Returns:
        (..., M, N) of the element type of ``op.cd``.

    Raises:
        UnknownNameError, OperandShapeError, OperandTypeError, OptionError: what was given cannot be computed.

    The order is not a detail. A kernel that feeds its instructions from eight consecutive k groups other products
    than one that goes in steps of four, and the bits differ:

    >>> import numpy as np, mfma
    >>> a = np.zeros((1, 16), np.float16)
    >>> b = np.zeros((16, 1), np.float16)
    >>> a[0, [0, 4, 8]] = 2048, 0.125, 2048
    >>> b[[0, 4, 8], 0] = 2048, 1, -2048
    >>> mfma.matmul(a, b, op="f32_32x32x8f16")  # k 0..7, then 8..15: 0.125 is cut off beside 2**22
    array([[0.]], dtype=float32)
    >>> mfma.matmul(a, b, op="f32_32x32x8f16", k_order={"kwidth": 8})  # 0..3 with 8..11, then 4..7 with 12..15
    array([[0.125]], dtype=float32)
    """
    face = find(op)
    record = face.record
    if model not in MODELS:
        raise OptionError(
            f"model is {model!r}, but a model is one of {', '.join(MODELS)}.{near(str(model), list(MODELS))}"
        )
    x, y = arrays.codes(a, record.a, "A"), arrays.codes(b, record.b, "B")
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-2]:
        raise OperandShapeError(
            f"A has shape {x.shape} and B {y.shape}, but they must be (..., M, K) and (..., K, N) with one K."
        )
    z = None if c is None else arrays.codes(c, record.out, "C")
    shape = _result_shape(x.shape, y.shape, None if z is None else z.shape)
    target = output(out, shape, record.out)
    parts = _parts(record, x.shape[-1], k_order, split_k)
    if model == "exact":
        parts = [np.concatenate(parts)]
    # A split needs C until the end, when its place would hold partial sums.
    kept = (x, y) if z is None or len(parts) == 1 else (x, y, z)
    total = _accumulators(target, shape, record, kept)
    total[...] = 0 if z is None or len(parts) > 1 else z
    for block, lines in _blocks(total, split=len(parts) > 1):
        rows = x[..., lines, :]
        for number, order in enumerate(parts):
            part = np.zeros_like(block) if number else block
            multiply(
                record, rows, y, part, model=model, order=order, fp16_ovfl=fp16_ovfl, threads=threads, progress=progress
            )
            if number:
                add_to(block, part, record.out)
        if z is not None and len(parts) > 1:
            c_rows = np.broadcast_to(z, shape)[..., lines, :]
            add_to(block, np.ascontiguousarray(c_rows), record.out)
        if block.base is None:  # a copy of rows that do not lie together
            total[..., lines, :] = block
    result = arrays.view(total, record.out)
    if target is None:
        return result
    if not np.may_share_memory(target, result):
        target[...] = result
    return out  # type: ignore[no-any-return]


def _accumulators(
    target: NDArray[Any] | None, shape: tuple[int, ...], op: MatrixOp, kept: tuple[NDArray[Any], ...]
) -> NDArray[Any]:
    """Memory of the result: the target itself unless that would overwrite what is still read."""
    dtype = arrays.code_dtype(op.out)
    if target is not None and target.flags.c_contiguous:
        codes = target.view(dtype)
        if not any(np.may_share_memory(codes, operand) for operand in kept):
            return codes
    return np.empty(shape, dtype)


def _blocks(total: NDArray[Any], split: bool) -> Iterator[tuple[NDArray[Any], slice]]:
    """The result in blocks of rows: in one, or so that a partial sum of a block takes little memory."""
    if not split or total.nbytes <= PARTIAL_BYTES:
        yield total, slice(None)
        return
    lines = max(PARTIAL_BYTES // (total.nbytes // total.shape[-2]), 1)
    for first in range(0, total.shape[-2], lines):
        part = slice(first, first + lines)
        yield np.array(total[..., part, :], order="C"), part


def _result_shape(a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...] | None) -> tuple[int, ...]:
    try:
        lead = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise OperandShapeError(f"the leading axes of A {a[:-2]} and B {b[:-2]} do not broadcast.") from None
    shape = (*lead, a[-2], b[-1])
    if c is not None and c != shape:
        try:
            fits = np.broadcast_shapes(c, shape) == shape and c[-2:] == shape[-2:]
        except ValueError:
            fits = False
        if not fits:
            raise OperandShapeError(f"C has shape {c}, but A·B has {shape}.")
    return shape


def _parts(op: MatrixOp, k: int, k_order: KOrder, split_k: int) -> list[NDArray[np.int64]]:
    """The k steps of every part of a split, in whole instructions."""
    order = steps(op, k, k_order)
    try:
        count = operator.index(split_k)
    except TypeError:
        count = 0
    unit = op.k
    if isinstance(k_order, dict):
        unit = op.k * int(k_order["kwidth"]) // op.registers.a.elements
    units = max(-(-len(order) // unit), 1)
    if not 1 <= count <= units or isinstance(split_k, bool):
        raise OptionError(
            f"split_k is {split_k!r}, but K = {k} makes {units} piece{'s' * (units > 1)} of {unit} for {op}: "
            f"give a whole number from 1 to {units}."
        )
    size = -(-units // count) * unit
    return [order[first : first + size] for first in range(0, max(len(order), 1), size)]
