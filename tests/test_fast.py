"""The fast kernels against MI300X outputs, another model, the slow reference, and laws that need neither."""

import ctypes
import itertools
import json
import mmap
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (names the small float types)
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mfma.formats import F32, Format
from mfma.formats.arrays import code_dtype, value_dtype
from mfma.isa.cdna3 import DENSE
from mfma.isa.spec import MatrixOp
from mfma.numerics import fast
from mfma.numerics.fast import multiply
from mfma.numerics.nans import is_nan, quiet_nan, same_bits
from mfma.numerics.reference import MODELS, accumulate
from numeric_cases import EDGES, EXAMPLES, OPS, PROBES, dots
from numeric_products import DATA, KINDS, Codes, Draw, any_bits, bits, cancellation, huge, reference, unit

GOLDEN = Path(__file__).parent / "golden"
MNEMONICS = {op.mnemonic: op for op in DENSE}


def models_of(op: MatrixOp) -> tuple[str, ...]:
    """Name the models that differ: on integers two do, and those only by where they clamp."""
    return ("hardware", "exact") if op.out.is_integer else MODELS


WAYS = [
    pytest.param(ops, model, ovfl, id=f"{name[7:]}-{model}{'-ovfl' * ovfl}")
    for name, ops in KINDS.items()
    for model in models_of(ops[0])
    for ovfl in (False, True)
]
each_way = pytest.mark.parametrize(("ops", "model", "ovfl"), WAYS)
SEEDS = st.integers(0, 2**32 - 1)
ZEROS = st.none() | st.integers(0, 9)
each_kind = pytest.mark.parametrize("op", [ops[-1] for ops in KINDS.values()], ids=str)


def product(op: MatrixOp, a: Codes, b: Codes, c: Codes, **options: Any) -> Codes:
    """Run `multiply` on a copy of c."""
    d = c.copy()
    multiply(op, a, b, d, **options)
    return d


def as_array(codes: list[int] | tuple[int, ...], format: Format) -> Codes:
    return np.array(codes, code_dtype(format))


def one_output(op: MatrixOp, a: list[int], b: list[int], c: int, **options: Any) -> int:
    """Compute one output of lists of codes."""
    row, column, start = as_array(a, op.a)[None, :], as_array(b, op.b)[:, None], as_array([c], op.out)[None, :]
    return int(product(op, row, column, start, threads=1, **options)[0, 0])


def differences(op: MatrixOp, got: Codes, expected: Codes) -> list[str]:
    """Word the first differing outputs; NaNs do not differ, but a new one must be that which results carry."""
    assert got.shape == expected.shape
    wrong = ~same_bits(got, expected, op.out)
    if not op.out.is_integer:
        wrong |= is_nan(got, op.out) & (got != quiet_nan(op.out)) & (got != expected)
    places = np.argwhere(wrong)[:5].tolist()
    return [f"{place}: {got[tuple(place)]:x}, not {expected[tuple(place)]:x}" for place in places]


# --- what others measured, published and computed -------------------------------------------------------------


