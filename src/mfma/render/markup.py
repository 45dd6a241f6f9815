"""Tables in the formats of documents: CSV, Markdown and AsciiDoc."""

from __future__ import annotations

import csv as writer
import io
import re
from collections.abc import Sequence

from mfma.render.table import Table

__all__ = ["asciidoc", "csv", "markdown"]


def csv(table: Table) -> str:
    r"""Write a table as comma-separated values (RFC 4180, with ``\n`` at the end of lines).

    >>> csv(Table(("op", "shape"), (("f32_4x4x1f32", "4, 4, 1"),)))
    'op,shape\nf32_4x4x1f32,"4, 4, 1"'
    """
    stream = io.StringIO()
    writer.writer(stream, lineterminator="\n").writerows((table.header, *table.cells))
    return stream.getvalue().removesuffix("\n")


def markdown(table: Table) -> str:
    """Write a table in GitHub's Markdown.

    >>> print(markdown(Table(("op", "cycles"), (("f32_4x4x1f32", 8),))))
    | op           | cycles |
    | ------------ | -----: |
    | f32_4x4x1f32 |      8 |
    """
    rows = [[_in_markdown(cell) for cell in row] for row in (table.header, *table.cells)]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    numbers = table.is_number
    rule = ["-" * (w - 1) + ":" if number else "-" * w for w, number in zip(widths, numbers, strict=True)]
    header, *body = (_padded(row, widths, numbers) for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *body))


def asciidoc(table: Table) -> str:
    """Write a table in AsciiDoc.

    >>> print(asciidoc(Table(("op", "cycles"), (("f32_4x4x1f32", 8),))))
    [%header,cols="<,>"]
    |===
    |op |cycles
    |f32_4x4x1f32 |8
    |===
    """
    columns = ",".join(">" if number else "<" for number in table.is_number)
    rows = (" ".join(f"|{_in_asciidoc(cell)}" for cell in row) for row in (table.header, *table.cells))
    return "\n".join((f'[%header,cols="{columns}"]', "|===", *rows, "|==="))


def _padded(row: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> list[str]:
    return [f"{c:>{w}}" if number else f"{c:{w}}" for c, w, number in zip(row, widths, numbers, strict=True)]


def _in_markdown(cell: str) -> str:
    return " ".join(cell.split("\n")).replace("|", r"\|")


def _in_asciidoc(cell: str) -> str:
    # v0{5} would be the value of an attribute called 5.
    return re.sub(r"\{(?=\w[\w-]*\})", r"\\{", " ".join(cell.split("\n")).replace("|", r"\|"))
