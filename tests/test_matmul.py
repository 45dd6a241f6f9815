"""Whole matrices: the bits of a kernel that chains an instruction over k, whatever the matrices look like."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import mfma
from mfma import Op, OperandShapeError, OperandTypeError, OptionError, UnknownNameError
from mfma.formats.arrays import codes, view
from mfma.numerics.nans import same_bits
from mfma.numerics.reference import MODELS
from numeric_products import DATA, KINDS, Draw, edges, reference, unit, wide

Array = NDArray[Any]
Operands = tuple[Array, Array, Array]

KIND_OPS = [mfma.op(ops[-1]) for ops in KINDS.values()]
"""One instruction of every kind of arithmetic."""

each_op = pytest.mark.parametrize("op", mfma.ops(), ids=str)
each_kind = pytest.mark.parametrize("op", KIND_OPS, ids=str)
some_kinds = pytest.mark.parametrize(
    "op",
    [mfma.op(name) for name in ("f32_32x32x8f16", "f32_16x16x32_fp8_bf8", "f64_4x4x4f64", "i32_16x16x32_i8")],
    ids=str,
)


def operands(op: Op, m: int, n: int, k: int, draw: Draw = unit, seed: int = 0) -> Operands:
    """Draw A (m, k), B (k, n) and C (m, n) in the instruction's element types."""
    drawn = draw(np.random.default_rng([seed, op.opcode]), op.record, m, n, k)
    a, b, c = (view(np.ascontiguousarray(x), f) for x, f in zip(drawn, (op.a, op.b, op.cd), strict=True))
    return a, b, c


def slow(op: Op, a: Array, b: Array, c: Array, **options: Any) -> Array:
    """Compute one product by the slow arithmetic."""
    drawn = (codes(np.ascontiguousarray(x), f) for x, f in zip((a, b, c), (op.a, op.b, op.cd), strict=True))
    return view(reference(op.record, *drawn, **options), op.cd)


def equal(x: Array, y: Array) -> bool:
    """Whether all bits are the same, those of NaNs too."""
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


# --- against the slow arithmetic ------------------------------------------------------------------------------


@each_kind
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_ragged_products_equal_the_reference(op: Op, data: st.DataObject) -> None:
    m, n = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    k = data.draw(st.integers(0, 2 * op.k + 3))
    a, b, c = operands(op, m, n, k, data.draw(st.sampled_from(DATA)), data.draw(st.integers(0, 2**32)))
    model = data.draw(st.sampled_from(MODELS))
    ovfl = data.draw(st.booleans())
    d = mfma.matmul(a, b, c, op=op, model=model, fp16_ovfl=ovfl)
    assert equal(d, slow(op, a, b, c, model=model, fp16_ovfl=ovfl))


@each_kind
def test_no_c_is_zero(op: Op) -> None:
    a, b, c = operands(op, 3, 4, op.k + 1, wide)
    for model in MODELS:
        without = mfma.matmul(a, b, op=op, model=model)
        assert equal(without, mfma.matmul(a, b, np.zeros_like(c), op=op, model=model))


@each_op
def test_a_long_k_is_a_chain_of_instructions(op: Op) -> None:
    """K of three instructions equals three of them through one accumulator, block by block."""
    a, b, c = (
        np.stack(x) for x in zip(*(operands(op, op.m, op.n, 3 * op.k, edges, s) for s in range(op.blocks)), strict=True)
    )
    d = c
    for first in range(0, 3 * op.k, op.k):
        d = op.matmul(a[:, :, first : first + op.k], b[:, first : first + op.k], d)
    assert equal(mfma.matmul(a, b, c, op=op), d)


def test_models_differ_where_they_should() -> None:
    a = np.array([[4096, -4096, 0.5] + [0] * 5], np.float16)
    b = np.array([[4096, 4096, 1] + [0] * 5], np.float16).T
    results = {model: mfma.matmul(a, b, op="f32_32x32x8f16", model=model).item() for model in MODELS}
    assert results == {"hardware": 0.0, "fma": 0.5, "exact": 0.5}
    a[0, :3], b[:3, 0] = (1, 2048, 2048), (1, 8192, -8192)
    results = {model: mfma.matmul(a, b, op="f32_32x32x8f16", model=model).item() for model in MODELS}
    assert results == {"hardware": 1.0, "fma": 0.0, "exact": 1.0}


# --- the matrices' form -----------------------------------------------------------------------------------------

