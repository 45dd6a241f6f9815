"""Plain data as JSON."""

from __future__ import annotations

import json as writer
from typing import Any

__all__ = ["json"]


def json(data: Any) -> str:
    """Write plain data (dicts, lists, strings, numbers, None) as indented JSON, in ASCII.

    Raises ValueError for infinity and NaN, which JSON does not have: give None or text instead.

    >>> print(json({"op": "f32_4x4x1f32", "cycles": 8}))
    {
      "op": "f32_4x4x1f32",
      "cycles": 8
    }
    """
    return writer.dumps(data, indent=2, allow_nan=False)
