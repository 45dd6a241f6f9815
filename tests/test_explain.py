"""Explanations of one output: the bits of the product, the steps behind them, and how well all that is known."""

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import mfma
from mfma import Op, OperandShapeError, OperandTypeError, OptionError, UnknownNameError
from mfma.formats.arrays import codes, view
from mfma.isa.evidence import Level
from numeric_products import DATA, KINDS

Array = NDArray[Any]

each_kind = pytest.mark.parametrize("op", [mfma.op(ops[-1]) for ops in KINDS.values()], ids=str)


def vectors(op: Op, k: int, data: int = 1, seed: int = 0) -> tuple[Array, Array, Array]:
    """Draw a row of A, a column of B and a c, shaped (K,), (K,) and ()."""
    drawn = DATA[data](np.random.default_rng([seed, op.opcode]), op.record, 1, 1, k)
    a, b, c = (view(np.ascontiguousarray(x), f) for x, f in zip(drawn, (op.a, op.b, op.cd), strict=True))
    return a[0], b[:, 0], c[0, 0, ...]


def f16(*values: float) -> Array:
    return np.array(values, np.float16)


def lines(explanation: object) -> list[str]:
    """The text, line by line, with single spaces."""
    return [" ".join(line.split()) for line in str(explanation).splitlines()]


# --- the result -------------------------------------------------------------------------------------------------


def orders(op: Op, k: int) -> st.SearchStrategy[Any]:
    kwidth = st.integers(1, 4).map(lambda times: {"kwidth": times * op.registers.a.elements})
    permutation = st.integers(0, 2**32).map(lambda seed: np.random.default_rng(seed).permutation(k))
    return st.none() | kwidth | permutation


@each_kind
@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_the_result_has_the_bits_of_the_product(op: Op, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, 2 * op.k + 3))
    a, b, c = vectors(op, k, data.draw(st.integers(0, len(DATA) - 1)), data.draw(st.integers(0, 2**32)))
    k_order, ovfl = data.draw(orders(op, k)), data.draw(st.booleans())
    e = mfma.explain(op, a, b, c, k_order, fp16_ovfl=ovfl)
    d = mfma.matmul(a[None], b[:, None], c.reshape(1, 1), op=op, k_order=k_order, fp16_ovfl=ovfl)
    assert e.result == codes(d, op.cd).item()
    np.testing.assert_equal(e.value, float(d.item()))
    assert e.steps == e.trace.steps
    assert e.trace.result == e.result

    plain = json.loads(json.dumps(e.as_dict()))
    assert int(plain["result"]["code"], 16) == e.result
    assert len(plain["steps"]) == len(e.steps)
    used = [t.k for step in e.steps for t in step.terms]
    assert sorted(used) == list(range(len(used))), "every k once, those of the padding too"
    if not isinstance(k_order, np.ndarray):
        assert max(map(len, str(e).splitlines())) <= 120


@each_kind
def test_the_other_models_results_are_told(op: Op) -> None:
    a, b, c = vectors(op, 2 * op.k)
    e = mfma.explain(op, a, b, c)
    for model in ("fma", "exact"):
        d = mfma.matmul(a[None], b[:, None], c.reshape(1, 1), op=op, model=model)
        assert getattr(e.trace, model) == codes(d, op.cd).item()


def test_memory_layout_and_byte_order_do_not_matter() -> None:
    op = mfma.op("f32_32x32x8f16")
    a, b, c = vectors(op, 16)
    e = mfma.explain(op, a, b, c)
    assert mfma.explain("v_mfma_f32_32x32x8_f16", a[::-1][::-1], b.repeat(2)[::2], c.astype(">f4")) == e
    assert mfma.explain(op.builtin, a.astype(">f2"), b, c) == e


# --- the order of k -----------------------------------------------------------------------------------------


def ks(explanation: Any) -> list[list[int]]:
    return [[t.k for t in step.terms] for step in explanation.steps]


def test_the_steps_name_the_k_that_they_take() -> None:
    a, b = f16(*range(16)), f16(*[1] * 16)
    op = mfma.op("f32_32x32x8f16")
    assert ks(mfma.explain(op, a, b)) == [[*range(8)], [*range(8, 16)]]
    wide = mfma.explain(op, a, b, k_order={"kwidth": 8})
    assert ks(wide) == [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]
    assert "k 0..3, 8..11: group of 8, added to c = 00000000 = 0" in lines(wide)
    backwards = mfma.explain(op, a, b, k_order=range(15, -1, -1))
    assert ks(backwards) == [[*range(15, 7, -1)], [*range(7, -1, -1)]]
    for e in (wide, backwards):
        for step in e.steps:
            assert all(float(t.a) == t.k for t in step.terms), "operands are those of the k that is named"


