"""The functions of hipRTC: a program's source in, its code object out."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

from mfma.integrations.hip.handles import Handles
from mfma.integrations.hip.interface import Int, Pointer, implements, kept, read, store
from mfma.integrations.hip.rtc import Program, RtcError, RtcStatus
from mfma.integrations.hip.status import HipError

VERSION = 9, 0
"""What AMD's hipRTC says of itself in every release."""
_PROGRAMS: Handles[Program] = Handles()

Call = TypeVar("Call", bound=Callable[..., Any])


def _implements_rtc(name: str) -> Callable[[Call], Call]:
    """Enter a function of hipRTC: it fails by an `RtcError`, which is no failure that ``hipGetLastError`` knows."""

    def enter(function: Call) -> Call:
        @functools.wraps(function)
        def call(*arguments: Any) -> int:
            try:
                function(*arguments)
            except RtcError as error:
                return error.status
            except HipError:  # an address is NULL
                return RtcStatus.INVALID_INPUT
            return RtcStatus.SUCCESS

        implements(name, result=ctypes.c_int)(call)
        return function

    return enter


def _program(handle: int) -> Program:
    if handle not in _PROGRAMS:
        raise RtcError(RtcStatus.INVALID_PROGRAM)
    return _PROGRAMS[handle]


def _bytes(address: int) -> bytes:
    """Read a string of C."""
    if not address:
        raise RtcError(RtcStatus.INVALID_INPUT)
    return ctypes.string_at(address)


def _text(address: int) -> str:
    """Read a string of C that names something, as Python has names of files."""
    return os.fsdecode(_bytes(address))


def _pointers(address: int, count: int) -> list[int]:
    """Read an array of pointers."""
    if count < 0 or (count and not address):
        raise RtcError(RtcStatus.INVALID_INPUT)
    return list((ctypes.c_size_t * count).from_address(address)) if count else []


def _given(text: bytes) -> bytes:
    """Return a text that must not be empty."""
    if not text:
        raise RtcError(RtcStatus.INVALID_INPUT)
    return text


@implements("hiprtcGetErrorString", result=ctypes.c_size_t)
def get_error_string(status: Int) -> int:
    """Return a status's name, NULL if there is no such status."""
    known = status in RtcStatus.__members__.values()
    return ctypes.addressof(kept(RtcStatus(status).hip_name)) if known else 0


@_implements_rtc("hiprtcVersion")
def get_version(major: Pointer, minor: Pointer) -> None:
    """Return the version of hipRTC."""
    read(minor, ctypes.c_int)
    store(major, ctypes.c_int, VERSION[0])
    store(minor, ctypes.c_int, VERSION[1])


@_implements_rtc("hiprtcCreateProgram")
def create(
    program: Pointer, source: Pointer, name: Pointer, count: Int, headers: Pointer, header_names: Pointer
) -> None:
    """Take a source and the headers that it includes."""
    if not program:
        raise RtcError(RtcStatus.INVALID_PROGRAM)
    contents = [_given(_bytes(address)) for address in _pointers(headers, count)]
    names = [os.fsdecode(_given(_bytes(address))) for address in _pointers(header_names, count)]
    made = Program(_given(_bytes(source)), _text(name) if name else "", dict(zip(names, contents, strict=True)))
    store(program, ctypes.c_size_t, _PROGRAMS.add(made))


@_implements_rtc("hiprtcDestroyProgram")
def destroy(program: Pointer) -> None:
    """Forget a program; the pointer to it stays what it is, as AMD's hipRTC leaves it."""
    handle = read(program, ctypes.c_size_t).value
    _program(handle)
    del _PROGRAMS[handle]


@_implements_rtc("hiprtcAddNameExpression")
def add_name(program: Pointer, expression: Pointer) -> None:
    """Add a name expression for the next compilation."""
    _program(program).add(os.fsdecode(_given(_bytes(expression))))


@_implements_rtc("hiprtcCompileProgram")
def compile_program(program: Pointer, count: Int, options: Pointer) -> None:
    """Compile."""
    found = _program(program)
    found.compile([_text(address) for address in _pointers(options, count)])


@_implements_rtc("hiprtcGetLoweredName")
def get_lowered_name(program: Pointer, expression: Pointer, name: Pointer) -> None:
    """Say what is called what in the code object; the string lives as long as the program."""
    read(name, ctypes.c_size_t)
    store(name, ctypes.c_size_t, ctypes.addressof(_program(program).lowered(_text(expression))))


@_implements_rtc("hiprtcGetCodeSize")
def get_code_size(program: Pointer, size: Pointer) -> None:
    """Say how large the code object is; 0 if there is none."""
    store(size, ctypes.c_size_t, len(_program(program).code))


@_implements_rtc("hiprtcGetCode")
def get_code(program: Pointer, code: Pointer) -> None:
    """Copy the code object."""
    _copy(code, _program(program).code)


@_implements_rtc("hiprtcGetProgramLogSize")
def get_log_size(program: Pointer, size: Pointer) -> None:
    """Say how long the log is, without a NUL at its end, as AMD's hipRTC does."""
    store(size, ctypes.c_size_t, len(_program(program).log))


@_implements_rtc("hiprtcGetProgramLog")
def get_log(program: Pointer, log: Pointer) -> None:
    """Copy the log, without a NUL at its end."""
    _copy(log, _program(program).log)


def _copy(address: int, data: bytes) -> None:
    if not address:
        raise RtcError(RtcStatus.INVALID_INPUT)
    ctypes.memmove(address, data, len(data))
