"""Packed floats, dot products and mixed multiply-add against exact fractions."""

import re

import pytest

from emulator.floats import F16, F32, FLOATS, arithmetic, bits_of, constant, finish, operands, samples
from emulator.forms import check_lanes, covers
from mfma.emulator.semantics.machine import Mode

FLUSH = Mode(flush_32=True, flush_16_64=True)
NO_IEEE = Mode(ieee=False)
SATURATE = Mode(fp16_ovfl=True)


def minimum(float_, pick):
    def apply(a, b):
        for code in (a, b):
            if float_.is_signaling(code):
                return float_.quiet(code)
        if float_.is_nan(a) or float_.is_nan(b):
            return b if float_.is_nan(a) else a
        return pick(a, b, key=lambda code: -(code & float_.sign - 1) - 1 if code & float_.sign else code)

    return apply


def halves(value, width):
    return value & (1 << width) - 1, value >> width & (1 << width) - 1


def flush(float_, code, mode, always=False):
    flushes = always or (mode.flush_32 if float_ is F32 else mode.flush_16_64)
    return float_.flush(code) if flushes else code


def sources(text, float_, registers):
    """Both elements of every source before selection; of a constant what the assembler's text means."""
    given = iter(registers)
    for part in operands(text):
        if re.search(r"[vs]\[?\d", part):
            yield halves(next(given), float_.bits)
        elif float_ is F16:
            # an integer is extended with its sign, a float stands in the low half
            value = constant(part, F16) if "." in part else int(part) & 0xFFFF_FFFF
            yield halves(value, 16)
        else:
            yield (constant(part, F32),) * 2


def packed(text, float_, function, mode, accumulate=False):
    plain = "_pk_fmac" in text

    def apply(old, *registers):
        pairs = list(sources(text, float_, registers))
        count = len(pairs)
        results = []
        for high in (0, 1):
            select = bits_of(text, "op_sel_hi" if high else "op_sel", count)
            if high and (plain or "op_sel_hi" not in text):
                select = [1] * count
            signs = bits_of(text, "neg_hi" if high else "neg_lo", count)
            codes = [pair[s] ^ (float_.sign if n else 0) for pair, s, n in zip(pairs, select, signs, strict=True)]
            if accumulate:
                codes.append(halves(old, float_.bits)[high])
            code = function(*(flush(float_, code, mode) for code in codes))
            infinite = any(float_.is_infinite(c) or float_.is_nan(c) for c in codes)
            if mode.fp16_ovfl and float_ is F16 and float_.is_infinite(code) and not infinite:
                code -= 1
            results.append(finish(text, float_, code, mode))
        return results[0] | results[1] << float_.bits

    return apply


CASES = {}
for t in ("f16", "f32"):
    T = FLOATS[t]
    functions = {
        "add": arithmetic(T, lambda a, b: a + b),
        "mul": arithmetic(T, lambda a, b: a * b),
        "fma": arithmetic(T, lambda a, b, c: a * b + c),
    }
    if t == "f16":
        functions |= {"min": minimum(F16, min), "max": minimum(F16, max)}
    d, a, b, c, s = (
        ("v2", "v4", "v6", "v8", "s10") if t == "f16" else ("v[2:3]", "v[4:5]", "v[6:7]", "v[8:9]", "s[10:11]")
    )
    for name, function in functions.items():
        count = 3 if name == "fma" else 2
        plain = ", ".join([d, a, b, c][: count + 1])
        for form in (
            plain,
            f"{plain} clamp",
            f"{plain} op_sel:[{'1,' * (count - 1)}0] op_sel_hi:[{'0,' * (count - 1)}1]",
            f"{plain} neg_lo:[{'1,' * (count - 1)}0] neg_hi:[{'0,' * (count - 1)}1]",
            plain.replace(a, s),
            plain.replace(b, "2.0") + f" op_sel_hi:[1,0{',1' * (count - 2)}]",
            plain.replace(a, "-4"),
        ):
            CASES[f"v_pk_{name}_{t} {form}"] = (T, function, False)
FMA_16 = arithmetic(F16, lambda a, b, c: a * b + c)
CASES["v_pk_fmac_f16_e32 v2, v4, v6"] = (F16, FMA_16, True)
CASES["v_pk_fmac_f16_e32 v2, s4, v6"] = (F16, FMA_16, True)


@pytest.mark.parametrize("text", covers("test_packed", CASES))
@pytest.mark.parametrize("mode", [Mode(), FLUSH, SATURATE], ids=["plain", "flush", "saturate"])
def test_packed(text, mode):
    float_, function, accumulate = CASES[text]
    count = len([part for part in operands(text) if re.search(r"[vs]\[?\d", part)])
    check_lanes(
        text,
        packed(text, float_, function, mode, accumulate),
        bits=dict.fromkeys(range(count), samples(float_)),
        mode=mode,
        rounds=2,
        reads_result=True,
    )


