"""Whole HIP programs in ``run``: which words are for the compiler, which for the program, and which for ``run``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mfma.cli.launching import WithArguments
from mfma.cli.shell import Refusal

__all__ = ["KernelOrProgram"]

CHOOSING = ("--kernel", "--block", "--args", "--grid")
"""Options by which an executable is a file with kernels, of which one is launched."""
OF_KERNELS = (*CHOOSING, "--lds", "--report", "--require", "--json", "--output")
OF_PROGRAMS = ("--device-name", "--engine", "--threads", "--timeout")
HELP = ("--help", "-h")
WITH_VALUE = (*OF_PROGRAMS, "--lds", "--require", "--output", "-o")
PROGRAM = "mfma.program"
"""Key of the program in click's context."""


@dataclass(frozen=True)
class Program:
    """A whole program: an executable, or the words for its compiler; and its own arguments."""

    words: tuple[str, ...]
    is_built: bool
    arguments: tuple[str, ...]

    def run(self, **options: Any) -> None:
        """Compile it if need be, and become it."""
        from mfma.integrations.hip import program
        from mfma.integrations.hip.words import sources

        if self.is_built:
            program.run(self.words[0], self.arguments, **options)
        else:
            program.run(self._built(), self.arguments, name=Path(sources(self.words)[0]).stem, **options)

    def _built(self) -> Path:
        import subprocess

        from mfma.integrations.hip import compiler

        try:
            return compiler.build(self.words)
        except subprocess.CalledProcessError as error:
            # the compiler has said why; of a signal the shell's code
            raise click.exceptions.Exit(error.returncode if error.returncode > 0 else 128 - error.returncode) from None


class KernelOrProgram(WithArguments):
    """A command for kernels that hands sources and executables to the compiler and the system instead."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the words of a whole program aside; click parses the others."""
        end = args.index("--") if "--" in args else len(args)
        own, rest = _separated(args[:end])
        program = _program(args[:end], rest, args[end + 1 :])
        if program is None:
            return super().parse_args(ctx, args)
        ctx.meta[PROGRAM] = program
        return super().parse_args(ctx, ["program", *own])  # something for FILE, which is set aside

    def invoke(self, ctx: click.Context) -> Any:
        """Run the program, or the kernel."""
        if PROGRAM not in ctx.meta:
            return super().invoke(ctx)
        options = {name: ctx.params[name] for name in ("device_name", "engine", "threads", "timeout")}
        return ctx.meta[PROGRAM].run(**options)


def _program(words: Sequence[str], rest: Sequence[str], arguments: Sequence[str]) -> Program | None:
    """Return the program that is meant, or None if it is a kernel."""
    from mfma.integrations.hip.words import sources

    named = sources(rest)
    if not named:
        if _given(words, CHOOSING):
            return None
        from mfma.integrations.hip.program import is_executable

        file = next((word for flag, word in _pairs(words) if flag not in WITH_VALUE and not word.startswith("-")), None)
        if file is None:
            return None
        is_missing = not Path(file).exists() and (arguments or _given(words, ("--device-name",)))
        if not (is_missing or is_executable(file)):
            return None
        named = [file]
    kernel_option = _given(words, OF_KERNELS)
    if kernel_option:
        raise Refusal(
            f"{kernel_option} is for one kernel of a compiled file, and {named[0]} is a whole program, which takes "
            f"{', '.join(OF_PROGRAMS)}, and its own arguments after `--`."
        )
    is_built = not sources(rest)
    more = [word for word in rest if word != named[0]] if is_built else []
    if more:
        raise Refusal(
            f"{named[0]} is built, so {more[0]} is no flag for a compiler; give the program's arguments after `--`."
        )
    return Program(tuple(named if is_built else rest), is_built, tuple(arguments))


def _separated(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options of whole programs with their values, and the other words."""
    own: list[str] = []
    rest: list[str] = []
    for flag, word in _pairs(words):
        is_own = flag in OF_PROGRAMS or word.partition("=")[0] in OF_PROGRAMS or word in HELP
        (own if is_own else rest).append(word)
    return own, rest


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(("", *words), words, strict=False))


def _given(words: Sequence[str], options: Sequence[str]) -> str | None:
    return next((word for word in words if word.partition("=")[0] in options), None)
