"""Vector registers as sets: an int with one bit for each register.

Bits 0 to 255 are v0 to v255, bits 256 to 511 a0 to a255; above them EXEC, a bit that stands for the f64 path of the
matrix core, and one bit for every name that stands for registers which the text does not tell.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
from collections.abc import Callable

__all__ = ["EXEC", "F64_PATH", "Registers", "Tuple", "aligned", "listed"]

FILE = 256
EXEC = 1 << 2 * FILE
F64_PATH = EXEC << 1
FIRST_UNKNOWN = 2 * FILE + 2

UNKNOWN = r"%\d+|%\[\w+\]|\$\d+|\$\{\d+(?::\w+)?\}"
MENTION = re.compile(
    rf"(?<![\w.$])(?:(?P<file>v|a|acc)(?:(?P<number>\d+)\b|\[(?P<first>[^\]:]+)(?::(?P<last>[^\]]+))?\])"
    rf"|(?P<exec>exec(?:_lo|_hi)?)\b|(?P<unknown>{UNKNOWN}))"
)

Tuple = tuple[int, int, bool]
"""First register, how many, and whether they are accumulation VGPRs."""

ARITHMETIC: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.floordiv,
}


class Registers(dict[str, int]):
    """Text of an operand -> the set of vector registers in it, found at the first use.

    >>> registers = Registers()
    >>> registers["v[4:5]"] == 0b11 << 4, listed(registers["a[0:1]"] | registers["v7"])
    (True, 'v7, a[0:1]')
    """

    def __init__(self) -> None:
        super().__init__()
        self.symbols: dict[str, int] = {}
        self.unknown: dict[str, int] = {}

    def __missing__(self, text: str) -> int:
        mask = 0
        for mention in MENTION.finditer(text):
            if mention["exec"]:
                mask |= EXEC
            else:
                found = self._tuple(mention)
                mask |= self._bit(mention.group()) if found is None else _mask(found)
        self[text] = mask
        return mask

    def one(self, text: str) -> Tuple | None:
        """Return the registers of an operand that is one tuple, None if it is none or nobody can tell."""
        mention = MENTION.fullmatch(text.strip())
        return None if mention is None or mention["exec"] else self._tuple(mention)

    def define(self, name: str, expression: str) -> None:
        """Give a symbol its value; what was read with the old one is forgotten."""
        value = self.evaluate(expression)
        if value is None:
            self.symbols.pop(name, None)
        else:
            self.symbols[name] = value
        self.clear()

    def evaluate(self, expression: str) -> int | None:
        """Return the value of an integer expression over known symbols, None if it is none."""
        if expression.isdecimal():
            return int(expression)
        try:
            return self._value(ast.parse(expression.strip().replace("$", "_"), mode="eval").body)
        except (SyntaxError, ValueError, KeyError, ZeroDivisionError):
            return None

    def _value(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(value)):
                return value
            case ast.Name(id=name):
                return self.symbols[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return ARITHMETIC[type(op)](self._value(left), self._value(right))
        raise ValueError(ast.dump(node))

    def _tuple(self, mention: re.Match[str]) -> Tuple | None:
        if mention["unknown"]:
            return None
        first = self.evaluate(mention["number"] or mention["first"])
        last = self.evaluate(mention["last"]) if mention["last"] else first
        if first is None or last is None or not 0 <= first <= last < FILE:
            return None
        return first, last - first + 1, mention["file"] != "v"

    def _bit(self, name: str) -> int:
        return 1 << self.unknown.setdefault(name, FIRST_UNKNOWN + len(self.unknown))


@functools.cache
def aligned(count: int) -> frozenset[int]:
    """Return every tuple of ``count`` registers that an instruction can name, as sets."""
    step = 1 if count == 1 else 2
    return frozenset(_mask((first, count, acc)) for acc in (False, True) for first in range(0, FILE - count + 1, step))


def listed(mask: int) -> str:
    """Write a set of v and a registers as the assembler writes tuples."""
    spans = []
    for file, start in (("v", 0), ("a", FILE)):
        bits = mask >> start & (1 << FILE) - 1
        while bits:
            first = (bits & -bits).bit_length() - 1
            count = (~(bits >> first) & (bits >> first) + 1).bit_length() - 1
            spans.append(f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]")
            bits &= ~(((1 << count) - 1) << first)
    return ", ".join(spans)


def _mask(registers: Tuple) -> int:
    first, count, acc = registers
    return ((1 << count) - 1) << first + FILE * acc
