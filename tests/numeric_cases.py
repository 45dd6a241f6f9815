"""Edge values of every operand format and the published examples of the arithmetic, for every implementation.

`codes` and `dots` are Hypothesis strategies that mix the edge values with arbitrary bit patterns. `EXAMPLES`
holds single outputs with known answers: measured on an MI300X, published for it, or predicted by the rule.
"""

import struct
from dataclasses import dataclass

from hypothesis import strategies as st

from mfma.formats import Format
from mfma.isa.cdna3 import DENSE
from mfma.isa.spec import MatrixOp

OPS = {op.name: op for op in DENSE}

F32_EDGES = (
    0x00000000,  # +0
    0x80000000,  # -0
    0x00000001,  # smallest subnormal, 2^-149
    0x80000001,  # its negative
    0x00001FFF,  # subnormal that xf32 cuts to zero
    0x00002000,  # smallest subnormal of xf32, 2^-136
    0x007FFFFF,  # largest subnormal
    0x00800000,  # smallest normal, 2^-126
    0x20000000,  # 2^-63: its square is a subnormal
    0x36800000,  # 2^-18
    0x3A800000,  # 2^-10
    0x3F7FFFFF,  # largest below 1
    0x3F800000,  # 1
    0xBF800000,  # -1
    0x3F800001,  # smallest above 1
    0x3F801800,  # 1 + 0.75 · 2^-10: truncation and rounding to xf32 differ
    0x3FFFFFFF,  # largest below 2: rounding it to xf32 would carry
    0x46800000,  # 2^14
    0x4B7FFFFF,  # 2^24 - 1
    0x4B800000,  # 2^24
    0x4BFFFFFC,  # just below 2^25: a small addend carries into the next binade
    0x5F7FFFFF,  # just below 2^64: its square is finite
    0x5F800000,  # 2^64: its square overflows
    0x7F000000,  # 2^127
    0x7F7FFFFF,  # largest finite
    0xFF7FFFFF,  # its negative
    0x7F800000,  # infinity
    0xFF800000,  # -infinity
    0x7F800001,  # NaN that xf32 cuts to infinity
    0x7FC00000,  # quiet NaN
    0xFFFFFFFF,  # NaN, all ones
)

