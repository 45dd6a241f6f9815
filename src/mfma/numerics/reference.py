"""The arithmetic of the matrix instructions, slow and obvious: the definition that the fast kernels must meet.

One output is one dot product plus c. Every number is exact until the rule says where to cut it, and every step
is kept, so `accumulate` and `trace` are the same computation. Operands and results are codes: the bits of a
number as an unsigned integer.

Assumed, because no measurement is public (``MODE.FP16_OVFL`` is documented, but not where it acts):

* ``fp16_ovfl`` acts at every rounding to f32 (each fma step, each group); f64 overflows to infinity all the same.
  A product that overflows early still counts as infinite inside its group, and it is the group's infinite result
  that becomes the largest finite number. An infinity that came in through A, B or c stays one.
* ``fp16_ovfl`` clamps an i32 result once per instruction, after its exact sum.
* NaN bits (see `mfma.numerics.nans`), and that an infinite or NaN c beside large fp8 products is not dropped.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence

from mfma.errors import OperandShapeError, OperandTypeError, OptionError, near
from mfma.formats import F32, Format
from mfma.isa.accumulation import GroupSum
from mfma.isa.spec import MatrixOp
from mfma.numerics.dyadic import ZERO, Dyadic, Number, decoder, round_to
from mfma.numerics.nans import quiet_nan
from mfma.numerics.trace import (
    Cause,
    Cut,
    GroupStep,
    IntegerStep,
    RoundedSum,
    SpecialStep,
    Step,
    SubSum,
    Term,
    Trace,
)

__all__ = ["MODELS", "accumulate", "trace"]

MODELS = ("hardware", "fma", "exact")
"""What the instruction does; sequential fused multiply-add; the whole sum rounded once."""


def accumulate(
    op: MatrixOp, a: Sequence[int], b: Sequence[int], c: int, *, model: str = "hardware", fp16_ovfl: bool = False
) -> int:
    """Compute one output, ``c + sum of a[k]·b[k]``, as a kernel does that chains ``op`` through its accumulator.

    ``a`` and ``b`` are K codes of the formats ``op.a`` and ``op.b``, in the order in which the instructions
    consume k; ``c`` and the result are codes of ``op.out``.

    ``model="hardware"`` cuts K into instructions of ``op.k`` products, the last one padded with zeros, which
    can turn a -0 into +0. The other models know no instructions and pad nothing: ``"fma"`` is a sequential
    fused multiply-add over k in the result type, ``"exact"`` rounds the whole sum once; an exact zero is -0
    there only if every product and c are. On integers all three agree, unless a clamp acts.
    With K = 0 every model returns ``c``.

    ``fp16_ovfl=True`` is MODE.FP16_OVFL: an f32 overflow gives the largest finite number, an i32 result is
    clamped (see the module's notes for where).

    Raises `OperandShapeError` if ``a`` and ``b`` differ in length, `OperandTypeError` for what is no code, and
    `OptionError` for an unknown model and for sparse instructions, whose arithmetic nobody has published.

    >>> from mfma.isa.cdna3 import DENSE
    >>> op = next(op for op in DENSE if op.name == "f32_32x32x8f16")
    >>> f"{accumulate(op, [0x6800, 0x6800], [0x6800, 0xE800], 0xB58637BD):08X}"  # 2^22 - 2^22 - 1e-6
    'BE800000'
    """
    result = _numbers([c], op.out)[0]
    for step in _steps(op, a, b, c, model=model, fp16_ovfl=fp16_ovfl):
        result = step.number
    return result.code


def trace(
    op: MatrixOp,
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    model: str = "hardware",
    fp16_ovfl: bool = False,
    ks: Sequence[int] | None = None,
) -> Trace:
    """Compute what `accumulate` does, and keep every step; ``str()`` of the answer explains it.

    Takes the arguments of `accumulate` and raises its errors. ``ks`` names the k of every product, if they are not
    in ascending order.

    >>> from mfma.isa.cdna3 import DENSE
    >>> op = next(op for op in DENSE if op.name == "f32_32x32x8f16")
    >>> t = trace(op, [0x6800, 0x6800], [0x6800, 0xE800], 0xB58637BD)
    >>> t.value, str(t.groups[0].addend.lost)
    (-0.25, '0x1.ffff79c843p-3')
    """
    steps = tuple(_steps(op, a, b, c, model=model, fp16_ovfl=fp16_ovfl, ks=ks))
    fma, exact = (accumulate(op, a, b, c, model=other, fp16_ovfl=fp16_ovfl) for other in ("fma", "exact"))
    start = _numbers([c], op.out)[0]
    return Trace(op, model, fp16_ovfl, start, steps, steps[-1].number if steps else start, fma, exact)


def _steps(
    op: MatrixOp,
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    model: str,
    fp16_ovfl: bool,
    ks: Sequence[int] | None = None,
) -> Iterator[Step]:
    """Yield the steps of one output in order; each starts from the result of the one before."""
    rule = op.accumulation
    if model not in MODELS:
        raise OptionError(f"{model!r} is not a model: choose one of {', '.join(MODELS)}.{near(model, list(MODELS))}")
    if rule is None:
        raise OptionError(
            f"{op.mnemonic} has no arithmetic here: nobody has published how sparse instructions add up; "
            "use a dense instruction."
        )
    if len(a) != len(b):
        raise OperandShapeError(f"a has {len(a)} codes and b has {len(b)}: give both the same K codes.")
    xs, ys, d = _numbers(a, op.a), _numbers(b, op.b), _numbers([c], op.out)[0]
    if model == "hardware":
        padding = -len(xs) % op.k
        xs += [decoder(op.a)(0)] * padding
        ys += [decoder(op.b)(0)] * padding
    # Zeros that pad count on from the last k.
    names = range(len(xs)) if ks is None else [*ks, *range(len(ks), len(xs))]
    terms = [Term(k, x, y, x.value * y.value) for k, x, y in zip(names, xs, ys, strict=True)]

    if model == "exact":
        size = max(len(terms), 1)
    elif op.out.is_integer:
        size = op.k
    else:
        size = 1 if model == "fma" else rule.group
    saturate = fp16_ovfl and op.out == F32
    for first in range(0, len(terms), size):
        chunk = tuple(terms[first : first + size])
        step: Step
        if op.out.is_integer:
            step = _integer_sum(chunk, d, op.out, fp16_ovfl)
        elif isinstance(rule, GroupSum) and model == "hardware":
            special = _special(chunk, d, op.out, saturate, early_overflow=True)
            step = special or _group_sum(rule, chunk, d, op.out, saturate)
        else:
            step = _special(chunk, d, op.out, saturate) or _rounded_sum(chunk, d, op.out, saturate)
        yield step
        d = step.number


def _numbers(given: Iterable[int], format: Format) -> list[Number]:
    try:
        codes = [*map(operator.index, given)]
    except TypeError:
        raise OperandTypeError(
            f"codes of {format} are integers: give an array's bits with .view() of the unsigned type."
        ) from None
    return [*map(decoder(format), codes)]


def _special(
    terms: tuple[Term, ...], c: Number, out: Format, saturate: bool, *, early_overflow: bool = False
) -> SpecialStep | None:
    """Decide a sum in which an infinity or a NaN takes part; give None where all is finite.

    With ``early_overflow`` a single product of 2^128 or more is infinite, whatever the sum would be.
    """
    overflowed = [t for t in terms if early_overflow and t.exact and t.exact.binade > out.max_exponent]
    if c.finite and not overflowed and all(t.a.finite and t.b.finite for t in terms):
        return None
    nan = decoder(out)(quiet_nan(out))
    if c.nan or any(t.a.nan or t.b.nan for t in terms):
        return SpecialStep(terms, c, Cause.NAN, tuple(t for t in terms if t.a.nan or t.b.nan), nan)
    if invalid := [t for t in terms if t.infinite and (t.a.zero or t.b.zero)]:
        return SpecialStep(terms, c, Cause.INFINITY_TIMES_ZERO, tuple(invalid), nan)
    given = [t for t in terms if t.infinite]
    signs = {t.negative for t in given + overflowed} | ({c.negative} if c.infinite else set())
    if len(signs) == 2:
        return SpecialStep(terms, c, Cause.OPPOSITE_INFINITIES, (*given, *overflowed), nan)
    beyond = Dyadic(-1 if signs.pop() else 1, out.max_exponent + 1)
    clamped = saturate and not given and not c.infinite
    infinity = round_to(beyond, out, saturate=clamped).number
    return SpecialStep(terms, c, Cause.INFINITY, (*given, *overflowed), infinity)


def _group_sum(rule: GroupSum, terms: tuple[Term, ...], c: Number, out: Format, saturate: bool) -> GroupStep:
    """Add one group as `GroupSum` says; its numbered steps are those of its docstring."""
    halves = {"even": terms[0::2], "odd": terms[1::2]} if rule.parity else {"all": terms}
    e_dot = max((t.exponent for t in terms if t.exact), default=None)
    parts = []
    for name, half in halves.items():
        products = [t for t in half if t.exact]
        if not products or e_dot is None:
            continue
        largest = max(t.exponent for t in products)
        cuts = [Cut.truncate(t.exact, largest - rule.product_bits) for t in products]  # 1
        aligned = Cut.floor(_sum(cuts), e_dot - rule.product_bits)  # 2; cuts nothing unless there are two halves
        parts.append(SubSum(name, tuple(products), largest, tuple(cuts), aligned))

    top = c.exponent if e_dot is None else max(e_dot, c.exponent)
    products_sum = Cut.floor(_sum(part.aligned for part in parts), top - rule.sum_bits)  # 3
    far = rule.far_addend is not None and c.exponent <= top - rule.far_addend
    position = top - rule.addend_bits
    addend = Cut(c.value, position, ZERO) if far else Cut.floor(c.value, position)
    both = _sum([products_sum, addend])  # 4
    binade = max(both.binade, out.min_exponent) if both else out.min_exponent
    total = Cut.floor(both, binade - rule.total_bits)
    rounding = round_to(total.kept, out, saturate=saturate)  # 5
    return GroupStep(rule, terms, c, tuple(parts), e_dot, top, products_sum, addend, far, total, rounding)


def _sum(cuts: Iterable[Cut]) -> Dyadic:
    return sum((cut.kept for cut in cuts), ZERO)


def _rounded_sum(terms: tuple[Term, ...], c: Number, out: Format, saturate: bool) -> RoundedSum:
    """Add everything exactly and round once, as IEEE would: a fused multiply-add when there is one term."""
    total = sum((t.exact for t in terms), c.value)
    all_negative = c.negative and all(t.negative for t in terms)  # such a sum is zero only if all are -0
    return RoundedSum(terms, c, round_to(total, out, negative_zero=all_negative, saturate=saturate))


def _integer_sum(terms: tuple[Term, ...], c: Number, out: Format, clamp: bool) -> IntegerStep:
    """Add exactly, then keep the low bits, or the nearest limit if ``clamp``."""
    total = sum((t.exact for t in terms), c.value)
    lowest, highest = -(1 << out.bits - 1), (1 << out.bits - 1) - 1
    kept = min(max(total.count, lowest), highest) if clamp else total.count
    return IntegerStep(terms, c, total, decoder(out)(kept % (1 << out.bits)))
