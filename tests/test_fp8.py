"""FNUZ and OCP fp8: every code in both directions, scales, and the public bugs that confused the two.

Oracles: ml_dtypes' widening of both formats, and the law ``value(input) == value(output) * scale``.
"""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.errors import OperandTypeError, OptionError, UnknownNameError
from mfma.formats import FORMATS
from mfma.formats.codec import decode, encode
from mfma.fp8 import from_ocp, quantize, to_ocp

PAIRS = [("float8_e4m3fn", "float8_e4m3fnuz"), ("float8_e5m2", "float8_e5m2fnuz")]
both = pytest.mark.parametrize(("ocp", "fnuz"), PAIRS)
either = pytest.mark.parametrize("name", ["fp8", "bf8"])

ALL = np.arange(256, dtype=np.uint8)
LOST = {"float8_e4m3fnuz": {0x7F, 0xFF}, "float8_e5m2fnuz": {*range(0x7C, 0x80), *range(0xFC, 0x100)}}
"""FNUZ codes whose value OCP does not have."""


def value(array):
    return array.astype(np.float64)


def code(array):
    return array.view(np.uint8)


# -- conversion ----------------------------------------------------------------------------------------------------


@both
def test_from_ocp_keeps_every_value_and_every_legal_code(ocp, fnuz):
    given_values = value(ALL.view(ocp))
    array, scale = from_ocp(ALL.view(ocp))
    assert array.dtype == fnuz
    assert scale == 2.0
    finite = np.isfinite(given_values)
    np.testing.assert_array_equal(value(array)[finite] * scale, given_values[finite])
    assert (code(array)[~finite] == 0x80).all()
    assert code(array)[0x80] == 0
    legal = finite & (ALL != 0x80)
    np.testing.assert_array_equal(code(array)[legal], ALL[legal])


@both
@pytest.mark.parametrize("on_loss", ["error", "saturate", "nan"])
def test_to_ocp_keeps_every_value_that_has_an_equal(ocp, fnuz, on_loss):
    legal = np.array([c for c in range(256) if c not in LOST[fnuz]], np.uint8)
    array, scale = to_ocp(legal.view(fnuz), on_loss)
    assert array.dtype == ocp
    assert scale == 0.5
    np.testing.assert_array_equal(value(array) * scale, value(legal.view(fnuz)))
    numbers = legal != 0x80
    np.testing.assert_array_equal(code(array)[numbers], legal[numbers])


@both
def test_to_ocp_does_with_lost_numbers_what_it_is_told(ocp, fnuz):
    lost = np.array(sorted(LOST[fnuz]), np.uint8).view(fnuz)
    maximum = float(ml_dtypes.finfo(ocp).max)
    np.testing.assert_array_equal(value(to_ocp(lost, "saturate")[0]), np.copysign(maximum, value(lost)))
    assert np.isnan(value(to_ocp(lost, "nan")[0])).all()
    with pytest.raises(OptionError, match=f"{lost.size} of {lost.size} elements"):
        to_ocp(lost)


def test_to_ocp_says_what_is_lost_and_what_to_do():
    array = encode([1.0, 240.0, -240.0, np.nan], "fp8")
    with pytest.raises(OptionError) as caught:
        to_ocp(array)
    assert str(caught.value) == (
        "2 of 4 elements, ±240 and beyond, have no equal in float8_e4m3fn: "
        "choose on_loss='saturate' for its largest number, or on_loss='nan'."
    )
    with pytest.raises(OptionError, match="1 of 1 elements, ±32768 and beyond, have no equal in float8_e5m2"):
        to_ocp(encode(57344.0, "bf8"))
    with pytest.raises(OptionError, match="on_loss is 'raise', but it must be 'error', 'saturate' or 'nan'"):
        to_ocp(array, "raise")


@both
def test_there_and_back(ocp, fnuz):
    array = ALL[np.isfinite(value(ALL.view(ocp)))].view(ocp)
    there, up = from_ocp(array)
    back, down = to_ocp(there)
    assert up * down == 1
    np.testing.assert_array_equal(value(back), value(array))


@pytest.mark.parametrize("convert", [from_ocp, to_ocp])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float8_e4m3b11fnuz"])
def test_only_the_two_types_of_the_other_side_are_converted(convert, dtype):
    taken = "float8_e4m3fn or float8_e5m2" if convert is from_ocp else "float8_e4m3fnuz or float8_e5m2fnuz"
    with pytest.raises(
        OperandTypeError, match=f"The array is {dtype}, but {convert.__name__} takes {taken}: view codes"
    ):
        convert(np.zeros(2, dtype))


