"""Which NumPy arrays and CPU torch tensors hold the values of a number format.

The matrix core sees codes: unsigned integers of the format's width. `codes` and `view` go from arrays to codes and
back by viewing the same memory, so nothing is rounded here, and no element type is taken for another one.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import ml_dtypes  # noqa: F401  (makes bfloat16 and the 8-bit floats known to np.dtype by name)
import numpy as np
from numpy.typing import NDArray

from mfma.errors import OperandTypeError, UnknownNameError, near
from mfma.formats import BF8, BF16, FORMATS, FP8, OCP_BF8, OCP_FP8, Format

__all__ = [
    "FLOATS",
    "OCP_TWINS",
    "STORAGE",
    "as_numpy",
    "code_dtype",
    "codes",
    "find",
    "is_untyped",
    "raw",
    "value_dtype",
    "view",
]

STORAGE: dict[Format, tuple[str, ...]] = {BF16: ("int16", "uint16"), FP8: ("uint8",), BF8: ("uint8",)}
"""Integer element types that hold codes of a format NumPy does not have."""

OCP_TWINS: dict[Format, Format] = {FP8: OCP_FP8, BF8: OCP_BF8}
"""The OCP format with the same bit fields as a FNUZ format; its codes stand for twice the value."""

FLOATS: dict[str, Format] = {f.dtype: f for f in FORMATS.values() if not f.is_integer and not f.ignored}
"""The format of every floating element type that values are converted from."""


def find(format: str | Format) -> Format:
    """Look up a number format by its name, in any case; a record is returned as it is.

    Raises `UnknownNameError` for any other name.

    >>> find("fp8").max
    240.0
    """
    if isinstance(format, Format):
        return format
    known = FORMATS.get(format.lower()) if isinstance(format, str) else None
    if known is None:
        listing = ", ".join(f"{f} ({f.dtype})" for f in FORMATS.values())
        raise UnknownNameError(f"No number format is called {format!r}: give {listing}.{near(str(format), [*FORMATS])}")
    return known


def value_dtype(format: Format) -> np.dtype[Any]:
    """Return the NumPy element type of the format's values: float16, ml_dtypes' bfloat16, and so on."""
    return np.dtype(format.dtype)


@functools.cache
def code_dtype(format: Format) -> np.dtype[Any]:
    """Return the unsigned integer type of the format's width."""
    return np.dtype(f"uint{format.bits}")


def _is_foreign(dtype: np.dtype[Any]) -> bool:
    return dtype.isbuiltin == 2  # NumPy's number for a type that another package registered, here ml_dtypes


def is_untyped(dtype: np.dtype[Any]) -> bool:
    """Whether elements are bytes without a type: what `numpy.load` makes of bfloat16 and FNUZ arrays."""
    return dtype.type is np.void and dtype.names is None


def as_numpy(array: object, what: str) -> NDArray[Any]:
    """Return a NumPy array or CPU torch tensor as a NumPy array in native byte order, sharing its memory if possible.

    ``what`` is the operand's name in messages. Raises `OperandTypeError` for anything else.
    """
    if type(array) is np.ndarray and array.dtype.isnative:
        return array
    torch = sys.modules.get("torch")  # never imported here: a tensor cannot exist without it
    if torch is not None and isinstance(array, torch.Tensor):
        return _tensor_as_numpy(torch, array, what)
    if isinstance(array, np.ma.MaskedArray):
        raise OperandTypeError(f"{what} is a masked array, whose masked elements have no value: fill them first.")
    if not isinstance(array, np.ndarray):
        raise OperandTypeError(
            f"{what} is of type {type(array).__name__}, not an array: give a NumPy array or a CPU torch tensor."
        )
    return np.asarray(array, dtype=None if array.dtype.isnative else array.dtype.newbyteorder("="))


def _tensor_as_numpy(torch: Any, tensor: Any, what: str) -> NDArray[Any]:
    if tensor.device.type != "cpu":
        raise OperandTypeError(f"{what} is a torch tensor on {tensor.device}: copy it to the CPU with .cpu().")
    if tensor.layout is not torch.strided:
        raise OperandTypeError(f"{what} is a {tensor.layout} tensor: make it dense with .to_dense().")
    try:
        dtype = np.dtype(str(tensor.dtype).removeprefix("torch."))
    except TypeError:
        raise OperandTypeError(f"{what} is a {tensor.dtype} tensor, which no NumPy element type holds.") from None
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if not _is_foreign(dtype):
        return np.asarray(tensor.numpy())
    carrier = {1: torch.uint8, 2: torch.int16}[dtype.itemsize]  # Tensor.numpy refuses ml_dtypes' types
    return np.asarray(tensor.view(carrier).numpy()).view(dtype)


def codes(array: object, format: str | Format, what: str = "A") -> NDArray[Any]:
    """View an operand as the codes that the matrix core reads: unsigned integers of the format's width.

    An operand has the format's own element type (xf32: float32), or one of `STORAGE`. Memory is shared unless the
    bytes must be swapped. Raises `OperandTypeError` for every other type; nothing is converted.

    >>> codes(np.array([1, -2], np.float16), "f16")
    array([15360, 49152], dtype=uint16)
    """
    format = find(format)
    given = as_numpy(array, what)
    if given.dtype not in _accepted(format):
        raise OperandTypeError(_mismatch(given.dtype, format, what))
    return given.view(code_dtype(format))


@functools.cache
def _accepted(format: Format) -> frozenset[np.dtype[Any]]:
    return frozenset(map(np.dtype, (format.dtype, *STORAGE.get(format, ()))))


def raw(array: object, format: str | Format, what: str = "A") -> NDArray[Any]:
    """View an array that came from a ``.npy`` file as codes.

    NumPy saves bfloat16 and FNUZ arrays as bytes without a type (``|V2``, ``|V1``); those of the right width count
    as codes of such a format. Everything else is as in `codes`.

    >>> raw(np.array([b"\\x38"], "V1"), "fp8")
    array([56], dtype=uint8)
    """
    format = find(format)
    untyped = isinstance(array, np.ndarray) and is_untyped(array.dtype) and array.dtype.itemsize * 8 == format.bits
    if untyped and _is_foreign(value_dtype(format)):
        return as_numpy(array, what).view(code_dtype(format))
    return codes(array, format, what)


def view(codes: NDArray[Any], format: str | Format) -> NDArray[Any]:
    """View codes as an array of the format's own element type; the inverse of `codes`.

    >>> view(np.array([0x3C00, 0xC000], np.uint16), "f16")
    array([ 1., -2.], dtype=float16)
    """
    format = find(format)
    if codes.dtype != code_dtype(format):
        raise OperandTypeError(f"The codes are {codes.dtype}, but codes of {format} are {code_dtype(format)}.")
    return codes.view(value_dtype(format))


def _mismatch(given: np.dtype[Any], format: Format, what: str) -> str:
    *others, last = (format.dtype, *STORAGE.get(format, ()))
    allowed = f"{', '.join(others)} or {last}" if others else last
    advice = f"give an array of {format.dtype}"
    if given.name in FLOATS or given.kind in "iu":
        advice = f'convert its values with mfma.encode({what}, "{format}")'
    if given.itemsize * 8 == format.bits and (given.kind in "iu" or is_untyped(given)):
        advice += f", or view it as {format.dtype} if it holds codes"
    if format in OCP_TWINS and given.name == OCP_TWINS[format].dtype:
        advice = f"OCP codes stand for twice the value, so convert it with mfma.fp8.from_ocp({what})"
    return f"{what} is {given.name}, but an operand of format {format} is {allowed}: {advice}."
