"""The reference arithmetic against MI300X outputs, another model, published examples, and its own laws."""

import json
import math
import random
import struct
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.errors import OperandShapeError, OperandTypeError, OptionError
from mfma.formats import BF8, BF16, F16, F32, F64, FP8, I8, I32, OCP_FP8, XF32, Format
from mfma.isa.accumulation import FmaChain, GroupSum
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.spec import MatrixOp
from mfma.numerics.dyadic import Dyadic, Number, decoder, round_to
from mfma.numerics.nans import is_nan, quiet_nan, same_bits
from mfma.numerics.reference import MODELS, accumulate, trace
from mfma.numerics.trace import Cause, GroupStep, IntegerStep, RoundedSum, SpecialStep
from numeric_cases import EDGES, EXAMPLES, OPS, PROBES, Example, bits, codes, dots, finite_codes

GOLDEN = Path(__file__).parent / "golden"
MNEMONICS = {op.mnemonic: op for op in DENSE}
FLOATS = [op for op in DENSE if not op.out.is_integer]
KINDS = list({(op.a, op.b, op.accumulation): op for op in DENSE}.values())
"""One instruction of each operand format and accumulation."""

each_kind = pytest.mark.parametrize("op", KINDS, ids=str)
each_float = pytest.mark.parametrize("op", [op for op in KINDS if not op.out.is_integer], ids=str)
each_f32 = pytest.mark.parametrize("op", [op for op in KINDS if op.out == F32], ids=str)
each_chain = pytest.mark.parametrize("op", [op for op in KINDS if isinstance(op.accumulation, FmaChain)], ids=str)
each_group = pytest.mark.parametrize("op", [op for op in KINDS if isinstance(op.accumulation, GroupSum)], ids=str)
thorough = settings(deadline=None, max_examples=30)


def as_float(x: Number) -> float:
    return float.fromhex(x.hex()) if x.finite else float(x.hex())


def number(code: int, format: Format) -> Fraction:
    return decoder(format)(code).value.fraction


# --- what others measured, published and computed -------------------------------------------------


def test_every_recorded_output_of_an_mi300x() -> None:
    lines = (GOLDEN / "hardware" / "mi300x_f32_16x16x32_fp8_fp8.jsonl").read_text().splitlines()
    missed = []
    for line in lines:
        row = json.loads(line)
        a, b, c = bytes.fromhex(row["a"]), bytes.fromhex(row["b"]), int(row["c"], 16)
        d = accumulate(OPS["f32_16x16x32_fp8_fp8"], a, b, c)
        if (d == c) if row["d"] == "not c" else d != int(row["d"], 16):
            missed.append((row, f"{d:08x}"))
    assert len(lines) == 2956
    assert not missed


def golden_misses(path: Path, step: int) -> list[str]:
    """Compare every ``step``-th output of a file."""
    op = MNEMONICS[f"v_mfma_{path.stem}"]
    data = np.load(path)
    a, b, c, d = (data[name].tolist() for name in "abcd")
    missed = []
    outputs = [(case, i, j) for case, i, j in np.ndindex(data["d"].shape)]
    for case, i, j in outputs[::step]:
        got = accumulate(op, a[case][i], [row[j] for row in b[case]], c[case][i][j])
        if not same_bits(got, d[case][i][j], op.out):
            missed.append(f"case {case} ({data['kind'][case]}), row {i}, column {j}: {got:x}, not {d[case][i][j]:x}")
    return missed


GOLDEN_FILES = sorted((GOLDEN / "numerics" / "cdna3").glob("*.npz"))


def test_golden_files_cover_every_float_instruction() -> None:
    assert {f"v_mfma_{path.stem}" for path in GOLDEN_FILES} == {op.mnemonic for op in FLOATS}


@pytest.mark.parametrize("path", GOLDEN_FILES, ids=lambda path: path.stem)
def test_every_23rd_output_of_mmasim(path: Path) -> None:
    assert golden_misses(path, 23) == []