def test_a_converted_array_is_not_converted_again():
    converted, _ = from_ocp(encode([1.0], "ocp_fp8"))
    with pytest.raises(OperandTypeError, match="The array is float8_e4m3fnuz, but from_ocp takes"):
        from_ocp(converted)
    with pytest.raises(OperandTypeError, match="The array is of type list, not an array"):
        from_ocp([1.0])


def test_shapes_are_kept():
    for shape in [(), (0,), (2, 3)]:
        assert from_ocp(np.ones(shape, "float8_e5m2"))[0].shape == shape
        assert to_ocp(np.ones(shape, "float8_e5m2fnuz"))[0].shape == shape
        assert quantize(np.ones(shape))[0].shape == shape
    array = np.arange(12.0).reshape(3, 4).astype("float8_e4m3fn")
    np.testing.assert_array_equal(value(from_ocp(array.T[::2])[0]) * 2, value(array).T[::2])


def test_tensors_are_converted():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([1.0, -448.0]).to(torch.float8_e4m3fn)
    assert value(from_ocp(tensor)[0]).tolist() == [0.5, -224]
    assert value(to_ocp(torch.tensor([0.5]).to(torch.float8_e4m3fnuz))[0]).tolist() == [1.0]
    assert quantize(torch.tensor([480.0]))[1] == 2.0


# -- quantize ------------------------------------------------------------------------------------------------------


@either
@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_quantize_is_near(name, numbers):
    fmt = FORMATS[name]
    x = np.array(numbers)
    array, scale = quantize(x, name)
    assert array.dtype == fmt.dtype
    error = np.abs(value(array) - x / scale)
    # Half a last place: 2**-(significand + 1) of a normal number, half a step of a subnormal one.
    bound = np.maximum(np.abs(x / scale) * 2.0 ** -(fmt.significand + 1), fmt.tiny / 2)
    assert (error <= bound * (1 + 2**-50)).all()


@either
@settings(deadline=None)
@given(st.floats(min_value=2.0**-1000, max_value=2.0**1000))
def test_the_largest_magnitude_becomes_the_largest_number(name, amax):
    array, scale = quantize([amax, -amax, amax / 4], name)
    assert scale == amax / FORMATS[name].max
    assert value(array)[:2].tolist() == [FORMATS[name].max, -FORMATS[name].max]


def test_numbers_beyond_amax_saturate_and_nan_stays():
    array, scale = quantize([480.0, 481.0, -1e300, np.inf, -np.inf, np.nan, -0.0], amax=480)
    assert scale == 2.0
    assert code(array).tolist() == [0x7F, 0x7F, 0xFF, 0x7F, 0xFF, 0x80, 0x00]


@pytest.mark.parametrize("amax", [5e-324, 1e-310, 2.0**-1022])
def test_a_tiny_amax_keeps_a_normal_scale(amax):
    array, scale = quantize([amax, 1e308], amax=amax)
    assert scale >= 2.0**-1022
    assert value(array)[0] * scale == pytest.approx(amax, rel=2**-4, abs=2.0**-1022 * 2.0**-11)
    assert value(array)[1] == 240


def test_nothing_to_scale_has_scale_1():
    for x in ([0.0, -0.0], [], np.zeros((2, 0))):
        array, scale = quantize(x)
        assert scale == 1.0
        assert not code(array).any()
    assert quantize([3.0], amax=0)[1] == 1.0


def test_amax_may_be_any_one_number():
    for amax in (480, np.float32(480), np.array(480)):
        scale = quantize([1.0], amax=amax)[1]
        assert (type(scale), scale) == (float, 2.0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1.0, np.inf],), OptionError, "x holds infinity or NaN, so its largest magnitude gives no scale: give amax"),
        (([1.0, np.nan],), OptionError, "x holds infinity or NaN"),
        (([1.0], "fp8", np.inf), OptionError, "amax is inf, but it must be a finite number, 0 or greater"),
        (([1.0], "fp8", np.nan), OptionError, "amax is nan, but"),
        (([1.0], "fp8", -1), OptionError, "amax is -1.0, but"),
        (([1.0], "fp8", [1.0, 2.0]), OptionError, "amax is of type list, but it must be one number"),
        (([1.0], "ocp_fp8"), OptionError, "quantize makes fp8 or bf8, not ocp_fp8"),
        (([1.0], "f16"), OptionError, "quantize makes fp8 or bf8, not f16"),
        (([1.0], "e4m3"), UnknownNameError, r"No number format is called 'e4m3': .*fp8 \(float8_e4m3fnuz\)"),
        ((["1"],), OperandTypeError, "The array to encode is str"),
    ],
)
def test_quantize_says_what_is_wrong(arguments, error, message):
    with pytest.raises(error, match=message):
        quantize(*arguments)


