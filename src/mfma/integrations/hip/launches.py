"""Launches: the program's arguments as bytes, the emulator's errors as HIP's, in the order in which they are called."""

from __future__ import annotations

import ctypes
import math
import os
import threading
import weakref
from dataclasses import dataclass

from mfma.codeobject import ValueKind
from mfma.emulator.geometry import LARGEST_BLOCK, LARGEST_GRID, LARGEST_LDS
from mfma.emulator.module import Function
from mfma.emulator.occupancy import occupancy
from mfma.errors import KernelError, LaunchError, MemoryFault, MfmaError
from mfma.integrations.hip.device import UNITS
from mfma.integrations.hip.interface import abort, leave
from mfma.integrations.hip.status import HipError, Status

__all__ = ["Launcher", "Shape", "packed", "pointed"]

Shape = tuple[int, int, int]
Values = list[bytes | int]


@dataclass(frozen=True)
class _Argument:
    offset: int
    size: int
    is_pointer: bool


_ARGUMENTS: weakref.WeakKeyDictionary[Function, tuple[_Argument, ...]] = weakref.WeakKeyDictionary()


def _arguments(function: Function) -> tuple[_Argument, ...]:
    """The arguments that the program gives."""
    if function not in _ARGUMENTS:
        _ARGUMENTS[function] = tuple(
            _Argument(one.offset, one.size, one.kind is ValueKind.GLOBAL_BUFFER)
            for one in function.kernel.arguments
            if not one.hidden
        )
    return _ARGUMENTS[function]


def pointed(function: Function, addresses: int) -> Values:
    """Read the arguments of a launch, given the address of an array of their addresses.

    Raises:
        HipError: there is no such array, and the kernel has arguments.
    """
    arguments = _arguments(function)
    if not arguments:
        return []
    if not addresses:
        raise HipError(Status.INVALID_VALUE)
    pointers = (ctypes.c_size_t * len(arguments)).from_address(addresses)
    return [
        _value(argument, ctypes.string_at(pointer, argument.size))
        for argument, pointer in zip(arguments, pointers, strict=True)
    ]


def packed(function: Function, segment: bytes) -> Values:
    """Read the arguments of a launch from one run of bytes, as the kernel has them.

    Raises:
        HipError: it is too short.
    """
    values: Values = []
    for argument in _arguments(function):
        data = segment[argument.offset : argument.offset + argument.size]
        if len(data) < argument.size:
            raise HipError(Status.INVALID_VALUE)
        values.append(_value(argument, data))
    return values


def _value(argument: _Argument, data: bytes) -> bytes | int:
    return int.from_bytes(data, "little") if argument.is_pointer else data


class Launcher:
    """Runs kernels, one at a time, each to its end before the call returns; so every stream is in order."""

    def __init__(self) -> None:
        self.engine = os.environ.get("MFMA_HIP_ENGINE") or "native"
        self.threads = int(os.environ["MFMA_HIP_THREADS"]) if os.environ.get("MFMA_HIP_THREADS") else None
        self.timeout = float(os.environ["MFMA_HIP_TIMEOUT"]) if os.environ.get("MFMA_HIP_TIMEOUT") else None
        self._lock = threading.Lock()

    def launch(
        self, function: Function, grid: Shape, block: Shape, lds: int, values: Values, cooperative: bool = False
    ) -> None:
        """Run a kernel. A fault in it ends the program by SIGABRT; what is not implemented ends it with an exit code.

        Raises:
            HipError: the launch has a shape that is not allowed.
        """
        _check(function, grid, block, lds, cooperative)
        try:
            with self._lock:
                function.launch(
                    grid, block, values, lds=lds, timeout=self.timeout, engine=self.engine, threads=self.threads
                )
        except (MemoryFault, KernelError) as error:
            abort(f"{function.kernel}: {error}")
        except LaunchError as error:
            leave(str(error))
        except MfmaError as error:
            leave(f"{function.kernel} cannot be launched: {error}")


def _check(function: Function, grid: Shape, block: Shape, lds: int, cooperative: bool) -> None:
    """Refuse a shape that AMD's runtime refuses, with its status."""
    kernel, items = function.kernel, math.prod(block)
    if not math.prod(grid) or not items or any(g * b > LARGEST_GRID for g, b in zip(grid, block, strict=True)):
        raise HipError(Status.INVALID_CONFIGURATION)
    if items > LARGEST_BLOCK:
        raise HipError(Status.INVALID_CONFIGURATION)
    if kernel.lds_size + lds > LARGEST_LDS:
        raise HipError(Status.INVALID_VALUE)
    required = kernel.required_workgroup_size
    if items > (kernel.max_workgroup_size or LARGEST_BLOCK) or (required and block != tuple(required)):
        raise HipError(Status.LAUNCH_FAILURE)
    if cooperative and math.prod(grid) > UNITS * occupancy(kernel, block, lds).groups:
        raise HipError(Status.COOPERATIVE_LAUNCH_TOO_LARGE)
