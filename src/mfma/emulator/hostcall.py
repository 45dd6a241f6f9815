"""What a launch offers to a kernel that prints: the buffers that it writes to, and the reading of them.

There are two kinds, and a kernel's hidden arguments say which one it has: hostcalls, which are answered while it runs
(`mfma.emulator.hostcall_packets`), and a buffer that is read at the end (`mfma.emulator.hostcall_buffer`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress

from mfma.codeobject import Kernel, ValueKind
from mfma.emulator.hostcall_buffer import PrintfBuffer
from mfma.emulator.hostcall_format import Streams
from mfma.emulator.hostcall_packets import Hostcalls
from mfma.emulator.memory import AddressSpace, Buffer
from mfma.errors import KernelError

__all__ = ["Host"]


class Host:
    """The host's side of one launch, and the context in which the kernel runs.

    Args:
        kernel: what is launched.
        formats: ``amdhsa.printf`` of the code object's metadata.
        space: device memory.
        waves: how many of them are under way at once, at most.
        streams: where they print.

    Attributes:
        hidden: values of the hidden arguments for it.
        buffers: device memory that it has taken, and that the launch has to free.
    """

    def __init__(
        self, kernel: Kernel, formats: Sequence[object], space: AddressSpace, waves: int, streams: Streams
    ) -> None:
        kinds = {argument.kind for argument in kernel.arguments}
        self.hostcalls: Hostcalls | None = None
        self.printf: PrintfBuffer | None = None
        self.hidden: dict[ValueKind, int] = {}
        self.buffers: list[Buffer] = []
        if ValueKind.HIDDEN_HOSTCALL_BUFFER in kinds:
            self.hostcalls = Hostcalls(space, waves, streams)
            self._add(ValueKind.HIDDEN_HOSTCALL_BUFFER, self.hostcalls.buffer)
        if ValueKind.HIDDEN_PRINTF_BUFFER in kinds:
            self.printf = PrintfBuffer(space, formats, streams)
            self._add(ValueKind.HIDDEN_PRINTF_BUFFER, self.printf.buffer)

    def _add(self, kind: ValueKind, buffer: Buffer) -> None:
        self.hidden[kind] = buffer.address
        self.buffers.append(buffer)

    def serve(self) -> None:
        """Answer waves that wait for the host."""
        if self.hostcalls is not None:
            self.hostcalls.serve()

    def __enter__(self) -> None:
        """Let the kernel begin."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Print what is left once the kernel has ended, in whatever way; an error of its own comes first."""
        if self.printf is None:
            return
        with nullcontext() if error is None else suppress(KernelError):
            self.printf.read()
