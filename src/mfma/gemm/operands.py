"""What a kernel reads and writes in memory: formats, conversions, shapes, and the parts of K that it walks over."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mfma.errors import OperandShapeError, OptionError
from mfma.formats import FORMATS, Format, arrays
from mfma.formats.codec import Overflow, Rounding, encode
from mfma.gemm.elementwise import fma, scale
from mfma.gemm.protocols import ComputePolicy
from mfma.matrices.order import KOrder, steps

__all__ = ["Conversion", "Memory", "Number", "Operands", "epilogue", "factor", "is_zero", "operands", "parts"]

Codes = NDArray[Any]
Number = int | float


@dataclass(frozen=True)
class Conversion:
    """How numbers get from one format to another: ``rounding`` and ``overflow`` as in `mfma.encode`."""

    rounding: Rounding = "rne"
    overflow: Overflow = "ieee"

    def __post_init__(self) -> None:
        encode(0.0, "f32", self.rounding, self.overflow)  # refuses what it does not know


@dataclass(frozen=True)
class Memory:
    """How the matrices lie in memory, and how they are converted on the way.

    Args:
        a: format of A in memory, by name or as a record; None is that of the compute policy, taken as it is.
        b: the same for B.
        d: format of C and D; None is that of the accumulator.
        b_order: ``"row"``: B is stored row by row, n contiguous; ``"column"``: k is contiguous.
        load: conversion of A and B to the formats of the instruction, and of C to the accumulator's.
        store: conversion of the result to the format of D.

    xf32 is stored as f32, whose low bits the instruction cuts off. Naming ``a="f32"`` rounds A to xf32 on load.
    """

    a: Format | str | None = None
    b: Format | str | None = None
    d: Format | str | None = None
    b_order: Literal["row", "column"] = "row"
    load: Conversion = field(default_factory=Conversion)
    store: Conversion = field(default_factory=Conversion)

    def __post_init__(self) -> None:
        for name in ("a", "b", "d"):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else arrays.find(given))
        if self.b_order not in ("row", "column"):
            raise OptionError(f"b_order is {self.b_order!r}, but B is stored by 'row' or by 'column'.")

    def formats(self, compute: ComputePolicy) -> tuple[Format, Format, Format]:
        """Formats of A, B and of C and D in memory."""
        given = ((self.a, compute.a), (self.b, compute.b), (self.d, compute.accumulator))
        a, b, d = (FORMATS[str(own if named is None else named)] for named, own in given)
        return a, b, d

    def loaded(self, codes: Codes, memory: Format, format: Format) -> Codes:
        """Convert codes of a format in memory to codes of the format of the instruction."""
        return _converted(codes, memory, format, self.load)

    def stored(self, values: NDArray[Any], accumulator: Format, memory: Format) -> NDArray[Any]:
        """Convert results to the format of D."""
        codes = np.ascontiguousarray(values).view(arrays.code_dtype(accumulator))
        return arrays.view(_converted(codes, accumulator, memory, self.store), memory)


def _converted(codes: Codes, given: Format, wanted: Format, how: Conversion) -> Codes:
    if given == wanted:
        return codes
    numbers = arrays.view(codes, given)
    return encode(numbers, wanted, how.rounding, how.overflow).view(arrays.code_dtype(wanted))


@dataclass(frozen=True)
class Operands:
    """Checked operands as codes in the formats of memory: A (batch, M, K), B (batch, K, N), C (batch, M, N) or None.

    ``lead`` are the leading axes of the result.
    """

    a: Codes
    b: Codes
    c: Codes | None
    lead: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(batch, M, N, K)."""
        return self.a.shape[0], self.a.shape[1], self.b.shape[2], self.a.shape[2]

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Shape of D."""
        return (*self.lead, self.a.shape[1], self.b.shape[2])


def operands(compute: ComputePolicy, memory: Memory, a: object, b: object, c: object) -> Operands:
    """Check operands of any strides, whose leading axes broadcast, and bring them to one batch axis.

    Raises `OperandTypeError` and `OperandShapeError`.
    """
    of_a, of_b, of_d = memory.formats(compute)
    x, y = arrays.codes(a, of_a, "A"), arrays.codes(b, of_b, "B")
    z = None if c is None else arrays.codes(c, of_d, "C")
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-2]:
        raise OperandShapeError(
            f"A has shape {x.shape} and B {y.shape}, but they must be (..., M, K) and (..., K, N) with one K."
        )
    try:
        lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise OperandShapeError(
            f"the leading axes of A {x.shape[:-2]} and B {y.shape[:-2]} do not broadcast."
        ) from None
    shape = (*lead, x.shape[-2], y.shape[-1])
    if z is not None:
        try:
            z = np.broadcast_to(z, shape)
        except ValueError:
            raise OperandShapeError(f"C has shape {z.shape}, but A·B has {shape}.") from None
    count = int(np.prod(lead, dtype=np.int64))
    x, y = (np.broadcast_to(m, (*lead, *m.shape[-2:])).reshape(count, *m.shape[-2:]) for m in (x, y))
    return Operands(x, y, None if z is None else z.reshape(count, *shape[-2:]), lead)


def parts(compute: ComputePolicy, k: int, k_tile_size: int, k_order: KOrder, split_k: int) -> list[NDArray[np.int64]]:
    """Cut K into the parts of a split, each padded to whole strips: the k of every position, -1 for a zero.

    ``k_order`` is a permutation of ``range(k)`` or None. Parts are equal numbers of ``k_step``, rounded up, so that
    the last may be shorter. Raises `OptionError`.
    """
    if isinstance(k_order, Mapping):
        raise OptionError(
            f"k_order is {dict(k_order)!r}: give kwidth to the compute policy, which loads in that order."
        )
    order = steps(compute.op.record, k, k_order)
    units = max(-(-k // compute.k_step), 1)
    try:
        count = operator.index(split_k)
    except TypeError:
        count = 0
    if not 1 <= count <= units or isinstance(split_k, bool):
        raise OptionError(
            f"split_k is {split_k!r}, but K = {k} makes {units} step{'s' * (units > 1)} of {compute.k_step}: "
            f"give a whole number from 1 to {units}."
        )
    size = -(-units // count) * compute.k_step
    cut = [order[first : first + size] for first in range(0, max(k, 1), size)]
    return [np.pad(part, (0, -len(part) % k_tile_size), constant_values=-1) for part in cut]


def factor(name: str, value: object, format: Format) -> NDArray[Any]:
    """Return alpha or beta rounded to the accumulator's format; raise `OptionError` for what is no such number."""
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        raise OptionError(f"{name} is {value!r}, but it is a number.")
    if format.is_integer and (value != int(value) or not -(2**31) <= value < 2**31):
        raise OptionError(f"{name} is {value!r}, but beside {format} accumulators it is an int32.")
    return encode(int(value) if format.is_integer else value, format)


def is_zero(factor: NDArray[Any]) -> bool:
    """Say whether a factor is 0 or -0, by its bits: a thread that flushes subnormals compares wrongly."""
    zero = np.zeros_like(factor)
    return factor.tobytes() in (zero.tobytes(), np.negative(zero).tobytes())


def epilogue(
    acc: NDArray[Any], c: NDArray[Any] | None, alpha: NDArray[Any], beta: NDArray[Any], format: Format
) -> NDArray[Any]:
    """Return ``fma(alpha, acc, beta·c)`` in the accumulator's format: two roundings, the product's and the sum's.

    Without c it is ``alpha·acc``, and the accumulators themselves if alpha is 1. Integers wrap.
    """
    if c is not None:
        return fma(alpha, acc, scale(beta, c, format), format)
    return acc if alpha.tobytes() == np.ones_like(alpha).tobytes() else scale(alpha, acc, format)
