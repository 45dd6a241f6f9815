"""Conversions in C++ between a format in memory and one of the kernel, on bits: the codes that `mfma.encode` gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mfma.errors import OptionError
from mfma.formats import F32, XF32, Format, Specials
from mfma.formats.codec import special_codes
from mfma.gemm.hip.elements import CPP_TYPES
from mfma.gemm.hip.source import fill, indent
from mfma.gemm.kernel import Gemm
from mfma.gemm.operands import Conversion

__all__ = ["Conversions", "Step", "conversions", "function", "written"]

ROUNDS = {"rne": "to nearest, ties to even", "truncate": "toward zero"}
BEYOND = {"ieee": "", "saturate": ", to the largest number beyond it"}
SUFFIXES = {"rne": "", "truncate": "_truncated", "ieee": "", "saturate": "_saturated"}

CODE_TYPES = {8: "unsigned char", 16: "unsigned short", 32: "unsigned", 64: "unsigned long long"}

EXACT = """\
    {word} result = significand << (exponent + {places} - leading);
"""
ROUNDED = """\
    int shift = leading - {places} - exponent;
    if (shift > {top}) shift = {top};
    {word} result = shift > 0 ? significand >> shift : significand << -shift;
"""
NEAREST = """\
    if (shift > 0) {{
        const {word} unit = ({word})1 << shift, rest = significand & (unit - 1);
        result += 2 * rest + (result & 1) > unit;
    }}
"""


@dataclass(frozen=True)
class Conversions:
    """Formats in memory and in the kernel, and how one becomes the other."""

    a: Step
    b: Step
    load_c: Step
    store_c: Step

    def __iter__(self) -> Iterator[Step]:
        return iter((self.a, self.b, self.load_c, self.store_c))

    @property
    def memory_types(self) -> dict[str, str]:
        """Names of the C++ types in memory, for the templates."""
        steps = (("a", self.a), ("b", self.b), ("c", self.load_c))
        return {f"mem_{x}": f"mem_{x}" if step.converts else f"elem_{x}" for x, step in steps}

    @property
    def converts_c(self) -> bool:
        """Whether C and D are not in memory as the accumulator is."""
        return self.load_c.converts


@dataclass(frozen=True)
class Step:
    """A conversion of one matrix; ``given`` and ``wanted`` are equal if there is nothing to do."""

    given: Format
    wanted: Format
    how: Conversion

    @property
    def converts(self) -> bool:
        """Whether there is anything to do."""
        return self.given != self.wanted

    @property
    def is_exact(self) -> bool:
        """Whether every finite number has a code in the other format."""
        given, wanted = self.given, self.wanted
        digits = given.bits - 1 if given.is_integer else given.significand + given.ignored
        return digits <= wanted.significand and given.max <= wanted.max and given.tiny >= wanted.tiny

    @property
    def name(self) -> str:
        """The name of the function."""
        return f"{self.wanted}_from_{self.given}{SUFFIXES[self.how.rounding]}{SUFFIXES[self.how.overflow]}"

    def of(self, expression: str) -> str:
        """Write the converted value of an expression."""
        return f"{self.name}({expression})" if self.converts else expression


def conversions(gemm: Gemm) -> Conversions:
    """Return the conversions of a kernel; raise `OptionError` for one that no program is written for."""
    compute, memory = gemm.compute, gemm.memory
    a, b, d = memory.formats(compute)
    made = Conversions(
        Step(a, compute.a, memory.load),
        Step(b, compute.b, memory.load),
        Step(d, compute.accumulator, memory.load),
        Step(compute.accumulator, d, memory.store),
    )
    for name, step in zip(("a", "b", "d", "d"), made, strict=True):
        if step.converts:
            _check(name, step)
    return made


def _check(name: str, step: Step) -> None:
    given, wanted = step.given, step.wanted
    what = f"no program converts {given} to {wanted}, as {name} asks for: "
    if wanted.is_integer and not given.is_integer:
        raise OptionError(f"{what}an integer format has no code for a NaN; convert the matrix beforehand.")
    if wanted.is_integer and wanted.bits < given.bits and step.how.overflow != "saturate":
        raise OptionError(f"{what}a kernel cannot refuse numbers outside the range; choose overflow='saturate'.")
    if given.is_integer and not wanted.is_integer and given.max > wanted.max:
        raise OptionError(f"{what}most of its random operands would be infinite; convert the matrix beforehand.")


def written(made: Conversions) -> str:
    """Write the types in memory and the functions that convert, or nothing."""
    steps = {"a": made.a, "b": made.b, "c": made.load_c}
    types = [
        f"using mem_{x} = {CPP_TYPES[step.given]};  // {step.given}: {'C and D' if x == 'c' else x.upper()} in memory"
        for x, step in steps.items()
        if step.converts
    ]
    functions = {step.name: function(step) for step in made if step.converts}
    parts = ["\n".join(types), *functions.values()] if types else []
    return "".join(f"\n{part}\n" for part in parts)


def function(step: Step) -> str:
    """Write the function of a conversion."""
    given, wanted = step.given, step.wanted
    head = {
        "name": step.name,
        "given": given,
        "wanted": wanted,
        "given_type": CPP_TYPES[given],
        "wanted_type": CPP_TYPES[wanted],
        "rounds": "exactly" if step.is_exact else f"rounded {ROUNDS[step.how.rounding]}",
        "beyond": BEYOND[step.how.overflow],
    }
    if wanted.is_integer:
        low, high = -1 - int(wanted.max), int(wanted.max)
        is_narrow = wanted.bits < given.bits
        clamped = f"element < {low} ? {low} : element > {high} ? {high} : element" if is_narrow else "element"
        return fill("convert_int", value=clamped, **head)
    special, ignored = special_codes(wanted), f" << {wanted.ignored}" if wanted.ignored else ""
    is_nearest, saturates = step.how.rounding == "rne", step.how.overflow == "saturate"
    word = "unsigned long long" if max(given.bits, wanted.bits) > 32 else "unsigned"
    word_bits = 64 if word != "unsigned" else 32
    beyond = special.infinity if is_nearest and not saturates else special.maximum
    # FNUZ formats have no -0, and the NaN that stands for infinity is positive.
    without_sign = ["result == 0"] if wanted.specials is Specials.FNUZ else []
    if beyond == special.nan:
        without_sign.append(f"result == {special.nan:#x}")
    if step.is_exact:
        without_sign = []
    places, top = wanted.significand, word_bits - 1
    rounded = ROUNDED.format(word=word, places=places, top=top) + NEAREST.format(word=word) * is_nearest
    return fill(
        "convert_float",
        word=word,
        clz="__builtin_clzll" if word_bits == 64 else "__builtin_clz",
        top=top,
        split=indent(_split(step, "" if without_sign else "const ", word), 4),
        zero="0" if wanted.specials is Specials.FNUZ else f"(sign{ignored})" if ignored else "sign",
        min_exponent=wanted.min_exponent,
        significand=places,
        scaled=EXACT.format(word=word, places=places) if step.is_exact else rounded,
        limited="" if step.is_exact else f"    if (result > {special.maximum:#x}) result = {beyond:#x};\n",
        lowest_field=wanted.bias - 1,
        signed=f"(sign | result){ignored}" if ignored else "sign | result",
        no_sign=f"    if ({' || '.join(without_sign)}) sign = 0;\n" if without_sign else "",
        result_type=CODE_TYPES[wanted.bits],
        **head,
    )


def _split(step: Step, constant: str, word: str) -> str:
    """Write what takes a number apart: negative, significand, exponent; specials are answered at once."""
    given = F32 if step.given == XF32 else step.given  # what the matrix core would cut off is there in memory
    wanted, sign = step.wanted, step.wanted.bits - 1
    if given.is_integer:
        return f"""\
