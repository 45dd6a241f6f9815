"""Conversions of the vector ALU against exact fractions and, for 8-bit floats, ml_dtypes."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from emulator.floats import F16, F32, F64, FLOATS, bits_of, check, finish, mixture, operands
from emulator.forms import check_lanes, covers, execute, get, noise, put, signed
from mfma.emulator.semantics.machine import Mode

FLUSH = Mode(flush_32=True, flush_16_64=True)
SATURATE = Mode(fp16_ovfl=True)

INTEGERS = {"u16": (16, False), "i16": (16, True), "u32": (32, False), "i32": (32, True)}


def integer(float_, function, width, is_signed):
    """The integer that a function of the fraction gives, clamped; 0 for a NaN."""
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)

    def apply(x):
        if float_.is_nan(x):
            return 0
        if float_.is_infinite(x):
            return (low if x & float_.sign else high) & (1 << width) - 1
        return max(low, min(high, function(float_.fraction(x)))) & (1 << width) - 1

    return apply


def number(float_, width, is_signed):
    return lambda x: float_.encode(signed(x, width) if is_signed else x)


def near_integers(float_, width):
    """Floats around the limits of an integer type, besides the usual ones."""

    def special(generator):
        limit = generator.choice([0, 1 << width - 1, 1 << width, 1 << width // 2])
        around = limit + generator.choice([-2, -1, 0, 1, 2]) + Fraction(generator.randint(-8, 8), 8)
        code = float_.encode(around * generator.choice([-1, 1]))
        return code + generator.choice([-1, 0, 0, 1]) & 2 * float_.sign - 1

    return mixture(float_, special)


CASES = []
"""Text, result, sources, function, options."""


def case(texts, result, sources, function, **options):
    CASES.extend((text, result, sources, function, options) for text in texts)


def register(n, type_):
    return f"v[{2 * n}:{2 * n + 1}]" if type_ is F64 else f"v{n}"


def forms(name, result, source, *, signs=True, output=False):
    d, s = register(2, result), register(4, source)
    texts = [f"{name}_e32 {d}, {s}", f"{name}_e64 {d}, s[10:11]" if source is F64 else f"{name}_e32 {d}, s10"]
    if signs:
        texts.append(f"{name}_e64 {d}, -|{s}|")
    if output:
        texts += [f"{name}_e64 {d}, {s} clamp", f"{name}_e64 {d}, {s} clamp mul:2"]
    if F64 not in (result, source):
        minus = "-" if signs else ""
        texts.append(f"{name}_sdwa {d}, {minus}{s} dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1")
        texts.append(f"{name}_sdwa {d}, {s} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3")
    return texts


for pair in ("f16 f32", "f32 f16", "f32 f64", "f64 f32"):
    to, of = (FLOATS[t] for t in pair.split())
    name = f"v_cvt_{pair.replace(' ', '_')}"
    case(forms(name, to, of, output=True), to, (of,), lambda x, to=to, of=of: to.convert(x, of))

for pair in ("f16 u16", "f16 i16", "f32 u32", "f32 i32", "f64 u32", "f64 i32"):
    to, of = pair.split()
    width, is_signed = INTEGERS[of]
    name = f"v_cvt_{to}_{of}"
    texts = forms(name, FLOATS[to], width, signs=False, output=True)
    if is_signed and to != "f64":
        texts.append(f"{name}_sdwa v2, sext(v4) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1")
    case(texts, FLOATS[to], (width,), number(FLOATS[to], width, is_signed))

for pair in ("u16 f16", "i16 f16", "u32 f32", "i32 f32", "u32 f64", "i32 f64"):
    to, of = pair.split()
    width, is_signed = INTEGERS[to]
    makers = {"bits": {0: near_integers(FLOATS[of], width)}, "rounds": 4}
    function = integer(FLOATS[of], math.trunc, width, is_signed)
    case(forms(f"v_cvt_{to}_{of}", width, FLOATS[of]), width, (FLOATS[of],), function, **makers)

NEAR_32 = {"bits": {0: near_integers(F32, 32)}, "rounds": 4}
case(forms("v_cvt_flr_i32_f32", 32, F32), 32, (F32,), integer(F32, math.floor, 32, True), **NEAR_32)
half_up = integer(F32, lambda x: math.floor(F32.fraction(F32.encode(x + Fraction(1, 2)))), 32, True)
case(forms("v_cvt_rpi_i32_f32", 32, F32), 32, (F32,), half_up, **NEAR_32)

for n in range(4):
    texts = [
        f"v_cvt_f32_ubyte{n}_e32 v2, v4",
        f"v_cvt_f32_ubyte{n}_e64 v2, s4 clamp",
        f"v_cvt_f32_ubyte{n}_e64 v2, v4 mul:2",
    ]
    case(texts, F32, (32,), lambda x, n=n: F32.encode(x >> 8 * n & 0xFF))
case(
    ["v_cvt_off_f32_i4_e32 v2, v4", "v_cvt_off_f32_i4_sdwa v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2"],
    F32, (32,), lambda x: F32.encode(Fraction(signed(x, 4), 16)),
)  # fmt: skip


# pairs and parts


def norm(float_, is_signed):
    scale = 32767 if is_signed else 65535

    def apply(x):
        if float_.is_nan(x):
            return 0
        low = -1 if is_signed else 0
        exact = (low if x & float_.sign else 1) if float_.is_infinite(x) else float_.fraction(x)
        return round(max(low, min(1, exact)) * scale) & 0xFFFF  # Python rounds half to even

    return apply


def ties(float_, scale):
    """Fractions of the scale around the middle of two."""

    def special(generator):
        middle = Fraction(2 * generator.randrange(scale) + 1, 2 * scale)
        return float_.encode(middle) + generator.choice([-1, 0, 1]) | generator.choice([0, float_.sign])

    return mixture(float_, special)


for sign, is_signed in (("i16", True), ("u16", False)):
    for t, T in (("f16", F16), ("f32", F32)):
        one = norm(T, is_signed)
        texts = [f"v_cvt_pknorm_{sign}_{t} v2, -v4, |v6|", f"v_cvt_pknorm_{sign}_{t} v2, v4, s6"]
        if T is F16:
            texts.append(f"v_cvt_pknorm_{sign}_f16 v2, v4, v6 op_sel:[1,0,0]")
        case(texts, 32, (T, T), lambda a, b, f=one: f(a) | f(b) << 16, bits={0: ties(T, 32767), 1: ties(T, 65535)})
    texts = forms(f"v_cvt_norm_{sign}_f16", 16, F16)
    case(texts, 16, (F16,), norm(F16, is_signed), bits={0: ties(F16, 32767)}, rounds=4)


def byte(x):
    return integer(F32, round, 8, False)(x)


def insert(x, place, old):
    low = 8 * (place & 3)
    return old & ~(0xFF << low) | byte(x) << low


NEAR_BYTE = {"bits": {0: near_integers(F32, 8)}, "rounds": 4}
case(["v_cvt_pk_u8_f32 v2, v4, v6, v8", "v_cvt_pk_u8_f32 v2, -|v4|, s6, v8", "v_cvt_pk_u8_f32 v2, v4, 2, v8"],
     32, (F32, 32, 32), insert, **NEAR_BYTE)  # fmt: skip


def clamped(x, is_signed):
    return max(-0x8000, min(0x7FFF, signed(x, 32))) & 0xFFFF if is_signed else min(x, 0xFFFF)


for sign, is_signed in (("i16_i32", True), ("u16_u32", False)):
    case(
        [f"v_cvt_pk_{sign} v2, v4, v6", f"v_cvt_pk_{sign} v2, s4, v6"],
        32, (32, 32), lambda a, b, s=is_signed: clamped(a, s) | clamped(b, s) << 16, rounds=4,
    )  # fmt: skip
PACK = ("v4, v6", "-v4, |v6| op_sel:[1,0,0]", "s4, v6 op_sel:[0,1,0]")
case([f"v_pack_b32_f16 v2, {form}" for form in PACK], 32, (F16, F16), lambda a, b: a | b << 16)


BY_TEXT = {text: rest for text, *rest in CASES}


@pytest.mark.parametrize("text", covers("test_conversions", BY_TEXT))
def test_conversions(text):
    result, sources, function, options = BY_TEXT[text]
    for mode in (Mode(), FLUSH):
        check(text, result, sources, function, mode=mode, **{"rounds": 2} | options)


@pytest.mark.parametrize("text", covers("test_accumulated_byte", ["v_cvt_pkaccum_u8_f32 v2, v4, v6"]))
def test_accumulated_byte(text):
    check_lanes(text, lambda old, x, place: insert(x, place, old), bits={0: near_integers(F32, 8)}, reads_result=True)


def toward_zero(x):
    if F32.is_nan(x) or F32.is_infinite(x):
        return F16.convert(x, F32)
    exact, sign = abs(F32.fraction(x)), x >> 16 & F16.sign
    code = min(F16.encode(exact), F16.infinity - 1)
    return code - (F16.fraction(code) > exact) | sign


TOWARD_ZERO = [f"v_cvt_pkrtz_f16_f32 v2, {form}" for form in ("v4, v6", "-v4, |v6|", "s4, v6 clamp")]


@pytest.mark.parametrize("text", covers("test_toward_zero", TOWARD_ZERO))
@pytest.mark.parametrize("mode", [Mode(), FLUSH], ids=["plain", "flush"])
def test_pair_is_rounded_toward_zero(text, mode):
    def pair(a, b):
        low, high = (finish(text, F16, toward_zero(x), mode) for x in (a, b))
        return low | high << 16

    check(text, 32, (F32, F32), pair, mode=mode, rounds=5)


# 8-bit floats

EIGHT = {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}


def decoded(name, code):
    value = np.uint8(code).view(EIGHT[name]).astype(np.float32)
    return F32.nan if np.isnan(value) else int(value.view(np.uint32))


def encoded(name, x, mode=None):
    """Nearest code by ml_dtypes; FP16_OVFL makes finite numbers finite."""
    value = np.uint32(x).view(np.float32)
    if not np.isfinite(value):
        return 0x80
    if mode is not None and mode.fp16_ovfl:
        largest = np.float32(ml_dtypes.finfo(EIGHT[name]).max)
        value = np.clip(value, -largest, largest)
    with np.errstate(invalid="ignore"):  # too large a number becomes a NaN
        return int(value.astype(EIGHT[name]).view(np.uint8))


def around_codes(name):
    """Float32 around the numbers of the format and the middles of two."""

    def special(generator):
        code = generator.randrange(0x7F)
        pair = [F32.fraction(decoded(name, code + n)) for n in (0, 0, 1)]
        near = F32.encode(sum(generator.sample(pair, 2)) / 2 * generator.choice([1, 1, 2]))
        return near + generator.choice([-1, 0, 0, 1]) & 0x7FFF_FFFF | generator.choice([0, F32.sign])

    return mixture(F32, special)


WIDEN = {}
for name in EIGHT:
    WIDEN |= {
        f"v_cvt_f32_{name}_e32 v2, v4": name,
        f"v_cvt_f32_{name}_e64 v2, s4 clamp": name,
        **{f"v_cvt_f32_{name}_sdwa v2, v4 src0_sel:BYTE_{n}": name for n in range(4)},
    }


@pytest.mark.parametrize("text", covers("test_widening", WIDEN))
def test_widening(text):
    name = WIDEN[text]
    check(text, F32, (32,), lambda x: decoded(name, x & 0xFF), rounds=10)


@pytest.mark.parametrize("name", EIGHT)
def test_widening_of_every_code(name):
    text = f"v_cvt_f32_{name}_e32 v2, v4"
    for first in range(0, 256, 64):
        registers = noise(text)
        put(registers, "v", 4, range(first, first + 64))
        assert get(execute(text, registers), "v", 2) == [decoded(name, code) for code in range(first, first + 64)]


PAIR_FORMS = ("_e32 v[2:3], v4", "_e64 v[2:3], s4", *(f"_sdwa v[2:3], v4 src0_sel:WORD_{n}" for n in (0, 1)))
WIDEN_PAIR = {f"v_cvt_pk_f32_{name}{form}": name for name in EIGHT for form in PAIR_FORMS}


@pytest.mark.parametrize("text", covers("test_widening_of_pairs", WIDEN_PAIR))
def test_widening_of_pairs(text):
    name = WIDEN_PAIR[text]
    check(text, 64, (32,), lambda x: decoded(name, x & 0xFF) | decoded(name, x >> 8 & 0xFF) << 32, rounds=6)


NARROW = {
    f"v_cvt_pk_{name}_f32 v2, {form}": name for name in EIGHT
    for form in ("v4, v6", "-v4, |v6|", "v4, s6 op_sel:[0,0,1]")
}  # fmt: skip


@pytest.mark.parametrize("text", covers("test_narrowing", NARROW))
@pytest.mark.parametrize("mode", [Mode(), SATURATE], ids=["plain", "saturate"])
def test_narrowing(text, mode):
    name = NARROW[text]
    check(
        text, 16, (F32, F32), lambda a, b: encoded(name, a, mode) | encoded(name, b, mode) << 8,
        mode=mode, preserve=True, rounds=8, bits={0: around_codes(name), 1: around_codes(name)},
    )  # fmt: skip


STOCHASTIC = {
    f"v_cvt_sr_{name}_f32 v2, {form}": name for name in EIGHT
    for form in ("v4, v6", "-v4, v6 op_sel:[0,0,1,0]", "|v4|, s6 op_sel:[0,0,0,1]", "v4, v6 op_sel:[0,0,1,1]")
}  # fmt: skip


@pytest.mark.parametrize("text", covers("test_stochastic_rounding", STOCHASTIC))
@pytest.mark.parametrize("mode", [Mode(), SATURATE], ids=["plain", "saturate"])
def test_stochastic_rounding(text, mode):
    """Random bits, as a fraction of the last place, are added to the magnitude, and the sum is cut off."""
    name, place = STOCHASTIC[text], 8 * (bits_of(text, "op_sel", 4)[2] + 2 * bits_of(text, "op_sel", 4)[3])
    kept, smallest = (3, -7) if name == "fp8" else (2, -15)
    largest = F32.fraction(decoded(name, 0x7F))

    def code(x, seed):
        if F32.is_nan(x) or F32.is_infinite(x):
            return 0x80
        exact = abs(F32.fraction(x))
        exponent = max(math.frexp(float(exact))[1] - 1, smallest) if exact else smallest
        unit = Fraction(2) ** (exponent - kept)
        # what is below the 23rd place of the smallest normal number is cut off first
        fine = math.floor(exact / unit * 2 ** (23 - kept))
        total = fine + (seed >> 32 - (23 - kept)) >> 23 - kept
        sign = x >> 24 & 0x80
        if total * unit > largest:
            return sign | 0x7F if mode.fp16_ovfl else 0x80
        magnitude = encoded(name, F32.encode(total * unit))
        return magnitude and magnitude | sign

    def write(old, *registers):
        given = iter(registers)
        x, seed = next(given) & 0xFFFF_FFFF, next(given)
        source = operands(text)[0]
        x = x & 0x7FFF_FFFF if "|" in source else x ^ F32.sign if source.startswith("-") else x
        return old & ~(0xFF << place) | code(x, seed) << place

    check_lanes(text, write, bits={0: around_codes(name)}, mode=mode, rounds=5, reads_result=True)
