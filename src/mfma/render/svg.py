"""Grids of labelled cells as SVG: text stays text, colours have light and dark forms, nothing is loaded from outside.

Strings are built directly: rows of cells that share a few classes are simpler and smaller so than through a drawing
library's object for every element.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

__all__ = ["ADVANCE", "FILLS", "Cell", "Grid", "Mark", "document", "fill", "legend", "text", "text_width"]

ADVANCE = 0.61
"""Width of a character over its size, in the widest of the monospaced fonts below."""
PROSE_ADVANCE = 0.58
"""The same for prose, on average and rounded up."""
LEADING = 1.16
"""Distance of lines over their size."""

FILLS = ("#77aadd", "#eedd88", "#bbbbbb", "#ee8866"), ("#2257a8", "#706a08", "#4c4f55", "#85301a")
"""Fills of four groups, in the light and the dark theme. The light ones are from Paul Tol's schemes "light" and
"bright" (SRON/EPS/TN/09-002, 2021), made for labelled cells and every kind of colour vision; the dark ones keep their
hues and carry light labels."""
SHADES = (1, 0.72, 0.48, 0.26)
"""Opacity of the four parts of a group, over the background."""

PAPER = "#ffffff", "#14171c"
INK = "#111418", "#f4f4f4"
MUTED = "#565d66", "#a4acb8"
ACCENT = "#a8005c", "#ff9bd0"


def _colours(theme: int) -> str:
    """Style rules that differ between light (0) and dark (1)."""
    fills = "".join(f".mf .g{n}{{fill:{colour}}}" for n, colour in enumerate(FILLS[theme]))
    return (
        f".mf .p{{fill:{PAPER[theme]}}}.mf .l{{stroke:{PAPER[theme]}}}.mf text{{fill:{INK[theme]}}}"
        f".mf .d{{fill:{MUTED[theme]}}}.mf .k{{stroke:{ACCENT[theme]}}}{fills}"
    )


# The first class scopes the rules: notebooks put figures into one page, where a style holds for all of it.
STYLE = (
    '.mf text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;'
    "text-anchor:middle;white-space:pre}"
    ".mf .s{text-anchor:start}.mf .e{text-anchor:end}.mf .m{font-weight:700}"
    '.mf .t,.mf .h{font-family:system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif}'
    ".mf .h{font-weight:600}.mf .l{fill:none;stroke-width:1}.mf .k{fill:none;stroke-width:2.5}"
    + "".join(f".mf .s{n}{{fill-opacity:{opacity}}}" for n, opacity in enumerate(SHADES))
    + f"\n{_colours(0)}\n@media (prefers-color-scheme:dark){{{_colours(1)}}}"
)


class Mark(NamedTuple):
    """A rectangle of cells to outline: the first row and column, and how many."""

    row: int
    column: int
    rows: int = 1
    columns: int = 1

    def covers(self, row: int, column: int) -> bool:
        """Say whether a cell is inside."""
        return 0 <= row - self.row < self.rows and 0 <= column - self.column < self.columns


class Cell(NamedTuple):
    """Lines of text over a background; together the lines are the content."""

    lines: tuple[str, ...]
    fill: str


@dataclass(frozen=True)
class Grid:
    """Rows of equal cells, ``width`` by ``height`` pixels, with labels above and to the left.

    Marked cells are outlined, and their text is bold.
    """

    rows: Sequence[Sequence[Cell]]
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    corner: str
    width: float
    height: float
    font: float
    title: str = ""
    marks: Sequence[Mark] = ()

    LEFT = 30
    LABEL_FONT = 10
    TITLE_FONT = 12.5

    @property
    def top(self) -> float:
        """Height of what stands above the cells."""
        return 16 + 20 * bool(self.title)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height with the labels."""
        return self.LEFT + self.width * len(self.rows[0]), self.top + self.height * len(self.rows)

    def draw(self, x: float, y: float) -> list[str]:
        """Draw with the upper left corner at ``(x, y)``."""
        left, top = x + self.LEFT, y + self.top
        right, bottom = left + self.width * len(self.rows[0]), top + self.height * len(self.rows)
        parts = [text(left, y + 12, self.title, "s h", self.TITLE_FONT)] if self.title else []
        parts.append(text(x + self.LEFT - 5, top - 4.5, self.corner, "e d", self.LABEL_FONT))
        parts.extend(
            text(left + self.width * (n + 0.5), top - 4.5, label, "d", self.LABEL_FONT)
            for n, label in enumerate(self.column_labels)
            if label
        )
        for n, row in enumerate(self.rows):
            parts += self._row(n, row, left, top + self.height * n)
        lines = [f"M{_n(left)} {_n(top + self.height * n)}H{_n(right)}" for n in range(1, len(self.rows))]
        lines += [f"M{_n(left + self.width * n)} {_n(top)}V{_n(bottom)}" for n in range(1, len(self.rows[0]))]
        rules = f'<path class="l" d="{"".join(lines)}"/>'
        marks = (self._mark(mark, left, top) for mark in self.marks)
        return [*parts, rules, *marks]

    def _row(self, n: int, row: Sequence[Cell], left: float, top: float) -> Iterable[str]:
        """Backgrounds of equal neighbours in one, then the texts."""
        column = 0
        for classes, cells in groupby(row, lambda cell: cell.fill):
            count = len(list(cells))
            yield _rect(left + self.width * column, top, self.width * count, self.height, classes)
            column += count
        if self.row_labels[n]:
            middle = top + self.height / 2 + 0.35 * self.LABEL_FONT
            yield text(left - 5, middle, self.row_labels[n], "e d", self.LABEL_FONT)
        if any(cell.lines for cell in row):
            leading = self.font * LEADING
            texts = "".join(self._text(n, column, cell, left, leading) for column, cell in enumerate(row))
            first = top + (self.height - leading * (len(row[0].lines) - 1)) / 2 + 0.35 * self.font
            yield f'<g transform="translate(0 {_n(first)})" font-size="{_n(self.font)}">{texts}</g>'

    def _text(self, row: int, column: int, cell: Cell, left: float, leading: float) -> str:
        x = _n(left + self.width * (column + 0.5))
        first, *others = map(_escaped, cell.lines)
        more = "".join(f'<tspan x="{x}" dy="{_n(leading)}">{line}</tspan>' for line in others)
        bold = ' class="m"' if any(mark.covers(row, column) for mark in self.marks) else ""
        return f'<text{bold} x="{x}">{first}{more}</text>'

    def _mark(self, mark: Mark, left: float, top: float) -> str:
        x, y = left + self.width * mark.column, top + self.height * mark.row
        return _rect(x, y, self.width * mark.columns, self.height * mark.rows, "k", rounded=True)