FORMS: dict[str, Callable[[Array], Array]] = {
    "transposed": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "rows reversed": lambda x: np.ascontiguousarray(x[..., ::-1, :])[..., ::-1, :],
    "columns reversed": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "every second row and column": lambda x: x.repeat(2, -1).repeat(2, -2)[..., ::2, ::2],
    "cut out of a wider matrix": lambda x: np.concatenate([x, x], -1)[..., : x.shape[-1]],
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")) if x.dtype.isbuiltin == 1 else x,
}


@pytest.mark.parametrize("form", FORMS)
@each_kind
def test_memory_layout_does_not_matter(op: Op, form: str) -> None:
    a, b, c = operands(op, 7, 9, op.k + 3, edges)
    change = FORMS[form]
    kept = [x.tobytes() for x in (a, b, c)]
    expected = mfma.matmul(a, b, c, op=op)
    for model in MODELS:
        d = mfma.matmul(change(a), change(b), change(c), op=op, model=model)
        assert equal(d, mfma.matmul(a, b, c, op=op, model=model))
    assert equal(mfma.matmul(a, b, c, op=op), expected)
    assert [x.tobytes() for x in (a, b, c)] == kept


@some_kinds
def test_batches_broadcast(op: Op) -> None:
    """Leading axes broadcast as in numpy.matmul, and C to the result."""
    m, n, k = 3, 5, op.k + 1
    drawn = [operands(op, m, n, k, wide, seed) for seed in range(6)]
    a = np.stack([x[0] for x in drawn[:2]])[:, None]  # (2, 1, m, k)
    b = np.stack([x[1] for x in drawn[:3]])  # (3, k, n)
    for c in (drawn[0][2], np.stack([x[2] for x in drawn]).reshape(2, 3, m, n), np.stack([x[2] for x in drawn[:3]])):
        d = mfma.matmul(a, b, c, op=op)
        assert d.shape == (2, 3, m, n)
        whole = np.broadcast_to(c, d.shape)
        for i, j in np.ndindex(2, 3):
            assert equal(d[i, j], mfma.matmul(a[i, 0], b[j], whole[i, j], op=op))
    repeated = np.broadcast_to(a, (2, 4, m, k))  # a stride of zero
    d = mfma.matmul(repeated, b[:1], op=op)
    assert all(equal(d[:, i], mfma.matmul(a[:, 0], b[0], op=op)) for i in range(4))
    swapped = np.stack([np.stack([x[0] for x in drawn[:2]])] * 3).swapaxes(0, 1)  # axes that one stride cannot walk
    d = mfma.matmul(swapped, b, op=op)
    assert all(equal(d[i, j], mfma.matmul(swapped[i, j], b[j], op=op)) for i, j in np.ndindex(2, 3))


@each_kind
def test_empty_products(op: Op) -> None:
    a, b, c = operands(op, 3, 4, op.k)
    for model in MODELS:
        nothing = mfma.matmul(a[:, :0], b[:0], c, op=op, model=model)
        assert equal(nothing, c), "K = 0 gives C"
        assert equal(mfma.matmul(a[:, :0], b[:0], op=op, model=model), np.zeros_like(c))
        assert mfma.matmul(a[:0], b, op=op, model=model).shape == (0, 4)
        assert mfma.matmul(a, b[:, :0], c[:, :0], op=op, model=model).shape == (3, 0)
        assert mfma.matmul(a[None][:0], b, op=op, model=model).shape == (0, 3, 4)
    assert equal(mfma.matmul(a[:, :0], b[:0], c, op=op, k_order=[]), c)
    assert equal(mfma.matmul(a[:, :0], b[:0], c, op=op, k_order={"kwidth": 2 * op.registers.a.elements}), c)


def test_c_may_carry_any_nan_but_results_carry_the_quiet_one() -> None:
    for op in KIND_OPS:
        if op.cd.is_integer:
            continue
        a, b, c = operands(op, 2, 3, op.k)
        payloads = view(np.full((2, 3), (1 << op.cd.bits) - 2, f"u{op.cd.bits // 8}"), op.cd)
        quiet = {32: 0x7FC00000, 64: 0x7FF8000000000000}[op.cd.bits]
        for model in MODELS:
            d = mfma.matmul(a, b, payloads, op=op, model=model)
            assert (codes(d, op.cd) == quiet).all()
            nan_in_a = view(codes(a, op.a) | np.array((1 << op.a.bits - 1) - 1, f"u{op.a.bits // 8}"), op.a)
            if op.a.has_infinity:
                assert (codes(mfma.matmul(nan_in_a, b, c, op=op, model=model), op.cd) == quiet).all()
        split = mfma.matmul(np.tile(a, 2), np.tile(b, (2, 1)), payloads, op=op, split_k=2)
        assert (codes(split, op.cd) == quiet).all()


