"""Scalar instructions, against Python's integers."""

import pytest

from emulator import forms
from emulator.forms import (
    ADDRESS,
    EXEC,
    KEEP_SUBNORMALS,
    M0,
    VCC,
    Registers,
    covers,
    execute,
    executed,
    get,
    noise,
    put,
    registers_of,
    same,
    signed,
    tuples,
)  # fmt: skip
from mfma.emulator.interpreter.wave import Status

WORD, LONG = 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF
KEEP = None
"""In the place of a condition: SCC keeps its value."""


def s32(a):
    return signed(a, 32)


def s64(a):
    return signed(a, 64)


def in_range(value):
    return -(1 << 31) <= value < 1 << 31


def with_nonzero(function, bits):
    """The result, and whether it is not zero."""

    def define(*values):
        result = function(*values) & (1 << bits) - 1
        return result, result != 0

    return define


def plain(function):
    """The result; SCC keeps its value."""
    return lambda *values: (function(*values), KEEP)


def first_of(value, order):
    return next((i for i, bit in enumerate(order) if value >> bit & 1), -1)


def differing_from_sign(value, bits):
    return next((i for i in range(1, bits) if (value >> bits - 1 - i ^ value >> bits - 1) & 1), -1)


def field(value, where, bits, is_signed):
    """Bits of ``value``: offset in the low bits of ``where``, width in its bits 22:16."""
    offset, width = where % bits, where >> 16 & 0x7F
    if not width:
        return 0
    number = signed(value, bits) >> offset if is_signed else value >> offset
    return signed(number, min(width, bits)) if is_signed else number & (1 << width) - 1


def quads(value, bits):
    return [value >> low & 15 for low in range(0, bits, 4)]


def whole_quads(value, bits):
    return sum(15 << 4 * i for i, quad in enumerate(quads(value, bits)) if quad)


def quad_mask(value, bits):
    return sum(1 << i for i, quad in enumerate(quads(value, bits)) if quad)


LOGIC = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}
EXEC_LOGIC = {**LOGIC, "andn1": lambda a, b: ~a & b, "orn1": lambda a, b: ~a | b}
CONDITIONS = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}

D, A, B = "s40", "s10", "s11"
D2, A2, B2 = "s[40:41]", "s[10:11]", "s[20:21]"

