"""One launch of a compiled kernel, with its expectation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["OBJECTS", "Case", "close", "expecting", "same"]

OBJECTS = Path(__file__).parent / "objects"


@dataclass(frozen=True)
class Case:
    """A launch of ``kernel`` of ``object``, and the check of what it leaves in its arguments.

    ``grid`` counts work-groups, ``block`` work-items, ``lds`` the bytes of dynamic LDS. ``arguments`` makes the NumPy
    arrays (pointers, changed in place by the launch) and NumPy scalars (values), the same ones at every call. The
    object is loaded for each case: some kernels change its variables.
    ``check`` takes that list after the launch and raises AssertionError. A ``quick`` case suits an engine of some
    20,000 wave instructions a second. An ``exact`` one compares bits, others keep the bound that they state.
    """

    name: str
    object: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lds: int
    arguments: Callable[[], list]
    check: Callable[[list], None]
    quick: bool
    exact: bool

    @property
    def path(self) -> Path:
        """The code object's file."""
        return OBJECTS / self.object


def same(got, wanted):
    """Compare bits; a NaN of a float array stands for any NaN."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.dtype == wanted.dtype, f"{got.dtype}, not {wanted.dtype}"
    assert got.shape == wanted.shape, f"{got.shape}, not {wanted.shape}"
    bits = f"u{got.itemsize}"
    equal = np.ascontiguousarray(got).view(bits) == np.ascontiguousarray(wanted).view(bits)
    if got.dtype.kind not in "iub":
        equal |= np.isnan(got) & np.isnan(wanted)
    if not equal.all():
        first = tuple(int(i) for i in np.argwhere(~equal)[0])
        count = int(np.count_nonzero(~equal))
        raise AssertionError(f"{count} of {equal.size} differ, first at {first}: {got[first]!r}, not {wanted[first]!r}")


def close(got, wanted, relative, absolute=0.0):
    """Compare with a float64 reference: |got - wanted| <= absolute + relative |wanted|; specials must be equal."""
    got, wanted = np.asarray(got).astype(np.float64), np.asarray(wanted, np.float64)
    assert got.shape == wanted.shape, f"{got.shape}, not {wanted.shape}"
    finite = np.isfinite(wanted)
    with np.errstate(invalid="ignore"):
        good = np.where(finite, np.abs(got - wanted) <= absolute + relative * np.abs(wanted), got == wanted)
    good |= np.isnan(got) & np.isnan(wanted)
    if not good.all():
        first = tuple(int(i) for i in np.argwhere(~good)[0])
        count = int(np.count_nonzero(~good))
        raise AssertionError(f"{count} of {good.size} differ, first at {first}: {got[first]!r}, not {wanted[first]!r}")


def expecting(
    name: str,
    object: str,
    kernel: str,
    grid,
    block,
    arguments: Callable[[], list],
    expected: Callable[..., Mapping[int, object]],
    *,
    lds: int = 0,
    quick: bool = True,
    relative: float | None = None,
    absolute: float = 0.0,
) -> Case:
    """A case whose ``expected(*arguments)`` gives the arrays after the launch by their place among the arguments.

    Arguments that it leaves out must not change. Without ``relative`` bits are compared; with it the arrays are
    compared with float64 references within ``absolute + relative |reference|``.
    """

    def check(after: list) -> None:
        before = arguments()
        wanted = expected(*arguments())
        for place, (got, old) in enumerate(zip(after, before, strict=True)):
            if place in wanted and relative is not None:
                close(got, wanted[place], relative, absolute)
            elif isinstance(old, np.ndarray):
                same(got, wanted.get(place, old))

    def three(extent) -> tuple[int, int, int]:
        return (*((extent,) if isinstance(extent, int) else extent), 1, 1)[:3]

    return Case(
        name,
        object,
        kernel,
        three(grid),
        three(block),
        lds,
        arguments,
        check,
        quick,
        relative is None and absolute == 0,
    )
