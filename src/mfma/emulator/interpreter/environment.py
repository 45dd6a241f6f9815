"""The floating-point environment that NumPy's arithmetic depends on."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator

__all__ = ["default_environment"]

FE_DFL_ENV = ctypes.c_void_p(-1)
"""C's default environment, as glibc and musl spell it: round to nearest even, subnormals kept."""
ROOM = 256
"""Bytes, more than any platform's fenv_t."""


@contextlib.contextmanager
def default_environment() -> Iterator[None]:
    """Run the block in C's default environment, whatever another library left on this thread, and restore that."""
    libm = _libm()
    saved = ctypes.create_string_buffer(ROOM)
    libm.fegetenv(saved)
    libm.fesetenv(FE_DFL_ENV)
    try:
        yield
    finally:
        libm.fesetenv(saved)


@functools.cache
def _libm() -> ctypes.CDLL:
    return ctypes.CDLL(None)
