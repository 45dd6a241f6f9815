"""The lists of the four targets against one another: the facts of the ROCm pages, and laws of a comparison."""

import itertools

import pytest

from mfma.errors import UnknownNameError
from mfma.isa.differences import availability, differences
from mfma.isa.targets import TARGETS, available, why_not

PAIRS = list(itertools.product(TARGETS, repeat=2))


def names(listings):
    return [str(listing) for listing in listings]


def dense(listings):
    return [listing.name for listing in listings if not listing.sparse]


def test_what_each_generation_brought_and_dropped():
    second = differences("gfx908", "gfx90a")
    assert names(second.added) == [
        *(f"f32_{shape}bf16_1k" for shape in ("32x32x4", "16x16x4", "4x4x4", "32x32x8", "16x16x16")),
        "f64_16x16x4f64",
        "f64_4x4x4f64",
    ]
    assert second.dropped == ()

    third = differences("gfx90a", "gfx942")
    assert dense(third.added) == [
        "f32_32x32x4_xf32",
        "f32_16x16x8_xf32",
        *(f"f32_{shape}_{a}_{b}" for shape in ("32x32x16", "16x16x32") for a in ("fp8", "bf8") for b in ("fp8", "bf8")),
        "i32_32x32x16_i8",
        "i32_16x16x32_i8",
    ]
    assert sum(listing.sparse for listing in third.added) == 14
    assert names(third.dropped) == [
        *(f"f32_{shape}bf16" for shape in ("32x32x2", "16x16x2", "4x4x2", "32x32x4", "16x16x8")),
        "i32_32x32x8i8",
        "i32_16x16x16i8",
    ]
    halved = {change.new.name: change for change in third.changed if change.old.cycles != change.new.cycles}
    assert {name: (c.old.cycles, c.new.cycles) for name, c in halved.items()} == {
        "f32_32x32x8f16": (64, 32),
        "f32_16x16x16f16": (32, 16),
        "f32_32x32x8bf16_1k": (64, 32),
        "f32_16x16x16bf16_1k": (32, 16),
    }
    assert str(halved["f32_32x32x8f16"]) == "f32_32x32x8f16: cycles 64 -> 32, co-execution 60 -> 28"

    fourth = differences("gfx942", "gfx950")
    assert names(fourth.dropped) == ["f32_32x32x4_xf32", "f32_16x16x8_xf32"]
    assert len(dense(fourth.added)) == 8
    slower = {c.new.name: (c.old.cycles, c.new.cycles) for c in fourth.changed if c.old.cycles != c.new.cycles}
    assert slower == {"f64_16x16x4f64": (32, 64), "f64_4x4x4f64": (16, 32)}


def test_the_same_builtin_means_other_numbers_on_gfx950():
    fourth = differences("gfx942", "gfx950")
    meant = {str(c.new): c.what for c in fourth.changed}
    assert meant["f32_32x32x16_fp8_bf8"] == (
        "fp8 float8_e4m3fnuz -> float8_e4m3fn",
        "bf8 float8_e5m2fnuz -> float8_e5m2",
    )
    eight_bit_floats = [c for c in fourth.changed if {c.new.a, c.new.b} & {"fp8", "bf8"}]
    assert len(eight_bit_floats) == 16
    assert any("twice the FNUZ number" in note for note in fourth.notes)


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_comparisons_add_up(old, new):
    there, back = differences(old, new), differences(new, old)
    assert there.added == back.dropped
    assert [(c.new, c.old) for c in there.changed if c.new.builtin] == [
        (c.old, c.new) for c in sorted(back.changed, key=lambda c: TARGETS[old].listings.index(c.new))
    ]
    kept = len(TARGETS[old].listings) - len(there.dropped)
    assert kept + len(there.added) == len(TARGETS[new].listings)
    assert {*there.dropped}.isdisjoint(there.added)
    if old == new:
        assert (there.added, there.dropped, there.changed, there.notes) == ((), (), (), ())
    for listing in there.dropped:
        assert f"on {new}" in there.instead(listing)


def test_dropped_builtins_come_with_what_to_use():
    third = differences("gfx90a", "gfx942")
    assert [third.instead(listing).split(" use ")[1].split(" ")[0] for listing in third.dropped] == [
        "f32_32x32x4bf16_1k",
        "f32_16x16x4bf16_1k",
        "f32_4x4x4bf16_1k",
        "f32_32x32x8bf16_1k",
        "f32_16x16x16bf16_1k",
        "i32_32x32x16_i8",
        "i32_16x16x32_i8",
    ]


def test_old_i8_shapes_and_bf16_without_1k():
    """Questions of users: triton-lang/triton pull 3169, ROCm/rocm-libraries pull 6014."""
    by_target = {str(item.target): item for item in availability("i32_32x32x8i8")}
    assert [bool(item.listing) for item in by_target.values()] == [True, True, False, False]
    assert "use i32_32x32x16_i8" in by_target["gfx942"].reason
    assert "Cannot select" in by_target["gfx942"].reason
    assert [str(item) for item in availability("f32_32x32x4bf16")] == [
        "gfx908: yes",
        "gfx90a: yes",
        "gfx942: no",
        "gfx950: no",
    ]
    assert sum(listing.a == "i8" for listing in TARGETS["gfx942"].dense) == 5


def test_availability_is_the_target_lists_word_by_word():
    for on in TARGETS.values():
        for listing in on.listings:
            for spelling in (listing.builtin, listing.intrinsic.upper()):
                answers = availability(spelling)
                assert [item.target for item in answers] == list(TARGETS.values())
                for item in answers:
                    assert bool(item.listing) == available(listing.builtin, item.target.name)
                    assert item.reason == why_not(spelling, item.target.name)
                    assert item.listing is None or item.listing.builtin == listing.builtin


def test_refusals():
    with pytest.raises(UnknownNameError, match=r"^no target has a builtin 'f32_3x3x3f16'"):
        availability("f32_3x3x3f16")
    with pytest.raises(UnknownNameError, match=r"^gfx1100 has no MFMA instructions"):
        differences("gfx942", "gfx1100")
    with pytest.raises(UnknownNameError, match=r"is not an MFMA instruction"):
        availability("wmma_f32_16x16x16_f16")
