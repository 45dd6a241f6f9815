"""Which inputs make this output: the row of A and the column of B behind one element of D, and their picture."""

from __future__ import annotations

from dataclasses import dataclass

from mfma.errors import OptionError
from mfma.isa.spec import MatrixOp
from mfma.layout.picture import MARGIN, PAGE, lane_group, page, slots
from mfma.layout.placement import Layout, layout
from mfma.layout.slots import Slot
from mfma.render.svg import Cell, Grid, Mark, text_width

__all__ = ["Inputs", "inputs", "inputs_picture"]

GAP = 10
FONT = 11.5
PADDING = 10
LARGEST = 20
"""Side of a cell of the maps, where the page has room for it."""


@dataclass(frozen=True)
class Inputs:
    """Slots of everything that one element of D is made of: ``c`` plus the products of ``a`` and ``b`` by k."""

    d: Slot
    c: Slot
    a: tuple[Slot, ...]
    b: tuple[Slot, ...]


def inputs(op: MatrixOp, *, i: int, j: int, block: int = 0, cbsz: int = 0, abid: int = 0, blgp: int = 0) -> Inputs:
    """Return where the inputs of ``D[i][j]`` of a block are read, and where it is written.

    >>> from mfma.isa.cdna3 import DENSE
    >>> found = inputs(DENSE[4], i=5, j=7)  # f32_16x16x4f32
    >>> print(found.d, *found.a)
    v1{23} v0{5} v0{21} v0{37} v0{53}

    Raises:
        OptionError: D has no such element, or the instruction is sparse.
        ModifierError: the modifiers are not legal for the instruction.
    """
    a, b, c, d = _layouts(op, cbsz, abid, blgp)
    return Inputs(
        d.locate(i=i, j=j, block=block),
        c.locate(i=i, j=j, block=block),
        tuple(a.locate(i=i, k=k, block=block) for k in range(op.k)),
        tuple(b.locate(k=k, j=j, block=block) for k in range(op.k)),
    )


def inputs_picture(op: MatrixOp, *, i: int, j: int, block: int = 0, cbsz: int = 0, abid: int = 0, blgp: int = 0) -> str:
    """Draw the row of A and the column of B that make ``D[i][j]`` of a block, as an SVG document.

    A stands left of D and B above it, coloured by lane group, with the inputs outlined; beside them stands the sum
    with the register and lane of every operand. Raises what `inputs` raises.

    >>> from mfma.isa.cdna3 import DENSE
    >>> "v1{23}" in inputs_picture(DENSE[4], i=5, j=7)  # f32_16x16x4f32
    True
    """
    found = inputs(op, i=i, j=j, block=block, cbsz=cbsz, abid=abid, blgp=blgp)
    a, b, c, d = _layouts(op, cbsz, abid, blgp)
    products = [[_cell(a, x), _cell(b, y)] for x, y in zip(found.a, found.b, strict=True)]
    sums = [[_cell(d, found.d), _cell(c, found.c)]]
    width = max(text_width(str(slot), FONT) for slot in (found.d, found.c, *found.a, *found.b)) + PADDING
    lists = [
        Grid(sums, [""], [f"D[{i}][{j}]", f"C[{i}][{j}]"], "", width, 20, FONT),
        Grid(products, list(map(str, range(op.k))), [f"A[{i}][k]", f"B[k][{j}]"], "k", width, 17, FONT),
    ]
    room = PAGE - 2 * MARGIN - 2 * Grid.LEFT - 3 * GAP - lists[0].size[0]
    cell = min(LARGEST, room / (op.k + op.n))
    of_a = _map(a, block, cell, Mark(i, 0, 1, op.k))
    of_b = _map(b, block, cell, Mark(0, j, op.k, 1))
    of_d = _map(d, block, cell, Mark(i, j))
    x, y = of_a.size[0] + GAP, of_b.size[1] + GAP
    right = x + of_d.size[0] + 2 * GAP
    drawing = [*of_b.draw(x, 0), *of_a.draw(0, y), *of_d.draw(x, y), *lists[0].draw(right, 0)]
    drawing += lists[1].draw(right, lists[0].size[1] + GAP)
    size = (right + lists[0].size[0], max(y + of_d.size[1], lists[0].size[1] + GAP + lists[1].size[1]))
    whose = f" of block {block}" if op.blocks > 1 else ""
    given = {"cbsz": cbsz, "abid": abid, "blgp": blgp}
    modified = " with" * any(given.values()) + "".join(f" {name}={value}" for name, value in given.items() if value)
    title = f"Inputs of D[{i}][{j}]{whose} in {op}{modified}"
    products_of = f"sum of A[{i}][k]*B[k][{j}] over k = 0..{op.k - 1}" if op.k > 1 else f"A[{i}][0]*B[0][{j}]"
    formula = f"D[{i}][{j}] = C[{i}][{j}] + {products_of}"
    notes = [f"Maps of the lane groups{whose}: A on the left, B above, D at the corner. C is placed as D is."]
    return page(title, op.mnemonic, d, size, drawing, [formula], notes)


def _layouts(op: MatrixOp, cbsz: int, abid: int, blgp: int) -> tuple[Layout, Layout, Layout, Layout]:
    if op.sparse:
        raise OptionError(
            f"{op} is sparse: which elements of B meet A is in the index at run time; ask the layout of each operand."
        )
    a, b, c, d = (layout(op, matrix, cbsz, abid, blgp) for matrix in "ABCD")
    return a, b, c, d


def _cell(layout: Layout, slot: Slot) -> Cell:
    return Cell((str(slot),), lane_group(layout, slot.lane))


def _map(layout: Layout, block: int, cell: float, mark: Mark) -> Grid:
    """Draw a matrix as a map of its lane groups."""
    cells = [[Cell((), lane_group(layout, slot.lane)) for slot in line] for line in slots(layout, block)]
    rows, columns = _labels(len(cells), mark.row, mark.rows), _labels(len(cells[0]), mark.column, mark.columns)
    return Grid(cells, rows, columns, layout.matrix, cell, cell, FONT, marks=[mark])


def _labels(count: int, first: int, marked: int) -> list[str]:
    """Label the marked row or column; if all are marked, the first and the last."""
    shown = {first, first + marked - 1}
    return [str(n) if n in shown else "" for n in range(count)]
