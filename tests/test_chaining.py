"""Feeding D to the next instruction: every answer is executed, on labels for placement and on numbers for bits."""

import itertools
from collections import Counter
from functools import cache

import numpy as np
import pytest

import mfma
from mfma.errors import OptionError, UnknownNameError
from mfma.isa.accumulation import GroupSum, IntegerSum
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.layout import layout
from mfma.layout.chaining import chain, chains
from mfma.layout.moves import means
from mfma.numerics.nans import same_bits

ALL = [way for first, second in itertools.product(DENSE, DENSE) for way in chains(first, second)]


@cache
def ordered():
    """Chains that fit in some order of k; to find them takes seconds."""
    return [way for way in ALL if way.k_order is not None]


def placement(way):
    """Chains of equal placement: D of one shape and width, and an operand of one layout and width."""
    first, second = way.first, way.second
    d = first.out.bits, first.m, first.n, first.blocks
    return *d, second.m, second.k, second.blocks, second.a.bits, way.operand, way.transposed


DISTINCT = list({placement(way): way for way in ALL}.values())


def sizes(way):
    """Blocks, outer length and k that whole tiles of both instructions cover, from the shapes alone."""
    rows, columns = (way.first.n, way.first.m) if way.transposed else (way.first.m, way.first.n)
    outer, k = (rows, columns) if way.operand == "A" else (columns, rows)
    second = way.second
    return (
        np.lcm(way.first.blocks, second.blocks),
        np.lcm(outer, second.m if way.operand == "A" else second.n),
        np.lcm(k, second.k),
    )


def oriented(way, matrix):
    """The operand (blocks, rows, columns) as (blocks, outer, k), or back."""
    return matrix if way.operand == "A" else matrix.swapaxes(-1, -2)


def registers_of_d(way, operand):
    """D tile by tile, (tile, 64, elements), such that together they are the operand (transposed)."""
    blocks, outer, k = sizes(way)
    first, lay = way.first, layout(way.first, "D")
    whole = oriented(way, operand)
    swapped = (way.operand == "A") == way.transposed  # then outer runs along the columns of D
    o, c = (first.n, first.m) if swapped else (first.m, first.n)
    tiles = []
    for b, row, column in itertools.product(range(0, blocks, first.blocks), range(0, outer, o), range(0, k, c)):
        tile = whole[b : b + first.blocks, row : row + o, column : column + c]
        tiles.append(lay.pack(tile.swapaxes(-1, -2) if swapped else tile).reshape(64, -1))
    return np.stack(tiles)


def tiles_of_operand(way, operand):
    """Registers of the operand of every second instruction, (instruction, 64, elements)."""
    blocks, outer, k = sizes(way)
    second, lay = way.second, layout(way.second, way.operand)
    o = second.m if way.operand == "A" else second.n
    whole = oriented(way, operand)
    return np.stack(
        [
            lay.pack(oriented(way, whole[b : b + second.blocks, row : row + o, column : column + second.k])).reshape(
                64, -1
            )
            for b, row, column in itertools.product(
                range(0, blocks, second.blocks), range(0, outer, o), range(0, k, second.k)
            )
        ]
    )


def labels(way):
    blocks, outer, k = sizes(way)
    return oriented(way, np.arange(blocks * outer * k).reshape(blocks, outer, k))