EDGES: dict[str, tuple[int, ...]] = {
    "f32": F32_EDGES,
    "xf32": F32_EDGES,
    "f64": (
        0x0000000000000000,  # +0
        0x8000000000000000,  # -0
        0x0000000000000001,  # smallest subnormal, 2^-1074
        0x800FFFFFFFFFFFFF,  # largest subnormal, negative
        0x0010000000000000,  # smallest normal, 2^-1022
        0x2000000000000000,  # 2^-511: its square is the smallest normal
        0x3CA0000000000000,  # 2^-53: half a step of 1
        0x3FEFFFFFFFFFFFFF,  # largest below 1
        0x3FF0000000000000,  # 1
        0xBFF0000000000000,  # -1
        0x3FF0000000000001,  # smallest above 1
        0x4340000000000000,  # 2^53
        0x5FF0000000000000,  # 2^512: its square overflows
        0x7FEFFFFFFFFFFFFF,  # largest finite
        0xFFEFFFFFFFFFFFFF,  # its negative
        0x7FF0000000000000,  # infinity
        0xFFF0000000000000,  # -infinity
        0x7FF0000000000001,  # signalling NaN
        0x7FF8000000000000,  # quiet NaN
    ),
    "f16": (
        0x0000,  # +0
        0x8000,  # -0
        0x0001,  # smallest subnormal, 2^-24
        0x83FF,  # largest subnormal, negative
        0x0400,  # smallest normal, 2^-14
        0x2000,  # 2^-7
        0x3800,  # 0.5
        0x3BFF,  # largest below 1
        0x3C00,  # 1
        0xBC00,  # -1
        0x3C01,  # smallest above 1
        0x3E00,  # 1.5: its square, 2.25, is not renormalised
        0x6800,  # 2048
        0xE800,  # -2048
        0x7BFF,  # largest finite, 65504
        0xFBFF,  # its negative
        0x7C00,  # infinity
        0xFC00,  # -infinity
        0x7C01,  # signalling NaN
        0x7E00,  # quiet NaN
    ),
    "bf16": (
        0x0000,  # +0
        0x8000,  # -0
        0x0001,  # smallest subnormal, 2^-133
        0x807F,  # largest subnormal, negative
        0x0080,  # smallest normal, 2^-126
        0x2000,  # 2^-63: its square is a subnormal f32
        0x3F7F,  # largest below 1
        0x3F80,  # 1
        0xBF80,  # -1
        0x3FC0,  # 1.5: its square, 2.25, is not renormalised
        0x4500,  # 2048
        0x5F7F,  # just below 2^64: its square is finite
        0x5F80,  # 2^64: its square counts as infinite
        0x7F00,  # 2^127
        0x7F7F,  # largest finite
        0xFF7F,  # its negative
        0x7F80,  # infinity
        0xFF80,  # -infinity
        0x7F81,  # signalling NaN
        0x7FC0,  # quiet NaN
    ),
    "fp8": (
        0x00,  # 0, the only one
        0x80,  # the only NaN
        0x01,  # smallest subnormal, 2^-10
        0x87,  # largest subnormal, negative
        0x08,  # smallest normal, 2^-7
        0x10,  # 2^-6
        0x18,  # 2^-5
        0x3F,  # largest below 1
        0x40,  # 1
        0xC0,  # -1
        0x44,  # 1.5: its square, 2.25, is not renormalised
        0x78,  # 128
        0xF8,  # -128
        0x7F,  # largest finite, 240
        0xFF,  # its negative
    ),
    "bf8": (
        0x00,  # 0, the only one
        0x80,  # the only NaN
        0x01,  # smallest subnormal, 2^-17
        0x83,  # largest subnormal, negative
        0x04,  # smallest normal, 2^-15
        0x20,  # 2^-8
        0x3F,  # largest below 1
        0x40,  # 1
        0xC0,  # -1
        0x42,  # 1.5: its square, 2.25, is not renormalised
        0x7C,  # 32768
        0xFC,  # -32768
        0x7F,  # largest finite, 57344
        0xFF,  # its negative
    ),
    "i8": (
        0x00,  # 0
        0x01,  # 1
        0xFF,  # -1
        0x7F,  # 127, the largest
        0x80,  # -128, the smallest: its square is the largest product
        0x81,  # -127
    ),
    "i32": (
        0x00000000,  # 0
        0x00000001,  # 1
        0xFFFFFFFF,  # -1
        0x01000001,  # 2^24 + 1, which f32 does not hold
        0x7FFFFFFF,  # the largest
        0x80000000,  # the smallest
    ),
}


def codes(format: Format) -> st.SearchStrategy[int]:
    """Draw codes of a format: every second one an edge value."""
    return st.sampled_from(EDGES[format.name]) | st.integers(0, (1 << format.bits) - 1)


def finite_codes(format: Format) -> st.SearchStrategy[int]:
    """Draw codes of finite numbers."""
    stored = format.bits - 1 - format.exponent
    top = ((1 << format.exponent) - 1) << stored
    if format.is_integer or not format.has_infinity:
        return codes(format).filter(lambda code: format.is_integer or code != 1 << format.bits - 1)
    return codes(format).filter(lambda code: code & top != top)


@st.composite
def dots(
    draw: st.DrawFn, op: MatrixOp, max_k: int | None = None, finite: bool = False
) -> tuple[list[int], list[int], int]:
    """Draw the operands a, b (K codes each, K from 0 to a little more than one instruction) and c of one output."""
    pick = finite_codes if finite else codes
    k = draw(st.integers(0, op.k + 3 if max_k is None else max_k))
    a = draw(st.lists(pick(op.a), min_size=k, max_size=k))
    b = draw(st.lists(pick(op.b), min_size=k, max_size=k))
    return a, b, draw(pick(op.out))


