"""What programs hold by a handle: streams, events, modules, kernels."""

from __future__ import annotations

import itertools
from typing import Generic, TypeVar

from mfma.integrations.hip.status import HipError, Status

__all__ = ["FIRST", "Handles"]

Thing = TypeVar("Thing")

FIRST, STEP = 0x10_0000, 64
"""Handles look like addresses, and are none; no handle is given out twice."""
_NUMBERS = itertools.count(FIRST, STEP)


class Handles(dict[int, Thing], Generic[Thing]):
    """Things of one kind by handle.

    >>> names = Handles()
    >>> handle = names.add("x")
    >>> names.get_checked(handle)
    'x'
    """

    def add(self, thing: Thing) -> int:
        """Keep a thing; return its handle."""
        handle = next(_NUMBERS)
        self[handle] = thing
        return handle

    def get_checked(self, handle: int) -> Thing:
        """Return a thing.

        Raises:
            HipError: there is none.
        """
        if handle not in self:
            raise HipError(Status.INVALID_HANDLE)
        return self[handle]

    def remove(self, handle: int) -> Thing:
        """Return a thing that is not kept any longer.

        Raises:
            HipError: there is none.
        """
        thing = self.get_checked(handle)
        del self[handle]
        return thing