@pytest.mark.long
@pytest.mark.parametrize("path", GOLDEN_FILES, ids=lambda path: path.stem)
def test_all_outputs_of_mmasim(path: Path) -> None:
    assert golden_misses(path, 1) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example(example: Example) -> None:
    op = OPS[example.op]
    expected = {"hardware": example.d, "fma": example.fma, "exact": example.exact}
    for model, d in expected.items():
        if d is not None:
            assert f"{accumulate(op, example.a, example.b, example.c, model=model):X}" == f"{d:X}"


@pytest.mark.parametrize("family", ["order-c", "order", "parity-c", "parity"])
def test_order_and_parity_probes(family: str) -> None:
    op = OPS["f32_16x16x32_fp8_fp8"]
    probes = [p for p in PROBES if p.name.startswith(f"{family}-") and (family[-2:] == "-c" or "-c-" not in p.name)]
    assert len(probes) == {"order-c": 32, "order": 496, "parity-c": 16, "parity": 120}[family]
    assert [p.name for p in probes if accumulate(op, p.a, p.b, p.c) != p.d] == []


# --- laws: which numbers may come out -----------------------------------------------------------------


def is_nearest_even(code: int, exact: Fraction, format: Format) -> bool:
    """Judge a rounding by the neighbours of what came out, without rounding anything."""
    sign = 1 << format.bits - 1
    magnitude, exact = code & sign - 1, abs(exact)
    infinity = (1 << format.exponent) - 1 << format.significand
    top = number(infinity - 1, format) + Fraction(2) ** (format.max_exponent - format.significand - 1)
    if magnitude == infinity:
        return exact >= top
    here = abs(number(magnitude, format) - exact)
    below = abs(number(magnitude - 1, format) - exact) if magnitude else here + 1
    above = abs(number(magnitude + 1, format) - exact) if magnitude + 1 < infinity else top - exact + here
    even = magnitude % 2 == 0
    return (here < below or (here == below and even)) and (here < above or (here == above and even))


@each_chain
@thorough
@given(data=st.data())
def test_fma_is_the_exact_product_and_sum_rounded_once(op: MatrixOp, data: st.DataObject) -> None:
    a, b, c = (data.draw(finite_codes(f)) for f in (op.a, op.b, op.out))
    exact = number(a, op.a) * number(b, op.b) + number(c, op.out)
    d = accumulate(op, [a], [b], c, model="fma")
    assert is_nearest_even(d, exact, op.out)
    if exact:
        assert d >> op.out.bits - 1 == (exact < 0)


@thorough
@given(dots(OPS["f64_4x4x4f64"], max_k=9, finite=True))
def test_f64_agrees_with_pythons_division_of_integers(dot: tuple[list[int], list[int], int]) -> None:
    a, b, c = dot
    chain = exact = number(c, F64)
    for x, y in zip(a, b, strict=True):
        product = number(x, F64) * number(y, F64)
        exact += product
        if isinstance(chain, Fraction):
            try:
                chain = Fraction(float(chain + product))
            except OverflowError:
                chain = math.inf if chain + product > 0 else -math.inf
    try:
        rounded = float(exact)
    except OverflowError:
        rounded = math.inf if exact > 0 else -math.inf
    op = OPS["f64_4x4x4f64"]
    for model, expected in (("fma", float(chain)), ("hardware", float(chain)), ("exact", rounded)):
        assert trace(op, a, b, c, model=model).value == expected


@each_float
@thorough
@given(data=st.data())
def test_exact_is_the_whole_sum_rounded_once(op: MatrixOp, data: st.DataObject) -> None:
    a, b, c = data.draw(dots(op, finite=True))
    exact = sum((number(x, op.a) * number(y, op.b) for x, y in zip(a, b, strict=True)), number(c, op.out))
    assert is_nearest_even(accumulate(op, a, b, c, model="exact"), exact, op.out)


