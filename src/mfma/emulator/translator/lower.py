"""What each pure `Op` computes, as LLVM text: on vectors of lanes or, for the wave's own values, on scalars.

Each operation becomes exactly one of LLVM's, or a short sequence; nothing is reassociated or contracted. Values of
F16 are their bits, as i16: their arithmetic happens in F32, whose one more rounding changes nothing for sums, products,
quotients and roots.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

from mfma.emulator.semantics.values import F16, F32, F64, Node, Op, Type
from mfma.emulator.translator.writer import Writer
from mfma.native.jit import converts_half

__all__ = ["element", "pure", "shape", "splat", "suffix"]

BINARY = {
    Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul", Op.AND: "and", Op.OR: "or", Op.XOR: "xor", Op.SHL: "shl",
    Op.SHR: "lshr", Op.SAR: "ashr", Op.FADD: "fadd", Op.FSUB: "fsub", Op.FMUL: "fmul", Op.FDIV: "fdiv",
    Op.EQ: "icmp eq", Op.ULT: "icmp ult", Op.ULE: "icmp ule", Op.SLT: "icmp slt", Op.SLE: "icmp sle",
    Op.FEQ: "fcmp oeq", Op.FLT: "fcmp olt", Op.FLE: "fcmp ole",
}  # fmt: skip
UNARY = {
    Op.POPCOUNT: "ctpop", Op.REVERSE: "bitreverse", Op.LEADING_ZEROS: "ctlz", Op.TRAILING_ZEROS: "cttz",
    Op.FSQRT: "sqrt", Op.FLOOR: "floor", Op.CEIL: "ceil", Op.FTRUNC: "trunc", Op.RINT: "rint",
}  # fmt: skip
CASTS = {Op.ZEXT: "zext", Op.SEXT: "sext", Op.TRUNC: "trunc", Op.BITCAST: "bitcast"}
TO_FLOAT = {Op.UINT_TO_FLOAT: "uitofp", Op.SINT_TO_FLOAT: "sitofp"}
TO_INTEGER = {Op.FLOAT_TO_UINT: "fptoui.sat", Op.FLOAT_TO_SINT: "fptosi.sat"}
STICKY = 29
"""Bits of an F64's mantissa that F32 does not have."""


def element(type_: Type) -> str:
    """LLVM's type for one value."""
    if type_.is_float and type_ != F16:
        return "float" if type_ == F32 else "double"
    return f"i{type_.bits}"


def shape(type_: str, width: int) -> str:
    """Type of ``width`` elements; of one it is the scalar."""
    return f"<{width} x {type_}>" if width > 1 else type_


def suffix(type_: str, width: int) -> str:
    """A type in the name of an intrinsic."""
    name = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}.get(type_, type_)
    return f"v{width}{name}" if width > 1 else name


def splat(writer: Writer, type_: str, value: str, width: int) -> str:
    """A scalar in every lane of a vector."""
    if width == 1:
        return value
    vector = shape(type_, width)
    if not value.startswith("%") and type_.startswith("i"):
        return f"splat ({type_} {value})"
    one = writer.let(f"insertelement {vector} poison, {type_} {value}, i64 0")
    return writer.let(f"shufflevector {vector} {one}, {vector} poison, <{width} x i32> zeroinitializer")


