"""The wording of refused coordinates: what was given, and what this operand has."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import NoReturn, SupportsIndex

from mfma.errors import OptionError

__all__ = ["batched", "refuse_coordinates"]


def refuse_coordinates(subject: str, allowed: dict[str, Sequence[int]], given: dict[str, object]) -> NoReturn:
    """Raise the `OptionError` that lists every allowed coordinate and the first wrong one.

    >>> refuse_coordinates("C is located by", {"i": range(4), "block": range(2)}, {"i": 4, "j": None, "block": 0})
    Traceback (most recent call last):
        ...
    mfma.errors.OptionError: C is located by i 0..3, block 0 or 1; i=4 is not one of them.
    """
    ranges = ", ".join(f"{name} {_span(values)}" for name, values in allowed.items())
    problems = (_problem(name, value, allowed.get(name)) for name, value in given.items())
    raise OptionError(f"{subject} {ranges}; {next(filter(None, problems), 'give plain integers')}.")


def batched(shape: Sequence[object]) -> str:
    """Write a shape or its axes after any leading ones.

    >>> batched(("lane", "element"))
    '(..., lane, element)'
    """
    return f"(..., {', '.join(map(str, shape))})"


def _problem(name: str, value: object, allowed: Sequence[int] | None) -> str | None:
    if allowed is None:
        return None if value is None else f"it has no {name}"
    if value is None:
        return f"{name} is missing"
    return None if _is_in(value, allowed) else f"{name}={value!r} is not one of them"


def _is_in(value: object, allowed: Sequence[int]) -> bool:
    try:
        return isinstance(value, SupportsIndex) and operator.index(value) in allowed
    except TypeError:  # an array of several integers has the method, but refuses
        return False


def _span(values: Sequence[int]) -> str:
    if len(values) > 2 and values[-1] - values[0] == len(values) - 1:
        return f"{values[0]}..{values[-1]}"
    return " or ".join(map(str, values))
