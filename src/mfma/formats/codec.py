"""Values to codes and back, exactly: `decode` gives the number of every code, `encode` rounds once.

Both work on integers, the bits of the numbers, so that the answer depends neither on the host's conversions (some
round twice) nor on the thread's floating-point environment (rounding mode, flush to zero).

Formats and their corner cases: IEEE 754-2019 for f64, f32, f16; bf16 and xf32 are f32 with fewer significand bits;
OCP 8-bit Floating Point Specification 1.0 for ``ocp_fp8`` and ``ocp_bf8``; fp8 and bf8 of CDNA3 are the FNUZ
formats (CDNA3 ISA: 0x80 is the only NaN, no infinity, no -0).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mfma.errors import OperandTypeError, OptionError
from mfma.formats import F64, Format, Specials
from mfma.formats.arrays import FLOATS, as_numpy, code_dtype, find, is_untyped, value_dtype, view

__all__ = ["SpecialCodes", "decode", "encode", "special_codes", "values"]

Rounding = Literal["rne", "truncate"]
Overflow = Literal["ieee", "saturate"]

BLOCK = 1 << 14
"""Elements converted at a time, so that the intermediate arrays stay in the cache."""

TABLE_BITS = 16
"""Bits of the widest format that is decoded by looking up a table of all its codes."""


@dataclass(frozen=True)
class SpecialCodes:
    """Codes at the end of a format's positive half, without the low bits that the format ignores.

    ``maximum`` is the largest finite number. ``nan`` is the only NaN that this package writes: positive and quiet,
    whatever the sign and payload of the NaN that it replaces (f32 7FC00000, f16 7E00, bf16 7FC0, fp8 and bf8 80,
    ocp_fp8 7F, ocp_bf8 7E). ``infinity`` is that NaN too where the format has no infinity.
    """

    maximum: int
    infinity: int
    nan: int


@functools.cache
def special_codes(format: Format) -> SpecialCodes:
    """Return the special codes of a floating format.

    >>> special_codes(find("f16"))
    SpecialCodes(maximum=31743, infinity=31744, nan=32256)
    """
    top = (1 << (format.bits - format.ignored - 1)) - 1
    match format.specials:
        case Specials.IEEE:
            infinity = top - (1 << format.significand) + 1
            return SpecialCodes(infinity - 1, infinity, infinity | 1 << (format.significand - 1))
        case Specials.FN:
            return SpecialCodes(top - 1, top, top)
        case Specials.FNUZ:
            return SpecialCodes(top, top + 1, top + 1)
        case Specials.NONE:
            raise OptionError(f"{format} is an integer format: all its codes are numbers.")


def decode(codes: object, format: str | Format) -> NDArray[Any]:
    """Return the exact values of codes: float64, or int64 for an integer format; same shape, own memory.

    ``codes`` is an array of the format's own element type, or of integers or untyped bytes of its width (their bits
    are the codes). A NaN code gives a NaN. For xf32 the value is what the matrix core multiplies: the low 13 bits
    of the code count as zero. Raises `OperandTypeError` for any other element type.

    >>> decode(np.array([0x38, 0x7F, 0x80], np.uint8), "fp8")
    array([  0.5, 240. ,   nan])
    """
    format = find(format)
    given = as_numpy(np.asarray(codes) if isinstance(codes, np.generic) else codes, "The array of codes")
    holds_bits = (given.dtype.kind in "iu" or is_untyped(given.dtype)) and given.dtype.itemsize * 8 == format.bits
    if given.dtype.name != format.dtype and not holds_bits:
        raise OperandTypeError(
            f"The array of codes is {given.dtype.name}, but codes of {format} are {format.dtype} "
            f"or {format.bits}-bit integers, such as {code_dtype(format)}."
        )
    unsigned = given.view(code_dtype(format))
    if format.bits <= TABLE_BITS and not format.is_integer:
        return np.asarray(values(format)[unsigned])
    return _in_blocks(
        functools.partial(_decode, format=format), unsigned, np.int64 if format.is_integer else np.float64
    )


@functools.cache
def values(format: Format) -> NDArray[Any]:
    """Return the values of all codes of a format of at most 16 bits, in the order of the codes; read-only."""
    if format.bits > TABLE_BITS:
        raise OptionError(f"{format} has 2**{format.bits} codes, too many for a table: decode those that you need.")
    table = _decode(np.arange(1 << format.bits, dtype=code_dtype(format)), format)
    table.flags.writeable = False
    return table


def _decode(codes: NDArray[Any], format: Format) -> NDArray[Any]:
    if format.is_integer:
        return codes.view(value_dtype(format)).astype(np.int64)
    if format is F64:
        return codes.view(np.float64)
    special, double = special_codes(format), special_codes(F64)
    width, significand = format.bits - format.ignored, format.significand
    code = codes.astype(np.uint64) >> format.ignored
    sign, magnitude = code >> (width - 1), code & ((1 << (width - 1)) - 1)
    exponent, fraction = magnitude >> significand, magnitude & ((1 << significand) - 1)
    normal = (exponent + (F64.bias - format.bias) << F64.significand) + (fraction << F64.significand - significand)
    # Exact in any rounding mode: a 32-bit integer times a power of two. A pow, as in `Format.tiny`, would not be.
    last_place = math.ldexp(1.0, format.min_exponent - significand)
    subnormal = (fraction.astype(np.int32) * last_place).view(np.uint64)
    bits = np.where(exponent == 0, subnormal, normal)
    bits = np.where((magnitude > special.maximum) | (code == special.nan), np.uint64(double.nan), bits)
    if format.has_infinity:
        bits = np.where(magnitude == special.infinity, np.uint64(double.infinity), bits)
    return np.asarray(bits | sign << (F64.bits - 1)).view(np.float64)


def encode(
    array: object, format: str | Format, rounding: Rounding = "rne", overflow: Overflow = "ieee"
) -> NDArray[Any]:
    """Convert numbers to a format, each rounded once, and return an array of the format's own element type.

    ``array`` holds float64, float32, float16, bfloat16, 8-bit floats (FNUZ or OCP) or integers of up to 64 bits, in
    a NumPy array or a CPU torch tensor; numbers and lists become what `numpy.asarray` makes of them. The result is
    a new array of the same shape; for xf32 it is float32 with the low 13 bits zero.

    ``rounding``: ``"rne"``, to nearest, ties to even; ``"truncate"``, toward zero, as the matrix core cuts xf32.
    ``overflow``: ``"ieee"`` gives infinity, or NaN in a format without infinity, except that truncating a finite
    number gives the largest finite one; ``"saturate"`` gives the largest finite number, for infinity too.
    A NaN becomes the format's one NaN (see `SpecialCodes`). FNUZ formats have no -0: a negative number that rounds
    to zero gives 0.

    For an integer format a number outside its range raises `OptionError` unless ``overflow="saturate"``, and NaN
    always does. Other errors: `UnknownNameError`, `OptionError`, `OperandTypeError`.

    >>> encode([247.9, 248.0, -0.0], "fp8").view(np.uint8)
    array([127, 128,   0], dtype=uint8)
    >>> encode([1.00075], "xf32"), encode([1.00075], "xf32", "truncate")
    (array([1.0009766], dtype=float32), array([1.], dtype=float32))
    """
    format = find(format)
    nearest = _choose("rounding", rounding, "rne", "truncate") == "rne"
    saturate = _choose("overflow", overflow, "ieee", "saturate") == "saturate"
    given = _as_numbers(array)
    split = _split_float if given.dtype.name in FLOATS else _split_integer
    join = _integer_codes if format.is_integer else _float_codes
    codes = _in_blocks(lambda block: join(split(block), format, nearest, saturate), given, code_dtype(format))
    return view(codes, format)


def _in_blocks(convert: Callable[[NDArray[Any]], NDArray[Any]], array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    flat = array.reshape(-1)
    result = np.empty(flat.size, dtype)
    for start in range(0, flat.size, BLOCK):
        block = slice(start, start + BLOCK)
        result[block] = convert(flat[block])
    return result.reshape(array.shape)


def _choose(option: str, given: str, *allowed: str) -> str:
    if given not in allowed:
        raise OptionError(f"{option} is {given!r}, but it must be {' or '.join(map(repr, allowed))}.")
    return given


def _as_numbers(array: object) -> NDArray[Any]:
    if isinstance(array, (int, float, np.generic, list, tuple)):
        try:
            array = np.asarray(array)
        except ValueError as error:
            raise OperandTypeError(f"The list to encode is not an array: {error}") from None
    given = as_numpy(array, "The array to encode")
    if given.dtype.name not in FLOATS and given.dtype.kind not in "iu":
        raise OperandTypeError(
            f"The array to encode is {given.dtype.name}, but it must be {', '.join(FLOATS)} "
            "or an integer type of up to 64 bits: convert it to one of these first."
        )
    return given


@dataclass(frozen=True)
class _Numbers:
    """Values ``±magnitude · 2**exponent``, or infinite, or NaN; their leading bit is worth at most ``2**leading``.

    A magnitude from a float is below 2**53; one from an integer has exponent 0.
    """

    negative: NDArray[np.bool_]
    magnitude: NDArray[np.uint64]
    exponent: NDArray[np.int64]
    leading: NDArray[np.int64]
    infinite: NDArray[np.bool_]
    nan: NDArray[np.bool_]

    def value(self, index: int) -> float:
        """Return one of the values, for a message."""
        size = (
            math.ldexp(int(self.magnitude[index]), int(self.exponent[index])) if not self.infinite[index] else math.inf
        )
        return -size if self.negative[index] else size


def _split_float(array: NDArray[Any]) -> _Numbers:
    bits = decode(array, FLOATS[array.dtype.name]).view(np.uint64)
    field = (bits >> F64.significand & 0x7FF).astype(np.int64)
    fraction = bits & ((1 << F64.significand) - 1)
    leading = np.maximum(field, 1) - F64.bias
    return _Numbers(
        negative=bits >> (F64.bits - 1) != 0,
        magnitude=fraction | (field != 0).astype(np.uint64) << F64.significand,
        exponent=leading - F64.significand,
        leading=leading,
        infinite=(field == 0x7FF) & (fraction == 0),
        nan=(field == 0x7FF) & (fraction != 0),
    )


def _split_integer(array: NDArray[Any]) -> _Numbers:
    negative = array < 0
    bits = array.astype(np.uint64)
    magnitude = np.where(negative, np.negative(bits), bits)  # modulo 2**64, which leaves room for -2**63
    ones = magnitude.copy()  # a one in every place from the leading one down
    for distance in (1, 2, 4, 8, 16, 32):
        ones |= ones >> distance
    length = np.bitwise_count(ones).astype(np.int64)
    never = np.zeros(array.shape, np.bool_)
    return _Numbers(
        negative=negative,
        magnitude=magnitude,
        exponent=np.zeros(array.shape, np.int64),
        leading=np.where(magnitude == 0, F64.min_exponent, length - 1),
        infinite=never,
        nan=never,
    )


def _round(numbers: _Numbers, last_place: NDArray[np.int64] | int, nearest: bool) -> NDArray[np.uint64]:
    """Return the magnitudes in units of ``2**last_place``."""
    shift = last_place - numbers.exponent
    left = np.clip(-shift, 0, 63).astype(np.uint64)
    right = np.clip(shift, 0, 63).astype(np.uint64)  # a float's 53 bits round to zero at 63 as at any greater shift
    kept = numbers.magnitude << left >> right
    if nearest:
        unit = np.uint64(1) << right
        rest = numbers.magnitude & (unit - 1)
        kept += 2 * rest + (kept & 1) > unit
    return kept


def _float_codes(numbers: _Numbers, format: Format, nearest: bool, saturate: bool) -> NDArray[Any]:
    special = special_codes(format)
    leading = np.maximum(numbers.leading, format.min_exponent)
    kept = _round(numbers, leading - format.significand, nearest)
    # The leading bit of a normal number, and a carry out of the significand, both add 1 to the exponent field.
    code = ((leading - format.min_exponent).astype(np.uint64) << format.significand) + kept
    beyond = special.infinity if nearest and not saturate else special.maximum
    code = np.where(code > special.maximum, np.uint64(beyond), code)
    code = np.where(numbers.infinite, np.uint64(special.maximum if saturate else special.infinity), code)
    code = np.where(numbers.nan, np.uint64(special.nan), code)
    signed = numbers.negative & (code != special.nan)
    if format.specials is Specials.FNUZ:
        signed &= code != 0
    sign = signed.astype(np.uint64) << (format.bits - format.ignored - 1)
    return np.asarray((code | sign) << format.ignored)


def _integer_codes(numbers: _Numbers, format: Format, nearest: bool, saturate: bool) -> NDArray[np.uint64]:
    if np.any(numbers.nan):
        raise OptionError(f"The array to encode holds NaN, which {format} has no code for: replace it first.")
    largest = ((1 << (format.bits - 1)) - 1) + numbers.negative.astype(np.uint64)
    huge = numbers.infinite | (numbers.leading >= format.bits)
    rounded = _round(replace(numbers, magnitude=np.where(huge, 0, numbers.magnitude)), 0, nearest)
    outside = huge | (rounded > largest)
    if outside.any() and not saturate:
        raise OptionError(
            f"The array to encode holds {numbers.value(int(outside.argmax()))!r}, outside the range of {format}, "
            f"{-1 - int(format.max)} to {int(format.max)}: scale it, or choose overflow='saturate'."
        )
    magnitude = np.where(outside, largest, rounded)
    return np.where(numbers.negative, np.negative(magnitude), magnitude)