CASES = {
    f"s_mov_b32 {D}, {A}": plain(lambda a: a),
    f"s_mov_b64 {D2}, {A2}": plain(lambda a: a),
    f"s_not_b32 {D}, {A}": with_nonzero(lambda a: ~a, 32),
    f"s_not_b64 {D2}, {A2}": with_nonzero(lambda a: ~a, 64),
    f"s_sext_i32_i8 {D}, {A}": plain(lambda a: signed(a, 8)),
    f"s_sext_i32_i16 {D}, {A}": plain(lambda a: signed(a, 16)),
    f"s_pack_ll_b32_b16 {D}, {A}, {B}": plain(lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16),
    f"s_pack_lh_b32_b16 {D}, {A}, {B}": plain(lambda a, b: a & 0xFFFF | b >> 16 << 16),
    f"s_pack_hh_b32_b16 {D}, {A}, {B}": plain(lambda a, b: a >> 16 | b >> 16 << 16),
    # arithmetic
    f"s_add_u32 {D}, {A}, {B}": lambda a, b: (a + b, a + b > WORD),
    f"s_sub_u32 {D}, {A}, {B}": lambda a, b: (a - b, a < b),
    f"s_add_i32 {D}, {A}, {B}": lambda a, b: (a + b, not in_range(s32(a) + s32(b))),
    f"s_sub_i32 {D}, {A}, {B}": lambda a, b: (a - b, not in_range(s32(a) - s32(b))),
    f"s_min_i32 {D}, {A}, {B}": lambda a, b: (min(s32(a), s32(b)), s32(a) < s32(b)),
    f"s_min_u32 {D}, {A}, {B}": lambda a, b: (min(a, b), a < b),
    f"s_max_i32 {D}, {A}, {B}": lambda a, b: (max(s32(a), s32(b)), s32(a) >= s32(b)),
    f"s_max_u32 {D}, {A}, {B}": lambda a, b: (max(a, b), a >= b),
    f"s_mul_i32 {D}, {A}, {B}": plain(lambda a, b: a * b),
    f"s_mul_hi_u32 {D}, {A}, {B}": plain(lambda a, b: a * b >> 32),
    f"s_mul_hi_i32 {D}, {A}, {B}": plain(lambda a, b: s32(a) * s32(b) >> 32),
    f"s_abs_i32 {D}, {A}": with_nonzero(lambda a: abs(s32(a)), 32),
    f"s_absdiff_i32 {D}, {A}, {B}": with_nonzero(lambda a, b: abs(s32(a - b)), 32),
    **{f"s_lshl{n}_add_u32 {D}, {A}, {B}": lambda a, b, n=n: ((a << n) + b, (a << n) + b > WORD) for n in (1, 2, 3, 4)},
    # logic
    **{f"s_{name}_b32 {D}, {A}, {B}": with_nonzero(function, 32) for name, function in LOGIC.items()},
    **{f"s_{name}_b64 {D2}, {A2}, {B2}": with_nonzero(function, 64) for name, function in LOGIC.items()},
    # shifts and fields
    f"s_lshl_b32 {D}, {A}, {B}": with_nonzero(lambda a, b: a << b % 32, 32),
    f"s_lshr_b32 {D}, {A}, {B}": with_nonzero(lambda a, b: a >> b % 32, 32),
    f"s_ashr_i32 {D}, {A}, {B}": with_nonzero(lambda a, b: s32(a) >> b % 32, 32),
    f"s_lshl_b64 {D2}, {A2}, {B}": with_nonzero(lambda a, b: a << b % 64, 64),
    f"s_lshr_b64 {D2}, {A2}, {B}": with_nonzero(lambda a, b: a >> b % 64, 64),
    f"s_ashr_i64 {D2}, {A2}, {B}": with_nonzero(lambda a, b: s64(a) >> b % 64, 64),
    f"s_bfe_u32 {D}, {A}, {B}": with_nonzero(lambda a, b: field(a, b, 32, False), 32),
    f"s_bfe_i32 {D}, {A}, {B}": with_nonzero(lambda a, b: field(a, b, 32, True), 32),
    f"s_bfe_u64 {D2}, {A2}, {B}": with_nonzero(lambda a, b: field(a, b, 64, False), 64),
    f"s_bfe_i64 {D2}, {A2}, {B}": with_nonzero(lambda a, b: field(a, b, 64, True), 64),
    f"s_bfm_b32 {D}, {A}, {B}": plain(lambda a, b: (1 << a % 32) - 1 << b % 32),
    f"s_bfm_b64 {D2}, {A}, {B}": plain(lambda a, b: (1 << a % 64) - 1 << b % 64),
    # bits
    f"s_brev_b32 {D}, {A}": plain(lambda a: int(f"{a:032b}"[::-1], 2)),
    f"s_brev_b64 {D2}, {A2}": plain(lambda a: int(f"{a:064b}"[::-1], 2)),
    f"s_bcnt0_i32_b32 {D}, {A}": with_nonzero(lambda a: f"{a:032b}".count("0"), 32),
    f"s_bcnt0_i32_b64 {D}, {A2}": with_nonzero(lambda a: f"{a:064b}".count("0"), 32),
    f"s_bcnt1_i32_b32 {D}, {A}": with_nonzero(lambda a: f"{a:b}".count("1"), 32),
    f"s_bcnt1_i32_b64 {D}, {A2}": with_nonzero(lambda a: f"{a:b}".count("1"), 32),
    f"s_ff0_i32_b32 {D}, {A}": plain(lambda a: first_of(~a, range(32))),
    f"s_ff0_i32_b64 {D}, {A2}": plain(lambda a: first_of(~a, range(64))),
    f"s_ff1_i32_b32 {D}, {A}": plain(lambda a: first_of(a, range(32))),
    f"s_ff1_i32_b64 {D}, {A2}": plain(lambda a: first_of(a, range(64))),
    f"s_flbit_i32_b32 {D}, {A}": plain(lambda a: first_of(a, range(31, -1, -1))),
    f"s_flbit_i32_b64 {D}, {A2}": plain(lambda a: first_of(a, range(63, -1, -1))),
    f"s_flbit_i32 {D}, {A}": plain(lambda a: differing_from_sign(a, 32)),
    f"s_flbit_i32_i64 {D}, {A2}": plain(lambda a: differing_from_sign(a, 64)),
    f"s_bitreplicate_b64_b32 {D2}, {A}": plain(lambda a: sum((a >> i & 1) * 3 << 2 * i for i in range(32))),
    f"s_wqm_b32 {D}, {A}": with_nonzero(lambda a: whole_quads(a, 32), 32),
    f"s_wqm_b64 {D2}, {A2}": with_nonzero(lambda a: whole_quads(a, 64), 64),
    f"s_quadmask_b32 {D}, {A}": with_nonzero(lambda a: quad_mask(a, 32), 32),
    f"s_quadmask_b64 {D2}, {A2}": with_nonzero(lambda a: quad_mask(a, 64), 64),
}


