"""Roots, reciprocals, powers, logarithms and sines: the exact value, rounded once.

The reference computes with 60 decimal digits and rounds the result as a fraction. Most values it is asked for lie
nowhere near the middle of two numbers; the golden file has the float32 that do, of all that there are.
"""

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import isqrt
from pathlib import Path

import numpy as np
import pytest

from emulator.floats import F16, F32, F64, FLOATS, check, edges
from emulator.forms import covers, execute, get, noise, put
from mfma.emulator.semantics.machine import Mode

FLUSH = Mode(flush_32=True, flush_16_64=True)
OMOD = Mode(flush_32=True, flush_16_64=True, ieee=False)
HARD = Path(__file__).parent.parent / "golden" / "emulator" / "transcendental_hard.txt"
DIGITS = Context(prec=60)


def to_decimal(exact):
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def power(exact):
    if abs(exact) > 1100:
        return Fraction(2) ** (1100 if exact > 0 else -1100)
    with localcontext(DIGITS):
        return Fraction(Decimal(2) ** to_decimal(exact))


def logarithm(exact):
    if exact.numerator & exact.numerator - 1 == 0 and exact.denominator & exact.denominator - 1 == 0:
        return Fraction(exact.numerator.bit_length() - exact.denominator.bit_length())
    with localcontext(DIGITS):
        return Fraction(to_decimal(exact).ln() / Decimal(2).ln())


TURN = Decimal("6.2831853071795864769252867665590057683943387987502116419498891846156328")


def sine(exact):
    """Sine of revolutions."""
    exact -= round(exact)
    if abs(exact) > Fraction(1, 4):
        exact = (1 if exact > 0 else -1) * Fraction(1, 2) - exact
    if exact in (0, Fraction(1, 4), Fraction(-1, 4)):
        return 4 * exact
    with localcontext(DIGITS):
        x = to_decimal(exact) * TURN
        term, total, n = x, x, 1
        while abs(term) > abs(total) * Decimal("1e-58"):
            term = -term * x * x / ((n + 1) * (n + 2))
            total, n = total + term, n + 2
        return Fraction(total)


def cosine(exact):
    return sine(exact + Fraction(1, 4))


def root(exact):
    """The square root cut off far behind every format's digits, with its last place odd if something is missing."""
    scale = 1600
    shifted = (exact.numerator << 2 * scale) // exact.denominator
    whole = isqrt(shifted)
    inexact = whole * whole * exact.denominator != exact.numerator << 2 * scale
    return Fraction(2 * whole + inexact, 2 << scale)


def reciprocal_root(exact):
    return root(1 / exact)


def on_codes(float_, function, limits):
    """The function on codes; ``limits`` are the codes for the arguments -Inf, -0, +0, +Inf, None for no number.

    Two more say whether other negative numbers have no value, and nothing else.
    """
    invalid = float_.nan | float_.sign
    *special, positive_only = limits

    def apply(x):
        if float_.is_nan(x):
            return float_.quiet(x)
        arguments = (float_.infinity | float_.sign, float_.sign, 0, float_.infinity)
        if x in arguments:
            value = special[arguments.index(x)]
            return invalid if value is None else value(float_)
        exact = float_.fraction(x)
        if positive_only and exact < 0:
            return invalid
        return float_.encode(function(exact))

    return apply


def zero(float_):
    return 0


def minus_zero(float_):
    return float_.sign


def one(float_):
    return float_.encode(1)


def infinity(float_):
    return float_.infinity


def minus_infinity(float_):
    return float_.infinity | float_.sign


FUNCTIONS = {
    #        function          -Inf        -0              +0              +Inf      no negative numbers
    "exp":  (power,           (zero,       one,            one,            infinity, False)),
    "log":  (logarithm,       (None,       minus_infinity, minus_infinity, infinity, True)),
    "rcp":  (lambda x: 1 / x, (minus_zero, minus_infinity, infinity,       zero,     False)),
    "rsq":  (reciprocal_root, (None,       minus_infinity, infinity,       zero,     True)),
    "sqrt": (root,            (None,       minus_zero,     zero,           infinity, True)),
    "sin":  (sine,            (None,       minus_zero,     zero,           None,     False)),
    "cos":  (cosine,          (None,       one,            one,            None,     False)),
}  # fmt: skip
ALIASES = {"exp_legacy": "exp", "log_legacy": "log", "rcp_iflag": "rcp"}


def reference(name, float_):
    function, limits = FUNCTIONS[ALIASES.get(name, name)]
    return on_codes(float_, function, limits)


WIDE = ("f16", "f32", "f64")
CASES = {}
for name in (*FUNCTIONS, *ALIASES):
    for t, T in FLOATS.items():
        if t not in (("f32",) if name in ALIASES else WIDE if name in ("rcp", "rsq", "sqrt") else WIDE[:2]):
            continue
        d, s = ("v[2:3]", "v[4:5]") if t == "f64" else ("v2", "v4")
        op = f"v_{name}_{t}"
        CASES[f"{op}_e32 {d}, {s}"] = (name, T)
        CASES[f"{op}_e64 {d}, -|{s}| clamp"] = (name, T)
        CASES[f"{op}_e64 {d}, -{s} mul:2"] = (name, T)
        if t != "f64":
            CASES[f"{op}_sdwa {d}, -{s} dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1"] = (name, T)


