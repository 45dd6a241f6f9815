"""Evidence claims no more than its sources; errata hold against the table."""

import itertools
import json
from collections import Counter
from pathlib import Path

import pytest

from mfma.errors import UnknownNameError
from mfma.formats import BF8, FP8, XF32
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.errata import errata, erratum
from mfma.isa.evidence import CLAIMS, SOURCES, TRANSCENDENTAL, Level, claims, evidence
from mfma.isa.modifiers import blgp_is_disputed, max_blgp
from mfma.isa.signature import signature
from mfma.isa.spellings import ASSEMBLER_SPELLINGS
from mfma.isa.targets import where

GOLDEN = Path(__file__).parent / "golden"
BY_NAME = {op.name: op for op in DENSE}
ORDER = ["recorded", "statistics", "tested", "documented", "assumed"]


def test_levels_are_ordered_and_have_meanings():
    assert [str(level) for level in Level] == ORDER
    assert [level.rank for level in Level] == list(range(5))
    assert sorted(Level, reverse=True) == list(Level)
    for stronger, weaker in itertools.pairwise(ORDER):
        assert Level(stronger) > Level(weaker)
        assert Level(stronger) >= weaker
        assert Level(weaker) < Level(stronger)
        assert Level(weaker) <= stronger
        assert not Level(stronger) < weaker
    assert len({level.meaning for level in Level}) == len(Level)


@pytest.mark.parametrize(
    ("aspect", "name", "level"),
    [
        ("arithmetic", "f32_16x16x32_fp8_fp8", "recorded"),
        ("arithmetic", "f32_16x16x32_fp8_bf8", "tested"),
        ("arithmetic", "f32_32x32x16_fp8_fp8", "tested"),
        ("arithmetic", "f32_16x16x16f16", "tested"),
        ("arithmetic", "f32_4x4x4bf16_1k", "tested"),
        ("arithmetic", "f32_16x16x8_xf32", "statistics"),
        ("arithmetic", "f32_32x32x1f32", "statistics"),
        ("arithmetic", "f64_4x4x4f64", "tested"),
        ("arithmetic", "i32_16x16x32_i8", "documented"),
        ("accumulation bias", "f32_32x32x8f16", "statistics"),
        ("integer overflow", "i32_4x4x4i8", "documented"),
        ("float overflow", "f32_4x4x4f16", "documented"),
        ("denormals switched off", "f32_16x16x4f32", "assumed"),
        ("NaN bits", "f64_16x16x4f64", "assumed"),
        ("cancellation to zero", "f32_16x16x32_fp8_fp8", "recorded"),
        ("signed zero", "f32_32x32x4_xf32", "assumed"),
        ("infinity or NaN in C", "f32_32x32x16_bf8_bf8", "assumed"),
        ("width of the sum", "f32_32x32x8bf16_1k", "tested"),
        ("product overflow", "f32_32x32x8bf16_1k", "tested"),
        ("operand decoding", "f32_16x16x32_fp8_fp8", "recorded"),
        ("operand decoding", "f32_16x16x32_bf8_bf8", "tested"),
        ("NaN operand", "f32_16x16x32_fp8_fp8", "tested"),
        ("layout", "f64_16x16x4f64", "documented"),
        ("modifiers", "f32_32x32x8f16", "documented"),
        ("timing", "i32_4x4x4i8", "documented"),
        ("wait states", "i32_4x4x4i8", "documented"),
    ],
)
def test_levels_of_the_published_record(aspect, name, level):
    assert str(evidence(BY_NAME[name])[aspect].level) == level
    assert evidence(BY_NAME[name])[aspect].source


@pytest.mark.parametrize("op", [*DENSE, *SPARSE], ids=lambda op: op.mnemonic)
def test_one_claim_per_aspect(op):
    assert max(Counter(claim.aspect for claim in claims(op)).values()) == 1
    assert {"layout", "modifiers", "timing", "wait states"} <= set(evidence(op))
    assert ("arithmetic" in evidence(op)) is (op.accumulation is not None)


def test_no_claim_is_empty_and_no_source_is_unused():
    assert all(any(claim.applies(op) for op in (*DENSE, *SPARSE)) for claim in CLAIMS)
    assert {source for claim in CLAIMS for source in claim.sources} == set(SOURCES)
    assert str(SOURCES[0]) in claims(BY_NAME["f64_4x4x4f64"])[0].evidence.source
    assert TRANSCENDENTAL.evidence.level is Level.ASSUMED


def test_only_the_instruction_with_public_output_is_recorded():
    recorded = {op.name for op in DENSE for item in evidence(op).values() if item.level is Level.RECORDED}
    assert recorded == {"f32_16x16x32_fp8_fp8"}


