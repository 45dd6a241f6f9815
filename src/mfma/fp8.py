"""The 8-bit floats of CDNA3 are FNUZ; models are published in OCP. Convert between them, and scale to fit.

The same byte stands for half the value in FNUZ: the exponent bias is one greater. So a conversion keeps the bytes
where both formats use them for a number, and hands back the scale that the product must be multiplied by:

====  ===============  ====  =====  =============  ====  =====  ==========================================
ISA   FNUZ type        bias  max    OCP type       bias  max    not the same number
====  ===============  ====  =====  =============  ====  =====  ==========================================
fp8   float8_e4m3fnuz  8     240    float8_e4m3fn  7     448    80 (NaN, OCP -0); OCP 7F, FF (NaN)
bf8   float8_e5m2fnuz  16    57344  float8_e5m2    15    57344  80 (NaN, OCP -0); OCP 7C–7F, FC–FF (Inf, NaN)
====  ===============  ====  =====  =============  ====  =====  ==========================================
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mfma.errors import OperandTypeError, OptionError
from mfma.formats import F64, Format
from mfma.formats.arrays import OCP_TWINS, as_numpy, codes, find, view
from mfma.formats.codec import decode, encode, values

__all__ = ["from_ocp", "quantize", "to_ocp"]

OnLoss = Literal["error", "saturate", "nan"]

_FNUZ_OF_OCP = {ocp: fnuz for fnuz, ocp in OCP_TWINS.items()}


def from_ocp(array: object) -> tuple[NDArray[Any], float]:
    """Convert OCP fp8 to the FNUZ format of the same bit fields; return the array and its scale, 2.0.

    ``array`` is float8_e4m3fn or float8_e5m2, in NumPy or a CPU torch tensor; the result a NumPy array of
    float8_e4m3fnuz or float8_e5m2fnuz, of the same shape. ``value(array) == value(result) * 2.0`` for every finite
    element, so nothing is lost; infinities and NaNs become the NaN 0x80, and -0 becomes 0. Multiply what the matrix
    core gives by the scale of each converted operand. Raises `OperandTypeError` for other element types.

    >>> import ml_dtypes
    >>> weights, scale = from_ocp(np.array([1.0, -448.0], ml_dtypes.float8_e4m3fn))
    >>> print(weights, weights.dtype, scale)
    [0.5 -224] float8_e4m3fnuz 2.0
    """
    given, ocp = _known(array, _FNUZ_OF_OCP, "from_ocp")
    fnuz = _FNUZ_OF_OCP[ocp]
    return view(np.asarray(_from_ocp_table(ocp)[codes(given, ocp)]), fnuz), 2.0


def to_ocp(array: object, on_loss: OnLoss = "error") -> tuple[NDArray[Any], float]:
    """Convert FNUZ fp8 to the OCP format of the same bit fields; return the array and its scale, 0.5.

    ``array`` is float8_e4m3fnuz or float8_e5m2fnuz, in NumPy or a CPU torch tensor; the result a NumPy array of
    float8_e4m3fn or float8_e5m2, of the same shape. ``value(array) == value(result) * 0.5``, and NaN becomes NaN.
    The largest FNUZ numbers have no OCP equal: ±240 of fp8, ±32768 and beyond of bf8. ``on_loss`` says what they
    become: ``"error"`` raises `OptionError`; ``"saturate"`` gives the largest OCP number; ``"nan"`` gives NaN.
    Raises `OperandTypeError` for other element types.

    >>> import ml_dtypes
    >>> array, scale = to_ocp(np.array([0.5, 240.0], ml_dtypes.float8_e4m3fnuz), on_loss="saturate")
    >>> print(array, array.dtype, scale)
    [1 448] float8_e4m3fn 0.5
    """
    if on_loss not in ("error", "saturate", "nan"):
        raise OptionError(f"on_loss is {on_loss!r}, but it must be 'error', 'saturate' or 'nan'.")
    given, fnuz = _known(array, OCP_TWINS, "to_ocp")
    ocp = OCP_TWINS[fnuz]
    given_codes = codes(given, fnuz)
    saturated, nan, lost = _to_ocp_tables(fnuz)
    if on_loss == "error" and (losses := int(np.count_nonzero(lost[given_codes]))):
        smallest = np.abs(values(fnuz)[lost]).min()
        raise OptionError(
            f"{losses} of {given.size} elements, ±{smallest:g} and beyond, have no equal in {ocp.dtype}: "
            "choose on_loss='saturate' for its largest number, or on_loss='nan'."
        )
    return view(np.asarray((nan if on_loss == "nan" else saturated)[given_codes]), ocp), 0.5


def quantize(x: object, format: str | Format = "fp8", amax: float | None = None) -> tuple[NDArray[Any], float]:
    """Scale numbers into the range of fp8 or bf8 and round them; return the array and the scale.

    ``value(array) * scale`` approximates ``x``. The scale is ``amax / 240`` (fp8) or ``amax / 57344`` (bf8), where
    ``amax`` is the largest magnitude to keep, by default that of ``x``; larger numbers and infinities saturate to
    ``±amax``, and NaN becomes 0x80. If ``amax`` is 0 the scale is 1. The quotient ``x / scale`` is a float64, then
    rounded to nearest even.

    ``x`` is anything that `mfma.encode` takes. Raises `OptionError` if ``amax`` is negative, infinite or NaN, or is
    to be taken from an ``x`` that is not finite; `UnknownNameError` and `OptionError` for other formats.

    >>> array, scale = quantize([480.0, -1.0, 1000.0], amax=480)
    >>> print(array, array.dtype, scale)
    [240 -0.5 240] float8_e4m3fnuz 2.0
    """
    target = find(format)
    if target not in OCP_TWINS:
        raise OptionError(f"quantize makes {' or '.join(map(str, OCP_TWINS))}, not {target}.")
    numbers = encode(x, F64)
    largest = _number(amax) if amax is not None else float(np.max(np.abs(numbers), initial=0.0))
    if amax is None and not math.isfinite(largest):
        raise OptionError("x holds infinity or NaN, so its largest magnitude gives no scale: give amax.")
    if not 0 <= largest < math.inf:
        raise OptionError(f"amax is {largest}, but it must be a finite number, 0 or greater.")
    # The quotient by a subnormal scale could overflow; the smallest normal scale is enough for any such amax.
    scale = max(largest / target.max, sys.float_info.min) if largest else 1.0
    with np.errstate(over="ignore", under="ignore"):
        quotients = numbers / scale
    return encode(quotients, target, overflow="saturate"), scale


def _number(amax: object) -> float:
    try:
        return float(amax)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise OptionError(f"amax is of type {type(amax).__name__}, but it must be one number.") from None


def _known(array: object, formats: Mapping[Format, Format], caller: str) -> tuple[NDArray[Any], Format]:
    given = as_numpy(array, "The array")
    for format in formats:
        if given.dtype.name == format.dtype:
            return given, format
    raise OperandTypeError(
        f"The array is {given.dtype.name}, but {caller} takes {' or '.join(format.dtype for format in formats)}: "
        "view codes as the type that they are, and give numbers to mfma.encode."
    )


@functools.cache
def _from_ocp_table(ocp: Format) -> NDArray[np.uint8]:
    return codes(encode(values(ocp) * 0.5, _FNUZ_OF_OCP[ocp]), _FNUZ_OF_OCP[ocp])


@functools.cache
def _to_ocp_tables(fnuz: Format) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.bool_]]:
    """Return the OCP code of every FNUZ code, saturated and with NaN, and where the two differ."""
    ocp = OCP_TWINS[fnuz]
    doubled = values(fnuz) * 2.0
    saturated = encode(doubled, ocp, overflow="saturate")
    lost = ~np.isnan(doubled) & (decode(saturated, ocp) != doubled)
    return codes(saturated, ocp), codes(encode(np.where(lost, np.nan, doubled), ocp), ocp), lost
