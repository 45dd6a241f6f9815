"""Scalar arithmetic: SOP1, SOP2, SOPC and the SOPK instructions that compute.

What each instruction does is the pseudo-code of the CDNA3 ISA manual, chapter 12. Shift counts take the low 5 or 6
bits; SCC is a carry, an overflow, a comparison or (`nonzero`) whether any bit of the result is set.
"""

from __future__ import annotations

from collections.abc import Callable

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.bits import bit_field, bit_mask, count, leading_sign_bits, shift_count
from mfma.emulator.semantics.machine import EXEC, Machine
from mfma.emulator.semantics.registry import machine
from mfma.emulator.semantics.salu import nonzero, scalar
from mfma.emulator.semantics.values import B1, B8, B16, B32, B64, Value

Binary = Callable[[Value, Value], Value]

SIZES = (("b32", B32), ("b64", B64))

# moves

for size, type_ in SIZES:
    scalar(f"s_mov_{size}", result=type_, sources=(type_,))(lambda a: a)
    scalar(f"s_cselect_{size}", result=type_, sources=(type_, type_, B1))(lambda a, b, scc: scc.select(a, b))

scalar("s_sext_i32_i8", result=B32, sources=(B32,))(lambda a: a.trunc(B8).sext(B32))
scalar("s_sext_i32_i16", result=B32, sources=(B32,))(lambda a: a.trunc(B16).sext(B32))
scalar("s_pack_ll_b32_b16", result=B32, sources=(B32, B32))(lambda a, b: a & 0xFFFF | b << 16)
scalar("s_pack_lh_b32_b16", result=B32, sources=(B32, B32))(lambda a, b: a & 0xFFFF | b & 0xFFFF_0000)
scalar("s_pack_hh_b32_b16", result=B32, sources=(B32, B32))(lambda a, b: a >> 16 | b & 0xFFFF_0000)


def old(m: Machine, i: Instruction) -> Value:
    """What the destination holds before."""
    return m.sgpr(i.dst[0].code, i.dst[0].dwords)


@machine("s_cmov_b32", "s_cmov_b64")
def _cmov(m: Machine, i: Instruction) -> None:
    before = old(m, i)
    m.write(i.dst[0], m.scc.select(m.read(i.src[0], before.type), before))


def immediate(m: Machine, i: Instruction, signed: bool = True) -> Value:
    """SOPK's number as a B32."""
    imm = i.modifiers.imm
    return m.constant(B32, (imm ^ 0x8000) - 0x8000 if signed else imm)


@machine("s_movk_i32")
def _movk(m: Machine, i: Instruction) -> None:
    m.write(i.dst[0], immediate(m, i))


@machine("s_cmovk_i32")
def _cmovk(m: Machine, i: Instruction) -> None:
    m.write(i.dst[0], m.scc.select(immediate(m, i), old(m, i)))


# addition and subtraction: SCC is the carry of unsigned, the overflow of signed operations


def signed_overflow(a: Value, b: Value, total: Value) -> Value:
    """Whether ``a + b`` left the range: the operands have one sign, the sum the other."""
    return ((a ^ total) & (b ^ total)).slt(0)


def add(a: Value, b: Value) -> tuple[Value, Value]:
    """Signed sum and its overflow."""
    total = a + b
    return total, signed_overflow(a, b, total)


@scalar("s_add_u32", result=B32, sources=(B32, B32))
def _add_u32(a: Value, b: Value) -> tuple[Value, Value]:
    total = a + b
    return total, total.ult(a)


@scalar("s_sub_u32", result=B32, sources=(B32, B32))
def _sub_u32(a: Value, b: Value) -> tuple[Value, Value]:
    return a - b, a.ult(b)


scalar("s_add_i32", result=B32, sources=(B32, B32))(add)


@scalar("s_sub_i32", result=B32, sources=(B32, B32))
def _sub_i32(a: Value, b: Value) -> tuple[Value, Value]:
    return a - b, ((a ^ b) & (a ^ a - b)).slt(0)