@some_kinds
def test_out_may_be_c(op: Op) -> None:
    a, b, c = operands(op, 5, 6, 2 * op.k, edges)
    for options in ({}, {"split_k": 2}, {"model": "exact"}):
        kept = c.copy()
        d = mfma.matmul(a, b, c, op=op, **options)
        assert mfma.matmul(a, b, kept, op=op, out=kept, **options) is kept
        assert equal(kept, d)
    out = np.zeros((12, 5), c.dtype).T[:, ::2]
    assert mfma.matmul(a, b, c, op=op, out=out) is out
    assert equal(np.ascontiguousarray(out), mfma.matmul(a, b, c, op=op))


def test_out_may_be_an_input() -> None:
    op = mfma.op("f32_16x16x4f32")
    a, b, c = operands(op, 8, 8, 8)
    expected = mfma.matmul(a, b, c, op=op)
    for target in range(3):
        given_ = [x.copy() for x in (a, b, c)]
        mfma.matmul(*given_, op=op, out=given_[target])
        assert equal(given_[target], expected)


# --- the order of k -------------------------------------------------------------------------------------------


@each_kind
def test_a_permutation_of_k_permutes_both_operands(op: Op) -> None:
    a, b, c = operands(op, 4, 5, 2 * op.k + 1, wide)
    order = np.random.default_rng(op.opcode).permutation(a.shape[1])
    for model in MODELS:
        d = mfma.matmul(a, b, c, op=op, k_order=order, model=model)
        assert equal(d, mfma.matmul(a[:, order], b[order], c, op=op, model=model))
        assert equal(d, slow(op, a, b, c, order=order, model=model))
        assert equal(mfma.matmul(a, b, c, op=op, k_order=order.tolist(), model=model), d)
    ascending = np.arange(a.shape[1], dtype=np.uint16)
    assert equal(mfma.matmul(a, b, c, op=op, k_order=ascending), mfma.matmul(a, b, c, op=op))
    exact = [mfma.matmul(a, b, c, op=op, k_order=order, model="exact", split_k=s) for s in (1, 2)]
    assert equal(exact[0], exact[1])
    assert equal(exact[0], mfma.matmul(a, b, c, op=op, model="exact"))


def lane_registers(matrix: Array, op: Op, held: int, start: int, width: int, step: int) -> Array:
    """Registers for one instruction of a kernel whose lanes have loaded ``width`` consecutive k each.

    ``matrix`` is (blocks, rows, K): A, or B transposed. Lanes are groups of k, then blocks, then rows; instruction
    ``step`` takes the values step · held, ... of every lane.
    """
    blocks, rows, _ = matrix.shape
    values = np.empty((64, held), matrix.dtype)
    for lane in range(64):
        group, block, row = lane // (blocks * rows), lane // rows % blocks, lane % rows
        first = start + group * width + step * held
        values[lane] = matrix[block, row, first : first + held]
    return values[:, 0] if held == 1 else values


