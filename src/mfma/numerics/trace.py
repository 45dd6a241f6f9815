"""One output explained: every product, cut and rounding, as records, as a table and as plain data.

`mfma.numerics.reference` fills these records while it computes; nothing here computes a result.
"""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass
from typing import Any

from mfma.isa.accumulation import GroupSum
from mfma.isa.spec import MatrixOp
from mfma.numerics.dyadic import Dyadic, Number, Rounding

__all__ = ["Cause", "Cut", "GroupStep", "IntegerStep", "RoundedSum", "SpecialStep", "Step", "SubSum", "Term", "Trace"]


@dataclass(frozen=True, slots=True)
class Term:
    """One product: the operands at index ``k`` and what they multiply to exactly (0 unless both are finite)."""

    k: int
    a: Number
    b: Number
    exact: Dyadic

    @property
    def exponent(self) -> int:
        """Sum of the operands' exponents; the product is below ``2**(exponent + 2)``, it is not renormalised."""
        return self.a.exponent + self.b.exponent

    @property
    def negative(self) -> bool:
        """Sign of the product, of a zero product too."""
        return self.a.negative != self.b.negative

    @property
    def infinite(self) -> bool:
        """Whether an operand is an infinity."""
        return self.a.infinite or self.b.infinite


@dataclass(frozen=True, slots=True)
class Cut:
    """A number before and after the bits below ``2**position`` were cut off."""

    exact: Dyadic
    position: int
    kept: Dyadic

    @classmethod
    def truncate(cls, exact: Dyadic, position: int) -> Cut:
        """Cut toward zero."""
        return cls(exact, position, exact.truncate(position))

    @classmethod
    def floor(cls, exact: Dyadic, position: int) -> Cut:
        """Cut toward minus infinity."""
        return cls(exact, position, exact.floor(position))

    @property
    def lost(self) -> Dyadic:
        """What was cut off: ``exact - kept``."""
        return self.exact - self.kept


@dataclass(frozen=True, slots=True)
class SubSum:
    """The non-zero products of all, even or odd k of a group: each cut toward zero, added, the sum floored.

    ``exponent`` is the largest of the products', ``cuts`` are theirs in the same order, and ``aligned`` is their
    sum, floored to the largest exponent of the whole group.
    """

    parity: str
    terms: tuple[Term, ...]
    exponent: int
    cuts: tuple[Cut, ...]
    aligned: Cut


@dataclass(frozen=True, slots=True)
class GroupStep:
    """One group of a `GroupSum`.

    ``e_dot`` is the largest exponent of a product (None if all are zero), ``top`` the larger of it and that of
    c (E in the rule); ``sum`` and ``addend`` are the products' sum and c, floored; ``far`` says that c was too
    small to count; ``total`` is their sum, floored once more; ``rounding`` ends the group.
    """

    rule: GroupSum
    terms: tuple[Term, ...]
    c: Number
    parts: tuple[SubSum, ...]
    e_dot: int | None
    top: int
    sum: Cut
    addend: Cut
    far: bool
    total: Cut
    rounding: Rounding

    @property
    def number(self) -> Number:
        """The result of the step, which is the c of the next."""
        return self.rounding.number


@dataclass(frozen=True, slots=True)
class RoundedSum:
    """Products and c added exactly and rounded once: a fused multiply-add where there is one product."""

    terms: tuple[Term, ...]
    c: Number
    rounding: Rounding

    @property
    def number(self) -> Number:
        """The result of the step, which is the c of the next."""
        return self.rounding.number


@dataclass(frozen=True, slots=True)
class IntegerStep:
    """One integer instruction: the exact sum ``total`` and what 32 bits hold of it."""

    terms: tuple[Term, ...]
    c: Number
    total: Dyadic
    number: Number

    @property
    def in_range(self) -> bool:
        """Whether the sum fitted; otherwise it was wrapped or clamped."""
        return self.total == self.number.value


class Cause(enum.Enum):
    """Which rule decides a sum in which not everything is finite; the first that applies."""

    NAN = "a NaN operand gives NaN"
    INFINITY_TIMES_ZERO = "infinity times zero gives NaN"
    OPPOSITE_INFINITIES = "infinities of both signs give NaN"
    INFINITY = "an infinity stays"


@dataclass(frozen=True, slots=True)
class SpecialStep:
    """A sum that infinities or NaNs decide; ``culprits`` are the products that made it so, if not c alone.

    A culprit with finite operands is a single product that overflowed.
    """

    terms: tuple[Term, ...]
    c: Number
    cause: Cause
    culprits: tuple[Term, ...]
    number: Number


Step = GroupStep | RoundedSum | IntegerStep | SpecialStep


@dataclass(frozen=True)
class Trace:
    """How one output came about; ``str()`` of it reads as a table.

    ``steps`` are in order, each starting from the result of the one before; ``fma`` and ``exact`` are the codes
    that sequential fused multiply-adds and one rounding of the whole sum give for the same operands.
    """

    op: MatrixOp
    model: str
    fp16_ovfl: bool
    c: Number
    steps: tuple[Step, ...]
    number: Number
    fma: int
    exact: int

    @property
    def result(self) -> int:
        """The output, as a code."""
        return self.number.code

    @property
    def value(self) -> float:
        """The output, as a Python float, which is exact for every result format."""
        return float(self.number)

    @property
    def groups(self) -> tuple[GroupStep, ...]:
        """The steps that are truncated group sums of finite numbers."""
        return tuple(step for step in self.steps if isinstance(step, GroupStep))

    def as_dict(self) -> dict[str, Any]:
        """Give the trace as plain data for JSON.

        Codes are hexadecimal strings; exact numbers are strings that ``float.fromhex`` reads.
        """
        return {
            "op": self.op.name,
            "target": self.op.target,
            "model": self.model,
            "fp16_ovfl": self.fp16_ovfl,
            "c": _plain(self.c),
            "steps": [{"step": type(step).__name__, **_plain(step)} for step in self.steps],
            "result": _plain(self.number),
            "fma": hex(self.fma),
            "exact": hex(self.exact),
        }

    def __str__(self) -> str:
        from mfma.numerics.explanation import explain

        return explain(self)


def _plain(x: Any) -> Any:
    """Turn records into dicts, codes and exact numbers into strings."""
    plain = x
    match x:
        case Dyadic():
            plain = x.hex()
        case Number():
            plain = {"code": hex(x.code), "value": x.hex()}
        case Cut():
            plain = {"exact": x.exact.hex(), "position": x.position, "kept": x.kept.hex(), "lost": x.lost.hex()}
        case Term():
            plain = {"k": x.k, "a": _plain(x.a), "b": _plain(x.b), "product": x.exact.hex(), "exponent": x.exponent}
        case enum.Enum():
            plain = x.value
        case tuple():
            plain = [_plain(item) for item in x]
        case _ if dataclasses.is_dataclass(x):
            plain = {field.name: _plain(getattr(x, field.name)) for field in dataclasses.fields(x)}
    return plain
