"""Pictures of a layout: a cell for every element, with its register and lane, coloured by lane group."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from mfma.isa.spec import WAVE
from mfma.layout.placement import Layout
from mfma.layout.queries import runs, spell
from mfma.layout.slots import Element, Slot
from mfma.render import paragraph
from mfma.render.svg import ADVANCE, LEADING, Cell, Grid, Mark, document, fill, legend, text, text_width

__all__ = ["MARGIN", "PAGE", "formulas", "lane_group", "lane_group_size", "page", "picture", "slots"]

PAGE = 900
"""Width that a figure never exceeds, in pixels."""
NARROWEST = 600
MARGIN = 12
GAP = 18
"""Distance between blocks."""
CAPTION = 12
LETTER = 6.4
"""Width of a letter of the caption, on average and rounded up."""

FONTS = (12, 6), (11.5, 6), (11, 6), (10.5, 5), (10, 4), (9.5, 3)
"""Sizes of the text of a cell, each with the least room that the longest text leaves."""
ROOM = 9
"""Room that it leaves where the page is wide enough."""
BREAKS = r"(?!)", r"(?=\{)", r"(?=\.)"
"""Where the text of a cell may break: nowhere, before the lane, before the bits."""


class Fit(NamedTuple):
    """How an operand fills the page.

    A block whose columns do not fit is cut into ``panels`` one below the other; blocks that fit stand ``across``.
    ``breaks`` splits the text of a cell into lines of size ``font``.
    """

    panels: int
    across: int
    breaks: str
    font: float
    width: float
    height: float


def picture(layout: Layout, marks: Iterable[Element] = (), note: str = "") -> str:
    """Draw where every element of an operand sits, as an SVG document.

    A cell is a row and column of the matrix; it names the register and lane that the hardware reads, or writes if
    the matrix is D, and has the colour of its lane group. The caption is the formula of the pattern, and what the
    modifiers do to it. ``marks`` are elements to outline, ``note`` ends the caption.

    The document is at most 900 pixels wide and adapts to a light or dark surrounding. Raises `OptionError` if a
    mark is no element of the operand.

    >>> from mfma.isa.cdna3 import DENSE
    >>> from mfma.layout import layout
    >>> print(picture(layout(DENSE[8], "D")).splitlines()[1])  # f32_32x32x8f16
    <title>D of f32_32x32x8f16</title>
    """
    fit = _fit(layout)
    marked = list(marks)
    for mark in marked:
        layout.locate(**mark._asdict())  # refuses what is not there
    panels = product(range(layout.shape[0]), range(fit.panels))
    grids = [_grid(layout, block, panel, fit, marked) for block, panel in panels]
    width, height = grids[0].size
    parts = []
    for n, grid in enumerate(grids):
        row, column = divmod(n, fit.across)
        parts += grid.draw((width + GAP) * column, (height + GAP) * row)
    lines = len(grids) // fit.across
    total = (width * fit.across + GAP * (fit.across - 1), height * lines + GAP * (lines - 1))
    notes = [_reading(layout), *_modified(layout), *filter(None, [note])]
    return page(str(layout), _subtitle(layout), layout, total, parts, formulas(layout), notes)


def page(
    title: str,
    subtitle: str,
    layout: Layout,
    size: tuple[float, float],
    drawing: list[str],
    formulas: Iterable[str],
    notes: Iterable[str],
) -> str:
    """Set a drawing of this size between title, lane colours and caption."""
    width = max(math.ceil(size[0]), NARROWEST)
    y = 20.0
    parts = [text(0, y, title, "s h", 17), text(0, y + 19, subtitle, "s t d", CAPTION)]
    y += 32
    samples, used = legend("lanes", _groups(layout), 0, y, width)
    parts += samples
    y += used + 14
    parts.append(f'<g transform="translate(0 {y:g})">')
    parts += drawing
    parts.append("</g>")
    y += size[1] + 10
    for formula in formulas:
        y += 17
        parts.append(text(0, y, formula, "s", CAPTION))
    y += 4
    for note in notes:
        for line in paragraph(note, int(width / LETTER)).split("\n"):
            y += 16
            parts.append(text(0, y, line, "s t d", CAPTION))
    shifted = [f'<g transform="translate({MARGIN} {MARGIN // 2})">', *parts, "</g>"]
    return document(title, width + 2 * MARGIN, round(y + 2 * MARGIN), shifted)


def formulas(layout: Layout) -> tuple[str, ...]:
    """Write the formula: lane and element by the coordinates, then register and bits by the element."""
    bits = layout.bits
    if bits < 32:
        registers = f"vgpr = element//{32 // bits}, low_bit = {bits}*(element%{32 // bits})"
    elif bits == 32:
        registers = "vgpr = element"
    else:
        registers = "vgpr = 2*element, the first of a pair"
    lane, element = layout.pattern.equations
    position = lane.replace("lane", "lane position", 1) if layout.lane_sources else lane
    return position, element, registers


def lane_group_size(layout: Layout) -> int:
    """Return how many neighbouring lanes step along one row or column of a block: 4, 16 or 32."""
    _, rows, columns = layout.shape
    return rows if layout.pattern.coordinates[2] == "k" else columns


def lane_group(layout: Layout, lane: int) -> str:
    """Return the classes that colour a lane."""
    size = lane_group_size(layout)
    return fill(lane // size, WAVE // size)


def slots(layout: Layout, block: int) -> list[list[Slot]]:
    """Return the slots of a block, row by row."""
    _, rows, columns = layout.shape
    _, row, column = layout.pattern.coordinates
    return [[layout.locate(**{row: r, column: c, "block": block}) for c in range(columns)] for r in range(rows)]


def _grid(layout: Layout, block: int, panel: int, fit: Fit, marks: list[Element]) -> Grid:
    _, row, column = layout.pattern.coordinates
    count = layout.shape[2] // fit.panels
    first, end = count * panel, count * (panel + 1)
    rows = [
        [Cell(tuple(re.split(fit.breaks, str(slot))), lane_group(layout, slot.lane)) for slot in line[first:end]]
        for line in slots(layout, block)
    ]
    places = ((getattr(mark, row), getattr(mark, column)) for mark in marks if mark.block == block)
    grid = Grid(
        rows,
        [str(n) for n in range(len(rows))],
        [str(n) for n in range(first, end)],
        rf"{row}\{column}",
        fit.width,
        fit.height,
        fit.font,
        marks=[Mark(r, c - first) for r, c in places if first <= c < end],
    )
    return replace(grid, title=_block_title(layout, block, grid.size[0])) if layout.shape[0] > 1 else grid


def _fit(layout: Layout) -> Fit:
    """Choose the arrangement with the fewest cuts, then the lowest, then the one with the largest text."""
    blocks, rows, _ = layout.shape

    def cost(fit: Fit) -> tuple[float, ...]:
        return fit.panels, blocks * fit.panels // fit.across * (rows * fit.height + GAP + 36), -fit.font

    return min(_fits(layout), key=cost)


def _fits(layout: Layout) -> Iterator[Fit]:
    """Yield every arrangement that fits the page, with the largest text that does."""
    blocks, _, columns = layout.shape
    texts = [str(slot) for block in range(blocks) for line in slots(layout, block) for slot in line]
    for breaks in BREAKS:
        cells = [re.split(breaks, text) for text in texts]
        longest = max(len(line) for cell in cells for line in cell) * ADVANCE
        for panels, across in product(_halvings(columns), _halvings(blocks)):
            width = (PAGE - 2 * MARGIN - GAP * (across - 1) - Grid.LEFT * across) / (across * columns // panels)
            font = next((font for font, least in FONTS if longest * font + least <= width), None)
            if font:
                height = round(len(cells[0]) * font * LEADING + 6)
                yield Fit(panels, across, breaks, font, min(longest * font + ROOM, width), height)


def _halvings(number: int) -> list[int]:
    """Return the powers of two up to a power of two."""
    return [1 << n for n in range(number.bit_length())]


def _block_title(layout: Layout, block: int, width: float) -> str:
    """Name a block, with its lanes and registers as far as there is room."""
    held = [slot for line in slots(layout, block) for slot in line]
    lanes, registers = (spell(runs(slot[part] for slot in held)) for part in (0, 1))
    titles = [f"block {block} · lanes {lanes} · vgpr {registers}", f"block {block} · lanes {lanes}", f"block {block}"]
    return next(
        title for title in titles if text_width(title, Grid.TITLE_FONT, prose=True) < width or title is titles[-1]
    )


def _subtitle(layout: Layout) -> str:
    blocks, rows, columns = layout.shape
    elements, op = layout.pattern.register_shape[1], layout.op
    types = {"A": op.a.name, "B": op.b.name, "K": "indices"}
    return (
        f"{op.mnemonic} · {_count(blocks, 'block')} of {rows}×{columns} {types.get(layout.matrix, op.out.name)} · "
        f"a lane holds {_count(elements, 'element')} in {_count(elements * layout.bits // 32 or 1, 'VGPR')}"
    )


def _reading(layout: Layout) -> str:
    """Explain the notation on the last cell."""
    _, row, column = layout.pattern.coordinates
    block, i, j = (size - 1 for size in layout.shape)
    slot = layout.locate(**{row: i, column: j, "block": block})
    element = f"{layout.matrix}[{i}][{j}]" + (f" of block {block}" if block else "")
    if layout.bits < 32:
        place = f"bits {slot.high_bit}:{slot.low_bit} of the operand's register {slot.vgpr}"
    elif layout.bits == 32:
        place = f"the operand's register {slot.vgpr}"
    else:
        place = f"the operand's registers {slot.vgpr} and {slot.vgpr + 1}"
    return f"{slot} is {element}, in {place} in lane {slot.lane}."


def _modified(layout: Layout) -> Iterator[str]:
    """Say what the modifiers do, from what they do to the lanes."""
    if layout.negated:
        yield f"blgp={layout.blgp} negates {layout.matrix}: the hardware flips every sign as it reads."
    fed: dict[range, list[int]] = {}
    for source, position in _moves(layout.lane_sources or ()):
        fed.setdefault(source, []).extend(range(position, position + len(source)))
    parts = [f"lanes {spell((source,))} feed positions {spell(runs(held))}" for source, held in fed.items()]
    if parts:
        yield f"The modifiers change the lane that a position is read from: {'; '.join(parts)}."


def _moves(sources: Sequence[int]) -> Iterator[tuple[range, int]]:
    """Yield the runs of lanes that neighbouring positions read, each with its first position."""
    first = 0
    for end in range(1, len(sources) + 1):
        if end == len(sources) or sources[end] != sources[end - 1] + 1:
            yield range(sources[first], sources[end - 1] + 1), first
            first = end


def _groups(layout: Layout) -> list[tuple[str, str]]:
    """Label and classes of every lane group that the picture shows."""
    size = lane_group_size(layout)
    shown = {int(lane) // size for lane in layout.slots().lane.flat}
    return [(f"{n * size}..{n * size + size - 1}", lane_group(layout, n * size)) for n in sorted(shown)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
