"""Calling the builtins: placement, arithmetic and modifiers together, and what the operands may look like."""

import importlib
from collections.abc import Callable
from itertools import product as pairs
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from numpy.typing import NDArray

import mfma
from mfma import ModifierError, Op, OperandShapeError, OperandTypeError, OptionError, builtins
from mfma.formats import Format
from mfma.formats.arrays import code_dtype, codes, value_dtype, view
from mfma.isa.modifiers import legal_modifiers
from mfma.isa.spec import Operand
from mfma.numerics.reference import accumulate
from numeric_cases import EDGES
from numeric_products import numbers

Array = NDArray[Any]

each_op = pytest.mark.parametrize("op", mfma.ops(), ids=str)


def draw(rng: np.random.Generator, format: Format, shape: tuple[int, ...]) -> Array:
    """Draw values around 1 with edge values among them."""
    common = numbers(rng, format, shape, -6, 6)
    edges = rng.choice(np.array(EDGES[format.name], code_dtype(format)), shape)
    return view(np.where(rng.random(shape) < 0.06, edges, common), format)


def lanes(operand: Operand) -> tuple[int, ...]:
    return (64,) if operand.elements == 1 else (64, operand.elements)


def registers(rng: np.random.Generator, op: Op, lead: tuple[int, ...] = ()) -> tuple[Array, Array, Array]:
    """Draw the operands a, b, c of a call."""
    a, b, cd = op.registers.a, op.registers.b, op.registers.cd
    x, y, z = (draw(rng, operand.format, (*lead, *lanes(operand))) for operand in (a, b, cd))
    return x, y, z


def bits(array: Array) -> Array:
    return array.view(f"u{array.itemsize}")


def check_reference(op: Op, matrices: tuple[Array, ...], at: tuple[int, int, int], **options: Any) -> None:
    """Compare one output (block, i, j) of logical matrices A, B, C, D with the slow arithmetic."""
    block, i, j = at
    a, b, c, d = (codes(m, f) for m, f in zip(matrices, (op.a, op.b, op.cd, op.cd), strict=True))
    expected = accumulate(op.record, a[block, i].tolist(), b[block, :, j].tolist(), int(c[block, i, j]), **options)
    assert d[block, i, j] == expected, at


# --- names ------------------------------------------------------------------------------------------------------


@each_op
def test_every_builtin_has_its_c_name_and_one_that_classes_do_not_mangle(op: Op) -> None:
    assert op.builtin.startswith("__builtin_amdgcn_mfma_")
    for name in (op.builtin, op.builtin.removeprefix("__builtin_")):
        scope: dict[str, Op] = {}
        exec(f"from mfma.builtins import {name} as imported", scope)
        assert scope["imported"] is op
        assert name in builtins.__all__
        exec(f"class Kernel:\n    from mfma.builtins import {name}\n    run = {name}", scope)
        assert scope["Kernel"].run is op  # type: ignore[attr-defined]


def test_a_star_import_gives_all_64_names() -> None:
    scope: dict[str, object] = {}
    exec("from mfma.builtins import *", scope)
    assert sum("amdgcn_mfma_" in name for name in scope) == 64


class Kernel:
    """Python turns ``__builtin_...`` in here into ``_Kernel__builtin_...``."""

    @staticmethod
    def dotted() -> Op:
        return builtins.__builtin_amdgcn_mfma_f64_4x4x4f64

    @staticmethod
    def imported() -> Op:
        from mfma.builtins import __builtin_amdgcn_mfma_f64_4x4x4f64

        return __builtin_amdgcn_mfma_f64_4x4x4f64


def test_c_names_work_inside_classes() -> None:
    assert Kernel.dotted() is Kernel.imported() is mfma.op("f64_4x4x4f64")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("__builtin_amdgcn_mfma_f32_32x32x4bf16", "on gfx942 use f32_32x32x8bf16_1k (K 8 instead of 4)"),
        ("amdgcn_mfma_i32_32x32x8i8", "on gfx942 use i32_32x32x16_i8 (K 16 instead of 8)"),
        ("__builtin_amdgcn_mfma_f32_32x32x8f61", "Did you mean __builtin_amdgcn_mfma_f32_32x32x8f16"),
        ("amdgcn_smfmac_f32_16x16x32_f16", "is a sparse instruction"),
    ],
)
def test_a_name_that_is_no_builtin_here_is_refused_with_the_reason(name: str, words: str) -> None:
    assert not hasattr(builtins, name)
    with pytest.raises(AttributeError) as missing:
        getattr(builtins, name)
    with pytest.raises(ImportError) as failed:
        exec(f"from mfma.builtins import {name}")
    assert words in str(missing.value)
    assert str(failed.value) == str(missing.value)
    assert (failed.value.name, failed.value.path) == ("mfma.builtins", builtins.__file__)


