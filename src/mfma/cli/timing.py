"""How long instructions take: ``roofline``, ``timeline``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from mfma.cli.options import as_json
from mfma.cli.shell import Command
from mfma.render import fields, json

if TYPE_CHECKING:
    from mfma.timing.roofline import Roofline
    from mfma.timing.timeline import Timeline

__all__ = ["roofline", "timeline"]

ROOFLINE = (
    *("m", "n", "k", "batch", "read_c", "instructions", "operations", "padded_operations", "useful", "bytes"),
    *("intensity", "ridge", "bound", "tflops", "seconds", "compute_seconds", "chain_seconds", "memory_seconds"),
)
TIMELINE = ("cycles", "result_cycles", "matrix_cycles", "utilisation", "operations")


@click.command(
    cls=Command,
    examples=(
        "mfma roofline 4096 4096 4096 --op f32_32x32x8f16",
        "mfma roofline 8192 16 8192 --op f32_16x16x32_fp8_fp8 --device MI325X --json",
    ),
)
@click.argument("m", type=int, metavar="M")
@click.argument("n", type=int, metavar="N")
@click.argument("k", type=int, metavar="K")
@click.option("--op", "name", required=True, metavar="OP", help="The matrix instruction.")
@click.option("--device", default="MI300X", show_default=True, help="MI300X, MI300A or MI325X.")
@click.option("--clock", type=float, metavar="MHZ", help="Engine clock; by default the device's peak clock.")
@click.option("--batch", type=int, default=1, show_default=True, help="How many products of this size.")
@click.option("--read-c", is_flag=True, help="Count C as read from memory too.")
@as_json
def roofline(
    m: int, n: int, k: int, name: str, device: str, clock: float | None, batch: int, read_c: bool, as_json: bool
) -> None:
    """Say whether compute or memory bounds a product.

    Counts the instructions with padding, the bytes in the formats of the instruction, and the least time of the matrix
    cores and of the memory.
    """
    from mfma.timing.roofline import roofline as of

    line = of(m, n, k, name, device, batch=batch, read_c=read_c, clock_mhz=clock)
    if as_json:
        click.echo(json(_roofline_facts(line)))
        return
    head = f"{m} x {n} x {k} with {line.op} on {line.device}: bound by {line.bound}"
    pairs = (*line.formulas, ("sources", line.source.replace("; ", "\n")))
    click.echo(f"{head}\n{fields(pairs, indent='  ')}")


def _roofline_facts(line: Roofline) -> dict[str, Any]:
    return {
        "op": line.op.name,
        "device": line.device.name,
        "clock_mhz": line.peak.clock_mhz,
        "unit": line.peak.unit,
        **{name: getattr(line, name) for name in ROOFLINE},
        "formulas": dict(line.formulas),
        "source": line.source,
    }


def _lines(context: click.Context, option: click.Parameter, value: str | None) -> tuple[int, int | None]:
    """Read ``--lines FIRST-LAST``."""
    if value is None:
        return 1, None
    numbers = re.fullmatch(r"(\d+)-(\d+)", value)
    if numbers is None:
        raise click.BadParameter(f"{value!r} is not FIRST-LAST, as in 10-40.", context, option)
    return int(numbers[1]), int(numbers[2])


@click.command(
    cls=Command,
    examples=(
        "mfma timeline kernel.s",
        "mfma timeline kernel.s --lines 2-3 --iterations 2 --format svg",
        "mfma timeline kernel.s --json",
    ),
)
@click.argument("file", type=click.File(encoding="utf-8", errors="replace"), metavar="FILE.s|-")
@click.option("--lines", callback=_lines, metavar="FIRST-LAST", help="These lines only: the body of a loop, say.")
@click.option("--iterations", type=int, default=1, show_default=True, help="Repeat the sequence, as a loop does.")
@click.option("--format", "format_", type=click.Choice(["text", "svg"]), default="text", show_default=True)
@click.option("-o", "--output", type=click.File("w", encoding="utf-8", lazy=True), default="-", metavar="FILE")
@as_json
def timeline(
    file: Any, lines: tuple[int, int | None], iterations: int, format_: str, output: Any, as_json: bool
) -> None:
    """Draw how assembly issues on one SIMD, cycle by cycle.

    Shows when the matrix core is busy, when results can be read, which VALU instructions run beside it and which wait
    states are missing. Branches are not followed. What the model takes for granted stands below, with its sources.
    """
    from mfma.asm.timeline import steps
    from mfma.timing.timeline import ASSUMPTIONS
    from mfma.timing.timeline import timeline as of

    drawn = of(steps(file.read(), *lines), iterations=iterations)
    if as_json:
        click.echo(json(_timeline_facts(drawn)), file=output)
    elif format_ == "svg":
        click.echo(drawn.svg(), file=output)
    else:
        click.echo(f"{drawn.text()}\n\nThis takes for granted:\n{fields(ASSUMPTIONS, indent='  ')}", file=output)


def _timeline_facts(drawn: Timeline) -> dict[str, Any]:
    from mfma.timing.timeline import ASSUMPTIONS, SLOT

    used, room = drawn.coexecution
    return {
        **{name: getattr(drawn, name) for name in TIMELINE},
        "missing_wait_states": drawn.missing,
        "coexecution": {"used": used, "available": room},
        "issues": [
            {
                "instruction": issue.step.text,
                "unit": issue.step.unit.value,
                "cycle": issue.cycle,
                "unit_free_cycle": issue.free * SLOT,
                "result_cycle": issue.result * SLOT,
                "missing_wait_states": issue.missing,
                "reason": issue.reason,
                "blocked_cycles": issue.blocked * SLOT,
                "blocked_by": issue.blocker,
            }
            for issue in drawn.issues
        ],
        "assumptions": dict(ASSUMPTIONS),
    }
