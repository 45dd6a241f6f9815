"""Orders in which a kernel's instructions consume k.

An instruction reads, from each group of lanes, as many consecutive values of k as a lane's registers hold. A kernel
whose lanes load more consecutive values at a time feeds the first of each lane to one instruction and the next to
another, so each instruction sees values of k that lie apart. The products are the same, their grouping is not.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.errors import OptionError
from mfma.isa.spec import MatrixOp

__all__ = ["KOrder", "steps"]

KOrder = Mapping[str, int] | Sequence[int] | NDArray[Any] | None


def steps(op: MatrixOp, k: int, order: KOrder) -> NDArray[np.int64]:
    """k index of every product in the order in which the instructions consume it; -1 is a zero that pads.

    ``order`` is None (ascending), ``{"kwidth": w}`` (each lane loads w consecutive k, as a Triton kernel with
    ``kpack = w / elements per lane``), or a permutation of ``range(k)``.

    >>> from mfma.isa.cdna3 import DENSE
    >>> steps(DENSE[8], 16, {"kwidth": 8}).tolist()  # f32_32x32x8f16: two groups of lanes, four values a lane
    [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]
    """
    if order is None:
        return np.arange(k, dtype=np.int64)
    if isinstance(order, Mapping):
        return _lanes_of(op, k, order)
    with contextlib.suppress(ValueError):  # nested lists of different lengths are no array
        indices = np.asarray(order)
        whole = indices.dtype.kind in "iu" or indices.size == 0
        if whole and indices.ndim == 1 and np.array_equal(np.sort(indices), np.arange(k)):
            return indices.astype(np.int64)
    raise OptionError(
        f"k_order is no permutation of range({k}): give each of these k once, "
        'or {"kwidth": w}, or None for ascending k.'
    )


def _lanes_of(op: MatrixOp, k: int, order: Mapping[str, int]) -> NDArray[np.int64]:
    held = op.registers.a.elements
    try:
        (name, width), *rest = order.items()
        width = operator.index(width)
    except (TypeError, ValueError):
        name, width, rest = "", 0, []
    if name != "kwidth" or rest or width < 1 or width % held:
        raise OptionError(
            f'k_order is {dict(order)!r}, but as a mapping it is {{"kwidth": w}} with w a multiple of the {held} '
            f"elements that a lane of {op} holds."
        )
    groups = op.k // held
    chunk = groups * width
    padded = np.arange(-(-k // chunk) * chunk).reshape(-1, groups, width // held, held)
    indices = padded.swapaxes(1, 2).ravel()
    return np.where(indices < k, indices, -1).astype(np.int64)