@each_f32
@pytest.mark.parametrize("model", MODELS)
@thorough
@given(data=st.data())
def test_specials_are_those_of_ieee(op: MatrixOp, model: str, data: st.DataObject) -> None:
    """Doubles hold f32 sums without overflow or underflow, so they decide NaN, infinities and zeros' signs."""
    formats = op.a, op.b, op.out
    a, b, c = (data.draw(codes(f)) for f in formats)
    x, y, z = (as_float(decoder(f)(code)) for f, code in zip(formats, (a, b, c), strict=True))
    expected = x * y + z
    if model == "hardware" and isinstance(op.accumulation, GroupSum) and abs(x * y) >= 2.0**128:
        expected = math.copysign(math.inf, x * y) + z
    d = trace(op, [a], [b], c, model=model)
    assert math.isnan(d.value) == math.isnan(expected)
    if math.isinf(expected):
        assert d.value == expected
    if expected == 0 and model != "hardware":
        assert math.copysign(1, d.value) == math.copysign(1, expected)


def whole_numbers(format: Format) -> list[int]:
    """Give the codes of -8 to 8."""
    if format.bits > 8:
        return [bits(format.name, float(value)) for value in range(-8, 9)]
    numbers = [decoder(format)(code) for code in range(256)]
    return [x.code for x in numbers if x.finite and x.value.fraction in range(-8, 9)]


@each_kind
@thorough
@given(data=st.data())
def test_small_whole_numbers_add_exactly_in_any_order(op: MatrixOp, data: st.DataObject) -> None:
    whole, other = whole_numbers(op.a), whole_numbers(op.b)
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(whole), st.sampled_from(other)), max_size=40))
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    start = bits(op.out.name, 5.0) if not op.out.is_integer else 5
    shuffled = data.draw(st.permutations(range(len(pairs))))
    results = [accumulate(op, a, b, start, model=model) for model in MODELS]
    results.append(accumulate(op, [a[k] for k in shuffled], [b[k] for k in shuffled], start))
    exact = 5 + sum(number(x, op.a) * number(y, op.b) for x, y in pairs)
    assert {number(d, op.out) for d in results} == {exact}


@each_kind
@thorough
@given(data=st.data())
def test_k_is_padded_with_zeros(op: MatrixOp, data: st.DataObject) -> None:
    a, b, c = data.draw(dots(op))
    zeros = [0] * (-len(a) % op.k)
    d = accumulate(op, a, b, c)
    assert accumulate(op, a + zeros, b + zeros, c) == d
    more = accumulate(op, a + zeros + [0] * op.k, b + zeros + [0] * op.k, c)
    negative_zero = not op.out.is_integer and d == 1 << op.out.bits - 1
    assert same_bits(more, 0 if negative_zero else d, op.out)


@each_kind
@thorough
@given(data=st.data())
def test_instructions_chain_through_the_accumulator(op: MatrixOp, data: st.DataObject) -> None:
    a, b, c = data.draw(dots(op))
    d = c
    for first in range(0, len(a), op.k):
        d = accumulate(op, a[first : first + op.k], b[first : first + op.k], d)
    assert accumulate(op, a, b, c) == d


@each_chain
@thorough
@given(data=st.data())
def test_a_chain_is_the_fma_model(op: MatrixOp, data: st.DataObject) -> None:
    a, b, c = data.draw(dots(op))
    whole = len(a) // op.k * op.k
    assert accumulate(op, a[:whole], b[:whole], c) == accumulate(op, a[:whole], b[:whole], c, model="fma")


@each_group
@thorough
@given(data=st.data())
def test_what_a_group_loses_is_what_its_cuts_lost(op: MatrixOp, data: st.DataObject) -> None:
    a, b, c = data.draw(dots(op, max_k=op.k, finite=True))
    for step in trace(op, a, b, c).groups:
        exact = sum((t.a.value * t.b.value for t in step.terms), step.c.value)
        cuts = [cut for part in step.parts for cut in (*part.cuts, part.aligned)]
        cuts += [step.sum, step.addend, step.total]
        assert step.rounding.exact + sum((cut.lost for cut in cuts), Dyadic(0, 0)) == exact
        floors = [part.aligned for part in step.parts] + [step.sum, step.total] + [step.addend] * (not step.far)
        assert all(0 <= cut.lost.fraction < Fraction(2) ** cut.position for cut in floors)
        assert is_nearest_even(step.number.code, step.rounding.exact.fraction, op.out)


