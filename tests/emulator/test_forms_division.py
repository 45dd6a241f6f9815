"""The steps of division of the vector ALU, one by one and together, and the digits of 2/pi, in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from emulator.floats import F16, F32, F64, FLOATS, check, samples
from emulator.forms import covers, execute, form, get, noise, put


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

    check(text, float_, (float_,) * 3, fixup, rounds=4, preserve="legacy" not in text)


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
