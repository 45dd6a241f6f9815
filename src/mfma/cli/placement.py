"""Where elements sit: ``layout``, ``locate``, ``element``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mfma.cli.options import as_json, instruction, modifiers
from mfma.cli.shell import Command
from mfma.render import WRITERS, json

if TYPE_CHECKING:
    from mfma.isa.spec import MatrixOp
    from mfma.layout import Layout

__all__ = ["element", "layout", "locate"]


def _placed(op: MatrixOp, matrix: str, cbsz: int, abid: int, blgp: int) -> Layout:
    from mfma.layout import layout

    return layout(op, matrix.upper(), cbsz, abid, blgp)


@click.command(
    cls=Command,
    examples=(
        "mfma layout f32_32x32x8f16 D",
        "mfma layout f32_16x16x16f16 A --by registers",
        "mfma layout f32_4x4x4f16 A --cbsz 2 --abid 1 --format csv",
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
@click.option(
    "--format", type=click.Choice([*WRITERS, "json"]), default="text", show_default=True, help="Form of the table."
)
@as_json
def layout(op: MatrixOp, matrix: str, by: str, format: str, as_json: bool, **fields: int) -> None:
    """Draw where every element of a matrix sits.

    MATRIX is A, B, C or D (or K, the index of a sparse instruction). v1{37}.[15:0] is bits 15:0 of the operand's
    register 1 in lane 37; A[5][6].3 is row 5, column 6 of block 3.
    """
    from mfma.cli import grids

    placed = _placed(op, matrix, **fields)
    if as_json or format == "json":
        click.echo(json(grids.SLOTS[by](placed)))
    else:
        click.echo(WRITERS[format](grids.TABLES[by](placed)))


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
