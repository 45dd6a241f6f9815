"""Instructions across lanes: reading and writing single lanes, counting below a lane, DPP and indexed registers."""

import pytest

from emulator.forms import (
    EXEC,
    EXECS,
    LANES,
    M0,
    Registers,
    check_lanes,
    covers,
    execute,
    get,
    noise,
    put,
    same,
)  # fmt: skip
from mfma.emulator.semantics.dpp import source_lanes
from mfma.emulator.semantics.machine import Mode

WORD = 0xFFFF_FFFF

# single lanes

FIRST = covers("test_first_lane", ["v_readfirstlane_b32 s40, v10"])[0]


@pytest.mark.parametrize(
    ("exec_", "lane"), [(1, 0), (0xF0, 4), (1 << 63, 63), (1 << 32 | 1 << 50, 32), ((1 << 64) - 1, 0), (0, 0)]
)
def test_first_lane(exec_, lane):
    before = noise(FIRST)
    put(before, "s", EXEC, exec_, 2)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    expected.s[40] = before.v[10, lane]
    same(FIRST, execute(FIRST, before), expected)


READ = {
    "v_readlane_b32 s40, v10, 3": lambda before: 3,
    "v_readlane_b32 s40, v10, 63": lambda before: 63,
    "v_readlane_b32 s40, v10, s20": lambda before: int(before.s[20]) % 64,
    "v_readlane_b32 s40, v10, m0": lambda before: int(before.s[M0]) % 64,
    "v_readlane_b32 vcc_lo, v10, s20": lambda before: int(before.s[20]) % 64,
}


@pytest.mark.parametrize("text", covers("test_read_lane", READ))
@pytest.mark.parametrize("exec_", EXECS)
def test_read_lane(text, exec_):
    before = noise(text)
    put(before, "s", EXEC, exec_, 2)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    expected.s[106 if "vcc" in text else 40] = before.v[10, READ[text](before)]
    same(text, execute(text, before), expected)


WRITE = {
    "v_writelane_b32 v40, s10, 3": lambda before: (before.s[10], 3),
    "v_writelane_b32 v40, s10, m0": lambda before: (before.s[10], int(before.s[M0]) % 64),
    "v_writelane_b32 v40, -1, s20": lambda before: (WORD, int(before.s[20]) % 64),
}


@pytest.mark.parametrize("text", covers("test_write_lane", WRITE))
@pytest.mark.parametrize("exec_", EXECS)
def test_write_lane(text, exec_):
    before = noise(text)
    put(before, "s", EXEC, exec_, 2)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    value, lane = WRITE[text](before)
    expected.v[40, lane] = value
    same(text, execute(text, before), expected)


SWAP = covers("test_swap", ["v_swap_b32 v40, v10"])[0]


@pytest.mark.parametrize("exec_", EXECS)
def test_swap(exec_):
    before = noise(SWAP)
    put(before, "s", EXEC, exec_, 2)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    for lane in range(LANES):
        if exec_ >> lane & 1:
            expected.v[40, lane], expected.v[10, lane] = before.v[10, lane], before.v[40, lane]
    same(SWAP, execute(SWAP, before), expected)


# a lane's number among those of a mask

BELOW = {
    "v_mbcnt_lo_u32_b32 v40, s10, v11": lambda mask, lane: (mask & (1 << lane) - 1 & WORD).bit_count(),
    "v_mbcnt_hi_u32_b32 v40, s10, v11": lambda mask, lane: (mask << 32 & (1 << lane) - 1).bit_count(),
    "v_mbcnt_lo_u32_b32 v40, -1, v11": lambda mask, lane: min(lane, 32),
    "v_mbcnt_hi_u32_b32 v40, -1, v11": lambda mask, lane: max(lane - 32, 0),
}


@pytest.mark.parametrize("text", covers("test_count_below", BELOW))
def test_count_below(text):
    before = noise(text)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    for lane in range(LANES):
        expected.v[40, lane] = (int(before.v[11, lane]) + BELOW[text](int(before.s[10]), lane)) & WORD
    same(text, execute(text, before), expected)


NOTHING = covers("test_nothing", ["v_nop", "v_clrexcp"])


@pytest.mark.parametrize("text", NOTHING)
def test_nothing(text):
    before = noise(text)
    same(text, execute(text, before), before)


UNKNOWN = covers("test_unknown", ["v_screen_partition_4se_b32_e32 v40, v10"])[0]


def test_unknown():
    after = execute(UNKNOWN, noise(UNKNOWN))
    assert after.traps == ["v_screen_partition_4se_b32, whose table AMD has not published"]


# DPP: the lane that each lane reads, or None, from the table of the ISA manual (section 6.2.2 of Vega's and CDNA3's)


def quad_perm(*order):
    return lambda n: n // 4 * 4 + order[n % 4]


