"""C expressions for tables: what the layout says of every lane, as the shortest sum of digits of the lane's number.

The numbers come from the same tables that the simulation uses, so there is no second statement of any layout, and an
expression that does not give every number of its table is never written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["digits"]


def digits(table: NDArray[Any], *names: str, known: NDArray[np.bool_] | None = None) -> str:
    """Write a table as a sum of digits of its indices, each a power of two long, in C.

    ``known`` masks the entries that matter; the others may come out as anything.

    >>> lane = np.arange(64)
    >>> digits(4 * (lane // 16), "lane_id")
    'lane_id / 16 * 4'
    >>> digits(lane[:, None] % 32 + 2 * np.arange(4), "lane_id", "g")
    'lane_id % 32 + g * 2'
    """
    mask = np.ones(table.shape, np.bool_) if known is None else known
    grid = np.indices(table.shape)
    total = np.zeros(table.shape, np.int64)
    terms = []
    for axis, name in enumerate(names):
        for low, width, factor in _runs(table, mask, axis):
            top = low + width == _bits(table.shape[axis])
            terms.append(_term(name, low, None if top else width, factor))
            total += (grid[axis] >> low) % (1 << width) * factor
    if not np.array_equal(total[mask], table[mask]):
        raise AssertionError(f"not a sum of digits of {', '.join(names)}: {table.tolist()}")
    return " + ".join(terms) or "0"


def _bits(length: int) -> int:
    return (length - 1).bit_length()


def _runs(table: NDArray[Any], mask: NDArray[np.bool_], axis: int) -> Iterator[tuple[int, int, int]]:
    """Yield runs of bits of an index whose weights double: the lowest bit, the number of bits, its weight."""
    weights = []
    for bit in range(_bits(table.shape[axis])):
        place = tuple((1 << bit) * (other == axis) for other in range(table.ndim))
        weights.append(int(table[place]) if mask[place] else 0)
    bit = 0
    while bit < len(weights):
        first = bit
        bit += 1
        if weights[first]:
            while bit < len(weights) and weights[bit] == 2 * weights[bit - 1]:
                bit += 1
            yield first, bit - first, weights[first]


def _term(name: str, low: int, width: int | None, factor: int) -> str:
    quotient = f" / {1 << low}" if low else ""
    remainder = f" % {1 << width}" if width is not None else ""
    times = f" * {factor}" if factor > 1 else ""
    return f"{name}{quotient}{remainder}{times}"
