"""What ``run``, ``trace`` and ``profile`` have in common: the kernel, its grid and its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mfma.cli.shell import Command, Refusal

if TYPE_CHECKING:
    from mfma.emulator import Function

__all__ = ["Three", "WithArguments", "block_of", "function_of", "launching", "three"]

Options = Callable[..., Any]
Three = tuple[int, int, int]


def three(fill: int) -> Callable[[click.Context, click.Parameter, str | None], Three | None]:
    """Parse one to three numbers with commas or ``x`` between them; ``fill`` stands for those that are not given."""

    def parse(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Three | None:
        if value is None:
            return None
        try:
            numbers = [int(item) for item in value.replace("x", ",").split(",")]
        except ValueError:
            numbers = []
        if not 1 <= len(numbers) <= 3:
            raise click.BadParameter(f"{value!r} is no list of one to three integers such as 16,16.")
        x, y, z = [*numbers, fill, fill][:3]
        return x, y, z

    return parse


def launching(command: Options) -> Options:
    """Give a command what a launch needs."""
    for decorate in (
        click.option("--timeout", type=click.FloatRange(0), metavar="SECONDS", help="Stop the kernel after this time."),
        click.option("--args", "words", multiple=True, metavar="VALUE...", help="The kernel's arguments, see above."),
        click.option("--lds", type=click.IntRange(0), default=0, metavar="BYTES", help="Dynamic LDS."),
        click.option("--block", callback=three(1), metavar="X[,Y[,Z]]", help="Work-items of a work-group."),
        click.option("--grid", callback=three(1), default="1", metavar="X[,Y[,Z]]", help="Work-groups; 1."),
        click.option("--kernel", metavar="NAME", help="Which kernel, if FILE has several."),
    ):
        command = decorate(command)
    return click.argument("file")(command)


class WithArguments(Command):
    """A command whose ``--args`` takes every word up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Spread ``--args A B C`` to one option for each word."""
        spread: list[str] = []
        taking = False
        for word in args:
            if word == "--args":
                taking = True
            elif taking and (not word.startswith("-") or _is_number(word)):
                spread.append(f"--args={word}")
            else:
                taking = word.startswith("--args=")
                spread.append(word)
        return super().parse_args(ctx, spread)


def _is_number(word: str) -> bool:
    for read in (float, lambda text: int(text, 0)):
        try:
            read(word)
            return True
        except ValueError:
            continue
    return False


def function_of(file: str, name: str | None) -> Function:
    """Load a file and return its kernel of this name, or its only one."""
    from mfma.codeobject.demangle import demangled
    from mfma.emulator import Device, load
    from mfma.integrations.hip.words import SOURCES

    if file.endswith(SOURCES):
        raise Refusal(f"{file} is source; compile it, as `mfma run {file} -o PROGRAM` does, and give the program.")
    module = load(file, Device())  # of its own: addresses are the same at every call
    if name is None:
        if len(module) != 1:
            names = ", ".join(map(demangled, module))
            raise Refusal(f"{file} has {len(module)} kernels; name one with --kernel: {names}.")
        name = next(iter(module))
    return module[name]


def block_of(function: Function, block: Three | None) -> Three:
    """The given size of a work-group, or the one that the kernel requires."""
    kernel = function.kernel
    required = block or kernel.required_workgroup_size
    if required is None:
        raise Refusal(
            f"give --block, the work-items of a work-group; {kernel} was compiled for up to "
            f"{kernel.max_workgroup_size:,}."
        )
    return required