def test_every_recorded_output_of_an_mi300x() -> None:
    op = OPS["f32_16x16x32_fp8_fp8"]
    lines = (GOLDEN / "hardware" / "mi300x_f32_16x16x32_fp8_fp8.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    a, b = (np.array([[*bytes.fromhex(row[name])] for row in rows], np.uint8) for name in "ab")
    c = np.array([int(row["c"], 16) for row in rows], np.uint32)
    d = product(op, a[:, None, :], b[:, :, None], c[:, None, None])[:, 0, 0]
    moved = np.array([row["d"] == "not c" for row in rows])
    known = np.array([int(row["d"], 16) if row["d"] != "not c" else 0 for row in rows], np.uint32)
    assert len(rows) == 2956
    assert (d[moved] != c[moved]).all()
    np.testing.assert_array_equal(d[~moved], known[~moved])


@pytest.mark.parametrize("path", sorted((GOLDEN / "numerics" / "cdna3").glob("*.npz")), ids=lambda path: path.stem)
def test_every_output_of_mmasim(path: Path) -> None:
    op = MNEMONICS[f"v_mfma_{path.stem}"]
    data = np.load(path)
    assert data["d"].size > 0
    assert differences(op, product(op, data["a"], data["b"], data["c"]), data["d"]) == []


def test_every_example() -> None:
    missed = []
    for example in (*EXAMPLES, *PROBES):
        for model, d in (("hardware", example.d), ("fma", example.fma), ("exact", example.exact)):
            if d is None:
                continue
            got = one_output(OPS[example.op], [*example.a], [*example.b], example.c, model=model)
            if got != d:
                missed.append(f"{example.name}, {model}: {got:X}, not {d:X}")
    assert missed == []


# --- the slow reference ---------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Product:
    """A product whose rows and columns repeat a few, so that the reference need not compute every output."""

    op: MatrixOp
    data: str
    a: Codes
    b: Codes
    c: Codes
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    order: NDArray[np.int64] | None

    def __repr__(self) -> str:
        shape = len(self.rows), self.a.shape[1], len(self.columns)
        matrices = (f"{name} = {x.tolist()}" for name, x in (("a", self.a), ("b", self.b), ("c", self.c)))
        return "\n".join([f"{self.op}, {self.data}, {shape}, order {self.order}", *matrices])

    def check(self, model: str, ovfl: bool) -> None:
        """Compare every output with the reference's."""
        options = {"model": model, "order": self.order, "fp16_ovfl": ovfl}
        expected = reference(self.op, self.a, self.b, self.c, **options)
        c = self.c[np.ix_(self.rows, self.columns)]
        got = product(self.op, self.a[self.rows], self.b[:, self.columns], c, **options)
        assert differences(self.op, got, expected[np.ix_(self.rows, self.columns)]) == []


def repeated(
    rng: np.random.Generator, op: MatrixOp, data: Draw, pool: int, shape: tuple[int, int, int], zeros: int | None = None
) -> Product:
    """Draw a product of ``pool`` different rows and columns; with ``zeros`` in any order of k, zeros among it."""
    m, n, k = shape
    a, b, c = data(rng, op, pool, pool, k)
    order = None if zeros is None else rng.permutation([*range(k), *[-1] * zeros])
    return Product(op, data.__name__, a, b, c, rng.integers(0, pool, m), rng.integers(0, pool, n), order)


@st.composite
def products(draw: st.DrawFn, ops: list[MatrixOp]) -> Product:
    """Draw a product of any data, of a size on either side of the kernels' panels."""
    op, data, zeros = draw(st.sampled_from(ops)), draw(st.sampled_from(DATA)), draw(ZEROS)
    m, n, k = (
        draw(st.sampled_from([1, 3, 96, 101])),
        draw(st.sampled_from([1, 7, 64, 81])),
        draw(st.integers(0, op.k + 9)),
    )
    return repeated(np.random.default_rng(draw(SEEDS)), op, data, 4, (m, n, k), zeros)


@each_way
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_products(ops: list[MatrixOp], model: str, ovfl: bool, data: st.DataObject) -> None:
    data.draw(products(ops)).check(model, ovfl)


@pytest.mark.long
@each_way
@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_many_products(ops: list[MatrixOp], model: str, ovfl: bool, data: st.DataObject) -> None:
    data.draw(products(ops)).check(model, ovfl)


@each_way
@pytest.mark.parametrize("k", [127, 129, 515])
def test_products_deeper_than_a_panel(ops: list[MatrixOp], model: str, ovfl: bool, k: int) -> None:
    rng = np.random.default_rng(k)
    repeated(rng, rng.choice(ops), rng.choice(DATA), 2, (7, 9, k), rng.choice([None, 3])).check(model, ovfl)


@pytest.mark.long
@each_way
@settings(deadline=None, max_examples=40)
@given(seed=SEEDS, k=st.integers(100, 1100), data=st.sampled_from(DATA))
def test_many_products_deeper_than_a_panel(
    ops: list[MatrixOp], model: str, ovfl: bool, seed: int, k: int, data: Draw
) -> None:
    repeated(np.random.default_rng(seed), ops[-1], data, 3, (7, 9, k), seed % 5 or None).check(model, ovfl)


@pytest.mark.long
@each_way
@pytest.mark.parametrize("data", [bits, cancellation, unit], ids=lambda data: data.__name__)
def test_large_products(ops: list[MatrixOp], model: str, ovfl: bool, data: Draw) -> None:
    """Real pieces on real threads."""
    repeated(np.random.default_rng(7), ops[-1], data, 4, (700, 900, 300)).check(model, ovfl)


@each_way
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_single_outputs(ops: list[MatrixOp], model: str, ovfl: bool, data: st.DataObject) -> None:
    """The same comparison in a form that Hypothesis can shrink to a few codes."""
    a, b, c = data.draw(dots(ops[-1]))
    d = accumulate(ops[-1], a, b, c, model=model, fp16_ovfl=ovfl)
    assert same_bits(one_output(ops[-1], a, b, c, model=model, fp16_ovfl=ovfl), d, ops[-1].out)


# --- every code, by laws --------------------------------------------------------------------------------------

ALL8 = np.arange(256, dtype=np.uint8)
EIGHT_BITS = [op for op in DENSE if op.a.bits == 8 and op.k == 16]
each_mix = pytest.mark.parametrize("op", EIGHT_BITS, ids=str)


def values(codes: Codes, format: Format) -> NDArray[np.float64]:
    return codes.view(value_dtype(format)).astype(np.float64)


@each_mix
def test_every_product_of_8_bit_codes(op: MatrixOp) -> None:
    """One product and no c: the product itself, which every result type holds."""
    exact = values(ALL8, op.a)[:, None] * values(ALL8, op.b)[None, :] + 0.0
    expected = exact.astype(value_dtype(op.out)).view(code_dtype(op.out))
    for model in MODELS:
        for ovfl in (False, True):
            d = product(op, ALL8[:, None], ALL8[None, :], np.zeros_like(expected), model=model, fp16_ovfl=ovfl)
            assert differences(op, d, expected) == []


C_BESIDE_8_BITS = {
    "f32": (0x80000000, 0x3F800001, 0xBA800000, 0x4BFFFFFC, 0xB0000001, 0x7F7FFFFF, 0x7F800000),
    "i32": (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF),
}


def all_pairs_beside(op: MatrixOp, c: int) -> tuple[Codes, Iterator[tuple[int, int]]]:
    start = np.full((256, 256), c, code_dtype(op.out))
    return product(op, ALL8[:, None], ALL8[None, :], start), np.ndindex(256, 256)


@each_mix
def test_some_products_of_8_bit_codes_beside_a_c(op: MatrixOp) -> None:
    for c in C_BESIDE_8_BITS[op.out.name]:
        d, pairs = all_pairs_beside(op, c)
        for x, y in [*pairs][c % 499 :: 499]:
            assert same_bits(int(d[x, y]), accumulate(op, [x], [y], c), op.out), (x, y, c)


@pytest.mark.long
@each_mix
def test_every_product_of_8_bit_codes_beside_a_c(op: MatrixOp) -> None:
    for c in C_BESIDE_8_BITS[op.out.name]:
        d, pairs = all_pairs_beside(op, c)
        wrong = [(x, y) for x, y in pairs if not same_bits(int(d[x, y]), accumulate(op, [x], [y], c), op.out)]
        assert wrong == [], c


@pytest.mark.parametrize("name", ["f32_32x32x8f16", "f32_32x32x8bf16_1k"])
def test_every_16_bit_code_times_one(name: str) -> None:
    """A -0 comes out as +0 from the hardware's group sum, and unchanged from the IEEE models."""
    op = OPS[name]
    codes = np.arange(1 << 16, dtype=np.uint16)
    one = np.ones((1, 1), value_dtype(op.b)).view(np.uint16)
    same = codes.view(value_dtype(op.a)).astype(np.float32).view(np.uint32)[:, None]
    for model in MODELS:
        start, expected = (0, same * (same != 0x80000000)) if model == "hardware" else (0x80000000, same)
        d = product(op, codes[:, None], one, np.full(same.shape, start, np.uint32), model=model)
        assert differences(op, d, expected) == []


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 300), SEEDS, st.sampled_from([op for op in DENSE if op.out.is_integer]))
def test_integers_wrap_as_those_of_numpy(k: int, seed: int, op: MatrixOp) -> None:
    rng = np.random.default_rng(seed)
    a, b, c = any_bits(rng, op.a, (100, k)), any_bits(rng, op.b, (k, 70)), any_bits(rng, op.out, (100, 70))
    expected = (c.view(np.int32) + a.view(np.int8).astype(np.int64) @ b.view(np.int8).astype(np.int64)).astype(np.int32)
    np.testing.assert_array_equal(product(op, a, b, c), expected.view(np.uint32))