def test_zeros_that_pad_count_on() -> None:
    a = b = f16(*[1] * 10)
    assert ks(mfma.explain("f32_32x32x8f16", a, b)) == [[*range(8)], [*range(8, 16)]]
    e = mfma.explain("f32_32x32x8f16", a, b, k_order={"kwidth": 8})
    assert ks(e) == [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]
    assert e.value == 10


# --- the text -----------------------------------------------------------------------------------------------


def test_a_cut_product_and_a_floored_c_are_shown() -> None:
    """2^22 - 2^22 + 1.5 · 2^-4 and a tiny negative c: the small product is lost, c costs the last bit kept."""
    e = mfma.explain("f32_32x32x8f16", f16(2048, 2048, 1.5), f16(2048, -2048, 2**-4), -1e-30)
    text = lines(e)
    assert text[0].startswith("f32_32x32x8f16 on gfx942: one output, model 'hardware', c = 8DA24260")
    assert "largest exponent 22, so products are cut toward zero below 2^-2" in text
    assert "2 3E00 1.5 2C00 0.0625 0.09375 -4 0 lost 0.09375" in text
    assert "k 3..7: the product is zero and has no exponent" in text
    assert any(line.startswith("c -0x1.4484cp-100 floored to 2^-2 -0.25 lost 0x1.fffff") for line in text)
    assert "to f32 BE800000 = -0.25, exact" in text
    assert any(line.startswith("hardware BE800000 -0.25") for line in text)
    assert any(line.startswith("fma 3DC00000 0.09375") for line in text)


def test_a_tie_is_shown() -> None:
    one = np.ones(1, np.float32)
    down = mfma.explain("f32_32x32x1f32", one, one, np.float32(2**24))
    assert "to f32 4B800000 = 16777216, a tie, to even: down by 1" in lines(down)
    up = mfma.explain("f32_32x32x1f32", one, 3 * one, np.float32(2**24))
    assert "to f32 4B800002 = 16777220, a tie, to even: up by 1" in lines(up)


def test_a_wrapped_and_a_clamped_integer_are_shown() -> None:
    one = np.ones(1, np.int8)
    wrapped = mfma.explain("i32_4x4x4i8", one, one, 2**31 - 1)
    assert wrapped.value == -(2**31)
    assert "to i32 80000000 = -2147483648, out of range, wrapped" in lines(wrapped)
    clamped = mfma.explain("i32_4x4x4i8", one, one, 2**31 - 1, fp16_ovfl=True)
    assert clamped.value == 2**31 - 1
    assert "to i32 7FFFFFFF = 2147483647, out of range, clamped" in lines(clamped)


def test_a_dropped_c_and_the_two_halves_of_fp8_are_shown() -> None:
    """MI300X outputs M2 and M3 of MMA-Sim's probes, in one: a floored odd half and a far c."""
    a, b = np.zeros(16, np.uint8), np.zeros(16, np.uint8)
    a[[0, 1, 2]], b[[0, 1, 2]] = (0x78, 0x88, 0x78), (0x78, 0x18, 0xF8)
    e = mfma.explain("f32_16x16x32_fp8_fp8", a, b, -(2.0**-13))
    assert "odd k -2^-12 floored to 2^-10 -2^-10 lost 0x1.8p-11" in lines(e)
    assert "c -2^-13 exponent at most -12 0 too small" in lines(e)
    assert e.value == -(2.0**-10)


def test_a_deciding_special_is_shown() -> None:
    text = lines(mfma.explain("f32_32x32x8f16", f16(np.inf), f16(0), 1.0))
    assert "k 0..7: infinity times zero gives NaN" in text


# --- evidence -----------------------------------------------------------------------------------------------


@each_kind
def test_evidence_travels_with_the_explanation(op: Op) -> None:
    e = mfma.explain(op, *vectors(op, op.k))
    assert e.evidence == dict(op.evidence)
    arithmetic = e.evidence["arithmetic"]
    words = " ".join(str(e).split())
    assert words.startswith(" ".join(str(e.trace).split()))
    assert f"evidence: {arithmetic.level}" in words
    assert words.endswith(arithmetic.source)
    told = e.as_dict()["evidence"]
    assert told["arithmetic"] == {"level": str(arithmetic.level), "source": arithmetic.source}
    assert {item["level"] for item in told.values()} <= set(map(str, Level))


