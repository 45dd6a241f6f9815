"""Number formats as records: only independent facts are stored, everything else is derived.

The records are plain Python. `mfma.formats.arrays` knows which NumPy arrays hold them and
`mfma.formats.codec` converts values to codes and back.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

__all__ = [
    "BF8",
    "BF16",
    "F16",
    "F32",
    "F64",
    "FORMATS",
    "FP8",
    "I8",
    "I32",
    "OCP_BF8",
    "OCP_FP8",
    "XF32",
    "Format",
    "Specials",
]


class Specials(enum.Enum):
    """How a format spends the codes that are not finite numbers."""

    IEEE = "infinities and NaNs in the top binade"
    FNUZ = "one NaN in the place of -0, no infinity"
    FN = "one NaN pattern (all ones) per sign, no infinity"
    NONE = "integers: every code is a number"


@dataclass(frozen=True)
class Format:
    """A binary number format of a matrix operand.

    ``name`` is the ISA's; ``bits`` the storage width; ``significand`` the explicit mantissa bits (0 for
    integers); ``bias`` the exponent bias; ``ignored`` the low bits that the matrix core cuts off.
    """

    name: str
    bits: int
    exponent: int
    significand: int
    bias: int
    specials: Specials
    dtype: str
    ignored: int = 0

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)  # formats are keys in hot look-ups

    @property
    def is_integer(self) -> bool:
        """Whether the codes are two's-complement integers."""
        return self.specials is Specials.NONE

    @property
    def min_exponent(self) -> int:
        """Exponent of the smallest normal number, and of every subnormal."""
        return 1 - self.bias

    @property
    def max_exponent(self) -> int:
        """Exponent of the largest finite number."""
        top = (1 << self.exponent) - 1 - self.bias
        return top - 1 if self.specials is Specials.IEEE else top

    @property
    def max(self) -> float:
        """Largest finite number."""
        if self.is_integer:
            return float(2 ** (self.bits - 1) - 1)
        steps = 2 ** (self.significand + 1) - (2 if self.specials is Specials.FN else 1)
        return math.ldexp(steps, self.max_exponent - self.significand)

    @property
    def tiny(self) -> float:
        """Smallest positive number (a subnormal for floating formats)."""
        return 1.0 if self.is_integer else math.ldexp(1.0, self.min_exponent - self.significand)

    @property
    def has_infinity(self) -> bool:
        """Whether some code is an infinity."""
        return self.specials is Specials.IEEE


#                  bits exp sig  bias
F64 = Format("f64", 64, 11, 52, 1023, Specials.IEEE, "float64")
F32 = Format("f32", 32, 8, 23, 127, Specials.IEEE, "float32")
XF32 = Format("xf32", 32, 8, 10, 127, Specials.IEEE, "float32", ignored=13)
F16 = Format("f16", 16, 5, 10, 15, Specials.IEEE, "float16")
BF16 = Format("bf16", 16, 8, 7, 127, Specials.IEEE, "bfloat16")
FP8 = Format("fp8", 8, 4, 3, 8, Specials.FNUZ, "float8_e4m3fnuz")
BF8 = Format("bf8", 8, 5, 2, 16, Specials.FNUZ, "float8_e5m2fnuz")
OCP_FP8 = Format("ocp_fp8", 8, 4, 3, 7, Specials.FN, "float8_e4m3fn")
OCP_BF8 = Format("ocp_bf8", 8, 5, 2, 15, Specials.IEEE, "float8_e5m2")
I8 = Format("i8", 8, 0, 0, 0, Specials.NONE, "int8")
I32 = Format("i32", 32, 0, 0, 0, Specials.NONE, "int32")

FORMATS = {f.name: f for f in (F64, F32, XF32, F16, BF16, FP8, BF8, I8, I32, OCP_FP8, OCP_BF8)}
