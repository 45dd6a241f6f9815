"""Loaded code objects and their kernels: `load`, then ``module["name"].launch(...)``."""

from __future__ import annotations

import dataclasses
import functools
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mfma.codeobject import CodeObject, Kernel, ValueKind, load_object
from mfma.emulator.arguments import Mapped, kernarg, named
from mfma.emulator.device import Device, default_device
from mfma.emulator.geometry import checked_geometry
from mfma.emulator.memory import Buffer
from mfma.emulator.report import Report
from mfma.errors import CodeObjectError, OptionError, UnknownNameError, near
from mfma.native.threads import thread_count

if TYPE_CHECKING:
    from mfma.emulator.decode import Instruction, Undecoded
    from mfma.emulator.interpreter.engine import Launch, Observer
    from mfma.emulator.interpreter.step import Step
    from mfma.emulator.translator.kernel import Native

__all__ = ["Function", "Module", "load"]

ENGINES = "native", "interpreter"
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
    """A code object in device memory; a mapping from kernel names to `Function`."""

    def __init__(self, code: CodeObject, device: Device) -> None:
        self.code = code
        self.device = device
        size = len(code.image)
        self.image: Buffer = device.space.allocate(size, name="the code object", alignment=1 << 16)
        weakref.finalize(self, device.space.free, self.image)
        base = self.image.address
        self.steps: dict[tuple[int, int], Step] = {}
        self.natives: dict[int, list[Native]] = {}
        self.supported: set[str] = set()
        """Kernels whose instructions all have definitions."""
        self._independent: dict[str, bool] = {}
        self._reached: dict[int, tuple[Instruction | Undecoded, ...]] = {}
        self.image.bytes[:] = np.frombuffer(code.relocated(base), np.uint8)
        self.image.protected = tuple(
            (base + s.address, base + s.address + s.size) for s in code.segments if not s.writable
        )

    def __getitem__(self, name: str) -> Function:
        kernel = self.code.kernels.get(name)
        if kernel is None:
            known = list(self.code.kernels)
            raise UnknownNameError(f"No kernel {name!r}; there are {', '.join(known)}.{near(name, known)}")
        return Function(self, kernel)

    def __iter__(self) -> Iterator[str]:
        return iter(self.code.kernels)

    def __len__(self) -> int:
        return len(self.code.kernels)

    @functools.cached_property
    def executable(self) -> list[tuple[int, bytes]]:
        """The code as instructions are fetched from it: device addresses, and the bytes from there on."""
        base, image = self.image.address, self.image.bytes
        return [(base + at, image[at : at + len(code)].tobytes()) for at, code in self.code.text]

    def reached(self, entry: int) -> Sequence[Instruction | Undecoded]:
        """What a wave may come to from an address of the image on, see `mfma.emulator.reach`."""
        from mfma.emulator.reach import reachable

        if entry not in self._reached:
            self._reached[entry] = tuple(reachable(self.code, entry))
        return self._reached[entry]

    def reachable(self, address: int) -> list[Instruction]:
        """Instructions that a wave may come to from a device address on."""
        from mfma.emulator.decode import Instruction

        base = self.image.address
        return [
            Instruction(base + i.address, i.size, i.word, i.row, i.dst, i.src, i.modifiers)
            for i in self.reached(address - base)
            if isinstance(i, Instruction)
        ]

    def independent(self, kernel: Kernel) -> bool:
        """Whether the kernel's work-groups may run at the same time."""
        from mfma.emulator.translator.workers import independent

        if kernel.name not in self._independent:
            self._independent[kernel.name] = independent(self.reachable(self.image.address + kernel.entry))
        return self._independent[kernel.name]

    def describe(self, address: int) -> str:
        """Where an instruction is: ``kernel+0x40 (file:line)``."""
        offset = address - self.image.address
        function = self.code.function_at(offset)
        place = f"{function.name}+{offset - function.address:#x}" if function else hex(offset)
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
        threads: int | None = 1,
        profile: bool = False,
    ) -> Report:
        """Run the kernel to its end.

        Args:
            grid: work-groups, one to three numbers (x, y, z).
            block: work-items of a work-group.
            args: one value for each explicit argument: NumPy arrays (read and written in place) or device arrays for
                pointers, numbers or NumPy scalars else.
            lds: bytes of dynamic LDS.
            timeout: seconds after which the launch is stopped.
            max_instructions: wave-instructions after which it is stopped.
            observer: watches instructions being executed, see `mfma.emulator.trace.Tracer`.
            progress: called with the work-groups that have ended and the number of all, at the end of each.
            engine: ``native``, machine code, or ``interpreter``, which is slow and runs if there is an observer. Both
                leave the same bits and count the same instructions.
            threads: how many threads the native engine uses, or None for all processors, if the kernel's work-groups
                are independent (`mfma.emulator.translator.workers` says which are) and ``max_instructions`` is None.
            profile: put a `mfma.emulator.profile.Profile` on the report. The native engine's counts active lanes as
                64 each, the interpreter's as they were.

        Raises:
            OptionError: there is no such engine or number of threads.
            LaunchError: arguments or geometry do not fit; nothing has run.
            MemoryFault: the kernel touched memory that it may not.
            WatchdogError: it ran too long.
            KernelError: it did something else that ends the launch.
        """
        from mfma.emulator.check import check_supported
        from mfma.emulator.start import Start, dispatch_packet

        kernel, module = self.kernel, self.module
        space = module.device.space
        geometry = checked_geometry(kernel, grid, block, lds)
        values = named(kernel, args)
        if kernel.name not in module.supported:
            check_supported(module, kernel)
            module.supported.add(kernel.name)
        arrays = [
            (name, value)
            for argument, name, value in values
            if isinstance(value, np.ndarray) and (value.ndim or argument.kind is ValueKind.GLOBAL_BUFFER)
        ]
        mapped = Mapped(space, arrays)
        temporary: list[Buffer] = []
        try:
            segment = kernarg(kernel, values, mapped, geometry)
            total_lds = kernel.lds_size + lds
            scratch = kernel.scratch_size + (DYNAMIC_STACK if kernel.dynamic_stack else 0)
            arguments = space.allocate(segment.size, name="the kernel's arguments", writable=False, data=segment)
            temporary.append(arguments)
            packet = np.frombuffer(dispatch_packet(geometry, total_lds, scratch, arguments.address), np.uint8)
            dispatch = space.allocate(packet.size, name="the dispatch packet", writable=False, data=packet)
            temporary.append(dispatch)
            start = Start(
                kernel, geometry, module.image.address + kernel.entry, arguments.address, segment.tobytes(),
                dispatch.address, total_lds, scratch,
            )  # fmt: skip
            lanes = None
            if profile and (engine == "interpreter" or observer is not None):
                from mfma.emulator.profile_lines import LaneCounter

                lanes = observer = LaneCounter(observer)
            run = self._engine(engine, observer, threads if max_instructions is None else 1)(
                space, start, module.executable, geometry.grid, start.resident, module.steps,
                limit=max_instructions, seconds=timeout, observer=observer, describe=module.describe,
                progress=progress,
            )  # fmt: skip
            run.run()
        finally:
            mapped.free()
            for buffer in temporary:
                space.free(buffer)
        report = Report.of(kernel.name, geometry.grid, geometry.block, run.totals(), run.float_atomics, run.interpreted)
        if not profile:
            return report
        from mfma.emulator.profile import Profile

        return dataclasses.replace(
            report,
            profile=Profile(
                module.code, kernel, geometry.grid, geometry.block, lds, module.image.address, run.counts(),
                None if lanes is None else lanes.lanes,
            ),
        )  # fmt: skip

    def _engine(self, name: str, observer: Observer | None, threads: int | None) -> Callable[..., Launch]:
        if name not in ENGINES:
            raise OptionError(f"engine is {name!r}; give {' or '.join(ENGINES)}.")
        count = thread_count(threads)
        if name == "interpreter" or observer is not None:
            from mfma.emulator.interpreter.engine import Launch

            return Launch
        from mfma.emulator.translator.engine import NativeLaunch

        module = self.module
        if count > 1 and not module.independent(self.kernel):
            count = 1
        # native code stays with the module and must not keep it alive
        reach = functools.partial(Module.reachable, weakref.proxy(module))
        return functools.partial(NativeLaunch, natives=module.natives, reach=reach, threads=count)
