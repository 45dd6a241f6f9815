"""Legality of cbsz, abid and blgp against AMD's calculator, and the words of every refusal."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfma.errors import ModifierError
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.modifiers import blgp_is_disputed, check_modifiers, legal_modifiers, max_blgp
from mfma.isa.spec import Blgp, MatrixOp

GOLDEN = Path(__file__).parent / "golden"
ROWS = {row["builtin"]: row for row in json.loads((GOLDEN / "builtins_cdna3.json").read_text())}
HIGHEST_BLGP = {"lane-pattern": 7, "neg": 7, "unsupported (calculator)": 0}
BY_NAME = {op.name: op for op in DENSE}


def is_legal(op: MatrixOp, cbsz: int, abid: int, blgp: int) -> bool:
    """The rule restated from the calculator's rows, without the record's own properties."""
    row = ROWS[op.builtin]
    return 0 <= cbsz <= row["cbsz_max"] and 0 <= abid < 2**cbsz and 0 <= blgp <= HIGHEST_BLGP[row["blgp"]]


@pytest.mark.parametrize("op", DENSE, ids=str)
def test_every_combination_of_fields_agrees_with_the_calculator(op):
    legal = set()
    for cbsz in range(-1, 9):
        for abid in range(-1, 17):
            for blgp in range(-1, 9):
                if is_legal(op, cbsz, abid, blgp):
                    check_modifiers(op, cbsz, abid, blgp)
                    legal.add((cbsz, abid, blgp))
                else:
                    with pytest.raises(ModifierError):
                        check_modifiers(op, cbsz, abid, blgp)
    assert list(legal_modifiers(op)) == sorted(legal)


def test_the_calculator_printed_a_layout_for_every_legal_modifier():
    """Its layouts exist for every broadcast, every lane pattern, and the three negations one by one."""
    files = [path.name for path in (GOLDEN / "layouts_modifiers").glob("*.csv")]
    broadcasts = {(m[1], int(m[2]), int(m[3])) for f in files if (m := re.match(r"(.*)\.A\.cbsz(\d)\.abid(\d+)\.", f))}
    others = {(m[1], m[2], int(m[3])) for f in files if (m := re.match(r"(.*)\.([ABC])\.blgp(\d)\.", f))}
    lanes = {(op.mnemonic, "B", n) for op in DENSE if op.blgp is Blgp.LANES for n in range(1, max_blgp(op) + 1)}
    signs = {(op.mnemonic, *sign) for op in DENSE if op.blgp is Blgp.NEG for sign in (("A", 1), ("B", 2), ("C", 4))}
    assert broadcasts == {(op.mnemonic, cbsz, abid) for op in DENSE for cbsz, abid, _ in legal_modifiers(op) if cbsz}
    assert others == lanes | signs


@given(st.sampled_from(DENSE), st.integers(), st.integers(), st.integers())
def test_any_integer_is_judged(op, cbsz, abid, blgp):
    if not is_legal(op, cbsz, abid, blgp):
        with pytest.raises(ModifierError):
            check_modifiers(op, cbsz, abid, blgp)
    else:
        check_modifiers(op, cbsz, abid, blgp)


@pytest.mark.parametrize(
    ("name", "modifiers", "message"),
    [
        ("f32_32x32x1f32", (2, 0, 0), "f32_32x32x1f32 takes cbsz 0..1, not 2: it has 2 blocks."),
        ("f32_32x32x8f16", (1, 0, 0), "takes cbsz 0 only, not 1: it has one block, so there is nothing to broadcast."),
        ("f64_4x4x4f64", (1, 0, 0), "takes cbsz 0 only, not 1: f64 instructions cannot broadcast A."),
        ("f32_4x4x4f16", (2, 4, 0), "f32_4x4x4f16 with cbsz 2 takes abid 0..3, not 4: abid is the block within"),
        ("f32_4x4x4f16", (0, 1, 0), "with cbsz 0 takes abid 0 only, not 1"),
        ("f32_4x4x4f16", (0, 0, 8), "takes blgp 0..7, not 8: blgp selects one of eight lane patterns of B."),
        ("f64_16x16x4f64", (0, 0, 8), "takes blgp 0..7, not 8: on f64 its bits 0, 1 and 2 negate A, B and C."),
        ("f32_32x32x4_xf32", (0, 0, 1), "takes blgp 0 only, not 1: it has no lane patterns of B."),
        ("f32_16x16x32_fp8_bf8", (0, 0, 1), "takes blgp 0 only, not 1: it has no lane patterns of B."),
        ("f32_32x32x8f16", (0, 0, 1), "takes blgp 0 only, not 1: two vendor texts disagree about it (AMD's builtin "),
        ("f32_16x16x16bf16_1k", (0, 0, 7), "two vendor texts disagree about it"),
    ],
)
def test_every_refusal_gives_range_reason_and_warning(name, modifiers, message):
    with pytest.raises(ModifierError, match=re.escape(message)) as error:
        check_modifiers(BY_NAME[name], *modifiers)
    assert str(error.value).endswith("Compilers do not check this.")


@pytest.mark.parametrize("modifiers", [(4, 15, 7), (4, 0, 0), (1, 1, 3), (0, 0, 0)])
def test_users_examples_that_are_legal(modifiers):
    check_modifiers(BY_NAME["f32_4x4x4f16"], *modifiers)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, np.float32(1), np.bool_(True), [1]])
@pytest.mark.parametrize("place", ["cbsz", "abid", "blgp"])
def test_what_is_no_integer_is_refused(place, value):
    modifiers = {"cbsz": 0, "abid": 0, "blgp": 0, place: value}
    message = f"{place} must be an integer constant, as in C; got {value!r} ({type(value).__name__})."
    with pytest.raises(ModifierError, match=re.escape(message)):
        check_modifiers(BY_NAME["f32_4x4x4f16"], **modifiers)


def test_integers_of_other_libraries_are_integers():
    check_modifiers(BY_NAME["f32_4x4x4f16"], np.int64(4), np.uint8(15), np.int32(7))


def test_disputed_forms_are_the_one_block_f16_and_bf16_ones():
    assert {op.name for op in (*DENSE, *SPARSE) if blgp_is_disputed(op)} == {
        "f32_32x32x8f16",
        "f32_16x16x16f16",
        "f32_32x32x8bf16_1k",
        "f32_16x16x16bf16_1k",
    }


@pytest.mark.parametrize("op", SPARSE, ids=str)
def test_sparse_forms_take_zero_only_and_say_why(op):
    assert list(legal_modifiers(op)) == [(0, 0, 0)]
    for modifiers in ((1, 0, 0), (0, 1, 0)):
        with pytest.raises(ModifierError, match="three vendor texts disagree about what cbsz and abid do"):
            check_modifiers(op, *modifiers)
