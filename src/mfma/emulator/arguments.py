"""From Python values to the bytes of a kernel's argument segment."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mfma.codeobject import Argument, Kernel, ValueKind
from mfma.emulator.device import DeviceArray
from mfma.emulator.memory import PRIVATE_BASE, SHARED_BASE, AddressSpace, Buffer
from mfma.emulator.semantics.values import WAVE
from mfma.emulator.translator.layout import address as host_address
from mfma.errors import LaunchError

__all__ = ["Geometry", "Mapped", "Tensor", "kernarg", "named", "pointed"]

FLOATS = {2: "<e", 4: "<f", 8: "<d"}
SIZES = {ValueKind.GLOBAL_BUFFER: (8,), ValueKind.BY_VALUE: range(1, 1 << 32)}
"""Bytes that an argument of a kind can have."""
LARGEST_SEGMENT = 1 << 20
"""Bytes of all arguments together; compilers stop at 4 KiB."""
SEGMENT_UNIT = 64
"""Bytes in which runtimes allocate argument segments; compilers load past the last argument within them."""


class Geometry:
    """Work-groups of a launch, work-items of a work-group, dynamic LDS."""

    def __init__(self, grid: tuple[int, int, int], block: tuple[int, int, int], dynamic_lds: int) -> None:
        self.grid = grid
        self.block = block
        self.dynamic_lds = dynamic_lds

    @property
    def items(self) -> int:
        """Work-items of a work-group."""
        return math.prod(self.block)

    @property
    def waves(self) -> int:
        """Waves of a work-group; the last may have lanes without a work-item."""
        return -(-self.items // WAVE)

    def hidden(self) -> dict[ValueKind, int]:
        """Values of the hidden arguments; those that are not here are 0."""
        kinds = ValueKind
        dimensions = max((i + 1 for i in range(3) if self.grid[i] * self.block[i] > 1), default=1)
        values = {
            kinds.HIDDEN_GRID_DIMS: dimensions,
            kinds.HIDDEN_DYNAMIC_LDS_SIZE: self.dynamic_lds,
            kinds.HIDDEN_SHARED_BASE: SHARED_BASE >> 32,
            kinds.HIDDEN_PRIVATE_BASE: PRIVATE_BASE >> 32,
        }
        for i, axis in enumerate("XYZ"):
            values[kinds[f"HIDDEN_BLOCK_COUNT_{axis}"]] = self.grid[i]
            values[kinds[f"HIDDEN_GROUP_SIZE_{axis}"]] = self.block[i]
        return values


class Tensor:
    """A torch tensor on the CPU, as a kernel sees one: its whole storage, and where in it the first element is.

    Attributes:
        storage: the storage's bytes, in place.
        offset: bytes before the first element.
        scalar: the element's bytes, of a tensor without dimensions.
    """

    def __init__(self, name: str, tensor: Any) -> None:
        if tensor.device.type != "cpu":
            raise LaunchError(f"{name} is a torch tensor on {tensor.device}; copy it to the CPU with .cpu().")
        if tensor.layout is not sys.modules["torch"].strided:
            raise LaunchError(f"{name} is a {tensor.layout} tensor; make it dense with .to_dense().")
        if tensor.is_conj() or tensor.is_neg():
            raise LaunchError(
                f"{name} is a lazily conjugated or negated tensor; pass .resolve_conj().resolve_neg() of it."
            )
        whole = tensor.untyped_storage()
        start, size = whole.data_ptr(), whole.nbytes()
        self.storage = np.asarray(_Memory(whole, start, size))
        self.offset = tensor.storage_offset() * tensor.element_size()
        self.scalar = b"" if tensor.ndim else self.storage[self.offset :][: tensor.element_size()].tobytes()

    def __repr__(self) -> str:
        return f"of {self.storage.size:,} bytes"


class _Memory:
    """Memory of another library, for `numpy.asarray`, which keeps the owner alive."""

    def __init__(self, owner: object, start: int, size: int) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "data": (start, False), "shape": (size,), "typestr": "|u1"}


def pointed(values: Iterable[tuple[Argument, str, Any]]) -> list[tuple[str, np.ndarray[Any, Any]]]:
    """Names and arrays of the host memory that a launch's values point into."""
    found = []
    for argument, name, value in values:
        pointer = argument.kind is ValueKind.GLOBAL_BUFFER
        if isinstance(value, Tensor) and (pointer or not value.scalar):
            found.append((name, value.storage))
        elif isinstance(value, np.ndarray) and (pointer or value.ndim):
            found.append((name, value))
    return found


