"""A device: memory that outlives a launch, and arrays in it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mfma.emulator.memory import AddressSpace, Buffer
from mfma.errors import LaunchError

__all__ = ["Device", "DeviceArray", "default_device"]


class DeviceArray:
    """An array in device memory, for repeated launches.

    Attributes:
        buffer: where it is.
        shape, dtype: as NumPy's.
    """

    def __init__(self, buffer: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.buffer = buffer
        self.shape = shape
        self.dtype = dtype

    @property
    def address(self) -> int:
        """Device address of the first element."""
        return self.buffer.address

    def numpy(self) -> np.ndarray[Any, Any]:
        """The contents, as an array that shares the memory.

        Raises:
            LaunchError: the array was freed.
        """
        if not self.buffer.live:
            raise LaunchError(f"{self.buffer.name} was freed.")
        return self.buffer.bytes.view(self.dtype).reshape(self.shape)


class Device:
    """Memory of one emulated gfx942 and what is loaded there.

    >>> import numpy as np
    >>> device = Device()
    >>> x = device.array(np.arange(4.0), name="x")
    >>> x.numpy()
    array([0., 1., 2., 3.])
    >>> device.free(x)
    """

    def __init__(self) -> None:
        self.space = AddressSpace()

    def array(self, values: np.ndarray[Any, Any], name: str = "") -> DeviceArray:
        """Copy an array to the device.

        Raises:
            LaunchError: it holds Python objects.
        """
        copy = np.array(values, order="C")
        if copy.dtype.hasobject:
            raise LaunchError("an array of Python objects cannot go to the device; give one of numbers.")
        data = copy.reshape(-1).view(np.uint8)
        buffer = self.space.allocate(data.size, name=name or f"{copy.dtype} array {copy.shape}", data=data)
        return DeviceArray(buffer, copy.shape, copy.dtype)

    def free(self, array: DeviceArray) -> None:
        """Give an array's memory back; kernels that still touch it fault."""
        self.space.free(array.buffer)


@functools.cache
def default_device() -> Device:
    """The device on which modules load when no other is named."""
    return Device()
