"""``run`` and ``trace``: HIP programs and compiled kernels on the CPU."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import click

from mfma.cli.launching import Three, WithArguments, block_of, function_of, launching, three
from mfma.cli.options import as_json
from mfma.cli.program import KernelOrProgram
from mfma.cli.shell import Refusal
from mfma.isa.evidence import Level
from mfma.render import json

if TYPE_CHECKING:
    from mfma.emulator import Function, Report

__all__ = ["run", "trace"]


@click.command(
    cls=KernelOrProgram,
    usage="FILE.hip [FLAGS] [-- ARG...] | PROGRAM [-- ARG...] | FILE --block X --args VALUE... [OPTIONS]",
    examples=(
        "mfma run program.hip",
        "mfma run -O3 -std=c++17 --offload-arch=gfx942 matrix_multiply_cdna3_mfma.hip -- 256 256 256",
        "mfma run --device-name gfx90a ./program",
        "mfma run vector_add.co --kernel add_f32 --grid 16 --block 64 --args x.npy y.npy z.npy 1000 -o z.npy",
        "mfma run vector_add.co --kernel axpy_f32 --block 64 --args 0.5 x.npy zeros:f32:999 999 -o half.npy=2 --report",
        "mfma run gemm.hsaco --block 64 --lds 4096 --args left.npy right.npy d.npy 32 32 32 null null -o d.npy",
        "mfma run kernel.co --kernel multiply --block 64 --args zeros:f32:64,4 x.npy y.npy --require tested --json",
    ),
)
@launching
@click.option("--output", "-o", "outputs", multiple=True, metavar="NAME.npy", help="Write an array, see above.")
@click.option("--report", is_flag=True, help="Print what ran, how often, with which evidence.")
@click.option(
    "--require",
    type=click.Choice([str(level) for level in Level]),
    metavar="LEVEL",
    help=f"Fail if weaker evidence was used; one of {', '.join(Level)}.",
)
@click.option("--engine", type=click.Choice(["native", "interpreter"]), default="native", show_default=True,
              help="What executes the instructions.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Processors to use; all by default.")
@click.option("--device-name", metavar="NAME", help="The GPU that a whole program is told it runs on.")
@as_json
def run(
    file: str,
    kernel: str | None,
    grid: Three,
    block: Three | None,
    lds: int,
    words: tuple[str, ...],
    timeout: float | None,
    outputs: tuple[str, ...],
    report: bool,
    require: str | None,
    engine: str,
    threads: int | None,
    device_name: str | None,
    as_json: bool,
) -> None:
    """Run a HIP program, or one compiled kernel, on the CPU, bit for bit.

    A whole program is HIP source (.hip, .cpp, .cc, .cxx, .cu) or a PROGRAM that is linked with AMD's HIP runtime.
    Source is compiled for gfx942 with the given FLAGS, as clang takes them, or with -O3 -std=c++17. What follows
    `--` is for the program, whose streams and exit code are those of this command; --device-name, --engine, --threads
    and --timeout stand before. `mfma doctor hip` says whether what it takes is here.

    With --kernel, --block, --grid or --args one kernel is launched, and no host code runs: FILE is a gfx942 code object
    (clang's, or Triton's hsaco), an offload bundle, or a HIP program; `mfma objects` lists its kernels and their
    arguments.

    --args takes all words up to the next option, one for each argument of the kernel, in its order. For a pointer:
    NAME.npy; zeros:TYPE:SHAPE, such as zeros:float32:64,64; or null. The same NAME.npy twice is the same memory. For
    a value: an integer (0x too) of the argument's size; a float of that size, if it has a point or an exponent or
    the metadata say float; TYPE:NUMBER, such as float32:1 or bfloat16:0.5; NAME.npy with the bytes of a struct.
    Triton's kernels take two more pointers after their own arguments: null null.

    -o NAME.npy writes the array of that name as the kernel left it, -o NAME.npy=POSITION the array at that position
    (from 0). Without -o no file changes. Files are written when all has gone well, or not at all.
    """
    from mfma.cli.arguments import Arguments
    from mfma.cli.files import replacing, save
    from mfma.cli.progress import progress_bar

    if device_name is not None:
        raise Refusal("--device-name is what a whole program is told; leave it out for a kernel.")
    function = function_of(file, kernel)
    size = block_of(function, block)
    arguments = Arguments(function.kernel, words)
    targets = [arguments.target(output) for output in outputs]
    twice = [path for i, (path, _) in enumerate(targets) if path in dict(targets[:i])]
    if twice:
        raise Refusal(f"-o {twice[0]} is given twice; write each array to a file of its own.")
    with ExitStack() as stack:
        # opened before the launch, so that a folder that cannot be written costs no run
        files = [(path, stack.enter_context(replacing(path)), array) for path, array in targets]
        bar = stack.enter_context(progress_bar(f"{function.kernel}: work-groups"))
        done = function.launch(
            grid, size, arguments.values, lds=lds, timeout=timeout, progress=bar, engine=engine, threads=threads,
            stdout=sys.stderr if as_json else None,
        )  # fmt: skip
        if require is not None:
            done.require(require)
        for path, out, array in files:
            save(path, out, array)
    _show(done, targets, report, as_json)


def _show(done: Report, targets: Sequence[tuple[str, Any]], report: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json(done.as_dict()))
        return
    click.echo(str(done) if report else str(done).partition("\n\n")[0])
    if targets and report:
        click.echo()
    for path, array in targets:
        click.echo(f"{path}: {array.dtype} {'x'.join(map(str, array.shape))}")


@click.command(
    cls=WithArguments,
    usage="FILE --block X --args VALUE... [OPTIONS]",
    examples=(
        "mfma trace vector_add.co --kernel add_f32 --grid 16 --block 64 --args x.npy y.npy z.npy 1000",
        "mfma trace vector_add.co --kernel add_f32 --block 64 --args x.npy y.npy z.npy 64 --lane 9 --from add_f32+0x50",
        "mfma trace kernel.co --kernel multiply --block 64 --args zeros:f32:64,4 x.npy y.npy --limit 9 --json",
    ),
)
@launching
@click.option("--group", callback=three(0), default="0", metavar="X[,Y[,Z]]", help="Work-group to follow; 0,0,0.")
@click.option("--wave", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Wave of it.")
@click.option("--lane", type=click.IntRange(0, 63), default=0, show_default=True, metavar="N", help="Lane of it.")
@click.option("--from", "first", metavar="ADDRESS", help="First address, such as 0x7a00 or add_f32+0x10.")
@click.option("--to", "last", metavar="ADDRESS", help="Last address.")
@click.option("--limit", type=click.IntRange(1), default=1_000, show_default=True, metavar="N", help="Lines to print.")
@as_json
def trace(
    file: str,
    kernel: str | None,
    grid: Three,
    block: Three | None,
    lds: int,
    words: tuple[str, ...],
    timeout: float | None,
    group: Three,
    wave: int,
    lane: int,
    first: str | None,
    last: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Print the instructions that one wave executes, with its registers.

    FILE, --args and the launch are those of `mfma run`; no file is written. Of vector registers the bits of one lane
    are shown, with the value where the instruction takes it as a float; EXEC and SCC where they change; source lines
    where the object has them. The launch ends with the wave. --json prints one object on each line.
    """
    from mfma.cli.arguments import Arguments
    from mfma.emulator.trace import TraceEnd, Tracer

    function = function_of(file, kernel)
    size = block_of(function, block)
    arguments = Arguments(function.kernel, words)
    _check_place(group, wave, grid, size)
    start, end = (_address(function, text) for text in (first, last))
    tracer = Tracer(
        function.module, group, wave, lane, start or 0, 1 << 64 if end is None else end, limit, _printer(as_json)
    )
    with suppress(TraceEnd):
        function.launch(
            grid, size, arguments.values, lds=lds, timeout=timeout, observer=tracer,
            stdout=sys.stderr if as_json else None,
        )  # fmt: skip
    if not tracer.lines:
        raise Refusal(f"wave {wave} of work-group {group} executed nothing in this range of addresses.")
    if tracer.cut:
        sys.stdout.flush()
        click.echo(f"mfma: stopped after {limit:,} instructions; --limit takes more.", err=True)


