"""The small language in which instructions are defined: typed values, one per wave or one per lane.

A definition computes with `Value` objects; each operation appends one node to the `Program` of its instruction,
and an engine evaluates the nodes in their order: with NumPy in the interpreter, as machine code in a translator.
The set of operations is closed (`Op`), so an engine is complete when it knows every member.

Integers have no sign of their own; ``<<`` and ``>>`` shift in zeros, comparisons and widenings say which sign they
mean. Floating-point operations round to nearest even and keep subnormals; which NaN an operation returns is not
defined here (the instruction's shell decides, see `mfma.emulator.semantics.valu`). ``B1`` is a truth value; one per
lane, it is a mask. Python numbers in an expression become constants of the other operand's type, and a value of
the wave joins one of the lanes by filling every lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

__all__ = ["B1", "B8", "B16", "B32", "B64", "F16", "F32", "F64", "WAVE", "Node", "Op", "Program", "Type", "Value"]

WAVE = 64


@dataclass(frozen=True)
class Type:
    """Kind and width of a value."""

    bits: int
    is_float: bool = False

    def __repr__(self) -> str:
        return f"{'F' if self.is_float else 'B'}{self.bits}"

    @property
    def integer(self) -> Type:
        """The integer type of the same width."""
        return Type(self.bits)


B1, B8, B16, B32, B64 = (Type(bits) for bits in (1, 8, 16, 32, 64))
F16, F32, F64 = (Type(bits, is_float=True) for bits in (16, 32, 64))


class Op(Enum):
    """Everything that an engine has to be able to do. ``data`` is what the node carries beside its arguments."""

    # values from nowhere
    CONST = auto()  # data: the bits, as an int
    LANE = auto()  # number of the lane, B32, one per lane
    ARGUMENT = auto()  # data: which argument of a pure function, such as an atomic's

    # integers; every operand has the type of the result
    ADD = auto()
    SUB = auto()
    MUL = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    SHL = auto()  # shift counts are below the width: definitions mask them
    SHR = auto()
    SAR = auto()
    POPCOUNT = auto()
    LEADING_ZEROS = auto()  # the width for zero
    TRAILING_ZEROS = auto()  # the width for zero
    REVERSE = auto()  # bits in the opposite order

    # comparisons, B1
    EQ = auto()
    ULT = auto()
    ULE = auto()
    SLT = auto()
    SLE = auto()
    FEQ = auto()  # the ordered comparisons: false with a NaN
    FLT = auto()
    FLE = auto()
    IS_NAN = auto()

    SELECT = auto()  # condition, yes, no

    # conversions
    ZEXT = auto()
    SEXT = auto()
    TRUNC = auto()
    BITCAST = auto()  # between an integer and the float of the same width
    UINT_TO_FLOAT = auto()  # rounds once, to nearest even
    SINT_TO_FLOAT = auto()
    FLOAT_TO_UINT = auto()  # truncates, clamps to the range of the type, NaN gives 0
    FLOAT_TO_SINT = auto()
    FLOAT_TO_FLOAT = auto()

    # floats
    FADD = auto()
    FSUB = auto()
    FMUL = auto()
    FDIV = auto()
    FSQRT = auto()
    FMA = auto()
    FLOOR = auto()
    CEIL = auto()
    FTRUNC = auto()
    RINT = auto()  # to nearest even

    # between lanes and wave
    SPLAT = auto()  # wave value into every lane
    GATHER = auto()  # values, lane numbers B32 (below 64): every lane takes the value of the lane it names
    READ_LANE = auto()  # values, wave B32 (below 64): one lane's value for the wave
    BALLOT = auto()  # mask -> wave B64
    UNBALLOT = auto()  # wave B64 -> mask

    LOOKUP = auto()  # data: tuple of bits; index B32 -> the type of the result

    # state of the wave; data: the register's number. SGPRs 0 to 127 by operand code: VCC 106, M0 124, EXEC 126.
    # Of a B64 it is the first of a pair.
    SGPR = auto()
    SET_SGPR = auto()
    EXEC_MASK = auto()  # EXEC as a mask
    SCC = auto()
    SET_SCC = auto()
    VGPR = auto()  # 0 to 255 architectural, 256 to 511 accumulation registers
    SET_VGPR = auto()  # value, mask: lanes outside the mask keep theirs
    VGPR_AT = auto()  # wave B32: the register whose number is data plus this
    SET_VGPR_AT = auto()  # wave B32, value, mask
    WRITE_LANE = auto()  # data: register; value of the wave, wave B32 lane: one lane's register, whatever EXEC
    HARDWARE = auto()  # data: name of a hardware register or counter, wave B32 or B64
    SET_MODE = auto()  # wave B32: the MODE register

    # memory; data: an Access (space, bytes). Addresses B64 in global and flat memory, B32 offsets in LDS and scratch
    LOAD = auto()  # address, mask -> several registers, see PART; narrow loads are zero-extended
    PART = auto()  # data: which 32-bit register of a LOAD, LOAD_WAVE or ATOMIC
    STORE = auto()  # address, mask, registers...
    ATOMIC = auto()  # address, mask, operands...; data says how old and operands combine; the old value comes back
    LOAD_WAVE = auto()  # address B64 of the wave -> registers of the wave

    MATRIX = auto()  # data: a MatrixCall

    # control
    JUMP = auto()  # wave B64 address
    BRANCH = auto()  # wave B1, data: address if true
    BARRIER = auto()
    END = auto()
    YIELD = auto()  # let other waves run
    TRAP = auto()  # data: what happened


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of a program: its result is value number ``index`` there."""

    op: Op
    type: Type
    lanes: bool
    arguments: tuple[int, ...]
    data: Any = None


