"""How scalar ALU instructions read and write; their arithmetic is in `mfma.emulator.semantics.scalar`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mfma.emulator.semantics.machine import Machine
from mfma.emulator.semantics.registry import Definition, define
from mfma.emulator.semantics.values import B1, Type, Value

__all__ = ["nonzero", "scalar"]

Function = Callable[..., Any]


def nonzero(value: Value) -> tuple[Value, Value]:
    """The value, with what most instructions put into SCC: whether it is not zero."""
    return value, value.differs(0)


def scalar(
    *names: str, result: Type | None, sources: tuple[Type, ...], signed: bool = False, note: str = ""
) -> Callable[[Function], Function]:
    """Register a function of the source values for these mnemonics.

    It returns the result, or the result and SCC, or (``result`` None) SCC alone.

    Args:
        names: mnemonics.
        result: type of the result.
        sources: types of the sources. ``B1`` behind the others is SCC, which is no operand.
        signed: whether a literal of a 64-bit source is sign-extended.
        note: what to know about the bits.
    """

    def register(function: Function) -> Function:
        def build(machine: Machine) -> None:
            operands = iter(machine.instruction.src)
            values = [
                machine.scc if type_ == B1 else machine.read(next(operands), type_, signed=signed) for type_ in sources
            ]
            answer = function(*values)
            if result is None:
                machine.set_scc(answer)
                return
            answer, condition = answer if isinstance(answer, tuple) else (answer, None)
            machine.write(machine.instruction.dst[0], answer)
            if condition is not None:
                machine.set_scc(condition)

        for name in names:
            define(Definition(name, build, note=note))
        return function

    return register