const bool negative = element < 0;
{constant}{word} sign = ({word})negative << {sign - wanted.ignored};
const {word} significand = negative ? 0 - ({word})element : ({word})element;
const int exponent = 0;"""
    special, target = special_codes(given), special_codes(wanted)
    nan = f"{target.nan << wanted.ignored:#x}"
    infinite = (target.maximum if step.how.overflow == "saturate" else target.infinity) << wanted.ignored
    signed = f"sign << {wanted.ignored} | {infinite:#x}" if wanted.ignored else f"sign | {infinite:#x}"
    if infinite == target.nan << wanted.ignored:
        signed = nan
    own = CODE_TYPES[given.bits]
    result = CODE_TYPES[wanted.bits]
    kind = CPP_TYPES[wanted]
    match given.specials:
        case Specials.FNUZ:
            is_nan = f"code == {special.nan:#x}"
        case Specials.FN:
            is_nan = f"magnitude == {special.nan:#x}"
        case _:
            is_nan = f"magnitude > {special.infinity:#x}"
    lines = [
        f"const {word} code = __builtin_bit_cast({own}, element);",
        f"const {word} magnitude = code & {(1 << given.bits - 1) - 1:#x};",
        f"{constant}{word} sign = code >> {given.bits - 1} << {sign - wanted.ignored};",
        f"if ({is_nan}) return __builtin_bit_cast({kind}, ({result}){nan});",
    ]
    if given.has_infinity:
        lines.append(
            f"if (magnitude == {special.infinity:#x}) return __builtin_bit_cast({kind}, ({result})({signed}));"
        )
    return "\n".join(
        [
            *lines,
            f"const int field = (int)(magnitude >> {given.significand});",
            f"const {word} fraction = magnitude & {(1 << given.significand) - 1:#x};",
            f"const {word} significand = field ? fraction | {1 << given.significand:#x} : fraction;",
            f"const int exponent = (field ? field : 1) - {given.bias + given.significand};",
        ]
    )
