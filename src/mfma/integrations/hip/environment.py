"""The environment in which a HIP program finds the emulator instead of a GPU."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import mfma
from mfma.emulator.geometry import checked_engine
from mfma.errors import MissingToolError, OptionError
from mfma.integrations import toolchain
from mfma.integrations.hip.library import library_folder

__all__ = ["environment"]


def environment(
    device_name: str | None = None, engine: str = "native", threads: int | None = None, timeout: float | None = None
) -> dict[str, str]:
    """Variables to add to a program's environment; the runtime is built if need be.

    Args:
        device_name: the architecture that the program is told, ``gfx942:sramecc+:xnack-`` if None.
        engine: ``native`` or ``interpreter``, as of `mfma.emulator.module.Function.launch`.
        threads: how many threads a launch uses; all processors if None.
        timeout: seconds after which a launch is stopped, and with it the program.

    Raises:
        MissingToolError: there is no C compiler, or this Python has no shared library.
        OptionError: there is no such engine, or a number is not positive.
    """
    checked_engine(engine)
    for name, number in ("threads", threads), ("timeout", timeout):
        if number is not None and number <= 0:
            raise OptionError(f"{name} is {number}; give a number above 0.")
    folders = [str(library_folder()), *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))]
    chosen = {"MFMA_HIP_DEVICE": device_name, "MFMA_HIP_THREADS": threads, "MFMA_HIP_TIMEOUT": timeout}
    return {
        "LD_LIBRARY_PATH": ":".join(folders),
        "MFMA_HIP_PYTHON": sys.executable,
        "MFMA_HIP_LIBPYTHON": str(_libpython()),
        "MFMA_HIP_PATH": str(Path(mfma.__file__).parent.parent),
        "MFMA_HIP_ENGINE": engine,
        **{name: str(value) for name, value in chosen.items() if value is not None},
    }


def _libpython() -> Path:
    found = toolchain.libpython()
    if found is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise MissingToolError(
            f"HIP programs load Python as a shared library, and {sys.executable} has none (libpython{version}.so.1.0); "
            f"install it, as with `apt install libpython{version}`, or use a Python built with --enable-shared."
        )
    return found