def test_integers_are_exact_at_their_largest() -> None:
    op, k = OPS["i32_32x32x16_i8"], 140_000  # the sum passes 2^31 once
    a, b = np.full((1, k), 0x80, np.uint8), np.full((k, 1), 0x80, np.uint8)
    c = np.zeros((1, 1), np.uint32)
    assert product(op, a, b, c)[0, 0] == k * 128 * 128 % 2**32
    for model in MODELS:
        assert product(op, a, b, c, model=model, fp16_ovfl=True)[0, 0] == 2**31 - 1


def test_an_exact_integer_sum_is_clamped_once() -> None:
    op = OPS["i32_32x32x16_i8"]
    down = np.zeros((40, 1), np.uint8)
    down[[0, 39], 0] = 1, 0xFF
    ones, top = np.ones((1, 40), np.uint8), np.array([[0x7FFFFFFF]], np.uint32)
    clamped = {model: product(op, ones, down, top, model=model, fp16_ovfl=True)[0, 0] for model in MODELS}
    assert clamped == {"hardware": 0x7FFFFFFE, "fma": 0x7FFFFFFE, "exact": 0x7FFFFFFF}
    largest = np.full((1, 140_000), 0x80, np.uint8)
    minus = np.full((140_000, 1), 0x7F, np.uint8)
    start = np.array([[0x80000000]], np.uint32)
    d = product(op, largest, minus, start, model="exact", fp16_ovfl=True)
    assert d[0, 0] == 0x80000000
    minus[:70_000] = 0x81
    assert product(op, largest, minus, start, model="exact", fp16_ovfl=True)[0, 0] == 0x80000000