@thorough
@given(dots(OPS["i32_16x16x32_i8"]))
def test_integers_wrap(dot: tuple[list[int], list[int], int]) -> None:
    op = OPS["i32_16x16x32_i8"]
    a, b, c = dot
    exact = sum((number(x, I8) * number(y, I8) for x, y in zip(a, b, strict=True)), number(c, I32))
    for model in MODELS:
        d = accumulate(op, a, b, c, model=model)
        assert (number(d, I32) - exact) % 2**32 == 0


# --- MODE.FP16_OVFL ---------------------------------------------------------------------------------


F32_MAX, INFINITY = 0x7F7FFFFF, 0x7F800000


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("op", "a", "b", "c", "default", "clamped"),
    [
        ("f32_16x16x4f32", [2.0**127], [2.0], 0, INFINITY, F32_MAX),
        ("f32_16x16x4f32", [-(2.0**127)], [2.0], 0, INFINITY | 1 << 31, F32_MAX | 1 << 31),
        ("f32_32x32x8bf16_1k", [2.0**127, 2.0**127], [1.0, 1.0], 0, INFINITY, F32_MAX),
        ("f32_32x32x8bf16_1k", [2.0**127], [2.0], 0, INFINITY, F32_MAX),
        ("f32_32x32x8bf16_1k", [math.inf], [2.0], 0, INFINITY, INFINITY),
        ("f32_32x32x8bf16_1k", [1.0], [2.0], INFINITY, INFINITY, INFINITY),
        ("f32_32x32x8f16", [65504.0], [65504.0], F32_MAX, F32_MAX, F32_MAX),
        ("f64_4x4x4f64", [2.0**1023], [2.0], 0, 0x7FF << 52, 0x7FF << 52),
    ],
)
def test_fp16_ovfl_holds_an_overflow_at_the_largest_finite_number(
    op: str, a: list[float], b: list[float], c: int, default: int, clamped: int, model: str
) -> None:
    record = OPS[op]
    row, column = [bits(record.a.name, x) for x in a], [bits(record.b.name, x) for x in b]
    assert accumulate(record, row, column, c, model=model) == default
    assert accumulate(record, row, column, c, model=model, fp16_ovfl=True) == clamped


def test_fp16_ovfl_acts_at_every_group() -> None:
    op, big = OPS["f32_16x16x16bf16_1k"], bits("bf16", 2.0**127)
    a = [big, big, *[0] * 6, big]
    b = [bits("bf16", 1.0)] * 2 + [0] * 6 + [bits("bf16", -1.0)]
    assert accumulate(op, a, b, 0) == INFINITY
    assert accumulate(op, a, b, 0, fp16_ovfl=True) == bits("f32", 2.0**127 - 2.0**104)


def test_fp16_ovfl_clamps_integers_once_per_instruction() -> None:
    op = OPS["i32_4x4x4i8"]
    top, ones = 0x7FFFFFFF, [1, 1, 0xFF, 0, 0xFF]
    assert accumulate(op, ones, [1] * 5, top, fp16_ovfl=True) == 0x7FFFFFFE
    assert accumulate(op, ones, [1] * 5, top) == 0x7FFFFFFF
    assert accumulate(op, [0xFF], [1], 0x80000000, fp16_ovfl=True) == 0x80000000


