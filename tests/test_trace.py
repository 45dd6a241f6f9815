"""Traces: they explain what the reference computes, as records, as text and as plain data."""

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.isa.cdna3 import DENSE
from mfma.isa.spec import MatrixOp
from mfma.numerics.reference import MODELS, accumulate, trace
from mfma.numerics.trace import Cause, GroupStep, IntegerStep, RoundedSum, SpecialStep
from numeric_cases import OPS, dots

KINDS = list({(op.a, op.b, op.accumulation): op for op in DENSE}.values())
"""One instruction of each operand format and accumulation."""

each_kind = pytest.mark.parametrize("op", KINDS, ids=str)


@each_kind
@pytest.mark.parametrize("model", MODELS)
@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_trace_explains_what_accumulate_gives(op: MatrixOp, model: str, data: st.DataObject) -> None:
    a, b, c = data.draw(dots(op))
    t = trace(op, a, b, c, model=model)
    assert t.result == accumulate(op, a, b, c, model=model)
    assert (t.fma, t.exact) == tuple(accumulate(op, a, b, c, model=m) for m in ("fma", "exact"))
    for before, after in zip(t.steps, t.steps[1:], strict=False):
        assert after.c == before.number
    plain = json.loads(json.dumps(t.as_dict()))
    assert int(plain["result"]["code"], 16) == t.result
    assert plain["result"]["value"] == t.number.hex()
    assert struct.pack("d", t.value) == struct.pack("d", float.fromhex(plain["result"]["value"]))
    assert max(map(len, str(t).splitlines())) <= 120


def lines_of(op: str, a: list[int], b: list[int], c: int, **options: object) -> list[list[str]]:
    return [line.split() for line in str(trace(OPS[op], a, b, c, **options)).splitlines()]


def test_a_group_reads_as_a_table() -> None:
    # 2^22 - 2^22 + 1.5 · 2^-4 and a tiny negative c
    lines = lines_of("f32_32x32x8f16", [0x6800, 0x6800, 0x3E00], [0x6800, 0xE800, 0x2C00], 0x8DA24260)
    text = [" ".join(line) for line in lines]
    assert "largest exponent 22, so products are cut toward zero below 2^-2" in text
    assert "2 3E00 1.5 2C00 0.0625 0.09375 -4 0 lost 0.09375" in text
    assert "k 3..7: the product is zero and has no exponent" in text
    assert "largest exponent of a product 22, of c -100: E = 22" in text
    assert any(line.startswith("c -0x1.4484cp-100 floored to 2^-2 -0.25 lost 0x1.fffff") for line in text)
    assert "to f32 BE800000 = -0.25, exact" in text
    assert any(line.startswith("hardware BE800000 -0.25") for line in text)
    assert any(line.startswith("fma 3DC00000 0.09375") for line in text)


def test_halves_and_a_far_c_read_as_a_table() -> None:
    a, b = [0x78, 0x88, 0x78], [0x78, 0x18, 0xF8]
    text = [" ".join(line) for line in lines_of("f32_16x16x32_fp8_fp8", a, b, 0xB9000000)]
    assert "odd k: largest exponent -12, so products are cut toward zero below 2^-36" in text
    assert "odd k -2^-12 floored to 2^-10 -2^-10 lost 0x1.8p-11" in text
    assert "c -2^-13 exponent at most -12 0 too small" in text


@pytest.mark.parametrize(
    ("a", "b", "c", "words"),
    [
        (0x3F800001, 0x3F800001, 0, "to f32 3F800002 = 0x1.000004p+0, rounded down by 2^-46"),
        (0x3F800000, 0x3F800000, 0x4B800000, "to f32 4B800000 = 16777216, a tie, to even: down by 1"),
        (0x3F800000, 0x40400000, 0x4B800000, "to f32 4B800002 = 16777220, a tie, to even: up by 1"),
        (0x7F000000, 0x40000000, 0, "to f32 7F800000 = inf, overflow to infinity"),
        (0x7F800000, 0x00000000, 0, "k 0: infinity times zero gives NaN"),
        (0x7F800000, 0x3F800000, 0xFF800000, "k 0: infinities of both signs give NaN"),
        (0x7F800000, 0xBF800000, 0, "k 0: an infinity stays"),
        (0x3F800000, 0x3F800000, 0x7FC00000, "k 0: a NaN operand gives NaN"),
    ],
)
def test_a_step_says_what_decided(a: int, b: int, c: int, words: str) -> None:
    assert words in [" ".join(line) for line in lines_of("f32_32x32x1f32", [a], [b], c)]


def test_integers_and_clamps_say_so() -> None:
    wrapped = [" ".join(line) for line in lines_of("i32_4x4x4i8", [1], [1], 0x7FFFFFFF)]
    assert "to i32 80000000 = -2147483648, out of range, wrapped" in wrapped
    clamped = [" ".join(line) for line in lines_of("i32_4x4x4i8", [1], [1], 0x7FFFFFFF, fp16_ovfl=True)]
    assert "to i32 7FFFFFFF = 2147483647, out of range, clamped" in clamped
    early = [" ".join(line) for line in lines_of("f32_32x32x8bf16_1k", [0x7F00], [0x4000], 0)]
    assert "a single product of 2^128 or more counts as infinite" in early
    held = [" ".join(line) for line in lines_of("f32_32x32x1f32", [0x7F000000], [0x40000000], 0, fp16_ovfl=True)]
    assert any(line.endswith("overflow, held at the largest finite number") for line in held)


def test_steps_have_their_kinds() -> None:
    kinds = {
        "f32_32x32x8f16": GroupStep,
        "f32_16x16x4f32": RoundedSum,
        "f64_4x4x4f64": RoundedSum,
        "i32_16x16x32_i8": IntegerStep,
    }
    for name, kind in kinds.items():
        steps = trace(OPS[name], [1] * 40, [1] * 40, 0).steps
        assert {type(step) for step in steps} == {kind}
        assert len(steps) == {GroupStep: 5, RoundedSum: 40, IntegerStep: 2}[kind]
    special = trace(OPS["f32_32x32x8f16"], [0x7C00], [0], 0).steps[0]
    assert isinstance(special, SpecialStep)
    assert (special.cause, [t.k for t in special.culprits]) == (Cause.INFINITY_TIMES_ZERO, [0])
