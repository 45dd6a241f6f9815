"""A `Trace` as text: tables that show why each bit of one output came out as it did."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from mfma.formats import Format
from mfma.numerics.dyadic import Dyadic, Number, Rounding, decoder
from mfma.numerics.trace import Cut, GroupStep, IntegerStep, RoundedSum, SpecialStep, Step, SubSum, Term, Trace

__all__ = ["explain"]

MODEL_NOTES = {
    "hardware": "as the instruction does",
    "fma": "sequential fused multiply-adds",
    "exact": "the exact sum, rounded once",
}


def explain(trace: Trace) -> str:
    """Write a trace as tables of at most 120 columns.

    Codes are in hexadecimal without a prefix; values are decimal where that is short, powers of two, or
    hexadecimal floats, shortened with ``…`` where they have more digits than a double.
    """
    out = trace.op.out
    others = {"hardware": trace.number.code, "fma": trace.fma, "exact": trace.exact, trace.model: trace.number.code}
    if trace.model != "hardware":
        del others["hardware"]
    results = [(model, _code(code, out), str(decoder(out)(code)), MODEL_NOTES[model]) for model, code in others.items()]
    return "\n".join(
        [
            f"{trace.op.name} on {trace.op.target}: one output, model {trace.model!r}, c = {_show(trace.c, out)}",
            *(line for step in trace.steps for text in ("", *_step(step, trace)) for line in _wrapped(text)),
            "",
            *_columns([("result of", "code", "value", ""), *results]),
        ]
    )


def _wrapped(line: str) -> list[str]:
    """Break a sentence that lists too many k; tables are never that wide."""
    return textwrap.wrap(line, 120, subsequent_indent="    ") if len(line) > 120 else [line]


def _step(step: Step, trace: Trace) -> Iterable[str]:
    where = f"k {_ranges(t.k for t in step.terms)}"
    match step:
        case GroupStep():
            yield f"{where}: group of {len(step.terms)}, added to c = {_show(step.c, trace.op.out)}"
            yield from _group(step, trace)
        case RoundedSum():
            fused = len(step.terms) == 1
            yield f"{where}: {'fused multiply-add' if fused else 'exact sum'}, rounded once"
            yield from _columns(_products(step.terms, trace))
            yield from _columns([("  c     ", _show(step.c, trace.op.out)), *_ending(step.rounding, trace.op.out)])
        case IntegerStep():
            yield f"{where}: exact integers"
            yield from _columns(_products(step.terms, trace))
            verb = "clamped" if trace.fp16_ovfl else "wrapped"
            note = "in range" if step.in_range else f"out of range, {verb}"
            yield from _columns(
                [
                    ("  c     ", str(step.c)),
                    ("  sum   ", str(step.total)),
                    (f"  to {trace.op.out.name:3}", f"{_show(step.number, trace.op.out)}, {note}"),
                ]
            )
        case SpecialStep():
            yield f"{where}: {step.cause.value}"
            yield from _columns(_products(step.culprits, trace))
            yield from _columns(
                [("  c     ", _show(step.c, trace.op.out)), ("  result", _show(step.number, trace.op.out))]
            )
            if any(t.a.finite and t.b.finite for t in step.culprits):
                yield f"  a single product of 2^{trace.op.out.max_exponent + 1} or more counts as infinite"


def _parity_word(step: GroupStep) -> str:
    """What is even or odd: k itself, or if k are consumed in another order, the place in the group."""
    ks = [t.k for t in step.terms]
    return "k" if all(k % 2 == place % 2 for place, k in enumerate(ks)) else "places"


def _group(step: GroupStep, trace: Trace) -> Iterable[str]:
    rule, out = step.rule, trace.op.out
    for part in step.parts:
        yield from _sub_sum(part, rule.product_bits, trace, _parity_word(step))
    live = {t.k for part in step.parts for t in part.terms}
    if zeros := [t.k for t in step.terms if t.k not in live]:
        yield f"  k {_ranges(zeros)}: the product is zero and has no exponent"
    e_dot = "none (all products are zero)" if step.e_dot is None else str(step.e_dot)
    yield f"  largest exponent of a product {e_dot}, of c {step.c.exponent}: E = {step.top}"
    rows = [("", "before", "", "kept", "")]
    if len(step.parts) > 1:
        rows += [(f"  {part.parity} k".ljust(8), *_floored(part.aligned)) for part in step.parts]
    rows.append(("  sum   ", *_floored(step.sum)))
    if step.far:
        rows.append(
            ("  c     ", str(step.c), f"exponent at most {step.top - (rule.far_addend or 0)}", "0", "too small")
        )
    else:
        rows.append(("  c     ", *_floored(step.addend)))
    rows.append(("  total ", *_floored(step.total)))
    yield from _columns(rows)
    yield from _columns(_ending(step.rounding, out)[1:])


def _sub_sum(part: SubSum, bits: int, trace: Trace, counted: str) -> Iterable[str]:
    which = "" if part.parity == "all" else f"{part.parity} {counted}: "
    position = part.exponent - bits
    yield f"  {which}largest exponent {part.exponent}, so products are cut toward zero below 2^{position}"
    head, *rows = _products(part.terms, trace)
    table = [(*head, "exp", "kept", "")]
    for row, term, cut in zip(rows, part.terms, part.cuts, strict=True):
        table.append((*row, str(term.exponent), str(cut.kept), _lost(cut.lost)))
    yield from _columns(table)


def _products(terms: Sequence[Term], trace: Trace) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("   k", "a", "", "b", "", "a·b")]
    for t in terms:
        finite = t.a.finite and t.b.finite
        a, b = _code(t.a.code, trace.op.a), _code(t.b.code, trace.op.b)
        product = "-0" if t.negative and not t.exact else str(t.exact)
        rows.append((f"{t.k:4}", a, str(t.a), b, str(t.b), product if finite else ""))
    return rows if terms else []


def _floored(cut: Cut) -> tuple[str, str, str, str]:
    return str(cut.exact), f"floored to 2^{cut.position}", str(cut.kept), _lost(cut.lost)


def _lost(lost: Dyadic) -> str:
    return f"lost {lost}" if lost else "all kept"


def _ending(rounding: Rounding, out: Format) -> list[tuple[str, str]]:
    return [
        ("  sum   ", str(rounding.exact)),
        (f"  to {out.name:3}", f"{_show(rounding.number, out)}, {_rounded(rounding)}"),
    ]


def _rounded(rounding: Rounding) -> str:
    if rounding.overflow:
        return "overflow to infinity" if rounding.number.infinite else "overflow, held at the largest finite number"
    error = rounding.error
    if not error:
        return "exact"
    up = error.count > 0
    return f"{'a tie, to even: ' if rounding.tie else 'rounded '}{'up' if up else 'down'} by {error if up else -error}"


def _show(number: Number, format: Format) -> str:
    return f"{_code(number.code, format)} = {number}"


def _code(code: int, format: Format) -> str:
    return f"{code:0{format.bits // 4}X}"


def _ranges(ks: Iterable[int]) -> str:
    """Write ascending indices as runs: ``0, 2..5``."""
    runs: list[list[int]] = []
    for k in ks:
        if runs and runs[-1][1] == k - 1:
            runs[-1][1] = k
        else:
            runs.append([k, k])
    return ", ".join(f"{a}..{b}" if b > a else f"{a}" for a, b in runs)


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Align cells to the left in columns, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
