"""What products are compared with: NumPy's BLAS and, where it is installed, mmasim."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
from typing import Any

import numpy as np

from bench.measure import Work

__all__ = ["mmasim", "numpy"]

MMASIM_SIZE = 256
"""Rows, columns and k of mmasim's products."""


def numpy(dtype: type, size: int) -> Work:
    """NumPy's product of two float matrices."""
    a, b = np.random.default_rng(0).standard_normal((2, size, size)).astype(dtype)
    return Work(f"numpy {np.dtype(dtype)}", lambda: a @ b, size**3)


def mmasim(suffix: str, dtype: str) -> Work:
    """mmasim's product by the CDNA3 instruction ``suffix``, whose operands have torch's element type ``dtype``."""
    instructions = _mmasim_instructions()
    if isinstance(instructions, str):
        return Work(instructions, None)
    torch = importlib.import_module("torch")
    multiply = instructions.MFMA("CDNA3", suffix)
    a, b = (torch.randn(MMASIM_SIZE, MMASIM_SIZE).to(getattr(torch, dtype)) for _ in range(2))
    c = torch.zeros(MMASIM_SIZE, MMASIM_SIZE)
    return Work(f"mmasim {importlib.metadata.version('mmasim')}", lambda: multiply(a, b, c), MMASIM_SIZE**3)


@functools.cache
def _mmasim_instructions() -> Any:
    """mmasim's module of AMD instructions, or a text that says why there is none."""
    try:
        # mmasim compiles C++ when it is imported, and torch looks for ninja on the path, where a venv need not be.
        os.environ["PATH"] = os.pathsep.join((importlib.import_module("ninja").BIN_DIR, os.environ.get("PATH", "")))
        return importlib.import_module("mmasim.amd")
    except ImportError:
        return "mmasim is not installed"
    except (OSError, RuntimeError) as error:
        return f"mmasim does not start: {next(iter(str(error).splitlines()), type(error).__name__)}"