def _printer(as_json: bool) -> Callable[[Any], None]:
    """A function that prints a line, after the place in the source where that is another one."""
    import json as writer

    write = sys.stdout.write
    place = ""

    def shown(line: Any) -> None:
        nonlocal place
        if as_json:
            write(writer.dumps(line.as_dict()) + "\n")
            return
        if line.source and line.source != place:
            place = line.source
            write(f"; {place}\n")
        write(f"{line}\n")

    return shown


def _check_place(group: Three, wave: int, grid: Three, block: Three) -> None:
    if not all(0 <= at < count for at, count in zip(group, grid, strict=True)):
        raise Refusal(f"--group {group} is outside the grid {grid}; give x,y,z below it.")
    waves = -(-block[0] * block[1] * block[2] // 64)
    if wave >= waves:
        raise Refusal(f"--wave {wave} is outside the block {block}; its waves have numbers up to {waves - 1}.")


def _address(function: Function, text: str | None) -> int | None:
    """An address of the image: hexadecimal digits, or a name of the object with an offset."""
    if text is None:
        return None
    name, _, offset = text.partition("+")
    named = [symbol.address for symbol in function.module.code.symbols if symbol.name == name and symbol.size]
    try:
        if named:
            return named[0] + int(offset or "0", 16)
        return int(text, 16)
    except ValueError:
        raise Refusal(f"{text!r} is no address; give one such as 0x1a00 or {function.kernel.name}+0x40.") from None
