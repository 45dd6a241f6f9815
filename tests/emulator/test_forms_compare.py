"""Vector comparisons, against Python's integers and NumPy's floats."""

import math

import numpy as np
import pytest

from emulator.forms import EXEC, check_lanes, covers, execute, get, noise, put, samples, signed
from mfma.emulator.semantics.machine import Mode

INTEGER = {
    "f": lambda a, b: False,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ne": lambda a, b: a != b,
    "ge": lambda a, b: a >= b,
    "t": lambda a, b: True,
}
FLOAT = {
    "f": lambda a, b: False,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "lg": lambda a, b: a < b or a > b,
    "ge": lambda a, b: a >= b,
    "o": lambda a, b: not (math.isnan(a) or math.isnan(b)),
    "u": lambda a, b: math.isnan(a) or math.isnan(b),
    "nge": lambda a, b: not a >= b,
    "nlg": lambda a, b: not (a < b or a > b),
    "ngt": lambda a, b: not a > b,
    "nle": lambda a, b: not a <= b,
    "neq": lambda a, b: a != b,
    "nlt": lambda a, b: not a < b,
    "tru": lambda a, b: True,
}
FORMATS = {16: (5, 10), 32: (8, 23), 64: (11, 52)}
"""Bits -> bits of the exponent and of the mantissa."""


def number(bits, width):
    """A float, by its bits; float64 holds all of them exactly."""
    return float(np.uint64(bits & (1 << width) - 1).astype(f"u{width // 8}").view(f"f{width // 8}"))


def floats(seed, bits, count, width=None):
    """Floats of every class, often equal, of one sign or adjacent."""
    width = width or bits
    exponent, mantissa = FORMATS[width]
    infinity = (1 << exponent) - 1 << mantissa
    special = [
        0,
        1,
        (1 << mantissa) - 1,
        1 << mantissa,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + (1 << mantissa - 1),
    ]
    special += [(1 << exponent - 1) - 1 << mantissa, ((1 << exponent - 1) - 1 << mantissa) + 1]
    for i, value in enumerate(samples(seed, bits, count)):
        sign = (value >> 7 & 1) << width - 1
        yield special[value % len(special)] | sign if i % 4 else value


def halves(seed, bits, count):
    """Float16 in the low half, noise above."""
    for value, high in zip(floats(seed, 16, count, 16), samples(seed + "high", 16, count), strict=True):
        yield value & 0xFFFF | high << 16


MAKERS = {16: halves, 32: floats, 64: floats}


def integers(seed, bits, count):
    """Pairs are often equal: few different values."""
    for i, value in enumerate(samples(seed, bits, count)):
        yield (value if i % 2 else [0, 1, (1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) - 1][value % 5])


def operands(bits):
    return ("v10", "v11") if bits < 64 else ("v[10:11]", "v[20:21]")


CASES = {}
for width in (16, 32, 64):
    first, second = operands(width)
    for condition, function in INTEGER.items():
        for kind in "iu":
            name = f"{condition}_{kind}{width}"
            CASES[f"v_cmp_{name}_e32 vcc, {first}, {second}"] = (function, kind, width, integers)
            CASES[f"v_cmp_{name}_e64 s[8:9], {first}, {second}"] = (function, kind, width, integers)
            CASES[f"v_cmpx_{name}_e32 vcc, {first}, {second}"] = (function, kind, width, integers)
            CASES[f"v_cmpx_{name}_e64 s[8:9], {first}, {second}"] = (function, kind, width, integers)
    for condition, function in FLOAT.items():
        name = f"{condition}_f{width}"
        CASES[f"v_cmp_{name}_e32 vcc, {first}, {second}"] = (function, "f", width, MAKERS[width])
        CASES[f"v_cmp_{name}_e64 s[8:9], {first}, {second}"] = (function, "f", width, MAKERS[width])
        CASES[f"v_cmpx_{name}_e32 vcc, {first}, {second}"] = (function, "f", width, MAKERS[width])
        CASES[f"v_cmpx_{name}_e64 s[8:9], {first}, {second}"] = (function, "f", width, MAKERS[width])


def reader(kind, width):
    if kind == "f":
        return lambda bits: number(bits, width)
    if kind == "i":
        return lambda bits: signed(bits, width)
    return lambda bits: bits & (1 << width) - 1


@pytest.mark.parametrize("text", covers("test_compare", CASES))
def test_compare(text):
    function, kind, width, make = CASES[text]
    read = reader(kind, width)
    check_lanes(
        text,
        lambda a, b: bool(function(read(a), read(b))),
        bits={0: make, 1: make},
        rounds=2,
        also=(EXEC,) if text.startswith("v_cmpx") else (),
    )


# classes


def class_of(bits, width):
    """Number of the bit that asks for this float's class."""
    value = number(bits, width)
    _, mantissa = FORMATS[width]
    if math.isnan(value):
        return bits >> mantissa - 1 & 1
    if math.isinf(value):
        order = 3
    elif value == 0:
        order = 0
    else:
        order = 2 if abs(value) >= 2.0 ** {16: -14, 32: -126, 64: -1022}[width] else 1
    return 5 - order if bits >> width - 1 & 1 else 6 + order