# --- traces -----------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("model", MODELS)
@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_trace_explains_what_accumulate_gives(op: MatrixOp, model: str, data: st.DataObject) -> None:
    a, b, c = data.draw(dots(op))
    t = trace(op, a, b, c, model=model)
    assert t.result == accumulate(op, a, b, c, model=model)
    assert (t.fma, t.exact) == tuple(accumulate(op, a, b, c, model=m) for m in ("fma", "exact"))
    for before, after in zip(t.steps, t.steps[1:], strict=False):
        assert after.c == before.number
    plain = json.loads(json.dumps(t.as_dict()))
    assert int(plain["result"]["code"], 16) == t.result
    assert plain["result"]["value"] == t.number.hex()
    assert struct.pack("d", t.value) == struct.pack("d", as_float(t.number))
    assert max(map(len, str(t).splitlines())) <= 120


def lines_of(op: str, a: list[int], b: list[int], c: int, **options: object) -> list[list[str]]:
    return [line.split() for line in str(trace(OPS[op], a, b, c, **options)).splitlines()]


def test_a_group_reads_as_a_table() -> None:
    # 2^22 - 2^22 + 1.5 · 2^-4 and a tiny negative c
    lines = lines_of("f32_32x32x8f16", [0x6800, 0x6800, 0x3E00], [0x6800, 0xE800, 0x2C00], 0x8DA24260)
    text = [" ".join(line) for line in lines]
    assert "largest exponent 22, so products are cut toward zero below 2^-2" in text
    assert "2 3E00 1.5 2C00 0.0625 0.09375 -4 0 lost 0.09375" in text
    assert "k 3..7: the product is zero and has no exponent" in text
    assert "largest exponent of a product 22, of c -100: E = 22" in text
    assert any(line.startswith("c -0x1.4484cp-100 floored to 2^-2 -0.25 lost 0x1.fffff") for line in text)
    assert "to f32 BE800000 = -0.25, exact" in text
    assert any(line.startswith("hardware BE800000 -0.25") for line in text)
    assert any(line.startswith("fma 3DC00000 0.09375") for line in text)


def test_halves_and_a_far_c_read_as_a_table() -> None:
    a, b = [0x78, 0x88, 0x78], [0x78, 0x18, 0xF8]
    text = [" ".join(line) for line in lines_of("f32_16x16x32_fp8_fp8", a, b, 0xB9000000)]
    assert "odd k: largest exponent -12, so products are cut toward zero below 2^-36" in text
    assert "odd k -2^-12 floored to 2^-10 -2^-10 lost 0x1.8p-11" in text
    assert "c -2^-13 exponent at most -12 0 too small" in text


@pytest.mark.parametrize(
    ("a", "b", "c", "words"),
    [
        (0x3F800001, 0x3F800001, 0, "to f32 3F800002 = 0x1.000004p+0, rounded down by 2^-46"),
        (0x3F800000, 0x3F800000, 0x4B800000, "to f32 4B800000 = 16777216, a tie, to even: down by 1"),
        (0x3F800000, 0x40400000, 0x4B800000, "to f32 4B800002 = 16777220, a tie, to even: up by 1"),
        (0x7F000000, 0x40000000, 0, "to f32 7F800000 = inf, overflow to infinity"),
        (0x7F800000, 0x00000000, 0, "k 0: infinity times zero gives NaN"),
        (0x7F800000, 0x3F800000, 0xFF800000, "k 0: infinities of both signs give NaN"),
        (0x7F800000, 0xBF800000, 0, "k 0: an infinity stays"),
        (0x3F800000, 0x3F800000, 0x7FC00000, "k 0: a NaN operand gives NaN"),
    ],
)
def test_a_step_says_what_decided(a: int, b: int, c: int, words: str) -> None:
    assert words in [" ".join(line) for line in lines_of("f32_32x32x1f32", [a], [b], c)]


