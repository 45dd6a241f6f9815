"""A notation for vector programs: values with operators, loops as ``with`` blocks, LLVM IR underneath.

A `Value` is a scalar or a vector; Python numbers in an expression become constants of the other operand's
type. Integers have no sign of their own: ``>>`` is arithmetic, `shr` logical, ``<`` signed. Nothing here
reassociates or contracts floating-point operations, so a kernel computes exactly what it says.

    k = Kernel(module, "axpy", [POINTER, F32, I64])
    x, a, n = k.arguments
    with k.loop(n // 16 * 16, step=16) as i:
        (k.load(x, i, vector(F32, 16)) * a).store(x, i)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from llvmlite import ir

__all__ = [
    "F32", "F64", "I1", "I8", "I16", "I32", "I64", "POINTER", "Kernel", "Value", "bits", "vector",
]  # fmt: skip

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
POINTER = ir.PointerType()

Number = int | float


def vector(element: ir.Type, lanes: int) -> ir.Type:
    """Type of ``lanes`` elements; one lane is the scalar."""
    return ir.VectorType(element, lanes) if lanes > 1 else element


def _element(type_: ir.Type) -> ir.Type:
    return type_.element if isinstance(type_, ir.VectorType) else type_


def _is_float(type_: ir.Type) -> bool:
    return isinstance(_element(type_), ir.FloatType | ir.DoubleType)


def bits(type_: ir.Type) -> int:
    """Width of a type's elements."""
    element = _element(type_)
    return {F32: 32, F64: 64}.get(element) or int(element.width)