# dot products


def dot(text, mode):
    fma = arithmetic(F32, lambda a, b, c: a * b + c)

    def apply(old, *registers):
        *factors, addend = registers if len(registers) == 3 else (*registers, old)
        signs = bits_of(text, "neg_lo", 3), bits_of(text, "neg_hi", 3)
        total = F32.flush(addend ^ (F32.sign if signs[0][2] else 0))
        sources = [(F32, total)]
        for high in (0, 1):
            a, b = (
                flush(F16, halves(value, 16)[high] ^ (F16.sign if signs[high][n] else 0), mode)
                for n, value in enumerate(factors)
            )
            sources += [(F16, a), (F16, b)]
            total = fma(F32.convert(a, F16), F32.convert(b, F16), total)
        nans = [F32.convert(code, float_) for float_, code in sources if float_.is_nan(code)]
        if F32.is_nan(total):
            total = F32.quiet(nans[0]) if nans else F32.nan
        return finish(text, F32, total, mode, always_flush=True)

    return apply


DOTS = (
    "v_dot2_f32_f16 v2, v4, v6, v8", "v_dot2_f32_f16 v2, v4, s6, v8 clamp",
    "v_dot2_f32_f16 v2, v4, v6, v8 neg_lo:[1,0,1] neg_hi:[0,1,0]",
    "v_dot2c_f32_f16_e32 v2, v4, v6", "v_dot2c_f32_f16_e32 v2, s4, v6",
)  # fmt: skip


@pytest.mark.parametrize("text", covers("test_dot2", DOTS))
@pytest.mark.parametrize("mode", [Mode(), FLUSH], ids=["plain", "flush"])
def test_dot2(text, mode):
    makers = {0: samples(F16), 1: samples(F16), 2: samples(F32)}
    makers = {i: makers[i] for i in range(3 if "dot2_" in text else 2)}
    check_lanes(text, dot(text, mode), bits=makers, mode=mode, rounds=10, reads_result=True)


# mixed multiply-add


def mix(text, mode):
    fma = arithmetic(F32, lambda a, b, c: a * b + c)
    half, high = bits_of(text, "op_sel_hi", 3), bits_of(text, "op_sel", 3)

    def apply(old, *registers):
        given = iter(registers)
        codes, sources = [], []
        for n, part in enumerate(operands(text)):
            float_ = F16 if half[n] else F32
            code = next(given) if re.search(r"[vs]\d", part) else constant(part.strip("-|"), float_)
            code = halves(code, 16)[high[n]] if half[n] else code
            code = code & float_.sign - 1 if "|" in part else code
            code = code ^ float_.sign if re.match(r"-[|vs]", part) else code
            code = flush(float_, code, mode)
            sources.append((float_, code))
            codes.append(F32.convert(code, float_))
        total = fma(*codes)
        result = F32 if "mix_" in text else F16
        nans = [result.convert(code, float_) for float_, code in sources if float_.is_nan(code)]
        nan = result.quiet(nans[0]) if nans else result.nan
        total = nan if F32.is_nan(total) else result.convert(total, F32)
        total = finish(text, result, total, mode)
        if result is F32:
            return total
        return old & 0xFFFF | total << 16 if "mixhi" in text else old & 0xFFFF_0000 | total

    return apply


MIXES = [
    f"v_fma_{name} v2, {form}"
    for name in ("mix_f32", "mixlo_f16", "mixhi_f16")
    for form in (
        "v4, v6, v8", "v4, v6, v8 op_sel_hi:[1,1,1]", "v4, v6, v8 op_sel:[1,0,1] op_sel_hi:[1,0,1] clamp",
        "-v4, |v6|, -|v8| op_sel:[0,1,0] op_sel_hi:[0,1,0]", "s4, v6, v8 op_sel:[1,0,0] op_sel_hi:[1,0,0]",
        "v4, 2.0, v8 op_sel_hi:[0,1,0]", "v4, v6, 0.5",
    )
]  # fmt: skip


@pytest.mark.parametrize("text", covers("test_mixed", MIXES))
@pytest.mark.parametrize("mode", [Mode(), FLUSH], ids=["plain", "flush"])
def test_mixed(text, mode):
    half = bits_of(text, "op_sel_hi", 3)
    parts = [n for n, part in enumerate(operands(text)) if re.search(r"[vs]\d", part)]
    makers = {i: samples(F16 if half[n] else F32) for i, n in enumerate(parts)}
    check_lanes(text, mix(text, mode), bits=makers, mode=mode, rounds=4, reads_result=True)
