"""Look up instructions: ``list``, ``show``, ``peak``, ``errata``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from mfma.cli.options import as_json, instruction, target
from mfma.cli.shell import Command
from mfma.render import Table, fields, json, paragraph, text

if TYPE_CHECKING:
    from mfma.isa.spec import MatrixOp

__all__ = ["errata", "list_", "peak", "show"]


@click.command("list", cls=Command, examples=("mfma list", "mfma list --sparse --json"))
@target
@click.option("--sparse", is_flag=True, help="List the sparse instructions (v_smfmac).")
@as_json
def list_(target: str, sparse: bool, as_json: bool) -> None:
    """List the instructions with shape, types, registers and cycles.

    A name is the compiler builtin's without its prefix; a shape is blocks x M x N x K; types and VGPRs of a lane are
    those of A, B and C, and D is like C. Four cycles are a pass; ops counts multiplications and additions.
    """
    from mfma.cli.facts import summary
    from mfma.isa import catalogue

    records = catalogue.sparse_ops(target) if sparse else catalogue.ops(target)
    if as_json:
        click.echo(json([summary(op) for op in records]))
        return
    header = ("name", "mnemonic", "shape", "types", "VGPRs", "cycles", "ops")
    click.echo(text(Table(header, tuple(_row(op) for op in records))))


def _row(op: MatrixOp) -> tuple[str | int, ...]:
    registers = op.registers
    shape = f"{op.blocks}x{op.m}x{op.n}x{op.k}"
    vgprs = f"{registers.a.vgprs} {registers.b.vgprs} {registers.cd.vgprs}"
    return op.name, op.mnemonic, shape, f"{op.a} {op.b} {op.out}", vgprs, op.cycles, op.operations


@click.command(cls=Command, examples=("mfma show f32_32x32x8f16", "mfma show v_mfma_f64_4x4x4_4b_f64 --json"))
@instruction(sparse=True)
@as_json
def show(op: MatrixOp, as_json: bool) -> None:
    """Show all that is known about one instruction.

    Names, C signature, registers, cycles, peaks, legal modifiers, layouts, how it adds up, and how well each of
    these is established.
    """
    from mfma.cli.describe import describe
    from mfma.cli.facts import facts

    click.echo(json(facts(op)) if as_json else describe(op))


@click.command(
    cls=Command,
    examples=(
        "mfma peak f32_32x32x8f16",
        "mfma peak f32_32x32x8f16 --device MI300A --clock 1900",
        "mfma peak",
        "mfma peak --device MI300A",
    ),
)
@click.argument("name", metavar="[OP]", required=False)
@click.option("--device", help="MI300X, MI300A or MI325X; MI300X by default.")
@click.option("--clock", type=float, metavar="MHZ", help="Engine clock; by default the device's peak clock.")
@click.option("--sparse", is_flag=True, help="OP is a sparse instruction (v_smfmac).")
@as_json
def peak(name: str | None, device: str | None, clock: float | None, sparse: bool, as_json: bool) -> None:
    """Compute peak throughput, with its formula.

    Without OP it is a table of all instructions, with one column for every device or, given --device, for that one.
    The formula counts every matrix core of the device.
    """
    from mfma.cli.facts import peak_facts
    from mfma.isa import catalogue
    from mfma.timing.devices import device as find_device
    from mfma.timing.peak import peak as peak_of

    if name is None and device is None and clock is None:
        from mfma.cli.facts import throughput_facts
        from mfma.timing.throughput import table, throughputs

        rates = throughputs(sparse=sparse)
        click.echo(json([throughput_facts(rate) for rate in rates]) if as_json else text(table(rates), 130))
        return
    gpu = find_device(device or "MI300X")
    if name is not None:
        one = peak_of(catalogue.find(name, gpu.target, sparse=sparse), gpu, clock)
        pairs = [
            ("peak", one.formula),
            ("per CU and cycle", f"{one.per_cu_per_cycle} operations"),
            ("sources", one.source.replace("; ", "\n")),
        ]
        click.echo(json(peak_facts(one)) if as_json else f"{one.op} on {one.device}\n{fields(pairs, indent='  ')}")
        return
    records = catalogue.sparse_ops(gpu.target) if sparse else catalogue.ops(gpu.target)
    peaks = [peak_of(op, gpu, clock) for op in records]
    if as_json:
        click.echo(json([peak_facts(one) for one in peaks]))
        return
    rows = tuple(
        (p.op.name, p.op.operations, p.op.cycles, p.per_cu_per_cycle, f"{p.tflops:.1f} {p.unit}") for p in peaks
    )
    click.echo(
        f"{gpu}: {gpu.compute_units} CUs, {gpu.matrix_cores_per_cu} matrix cores each, {peaks[0].clock_mhz:g} MHz"
    )
    click.echo(text(Table(("name", "operations", "cycles", "per CU and cycle", "peak"), rows)))


@click.command(cls=Command, examples=("mfma errata", "mfma errata page-peak-formula", "mfma errata --json"))
@click.argument("id", metavar="[ID]", required=False)
@as_json
def errata(id: str | None, as_json: bool) -> None:
    """List errors of the ROCm page and of vendor tools.

    Each with what is right and how that is known.
    """
    from mfma.isa.errata import errata as all_errata
    from mfma.isa.errata import erratum

    items = all_errata() if id is None else (erratum(id),)
    if as_json:
        click.echo(json([asdict(item) for item in items]))
        return
    click.echo(
        "\n\n".join(
            f"{item.id}\n"
            + fields(
                [("where", item.where), ("says", item.says), ("right", item.truth), ("known from", item.how_known)],
                indent="  ",
            )
            for item in items
        )
    )
    if id is None:
        click.echo(f"\n{paragraph(f'{len(items)} errata. An id never changes; `mfma errata ID` shows one.')}")
