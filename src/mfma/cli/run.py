"""``run`` and ``trace``: compiled kernels on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from mfma.cli.options import as_json
from mfma.cli.shell import Command, Refusal
from mfma.render import json

if TYPE_CHECKING:
    from mfma.emulator import Function, Report

__all__ = ["run", "trace"]

Options = Callable[..., Any]


def _three(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[int, ...]:
    """Parse one to three numbers that are separated by commas."""
    try:
        return tuple(int(item) for item in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of one to three integers such as 16,16.") from None


def _limited(command: Options) -> Options:
    for decorate in reversed(
        (
            click.option("--kernel", metavar="NAME", help="Which kernel, if FILE has several."),
            click.option("--grid", callback=_three, default="1", metavar="X[,Y[,Z]]", help="Work-groups."),
            click.option("--block", callback=_three, default="64", metavar="X[,Y[,Z]]", help="Work-items of each."),
            click.option("--lds", type=click.IntRange(0), default=0, metavar="BYTES", help="Dynamic LDS."),
            click.option("--arg", "-a", "args", multiple=True, metavar="VALUE", help="An argument; see above."),
            click.option("--timeout", type=click.FloatRange(0), metavar="SECONDS", help="Stop it after this time."),
        )
    ):
        command = decorate(command)
    return command


class WithArguments(Command):
    """A command whose ``--args`` takes every word up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Spread ``--args A B C`` to one option for each word."""
        spread: list[str] = []
        words = iter(args)
        taking = False
        for word in words:
            if word == "--args":
                taking = True
            elif taking and (not word.startswith("-") or _is_number(word)):
                spread += [f"--arg={word}"]
            else:
                taking = False
                spread.append(word)
        return super().parse_args(ctx, spread)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


@click.command(
    cls=WithArguments,
    usage="[OPTIONS] FILE --args VALUE...",
    examples=(
        "mfma run vector_add.co --grid 4 --block 256 --args x.npy y.npy out.npy 1000 -o out.npy",
        "mfma run gemm.hsaco --kernel gemm --block 256 --args A.npy B.npy C.npy 64 64 64 -o C.npy --require tested",
        "mfma run softmax.hsaco --block 256 --args x.npy y.npy 781 --report",
    ),
)
@click.argument("file")
@_limited
@click.option("--output", "-o", "outputs", multiple=True, metavar="NAME.npy", help="Write this argument back.")
@click.option("--report", is_flag=True, help="Print what ran, how often, with which evidence.")
@click.option("--require", metavar="LEVEL", help="Fail if weaker evidence was used: tested, documented ...")
@as_json
def run(
    file: str,
    kernel: str | None,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    lds: int,
    args: tuple[str, ...],
    timeout: float | None,
    outputs: tuple[str, ...],
    report: bool,
    require: str | None,
    as_json: bool,
) -> None:
    """Run a compiled kernel, with exact matrix instructions.

    FILE is a gfx942 code object, an offload bundle or a HIP program. Arguments after --args are in the kernel's
    order: NAME.npy is an array for a pointer, zeros:TYPE:SHAPE a new one (zeros:float32:64,64), a number with a point
    or an exponent a float, any other number an integer of the argument's size, null no pointer. -o NAME.npy writes
    the array of that file as the kernel left it; -o NAME.npy=POSITION writes argument number POSITION (from 0).
    """
    import numpy as np

    from mfma.cli.files import replacing

    function = _function(file, kernel)
    values = _values(args)
    targets = [_target(output, args, values) for output in outputs]
    done = function.launch(grid, block, values, lds=lds, timeout=timeout)
    if require is not None:
        done.require(require)
    for path, value in targets:
        with replacing(path) as out:
            np.save(out, value)
    _show(done, values, args, report, as_json)


def _show(done: Report, values: Sequence[Any], args: tuple[str, ...], report: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json(done.as_dict()))
    elif report:
        click.echo(str(done))
    else:
        click.echo(str(done).partition("\n")[0])


@click.command(
    cls=WithArguments,
    usage="[OPTIONS] FILE --args VALUE...",
    examples=(
        "mfma trace vector_add.co --grid 4 --block 256 --args x.npy y.npy out.npy 1000 --group 0 --wave 0",
        "mfma trace gemm.hsaco --block 256 --args A.npy B.npy C.npy 64 64 64 --lane 17 --from 0x1a00 --to 0x1a40",
    ),
)
@click.argument("file")
@_limited
@click.option("--group", callback=_three, default="0", metavar="X[,Y[,Z]]", help="Work-group to follow.")
@click.option("--wave", type=click.IntRange(0), default=0, metavar="N", help="Wave of it.")
@click.option("--lane", type=click.IntRange(0, 63), default=0, metavar="N", help="Lane whose registers are shown.")
@click.option("--from", "first", metavar="ADDRESS", help="First address, as `mfma disasm` prints it.")
@click.option("--to", "last", metavar="ADDRESS", help="Last address.")
@click.option("--limit", type=click.IntRange(1), default=1_000, show_default=True, help="Lines to print.")
@as_json
def trace(
    file: str,
    kernel: str | None,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    lds: int,
    args: tuple[str, ...],
    timeout: float | None,
    group: tuple[int, ...],
    wave: int,
    lane: int,
    first: str | None,
    last: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Print the instructions that one wave executes, with the registers they read and write.

    Vector registers are shown as one lane has them. FILE and the arguments are those of `mfma run`.
    """
    from mfma.emulator.trace import Tracer

    function = _function(file, kernel)
    x, y, z = [*group, 0, 0][:3]
    tracer = Tracer(
        function.module, (x, y, z), wave, lane, _address(first, 0), _address(last, 1 << 64), limit,
        emit=lambda line: click.echo(json(line.as_dict()) if as_json else str(line)),
    )  # fmt: skip
    function.launch(grid, block, _values(args), lds=lds, timeout=timeout, observer=tracer)
    if not tracer.lines:
        raise Refusal(f"wave {wave} of work-group {(x, y, z)} executed nothing in this range of addresses.")


