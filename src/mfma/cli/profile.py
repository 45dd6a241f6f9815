"""``profile``: what a compiled kernel executes, and what that means for a GPU."""

from __future__ import annotations

import sys

import click

from mfma.cli.launching import Three, WithArguments, block_of, function_of, launching
from mfma.cli.options import as_json
from mfma.render import json

__all__ = ["profile"]


@click.command(
    cls=WithArguments,
    usage="FILE --block X --args VALUE... [OPTIONS]",
    examples=(
        "mfma profile gemm.hsaco --block 64 --lds 4096 --args left.npy right.npy d.npy 32 32 32 null null",
        "mfma profile vector_add.co --kernel add_f32 --grid 16 --block 64 --args x.npy y.npy z.npy 1000 --listing",
        "mfma profile kernel.co --kernel multiply --block 64 --args zeros:f32:64,4 x.npy y.npy --json",
    ),
)
@launching
@click.option("--listing", is_flag=True, help="Print the instructions with their counts and source lines.")
@as_json
def profile(
    file: str,
    kernel: str | None,
    grid: Three,
    block: Three | None,
    lds: int,
    words: tuple[str, ...],
    timeout: float | None,
    listing: bool,
    as_json: bool,
) -> None:
    """Count what a compiled kernel executes.

    FILE, --args and the launch are those of `mfma run`; no file is written. Printed are the mix of instructions and
    their active lanes, matrix operations, the bytes that active lanes access, bank conflicts of LDS, how many waves an
    MI300X has room for and why not more, and the least cycles there, by a model without memory whose assumptions stand
    below. Counts are exact; cycles, those of bank conflicts too, are the model's.

    With --listing, before each instruction stand the waves that executed it and, of one execution on average, the
    active lanes and the cycles of LDS lost to bank conflicts.
    """
    from mfma.cli.arguments import Arguments
    from mfma.cli.progress import progress_bar

    if listing and as_json:
        raise click.UsageError("Give --listing or --json, not both.")
    function = function_of(file, kernel)
    size = block_of(function, block)
    arguments = Arguments(function.kernel, words)
    with progress_bar(f"{function.kernel}: work-groups") as bar:
        done = function.launch(
            grid, size, arguments.values, lds=lds, timeout=timeout, progress=bar, profile=True,
            stdout=sys.stderr if as_json else None,
        ).profile  # fmt: skip
    assert done is not None
    if as_json:
        click.echo(json(done.as_dict()))
    elif listing:
        click.echo("\n".join(done.listing()).lstrip("\n"))
    else:
        click.echo(str(done))