def test_other_missing_names_are_ordinary() -> None:
    with pytest.raises(AttributeError, match=r"module 'mfma\.builtins' has no attribute 'nothing'"):
        builtins.nothing  # noqa: B018
    assert importlib.import_module("mfma.builtins.op").Op is Op


# --- placement, arithmetic and modifiers together -----------------------------------------------------------


def check_call(rng: np.random.Generator, op: Op, modifiers: tuple[int, int, int], outputs: int) -> None:
    """Compare a call with the logical product of what the hardware reads, and some outputs with the slow arithmetic."""
    cbsz, abid, blgp = modifiers
    a, b, c = registers(rng, op)
    kept = [x.copy() for x in (a, b, c)]
    d = op(a, b, c, *modifiers)
    assert all(np.array_equal(bits(x), bits(y)) for x, y in zip((a, b, c), kept, strict=True)), (
        "inputs are not modified"
    )

    x = op.layout("A", cbsz=cbsz, abid=abid, blgp=blgp if op.a.bits == 64 else 0).unpack(a)
    y = op.layout("B", blgp=blgp).unpack(b)
    z = op.layout("C", blgp=blgp if op.a.bits == 64 else 0).unpack(c)
    product = op.matmul(x, y, z)
    assert d.dtype == value_dtype(op.cd)
    assert np.array_equal(bits(op.layout("D").unpack(d)), bits(product))
    assert np.array_equal(bits(op.layout("D").pack(product)), bits(d))
    for at in rng.integers(0, (op.blocks, op.m, op.n), (outputs, 3)):
        check_reference(op, (x, y, z, product), tuple(at))


@each_op
def test_a_call_is_unpack_multiply_pack(op: Op) -> None:
    rng = np.random.default_rng(op.opcode)
    for _ in range(3):
        check_call(rng, op, (0, 0, 0), outputs=8)


@pytest.mark.parametrize("op", [op for op in mfma.ops() if len(list(legal_modifiers(op.record))) > 1], ids=str)
def test_a_call_under_every_legal_modifier(op: Op) -> None:
    rng = np.random.default_rng(op.opcode)
    for modifiers in legal_modifiers(op.record):
        check_call(rng, op, modifiers, outputs=2)


@each_op
def test_fp16_ovfl_clamps(op: Op) -> None:
    """MODE.FP16_OVFL holds overflow at the largest finite number, in calls and in logical products alike."""
    rng = np.random.default_rng(op.opcode)
    top = 2**31 - 2 if op.cd.is_integer else op.cd.max
    a, b, _ = registers(rng, op)
    c = np.full(lanes(op.registers.cd), rng.choice([-top, top]), value_dtype(op.cd))
    d = op(a, b, c, fp16_ovfl=True)
    x, y, z, product = (op.layout(m).unpack(r) for m, r in zip("ABCD", (a, b, c, d), strict=True))
    assert np.array_equal(bits(product), bits(op.matmul(x, y, z, fp16_ovfl=True)))
    for at in rng.integers(0, (op.blocks, op.m, op.n), (6, 3)):
        check_reference(op, (x, y, z, product), tuple(at), fp16_ovfl=True)


def test_fp16_ovfl_examples() -> None:
    f32, i32 = mfma.op("f32_32x32x1f32"), mfma.op("i32_4x4x4i8")
    big, c = np.full(64, 2.0**127, np.float32), np.zeros((64, 32), np.float32)
    assert np.isposinf(f32(big, big, c)).all()
    assert (f32(big, big, c, fp16_ovfl=True) == np.finfo(np.float32).max).all()
    ones, top = np.ones((64, 4), np.int8), np.full((64, 4), 2**31 - 1, np.int32)
    assert (i32(ones, ones, top) == -(2**31) + 3).all()
    assert (i32(ones, ones, top, fp16_ovfl=True) == 2**31 - 1).all()