def test_what_the_recordings_hold():
    """The claims on operand decoding count what is there: 25 numbers, and no NaN byte."""
    lines = (GOLDEN / "hardware" / "mi300x_f32_16x16x32_fp8_fp8.jsonl").read_text().splitlines()
    used = {byte for line in lines for side in "ab" for byte in bytes.fromhex(json.loads(line)[side])}
    assert len(used) == 25
    assert 0x80 not in used


def test_disputed_modifiers_say_so():
    for op in DENSE:
        assert ("disagree" in evidence(op)["modifiers"].source) is blgp_is_disputed(op)


def test_errata_have_unique_ids_and_no_empty_field():
    ids = [item.id for item in errata()]
    assert len(set(ids)) == len(ids)
    assert all(id.islower() and id.replace("-", "").isalnum() for id in ids)
    assert all(all(vars(item).values()) for item in errata())
    assert all(erratum(id).id == id for id in ids)


def test_unknown_erratum_names_near_ones():
    with pytest.raises(
        UnknownNameError, match=r"no erratum has the id 'page-block-packed'\. Did you mean page-blocks-"
    ):
        erratum("page-block-packed")


def page_blocks(op):
    """The page's formula, error included."""
    scalar = op.registers.a.elements == 1
    return 64 // (op.m * op.k) if scalar else 64 // op.m


# One check per erratum that the table can decide: what is said must fail on it, what is true must hold.
def check_page_blocks_packed():
    assert (page_blocks(BY_NAME["f32_32x32x8f16"]), BY_NAME["f32_32x32x8f16"].blocks) == (2, 1)
    assert all(op.blocks == 64 * op.registers.a.elements // (op.m * op.k) for op in DENSE)


def check_page_blocks_per_tile():
    assert {op.blocks for op in DENSE if op.m == 32} == {1, 2}
    assert {op.blocks for op in DENSE if op.m == 16} == {1, 4}


def check_page_doubled_k_builtins():
    doubled = [op.name for op in DENSE if "gfx908" not in where(op.name) and op.a.name in ("bf16", "i8")]
    assert len(doubled) == 7


def check_page_f64_4x4_type():
    assert signature(BY_NAME["f64_4x4x4f64"]).d.name == "double"


def check_page_peak_formula():
    op = BY_NAME["f32_32x32x8f16"]
    per_core = op.operations / op.cycles * 2100e6 / 1e12
    assert round(per_core, 3) == 1.075
    assert round(per_core * 4 * 304, 1) == 1307.4


def check_page_fp8_encoding():
    assert (FP8.bias, FP8.max, BF8.bias, BF8.max) == (8, 240.0, 16, 57344.0)


def check_page_xf32_rounding():
    assert (XF32.ignored, XF32.significand) == (13, 10)


def check_page_modifiers_unenforced():
    one_block = [op for op in DENSE if op.blocks == 1]
    assert all(op.max_cbsz == 0 for op in one_block)
    assert {op.a.name for op in one_block if max_blgp(op)} == {"f32", "f64"}


def check_reference_smfmac_cdna2():
    assert all({"gfx908", "gfx90a"}.isdisjoint(where(op.builtin)) for op in SPARSE)


def check_calculator_opcode_wide_i8():
    assert (BY_NAME["i32_32x32x16_i8"].opcode, BY_NAME["i32_16x16x32_i8"].opcode) == (0x56, 0x57)


def check_calculator_xf32_blgp():
    assert max_blgp(BY_NAME["f32_32x32x4_xf32"]) == 0


def check_assembler_bf16_spelling():
    assert ASSEMBLER_SPELLINGS["v_mfma_f32_32x32x4bf16"] == BY_NAME["f32_32x32x4bf16_1k"].mnemonic


def check_example_scalar_fallback():
    # 64 threads, 8 to a row of threads, 8x8 cells each, on a tile of 32x32.
    cells = [(t // 8 * 8 + i, t % 8 * 8 + j) for t in range(64) for i in range(8) for j in range(8)]
    inside = sum(row < 32 and column < 32 for row, column in cells)
    assert (inside, len(cells) - inside) == (1024, 3072)


def check_blog_f64_cycles():
    op = BY_NAME["f64_16x16x4f64"]
    assert round(op.operations / op.cycles * 4 * 304 * 2100e6 / 1e12, 1) == 163.4


CHECKS = {name[6:].replace("_", "-"): check for name, check in list(globals().items()) if name.startswith("check_")}


@pytest.mark.parametrize("id", CHECKS)
def test_erratum_holds_against_the_table(id):
    assert erratum(id)
    CHECKS[id]()