@pytest.mark.parametrize("op", [op for op in DENSE if op.out.is_integer], ids=str)
def test_integers_that_wrap_do_not_depend_on_the_model(op: MatrixOp) -> None:
    rng = np.random.default_rng(op.k)
    a, b = any_bits(rng, op.a, (20, 77)), any_bits(rng, op.b, (77, 20))
    c = rng.choice(as_array(EDGES["i32"], op.out), (20, 20))
    first, *others = (product(op, a, b, c, model=model) for model in MODELS)
    for other in others:
        np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize("name", ["f32_16x16x4f32", "f64_16x16x4f64", "f32_32x32x8bf16_1k", "f32_32x32x16_bf8_bf8"])
def test_a_long_exact_sum_keeps_its_last_bit(name: str) -> None:
    """The largest products cancel over thousands of k and leave the smallest, which nothing may have touched."""
    op = OPS[name]
    rng = np.random.default_rng(3)
    top, tiny = (
        {f: np.array(v(f), value_dtype(f)).view(code_dtype(f)) for f in (op.a, op.b)} for v in (_largest, _tiny)
    )
    half = 3000
    a = np.tile(top[op.a], (1, 2 * half + 1))
    b = np.tile(top[op.b], (2 * half + 1, 1))
    b[half:] ^= b.dtype.type(1 << op.b.bits - 1)
    a[0, -1], b[-1, 0] = tiny[op.a], np.array(1, value_dtype(op.b)).view(code_dtype(op.b))
    shuffled = rng.permutation(2 * half + 1)
    d = product(op, a[:, shuffled], b[shuffled], np.zeros((1, 1), code_dtype(op.out)), model="exact")
    assert values(d, op.out)[0, 0] == _tiny(op.a)


@pytest.mark.parametrize("name", ["f32_16x16x4f32", "f64_16x16x4f64", "f32_16x16x16bf16_1k"])
def test_exact_sums_around_the_largest_number(name: str) -> None:
    """Sums of a few large numbers and c, from every side of the limit, with something small beside to round up."""
    op = OPS[name]
    powers = [0.0, 1.0, -1.0, 1.5, 2.0, 2.0**-30, -(2.0**-30)]
    large = np.array([*powers, 1.9375], value_dtype(op.a)) * value_dtype(op.a).type(2.0 ** (op.a.max_exponent - 1))
    a = large.view(code_dtype(op.a))[np.indices((8, 8, 8)).reshape(3, -1).T]
    b = np.array([[1], [2], [2]], value_dtype(op.b)).view(code_dtype(op.b))
    limits = [op.out.max, -op.out.max, 0.0, op.out.tiny, 2.0**op.out.max_exponent]
    for c in np.array(limits, value_dtype(op.out)).view(code_dtype(op.out)):
        start = np.full((1, 1), c)
        for ovfl in (False, True):
            options: dict[str, Any] = {"model": "exact", "fp16_ovfl": ovfl}
            got = product(op, a, b, np.broadcast_to(start, (len(a), 1)), **options)
            expected = np.concatenate([reference(op, row[None], b, start, **options) for row in a])
            assert differences(op, got, expected) == []