def fed(way, d):
    """Operand registers put together from D (tile, 64, elements) by the answer, without a move between lanes."""
    bits, wide = (way.second.a.bits, way.first.out.bits // 32)
    built = np.zeros((way.instructions, 64, d.shape[0] * d.shape[2] // way.instructions), d.dtype)
    filled = np.zeros(built.shape, int)
    for feed in way.feeds:
        for position, source in enumerate(feed.sources):
            element = feed.vgpr * 32 // bits + position
            built[feed.instruction, :, element] = d[source.tile, :, source.vgpr // wide]
            filled[feed.instruction, :, element] += 1
    assert (filled == 1).all()
    return built


def test_every_pair_of_instructions_is_looked_at():
    assert len(ALL) == 32 * 32 * 4
    assert len(ordered()) == 548
    assert sum(way.direct for way in ALL) == 142


@pytest.mark.parametrize("name", ["f32_32x32x8f16", "f32_16x16x16f16"])
def test_attention_without_lds(name):
    """D^T registers 4c..4c+3 are the A operand of k-chunk c (ROCm/composable_kernel issue 1514)."""
    fits = chain(name, name, "A", transposed=True)
    assert fits.direct
    assert not fits.changes_rounding
    assert fits.moves == ()
    assert fits.conversion == "f32 to f16, 2 to a register"
    assert {(f.instruction, f.vgpr): [s.vgpr for s in f.sources] for f in fits.feeds} == {
        (c, v): [4 * c + 2 * v, 4 * c + 2 * v + 1] for c in range(fits.instructions) for v in range(2)
    }
    op = mfma.op(name)
    d = np.random.default_rng(1).permutation(op.m * op.n).reshape(1, op.m, op.n)
    written = op.layout("D").pack(d)
    for c in range(op.m // op.k):
        chunk = d.swapaxes(1, 2)[:, :, op.k * c : op.k * (c + 1)]
        np.testing.assert_array_equal(written[:, 4 * c : 4 * c + 4], op.layout("A").pack(chunk))


def test_d_as_it_is_holds_only_its_diagonal_as_a():
    wrong = chain("f32_16x16x16f16", "f32_16x16x16f16", "A")
    assert not wrong.direct
    assert wrong.k_order is None
    assert wrong.in_place == 16
    assert not chain("f32_32x32x8f16", "f32_32x32x8f16", "A").direct


def test_a_of_d_transposed_is_b_of_d():
    for way in ALL:
        if way.operand == "A":
            mirror = chain(way.first, way.second, "B", transposed=not way.transposed)
            assert way.k_order == mirror.k_order
            assert [feed.sources for feed in way.feeds] == [feed.sources for feed in mirror.feeds]


def title(way):
    return f"D{' transposed' * way.transposed} of {way.first} as {way.operand} of {way.second}"


def short_or_long(way):
    """Pairs of 4x4 and 32x32 tiles need hundreds of registers at a time."""
    far_apart = {way.first.m, way.second.m} == {4, 32}
    return pytest.param(way, marks=pytest.mark.long if far_apart else ())


@pytest.mark.parametrize("way", list(map(short_or_long, DISTINCT)), ids=title)
def test_registers_are_the_operand(way):
    operand = labels(way)
    d, wanted = registers_of_d(way, operand), tiles_of_operand(way, operand)
    assert way.tiles == len(d)
    assert way.instructions == len(wanted)
    assert way.in_place == np.sum(d.swapaxes(1, 2).reshape(-1, 64).T == wanted.swapaxes(1, 2).reshape(-1, 64).T)
    if way.k_order is not None:
        assert sorted(way.k_order) == list(range(way.k))
        along_k = oriented(way, operand)[..., list(way.k_order)]
        np.testing.assert_array_equal(fed(way, d), tiles_of_operand(way, oriented(way, along_k)))
    else:
        assert way.feeds == ()
    if way.direct:
        assert way.moves == ()
        return
    elements = d.shape[2]
    built = np.full(wanted.shape, -1)
    for move in way.moves:
        first = move.vgpr * 32 // way.second.a.bits + move.first
        for pull in move.pulls:
            receivers, sources = np.array(pull.lanes).T
            for position, slot in enumerate(pull.slots):
                assert (built[move.instruction, receivers, first + position] == -1).all()
                built[move.instruction, receivers, first + position] = d[slot // elements, sources, slot % elements]
        assert [move.source_lanes[lane] for pull in move.pulls for lane, _ in pull.lanes] == [
            source for pull in move.pulls for _, source in pull.lanes
        ]
    np.testing.assert_array_equal(built, wanted)
    assert way.whole_registers == all(len(move.pulls) == 1 for move in way.moves)


def test_no_order_of_k_helps_where_none_is_given():
    """A lane then holds other rows than the operand wants in it, so no choice of registers can do."""
    for way in DISTINCT:
        if way.k_order is not None:
            continue
        blocks, outer, k = sizes(way)
        rows = oriented(way, np.broadcast_to(np.arange(blocks * outer).reshape(blocks, outer, 1), (blocks, outer, k)))
        held, wanted = (
            x.swapaxes(0, 1).reshape(64, -1) for x in (registers_of_d(way, rows), tiles_of_operand(way, rows))
        )
        assert any(Counter(held[lane].tolist()) != Counter(wanted[lane].tolist()) for lane in range(64)), str(way)


def groups(way, order):
    """What the accumulation record rounds together: sets of k, one after the other."""
    accumulation = way.second.accumulation
    cut = [order[at : at + accumulation.group] for at in range(0, len(order), accumulation.group)]
    if isinstance(accumulation, GroupSum) and accumulation.parity:
        return [{frozenset(group[0::2]), frozenset(group[1::2])} for group in cut]
    return [{frozenset(group)} for group in cut]


def test_rounding_changes_if_k_crosses_groups():
    for way in ordered():
        order = list(way.k_order)
        crossed = groups(way, order) != groups(way, list(range(way.k)))
        assert way.changes_rounding == (crossed and not isinstance(way.second.accumulation, IntegerSum))
        assert sorted(itertools.chain(*way.groups_after)) == list(range(way.k))
        if not way.changes_rounding and not isinstance(way.second.accumulation, IntegerSum):
            assert way.groups_before == way.groups_after


def test_even_and_odd_k_are_rounded_apart():
    """The 8-bit floats sum even and odd k separately, so trading one for the other within a group shows."""
    way = chain("f32_32x32x8f16", "f32_32x32x16_fp8_fp8", "B")
    assert not way.changes_rounding
    order = list(way.k_order)
    order[0], order[1] = order[1], order[0]
    vars(way)["k_order"] = tuple(order)  # in place of the cached answer
    assert way.groups_after == way.groups_before
    assert way.changes_rounding
    rng = np.random.default_rng(6)
    x, y = (random_operand(rng, way.second.a, shape) for shape in ((64, way.k), (way.k, 64)))
    traded, ascending = (mfma.matmul(x, y, op=way.second, k_order=k) for k in (order, None))
    assert not same_bits(traded, ascending, way.second.out).all()


def matched(allowed):
    """Whether every slot can have a source of its own (augmenting paths)."""
    taken = {}

    def place(slot, seen):
        for source in allowed[slot]:
            if source not in seen:
                seen.add(source)
                if source not in taken or place(taken[source], seen):
                    taken[source] = slot
                    return True
        return False

    return all(place(slot, set()) for slot in range(len(allowed)))


def test_no_other_choice_of_registers_would_keep_the_rounding():
    """Where the order changes the rounding, no assignment of D's registers leaves every k in its group."""
    judged = {(placement(way), way.second.accumulation): way for way in ordered() if way.changes_rounding}
    for way in judged.values():
        k = way.k
        blocks, outer, _ = sizes(way)
        rows = oriented(way, np.broadcast_to(np.arange(blocks * outer).reshape(blocks, outer, 1), (blocks, outer, k)))
        ks = oriented(way, np.broadcast_to(np.arange(k), (blocks, outer, k)))
        (held_rows, held_k), (wanted_rows, wanted_k) = (
            [x.swapaxes(0, 1).reshape(64, -1) for x in (make(way, rows), make(way, ks))]
            for make in (registers_of_d, tiles_of_operand)
        )
        group = way.second.accumulation.group
        allowed = [
            [
                source
                for source in range(held_k.shape[1])
                if (held_rows[:, source] == wanted_rows[:, slot]).all()
                and (held_k[:, source] // group == wanted_k[:, slot] // group).all()
            ]
            for slot in range(wanted_k.shape[1])
        ]
        assert not matched(allowed), str(way)


def random_operand(rng, format, shape):
    if format.is_integer:
        return rng.integers(-6, 7, shape).astype(format.dtype)
    numbers = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
    return mfma.encode(numbers, format.name)


def converted(values, format, scale):
    """D in the format of the operand, scaled to its range as a kernel does: rounded, and saturated if need be."""
    scaled = values.astype(np.float64) * scale
    if format.is_integer:
        return np.clip(np.rint(scaled), -127, 127).astype(np.int8)
    return mfma.encode(scaled, format.name, overflow="saturate")


def executed(way, rng):
    """The second product from the registers of the first, and its operands as logical matrices."""
    blocks, outer, k = sizes(way)
    first, second = mfma.op(way.first), mfma.op(way.second)
    a = random_operand(rng, first.a, (way.tiles, first.blocks, first.m, first.k))
    b = random_operand(rng, first.b, (way.tiles, first.blocks, first.k, first.n))
    d = first.matmul(a, b)
    swapped = (way.operand == "A") == way.transposed
    tiles = iter(d.swapaxes(-1, -2) if swapped else d)
    o, c = (first.n, first.m) if swapped else (first.m, first.n)
    whole = np.empty((blocks, outer, k), d.dtype)
    for at in itertools.product(range(0, blocks, first.blocks), range(0, outer, o), range(0, k, c)):
        whole[at[0] : at[0] + first.blocks, at[1] : at[1] + o, at[2] : at[2] + c] = next(tiles)
    format, other_format = (second.a, second.b) if way.operand == "A" else (second.b, second.a)
    registers = first.layout("D").pack(d).reshape(way.tiles, 64, -1)
    scale = 2.0 ** -np.rint(np.log2(np.median(np.abs(d.astype(float))) + 1))
    mine = fed(way, converted(registers, format, scale))
    width = second.n if way.operand == "A" else second.m
    other = random_operand(rng, other_format, (blocks, width, k))  # (blocks, its outer index, k)
    ordered = other[..., list(way.k_order)]

    other_layout = second.layout("B" if way.operand == "A" else "A")
    steps, per = k // second.k, (second.m if way.operand == "A" else second.n)
    result = np.empty((blocks, outer, width), second.cd.dtype)
    instruction = 0
    for block, row in itertools.product(range(0, blocks, second.blocks), range(0, outer, per)):
        acc = np.zeros(second.layout("C").register_shape, second.cd.dtype)
        for step in range(steps):
            piece = ordered[block : block + second.blocks, :, step * second.k : (step + 1) * second.k]
            theirs = other_layout.pack(piece.swapaxes(-1, -2) if way.operand == "A" else piece)
            ours = mine[instruction].reshape(second.layout(way.operand).register_shape)
            acc = second(ours, theirs, acc) if way.operand == "A" else second(theirs, ours, acc)
            instruction += 1
        out = second.layout("D").unpack(acc)
        result[block : block + second.blocks, row : row + per] = out if way.operand == "A" else out.swapaxes(-1, -2)
    x, y = converted(whole, format, scale), other.swapaxes(-1, -2)
    if way.operand == "B":
        x, y, result = other, x.swapaxes(-1, -2), result.swapaxes(-1, -2)
    return x, y, result


def arithmetic(way):
    first, second = way.first, way.second
    return placement(way), first.out, second.a, second.b, second.accumulation


def test_chained_products_have_the_bits_of_the_whole_product():
    """Executed in registers, lane by lane, against the product of the logical matrices in the order given."""
    rng = np.random.default_rng(5)
    for way in {arithmetic(way): way for way in ordered()}.values():
        x, y, result = executed(way, rng)
        format = way.second.out
        assert same_bits(result, mfma.matmul(x, y, op=way.second, k_order=way.k_order), format).all(), str(way)
        ascending = same_bits(result, mfma.matmul(x, y, op=way.second), format).all()
        if not way.changes_rounding:
            assert ascending, str(way)
        elif not way.first.out.is_integer:  # sums of small integers are exact in any order
            assert not ascending, str(way)


def test_permuting_k_of_one_operand_only_is_wrong():
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((16, 32), (32, 16)))
    order = chain("f32_16x16x16f16", "f32_16x16x32_fp8_fp8", "B").k_order
    product = mfma.matmul(a, b, op="f32_16x16x16f16")
    np.testing.assert_array_equal(mfma.matmul(a[:, order], b[order, :], op="f32_16x16x16f16"), product)
    assert not np.array_equal(mfma.matmul(a[:, order], b, op="f32_16x16x16f16"), product)


def test_orders_that_users_meet():
    wide = chain("f32_16x16x16f16", "f32_16x16x32_fp8_fp8", "A", transposed=True)
    assert (wide.tiles, wide.instructions) == (2, 1)
    assert wide.changes_rounding
    assert wide.groups_after == ((*range(8), *range(16, 24)), (*range(8, 16), *range(24, 32)))
    assert str(wide).endswith(
        "fits as it lies if both operands take k in the order 0..3, 16..19, 4..7, 20..23, 8..11, 24..27, 12..15, "
        "28..31, which changes the rounding"
    )
    same = chain("f32_32x32x8f16", "f32_32x32x16_fp8_fp8", "A", transposed=True)
    assert not same.changes_rounding
    assert chain("f64_16x16x4f64", "f64_16x16x4f64", "B").direct
    assert chain("f64_16x16x4f64", "f64_16x16x4f64", "B").conversion is None
    assert chain("f32_16x16x16f16", "f32_16x16x8_xf32", "B").conversion is None
    assert chain("f32_4x4x4f16", "f32_4x4x4f16", "B").direct


@pytest.mark.parametrize("rotation", range(1, 16))
def test_means_of_a_rotation(rotation):
    pairs = [(lane, lane // 16 * 16 + (lane - rotation) % 16) for lane in range(64)]
    assert means(pairs) == f"v_mov_b32_dpp row_ror:{rotation}"


@pytest.mark.parametrize("keep", [0, 1, 8, 19, 31])
@pytest.mark.parametrize("flip", [0, 16, 31])
@pytest.mark.parametrize("force", [0, 4])
def test_means_of_a_swizzle(keep, flip, force):
    """ds_swizzle in bit-mask mode reads lane ``(lane & keep | force) ^ flip`` of its 32."""
    pairs = [(lane, lane // 32 * 32 + ((lane % 32 & keep | force) ^ flip)) for lane in range(64)]
    word = means(pairs)
    if word.startswith("ds_swizzle"):
        letters = word.split('"')[1]
        rules = {"p": lambda bit: bit, "i": lambda bit: 1 - bit, "0": lambda bit: 0, "1": lambda bit: 1}
        for lane, source in pairs:
            bits = [rules[letter](lane >> 4 - n & 1) for n, letter in enumerate(letters)]
            assert lane // 32 * 32 + sum(bit << 4 - n for n, bit in enumerate(bits)) == source
    else:
        assert all(lane == source for lane, source in pairs)


def test_means_of_anything_else():
    assert means([(0, 32), (1, 1)]) == "ds_bpermute_b32"
    assert means([(0, 1), (1, 3), (2, 2), (3, 2)]) == "ds_bpermute_b32"


def test_refusals():
    with pytest.raises(OptionError, match=r"^D can become operand A or B of f32_4x4x4f16, not 'C'; as C it needs"):
        chain("f32_4x4x4f16", "f32_4x4x4f16", "C")
    with pytest.raises(OptionError, match=r"^f32_16x16x32_f16 is sparse: its A is compressed"):
        chain("f32_4x4x4f16", SPARSE[0])
    with pytest.raises(UnknownNameError, match=r"exists on gfx908 and gfx90a"):
        chain("f32_32x32x4bf16", "f32_4x4x4f16")
