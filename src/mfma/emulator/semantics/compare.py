"""Comparisons of the vector ALU: VOPC.

The result is a mask with zeros for the lanes outside EXEC. It goes into VCC or a pair of scalar registers, and of
the ``v_cmpx`` instructions into EXEC as well.
"""

from __future__ import annotations

from collections.abc import Callable

from mfma.emulator.semantics.machine import EXEC, Machine
from mfma.emulator.semantics.registry import Definition, define
from mfma.emulator.semantics.valu import MANTISSA, flushed, read_sources
from mfma.emulator.semantics.values import B1, B16, B32, B64, F16, F32, F64, Type, Value

Comparison = Callable[[Value, Value], Value]


def compare(
    name: str, sources: tuple[Type, Type], function: Comparison, signed: bool = False, flush: bool = True
) -> None:
    """Define ``v_cmp_name`` and ``v_cmpx_name``.

    ``signed`` sign-extends literals of 64 bits; ``flush`` is whether subnormals are zeros when the mode says so.
    """

    def build(machine: Machine, writes_exec: bool) -> None:
        values, mask = read_sources(machine, sources, machine.exec, signed=signed)
        if flush:
            values = [flushed(machine, value) for value in values]
        lanes = (function(*values) & mask).ballot()
        machine.set_sgpr(machine.instruction.dst[0].code, lanes)
        if writes_exec:
            machine.set_sgpr(EXEC, lanes)

    define(Definition(f"v_cmp_{name}", lambda machine: build(machine, False)))
    define(Definition(f"v_cmpx_{name}", lambda machine: build(machine, True)))


def always(truth: int) -> Comparison:
    """The comparison that looks at nothing."""
    return lambda a, b: a.program.constant(B1, truth).splat()


# integers

INTEGER: dict[str, tuple[Comparison, Comparison]] = {
    "f": (always(0), always(0)),
    "lt": (lambda a, b: a.slt(b), lambda a, b: a.ult(b)),
    "eq": (lambda a, b: a.equals(b), lambda a, b: a.equals(b)),
    "le": (lambda a, b: a.sle(b), lambda a, b: a.ule(b)),
    "gt": (lambda a, b: b.slt(a), lambda a, b: b.ult(a)),
    "ne": (lambda a, b: a.differs(b), lambda a, b: a.differs(b)),
    "ge": (lambda a, b: b.sle(a), lambda a, b: b.ule(a)),
    "t": (always(1), always(1)),
}
"""Condition -> signed and unsigned comparison."""

for type_ in (B16, B32, B64):
    for condition, (signed, unsigned) in INTEGER.items():
        compare(f"{condition}_i{type_.bits}", (type_, type_), signed, signed=True)
        compare(f"{condition}_u{type_.bits}", (type_, type_), unsigned)

# floats: a comparison is false with a NaN, and its negation (ngt and so on) true

ORDERED: dict[str, Comparison] = {
    "f": always(0),
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a.equals(b),
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "lg": lambda a, b: (a < b) | (a > b),
    "ge": lambda a, b: a >= b,
    "o": lambda a, b: ~(a.is_nan() | b.is_nan()),
}
NEGATED = {"f": "tru", "lt": "nlt", "eq": "neq", "le": "nle", "gt": "ngt", "lg": "nlg", "ge": "nge", "o": "u"}


def negated(comparison: Comparison) -> Comparison:
    """The opposite truth value."""
    return lambda a, b: ~comparison(a, b)


for type_ in (F16, F32, F64):
    for condition, ordered in ORDERED.items():
        compare(f"{condition}_f{type_.bits}", (type_, type_), ordered)
        compare(f"{NEGATED[condition]}_f{type_.bits}", (type_, type_), negated(ordered))

# classes: the second operand's bits 0 to 9 ask for signalling NaN, quiet NaN, -infinity, -normal, -subnormal, -0,
# +0, +subnormal, +normal, +infinity


def in_class(a: Value, asked: Value) -> Value:
    """Whether the number's class is one of those asked for."""
    sign, normal = 1 << a.type.bits - 1, 1 << MANTISSA[a.type]
    bits, infinity = a.as_int(), sign - normal
    magnitude = bits & sign - 1
    # with a sign from infinity up to zero, then from zero up to infinity
    distance = (
        magnitude.equals(infinity).zext(B32) + (~magnitude.ult(normal)).zext(B32) + magnitude.differs(0).zext(B32)
    )
    of_number = (bits & sign).equals(0).select(distance + 6, 5 - distance)
    of_nan = (bits & normal >> 1).differs(0).zext(B32)
    wanted = a.is_nan().select(of_nan, of_number)
    return (asked.zext(B32) >> wanted & 1).differs(0)


compare("class_f16", (F16, B16), in_class, flush=False)
compare("class_f32", (F32, B32), in_class, flush=False)
compare("class_f64", (F64, B32), in_class, flush=False)
