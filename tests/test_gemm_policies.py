"""The policies as records: geometry, every rule with its message, LDS by brute force, fragments against the layouts."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mfma
from mfma.gemm import (
    ComputePolicy,
    Conversion,
    DirectToLdsTilePolicy,
    DoubleBufferTilePolicy,
    Gemm,
    Memory,
    MfmaCdna3XF32Policy,
    MfmaPolicy,
    Placement,
    ScalarFMAPolicy,
    SingleBufferTilePolicy,
    TilePolicy,
    validate,
)
from mfma.gemm.accesses import accesses
from mfma.gemm.lds import PHASES, TileLayout, access
from mfma.timing.devices import Device, device

SINGLE = SingleBufferTilePolicy(32, 32, 8)
XF32 = MfmaCdna3XF32Policy()
F16 = MfmaPolicy("f32_16x16x16f16", 2, 2)


def test_the_shipped_policies_meet_the_protocols():
    for tile in (SINGLE, DoubleBufferTilePolicy(32, 32, 8), DirectToLdsTilePolicy(32, 32, 8)):
        assert isinstance(tile, TilePolicy)
    for compute in (XF32, ScalarFMAPolicy(4, 4, 8)):
        assert isinstance(compute, ComputePolicy)


def test_the_example_of_the_page():
    assert XF32.op.builtin == "__builtin_amdgcn_mfma_f32_16x16x8_xf32"
    assert (XF32.k_step, XF32.thread_tile_m, XF32.thread_tile_n, XF32.effective_lanes) == (8, 16, 16, 64)
    assert (XF32.frag_size_m, XF32.frag_size_n, XF32.acc_size, XF32.modifiers) == (2, 2, 4, (0, 0, 0))
    lanes = np.arange(64)
    assert np.array_equal(XF32.fragment_a.rows, np.stack([lanes % 16] * 2, 1))
    assert np.array_equal(XF32.fragment_a.ks, 2 * (lanes // 16)[:, None] + [0, 1])
    rows, columns = XF32.thread_tile_offset(np.arange(4))
    assert (rows.tolist(), columns.tolist()) == ([0, 0, 16, 16], [0, 16, 0, 16])
    assert XF32.threads(32, 32) == 256
    assert SINGLE.shared_bytes(XF32) == 2048
    assert validate(SINGLE, XF32) == []


def test_the_page_example_elsewhere_names_the_alternative():
    with pytest.raises(mfma.UnknownNameError, match="on gfx950 use the f32 instructions"):
        MfmaCdna3XF32Policy(target="gfx950")


@pytest.mark.parametrize(
    ("name", "place", "tile", "k_step", "batch", "modifiers"),
    [
        ("f32_32x32x4f16", "m", (64, 32), 4, 1, (0, 0, 1)),
        ("f32_32x32x4f16", "n", (32, 64), 4, 1, (1, 0, 0)),
        ("f32_32x32x4f16", "batch", (32, 32), 4, 2, (0, 0, 0)),
        ("f32_32x32x4f16", "k", (32, 32), 8, 1, (0, 0, 0)),
        ("f32_16x16x1f32", "m", (64, 16), 1, 1, (0, 0, 4)),
        ("f32_16x16x1f32", "n", (16, 64), 1, 1, (2, 0, 0)),
        ("i32_4x4x4i8", "m", (64, 4), 4, 1, (0, 0, 0)),
        ("i32_4x4x4i8", "n", (4, 64), 4, 1, (4, 0, 0)),
        ("i32_4x4x4i8", "k", (4, 4), 64, 1, (0, 0, 0)),
        ("f64_4x4x4f64", "m", (16, 4), 4, 1, (0, 0, 0)),
        ("f64_4x4x4f64", "n", (4, 16), 4, 1, (0, 0, 0)),
        ("f64_4x4x4f64", "batch", (4, 4), 4, 4, (0, 0, 0)),
    ],
)
def test_geometry_of_placements(name, place, tile, k_step, batch, modifiers):
    policy = MfmaPolicy(name, placement=place)
    assert (policy.thread_tile_m, policy.thread_tile_n) == tile
    assert (policy.k_step, policy.batch, policy.modifiers) == (k_step, batch, modifiers)


def test_a_broadcast_operand_is_loaded_by_the_lanes_of_one_block():
    for place, lanes in (("m", [64, 16]), ("n", [16, 64])):
        policy = MfmaPolicy("f32_16x16x4f16", placement=place)
        assert [fragment.active[:, 0].sum() for fragment in (policy.fragment_a, policy.fragment_b)] == lanes


@pytest.mark.parametrize("op", mfma.ops(), ids=str)
def test_chains_cover_each_k_of_a_step_once(op):
    for place, width in itertools.product(Placement, (1, 3)):
        policy = MfmaPolicy(op, placement=place, kwidth=width * op.registers.a.elements)
        ks = np.concatenate(policy.chains)
        assert np.array_equal(np.sort(ks), np.arange(policy.k_step))
        assert len(policy.chains) == (op.blocks if place is Placement.K else 1)


@pytest.mark.parametrize("name", ["f32_4x4x4f16", "f64_4x4x4f64", "f32_16x16x1f32"])
def test_effective_lanes(name):
    op = mfma.op(name)
    in_lanes = {"f32_4x4x4f16": 16, "f64_4x4x4f64": 4, "f32_16x16x1f32": 1}[name]
    assert MfmaPolicy(op, placement="m").effective_lanes == 64
    assert MfmaPolicy(op, placement="k").effective_lanes == 64 // in_lanes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MfmaPolicy("f32_16x16x16f16", waves_m=0), "waves_m is 0, but it is a whole number from 1."),
        (lambda: MfmaPolicy("f32_16x16x16f16", tiles_n=True), "tiles_n is True, but it is a whole number from 1."),
        (lambda: MfmaPolicy("f32_16x16x16f16", placement="bath"), "Did you mean batch?"),
        (lambda: MfmaPolicy("f32_16x16x16f16", kwidth=6), "kwidth is 6, but it is a multiple of the 4 elements"),
        (lambda: ScalarFMAPolicy(4, 4, -1), "block_dim_x is -1, but it is a whole number from 1."),
        (lambda: SingleBufferTilePolicy(32, 32, 0), "k_tile_size is 0, but it is a whole number from 1."),
        (lambda: SingleBufferTilePolicy(32, 32, 8, padding=-1), "padding is -1, but it is a whole number from 0."),
        (lambda: Memory(b_order="col"), "b_order is 'col', but B is stored by 'row' or by 'column'."),
        (lambda: Conversion("up"), "rounding is 'up'"),
        (lambda: Gemm(SingleBufferTilePolicy(32, 32, 7), XF32), "No kernel can be made of these policies: k_tile_size"),
    ],
)
def test_impossible_records(make, message):
    with pytest.raises(mfma.OptionError, match=re.escape(message)):
        make()


FIELDS = "block_tile_m", "block_tile_n", "k_tile_size"
ELSEWHERE = Device("MI250X", "gfx90a", 220, 4, 1700, 128, 3.2, {})


Single, Double, Direct = SingleBufferTilePolicy, DoubleBufferTilePolicy, DirectToLdsTilePolicy


@pytest.mark.parametrize(
    ("tile", "compute", "options", "field", "nearest", "words"),
    [
        (Single(64, 32, 8), XF32, {}, "block_tile_m", 32, "2 waves of 16 rows cover 32; 4 for waves_m"),
        (Single(32, 40, 8), XF32, {}, "block_tile_n", 32, "2 waves of 16 columns cover 32."),
        (Single(32, 32, 12), XF32, {}, "k_tile_size", 16, "must be a multiple of 8"),
        (Single(32, 32, 3), XF32, {}, "k_tile_size", 8, "must be a multiple of 8"),
        (Single(32, 32, 8), ScalarFMAPolicy(8, 8, 8), {}, "block_dim_x", 4, "stand 4 across a block of 32"),
        (Single(30, 32, 8), ScalarFMAPolicy(8, 8, 4), {}, "block_tile_m", 32, "must be a multiple of 8"),
        (Single(32, 32, 512), XF32, {}, "k_tile_size", 256, "take 131072 bytes of LDS"),
        (Double(32, 32, 256), XF32, {}, "k_tile_size", 128, "2 buffers of strips"),
        (Single(32, 32, 256, padding=1), XF32, {}, "k_tile_size", 248, "take 65792 bytes"),
        (
            Single(512, 512, 64),
            MfmaPolicy("f64_16x16x4f64", 4, 4, 8, 8, kwidth=16),
            {},
            "k_tile_size",
            64,
            "even with the shortest strip: make the block smaller",
        ),
        (Single(160, 64, 8), MfmaPolicy("f32_16x16x8_xf32", 10, 2, 1, 2), {}, "threads", 1024, "16 waves"),
        (Single(64, 128, 8), ScalarFMAPolicy(2, 2, 64), {}, "threads", 1024, "1024 threads, each"),
        (Single(256, 128, 8), MfmaPolicy("f32_32x32x8f16", 1, 1, 8, 4), {}, "accumulation registers", 256, "512"),
        (Single(32, 32, 8), ScalarFMAPolicy(32, 16, 2), {}, "architectural registers", 256, "at most 256"),
        (Single(256, 256, 8), MfmaPolicy("f32_32x32x8f16", 4, 4, 2, 2), {}, "registers", None, None),
        (Single(256, 512, 8), MfmaPolicy("f32_32x32x8f16", 4, 4, 2, 4), {}, "registers", 128, "16 waves"),
        (Single(32, 32, 32, swizzle=12), F16, {}, "swizzle", 8, "number a power of two"),
        (Single(32, 32, 32, padding=2, swizzle=8), F16, {}, "padding", 0, "a tile has one of the two"),
        (Direct(32, 32, 8, padding=2), XF32, {}, "padding", 0, "use swizzle"),
        (Direct(32, 32, 32, swizzle=1), F16, {"b_order": "column"}, "swizzle", 2, "elements of a word"),
        (Direct(16, 16, 8), MfmaPolicy("f32_16x16x8_xf32"), {}, None, None, None),
        (
            Direct(4, 64, 4),
            MfmaPolicy("f32_4x4x4f16", placement="n"),
            {"b_order": "column"},
            "k_tile_size",
            32,
            "a strip of A has 32 bytes",
        ),
        (Direct(32, 32, 16), F16, {"b_order": "column", "a": "f32"}, "a", "f16", "cannot convert it"),
        (Direct(32, 32, 16), F16, {}, "b_order", "column", "2 f16 of a word"),
    ],
)
def test_every_rule_with_its_nearest_legal_value(tile, compute, options, field, nearest, words):
    broken = {rule.field: rule for rule in validate(tile, compute, memory=Memory(**options))}
    if words is None:
        assert field not in broken
        return
    rule = broken[field]
    assert rule.nearest == nearest
    assert words in str(rule)
    assert str(rule).endswith(f"The nearest legal {field} is {nearest}.")


def test_another_device():
    (rule,) = validate(SINGLE, XF32, ELSEWHERE)
    assert str(rule) == (
        "the policy is for gfx942, but MI250X is a gfx90a. The nearest legal device is one of target gfx942."
    )
    with pytest.raises(mfma.UnknownNameError, match="H100"):
        validate(SINGLE, XF32, "H100")
    assert validate(SINGLE, XF32, device("MI300A")) == []


def test_all_broken_rules_come_at_once():
    broken = validate(SingleBufferTilePolicy(100, 100, 999), MfmaPolicy("f32_32x32x8f16", 5, 5))
    fields = [rule.field for rule in broken]
    assert fields == ["block_tile_m", "block_tile_n", "k_tile_size", "k_tile_size", "threads", "registers"]


@settings(deadline=None, max_examples=80)
@given(
    block=st.tuples(st.integers(1, 300), st.integers(1, 300), st.integers(1, 300)),
    name=st.sampled_from(["f32_32x32x8f16", "f32_16x16x8_xf32", "f32_4x4x4f16", "f64_16x16x4f64"]),
    waves=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    padding=st.integers(0, 9),
)
def test_the_nearest_block_and_strip_are_legal(block, name, waves, padding):
    policy = MfmaPolicy(name, *waves)
    fixed = {rule.field: rule.nearest for rule in validate(SingleBufferTilePolicy(*block, padding=padding), policy)}
    m, n, k = (fixed.get(field, size) for field, size in zip(FIELDS, block, strict=True))
    for _ in range(2):  # the strip may be too long for the block that was asked for, or for the one that it became
        again = {rule.field: rule for rule in validate(SingleBufferTilePolicy(m, n, k, padding=padding), policy)}
        assert not again.keys() & {"block_tile_m", "block_tile_n"}
        k = again["k_tile_size"].nearest if "k_tile_size" in again else k
    if "k_tile_size" in again:
        assert "make the block smaller" in str(again["k_tile_size"])


class Uneven(MfmaPolicy):
    """A policy of a user that forgets one of its waves."""

    __init__ = MfmaPolicy.__init__

    def broken_rules(self, block_tile_m, block_tile_n):
        return []

    def thread_tile_offset(self, owners):
        return owners * 0, owners * 0


def test_owners_of_a_users_policy_must_cover_the_block():
    (rule,) = validate(SINGLE, Uneven("f32_16x16x8_xf32", 2, 2))
    assert "the 4 owners of 16 × 16 outputs do not cover the block of 32 × 32 exactly once" in str(rule)


LAYOUTS = st.builds(
    lambda rows, chunks, chunk, bits, padding, swizzled: TileLayout(
        rows, chunks * chunk, bits, 0 if swizzled else padding, chunk if swizzled else 0
    ),
    st.integers(1, 40), st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 4, 8]), st.sampled_from([8, 16, 32, 64]),
    st.integers(0, 9), st.booleans(),
)  # fmt: skip


@given(LAYOUTS)
def test_every_element_has_a_place_of_its_own(layout):
    row, k = np.indices((layout.rows, layout.k))
    places = layout.address(row, k)
    assert len(np.unique(places)) == places.size
    assert places.min() >= 0
    assert places.max() + layout.bits // 8 <= layout.bytes
    assert np.all(places % (layout.bits // 8) == 0)


def brute_force(addresses, size, direction, active):
    """Cycles, lane by lane and word by word."""
    count = addresses.shape[1]
    lanes = [lane for lane in range(64) if active[lane]]

    def fits(width):
        each = width // size
        return count % each == 0 and all(
            addresses[lane][i] % width == 0
            and all(addresses[lane][i + j] - addresses[lane][i] == j * size for j in range(each))
            for lane, i in itertools.product(lanes, range(0, count, each))
        )

    width = next(w for w in (16, 8, 4, 2, 1) if w >= size and fits(w))
    cycles = ideal = 0
    for start in range(0, count, width // size):
        for phase in PHASES[direction, max(width, 4)]:
            banks = {}
            for lane in set(phase) & set(lanes):
                for byte in range(addresses[lane][start], addresses[lane][start] + width):
                    banks.setdefault(byte // 4 % 32, set()).add(byte // 4)
            cycles += max((len(words) for words in banks.values()), default=0)
            ideal += bool(banks)
    return cycles, ideal


@settings(deadline=None, max_examples=150)
@given(
    layout=LAYOUTS,
    direction=st.sampled_from(["read", "write"]),
    count=st.sampled_from([1, 2, 4, 8]),
    seed=st.integers(0, 2**32 - 1),
)
def test_bank_conflicts_by_brute_force(layout, direction, count, seed):
    rng = np.random.default_rng(seed)
    count = min(count, layout.k)
    rows = rng.integers(0, layout.rows, 64)[:, None]
    first = rng.integers(0, layout.k // count, 64)[:, None] * count
    addresses = layout.address(rows, first + np.arange(count))
    active = rng.random(64) < 0.8
    active[0] = True
    found = access(addresses, layout.bits // 8, direction, active)
    assert (found.cycles, found.ideal) == brute_force(addresses, layout.bits // 8, direction, active)


def test_phases_take_every_lane_once():
    for phases in PHASES.values():
        assert sorted(lane for phase in phases for lane in phase) == list(range(64))


def test_known_conflicts():
    lanes = np.arange(64)[:, None]
    assert access(4 * lanes, 4, "read").conflicts == 0
    assert access(8 * lanes, 4, "read").conflicts == 2  # stride of two words: two lanes of a phase in each bank
    assert access(0 * lanes, 4, "read").conflicts == 0  # one word for all
    assert access(128 * lanes, 4, "write").cycles == 64
    assert access(2 * lanes, 2, "write").cycles == 2  # two lanes in a word, 32 lanes at a time


@pytest.mark.parametrize("op", ["f32_32x32x8f16", "f32_16x16x16f16", "f32_16x16x32_fp8_fp8", "f32_32x32x4_xf32"])
@pytest.mark.parametrize("row_bytes", [64, 128, 256])
def test_padding_and_swizzle_avoid_the_conflicts_of_loads(op, row_bytes):
    policy = MfmaPolicy(op, 2, 2)
    size = 2 * policy.thread_tile_m
    k = row_bytes * 8 // policy.a.bits
    loads = {}
    for how in ({}, {"padding": policy.kwidth}, {"swizzle": policy.kwidth}):
        found = accesses(SingleBufferTilePolicy(size, size, k, **how), policy)
        loads[next(iter(how), "plain")] = found["load A"].conflicts + found["load B"].conflicts
    assert loads["plain"] > 0
    assert loads["padding"] == loads["swizzle"] == 0


def test_direct_loads_store_without_conflicts():
    found = accesses(DirectToLdsTilePolicy(32, 32, 32), XF32)
    assert found["store A"].conflicts == 0
    assert found["store A"].instructions == 32 * 32 * 4 // 256
