"""The parts of a program that are the same whatever the policies: templates of C++ with ``${names}`` to fill in."""

from __future__ import annotations

import functools
import textwrap
from importlib import resources
from string import Template

__all__ = ["fill", "indent"]


@functools.cache
def _template(name: str) -> Template:
    return Template(resources.files(__package__).joinpath("templates", f"{name}.hip").read_text(encoding="utf-8"))


def fill(name: str, /, **values: object) -> str:
    """Return a part of a program; every name of its template must be given."""
    return _template(name).substitute({key: str(value) for key, value in values.items()}).rstrip("\n")


def indent(text: str, columns: int) -> str:
    """Move lines of C++ to the right; those of the preprocessor stay where they are."""
    return textwrap.indent(text, " " * columns, lambda line: bool(line.strip()) and not line.startswith("#"))