def randomised(text, count=100):
    """Registers with values at the edges in the registers that the text names."""
    operands = registers_of(text)
    drawn = tuples(text, [32 * operand.dwords for operand in operands], count) if operands else [()] * count
    for round_, values in enumerate(drawn):
        before = noise(f"{text} {round_}")
        before.scc = round_ & 1
        for operand, value in zip(operands, values, strict=True):
            put(before, "s", operand.number, value, operand.dwords)
        yield before


def check(text, function, count=100):
    """Run with many values; ``function`` takes the source values and returns the result and SCC."""
    operands = registers_of(text)
    for before in randomised(text, count):
        sources = [get(before, "s", operand.number, operand.dwords) for operand in operands[1:]]
        answer, scc = function(*sources)
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
        put(expected, "s", operands[0].number, answer, operands[0].dwords)
        if scc is not KEEP:
            expected.scc = int(scc)
        same(text, execute(text, before), expected)


@pytest.mark.parametrize("text", covers("test_arithmetic", CASES))
def test_arithmetic(text):
    check(text, CASES[text])


# instructions that read SCC or their own destination: functions of destination, sources and SCC

STATEFUL = {
    f"s_cselect_b32 {D}, {A}, {B}": lambda d, a, b, scc: (a if scc else b, KEEP),
    f"s_cselect_b64 {D2}, {A2}, {B2}": lambda d, a, b, scc: (a if scc else b, KEEP),
    f"s_addc_u32 {D}, {A}, {B}": lambda d, a, b, scc: (a + b + scc, a + b + scc > WORD),
    f"s_subb_u32 {D}, {A}, {B}": lambda d, a, b, scc: (a - b - scc, a < b + scc),
    f"s_cmov_b32 {D}, {A}": lambda d, a, scc: (a if scc else d, KEEP),
    f"s_cmov_b64 {D2}, {A2}": lambda d, a, scc: (a if scc else d, KEEP),
    f"s_bitset0_b32 {D}, {A}": lambda d, a, scc: (d & ~(1 << a % 32), KEEP),
    f"s_bitset0_b64 {D2}, {A}": lambda d, a, scc: (d & ~(1 << a % 64), KEEP),
    f"s_bitset1_b32 {D}, {A}": lambda d, a, scc: (d | 1 << a % 32, KEEP),
    f"s_bitset1_b64 {D2}, {A}": lambda d, a, scc: (d | 1 << a % 64, KEEP),
    f"s_movk_i32 {D}, 0x7fff": lambda d, scc: (0x7FFF, KEEP),
    f"s_movk_i32 {D}, 0x8000": lambda d, scc: (-0x8000, KEEP),
    f"s_cmovk_i32 {D}, 0x8001": lambda d, scc: (-0x7FFF if scc else d, KEEP),
    f"s_addk_i32 {D}, 0x7fff": lambda d, scc: (d + 0x7FFF, not in_range(s32(d) + 0x7FFF)),
    f"s_addk_i32 {D}, 0xffff": lambda d, scc: (d - 1, not in_range(s32(d) - 1)),
    f"s_mulk_i32 {D}, 0x8000": lambda d, scc: (d * -0x8000, KEEP),
}


