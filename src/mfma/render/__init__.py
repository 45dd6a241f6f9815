"""Pure functions from tables and plain data to text, CSV, Markdown, AsciiDoc and JSON.

>>> from mfma.render import Table, WRITERS
>>> table = Table(("op", "cycles"), (("f32_32x32x8f16", 32), ("f32_4x4x4f16", 8)))
>>> print(WRITERS["text"](table))
op              cycles
f32_32x32x8f16      32
f32_4x4x4f16         8
"""

from __future__ import annotations

from collections.abc import Callable

from mfma.render.markup import asciidoc, csv, markdown
from mfma.render.plain import json
from mfma.render.table import Cell, Table
from mfma.render.text import WIDTH, fields, panels, paragraph, text

__all__ = [
    "WIDTH",
    "WRITERS",
    "Cell",
    "Table",
    "asciidoc",
    "csv",
    "fields",
    "json",
    "markdown",
    "panels",
    "paragraph",
    "text",
]

WRITERS: dict[str, Callable[[Table], str]] = {
    "text": panels,
    "csv": csv,
    "markdown": markdown,
    "asciidoc": asciidoc,
}
"""Name of a format -> the function that writes a table in it."""
