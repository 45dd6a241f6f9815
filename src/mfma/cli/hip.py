"""``mfma hip``: a kernel as a HIP program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mfma.cli.gemm import BUFFERS, kernel_of, memory_options, sizes
from mfma.cli.options import target
from mfma.cli.shell import Command

if TYPE_CHECKING:
    from mfma.gemm import Memory

__all__ = ["hip"]


@click.command(
    cls=Command,
    examples=(
        "mfma hip --op f32_16x16x8_xf32 --tile 32x32x8 --waves 2x2 -o matrix_multiply_cdna3_mfma.hip",
        "mfma hip --op f32_32x32x8f16 --tile 128x128x32 --waves 2x2 --buffers double --padding 4",
        "mfma hip --op f32_32x32x16_fp8_fp8 --tile 64x64x64 --buffers direct --swizzle 16 --b-order column",
        "mfma hip --op f32_32x32x8f16 --tile 64x64x16 --a-format f32 --b-format f32 --d-format f16",
        "mfma hip --op f32_4x4x4f16 --tile 64x16x16 --waves 1x4 --placement m --device-only",
    ),
)
@click.option("--op", "name", metavar="OP", help="The matrix instruction.")
@click.option("--scalar", metavar="MxN", callback=sizes(2), help="No instruction: MxN outputs a thread, by v_fma_f32.")
@target
@click.option("--tile", required=True, metavar="MxNxK", callback=sizes(3), help="Block of a work-group, strip of K.")
@click.option("--waves", default="1x1", show_default=True, metavar="MxN", callback=sizes(2), help="Waves of a block.")
@click.option("--placement", default="m", show_default=True, help="Blocks of the instruction: m, n, batch or k.")
@click.option("--buffers", type=click.Choice(BUFFERS), default="single", show_default=True, help="The tile policy.")
@click.option("--padding", type=int, default=0, metavar="N", help="Unused elements at the end of a row in LDS.")
@click.option("--swizzle", type=int, default=0, metavar="N", help="Elements of a chunk that XOR moves; 0 is none.")
@click.option("--kwidth", type=int, metavar="W", help="Each lane loads W consecutive k (Triton's kpack).")
@memory_options
@click.option("--device-only", is_flag=True, help="Only the kernels, which need no header.")
@click.option("-o", "--output", metavar="FILE.hip", help="The program; standard output by default.")
def hip(memory: Memory, kwidth: int | None, device_only: bool, output: str | None, **policies: Any) -> None:
    """Write a kernel as a HIP program that verifies and times itself.

    The options are those of `mfma gemm`. On a CDNA3 GPU the program uses the matrix instruction, on any other fused
    multiply-adds. It checks all bits of a small product, random operands of ragged sizes, and a sample of what it
    times; it prints PASSED or FAILED, and its exit code is 1 on the latter.
    """
    from mfma.gemm.hip import hip as program

    kernel = kernel_of(memory, kwidth, **policies)
    text = program(kernel.tile, kernel.compute, kernel.memory, device_only=device_only)
    if output is None:
        click.echo(text, nl=False)
        return
    from mfma.cli.files import replacing

    with replacing(output) as file:
        file.write(text.encode())
    click.echo(output)