class Value:
    """A scalar or vector value inside a `Kernel`."""

    __slots__ = ("kernel", "raw")

    def __init__(self, kernel: Kernel, raw: Any):
        self.kernel = kernel
        self.raw = raw

    @property
    def type(self) -> ir.Type:
        """LLVM type."""
        return self.raw.type

    @property
    def lanes(self) -> int:
        """Number of elements."""
        return self.type.count if isinstance(self.type, ir.VectorType) else 1

    def like(self, other: Value | Number) -> Value:
        """``other`` as a value of this type: numbers become constants, scalars fill all lanes."""
        if not isinstance(other, Value):
            return self.kernel.constant(self.type, other)
        return other.splat(self.lanes) if other.lanes < self.lanes else other

    def _binary(self, other: Value | Number, integer: str, floating: str = "") -> Value:
        if isinstance(other, Value) and other.lanes > self.lanes:
            return self.splat(other.lanes)._binary(other, integer, floating)
        emit = getattr(self.kernel.builder, floating if _is_float(self.type) else integer)
        return Value(self.kernel, emit(self.raw, self.like(other).raw))

    def __add__(self, other: Value | Number) -> Value:
        return self._binary(other, "add", "fadd")

    def __sub__(self, other: Value | Number) -> Value:
        return self._binary(other, "sub", "fsub")

    def __rsub__(self, other: Number) -> Value:
        return self.like(other) - self

    def __mul__(self, other: Value | Number) -> Value:
        return self._binary(other, "mul", "fmul")

    def __floordiv__(self, other: Value | Number) -> Value:
        return self._binary(other, "sdiv")

    def __and__(self, other: Value | Number) -> Value:
        return self._binary(other, "and_")

    def __or__(self, other: Value | Number) -> Value:
        return self._binary(other, "or_")

    def __xor__(self, other: Value | Number) -> Value:
        return self._binary(other, "xor")

    def __lshift__(self, other: Value | Number) -> Value:
        return self._binary(other, "shl")

    def __rshift__(self, other: Value | Number) -> Value:
        return self._binary(other, "ashr")

    def shr(self, other: Value | Number) -> Value:
        """Logical shift right."""
        return self._binary(other, "lshr")

    def _compare(self, operator: str, other: Value | Number) -> Value:
        builder = self.kernel.builder
        emit = builder.fcmp_ordered if _is_float(self.type) else builder.icmp_signed
        return Value(self.kernel, emit(operator, self.raw, self.like(other).raw))

    def __lt__(self, other: Value | Number) -> Value:
        return self._compare("<", other)

    def __gt__(self, other: Value | Number) -> Value:
        return self._compare(">", other)

    def __le__(self, other: Value | Number) -> Value:
        return self._compare("<=", other)

    def __ge__(self, other: Value | Number) -> Value:
        return self._compare(">=", other)

    def equals(self, other: Value | Number) -> Value:
        """Lane by lane, ordered (NaN equals nothing)."""
        return self._compare("==", other)

    def is_nan(self) -> Value:
        """Lane by lane."""
        return Value(self.kernel, self.kernel.builder.fcmp_unordered("uno", self.raw, self.raw))

    def select(self, yes: Value, no: Value | Number) -> Value:
        """``yes`` where this mask is true, else ``no``."""
        return Value(self.kernel, self.kernel.builder.select(self.raw, yes.raw, yes.like(no).raw))

    def any(self) -> Value:
        """Whether some lane of this mask is true."""
        builder = self.kernel.builder
        if self.lanes == 1:
            return self
        packed = builder.bitcast(self.raw, ir.IntType(self.lanes))
        return Value(self.kernel, builder.icmp_unsigned("!=", packed, ir.Constant(packed.type, 0)))

    def maximum(self, other: Value | Number) -> Value:
        """Larger integer of the two, signed."""
        return self.kernel.call("llvm.smax", self, self.like(other))

    def minimum(self, other: Value | Number) -> Value:
        """Smaller integer of the two, signed."""
        return self.kernel.call("llvm.smin", self, self.like(other))

    def add_saturating(self, other: Value | Number) -> Value:
        """Signed sum, clamped to the type's range."""
        return self.kernel.call("llvm.sadd.sat", self, self.like(other))

    def leading_zeros(self) -> Value:
        """Zero bits above the highest one; all of them for zero."""
        kernel = self.kernel
        return kernel.call("llvm.ctlz", self, kernel.constant(I1, 0))

    def floor(self) -> Value:
        """Largest integral value not above."""
        return self.kernel.call("llvm.floor", self)

    def fma(self, factor: Value | Number, addend: Value) -> Value:
        """``self * factor + addend`` with one rounding."""
        return self.kernel.call("llvm.fma", self, self.like(factor), self.like(addend))

    def splat(self, lanes: int) -> Value:
        """This scalar in every lane."""
        if self.lanes == lanes:
            return self
        builder = self.kernel.builder
        one = builder.insert_element(ir.Constant(vector(self.type, lanes), ir.Undefined), self.raw, ir.Constant(I32, 0))
        zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
        return Value(self.kernel, builder.shuffle_vector(one, one, zeros))

    def part(self, start: int, lanes: int) -> Value:
        """Lanes ``start`` to ``start + lanes``."""
        return self if lanes == self.lanes else self.shuffle(range(start, start + lanes))

    def shuffle(self, lanes: Sequence[int]) -> Value:
        """The lanes of these numbers, in this order."""
        mask = ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes))
        return Value(self.kernel, self.kernel.builder.shuffle_vector(self.raw, self.raw, mask))

    def bitcast(self, element: ir.Type) -> Value:
        """Same bits as elements of another type of the same width."""
        return Value(self.kernel, self.kernel.builder.bitcast(self.raw, vector(element, self.lanes)))

    def to(self, element: ir.Type, signed: bool = True) -> Value:
        """Convert the value: integers extend or wrap, float to int truncates, int and float to float round."""
        target, source = vector(element, self.lanes), self.type
        if target == source:
            return self
        builder = self.kernel.builder
        narrower = bits(target) < bits(source)
        match _is_float(source), _is_float(target):
            case False, False:
                emit = builder.trunc if narrower else builder.sext if signed else builder.zext
            case False, True:
                emit = builder.sitofp if signed else builder.uitofp
            case True, False:
                emit = builder.fptosi
            case _:
                emit = builder.fptrunc if narrower else builder.fpext
        return Value(self.kernel, emit(self.raw, target))

    def store(self, pointer: Value, index: Value | int = 0) -> None:
        """Store at ``pointer`` plus ``index`` elements (of this value's element type)."""
        kernel = self.kernel
        kernel.builder.store(self.raw, kernel.address(pointer, index, _element(self.type)).raw, align=1)


