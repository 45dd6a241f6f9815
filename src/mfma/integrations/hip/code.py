"""Device code of the program: what its static initialisers registered, and modules that it loads by itself."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from mfma.emulator.module import Function, Module, load
from mfma.errors import CodeObjectError
from mfma.integrations.hip.image import read_image
from mfma.integrations.hip.interface import Registration, Runtime, leave, say
from mfma.integrations.hip.memory import Kind, memory
from mfma.integrations.hip.status import HipError, Status

__all__ = ["Code", "Loaded", "Variable", "loaded"]

WRAPPER = struct.Struct("<4sIQQ")
"""Magic number, version, address of the bundle."""
WRAPPER_MAGIC = b"FPIH"
ABSENT = "no code object for"
"""What an error says if the code is for other GPUs alone."""


class RegistrationKind(IntEnum):
    """``enum kind`` of ``runtime.h``."""

    FAT_BINARY = 0
    FUNCTION = 1
    VARIABLE = 2


@dataclass(frozen=True)
class Variable:
    """A variable of a module: where it is on the device."""

    address: int
    size: int


class Loaded:
    """A module on the device.

    Attributes:
        module: what the emulator runs.
    """

    def __init__(self, image: bytes, managed: dict[str, int]) -> None:
        self.module: Module = load(image, memory().device)
        self._functions: dict[str, Function] = {}
        for name, address in managed.items():
            if name in self.module.code.objects:
                pointer = self.variable(name)
                ctypes.c_size_t.from_address(memory().reach(pointer.address, 8)).value = address

    def function(self, name: str) -> Function:
        """Return a kernel.

        Raises:
            HipError: there is none of that name.
        """
        if name not in self.module.code.kernels:
            raise HipError(Status.NOT_FOUND)
        if name not in self._functions:
            self._functions[name] = self.module[name]
        return self._functions[name]

    def variable(self, name: str) -> Variable:
        """Return a variable.

        Raises:
            HipError: there is none of that name.
        """
        symbol = self.module.code.objects.get(name)
        if symbol is None or not symbol.defined:
            raise HipError(Status.NOT_FOUND)
        return Variable(self.module.image.address + symbol.address, symbol.size)


class Code:
    """Everything that the program registered, loaded where it is used first."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._seen = -1
        self._registered: dict[int, Registration] = {}
        self._loaded: dict[int, Loaded] = {}
        self._found: dict[int, Function] = {}
        self._managed: dict[int, dict[str, int]] = {}
        self._shadows: dict[int, Variable] = {}
        self._lock = threading.RLock()

    def function(self, stub: int) -> Function:
        """Return the kernel behind the stub that the program calls it by.

        Raises:
            HipError: no kernel has that stub, or no code is there for this GPU.
        """
        found = self._found.get(stub)
        if found is None or self._seen != self._runtime.changes:
            with self._lock:
                registration = self._registration(stub, RegistrationKind.FUNCTION, Status.INVALID_DEVICE_FUNCTION)
                found = self._found.get(stub) or self._load(registration.owner).function(registration.name.decode())
                self._found[stub] = found
        return found

    def variable(self, shadow: int) -> Variable:
        """Return the variable behind the one that the host code has in its place.

        Raises:
            HipError: no variable of the device is behind that.
        """
        with self._lock:
            if shadow in self._shadows:
                return self._shadows[shadow]
            registration = self._registration(shadow, RegistrationKind.VARIABLE, Status.INVALID_SYMBOL)
            return self._load(registration.owner).variable(registration.name.decode())

    def manage(self, owner: int, shadow: int, initial: int, name: str, size: int) -> None:
        """Give a managed variable its memory, which host and device share, and its first value."""
        address = memory().allocate(size, Kind.VARIABLE, name=f"the managed variable {name}")
        ctypes.memmove(address, initial, size)
        ctypes.c_size_t.from_address(shadow).value = address
        with self._lock:
            self._managed.setdefault(owner, {})[name] = address
            self._shadows[shadow] = Variable(address, size)

    def _registration(self, address: int, kind: RegistrationKind, otherwise: Status) -> Registration:
        """Look up what was registered under an address of the program, as things are now."""
        if self._seen != self._runtime.changes:
            self._seen = self._runtime.changes
            self._registered = {one.address: one for one in self._alive()}
            binaries = {ctypes.addressof(one) for one in self._registered.values()}
            self._loaded = {address: one for address, one in self._loaded.items() if address in binaries}
            self._found.clear()
        found = self._registered.get(address)
        if found is None or found.kind != kind:
            raise HipError(otherwise)
        return found

    def _alive(self) -> Iterator[Registration]:
        pointer = self._runtime.first.contents
        while pointer:
            one = pointer.contents
            if not one.dead:
                yield one
            pointer = one.next

    def _load(self, binary: int) -> Loaded:
        if binary not in self._loaded:
            wrapper = Registration.from_address(binary).address
            magic, _, bundle, *_ = WRAPPER.unpack(ctypes.string_at(wrapper, WRAPPER.size))
            if magic != WRAPPER_MAGIC:
                leave(f"the device code begins with {magic!r}, not {WRAPPER_MAGIC!r}; compile the program with clang.")
            self._loaded[binary] = loaded(read_image(bundle), self._managed.get(binary))
        return self._loaded[binary]


def loaded(image: bytes, managed: dict[str, int] | None = None) -> Loaded:
    """Load a code object or a bundle.

    Raises:
        HipError: it has no code for this GPU; stderr says what it has.
    """
    try:
        return Loaded(image, managed or {})
    except CodeObjectError as error:
        if ABSENT not in str(error):
            leave(str(error))
        say(str(error))
        raise HipError(Status.NO_BINARY_FOR_GPU) from error