def kernel_with_wide_loads(op: Op, a: Array, b: Array, c: Array, width: int, **options: Any) -> Array:
    """A·B + C by calls of the builtin on registers that lanes have filled ``width`` values of k at a time."""
    held, k = op.registers.a.elements, a.shape[-1]
    registers = op.layout("C").pack(c)
    chunk = op.k // held * width
    for start in range(0, k, chunk):
        for step in range(width // held):
            x = lane_registers(a, op, held, start, width, step)
            y = lane_registers(b.swapaxes(-1, -2), op, held, start, width, step)
            registers = op(x, y, registers, **options)
    return op.layout("D").unpack(registers)


@pytest.mark.parametrize("times", [1, 2, 4])
@each_op
def test_kwidth_is_a_kernel_with_wide_loads(op: Op, times: int) -> None:
    """As Triton's kpack: f16 with kpack=2 is ``{"kwidth": 8}``. With FP16_OVFL the order matters to integers too."""
    width = times * op.registers.a.elements
    k = 2 * op.k * times
    drawn = (operands(op, op.m, op.n, k, wide, seed) for seed in range(op.blocks))
    a, b, c = (np.stack(x) for x in zip(*drawn, strict=True))
    if op.cd.is_integer:
        c |= np.int32(0x7FFF0000)  # close to where the sum is clamped
    for ovfl in (False, True):
        d = mfma.matmul(a, b, c, op=op, k_order={"kwidth": width}, fp16_ovfl=ovfl)
        assert equal(d, kernel_with_wide_loads(op, a, b, c, width, fp16_ovfl=ovfl))
        ascending = mfma.matmul(a, b, c, op=op, fp16_ovfl=ovfl)
        if times == 1 or op.k == op.registers.a.elements:
            assert equal(d, ascending), "one group of lanes, or one instruction's worth: nothing moves"


def test_kwidth_changes_bits_where_lanes_hold_several_groups_of_k() -> None:
    for name in ("f32_32x32x8f16", "f32_16x16x32_fp8_fp8", "f32_16x16x4f32", "f32_16x16x8_xf32"):
        op = mfma.op(name)
        a, b, c = operands(op, 32, 32, 8 * op.k)
        wide_loads = mfma.matmul(a, b, c, op=op, k_order={"kwidth": 2 * op.registers.a.elements})
        assert not equal(wide_loads, mfma.matmul(a, b, c, op=op)), name


def test_the_documented_kwidth() -> None:
    a, b = np.zeros((1, 16), np.float16), np.zeros((16, 1), np.float16)
    a[0, [0, 4, 8]] = 2048, 0.125, 2048
    b[[0, 4, 8], 0] = 2048, 1, -2048
    assert mfma.matmul(a, b, op="f32_32x32x8f16").item() == 0
    assert mfma.matmul(a, b, op="f32_32x32x8f16", k_order={"kwidth": 8}).item() == 0.125


@pytest.mark.parametrize("name", ["f32_32x32x8f16", "f32_16x16x32_fp8_fp8", "f32_32x32x2f32", "i32_32x32x16_i8"])
def test_kwidth_pads_a_ragged_k_with_zeros(name: str) -> None:
    op = mfma.op(name)
    width = 2 * op.registers.a.elements
    chunk = op.k // op.registers.a.elements * width
    for k in (1, chunk - 1, chunk + 3):
        a, b, c = operands(op, 4, 5, k, wide)
        padding = -k % chunk
        x = np.concatenate([a, np.zeros((4, padding), a.dtype)], 1)
        y = np.concatenate([b, np.zeros((padding, 5), b.dtype)])
        order = {"kwidth": width}
        assert equal(mfma.matmul(a, b, c, op=op, k_order=order), mfma.matmul(x, y, c, op=op, k_order=order))


# --- split k --------------------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("split_k", [2, 3, 5, 7])
def test_split_k_adds_the_parts_and_then_c(op: Op, split_k: int) -> None:
    """Equal parts in whole instructions, added in ascending order in the result type."""
    k = 6 * op.k + 1  # seven instructions
    a, b, c = operands(op, 4, 5, k, wide)
    size = -(-7 // split_k) * op.k
    for model in ("hardware", "fma"):
        with np.errstate(all="ignore"):
            total = mfma.matmul(a[:, :size], b[:size], op=op, model=model)
            for first in range(size, k, size):
                total = total + mfma.matmul(a[:, first:][:, :size], b[first:][:size], op=op, model=model)
            expected, without_c = total + c, total
        for d, sums in ((mfma.matmul(a, b, c, op=op, split_k=split_k, model=model), expected),
                        (mfma.matmul(a, b, op=op, split_k=split_k, model=model), without_c)):  # fmt: skip
            assert d.dtype == sums.dtype
            assert same_bits(d, sums, op.cd).all()
    exact = mfma.matmul(a, b, c, op=op, split_k=split_k, model="exact")
    assert equal(exact, mfma.matmul(a, b, c, op=op, model="exact"))


@some_kinds
def test_split_k_cuts_what_the_order_gives(op: Op) -> None:
    a, b, c = operands(op, 4, 5, 4 * op.k, wide)
    order = np.random.default_rng(1).permutation(4 * op.k)
    d = mfma.matmul(a, b, c, op=op, k_order=order, split_k=2)
    assert equal(d, mfma.matmul(a[:, order], b[order], c, op=op, split_k=2))
    kwidth = {"kwidth": 2 * op.registers.a.elements}
    half = 2 * op.k
    parts = [mfma.matmul(a[:, s], b[s], op=op, k_order=kwidth) for s in (slice(0, half), slice(half, None))]
    with np.errstate(all="ignore"):
        assert same_bits(mfma.matmul(a, b, op=op, k_order=kwidth, split_k=2), parts[0] + parts[1], op.cd).all()


# --- threads, memory, interruption ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "model", "shape"),
    [
        ("f32_32x32x8f16", "hardware", (300, 500, 400)),
        ("f32_16x16x32_fp8_fp8", "hardware", (300, 500, 400)),
        ("f32_16x16x4f32", "hardware", (300, 500, 400)),
        ("f64_16x16x4f64", "hardware", (300, 500, 400)),
        ("i32_16x16x32_i8", "hardware", (300, 500, 400)),
        ("f32_32x32x4_xf32", "fma", (300, 500, 400)),
        ("f32_32x32x8bf16_1k", "exact", (130, 530, 500)),
    ],
)
def test_threads_do_not_change_bits(name: str, model: str, shape: tuple[int, int, int]) -> None:
    """A product that is cut into several pieces; some outputs are checked against the reference."""
    op = mfma.op(name)
    a, b, c = operands(op, *shape)
    one = mfma.matmul(a, b, c, op=op, model=model, threads=1)
    for threads in (2, 7, None):
        assert equal(mfma.matmul(a, b, c, op=op, model=model, threads=threads), one)
    rows, columns = [0, 95, 96, shape[0] - 1], [0, 63, 64, shape[1] - 1]
    some = mfma.matmul(a[rows], b[:, columns], c[np.ix_(rows, columns)], op=op, model=model)
    assert equal(one[np.ix_(rows, columns)], some)
    assert equal(some[:2, :2], slow(op, a[rows[:2]], b[:, columns[:2]], c[np.ix_(rows[:2], columns[:2])], model=model))


def test_batches_are_shared_among_threads() -> None:
    op = mfma.op("f32_16x16x16f16")
    a, b, _ = operands(op, 64 * 64, 64, 64)
    a = a.reshape(64, 64, 64)
    b = np.stack([np.roll(b, i, 0) for i in range(64)])
    d = mfma.matmul(np.concatenate([a] * 4), np.concatenate([b] * 4), op=op, threads=3)
    assert all(equal(d[i], mfma.matmul(a[i % 64], b[i % 64], op=op)) for i in (0, 1, 127, 128, 255))


def test_progress_is_told_of_every_piece() -> None:
    op = mfma.op("f32_16x16x16f16")
    a, b, _ = operands(op, 300, 500, 400)
    calls: list[tuple[int, int]] = []
    mfma.matmul(a, b, op=op, threads=1, progress=lambda done, total: calls.append((done, total)))
    total = calls[0][1]
    assert total > 1
    assert calls == [(done + 1, total) for done in range(total)]


MEMORY = """
    import sys
    import numpy as np, mfma

    def status(field):
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))

    for name, model, (m, k, n) in {cases}:
        op = mfma.op(name)
        dtype = np.dtype(op.a.dtype)
        a, b, c = np.ones((m, k), dtype), np.ones((k, n), dtype), np.ones((m, n), op.cd.dtype)
        mfma.matmul(a[:5], b[:, :5], op=op, model=model, threads=2)  # compile
        with open("/proc/self/clear_refs", "w") as clear:
            clear.write("5")  # forget the peak
        before = status("VmRSS")
        d = mfma.matmul(a, b, c, op=op, model=model, threads=2)
        extra = status("VmHWM") - before
        allowed = 3 * (a.nbytes + b.nbytes + c.nbytes) + (64 << 20)
        assert extra >= d.nbytes - (1 << 20), "the peak is measured"
        print(name, model, extra >> 20, allowed >> 20)
        assert extra <= allowed, (name, model, extra >> 20, allowed >> 20)
        del a, b, c, d
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is read from Linux's /proc")
def test_memory_stays_within_three_times_the_operands() -> None:
    cases = [
        ("f32_32x32x8f16", "hardware", (2048, 64, 4096)),
        ("f32_16x16x32_fp8_fp8", "hardware", (2048, 64, 4096)),
        ("f64_16x16x4f64", "hardware", (2048, 64, 4096)),
        ("f32_32x32x8f16", "hardware", (64, 65536, 64)),
        ("f32_16x16x32_fp8_fp8", "hardware", (64, 65536, 64)),
        ("f64_16x16x4f64", "hardware", (4096, 2048, 16)),
        ("f32_32x32x8f16", "exact", (2048, 8, 4096)),
        ("f32_32x32x8f16", "exact", (16, 65536, 64)),
    ]
    code = textwrap.dedent(MEMORY).replace("{cases}", repr(cases))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


BIG = """
    import signal, sys, time
    import numpy as np, mfma

    signal.signal(signal.SIGINT, signal.default_int_handler)
    op = mfma.op("f32_32x32x8f16")
    a, b = np.zeros((8192, 2048), np.float16), np.zeros((2048, 8192), np.float16)
    mfma.matmul(a[:5], b[:, :5], op=op, model={model!r})  # compile
    print("go", flush=True)
    mfma.matmul(a, b, op=op, model={model!r}, threads={threads})
"""


@pytest.mark.parametrize(("model", "threads"), [("hardware", 1), ("hardware", 2), ("exact", 2)])
def test_ctrl_c_ends_a_big_product_soon(model: str, threads: int) -> None:
    code = textwrap.dedent(BIG).format(model=model, threads=threads)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        try:
            assert process.stdout.readline() == b"go\n"
            time.sleep(0.3)
            assert process.poll() is None, "the product is big enough to be interrupted"
            os.kill(process.pid, signal.SIGINT)
            start = time.monotonic()
            process.wait(timeout=10)
            assert time.monotonic() - start < 8  # the whole product takes much longer
            assert b"KeyboardInterrupt" in process.stderr.read()
        finally:
            process.kill()


# --- errors -----------------------------------------------------------------------------------------------------


def zeros(*shape: int, dtype: str = "float16") -> Array:
    return np.zeros(shape, dtype)


A, B = zeros(3, 5), zeros(5, 4)
AS_MAPPING = (
    ', but as a mapping it is {"kwidth": w} with w a multiple of the 4 elements that a lane of f32_32x32x8f16 holds.'
)
NO_PERMUTATION = (
    'k_order is no permutation of range(5): give each of these k once, or {"kwidth": w}, or None for ascending k.'
)


@pytest.mark.parametrize(
    ("operands", "options", "error", "words"),
    [
        ((A, zeros(6, 4)), {}, OperandShapeError,
         "A has shape (3, 5) and B (6, 4), but they must be (..., M, K) and (..., K, N) with one K."),
        ((A[0], B), {}, OperandShapeError, "A has shape (5,) and B (5, 4), but they must be"),
        ((A, B[:, 0]), {}, OperandShapeError, "A has shape (3, 5) and B (5,), but they must be"),
        ((zeros(2, 3, 5), zeros(3, 5, 4)), {}, OperandShapeError,
         "the leading axes of A (2,) and B (3,) do not broadcast."),
        ((A, B, zeros(4, dtype="f4")), {}, OperandShapeError, "C has shape (4,), but A·B has (3, 4)."),
        ((A, B, zeros(1, 4, dtype="f4")), {}, OperandShapeError, "C has shape (1, 4), but A·B has (3, 4)."),
        ((A, B, zeros(2, 3, 4, dtype="f4")), {}, OperandShapeError, "C has shape (2, 3, 4), but A·B has (3, 4)."),
        ((A.astype("f4"), B), {}, OperandTypeError,
         'A is float32, but an operand of format f16 is float16: convert its values with mfma.encode(A, "f16").'),
        ((A, B.astype("i2")), {}, OperandTypeError, "B is int16, but an operand of format f16 is float16"),
        ((A, B, zeros(3, 4)), {}, OperandTypeError, "C is float16, but an operand of format f32 is float32"),
        ((A, B, 1.0), {}, OperandTypeError, "C is of type float, not an array: give a NumPy array or a CPU torch"),
        (([[1.0]], B), {}, OperandTypeError, "A is of type list, not an array"),
        ((A, B), {"op": "f32_16x16x16f61"}, UnknownNameError, "Did you mean f32_16x16x16f16"),
        ((A, B), {"model": "fna"}, OptionError,
         "model is 'fna', but a model is one of hardware, fma, exact. Did you mean fma?"),
        ((A, B), {"model": None}, OptionError, "model is None, but a model is one of hardware, fma, exact."),
        ((A, B), {"threads": 0}, OptionError,
         "threads is 0: give a whole number of at least 1, or None for all processors."),
        ((A, B), {"threads": 1.5}, OptionError, "threads is 1.5: give a whole number"),
        ((A, B), {"split_k": 2}, OptionError,
         "split_k is 2, but K = 5 makes 1 piece of 8 for f32_32x32x8f16: give a whole number from 1 to 1."),
        ((zeros(3, 17), zeros(17, 4)), {"split_k": 4}, OptionError,
         "split_k is 4, but K = 17 makes 3 pieces of 8 for f32_32x32x8f16: give a whole number from 1 to 3."),
        ((zeros(3, 17), zeros(17, 4)), {"split_k": 3, "k_order": {"kwidth": 8}}, OptionError,
         "split_k is 3, but K = 17 makes 2 pieces of 16"),
        ((A, B), {"split_k": 0}, OptionError, "split_k is 0, but"),
        ((A, B), {"split_k": True}, OptionError, "split_k is True, but"),
        ((A, B), {"split_k": 1.0}, OptionError, "split_k is 1.0, but"),
        ((A, B), {"k_order": {"kwidth": 6}}, OptionError, "k_order is {'kwidth': 6}" + AS_MAPPING),
        ((A, B), {"k_order": {"kwidth": 0}}, OptionError, "k_order is {'kwidth': 0}" + AS_MAPPING),
        ((A, B), {"k_order": {"kwidth": 8.0}}, OptionError, "k_order is {'kwidth': 8.0}" + AS_MAPPING),
        ((A, B), {"k_order": {"kpack": 2}}, OptionError, "k_order is {'kpack': 2}" + AS_MAPPING),
        ((A, B), {"k_order": {"kwidth": 8, "kpack": 2}}, OptionError,
         "k_order is {'kwidth': 8, 'kpack': 2}" + AS_MAPPING),
        ((A, B), {"k_order": {}}, OptionError, "k_order is {}" + AS_MAPPING),
        ((A, B), {"k_order": [0, 1, 2, 3, 3]}, OptionError, NO_PERMUTATION),
        ((A, B), {"k_order": [0, 1, 2, 3]}, OptionError, NO_PERMUTATION),
        ((A, B), {"k_order": [0.0, 1, 2, 3, 4]}, OptionError, NO_PERMUTATION),
        ((A, B), {"k_order": [[0, 1], [2, 3, 4]]}, OptionError, NO_PERMUTATION),
        ((A, B), {"k_order": 5}, OptionError, NO_PERMUTATION),
        ((A, B), {"k_order": "kwidth"}, OptionError, NO_PERMUTATION),
        ((A, B), {"out": zeros(4, 3, dtype="f4")}, OperandShapeError,
         "out has shape (4, 3), but the result has (3, 4)."),
        ((A, B), {"out": zeros(3, 4)}, OperandTypeError,
         "out is float16, but the result is float32: give such an array."),
        ((A, B), {"out": np.broadcast_to(np.float32(0), (3, 4))}, OptionError,
         "out cannot be written in place: give a writeable array in native byte order."),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(operands: Any, options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        mfma.matmul(*operands, **{"op": "f32_32x32x8f16", **options})
    assert words in str(caught.value)


def test_out_is_refused_before_the_work() -> None:
    op = mfma.op("f32_32x32x8f16")

    def progress(done: int, total: int) -> None:
        raise AssertionError("nothing is computed")

    with pytest.raises(OperandShapeError):
        mfma.matmul(A, B, op=op, out=zeros(3, 5, dtype="f4"), progress=progress)


# --- what users trip over ---------------------------------------------------------------------------------------


def test_a_permutation_of_k_on_one_operand_is_another_product() -> None:
    """On both it is the same sum: exact for small integers, but grouped, and so rounded, in another way."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((16, 32), (32, 16)))
    order = rng.permutation(32)
    plain = mfma.matmul(a, b, op="f32_16x16x16f16")
    assert equal(mfma.matmul(a[:, order], b[order], op="f32_16x16x16f16"), plain)
    assert equal(mfma.matmul(a, b, op="f32_16x16x16f16", k_order=order), plain)
    assert not equal(mfma.matmul(a[:, order], b, op="f32_16x16x16f16"), plain)
    x, y, _ = operands(mfma.op("f32_16x16x16f16"), 16, 16, 32)
    assert not equal(mfma.matmul(x, y, op="f32_16x16x16f16", k_order=order), mfma.matmul(x, y, op="f32_16x16x16f16"))


@pytest.mark.parametrize(("place", "expected"), [(2, 0.0), (8, 0.5)])
def test_a_k_sum_is_rounded_once_per_group(place: int, expected: float) -> None:
    """2^24 - 2^24 + 0.5 in one group of eight loses the 0.5; in the next group it survives."""
    a, b = np.zeros((1, 16), np.float16), np.zeros((16, 1), np.float16)
    a[0, :2], b[:2, 0] = (4096, -4096), 4096
    a[0, place], b[place, 0] = 0.5, 1
    assert mfma.matmul(a, b, op="f32_16x16x16f16").item() == expected


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("code", "value"), [(0x3F801800, 1.0), (0x3F803000, 1.0009765625)])
def test_xf32_truncates(code: int, value: float, sign: int) -> None:
    a = np.array([[code]], np.uint32).view(np.float32) * np.float32(sign)
    one = np.ones((1, 1), np.float32)
    assert mfma.matmul(a, one, op="f32_16x16x8_xf32").item() == sign * value
    assert mfma.matmul(one, a, op="f32_16x16x8_xf32").item() == sign * value


