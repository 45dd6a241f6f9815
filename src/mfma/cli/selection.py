"""Questions about lists of instructions: ``choose``, ``targets``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mfma.cli.options import as_json, target
from mfma.cli.shell import Command
from mfma.render import Table, fields, json, text

if TYPE_CHECKING:
    from mfma.isa.choice import Choice
    from mfma.isa.differences import Differences
    from mfma.isa.targets import Listing, Target

__all__ = ["choose", "targets"]


@click.command(
    cls=Command,
    examples=(
        "mfma choose -m 4096 -n 4096 -k 4096 --a f16",
        "mfma choose -m 16 -n 64 -k 128 --a fp8 --b bf8 --exact",
        "mfma choose -m 64 -n 64 -k 64 --a f16 --target gfx950",
    ),
)
@click.option("-m", "--m", type=int, required=True, metavar="M", help="Rows of A.")
@click.option("-n", "--n", type=int, required=True, metavar="N", help="Columns of B.")
@click.option("-k", "--k", type=int, required=True, metavar="K", help="Columns of A, rows of B.")
@click.option("--a", required=True, metavar="TYPE", help="Type of A: f64, f32, xf32, f16, bf16, fp8, bf8, i8.")
@click.option("--b", metavar="TYPE", help="Type of B; by default that of A.")
@click.option("--out", metavar="TYPE", help="Type of the accumulator; any by default.")
@click.option("--batch", type=int, default=1, metavar="N", help="Independent products.  [default: 1]")
@click.option("--exact", is_flag=True, help="Only instructions whose tiles fill the product without padding.")
@target
@as_json
def choose(as_json: bool, exact: bool, **asked: Any) -> None:
    """Rank the instructions for a product, with reasons.

    Fewest passes of a matrix core first, then fewest registers of A and B read, then fewest blocks. Padding is the
    share of the multiply-adds that is spent on it; registers are those of a lane for one instruction.
    """
    from mfma.isa.choice import choose as ranked

    choice = ranked(**asked, pad=not exact)
    click.echo(
        json(_choice_facts(choice)) if as_json else f"{choice.product} on {choice.target}\n{_choice_text(choice)}"
    )


def _choice_facts(choice: Choice) -> list[dict[str, Any]]:
    return [
        {
            "name": str(candidate),
            "passes": candidate.passes,
            "instructions": candidate.instructions,
            "padding": candidate.padding,
            "operand_vgprs": candidate.operand_vgprs,
            "accumulator_vgprs": candidate.accumulator_vgprs,
            "blocks": candidate.listing.blocks,
            "reason": reason,
        }
        for candidate, reason in zip(choice.candidates, choice.reasons, strict=True)
    ]


def _choice_text(choice: Choice) -> str:
    rows = tuple(
        (str(x), x.passes, f"{x.padding:.0%}", f"{x.operand_vgprs}, {x.accumulator_vgprs}", reason)
        for x, reason in zip(choice.candidates, choice.reasons, strict=True)
    )
    return text(Table(("name", "passes", "padding", "AB, CD", "why"), rows))


@click.command(
    cls=Command,
    examples=(
        "mfma targets",
        "mfma targets gfx90a",
        "mfma targets f32_32x32x4bf16",
        "mfma targets --diff gfx90a gfx942",
    ),
)
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--diff", nargs=2, metavar="OLD NEW", help="What the lists of two targets do not share.")
@as_json
def targets(name: str | None, diff: tuple[str, str] | None, as_json: bool) -> None:
    """Say which builtins exist on which target.

    List the targets, the builtins of one, where a builtin exists, or what differs between two.

    NAME is a target, or a builtin by any of its names. Where it does not exist the answer says what to use instead
    and what clang says of the call.
    """
    from mfma.isa.differences import availability, differences
    from mfma.isa.targets import TARGETS
    from mfma.isa.targets import target as find

    if diff and name:
        raise click.UsageError("Give NAME or --diff, not both.")
    if diff:
        found = differences(*diff)
        click.echo(json(_difference_facts(found)) if as_json else _difference_text(found))
    elif name is None:
        every = tuple(TARGETS.values())
        click.echo(json([_target_facts(on) for on in every]) if as_json else _targets_text(every))
    elif name.lower().startswith("gfx"):
        on = find(name)
        facts = _target_facts(on) | {"builtins": [_listing_facts(x) for x in on.listings]}
        click.echo(json(facts) if as_json else _target_text(on))
    else:
        answers = availability(name)
        plain = [{"target": str(x.target), "available": x.reason is None, "reason": x.reason} for x in answers]
        click.echo(json(plain) if as_json else fields([(str(x.target), x.reason or "yes") for x in answers]))


def _targets_text(every: tuple[Target, ...]) -> str:
    rows = tuple(
        (
            on.name,
            on.architecture,
            len(on.dense),
            len(on.sparse),
            on.fp8.dtype if on.fp8 else "-",
            ", ".join(on.devices),
        )
        for on in every
    )
    return text(Table(("target", "architecture", "dense", "sparse", "fp8 is", "devices"), rows))


def _target_text(on: Target) -> str:
    rows = tuple((str(x), x.blocks, _cycles(x), x.operations, x.feature) for x in on.listings)
    table = text(Table(("name", "blocks", "cycles", "operations", "feature"), rows))
    return f"{on}: {on.architecture}, {', '.join(on.devices)}\n{table}"


def _target_facts(on: Target) -> dict[str, Any]:
    return {
        "name": on.name,
        "architecture": on.architecture,
        "devices": list(on.devices),
        "dense": len(on.dense),
        "sparse": len(on.sparse),
        "fp8": on.fp8.dtype if on.fp8 else None,
        "bf8": on.bf8.dtype if on.bf8 else None,
    }


def _listing_facts(listing: Listing) -> dict[str, Any]:
    return {
        "name": str(listing),
        "builtin": listing.builtin,
        "blocks": listing.blocks,
        "cycles": listing.cycles,
        "cycles_8bit": listing.cycles_8bit,
        "operations": listing.operations,
        "feature": listing.feature,
    }


def _cycles(listing: Listing) -> str:
    return str(listing.cycles) + (f" ({listing.cycles_8bit} of 8 bits)" if listing.cycles_8bit else "")


def _difference_facts(found: Differences) -> dict[str, Any]:
    return {
        "old": str(found.old),
        "new": str(found.new),
        "added": list(map(str, found.added)),
        "dropped": [{"name": str(x), "instead": found.instead(x)} for x in found.dropped],
        "changed": [{"name": str(x.new), "what": list(x.what)} for x in found.changed],
        "notes": list(found.notes),
    }


def _difference_text(found: Differences) -> str:
    parts = [
        (f"{found.new} has in addition", "\n".join(map(str, found.added))),
        (f"{found.new} lacks", "\n".join(found.instead(x) for x in found.dropped)),
        ("has changed", "\n".join(map(str, found.changed))),
        ("besides", "\n".join(found.notes)),
    ]
    return fields([(title, body or "nothing") for title, body in parts])