@dataclass
class Program:
    """The nodes of one instruction, in the order in which they happen."""

    nodes: list[Node] = field(default_factory=list)

    def emit(self, op: Op, type_: Type, lanes: bool, *arguments: Value, data: Any = None) -> Value:
        """Append a node; the Value stands for its result."""
        self.nodes.append(Node(op, type_, lanes, tuple(argument.index for argument in arguments), data))
        return Value(self, len(self.nodes) - 1, type_, lanes)

    def constant(self, type_: Type, number: int | float) -> Value:
        """A constant of the wave; floats are rounded to the type, integers wrap."""
        return self.emit(Op.CONST, type_, False, data=_bits(type_, number))

    def lane(self) -> Value:
        """Every lane's own number, B32."""
        return self.emit(Op.LANE, B32, True)


def _bits(type_: Type, number: int | float) -> int:
    if not type_.is_float:
        return int(number) & ((1 << type_.bits) - 1)
    import struct

    return int.from_bytes(struct.pack({16: "<e", 32: "<f", 64: "<d"}[type_.bits], number), "little")


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """Result of a node: of ``type``, one for each lane or (``lanes`` false) one for the wave."""

    program: Program
    index: int
    type: Type
    lanes: bool

    # how operands come together

    def like(self, other: Value | int | float) -> Value:
        """``other`` as a value of this type, and of the lanes if this one is."""
        value = other if isinstance(other, Value) else self.program.constant(self.type, other)
        if value.type != self.type:
            raise TypeError(f"{value.type!r} where {self.type!r} is expected")
        return value.splat() if self.lanes else value

    def splat(self) -> Value:
        """This value in every lane."""
        return self if self.lanes else self.program.emit(Op.SPLAT, self.type, True, self)

    def _binary(self, op: Op, other: Value | int | float, type_: Type | None = None) -> Value:
        left = self.splat() if isinstance(other, Value) and other.lanes else self
        right = left.like(other)
        return self.program.emit(op, type_ or self.type, left.lanes, left, right)

    def _unary(self, op: Op, type_: Type | None = None) -> Value:
        return self.program.emit(op, type_ or self.type, self.lanes, self)

    def _pick(self, integer: Op, floating: Op) -> Op:
        return floating if self.type.is_float else integer

    # arithmetic

    def __add__(self, other: Value | int | float) -> Value:
        return self._binary(self._pick(Op.ADD, Op.FADD), other)

    def __sub__(self, other: Value | int | float) -> Value:
        return self._binary(self._pick(Op.SUB, Op.FSUB), other)

    def __rsub__(self, other: int | float) -> Value:
        return self.like(other) - self

    def __mul__(self, other: Value | int | float) -> Value:
        return self._binary(self._pick(Op.MUL, Op.FMUL), other)

    def __truediv__(self, other: Value | int | float) -> Value:
        return self._binary(Op.FDIV, other)

    def __rtruediv__(self, other: int | float) -> Value:
        return self.like(other) / self

    def __and__(self, other: Value | int) -> Value:
        return self._binary(Op.AND, other)

    def __or__(self, other: Value | int) -> Value:
        return self._binary(Op.OR, other)

    def __xor__(self, other: Value | int) -> Value:
        return self._binary(Op.XOR, other)

    def __invert__(self) -> Value:
        return self ^ -1

    def __neg__(self) -> Value:
        if self.type.is_float:
            return (self.as_int() ^ (1 << self.type.bits - 1)).bitcast(self.type)
        return 0 - self

    def __lshift__(self, count: Value | int) -> Value:
        return self._binary(Op.SHL, count)

    def __rshift__(self, count: Value | int) -> Value:
        return self._binary(Op.SHR, count)

    def sar(self, count: Value | int) -> Value:
        """Arithmetic shift right."""
        return self._binary(Op.SAR, count)

    def popcount(self) -> Value:
        """Number of one bits."""
        return self._unary(Op.POPCOUNT)

    def leading_zeros(self) -> Value:
        """Zero bits above the highest one; the width for zero."""
        return self._unary(Op.LEADING_ZEROS)

    def trailing_zeros(self) -> Value:
        """Zero bits below the lowest one; the width for zero."""
        return self._unary(Op.TRAILING_ZEROS)

    def reverse(self) -> Value:
        """Bits in the opposite order."""
        return self._unary(Op.REVERSE)

    def bits(self, low: int, width: int) -> Value:
        """``width`` bits from ``low`` on, zero-extended."""
        return (self >> low) & ((1 << width) - 1) if low else self & ((1 << width) - 1)

    # floats

    def fabs(self) -> Value:
        """Without the sign bit."""
        return (self.as_int() & ((1 << self.type.bits - 1) - 1)).bitcast(self.type)

    def sqrt(self) -> Value:
        """Square root, rounded to nearest even."""
        return self._unary(Op.FSQRT)

    def fma(self, factor: Value | float, addend: Value | float) -> Value:
        """``self * factor + addend`` with one rounding."""
        a, b, c = _together(self, self.like(factor), self.like(addend))
        return self.program.emit(Op.FMA, self.type, a.lanes, a, b, c)

    def floor(self) -> Value:
        """Largest integral value not above."""
        return self._unary(Op.FLOOR)

    def ceil(self) -> Value:
        """Smallest integral value not below."""
        return self._unary(Op.CEIL)

    def trunc_float(self) -> Value:
        """Integral part, toward zero."""
        return self._unary(Op.FTRUNC)

    def rint(self) -> Value:
        """Nearest integral value, ties to even."""
        return self._unary(Op.RINT)

    # comparisons: B1

    def equals(self, other: Value | int | float) -> Value:
        """Same number (same bits for integers; ordered for floats)."""
        return self._binary(self._pick(Op.EQ, Op.FEQ), other, B1)

    def differs(self, other: Value | int | float) -> Value:
        """Not `equals`: true with a NaN."""
        return ~self.equals(other)

    def ult(self, other: Value | int) -> Value:
        """Less, unsigned."""
        return self._binary(Op.ULT, other, B1)

    def ule(self, other: Value | int) -> Value:
        """Less or equal, unsigned."""
        return self._binary(Op.ULE, other, B1)

    def slt(self, other: Value | int) -> Value:
        """Less, signed."""
        return self._binary(Op.SLT, other, B1)

    def sle(self, other: Value | int) -> Value:
        """Less or equal, signed."""
        return self._binary(Op.SLE, other, B1)

    def __lt__(self, other: Value | float) -> Value:
        return self._binary(Op.FLT, other, B1)

    def __le__(self, other: Value | float) -> Value:
        return self._binary(Op.FLE, other, B1)

    def __gt__(self, other: Value | float) -> Value:
        return self.like(other)._binary(Op.FLT, self, B1)

    def __ge__(self, other: Value | float) -> Value:
        return self.like(other)._binary(Op.FLE, self, B1)

    def is_nan(self) -> Value:
        """Whether the float is a NaN."""
        return self._unary(Op.IS_NAN, B1)

    def select(self, yes: Value, no: Value | int | float) -> Value:
        """``yes`` where this B1 is true, else ``no``."""
        condition, yes, no = _together(self, yes, yes.like(no))
        return self.program.emit(Op.SELECT, yes.type, condition.lanes, condition, yes, no)

    # conversions

    def zext(self, type_: Type) -> Value:
        """Wider (or the same) integer, zero-extended."""
        return self if type_ == self.type else self._unary(Op.ZEXT, type_)

    def sext(self, type_: Type) -> Value:
        """Wider (or the same) integer, sign-extended; a true B1 becomes -1."""
        return self if type_ == self.type else self._unary(Op.SEXT, type_)

    def trunc(self, type_: Type) -> Value:
        """Low bits as a narrower (or the same) integer."""
        return self if type_ == self.type else self._unary(Op.TRUNC, type_)

    def bitcast(self, type_: Type) -> Value:
        """Same bits under another type of the same width."""
        if type_.bits != self.type.bits:
            raise TypeError(f"bitcast of {self.type!r} to {type_!r}")
        return self if type_ == self.type else self._unary(Op.BITCAST, type_)

    def as_int(self) -> Value:
        """Same bits as an integer."""
        return self.bitcast(self.type.integer)

    def unsigned_to(self, type_: Type) -> Value:
        """Unsigned integer to float, rounded to nearest even."""
        return self._unary(Op.UINT_TO_FLOAT, type_)

    def signed_to(self, type_: Type) -> Value:
        """Signed integer to float, rounded to nearest even."""
        return self._unary(Op.SINT_TO_FLOAT, type_)

    def to_unsigned(self, type_: Type) -> Value:
        """Float to unsigned integer: toward zero, clamped to the range, NaN gives 0."""
        return self._unary(Op.FLOAT_TO_UINT, type_)

    def to_signed(self, type_: Type) -> Value:
        """Float to signed integer: toward zero, clamped to the range, NaN gives 0."""
        return self._unary(Op.FLOAT_TO_SINT, type_)

    def to_float(self, type_: Type) -> Value:
        """Float to float, rounded to nearest even."""
        return self if type_ == self.type else self._unary(Op.FLOAT_TO_FLOAT, type_)

    def concat(self, high: Value) -> Value:
        """Twice as wide an integer: this value below, ``high`` above."""
        wide = Type(2 * self.type.bits)
        return self.zext(wide) | (high.zext(wide) << self.type.bits)

    # between lanes and wave

    def gather(self, lanes: Value) -> Value:
        """In each lane, this value of the lane that ``lanes`` (B32, below 64) names there."""
        return self.program.emit(Op.GATHER, self.type, True, self.splat(), lanes.splat())

    def read_lane(self, lane: Value | int) -> Value:
        """Value of one lane (wave B32, below 64), for the wave."""
        lane = lane if isinstance(lane, Value) else self.program.constant(B32, lane)
        return self.program.emit(Op.READ_LANE, self.type, False, self.splat(), lane)

    def ballot(self) -> Value:
        """Bit n of the wave's B64 is this mask's lane n."""
        return self.program.emit(Op.BALLOT, B64, False, self.splat())

    def unballot(self) -> Value:
        """Mask whose lane n is bit n of this B64 of the wave."""
        return self.program.emit(Op.UNBALLOT, B1, True, self)

    def lookup(self, table: Sequence[int], type_: Type) -> Value:
        """Entry of a constant table, bits of ``type_``; this B32 must be below its length."""
        return self.program.emit(Op.LOOKUP, type_, self.lanes, self, data=tuple(table))


def _together(*values: Value) -> tuple[Value, ...]:
    return tuple(value.splat() for value in values) if any(value.lanes for value in values) else values
