"""From the arguments that Triton binds to a launch on the emulator."""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from triton.backends.driver import decompose_descriptor, expand_signature, wrap_handle_tensordesc_impl
from triton.runtime.jit import TensorWrapper

from mfma.emulator.module import Function
from mfma.errors import LaunchError
from mfma.formats.codec import encode
from mfma.integrations.triton.emulation import Emulation, current

__all__ = ["Launcher"]

FLOATS = {"fp16": "<e", "fp32": "<f", "f32": "<f", "fp64": "<d"}


class Launcher:
    """Launches one compiled kernel.

    Attributes:
        parameters: names of the function's parameters.
        types: Triton's types of its arguments, ``constexpr`` for those that were compiled in; tuples are tuples.
        names: names of the arguments that are left.
    """

    def __init__(self, source: Any, metadata: Any) -> None:
        descriptors = getattr(metadata, "tensordesc_meta", None)
        signature = source.signature
        self.parameters = [str(parameter) for parameter in signature]
        self.types = tuple(expand_signature(signature.values(), descriptors, "tensordesc"))
        self.names = [
            name
            for argument, kind in signature.items()
            for name in _names(str(argument), expand_signature([kind], descriptors, "tensordesc"))
        ]
        self.block = metadata.num_warps * metadata.warp_size
        self.shared = metadata.shared
        self.scratch = (metadata.global_scratch_size, metadata.profile_scratch_size)
        self.launch: Callable[..., None] = wrap_handle_tensordesc_impl(
            self._launch, signature, descriptors, lambda argument, *_: decompose_descriptor(argument)
        )
        self._function: Function | None = None

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: object,
        function: Function,
        packed_metadata: object,
        launch_metadata: object,
        enter: Callable[[Any], object] | None,
        leave: Callable[[Any], object] | None,
        *arguments: Any,
    ) -> None:
        """Run the kernel to its end, and the hooks before and after it.

        Raises:
            LaunchError: no emulation is entered, or an argument is none that the kernel can have.
        """
        emulation = current()
        if emulation is None:
            raise LaunchError(
                f"{function.kernel} was compiled for the emulator; launch it inside `with mfma.triton.emulate():`."
            )
        if len(arguments) != len(self.parameters):
            wanted = ", ".join(self.parameters)
            raise LaunchError(
                f"{function.kernel} takes {len(self.parameters)} arguments and {len(arguments)} were given; it "
                f"wants {wanted}."
            )
        if enter is not None:
            enter(launch_metadata)
        if x * y * z > 0:
            self.launch(emulation, function, (x, y, z), arguments)
        if leave is not None:
            leave(launch_metadata)

    def _launch(
        self, emulation: Emulation, function: Function, grid: tuple[int, int, int], arguments: tuple[Any, ...]
    ) -> None:
        values = [*_values(self.types, arguments)]
        programs = grid[0] * grid[1] * grid[2]
        values += [np.zeros(size * programs, np.uint8) if size else None for size in self.scratch]
        report = self._named(function).launch(
            grid, self.block, values, lds=self.shared, engine=emulation.engine, threads=emulation.threads,
            timeout=emulation.timeout, profile=emulation.profiled,
        )  # fmt: skip
        emulation.launched(report)

    def _named(self, function: Function) -> Function:
        """The kernel with the names of its arguments, which code objects of Triton leave out."""
        if self._function is None or self._function.module is not function.module:
            names = [*self.names, "the global scratch", "the profiler's scratch"]
            kernel, given = function.kernel, iter(names)
            named = [
                argument if argument.hidden else dataclasses.replace(argument, name=next(given, ""))
                for argument in kernel.arguments
            ]
            self._function = Function(function.module, dataclasses.replace(kernel, arguments=tuple(named)))
        return self._function


def _names(name: str, types: Any) -> Iterator[str]:
    """Names of the arguments that one of a function becomes."""
    for i, kind in enumerate(types):
        inner = name if len(types) == 1 else f"{name}[{i}]"
        if isinstance(kind, tuple):
            yield from _names(inner, kind)
        elif kind != "constexpr":
            yield inner


def _values(types: tuple[Any, ...], arguments: Any) -> Iterator[Any]:
    """Values of the kernel's arguments, as the emulator's launch takes them."""
    for kind, value in zip(types, arguments, strict=True):
        if kind == "constexpr":
            continue
        if isinstance(kind, tuple):
            yield from _values(kind, value)
        elif kind[0] == "*":
            yield value.base if isinstance(value, TensorWrapper) else value
        elif kind in FLOATS:
            yield _float(FLOATS[kind], value)
        elif kind == "bf16":
            yield encode(np.float64(value), "bf16").tobytes()
        else:
            yield int(value)


def _float(format: str, value: float) -> bytes:
    """A number in a narrower format, as C converts it: what is too large is infinite."""
    try:
        return struct.pack(format, value)
    except OverflowError:
        return struct.pack(format, math.copysign(math.inf, value))
