"""The HIP functions of streams and events."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, TypeVar

from mfma.integrations.hip.interface import Int, Pointer, Unsigned, implements, store
from mfma.integrations.hip.session import session
from mfma.integrations.hip.status import HipError, Status

__all__ = ["in_stream"]

LEAST, GREATEST = 1, -1
"""Priorities of streams."""
STREAM_FLAGS = 0, 1
EVENT_FLAGS = 0x1 | 0x2 | 0x4 | 0x2000_0000 | 0x4000_0000 | 0x8000_0000
"""Blocking synchronisation, no timing, between processes, and AMD's three for releases and fences."""
COMPLETED = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_int, ctypes.c_size_t)
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_size_t)

Call = TypeVar("Call", bound=Callable[..., None])


def in_stream(*names: str) -> Callable[[Call], Call]:
    """Enter a function under more names in HIP, which take a stream as their last argument."""

    def enter(function: Call) -> Call:
        @functools.wraps(function)
        def call(*arguments: Any) -> None:
            *others, stream = arguments
            session().streams.stream(stream)
            function(*others)

        call.__annotations__ = {**function.__annotations__, "stream": Pointer}
        implements(*names)(call)
        return function

    return enter


def _create(stream: int, flags: int, priority: int) -> None:
    if not stream or flags not in STREAM_FLAGS:
        raise HipError(Status.INVALID_VALUE)
    store(stream, ctypes.c_size_t, session().streams.create(flags, max(GREATEST, min(LEAST, priority))))


@implements("hipStreamCreate")
def create(stream: Pointer) -> None:
    """Make a stream."""
    _create(stream, 0, 0)


@implements("hipStreamCreateWithFlags")
def create_with_flags(stream: Pointer, flags: Unsigned) -> None:
    """Make a stream."""
    _create(stream, flags, 0)


@implements("hipStreamCreateWithPriority")
def create_with_priority(stream: Pointer, flags: Unsigned, priority: Int) -> None:
    """Make a stream."""
    _create(stream, flags, priority)


@implements("hipDeviceGetStreamPriorityRange")
def get_priority_range(least: Pointer, greatest: Pointer) -> None:
    """Say which priorities there are."""
    if least:
        store(least, ctypes.c_int, LEAST)
    if greatest:
        store(greatest, ctypes.c_int, GREATEST)


@implements("hipStreamDestroy")
def destroy(stream: Pointer) -> None:
    """Take a stream away."""
    session().streams.destroy(stream)


@implements("hipStreamSynchronize", "hipStreamQuery", "hipStreamSynchronize_spt", "hipStreamQuery_spt")
def synchronize(stream: Pointer) -> None:
    """Nothing is left to be waited for."""
    session().streams.stream(stream)


@implements("hipStreamWaitEvent", "hipStreamWaitEvent_spt")
def wait_event(stream: Pointer, event: Pointer, flags: Unsigned) -> None:
    """What the event stands for has happened."""
    session().streams.stream(stream)
    session().streams.event(event)


@implements("hipStreamGetFlags", "hipStreamGetFlags_spt")
def get_flags(stream: Pointer, flags: Pointer) -> None:
    """Say how a stream was made."""
    store(flags, ctypes.c_uint, session().streams.stream(stream).flags)


@implements("hipStreamGetPriority", "hipStreamGetPriority_spt")
def get_priority(stream: Pointer, priority: Pointer) -> None:
    """Say how a stream was made."""
    store(priority, ctypes.c_int, session().streams.stream(stream).priority)


@implements("hipStreamGetDevice")
def get_device(stream: Pointer, device: Pointer) -> None:
    """Return the only device."""
    session().streams.stream(stream)
    store(device, ctypes.c_int, 0)


@implements("hipGetStreamDeviceId", result=ctypes.c_int)
def get_device_number(stream: Pointer) -> int:
    """Return the only device."""
    return 0


@implements("hipStreamIsCapturing", "hipStreamIsCapturing_spt")
def is_capturing(stream: Pointer, status: Pointer) -> None:
    """Say that no stream is capturing: graphs are not there."""
    session().streams.stream(stream)
    store(status, ctypes.c_int, 0)


@implements("hipStreamAddCallback", "hipStreamAddCallback_spt")
def add_callback(stream: Pointer, function: Pointer, data: Pointer, flags: Unsigned) -> None:
    """Call a function of the program, now that all before it has happened."""
    session().streams.stream(stream)
    if not function or flags:
        raise HipError(Status.INVALID_VALUE)
    COMPLETED(function)(stream, Status.SUCCESS, data)


@implements("hipLaunchHostFunc", "hipLaunchHostFunc_spt")
def launch_host_function(stream: Pointer, function: Pointer, data: Pointer) -> None:
    """Call a function of the program, now that all before it has happened."""
    session().streams.stream(stream)
    if not function:
        raise HipError(Status.INVALID_VALUE)
    HOST_FUNCTION(function)(data)


@implements("hipEventCreate")
def create_event(event: Pointer) -> None:
    """Make an event."""
    create_event_with_flags(event, 0)


@implements("hipEventCreateWithFlags")
def create_event_with_flags(event: Pointer, flags: Unsigned) -> None:
    """Make an event."""
    if not event or flags & ~EVENT_FLAGS:
        raise HipError(Status.INVALID_VALUE)
    store(event, ctypes.c_size_t, session().streams.create_event(flags))


@implements("hipEventRecord", "hipEventRecord_spt")
def record(event: Pointer, stream: Pointer) -> None:
    """Let an event take the time."""
    session().streams.record(event, stream)


@implements("hipEventRecordWithFlags")
def record_with_flags(event: Pointer, stream: Pointer, flags: Unsigned) -> None:
    """Let an event take the time."""
    session().streams.record(event, stream)


@implements("hipEventSynchronize", "hipEventQuery")
def synchronize_event(event: Pointer) -> None:
    """Nothing is left to be waited for."""
    session().streams.event(event)


@implements("hipEventElapsedTime")
def elapsed_time(milliseconds: Pointer, start: Pointer, end: Pointer) -> None:
    """Say how much time the emulator took between two events."""
    if not milliseconds:
        raise HipError(Status.INVALID_VALUE)
    store(milliseconds, ctypes.c_float, session().streams.milliseconds(start, end))


@implements("hipEventDestroy")
def destroy_event(event: Pointer) -> None:
    """Take an event away."""
    session().streams.destroy_event(event)