class Kernel:
    """One native function under construction; its arguments are scalars and pointers.

    An ``exported`` one returns nothing and runs in the default floating-point environment; others are internal to the
    module, and may return a ``result``.
    """

    def __init__(
        self,
        module: ir.Module,
        name: str,
        arguments: Sequence[ir.Type],
        exported: bool = True,
        result: ir.Type | None = None,
    ):
        self.module = module
        type_ = ir.FunctionType(result or ir.VoidType(), arguments)
        inner = ir.Function(module, type_, f"{name}.body" if exported else name)
        inner.linkage = "internal"
        inner.attributes.add("nounwind")
        self.function = inner
        self.builder = ir.IRBuilder(inner.append_basic_block("entry"))
        self.entry = self.builder.block
        self.arguments = [Value(self, argument) for argument in inner.args]
        if exported:
            inner.attributes.add("noinline")  # keeps its arithmetic between the two changes of the environment
            _export(module, name, inner)

    def constant(self, type_: ir.Type, number: Number | Sequence[Number]) -> Value:
        """A constant; one number fills all lanes of a vector type."""
        convert = float if _is_float(type_) else int
        if isinstance(type_, ir.VectorType):
            lanes = [number] * type_.count if isinstance(number, int | float) else list(number)
            return Value(self, ir.Constant(type_, [convert(x) for x in lanes]))
        return Value(self, ir.Constant(type_, convert(number)))  # type: ignore[arg-type]

    def call(self, intrinsic: str, *operands: Value) -> Value:
        """Call an LLVM intrinsic that is overloaded on the type of its first operand, and returns it."""
        type_ = operands[0].type
        lanes = operands[0].lanes
        name = f"{intrinsic}.{f'v{lanes}' if lanes > 1 else ''}{'f' if _is_float(type_) else 'i'}{bits(type_)}"
        function = self.module.globals.get(name) or ir.Function(
            self.module, ir.FunctionType(type_, [operand.type for operand in operands]), name
        )
        return Value(self, self.builder.call(function, [operand.raw for operand in operands]))

    def address(self, pointer: Value, index: Value | int, element: ir.Type) -> Value:
        """Pointer plus ``index`` elements."""
        offset = index.raw if isinstance(index, Value) else ir.Constant(I64, index)
        return Value(self, self.builder.gep(pointer.raw, [offset], source_etype=element))

    def load(self, pointer: Value, index: Value | int, type_: ir.Type) -> Value:
        """Load a scalar or vector at ``pointer`` plus ``index`` elements."""
        address = self.address(pointer, index, _element(type_))
        return Value(self, self.builder.load(address.raw, typ=type_, align=1))

    def array(self, element: ir.Type, count: int) -> Value:
        """Uninitialised memory on the stack, aligned to a cache line."""
        with self.builder.goto_block(self.entry):
            memory = self.builder.alloca(ir.ArrayType(element, count))
            memory.align = 64
        memory.type = POINTER  # llvmlite gives a typed pointer, which it does not let go with opaque ones
        return Value(self, memory)

    def table(self, element: ir.Type, numbers: Sequence[Number], name: str) -> Value:
        """A constant array in memory."""
        type_ = ir.ArrayType(element, len(numbers))
        data = ir.GlobalVariable(self.module, type_, self.module.get_unique_name(name))
        data.global_constant, data.linkage = True, "internal"
        data.initializer = ir.Constant(type_, list(numbers))
        data.type = POINTER
        return Value(self, data)

    @contextlib.contextmanager
    def loop(self, stop: Value | int, start: Value | int = 0, step: int = 1) -> Iterator[Value]:
        """Run the block for an I64 counter from ``start`` while it is below ``stop``."""
        with self.loop_carrying(stop, [], start, step) as (counter, _):
            yield counter

    @contextlib.contextmanager
    def loop_carrying(
        self, stop: Value | int, values: Sequence[Value], start: Value | int = 0, step: int = 1
    ) -> Iterator[tuple[Value, list[Value]]]:
        """Run the block as `loop` does, with values that pass from one round to the next in registers.

        The block gets the counter and a list of the values, and puts the next ones into the list; afterwards the
        list holds the last ones.
        """
        builder = self.builder
        first = start if isinstance(start, Value) else self.constant(I64, start)
        last = stop if isinstance(stop, Value) else self.constant(I64, stop)
        before = builder.block
        head, body, after = (builder.append_basic_block(name) for name in ("loop", "body", "after"))
        builder.branch(head)
        builder.position_at_end(head)
        counter = builder.phi(I64)
        counter.add_incoming(first.raw, before)
        phis = [builder.phi(value.type) for value in values]
        for phi, value in zip(phis, values, strict=True):
            phi.add_incoming(value.raw, before)
        builder.cbranch(builder.icmp_signed("<", counter, last.raw), body, after)
        builder.position_at_end(body)
        carried = [Value(self, phi) for phi in phis]
        yield Value(self, counter), carried
        counter.add_incoming(builder.add(counter, ir.Constant(I64, step)), builder.block)
        for phi, value in zip(phis, carried, strict=True):
            phi.add_incoming(value.raw, builder.block)
        builder.branch(head)
        builder.position_at_end(after)
        carried[:] = [Value(self, phi) for phi in phis]

    @contextlib.contextmanager
    def when(self, condition: Value, likely: bool | None = None) -> Iterator[None]:
        """Run the block if the scalar ``condition`` is true."""
        with self.builder.if_then(condition.raw, likely=likely):
            yield

    def finish(self, value: Value | None = None) -> None:
        """End the function, with its result if it has one."""
        if value is None:
            self.builder.ret_void()
        else:
            self.builder.ret(value.raw)


