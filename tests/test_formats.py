"""Number formats: which arrays hold them, and values to codes and back.

Oracles: NumPy's and ml_dtypes' own conversions where they round once, gfloat (which has no FNUZ constants, but
describes them), and rounding of exact fractions.
"""

import ctypes
import io
import platform
import re
import subprocess
import sys
from contextlib import contextmanager
from fractions import Fraction

import gfloat
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.errors import MfmaError, OperandTypeError, OptionError, UnknownNameError
from mfma.formats import FORMATS, Specials, arrays
from mfma.formats.codec import BLOCK, decode, encode, special_codes, values

FLOATS = [f for f in FORMATS.values() if not f.is_integer]
SMALL = [f for f in FLOATS if f.bits <= 16]
INTEGERS = [FORMATS["i8"], FORMATS["i32"]]
MODES = [(rounding, overflow) for rounding in ("rne", "truncate") for overflow in ("ieee", "saturate")]


def by_name(formats):
    return pytest.mark.parametrize("fmt", formats, ids=str)


def gfloat_info(fmt):
    """Describe a format to gfloat: width, bias, and how it spends its special codes."""
    ieee = fmt.specials is Specials.IEEE
    return gfloat.FormatInfo(
        fmt.name,
        fmt.bits - fmt.ignored,
        fmt.significand + 1,
        bias=fmt.bias,
        is_signed=True,
        domain=gfloat.Domain.Extended if ieee else gfloat.Domain.Finite,
        has_nz=fmt.specials is not Specials.FNUZ,
        num_high_nans={Specials.IEEE: 2**fmt.significand - 1, Specials.FN: 1, Specials.FNUZ: 0}[fmt.specials],
        has_subnormals=True,
        is_twos_complement=False,
    )


