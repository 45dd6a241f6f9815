"""Exact numbers, the codes that stand for them, and NaN bits."""

import math
import struct
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfma.formats import BF8, BF16, F16, F32, F64, FP8, I8, I32, OCP_FP8, XF32, Format
from mfma.isa.cdna3 import DENSE
from mfma.numerics.dyadic import Dyadic, decoder, round_to
from mfma.numerics.nans import is_nan, quiet_nan, same_bits
from numeric_cases import EDGES, codes


@pytest.mark.parametrize("format", [F16, BF16, FP8, BF8, I8], ids=str)
def test_every_code_decodes_to_numpys_value(format: Format) -> None:
    dtype = getattr(ml_dtypes, format.dtype, None) or np.dtype(format.dtype)
    every = np.arange(1 << format.bits, dtype=f"uint{format.bits}").view(dtype)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        every = every.astype(np.float64)
    for code, value in enumerate(every.tolist()):
        x = decoder(format)(code)
        assert x.nan == math.isnan(value)
        assert x.infinite == math.isinf(value)
        if x.finite:
            assert float.fromhex(x.hex()) == value
            assert x.negative == (math.copysign(1, value) < 0)


@pytest.mark.parametrize(("format", "kind"), [(F32, "If"), (F64, "Qd")], ids=str)
@given(data=st.data())
def test_wide_codes_decode_to_pythons_value(format: Format, kind: str, data: st.DataObject) -> None:
    code = data.draw(codes(format))
    (value,) = struct.unpack(kind[1], struct.pack(kind[0], code))
    x = decoder(format)(code)
    assert (x.nan, x.infinite) == (math.isnan(value), math.isinf(value))
    if x.finite:
        assert struct.pack("d", float.fromhex(x.hex())) == struct.pack("d", value)
        assert round_to(x.value, format, negative_zero=x.negative).number == x


@given(codes(F32))
def test_xf32_is_f32_without_its_low_13_bits(code: int) -> None:
    cut, plain = decoder(XF32)(code), decoder(F32)(code & ~0x1FFF)
    assert (cut.value, cut.nan, cut.infinite, cut.exponent) == (plain.value, plain.nan, plain.infinite, plain.exponent)


@given(st.integers(), st.integers(-3000, 3000), st.integers(-3000, 3000))
def test_cuts_are_floor_and_truncation(count: int, scale: int, position: int) -> None:
    x, unit = Dyadic(count, scale), Fraction(2) ** position
    assert x.floor(position).fraction == math.floor(x.fraction / unit) * unit
    assert x.truncate(position).fraction == math.trunc(x.fraction / unit) * unit


@given(st.integers(-(2**70), 2**70), st.integers(-400, 400))
def test_dyadic_text_is_exact_unless_it_says_otherwise(count: int, scale: int) -> None:
    x = Dyadic(count, scale)
    digits, power = x.hex().split("p")
    whole, _, fraction = digits.replace("0x", "").partition(".")
    assert Fraction(int(whole + fraction, 16)) * Fraction(2) ** (int(power) - 4 * len(fraction)) == x.fraction
    text = str(x)
    if "0x" not in text and "^" not in text:
        assert Fraction(text) == x.fraction
    assert len(text) <= 25


def test_nan_codes_are_those_of_numpy() -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    assert (is_nan(every, F16) == np.isnan(every.view(np.float16))).all()
    assert (is_nan(every.view(np.float16), F16) == np.isnan(every.view(np.float16))).all()
    bf16 = every.view(ml_dtypes.bfloat16)
    assert (is_nan(bf16, BF16) == np.isnan(bf16.astype(np.float32))).all()
    ocp = np.arange(256, dtype=np.uint8)
    assert (is_nan(ocp, OCP_FP8) == np.isnan(ocp.view(ml_dtypes.float8_e4m3fn).astype(np.float32))).all()
    assert not is_nan(ocp.view(np.int8), I8).any()
    assert not is_nan(0xFFFFFFFF, I32)
    assert all(is_nan(quiet_nan(f), f) for f in (F16, BF16, F32, F64, FP8, BF8, OCP_FP8))


def test_same_bits_forgives_nans_only() -> None:
    x = np.array([0x7F800001, 0x00000000, 0x3F800000, 0x7FC00000], np.uint32)
    y = np.array([0xFFC00000, 0x80000000, 0x3F800000, 0x7F800000], np.uint32)
    assert same_bits(x, y, F32).tolist() == [True, False, True, False]
    assert same_bits(x.view(np.float32), y, F32).tolist() == [True, False, True, False]
    assert [same_bits(int(p), int(q), F32) for p, q in zip(x, y, strict=True)] == [True, False, True, False]
    assert same_bits(0x7FF8000000000000, 0xFFFFFFFFFFFFFFFF, F64) is True


def test_edge_tables_fit_their_formats() -> None:
    for op in DENSE:
        for format in (op.a, op.b, op.out):
            assert all(0 <= code < 1 << format.bits for code in EDGES[format.name])