def test_integers_and_clamps_say_so() -> None:
    wrapped = [" ".join(line) for line in lines_of("i32_4x4x4i8", [1], [1], 0x7FFFFFFF)]
    assert "to i32 80000000 = -2147483648, out of range, wrapped" in wrapped
    clamped = [" ".join(line) for line in lines_of("i32_4x4x4i8", [1], [1], 0x7FFFFFFF, fp16_ovfl=True)]
    assert "to i32 7FFFFFFF = 2147483647, out of range, clamped" in clamped
    early = [" ".join(line) for line in lines_of("f32_32x32x8bf16_1k", [0x7F00], [0x4000], 0)]
    assert "a single product of 2^128 or more counts as infinite" in early
    held = [" ".join(line) for line in lines_of("f32_32x32x1f32", [0x7F000000], [0x40000000], 0, fp16_ovfl=True)]
    assert any(line.endswith("overflow, held at the largest finite number") for line in held)


def test_steps_have_their_kinds() -> None:
    kinds = {
        "f32_32x32x8f16": GroupStep,
        "f32_16x16x4f32": RoundedSum,
        "f64_4x4x4f64": RoundedSum,
        "i32_16x16x32_i8": IntegerStep,
    }
    for name, kind in kinds.items():
        steps = trace(OPS[name], [1] * 40, [1] * 40, 0).steps
        assert {type(step) for step in steps} == {kind}
        assert len(steps) == {GroupStep: 5, RoundedSum: 40, IntegerStep: 2}[kind]
    special = trace(OPS["f32_32x32x8f16"], [0x7C00], [0], 0).steps[0]
    assert isinstance(special, SpecialStep)
    assert (special.cause, [t.k for t in special.culprits]) == (Cause.INFINITY_TIMES_ZERO, [0])


# --- numbers and NaNs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("format", [F16, BF16, FP8, BF8, I8], ids=str)
def test_every_code_decodes_to_numpys_value(format: Format) -> None:
    dtype = getattr(ml_dtypes, format.dtype, None) or np.dtype(format.dtype)
    every = np.arange(1 << format.bits, dtype=f"uint{format.bits}").view(dtype)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        every = every.astype(np.float64)
    for code, value in enumerate(every.tolist()):
        x = decoder(format)(code)
        assert x.nan == math.isnan(value)
        assert x.infinite == math.isinf(value)
        if x.finite:
            assert float.fromhex(x.hex()) == value
            assert x.negative == (math.copysign(1, value) < 0)


@pytest.mark.parametrize(("format", "kind"), [(F32, "If"), (F64, "Qd")], ids=str)
@given(data=st.data())
def test_wide_codes_decode_to_pythons_value(format: Format, kind: str, data: st.DataObject) -> None:
    code = data.draw(codes(format))
    (value,) = struct.unpack(kind[1], struct.pack(kind[0], code))
    x = decoder(format)(code)
    assert (x.nan, x.infinite) == (math.isnan(value), math.isinf(value))
    if x.finite:
        assert struct.pack("d", float.fromhex(x.hex())) == struct.pack("d", value)
        assert round_to(x.value, format, negative_zero=x.negative).number == x


@given(codes(F32))
def test_xf32_is_f32_without_its_low_13_bits(code: int) -> None:
    cut, plain = decoder(XF32)(code), decoder(F32)(code & ~0x1FFF)
    assert (cut.value, cut.nan, cut.infinite, cut.exponent) == (plain.value, plain.nan, plain.infinite, plain.exponent)


@given(st.integers(), st.integers(-3000, 3000), st.integers(-3000, 3000))
def test_cuts_are_floor_and_truncation(count: int, scale: int, position: int) -> None:
    x, unit = Dyadic(count, scale), Fraction(2) ** position
    assert x.floor(position).fraction == math.floor(x.fraction / unit) * unit
    assert x.truncate(position).fraction == math.trunc(x.fraction / unit) * unit


@given(st.integers(-(2**70), 2**70), st.integers(-400, 400))
def test_dyadic_text_is_exact_unless_it_says_otherwise(count: int, scale: int) -> None:
    x = Dyadic(count, scale)
    digits, power = x.hex().split("p")
    whole, _, fraction = digits.replace("0x", "").partition(".")
    assert Fraction(int(whole + fraction, 16)) * Fraction(2) ** (int(power) - 4 * len(fraction)) == x.fraction
    text = str(x)
    if "0x" not in text and "^" not in text:
        assert Fraction(text) == x.fraction
    assert len(text) <= 25


