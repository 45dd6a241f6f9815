"""``x·y + z`` element by element with one rounding: IEEE, whatever the thread's floating-point environment."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from mfma.formats import Format
from mfma.formats.arrays import code_dtype, value_dtype, view
from mfma.native.jit import function_address
from mfma.native.simd import F32, F64, I32, I64, POINTER, Kernel
from mfma.numerics.panels import with_quiet_nans

__all__ = ["add", "fma", "scale"]


def fma(x: Any, y: Any, z: Any, format: Format) -> NDArray[Any]:
    """Return ``x·y + z`` of arrays of an accumulator format, which broadcast; integers wrap, NaNs are the one NaN.

    >>> from mfma.formats import F32
    >>> fma(np.float32(1 + 2**-12), np.float32(1 + 2**-12), np.float32(-1), F32) == np.float32(2**-11 + 2**-24)
    np.True_
    """
    dtype = value_dtype(format)
    given = [np.asarray(array, dtype) for array in (x, y, z)]
    result = np.empty(np.broadcast_shapes(*(array.shape for array in given)), code_dtype(format))
    single = tuple(array.size == 1 for array in given)
    x, y, z = (
        np.ascontiguousarray(array if one else np.broadcast_to(array, result.shape))
        for array, one in zip(given, single, strict=True)
    )
    _kernel(format, single)(result.ctypes.data, x.ctypes.data, y.ctypes.data, z.ctypes.data, result.size)
    return view(result, format)


def add(x: Any, y: Any, format: Format) -> NDArray[Any]:
    """Return ``x + y``."""
    return fma(value_dtype(format).type(1), x, y, format)


def scale(factor: Any, x: Any, format: Format) -> NDArray[Any]:
    """Return ``factor·x``, rounded once."""
    return fma(factor, x, value_dtype(format).type(0 if format.is_integer else -0.0), format)


@functools.cache
def _kernel(format: Format, single: tuple[bool, ...]) -> Callable[[int, int, int, int, int], None]:
    """Native loop; operands that are ``single`` numbers are read once."""

    def write(module: ir.Module) -> None:
        kernel = Kernel(module, "fma", [POINTER, POINTER, POINTER, POINTER, I64])
        result, *pointers, count = kernel.arguments
        value = I32 if format.is_integer else F64 if format.bits == 64 else F32
        fixed = [kernel.load(pointer, 0, value) if one else None for pointer, one in zip(pointers, single, strict=True)]
        with kernel.loop(count) as index:
            x, y, z = (
                kernel.load(pointer, index, value) if number is None else number
                for pointer, number in zip(pointers, fixed, strict=True)
            )
            d = x * y + z if format.is_integer else x.fma(y, z)
            with_quiet_nans(d.bitcast(I64 if format.bits == 64 else I32), format).store(result, index)
        kernel.finish()

    address = function_address("fma", [format, single], write, (__name__, "mfma.numerics.panels", "mfma.numerics.nans"))
    pointer = ctypes.c_void_p
    return ctypes.CFUNCTYPE(None, pointer, pointer, pointer, pointer, ctypes.c_int64)(address)
