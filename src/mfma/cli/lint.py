"""Wait states: ``hazards`` shows the table, ``lint`` finds where a program breaks it."""

from __future__ import annotations

from dataclasses import asdict
from typing import IO, TYPE_CHECKING

import click

from mfma.cli.options import as_json, instruction
from mfma.cli.shell import Command, Refusal
from mfma.render import Table, fields, json, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mfma.asm import Report
    from mfma.isa.spec import MatrixOp
    from mfma.timing.hazards import Second, Wait

__all__ = ["hazards", "lint"]


@click.command(
    cls=Command,
    examples=(
        "mfma hazards f32_32x32x8f16",
        "mfma hazards f32_32x32x8f16 --then store",
        "mfma hazards f32_16x16x16f16 --then f32_16x16x4f32 --json",
    ),
)
@instruction(sparse=True)
@click.option(
    "--then", metavar="WHAT", help="Only what follows so: valu, store, load, fma_f64, or another instruction."
)
@as_json
def hazards(op: MatrixOp, then: str | None, as_json: bool) -> None:
    """Show how many wait states must stand around an instruction.

    Every instruction between the two counts as one wait state, s_nop N as N + 1. What is not listed, such as an
    independent instruction, needs none.
    """
    rows = list(_rows(op, then))
    if as_json:
        click.echo(
            json(
                [
                    {"first": first, "second": second, "wait_states": wait.states, "source": wait.source}
                    | ({"cautious": wait.cautious, "dissent": wait.dissent} if wait.dissent else {})
                    for first, second, wait in rows
                ]
            )
        )
        return
    table = Table(
        ("wait states", "write", "between", "and"),
        tuple((wait.states, _nops(wait.states), first, second) for first, second, wait in rows),
    )
    click.echo(text(table))
    sources = dict.fromkeys(wait.source for _, _, wait in rows)
    disputes = {
        f"{wait.cautious} instead of {wait.states} where {second}: {wait.dissent}": None
        for _, second, wait in rows
        if wait.dissent
    }
    pairs = [*(("source", source) for source in sources), *(("disputed", dispute) for dispute in disputes)]
    click.echo("\n" + fields(pairs))


def _rows(op: MatrixOp, then: str | None) -> Iterator[tuple[str, str, Wait]]:
    """Yield what comes first, what second, and the wait states between them."""
    from mfma.timing.hazards import INTO_MFMA, Operand, Second, required

    if then is None:
        for first, wait in INTO_MFMA.items():
            yield str(first), op.name, wait
    for second in _seconds(then) if then is not None else Second:
        yield op.name, str(second), required(op, second)
    if then is None:
        for operand in Operand:
            yield op.name, f"the same instruction takes D {operand}", required(op, op, operand)
    elif not _seconds(then):
        other = _find(then, op.target)
        is_as_wide = other.registers.cd.vgprs == op.registers.cd.vgprs
        for operand in Operand:
            if is_as_wide or operand is not Operand.C_SAME:
                yield op.name, f"{other} takes D {operand}", required(op, other, operand)


def _seconds(then: str) -> tuple[Second, ...]:
    from mfma.timing.hazards import Second

    words = {
        "valu": (Second.VALU_READ, Second.VALU_WRITE, Second.WRITE_C, Second.WRITE_AB),
        "store": (Second.STORE,),
        "load": (Second.LOAD, Second.WRITE_C, Second.WRITE_AB),
        "fma_f64": (Second.FMA_F64,),
    }
    return words.get(then.lower(), ())


def _find(name: str, target: str) -> MatrixOp:
    from mfma.errors import UnknownNameError
    from mfma.isa import catalogue

    try:
        return catalogue.find(name, target)
    except UnknownNameError as error:
        if "smfmac" not in name.lower():
            raise UnknownNameError(f"--then takes valu, store, load, fma_f64 or an instruction: {error}") from None
        return catalogue.find(name, target, sparse=True)


def _nops(states: int) -> str:
    from mfma.timing.hazards import s_nops

    return " and ".join(f"s_nop {count}" for count in s_nops(states))


@click.command(
    cls=Command,
    examples=(
        "mfma lint kernel.s",
        "mfma lint kernel.s --json",
    ),
)
@click.argument("file", type=click.File("rb"))
@as_json
def lint(file: IO[bytes], as_json: bool) -> None:
    """Find missing wait states in gfx942 assembly.

    And matrix instructions that are wrong in themselves: misaligned tuples, illegal modifiers. FILE is assembly text,
    - standard input: what clang -S or Triton writes, what llvm-objdump -d --symbolize-operands prints, or the string of
    an inline assembly statement. Every path through branches and loops is followed. The exit code is 1 if anything is
    found; notes, which say what could not be known, do not count.
    """
    from mfma.asm import lint as check

    name, content = getattr(file, "name", "<stdin>"), file.read()
    if b"\0" in content:
        raise Refusal(
            f"{name} is a binary file; give assembly text, such as llvm-objdump -d --symbolize-operands writes."
        )
    report = check(content.decode(errors="replace"))
    if not report.instructions:
        raise Refusal(f"{name} has no instruction of gfx942; give assembly text.")
    click.echo(json(asdict(report)) if as_json else "\n".join(_described(name, report)))
    if report.findings:
        raise click.exceptions.Exit(1)


def _described(name: str, report: Report) -> Iterator[str]:
    for finding in report.findings:
        yield f"{name}:{finding}"
        if finding.missing:
            yield f"    write {_nops(finding.missing)} before it, or as many independent instructions"
    for note in report.notes:
        yield f"{name}:{note}"
    count = len(report.findings)
    yield (
        f"{count or 'no'} {'finding' if count == 1 else 'findings'} in {report.instructions} instructions, "
        f"{report.matrix_instructions} of them matrix instructions"
    )
