"""Which instruction for a product: the costs counted tile by tile, the order, and the words of every refusal."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfma.errors import OptionError, UnknownNameError
from mfma.formats import BF16, FP8, OCP_FP8
from mfma.isa.cdna3 import DENSE
from mfma.isa.choice import choose
from mfma.isa.targets import TARGETS

OPS = {op.name: op for op in DENSE}
TYPES = sorted({(op.a.name, op.b.name) for op in DENSE})

sizes = st.integers(1, 70)


@given(sizes, sizes, sizes, st.sampled_from(TYPES), st.integers(1, 5))
def test_costs_are_those_of_going_through_the_tiles(m, n, k, types, batch):
    choice = choose(m, n, k, *types, batch=batch)
    assert {c.listing.name for c in choice.candidates} == {o.name for o in DENSE if (o.a.name, o.b.name) == types}
    for candidate in choice.candidates:
        op = OPS[candidate.listing.name]
        tiles = list(itertools.product(range(batch), range(0, m, op.m), range(0, n, op.n)))
        groups = list(range(0, len(tiles), op.blocks))
        instructions = len(groups) * len(range(0, k, op.k))
        assert candidate.tiles == len(tiles)
        assert candidate.instructions == instructions
        assert candidate.passes == instructions * op.passes
        assert candidate.padding == pytest.approx(1 - 2 * batch * m * n * k / (instructions * op.operations))
        assert 0 <= candidate.padding < 1
        registers = op.registers
        assert candidate.operand_vgprs == registers.a.vgprs + registers.b.vgprs
        assert candidate.accumulator_vgprs == registers.cd.vgprs
    passes = [candidate.passes for candidate in choice.candidates]
    assert passes == sorted(passes)
    assert choice.best is choice.candidates[0]
    assert len(choice.reasons) == len(choice.candidates)
    assert all(choice.reasons)


@given(sizes, sizes, sizes, st.sampled_from(["f32", "f16", "i8", "f64"]))
def test_without_padding_every_multiply_add_counts(m, n, k, type_):
    exact = [candidate for candidate in choose(m, n, k, type_).candidates if candidate.padding == 0]
    if exact:
        assert list(choose(m, n, k, type_, pad=False).candidates) == exact
        return
    with pytest.raises(UnknownNameError, match="without padding; nearest are"):
        choose(m, n, k, type_, pad=False)


@pytest.mark.parametrize(
    ("m", "n", "k", "types", "best"),
    [
        (4096, 4096, 4096, ("f16",), "f32_32x32x8f16"),
        (4096, 4096, 4096, ("bf16",), "f32_32x32x8bf16_1k"),
        (4096, 4096, 4096, ("fp8", "bf8"), "f32_32x32x16_fp8_bf8"),
        (4096, 4096, 4096, ("i8",), "i32_32x32x16_i8"),
        (4096, 4096, 4096, ("f64",), "f64_16x16x4f64"),
        (4096, 4096, 4096, ("f32",), "f32_32x32x2f32"),  # and never xf32, which must be asked for
        (4096, 4096, 4096, ("xf32",), "f32_32x32x4_xf32"),
        (16, 4096, 4096, ("f16",), "f32_16x16x16f16"),  # a 32x32 tile would be half empty
        (4, 4096, 4096, ("f16",), "f32_4x4x4f16"),  # half the rate, but a quarter of a 16x16 tile is used
    ],
)
def test_choices_that_follow_from_the_rates(m, n, k, types, best):
    assert choose(m, n, k, *types).best.listing.name == best


def test_reasons():
    choice = choose(16, 4096, 128, "f16")
    reasons = {
        candidate.listing.name: reason for candidate, reason in zip(choice.candidates, choice.reasons, strict=True)
    }
    assert reasons == {
        "f32_16x16x16f16": "8192 passes in 2048 instructions, 0% of it padding; 4 registers of A and B, 4 of the "
        "accumulator",
        "f32_32x32x8f16": "2 times the passes; 50% of it padding, not 0%",
        "f32_16x16x4f16": "2 times the passes; 512 multiply-adds a pass, not 1024",
        "f32_4x4x4f16": "2 times the passes; 512 multiply-adds a pass, not 1024",
        "f32_32x32x4f16": "4 times the passes; 50% of it padding, not 0%; 512 multiply-adds a pass, not 1024",
    }
    assert choose(64, 64, 64, "f16").reasons[1] == "as fast, but reads 2 times the registers of A and B"
    assert choose(64, 64, 64, "i8", target="gfx90a").reasons[1] == "as fast, but needs 2 blocks at a time"
    assert str(choice) == "f32_16x16x16f16 for 16x4096x128 on gfx942"
    assert str(choose(8, 8, 8, "f64", batch=4).product) == "8x8x8, 4 of them"


def test_every_target_chooses_from_its_own_list():
    for name, on in TARGETS.items():
        for a, b in {(listing.a, listing.b) for listing in on.dense}:
            assert {c.listing for c in choose(64, 64, 64, a, b, target=name).candidates} >= {
                listing for listing in on.dense if (listing.a, listing.b) == (a, b)
            }
    assert choose(4096, 4096, 4096, "f16", target="gfx950").best.listing.name == "f32_32x32x16_f16"
    assert choose(64, 64, 128, "fp8", target="gfx950").best.listing.family == "mfma_scale"
    with pytest.raises(UnknownNameError, match=r"unknown target 'gfx1'"):
        choose(1, 1, 1, "f16", target="gfx1")


def test_formats_by_record_and_by_numpy_name():
    assert choose(16, 16, 16, BF16).best == choose(16, 16, 16, "bfloat16").best
    assert choose(16, 16, 32, FP8).best == choose(16, 16, 32, "float8_e4m3fnuz").best
    # The fp8 of gfx950 are OCP's.
    assert (
        choose(16, 16, 32, OCP_FP8, target="gfx950").candidates == choose(16, 16, 32, "fp8", target="gfx950").candidates
    )


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            (64, 64, 64, "f16", "bf16"),
            {},
            "gfx942 has no instruction with a=f16, b=bf16; nearest are f32_32x32x8f16 (b f16), f32_32x32x8bf16_1k "
            "(a bf16), f32_16x16x16f16 (b f16), f32_16x16x16bf16_1k (a bf16).",
        ),
        (
            (8, 16, 16, "f16"),
            {"pad": False},
            "gfx942 has no instruction with a=f16, b=f16 whose tiles fill 8x16x16 without padding; nearest are "
            "f32_16x16x16f16 (m 8 is no multiple of 16: pad it to 16), f32_4x4x4f16 (its 16 blocks take as many tiles "
            "at a time, and there are 8), f32_16x16x4f16 (m 8 is no multiple of 16: pad it to 16), f32_32x32x8f16 (m 8 "
            "is no multiple of 32: pad it to 32, n 16 is no multiple of 32: pad it to 32).",
        ),
        (
            (64, 64, 64, "xf32"),
            {"target": "gfx950"},
            "gfx950 has no instruction with a=xf32, b=xf32; nearest are f32_32x32x2f32 (a f32, b f32), f32_32x32x1f32 "
            "(a f32, b f32), f32_16x16x4f32 (a f32, b f32), f32_16x16x1f32 (a f32, b f32). gfx950 has none for xf32: "
            "use the f32 instructions, which keep all bits of A and B, or split A and B into bf16 parts.",
        ),
        (
            (64, 64, 64, "ocp_fp8"),
            {},
            "gfx942 has no instruction with a=ocp_fp8, b=ocp_fp8; nearest are f32_32x32x16_fp8_fp8 (a fp8, b fp8), "
            "f32_32x32x16_fp8_bf8 (a fp8, b bf8), f32_32x32x16_bf8_fp8 (a bf8, b fp8), f32_32x32x16_bf8_bf8 (a bf8, b "
            "bf8). The 8-bit floats of gfx942 are FNUZ: convert OCP ones with mfma.fp8.from_ocp.",
        ),
        (
            (32, 32, 32, "f16"),
            {"out": "f16"},
            "gfx942 has no instruction with a=f16, b=f16, out=f16; nearest are f32_32x32x8f16 (out f32), "
            "f32_16x16x16f16 (out f32), f32_16x16x4f16 (out f32), f32_4x4x4f16 (out f32). Products of f16 are "
            "accumulated in f32: convert the result afterwards.",
        ),
        (
            (1, 1, 1, "fp16"),
            {},
            "no operand type is called 'fp16': give f64, f32, xf32, f16, bf16, fp8, bf8, i8, i32, ocp_fp8, ocp_bf8, "
            "f8f6f4. Did you mean f16 or bf16?",
        ),
    ],
    ids=["types", "sizes", "gone", "OCP", "accumulator", "misspelt"],
)
def test_refusals_name_the_nearest_and_what_they_fail(arguments, options, message):
    with pytest.raises(UnknownNameError) as refusal:
        choose(*arguments, **options)
    assert str(refusal.value) == message


@pytest.mark.parametrize("bad", [0, -1, 1.5, "16", True, None])
@pytest.mark.parametrize("field", ["m", "n", "k", "batch"])
def test_sizes_are_positive_integers(field, bad):
    with pytest.raises(OptionError, match=rf"^{field} is .*, but a size is an integer of at least 1\.$"):
        choose(**{"m": 1, "n": 1, "k": 1, "a": "f16"} | {field: bad})
