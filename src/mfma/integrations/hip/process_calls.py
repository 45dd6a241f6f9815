"""The HIP functions of errors, versions, and the device as a whole; those of contexts, of which there is one."""

from __future__ import annotations

import ctypes

from mfma.integrations.hip.device import VERSIONS, checked_device
from mfma.integrations.hip.interface import Int, Pointer, Size, Unsigned, implements, kept, store, text
from mfma.integrations.hip.memory import memory
from mfma.integrations.hip.session import session
from mfma.integrations.hip.status import HipError, Status, names_and_texts

CONTEXT = 1
"""Handle of the only context."""


@implements("hipGetErrorName", result=ctypes.c_size_t)
def get_error_name(status: Int) -> int:
    """Return a status's name."""
    name, _ = names_and_texts().get(status, ("hipErrorUnknown", ""))
    return ctypes.addressof(kept(name))


@implements("hipGetErrorString", result=ctypes.c_size_t)
def get_error_string(status: Int) -> int:
    """Return what a status says."""
    _, says = names_and_texts().get(status, ("", "unknown error"))
    return ctypes.addressof(kept(says))


@implements("hipDrvGetErrorName")
def driver_error_name(status: Int, name: Pointer) -> None:
    """Return a status's name."""
    known = status in names_and_texts()
    store(name, ctypes.c_size_t, get_error_name(status) if known else 0)
    if not known:
        raise HipError(Status.INVALID_VALUE)


@implements("hipDrvGetErrorString")
def driver_error_string(status: Int, address: Pointer) -> None:
    """Return what a status says."""
    known = status in names_and_texts()
    store(address, ctypes.c_size_t, get_error_string(status) if known else 0)
    if not known:
        raise HipError(Status.INVALID_VALUE)


@implements("hipGetLastError", "hipExtGetLastError", result=ctypes.c_int)
def get_last_error() -> int:
    """Return the last failure of this thread, and forget it."""
    last = session().runtime.last_error()
    status = int(last[0])
    last[0] = Status.SUCCESS
    return status


@implements("hipPeekAtLastError", result=ctypes.c_int)
def peek_at_last_error() -> int:
    """Return the last failure of this thread."""
    return int(session().runtime.last_error()[0])


@implements("hipRuntimeGetVersion", "hipDriverGetVersion")
def get_version(version: Pointer) -> None:
    """Return a version of HIP that has a library of the name that the program asked for."""
    store(version, ctypes.c_int, VERSIONS.get(session().major, VERSIONS[max(VERSIONS)]))


@implements("hipInit")
def initialise(flags: Unsigned) -> None:
    """Nothing is to be done."""
    if flags:
        raise HipError(Status.INVALID_VALUE)


@implements("hipDeviceSynchronize", "hipCtxSynchronize")
def synchronize() -> None:
    """Nothing is left to be waited for."""


@implements("hipProfilerStart", "hipProfilerStop")
def profile() -> None:
    """Nothing records anything."""


@implements("hipDeviceReset")
def reset() -> None:
    """Take back what the program asked for."""
    memory().clear()
    session().streams.clear()


@implements("hipSetDeviceFlags")
def set_flags(flags: Unsigned) -> None:
    """Keep flags that say how to wait."""
    if flags & ~0x1F:
        raise HipError(Status.INVALID_VALUE)
    session().flags = flags


@implements("hipGetDeviceFlags", "hipCtxGetFlags")
def get_flags(flags: Pointer) -> None:
    """Return the flags."""
    store(flags, ctypes.c_uint, session().flags)


@implements("hipCtxGetCurrent", "hipCtxPopCurrent")
def get_context(context: Pointer) -> None:
    """Return the only context."""
    store(context, ctypes.c_size_t, CONTEXT)


@implements("hipCtxCreate")
def create_context(context: Pointer, flags: Unsigned, device: Int) -> None:
    """Return the only context."""
    checked_device(device)
    store(context, ctypes.c_size_t, CONTEXT)


@implements("hipDevicePrimaryCtxRetain")
def retain_context(context: Pointer, device: Int) -> None:
    """Return the only context."""
    checked_device(device)
    store(context, ctypes.c_size_t, CONTEXT)


@implements("hipCtxSetCurrent", "hipCtxPushCurrent", "hipCtxDestroy")
def set_context(context: Pointer) -> None:
    """Accept the only context; there is always one."""
    if context not in (0, CONTEXT):
        raise HipError(Status.INVALID_CONTEXT)


@implements("hipDevicePrimaryCtxRelease", "hipDevicePrimaryCtxReset")
def release_context(device: Int) -> None:
    """Keep the only context."""
    checked_device(device)


@implements("hipDevicePrimaryCtxGetState")
def get_context_state(device: Int, flags: Pointer, active: Pointer) -> None:
    """Say that the only context is active."""
    checked_device(device)
    store(flags, ctypes.c_uint, session().flags)
    store(active, ctypes.c_int, 1)


@implements("hipCtxGetDevice")
def get_context_device(device: Pointer) -> None:
    """Return the only device."""
    store(device, ctypes.c_int, 0)


@implements("hipCtxGetApiVersion")
def get_context_version(context: Pointer, version: Pointer) -> None:
    """Return the version of the driver's interface, as AMD's runtime does."""
    store(version, ctypes.c_int, 4)


@implements("hipGetProcAddress")
def get_address(name: Pointer, function: Pointer, version: Int, flags: Size, found: Pointer) -> None:
    """Return the address of a function by its name; there is one of every version."""
    address = session().address(text(name))
    if found:
        store(found, ctypes.c_int, 0 if address else 1)
    store(function, ctypes.c_size_t, address)
    if not address:
        raise HipError(Status.INVALID_VALUE)
