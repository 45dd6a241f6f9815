"""Modules that the program loads by itself, and the handles of their kernels."""

from __future__ import annotations

from pathlib import Path

from mfma.emulator.module import Function
from mfma.integrations.hip.code import Loaded, loaded
from mfma.integrations.hip.handles import Handles
from mfma.integrations.hip.image import read_image
from mfma.integrations.hip.status import HipError, Status

__all__ = ["Modules"]


class Modules:
    """Modules and kernels by handle."""

    def __init__(self) -> None:
        self._modules: Handles[Loaded] = Handles()
        self._functions: Handles[Function] = Handles()

    def load(self, path: str) -> int:
        """Load a file; return the module's handle.

        Raises:
            HipError: there is no such file, or it has no code for this GPU.
        """
        try:
            image = Path(path).read_bytes()
        except OSError:
            raise HipError(Status.FILE_NOT_FOUND) from None
        return self._modules.add(loaded(image))

    def load_data(self, address: int) -> int:
        """Load what is in the program's memory; return the module's handle.

        Raises:
            HipError: no code for this GPU is there.
        """
        return self._modules.add(loaded(read_image(address)))

    def module(self, handle: int) -> Loaded:
        """Return a module.

        Raises:
            HipError: there is none.
        """
        return self._modules.get_checked(handle)

    def unload(self, handle: int) -> None:
        """Take a module and the handles of its kernels away.

        Raises:
            HipError: there is none.
        """
        module = self._modules.remove(handle).module
        for one in [one for one, function in self._functions.items() if function.module is module]:
            self._functions.remove(one)

    def enter(self, function: Function) -> int:
        """Return a kernel's handle."""
        known = (handle for handle, one in self._functions.items() if one is function)
        return next(known, 0) or self._functions.add(function)

    def function(self, handle: int) -> Function:
        """Return a kernel.

        Raises:
            HipError: there is none.
        """
        return self._functions.get_checked(handle)
