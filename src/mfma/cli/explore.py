"""``mfma explore``: the explorer as a web page."""

from __future__ import annotations

import click

from mfma.cli.shell import Command

__all__ = ["explore"]


@click.command(cls=Command, examples=("mfma explore -o explorer.html", "mfma explore -o explorer.html --open"))
@click.option("-o", "--output", required=True, metavar="FILE", help="The page.")
@click.option("--open", "opened", is_flag=True, help="Open it in the browser.")
def explore(output: str, opened: bool) -> None:
    """Write a web page that shows where every element sits.

    It is one file that loads nothing. There, choose an instruction, a matrix and modifiers; point at a cell to see its
    register, lane and bits, what feeds it, and the formula. The address of the page names the cell:
    FILE#op=f32_32x32x8f16&matrix=A&cell=5,6,0 (row, column, block), with &cbsz=1&abid=0&blgp=0 where they are legal.
    """
    from mfma.cli.files import replacing
    from mfma.integrations.explorer import page

    with replacing(output) as file:
        file.write(page().encode())
    click.echo(output)
    if opened:
        import webbrowser
        from pathlib import Path

        webbrowser.open(Path(output).absolute().as_uri())