class _Pure:
    """One node's operation in the making."""

    def __init__(self, writer: Writer, width: int) -> None:
        self.writer = writer
        self.width = width

    def let(self, operation: str, type_: str, *arguments: str) -> str:
        return self.writer.let(f"{operation} {shape(type_, self.width)} {', '.join(arguments)}")

    def cast(self, operation: str, source: str, value: str, target: str) -> str:
        return self.writer.let(f"{operation} {shape(source, self.width)} {value} to {shape(target, self.width)}")

    def constant(self, type_: str, number: int) -> str:
        return f"splat ({type_} {number})" if self.width > 1 else str(number)

    def intrinsic(self, name: str, type_: str, *arguments: str, flag: str = "") -> str:
        vector = shape(type_, self.width)
        given = [(vector, argument) for argument in arguments]
        if flag:
            given.append(("i1", flag))
        return self.writer.call(vector, f"llvm.{name}.{suffix(type_, self.width)}", *given)

    # float formats

    def widened(self, value: str, type_: Type, target: Type) -> str:
        """An F16, F32 or F64 as a wider or the same type."""
        if type_ == target:
            return value
        if type_ == F16:
            value = self.half_to_float(value)
        return self.cast("fpext", "float", value, "double") if target == F64 else value

    def narrowed(self, value: str, type_: Type, target: Type) -> str:
        """An F32 or F64 rounded to a narrower or the same type."""
        if type_ == target:
            return value
        if type_ == F64:
            value = self.cast("fptrunc", "double", self.odd(value) if target == F16 else value, "float")
        return self.float_to_half(value) if target == F16 else value

    def half_to_float(self, value: str) -> str:
        """An F16 as F32."""
        if converts_half():
            return self.cast("fpext", "half", self.cast("bitcast", "i16", value, "half"), "float")
        bits = self.cast("zext", "i16", value, "i32")
        sign = self.let(
            "shl", "i32", self.let("and", "i32", bits, self.constant("i32", 0x8000)), self.constant("i32", 16)
        )
        magnitude = self.let(
            "shl", "i32", self.let("and", "i32", bits, self.constant("i32", 0x7FFF)), self.constant("i32", 13)
        )
        # a factor moves the exponent, of subnormals too
        factor = self.cast("bitcast", "i32", self.constant("i32", (127 + 112) << 23), "float")
        number = self.let("fmul", "float", self.cast("bitcast", "i32", magnitude, "float"), factor)
        special = self.let("or", "i32", magnitude, self.constant("i32", 0x7F80_0000))
        is_special = self.let("icmp uge", "i32", magnitude, self.constant("i32", 0x7C00 << 13))
        found = self.select("i32", is_special, special, self.cast("bitcast", "float", number, "i32"))
        return self.cast("bitcast", "i32", self.let("or", "i32", found, sign), "float")

    def float_to_half(self, value: str) -> str:
        """An F32 rounded to F16."""
        if converts_half():
            return self.cast("bitcast", "half", self.cast("fptrunc", "float", value, "half"), "i16")
        constant = self.constant
        bits = self.cast("bitcast", "float", value, "i32")
        magnitude = self.let("and", "i32", bits, constant("i32", 0x7FFF_FFFF))
        # normal: half a unit is added, less one if the last digit that stays is even
        last = self.let("and", "i32", self.let("lshr", "i32", magnitude, constant("i32", 13)), constant("i32", 1))
        moved = self.let("add", "i32", magnitude, constant("i32", -(112 << 23) + 0xFFF))
        normal = self.let("lshr", "i32", self.let("add", "i32", moved, last), constant("i32", 13))
        # subnormal: a sum with 1/2 has its last digit where the subnormals of F16 have theirs
        half = self.cast("bitcast", "i32", constant("i32", 126 << 23), "float")
        total = self.let("fadd", "float", self.cast("bitcast", "i32", magnitude, "float"), half)
        small = self.let("sub", "i32", self.cast("bitcast", "float", total, "i32"), constant("i32", 126 << 23))
        is_small = self.let("icmp ult", "i32", magnitude, constant("i32", 113 << 23))
        is_large = self.let("icmp uge", "i32", magnitude, constant("i32", 143 << 23))
        is_nan = self.let("icmp ugt", "i32", magnitude, constant("i32", 0x7F80_0000))
        found = self.select("i32", is_small, small, normal)
        found = self.select(
            "i32", is_large, self.select("i32", is_nan, constant("i32", 0x7E00), constant("i32", 0x7C00)), found
        )
        sign = self.let("and", "i32", self.let("lshr", "i32", bits, constant("i32", 16)), constant("i32", 0x8000))
        return self.cast("trunc", "i32", self.let("or", "i32", found, sign), "i16")

    def select(self, type_: str, condition: str, yes: str, no: str) -> str:
        kind = shape(type_, self.width)
        return self.writer.let(f"select {shape('i1', self.width)} {condition}, {kind} {yes}, {kind} {no}")

    def odd(self, value: str) -> str:
        """An F64 cut to the digits of an F32, the last of which says whether any was lost (rounded to odd)."""
        bits = self.cast("bitcast", "double", value, "i64")
        lost = self.let("and", "i64", bits, self.constant("i64", (1 << STICKY) - 1))
        is_lost = self.let("icmp ne", "i64", lost, self.constant("i64", 0))
        kept = self.let("and", "i64", bits, self.constant("i64", -1 << STICKY))
        sticky = self.let("shl", "i64", self.cast("zext", "i1", is_lost, "i64"), self.constant("i64", STICKY))
        return self.cast("bitcast", "i64", self.let("or", "i64", kept, sticky), "double")

    def fused_half(self, a: str, b: str, c: str) -> str:
        """F16's fused multiply-add: the product is exact in F32, and the sum is rounded to odd there."""
        x, y, z = (self.widened(value, F16, F32) for value in (a, b, c))
        product = self.let("fmul", "float", x, y)
        total = self.let("fadd", "float", product, z)
        back = self.let("fsub", "float", total, product)
        first = self.let("fsub", "float", product, self.let("fsub", "float", total, back))
        error = self.let("fadd", "float", first, self.let("fsub", "float", z, back))
        # an even total moves to its neighbour on the side of the error: up in bits if the two have one sign
        bits, zero, one = self.cast("bitcast", "float", total, "i32"), self.constant("i32", 0), self.constant("i32", 1)
        signs = self.let("xor", "i32", bits, self.cast("bitcast", "float", error, "i32"))
        step = self.let("or", "i32", self.let("ashr", "i32", signs, self.constant("i32", 31)), one)
        inexact = self.let("fcmp one", "float", error, self.cast("bitcast", "i32", zero, "float"))
        even = self.let("icmp eq", "i32", self.let("and", "i32", bits, one), zero)
        moves, moved = self.let("and", "i1", inexact, even), self.let("add", "i32", bits, step)
        odd = self.select("i32", moves, moved, bits)
        return self.float_to_half(self.cast("bitcast", "i32", odd, "float"))