# -- public bugs ---------------------------------------------------------------------------------------------------


def test_a_byte_means_half_in_fnuz():
    # https://github.com/vllm-project/vllm/issues/45562: a cache read as the wrong type
    byte = np.array([0x38], np.uint8)
    assert decode(byte, "fp8").tolist() == [0.5]
    assert decode(byte, "ocp_fp8").tolist() == [1.0]
    for fnuz, one in (("fp8", 0x40), ("bf8", 0x40), ("ocp_fp8", 0x38), ("ocp_bf8", 0x3C)):
        assert code(encode([1.0], fnuz)).tolist() == [one]


def test_a_product_of_converted_operands_needs_both_scales():
    # https://github.com/sgl-project/sglang/pull/35111: OCP weights with FNUZ activations
    ones = np.full(32, 0x38, np.uint8)
    assert np.dot(decode(ones, "ocp_fp8"), decode(ones, "ocp_fp8")) == 32
    assert np.dot(decode(ones, "fp8"), decode(ones, "fp8")) == 8
    a, scale_a = from_ocp(ones.view(ml_dtypes.float8_e4m3fn))
    b, scale_b = from_ocp(ones.view(ml_dtypes.float8_e4m3fn))
    assert np.dot(value(a), value(b)) * scale_a * scale_b == 32


@either
def test_0x80_is_nan_and_small_negative_numbers_are_not(name):
    # https://github.com/triton-lang/triton/issues/10745 and https://github.com/triton-lang/triton/pull/3997
    assert np.isnan(decode(np.array([0x80], np.uint8), name)).all()
    small = [-(2.0**-20), -(2.0**-1074), -FORMATS[name].tiny / 2, -0.0]
    for rounding in ("rne", "truncate"):
        assert code(encode(small, name, rounding)).tolist() == [0, 0, 0, 0]
    assert code(encode([np.nan, np.inf, -np.inf], name)).tolist() == [0x80, 0x80, 0x80]


def test_the_largest_number_is_240():
    # https://github.com/triton-lang/triton/issues/6542, https://github.com/modelscope/DiffSynth-Studio/pull/1528
    # and https://github.com/vllm-project/vllm/pull/42893: not 448 and not 224
    assert quantize([480.0])[1] == 2.0
    assert decode(np.array([0x7F, 0xFF], np.uint8), "fp8").tolist() == [240, -240]
    assert decode(np.array([0x7F, 0xFF], np.uint8), "bf8").tolist() == [57344, -57344]
    assert code(encode([247.9, 248.0], "fp8")).tolist() == [0x7F, 0x80]
    assert code(encode([248.0, 1e9, -np.inf], "fp8", overflow="saturate")).tolist() == [0x7F, 0x7F, 0xFF]


def test_subnormals_and_the_top_of_the_range():
    # https://github.com/stillwater-sc/universal/pull/1351, https://github.com/ml-explore/mlx/pull/4164 (NaN read as
    # 480), https://github.com/tinygrad/tinygrad/pull/18274 (FNUZ has no infinity)
    subnormals = np.arange(1, 8, dtype=np.uint8)
    np.testing.assert_array_equal(decode(subnormals, "ocp_fp8"), np.arange(1, 8) * 2.0**-9)
    np.testing.assert_array_equal(decode(subnormals, "fp8"), np.arange(1, 8) * 2.0**-10)
    np.testing.assert_array_equal(decode(subnormals[:3], "bf8"), np.arange(1, 4) * 2.0**-17)
    assert code(encode([464.0, 465.0, np.inf], "ocp_fp8")).tolist() == [0x7E, 0x7F, 0x7F]
    assert np.isnan(decode(np.array([0x7F, 0xFF], np.uint8), "ocp_fp8")).all()
    assert code(encode([np.inf, 61440.0, 61439.9], "ocp_bf8")).tolist() == [0x7C, 0x7C, 0x7B]


@both
def test_the_codes_that_are_not_twice_the_value(ocp, fnuz):
    # The list of exceptions is the whole difference: every other byte is exactly twice as large in OCP.
    differs = ALL[~(value(ALL.view(ocp)) == 2 * value(ALL.view(fnuz)))]
    expected = {"float8_e4m3fn": {0x7F, 0x80, 0xFF}, "float8_e5m2": {*range(0x7C, 0x81), *range(0xFC, 0x100)}}
    assert set(differs.tolist()) == expected[ocp]