def fill(group: int, groups: int) -> str:
    """Return the classes of the background of one of up to 16 groups.

    Up to four groups have a colour each; of more, each quarter has a colour, in up to four shades.

    >>> fill(1, 4), fill(6, 16)
    ('g1', 'g1 s2')
    """
    if groups <= len(FILLS[0]):
        return f"g{group}"
    quarter, part = divmod(group, groups // 4)
    return f"g{quarter} s{part}"


def text(x: float, y: float, content: str, classes: str, size: float) -> str:
    """Draw a line of text on the baseline ``y``: from x with class ``s``, up to x with ``e``, else around x."""
    return f'<text class="{classes}" x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}">{_escaped(content)}</text>'


def text_width(content: str, size: float, *, prose: bool = False) -> float:
    """Estimate the width of a text in pixels, from above."""
    return len(content) * size * (PROSE_ADVANCE if prose else ADVANCE)


def legend(
    heading: str, entries: Sequence[tuple[str, str]], x: float, y: float, width: float
) -> tuple[list[str], float]:
    """Draw labelled samples of fills, ``(label, classes)``, in rows within ``width``; return them and their height."""
    size, height = 11.0, 20
    start = x + text_width(heading, size, prose=True) + 8
    step = max(text_width(label, size) for label, _ in entries) + 14
    across = max(1, min(len(entries), int((x + width - start) // step)))
    across = len(entries) // -(-len(entries) // across)  # rows of equal length
    parts = [text(x, y + 14, heading, "s t d", size)]
    for n, (label, classes) in enumerate(entries):
        row, column = divmod(n, across)
        left, top = start + step * column, y + (height + 2) * row
        parts += [_rect(left, top, step - 2, height, classes), text(left + step / 2 - 1, top + 14, label, "", size)]
    return parts, (height + 2) * -(-len(entries) // across)


def document(title: str, width: float, height: float, parts: Iterable[str]) -> str:
    """Return a whole SVG document; ``title`` is its name for readers that do not see it."""
    size = f"{_n(width)} {_n(height)}"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="mf" viewBox="0 0 {size}" '
            f'width="{_n(width)}" height="{_n(height)}">',
            f"<title>{_escaped(title)}</title>",
            f"<style>{STYLE}</style>",
            '<rect class="p" width="100%" height="100%"/>',
            *parts,
            "</svg>\n",
        )
    )


def _rect(x: float, y: float, width: float, height: float, classes: str, *, rounded: bool = False) -> str:
    corner = ' rx="2"' if rounded else ""
    return f'<rect class="{classes}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"{corner}/>'


def _escaped(content: str) -> str:
    return html.escape(content, quote=False)


def _n(number: float) -> str:
    """Write a length to a hundredth of a pixel."""
    return f"{round(number, 2):g}"