def bits(format: str, value: float) -> int:
    """Give the code of a value that the format holds exactly."""
    if format == "bf16":
        return bits("f32", value) >> 16
    width, kind = {"f16": ("H", "e"), "f32": ("I", "f"), "xf32": ("I", "f"), "f64": ("Q", "d")}[format]
    return int(struct.unpack(f"<{width}", struct.pack(f"<{kind}", value))[0])


@dataclass(frozen=True)
class Example:
    """One output with a known answer; ``fma`` and ``exact`` where those models are known to differ."""

    name: str
    op: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int
    d: int
    fma: int | None = None
    exact: int | None = None

    def __str__(self) -> str:
        return self.name


FP8_OP = "f32_16x16x32_fp8_fp8"


def _fp8(name: str, a: dict[int, int], b: dict[int, int], c: int, d: int) -> Example:
    """Place bytes at their k; all others are zero."""
    row, column = ([where.get(k, 0) for k in range(32)] for where in (a, b))
    return Example(f"{name}-{c:08X}-{d:08X}", FP8_OP, tuple(row), tuple(column), c, d)


FOUR = (0, 2, 4, 6)

# MI300X outputs printed by MMA-Sim's probe notebook. U = 2^14 = 78 · 78.
MEASURED = (
    # M1: beside a ±U pair of the same parity, products are cut toward zero below 2^-10
    *(
        _fp8(f"M1-{x:02X}", {0: 0x78, 2: 0x78, 4: x}, {0: 0x78, 2: 0xF8, 4: 0x18}, 0, d)
        for x, d in {
            0x08: 0, 0x14: 0, 0x88: 0, 0x94: 0, 0x10: 0, 0x90: 0, 0x1C: 0x3A800000, 0x9C: 0xBA800000,
        }.items()
    ),
    # M2: with the other parity, the sub-sum is floored instead
    *(
        _fp8(f"M2-{x:02X}", {0: 0x78, 2: 0x78, 1: x}, {0: 0x78, 2: 0xF8, 1: 0x18}, 0, d)
        for x, d in {
            0x08: 0, 0x14: 0, 0x10: 0, 0x88: 0xBA800000, 0x94: 0xBA800000, 0x90: 0xBA800000,
            0x1C: 0x3A800000, 0x9C: 0xBB000000,
        }.items()
    ),
    # M3: c is floored; a far c is dropped, whatever its sign
    *(
        _fp8("M3", {0: 0x78, 2: 0x78}, {0: 0x78, 2: 0xF8}, c, d)
        for c, d in {
            0x39800000: 0, 0x3A400000: 0, 0x3A000000: 0, 0x3AC00000: 0x3A800000, 0xBA400000: 0xBA800000,
            0xBA000000: 0xBA800000, 0xBA800000: 0xBA800000, 0xBAC00000: 0xBB000000,
            0xB9800000: 0, 0xB9000000: 0, 0xB8800000: 0,
        }.items()
    ),
    # M4: U and a small negative c
    *(
        _fp8("M4", {0: 0x78}, {0: 0x78}, c, d)
        for c, d in {
            0xBC800000: 0x467FFFF0, 0xBA800000: 0x467FFFFF, 0xBA000000: 0x467FFFFF, 0xB9800000: 0x46800000,
        }.items()
    ),
    # M4b: the same total from two halves, whose exponent is one less
    *(
        _fp8("M4b", {0: 0x70, 1: 0x70}, {0: 0x78, 1: 0x78}, c, d)
        for c, d in {0xBC800000: 0x467FFFF0, 0xBA800000: 0x467FFFFF, 0xBA000000: 0x46800000}.items()
    ),
    # M5: the result is rounded to nearest even, and so is its negative (M5n)
    *(
        _fp8(name, dict.fromkeys(FOUR, 0x68 ^ sign >> 24), dict.fromkeys(FOUR, 0x78), c ^ sign, d ^ sign)
        for name, sign in (("M5", 0), ("M5n", 1 << 31))
        for c, d in {
            0x3A000000: 0x46800000, 0x3AC00000: 0x46800001, 0x3A800000: 0x46800000, 0x3B400000: 0x46800002,
        }.items()
    ),
    # M6: bits of the sum that are kept beside a big c
    _fp8("M6", {0: 0x40, 2: 0x20}, {0: 0x40, 2: 0x28}, 0x4B800000, 0x4B800001),
    _fp8("M6", {0: 0x40, 2: 0x20}, {0: 0x40, 2: 0x20}, 0x4B800000, 0x4B800000),
    # M7: the same with the small product at an odd k
    _fp8("M7-08", {0: 0x40, 1: 0x08}, {0: 0x40, 1: 0x40}, 0x4B800004, 0x4B800005),
    _fp8("M7-04", {0: 0x40, 1: 0x04}, {0: 0x40, 1: 0x40}, 0x4B800004, 0x4B800004),
    # M8: the total is floored again when it has carried into the next binade
    _fp8("M8-10", {0: 0x5A, 1: 0x10}, {0: 0x40, 1: 0x40}, 0x4BFFFFFC, 0x4C000001),
    _fp8("M8-08", {0: 0x5A, 1: 0x08}, {0: 0x40, 1: 0x40}, 0x4BFFFFFC, 0x4C000000),
    # M9: a product of 2.25 · 2^14 keeps exponent 14
    _fp8("M9-18", {0: 0x7C, 2: 0x7C, 4: 0x18}, {0: 0x7C, 2: 0xFC, 4: 0x18}, 0, 0x3A800000),
    _fp8("M9-10", {0: 0x7C, 2: 0x7C, 4: 0x10}, {0: 0x7C, 2: 0xFC, 4: 0x18}, 0, 0),
    # M10: a sub-sum of 2U keeps exponent 14
    _fp8("M10-18", {0: 0x78, 2: 0x78, 1: 0x18}, {0: 0x78, 2: 0x78, 1: 0x18}, 0xC7000000, 0x3A800000),
    _fp8("M10-10", {0: 0x78, 2: 0x78, 1: 0x10}, {0: 0x78, 2: 0x78, 1: 0x18}, 0xC7000000, 0),
)  # fmt: skip