def test_the_one_recorded_arithmetic() -> None:
    a = b = np.zeros(1, np.uint8)
    assert mfma.explain("f32_16x16x32_fp8_fp8", a, b).evidence["arithmetic"].level is Level.RECORDED
    assert mfma.explain("f32_32x32x8f16", f16(0), f16(0)).evidence["arithmetic"].level is Level.TESTED


# --- c ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "c",
    [5, 5.0, np.float32(5), np.array(5, np.float32), np.array([5], np.float32), np.array(5, ">f4")],
    ids=lambda c: re.sub(r"\W+", "-", f"{type(c).__name__} {c!r}"),
)
def test_c_may_be_a_number_or_an_array_of_one(c: Any) -> None:
    e = mfma.explain("f32_32x32x8f16", f16(2), f16(3), c)
    assert e.value == 11
    assert mfma.explain("f32_32x32x8f16", f16(2), f16(3)).value == 6


def test_a_python_number_is_rounded_once_to_the_accumulator() -> None:
    zero = f16(0)
    for c, code in ((0.1, 0x3DCCCCCD), (1e300, 0x7F800000), (-0.0, 0x00000000), (2**24 + 1, 0x4B800000)):
        assert mfma.explain("f32_32x32x8f16", zero, zero, c).result == code
    assert mfma.explain("f32_32x32x8f16", zero, zero, 0.1).trace.c.code == 0x3DCCCCCD
    assert mfma.explain("f64_4x4x4f64", np.zeros(1), np.zeros(1), 0.1).value == 0.1
    byte = np.zeros(1, np.int8)
    for c in (0, -1, 2**31 - 1, -(2**31)):
        assert mfma.explain("i32_16x16x32_i8", byte, byte, c).value == c
    assert np.isnan(mfma.explain("f32_32x32x8f16", zero, zero, float("nan")).value)


# --- errors -------------------------------------------------------------------------------------------------

ONE = f16(1)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("f32_32x32x8f61", ONE, ONE), UnknownNameError, "Did you mean f32_32x32x8f16"),
        (("f32_32x32x8f16", f16(1, 2), ONE), OperandShapeError,
         "a_row has 2 elements and b_column 1: give both the same K."),
        (("f32_32x32x8f16", f16(1, 2)[None], ONE), OperandShapeError,
         "a_row has shape (1, 2), but it is one row or column of K elements, (K,)."),
        (("f32_32x32x8f16", ONE, ONE[:, None]), OperandShapeError, "b_column has shape (1, 1), but it is one row or"),
        (("f32_32x32x8f16", ONE[0, ...], ONE), OperandShapeError, "a_row has shape (), but it is one row or"),
        (("f32_32x32x8f16", [1.0], ONE), OperandTypeError, "a_row is of type list, not an array"),
        (("f32_32x32x8f16", ONE, ONE.astype("f4")), OperandTypeError,
         "b_column is float32, but an operand of format f16 is float16: "
         'convert its values with mfma.encode(b_column, "f16").'),
        (("f32_32x32x8f16", ONE, ONE, ONE[0]), OperandTypeError,
         'c is float16, but an operand of format f32 is float32: convert its values with mfma.encode(c, "f32").'),
        (("f32_32x32x8f16", ONE, ONE, np.float64(1)), OperandTypeError, "c is float64, but an operand of format f32"),
        (("f32_32x32x8f16", ONE, ONE, np.zeros(2, "f4")), OperandShapeError,
         "c has shape (2,), but it is one number."),
        (("f32_32x32x8f16", ONE, ONE, np.zeros(0, "f4")), OperandShapeError, "c has shape (0,), but it is one number."),
        (("f32_32x32x8f16", ONE, ONE, [1.0]), OperandTypeError, "c is of type list, not an array"),
        (("f32_32x32x8f16", ONE, ONE, None), OperandTypeError, "c is of type NoneType, not an array"),
        (("i32_4x4x4i8", np.ones(1, "i1"), np.ones(1, "i1"), 2**31), OptionError, "outside the range of i32"),
        (("f32_32x32x8f16", ONE, ONE, 0.0, [1]), OptionError, "k_order is no permutation of range(1): give each"),
        (("f32_32x32x8f16", ONE, ONE, 0.0, {"kwidth": 3}), OptionError, "with w a multiple of the 4 elements"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(arguments: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        mfma.explain(*arguments)
    assert words in str(caught.value)
