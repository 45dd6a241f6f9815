"""``mfma explain``: one output, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mfma.cli.options import as_json, instruction, integers, k_order, order
from mfma.cli.shell import Command, Refusal
from mfma.render import json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mfma.isa.spec import MatrixOp

__all__ = ["explain"]


@click.command(
    cls=Command,
    usage="[OPTIONS] OP (--a LIST --b LIST | --from A.npy B.npy [C.npy] --at I,J)",
    examples=(
        "mfma explain f32_32x32x8f16 --a 2048,2048 --b 2048,-2048 --c 0xB5800000",
        "mfma explain f32_16x16x32_fp8_fp8 --a 0x38,0x01 --b 1,240 --json",
        "mfma explain f32_32x32x8f16 --from A.npy B.npy --at 3,5 --convert",
    ),
)
@instruction()
@click.argument("c_file", metavar="[C.npy]", required=False)
@click.option("--a", "row", metavar="LIST", help="The row of A.")
@click.option("--b", "column", metavar="LIST", help="The column of B.")
@click.option("--c", metavar="NUMBER", help="Where the accumulator starts; 0 by default.")
@click.option("--from", "files", nargs=2, metavar="A.npy B.npy [C.npy]", help="Matrices instead of lists.")
@click.option("--at", metavar="I,J", callback=integers, help="The output to explain, with --from.")
@k_order
@click.option("--convert", is_flag=True, help="Round numbers to the operands' types.")
@as_json
def explain(
    op: MatrixOp,
    c_file: str | None,
    row: str | None,
    column: str | None,
    c: str | None,
    files: tuple[str, str] | None,
    at: tuple[int, ...] | None,
    kwidth: int | None,
    k_order: tuple[int, ...] | None,
    convert: bool,
    as_json: bool,
) -> None:
    """Explain one output: every product, cut and rounding.

    A LIST has one number for every k, separated by commas. Numbers that start with 0x are codes; the others are
    decimals, read as float64, which the operand's type must hold exactly unless --convert rounds them.
    """
    steps = order(kwidth, k_order)
    lists = row is not None and column is not None
    if lists == (files is not None) or (lists and (at or c_file)) or (not lists and (at is None or c or row or column)):
        raise click.UsageError("Give --a LIST and --b LIST, or --from A.npy B.npy [C.npy] and --at I,J.")

    from mfma.builtins.op import op as face
    from mfma.cli import literals
    from mfma.matrices.explain import explain as explain_output

    if files is not None and at is not None:
        operands = _of_output(op, (*files, c_file), at, convert=convert)
    else:
        operands = (
            literals.array(row or "", op.a, convert=convert),
            literals.array(column or "", op.b, convert=convert),
            literals.array(c or "0", op.out, convert=convert)[0],
        )
    answer = explain_output(face(op), *operands, k_order=steps)
    click.echo(json(answer.as_dict()) if as_json else str(answer))


def _of_output(
    op: MatrixOp, files: tuple[str, str, str | None], at: tuple[int, ...], *, convert: bool
) -> tuple[NDArray[Any], NDArray[Any], Any]:
    """Return the row of A, the column of B and the element of C that make one output."""
    import numpy as np

    from mfma.cli.files import operand

    a_file, b_file, c_file = files
    a, b = operand(a_file, op.a, "A", convert=convert), operand(b_file, op.b, "B", convert=convert)
    c = np.zeros((1, 1), op.out.dtype) if c_file is None else operand(c_file, op.out, "C", convert=convert)
    try:
        shape = np.broadcast_shapes((*a.shape[:-2], a.shape[-2], 1), (*b.shape[:-2], 1, b.shape[-1]))
        rows = np.broadcast_to(a, (*shape[:-2], *a.shape[-2:]))
        columns = np.broadcast_to(b, (*shape[:-2], *b.shape[-2:])).swapaxes(-1, -2)
        accumulators = np.broadcast_to(c, shape)
    except (ValueError, IndexError):
        raise Refusal(
            f"A has shape {a.shape}, B {b.shape} and C {c.shape}, but they must be (..., M, K), (..., K, N) "
            "and (..., M, N)."
        ) from None
    if len(at) != len(shape) or not all(0 <= index < size for index, size in zip(at, shape, strict=True)):
        raise Refusal(
            f"--at {','.join(map(str, at))} is no output: D has shape {shape}, so give {len(shape)} indices from 0."
        )
    *batch, i, j = at
    return rows[(*batch, i)], columns[(*batch, j)], accumulators[at]