def _order_probes() -> tuple[Example, ...]:
    """A ±U pair among 32 products of 2^-18: the small ones survive only in a group after the pair's last."""
    small = dict.fromkeys(range(32), 0x02)
    found = []
    for j in range(32):
        d = 0x38800000 if j < 16 else 0
        found.append(_fp8(f"order-c-{j}", small | {j: 0x78}, small | {j: 0xF8}, 0x46800000, d))
        for i in range(j + 1, 32):
            a, b = small | {i: 0x78, j: 0x78}, small | {i: 0x78, j: 0xF8}
            found.append(_fp8(f"order-{i}-{j}", a, b, 0x36800000, 0x38800000 if i < 16 else 0))
    return tuple(found)


def _parity_probes() -> tuple[Example, ...]:
    """A ±U pair among 16 products of 2^-11: those of the other parity survive as one sub-sum."""
    small_a, small_b = dict.fromkeys(range(16), 0x10), dict.fromkeys(range(16), 0x18)
    found = []
    for j in range(16):
        found.append(_fp8(f"parity-c-{j}", small_a | {j: 0x78}, small_b | {j: 0xF8}, 0x46800000, 0x3B800000))
        for i in range(j + 1, 16):
            a, b = small_a | {i: 0x78, j: 0x78}, small_b | {i: 0x78, j: 0xF8}
            d = 0x3A800000 if (i - j) % 2 else 0x3BA00000
            found.append(_fp8(f"parity-{i}-{j}", a, b, 0x3A800000, d))
    return tuple(found)


def _floats(name: str, op: str, a: list[float], b: list[float], c: int, d: int, **others: int) -> Example:
    record = OPS[op]
    row, column = (tuple(bits(f.name, v) for v in vs) for f, vs in ((record.a, a), (record.b, b)))
    return Example(f"{name}-{op}", op, row, column, c, d, **others)


