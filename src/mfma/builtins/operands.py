"""Per-lane vectors as C passes them, and the 32-bit registers that hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.errors import OperandShapeError, OperandTypeError, OptionError
from mfma.formats import Format, arrays
from mfma.isa.spec import WAVE, Operand

__all__ = ["from_registers", "lane_shape", "output", "to_registers"]


def lane_shape(operand: Operand) -> tuple[int, ...]:
    """Shape of an operand of one wave: (64, n), or (64,) where n is 1."""
    return (WAVE,) if operand.elements == 1 else (WAVE, operand.elements)


def to_registers(array: object, operand: Operand, what: str) -> NDArray[np.uint32]:
    """View per-lane vectors (..., 64, n), or (..., 64) where n is 1, as registers (..., vgprs, 64).

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
        packed = f"int{operand.vgprs * 32}"
        try:
            codes = arrays.codes(given, operand.format, what)
        except OperandTypeError as error:
            if operand.format.bits != 8:
                raise
            raise OperandTypeError(f"{error} Packed, as in C, it is one {packed} a lane.") from None
        shape = lane_shape(operand)
        if codes.shape[-len(shape) :] != shape:
            expected = f"(..., {', '.join(map(str, shape))})"
            also = f", or packed as {packed} (..., {WAVE})" if operand.format.bits == 8 else ""
            raise OperandShapeError(
                f"{what} has shape {given.shape}, but {operand.elements} {operand.format} a lane are {expected}{also}."
            )
        if operand.elements == 1:
            codes = codes[..., None]
    words = np.ascontiguousarray(codes).view(np.uint32)
    return np.ascontiguousarray(words.swapaxes(-1, -2))


def from_registers(registers: NDArray[np.uint32], operand: Operand) -> NDArray[Any]:
    """Per-lane vectors of the result's element type; the inverse of `to_registers`."""
    words = np.ascontiguousarray(registers.swapaxes(-1, -2))
    values = words.view(operand.format.dtype)
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
