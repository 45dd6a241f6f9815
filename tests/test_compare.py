"""Comparisons of results: against definitions written again with fractions and `numpy.nextafter`."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mfma.errors import OperandShapeError, OperandTypeError
from mfma.formats import F32, F64
from mfma.matrices.compare import BLOCK, compare

pairs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*(hnp.arrays(np.uint32, n, elements=st.integers(0, 2**32 - 1)),) * 2)
)


def place(x):
    """Number of a float32 in the order of all of them, by its value."""
    if math.isinf(x):
        return math.copysign(255 << 23, x)
    exponent = max(math.frexp(x)[1] - 1, -126) if x else -126
    return (exponent + 126 << 23) * (1 if x >= 0 else -1) + int(Fraction(x) / Fraction(2) ** (exponent - 23))


def ulp(x):
    return Fraction(float(np.nextafter(np.float64(abs(x)).astype(np.float32), np.float32(np.inf)))) - abs(Fraction(x))


@settings(deadline=None, max_examples=200)
@given(pairs)
def test_definitions(pair):
    x, y = (codes.view(np.float32) for codes in pair)
    found = compare(x, y, "f32")
    both = list(zip(x.tolist(), y.tolist(), pair[0].tolist(), pair[1].tolist(), strict=True))
    assert found.outputs == len(both)
    assert found.differing == sum(p != q and not (math.isnan(a) and math.isnan(b)) for a, b, p, q in both)
    assert found.only_one_nan == sum(math.isnan(a) != math.isnan(b) for a, b, *_ in both)
    distances = [0 if math.isnan(a) or math.isnan(b) else int(abs(place(a) - place(b))) for a, b, *_ in both]
    assert found.max_ulp == max(distances)
    assert found.worst == ((distances.index(max(distances)),) if any(distances) else None)
    finite = [(Fraction(a), Fraction(b)) for a, b, *_ in both if math.isfinite(a) and math.isfinite(b)]
    if not finite:
        assert found.bias is None
        assert found.bias_ulp is None
        return
    errors = [a - b for a, b in finite]
    largest = float(max(map(abs, errors)))  # a difference of two outputs is rounded to float64 before the mean
    assert found.bias == pytest.approx(float(sum(errors) / len(errors)), rel=1e-12, abs=1e-15 * largest)
    tops = [max(abs(a), abs(b)) for a, b in finite]
    if max(tops) < float(np.finfo(np.float32).max):
        in_ulp = [(a - b) / ulp(float(a)) for a, b in finite]
        scale = float(max(map(abs, in_ulp)))
        assert found.bias_ulp == pytest.approx(float(sum(in_ulp) / len(in_ulp)), rel=1e-9, abs=1e-12 * scale)


def test_equal_arrays_have_no_differences():
    x = np.array([[1, np.nan, np.inf, -0.0]], np.float32)
    found = compare(x, x.copy(), F32)
    assert (found.outputs, found.differing, found.max_ulp, found.worst, found.bias) == (4, 0, 0, None, 0.0)


def test_any_two_nans_are_equal():
    x = np.array([0x7FC00000, 0xFF800001], np.uint32).view(np.float32)
    assert compare(x, x[::-1].copy(), F32).differing == 0


def test_zeros_of_both_signs_differ_by_no_step():
    found = compare(np.array([-0.0], np.float32), np.array([0.0], np.float32), F32)
    assert (found.differing, found.max_ulp, found.bias) == (1, 0, 0.0)


def test_infinity_follows_the_largest_number():
    top = np.finfo(np.float32).max
    found = compare(np.array([np.inf], np.float32), np.array([top], np.float32), F32)
    assert (found.differing, found.max_ulp, found.bias) == (1, 1, None)


def test_the_farthest_float64_are_counted_exactly():
    found = compare(np.array([np.inf]), np.array([-np.inf]), F64)
    assert found.max_ulp == 2 * (0x7FF << 52)


def test_a_bias_beyond_float64_is_none():
    top = np.finfo(np.float64).max
    found = compare(np.array([top, top]), np.array([-top, 0.0]), F64)
    assert (found.bias, found.bias_ulp) == (None, None)


def test_integers_count_by_one():
    found = compare(np.array([-(2**31), 5], np.int32), np.array([2**31 - 1, 3], np.int32), "i32")
    assert found.max_ulp == 2**32 - 1
    assert found.bias == found.bias_ulp == (-(2**32) + 1 + 2) / 2


def test_ulps_are_those_of_the_result():
    found = compare(np.array([1.0], np.float32), np.array([1 - 2**-24], np.float32), F32)
    assert (found.max_ulp, found.bias, found.bias_ulp) == (1, 2**-24, 0.5)


def test_the_index_of_the_worst_output_and_several_blocks():
    reference = np.zeros((3, BLOCK), np.float32)
    result = reference.copy()
    result[2, 17] = -1
    result[0, 4] = 0.5
    found = compare(result, reference, F32)
    assert found.worst == (2, 17)
    assert found.differing == 2
    assert found.bias == -0.5 / (3 * BLOCK)


def test_empty_arrays():
    found = compare(np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32), F32)
    assert (found.outputs, found.max_ulp, found.bias) == (0, 0, None)


def test_shapes_must_agree():
    with pytest.raises(OperandShapeError, match=r"shape \(2,\) and the reference \(3,\)"):
        compare(np.zeros(2, np.float32), np.zeros(3, np.float32), F32)


def test_types_must_be_the_format():
    with pytest.raises(OperandTypeError, match="The result is float64"):
        compare(np.zeros(2), np.zeros(2), F32)
