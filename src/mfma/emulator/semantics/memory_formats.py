"""Formatted buffer instructions: memory in a data format (dfmt) and a numeric format (nfmt), registers in words.

MTBUF has both formats in the word, MUBUF in the resource, where they are known only when the instruction runs; so
sizes and places of the components are looked up. How the hardware rounds its conversions is not published: here a
normalized number is the correctly rounded quotient, a stored one the nearest, and whatever a format cannot hold is
clamped to it. Components that a format lacks load as zeros. Stores take their components in order; a resource's
selection of components counts for loads only.
"""

from __future__ import annotations

from collections.abc import Sequence

from mfma.emulator.decode import Encoding
from mfma.emulator.decode.memory_records import Half, Kind
from mfma.emulator.decode.tables_memory_buffer import MTBUF, MUBUF
from mfma.emulator.semantics.machine import M0, Access, Machine, Space
from mfma.emulator.semantics.memory_access import fields, read_tuple, record, write_tuple
from mfma.emulator.semantics.memory_buffer import Place, place
from mfma.emulator.semantics.registry import Basis, Definition, define
from mfma.emulator.semantics.valu import quiet
from mfma.emulator.semantics.values import B16, B32, B64, F16, F32, F64, Value

__all__ = ["FORMATS"]

FORMATS: tuple[tuple[int, ...], ...] = (
    (), (8,), (16,), (8, 8), (32,), (16, 16), (11, 11, 10), (10, 11, 11), (2, 10, 10, 10), (10, 10, 10, 2),
    (8, 8, 8, 8), (32, 32), (16, 16, 16, 16), (32, 32, 32), (32, 32, 32, 32), (),
)  # fmt: skip
"""Bits of the components by dfmt, from the lowest bit on; AMD's names, such as 10_11_11, begin at the highest."""

