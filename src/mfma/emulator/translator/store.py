"""What was learned and compiled before, on disk: for all kernels, and one state of the sources, CPU and LLVM.

Functions that were compiled together are one object file. Each adds a line to an index: the functions in it, and what
was learned of instructions; it is read when something has to be learned. What follows from a whole code object, such
as the translation of a kernel, is a file of its own, good for all processes that load the object.

A folder that cannot be written costs time, nothing else; what is damaged is made anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mfma.emulator.decode
import mfma.emulator.semantics
import mfma.emulator.translator
from mfma.builtins.entry import native_entry
from mfma.emulator.translator import addresses
from mfma.emulator.translator.function import matrix_instruction
from mfma.emulator.translator.template import Known, Source
from mfma.isa.cdna3 import DENSE
from mfma.native import jit

__all__ = ["Store", "store"]

PACKAGES = (mfma.emulator.decode, mfma.emulator.semantics, mfma.emulator.translator)
LEVEL = 0
"""Of optimisation: what the code generator does by itself. The passes before it would gain little and take long."""
ALSO = (
    "mfma.emulator.memory", "mfma.emulator.reach", "mfma.emulator.check", "mfma.isa.cdna3", "mfma.isa.modifiers",
    "mfma.isa.spec",
)  # fmt: skip
"""Modules besides those of `PACKAGES` that decide what is kept."""
INDEX = "index"
INTERNAL = ("llvm.", "@")
"""How names begin that the module itself defines or LLVM knows."""


@dataclass(frozen=True)
class Batch:
    """An object file: its name, the functions in it, and what they call."""

    name: str
    functions: tuple[str, ...]
    calls: tuple[str, ...]


class Store:
    """Compiled functions, learned instructions, and facts of code objects."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._known: dict[str, Known | None] = {}
        self._batches: dict[str, Batch] = {}
        self._addresses: dict[str, int | None] = {}  # None if the object file is gone
        self._is_read = folder is None

    @property
    def known(self) -> dict[str, Known | None]:
        """What is known of instructions, by the digest of their likeness."""
        self._read()
        return self._known

    def batch(self, function: str) -> Batch:
        """The batch of a function that has an address."""
        return self._batches[function]

    def _read(self) -> None:
        """Read the index, once."""
        if self._is_read or self.folder is None:
            return
        self._is_read = True
        with contextlib.suppress(OSError):
            lines = (self.folder / INDEX).read_bytes().splitlines()
            for line in lines:
                with contextlib.suppress(ValueError, TypeError, AttributeError):  # a line that is damaged
                    name, functions, calls, facts = json.loads(line)
                    batch = Batch(name, tuple(functions), tuple(calls))
                    self._known.update((digest, _decoded(fact)) for digest, fact in facts.items())
                    for function in functions:
                        self._batches.setdefault(function, batch)

    def address(self, function: str) -> int | None:
        """Address of a function, or None if it has to be compiled."""
        if function not in self._addresses:
            self._read()
            if function in self._batches:
                self._open([self._batches[function]])
        return self._addresses.get(function)

    def addresses(self, functions: Sequence[str], batches: Iterable[Batch]) -> list[int] | None:
        """Addresses of functions of these batches, or None if one has to be compiled."""
        self._open([batch for batch in batches if any(function not in self._addresses for function in batch.functions)])
        found = [self._addresses.get(function) for function in functions]
        return [address for address in found if address is not None] if all(found) else None

    def _open(self, batches: Sequence[Batch]) -> None:
        """Load object files; functions of one that is gone have the address None."""
        found = []
        for batch in batches:
            code = jit.read_object(self.folder / f"{batch.name}.o") if self.folder is not None else None
            if code is not None:
                found.append((batch, code))
            for function in batch.functions:
                self._addresses.setdefault(function, None)
        self._load(found)

    def kept(self, name: str) -> bytes | None:
        """What was kept under a name, or None."""
        return jit.read_object(self.folder / f"{name}.kernel") if self.folder is not None else None

    def keep(self, name: str, content: bytes) -> None:
        """Keep something under a name, for other processes."""
        if self.folder is not None:
            jit.write_object(self.folder / f"{name}.kernel", content)

    def add(
        self, functions: Mapping[str, str], declarations: Mapping[str, str], known: dict[str, Known | None]
    ) -> None:
        """Compile functions and keep them and what was learned.

        Args:
            functions: their text, by name.
            declarations: what they need of the module, by name.
            known: what was learned, by the digest of a likeness.
        """
        if not functions and not known:
            return
        self._known.update(known)
        calls = [name for name in declarations if not name.startswith(INTERNAL)]
        name = hashlib.sha256(" ".join(functions).encode()).hexdigest()[:24]
        batch = Batch(name, tuple(functions), tuple(calls))
        if functions:
            code = jit.compile_object("\n".join([*declarations.values(), *functions.values()]), LEVEL)
            self._load([(batch, code)])
            if self.folder is not None:
                jit.write_object(self.folder / f"{batch.name}.o", code)
        if self.folder is not None:
            self._append(batch, known)

    def _load(self, loaded: Sequence[tuple[Batch, bytes]]) -> None:
        """Load object code of batches."""
        if not loaded:
            return
        for call in dict.fromkeys(call for batch, _ in loaded for call in batch.calls):
            jit.define_symbol(call, external(call))
        address = jit.load_object(*(code for _, code in loaded))
        for batch, _ in loaded:
            self._batches.update(dict.fromkeys(batch.functions, batch))
            self._addresses.update((function, address(function)) for function in batch.functions)

    def _append(self, batch: Batch, known: dict[str, Known | None]) -> None:
        assert self.folder is not None
        facts = {digest: _encoded(fact) for digest, fact in known.items()}
        line = json.dumps([*dataclasses.astuple(batch), facts], separators=(",", ":")) + "\n"
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.folder / INDEX, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(handle, line.encode())
            finally:
                os.close(handle)


@functools.cache
def external(name: str) -> int:
    """Address of what functions call: a helper for memory, or the native entry of a matrix instruction."""
    if name in addresses.names():
        return helpers()(name)
    mnemonic, fp16_ovfl = matrix_instruction(name)
    return native_entry(next(op for op in DENSE if op.mnemonic == mnemonic), fp16_ovfl).address


@functools.cache
def helpers() -> Callable[[str], int]:
    """Addresses of the functions of `mfma.emulator.translator.addresses`."""
    return jit.library("memory", [], addresses.write, addresses.SOURCES, loops=False)


def _encoded(known: Known | None) -> Any:
    if known is None:
        return None
    sources = [dataclasses.astuple(source) for source in known.sources]
    return [known.key, sources, known.branches, known.jumps]


def _decoded(fact: Any) -> Known | None:
    if fact is None:
        return None
    key, sources, branches, jumps = fact
    return Known(key, None, tuple(Source(*source) for source in sources), branches, jumps)


@functools.cache
def store() -> Store:
    """The store of this state of the sources."""
    modules = {
        f"{package.__name__}.{module.name}" for package in PACKAGES for module in pkgutil.iter_modules(package.__path__)
    }
    folder = jit.cache_dir()
    if folder is None:
        return Store(None)
    return Store(folder / f"forms-{jit.cache_key([], sorted({*modules, *ALSO}))}")
