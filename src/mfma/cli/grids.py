"""Layouts as tables: by the elements of the matrix, and by lanes and registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, product
from typing import Any

from mfma.layout import Element, Layout, Slot
from mfma.render import Cell, Table

__all__ = ["SLOTS", "TABLES", "coordinates", "name"]


def coordinates(layout: Layout, element: Element) -> dict[str, int]:
    """Give the coordinates that the matrix has, the block last."""
    _, row, column = layout.pattern.coordinates
    return {row: getattr(element, row), column: getattr(element, column), "block": element.block}


def name(layout: Layout, element: Element) -> str:
    """Write an element as ``A[row][column]``, with ``.block`` if the instruction has several."""
    return _names(layout, [element])


def elements_table(layout: Layout) -> Table:
    """Rows and columns of the matrix, block after block; a cell is a slot."""
    (blocks, rows, columns), (_, row, column) = layout.shape, layout.pattern.coordinates
    labels = ("block", row) if blocks > 1 else (row,)
    header = (*labels, *(f"{column}={n}" for n in range(columns)))
    body: list[tuple[Cell, ...]] = []
    for b, r in product(range(blocks), range(rows)):
        cells = (str(_locate(layout, b, r, c)) for c in range(columns))
        body.append((*((b, r)[-len(labels) :]), *cells))
    return Table(header, tuple(body), labels=len(labels))


def registers_table(layout: Layout) -> Table:
    """Lanes by registers; a cell is the elements that are read from, or written to, this slot."""
    starts = _starts(layout)
    header = ("lane", *(str(_slot(layout, 0, *start)).replace("{0}", "").removeprefix("-") for start in starts))
    body: list[tuple[Cell, ...]] = []
    for lane in range(layout.register_shape[0]):
        held = (layout.elements(lane=lane, vgpr=vgpr, low_bit=low_bit) for vgpr, low_bit in starts)
        body.append((lane, *(_names(layout, elements) or "unused" for elements in held)))
    return Table(header, tuple(body))


def elements_slots(layout: Layout) -> list[dict[str, Any]]:
    """Every element with its slot."""
    blocks, rows, columns = map(range, layout.shape)
    _, row, column = layout.pattern.coordinates
    return [
        {row: r, column: c, "block": b, **_locate(layout, b, r, c)._asdict()}
        for b, r, c in product(blocks, rows, columns)
    ]


def registers_slots(layout: Layout) -> list[dict[str, Any]]:
    """Every slot with its elements."""
    return [
        {
            **_slot(layout, lane, vgpr, low_bit)._asdict(),
            "elements": [coordinates(layout, x) for x in layout.elements(lane=lane, vgpr=vgpr, low_bit=low_bit)],
        }
        for lane in range(layout.register_shape[0])
        for vgpr, low_bit in _starts(layout)
    ]


TABLES: dict[str, Callable[[Layout], Table]] = {"elements": elements_table, "registers": registers_table}
SLOTS: dict[str, Callable[[Layout], list[dict[str, Any]]]] = {"elements": elements_slots, "registers": registers_slots}


def _locate(layout: Layout, block: int, row: int, column: int) -> Slot:
    _, row_name, column_name = layout.pattern.coordinates
    return layout.locate(**{row_name: row, column_name: column, "block": block})


def _slot(layout: Layout, lane: int, vgpr: int, low_bit: int) -> Slot:
    return Slot(lane, vgpr, low_bit, low_bit + layout.bits - 1, layout.negated)


def _starts(layout: Layout) -> list[tuple[int, int]]:
    """VGPR and low bit of the elements of a lane."""
    return [divmod(layout.bits * n, 32) for n in range(layout.pattern.register_shape[1])]


def _names(layout: Layout, elements: Sequence[Element]) -> str:
    """Write elements; those that differ in their block only are written as one."""
    _, row, column = layout.pattern.coordinates

    def place(element: Element) -> tuple[int, int]:
        return getattr(element, row), getattr(element, column)

    return " ".join(
        f"{layout.matrix}[{r}][{c}]" + (f".{_spans([x.block for x in same])}" if layout.shape[0] > 1 else "")
        for (r, c), same in groupby(sorted(elements, key=lambda x: (place(x), x.block)), place)
    )


def _spans(numbers: Sequence[int]) -> str:
    """Write ascending numbers as spans: ``0..3,8``."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(f"{first}..{last}" if last > first else f"{first}" for first, last in spans)