def test_nan_codes_are_those_of_numpy() -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    assert (is_nan(every, F16) == np.isnan(every.view(np.float16))).all()
    assert (is_nan(every.view(np.float16), F16) == np.isnan(every.view(np.float16))).all()
    bf16 = every.view(ml_dtypes.bfloat16)
    assert (is_nan(bf16, BF16) == np.isnan(bf16.astype(np.float32))).all()
    ocp = np.arange(256, dtype=np.uint8)
    assert (is_nan(ocp, OCP_FP8) == np.isnan(ocp.view(ml_dtypes.float8_e4m3fn).astype(np.float32))).all()
    assert not is_nan(ocp.view(np.int8), I8).any()
    assert not is_nan(0xFFFFFFFF, I32)
    assert all(is_nan(quiet_nan(f), f) for f in (F16, BF16, F32, F64, FP8, BF8, OCP_FP8))


def test_same_bits_forgives_nans_only() -> None:
    x = np.array([0x7F800001, 0x00000000, 0x3F800000, 0x7FC00000], np.uint32)
    y = np.array([0xFFC00000, 0x80000000, 0x3F800000, 0x7F800000], np.uint32)
    assert same_bits(x, y, F32).tolist() == [True, False, True, False]
    assert same_bits(x.view(np.float32), y, F32).tolist() == [True, False, True, False]
    assert [same_bits(int(p), int(q), F32) for p, q in zip(x, y, strict=True)] == [True, False, True, False]
    assert same_bits(0x7FF8000000000000, 0xFFFFFFFFFFFFFFFF, F64) is True


def test_edge_tables_fit_their_formats() -> None:
    for op in DENSE:
        for format in (op.a, op.b, op.out):
            assert all(0 <= code < 1 << format.bits for code in EDGES[format.name])


# --- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        (([1], [1, 2], 0), {}, OperandShapeError, "a has 1 codes and b has 2: give both the same K codes."),
        (([1.0], [1], 0), {}, OperandTypeError, "codes of f16 are integers: give an array's bits with .view()"),
        (([1], [1], 0.5), {}, OperandTypeError, "codes of f32 are integers"),
        (([0x10000], [1], 0), {}, OperandTypeError, "65536 is not a code of f16: codes are 0 to 65535; take"),
        (([1], [-1], 0), {}, OperandTypeError, "-1 is not a code of f16"),
        (([1], [1], 0), {"model": "fna"}, OptionError,
         "'fna' is not a model: choose one of hardware, fma, exact. Did you mean fma?"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(
    arguments: tuple[list[int], list[int], int], options: dict[str, str], error: type[Exception], words: str
) -> None:
    for function in (accumulate, trace):
        with pytest.raises(error) as caught:
            function(OPS["f32_32x32x8f16"], *arguments, **options)
        assert words in str(caught.value)


def test_sparse_instructions_have_no_arithmetic() -> None:
    with pytest.raises(OptionError, match="v_smfmac_f32_16x16x32_f16 has no arithmetic here: nobody has published"):
        accumulate(SPARSE[0], [0], [0], 0)


def test_numpy_integers_are_codes() -> None:
    rng = random.Random(1)
    a, b = (np.array([rng.randrange(1 << 16) for _ in range(8)], np.uint16) for _ in "ab")
    op = OPS["f32_32x32x8f16"]
    assert accumulate(op, a, b, np.uint32(3)) == accumulate(op, a.tolist(), b.tolist(), 3)


def test_no_products_leave_c_alone() -> None:
    for op in DENSE:
        for model in MODELS:
            for c in EDGES[op.out.name]:
                assert accumulate(op, [], [], c, model=model) == c
                assert trace(op, [], [], c, model=model).result == c