def test_xf32_is_biased_toward_zero() -> None:
    """Each operand loses up to 2^-10 of itself, always toward zero, so errors do not average out."""
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(1, 2, shape).astype(np.float32) for shape in ((64, 256), (256, 64)))
    full, cut = (mfma.matmul(a, b, op=op).astype(float) for op in ("f32_32x32x2f32", "f32_32x32x4_xf32"))
    relative = cut / full - 1
    assert (relative < 0).all()
    assert -(2.0**-9) < relative.mean() < -(2.0**-11)
    negative = mfma.matmul(-a, b, op="f32_32x32x4_xf32")
    assert np.array_equal(negative, -cut.astype(np.float32))


def test_subnormals_are_kept() -> None:
    """CDNA3 flushes nothing; CDNA2's f16 and bf16 do, and have other arithmetic."""
    one16, tiny16 = np.ones((1, 1), np.float16), np.array([[2.0**-24]], np.float16)
    assert mfma.matmul(tiny16, one16, op="f32_16x16x16f16").item() == 2.0**-24
    assert mfma.matmul(one16, tiny16, op="f32_16x16x16f16").item() == 2.0**-24
    one32, tiny32 = np.ones((1, 1), np.float32), np.array([[2.0**-140]], np.float32)
    for name in ("f32_16x16x4f32", "f32_32x32x2f32"):
        assert mfma.matmul(tiny32, one32, op=name).item() == 2.0**-140
    bf16 = np.array([[2.0**-130]], ml_dtypes.bfloat16)
    assert mfma.matmul(bf16, np.ones_like(bf16), op="f32_16x16x16bf16_1k").item() == 2.0**-130
    with pytest.raises(UnknownNameError, match="gfx90a"):
        mfma.op("f32_16x16x16f16", target="gfx90a")