@pytest.mark.parametrize("text", covers("test_state", STATEFUL))
def test_state(text):
    operands = registers_of(text)
    for before in randomised(text):
        values = [get(before, "s", operand.number, operand.dwords) for operand in operands]
        answer, scc = STATEFUL[text](*values, before.scc)
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
        put(expected, "s", operands[0].number, answer, operands[0].dwords)
        if scc is not KEEP:
            expected.scc = int(scc)
        same(text, execute(text, before), expected)


# comparisons

COMPARISONS = {}
for name, function in CONDITIONS.items():
    COMPARISONS[f"s_cmp_{name}_i32 {A}, {B}"] = lambda a, b, f=function: f(s32(a), s32(b))
    COMPARISONS[f"s_cmp_{name}_u32 {A}, {B}"] = function
    for imm in (0, 1, 0x7FFF, 0x8000, 0xFFFF):
        COMPARISONS[f"s_cmpk_{name}_i32 {A}, {imm:#x}"] = lambda a, f=function, k=imm: f(s32(a), signed(k, 16))
        COMPARISONS[f"s_cmpk_{name}_u32 {A}, {imm:#x}"] = lambda a, f=function, k=imm: f(a, k)
COMPARISONS[f"s_cmp_eq_u64 {A2}, {B2}"] = CONDITIONS["eq"]
COMPARISONS[f"s_cmp_lg_u64 {A2}, {B2}"] = CONDITIONS["lg"]
for width, first in ((32, A), (64, A2)):
    COMPARISONS[f"s_bitcmp0_b{width} {first}, s14"] = lambda a, b, w=width: not a >> b % w & 1
    COMPARISONS[f"s_bitcmp1_b{width} {first}, s14"] = lambda a, b, w=width: a >> b % w & 1


@pytest.mark.parametrize("text", covers("test_compare", COMPARISONS))
def test_compare(text):
    operands = registers_of(text)
    for before in randomised(text):
        if text.startswith("s_cmpk") and before.s[20] % 4:  # near the number of the instruction
            imm = int(text.split()[-1], 0)
            number = signed(imm, 16) if "_i32" in text else imm
            put(before, "s", operands[0].number, number + int(before.s[20] % 4) - 2)
        values = [get(before, "s", operand.number, operand.dwords) for operand in operands]
        expected = Registers(before.v.copy(), before.s.copy(), int(bool(COMPARISONS[text](*values))), before.mode)
        same(text, execute(text, before), expected)


# EXEC

SAVING = {
    **{f"s_{name}_saveexec_b64 {D2}, {A2}": (function, True) for name, function in EXEC_LOGIC.items()},
    **{f"s_{name}_wrexec_b64 {D2}, {A2}": (EXEC_LOGIC[name], False) for name in ("andn1", "andn2")},
}


@pytest.mark.parametrize("text", covers("test_saveexec", SAVING))
def test_saveexec(text):
    function, saves = SAVING[text]
    for values in tuples(text, (64, 64), 100):
        before, (source, exec_) = noise(text), values
        put(before, "s", 10, source, 2)
        put(before, "s", EXEC, exec_, 2)
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
        after = function(source, exec_) & LONG
        put(expected, "s", EXEC, after, 2)
        put(expected, "s", 40, exec_ if saves else after, 2)
        expected.scc = int(after != 0)
        same(text, execute(text, before), expected)


# constants and literals: s_mov reads them as they are, a signed 64-bit literal is extended

CONSTANTS = {
    "s_mov_b32 s40, 64": 64,
    "s_mov_b32 s40, -16": -16,
    "s_mov_b32 s40, 1.0": 0x3F80_0000,
    "s_mov_b32 s40, 0x12345678": 0x1234_5678,
    "s_mov_b64 s[40:41], -1": -1,
    "s_mov_b64 s[40:41], 0.5": 0x3FE0_0000_0000_0000,
    "s_mov_b64 s[40:41], 0.15915494309189532": 0x3FC4_5F30_6DC9_C882,
    "s_mov_b64 s[40:41], 0xffffffff": 0xFFFF_FFFF,
}