@pytest.mark.parametrize("name", ["f64_16x16x4f64", "f64_4x4x4f64"])
@pytest.mark.parametrize(("blgp", "value"), [*enumerate([3.0, -1.0, -1.0, 3.0, 1.0, -3.0, -3.0, 1.0])])
def test_on_f64_blgp_negates(name: str, blgp: int, value: float) -> None:
    """A·B = 2 and C = 1; bits 0, 1 and 2 negate A, B and C."""
    op = mfma.op(name)
    a = np.full(lanes(op.registers.a), 0.5)
    b, c = np.ones(lanes(op.registers.b)), np.ones(lanes(op.registers.cd))
    assert (op(a, b, c, 0, 0, blgp) == value).all()


def test_negation_flips_zeros_and_keeps_the_quiet_nan() -> None:
    op = mfma.op("f64_4x4x4f64")
    zero = np.zeros(64)
    assert np.signbit(op(zero, -zero, zero, 0, 0, 4)).all()  # (0 · -0) + -0
    assert not np.signbit(op(zero, -zero, zero, 0, 0, 5)).any()  # (-0 · -0) + -0
    nan = op(np.full(64, np.nan), zero, zero, 0, 0, 7)
    assert (bits(nan) == 0x7FF8000000000000).all()


def test_nan_results_carry_the_one_quiet_nan() -> None:
    """Whatever payload and sign came in, as `mfma.numerics.nans` documents."""
    rng = np.random.default_rng(0)
    for op in mfma.ops():
        if op.cd.is_integer:
            continue
        a, b, c = registers(rng, op)
        top = (1 << op.cd.bits - 1) - 1
        c = np.full_like(c, view(np.array([top - 5 | 1 << op.cd.bits - 1], code_dtype(op.cd)), op.cd)[0])
        assert np.isnan(c).all()
        quiet = {32: 0x7FC00000, 64: 0x7FF8000000000000}[op.cd.bits]
        assert (bits(op(a, b, c)) == quiet).all()


# --- shapes -----------------------------------------------------------------------------------------------------

SHAPE_OPS = ("f32_32x32x8f16", "f32_4x4x1f32", "f64_4x4x4f64", "i32_16x16x32_i8")


@pytest.mark.parametrize("name", SHAPE_OPS)
@settings(deadline=None, max_examples=40)
@given(mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3))
def test_leading_axes_broadcast(name: str, shapes: Any) -> None:
    op, rng = mfma.op(name), np.random.default_rng(3)
    tails = [lanes(operand) for operand in (op.registers.a, op.registers.b, op.registers.cd)]
    a, b, c = (registers(rng, op, lead)[i] for i, lead in enumerate(shapes.input_shapes))
    d = op(a, b, c)
    assert d.shape == (*shapes.result_shape, *tails[2])
    a, b, c = (np.broadcast_to(x, (*shapes.result_shape, *tail)) for x, tail in zip((a, b, c), tails, strict=True))
    for index in np.ndindex(*shapes.result_shape):
        assert np.array_equal(bits(d[index]), bits(op(a[index], b[index], c[index])))


@pytest.mark.parametrize("name", SHAPE_OPS)
def test_logical_products_broadcast(name: str) -> None:
    op, rng = mfma.op(name), np.random.default_rng(4)
    a = draw(rng, op.a, (2, 1, op.blocks, op.m, op.k))
    b = draw(rng, op.b, (3, op.blocks, op.k, op.n))
    c = draw(rng, op.cd, (op.blocks, op.m, op.n))
    d = op.matmul(a, b, c)
    assert d.shape == (2, 3, op.blocks, op.m, op.n)
    for i, j in np.ndindex(2, 3):
        assert np.array_equal(bits(d[i, j]), bits(op.matmul(a[i, 0], b[j], c)))
    without = op.matmul(a, b)
    assert np.array_equal(bits(without), bits(op.matmul(a, b, np.zeros_like(c))))
    assert op.matmul(a[:0], b).shape == (0, 3, op.blocks, op.m, op.n)


@pytest.mark.parametrize("name", SHAPE_OPS)
def test_many_waves_equal_single_ones(name: str) -> None:
    """Enough waves for several pieces of work; B is shared by all of them."""
    op, rng = mfma.op(name), np.random.default_rng(5)
    a, _, c = registers(rng, op, (300,))
    b = registers(rng, op)[1]
    d = op(a, b, c)
    for wave in (0, 1, 127, 128, 255, 256, 299):
        assert np.array_equal(bits(d[wave]), bits(op(a[wave], b, c[wave])))