CLASSES = {}
for width in (16, 32, 64):
    first = "v10" if width < 64 else "v[10:11]"
    for x in ("", "x"):
        CLASSES[f"v_cmp{x}_class_f{width}_e32 vcc, {first}, v12"] = width
        CLASSES[f"v_cmp{x}_class_f{width}_e64 s[8:9], {first}, v12"] = width


@pytest.mark.parametrize("text", covers("test_class", CLASSES))
@pytest.mark.parametrize("flush", [False, True])
def test_class(text, flush):
    width = CLASSES[text]
    check_lanes(
        text,
        lambda a, asked: asked >> class_of(a, width) & 1,
        rounds=6,
        bits={0: MAKERS[width]},
        mode=Mode(flush_32=flush, flush_16_64=flush),
        also=(EXEC,) if text.startswith("v_cmpx") else (),
    )


# modifiers

SIGN = 1 << 31
MODIFIED = {
    "v_cmp_lt_f32_e64 s[8:9], -v10, |v11|": lambda a, b: number(a ^ SIGN, 32) < number(b & ~SIGN, 32),
    "v_cmp_lt_f32_e64 s[8:9], -|v10|, v11": lambda a, b: number(a | SIGN, 32) < number(b, 32),
    "v_cmp_class_f32_e64 s[8:9], -|v10|, v11": lambda a, b: b >> class_of(a | SIGN, 32) & 1,
    "v_cmp_eq_f32_sdwa vcc, -v10, |v11| src0_sel:DWORD src1_sel:DWORD": (
        lambda a, b: number(a ^ SIGN, 32) == number(b & ~SIGN, 32)
    ),
}


@pytest.mark.parametrize("text", covers("test_signs", MODIFIED))
def test_signs(text):
    check_lanes(text, MODIFIED[text], bits={0: floats} if "class" in text else {0: floats, 1: floats})


SELECTED = {
    "v_cmp_eq_u32_sdwa vcc, v10, v11 src0_sel:BYTE_0 src1_sel:WORD_1": lambda a, b: a & 0xFF == b >> 16,
    "v_cmp_lt_i32_sdwa s[8:9], sext(v10), v11 src0_sel:BYTE_3 src1_sel:DWORD": (
        lambda a, b: signed(a >> 24, 8) < signed(b, 32)
    ),
    "v_cmp_ge_i16_sdwa s[8:9], v10, v11 src0_sel:WORD_1 src1_sel:WORD_0": (
        lambda a, b: signed(a >> 16, 16) >= signed(b, 16)
    ),
    "v_cmp_gt_f16_sdwa vcc, v10, v11 src0_sel:WORD_1 src1_sel:WORD_0": lambda a, b: number(a >> 16, 16) > number(b, 16),
}


@pytest.mark.parametrize("text", covers("test_sub_dwords", SELECTED))
def test_sub_dwords(text):
    check_lanes(text, SELECTED[text])


def test_exec_of_sub_dwords():
    (text,) = SDWA_EXEC
    check_lanes(text, lambda a, b: a & 0xFF != b >> 8 & 0xFF, also=(EXEC,))


SDWA_EXEC = covers("test_exec_of_sub_dwords", ["v_cmpx_ne_u32_sdwa vcc, v10, v11 src0_sel:BYTE_0 src1_sel:BYTE_1"])

# literals of 64 bits: signed numbers extend their sign, of floats they are the high half

LITERALS = {
    "v_cmp_eq_i64_e32 vcc, 0x80000000, v[10:11]": 0xFFFF_FFFF_8000_0000,
    "v_cmp_eq_u64_e32 vcc, 0x80000000, v[10:11]": 0x8000_0000,
    "v_cmp_eq_f64_e32 vcc, 0x40180000, v[10:11]": 0x4018_0000_0000_0000,
    "v_cmp_eq_i64_e32 vcc, -1, v[10:11]": (1 << 64) - 1,
    "v_cmp_eq_f16_e32 vcc, 1.0, v10": 0x3C00,
    "v_cmp_eq_f64_e32 vcc, 1.0, v[10:11]": 0x3FF0_0000_0000_0000,
}


@pytest.mark.parametrize("text", covers("test_constants", LITERALS))
def test_constants(text):
    value = LITERALS[text]
    before = noise(text)
    put(before, "v", 10, [value ^ (lane & 1) << lane % 16 for lane in range(64)], 2)
    assert get(execute(text, before), "s", 106, 2) == 0x5555_5555_5555_5555


# subnormals are zeros where the mode says so

FLUSHED = {"v_cmp_eq_f32_e32 vcc, 0, v10": 1, "v_cmp_eq_f16_e32 vcc, 0, v10": 1, "v_cmp_eq_f64_e32 vcc, 0, v[10:11]": 1}


@pytest.mark.parametrize("text", covers("test_subnormals", FLUSHED))
@pytest.mark.parametrize("flush", [False, True])
def test_subnormals(text, flush):
    before = noise(text)
    put(before, "v", 10, [1] * 64, 2)
    after = execute(text, before, Mode(flush_32=flush, flush_16_64=flush))
    assert get(after, "s", 106, 2) == ((1 << 64) - 1 if flush else 0)
