"""How packed instructions read operands and write results: the same function on the low and on the high element.

An element is half of a register (16-bit types) or one register of a pair (32-bit types). ``op_sel`` names the
element of each source that the low result takes, ``op_sel_hi`` that of the high result; ``neg`` and ``neg_hi``
change their signs. Only VOP3P has these fields: the few packed instructions of other encodings take low with low
and high with high.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mfma.emulator.decode import Operand
from mfma.emulator.decode.records import Encoding, Feature
from mfma.emulator.semantics.dpp import moved
from mfma.emulator.semantics.machine import Machine
from mfma.emulator.semantics.registry import Basis, Definition, define
from mfma.emulator.semantics.valu import finished, flushed
from mfma.emulator.semantics.values import B32, B64, F16, Type, Value

__all__ = ["both", "halves", "packed", "read_packed", "selection"]

Function = Callable[..., Any]

CONSTANTS = range(128, 256)
FIRST_FLOAT = 240
"""Source code of 0.5; integers stand below."""


def packed(
    *names: str,
    element: Type,
    sources: int,
    clamped: Function | None = None,
    flush: bool = True,
    nan: bool = True,
    with_mode: bool = False,
    accumulate: bool = False,
    basis: Basis = Basis.ISA,
    note: str = "",
) -> Callable[[Function], Function]:
    """Register a function of one element of each source for these mnemonics; it is called twice.

    Args:
        names: base mnemonics.
        element: type of the elements of sources and result, of 16 or 32 bits.
        sources: how many sources there are.
        clamped: the function to take when ``clamp`` is set, for integers; floats clamp to 0 to 1 by themselves.
        flush: whether subnormals are flushed when the mode says so.
        nan: whether NaN results are settled here.
        with_mode: whether the function takes the `Mode` before the values.
        accumulate: whether what the destination holds before is the last source, which is no operand.
        basis: how sure the bits are.
        note: why, or the manual's error bound.
    """

    def register(function: Function) -> Function:
        def build(machine: Machine) -> None:
            modifiers = machine.instruction.modifiers
            pairs, mask = read_packed(machine, (element,) * sources)
            destination = machine.register(machine.instruction.dst[0])
            if accumulate:
                pairs.append(halves(machine.vgpr(destination, element.bits // 16), element))
            chosen = clamped if clamped is not None and modifiers.clamp else function
            results = []
            for elements in zip(*pairs, strict=True):
                values = [flushed(machine, value) for value in elements] if flush else elements
                answer = chosen(machine.mode, *values) if with_mode else chosen(*values)
                if element.is_float:
                    answer = finished(machine, answer, values, flush=flush, nan=nan)
                results.append(answer.as_int())
            low, high = results
            machine.set_vgpr_indexed(destination, low.concat(high), mask)

        for name in names:
            define(Definition(name, build, basis, note))
        return function

    return register


def selection(machine: Machine) -> tuple[int, int]:
    """Return ``op_sel`` and ``op_sel_hi`` of the instruction, also where it has neither."""
    row, modifiers = machine.instruction.row, machine.instruction.modifiers
    if row.encoding is not Encoding.VOP3P or Feature.DOT in row.features:
        return 0, 7
    return modifiers.op_sel, modifiers.op_sel_hi


def halves(whole: Value, type_: Type) -> tuple[Value, Value]:
    """Return the two elements of an integer twice as wide."""
    low, high = (part.trunc(type_.integer).bitcast(type_) for part in (whole, whole >> type_.bits))
    return low, high


def read_packed(machine: Machine, types: tuple[Type, ...]) -> tuple[list[tuple[Value, Value]], Value]:
    """Return the two elements of each source after all modifiers, per lane, and the mask of lanes to write.

    ``types`` are those of the elements, for the first sources or all.
    """
    instruction = machine.instruction
    modifiers = instruction.modifiers
    selections = selection(machine)
    pairs, mask = [], machine.exec
    for i, (operand, type_) in enumerate(zip(instruction.src, types, strict=False)):
        whole = both(machine, operand, type_, i).splat()
        if modifiers.dpp is not None and i == 0:
            whole, mask = moved(machine, modifiers.dpp, whole, mask)
        elements = halves(whole, type_)
        pair = []
        for select, negate in zip(selections, (modifiers.neg, modifiers.neg_hi), strict=True):
            element = elements[select >> i & 1]
            pair.append(-element if type_.is_float and negate >> i & 1 else element)
        pairs.append((pair[0], pair[1]))
    return pairs, mask


def both(machine: Machine, operand: Operand, type_: Type, source: int) -> Value:
    """Both elements of a source, as an integer.

    A register of 16-bit elements is read as it stands, and so is an inline constant, of which 16-bit integers see the
    32-bit pattern and floats their own pattern below zeros. Where elements have 32 bits, a constant is both of them.
    """
    constant = operand.code in CONSTANTS
    if type_.bits == 32:
        if constant:
            value = machine.read(operand)
            return value.concat(value)
        return machine.read(operand, B64, source=source)
    if constant and type_ == F16:
        value = machine.read(operand, B32 if operand.code < FIRST_FLOAT else F16)
        return value.as_int().zext(B32)
    return machine.read(operand, source=source)