@pytest.mark.parametrize("text", covers("test_constants", CONSTANTS))
def test_constants(text):
    for before in randomised(text, 2):
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
        operand = registers_of(text)[0]
        put(expected, "s", operand.number, CONSTANTS[text], operand.dwords)
        same(text, execute(text, before), expected)


SIGNED_LITERALS = {
    "s_ashr_i64 s[40:41], 0x80000000, 4": 0xFFFF_FFFF_F800_0000,
    "s_bfe_i64 s[40:41], 0x80000000, s12": 0xFFFF_FFFF_8000_0000,
    "s_lshr_b64 s[40:41], 0x80000000, 4": 0x0800_0000,
}


@pytest.mark.parametrize("text", covers("test_signed_literals", SIGNED_LITERALS))
def test_signed_literals(text):
    before = noise(text)
    before.s[12] = 64 << 16
    after = execute(text, before)
    assert (get(after, "s", 40, 2), after.scc) == (SIGNED_LITERALS[text], 1)


SOURCES = {
    "s_mov_b32 s40, src_scc": lambda before: before.scc,
    "s_mov_b32 s40, src_vccz": lambda before: int(get(before, "s", VCC, 2) == 0),
    "s_mov_b32 s40, src_execz": lambda before: int(get(before, "s", EXEC, 2) == 0),
    "s_mov_b32 s40, m0": lambda before: int(before.s[M0]),
    "s_mov_b32 s40, vcc_hi": lambda before: int(before.s[VCC + 1]),
    "s_mov_b32 s40, exec_lo": lambda before: int(before.s[EXEC]),
}


@pytest.mark.parametrize("text", covers("test_special_sources", SOURCES))
@pytest.mark.parametrize("zero", [False, True])
def test_special_sources(text, zero):
    before = noise(text)
    before.scc = int(zero)
    if zero:
        put(before, "s", VCC, 0, 2)
        put(before, "s", EXEC, 0, 2)
    assert execute(text, before).s[40] == SOURCES[text](before)


# program flow

BRANCHES = {
    "s_branch 5": lambda before: True,
    "s_branch 0xfffe": lambda before: True,
    "s_cbranch_scc0 5": lambda before: not before.scc,
    "s_cbranch_scc1 5": lambda before: before.scc,
    "s_cbranch_vccz 5": lambda before: get(before, "s", VCC, 2) == 0,
    "s_cbranch_vccnz 0xfffb": lambda before: get(before, "s", VCC, 2) != 0,
    "s_cbranch_execz 5": lambda before: get(before, "s", EXEC, 2) == 0,
    "s_cbranch_execnz 5": lambda before: get(before, "s", EXEC, 2) != 0,
    # no debugger asks for these
    "s_cbranch_cdbgsys 5": lambda before: False,
    "s_cbranch_cdbguser 5": lambda before: False,
    "s_cbranch_cdbgsys_or_user 5": lambda before: False,
    "s_cbranch_cdbgsys_and_user 5": lambda before: False,
}


@pytest.mark.parametrize("text", covers("test_branches", BRANCHES))
@pytest.mark.parametrize("masks", [0, 1, 1 << 63])
@pytest.mark.parametrize("scc", [0, 1])
def test_branches(text, masks, scc):
    before = noise(text)
    before.scc = scc
    put(before, "s", VCC, masks, 2)
    put(before, "s", EXEC, masks, 2)
    offset = signed(int(text.split()[1], 0), 16)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    expected.pc = ADDRESS + 4 + (4 * offset if BRANCHES[text](before) else 0)
    for engine in forms.ENGINES:
        got = executed(text, before, None, engine)
        got.status = Status.READY  # far from its start, the wave lets others run at a backward jump
        same(text, got, expected)


FLOW = covers(
    "test_calls",
    ["s_getpc_b64 s[40:41]", "s_setpc_b64 s[10:11]", "s_swappc_b64 s[40:41], s[10:11]", "s_call_b64 s[40:41], 7"],
)


