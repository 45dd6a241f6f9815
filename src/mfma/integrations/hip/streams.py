"""Streams and events. What is put into a stream has happened when the call returns: there is nothing to wait for.

Events take the time of the host, so what lies between two of them is how long the emulator took, not a GPU.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from mfma.integrations.hip.handles import FIRST, Handles
from mfma.integrations.hip.status import HipError, Status

__all__ = ["Event", "Stream", "Streams"]

DEFAULT, LEGACY, PER_THREAD = 0, 1, 2
"""The handles of streams that are always there: NULL, hipStreamLegacy, hipStreamPerThread."""
DISABLE_TIMING = 2
"""A flag of events."""


@dataclass(frozen=True)
class Stream:
    """A stream as it was made."""

    flags: int = 0
    priority: int = 0


@dataclass
class Event:
    """An event as it was made, and when it was recorded last, in nanoseconds."""

    flags: int
    time: int | None = None


class Streams:
    """Streams and events by handle."""

    def __init__(self) -> None:
        self._streams: Handles[Stream] = Handles()
        self._events: Handles[Event] = Handles()
        self.clear()

    def clear(self) -> None:
        """Take all streams and events away that the program made."""
        self._events.clear()
        self._streams.clear()
        self._streams.update({handle: Stream() for handle in (DEFAULT, LEGACY, PER_THREAD)})

    def create(self, flags: int, priority: int) -> int:
        """Make a stream; return its handle."""
        return self._streams.add(Stream(flags, priority))

    def stream(self, handle: int) -> Stream:
        """Return a stream.

        Raises:
            HipError: there is none.
        """
        return self._streams.get_checked(handle)

    def destroy(self, handle: int) -> None:
        """Take a stream away.

        Raises:
            HipError: there is none, or it is one that is always there.
        """
        if handle < FIRST:
            raise HipError(Status.INVALID_HANDLE)
        self._streams.remove(handle)

    def create_event(self, flags: int) -> int:
        """Make an event; return its handle."""
        return self._events.add(Event(flags))

    def event(self, handle: int) -> Event:
        """Return an event.

        Raises:
            HipError: there is none.
        """
        return self._events.get_checked(handle)

    def destroy_event(self, handle: int) -> None:
        """Take an event away.

        Raises:
            HipError: there is none.
        """
        self._events.remove(handle)

    def record(self, handle: int, stream: int) -> None:
        """Let an event take the time.

        Raises:
            HipError: there is no such event, or no such stream.
        """
        self.stream(stream)
        self.event(handle).time = time.perf_counter_ns()

    def milliseconds(self, start: int, end: int) -> float:
        """Return how much time passed between two events.

        Raises:
            HipError: there is no such event, or one takes no time or was never recorded.
        """
        times = []
        for event in map(self.event, (start, end)):
            if event.flags & DISABLE_TIMING or event.time is None:
                raise HipError(Status.INVALID_HANDLE)
            times.append(event.time)
        return (times[1] - times[0]) / 1e6
