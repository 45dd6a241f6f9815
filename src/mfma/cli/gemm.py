"""Tiled GEMM kernels: ``gemm`` runs, verifies and reports on one, ``tune`` looks for the best."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mfma.cli.options import as_json, k_order, order, target
from mfma.cli.shell import Command, Refusal
from mfma.render import Table, json, text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mfma.formats import Format
    from mfma.gemm import Gemm, Memory
    from mfma.gemm.tune import Candidate

__all__ = ["gemm", "tune"]

Function = Callable[..., Any]

BUFFERS = ("single", "double", "direct")
ROUNDINGS = ("rne", "truncate")


def sizes(count: int) -> Callable[[click.Context, click.Parameter, str | None], tuple[int, ...] | None]:
    """Parse whole numbers that are separated by x, such as 128x128x32."""

    def parse(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...] | None:
        if value is None:
            return None
        parts = value.lower().split("x")
        if len(parts) != count or not all(part.isdecimal() for part in parts):
            raise click.BadParameter(f"{value!r} is not {count} whole numbers such as {'x'.join(['32'] * count)}.")
        return tuple(map(int, parts))

    return parse


def _problem(command: Function) -> Function:
    """Give a command the options of a problem on a device."""
    for option in (
        click.option("--clock", type=float, metavar="MHZ", help="Engine clock; by default the device's peak clock."),
        click.option("--device", default="MI300X", show_default=True, help="MI300X, MI300A or MI325X."),
        click.option("--split-k", type=int, default=1, show_default=True, metavar="S", help="Cut K into S parts."),
        click.option("--batch", type=int, default=1, show_default=True, help="How many products of this size."),
        click.option("-k", "k", type=int, metavar="K", help="Columns of A, rows of B."),
        click.option("-n", "n", type=int, metavar="N", help="Columns of B and D."),
        click.option("-m", "m", type=int, metavar="M", help="Rows of A and D."),
    ):
        command = option(command)
    return command


def policy_options(command: Function) -> Function:
    """Give a command what `kernel_of` makes the two policies of."""
    for option in (
        click.option(
            "--swizzle", type=int, default=0, metavar="N", help="Elements of a chunk that XOR moves; 0 is none."
        ),
        click.option("--padding", type=int, default=0, metavar="N", help="Unused elements at the end of a row in LDS."),
        click.option(
            "--buffers", type=click.Choice(BUFFERS), default="single", show_default=True, help="The tile policy."
        ),
        click.option(
            "--placement", default="m", show_default=True, help="Blocks of the instruction: m, n, batch or k."
        ),
        click.option(
            "--waves", default="1x1", show_default=True, metavar="MxN", callback=sizes(2), help="Waves of a block."
        ),
        click.option(
            "--tile", required=True, metavar="MxNxK", callback=sizes(3), help="Block of a work-group, strip of K."
        ),
        target,
        click.option(
            "--scalar", metavar="MxN", callback=sizes(2), help="No instruction: MxN outputs a thread, by v_fma_f32."
        ),
        click.option("--op", "name", metavar="OP", help="The matrix instruction."),
    ):
        command = option(command)
    return command


def memory_options(command: Function) -> Function:
    """Give a command the formats in memory; it is called with ``memory``."""

    @functools.wraps(command)
    def called(a_format: str | None, b_format: str | None, d_format: str | None, **options: Any) -> Any:
        from mfma.gemm import Conversion, Memory

        how = Conversion(options.pop("rounding")), Conversion(options.pop("store_rounding"))
        memory = Memory(a_format, b_format, d_format, options.pop("b_order"), *how)
        return command(memory=memory, **options)

    for option in (
        click.option("--b-order", type=click.Choice(["row", "column"]), default="row", help="How B lies in memory."),
        click.option("--store-rounding", type=click.Choice(ROUNDINGS), default="rne", help="Rounding of D."),
        click.option("--rounding", type=click.Choice(ROUNDINGS), default="rne", help="Rounding of A, B and C on load."),
        click.option("--d-format", metavar="FORMAT", help="Format of C and D in memory; the accumulator's by default."),
        click.option("--b-format", metavar="FORMAT", help="Format of B in memory; the instruction's by default."),
        click.option("--a-format", metavar="FORMAT", help="Format of A in memory; the instruction's by default."),
    ):
        called = option(called)
    return called


@click.command(
    cls=Command,
    examples=(
        "mfma gemm --op f32_32x32x8f16 --tile 128x128x32 --waves 2x2 --padding 4 -m 4096 -n 4096 -k 4096",
        "mfma gemm --op f32_16x16x8_xf32 --tile 32x32x8 --waves 2x2 A.npy B.npy -o D.npy --verify",
        "mfma gemm --op f32_4x4x4f16 --tile 64x16x16 --placement m -m 64 -n 64 -k 64 --verify --json",
        "mfma gemm --scalar 4x4 --tile 32x32x8 -m 100 -n 100 -k 100 --svg roofline.svg",
    ),
)
@click.argument("a", metavar="[A.npy", required=False)
@click.argument("b", metavar="B.npy]", required=False)
@policy_options
@_problem
@memory_options
@k_order
@click.option("--c", metavar="C.npy", help="C, which is added with --beta.")
@click.option("--alpha", type=float, default=1.0, show_default=True)
@click.option("--beta", type=float, default=1.0, show_default=True)
@click.option("--convert", is_flag=True, help="Round the numbers of the files to the formats in memory.")
@click.option("-o", "output", metavar="D.npy", help="File of the result.")
@click.option("--verify", is_flag=True, help="Simulate lane by lane, too, and compare all bits.")
@click.option("--svg", metavar="FILE.svg", help="File of the roofline with the kernel on it.")
@as_json
def gemm(
    a: str | None, b: str | None, m: int | None, n: int | None, k: int | None, batch: int, split_k: int, device: str,
    clock: float | None, c: str | None, alpha: float, beta: float, convert: bool, output: str | None, verify: bool,
    svg: str | None, as_json: bool, kwidth: int | None, k_order: tuple[int, ...] | None, memory: Memory,
    **policies: Any,
) -> None:  # fmt: skip
    """Run a tiled GEMM kernel on matrices, verify it, and report on it.

    With A.npy and B.npy the kernel multiplies them; with -m, -n and -k it is reported on, and --verify uses random
    operands. The report has instructions, LDS, traffic, registers and the time that a model predicts.
    """
    if (a is None) != (b is None):
        raise click.UsageError("Give A.npy and B.npy, or neither.")
    if a is None and None in (m, n, k):
        raise click.UsageError("Give A.npy and B.npy, or the sizes -m, -n and -k.")
    if a is not None and (m, n, k) != (None, None, None):
        raise click.UsageError("The sizes are those of A.npy and B.npy: leave -m, -n and -k out.")
    if a is None and (output or c):
        raise click.UsageError("-o and --c go with A.npy and B.npy.")
    order(kwidth, k_order)  # refuses both

    kernel = kernel_of(memory, kwidth, **policies)
    options = {**_factors(kernel, alpha, beta), "k_order": k_order, "split_k": split_k}
    operands: list[Any] = []
    if a is not None and b is not None:
        operands = _files(kernel, a, b, c, convert)
    elif verify:
        operands = _random(kernel, batch, m or 0, n or 0, k or 0)
    result = _run(kernel, operands, options, output) if operands else None
    if verify:
        _verify(kernel, operands, options, result)
    if result is not None:
        *lead, m, n = result.shape
        k, batch = operands[0].shape[-1], math.prod(lead)
    extents = m or 0, n or 0, k or 0
    report = kernel.report(*extents, device, batch=batch, split_k=split_k, read_c=c is not None, clock_mhz=clock)
    if svg:
        from mfma.cli.files import replacing

        with replacing(svg) as file:
            file.write(report.svg().encode())
    if as_json:
        shape = None if result is None else list(result.shape)
        click.echo(json({**report.as_dict(), "shape": shape, "output": output, "verified": verify}))
        return
    click.echo(str(report))
    if result is not None and output:
        click.echo(f"{output}: {result.dtype.name} {result.shape}")
    if verify and result is not None:
        click.echo(f"verified: simulated lane by lane, all {result.size} results have equal bits")


def kernel_of(
    memory: Memory, kwidth: int | None, name: str | None, scalar: tuple[int, int] | None, target: str,
    tile: tuple[int, int, int], waves: tuple[int, int], placement: str, buffers: str, padding: int, swizzle: int,
) -> Gemm:  # fmt: skip
    """Make the two policies; a wave has as many tiles as the block has room for."""
    import dataclasses

    from mfma.gemm import DirectToLdsTilePolicy, DoubleBufferTilePolicy, Gemm, MfmaPolicy, ScalarFMAPolicy
    from mfma.gemm import SingleBufferTilePolicy as Single

    kinds: dict[str, type[Single | DoubleBufferTilePolicy]] = {
        "single": Single,
        "double": DoubleBufferTilePolicy,
        "direct": DirectToLdsTilePolicy,
    }
    moves = kinds[buffers](*tile, padding=padding, swizzle=swizzle)
    if (name is None) == (scalar is None):
        raise click.UsageError("Give --op OP, or --scalar MxN.")
    if scalar is not None:
        return Gemm(moves, ScalarFMAPolicy(*scalar, max(tile[1] // max(scalar[1], 1), 1)), memory)
    policy = MfmaPolicy(str(name), *waves, placement=placement, kwidth=kwidth, target=target)
    tiles_m, tiles_n = (
        max(size // (count * each), 1)
        for size, count, each in zip(tile, waves, (policy.op_tile_m, policy.op_tile_n), strict=False)
    )
    return Gemm(moves, dataclasses.replace(policy, tiles_m=tiles_m, tiles_n=tiles_n), memory)


def _files(kernel: Gemm, a: str, b: str, c: str | None, convert: bool) -> list[NDArray[Any] | None]:
    from mfma.cli.files import operand

    of_a, of_b, of_d = kernel.memory.formats(kernel.compute)
    read = [operand(a, of_a, "A", convert=convert), operand(b, of_b, "B", convert=convert)]
    return [*read, None if c is None else operand(c, of_d, "C", convert=convert)]


def _random(kernel: Gemm, batch: int, m: int, n: int, k: int) -> list[NDArray[Any] | None]:
    """Random operands, the same in every run."""
    import numpy as np

    from mfma.formats.codec import encode

    generator = np.random.default_rng(42)
    lead = (batch,) if batch > 1 else ()

    def matrix(format: Format, rows: int, columns: int) -> NDArray[Any]:
        if format.is_integer:
            return generator.integers(-128, 128, (*lead, rows, columns)).astype(format.dtype)
        return encode(generator.uniform(-1, 1, (*lead, rows, columns)), format)

    of_a, of_b, _ = kernel.memory.formats(kernel.compute)
    return [matrix(of_a, max(m, 0), max(k, 0)), matrix(of_b, max(k, 0), max(n, 0)), None]


def _factors(kernel: Gemm, alpha: float, beta: float) -> dict[str, float]:
    """Whole numbers beside integers, as they were given otherwise."""
    if kernel.compute.accumulator.is_integer and alpha.is_integer() and beta.is_integer():
        return {"alpha": int(alpha), "beta": int(beta)}
    return {"alpha": alpha, "beta": beta}


def _run(kernel: Gemm, operands: list[Any], options: dict[str, Any], output: str | None) -> NDArray[Any]:
    from contextlib import nullcontext

    import numpy as np

    from mfma.cli.files import replacing
    from mfma.cli.progress import progress_bar

    with replacing(output) if output is not None else nullcontext() as file:
        with progress_bar("run") as bar:
            d = kernel.run(*operands, **options, progress=bar)
        if file is not None:
            np.lib.format.write_array(file, d, allow_pickle=False)
    return d


def _verify(kernel: Gemm, operands: list[Any], options: dict[str, Any], result: Any) -> None:
    from mfma.cli.progress import progress_bar

    with progress_bar("simulate") as bar:
        simulated = kernel.simulate(*operands, **options, progress=bar)
    if simulated.tobytes() != result.tobytes():
        raise Refusal("the simulation and the fast run differ: please report this as a bug.")


@click.command(
    cls=Command,
    examples=(
        "mfma tune -m 4096 -n 4096 -k 4096 --op f32_32x32x8f16",
        "mfma tune -m 128 -n 8192 -k 8192 --op f32_32x32x16_fp8_fp8 --op f32_16x16x32_fp8_fp8 --device MI325X --json",
    ),
)
@click.option("--op", "names", required=True, multiple=True, metavar="OP", help="An instruction; may be repeated.")
@_problem
@memory_options
@click.option("--top", type=int, default=10, show_default=True, metavar="N", help="How many to print.")
@as_json
def tune(
    names: tuple[str, ...], m: int | None, n: int | None, k: int | None, batch: int, split_k: int, device: str,
    clock: float | None, memory: Memory, top: int, as_json: bool,
) -> None:  # fmt: skip
    """Rank the legal policies of an instruction for a problem.

    The model is that of `mfma gemm`: published rates and a few assumptions, no measurement.
    """
    if m is None or n is None or k is None:
        raise click.UsageError("Give the sizes -m, -n and -k.")

    from mfma.cli.progress import progress_bar
    from mfma.gemm import tune as search

    found: list[Candidate] = []
    for name in names:
        with progress_bar(name) as bar:
            more = search(m, n, k, name, device, batch=batch, split_k=split_k, clock_mhz=clock, memory=memory, top=top,
                          progress=bar)  # fmt: skip
        found += more
    found.sort(key=lambda candidate: candidate.report.cycles)
    if as_json:
        click.echo(json({"device": device, "candidates": [candidate.as_dict() for candidate in found[:top]]}))
        return
    click.echo(_ranking(found[:top]))


def _ranking(found: list[Candidate]) -> str:
    header = ("µs", "of peak", "bound by", "op", "tile", "buffers", "row", "waves", "tiles", "blocks", "kwidth", "LDS")
    rows = tuple(_row(candidate) for candidate in found)
    return text(Table(header, rows, labels=0), 140)


def _row(candidate: Candidate) -> tuple[str | int | float, ...]:
    report, tile, policy = candidate.report, candidate.gemm.tile, candidate.gemm.compute
    padding, swizzle = tile.layout_a(policy).padding, tile.layout_a(policy).swizzle
    return (
        *(round(report.seconds * 1e6, 1), f"{report.share_of_peak:.1%}", report.bound, policy.op.name),
        f"{tile.block_tile_m}x{tile.block_tile_n}x{tile.k_tile_size}",
        "direct" if tile.direct else BUFFERS[tile.num_buffers - 1],
        f"swizzle {swizzle}" if swizzle else f"padding {padding}" if padding else "plain",
        *(f"{policy.waves_m}x{policy.waves_n}", f"{policy.tiles_m}x{policy.tiles_n}"),  # type: ignore[attr-defined]
        *(str(policy.placement) if policy.op.blocks > 1 else "-", policy.kwidth, report.lds_bytes),  # type: ignore[attr-defined]
    )
