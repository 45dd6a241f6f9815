"""How commands are found, how their help looks, and how their errors end."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import click

from mfma.errors import MfmaError

__all__ = ["Command", "Commands", "Refusal"]

INTERRUPTED = 130
"""Exit code of a program that Ctrl-C has ended: 128 and the number of the signal."""


class Refusal(click.ClickException):
    """Bad input: exit code 2 and one line on standard error."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line, whatever line breaks the message has."""
        click.echo(f"mfma: {' '.join(self.message.split())}", file=file or sys.stderr)


class Command(click.Command):
    """A command whose help ends with examples; ``usage`` replaces the usage line that click would make."""

    def __init__(self, *args: Any, examples: tuple[str, ...], usage: str | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.usage = usage

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what follows the name of the command in the usage line."""
        return [self.usage] if self.usage else super().collect_usage_pieces(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on its line, ready to be copied."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


class Commands(click.Group):
    """A group whose commands are imported when they are needed, and listed in sections."""

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, str]], **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.sections = sections
        self.homes = {name: home for section in sections.values() for name, home in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self.homes:
            return None
        module, _, function = self.homes[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write every section with one line for each of its commands."""
        width = max(map(len, self.homes))
        for title, names in self.sections.items():
            commands = ((name, self.get_command(ctx, name)) for name in names)
            with formatter.section(title):
                formatter.write_dl([(f"{n:{width}}", c.get_short_help_str(limit=90)) for n, c in commands if c])

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the options before the command."""
        with _refusing():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Parse and run a command."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a terminal without × shall not end a command
                stream.reconfigure(errors="replace")
        with _refusing():
            return super().invoke(ctx)


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn what a user can cause into a `Refusal`, and Ctrl-C into its exit code."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        hint = f" See `{error.ctx.command_path} --help`." if error.ctx else ""
        message = error.format_message()
        raise Refusal(f"{message}{'' if message.endswith(('.', '?')) else '.'}{hint}") from None
    except MfmaError as error:
        raise Refusal(str(error)) from None
    except MemoryError as error:
        raise Refusal(f"not enough memory. {error}") from None
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED) from None