def test_calls():
    for text, link, target in (
        (FLOW[0], True, ADDRESS + 4),
        (FLOW[1], False, 0x1234_5678_9ABC),
        (FLOW[2], True, 0x1234_5678_9ABC),
        (FLOW[3], True, ADDRESS + 4 + 28),
    ):
        before = noise(text)
        put(before, "s", 10, 0x1234_5678_9ABC, 2)
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode, target)
        if link:
            put(expected, "s", 40, ADDRESS + 4, 2)
        same(text, execute(text, before), expected)


NOTHING = covers(
    "test_nothing",
    [
        "s_nop 3", "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_setprio 2", "s_icache_inv", "s_incperflevel 1",
        "s_decperflevel 1", "s_ttracedata", "s_sendmsg sendmsg(MSG_INTERRUPT)", "s_wakeup", "s_sethalt 0",
        "s_setkill 0", "s_trap 3",
    ],
)  # fmt: skip


@pytest.mark.parametrize("text", NOTHING)
def test_nothing(text):
    before = noise(text)
    same(text, execute(text, before), before)


STATUSES = {
    "s_endpgm": Status.ENDED,
    "s_endpgm_saved": Status.ENDED,
    "s_endpgm_ordered_ps_done": Status.ENDED,
    "s_setkill 1": Status.ENDED,
    "s_barrier": Status.BARRIER,
    "s_sleep 1": Status.YIELDED,
}


@pytest.mark.parametrize("text", covers("test_status", STATUSES))
def test_status(text):
    before = noise(text)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode, status=STATUSES[text])
    same(text, execute(text, before), expected)


TRAPS = covers(
    "test_traps",
    [
        "s_trap 2", "s_sethalt 1", "s_sendmsghalt sendmsg(MSG_INTERRUPT)", "s_rfe_b64 s[10:11]", "s_setvskip s10, s11",
        "s_rfe_restore_b64 s[10:11], s12", "s_getreg_b32 s40, hwreg(31)",
    ],
)  # fmt: skip


@pytest.mark.parametrize("text", TRAPS)
def test_traps(text):
    before = noise(text)
    after = execute(text, before)
    assert len(after.traps) == 1
    assert text.split()[0] in after.traps[0]
    after.traps.clear()
    same(text, after, before)


# the MODE register

MODES = {
    "s_getreg_b32 s40, hwreg(HW_REG_MODE)": 0xF0,
    "s_getreg_b32 s40, hwreg(HW_REG_MODE, 5, 2)": 3,
    "s_getreg_b32 s40, hwreg(HW_REG_MODE, 4, 3)": 7,
    "s_getreg_b32 s40, hwreg(HW_REG_MODE, 0, 4)": 0,
}


@pytest.mark.parametrize("text", covers("test_getreg", MODES))
def test_getreg(text):
    before = noise(text)
    assert execute(text, before).s[40] == MODES[text]


WRITES = {
    "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s10": lambda value: KEEP_SUBNORMALS & ~0x30 | (value & 3) << 4,
    "s_setreg_b32 hwreg(HW_REG_MODE, 8, 24), s10": lambda value: (KEEP_SUBNORMALS & 0xFF) | value << 8 & WORD,
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 5": lambda value: 5 << 4,
    "s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, 4), s10": lambda value: KEEP_SUBNORMALS,
}


@pytest.mark.parametrize("text", covers("test_setreg", WRITES))
def test_setreg(text):
    for before in randomised(text, 10):
        value = int(before.s[10])
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, WRITES[text](value))
        same(text, execute(text, before), expected)


# registers by number

INDEXED = {
    "s_movrels_b32 s40, s10": (0, 1, 17, 91),
    "s_movrels_b64 s[40:41], s[10:11]": (0, 2, 18, 90),
    "s_movreld_b32 s10, s40": (0, 1, 17, 91),
    "s_movreld_b64 s[10:11], s[40:41]": (0, 2, 18, 90),
}


@pytest.mark.parametrize("text", covers("test_indexed_registers", INDEXED))
def test_indexed_registers(text):
    dwords = 2 if "b64" in text else 1
    for index in INDEXED[text]:
        before = noise(text)
        before.s[M0] = index
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
        source, target = (10 + index, 40) if "rels" in text else (40, 10 + index)
        put(expected, "s", target, get(before, "s", source, dwords), dwords)
        same(text, execute(text, before), expected)


