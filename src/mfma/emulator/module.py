"""Loaded code objects and their kernels: `load`, then ``module["name"].launch(...)``."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mfma.codeobject import CodeObject, Kernel, load_object
from mfma.codeobject.demangle import brief, demangled, meant
from mfma.emulator.arguments import Mapped, kernarg, named, pointed
from mfma.emulator.device import Device, default_device
from mfma.emulator.geometry import checked_engine, checked_geometry, checked_limit
from mfma.emulator.memory import Buffer
from mfma.emulator.reach import Reach
from mfma.emulator.report import Report
from mfma.errors import CodeObjectError, UnknownNameError, near
from mfma.native.threads import thread_count

if TYPE_CHECKING:
    from mfma.emulator.hostcall_format import Output
    from mfma.emulator.interpreter.engine import Launch, Observer
    from mfma.emulator.interpreter.step import Step
    from mfma.emulator.profile_activity import ActivityCounter
    from mfma.emulator.translator.kernel import Native

__all__ = ["Function", "Module", "load"]

DYNAMIC_STACK = 16_384
"""Scratch bytes per lane beyond the fixed ones for kernels whose stack has no known bound."""


def load(source: str | os.PathLike[str] | bytes, device: Device | None = None) -> Module:
    """Load a gfx942 code object, or the one in an offload bundle or a host program.

    Args:
        source: a file, or the bytes of one.
        device: where to load it; the default device if None.

    Raises:
        CodeObjectError: no code object for gfx942 is there, or it is damaged.
    """
    return Module(load_object(source), device or default_device())


class Module(Mapping[str, "Function"]):
    """A code object in device memory; a mapping from names of kernels to `Function`.

    A kernel is found by the name of its symbol, and by any form of its name in C++ that no other kernel shares:
    ``fill`` and ``fill<float>`` as well as ``void fill<float>(float*, int)``.
    """

    def __init__(self, code: CodeObject, device: Device) -> None:
        self.code = code
        self.device = device
        size = len(code.image)
        self.image: Buffer = device.space.allocate(size, name="the code object", alignment=1 << 16)
        weakref.finalize(self, device.space.free, self.image)
        base = self.image.address
        self.steps: dict[tuple[int, int], Step] = {}
        self.natives: dict[int, list[Native]] = {}
        loaded = bytes(code.relocated(base))
        self.reach = Reach(code, base, loaded)
        self._independent: dict[str, bool] = {}  # of kernels whose instructions all have definitions
        self.image.bytes[:] = np.frombuffer(loaded, np.uint8)
        self.image.protected = tuple(
            (base + s.address, base + s.address + s.size) for s in code.segments if not s.writable
        )

    def __getitem__(self, name: str) -> Function:
        kernels = self.code.kernels
        found = meant(name, kernels)
        if len(found) == 1:
            return Function(self, kernels[found[0]])
        known = list(map(demangled, found or kernels))
        if found:
            raise UnknownNameError(
                f"{name!r} may be {' or '.join(known)}; give its template arguments or parameters as well."
            )
        raise UnknownNameError(f"No kernel {name!r}; there are {', '.join(known)}.{near(name, known)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.code.kernels)

    def __len__(self) -> int:
        return len(self.code.kernels)

    @functools.cached_property
    def executable(self) -> list[tuple[int, bytes]]:
        """The code as instructions are fetched from it: device addresses, and the bytes from there on."""
        base, image = self.image.address, self.image.bytes
        return [(base + at, image[at : at + len(code)].tobytes()) for at, code in self.code.text]

    def independent(self, kernel: Kernel) -> bool:
        """Whether the kernel's work-groups may run at the same time.

        Raises:
            LaunchError: the kernel needs instructions that are not implemented.
        """
        from mfma.emulator.check import check_supported

        if kernel.name not in self._independent:
            self._independent[kernel.name] = check_supported(self, kernel)
        return self._independent[kernel.name]

    def describe(self, address: int) -> str:
        """Where an instruction is: ``kernel+0x40 (file:line)``."""
        offset = address - self.image.address
        function = self.code.function_at(offset)
        place = f"{brief(function.name)}+{offset - function.address:#x}" if function else hex(offset)
        try:
            line = self.code.source_line(offset)
        except CodeObjectError:  # damaged debug information must not hide what happened there
            line = None
        return f"{place} ({line[0]}:{line[1]})" if line else place


class Function:
    """One kernel of a module, ready to launch."""

    def __init__(self, module: Module, kernel: Kernel) -> None:
        self.module = module
        self.kernel = kernel

    def launch(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any] = (),
        *,
        lds: int = 0,
        timeout: float | None = None,
        max_instructions: int | None = None,
        observer: Observer | None = None,
        progress: Callable[[int, int], None] | None = None,
        engine: str = "native",
        threads: int | None = None,
        profile: bool = False,
        stdout: Output | None = None,
        stderr: Output | None = None,
    ) -> Report:
        """Run the kernel to its end.

        Args:
            grid: work-groups, one to three numbers (x, y, z).
            block: work-items of a work-group.
            args: one value for each explicit argument: NumPy arrays or CPU torch tensors (read and written in place) or
                device arrays for pointers, numbers or NumPy scalars else.
            lds: bytes of dynamic LDS.
            timeout: seconds after which the launch is stopped.
            max_instructions: wave-instructions after which it is stopped.
            observer: watches instructions being executed, see `mfma.emulator.trace.Tracer`.
            progress: called with the work-groups that have ended and the number of all, at the end of each.
            engine: ``native``, machine code, or ``interpreter``, which is slow and runs if there is an observer. Both
                leave the same bits and count the same instructions.
            threads: how many threads the native engine uses at most, None for all processors, if the kernel's
                work-groups are independent (`mfma.emulator.translator.workers` says which are) and
                ``max_instructions`` is None; else it uses one.
            profile: put a `mfma.emulator.profile.Profile` on the report.
            stdout, stderr: text files that get what the kernel prints; ``sys.stdout`` and ``sys.stderr`` if None.

        Raises:
            OptionError: there is no such engine or number of threads, or a limit is none.
            LaunchError: arguments or geometry do not fit; nothing has run.
            MemoryFault: the kernel touched memory that it may not.
            WatchdogError: it ran too long.
            KernelError: it did something else that ends the launch.
        """
        from mfma.emulator.hostcall import Host
        from mfma.emulator.hostcall_format import Streams
        from mfma.emulator.start import Start, dispatch_packet, resident

        kernel, module = self.kernel, self.module
        space = module.device.space
        geometry = checked_geometry(kernel, grid, block, lds)
        checked_engine(engine)
        checked_limit("timeout", timeout)
        checked_limit("max_instructions", max_instructions, whole=True)
        values = named(kernel, args)
        module.independent(kernel)  # refuses what is not implemented
        mapped = Mapped(space, pointed(values))
        temporary: list[Buffer] = []
        try:
            total_lds = kernel.lds_size + lds
            scratch = kernel.scratch_size + (DYNAMIC_STACK if kernel.dynamic_stack else 0)
            formats = module.code.metadata.get("amdhsa.printf", ())
            room = resident(kernel, geometry, total_lds, scratch)
            waves = min(room, math.prod(geometry.grid)) * geometry.waves
            host = Host(kernel, formats, space, waves, Streams(stdout, stderr))
            temporary += host.buffers
            segment = kernarg(kernel, values, mapped, geometry, host.hidden)
            arguments = space.allocate(segment.size, name="the kernel's arguments", writable=False, data=segment)
            temporary.append(arguments)
            packet = np.frombuffer(dispatch_packet(geometry, total_lds, scratch, arguments.address), np.uint8)
            dispatch = space.allocate(packet.size, name="the dispatch packet", writable=False, data=packet)
            temporary.append(dispatch)
            start = Start(
                kernel, geometry, module.image.address + kernel.entry, arguments.address, segment.tobytes(),
                dispatch.address, total_lds, scratch,
            )  # fmt: skip
            counter = None
            if profile:
                from mfma.emulator.profile_activity import ActivityCounter

                counter = ActivityCounter(observer)
            run = self._engine(engine, observer, threads if max_instructions is None else 1, counter)(
                space, start, module.executable, geometry.grid, room, module.steps,
                limit=max_instructions, seconds=timeout, describe=module.describe,
                progress=progress, host=host.serve,
            )  # fmt: skip
            with host:
                run.run()
        finally:
            mapped.free()
            for buffer in temporary:
                space.free(buffer)
        report = Report.of(kernel.name, geometry.grid, geometry.block, run.totals(), run.float_atomics, run.interpreted)
        if counter is None:
            return report
        from mfma.emulator.profile import Profile

        return dataclasses.replace(
            report,
            profile=Profile(
                module.code, kernel, geometry.grid, geometry.block, lds, module.image.address, run.counts(),
                counter.items(),
            ),
        )  # fmt: skip

    def _engine(
        self, name: str, observer: Observer | None, threads: int | None, counter: ActivityCounter | None
    ) -> Callable[..., Launch]:
        count = thread_count(threads)
        if name == "interpreter" or observer is not None:
            from mfma.emulator.interpreter.engine import Launch

            return functools.partial(Launch, observer=counter or observer)
        from mfma.emulator.translator.engine import NativeLaunch

        module = self.module
        if count > 1 and not module.independent(self.kernel):
            count = 1
        return functools.partial(
            NativeLaunch, natives=module.natives, reach=module.reach, threads=count, counter=counter
        )
