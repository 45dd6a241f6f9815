"""Whether a launch has a shape that the kernel and the hardware allow, and options that there are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mfma.codeobject import Kernel
from mfma.emulator.arguments import Geometry
from mfma.errors import LaunchError, OptionError

__all__ = ["checked_engine", "checked_geometry", "checked_limit"]

ENGINES = "native", "interpreter"

LARGEST_LDS = 65_536
LARGEST_BLOCK = 1_024
LARGEST_SCRATCH = 131_056
"""Bytes for each lane: 8,191 KiB for a wave, what the 13 bits of the register COMPUTE_TMPRING_SIZE hold."""
LARGEST_GRID = (1 << 32) - 1
"""Work-items in each direction."""


def checked_geometry(kernel: Kernel, grid: int | Sequence[int], block: int | Sequence[int], lds: int) -> Geometry:
    """Grid and block as three numbers each.

    Raises:
        LaunchError: they are not positive, or exceed what the kernel was compiled for or the hardware has.
    """
    groups, items = _three("grid", grid), _three("block", block)
    allowed = min(kernel.max_workgroup_size or LARGEST_BLOCK, LARGEST_BLOCK)
    if math.prod(items) > allowed:
        raise LaunchError(
            f"block {items} has {math.prod(items):,} work-items and {kernel} was compiled for at most {allowed:,}."
        )
    required = kernel.required_workgroup_size
    if required and items != tuple(required):
        raise LaunchError(f"{kernel} was compiled for the block {tuple(required)}, not {items}.")
    for name, count, size in zip("xyz", groups, items, strict=True):
        if count * size > LARGEST_GRID:
            raise LaunchError(f"the grid has {count * size:,} work-items in {name}; at most {LARGEST_GRID:,} go.")
    if isinstance(lds, bool) or not isinstance(lds, int) or lds < 0:
        raise LaunchError(f"lds is a number of bytes, not {lds!r}.")
    if kernel.scratch_size > LARGEST_SCRATCH:
        raise LaunchError(
            f"{kernel} has {kernel.scratch_size:,} bytes of scratch for each lane; a lane has {LARGEST_SCRATCH:,}."
        )
    if kernel.lds_size + lds > LARGEST_LDS:
        raise LaunchError(
            f"{kernel} has {kernel.lds_size:,} bytes of LDS and {lds:,} dynamic ones were asked for; a work-group "
            f"has {LARGEST_LDS:,}."
        )
    return Geometry(groups, items, lds)


def checked_engine(name: str) -> None:
    """Check that there is an engine of this name.

    Raises:
        OptionError: there is none.
    """
    if name not in ENGINES:
        raise OptionError(f"engine is {name!r}; give {' or '.join(ENGINES)}.")


def checked_limit(name: str, limit: float | None, whole: bool = False) -> None:
    """Check a bound of a launch: seconds or, ``whole``, instructions.

    Raises:
        OptionError: it is no such number, or negative.
    """
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    if limit is not None and not (isinstance(limit, kinds) and limit >= 0):
        raise OptionError(f"{name} is {limit!r}; give a {'whole ' * whole}number of at least 0, or None.")


def _three(name: str, size: int | Sequence[int]) -> tuple[int, int, int]:
    numbers = [size] if not isinstance(size, Sequence) else list(size)
    whole = all(hasattr(n, "__index__") and not isinstance(n, bool) and int(n) > 0 for n in numbers)
    if not whole or not 1 <= len(numbers) <= 3 or isinstance(size, str):
        raise LaunchError(f"{name} is one to three positive numbers (x, y, z), not {size!r}.")
    x, y, z = [*(int(n) for n in numbers), 1, 1][:3]
    return x, y, z
