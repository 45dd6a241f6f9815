"""The table of emulated instructions for the documentation: what defines, tests and uses each."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus.case import OBJECTS
from emulator import forms
from mfma.codeobject import load_object
from mfma.emulator import semantics  # noqa: F401 registers the definitions
from mfma.emulator.decode import Instruction, rows
from mfma.emulator.reach import reachable
from mfma.emulator.report import evidence_of
from mfma.emulator.semantics.registry import DEFINITIONS, Basis

__all__ = ["MATRIX_TESTS", "Entry", "entries", "undefined"]

MATRIX_TESTS = "matrix instructions"
"""Stands for the tests of `mfma.op`, which are not by forms."""


@dataclass(frozen=True)
class Entry:
    """One emulated instruction: its encodings, the tests that run it, how many objects of the corpus have it in code
    that their kernels reach, how sure its bits are, and why."""

    name: str
    encodings: tuple[str, ...]
    tests: tuple[str, ...]
    objects: int
    level: str
    note: str


def _encodings() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for row in rows():
        found.setdefault(row.name, {})[row.encoding.value] = None
    return {name: tuple(encodings) for name, encodings in found.items()}


def _used() -> Counter[str]:
    """In how many objects of the corpus each instruction is."""
    count: Counter[str] = Counter()
    for path in sorted(OBJECTS.glob("*.*o")):
        code = load_object(path)
        count.update(
            {
                item.name
                for kernel in code.kernels.values()
                for item in reachable(code, kernel.entry)
                if isinstance(item, Instruction)
            }
        )
    return count


def entries() -> Iterator[Entry]:
    """Every definition, by name."""
    for module in sorted(Path(__file__).parent.glob("test_forms_*.py")):
        importlib.import_module(f"emulator.{module.stem}")
    encodings, used = _encodings(), _used()
    for name, definition in sorted(DEFINITIONS.items()):
        matrix = definition.basis is Basis.MATRIX
        tests = (MATRIX_TESTS,) if matrix else tuple(sorted(forms.COVERS.get(name, ())))
        level, note = evidence_of(name)
        yield Entry(name, encodings[name], tests, used[name], level, "" if matrix else note)


def undefined() -> list[tuple[str, tuple[str, ...]]]:
    """Instructions that decode and have no definition, with their encodings, by name."""
    return [(name, encodings) for name, encodings in sorted(_encodings().items()) if name not in DEFINITIONS]
