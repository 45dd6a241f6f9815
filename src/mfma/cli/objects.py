"""``objects``: what is in a compiled file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from mfma.cli.options import as_json
from mfma.cli.shell import Command
from mfma.render import Cell, Table, fields, json, text

if TYPE_CHECKING:
    from mfma.codeobject import CodeObject, Entry, Kernel, Symbol

__all__ = ["objects"]

DEVICE = "gfx942"


@click.command(
    cls=Command,
    examples=(
        "mfma objects kernel.co",
        "mfma objects kernel.co --json",
    ),
)
@click.argument("file")
@as_json
def objects(file: str, as_json: bool) -> None:
    """List the code objects in a compiled file, and their kernels.

    FILE is a code object (of clang --offload-device-only, or Triton's hsaco), an offload bundle, or a HIP program or
    object file. Of every code object that gfx942 runs, the kernels follow with their registers, memory and arguments,
    then the constants and variables that have names.
    """
    from mfma.codeobject import read_objects

    found = [(entry, _loaded(entry)) for entry in read_objects(file)]
    if as_json:
        click.echo(json([_data(entry, item) for entry, item in found]))
        return
    rows = tuple((entry.target or entry.triple, entry.kind, len(entry.data)) for entry, _ in found)
    click.echo(text(Table(("target", "kind", "bytes"), rows)))
    for _, item in found:
        if item is not None:
            click.echo("\n" + "\n\n".join(_described(item)))


def _loaded(entry: Entry) -> CodeObject | None:
    from mfma.codeobject import open_entry

    return open_entry(entry) if entry.target and entry.runs_on(DEVICE) else None


def _described(item: CodeObject) -> Iterator[str]:
    features = ", ".join(f"{name} {setting}" for name, setting in item.features.items())
    yield fields(
        [
            ("code object", f"{item.target}, version {item.version}"),
            ("features", features),
            ("image", f"{len(item.image):,} bytes"),
            ("relocations", str(len(item.relocations))),
        ]
    )
    if item.kernels:
        yield text(
            Table(tuple(_summary(next(iter(item.kernels.values())))), tuple(map(_values, item.kernels.values())))
        )
    for kernel in item.kernels.values():
        if kernel.arguments:
            yield f"{kernel} takes\n" + text(_trimmed(_arguments(kernel)), indent="  ")
    rows = tuple((f"{s.address:#x}", s.size, "yes" if writable else "no", s.name) for s, writable in _objects(item))
    if rows:
        yield text(Table(("address", "bytes", "writable", "object"), rows))


def _values(kernel: Kernel) -> tuple[Cell, ...]:
    return tuple(_summary(kernel).values())


def _summary(kernel: Kernel) -> dict[str, Cell]:
    required = kernel.required_workgroup_size
    return {
        "kernel": str(kernel),
        "VGPRs": kernel.vgpr_count,
        "AGPRs": kernel.agpr_count,
        "SGPRs": kernel.sgpr_count,
        "LDS": kernel.lds_size,
        "scratch": f"{kernel.scratch_size}+" if kernel.dynamic_stack else kernel.scratch_size,
        "arguments": kernel.kernarg_size,
        "work-group": "x".join(map(str, required)) if required else f"up to {kernel.max_workgroup_size}",
    }


def _arguments(kernel: Kernel) -> Table:
    return Table(
        ("offset", "bytes", "kind", "name", "type"),
        tuple((a.offset, a.size, str(a.kind), a.name, a.type_name) for a in kernel.arguments),
        labels=2,
    )


def _trimmed(table: Table) -> Table:
    """Leave out the columns at the end that are empty."""
    kept = max(n for n, column in enumerate(zip(*table.rows, strict=True)) if any(cell != "" for cell in column)) + 1
    return Table(table.header[:kept], tuple(row[:kept] for row in table.rows), table.labels)


def _objects(item: CodeObject) -> Iterator[tuple[Symbol, bool]]:
    """Yield the constants and variables, and whether each may be written; descriptors are told with their kernels."""
    descriptors = {kernel.symbol for kernel in item.kernels.values()}
    for symbol in item.objects.values():
        segment = item.segment_at(symbol.address)
        if symbol not in descriptors and segment is not None:
            yield symbol, segment.writable


def _data(entry: Entry, item: CodeObject | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "target": entry.target,
        "triple": entry.triple,
        "kind": entry.kind,
        "bytes": len(entry.data),
    }
    if item is not None:
        found |= {
            "version": item.version,
            "features": item.features,
            "image_bytes": len(item.image),
            "relocations": len(item.relocations),
            "kernels": [_kernel(kernel) for kernel in item.kernels.values()],
            "objects": [
                {"name": symbol.name, "address": symbol.address, "bytes": symbol.size, "writable": writable}
                for symbol, writable in _objects(item)
            ],
        }
    return found


def _kernel(kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "demangled": str(kernel),
        "entry": kernel.entry,
        "vgpr_count": kernel.vgpr_count,
        "agpr_count": kernel.agpr_count,
        "sgpr_count": kernel.sgpr_count,
        "lds_size": kernel.lds_size,
        "scratch_size": kernel.scratch_size,
        "dynamic_stack": kernel.dynamic_stack,
        "kernarg_size": kernel.kernarg_size,
        "kernarg_alignment": kernel.kernarg_alignment,
        "max_workgroup_size": kernel.max_workgroup_size,
        "required_workgroup_size": kernel.required_workgroup_size,
        "uniform_work_group_size": kernel.uniform_work_group_size,
        "arguments": [
            {"offset": a.offset, "size": a.size, "kind": str(a.kind), "name": a.name, "type": a.type_name}
            for a in kernel.arguments
        ],
    }
