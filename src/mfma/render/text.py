"""Tables and prose as plain text of a given width, for terminals and logs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from mfma.render.table import Table

__all__ = ["WIDTH", "fields", "panels", "paragraph", "text"]

WIDTH = 100
"""Columns of a line, unless a single word or the labels of a table need more."""

GAP = "  "
NARROWEST = 20
"""The last column of a table is never wrapped to less than this."""


def paragraph(prose: str, width: int = WIDTH, indent: str = "") -> str:
    """Wrap prose to ``width`` columns, every line after ``indent``; words are never broken.

    >>> print(paragraph("one two three", 9, "  "))
      one two
      three
    """
    return "\n".join(_wrapped(prose, width - len(indent), indent))


def fields(pairs: Iterable[tuple[str, str]], width: int = WIDTH, indent: str = "") -> str:
    r"""Write names with their values beside them, the values wrapped; a line break in a value is kept.

    >>> print(fields([("says", "one two"), ("truth", "three")], 12))
    says   one
           two
    truth  three
    """
    items = list(pairs)
    names = max((len(name) for name, _ in items), default=0)
    lines = []
    for name, value in items:
        wrapped = [line for part in value.split("\n") for line in _wrapped(part, width - len(indent) - names - 2)]
        lines += [
            f"{indent}{name if not n else '':{names}}{GAP}{line}".rstrip() for n, line in enumerate(wrapped or [""])
        ]
    return "\n".join(lines)


def text(table: Table, width: int = WIDTH, indent: str = "") -> str:
    """Write a table with aligned columns, numbers to the right; the last column is wrapped where it is too long.

    >>> print(text(Table(("level", "source"), (("tested", "random bits on an MI300X"),)), 28))
    level   source
    tested  random bits on an
            MI300X
    """
    rows = (table.header, *table.cells)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    *fixed, last = widths
    room = width - len(indent) - sum(fixed) - len(GAP) * len(fixed)
    numbers = table.is_number
    lines = []
    for row in rows:
        *cells, end = row
        start = "".join(f"{_aligned(cell, w, n)}{GAP}" for cell, w, n in zip(cells, fixed, numbers, strict=False))
        wrapped = _wrapped(end, max(room, NARROWEST)) if last > room else [_aligned(end, last, numbers[-1])]
        for n, line in enumerate(wrapped or [""]):
            lines.append(f"{indent}{start if not n else ' ' * len(start)}{line}".rstrip())
    return "\n".join(lines)


def panels(table: Table, width: int = WIDTH) -> str:
    """Write a table; columns that do not fit follow below it, beside the same labels.

    >>> print(panels(Table(("i", "k=0", "k=1"), ((0, "v0{0}", "v0{32}"),)), 10))
    i  k=0
    0  v0{0}
    <BLANKLINE>
    i  k=1
    0  v0{32}
    """
    return "\n\n".join(text(panel, width) for panel in _cut(table, width))


def _cut(table: Table, width: int) -> Iterator[Table]:
    widths = [max(map(len, column)) + len(GAP) for column in zip(table.header, *table.cells, strict=True)]
    labels = sum(widths[: table.labels])
    first, used = table.labels, labels
    for column in range(table.labels, len(widths)):
        if used + widths[column] - len(GAP) > width and column > first:
            yield table.columns(first, column)
            first, used = column, labels
        used += widths[column]
    yield table.columns(first, len(widths))


def _aligned(cell: str, width: int, number: bool) -> str:
    return f"{cell:>{width}}" if number else f"{cell:{width}}"


def _wrapped(prose: str, width: int, indent: str = "") -> list[str]:
    lines = textwrap.wrap(prose, max(width, 1), break_long_words=False, break_on_hyphens=False)
    return [indent + line for line in lines]
