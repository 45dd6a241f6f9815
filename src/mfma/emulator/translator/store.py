"""What was learned and compiled before, on disk: for all kernels, and one state of the sources, CPU and LLVM.

Functions that were compiled together are one object file. Each adds a line to an index: the functions in it, and what
was learned of instructions. A folder that cannot be written costs time, nothing else; what is damaged is made anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import pkgutil
from collections.abc import Callable, Mapping
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
    """Compiled functions and learned instructions.

    Attributes:
        known: what is known of instructions, by the digest of their likeness.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.known: dict[str, Known | None] = {}
        self._batches: dict[str, Batch] = {}  # of functions that are on disk only
        self._addresses: dict[str, int] = {}
        self._read()

    def _read(self) -> None:
        if self.folder is None:
            return
        with contextlib.suppress(OSError):
            lines = (self.folder / INDEX).read_text().splitlines()
            for line in lines:
                with contextlib.suppress(ValueError, TypeError):  # a line that was cut off
                    name, functions, calls, facts = json.loads(line)
                    batch = Batch(name, tuple(functions), tuple(calls))
                    self.known.update((digest, _decoded(fact)) for digest, fact in facts.items())
                    self._batches.update(dict.fromkeys(functions, batch))

    def address(self, function: str) -> int | None:
        """Address of a function, or None if it has to be compiled."""
        address = self._addresses.get(function)
        if address is not None:
            return address
        batch = self._batches.pop(function, None)
        if batch is None or self.folder is None:
            return None
        code = jit.read_object(self.folder / f"{batch.name}.o")
        if code is not None:
            self._load(batch, code)
        return self._addresses.get(function)

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
        self.known.update(known)
        calls = [name for name in declarations if not name.startswith(INTERNAL)]
        name = hashlib.sha256(" ".join(functions).encode()).hexdigest()[:24]
        batch = Batch(name, tuple(functions), tuple(calls))
        if functions:
            code = jit.compile_object("\n".join([*declarations.values(), *functions.values()]), LEVEL)
            self._load(batch, code)
            if self.folder is not None:
                jit.write_object(self.folder / f"{batch.name}.o", code)
        if self.folder is not None:
            self._append(batch, known)

    def _load(self, batch: Batch, code: bytes) -> None:
        for call in batch.calls:
            jit.define_symbol(call, external(call))
        address = jit.load_object(code)
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
    return jit.library("memory", [], addresses.write, addresses.SOURCES)


def _encoded(known: Known | None) -> Any:
    if known is None:
        return None
    sources = [[source.field, source.number] for source in known.sources]
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
    return Store(folder / f"forms-{jit.cache_key([], sorted({*modules, 'mfma.emulator.memory'}))}")