def _address(text: str | None, default: int) -> int:
    if text is None:
        return default
    try:
        return int(text, 16)
    except ValueError:
        raise Refusal(f"{text!r} is no address; give hexadecimal digits such as 0x1a00.") from None


def _function(file: str, name: str | None) -> Function:
    from mfma.emulator import load

    module = load(file)
    if name is None:
        if len(module) != 1:
            raise Refusal(f"{file} has {len(module)} kernels; name one with --kernel: {', '.join(module)}.")
        name = next(iter(module))
    return module[name]


def _values(args: tuple[str, ...]) -> list[Any]:
    return [_value(text) for text in args]


def _value(text: str) -> Any:
    """Read one argument."""
    import numpy as np

    from mfma.cli.files import load

    if text == "null":
        return None
    if text.endswith(".npy"):
        return load(text)
    if text.startswith("zeros:"):
        try:
            _, type_, shape = text.split(":")
            return np.zeros(tuple(int(n) for n in shape.split(",")), np.dtype(type_))
        except (ValueError, TypeError):
            raise Refusal(f"{text!r} is no array; give zeros:TYPE:SHAPE such as zeros:float32:64,64.") from None
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise Refusal(
            f"{text!r} is no argument; give NAME.npy, zeros:TYPE:SHAPE, an integer, a float or null."
        ) from None


def _target(output: str, args: tuple[str, ...], values: list[Any]) -> tuple[str, Any]:
    """Where to write which array."""
    import numpy as np

    path, _, position = output.partition("=")
    if position:
        index = int(position) if position.isdigit() else -1
    else:
        index = args.index(path) if path in args else -1
    if not 0 <= index < len(values) or not isinstance(values[index], np.ndarray):
        raise Refusal(
            f"-o {output} names no array among the arguments; give a NAME.npy of --args or NAME.npy=POSITION."
        )
    return path, values[index]
