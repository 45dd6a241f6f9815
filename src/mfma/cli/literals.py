"""Numbers on the command line: codes such as ``0x3C00``, or decimals that the format must hold exactly."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mfma.cli.files import stored
from mfma.cli.shell import Refusal
from mfma.errors import OptionError
from mfma.formats import Format
from mfma.formats.arrays import code_dtype, codes, view
from mfma.formats.codec import decode, encode

__all__ = ["array", "code"]


def array(text: str, format: Format, *, convert: bool) -> NDArray[np.generic]:
    """Read a list of numbers, separated by commas, as an array of the format's element type."""
    items = [code(item, format, convert=convert) for item in text.split(",")]
    return view(np.array(items, code_dtype(format)), format)


def code(text: str, format: Format, *, convert: bool) -> int:
    """Read one number as a code of a format.

    ``0x`` and hexadecimal digits are a code. Everything else is a float64, written as in Python (inf and nan too),
    which must be a number of the format, or is rounded to one if ``convert``.

    >>> from mfma.formats import F16
    >>> hex(code("-1.5", F16, convert=False)), hex(code("0.1", F16, convert=True))
    ('0xbe00', '0x2e66')
    """
    item = text.strip().lower()
    if item.startswith("0x"):
        return _code(item, format)
    number, kept = _number(item), stored(format)
    try:
        rounded = int(codes(encode(number, kept), kept).item())
    except OptionError:
        lowest, highest = -1 - int(kept.max), int(kept.max)
        raise Refusal(f"{item} is no {kept} number: give an integer from {lowest} to {highest}.") from None
    value = decode(np.array(rounded, code_dtype(kept)), kept).item()
    if not convert and not _is_same(number, value):
        raise Refusal(
            f"{item} is no {kept} number: give 0x{rounded:0{kept.bits // 4}X} = {value!r}, which it rounds to, "
            "or add --convert."
        )
    return rounded


def _code(item: str, format: Format) -> int:
    try:
        value = int(item, 16)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << format.bits:
        raise Refusal(f"{item} is no code of {format}: after 0x give up to {format.bits // 4} hexadecimal digits.")
    return value


def _number(item: str) -> float:
    try:
        number = float(item)
    except ValueError:
        raise Refusal(
            f"{item!r} is no number: give codes such as 0x3C00 or decimals such as -1.5, separated by commas."
        ) from None
    if math.isinf(number) and "inf" not in item:
        raise Refusal(f"{item} is too large for a float64: give inf for infinity.")
    return number


def _is_same(number: float, value: float | int) -> bool:
    """Whether two numbers are equal, their signs too if the second is a float."""
    if math.isnan(number) or number != value:
        return math.isnan(number) and math.isnan(value)
    return isinstance(value, int) or math.copysign(1, number) == math.copysign(1, value)