class Mapped:
    """Host arrays made visible to the device for one launch.

    Arrays that share memory are mapped together, so that a kernel sees them alias as the host does.
    """

    def __init__(self, space: AddressSpace, arrays: Iterable[tuple[str, np.ndarray[Any, Any]]]) -> None:
        self.space = space
        self.buffers: list[tuple[int, int, Buffer]] = []
        spans = []
        for name, array in arrays:
            if array.dtype.hasobject:
                raise LaunchError(f"{name} is an array of Python objects; pass one of numbers.")
            if not (array.flags.c_contiguous or array.flags.f_contiguous):
                raise LaunchError(
                    f"{name} is an array with gaps between its elements; pass np.ascontiguousarray(...) and copy back."
                )
            start = host_address(array)
            spans.append((start, start + array.nbytes, name, np.asarray(array)))
        order = [span[2] for span in spans]
        try:
            # in the order of the arguments, so that device addresses do not depend on the host's
            for group in sorted(_overlapping(spans), key=lambda group: min(order.index(span[2]) for span in group)):
                self._map(group)
        except BaseException:
            self.free()
            raise

    def _map(self, group: list[tuple[int, int, str, np.ndarray[Any, Any]]]) -> None:
        start, end = group[0][0], max(span[1] for span in group)
        names = ", ".join(dict.fromkeys(span[2] for span in group))
        _, _, _, widest = max(group, key=lambda span: span[1] - span[0])
        writable = all(span[3].flags.writeable for span in group)
        if widest.nbytes < end - start:
            raise LaunchError(f"{names} overlap without one containing the others; pass one array and offsets into it.")
        flat = np.ravel(widest, order="K").view(np.uint8)
        buffer = self.space.allocate(flat.size, name=names, writable=writable, data=flat)
        self.buffers.append((start, end, buffer))

    def address(self, array: np.ndarray[Any, Any]) -> int:
        """Device address of an array's first element."""
        start = host_address(array)
        for low, high, buffer in self.buffers:
            if low <= start <= start + array.nbytes <= high:
                return int(buffer.address + start - low)
        raise KeyError("an array that was not mapped")

    def free(self) -> None:
        """Unmap everything."""
        for _, _, buffer in self.buffers:
            self.space.free(buffer)


def _overlapping(spans: list[Any]) -> list[list[Any]]:
    """Groups of spans that share bytes; the lowest start comes first in each."""
    groups: list[list[Any]] = []
    end = -1
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if groups and span[0] < end:
            groups[-1].append(span)
        else:
            groups.append([span])
        end = max(end, span[1])
    return groups


def named(kernel: Kernel, arguments: Sequence[Any]) -> list[tuple[Argument, str, Any]]:
    """Pair given values with the kernel's explicit arguments; torch tensors become `Tensor`.

    Raises:
        LaunchError: another number of values, or a tensor whose memory a kernel cannot have.
    """
    explicit = [argument for argument in kernel.arguments if not argument.hidden]
    if len(arguments) != len(explicit):
        wanted = ", ".join(_describe(argument, i) for i, argument in enumerate(explicit)) or "none"
        raise LaunchError(
            f"{kernel} takes {len(explicit)} arguments and {len(arguments)} were given; it wants {wanted}."
        )
    torch = sys.modules.get("torch")  # never imported here: a tensor cannot exist without it
    found = []
    for i, (argument, value) in enumerate(zip(explicit, arguments, strict=True)):
        name = argument.name or f"argument {i}"
        tensor = torch is not None and isinstance(value, torch.Tensor)
        found.append((argument, name, Tensor(name, value) if tensor else value))
    return found


def _describe(argument: Argument, position: int) -> str:
    name = argument.name or f"argument {position}"
    what = "a buffer" if argument.kind is ValueKind.GLOBAL_BUFFER else f"{argument.size} bytes"
    return f"{name} ({what})"