EQ10_A, EQ10_B = [-(2.0**13), -0.5, -0.25, -0.125], [2.0**10, 1.0, 1.0, 1.0]
BF8_A, BF8_B = (0xF4, 0xBC, 0xB8, 0xB4), (0x68, 0x40, 0x40, 0x40)
HALF = 0x3F000000
HALVES, ZEROS = [0.5] * 7, [0.0] * 6
BIG_PAIR = [2048.0, 2048.0], [2048.0, -2048.0]

# Published for MI300X by the MMA-Sim paper, or predictions of the rule that tell it from others.
PUBLISHED = (
    _floats("eq10", "f32_16x16x4f32", EQ10_A, EQ10_B, 0x4B000000, 0xBF600000),
    _floats("eq10", "f64_16x16x4f64", EQ10_A, EQ10_B, bits("f64", 2.0**23), 0xBFEC000000000000),
    _floats("eq10", "f32_32x32x8f16", EQ10_A, EQ10_B, 0x4B000000, 0xBF000000),
    _floats("eq10", "f32_32x32x8bf16_1k", EQ10_A, EQ10_B, 0x4B000000, 0xBF000000),
    _floats("eq10", "f32_32x32x4_xf32", EQ10_A, EQ10_B, 0x4B000000, 0xBF000000),
    Example("eq10-bf8", "f32_16x16x32_bf8_bf8", BF8_A, BF8_B, 0x4B000000, 0xBF800000),
    *(
        _floats(f"pair-{c:08X}", op, *BIG_PAIR, c, d)
        for op in ("f32_32x32x8f16", "f32_32x32x8bf16_1k", "f32_32x32x4_xf32")
        for c, d in {0xB58637BD: 0xBE800000, 0x358637BD: 0x00000000}.items()
    ),
    # any negative c costs the last bit kept
    _floats("tiny-c", "f32_32x32x8f16", [1.0], [1.0], 0x8DA24260, 0x3F7FFFFF, fma=0x3F800000, exact=0x3F800000),
    _floats("cut-products", "f32_32x32x8f16", [2048.0, *HALVES], [8192.0, *HALVES], 0, 0x4B800000, exact=0x4B800001),
    # the twin of M8
    _floats("carry", "f32_32x32x8f16", [10.0, 2.0**-7], [1.0, 1.0], 0x4BFFFFFC, 0x4C000000),
    Example(
        "random-carry",
        "f32_32x32x8f16",
        (0x3EC2, 0x3D34, 0xB75C, 0xB5C2, 0xBB5A, 0xBB9F, 0x3B1D, 0xAE43),
        (0x3D0F, 0xBB72, 0xBC9E, 0xBD3E, 0x39F4, 0x39CC, 0x378E, 0xBDC7),
        0x437F40A4,
        0x43802F1C,
    ),
    # 1 - 2^-8 + 2^-25 + 2^-32: only a sum kept to 32 bits below E sees that this is more than a tie
    _floats("sum-width", "f32_32x32x8f16", [-(2.0**-4), 129 * 2.0**-20], [2.0**-4, 2.0**-12], 0x3F800000, 0x3F7F0001),
    _floats("subnormal-out", "f32_32x32x8bf16_1k", [2.0**-100], [2.0**-49], 0, 0x00000001),
    _floats("subnormal-in", "f32_32x32x8bf16_1k", [2.0**-130], [2.0**10], 0, 0x03800000),
    _floats("subnormal-in", "f32_32x32x4_xf32", [2.0**-130], [2.0**10], 0, 0x03800000),
    # 2^-150 + 2^-158: the total is floored to 2^-157 however small it is, which leaves a tie with 0
    _floats("subnormal-tie", "f32_32x32x8bf16_1k", [2.0**-75, 2.0**-79], [2.0**-75, 2.0**-79], 0, 0, exact=1),
    # floors never end at zero from below; the rounding does, and keeps the sign
    _floats("underflow", "f32_32x32x8bf16_1k", [-(2.0**-100)], [2.0**-60], 0, 0x80000000),
    # xf32 operands are cut toward zero to ten mantissa bits, NaN payloads too
    *(
        Example(f"xf32-{x:08X}", "f32_32x32x4_xf32", (x,), (0x3F800000,), 0, d)
        for x, d in {
            0x3F801800: 0x3F800000, 0xBF801800: 0xBF800000, 0x3F803000: 0x3F802000, 0x7F800001: 0x7F800000,
            0x7FC00000: 0x7FC00000, 0x7F7FFFFF: 0x7F7FE000, 0x00001FFF: 0x00000000, 0x80003000: 0x80002000,
        }.items()
    ),
    # a single product of 2^128 counts as infinite; the sum does not
    _floats("opposite", "f32_32x32x8bf16_1k", [2.0**127] * 2, [2.0, -2.0], 0, 0x7FC00000, exact=0),
    _floats("early", "f32_32x32x8bf16_1k", [1.5 * 2.0**127], [1.5], 0, 0x7F800000),
    _floats("early-negative", "f32_32x32x8bf16_1k", [-(2.0**127)], [2.0], 0, 0xFF800000),
    _floats("late", "f32_32x32x8bf16_1k", [2.0**127] * 2 + [-(2.0**127)], [1.0] * 3, 0, 0x7F000000, fma=0x7F800000),
    _floats("minus-zero", "f32_16x16x4f32", [-0.0] * 4, [1.0] * 4, 0x80000000, 0x80000000),
    _floats("plus-zero", "f32_16x16x4f32", [0.0] * 4, [1.0] * 4, 0x80000000, 0x00000000),
    _floats("group-zero", "f32_32x32x8f16", [-0.0] * 8, [1.0] * 8, 0x80000000, 0x00000000, fma=1 << 31, exact=1 << 31),
    Example("wrap-up", "i32_16x16x32_i8", (1,), (1,), 0x7FFFFFFF, 0x80000000),
    Example("wrap-down", "i32_16x16x32_i8", (1,), (0xFF,), 0x80000000, 0x7FFFFFFF),
    Example("smallest-squared", "i32_4x4x4i8", (0x80,), (0x80,), 0, 16384),
)  # fmt: skip