@pytest.mark.parametrize("text", covers("test_functions", CASES))
@pytest.mark.parametrize("mode", [Mode(), FLUSH, OMOD], ids=["plain", "flush", "omod"])
def test_functions(text, mode):
    name, float_ = CASES[text]
    flushed = float_ is F32 and name not in ("sin", "cos")
    check(text, float_, (float_,), reference(name, float_), mode=mode, rounds=2, always_flush=flushed)


def values(text, float_, codes):
    """Results of the instruction in many lanes."""
    results = []
    dwords = max(1, float_.bits // 32)
    source = 4
    for first in range(0, len(codes), 64):
        part = list(codes[first : first + 64])
        registers = noise(text)
        put(registers, "v", source, part + [0] * (64 - len(part)), dwords)
        results += get(execute(text, registers), "v", 2, dwords)[: len(part)]
    return results


def agree(name, float_, codes):
    type_ = next(t for t, T in FLOATS.items() if T is float_)
    text = f"v_{name}_{type_}_e32 " + ("v[2:3], v[4:5]" if float_ is F64 else "v2, v4")
    function = reference(name, float_)
    flush = float_.flush if float_ is F32 and name not in ("sin", "cos") else lambda code: code
    for code, got in zip(codes, values(text, float_, codes), strict=True):
        expected = flush(function(flush(code)))
        assert got == expected, f"{text} of {code:#x} is {got:#x}, not {expected:#x}"


def hard():
    rows = [line.split() for line in HARD.read_text().splitlines() if not line.startswith("#")]
    return [(name, int(bits, 16), float(distance)) for name, bits, distance in rows]


@pytest.mark.parametrize("name", sorted({name for name, *_ in hard()}))
def test_float32_nearest_to_the_middle_of_two_results(name):
    agree(name, F32, [bits for function, bits, _ in hard() if function == name])


def test_the_hard_float32_are_as_near_as_the_file_says():
    for name, bits, distance in hard():
        exact = abs(FUNCTIONS[name][0](F32.fraction(bits)))
        below = F32.encode(exact)
        below -= F32.fraction(below) > exact
        middle = (F32.fraction(below) + F32.fraction(below + 1)) / 2
        assert float(abs(exact - middle) / exact) == pytest.approx(2.0**distance, rel=0.02)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("type_", ["f16", "f32"])
def test_edges(name, type_):
    agree(name, FLOATS[type_], edges(FLOATS[type_]))


@pytest.mark.parametrize(
    ("name", "argument", "result"),
    [
        ("exp", 0xFF800000, 0), ("exp", 0x80000000, 0x3F800000), ("exp", 0x7F800000, 0x7F800000),
        ("log", 0xFF800000, 0xFFC00000), ("log", 0xBF800000, 0xFFC00000), ("log", 0x80000000, 0xFF800000),
        ("log", 0, 0xFF800000), ("log", 0x3F800000, 0), ("log", 0x7F800000, 0x7F800000),
        ("rcp", 0xFF800000, 0x80000000), ("rcp", 0xC0000000, 0xBF000000), ("rcp", 0x80000000, 0xFF800000),
        ("rcp", 0, 0x7F800000), ("rcp", 0x7F800000, 0),
        ("rsq", 0xFF800000, 0xFFC00000), ("rsq", 0x80000000, 0xFF800000), ("rsq", 0x40800000, 0x3F000000),
        ("sqrt", 0xFF800000, 0xFFC00000), ("sqrt", 0x80000000, 0x80000000), ("sqrt", 0x40800000, 0x40000000),
        ("sin", 0xFF800000, 0xFFC00000), ("sin", 0xFF7FFFFF, 0), ("sin", 0x80000000, 0x80000000),
        ("sin", 0x3E800000, 0x3F800000), ("sin", 0x7F800000, 0xFFC00000),
        ("cos", 0xFF800000, 0xFFC00000), ("cos", 0xFF7FFFFF, 0x3F800000), ("cos", 0x80000000, 0x3F800000),
        ("cos", 0x3E800000, 0), ("cos", 0x7F800000, 0xFFC00000),
    ],
)  # fmt: skip
def test_examples_of_the_manual(name, argument, result):
    assert values(f"v_{name}_f32_e32 v2, v4", F32, [argument]) == [result]


def test_reciprocal_root_of_float64_beside_powers_of_four():
    """There the exact value is within 2**-105 of the middle of two numbers."""
    one = F64.encode(1)
    agree("rsq", F64, [one - n for n in range(1, 40)] + [one + n for n in range(40)] + [(2 << 52) + one - 2])


def some(float_, count, seed):
    generator = np.random.default_rng(seed)
    positive = generator.integers(1, float_.infinity, count, np.uint64)
    return [int(code) for code in positive]


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_float16(name):
    agree(name, F16, range(1 << 16))


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_float32(name):
    codes = some(F32, 30_000, 1) + [code | F32.sign for code in some(F32, 10_000, 2)]
    generator = np.random.default_rng(3)
    reach = 150.0 if name == "exp" else 4.0
    codes += generator.uniform(-reach, reach, 30_000).astype(np.float32).view(np.uint32).tolist()
    agree(name, F32, codes)


@pytest.mark.long
@pytest.mark.parametrize("name", ["rcp", "rsq", "sqrt"])
def test_many_float64(name):
    agree(name, F64, edges(F64) + some(F64, 20_000, 4))