# --- the forms an operand may take ------------------------------------------------------------------------

BYTES = [op for op in mfma.ops() if op.a.bits == 8]


@pytest.mark.parametrize("op", BYTES, ids=str)
def test_packed_integers_hold_the_elements_from_the_lowest_byte_up(op: Op) -> None:
    rng = np.random.default_rng(6)
    a, b, c = registers(rng, op, (2,))
    integer = np.dtype({4: "int32", 8: "int64"}[op.registers.a.elements])
    assert str(op.signature).split("(")[1].split(",")[0] == {4: "int", 8: "long long"}[op.registers.a.elements]

    def packed(elements: Array) -> Array:
        words = [
            sum(int(byte) << 8 * n for n, byte in enumerate(lane))
            for lane in bits(elements).reshape(-1, elements.shape[-1])
        ]
        return np.array(words, f"u{integer.itemsize}").view(integer).reshape(elements.shape[:-1])

    d = op(a, b, c)
    for x, y in pairs((a, packed(a)), (b, packed(b))):
        assert np.array_equal(bits(op(x, y, c)), bits(d))
    if not op.a.is_integer:
        assert np.array_equal(bits(op(bits(a), bits(b), c)), bits(d))


def test_packing_by_hand() -> None:
    """Element k sits at bits [8k+7:8k]; a negative element must not run into its neighbours."""
    op = mfma.op("i32_4x4x4i8")
    c = np.zeros((64, 4), np.int32)
    for elements, word in (([1, 2, 3, 4], 0x04030201), ([-1, 2, 0, 0], 0x000002FF)):
        a = np.zeros((64, 4), np.int8)
        a[:] = elements
        b = np.array([[1, 10, 100, 5]] * 64, np.int8)
        expected = sum(x * y for x, y in zip(elements, (1, 10, 100, 5), strict=True))
        assert (op(np.full(64, word, np.int32), b, c) == expected).all()
        assert np.array_equal(op(a, b, c), op(np.full(64, word, np.int32), b, c))