def _largest(format: Format) -> float:
    return format.max


def _tiny(format: Format) -> float:
    return max(format.tiny, 2.0**-149) if format.bits == 16 else format.tiny


# --- shapes, batches and memory -------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0), (0, 0, 0, 0)])
def test_nothing_to_do_leaves_c_alone(op: MatrixOp, model: str, shape: tuple[int, ...]) -> None:
    """Nothing is rounded, so even a NaN keeps its bits."""
    batch, m, k, n = shape
    rng = np.random.default_rng(0)
    c = any_bits(rng, op.out, (batch, m, n))
    c[...] = EDGES[op.out.name][-1]
    d = product(op, any_bits(rng, op.a, (batch, m, k)), any_bits(rng, op.b, (batch, k, n)), c, model=model)
    np.testing.assert_array_equal(d, c)


@dataclass(frozen=True)
class Layout:
    """How an array lies in memory: the order of its axes, the slowest first, and every axis' step."""

    axes: tuple[int, ...]
    steps: tuple[int, ...]

    def place(self, array: Codes) -> tuple[Codes, Codes]:
        """Give new memory, filled with a pattern, and a view of it that holds ``array``."""
        sizes = [array.shape[axis] * abs(self.steps[axis]) for axis in self.axes]
        memory = np.full(sizes, 0x55, array.dtype)
        view = memory.transpose(np.argsort(self.axes))[tuple(slice(None, None, step) for step in self.steps)]
        view[...] = array
        return memory, view


@st.composite
def layouts(draw: st.DrawFn, axes: int, whole_rows: bool = False) -> Layout:
    """Draw a layout; ``whole_rows`` keeps the last axis contiguous."""
    loose = axes - whole_rows
    order = draw(st.permutations(range(loose)))
    steps = draw(st.lists(st.sampled_from([1, 1, 2, -1, -3]), min_size=loose, max_size=loose))
    return Layout((*order, *[axes - 1] * whole_rows), (*steps, *[1] * whole_rows))


@st.composite
def leading(draw: st.DrawFn, lead: tuple[int, ...]) -> tuple[int, ...]:
    """Draw leading axes that broadcast to ``lead``."""
    kept = lead[draw(st.integers(0, len(lead))) :]
    return tuple(draw(st.sampled_from([1, size])) for size in kept)


@pytest.mark.parametrize(
    "name", ["f32_32x32x8f16", "f32_16x16x32_fp8_bf8", "f32_16x16x8_xf32", "f64_16x16x4f64", "i32_32x32x16_i8"]
)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_batches_of_any_layout(name: str, data: st.DataObject) -> None:
    op, draw = OPS[name], data.draw
    lead = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    m, n, k = draw(st.integers(1, 7)), draw(st.sampled_from([1, 5, 64, 67])), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(SEEDS))
    shapes = (*draw(leading(lead)), m, k), (*draw(leading(lead)), k, n), (*lead, m, n)
    a, b, c = (np.empty(shape, code_dtype(f)) for shape, f in zip(shapes, (op.a, op.b, op.out), strict=True))
    for which, array in enumerate((a, b, c)):
        for index in np.ndindex(array.shape[:-2]):
            array[index] = unit(rng, op, m, n, k)[which]
    model, ovfl, zeros = draw(st.sampled_from(models_of(op))), draw(st.booleans()), draw(ZEROS)
    order = None if zeros is None else rng.permutation([*range(k), *[-1] * zeros])
    options: dict[str, Any] = {"model": model, "fp16_ovfl": ovfl, "order": order}
    expected = np.empty_like(c)
    wide = [np.broadcast_to(x, lead + x.shape[-2:]) for x in (a, b)]
    for index in np.ndindex(lead):
        expected[index] = product(op, wide[0][index].copy(), wide[1][index].copy(), c[index], **options)

    layout = draw(layouts(c.ndim, whole_rows=True))
    memory, d = layout.place(c)
    _, x = draw(layouts(a.ndim)).place(a)
    _, y = draw(layouts(b.ndim)).place(b)
    multiply(op, x, y, d, **options, threads=draw(st.sampled_from([1, 2])))
    np.testing.assert_array_equal(d, expected)
    np.testing.assert_array_equal(memory, layout.place(expected)[0])  # and nothing else was written


