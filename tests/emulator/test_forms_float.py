"""Floating-point arithmetic of the vector ALU against exact fractions."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from emulator.floats import F16, F32, F64, FLOATS, arithmetic, check, edges, finish, samples
from emulator.forms import covers, execute, form, get, noise, put
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


# division


def scaled(float_, step, apart, tiny):
    """The manual's table of cases, with the step of a huge denominator going down."""
    smallest, largest_power = Fraction(2) ** (1 - float_.bias), Fraction(2) ** (float_.bias - 1)

    def apply(x, d, n):
        if any(map(float_.is_nan, (x, d, n))):
            return None
        if not d & float_.sign - 1 or not n & float_.sign - 1:
            return float_.nan, False
        d_field, n_field = ((code & float_.sign - 1) >> float_.mantissa for code in (d, n))
        finite = not float_.is_infinite(d)
        number, infinite_n = abs(float_.fraction(d)) if finite else None, float_.is_infinite(n)
        quotient = None if not finite or infinite_n else abs(float_.fraction(n)) / number
        small_quotient = quotient is not None and quotient < smallest
        small_reciprocal = finite and number > largest_power
        up, down, keep = step, -step, 0
        if n_field - d_field >= apart:
            shift, back = (up if x == d else keep), True
        elif finite and number < smallest:
            shift, back = up, False
        elif small_reciprocal and small_quotient:
            shift, back = (down if x == d else keep), True
        elif small_reciprocal:
            shift, back = down, False
        elif small_quotient:
            shift, back = (up if x == n else keep), True
        else:
            shift, back = (up if n_field <= tiny else keep), False
        if float_.is_infinite(x):
            return x, back
        return float_.encode(float_.fraction(x) * Fraction(2) ** shift, bool(x & float_.sign)), back

    return apply


DIVISION = {
    "f32": [
        "v_div_scale_f32 v4, s[4:5], v2, v2, v1", "v_div_scale_f32 v5, vcc, v1, v2, v1", "v_rcp_f32_e32 v6, v4",
        "v_fma_f32 v7, -v4, v6, 1.0", "v_fma_f32 v6, v7, v6, v6", "v_mul_f32_e32 v7, v5, v6",
        "v_fma_f32 v8, -v4, v7, v5", "v_fma_f32 v7, v8, v6, v7", "v_fma_f32 v4, -v4, v7, v5",
        "v_div_fmas_f32 v4, v4, v6, v7", "v_div_fixup_f32 v0, v4, v2, v1",
    ],
    "f64": [
        "v_div_scale_f64 v[8:9], s[4:5], v[4:5], v[4:5], v[2:3]", "v_rcp_f64_e32 v[10:11], v[8:9]",
        "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0", "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]",
        "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0", "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]",
        "v_div_scale_f64 v[12:13], vcc, v[2:3], v[4:5], v[2:3]", "v_mul_f64 v[14:15], v[12:13], v[10:11]",
        "v_fma_f64 v[8:9], -v[8:9], v[14:15], v[12:13]", "v_div_fmas_f64 v[8:9], v[8:9], v[10:11], v[14:15]",
        "v_div_fixup_f64 v[0:1], v[8:9], v[4:5], v[2:3]",
    ],
}  # fmt: skip
"""The compiler's division: v1 (v[2:3]) by v2 (v[4:5]) into v0 (v[0:1])."""


def quotient(float_):
    def apply(n, d):
        for code in (n, d):
            if float_.is_nan(code):
                return float_.quiet(code)
        sign = (n ^ d) & float_.sign
        n_zero, d_zero = not n & float_.sign - 1, not d & float_.sign - 1
        n_infinite, d_infinite = float_.is_infinite(n), float_.is_infinite(d)
        if (n_zero and d_zero) or (n_infinite and d_infinite):
            return float_.nan | float_.sign
        if n_infinite or d_zero:
            return float_.infinity | sign
        if n_zero or d_infinite:
            return sign
        return float_.encode(float_.fraction(n) / float_.fraction(d))

    return apply


