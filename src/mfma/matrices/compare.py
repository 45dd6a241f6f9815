"""How far two results lie apart: counts, distances on the scale of the codes, and the mean error with its sign."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.errors import OperandShapeError
from mfma.formats import Format
from mfma.formats.arrays import codes as codes_of
from mfma.formats.arrays import find
from mfma.formats.codec import decode

__all__ = ["Comparison", "compare"]

BLOCK = 1 << 16
"""Outputs compared at a time, so that the memory needed does not grow with the matrices."""


@dataclass(frozen=True)
class Comparison:
    """The outputs of a result beside those of a reference.

    ``differing`` counts outputs with other bits, where any two NaNs are equal; ``only_one_nan`` those of them in which
    one of the two is a NaN. ``max_ulp`` is the largest number of steps, from one number of the format to the next,
    between an output and its reference (0 between -0 and 0; infinity follows the largest finite number), and
    ``worst`` the index of the first output with it, None if the two agree. ``bias`` is the mean of
    ``result - reference`` where both are finite, and ``bias_ulp`` the mean in units in the last place of each result;
    None if no two are finite or the sum exceeds float64.
    """

    outputs: int
    differing: int
    only_one_nan: int
    max_ulp: int
    worst: tuple[int, ...] | None
    bias: float | None
    bias_ulp: float | None

    def as_dict(self) -> dict[str, Any]:
        """Give the comparison as plain data for JSON."""
        return asdict(self)


def compare(result: object, reference: object, format: str | Format) -> Comparison:
    """Compare two arrays of a format, output by output.

    ``result`` and ``reference`` have one shape and hold ``format``, as operands do. The means are the same on every
    host: sums of blocks are correctly rounded, whatever their order.

    Raises `OperandTypeError`, `UnknownNameError`, and `OperandShapeError` if the shapes differ.

    >>> one = np.ones(4, np.float32)
    >>> comparison = compare(np.nextafter(one, np.float32(2)), one, "f32")
    >>> comparison.differing, comparison.max_ulp, comparison.bias_ulp
    (4, 1, 1.0)
    """
    format = find(format)
    x, y = codes_of(result, format, "The result"), codes_of(reference, format, "The reference")
    if x.shape != y.shape:
        raise OperandShapeError(
            f"the result has shape {x.shape} and the reference {y.shape}, but only arrays of one shape are compared."
        )
    flat_x, flat_y = x.reshape(-1), y.reshape(-1)
    differing = only_one_nan = max_ulp = finite = 0
    worst = None
    errors: list[float] = []
    errors_ulp: list[float] = []
    for start in range(0, flat_x.size, BLOCK):
        block = slice(start, start + BLOCK)
        part = _Block.of(flat_x[block], flat_y[block], format)
        differing += part.differing
        only_one_nan += part.only_one_nan
        finite += part.errors.size
        distance, at = part.largest_distance
        if distance > max_ulp:
            max_ulp, worst = distance, start + at
        errors.append(_sum(part.errors))
        errors_ulp.append(_sum(part.errors_ulp))
    return Comparison(
        outputs=x.size,
        differing=differing,
        only_one_nan=only_one_nan,
        max_ulp=max_ulp,
        worst=None if worst is None else tuple(int(n) for n in np.unravel_index(worst, x.shape)),
        bias=_mean(errors, finite),
        bias_ulp=_mean(errors_ulp, finite),
    )


@dataclass(frozen=True)
class _Block:
    """A piece of both arrays: ``distances`` of all outputs, and the errors of those where both are finite."""

    differing: int
    only_one_nan: int
    distances: NDArray[np.uint64]
    errors: NDArray[np.float64]
    errors_ulp: NDArray[np.float64]

    @classmethod
    def of(cls, x: NDArray[Any], y: NDArray[Any], format: Format) -> _Block:
        x_value, y_value = decode(x, format), decode(y, format)
        x_nan, y_nan = np.isnan(x_value), np.isnan(y_value)
        finite = np.isfinite(x_value) & np.isfinite(y_value)
        with np.errstate(over="ignore", under="ignore"):
            errors = (x_value[finite] - y_value[finite]).astype(np.float64)
            errors_ulp = errors / _ulp(x_value[finite].astype(np.float64), format)
        return cls(
            differing=int(np.count_nonzero((x != y) & ~(x_nan & y_nan))),
            only_one_nan=int(np.count_nonzero(x_nan != y_nan)),
            distances=np.where(x_nan | y_nan, np.uint64(0), _distance(x, y, format)),
            errors=errors,
            errors_ulp=errors_ulp,
        )

    @property
    def largest_distance(self) -> tuple[int, int]:
        at = int(self.distances.argmax())
        return int(self.distances[at]), at


def _distance(x: NDArray[Any], y: NDArray[Any], format: Format) -> NDArray[np.uint64]:
    """Steps between two numbers of a format."""
    place = _integer_place if format.is_integer else _float_place
    p, q = place(x, format), place(y, format)
    # Modulo 2**64, since two float64 can lie further apart than an int64 counts.
    return np.where(p > q, p.astype(np.uint64) - q.astype(np.uint64), q.astype(np.uint64) - p.astype(np.uint64))


def _integer_place(codes: NDArray[Any], format: Format) -> NDArray[np.int64]:
    places: NDArray[np.int64] = decode(codes, format)
    return places


def _float_place(codes: NDArray[Any], format: Format) -> NDArray[np.int64]:
    """Number of a float in the order of all floats of its format, counted from zero."""
    magnitude = (codes & codes.dtype.type((1 << (format.bits - 1)) - 1)).astype(np.int64)
    return np.asarray(np.where(codes >> codes.dtype.type(format.bits - 1), -magnitude, magnitude))


def _ulp(values: NDArray[np.float64], format: Format) -> NDArray[np.float64]:
    """Distance from a finite number of a format to the next greater magnitude."""
    if format.is_integer:
        return np.ones_like(values)
    exponent = np.maximum(np.frexp(values)[1] - 1, format.min_exponent)
    exponent = np.where(values == 0, format.min_exponent, exponent)
    return np.asarray(np.ldexp(1.0, exponent - format.significand))


def _sum(numbers: NDArray[np.float64]) -> float:
    """Exact sum, rounded once; NaN if it exceeds float64."""
    return _or_nan(math.fsum, numbers.tolist())


def _mean(sums: list[float], count: int) -> float | None:
    mean = _or_nan(math.fsum, sums) / count if count else math.nan
    return mean if math.isfinite(mean) else None


def _or_nan(function: Callable[[list[float]], float], numbers: list[float]) -> float:
    try:
        return function(numbers)
    except (OverflowError, ValueError):  # beyond float64; infinities of both signs
        return math.nan