NOTE = "how conversions round is not published"
UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 0, 1, 2, 3, 4, 5, 7
SIZES = [sum(widths) // 8 for widths in FORMATS]
WIDTHS = [[(*widths, 0, 0, 0, 0)[c] for widths in FORMATS] for c in range(4)]
OFFSETS = [[sum(widths[:c]) & 127 for widths in FORMATS] for c in range(4)]


class Format:
    """The format of one instruction: dfmt and nfmt as values of the wave."""

    def __init__(self, machine: Machine, where: Place) -> None:
        modifiers = machine.instruction.modifiers
        self.typed = machine.instruction.row.encoding is Encoding.MTBUF
        word = where.resource.word
        self.dfmt = machine.constant(B32, modifiers.dfmt) if self.typed else word.bits(15, 4)
        self.nfmt = machine.constant(B32, modifiers.nfmt) if self.typed else word.bits(12, 3)
        self.size = self.dfmt.lookup(SIZES, B32)

    def component(self, c: int) -> tuple[Value, Value, Value]:
        """Dword, lowest bit in it, and bits of a component."""
        offset = self.dfmt.lookup(OFFSETS[c], B32)
        return offset >> 5, offset & 31, self.dfmt.lookup(WIDTHS[c], B32)

    def choose(self, cases: dict[int, Value], otherwise: Value) -> Value:
        """The case of this nfmt."""
        for nfmt, value in cases.items():
            otherwise = self.nfmt.equals(nfmt).select(value, otherwise)
        return otherwise

    @property
    def integral(self) -> Value:
        """Whether components are integers in registers, B1."""
        return self.nfmt.equals(UINT) | self.nfmt.equals(SINT)

    def pieces(self, where: Place, mask: Value) -> list[tuple[int, Value, Value]]:
        """Size, address and mask of the accesses: one of them of 1 byte, of 2 bytes, or up to four dwords."""
        mask = mask & where.in_range(self.size.zext(B64))
        small = [(size, where.dword(0), mask & self.size.equals(size)) for size in (1, 2)]
        return small + [(4, where.dword(i), mask & ~self.size.ult(4 * i + 4)) for i in range(4)]


def _ones(width: Value) -> Value:
    """That many one bits, up to 32."""
    return width.equals(0).select(width.like(0), width.like(-1) >> (32 - width & 31))


def _extended(value: Value, width: Value) -> Value:
    """The low ``width`` bits with their sign."""
    unused = 32 - width & 31
    return (value << unused).sar(unused)


def _quieted(value: Value) -> Value:
    """A float, but a NaN made quiet, so that a conversion of it has the same bits in every engine."""
    return value.is_nan().select(quiet(value), value)


# loads


def _number(format_: Format, bits: Value, width: Value) -> Value:
    """A component of a format as 32 bits in a register."""
    signed = _extended(bits, width)
    ones = _ones(width)
    # floats of 10 and 11 bits have the exponents of 16, and no sign
    half = width.equals(16).select(bits, bits << (15 - width & 31)).trunc(B16)
    small = _quieted(half.bitcast(F16).to_float(F32))
    quotient = signed.signed_to(F32) / (ones >> 1).unsigned_to(F32).splat()
    cases = {
        UNORM: bits.unsigned_to(F32) / ones.unsigned_to(F32).splat(),
        SNORM: (quotient < -1.0).select(quotient.like(-1.0), quotient),
        USCALED: bits.unsigned_to(F32),
        SSCALED: signed.signed_to(F32),
        FLOAT: width.equals(32).select(bits.bitcast(F32), small),
    }
    cases = {nfmt: value.as_int() for nfmt, value in cases.items()} | {UINT: bits, SINT: signed}
    return width.equals(0).select(bits.like(0), format_.choose(cases, bits))


def _loaded(m: Machine, format_: Format, where: Place, count: int) -> list[Value]:
    words = [m.constant(B32, 0).splat()] * 4
    for i, (size, address, mask) in enumerate(format_.pieces(where, m.exec)):
        (part,) = m.load(Access(Space.GLOBAL, size), address, mask)
        words[max(i - 2, 0)] = words[max(i - 2, 0)] | part
    components = []
    for c in range(4):
        word, low, width = format_.component(c)
        bits = words[0]
        for i in range(1, 4):
            bits = word.equals(i).select(words[i], bits)
        components.append(_number(format_, (bits >> low.splat()) & _ones(width), width))
    if format_.typed:
        return components[:count]
    one = format_.integral.select(m.constant(B32, 1), m.constant(F32, 1.0).as_int())
    selected = []
    for c in range(count):
        select = where.resource.word.bits(3 * c, 3)
        value = select.equals(1).select(one, 0).splat()
        for i in range(4):
            value = select.equals(4 + i).select(components[i], value)
        selected.append(value)
    return selected


def _halves(format_: Format, values: Sequence[Value]) -> list[Value]:
    """32-bit components as 16 bits: integers cut, floats rounded."""
    return [
        format_.integral.select(value & 0xFFFF, _quieted(value.bitcast(F32)).to_float(F16).as_int().zext(B32))
        for value in values
    ]


def _load(m: Machine) -> None:
    access, operands = record(m.instruction), fields(m.instruction)
    where = place(m, operands)
    format_ = Format(m, where)
    values = _loaded(m, format_, where, access.components)
    if access.half is not None:
        values = _halves(format_, values)
        if access.half is Half.HIGH:
            values = [values[0] << 16]
        elif access.half is Half.PACKED:
            values = [
                low | high << 16 for low, high in zip(values[::2], [*values[1::2], values[0].like(0)], strict=False)
            ]
    if access.kind is Kind.TO_LDS:
        offset = (m.sgpr(M0) & 0xFFFF) + m.instruction.modifiers.offset
        m.store(Access(Space.LDS, 4), m.lane() * 4 + offset, values)
    else:
        write_tuple(m, operands["vdst"], values)


# stores


def _bits(format_: Format, value: Value, width: Value) -> Value:
    """A register as a component of a format."""
    ones = _ones(width)
    number, top = value.bitcast(F32), ones >> 1

    def within(low: Value | float, high: Value | float) -> Value:
        """The number clamped, as a float64; a NaN becomes 0."""
        wide = number.to_float(F64)
        low, high = wide.like(low), wide.like(high)
        clamped = (wide < low).select(low, (high < wide).select(high, wide))
        return wide.is_nan().select(wide.like(0.0), clamped)

    half = _quieted(number).to_float(F16).as_int().zext(B32)
    narrow = (half >> (15 - width & 31)) & ones  # of 10 or 11 bits: no sign
    narrow = (half.bits(15, 1).equals(1) & ~number.is_nan()).select(narrow.like(0), narrow)
    small = width.equals(16).select(half, narrow)
    least, most = (value.like(bound) for bound in (~top, top))
    cases = {
        UNORM: (within(0.0, 1.0) * ones.unsigned_to(F64)).rint().to_unsigned(B32),
        SNORM: (within(-1.0, 1.0) * top.unsigned_to(F64)).rint().to_signed(B32),
        USCALED: within(0.0, ones.unsigned_to(F64)).to_unsigned(B32),
        SSCALED: within(-(top + 1).unsigned_to(F64), top.unsigned_to(F64)).to_signed(B32),
        UINT: value.ult(ones).select(value, value.like(ones)),
        SINT: value.slt(least).select(least, most.slt(value).select(most, value)),
        FLOAT: width.equals(32).select(value, small),
    }
    return format_.choose(cases, value) & ones


def _store(m: Machine) -> None:
    access, operands = record(m.instruction), fields(m.instruction)
    where = place(m, operands)
    format_ = Format(m, where)
    values = [value.splat() for value in read_tuple(m, operands["vdata"])]
    if access.half is not None:
        shift = 16 if access.half is Half.HIGH else 0
        parts = [values[c // 2] >> (16 * (c % 2) + shift) & 0xFFFF for c in range(access.components)]
        values = []
        for part in parts:
            wide = part.trunc(B16).bitcast(F16).to_float(F32).as_int()
            values.append(format_.choose({UINT: part, SINT: part.trunc(B16).sext(B32)}, wide))
    words = [m.constant(B32, 0).splat()] * 4
    for c, value in enumerate(values):
        word, low, width = format_.component(c)
        bits = _bits(format_, value, width) << low.splat()
        words = [words[i] | word.equals(i).select(bits, 0) for i in range(4)]
    for i, (size, address, mask) in enumerate(format_.pieces(where, m.exec)):
        m.store(Access(Space.GLOBAL, size), address, [words[max(i - 2, 0)]], mask)


_BUILDS = {Kind.LOAD: _load, Kind.STORE: _store}
for _row in (*MUBUF, *MTBUF):
    if _row.access is not None and _row.access.components:
        define(
            Definition(_row.name, _BUILDS[_row.access.kind], Basis.ASSUMED, "how conversions round is not published")
        )
