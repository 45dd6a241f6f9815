"""The reference arithmetic against MI300X outputs, another model, published examples, and its own laws."""

import json
import math
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.errors import OperandShapeError, OperandTypeError, OptionError
from mfma.formats import F32, F64, I8, I32, Format
from mfma.isa.accumulation import FmaChain, GroupSum
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.spec import MatrixOp
from mfma.numerics.dyadic import Dyadic, decoder
from mfma.numerics.nans import same_bits
from mfma.numerics.reference import MODELS, accumulate, trace
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
    x, y, z = (float(decoder(f)(code)) for f, code in zip(formats, (a, b, c), strict=True))
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