def test_a_wide_i8_operand_is_one_64_bit_value() -> None:
    """Byte n of lane L of i32_16x16x32_i8 is k = 8 · (L / 16) + n."""
    op = mfma.op("i32_16x16x32_i8")
    assert (op.signature.a.name, op.signature.b.name, op.signature.d.name) == ("long long", "long long", "v4int")
    for k in range(32):
        lane, byte = 16 * (k // 8) + 5, k % 8
        a = np.zeros(64, np.int64)
        a[lane] = 7 << 8 * byte
        b = np.zeros((1, 32, 16), np.int8)
        b[0, k] = 1
        d = op.layout("D").unpack(op(a, op.layout("B").pack(b), np.zeros((64, 4), np.int32)))[0]
        assert (d[5] == 7).all()
        assert np.count_nonzero(d) == 16


@pytest.mark.parametrize(
    ("name", "storage"),
    [("f32_32x32x8bf16_1k", "int16"), ("f32_32x32x8bf16_1k", "uint16"), ("f32_32x32x16_fp8_bf8", "uint8")],
)
def test_storage_types_hold_codes(name: str, storage: str) -> None:
    op, rng = mfma.op(name), np.random.default_rng(7)
    a, b, c = registers(rng, op)
    assert np.array_equal(bits(op(a.view(storage), b.view(storage), c)), bits(op(a, b, c)))
    x, y, z = (op.layout(m).unpack(r) for m, r in zip("ABC", (a, b, c), strict=True))
    assert np.array_equal(bits(op.matmul(x.view(storage), y.view(storage), z)), bits(op.matmul(x, y, z)))


def strided(x: Array) -> Array:
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


FORMS: dict[str, Callable[[Array], Array]] = {
    "strided": strided,
    "reversed": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "Fortran order": np.asfortranarray,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")) if x.dtype.isbuiltin == 1 else x,
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "a subclass": lambda x: x.view(np.memmap),
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
}


@pytest.mark.parametrize("form", FORMS)
@each_op
def test_memory_layout_does_not_matter(op: Op, form: str) -> None:
    rng = np.random.default_rng(8)
    a, b, c = registers(rng, op, (2,))
    change = FORMS[form]
    d = op(a, b, c)
    assert np.array_equal(bits(op(change(a), change(b), change(c))), bits(d))
    x, y, z = (op.layout(m).unpack(r) for m, r in zip("ABC", (a, b, c), strict=True))
    product = op.matmul(x, y, z)
    assert np.array_equal(bits(op.matmul(change(x), change(y), change(z))), bits(product))


def test_torch_tensors_are_operands() -> None:
    torch = pytest.importorskip("torch")
    op = mfma.op("f32_32x32x8bf16_1k")
    a, b, c = registers(np.random.default_rng(9), op)
    d = op(a, b, c)
    x, y = (torch.from_numpy(m.view(np.int16)).view(torch.bfloat16) for m in (a, b))
    kept = c.copy()
    out = torch.from_numpy(kept)
    assert op(x, y, out, out=out) is out
    assert np.array_equal(bits(kept), bits(d))


# --- out ------------------------------------------------------------------------------------------------------


@each_op
def test_out_may_be_c(op: Op) -> None:
    a, b, c = registers(np.random.default_rng(10), op, (2,))
    d = op(a, b, c)
    assert op(a, b, c, out=c) is c
    assert np.array_equal(bits(c), bits(d))
    x, y, z = (op.layout(m).unpack(r) for m, r in zip("ABC", (a, b, c), strict=True))
    product = op.matmul(x, y, z)
    assert op.matmul(x, y, z, out=z) is z
    assert np.array_equal(bits(z), bits(product))


def test_out_may_be_a_view_or_another_operand(tmp_path: Path) -> None:
    op = mfma.op("f32_32x32x1f32")
    a, b, c = registers(np.random.default_rng(11), op, (3,))
    d = op(a, b, c)
    mapped = np.memmap(tmp_path / "d", np.float32, "w+", shape=(64, 4, 32))
    for out in (strided(np.zeros_like(c)), np.asfortranarray(np.zeros_like(c)), mapped[:, 1:].swapaxes(0, 1)):
        assert op(a, b, c, out=out) is out
        assert np.array_equal(bits(np.ascontiguousarray(out)), bits(d))
    shared = np.zeros((3, 64, 32), np.float32)
    shared[..., 0], shared[..., 1] = a, b
    d = op(shared[..., 0], shared[..., 1], shared)
    op(shared[..., 0], shared[..., 1], shared, out=shared)
    assert np.array_equal(bits(shared), bits(d))


def read_only() -> Array:
    array = np.zeros((64, 16), np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (np.zeros((64, 16)), OperandTypeError, "out is float64, but the result is float32: give such an array."),
        (np.zeros((64, 4), np.float32), OperandShapeError, "out has shape (64, 4), but the result has (64, 16)."),
        (np.zeros((1, 64, 16), np.float32), OperandShapeError,
         "out has shape (1, 64, 16), but the result has (64, 16)."),
        (read_only(), OptionError, "out cannot be written in place: give a writeable array in native byte order."),
        (np.zeros((64, 16), ">f4"), OptionError,
         "out cannot be written in place: give a writeable array in native byte order."),
        ([0.0], OperandTypeError, "out is of type list, not an array: give a NumPy array or a CPU torch tensor."),
    ],
)  # fmt: skip
def test_an_out_that_cannot_hold_the_result_is_refused(out: Any, error: type[Exception], words: str) -> None:
    op = mfma.op("f32_32x32x8f16")
    a, b, c = registers(np.random.default_rng(12), op)
    with pytest.raises(error) as caught:
        op(a, b, c, out=out)
    assert str(caught.value) == words


