"""Questions about placement: ``where``, ``chain``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from mfma.cli.options import Function, as_json, instruction, modifiers, target
from mfma.cli.shell import Command
from mfma.render import Cell, Table, fields, json, paragraph, text

if TYPE_CHECKING:
    from mfma.isa.spec import MatrixOp
    from mfma.layout.chaining import Chain, Source
    from mfma.layout.moves import Move, Pull
    from mfma.layout.queries import Holding, Part, Runs

__all__ = ["chain", "where"]


def span(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Parse indices: ``3``, ``0:8`` (the 8 not included), or several of these separated by commas."""
    if value is None:
        return None
    found: list[int] = []
    try:
        for item in value.split(","):
            first, colon, end = item.partition(":")
            found += range(int(first), int(end)) if colon else [int(first)]
    except ValueError:
        found = []
    if not found:
        raise click.BadParameter(f"{value!r} names no indices; write 3, 0:8 (the 8 not included) or 0:4,8:12.")
    return tuple(found)


def _indices(name: str, help: str) -> Callable[[Function], Function]:
    return click.option(name, metavar="INDICES", callback=span, help=help)


@click.command(
    cls=Command,
    examples=(
        "mfma where f32_32x32x8f16 D --columns 0:8",
        "mfma where f32_16x16x32_fp8_fp8 B --rows 3:13",
        "mfma where f32_16x16x16f16 D --vgprs 0",
        "mfma where f32_32x32x8f16 D --lanes 39",
    ),
)
@instruction(sparse=True)
@click.argument("matrix")
@_indices("--rows", help="Rows: i of A, C and D, k of B.")
@_indices("--columns", help="Columns: k of A, j of B, C and D.")
@_indices("--block", help="Blocks.")
@_indices("--lanes", help="The other way round: what these lanes hold.")
@_indices("--vgprs", help="The other way round: what these registers hold.")
@modifiers
@as_json
def where(
    op: MatrixOp,
    matrix: str,
    rows: tuple[int, ...] | None,
    columns: tuple[int, ...] | None,
    block: tuple[int, ...] | None,
    lanes: tuple[int, ...] | None,
    vgprs: tuple[int, ...] | None,
    cbsz: int,
    abid: int,
    blgp: int,
    as_json: bool,
) -> None:
    """Find the registers of rows and columns, or the reverse.

    Which lanes and registers hold some rows and columns, or which elements some lanes and registers hold.

    MATRIX is A, B, C or D. INDICES are 3, 0:8 (the 8 not included) or 0:4,8:12; what is left out is all. Registers
    count from the operand's first: v[15:0] is the first 16, v0.[15:0] the lower half of one.
    """
    from mfma.layout import layout, queries

    placed = layout(op, matrix.upper(), cbsz, abid, blgp)
    _, row, column = placed.pattern.coordinates
    cells: tuple[tuple[Cell, ...], ...]
    if lanes is None and vgprs is None:
        chosen: dict[str, Any] = {"block": block, row: rows, column: columns}
        holdings = queries.where(op, placed.matrix, **chosen, cbsz=cbsz, abid=abid, blgp=blgp)
        facts = [_holding_facts(holding) for holding in holdings]
        header = ("lanes", "elements a lane", "registers")
        cells = tuple((queries.spell(x.lanes), x.elements, ", ".join(map(str, x.registers))) for x in holdings)
    elif rows or columns or block:
        raise click.UsageError("Give rows, columns and blocks, or lanes and registers, not both.")
    else:
        parts = queries.contents(op, placed.matrix, lanes=lanes, vgprs=vgprs, cbsz=cbsz, abid=abid, blgp=blgp)
        facts = [_part_facts(part) for part in parts]
        header = ("blocks", f"rows ({row})", f"columns ({column})")
        cells = tuple(tuple(map(queries.spell, (x.blocks, x.rows, x.columns))) for x in parts)
    if as_json:
        click.echo(json(facts))
    else:
        click.echo(text(Table(header, cells)) if cells else "none: with these modifiers nothing is read from there")


def _holding_facts(holding: Holding) -> dict[str, Any]:
    registers = [
        {"vgprs": _ends((bits.vgprs,))[0], "high_bit": bits.high_bit, "low_bit": bits.low_bit}
        for bits in holding.registers
    ]
    return {"lanes": _ends(holding.lanes), "elements": holding.elements, "registers": registers}


def _part_facts(part: Part) -> dict[str, Any]:
    return {"blocks": _ends(part.blocks), "rows": _ends(part.rows), "columns": _ends(part.columns)}


def _ends(found: Runs) -> list[list[int]]:
    """First and last of every run."""
    return [[run[0], run[-1]] for run in found]


