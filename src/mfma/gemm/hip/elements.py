"""The elements of a program: their C++ types, their values, and how random ones are made."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

from mfma.formats import BF8, BF16, F16, F32, F64, FP8, I8, I32, OCP_BF8, OCP_FP8, XF32, Format, Specials

__all__ = ["CPP_TYPES", "SPREAD", "RandomElement", "multiply_add", "note", "random_element", "value_function"]

CPP_TYPES: dict[Format, str] = {
    F64: "double",
    F32: "float",
    XF32: "float",
    F16: "_Float16",
    BF16: "unsigned short",
    FP8: "unsigned char",
    BF8: "unsigned char",
    I8: "signed char",
    I32: "int",
    OCP_FP8: "unsigned char",
    OCP_BF8: "unsigned char",
}
"""Format -> the C++ type of an element in memory, LDS and fragments; of formats that C++ lacks, the code."""

MULTIPLY_ADD = {
    F64: "__builtin_fma(a, b, c)",
    F32: "__builtin_fmaf(a, b, c)",
    I32: "(int)((unsigned)a * (unsigned)b + (unsigned)c)",
}
MULTIPLY = {F64: "a * b", F32: "a * b", I32: "(int)((unsigned)a * (unsigned)b)"}

SPREAD = 8
"""Binades below and above 1 that random elements come from."""

PLAIN = Template("""\
__host__ __device__ inline ${result} value_of_${matrix}(elem_${matrix} element) { return element; }""")

BRAIN = Template("""\
__host__ __device__ inline ${result} value_of_${matrix}(elem_${matrix} code) {
    return __builtin_bit_cast(float, (unsigned)code << 16);
}""")

FNUZ = Template("""\
__host__ __device__ inline ${result} value_of_${matrix}(elem_${matrix} code) {
    if (code == 0x80) return __builtin_nanf("");
    const int exponent = code >> ${significand} & ${exponents}, mantissa = code & ${mantissas};
    const int significand = exponent ? ${implicit} + mantissa : mantissa;
    const float magnitude = __builtin_ldexpf((float)significand, (exponent ? exponent : 1) - ${shift});
    return code & 0x80 ? -magnitude : magnitude;
}""")

VALUES = {BF16: BRAIN, FP8: FNUZ, BF8: FNUZ}


def note(format: Format) -> str:
    """Say what an element is, where its type does not."""
    if format.specials is Specials.FNUZ:
        return f"{format}: E{format.exponent}M{format.significand} FNUZ, bias {format.bias}, 0x80 is NaN, no infinity"
    if format.ignored:
        return f"{format}: the matrix core cuts off the low {format.ignored} bits"
    return f"{format}"


def value_function(matrix: str, format: Format, accumulator: Format) -> str:
    """Write the function that gives the value of an element of A or B."""
    return VALUES.get(format, PLAIN).substitute(
        matrix=matrix,
        result=CPP_TYPES[accumulator],
        significand=format.significand,
        exponents=(1 << format.exponent) - 1,
        mantissas=(1 << format.significand) - 1,
        implicit=1 << format.significand,
        shift=format.bias + format.significand,
    )


def multiply_add(accumulator: Format) -> dict[str, str]:
    """Say how accumulators are multiplied and added."""
    return {
        "rounding": "modulo 2^32, as the hardware has it" if accumulator.is_integer else "with one rounding",
        "multiply_add": MULTIPLY_ADD[accumulator],
        "multiply": MULTIPLY[accumulator],
    }


@dataclass(frozen=True)
class RandomElement:
    """How random codes are made: widths of the fields, the lowest exponent field and how many there are.

    ``str()`` gives the arguments of the program's ``Random::element``, `draw` is that function.
    """

    exponent_bits: int
    mantissa_bits: int
    lowest: int
    exponents: int

    def __str__(self) -> str:
        return f"{self.exponent_bits}, {self.mantissa_bits}, {self.lowest}, {self.exponents}"


def random_element(format: Format, spread: int = SPREAD) -> RandomElement:
    """Return how random elements of a format are made: integers of all codes, others around 1, ``spread`` binades."""
    if format.is_integer:
        return RandomElement(0, format.bits - 1, 0, 1)
    top = (1 << format.exponent) - (2 if format.has_infinity else 1)
    lowest, highest = max(1, format.bias - SPREAD), min(top, format.bias + spread - 1)
    return RandomElement(format.exponent, format.significand + format.ignored, lowest, highest - lowest + 1)