# --- errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "modifiers", "words"),
    [
        ("f32_32x32x1f32", (2, 0, 0), "f32_32x32x1f32 takes cbsz 0..1, not 2: it has 2 blocks."),
        ("f32_16x16x4f16", (3, 0, 0), "f32_16x16x4f16 takes cbsz 0..2, not 3"),
        ("f32_4x4x4f16", (5, 0, 0), "f32_4x4x4f16 takes cbsz 0..4, not 5"),
        ("f32_4x4x4f16", (4, 16, 0), "f32_4x4x4f16 with cbsz 4 takes abid 0..15, not 16"),
        ("f32_4x4x4f16", (0, 1, 0), "with cbsz 0 takes abid 0 only, not 1"),
        ("f32_4x4x4f16", (0, 0, 8), "takes blgp 0..7, not 8: blgp selects one of eight lane patterns of B"),
        ("f32_32x32x8f16", (1, 0, 0), "takes cbsz 0 only, not 1: it has one block, so there is nothing to broadcast"),
        ("f32_32x32x8f16", (0, 0, 1), "takes blgp 0 only, not 1: two vendor texts disagree about it"),
        ("f32_16x16x8_xf32", (1, 0, 0), "takes cbsz 0 only, not 1"),
        ("f32_32x32x4_xf32", (0, 0, 1), "takes blgp 0 only, not 1: it has no lane patterns of B"),
        ("f32_16x16x32_fp8_fp8", (0, 0, 1), "takes blgp 0 only, not 1: it has no lane patterns of B"),
        ("f32_16x16x32_fp8_fp8", (0, 1, 0), "takes abid 0 only, not 1"),
        ("f64_4x4x4f64", (1, 0, 0), "takes cbsz 0 only, not 1: f64 instructions cannot broadcast A"),
        ("f64_16x16x4f64", (1, 1, 0), "takes cbsz 0 only, not 1"),
        ("f64_16x16x4f64", (0, 0, 8), "takes blgp 0..7, not 8: on f64 its bits 0, 1 and 2 negate A, B and C"),
        ("f32_32x32x8f16", (9, 20, 8), "takes cbsz 0 only, not 9"),
        ("f32_32x32x1f32", (-1, 0, 0), "takes cbsz 0..1, not -1"),
        ("f32_32x32x1f32", (0.0, 0, 0), "cbsz must be an integer constant, as in C; got 0.0 (float)."),
        ("f32_32x32x1f32", (1, True, 0), "abid must be an integer constant, as in C; got True (bool)."),
    ],
)
def test_illegal_modifiers_are_refused_as_no_compiler_does(name: str, modifiers: Any, words: str) -> None:
    op = mfma.op(name)
    with pytest.raises(ModifierError) as caught:
        op(*registers(np.random.default_rng(13), op), *modifiers)
    assert words in str(caught.value)
    assert isinstance(caught.value, ValueError)
    if "constant" not in words:
        assert "Compilers do not check this." in str(caught.value)


def test_legal_modifiers_at_the_ends_of_their_ranges() -> None:
    rng = np.random.default_rng(14)
    for name, modifiers in (("f32_32x32x1f32", (1, 1, 7)), ("f32_4x4x4f16", (4, 15, 0)), ("f32_16x16x4f32", (0, 0, 7))):
        op = mfma.op(name)
        cbsz, abid, blgp = map(np.int64, modifiers)  # integers of NumPy are integers
        op(*registers(rng, op), cbsz, abid, blgp)  # type: ignore[arg-type]


def zeros(*shape: int, dtype: str = "float16") -> Array:
    return np.zeros(shape, dtype)


F16, I8, F32 = mfma.op("f32_32x32x8f16"), mfma.op("i32_16x16x32_i8"), mfma.op("f32_32x32x1f32")
FP8 = mfma.op("f32_16x16x32_fp8_fp8")
F16_C, I8_C, FP8_C = zeros(64, 16, dtype="f4"), zeros(64, 4, dtype="i4"), zeros(64, 4, dtype="f4")


