"""Where elements sit: ``layout``, ``locate``, ``element``, ``inputs``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

import click

from mfma.cli.options import as_json, instruction, modifiers
from mfma.cli.shell import Command
from mfma.render import WRITERS, Table, json

if TYPE_CHECKING:
    from mfma.isa.spec import MatrixOp
    from mfma.layout import Layout

__all__ = ["element", "inputs", "layout", "locate"]


FORM = click.option(
    "--format",
    "form",
    type=click.Choice([*WRITERS, "json", "svg"]),
    default="text",
    show_default=True,
    help="Form of the answer.",
)
OUTPUT = click.option("-o", "--output", type=click.File("w", encoding="utf-8"), default="-", help="File to write.")


def _placed(op: MatrixOp, matrix: str, cbsz: int, abid: int, blgp: int) -> Layout:
    from mfma.layout import layout

    return layout(op, matrix.upper(), cbsz, abid, blgp)


@click.command(
    cls=Command,
    examples=(
        "mfma layout f32_32x32x8f16 D",
        "mfma layout f32_16x16x16f16 A --by registers",
        "mfma layout f32_4x4x4f16 A --cbsz 2 --abid 1 --format csv",
        "mfma layout f64_16x16x4f64 D --format svg",
    ),
)
@instruction(sparse=True)
@click.argument("matrix")
@modifiers
@click.option(
    "--by",
    type=click.Choice(["elements", "registers"]),
    default="elements",
    show_default=True,
    help="Rows and columns of the matrix, or lanes and registers.",
)
@FORM
@OUTPUT
@as_json
def layout(op: MatrixOp, matrix: str, by: str, form: str, output: TextIO, as_json: bool, **fields: int) -> None:
    """Draw where every element of a matrix sits.

    MATRIX is A, B, C or D (or K, the index of a sparse instruction). v1{37}.[15:0] is bits 15:0 of the operand's
    register 1 in lane 37; A[5][6].3 is row 5, column 6 of block 3.
    """
    from mfma.cli import grids

    placed = _placed(op, matrix, **fields)
    if as_json or form == "json":
        click.echo(json(grids.SLOTS[by](placed)), output)
    elif form == "svg":
        from mfma.layout.picture import picture

        click.echo(picture(placed), output, nl=False)
    else:
        click.echo(WRITERS[form](grids.TABLES[by](placed)), output)


@click.command(
    cls=Command,
    examples=("mfma inputs f32_16x16x16f16 -i 6 -j 9", "mfma inputs f32_4x4x1f32 -i 2 -j 1 --block 5 --cbsz 2"),
)
@instruction()
@click.option("-i", type=int, required=True, metavar="ROW", help="Row of D.")
@click.option("-j", type=int, required=True, metavar="COLUMN", help="Column of D.")
@click.option("--block", type=int, default=0, metavar="N", help="Block.  [default: 0]")
@modifiers
@FORM
@OUTPUT
@as_json
def inputs(op: MatrixOp, i: int, j: int, block: int, form: str, output: TextIO, as_json: bool, **fields: int) -> None:
    """Show which inputs make one element of D.

    The row of A and the column of B that are multiplied, k by k, and C.
    """
    from mfma.layout import inputs as views

    if form == "svg" and not as_json:
        click.echo(views.inputs_picture(op, i=i, j=j, block=block, **fields), output, nl=False)
        return
    found = views.inputs(op, i=i, j=j, block=block, **fields)
    if as_json or form == "json":
        slots = {"d": str(found.d), "c": str(found.c), "a": [*map(str, found.a)], "b": [*map(str, found.b)]}
        click.echo(json(slots), output)
        return
    pairs = zip(found.a, found.b, strict=True)
    products = tuple((f"A[{i}][{k}]*B[{k}][{j}]", str(a), str(b)) for k, (a, b) in enumerate(pairs))
    both = f"D[{i}][{j}] and C[{i}][{j}]"
    click.echo(WRITERS[form](Table((both, str(found.d), ""), products)), output)


@click.command(
    cls=Command,
    examples=("mfma locate f32_32x32x8f16 A -i 5 -k 6", "mfma locate f32_4x4x1f32 A -i 2 -k 0 --block 7 --cbsz 2"),
)
@instruction(sparse=True)
@click.argument("matrix")
@click.option("-i", type=int, metavar="ROW", help="Row of A, C or D.")
@click.option("-j", type=int, metavar="COLUMN", help="Column of B, C or D.")
@click.option("-k", type=int, metavar="K", help="Column of A, row of B.")
@click.option("--block", type=int, default=0, metavar="N", help="Block.  [default: 0]")
@modifiers
@as_json
def locate(
    op: MatrixOp, matrix: str, i: int | None, j: int | None, k: int | None, block: int, as_json: bool, **fields: int
) -> None:
    """Find the lane and register of one element."""
    slot = _placed(op, matrix, **fields).locate(i=i, j=j, k=k, block=block)
    if as_json:
        click.echo(json({**slot._asdict(), "text": str(slot)}))
        return
    wide = slot.high_bit > 31
    register = f"registers {slot.vgpr} and {slot.vgpr + 1}" if wide else f"register {slot.vgpr}"
    sign = ", negated as it is read" if slot.negated else ""
    click.echo(f"{slot}  lane {slot.lane}, {register}, bits {slot.high_bit}:{slot.low_bit}{sign}")


@click.command(
    cls=Command,
    examples=(
        "mfma element f32_32x32x8f16 D --lane 39 --vgpr 1",
        "mfma element i32_16x16x32_i8 A --lane 35 --vgpr 1 --bit 8",
    ),
)
@instruction(sparse=True)
@click.argument("matrix")
@click.option("--lane", type=int, required=True, metavar="N", help="Lane, 0 to 63.")
@click.option("--vgpr", type=int, required=True, metavar="N", help="Register, from the operand's first.")
@click.option("--bit", type=int, default=0, metavar="N", help="Lowest bit of the element.  [default: 0]")
@modifiers
@as_json
def element(op: MatrixOp, matrix: str, lane: int, vgpr: int, bit: int, as_json: bool, **fields: int) -> None:
    """Name the elements that a register slot holds.

    It is one element; with modifiers the hardware may read several from a slot, or none.
    """
    from mfma.cli.grids import coordinates, name

    placed = _placed(op, matrix, **fields)
    found = placed.elements(lane=lane, vgpr=vgpr, low_bit=bit)
    if as_json:
        click.echo(json([coordinates(placed, x) for x in found]))
        return
    lines = [f"{name(placed, x)}  {_words(coordinates(placed, x))}" for x in found]
    click.echo("\n".join(lines) or "none: with these modifiers nothing is read from there")


def _words(coordinates: dict[str, Any]) -> str:
    return ", ".join(f"{axis} {value}" for axis, value in coordinates.items())
