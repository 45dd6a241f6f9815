"""Questions about many elements, against the layout of each single one, which AMD's calculator vouches for."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mfma
from mfma.errors import ModifierError, OptionError, UnknownNameError
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.modifiers import legal_modifiers
from mfma.layout import layout
from mfma.layout.queries import Bits, contents, record_of, runs, spell, where

OPERANDS = [(op, matrix) for op in DENSE for matrix in "ABCD"] + [(op, matrix) for op in SPARSE for matrix in "ABDK"]
MODIFIED = [
    (op, matrix, *modifiers)
    for op in DENSE
    for modifiers in legal_modifiers(op)
    for matrix in "AB"
    if any(modifiers) and layout(op, matrix, *modifiers) != layout(op, matrix)
]


def flat(found):
    return [number for run in found for number in run]


def bits_of(holdings):
    """Every (lane, register, bit) of an answer, each once."""
    named = [
        (lane, vgpr, bit)
        for holding in holdings
        for lane in flat(holding.lanes)
        for part in holding.registers
        for vgpr in part.vgprs
        for bit in range(part.low_bit, part.high_bit + 1)
    ]
    assert len(named) == len(set(named))
    return set(named)


def bits_of_slots(slots):
    return {(s.lane, s.vgpr + bit // 32, bit % 32) for s in slots for bit in range(s.low_bit, s.high_bit + 1)}


@st.composite
def questions(draw):
    op, matrix, *modifiers = draw(st.sampled_from(OPERANDS) | st.sampled_from(MODIFIED))
    lay = layout(op, matrix, *modifiers)
    chosen = {}
    for name, size in zip(lay.pattern.coordinates, lay.shape, strict=True):
        first = draw(st.integers(0, size - 1))
        last = draw(st.integers(first, size - 1))
        form = draw(st.sampled_from([range, slice, list, int, None]))
        chosen[name] = {
            range: range(first, last + 1),
            slice: slice(first, last + 1),
            list: [first, last],
            int: first,
            None: None,
        }[form]
    return lay, chosen


def indices(choice, size):
    if choice is None:
        return range(size)
    if isinstance(choice, slice):
        return range(size)[choice]
    return [choice] if isinstance(choice, int) else sorted(set(choice))


@settings(deadline=None)
@given(questions())
def test_where_names_the_bits_of_the_elements_and_no_others(question):
    lay, chosen = question
    modifiers = {"cbsz": lay.cbsz, "abid": lay.abid, "blgp": lay.blgp}
    answer = where(lay.op, lay.matrix, **chosen, **modifiers)
    picked = [indices(chosen[name], size) for name, size in zip(lay.pattern.coordinates, lay.shape, strict=True)]
    slots = [
        lay.locate(**dict(zip(lay.pattern.coordinates, place, strict=True))) for place in itertools.product(*picked)
    ]
    assert bits_of(answer) == bits_of_slots(slots)
    lanes = [lane for holding in answer for lane in flat(holding.lanes)]
    assert len(lanes) == len(set(lanes))
    assert sum(h.elements * len(flat(h.lanes)) for h in answer) == len({slot[:3] for slot in slots})
    # As short as it can be: no two holdings have the same registers.
    assert len({holding.registers for holding in answer}) == len(answer)


@settings(deadline=None)
@given(questions(), st.data())
def test_contents_names_the_elements_of_the_registers_and_no_others(question, data):
    lay, _ = question
    modifiers = {"cbsz": lay.cbsz, "abid": lay.abid, "blgp": lay.blgp}
    registers = max(lay.pattern.register_shape[1] * lay.bits // 32, 1)
    lanes = data.draw(st.sets(st.integers(0, 63), min_size=1))
    vgprs = data.draw(st.sets(st.integers(0, registers - 1), min_size=1))
    named = [
        place
        for part in contents(lay.op, lay.matrix, lanes=lanes, vgprs=vgprs, **modifiers)
        for place in itertools.product(flat(part.blocks), flat(part.rows), flat(part.columns))
    ]
    slots = lay.slots()
    wide = max(lay.bits // 32, 1)
    held = np.isin(slots.lane, list(lanes)) & np.isin(np.stack([slots.vgpr + n for n in range(wide)]), list(vgprs)).any(
        axis=0
    )
    assert len(named) == len(set(named))
    assert set(named) == set(map(tuple, np.argwhere(held).tolist()))


@pytest.mark.parametrize("name", ["f32_32x32x8f16", "i32_32x32x16_i8", "f32_32x32x2f32"])
def test_columns_0_to_7_of_d(name):
    (holding,) = where(name, "D", j=range(8))
    assert str(holding) == "lanes 0..7, 32..39: v[15:0]"
    assert holding.elements == 16


@pytest.mark.parametrize(
    ("name", "register", "rows"),
    [
        ("f32_16x16x16f16", 0, "0, 4, 8, 12"),
        ("f32_16x16x16f16", 3, "3, 7, 11, 15"),
        ("f32_32x32x8f16", 0, "0, 4"),
        ("f32_32x32x8f16", 4, "8, 12"),  # ROCm/Tensile pull 857: one constant cannot serve both shapes
        ("f32_32x32x8f16", 15, "27, 31"),
        ("f64_16x16x4f64", 2, "4..7"),  # not the f32 rule
        ("f64_16x16x4f64", 3, "4..7"),  # the upper half of the same pair
        ("f32_4x4x4f16", 2, "2"),
    ],
)
def test_rows_of_a_register(name, register, rows):
    (part,) = contents(name, "D", vgprs=register)
    assert spell(part.rows) == rows


def test_rows_and_columns_of_a_lane():
    (part,) = contents("f32_32x32x8f16", "D", lanes=39)
    assert (spell(part.rows), spell(part.columns)) == ("4..7, 12..15, 20..23, 28..31", "7")
    (row_zero,) = contents("f32_32x32x8f16", "D", lanes=1, vgprs=0)  # tile-ai/tilelang pull 2105: never (1, 0)
    assert (spell(row_zero.rows), spell(row_zero.columns)) == ("0", "1")


def test_lane_groups_split_k_in_one_block_and_are_blocks_in_several():
    """ROCm/MIOpen issue 1092."""
    (one,) = contents("f32_32x32x2f32", "A", lanes=range(32, 64))
    assert (spell(one.blocks), spell(one.columns)) == ("0", "1")
    (two,) = contents("f32_32x32x1f32", "A", lanes=range(32, 64))
    assert (spell(two.blocks), spell(two.columns)) == ("1", "0")


def test_a_stretch_of_k_that_cuts_registers():
    assert list(map(str, where("f32_16x16x32_fp8_fp8", "B", k=slice(3, 13)))) == [
        "lanes 0..15: v0.[31:24], v1",
        "lanes 16..31: v0, v1.[7:0]",
    ]
    assert list(map(str, where("i32_4x4x4i8", "A", k=1))) == ["lanes 0..63: v0.[15:8]"]
    assert str(Bits(range(2, 4), 15, 0)) == "v[3:2].[15:0]"


def test_a_broadcast_reads_fewer_lanes():
    assert list(map(str, where("f32_4x4x4f16", "A", cbsz=4, abid=5))) == ["lanes 20..23: v[1:0]"]
    (part,) = contents("f32_4x4x4f16", "A", lanes=22, vgprs=0, cbsz=4, abid=5)
    assert (spell(part.blocks), spell(part.rows), spell(part.columns)) == ("0..15", "2", "0..1")
    assert contents("f32_4x4x4f16", "A", lanes=0, cbsz=4, abid=5) == ()


def test_runs():
    assert runs([]) == ()
    assert spell(runs([5, 3, 4, 4, 9])) == "3..5, 9"


def test_names_and_objects_are_the_same():
    op = mfma.op("f32_32x32x8f16")
    assert record_of(op) is record_of(op.record) is record_of("v_mfma_f32_32x32x8_f16")
    assert where(op, "A") == where(op.record, "A") == where(op.builtin, "A")


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        ({"k": 0}, "it has no k"),
        ({"j": 32}, "j=32 is not one of them"),
        ({"j": range(33)}, "j=32 is not one of them"),
        ({"j": -1}, "j=-1 is not one of them"),
        ({"j": slice(0, 33)}, "j 0:33 is not within them"),
        ({"i": slice(4, 4)}, "i 4:4 is not within them"),
        ({"i": 1.5}, "i=1.5 is no integer, slice or range of integers"),
        ({"i": ["a"]}, r"i=\['a'\] is no integer, slice or range of integers"),
        ({"i": []}, r"i=\[\] is empty"),
        ({"block": 1}, "block=1 is not one of them"),
    ],
)
def test_wrong_coordinates(chosen, problem):
    with pytest.raises(OptionError, match=rf"^D of f32_32x32x8f16 has block 0, i 0\.\.31, j 0\.\.31; {problem}\.$"):
        where("f32_32x32x8f16", "D", **chosen)


def test_wrong_registers():
    with pytest.raises(OptionError, match=r"^A of f32_4x4x4f16 has lanes 0\.\.63, vgprs 0\.\.1; vgprs=2 is not one of"):
        contents("f32_4x4x4f16", "A", vgprs=2)
    with pytest.raises(OptionError, match=r"lanes=64 is not one of them"):
        contents("f32_4x4x4f16", "A", lanes=64)


def test_wrong_operand():
    with pytest.raises(OptionError, match="has the matrices A, B, C, D, not 'E'"):
        where("f32_4x4x4f16", "E")
    with pytest.raises(ModifierError, match="takes cbsz 0 only"):
        where("f32_32x32x8f16", "A", cbsz=1)


@pytest.mark.parametrize("name", ["wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16"])
def test_wmma_is_refused_and_not_answered_with_this_map(name):
    with pytest.raises(UnknownNameError, match="is not an MFMA instruction: gfx11 and gfx12"):
        where(name, "A")
    with pytest.raises(UnknownNameError, match="has no MFMA instructions"):
        where("f32_16x16x16f16", "A", target="gfx1100")


@pytest.mark.parametrize("name", [42, None])
def test_an_instruction_is_a_name_or_an_object(name):
    with pytest.raises(UnknownNameError, match="an instruction name is a string"):
        record_of(name)
