"""NaN bits, decided in this one place.

Nobody has published which sign and payload a CDNA3 matrix instruction gives a NaN result, and the known
models disagree. Results here carry one documented quiet NaN, which is an assumption; comparisons should go
through `same_bits`, which holds any two NaNs to be equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from mfma.formats import Format, Specials

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["is_nan", "quiet_nan", "same_bits"]


def quiet_nan(format: Format) -> int:
    """Give the code of the NaN that results carry: positive and quiet, no other payload bit (assumed).

    >>> from mfma.formats import F32, F64
    >>> f"{quiet_nan(F32):08X} {quiet_nan(F64):016X}"
    '7FC00000 7FF8000000000000'
    """
    if format.specials is Specials.FNUZ:
        return 1 << format.bits - 1
    if format.specials is Specials.FN:
        return (1 << format.bits - 1) - 1
    fraction = format.bits - 1 - format.exponent
    return (1 << format.exponent + 1) - 1 << fraction - 1


@overload
def is_nan(codes: int, format: Format) -> bool: ...
@overload
def is_nan(codes: NDArray[Any], format: Format) -> NDArray[np.bool_]: ...
def is_nan(codes: Any, format: Format) -> Any:
    """Tell whether codes of ``format`` are NaNs: a plain int, or an array of any shape.

    Arrays hold codes (integers of the format's width) or values (``float32`` and the like). An xf32 NaN
    whose payload lies in the bits that the matrix core cuts off is an infinity, not a NaN.

    >>> from mfma.formats import F32, FP8, XF32
    >>> is_nan(0x7F800001, F32), is_nan(0x7F800001, XF32), is_nan(0x80, FP8)
    (True, False, True)
    """
    codes = _codes(codes)
    sign = 1 << format.bits - 1
    magnitude = codes & sign - (1 << format.ignored)
    if format.specials is Specials.IEEE:
        return magnitude > (1 << format.exponent) - 1 << format.bits - 1 - format.exponent
    if format.specials is Specials.FN:
        return magnitude == sign - 1
    if format.specials is Specials.FNUZ:
        return codes == sign
    return magnitude < 0


@overload
def same_bits(x: int, y: int, format: Format) -> bool: ...
@overload
def same_bits(x: NDArray[Any], y: NDArray[Any], format: Format) -> NDArray[np.bool_]: ...
def same_bits(x: Any, y: Any, format: Format) -> Any:
    """Compare codes of ``format`` bit for bit, so -0 differs from +0, but hold all NaNs to be equal.

    Takes plain ints, giving a bool, or arrays of codes or values, giving an array of bools of the
    broadcast shape.

    >>> from mfma.formats import F32
    >>> same_bits(0x7FC00000, 0xFFFFFFFF, F32), same_bits(0x00000000, 0x80000000, F32)
    (True, False)
    """
    x, y = _codes(x), _codes(y)
    return (x == y) | (is_nan(x, format) & is_nan(y, format))


def _codes(given: Any) -> Any:
    """See an array's bytes as unsigned integers of its own width; leave a plain int alone."""
    return given.view(f"uint{8 * given.dtype.itemsize}") if hasattr(given, "dtype") else given