def test_elements_may_lie_at_odd_addresses() -> None:
    op = OPS["f32_32x32x8f16"]
    rng = np.random.default_rng(0)
    a, b, c = unit(rng, op, 5, 6, 9)
    records = np.zeros(5, np.dtype([("row", np.uint16, 9), ("mark", np.uint8)]))
    records["row"] = a
    shifted = np.zeros(b.nbytes + 1, np.uint8)[1:].view(np.uint16).reshape(b.shape)
    shifted[...] = b
    np.testing.assert_array_equal(product(op, records["row"], shifted, c), product(op, a, b, c))


def test_an_order_may_be_any_view() -> None:
    op = OPS["f32_32x32x8f16"]
    a, b, c = cancellation(np.random.default_rng(0), op, 5, 6, 40)
    order = np.arange(80)[::-2] // 2
    assert differences(op, product(op, a, b, c, order=order), reference(op, a, b, c, order=order)) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_a_product_may_be_cut_into_pieces(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    op = OPS["f32_32x32x16_fp8_fp8"]
    a, b, c = unit(np.random.default_rng(0), op, 200, 150, 20)
    whole = product(op, a, b, c, threads=1)
    pieces: list[tuple[int, int]] = []
    monkeypatch.setattr(fast, "PIECE", 1)
    cut = product(op, a, b, c, threads=threads, progress=lambda done, total: pieces.append((done, total)))
    assert sorted(pieces) == [(done, 9) for done in range(1, 10)]
    np.testing.assert_array_equal(cut, whole)


def test_only_f32_and_i32_results_can_saturate() -> None:
    assert {op.out.name for op in DENSE if op.out == F32 or op.out.is_integer} == {"f32", "i32"}
    op = OPS["f64_16x16x4f64"]
    a, b, c = huge(np.random.default_rng(0), op, 20, 20, 9)
    np.testing.assert_array_equal(product(op, a, b, c, fp16_ovfl=True), product(op, a, b, c))


def guarded(array: Codes, high: bool) -> Codes:
    """Copy an array to memory that begins or, if ``high``, ends at a page that nobody may touch."""
    page, size = mmap.PAGESIZE, -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = np.frombuffer(mmap.mmap(-1, size + 2 * page), np.uint8)
    for guard in (0, page + size):
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(memory.ctypes.data + guard), page, 0) == 0
    start = page + (size - array.nbytes if high else 0)
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def multiply_between_guards() -> None:
    """Run every kernel on guarded operands and guarded working memory of the size it asks for."""
    kernel = fast._kernel

    def guarded_kernel(*which: Any) -> fast._Kernel:
        found = kernel(*which)

        def guarded_call(*arguments: int) -> None:
            working = guarded(np.zeros(found.scratch_bytes, np.uint8), high)
            found.call(*arguments[:-1], working.ctypes.data)

        return found._replace(call=guarded_call)

    fast._kernel = guarded_kernel  # type: ignore[assignment]
    rng = np.random.default_rng(0)
    for high, (m, n, k), way in itertools.product(
        (False, True), [(97, 65, 131), (5, 3, 7), (96, 64, 128), (289, 3, 513)], WAYS
    ):
        ops, model, ovfl = way.values
        a, b, d = (guarded(x, high) for x in bits(rng, ops[-1], m, n, k))
        multiply(ops[-1], a, b, d, model=model, fp16_ovfl=ovfl, order=guarded(rng.permutation(k), high), threads=1)


def test_no_kernel_leaves_its_memory() -> None:
    """In another process, which a touch of a guard would kill."""
    command = [sys.executable, "-c", "import test_fast; test_fast.multiply_between_guards(); print('unharmed')"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "unharmed"), done.stderr
