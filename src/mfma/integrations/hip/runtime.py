"""The Python part of the HIP runtime: the program's C library calls `install` once, with the address of its table."""

from __future__ import annotations

import ctypes
import io
import sys
from typing import Any

from mfma.integrations.hip import (
    code_calls,
    copy_calls,
    device,
    kernel_calls,
    memory_calls,
    process_calls,
    rtc_calls,
    stream_calls,
)  # fmt: skip
from mfma.integrations.hip.interface import FUNCTIONS, Runtime, library
from mfma.integrations.hip.session import begin

__all__ = ["install"]

CALLS = code_calls, copy_calls, device, kernel_calls, memory_calls, process_calls, rtc_calls, stream_calls
"""The modules that enter functions when they are imported."""
_KEPT: list[Any] = []
"""What C has the address of."""


class CStream(io.TextIOBase):
    """A stream of C's, so that what a kernel prints stands where it belongs among what the program prints."""

    def __init__(self, name: str) -> None:
        self._file = ctypes.c_void_p.in_dll(library(), name)

    def writable(self) -> bool:
        """Say that it is."""
        return True

    def write(self, text: str) -> int:
        """Write text to C's buffer."""
        data = text.encode(errors="backslashreplace")
        library().fwrite(data, 1, len(data), self._file)
        return len(text)

    def flush(self) -> None:
        """Empty C's buffer."""
        library().fflush(self._file)


def install(address: int, guest: bool) -> None:
    """Fill the table of functions.

    Args:
        address: of a ``struct runtime``.
        guest: Python is there for this alone, so that its output goes where C's does.
    """
    runtime = Runtime.from_address(address)
    begin(runtime)
    if guest:
        sys.stdout, sys.stderr = CStream("stdout"), CStream("stderr")
    made = {name: function.callback(runtime) for name, function in FUNCTIONS.items()}
    _KEPT.extend(made.values())
    for number in range(runtime.count):
        callback = made.get(runtime.names[number].decode())
        if callback is not None:
            runtime.functions[number] = ctypes.cast(callback, ctypes.c_void_p).value