def test_the_largest_halfs_sum_beyond_half() -> None:
    a, b = np.full((1, 4), 65504, np.float16), np.ones((4, 1), np.float16)
    d = mfma.matmul(a, b, op="f32_32x32x8f16")
    assert d.item() == 262016
    assert np.isposinf(mfma.encode(d, "f16"))
    assert mfma.encode(d, "f16", overflow="saturate").item() == 65504


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [([np.inf], [1], np.inf), ([np.inf], [0], np.nan), ([np.inf, -np.inf], [1, 1], np.nan), ([-np.inf], [2], -np.inf)],
)
@pytest.mark.parametrize("name", ["f32_16x16x8_xf32", "f32_16x16x4f32"])
def test_infinities_are_not_lost(name: str, a: list[float], b: list[float], expected: float) -> None:
    d = mfma.matmul(np.array([a], np.float32), np.array([b], np.float32).T, op=name)
    np.testing.assert_equal(d.item(), expected)


def test_ocp_codes_fed_raw_are_off_by_four() -> None:
    """All codes 0x38, K = 32: 1.0 in OCP, 0.5 on this GPU; converting gives the scale that makes up for it."""
    ocp_a, ocp_b = (np.full(shape, 0x38, np.uint8).view(ml_dtypes.float8_e4m3fn) for shape in ((1, 32), (32, 1)))
    op = mfma.op("f32_16x16x32_fp8_fp8")
    assert mfma.matmul(ocp_a.view(np.uint8), ocp_b.view(np.uint8), op=op).item() == 8
    (a, scale_a), (b, scale_b) = mfma.fp8.from_ocp(ocp_a), mfma.fp8.from_ocp(ocp_b)
    assert mfma.matmul(a, b, op=op).item() * scale_a * scale_b == 32
    with pytest.raises(OperandTypeError, match=r"mfma\.fp8\.from_ocp\(A\)"):
        mfma.matmul(ocp_a, ocp_b, op=op)