@scalar("s_addc_u32", result=B32, sources=(B32, B32, B1))
def _addc_u32(a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    total = a.zext(B64) + b.zext(B64) + carry.zext(B64)
    return total.trunc(B32), (total >> 32).differs(0)


@scalar("s_subb_u32", result=B32, sources=(B32, B32, B1))
def _subb_u32(a: Value, b: Value, borrow: Value) -> tuple[Value, Value]:
    taken = b.zext(B64) + borrow.zext(B64)
    return (a.zext(B64) - taken).trunc(B32), a.zext(B64).ult(taken)


@machine("s_addk_i32")
def _addk(m: Machine, i: Instruction) -> None:
    total, overflow = add(old(m, i), immediate(m, i))
    m.write(i.dst[0], total)
    m.set_scc(overflow)


def absolute(a: Value) -> tuple[Value, Value]:
    """Absolute value, of the smallest number the number itself."""
    return nonzero(a.slt(0).select(-a, a))


scalar("s_abs_i32", result=B32, sources=(B32,))(absolute)
scalar("s_absdiff_i32", result=B32, sources=(B32, B32))(lambda a, b: absolute(a - b))


def shifted_sum(shift: int) -> Callable[[Value, Value], tuple[Value, Value]]:
    """``(a << shift) + b`` and its carry."""

    def define(a: Value, b: Value) -> tuple[Value, Value]:
        total = (a.zext(B64) << shift) + b.zext(B64)
        return total.trunc(B32), (total >> 32).differs(0)

    return define


for shift in range(1, 5):
    scalar(f"s_lshl{shift}_add_u32", result=B32, sources=(B32, B32))(shifted_sum(shift))

# minimum and maximum: SCC says that it is the first operand, on a tie also of the maximum

scalar("s_min_i32", result=B32, sources=(B32, B32))(lambda a, b: (a.slt(b).select(a, b), a.slt(b)))
scalar("s_min_u32", result=B32, sources=(B32, B32))(lambda a, b: (a.ult(b).select(a, b), a.ult(b)))
scalar("s_max_i32", result=B32, sources=(B32, B32))(lambda a, b: (b.sle(a).select(a, b), b.sle(a)))
scalar("s_max_u32", result=B32, sources=(B32, B32))(lambda a, b: (b.ule(a).select(a, b), b.ule(a)))

# multiplication

scalar("s_mul_i32", result=B32, sources=(B32, B32))(lambda a, b: a * b)
scalar("s_mul_hi_u32", result=B32, sources=(B32, B32))(lambda a, b: (a.zext(B64) * b.zext(B64) >> 32).trunc(B32))
scalar("s_mul_hi_i32", result=B32, sources=(B32, B32))(lambda a, b: (a.sext(B64) * b.sext(B64) >> 32).trunc(B32))


@machine("s_mulk_i32")
def _mulk(m: Machine, i: Instruction) -> None:
    m.write(i.dst[0], old(m, i) * immediate(m, i))


# logic, also on EXEC: of the forms that save it, the first operand is the source

LOGIC: dict[str, Binary] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn1": lambda a, b: ~a & b,
    "andn2": lambda a, b: a & ~b,
    "orn1": lambda a, b: ~a | b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}


def on_exec(function: Binary, result_is_old: bool) -> Callable[[Machine, Instruction], None]:
    """EXEC becomes the function of source and EXEC; the destination takes EXEC from before or after."""

    def build(m: Machine, i: Instruction) -> None:
        before = m.sgpr(EXEC, 2)
        after = function(m.read(i.src[0], B64), before)
        m.set_sgpr(EXEC, after)
        m.write(i.dst[0], before if result_is_old else after)
        m.set_scc(after.differs(0))

    return build


def both(function: Binary) -> Callable[[Value, Value], tuple[Value, Value]]:
    """The function's value and SCC."""
    return lambda a, b: nonzero(function(a, b))


for name, function in LOGIC.items():
    if name not in ("andn1", "orn1"):
        for size, type_ in SIZES:
            scalar(f"s_{name}_{size}", result=type_, sources=(type_, type_))(both(function))
    machine(f"s_{name}_saveexec_b64")(on_exec(function, result_is_old=True))
    if name in ("andn1", "andn2"):
        machine(f"s_{name}_wrexec_b64")(on_exec(function, result_is_old=False))

for size, type_ in SIZES:
    scalar(f"s_not_{size}", result=type_, sources=(type_,))(lambda a: nonzero(~a))

# shifts and bit fields; an offset is in the low bits of the second source, a width in bits 22:16

SHIFTS: tuple[tuple[str, bool, Binary], ...] = (
    # name without the width, whether numbers are signed, function
    ("s_lshl_b", False, lambda a, b: a << shift_count(b, a.type)),
    ("s_lshr_b", False, lambda a, b: a >> shift_count(b, a.type)),
    ("s_ashr_i", True,  lambda a, b: a.sar(shift_count(b, a.type))),
    ("s_bfe_u",  False, lambda a, b: bit_field(a, shift_count(b, a.type), b.bits(16, 7).zext(a.type), signed=False)),
    ("s_bfe_i",  True,  lambda a, b: bit_field(a, shift_count(b, a.type), b.bits(16, 7).zext(a.type), signed=True)),
)  # fmt: skip
for name, signed, function in SHIFTS:
    for type_ in (B32, B64):
        scalar(f"{name}{type_.bits}", result=type_, sources=(type_, B32), signed=signed)(both(function))

scalar("s_bfm_b32", result=B32, sources=(B32, B32))(lambda a, b: bit_mask(shift_count(a, B32), shift_count(b, B32)))
scalar("s_bfm_b64", result=B64, sources=(B32, B32))(lambda a, b: bit_mask(shift_count(a, B64), shift_count(b, B64)))

