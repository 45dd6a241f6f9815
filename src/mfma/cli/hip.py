"""``mfma hip``: a kernel as a HIP program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mfma.cli.gemm import kernel_of, memory_options, policy_options
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
@policy_options
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
