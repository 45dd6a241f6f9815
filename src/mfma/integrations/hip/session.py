"""What one process has of the runtime: the code that it registered, its streams, and how its kernels run."""

from __future__ import annotations

import ctypes
import os
import re

from mfma.integrations.hip.code import Code
from mfma.integrations.hip.interface import Runtime, library
from mfma.integrations.hip.launches import Launcher
from mfma.integrations.hip.modules import Modules
from mfma.integrations.hip.streams import Streams

__all__ = ["Session", "begin", "session"]

NEWEST = 7


class _Place(ctypes.Structure):
    """``Dl_info`` of ``dlfcn.h``."""

    _fields_ = (
        ("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p),
    )  # fmt: skip


class Session:
    """The state of the runtime.

    Attributes:
        runtime: the C part.
        major: version of HIP whose library the program asked for, by its file name: 5, 6 or 7.
        code, launcher, streams, modules: what the modules of these names say.
        flags: of the device, as the program set them.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.major = _major(runtime)
        self.code = Code(runtime)
        self.launcher = Launcher()
        self.streams = Streams()
        self.modules = Modules()
        self.flags = 0

    def address(self, name: str) -> int:
        """Return the address of a function of HIP in the C part; 0 if there is none."""
        here = ctypes.CDLL(_file(self.runtime))
        try:
            return ctypes.cast(here[name], ctypes.c_void_p).value or 0
        except AttributeError:
            return 0


def _file(runtime: Runtime) -> str:
    """Path of the C part, as the program asked for it."""
    place = _Place()
    library().dladdr(ctypes.c_void_p(runtime.self), ctypes.byref(place))
    return os.fsdecode(place.file or b"")


def _major(runtime: Runtime) -> int:
    found = re.search(r"\.so\.(\d+)", _file(runtime))
    return int(found[1]) if found else NEWEST


_SESSIONS: list[Session] = []


def begin(runtime: Runtime) -> Session:
    """Make the process's session."""
    _SESSIONS.append(Session(runtime))
    return _SESSIONS[0]


def session() -> Session:
    """Return the process's session."""
    return _SESSIONS[0]