@pytest.mark.parametrize(
    ("op", "operands", "error", "words"),
    [
        (F16, (zeros(64, 4, dtype="f4"), zeros(64, 4), F16_C), OperandTypeError,
         'A is float32, but an operand of format f16 is float16: convert its values with mfma.encode(A, "f16").'),
        (F16, (zeros(64, 4), zeros(64, 4, dtype="bfloat16"), F16_C), OperandTypeError,
         'B is bfloat16, but an operand of format f16 is float16: convert its values with mfma.encode(B, "f16").'),
        (F16, (zeros(64, 4), zeros(64, 4), F16_C.astype("f8")), OperandTypeError, "C is float64, but an operand of"),
        (F16, (zeros(64, 8), zeros(64, 4), F16_C), OperandShapeError,
         "A has shape (64, 8), but 4 f16 a lane are (..., 64, 4)."),
        (F16, (zeros(64, 4), zeros(4, 64), F16_C), OperandShapeError, "B has shape (4, 64), but 4 f16 a lane are"),
        (F16, (zeros(64, 4), zeros(64), F16_C), OperandShapeError, "B has shape (64,), but 4 f16 a lane are"),
        (F16, (zeros(64, 4), zeros(64, 4), F16_C[0]), OperandShapeError, "C has shape (16,), but 16 f32 a lane are"),
        (F16, ([1.0], zeros(64, 4), F16_C), OperandTypeError, "A is of type list, not an array"),
        (F16, (zeros(64, 4), zeros(64, 4), 0.0), OperandTypeError, "C is of type float, not an array"),
        (F16, (zeros(64, 4), zeros(64, 4), None), OperandTypeError, "C is of type NoneType, not an array"),
        (F16, (zeros(2, 64, 4), zeros(3, 64, 4), F16_C), OperandShapeError,
         "the leading axes of A (2,), B (3,) and C () do not broadcast to one number of waves."),
        (F32, (zeros(64, 1, dtype="f4"), zeros(64, dtype="f4"), zeros(64, 32, dtype="f4")), OperandShapeError,
         "A has shape (64, 1), but 1 f32 a lane are (..., 64)."),
        (F32, (zeros(dtype="f4"), zeros(64, dtype="f4"), zeros(64, 32, dtype="f4")), OperandShapeError,
         "A has shape (), but 1 f32 a lane are (..., 64)."),
        (I8, (zeros(64, 8, dtype="i1"), zeros(64, dtype="i4"), I8_C), OperandTypeError,
         'B is int32, but an operand of format i8 is int8: convert its values with mfma.encode(B, "i8"). '
         "Packed, as in C, it is one int64 a lane."),
        (I8, (zeros(64, 8, dtype="i1"), zeros(64, 4, dtype="i1"), I8_C), OperandShapeError,
         "B has shape (64, 4), but 8 i8 a lane are (..., 64, 8), or packed as int64 (..., 64)."),
        (I8, (zeros(64, 1, dtype="i8"), zeros(64, dtype="i8"), I8_C), OperandShapeError,
         "A is int64 of shape (64, 1), but one int64 a lane is (..., 64)."),
        (I8, (zeros(dtype="i8"), zeros(64, dtype="i8"), I8_C), OperandShapeError,
         "A is int64 of shape (), but one int64 a lane is (..., 64)."),
        (FP8, (zeros(64, 8, dtype="float8_e4m3fn"), zeros(64, 8, dtype="u1"), FP8_C), OperandTypeError,
         "A is float8_e4m3fn, but an operand of format fp8 is float8_e4m3fnuz or uint8: OCP codes stand for twice "
         "the value, so convert it with mfma.fp8.from_ocp(A). Packed, as in C, it is one int64 a lane."),
        (FP8, (zeros(64, 8, dtype="u1"), zeros(64, 8, dtype="float8_e5m2fnuz"), FP8_C), OperandTypeError,
         "B is float8_e5m2fnuz, but an operand of format fp8 is float8_e4m3fnuz or uint8"),
    ],
)  # fmt: skip
def test_wrong_registers_are_refused(op: Op, operands: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        op(*operands)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("operands", "error", "words"),
    [
        ((zeros(32, 8), zeros(1, 8, 32), None), OperandShapeError,
         "A has shape (32, 8), but (..., blocks, rows, columns) is (..., 1, 32, 8)."),
        ((zeros(1, 32, 8), zeros(1, 32, 8), None), OperandShapeError, "B has shape (1, 32, 8), but"),
        ((zeros(1, 32, 8), zeros(1, 8, 32), zeros(32, 32, dtype="f4")), OperandShapeError, "C has shape (32, 32), but"),
        ((zeros(1, 32, 8, dtype="f4"), zeros(1, 8, 32), None), OperandTypeError, "A is float32, but"),
        ((zeros(1, 32, 8), zeros(1, 8, 32), zeros(1, 32, 32)), OperandTypeError, "C is float16, but"),
        ((zeros(2, 1, 32, 8), zeros(3, 1, 8, 32), None), OperandShapeError,
         "the leading axes of A (2,), B (3,) and C () do not broadcast to one number of waves."),
    ],
)  # fmt: skip
def test_wrong_matrices_are_refused(operands: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        F16.matmul(*operands)
    assert words in str(caught.value)
    with pytest.raises(OperandShapeError, match="out has shape"):
        F16.matmul(zeros(1, 32, 8), zeros(1, 8, 32), out=np.zeros((32, 32), np.float32))


def test_bfloat16_is_not_half() -> None:
    assert np.dtype("bfloat16") == ml_dtypes.bfloat16
    with pytest.raises(OperandTypeError, match="bf16"):
        mfma.op("f32_32x32x8bf16_1k")(zeros(64, 4), zeros(64, 4), F16_C)