def _export(module: ir.Module, name: str, inner: ir.Function) -> None:
    """Wrap ``inner`` so that it runs in IEEE's default environment, whatever the calling thread had set.

    Another library may have left flush-to-zero, denormals-are-zero or a rounding mode on this thread.
    """
    outer = ir.Function(module, inner.function_type, name)
    outer.attributes.add("nounwind")
    builder = ir.IRBuilder(outer.append_basic_block("entry"))
    architecture = str(module.triple).partition("-")[0]
    if architecture == "x86_64":
        saved, default = builder.alloca(I32), builder.alloca(I32)
        access = ir.FunctionType(ir.VoidType(), [POINTER])
        read = ir.Function(module, access, "llvm.x86.sse.stmxcsr")
        write = ir.Function(module, access, "llvm.x86.sse.ldmxcsr")
        builder.store(ir.Constant(I32, 0x1F80), default)
        builder.call(read, [saved])
        builder.call(write, [default])
        builder.call(inner, outer.args)
        builder.call(write, [saved])
    elif architecture == "aarch64":
        read = ir.Function(module, ir.FunctionType(I64, []), "llvm.aarch64.get.fpcr")
        write = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64]), "llvm.aarch64.set.fpcr")
        saved = builder.call(read, [])
        builder.call(write, [ir.Constant(I64, 0)])
        builder.call(inner, outer.args)
        builder.call(write, [saved])
    else:
        raise NotImplementedError(
            f"native kernels know the floating-point environment of x86_64 and aarch64, not {architecture}"
        )
    builder.ret_void()
