"""Between C and Python: the table of functions, the types of their arguments, and what ends a program.

A function of the HIP API is a Python function under `implements`, whose annotations say how C passes the arguments.
"""

from __future__ import annotations

import ctypes
import functools
import os
import traceback
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, TypeVar, get_type_hints

from mfma.integrations.hip.status import HipError, Status

__all__ = [
    "FUNCTIONS", "Dim3", "Function", "Int", "Pointer", "Registration", "Runtime", "Size", "Unsigned", "abort",
    "implements", "kept", "leave", "library", "read", "say", "store", "text",
]  # fmt: skip

Pointer = Annotated[int, ctypes.c_size_t]
"""An address of the program, or a handle; 0 for NULL."""
Size = Annotated[int, ctypes.c_size_t]
Int = Annotated[int, ctypes.c_int]
Unsigned = Annotated[int, ctypes.c_uint]

EXIT_UNSUPPORTED = 70
"""The exit code of a program that asks for what is not there; ``runtime.h`` has it too."""

Call = TypeVar("Call", bound=Callable[..., Any])


class Dim3(ctypes.Structure):
    """HIP's ``dim3``."""

    _fields_ = (("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """As Python has it."""
        return self.x, self.y, self.z


class Registration(ctypes.Structure):
    """What a static initialiser of the program announced; ``runtime.h`` says more."""


Registration._fields_ = [
    ("next", ctypes.POINTER(Registration)), ("owner", ctypes.c_size_t), ("address", ctypes.c_size_t),
    ("name", ctypes.c_char_p), ("size", ctypes.c_size_t), ("kind", ctypes.c_int), ("dead", ctypes.c_int),
]  # fmt: skip


class Runtime(ctypes.Structure):
    """``struct runtime`` of ``runtime.h``."""

    _fields_ = (
        ("functions", ctypes.POINTER(ctypes.c_void_p)), ("count", ctypes.c_size_t),
        ("names", ctypes.POINTER(ctypes.c_char_p)), ("first", ctypes.POINTER(ctypes.POINTER(Registration))),
        ("last_error", ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_int))), ("self", ctypes.c_size_t),
        ("changes", ctypes.c_size_t),
    )  # fmt: skip


class Function:
    """A function of the HIP API: what computes it, and its signature."""

    def __init__(self, function: Callable[..., Any], result: type[Any] | None) -> None:
        hints = get_type_hints(function, include_extras=True)
        hints.pop("return")
        types = [getattr(hint, "__metadata__", [hint])[0] for hint in hints.values()]
        self.function = function
        self.gives_status = result is None
        self.signature = ctypes.CFUNCTYPE(ctypes.c_int if result is None else result, *types)

    def callback(self, runtime: Runtime) -> Any:
        """Return what C can call; a failure becomes a status, and the thread's last error."""
        function, gives_status = self.function, self.gives_status

        def call(*arguments: Any) -> Any:
            try:
                value = function(*arguments)
            except HipError as error:
                runtime.last_error()[0] = error.status
                return int(error.status)
            except BaseException:  # C cannot take an exception, and a program must not go on after a defect here
                leave(f"the HIP runtime has a defect in {function.__name__}:\n{traceback.format_exc().rstrip()}")
            return (value or 0) if gives_status else value

        return self.signature(call)


FUNCTIONS: dict[str, Function] = {}
"""The functions of the HIP API that there are, by name."""


def implements(*names: str, result: type[Any] | None = None) -> Callable[[Call], Call]:
    """Enter a function under its names in HIP.

    It returns a status or, for success, None, and raises `HipError`; with ``result``, it returns a value of that type.
    """

    def enter(function: Call) -> Call:
        made = Function(function, result)
        for name in names:
            FUNCTIONS[name] = made
        return function

    return enter


@functools.cache
def library() -> ctypes.CDLL:
    """C's library in this process."""
    found = ctypes.CDLL(None, use_errno=True)
    found.mmap.restype = ctypes.c_size_t
    found.mmap.argtypes = (ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    found.munmap.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
    found.memmove.argtypes = (ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)
    found.memset.argtypes = (ctypes.c_size_t, ctypes.c_int, ctypes.c_size_t)
    found.fwrite.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)
    found.fwrite.restype = ctypes.c_size_t
    found.fflush.argtypes = (ctypes.c_void_p,)
    return found


def read(address: int, kind: Any) -> Any:
    """Read a value of a ctypes type from the program's memory.

    Raises:
        HipError: the address is NULL.
    """
    if not address:
        raise HipError(Status.INVALID_VALUE)
    return kind.from_address(address)


def store(address: int, kind: Any, value: Any) -> None:
    """Store a value of a ctypes type into the program's memory.

    Raises:
        HipError: the address is NULL.
    """
    read(address, kind).value = value


def text(address: int) -> str:
    """Read a string of C.

    Raises:
        HipError: the address is NULL.
    """
    if not address:
        raise HipError(Status.INVALID_VALUE)
    return ctypes.string_at(address).decode("utf-8", "surrogateescape")


@functools.cache
def kept(words: str) -> ctypes.Array[ctypes.c_char]:
    """Return a string of C that stays where it is."""
    return ctypes.create_string_buffer(words.encode())


def leave(sentence: str) -> NoReturn:
    """End the program because it wants what is not there."""
    say(sentence)
    os._exit(EXIT_UNSUPPORTED)


def abort(sentence: str) -> NoReturn:
    """End the program by SIGABRT, as AMD's runtime does after a fault in a kernel."""
    say(sentence)
    os.abort()


def say(sentence: str) -> None:
    """Write to stderr, after everything that the program has printed so far."""
    library().fflush(None)
    os.write(2, f"mfma: {sentence}\n".encode(errors="backslashreplace"))