def test_integers_wrap() -> None:
    one, top = np.ones((1, 1), np.int8), np.full((1, 1), 2**31 - 1, np.int32)
    for name in ("i32_16x16x32_i8", "i32_4x4x4i8"):
        assert mfma.matmul(one, one, top, op=name).item() == -(2**31)
        assert mfma.matmul(one, one, top, op=name, fp16_ovfl=True).item() == 2**31 - 1
    lowest = np.full((1, 32), -128, np.int8)
    assert mfma.matmul(lowest, lowest.T, op="i32_16x16x32_i8").item() == 524288


def test_old_i8_shapes_are_not_on_this_gpu() -> None:
    assert sum(op.a.name == "i8" for op in mfma.ops()) == 5
    for old, new in (("i32_32x32x8i8", "i32_32x32x16_i8"), ("i32_16x16x16i8", "i32_16x16x32_i8")):
        with pytest.raises(UnknownNameError, match=f"on gfx942 use {new}"):
            mfma.op(old)


def test_long_integer_sums_are_exact() -> None:
    a = np.full((1, 4608), 127, np.int8)
    for name in ("i32_16x16x32_i8", "i32_32x32x16_i8", "i32_4x4x4i8"):
        assert mfma.matmul(a, a.T, op=name).item() == 74322432
        assert mfma.matmul(a[:, :4607], a.T[:4607], op=name).item() == 4607 * 127 * 127
    far = np.full((1, 200_000), 127, np.int8)
    wrapped = (200_000 * 127 * 127 + 2**31) % 2**32 - 2**31
    assert mfma.matmul(far, far.T, op="i32_16x16x32_i8").item() == wrapped