def test_registers_out_of_range():
    before = noise("out of range")
    before.s[M0] = 1000
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    same("s_movreld_b32 s10, s40", execute("s_movreld_b32 s10, s40", before), expected)
    expected.s[40] = before.s[0]
    same("s_movrels_b32 s40, s10", execute("s_movrels_b32 s40, s10", before), expected)


GPR_IDX_EN = 1 << 27
INDEX_MODE = {
    "s_set_gpr_idx_on s10, gpr_idx(SRC0,DST)": lambda m0, mode, s10: (
        m0 & ~0xF0FF | s10 & 0xFF | 9 << 12,
        mode | GPR_IDX_EN,
    ),
    "s_set_gpr_idx_on s10, gpr_idx(SRC1)": lambda m0, mode, s10: (
        m0 & ~0xF0FF | s10 & 0xFF | 2 << 12,
        mode | GPR_IDX_EN,
    ),
    "s_set_gpr_idx_off": lambda m0, mode, s10: (m0, mode & ~GPR_IDX_EN),
    "s_set_gpr_idx_mode gpr_idx(SRC2)": lambda m0, mode, s10: (m0 & ~0xF000 | 4 << 12, mode),
    "s_set_gpr_idx_idx s10": lambda m0, mode, s10: (m0 & ~0xFF | s10 & 0xFF, mode),
}


@pytest.mark.parametrize("text", covers("test_index_mode", INDEX_MODE))
@pytest.mark.parametrize("on", [False, True])
def test_index_mode(text, on):
    before = noise(text)
    before.mode |= GPR_IDX_EN * on
    expected = Registers(before.v.copy(), before.s.copy(), before.scc)
    expected.s[M0], expected.mode = INDEX_MODE[text](int(before.s[M0]), before.mode, int(before.s[10]))
    same(text, execute(text, before), expected)


# forks: the side with fewer lanes goes first, the other one waits in four scalar registers

FORKS = covers("test_forks", ["s_cbranch_g_fork s[10:11], s[12:13]", "s_cbranch_i_fork s[10:11], 9"])
THERE = {FORKS[0]: 0x4_0000, FORKS[1]: ADDRESS + 4 + 36}
EXEC_OF_FORK = 0xFF00


@pytest.mark.parametrize("text", FORKS)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("mask", [0xFF00, 0xFFFF, 0x00FF, 0x0100, 0x7F00])
def test_forks(text, level, mask):
    before = noise(text)
    before.mode |= level << 29
    put(before, "s", EXEC, EXEC_OF_FORK, 2)
    put(before, "s", 10, mask, 2)
    put(before, "s", 12, THERE[text], 2)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    passing, failing = mask & EXEC_OF_FORK, ~mask & EXEC_OF_FORK
    here, there = ADDRESS + 4, THERE[text]
    if passing == EXEC_OF_FORK:
        expected.pc = there
    elif failing == EXEC_OF_FORK:
        expected.pc = here
    else:
        pass_first = passing.bit_count() <= failing.bit_count()
        expected.pc, waits = (there, here) if pass_first else (here, there)
        put(expected, "s", EXEC, passing if pass_first else failing, 2)
        put(expected, "s", 4 * level, (failing if pass_first else passing) | waits << 64, 4)
        expected.mode += 1 << 29
    same(text, execute(text, before), expected)


JOIN = covers("test_join", ["s_cbranch_join s20"])[0]


@pytest.mark.parametrize("saved", [2, 3])
def test_join(saved):
    before = noise(JOIN)
    before.mode |= 3 << 29
    before.s[20] = saved
    put(before, "s", 8, 0xF0F0 | 0x4_0000 << 64, 4)
    expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
    if saved != 3:
        expected.mode -= 1 << 29
        put(expected, "s", EXEC, get(before, "s", 8, 2), 2)
        expected.pc = get(before, "s", 10, 2)
    same(JOIN, execute(JOIN, before), expected)