def pure(  # noqa: PLR0911, PLR0912 one case for each op
    writer: Writer, node: Node, types: Sequence[Type], arguments: Sequence[str], width: int
) -> str:
    """Write a node that depends on its arguments alone; returns the result's name.

    Args:
        writer: the function.
        node: other than `Op.CONST`, and none that reaches into other lanes.
        types: of the arguments.
        arguments: their names.
        width: lanes at once; 1 for a value of the wave.
    """
    do, type_, op = _Pure(writer, width), node.type, node.op
    if op in BINARY or op in UNARY:
        source = types[0]
        if source == F16:
            arguments, source = [do.widened(value, F16, F32) for value in arguments], F32
        if op in BINARY:
            value = do.let(BINARY[op], element(source), *arguments)
        else:
            flag = "false" if op in (Op.LEADING_ZEROS, Op.TRAILING_ZEROS) else ""
            value = do.intrinsic(UNARY[op], element(source), *arguments, flag=flag)
        return do.narrowed(value, F32, F16) if type_ == F16 else value
    match op:
        case Op.SELECT:
            return do.select(element(type_), *arguments)
        case Op.IS_NAN if types[0] == F16:
            magnitude = do.let("and", "i16", arguments[0], do.constant("i16", 0x7FFF))
            return do.let("icmp ugt", "i16", magnitude, do.constant("i16", 0x7C00))
        case Op.IS_NAN:
            return do.let("fcmp uno", element(types[0]), arguments[0], arguments[0])
        case Op.FMA if type_ == F16:
            return do.fused_half(*arguments)
        case Op.FMA:
            return do.intrinsic("fma", element(type_), *arguments)
        case Op.ZEXT | Op.SEXT | Op.TRUNC | Op.BITCAST:
            if element(types[0]) == element(type_):
                return arguments[0]
            return do.cast(CASTS[op], element(types[0]), arguments[0], element(type_))
        case Op.UINT_TO_FLOAT | Op.SINT_TO_FLOAT:
            target = F32 if type_ == F16 else type_
            return do.narrowed(do.cast(TO_FLOAT[op], element(types[0]), arguments[0], element(target)), target, type_)
        case Op.FLOAT_TO_UINT | Op.FLOAT_TO_SINT:
            source = F32 if types[0] == F16 else types[0]
            value = do.widened(arguments[0], types[0], source)
            given, result = shape(element(source), width), shape(element(type_), width)
            name = f"llvm.{TO_INTEGER[op]}.{suffix(element(type_), width)}.{suffix(element(source), width)}"
            return writer.call(result, name, (given, value))
        case Op.FLOAT_TO_FLOAT:
            if types[0].bits < type_.bits:
                return do.widened(arguments[0], types[0], type_)
            return do.narrowed(arguments[0], types[0], type_)
        case Op.LOOKUP:
            return lookup(writer, node, arguments[0], width)
        case _:
            raise NotImplementedError(op.name)


@cache
def _table(data: tuple[int, ...]) -> str:
    return hashlib.sha256(repr(data).encode()).hexdigest()[:16]


def table(writer: Writer, node: Node) -> str:
    """The constant table of an `Op.LOOKUP`, in memory."""
    kind = f"i{node.type.bits}"
    name = f"@table.{kind}.{_table(node.data)}"
    if name not in writer.declarations:
        entries = ", ".join(f"{kind} {number}" for number in node.data)
        writer.declarations[name] = f"{name} = private constant [{len(node.data)} x {kind}] [{entries}], align 64"
    return name


def lookup(writer: Writer, node: Node, index: str, width: int) -> str:
    """Entries of a table."""
    return fetch(writer, element(node.type), table(writer, node), index, width)


def fetch(writer: Writer, type_: str, base: str, index: str, width: int) -> str:
    """Elements of an array in memory at i32 indices below `WAVE` or the size of the array."""
    if width == 1:
        wide = writer.let(f"zext i32 {index} to i64")
        address = writer.let(f"getelementptr inbounds {type_}, ptr {base}, i64 {wide}")
        return writer.let(f"load {type_}, ptr {address}")
    addresses = writer.let(f"getelementptr inbounds {type_}, ptr {base}, <{width} x i32> {index}")
    vector = shape(type_, width)
    return writer.call(
        vector,
        f"llvm.masked.gather.{suffix(type_, width)}.v{width}p0",
        (f"<{width} x ptr>", addresses),
        ("i32", "1"),
        (f"<{width} x i1>", "splat (i1 true)"),
        (vector, "poison"),
    )