covers("test_division_is_correctly_rounded", DIVISION["f32"] + DIVISION["f64"])


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_division_is_correctly_rounded(type_):
    """The law that the three steps of division exist for, subnormal operands and quotients included."""
    float_, texts = FLOATS[type_], DIVISION[type_]
    dwords = float_.bits // 32
    generator = np.random.default_rng(7)
    for round_ in range(12):
        n, d = (list(samples(float_)(f"{type_} {round_} {what}", float_.bits, 64)) for what in "nd")
        if round_ >= 4:  # quotients near the smallest numbers, near the largest, of subnormals
            low, high = ((1, 40), (float_.bias - 5, 2 * float_.bias))[round_ % 2]
            fields = generator.integers(low, high, 64)
            offset = (float_.bias + float_.mantissa // 2, -float_.bias + 3, 3, -float_.bias)[round_ % 4]
            for lane in range(64):
                other = min(max(int(fields[lane]) + offset + int(generator.integers(-20, 20)), 0), 2 * float_.bias)
                n[lane] = n[lane] & ~float_.infinity | int(fields[lane]) << float_.mantissa
                d[lane] = d[lane] & ~float_.infinity | other << float_.mantissa
        registers = noise(f"{type_} {round_}")
        put(registers, "v", dwords, n, dwords)
        put(registers, "v", 2 * dwords, d, dwords)
        for text in texts:
            registers = execute(text, registers)
        expected = [quotient(float_)(*pair) for pair in zip(n, d, strict=True)]
        got = get(registers, "v", 0, dwords)
        for pair in zip(n, d, got, expected, strict=True):
            assert pair[2] == pair[3], [hex(x) for x in pair]


@pytest.mark.parametrize(
    ("text", "type_", "limits"),
    [
        (form("v_div_scale_f32 v4, s[4:5], v2, v2, v1"), "f32", (64, 96, 23)),
        (form("v_div_scale_f32 v5, vcc, v1, v2, v1"), "f32", (64, 96, 23)),
        (form("v_div_scale_f64 v[8:9], s[4:5], v[4:5], v[4:5], v[2:3]"), "f64", (128, 768, 53)),
    ],
)
def test_division_scales_by_the_table(text, type_, limits):
    float_ = FLOATS[type_]
    dwords, reference = float_.bits // 32, scaled(float_, *limits)
    numerator_first = "v1, v2, v1" in text
    for round_ in range(8):
        n, d = (list(samples(float_)(f"{text} {round_} {what}", float_.bits, 64)) for what in "nd")
        registers = noise(text)
        put(registers, "v", dwords, n, dwords)
        put(registers, "v", 2 * dwords, d, dwords)
        after = execute(text, registers)
        got = get(after, "v", int(text.split()[1].strip("v[,").split(":")[0]), dwords)
        mask = get(after, "s", 106 if "vcc" in text else 4, 2)
        for lane in range(64):
            expected = reference(n[lane] if numerator_first else d[lane], d[lane], n[lane])
            if expected is not None:
                assert (got[lane], bool(mask >> lane & 1)) == expected, (hex(n[lane]), hex(d[lane]))


@pytest.mark.parametrize(
    "text",
    covers("test_fmas", ["v_div_fmas_f32 v2, v4, v6, v8", "v_div_fmas_f64 v[2:3], v[4:5], v[6:7], v[8:9]"]),
)
def test_fmas_undoes_the_scale_where_vcc_says_so(text):
    """The sum is rounded once, after scaling; the product is small against the addend as in a division."""
    float_, step = (F64, 128) if "f64" in text else (F32, 64)
    dwords = float_.bits // 32
    generator = np.random.default_rng(3)
    for round_ in range(6):
        registers = noise(f"{text} {round_}")
        # the scaled quotient: around the smallest numbers, or large
        low = round_ % 3 < 2
        exponents = generator.integers(-float_.bias - float_.mantissa, 2 - float_.bias, 64) + step
        if not low:
            exponents = generator.integers(2, float_.bias - step, 64)
        c = [
            float_.encode((1 + Fraction(int(m), 2**float_.mantissa)) * Fraction(2) ** int(e))
            for m, e in zip(generator.integers(0, 2**float_.mantissa, 64), exponents, strict=True)
        ]
        if round_ % 3 == 0:  # ties
            c = [code & -1 << float_.mantissa - 1 for code in c]
        a = [
            float_.encode(Fraction(int(m), 2**float_.mantissa) * Fraction(2) ** int(e - float_.mantissa))
            for m, e in zip(generator.integers(-(2**float_.mantissa), 2**float_.mantissa, 64), exponents, strict=True)
        ]
        b = [float_.encode(1 + Fraction(int(m), 2**20)) for m in generator.integers(0, 2**20, 64)]
        for number, values in zip((4, 6, 8), (a, b, c), strict=True):
            put(registers, "v", number, values, dwords)
        mask = get(registers, "s", 106, 2)
        got = get(execute(text, registers), "v", 2, dwords)
        for lane in range(64):
            x, y, z = (float_.fraction(values[lane]) for values in (a, b, c))
            scale = Fraction(2) ** (step if abs(z) >= 2 else -step) if mask >> lane & 1 else 1
            assert got[lane] == float_.encode((x * y + z) * scale), (hex(a[lane]), hex(b[lane]), hex(c[lane]))


FIXUPS = covers(
    "test_fixup",
    [
        "v_div_fixup_f32 v2, v4, v6, v8", "v_div_fixup_f32 v2, -v4, |v6|, -v8 clamp",
        "v_div_fixup_f64 v[2:3], v[4:5], v[6:7], v[8:9]",
        "v_div_fixup_f16 v2, v4, v6, v8", "v_div_fixup_f16 v2, v4, v6, v8 op_sel:[1,0,1,1]",
        "v_div_fixup_legacy_f16 v2, v4, v6, v8",
    ],
)  # fmt: skip


@pytest.mark.parametrize("text", FIXUPS)
def test_fixup(text):
    float_ = F64 if "f64" in text else F16 if "f16" in text else F32

    def fixup(q, d, n):
        special = quotient(float_)(n, d)
        zero_or_more = [not x & float_.sign - 1 or float_.is_infinite(x) or float_.is_nan(x) for x in (n, d)]
        if any(zero_or_more):
            return special
        sign = (n ^ d) & float_.sign
        fields = [(x & float_.sign - 1) >> float_.mantissa for x in (n, d)]
        limit = {F32: -150, F64: -1075}.get(float_)
        if limit is not None and fields[0] - fields[1] < limit:
            return sign
        return (float_.infinity if float_.is_nan(q) else q & ~float_.sign) | sign

    check(text, float_, (float_,) * 3, fixup, rounds=8, preserve="legacy" not in text)


@pytest.mark.parametrize("text", covers("test_trig_preop", ["v_trig_preop_f64 v[2:3], v[4:5], v6"]))
def test_trig_preop(text):
    """Segments of 2/pi, whose digits are here from Gauss's formula for pi."""
    one = 1 << 1400

    def arctangent(n):
        return sum((-1) ** k * (one // n ** (2 * k + 1)) // (2 * k + 1) for k in range(1400))

    pi = 4 * (12 * arctangent(18) + 8 * arctangent(57) - 5 * arctangent(239))
    two_over_pi = (2 * one << 1201) // pi

    def segment(x, n):
        field = x >> 52 & 0x7FF
        shift = (n & 31) * 53 + max(0, field - 1077)
        digits = (two_over_pi << shift + 53 >> 1201) & (1 << 53) - 1 if shift <= 1201 else 0
        return F64.encode(digits * Fraction(2) ** (-53 - shift + (128 if field >= 1968 else 0)))

    check(text, F64, (F64, 32), segment, rounds=10)


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
