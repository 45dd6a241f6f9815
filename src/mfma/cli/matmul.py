"""``mfma matmul``: products of matrices in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mfma.cli.options import as_json, k_order, order, target
from mfma.cli.shell import Command
from mfma.render import Table, json, text

if TYPE_CHECKING:
    from mfma.matrices.compare import Comparison

__all__ = ["matmul"]

REFERENCES = ("fma", "exact")


@click.command(
    cls=Command,
    examples=(
        "mfma matmul A.npy B.npy --op f32_32x32x8f16 --convert -o D.npy",
        "mfma matmul A.npy B.npy --op f32_16x16x32_fp8_fp8 --convert --kwidth 16 --compare",
    ),
)
@click.argument("a", metavar="A.npy")
@click.argument("b", metavar="B.npy")
@click.option("--c", metavar="C.npy", help="Where the accumulators start; zero by default.")
@click.option("--op", "name", required=True, metavar="OP", help="The instruction that the kernel chains over k.")
@target
@click.option("-o", "output", metavar="D.npy", help="File of the result; not needed with --compare.")
@click.option("--model", default="hardware", show_default=True, help="hardware, fma or exact.")
@click.option("--convert", is_flag=True, help="Round the numbers of the files to the operands' types.")
@click.option("--compare", is_flag=True, help="Count the differences to the models fma and exact.")
@k_order
@click.option("--split-k", type=int, default=1, show_default=True, metavar="S", help="Cut K into S parts.")
@click.option("--threads", type=int, metavar="N", help="Processors to use; all by default.")
@as_json
def matmul(
    a: str,
    b: str,
    c: str | None,
    name: str,
    target: str,
    output: str | None,
    model: str,
    convert: bool,
    compare: bool,
    kwidth: int | None,
    k_order: tuple[int, ...] | None,
    split_k: int,
    threads: int | None,
    as_json: bool,
) -> None:
    """Multiply matrices as a kernel of this instruction does.

    A is (..., M, K), B (..., K, N), C and D (..., M, N). Files hold the operands' types: bfloat16 and 8-bit floats
    as raw bytes of their width, which is how NumPy saves them. float32 and float64 files need --convert. D is
    float32, float64 or int32. --compare uses the same order of k and the same split for all models.
    """
    if output is None and not compare:
        raise click.UsageError("Give -o D.npy for the result, or --compare, or both.")
    steps = order(kwidth, k_order)

    from contextlib import nullcontext

    import numpy as np

    from mfma.builtins.op import op as find
    from mfma.cli.files import operand, replacing
    from mfma.cli.progress import progress_bar
    from mfma.matrices.compare import compare as compare_with
    from mfma.matrices.matmul import matmul as multiply

    op = find(name, target)
    x = operand(a, op.a, "A", convert=convert)
    y = operand(b, op.b, "B", convert=convert)
    z = None if c is None else operand(c, op.cd, "C", convert=convert)

    def product(model: str) -> Any:
        with progress_bar(model) as bar:
            return multiply(x, y, z, op=op, model=model, k_order=steps, split_k=split_k, threads=threads, progress=bar)

    with replacing(output) if output is not None else nullcontext() as file:
        d = product(model)
        references = REFERENCES if compare else ()
        found = {other: compare_with(d, d if other == model else product(other), op.cd) for other in references}
        if file is not None:
            np.lib.format.write_array(file, d, allow_pickle=False)
    if as_json:
        answer = {"op": op.name, "model": model, "shape": list(d.shape), "dtype": d.dtype.name, "output": output}
        click.echo(json({**answer, "comparisons": {other: x.as_dict() for other, x in found.items()}}))
        return
    click.echo(f"{output or 'D'}: {d.dtype.name} {d.shape}, {op}, model {model}")
    if found:
        click.echo(_comparisons(found))


def _comparisons(found: dict[str, Comparison]) -> str:
    header = ("against", "outputs", "differing", "max ulp", "at", "bias", "bias in ulp")
    rows = tuple(
        (
            model,
            x.outputs,
            x.differing,
            x.max_ulp,
            "-" if x.worst is None else ",".join(map(str, x.worst)),
            _signed(x.bias),
            _signed(x.bias_ulp),
        )
        for model, x in found.items()
    )
    nans = [f"NaN in only one of the result and {m}: {x.only_one_nan}" for m, x in found.items() if x.only_one_nan]
    return "\n".join((text(Table(header, rows)), *nans))


def _signed(number: float | None) -> str:
    return "none" if number is None else f"{number:+.6g}"
