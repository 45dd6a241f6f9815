"""Writes the text of one LLVM function: straight lines, loops, and ways out of it.

Values are the names that LLVM text knows, such as ``%7``, or constants. Lines go into the current block; `prelude`
holds those of the entry block, which dominate everything.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["Writer"]


class Writer:
    """A function under construction.

    Attributes:
        declarations: functions and constants of the module that the function uses, as text.
    """

    def __init__(self, declarations: dict[str, str]) -> None:
        self.declarations = declarations
        self.prelude: list[str] = []
        self.lines: list[str] = []
        self.block = "start"
        self._names = 0
        self._once: dict[str, str] = {}

    def name(self) -> str:
        """A new name for a value."""
        self._names += 1
        return f"%v{self._names}"

    def let(self, expression: str) -> str:
        """Compute in the current block; returns the value's name."""
        name = self.name()
        self.lines.append(f"  {name} = {expression}")
        return name

    def do(self, line: str) -> None:
        """Write an instruction without a result."""
        self.lines.append(f"  {line}")

    def once(self, expression: str) -> str:
        """Compute at the function's entry, once for each expression."""
        if expression not in self._once:
            name = self._once[expression] = self.name()
            self.prelude.append(f"  {name} = {expression}")
        return self._once[expression]

    def room(self, type_: str) -> str:
        """Memory on the stack, aligned to a cache line."""
        name = self.name()
        self.prelude.append(f"  {name} = alloca {type_}, align 64")
        return name

    def call(self, type_: str, function: str, *arguments: tuple[str, str]) -> str:
        """Call a function of the module; each argument is a type and a value."""
        types = ", ".join(argument[0] for argument in arguments)
        self.declarations[function] = f"declare {type_} @{function}({types})"
        call = f"call {type_} @{function}({', '.join(map(' '.join, arguments))})"
        if type_ == "void":
            self.do(call)
            return ""
        return self.let(call)

    def begin(self, label: str) -> None:
        """Start a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def label(self) -> str:
        """A new name for a block."""
        return self.name()[1:]

    def leave_if(self, condition: str, where: str) -> None:
        """Go to a block if an i1 is true."""
        on = self.label()
        self.do(f"br i1 {condition}, label %{where}, label %{on}")
        self.begin(on)

    @contextlib.contextmanager
    def loop(self, carried: list[str], step: int, stop: int) -> Iterator[tuple[str, list[str]]]:
        """A loop of straight lines over an i64 counter, from 0 on.

        The block gets the counter and, for each of the carried i64 values, its name within; it replaces the names in
        that list by those of the next values, and afterwards ``carried`` names the last ones.
        """
        before, body, after, counter = self.block, self.label(), self.label(), self.name()
        self.do(f"br label %{body}")
        self.begin(body)
        names = [self.name() for _ in carried]
        heads = len(self.lines)
        current = list(names)
        yield counter, current
        following = self.let(f"add nuw nsw i64 {counter}, {step}")
        self.lines[heads:heads] = [f"  {counter} = phi i64 [0, %{before}], [{following}, %{body}]"] + [
            f"  {name} = phi i64 [{first}, %{before}], [{last}, %{body}]"
            for name, first, last in zip(names, carried, current, strict=True)
        ]
        self.do(f"br i1 {self.let(f'icmp ult i64 {following}, {stop}')}, label %{body}, label %{after}")
        self.begin(after)
        carried[:] = current

    def text(self, name: str, parameters: str) -> str:
        """The function: an i64 of these parameters."""
        lines = [f"define i64 @{name}({parameters}) nounwind {{", "entry:", *self.prelude, "  br label %start"]
        return "\n".join([*lines, "start:", *self.lines, "}\n"])
