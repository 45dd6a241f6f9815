"""Arguments and options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from mfma.matrices.order import KOrder

__all__ = ["as_json", "instruction", "integers", "k_order", "modifiers", "order", "target"]

Function = Callable[..., Any]

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
target = click.option("--target", default="gfx942", show_default=True, help="The GPU, by LLVM's name.")


def instruction(*, sparse: bool = False) -> Callable[[Function], Function]:
    """Give a command the argument OP and ``--target``; it is called with ``op``, the record of the instruction.

    With ``sparse`` it also takes ``--sparse``, which looks among the sparse instructions.
    """

    def decorate(command: Function) -> Function:
        @functools.wraps(command)
        def found(name: str, target: str, sparse: bool = False, **options: Any) -> Any:
            from mfma.isa.catalogue import find

            return command(op=find(name, target, sparse=sparse), **options)

        if sparse:
            found = click.option("--sparse", is_flag=True, help="OP is a sparse instruction (v_smfmac).")(found)
        return click.argument("name", metavar="OP")(target(found))

    return decorate


def modifiers(command: Function) -> Function:
    """Give a command ``--cbsz``, ``--abid`` and ``--blgp``."""
    helps = {
        "blgp": "Lane pattern of B; on f64 the bits negate A, B, C.",
        "abid": "Block of the group that is read.",
        "cbsz": "Broadcast blocks of A in groups of 2**cbsz.",
    }
    for name, text in helps.items():
        command = click.option(f"--{name}", type=int, default=0, metavar="N", help=text)(command)
    return command


def integers(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Parse integers that are separated by commas."""
    try:
        return None if value is None else tuple(int(item) for item in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of integers such as 0,2,1.") from None


def k_order(command: Function) -> Function:
    """Give a command ``--kwidth`` and ``--k-order``; `order` makes the library's argument of them."""
    width = click.option("--kwidth", type=int, metavar="W", help="Each lane loads W consecutive k (Triton's kpack).")
    listed = click.option("--k-order", metavar="LIST", callback=integers, help="Every k once, in the order of use.")
    return width(listed(command))


def order(kwidth: int | None, k_order: tuple[int, ...] | None) -> KOrder:
    """Return the library's ``k_order`` for the two options, of which one may be given."""
    if kwidth is not None and k_order is not None:
        raise click.UsageError("Give --kwidth or --k-order, not both.")
    return {"kwidth": kwidth} if kwidth is not None else k_order
