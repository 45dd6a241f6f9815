"""``disasm``: the instructions of a compiled file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mfma.cli.options import as_json
from mfma.cli.shell import Command
from mfma.render import json

if TYPE_CHECKING:
    from mfma.codeobject import CodeObject, Symbol
    from mfma.emulator.decode import Instruction, Undecoded

__all__ = ["disasm"]

WIDTH = 52
"""Columns for the text of an instruction that is followed by where a branch goes."""


@click.command(
    cls=Command,
    examples=(
        "mfma disasm kernel.co",
        "mfma disasm kernel.co --kernel scale --source",
        "mfma disasm kernel.co --json",
    ),
)
@click.argument("file")
@click.option("--kernel", metavar="NAME", help="Only this kernel or function.")
@click.option("--source", is_flag=True, help="Print the lines of the source, if FILE was compiled with -g.")
@as_json
def disasm(file: str, kernel: str | None, source: bool, as_json: bool) -> None:
    """Print the instructions in a compiled file.

    FILE is a code object (of clang --offload-device-only, or Triton's hsaco), an offload bundle, or a HIP program or
    object file; what it has for gfx942 is printed, in the words of llvm-objdump. Beside each address stand the 4 or 8
    bytes of the instruction, as dwords; beside a branch, where it goes. A dword that begins no instruction has .long
    in place of a mnemonic.
    """
    from mfma.codeobject import load_object
    from mfma.codeobject.demangle import meant

    item = load_object(file)
    named = meant(kernel, [symbol.name for symbol in _functions(item)]) if kernel is not None else []
    parts = [part for part in _parts(item) if kernel is None or (part.function and part.function.name in named)]
    if kernel is not None and not parts:
        raise _unknown(item, kernel)
    if as_json:
        click.echo(json([_data(item, part) for part in parts]))
        return
    for part in parts:
        click.echo("\n".join(_listing(item, part, source)))


@dataclass(frozen=True)
class Part:
    """Code between two labels: a function, or code that belongs to none."""

    function: Symbol | None
    items: tuple[Instruction | Undecoded, ...]


def _parts(item: CodeObject) -> Iterator[Part]:
    """Yield the functions in the order of their addresses, and what is between them unless it is padding."""
    from mfma.emulator.decode import decode_all

    for start, code in item.text:
        end = start + len(code)
        inside = [symbol for symbol in _functions(item) if start <= symbol.address < end]
        # Two names for one address are one part, under the first name.
        labels: dict[int, Symbol | None] = {start: None} | {symbol.address: symbol for symbol in reversed(inside)}
        for symbol in inside:
            if symbol.size:
                labels.setdefault(symbol.address + symbol.size, None)
        bounds = sorted(labels)
        for first, last in zip(bounds, [*bounds[1:], end], strict=True):
            piece = code[first - start : last - start]
            if any(piece):
                yield Part(labels[first], tuple(decode_all(piece, first)))


def _functions(item: CodeObject) -> list[Symbol]:
    from mfma.codeobject.elf import SymbolKind

    return [symbol for symbol in item.symbols if symbol.kind is SymbolKind.FUNC and symbol.defined]


def _unknown(item: CodeObject, name: str) -> Exception:
    from mfma.codeobject.demangle import demangled
    from mfma.errors import UnknownNameError, near

    known = [demangled(symbol.name) for symbol in _functions(item)]
    return UnknownNameError(f"No function {name!r}; there are {', '.join(known) or 'none'}.{near(name, known)}")


def _listing(item: CodeObject, part: Part, source: bool) -> Iterator[str]:
    """Yield the lines of a part."""
    name = f" <{part.function.name}>" if part.function else ""
    yield f"\n{part.items[0].address:016x}{name}:"
    before = None
    for entry in part.items:
        line = item.source_line(entry.address) if source else None
        if line and line != before:
            yield f"; {line[0]}:{line[1]}"
            before = line
        target = _target(item, entry)
        text = f"{_text(entry):{WIDTH}}  // {target}" if target else _text(entry)
        yield f"{entry.address:8x}:  {' '.join(_dwords(entry)):17}  {text}"


def _data(item: CodeObject, part: Part) -> dict[str, Any]:
    return {
        "function": part.function.name if part.function else None,
        "address": part.items[0].address,
        "instructions": [_fields(item, entry) for entry in part.items],
    }


def _fields(item: CodeObject, entry: Instruction | Undecoded) -> dict[str, Any]:
    from mfma.emulator.decode import Instruction

    line = item.source_line(entry.address)
    return {
        "address": entry.address,
        "dwords": list(_dwords(entry)),
        "mnemonic": entry.mnemonic if isinstance(entry, Instruction) else None,
        "text": _text(entry),
        "target": entry.target if isinstance(entry, Instruction) else None,
        "source": {"file": line[0], "line": line[1]} if line else None,
    }


def _dwords(entry: Instruction | Undecoded) -> Iterator[str]:
    from mfma.emulator.decode import Instruction

    size = entry.size if isinstance(entry, Instruction) else 4
    return (f"{entry.word >> 8 * at & 0xFFFF_FFFF:08x}" for at in range(0, size, 4))


def _text(entry: Instruction | Undecoded) -> str:
    from mfma.emulator.decode import Instruction

    return entry.text if isinstance(entry, Instruction) else f".long {entry.word:#010x}"


def _target(item: CodeObject, entry: Instruction | Undecoded) -> str:
    """Say where a branch goes: address, and distance from the function's start."""
    from mfma.emulator.decode import Instruction

    if not isinstance(entry, Instruction) or entry.target is None:
        return ""
    function = item.function_at(entry.target)
    name = f" <{function.name}+{entry.target - function.address:#x}>" if function else ""
    return f"{entry.target:x}{name}"
