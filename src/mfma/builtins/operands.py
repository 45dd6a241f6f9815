"""Per-lane vectors as C passes them, as the 32-bit words of the registers that hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.errors import OperandShapeError, OperandTypeError, OptionError
from mfma.formats import Format, arrays
from mfma.isa.spec import WAVE, Operand

__all__ = ["from_words", "lane_shape", "output", "to_words"]


def lane_shape(operand: Operand) -> tuple[int, ...]:
    """Shape of an operand of one wave: (64, n), or (64,) where n is 1."""
    return (WAVE,) if operand.elements == 1 else (WAVE, operand.elements)


def to_words(array: object, operand: Operand, what: str) -> NDArray[np.uint32]:
    """View per-lane vectors (..., 64, n), or (..., 64) where n is 1, as the words of every lane, (..., 64, vgprs).

    An operand of 8-bit elements may be given as the integer of its C type, (..., 64), instead.
    """
    given = arrays.as_numpy(array, what)
    if operand.format.bits == 8 and given.dtype.kind == "i" and given.itemsize == 4 * operand.vgprs:
        if given.ndim < 1 or given.shape[-1] != WAVE:
            raise OperandShapeError(
                f"{what} is {given.dtype} of shape {given.shape}, but one {given.dtype} a lane is (..., {WAVE})."
            )
        codes = given[..., None]
    else:
        try:
            codes = arrays.codes(given, operand.format, what)
        except OperandTypeError as error:
            if operand.format.bits != 8:
                raise
            raise OperandTypeError(f"{error} Packed, as in C, it is one int{operand.vgprs * 32} a lane.") from None
        shape = lane_shape(operand)
        if codes.shape[-len(shape) :] != shape:
            packed = f"int{operand.vgprs * 32}"
            expected = f"(..., {', '.join(map(str, shape))})"
            also = f", or packed as {packed} (..., {WAVE})" if operand.format.bits == 8 else ""
            raise OperandShapeError(
                f"{what} has shape {given.shape}, but {operand.elements} {operand.format} a lane are {expected}{also}."
            )
        if operand.elements == 1:
            codes = codes[..., None]
    return np.ascontiguousarray(codes).view(np.uint32)


def from_words(words: NDArray[np.uint32], operand: Operand) -> NDArray[Any]:
    """View words of every lane as per-lane vectors of the result's element type; the inverse of `to_words`."""
    values = words.view(arrays.value_dtype(operand.format))
    return values[..., 0] if operand.elements == 1 else values


def output(out: object, shape: tuple[int, ...], format: Format) -> NDArray[Any] | None:
    """Check an ``out`` array before anything is computed; give it as NumPy, sharing its memory, or None for None."""
    if out is None:
        return None
    dtype = arrays.value_dtype(format)
    array = arrays.as_numpy(out, "out")
    if array.dtype != dtype:
        raise OperandTypeError(f"out is {array.dtype.name}, but the result is {dtype.name}: give such an array.")
    if array.shape != shape:
        raise OperandShapeError(f"out has shape {array.shape}, but the result has {shape}.")
    if not array.flags.writeable or (isinstance(out, np.ndarray) and array.base is not out and array is not out):
        raise OptionError("out cannot be written in place: give a writeable array in native byte order.")
    return array
