"""Element-wise addition in the result type, for partial sums: IEEE, whatever the thread's environment."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numpy.typing import NDArray

from mfma.formats import Format
from mfma.native.jit import function_address
from mfma.native.simd import F32, F64, I32, I64, POINTER, Kernel
from mfma.numerics.panels import with_quiet_nans

__all__ = ["add_to"]


def add_to(total: NDArray[Any], part: NDArray[Any], format: Format) -> None:
    """``total += part`` on contiguous arrays of codes of ``format``; integers wrap."""
    _adder(format)(total.ctypes.data, part.ctypes.data, total.size)


@functools.cache
def _adder(format: Format) -> Callable[[int, int, int], None]:
    def write(module: ir.Module) -> None:
        kernel = Kernel(module, "add", [POINTER, POINTER, I64])
        total, part, count = kernel.arguments
        value = I32 if format.is_integer else F64 if format.bits == 64 else F32
        with kernel.loop(count) as index:
            result = kernel.load(total, index, value) + kernel.load(part, index, value)
            with_quiet_nans(result.bitcast(I64 if format.bits == 64 else I32), format).store(total, index)
        kernel.finish()

    sources = tuple(f"mfma.numerics.{name}" for name in ("addition", "panels", "nans"))
    address = function_address("add", [format], write, sources)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