# Checks that answer reports of users.
USERS = (
    _floats("one-group", "f32_16x16x16f16", [4096.0, 4096.0, 0.5], [4096.0, -4096.0, 1.0], 0, 0),
    _floats("two-groups", "f32_16x16x16f16", [4096.0] * 2 + ZEROS + [0.5], [4096.0, -4096.0, *ZEROS, 1.0], 0, HALF),
    _floats("f16-subnormal-kept", "f32_32x32x8f16", [2.0**-24], [1.0], 0, bits("f32", 2.0**-24)),
    _floats("f32-subnormal-kept", "f32_16x16x4f32", [2.0**-140], [1.0], 0, bits("f32", 2.0**-140)),
    _floats("f16-max", "f32_16x16x16f16", [65504.0] * 4, [1.0] * 4, 0, bits("f32", 262016.0)),
    _floats("inf", "f32_16x16x8_xf32", [float("inf")], [1.0], 0, 0x7F800000),
    _floats("inf-zero", "f32_16x16x8_xf32", [float("inf")], [0.0], 0, 0x7FC00000),
    _floats("inf-inf", "f32_16x16x8_xf32", [float("inf")] * 2, [1.0, -1.0], 0, 0x7FC00000),
    Example("i8-largest", "i32_16x16x32_i8", (0x80,) * 32, (0x80,) * 32, 0, 524288),
    Example("i8-not-through-float", "i32_16x16x32_i8", (127,) * 4608, (127,) * 4608, 0, 74322432),
    Example("i8-ragged-k", "i32_16x16x32_i8", (127,) * 33, (127,) * 33, 0, 33 * 127 * 127),
)  # fmt: skip

EXAMPLES = (*MEASURED, *PUBLISHED, *USERS)
PROBES = (*_order_probes(), *_parity_probes())
