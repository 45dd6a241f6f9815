"""Placement against AMD's calculator, cell by cell, and against the laws of a layout."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.errors import MfmaError, ModifierError, OperandShapeError, OperandTypeError, OptionError
from mfma.formats import F64
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.modifiers import legal_modifiers
from mfma.layout import Element, Layout, Slot, layout

GOLDEN = Path(__file__).parent / "golden"
OPS = {op.name: op for op in DENSE}
BY_MNEMONIC = {op.mnemonic: op for op in DENSE + SPARSE}

CELL = re.compile(r"(-?)v(?:\[\d+:(\d+)\]|(\d+))\{(\d+)\}(?:\.\[\d+:(\d+)\])?")

OPERANDS = [layout(op, matrix) for op in DENSE for matrix in "ABCD"]
OPERANDS += [layout(op, matrix) for op in SPARSE for matrix in "ABCDK"]
MODIFIED = sorted(
    {layout(op, matrix, *mods) for op in DENSE for mods in legal_modifiers(op) for matrix in "ABCD"} - set(OPERANDS),
    key=str,
)


def describe(value):
    return str(value).replace(" of ", "-").replace(" with ", "-").replace(" ", "-")


def golden_files(folder, count):
    files = sorted((GOLDEN / folder).glob("*.csv"))
    assert len(files) == count
    return files


def read_golden(path):
    """Layout of a golden file, and its cells {(block, row, column): text}."""
    mnemonic, matrix, *modifiers = path.stem.split(".")
    lay = layout(
        BY_MNEMONIC[mnemonic], matrix, **{m.rstrip("0123456789"): int(m.lstrip("abcdgilpsz")) for m in modifiers}
    )
    cells, blocks, row = {}, [], 0
    for line in path.read_text().splitlines():
        if line.startswith("Block"):
            blocks = [int(number) for number in re.findall(r"\d+", line)]
        elif line[:1].isdigit():
            row, *texts = line.split(",")
            cells |= {(b, int(row), column): text for b in blocks for column, text in enumerate(texts)}
    return lay, cells


def place(text, bits):
    """(lane, vgpr, low bit, negated) of a golden cell."""
    sign, pair, single, lane, low = re.fullmatch(
        r"(-?)v(?:\[\d+:(\d+)\]|(\d+))\{(\d+)\}(?:\.\[\d+:(\d+)\])?", text
    ).groups()
    return int(lane), int(pair or single), int(low or 0), bool(sign)


def at(lay, block, row, column):
    names = lay.pattern.coordinates
    return dict(zip(names, (block, row, column), strict=True))


def numbers(lay):
    """Registers whose elements are numbered lane by lane, as the op takes them."""
    return np.arange(np.prod(lay.register_shape)).reshape(lay.register_shape)


def check_all_ways(lay, cells):
    """Golden cells by locate, elements, slots, pack and unpack."""
    assert len(cells) == np.prod(lay.shape)
    per_lane = lay.pattern.register_shape[1]
    expected = np.empty(lay.shape, int)
    readers = {}
    for (block, row, column), text in cells.items():
        coordinates = at(lay, block, row, column)
        assert str(lay.locate(**coordinates)) == text
        lane, vgpr, low_bit, negated = place(text, lay.bits)
        assert negated == lay.negated
        expected[block, row, column] = lane * per_lane + (32 * vgpr + low_bit) // lay.bits
        readers.setdefault((lane, vgpr, low_bit), set()).add(Element(**coordinates))

    for (lane, vgpr, low_bit), elements in readers.items():
        found = lay.elements(lane=lane, vgpr=vgpr, low_bit=low_bit)
        assert len(found) == len(elements)
        assert set(found) == elements
        if len(elements) == 1:
            assert {lay.element(lane=lane, vgpr=vgpr, low_bit=low_bit)} == elements

    slots = lay.slots()
    np.testing.assert_array_equal(slots.lane * per_lane + (32 * slots.vgpr + slots.low_bit) // lay.bits, expected)

    registers = numbers(lay).astype(np.float64)
    logical = -expected.astype(np.float64) if lay.negated else expected
    np.testing.assert_array_equal(lay.unpack(registers), logical)
    packed = lay.pack(logical)
    read = np.isin(registers, expected)
    np.testing.assert_array_equal(packed, np.where(read, registers, 0))


@pytest.mark.parametrize("path", golden_files("layouts", 152), ids=lambda path: path.stem)
def test_every_cell_of_the_calculator(path):
    lay, cells = read_golden(path)
    if not (lay.op.sparse and lay.matrix in "AK"):
        check_all_ways(lay, cells)
        return
    # One golden column per uncompressed k: a group of four names the place of its pair, or of its index bits.
    for (block, row, k), text in cells.items():
        lane, vgpr, low_bit, _ = place(text, lay.bits)
        kept = (k // 4,) if lay.matrix == "K" else (k // 4 * 2, k // 4 * 2 + 1)
        slots = [lay.locate(i=row, k=column, block=block) for column in kept]
        assert [slot[:3] for slot in slots] == [(lane, vgpr, low_bit + n * lay.bits) for n in range(len(kept))]
        for column, slot in zip(kept, slots, strict=True):
            assert lay.element(lane=slot.lane, vgpr=slot.vgpr, low_bit=slot.low_bit) == (row, None, column, block)


@pytest.mark.parametrize("path", golden_files("layouts_modifiers", 256), ids=lambda path: path.stem)
def test_every_cell_of_the_calculator_under_modifiers(path):
    lay, cells = read_golden(path)
    assert lay in MODIFIED
    check_all_ways(lay, cells)


def test_golden_files_cover_every_modifier():
    covered = {read_golden(path)[0] for path in golden_files("layouts_modifiers", 256)}
    assert covered == set(MODIFIED)


# Laws


@pytest.mark.parametrize("lay", OPERANDS, ids=describe)
def test_without_modifiers_placement_is_a_bijection(lay):
    blocks, rows, columns = lay.shape
    cells = [at(lay, b, r, c) for b in range(blocks) for r in range(rows) for c in range(columns)]
    places = {lay.locate(**cell)[:3]: Element(**cell) for cell in cells}
    assert len(places) == len(cells) == np.prod(lay.register_shape)
    for (lane, vgpr, low_bit), element in places.items():
        assert lay.element(lane=lane, vgpr=vgpr, low_bit=low_bit) == element
        assert lay.locate(**element._asdict())[:3] == (lane, vgpr, low_bit)


@pytest.mark.parametrize("lay", OPERANDS, ids=describe)
def test_without_modifiers_pack_and_unpack_are_inverse(lay):
    logical = np.arange(6 * np.prod(lay.shape)).reshape(2, 3, *lay.shape)
    registers = lay.pack(logical)
    assert registers.shape == (2, 3, *lay.register_shape)
    np.testing.assert_array_equal(lay.unpack(registers), logical)
    np.testing.assert_array_equal(registers[1, 2], lay.pack(logical[1, 2]))
    again = np.arange(registers.size).reshape(registers.shape)
    np.testing.assert_array_equal(lay.pack(lay.unpack(again)), again)


@pytest.mark.parametrize("lay", MODIFIED, ids=describe)
def test_under_modifiers_what_is_packed_is_read(lay):
    rng = np.random.default_rng(942)
    registers = rng.integers(1, 1 << 62, (2, 3, *lay.register_shape))
    read = lay.unpack(registers)
    packed = lay.pack(read)
    np.testing.assert_array_equal(lay.unpack(packed), read)
    np.testing.assert_array_equal(packed[1, 2], lay.pack(read[1, 2]))
    assert np.all((packed == registers) | (packed == 0))


@pytest.mark.parametrize("lay", MODIFIED, ids=describe)
def test_under_modifiers_the_slots_hold_every_element_once(lay):
    starts = [divmod(lay.bits * n, 32) for n in range(lay.pattern.register_shape[1])]
    held = [e for lane in range(64) for v, b in starts for e in lay.elements(lane=lane, vgpr=v, low_bit=b)]
    assert len(held) == len(set(held)) == np.prod(lay.shape)


@pytest.mark.parametrize("lay", OPERANDS, ids=describe)
def test_equations_say_what_the_pattern_does(lay):
    lane, element = (equation.split(" = ")[1] for equation in lay.pattern.equations)
    for index in np.ndindex(*lay.shape):
        coordinates = at(lay, *index)
        slot = lay.locate(**coordinates)
        assert eval(lane, coordinates) == slot.lane
        assert eval(element, coordinates) * lay.bits == 32 * slot.vgpr + slot.low_bit


@given(data=st.data())
@settings(deadline=None)
def test_locate_and_elements_agree(data):
    lay = data.draw(st.sampled_from(OPERANDS + MODIFIED))
    index = [data.draw(st.integers(0, size - 1)) for size in lay.shape]
    slot = lay.locate(**at(lay, *index))
    assert slot.high_bit - slot.low_bit == lay.bits - 1
    assert Element(**at(lay, *index)) in lay.elements(lane=slot.lane, vgpr=slot.vgpr, low_bit=slot.low_bit)
    position = tuple(array[tuple(index)] for array in lay.slots())
    assert position == slot[:3]


@pytest.mark.parametrize("name", ["f32_32x32x1f32", "f32_16x16x4f32", "f64_16x16x4f64", "f64_4x4x4f64"])
@pytest.mark.parametrize("matrix", "ABCD")
def test_register_shape_is_flat_where_the_c_type_is_a_scalar(name, matrix):
    scalars = {"f32_32x32x1f32": "AB", "f32_16x16x4f32": "AB", "f64_16x16x4f64": "AB", "f64_4x4x4f64": "ABCD"}
    assert len(layout(OPS[name], matrix).register_shape) == (1 if matrix in scalars[name] else 2)


@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fnuz, np.int8, np.uint64, bool, complex]
)
@pytest.mark.parametrize("modifiers", [{}, {"cbsz": 4, "abid": 9}])
def test_element_types_are_kept(dtype, modifiers):
    lay = layout(OPS["f32_4x4x4f16"], "A", **modifiers)
    block = np.arange(16).reshape(1, 4, 4).astype(dtype)
    logical = np.repeat(block, 16, axis=0)
    registers = lay.pack(logical)
    assert registers.dtype == dtype
    assert lay.unpack(registers).dtype == dtype
    np.testing.assert_array_equal(lay.unpack(registers), logical)


def test_broadcast_keeps_nan_and_negative_zero():
    lay = layout(OPS["f32_4x4x1f32"], "A", cbsz=4, abid=3)
    logical = np.full((16, 4, 1), np.uint32(0xFFC12345)).view(np.float32)
    np.testing.assert_array_equal(lay.unpack(lay.pack(logical)).view(np.uint32), logical.view(np.uint32))
    mixed = np.zeros((16, 4, 1), np.float32)
    mixed[2, 1] = -0.0
    with pytest.raises(OperandShapeError, match="bits differ"):
        lay.pack(mixed)


# Negation on f64


@pytest.mark.parametrize("name", [op.name for op in DENSE if op.out is F64])
@pytest.mark.parametrize("blgp", range(8))
def test_f64_blgp_negates_by_its_bits(name, blgp):
    for matrix, bit in {"A": 1, "B": 2, "C": 4, "D": 0}.items():
        lay = layout(OPS[name], matrix, blgp=blgp)
        assert lay.negated is bool(blgp & bit)
        assert lay.locate(**at(lay, 0, 1, 2)).negated is lay.negated
        np.testing.assert_array_equal(lay.slots(), layout(OPS[name], matrix).slots())


def test_negation_flips_the_top_bit_of_floats_and_of_raw_integers():
    lay = layout(OPS["f64_4x4x4f64"], "A", blgp=1)
    bits = np.array([0, 1 << 63, 0x7FF8000000000001, 0xFFF0000000000000] * 16, np.uint64)
    flipped = lay.unpack(bits)
    assert set(flipped.ravel().tolist()) == {1 << 63, 0, 0xFFF8000000000001, 0x7FF0000000000000}
    for dtype in (np.float64, np.int64):
        np.testing.assert_array_equal(lay.unpack(bits.view(dtype)).view(np.uint64), flipped)
    np.testing.assert_array_equal(lay.unpack(bits.astype(">u8")), flipped)
    np.testing.assert_array_equal(lay.pack(flipped), bits)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long double is float64 on this host")
def test_negation_refuses_more_than_64_bits():
    lay = layout(OPS["f64_4x4x4f64"], "A", blgp=1)
    with pytest.raises(OperandTypeError, match="give float64 or its bits as int64"):
        lay.unpack(np.zeros(64, np.longdouble))


# One set of modifiers describes the instruction; every matrix takes what acts on it.


def test_each_matrix_takes_its_own_modifiers():
    op = OPS["f32_4x4x4f16"]
    given = {"cbsz": 2, "abid": 1, "blgp": 3}
    assert layout(op, "A", **given) == layout(op, "A", cbsz=2, abid=1) != layout(op, "A")
    assert layout(op, "B", **given) == layout(op, "B", blgp=3) != layout(op, "B")
    assert layout(op, "C", **given) == layout(op, "C")
    assert layout(op, "D", **given) == layout(op, "D")
    assert layout(op, "A", np.int64(2), 1) is layout(op, "A", 2, 1)


@pytest.mark.parametrize(
    ("name", "matrix", "modifiers"),
    [
        ("f32_32x32x1f32", "A", {"cbsz": 2}),
        ("f32_32x32x1f32", "D", {"cbsz": 2}),
        ("f64_4x4x4f64", "A", {"cbsz": 1}),
        ("f32_32x32x8f16", "A", {"cbsz": 1}),
        ("f32_32x32x8f16", "B", {"blgp": 1}),
        ("f32_16x16x8_xf32", "B", {"blgp": 1}),
        ("f32_4x4x4f16", "A", {"abid": 1}),
        ("f32_4x4x4f16", "A", {"cbsz": 9, "abid": 20, "blgp": 8}),
    ],
)
def test_illegal_modifiers_are_refused_for_every_matrix(name, matrix, modifiers):
    with pytest.raises(ModifierError):
        layout(OPS[name], matrix, **modifiers)


def test_layouts_are_values():
    lay = layout(OPS["f32_4x4x4f16"], "A", cbsz=2, abid=1)
    assert hash(lay) == hash(Layout(lay.op, "A", 2, 1))
    assert lay == Layout(lay.op, "A", 2, 1)
    assert repr(lay) == "mfma.op('f32_4x4x4f16').layout('A', cbsz=2, abid=1)"
    with pytest.raises(AttributeError):
        lay.cbsz = 0
    with pytest.raises(ValueError, match="read-only"):
        lay.slots().lane[0, 0, 0] = 1


# Questions that people asked in public

ORACLE = [
    ("f32_32x32x8f16", "D", {"i": 5, "j": 7}, {}, "v1{39}"),
    ("f32_32x32x8f16", "A", {"i": 5, "k": 6}, {}, "v1{37}.[15:0]"),
    ("f32_32x32x2f32", "D", {"i": 4, "j": 0}, {}, "v0{32}"),
    ("f32_16x16x4f32", "D", {"i": 4, "j": 0}, {}, "v0{16}"),
    ("f32_16x16x4f32", "D", {"i": 6, "j": 9}, {}, "v2{25}"),
    ("f64_16x16x4f64", "D", {"i": 6, "j": 9}, {}, "v[3:2]{41}"),
    ("f64_4x4x4f64", "D", {"i": 2, "j": 1, "block": 3}, {}, "v[1:0]{45}"),
    ("f64_4x4x4f64", "A", {"i": 2, "k": 1, "block": 3}, {}, "v[1:0]{30}"),
    ("f32_4x4x4f16", "D", {"i": 2, "j": 1, "block": 5}, {}, "v2{21}"),
    ("i32_16x16x32_i8", "A", {"i": 3, "k": 21}, {}, "v1{35}.[15:8]"),
    ("f32_16x16x32_fp8_fp8", "B", {"k": 21, "j": 3}, {}, "v1{35}.[15:8]"),
    ("f32_32x32x1f32", "D", {"i": 0, "j": 1, "block": 1}, {}, "v16{1}"),
    ("f32_4x4x1f32", "A", {"i": 2, "k": 0, "block": 7}, {"cbsz": 2, "abid": 3}, "v0{30}"),
    ("f32_4x4x4f16", "A", {"i": 2, "k": 1, "block": 0}, {"cbsz": 4, "abid": 5}, "v0{22}.[31:16]"),
    ("f32_32x32x1f32", "B", {"k": 0, "j": 5, "block": 1}, {"blgp": 1}, "v0{5}"),
    ("f32_32x32x1f32", "B", {"k": 0, "j": 5, "block": 1}, {"blgp": 3}, "v0{53}"),
]


@pytest.mark.parametrize(("name", "matrix", "where", "modifiers", "text"), ORACLE)
def test_placement_oracle(name, matrix, where, modifiers, text):
    lay = layout(OPS[name], matrix, **modifiers)
    slot = lay.locate(**where)
    assert str(slot) == text
    assert Element(**where) in lay.elements(lane=slot.lane, vgpr=slot.vgpr, low_bit=slot.low_bit)


def rows_of_register(name, vgpr):
    lay = layout(OPS[name], "D")
    return {lay.element(lane=lane, vgpr=vgpr).i for lane in range(64)}


def test_transposed_result_chains_into_a_without_shuffle():
    op = OPS["f32_32x32x8f16"]
    product = np.arange(32 * 32).reshape(1, 32, 32)
    held = layout(op, "D").pack(product.swapaxes(-1, -2))
    chunks = [layout(op, "A").pack(product[:, :, 8 * c : 8 * c + 8]) for c in range(4)]
    np.testing.assert_array_equal(held, np.concatenate(chunks, axis=-1))
    assert not np.array_equal(layout(op, "D").pack(product), held)


def test_lane_is_the_column_of_a_32x32_result():
    lay = layout(OPS["f32_32x32x8f16"], "D")
    assert lay.element(lane=1, vgpr=0) == Element(i=0, j=1)
    for lane in range(64):
        for r in range(16):
            assert lay.element(lane=lane, vgpr=r) == Element(i=8 * (r // 4) + 4 * (lane // 32) + r % 4, j=lane % 32)


def test_f64_result_is_not_placed_as_f32():
    f64, f32 = layout(OPS["f64_16x16x4f64"], "D"), layout(OPS["f32_16x16x4f32"], "D")
    assert f64.locate(i=6, j=9) == Slot(lane=41, vgpr=2, low_bit=0, high_bit=63)
    assert f32.locate(i=6, j=9) == Slot(lane=25, vgpr=2, low_bit=0, high_bit=31)
    for lane in range(64):
        for n in range(4):
            assert f64.element(lane=lane, vgpr=2 * n).i == 4 * n + lane // 16
            assert f32.element(lane=lane, vgpr=n).i == 4 * (lane // 16) + n


def test_rows_of_a_register_differ_between_16x16_and_32x32():
    assert rows_of_register("f32_16x16x16f16", 0) == {0, 4, 8, 12}
    assert rows_of_register("f32_32x32x8f16", 0) == {0, 4}
    assert rows_of_register("f32_32x32x8f16", 4) == {8, 12}


def test_4x4_has_16_blocks_side_by_side():
    op = OPS["f32_4x4x1f32"]
    assert (layout(op, "A").shape, layout(op, "B").shape, layout(op, "D").shape) == ((16, 4, 1), (16, 1, 4), (16, 4, 4))
    for lane in range(64):
        for vgpr in range(4):
            assert layout(op, "D").element(lane=lane, vgpr=vgpr) == Element(i=vgpr, j=lane % 4, block=lane // 4)


def test_lane_groups_split_k_or_select_the_block():
    one, two = layout(OPS["f32_32x32x2f32"], "A"), layout(OPS["f32_32x32x1f32"], "A")
    assert {one.element(lane=lane, vgpr=0)[2:] for lane in range(32, 64)} == {(1, 0)}
    assert {two.element(lane=lane, vgpr=0)[2:] for lane in range(32, 64)} == {(0, 1)}


def test_lane_and_register_bits_of_a_32x32_result():
    lay = layout(OPS["f32_32x32x8f16"], "D")
    origin = lay.element(lane=0, vgpr=0)
    assert lay.element(lane=0, vgpr=4).i - origin.i == 8
    assert lay.element(lane=32, vgpr=0).i - origin.i == 4


def test_wide_integer_operand_is_eight_bytes_in_k_order():
    for matrix in "AB":
        lay = layout(OPS["i32_16x16x32_i8"], matrix)
        for lane in range(64):
            for n in range(8):
                element = lay.element(lane=lane, vgpr=n // 4, low_bit=n % 4 * 8)
                assert element.k == 8 * (lane // 16) + n
                assert (element.i if matrix == "A" else element.j) == lane % 16
    words = layout(OPS["i32_4x4x4i8"], "A").pack(np.tile(np.array([-1, 2, 0, 0], np.int8), (16, 4, 1))).view("<u4")
    assert set(words.ravel().tolist()) == {0x000002FF}


def test_one_block_results_of_a_tile_share_their_placement():
    for tile in (16, 32):
        results = {
            layout(op, "D").pattern for op in DENSE + SPARSE if (op.m, op.blocks) == (tile, 1) and op.out is not F64
        }
        assert len(results) == 1


# Refusals: every message says what was given and what is allowed.

A = layout(OPS["f32_4x4x4f16"], "A")
BROADCAST = layout(OPS["f32_4x4x4f16"], "A", cbsz=2, abid=1)
HALVES = layout(OPS["f32_32x32x2f32"], "B", blgp=1)
F64_C = layout(OPS["f64_16x16x4f64"], "C")
WHERE_A = "A of f32_4x4x4f16 is located by i 0..3, k 0..3, block 0..15; "
WHERE_C = "C of f64_16x16x4f64 has elements at lane 0..63, vgpr 0 or 2 or 4 or 6, low_bit 0; "
WHERE_AT = "A of f32_4x4x4f16 has elements at lane 0..63, vgpr 0 or 1, low_bit 0 or 16; "

REFUSALS = [
    (lambda: A.locate(i=4, k=0), OptionError, WHERE_A + "i=4 is not one of them."),
    (lambda: A.locate(i=-1, k=0), OptionError, WHERE_A + "i=-1 is not one of them."),
    (lambda: A.locate(i=0, k=0, block=16), OptionError, WHERE_A + "block=16 is not one of them."),
    (lambda: A.locate(i=0, k=0.5), OptionError, WHERE_A + "k=0.5 is not one of them."),
    (lambda: A.locate(i=[0], k=0), OptionError, WHERE_A + "i=[0] is not one of them."),
    (lambda: A.locate(i=np.arange(2), k=0), OptionError, WHERE_A + "i=array([0, 1]) is not one of them."),
    (lambda: A.locate(i=np.array(1), k=0), OptionError, WHERE_A + "give plain integers."),
    (lambda: A.locate(i=0), OptionError, WHERE_A + "k is missing."),
    (lambda: A.locate(i=0, k=0, j=0), OptionError, WHERE_A + "it has no j."),
    (lambda: A.elements(lane=64, vgpr=0), OptionError, WHERE_AT + "lane=64 is not one of them."),
    (lambda: A.elements(lane=0, vgpr=2), OptionError, WHERE_AT + "vgpr=2 is not one of them."),
    (lambda: A.element(lane=0, vgpr=0, low_bit=8), OptionError, WHERE_AT + "low_bit=8 is not one of them."),
    (lambda: F64_C.element(lane=0, vgpr=1), OptionError, WHERE_C + "vgpr=1 is not one of them."),
    (
        lambda: BROADCAST.element(lane=4, vgpr=0, low_bit=16),
        OptionError,
        "v0{4}.[31:16] holds 4 elements of A of f32_4x4x4f16 with cbsz=2 abid=1, not one: ask elements() for all.",
    ),
    (
        lambda: BROADCAST.element(lane=0, vgpr=0),
        OptionError,
        "v0{0}.[15:0] holds no elements of A of f32_4x4x4f16 with cbsz=2 abid=1, not one: ask elements() for all.",
    ),
    (
        lambda: BROADCAST.pack(np.indices((16, 4, 4))[0]),
        OperandShapeError,
        "A of f32_4x4x4f16 with cbsz=2 abid=1 cannot be packed: the hardware reads A[0][0] of block 0 and A[0][0] of "
        "block 3 from the same v0{4}.[15:0], but their bits differ; give equal elements there, or leave the modifier "
        "out.",
    ),
    (
        lambda: HALVES.pack(np.arange(64.0).reshape(1, 2, 32)),
        OperandShapeError,
        "B of f32_32x32x2f32 with blgp=1 cannot be packed: the hardware reads B[0][0] of block 0 and B[1][0] of "
        "block 0 from the same v0{0}, but their bits differ; give equal elements there, or leave the modifier out.",
    ),
    (
        lambda: A.pack(np.zeros((4, 4))),
        OperandShapeError,
        "A of f32_4x4x4f16 has shape (..., 16, 4, 4), that is (..., block, i, k), not (4, 4).",
    ),
    (
        lambda: F64_C.pack(np.zeros((16, 16))),
        OperandShapeError,
        "C of f64_16x16x4f64 has shape (..., 1, 16, 16), that is (..., block, i, j), not (16, 16); the one block "
        "keeps its axis: add it with m[..., None, :, :].",
    ),
    (
        lambda: A.unpack(np.zeros((4, 64))),
        OperandShapeError,
        "Registers of A of f32_4x4x4f16 have shape (..., 64, 4), that is (..., lane, element), not (4, 64).",
    ),
    (
        lambda: HALVES.unpack(np.zeros((64, 1))),
        OperandShapeError,
        "Registers of B of f32_32x32x2f32 with blgp=1 have shape (..., 64), that is (..., lane), not (64, 1).",
    ),
    (
        lambda: layout(OPS["f64_4x4x4f64"], "A", blgp=1).pack(np.zeros((4, 4, 4), bool)),
        OperandTypeError,
        "A of f64_4x4x4f64 with blgp=1 is negated, by its sign bit: give float64 or its bits as int64, not bool.",
    ),
    (lambda: layout(A.op, "E"), OptionError, "f32_4x4x4f16 has the matrices A, B, C, D, not 'E'."),
    (lambda: layout(A.op, "K"), OptionError, "f32_4x4x4f16 has the matrices A, B, C, D, not 'K'."),
    (lambda: layout(SPARSE[0], "a"), OptionError, "f32_16x16x32_f16 has the matrices A, B, C, D, K, not 'a'."),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSALS, ids=[message[-40:] for *_, message in REFUSALS])
def test_refusals_say_what_was_given_and_what_is_allowed(call, error, message):
    with pytest.raises(MfmaError) as caught:
        call()
    assert type(caught.value) is error
    assert str(caught.value) == message
