"""Floating-point arithmetic of the vector ALU against exact fractions."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from emulator.floats import F16, F32, F64, FLOATS, arithmetic, check, edges, finish
from emulator.forms import covers, form
from mfma.emulator.semantics.machine import Mode

FLUSH = Mode(flush_32=True, flush_16_64=True)
NO_IEEE = Mode(ieee=False)
OMOD = Mode(flush_32=True, flush_16_64=True, ieee=False)
KEEP_NAN = Mode(dx10_clamp=False)
SATURATE = Mode(fp16_ovfl=True)


def forms(name, type_, count, *, vop2=False, vop1=False, op_sel=False, output=True):
    """Texts of one instruction: every encoding, every modifier."""
    wide = type_ in ("f64",)

    def register(n, file="v"):
        return f"{file}[{2 * n}:{2 * n + 1}]" if wide else f"{file}{n}"

    d, *s = (register(n) for n in (2, 4, 6, 8))
    plain = ", ".join([d, *s[:count]])
    scalar = ", ".join([d, register(10, "s"), *s[1:count]])
    signs = ", ".join([d, *(("-" + x, f"|{x}|", f"-|{x}|")[i] for i, x in enumerate(s[:count]))])
    short, long = ("_e32", "_e64") if vop1 or vop2 else ("", "")
    texts = [f"{name}{long} {signs}", f"{name}{short} {scalar}"]
    if short:
        texts.append(f"{name}_e32 {plain}")
    if output:
        texts += [f"{name}{long} {plain} clamp", f"{name}{long} {signs} mul:2", f"{name}{long} {plain} clamp div:2"]
    if op_sel:
        texts += [f"{name} {plain} op_sel:[{','.join('1' * count)},1]", f"{name} {plain} op_sel:[{'0,' * count}1]"]
    if short and not wide:
        sels = ["src0_sel:WORD_1", "src1_sel:BYTE_2"][:count]
        texts += [
            f"{name}_sdwa {signs} dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE " + " ".join(sels),
            f"{name}_sdwa {plain} clamp dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0"
            + " src1_sel:WORD_1" * (count > 1),
        ]
    return texts


CASES = []
"""Text, result, sources, function of codes, options."""


def case(name, type_, count, function, options=None, **kinds):
    float_ = FLOATS[type_]
    for text in forms(name, type_, count, **kinds):
        CASES.append((text, float_, (float_,) * count, function, options or {}))


for t, T in FLOATS.items():
    narrow = {"vop2": T is not F64}
    case(f"v_add_{t}", t, 2, arithmetic(T, lambda a, b: a + b), **narrow)
    case(f"v_mul_{t}", t, 2, arithmetic(T, lambda a, b: a * b), **narrow)
    fma = arithmetic(T, lambda a, b, c: a * b + c)
    case(f"v_fma_{t}", t, 3, fma, {"preserve": True}, op_sel=T is F16)
    if T is not F64:
        case(f"v_sub_{t}", t, 2, arithmetic(T, lambda a, b: a - b), vop2=True)
        case(f"v_subrev_{t}", t, 2, arithmetic(T, lambda a, b: b - a), vop2=True)

FMA_32, FMA_64 = (arithmetic(T, lambda a, b, c: a * b + c) for T in (F32, F64))
case("v_fma_legacy_f16", "f16", 3, arithmetic(F16, lambda a, b, c: a * b + c))
for text in ("v_fmac_f32_e32 v2, s4, v5", "v_fmac_f32_e64 v2, -v4, |v5| clamp", "v_fmac_f32_e64 v2, v4, v5 mul:4"):
    CASES.append((text, F32, (F32, F32), FMA_32, {"accumulate": True}))
for text in ("v_fmac_f64_e32 v[2:3], s[4:5], v[6:7]", "v_fmac_f64_e64 v[2:3], -v[4:5], |v[6:7]| clamp"):
    CASES.append((text, F64, (F64, F64), FMA_64, {"accumulate": True}))
CASES += [
    ("v_fmamk_f32 v2, v4, 0x42280001, v5", F32, (F32, F32, F32), FMA_32, {}),
    ("v_fmaak_f32 v2, v4, v5, 0xc2280001", F32, (F32, F32, F32), FMA_32, {}),
    ("v_add_f32_e32 v2, 0x3f800001, v4", F32, (F32, F32), arithmetic(F32, lambda a, b: a + b), {}),
    ("v_add_f32_e64 v2, v4, 0.5", F32, (F32, F32), arithmetic(F32, lambda a, b: a + b), {}),
    ("v_mul_f32_e32 v2, -4.0, v4", F32, (F32, F32), arithmetic(F32, lambda a, b: a * b), {}),
    ("v_add_f16_e32 v2, 0.5, v4", F16, (F16, F16), arithmetic(F16, lambda a, b: a + b), {}),
    ("v_add_f64 v[2:3], v[4:5], 0.5", F64, (F64, F64), arithmetic(F64, lambda a, b: a + b), {}),
    ("v_add_f64 v[2:3], v[4:5], 17", F64, (F64, F64), arithmetic(F64, lambda a, b: a + b), {}),
    ("v_mul_f32_e32 v2, -3, v4", F32, (F32, F32), arithmetic(F32, lambda a, b: a * b), {}),
]


def twice_rounded(a, b, c):
    product = F16.flush(arithmetic(F16, lambda x, y: x * y)(a, b))
    for code in (a, b, c):
        if F16.is_nan(code):
            return F16.quiet(code)
    return arithmetic(F16, lambda x, y: x + y)(product, c)


UNFUSED = {"always_flush": True}
case("v_mad_f16", "f16", 3, twice_rounded, UNFUSED | {"preserve": True}, op_sel=True)
case("v_mad_legacy_f16", "f16", 3, twice_rounded, UNFUSED)
for text in ("v_mac_f16_e32 v2, v4, v5", "v_mac_f16_e64 v2, -v4, |v5| clamp"):
    CASES.append((text, F16, (F16, F16), twice_rounded, UNFUSED | {"accumulate": True}))
CASES.append(("v_madmk_f16 v2, v4, 0x4228, v5", F16, (F16, F16, F16), twice_rounded, UNFUSED))
CASES.append(("v_madak_f16 v2, v4, v5, 0xb428", F16, (F16, F16, F16), twice_rounded, UNFUSED))


def legacy_product(a, b):
    if not a & 0x7FFF_FFFF or not b & 0x7FFF_FFFF:
        return 0
    return arithmetic(F32, lambda x, y: x * y)(a, b)


case("v_mul_legacy_f32", "f32", 2, legacy_product)


# integral parts


def integral(float_, function):
    def apply(x):
        if float_.is_nan(x):
            return float_.quiet(x)
        if float_.is_infinite(x):
            return x
        return float_.encode(function(float_.fraction(x)), bool(x & float_.sign))

    return apply


def fract(float_):
    def apply(x):
        if float_.is_nan(x):
            return float_.quiet(x)
        if float_.is_infinite(x):
            return float_.nan
        exact = float_.fraction(x)
        return min(float_.encode(exact - math.floor(exact)), float_.encode(1) - 1)

    return apply


for t, T in FLOATS.items():
    for name, function in (("trunc", math.trunc), ("ceil", math.ceil), ("floor", math.floor), ("rndne", round)):
        case(f"v_{name}_{t}", t, 1, integral(T, function), vop1=True)
    case(f"v_fract_{t}", t, 1, fract(T), vop1=True)


# mantissa and exponent


def mantissa(float_):
    def apply(x):
        if float_.is_nan(x):
            return float_.quiet(x)
        if float_.is_infinite(x):
            return x
        return float_.encode(Fraction(math.frexp(float_.number(x))[0]), bool(x & float_.sign))

    return apply


def exponent(float_, width):
    def apply(x):
        if float_.is_nan(x) or float_.is_infinite(x):
            return 0
        return math.frexp(float_.number(x))[1] & (1 << width) - 1

    return apply


def ldexp(float_, width):
    def apply(x, n):
        n = (n ^ 1 << width - 1) - (1 << width - 1)
        if float_.is_nan(x):
            return float_.quiet(x)
        if float_.is_infinite(x):
            return x
        return float_.encode(float_.fraction(x) * Fraction(2) ** max(-5000, min(5000, n)), bool(x & float_.sign))

    return apply


def exponents(seed, width, count):
    generator = np.random.default_rng(abs(hash(seed)) % 2**32)
    for n in generator.integers(-2300, 2300, count) // generator.choice([1, 8, 60], count):
        yield int(n) & (1 << width) - 1


for t, width in (("f16", 16), ("f32", 32), ("f64", 32)):
    T = FLOATS[t]
    case(f"v_frexp_mant_{t}", t, 1, mantissa(T), vop1=True)
    for text in forms(f"v_frexp_exp_i{width}_{t}", t, 1, vop1=True, output=False):
        CASES.append((text.replace("v[4:5],", "v4,"), width, (T,), exponent(T, width), {}))
for text in (
    "v_ldexp_f32 v2, v4, v6",
    "v_ldexp_f32 v2, -|v4|, s6 clamp",
    "v_ldexp_f32 v2, v4, v6 mul:2",
):
    CASES.append((text, F32, (F32, 32), ldexp(F32, 32), {"bits": {1: exponents}}))
for text in ("v_ldexp_f64 v[2:3], v[4:5], v6", "v_ldexp_f64 v[2:3], -|v[4:5]|, v6 clamp"):
    CASES.append((text, F64, (F64, 32), ldexp(F64, 32), {"bits": {1: exponents}, "rounds": 10}))
for text in (
    "v_ldexp_f16_e32 v2, v4, v6",
    "v_ldexp_f16_e64 v2, -v4, v6 clamp",
    "v_ldexp_f16_sdwa v2, -v4, v6 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0",
):
    CASES.append((text, F16, (F16, 16), ldexp(F16, 16), {"bits": {1: exponents}}))


# cube maps


def cube(function):
    def apply(*codes):
        x, y, z = (F32.number(code) for code in codes)
        face = 2 if abs(z) >= abs(x) and abs(z) >= abs(y) else 1 if abs(y) >= abs(x) else 0
        return function(face, *codes)

    return apply


def result_or_nan(code, sources):
    if not F32.is_nan(code):
        return code
    return F32.quiet(next(source for source in sources if F32.is_nan(source)))


def cube_id(face, *codes):
    return F32.encode(2 * face + (F32.number(codes[face]) < 0))


def cube_s(face, x, y, z):
    negative = F32.number((x, y, z)[face]) < 0
    code = ((z if negative else z ^ F32.sign), x, (x ^ F32.sign if negative else x))[face]
    return result_or_nan(code, (x, y, z))


def cube_t(face, x, y, z):
    code = (z ^ F32.sign if F32.number(y) < 0 else z) if face == 1 else y ^ F32.sign
    return result_or_nan(code, (x, y, z))


def cube_major(face, *codes):
    code = arithmetic(F32, lambda a: 2 * a)(codes[face])
    return result_or_nan(code, codes)


for name, function in (("id", cube_id), ("sc", cube_s), ("tc", cube_t), ("ma", cube_major)):
    case(f"v_cube{name}_f32", "f32", 3, cube(function))


def modes(text):
    """Modes in which the text may do different things."""
    found = [Mode(), FLUSH]
    if re.search(r"\b(mul|div):", text):
        found.append(OMOD)
    return [*found, KEEP_NAN] if "clamp" in text else found


BY_TEXT = {text: rest for text, *rest in CASES}


@pytest.mark.parametrize("text", covers("test_exact", BY_TEXT))
def test_exact(text):
    result, sources, function, options = BY_TEXT[text]
    for mode in modes(text):
        check(text, result, sources, function, mode=mode, **{"rounds": 2} | options)


# minimum and maximum


def order(float_, code):
    """An integer that orders numbers, -0 below +0."""
    return -(code & float_.sign - 1) - 1 if code & float_.sign else code


def extreme(float_, pick, ieee):
    def apply(a, b):
        for code in (a, b):
            if ieee and float_.is_signaling(code):
                return float_.quiet(code)
        if float_.is_nan(a):
            return b
        if float_.is_nan(b):
            return a
        return pick(a, b, key=lambda code: order(float_, code))

    return apply


def extreme_3(float_, pick, ieee):
    two = extreme(float_, pick, ieee)
    return lambda a, b, c: two(two(a, b), c)


def median(float_, _, ieee):
    smallest, largest = extreme_3(float_, min, ieee), extreme_3(float_, max, ieee)
    larger = extreme(float_, max, ieee)

    def apply(a, b, c):
        if any(map(float_.is_nan, (a, b, c))):
            return smallest(a, b, c)
        top = float_.number(largest(a, b, c))
        if top == float_.number(a):
            return larger(b, c)
        return larger(a, c) if top == float_.number(b) else larger(a, b)

    return apply


EXTREMES = {}
for t, T in FLOATS.items():
    for name, pick in (("min", min), ("max", max)):
        for text in forms(f"v_{name}_{t}", t, 2, vop2=T is not F64):
            EXTREMES[text] = (T, 2, extreme, pick)
    if T is not F64:
        for name, make, pick in (("min3", extreme_3, min), ("max3", extreme_3, max), ("med3", median, None)):
            for text in forms(f"v_{name}_{t}", t, 3, op_sel=T is F16):
                EXTREMES[text] = (T, 3, make, pick)


@pytest.mark.parametrize("text", covers("test_minimum_and_maximum", EXTREMES))
def test_minimum_and_maximum(text):
    float_, count, make, pick = EXTREMES[text]
    for mode in [*modes(text), NO_IEEE]:
        function = make(float_, pick, mode.ieee)
        check(text, float_, (float_,) * count, function, mode=mode, preserve=count == 3, rounds=2)


# the mode bit that keeps finite f16 results finite


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        (form("v_add_f16_e32 v2, v4, v5"), lambda a, b: a + b),
        (form("v_mul_f16_e32 v2, v4, v5"), lambda a, b: a * b),
    ],
)
def test_fp16_ovfl_keeps_finite_results_finite(text, exact):
    def saturated(a, b):
        code = arithmetic(F16, exact)(a, b)
        infinite_source = F16.is_infinite(a) or F16.is_infinite(b)
        return code - 1 if F16.is_infinite(code) and not infinite_source else code

    check(text, F16, (F16, F16), saturated, mode=SATURATE, rounds=10)


# the reference itself


def test_the_edges_are_codes_of_every_kind():
    for float_ in FLOATS.values():
        kinds = {
            (float_.is_nan(x), float_.is_infinite(x), float_.flush(x) == x, bool(x & float_.sign))
            for x in edges(float_)
        }
        assert len(kinds) == 8


def test_the_reference_rounds_as_numpy_does():
    """The fractions that everything is compared with, against the host's own float32 and float16."""
    generator = np.random.default_rng(0)
    doubles = generator.standard_normal(3000) * 2.0 ** generator.integers(-160, 140, 3000)
    with np.errstate(all="ignore"):
        for float_, dtype in ((F32, np.float32), (F16, np.float16)):
            codes = doubles.astype(dtype).view(f"u{float_.bits // 8}")
            assert [float_.encode(Fraction(x)) for x in doubles.tolist()] == codes.tolist()


def test_finish_clamps_after_scaling():
    assert finish("v_x v0 mul:2 clamp", F32, F32.encode(Fraction(3, 4)), OMOD) == F32.encode(1)