# single bits


@machine("s_bitset0_b32", "s_bitset0_b64")
def _bitset0(m: Machine, i: Instruction) -> None:
    before = old(m, i)
    m.write(i.dst[0], before & ~(before.like(1) << shift_count(m.read(i.src[0]), before.type)))


@machine("s_bitset1_b32", "s_bitset1_b64")
def _bitset1(m: Machine, i: Instruction) -> None:
    before = old(m, i)
    m.write(i.dst[0], before | before.like(1) << shift_count(m.read(i.src[0]), before.type))


for size, type_ in SIZES:
    scalar(f"s_bitcmp0_{size}", result=None, sources=(type_, B32))(
        lambda a, b: (a >> shift_count(b, a.type) & 1).equals(0)
    )
    scalar(f"s_bitcmp1_{size}", result=None, sources=(type_, B32))(
        lambda a, b: (a >> shift_count(b, a.type) & 1).differs(0)
    )
    scalar(f"s_brev_{size}", result=type_, sources=(type_,))(lambda a: a.reverse())
    scalar(f"s_bcnt0_i32_{size}", result=B32, sources=(type_,))(lambda a: nonzero((~a).popcount().trunc(B32)))
    scalar(f"s_bcnt1_i32_{size}", result=B32, sources=(type_,))(lambda a: nonzero(a.popcount().trunc(B32)))
    scalar(f"s_ff0_i32_{size}", result=B32, sources=(type_,))(lambda a: count(~a, (~a).trailing_zeros()))
    scalar(f"s_ff1_i32_{size}", result=B32, sources=(type_,))(lambda a: count(a, a.trailing_zeros()))
    scalar(f"s_flbit_i32_{size}", result=B32, sources=(type_,))(lambda a: count(a, a.leading_zeros()))

scalar("s_flbit_i32", result=B32, sources=(B32,))(leading_sign_bits)
scalar("s_flbit_i32_i64", result=B32, sources=(B64,), signed=True)(leading_sign_bits)

# quads: groups of four lanes in a mask


def any_of_quad(a: Value) -> Value:
    """The lowest bit of each quad is set where any bit is."""
    lowest = 0x1111_1111_1111_1111 >> 64 - a.type.bits
    return (a | a >> 1 | a >> 2 | a >> 3) & lowest


def gathered_quads(a: Value) -> Value:
    """Bit 4n moves to bit n: neighbours come together, in groups that double in length."""
    for length in (1, 2, 4, 8):
        group = ((1 << 2 * length) - 1) * sum(1 << at for at in range(0, a.type.bits, 8 * length))
        a = (a | a >> 3 * length) & group
    return a


for size, type_ in SIZES:
    scalar(f"s_wqm_{size}", result=type_, sources=(type_,))(lambda a: nonzero(any_of_quad(a) * 15))
    scalar(f"s_quadmask_{size}", result=type_, sources=(type_,))(lambda a: nonzero(gathered_quads(any_of_quad(a))))


@scalar("s_bitreplicate_b64_b32", result=B64, sources=(B32,))
def _bitreplicate(a: Value) -> Value:
    """Bit n becomes bits 2n and 2n + 1: groups that halve in length move apart."""
    spread = a.zext(B64)
    for length in (16, 8, 4, 2, 1):
        group = ((1 << length) - 1) * sum(1 << at for at in range(0, 64, 2 * length))
        spread = (spread | spread << length) & group
    return spread | spread << 1


# comparisons

COMPARISONS: dict[str, tuple[Binary, Binary]] = {
    "eq": (lambda a, b: a.equals(b), lambda a, b: a.equals(b)),
    "lg": (lambda a, b: a.differs(b), lambda a, b: a.differs(b)),
    "gt": (lambda a, b: b.slt(a), lambda a, b: b.ult(a)),
    "ge": (lambda a, b: b.sle(a), lambda a, b: b.ule(a)),
    "lt": (lambda a, b: a.slt(b), lambda a, b: a.ult(b)),
    "le": (lambda a, b: a.sle(b), lambda a, b: a.ule(b)),
}
"""Condition -> signed and unsigned comparison."""


def compare_immediate(function: Binary, signed: bool) -> Callable[[Machine, Instruction], None]:
    """SCC becomes the comparison with SOPK's number."""
    return lambda m, i: m.set_scc(function(m.read(i.src[0]), immediate(m, i, signed)))


for name, pair in COMPARISONS.items():
    for kind, function in zip(("i32", "u32"), pair, strict=True):
        scalar(f"s_cmp_{name}_{kind}", result=None, sources=(B32, B32))(function)
        machine(f"s_cmpk_{name}_{kind}")(compare_immediate(function, signed=kind == "i32"))
    if name in ("eq", "lg"):
        scalar(f"s_cmp_{name}_u64", result=None, sources=(B64, B64))(pair[1])