@click.command(
    cls=Command,
    examples=(
        "mfma chain f32_32x32x8f16 f32_32x32x8f16",
        "mfma chain f32_16x16x16f16 f32_16x16x32_fp8_fp8 --operand A --transposed",
        "mfma chain f32_16x16x16f16 f32_16x16x32_fp8_fp8 --operand A --transposed --moves",
    ),
)
@click.argument("first", metavar="OP1")
@click.argument("second", metavar="OP2")
@click.option("--operand", type=click.Choice(["A", "B"], case_sensitive=False), help="The operand that D becomes.")
@click.option(
    "--transposed/--plain", default=None, help="D transposed, as swapped operands of OP1 give it, or D itself."
)
@click.option("--moves", is_flag=True, help="List the lane moves that keep k ascending.")
@target
@as_json
def chain(
    first: str, second: str, operand: str | None, transposed: bool | None, moves: bool, target: str, as_json: bool
) -> None:
    """Say whether D of one op can be A or B of another.

    Directly, under another order of k (which the other operand must follow, and which may change the rounding), or by
    moves between lanes. Elements are converted where they lie and packed with their neighbours.
    """
    from mfma.layout.chaining import chains

    ways = [
        way
        for way in chains(first, second, target)
        if operand in (None, way.operand) and transposed in (None, way.transposed)
    ]
    if as_json:
        click.echo(json([_chain_facts(way, moves) for way in ways]))
    elif len(ways) > 1 and not moves:
        click.echo(f"D of {ways[0].first} for {ways[0].second}")
        rows = tuple((way.operand, "D transposed" if way.transposed else "D", way.verdict) for way in ways)
        click.echo(text(Table(("as", "of", "answer"), rows)))
    else:
        click.echo("\n\n".join(_chain_text(way, moves) for way in ways))


def _chain_text(way: Chain, moves: bool) -> str:
    pairs = [
        ("conversion", way.conversion or "none"),
        ("takes part", f"{way.tiles} D of the first, {way.instructions} of the second instruction, k 0..{way.k - 1}"),
        ("rounded together", _rounded(way, way.groups_before)),
    ]
    if way.changes_rounding:
        pairs.append(("in that order", _rounded(way, way.groups_after)))
    parts = [paragraph(str(way)), fields(pairs, indent="  ")]
    if way.feeds:
        fed = tuple((x.instruction, f"v{x.vgpr}", _registers(way, x.sources)) for x in way.feeds)
        parts.append(text(Table(("instruction", way.operand, "from registers of D"), fed), indent="  "))
    if moves and way.moves:
        header = ("instruction", way.operand, "elements", "of D", "with", "receiving lanes <- source lanes")
        pulled = tuple(_pull_row(way, move, pull) for move in way.moves for pull in move.pulls)
        parts.append(text(Table(header, pulled), indent="  "))
    return "\n\n".join(parts)


def _rounded(way: Chain, groups: tuple[tuple[int, ...], ...]) -> str:
    from mfma.layout.chaining import spell_order

    if way.second.out.is_integer:
        return "nothing: sums of integers are exact"
    if all(len(group) == 1 for group in groups):
        return f"every k by itself, in the order {spell_order(tuple(k for group in groups for k in group))}"
    return "; ".join(map(spell_order, groups))


def _registers(way: Chain, sources: Iterable[Source]) -> str:
    """Write registers of D, with the number of the D if there are several."""
    return "; ".join(
        f"D {tile}: " * (way.tiles > 1) + ", ".join(f"v{source.vgpr}" for source in group)
        for tile, group in groupby(sources, lambda source: source.tile)
    )


def _pull_row(way: Chain, move: Move, pull: Pull) -> tuple[str | int, ...]:
    elements = f"{move.first}..{move.first + move.count - 1}" if move.count > 1 else str(move.first)
    sources = _registers(way, map(way.source, pull.slots))
    return move.instruction, f"v{move.vgpr}", elements, sources, pull.means, _lanes(pull)


def _lanes(pull: Pull) -> str:
    """Write a pull's lanes as stretches in which both count up: ``0..15 <- 32..47``."""
    stretches: list[list[tuple[int, int]]] = []
    for lane, source in pull.lanes:
        if stretches and stretches[-1][-1] == (lane - 1, source - 1):
            stretches[-1].append((lane, source))
        else:
            stretches.append([(lane, source)])
    return ", ".join(" <- ".join(_stretch(*ends) for ends in zip(s[0], s[-1], strict=True)) for s in stretches)


def _stretch(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}..{last}"


def _chain_facts(way: Chain, moves: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "first": way.first.name,
        "second": way.second.name,
        "operand": way.operand,
        "transposed": way.transposed,
        "verdict": way.verdict,
        "direct": way.direct,
        "k_order": None if way.k_order is None else list(way.k_order),
        "changes_rounding": way.changes_rounding,
        "groups_before": way.groups_before,
        "groups_after": way.groups_after,
        "conversion": way.conversion,
        "tiles": way.tiles,
        "instructions": way.instructions,
        "feeds": [
            {"instruction": x.instruction, "vgpr": x.vgpr, "sources": [s._asdict() for s in x.sources]}
            for x in way.feeds
        ],
        "pulls": way.pulls,
        "whole_registers": way.whole_registers,
        "lds_accesses": way.lds_accesses,
    }
    if moves:
        facts["moves"] = [
            {
                "instruction": move.instruction,
                "vgpr": move.vgpr,
                "first_element": move.first,
                "elements": move.count,
                "source_lanes": move.source_lanes,
                "pulls": [
                    {
                        "sources": [way.source(slot)._asdict() for slot in pull.slots],
                        "lanes": [lane for lane, _ in pull.lanes],
                        "means": pull.means,
                    }
                    for pull in move.pulls
                ],
            }
            for move in way.moves
        ]
    return facts