def kernarg(
    kernel: Kernel,
    values: Sequence[tuple[Argument, str, Any]],
    mapped: Mapped,
    geometry: Geometry,
    host: Mapping[ValueKind, int],
) -> np.ndarray[Any, Any]:
    """Bytes of the argument segment, uint8.

    Raises:
        LaunchError: a value does not fit its argument, or the kernel asks for what no kernel has.
    """
    if kernel.kernarg_size > LARGEST_SEGMENT:
        raise LaunchError(f"{kernel} wants {kernel.kernarg_size:,} bytes of arguments; at most {LARGEST_SEGMENT:,} go.")
    for argument in kernel.arguments:
        allowed = SIZES.get(argument.kind, range(1, 9) if argument.hidden else None)
        if allowed is not None and argument.size not in allowed:
            raise LaunchError(f"{kernel} has a {argument.kind} of {argument.size} bytes, which is another size.")
    segment = bytearray(-(-max(kernel.kernarg_size, 1) // SEGMENT_UNIT) * SEGMENT_UNIT)
    for argument, name, value in values:
        data = _pointer(name, value, mapped) if argument.kind is ValueKind.GLOBAL_BUFFER else None
        if data is None:
            if argument.kind is not ValueKind.BY_VALUE:
                raise LaunchError(f"{name} of {kernel} is a {argument.kind}, which cannot be passed here.")
            element = isinstance(value, Tensor) and value.scalar
            data = _scalar(name, element or value, argument.size, mapped)
        segment[argument.offset : argument.offset + argument.size] = data
    hidden = {**geometry.hidden(), **host}
    for argument in kernel.arguments:
        if argument.hidden:
            number = hidden.get(argument.kind, 0)
            if number >> 8 * argument.size:
                raise LaunchError(
                    f"{kernel} has a {argument.kind} of {argument.size} bytes, which do not hold {number}."
                )
            segment[argument.offset : argument.offset + argument.size] = number.to_bytes(argument.size, "little")
    return np.frombuffer(segment, np.uint8)


def _pointer(name: str, value: Any, mapped: Mapped) -> bytes:
    match value:
        case None:
            address = 0
        case DeviceArray():
            if not value.buffer.live:
                raise LaunchError(f"{name} is a device array that was freed.")
            address = value.address
        case np.ndarray():
            address = mapped.address(value)
        case Tensor():
            address = mapped.address(value.storage) + value.offset
        case int() | np.integer() if not isinstance(value, bool) and 0 <= int(value) < 1 << 64:
            address = int(value)
        case _:
            raise LaunchError(
                f"{name} is a pointer and {type(value).__name__} {value!r} was given; pass a NumPy array, a CPU "
                "torch tensor, a device array, a device address or None."
            )
    return address.to_bytes(8, "little")


def _scalar(name: str, value: Any, size: int, mapped: Mapped) -> bytes:
    match value:
        case np.ndarray() if value.ndim and size == 8 and value.nbytes != 8:
            return _pointer(name, value, mapped)
        case np.generic() | np.ndarray():
            data = value.tobytes()
            if len(data) != size:
                given = f"an array of {value.dtype} {value.shape}" if value.ndim else f"{value.dtype} {value!r}"
                raise LaunchError(f"{name} has {size} bytes and {given} has {len(data)}.")
            return data
        case bytes() | bytearray():
            if len(value) != size:
                raise LaunchError(f"{name} has {size} bytes and {len(value)} were given.")
            return bytes(value)
        case DeviceArray() | Tensor() if size == 8:
            return _pointer(name, value, mapped)
        case bool() | int():
            number = int(value)
            if not -(1 << 8 * size - 1) <= number < 1 << 8 * size:
                raise LaunchError(f"{name} has {size} bytes, which do not hold {number}.")
            return (number & (1 << 8 * size) - 1).to_bytes(size, "little")
        case float() if size in FLOATS:
            try:
                return struct.pack(FLOATS[size], value)
            except OverflowError:
                raise LaunchError(f"{name} is a float of {size} bytes, which does not hold {value!r}.") from None
        case _:
            raise LaunchError(
                f"{name} is a value of {size} bytes and {type(value).__name__} {value!r} was given; pass a number or a "
                "NumPy scalar of that size."
            )