def own_value(array):
    """Values by NumPy's or ml_dtypes' own widening, which is exact."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return array.astype(np.float64)


def code_of(array):
    return array.view(f"u{array.itemsize}")


def assert_same(actual, expected):
    """Equal values, zeros of equal sign, NaNs in the same places."""
    np.testing.assert_array_equal(actual, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual)[numbers], np.signbit(expected)[numbers])


def from_bits(bits):
    return np.array(bits, np.uint64).view(np.float64)


# -- decode ------------------------------------------------------------------------------------------------------


@by_name(SMALL)
def test_all_codes_decode_as_numpy_and_ml_dtypes_widen_them(fmt):
    codes = np.arange(2**fmt.bits, dtype=f"u{fmt.bits // 8}")
    assert_same(decode(codes, fmt), own_value(codes.view(fmt.dtype)))
    assert_same(values(fmt), own_value(codes.view(fmt.dtype)))


@by_name(SMALL)
def test_all_codes_decode_as_gfloat_does(fmt):
    codes = np.arange(2**fmt.bits)
    assert_same(decode(codes.astype(f"u{fmt.bits // 8}"), fmt), gfloat.decode_ndarray(gfloat_info(fmt), codes))


@by_name([f for f in FLOATS if f.bits == 32])
@given(st.lists(st.integers(0, 2**32 - 1), max_size=64))
def test_f32_and_xf32_decode_to_the_value_of_the_kept_bits(fmt, bits):
    codes = np.array(bits, np.uint32)
    with np.errstate(invalid="ignore"):
        assert_same(decode(codes, fmt), (codes >> fmt.ignored << fmt.ignored).view(np.float32).astype(np.float64))


def test_f32_decodes_at_its_edges():
    codes = np.array([0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x80000000, 0x80000001, 0xFF800000], np.uint32)
    expected = [0, 2**-149, 2**-126 - 2**-149, 2**-126, (2 - 2**-23) * 2.0**127, np.inf, -0.0, -(2**-149), -np.inf]
    assert_same(decode(codes, "f32"), np.array(expected))


def test_a_nan_whose_payload_lies_in_the_ignored_bits_of_xf32_becomes_infinity():
    assert decode(np.array([0x7F800001, 0xFF801FFF], np.uint32), "xf32").tolist() == [np.inf, -np.inf]
    assert np.isnan(decode(np.array([0x7FC00000, 0x7F802000], np.uint32), "xf32")).all()


def test_f64_decodes_to_its_bits_in_memory_of_its_own():
    array = from_bits([0, 1, 0x7FF0000000000001, 1 << 63])
    decoded = decode(array, "f64")
    np.testing.assert_array_equal(decoded.view(np.uint64), array.view(np.uint64))
    assert not np.shares_memory(decoded, array)


@by_name(INTEGERS)
def test_integers_decode_to_int64(fmt):
    codes = np.array([0, 1, 2 ** (fmt.bits - 1) - 1, 2 ** (fmt.bits - 1), 2**fmt.bits - 1], f"u{fmt.bits // 8}")
    decoded = decode(codes, fmt)
    assert decoded.dtype == np.int64
    assert decoded.tolist() == [0, 1, 2 ** (fmt.bits - 1) - 1, -(2 ** (fmt.bits - 1)), -1]


@pytest.mark.parametrize("storage", ["u1", "i1", "V1"])
def test_codes_decode_from_any_bits_of_the_width(storage):
    assert decode(np.array([0x38, 0xFF], np.uint8).view(storage), "fp8").tolist() == [0.5, -240]
    assert decode(np.array([[0x38]], np.uint8).view(storage), "ocp_fp8").tolist() == [[1.0]]


def test_decode_keeps_every_shape():
    for shape in [(), (0,), (3, 0, 2), (2, 3)]:
        assert decode(np.zeros(shape, np.uint8), "fp8").shape == shape
        assert decode(np.zeros(shape, np.uint32), "f32").shape == shape
    assert decode(np.uint8(0x38), "fp8").shape == ()
    codes = np.arange(24, dtype=np.uint32).reshape(2, 3, 4)
    np.testing.assert_array_equal(decode(codes.T[::2], "f32"), decode(codes, "f32").T[::2])


@pytest.mark.parametrize(
    ("codes", "fmt", "message"),
    [
        (
            np.zeros(2, np.float16),
            "bf16",
            "is float16, but codes of bf16 are bfloat16 or 16-bit integers, such as uint16",
        ),
        (np.zeros(2, np.int64), "fp8", "is int64, but codes of fp8 are float8_e4m3fnuz or 8-bit integers"),
        (np.zeros(2, ml_dtypes.float8_e4m3fn), "fp8", "is float8_e4m3fn, but codes of fp8 are"),
        (np.zeros(2, bool), "i8", "is bool, but codes of i8 are int8 or 8-bit integers, such as uint8"),
        ([0x38], "fp8", "is of type list, not an array"),
    ],
)
def test_decode_refuses_other_types(codes, fmt, message):
    with pytest.raises(OperandTypeError, match=message):
        decode(codes, fmt)


def test_only_small_formats_have_a_table_of_values():
    with pytest.raises(OptionError, match=r"f32 has 2\*\*32 codes, too many for a table: decode those that you need"):
        values(FORMATS["f32"])
    with pytest.raises(ValueError, match="read-only"):
        values(FORMATS["fp8"])[0] = 1


@by_name(FLOATS)
def test_special_codes_are_what_they_are_called(fmt):
    special = special_codes(fmt)
    codes = (np.array([special.maximum, special.infinity, special.nan], np.uint64) << fmt.ignored).astype(
        f"u{fmt.bits // 8}"
    )
    maximum, infinity, nan = decode(codes, fmt)
    assert maximum == fmt.max
    assert infinity == np.inf if fmt.has_infinity else np.isnan(infinity)
    assert np.isnan(nan)


@by_name(INTEGERS)
def test_integers_have_no_special_codes(fmt):
    with pytest.raises(OptionError, match=f"{fmt} is an integer format: all its codes are numbers"):
        special_codes(fmt)


# -- encode: every rounding against exact fractions ---------------------------------------------------------------


def rounded_exactly(value, fmt, rounding, overflow):
    """Round one exact or special number by the definition: to a multiple of the last place, then to the range."""
    limit = np.inf if fmt.has_infinity else np.nan
    if isinstance(value, float) and not np.isfinite(value):
        if np.isnan(value):
            return np.nan
        return np.copysign(fmt.max if overflow == "saturate" else limit, value)
    size, sign = abs(Fraction(value)), -1.0 if np.signbit(float(value)) else 1.0
    exponent = fmt.min_exponent
    while size >= Fraction(2) ** (exponent + 1):
        exponent += max(1, (size.numerator.bit_length() - size.denominator.bit_length()) - exponent - 1)
    last_place = Fraction(2) ** (exponent - fmt.significand)
    units = round(size / last_place) if rounding == "rne" else size // last_place  # Python rounds ties to even
    if units * last_place > Fraction(fmt.max):
        return sign * (fmt.max if overflow == "saturate" or rounding == "truncate" else limit)
    result = sign * float(units * last_place)
    return 0.0 if result == 0 and fmt.specials is Specials.FNUZ else result


@st.composite
def near_ties(draw, fmt):
    """Give a number of the format, or a midpoint of two, a few last places of a float64 up or down."""
    code = draw(st.integers(0, special_codes(fmt).maximum))
    lower = decode(np.array([code << fmt.ignored], f"u{fmt.bits // 8}"), fmt)[0]
    exponent = max(np.frexp(lower)[1] - 1, fmt.min_exponent)
    value = lower + draw(st.sampled_from([0.0, 0.5])) * 2.0 ** (exponent - fmt.significand)
    for _ in range(draw(st.integers(0, 2))):
        value = np.nextafter(value, draw(st.sampled_from([0.0, np.inf])))
    return int(np.float64(draw(st.sampled_from([1, -1])) * value).view(np.uint64))


@by_name(FLOATS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_encode_rounds_every_float64_once(fmt, data):
    ties = near_ties(fmt) if fmt.bits < 64 else st.nothing()
    bits = data.draw(st.lists(st.integers(0, 2**64 - 1) | ties, min_size=8, max_size=32))
    array = from_bits(bits)
    for rounding, overflow in MODES:
        result = encode(array, fmt, rounding, overflow)
        expected = np.array([rounded_exactly(float(x), fmt, rounding, overflow) for x in array])
        assert result.dtype == fmt.dtype
        assert_same(own_value(result), expected)
        assert not (code_of(result) & ((1 << fmt.ignored) - 1)).any()
        assert (code_of(result)[np.isnan(expected)] == special_codes(fmt).nan << fmt.ignored).all()


@by_name(FLOATS)
@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_encode_rounds_every_integer_once(fmt, signed, unsigned):
    for array in (np.array(signed, np.int64), np.array(unsigned, np.uint64)):
        for rounding, overflow in MODES:
            expected = [rounded_exactly(x, fmt, rounding, overflow) for x in array.tolist()]
            assert_same(own_value(encode(array, fmt, rounding, overflow)), np.array(expected))


@by_name(INTEGERS)
@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 2**64 - 1)), st.lists(st.floats(-300, 300, width=32)))
def test_encode_rounds_and_saturates_integers(fmt, bits, near):
    array = np.concatenate([from_bits(bits), near, np.array(near) * 2.0**23])
    array = array[~np.isnan(array)]
    low, high = -(2 ** (fmt.bits - 1)), 2 ** (fmt.bits - 1) - 1
    for rounding, convert in (("rne", np.rint), ("truncate", np.trunc)):
        expected = np.clip(convert(array), low, high)
        result = encode(array, fmt, rounding, "saturate")
        assert result.dtype == fmt.dtype
        np.testing.assert_array_equal(result, expected)
        inside = array[(convert(array) >= low) & (convert(array) <= high)]
        np.testing.assert_array_equal(encode(inside, fmt, rounding), convert(inside))


# -- encode: other implementations --------------------------------------------------------------------------------


@by_name(FLOATS)
@pytest.mark.parametrize(("rounding", "overflow"), MODES)
def test_encode_agrees_with_gfloat(fmt, rounding, overflow):
    rng = np.random.default_rng(1)
    array = from_bits(rng.integers(0, 2**64, 20_000, np.uint64))
    array = np.concatenate(
        [array, rng.standard_normal(20_000) * np.exp2(rng.uniform(-20, 20, 20_000)), [np.inf, -np.inf]]
    )
    mode = {"rne": gfloat.RoundMode.TiesToEven, "truncate": gfloat.RoundMode.TowardZero}[rounding]
    with np.errstate(all="ignore"):  # gfloat loses float64's own subnormals and its largest numbers' last places
        array = array[np.isnan(array) | (np.abs(array) >= 2.0**-1022)] if fmt.bits == 64 else array
        expected = gfloat.round_ndarray(gfloat_info(fmt), array, mode, overflow == "saturate")
        actual = own_value(encode(array, fmt, rounding, overflow))
    assert_same(actual, expected)


@pytest.mark.parametrize("name", ["f16", "f32"])
def test_encode_agrees_with_numpy_from_float64(name):
    rng = np.random.default_rng(2)
    array = np.concatenate(
        [rng.standard_normal(3 * BLOCK) * 2.0**scale for scale in (-149, -140, -24, -14, 0, 15, 127)]
    )
    with np.errstate(all="ignore"):
        expected = array.astype(FORMATS[name].dtype)
    np.testing.assert_array_equal(code_of(encode(array, name)), code_of(expected))


@by_name([f for f in FLOATS if f.bits == 8])
@pytest.mark.parametrize("source", ["f16", "bf16"])
def test_encode_agrees_with_ml_dtypes_from_every_16_bit_number(fmt, source):
    array = np.arange(2**16, dtype=np.uint16).view(FORMATS[source].dtype)
    with np.errstate(all="ignore"):
        expected = array.astype(np.float32).astype(fmt.dtype)
    assert_same(own_value(encode(array, fmt)), own_value(expected))


@by_name(SMALL)
def test_every_code_survives_decode_and_encode(fmt):
    codes = np.arange(2**fmt.bits, dtype=f"u{fmt.bits // 8}")
    nan = np.isnan(values(fmt))
    for rounding, overflow in MODES:
        if overflow == "saturate":
            nan = nan | np.isinf(values(fmt))
        back = code_of(encode(decode(codes, fmt), fmt, rounding, overflow))
        np.testing.assert_array_equal(back[~nan], codes[~nan])
        np.testing.assert_array_equal(code_of(encode(codes.view(fmt.dtype), fmt, rounding, overflow)), back)


@by_name(SMALL)
def test_every_source_type_is_read_exactly(fmt):
    codes = np.arange(2**fmt.bits, dtype=f"u{fmt.bits // 8}").view(fmt.dtype)
    assert_same(encode(codes, "f64"), own_value(codes))


def test_the_numbers_ml_dtypes_rounds_twice_are_rounded_once():
    # Through float32 each lands on a tie and then goes to even, which is the wrong side.
    for fmt in (f for f in FLOATS if f.bits == 8 or f.name == "bf16"):
        above, below = 1 + 2.0 ** -(fmt.significand + 1) * (1 + 2.0**-30), 1 + 2.0**-fmt.significand * (1.5 - 2.0**-30)
        array = np.array([above, below, -above, -below])
        up = 1 + 2.0**-fmt.significand
        assert own_value(encode(array, fmt)).tolist() == [up, up, -up, -up]
        twice = own_value(array.astype(np.float32).astype(fmt.dtype))
        assert twice.tolist() == [1, 2 * up - 1, -1, 1 - 2 * up]


def test_an_int64_is_not_rounded_to_float64_on_the_way():
    tie_and_one = 2**60 + 2**36 + 1
    assert int(encode(np.array([tie_and_one]), "f32")[0]) == 2**60 + 2**37
    assert int(np.float32(np.float64(tie_and_one))) == 2**60  # the wrong way
    assert encode(np.array([2**53 + 1, 2**63 - 1, -(2**63)]), "f64").tolist() == [2.0**53, 2.0**63, -(2.0**63)]
    assert encode(np.array([2**64 - 1], np.uint64), "f32", "truncate").tolist() == [2.0**64 - 2.0**40]


def test_f16_overflows_to_infinity_unless_told_to_saturate():
    # https://github.com/ROCm/MIOpen/issues/2496: 65504 where the reference gave infinity
    assert encode(np.array([262016.0]), "f16").tolist() == [np.inf]
    assert encode(np.array([262016.0, np.inf, -np.inf]), "f16", overflow="saturate").tolist() == [65504, 65504, -65504]
    assert encode(np.array([262016.0, np.inf]), "f16", "truncate").tolist() == [65504, np.inf]
    assert encode(np.array([65519.99, 65520.0]), "f16").tolist() == [65504, np.inf]


def test_xf32_rounds_here_and_is_cut_in_the_matrix_core():
    # https://github.com/ROCm/rocm-libraries/pull/9176: results biased toward zero
    array = np.array([0x3F801800, 0xBF801800], np.uint32).view(np.float32)
    assert code_of(encode(array, "xf32")).tolist() == [0x3F802000, 0xBF802000]
    assert code_of(encode(array, "xf32", "truncate")).tolist() == [0x3F800000, 0xBF800000]
    assert decode(array, "xf32").tolist() == [1.0, -1.0]


@pytest.mark.parametrize("overflow", ["ieee", "saturate"])
@pytest.mark.parametrize(("name", "code"), [
    ("f64", 0x7FF8000000000000), ("f32", 0x7FC00000), ("xf32", 0x7FC00000), ("f16", 0x7E00), ("bf16", 0x7FC0),
    ("fp8", 0x80), ("bf8", 0x80), ("ocp_fp8", 0x7F), ("ocp_bf8", 0x7E),
])  # fmt: skip
def test_every_nan_becomes_the_one_documented_nan(name, code, overflow):
    array = from_bits([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF])
    assert code_of(encode(array, name, overflow=overflow)).tolist() == [code] * 4


def test_the_input_is_left_alone_and_the_result_is_new():
    array = np.array([1.0, np.nan, -0.0])
    before = array.tobytes()
    assert not np.shares_memory(encode(array, "f64"), array)
    assert array.tobytes() == before


def test_encode_takes_any_shape_order_and_byte_order():
    array = np.arange(-12.0, 12).reshape(2, 3, 4) / 3
    expected = encode(array, "bf16")
    assert encode(array.T, "bf16").tolist() == expected.T.tolist()
    assert encode(array[:, ::-2], "bf16").tolist() == expected[:, ::-2].tolist()
    assert encode(array.astype(">f8"), "bf16").tolist() == expected.tolist()
    assert encode(np.asfortranarray(array), "bf16").tolist() == expected.tolist()
    for shape in [(), (0,), (3, 0, 2)]:
        assert encode(np.zeros(shape), "fp8").shape == shape
    big = np.linspace(-2, 2, 2 * BLOCK + 3)
    np.testing.assert_array_equal(encode(big, "f16"), big.astype(np.float16))


def test_encode_takes_numbers_and_lists():
    assert encode(1.5, "f16") == np.float16(1.5)
    assert encode([[1, 2], [3, 4]], "bf16").tolist() == [[1, 2], [3, 4]]
    assert encode(np.float32(3), "i8") == 3


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1.0], "f16", "nearest"), OptionError, "rounding is 'nearest', but it must be 'rne' or 'truncate'"),
        (([1.0], "f16", "rne", "wrap"), OptionError, "overflow is 'wrap', but it must be 'ieee' or 'saturate'"),
        (([1j], "f16"), OperandTypeError, "is complex128, but it must be float64, .* or an integer type of up"),
        ((np.zeros(2, np.longdouble), "f16"), OperandTypeError, "is (longdouble|float128), but it must be float64"),
        ((np.zeros(2, bool), "f16"), OperandTypeError, "is bool, but it must be"),
        (([2**70], "f16"), OperandTypeError, "is object, but it must be"),
        (([[1], [2, 3]], "f16"), OperandTypeError, "The list to encode is not an array: .*inhomogeneous"),
        (("1.0", "f16"), OperandTypeError, "The array to encode is of type str, not an array"),
        (([np.nan], "i8"), OptionError, "holds NaN, which i8 has no code for: replace it first"),
        (([np.nan], "i8", "rne", "saturate"), OptionError, "holds NaN, which i8 has no code for"),
        (([1.0, 127.5], "i8"), OptionError, "holds 127.5, outside the range of i8, -128 to 127: scale it, or choose "),
        (([-np.inf], "i32"), OptionError, "holds -inf, outside the range of i32, -2147483648 to 2147483647"),
        (([1e300], "i8"), OptionError, r"holds 1e\+300, outside"),
        ((np.array([-129]), "i8"), OptionError, "holds -129.0, outside"),
        (([1.0], "fp9"), UnknownNameError, r"No number format is called 'fp9': .*bf16 \(bfloat16\).*Did you mean fp8"),
        (([1.0], np.float16), UnknownNameError, "No number format is called <class 'numpy.float16'>"),
    ],
)  # fmt: skip
def test_encode_says_what_is_wrong(arguments, error, message):
    with pytest.raises(error, match=message):
        encode(*arguments)


def test_errors_belong_to_the_family_and_to_pythons_classes():
    assert issubclass(UnknownNameError, (MfmaError, LookupError))
    with pytest.raises(ValueError, match="outside"):
        encode([200], "i8")
    with pytest.raises(TypeError):
        encode("1", "i8")


# -- the same bits whatever the thread's floating-point environment -------------------------------------------------


FLUSH, DOWN, UP, TOWARD_ZERO = 0x8040, 0x2000, 0x4000, 0x6000  # MXCSR: flush and read denormals as zero; rounding


@contextmanager
def mxcsr(flags):
    """Set bits of the SSE control word, which fegetenv keeps at byte 28 on x86-64 glibc."""
    libm, saved, changed = ctypes.CDLL("libm.so.6"), (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()
    libm.fegetenv(saved)
    libm.fegetenv(changed)
    changed[7] |= flags
    libm.fesetenv(changed)
    try:
        yield
    finally:
        libm.fesetenv(saved)


@pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64", reason="sets the control word of x86-64 glibc"
)
@pytest.mark.parametrize("flags", [FLUSH, DOWN, UP, TOWARD_ZERO, FLUSH | UP])
def test_bits_do_not_depend_on_the_floating_point_environment(flags):
    rng = np.random.default_rng(3)
    bits = np.concatenate([rng.integers(0, 2**64, 2000, np.uint64), rng.integers(0, 2**52, 200, np.uint64)])
    subnormal = rng.integers(0, 2**23, 2000).astype(np.uint32)
    integers = rng.integers(-(2**63), 2**63 - 1, 2000)

    def everything():
        values.cache_clear()
        floats = [from_bits(bits), subnormal.view(np.float32), integers]
        results = [encode(source, f).tobytes() for f in FLOATS for source in floats]
        results += [decode(subnormal, f).tobytes() for f in FLOATS if f.bits == 32]
        return results + [values(f).tobytes() for f in SMALL]

    def trap():
        return [
            (subnormal.view(np.float32) * np.float32(0.75)).tobytes(),
            (np.float32([-1, 1]) / np.float32(3)).tobytes(),
        ]

    expected, expected_trap = everything(), trap()
    with mxcsr(flags):
        actual, actual_trap = everything(), trap()
    assert actual_trap != expected_trap, "the control word had no effect, so this test shows nothing"
    assert actual == expected


# -- which arrays hold an operand ----------------------------------------------------------------------------------

ACCEPTED = {
    "f64": {"float64"},
    "f32": {"float32"},
    "xf32": {"float32"},
    "f16": {"float16"},
    "bf16": {"bfloat16", "int16", "uint16"},
    "fp8": {"float8_e4m3fnuz", "uint8"},
    "bf8": {"float8_e5m2fnuz", "uint8"},
    "i8": {"int8"},
    "i32": {"int32"},
    "ocp_fp8": {"float8_e4m3fn"},
    "ocp_bf8": {"float8_e5m2"},
}
GIVEN = [
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3fn", "float8_e5m2",
    "float8_e4m3b11fnuz", "int4", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool",
    "complex64", "V1", "V2", "V4", "S1", "O", "M8[s]",
]  # fmt: skip

OCP_ADVICE = "OCP codes stand for twice the value, so convert it with"


@by_name(FORMATS.values())
@pytest.mark.parametrize("dtype", GIVEN)
def test_an_operand_has_one_of_the_listed_types_and_no_other(fmt, dtype):
    array = np.zeros((2, 3), dtype)
    if array.dtype.name in ACCEPTED[fmt.name]:
        codes = arrays.codes(array, fmt)
        assert codes.dtype == np.dtype(f"uint{fmt.bits}")
        assert np.shares_memory(codes, array)
        assert arrays.view(codes, fmt).dtype == fmt.dtype
    else:
        with pytest.raises(
            OperandTypeError, match=f"^Bs is {re.escape(array.dtype.name)}, but an operand of format {fmt} is"
        ):
            arrays.codes(array, fmt, "Bs")


@by_name(FORMATS.values())
def test_codes_and_view_are_inverse(fmt):
    codes = np.arange(24, dtype=f"u{fmt.bits // 8}").reshape(2, 3, 4)
    for some in (codes, codes.T, codes[:, ::-2], codes[0, 0, 0:1].reshape(()), codes[:0]):
        there_and_back = arrays.codes(arrays.view(some, fmt), fmt)
        assert np.shares_memory(there_and_back, some) or not some.size
        np.testing.assert_array_equal(there_and_back, some)


def test_bytes_are_swapped_without_a_look_at_the_value():
    signalling = np.array([0x7F800001, 0xFFBFFFFF, 1], np.uint32)
    swapped = signalling.byteswap().view(">f4")
    np.testing.assert_array_equal(arrays.codes(swapped, "f32"), signalling)
    assert arrays.codes(swapped, "f32").dtype.isnative
    np.testing.assert_array_equal(arrays.codes(np.array([0x3F80], ">i2"), "bf16"), [0x3F80])


@pytest.mark.parametrize(
    ("dtype", "name", "allowed", "advice"),
    [
        ("float64", "f16", "float16", 'convert its values with mfma.encode(A, "f16")'),
        ("float16", "bf16", "bfloat16, int16 or uint16", 'convert its values with mfma.encode(A, "bf16")'),
        (
            "int16",
            "f16",
            "float16",
            'convert its values with mfma.encode(A, "f16"), or view it as float16 if it holds codes',
        ),
        ("uint8", "i8", "int8", 'convert its values with mfma.encode(A, "i8"), or view it as int8 if it holds codes'),
        ("int64", "i8", "int8", 'convert its values with mfma.encode(A, "i8")'),
        (
            "void16",
            "bf16",
            "bfloat16, int16 or uint16",
            "give an array of bfloat16, or view it as bfloat16 if it holds codes",
        ),
        ("complex64", "f32", "float32", "give an array of float32"),
        ("float8_e4m3fn", "fp8", "float8_e4m3fnuz or uint8", f"{OCP_ADVICE} mfma.fp8.from_ocp(A)"),
        ("float8_e5m2", "bf8", "float8_e5m2fnuz or uint8", f"{OCP_ADVICE} mfma.fp8.from_ocp(A)"),
        ("float8_e4m3fn", "bf8", "float8_e5m2fnuz or uint8", 'convert its values with mfma.encode(A, "bf8")'),
    ],
)
def test_a_refused_operand_is_told_what_to_do(dtype, name, allowed, advice):
    with pytest.raises(OperandTypeError) as caught:
        arrays.codes(np.zeros(1, "V2" if dtype == "void16" else dtype), name)
    assert str(caught.value) == f"A is {dtype}, but an operand of format {name} is {allowed}: {advice}."


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([1.0], "A is of type list, not an array: give a NumPy array or a CPU torch tensor."),
        (1.0, "A is of type float, not an array: give a NumPy array or a CPU torch tensor."),
        (np.float32(1), "A is of type float32, not an array: give a NumPy array or a CPU torch tensor."),
        (np.ma.zeros(1, "f4"), "A is a masked array, whose masked elements have no value: fill them first."),
    ],
)
def test_what_is_not_an_array_is_refused(array, message):
    with pytest.raises(OperandTypeError) as caught:
        arrays.codes(array, "f32")
    assert str(caught.value) == message


def test_view_refuses_codes_of_another_width():
    with pytest.raises(OperandTypeError, match="The codes are uint8, but codes of f16 are uint16"):
        arrays.view(np.zeros(2, np.uint8), "f16")


@pytest.mark.parametrize("name", ["bf16", "fp8", "bf8", "ocp_fp8", "f16", "f32", "f64", "i8"])
def test_raw_takes_what_a_saved_array_comes_back_as(name):
    array = encode(np.linspace(-3, 3, 7), name)
    file = io.BytesIO()
    np.save(file, array)
    file.seek(0)
    loaded = np.load(file)
    np.testing.assert_array_equal(arrays.raw(loaded, name), code_of(array))
    np.testing.assert_array_equal(arrays.raw(loaded.reshape(1, 7)[:, ::2], name), code_of(array)[None, ::2])


@pytest.mark.parametrize(
    ("dtype", "name"), [("V2", "f16"), ("V2", "fp8"), ("V1", "i8"), ("V4", "f32"), ([("a", "u1")], "fp8")]
)
def test_raw_takes_bytes_only_for_formats_that_are_saved_as_bytes(dtype, name):
    with pytest.raises(OperandTypeError, match="A is void"):
        arrays.raw(np.zeros(2, dtype), name)


def test_format_names_are_looked_up_in_any_case():
    assert arrays.find("BF16") is FORMATS["bf16"]
    assert arrays.find(FORMATS["fp8"]) is FORMATS["fp8"]


# -- torch ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@by_name(FORMATS.values())
def test_tensors_are_read_where_they_lie(torch, fmt):
    codes = np.arange(24, dtype=f"u{fmt.bits // 8}").reshape(4, 6)
    for storage in ACCEPTED[fmt.name]:
        tensor = torch.from_numpy(codes.view(f"i{fmt.bits // 8}")).view(getattr(torch, storage))
        for some, expected in ((tensor, codes), (tensor.T[::2], codes.T[::2]), (tensor[0, 0], codes[0, 0])):
            found = arrays.codes(some, fmt)
            np.testing.assert_array_equal(found, expected)
            assert np.shares_memory(found, codes)
    assert_same(decode(tensor.view(getattr(torch, fmt.dtype)), fmt), decode(codes, fmt))


def test_tensors_are_encoded(torch):
    tensor = torch.tensor([1.0, -2.5, 247.0], dtype=torch.bfloat16, requires_grad=True)
    assert own_value(encode(tensor, "fp8")).tolist() == [1.0, -2.5, 240]
    assert encode(torch.tensor([3, -4]), "i8").tolist() == [3, -4]
    negated = torch.tensor([1 + 2j]).conj().imag  # a view that remembers to negate
    assert encode(negated, "f16").tolist() == [-2]


def test_tensors_that_cannot_be_read_are_refused(torch):
    refused = {
        "A is a torch tensor on meta: copy it to the CPU with .cpu()": torch.zeros(2, device="meta"),
        "A is a torch.sparse_coo tensor: make it dense with .to_dense()": torch.zeros(2, 2).to_sparse(),
        "A is a torch.bits8 tensor, which no NumPy element type holds": torch.zeros(2, dtype=torch.uint8).view(
            torch.bits8
        ),
        "A is complex64, but an operand of format f32 is float32: give an array": torch.zeros(2, dtype=torch.complex64),
        "A is float8_e4m3fn, .*mfma.fp8.from_ocp": torch.zeros(2, dtype=torch.float8_e4m3fn),
    }
    for message, tensor in refused.items():
        with pytest.raises(OperandTypeError, match=message):
            arrays.codes(tensor, "fp8" if "fp8" in message else "f32")


def test_torch_is_never_imported():
    program = "import sys, mfma.fp8; mfma.fp8.quantize([1.0]); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