def row_shl(count):
    return lambda n: n + count if n % 16 < 16 - count else None


def row_shr(count):
    return lambda n: n - count if n % 16 >= count else None


def row_ror(count):
    return lambda n: n - count if n % 16 >= count else n + 16 - count


CONTROLS = {
    "quad_perm:[1,2,3,0]": quad_perm(1, 2, 3, 0),
    "quad_perm:[3,3,0,1]": quad_perm(3, 3, 0, 1),
    "quad_perm:[0,1,2,3]": quad_perm(0, 1, 2, 3),
    **{f"row_shl:{n}": row_shl(n) for n in (1, 4, 15)},
    **{f"row_shr:{n}": row_shr(n) for n in (1, 8, 15)},
    **{f"row_ror:{n}": row_ror(n) for n in (1, 6, 15)},
    "wave_shl:1": lambda n: n + 1 if n < 63 else None,
    "wave_rol:1": lambda n: n + 1 if n < 63 else 0,
    "wave_shr:1": lambda n: n - 1 if n > 0 else None,
    "wave_ror:1": lambda n: n - 1 if n > 0 else 63,
    "row_mirror": lambda n: n // 16 * 16 + 15 - n % 16,
    "row_half_mirror": lambda n: n // 8 * 8 + 7 - n % 8,
    "row_bcast:15": lambda n: (n & 0x30) - 1 if n > 15 else n,
    "row_bcast:31": lambda n: (n & 0x20) - 1 if n > 31 else n,
    **{f"row_newbcast:{n}": lambda lane, n=n: lane // 16 * 16 + n for n in (0, 5, 15)},
}
MASKS = ("row_mask:0xf bank_mask:0xf", "row_mask:0xa bank_mask:0xf", "row_mask:0xf bank_mask:0x5")
MOVES = {
    f"v_mov_b32_dpp v40, v10 {control} {masks}{bound}": (source, masks, bound)
    for control, source in CONTROLS.items()
    for masks in MASKS
    for bound in ("", " bound_ctrl:1")
}


def written(lane, masks):
    """Whether row_mask and bank_mask let the lane be written; a bank is four lanes of each row."""
    row_mask, bank_mask = (int(mask.split(":")[1], 16) for mask in masks.split())
    return row_mask >> lane // 16 & 1 and bank_mask >> lane % 16 // 4 & 1


def moved(before, register, source, masks, bound, exec_, lane):
    """The value that a lane takes through DPP, or None if it is not written."""
    if not exec_ >> lane & 1 or not written(lane, masks):
        return None
    origin = source(lane)
    if origin is not None and exec_ >> origin & 1:
        return int(before.v[register, origin])
    return 0 if bound else None


@pytest.mark.parametrize("text", covers("test_dpp", MOVES))
def test_dpp(text):
    source, masks, bound = MOVES[text]
    for exec_ in EXECS:
        before = noise(f"{text} {exec_}")
        put(before, "s", EXEC, exec_, 2)
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
        for lane in range(LANES):
            value = moved(before, 10, source, masks, bound, exec_, lane)
            if value is not None:
                expected.v[40, lane] = value
        same(text, execute(text, before), expected)


COMPUTED = {
    "v_add_u32_dpp v40, v10, v11 row_shr:1 row_mask:0xf bank_mask:0xf": lambda a, b: a + b,
    "v_sub_u32_dpp v40, v10, v11 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf": lambda a, b: a - b,
    "v_max_u32_dpp v40, v10, v11 row_bcast:31 row_mask:0xc bank_mask:0xf": max,
    "v_add_u16_dpp v40, v10, v11 row_mirror row_mask:0xf bank_mask:0xf": lambda a, b: a + b & 0xFFFF,
    "v_not_b32_dpp v40, v10 wave_ror:1 row_mask:0xf bank_mask:0xf": lambda a: ~a,
    "v_and_b32_dpp v40, v10, v11 row_newbcast:3 row_mask:0xf bank_mask:0xf": lambda a, b: a & b,
    "v_add_u32_dpp v40, v10, v11 row_shl:3 row_mask:0xf bank_mask:0xf bound_ctrl:1": lambda a, b: a + b,
}


@pytest.mark.parametrize("text", covers("test_dpp_of_arithmetic", COMPUTED))
def test_dpp_of_arithmetic(text):
    """Only the first source moves."""
    function = COMPUTED[text]
    source = next(s for control, s in {**CONTROLS, **EXTRA}.items() if f" {control} " in text)
    masks = " ".join(word for word in text.split() if word.startswith(("row_mask", "bank_mask")))
    for exec_ in EXECS:
        before = noise(f"{text} {exec_}")
        put(before, "s", EXEC, exec_, 2)
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
        for lane in range(LANES):
            value = moved(before, 10, source, masks, "bound_ctrl" in text, exec_, lane)
            if value is not None:
                rest = [int(before.v[11, lane])] if "v11" in text else []
                expected.v[40, lane] = function(value, *rest) & WORD
        same(text, execute(text, before), expected)


EXTRA = {
    "quad_perm:[1,0,3,2]": quad_perm(1, 0, 3, 2),
    "row_newbcast:3": lambda n: n // 16 * 16 + 3,
    "row_shl:3": row_shl(3),
}

CARRY = covers(
    "test_dpp_of_carries", ["v_add_co_u32_dpp v40, vcc, v10, v11 row_shr:1 row_mask:0x7 bank_mask:0xf bound_ctrl:1"]
)[0]


@pytest.mark.parametrize("exec_", EXECS)
def test_dpp_of_carries(exec_):
    """A lane that is not written has no carry."""
    before = noise(CARRY)
    put(before, "s", EXEC, exec_, 2)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    carries = 0
    for lane in range(LANES):
        value = moved(before, 10, row_shr(1), "row_mask:0x7 bank_mask:0xf", True, exec_, lane)
        if value is not None:
            total = value + int(before.v[11, lane])
            expected.v[40, lane] = total & WORD
            carries |= (total >> 32) << lane
    put(expected, "s", 106, carries, 2)
    same(CARRY, execute(CARRY, before), expected)


WIDE = covers("test_dpp_of_pairs", ["v_mov_b64_dpp v[40:41], v[10:11] row_newbcast:7 row_mask:0xf bank_mask:0xf"])[0]


def test_dpp_of_pairs():
    before = noise(WIDE)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    for lane in range(LANES):
        expected.v[40:42, lane] = before.v[10:12, lane // 16 * 16 + 7]
    same(WIDE, execute(WIDE, before), expected)


SELECT = covers(
    "test_dpp_of_signs", ["v_cndmask_b32_dpp v40, -v10, |v11|, vcc quad_perm:[1,2,3,0] row_mask:0xf bank_mask:0xf"]
)[0]


def test_dpp_of_signs():
    before = noise(SELECT)
    vcc = get(before, "s", 106, 2)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    for lane in range(LANES):
        moved_value = int(before.v[10, quad_perm(1, 2, 3, 0)(lane)]) ^ 1 << 31
        expected.v[40, lane] = int(before.v[11, lane]) & 0x7FFF_FFFF if vcc >> lane & 1 else moved_value
    same(SELECT, execute(SELECT, before), expected)


@pytest.mark.parametrize("ctrl", [0x100, 0x110, 0x120, 0x12F + 2, 0x144, 0x160, 0x1FF])
def test_reserved_controls(ctrl):
    with pytest.raises(ValueError, match="is reserved"):
        source_lanes(ctrl)


# indexed registers: M0[7:0] is added where M0[15:12] says

INDEXED = {
    "v_mov_b32_e32 v40, v10": (0b1001, 1),
    "v_add_u32_e32 v40, v10, v10": (0b1011, 2),
    "v_add3_u32 v40, v10, v10, v10": (0b1111, 3),
    "v_mov_b64_e32 v[40:41], v[10:11]": (0b1001, 1),
}


@pytest.mark.parametrize("text", covers("test_indexed_registers", INDEXED))
@pytest.mark.parametrize("exec_", EXECS)
def test_indexed_registers(text, exec_):
    allowed, sources = INDEXED[text]
    dwords = 2 if "b64" in text else 1
    for enabled in range(16):
        if enabled & ~allowed:
            continue
        before = noise(f"{text} {enabled}")
        put(before, "s", EXEC, exec_, 2)
        before.s[M0] = enabled << 12 | 0x20 | 0xABC << 16
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
        target = 40 + 0x20 * (enabled >> 3 & 1)
        for lane in range(LANES):
            if exec_ >> lane & 1:
                for part in range(dwords):
                    values = (int(before.v[10 + part + 0x20 * (enabled >> i & 1), lane]) for i in range(sources))
                    expected.v[target + part, lane] = sum(values) & WORD
        same(text, execute(text, before, Mode(gpr_idx_en=True)), expected)


HALF = covers("test_indexed_destination_is_also_read", ["v_add_i16 v40, v10, v11", "v_dot4c_i32_i8_e32 v40, v10, v11"])


def test_indexed_destination_is_also_read():
    for text, old in ((HALF[0], lambda d: d & 0xFFFF_0000), (HALF[1], lambda d: d)):
        before = noise(text)
        before.v[10] = 0  # the sum or the product is 0
        before.v[11] = 0
        before.s[M0] = 0x8020
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
        expected.v[0x48] = [old(int(value)) for value in before.v[0x48]]
        same(text, execute(text, before, Mode(gpr_idx_en=True)), expected)


def test_index_does_nothing_without_the_mode():
    check_lanes("v_mov_b32_e32 v40, v10", lambda a: a)
