"""Memory nodes in native code: a check of all lanes first, then what moves the bytes.

Addresses and data are arrays of all lanes when these are written, masks 64 bits; the work is done by the functions of
`mfma.emulator.translator.addresses`. Atomics run lane after lane, in ascending order. Sums of floats are also taken
down in the record of `mfma.emulator.interpreter.float_order`; if it has no row for their memory yet, they cannot run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from mfma.emulator.semantics.machine import Access
from mfma.emulator.semantics.values import B32, B64, WAVE, Node, Op, Program, Value
from mfma.emulator.translator.addresses import FIND_SUMS, LOCATE, NOTE_SUMS, find_symbol, load_symbol, store_symbol
from mfma.emulator.translator.lower import element, pure
from mfma.emulator.translator.writer import Writer

if TYPE_CHECKING:
    from mfma.emulator.translator.function import Function

__all__ = ["atomic", "check", "combination", "load", "load_wave", "part", "store"]

ROOM = 16
"""Bytes of the largest access of a lane."""


def check(function: Function, index: int) -> None:
    """Find the bytes of every lane, or leave the instruction to the interpreter."""
    node, writer = function.nodes[index], function.writer
    access: Access = node.data
    address, mask = node.arguments[:2]
    hosts = function.hosts[index] = writer.room(f"[{WAVE} x i64]")
    sink = writer.room(f"[{ROOM} x i8]")
    if node.op is Op.LOAD:
        writer.do(f"store [{ROOM} x i8] zeroinitializer, ptr {sink}")
    found = writer.call(
        "i64",
        find_symbol(access.space),
        ("ptr", "%wave"),
        ("ptr", function.array(address)),
        ("i64", function.mask(mask)),
        ("i64", str(access.bytes_)),
        ("i64", str(access.alignment)),
        ("i64", "0" if node.op is Op.LOAD else "1"),
        ("ptr", sink),
        ("ptr", hosts),
    )
    function.refuse_unless(writer.let(f"icmp ne i64 {found}, 0"))
    if access.rounds:
        cells = function.cells[index] = writer.room(f"[{WAVE} x i64]")
        places = ("ptr", hosts), ("i64", function.mask(mask)), ("ptr", cells)
        found = writer.call("i64", FIND_SUMS, ("ptr", "%wave"), *places)
        function.refuse_unless(writer.let(f"icmp ne i64 {found}, 0"))


def load(function: Function, index: int) -> None:
    """Load the registers of all lanes; zeros outside the mask."""
    access: Access = function.nodes[index].data
    writer = function.writer
    registers = function.arrays[index] = writer.room(f"[{max(1, access.bytes_ // 4)} x [{WAVE} x i32]]")
    writer.call("void", load_symbol(access.bytes_), ("ptr", function.hosts[index]), ("ptr", registers))


def store(function: Function, index: int) -> None:
    """Store registers of all lanes of the mask."""
    node = function.nodes[index]
    access: Access = node.data
    given = [("ptr", function.array(argument)) for argument in node.arguments[2:]]
    function.writer.call("void", store_symbol(access.bytes_), ("ptr", function.hosts[index]), *given)


def load_wave(function: Function, index: int) -> None:
    """Find what the wave loads for itself; its parts are loaded from there."""
    node, writer = function.nodes[index], function.writer
    access: Access = node.data
    found = writer.call(
        "i64",
        LOCATE,
        ("ptr", "%wave"),
        ("i64", function.value(node.arguments[0])),
        ("i64", str(access.bytes_)),
        ("i64", "0"),
    )
    function.refuse_unless(writer.let(f"icmp ne i64 {found}, 0"))
    function.arrays[index] = writer.let(f"inttoptr i64 {found} to ptr")


def part(function: Function, node: Node) -> str:
    """One register of a load by the wave."""
    base, let = function.arrays[node.arguments[0]], function.writer.let
    place = let(f"getelementptr i32, ptr {base}, i64 {node.data}")
    return let(f"load i32, ptr {place}, align 1")


def atomic(function: Function, index: int) -> None:
    """Combine memory with the operands, lane after lane, and keep the old values."""
    node, writer = function.nodes[index], function.writer
    access: Access = node.data
    words = access.bytes_ // 4
    kind = f"i{8 * access.bytes_}"
    old_values = function.arrays[index] = writer.room(f"[{words} x [{WAVE} x i32]]")
    writer.do(f"store [{words} x [{WAVE} x i32]] zeroinitializer, ptr {old_values}")
    operands = [function.array(argument) for argument in node.arguments[2:]]
    mask = function.mask(node.arguments[1])
    if access.rounds:
        writer.call("void", NOTE_SUMS, ("ptr", "%wave"), ("ptr", function.cells[index]), ("i64", mask))
    let, head, body, after = writer.let, writer.label(), writer.label(), writer.label()
    before, left, rest = writer.block, writer.name(), writer.name()
    writer.do(f"br label %{head}")
    writer.begin(head)
    writer.do(f"{left} = phi i64 [{mask}, %{before}], [{rest}, %{body}]")
    writer.do(f"br i1 {let(f'icmp eq i64 {left}, 0')}, label %{after}, label %{body}")
    writer.begin(body)
    lane = writer.call("i64", "llvm.cttz.i64", ("i64", left), ("i1", "true"))
    host = let(f"load ptr, ptr {let(f'getelementptr i64, ptr {function.hosts[index]}, i64 {lane}')}")
    old = let(f"load {kind}, ptr {host}, align 1")
    for word in range(words):
        half = let(f"trunc i64 {let(f'lshr i64 {old}, {32 * word}')} to i32") if words == 2 else old
        place = let(f"getelementptr [{WAVE} x i32], ptr {old_values}, i64 {word}, i64 {lane}")
        writer.do(f"store i32 {half}, ptr {place}")
    if access.combine is not None:
        given = [let(f"load {kind}, ptr {let(f'getelementptr {kind}, ptr {o}, i64 {lane}')}") for o in operands]
        new = _combined(writer, combination(access, len(operands)), [old, *given])
        writer.do(f"store {kind} {new}, ptr {host}, align 1")
    writer.do(f"{rest} = and i64 {left}, {let(f'add i64 {left}, -1')}")
    writer.do(f"br label %{head}")
    writer.begin(after)


def combination(access: Access, operands: int) -> tuple[Node, ...]:
    """The program of an atomic's new value, which is the last node's; none if memory keeps the old one."""
    return _combination(access.combine, access.bytes_, operands) if access.combine else ()


@cache
def _combination(combine: Callable[..., Value], bytes_: int, operands: int) -> tuple[Node, ...]:
    program = Program()
    kind = B64 if bytes_ == 8 else B32
    arguments = [program.emit(Op.ARGUMENT, kind, True, data=i) for i in range(1 + operands)]
    result = combine(*arguments)
    return tuple(program.nodes[: result.index + 1])


def _combined(writer: Writer, nodes: Sequence[Node], arguments: Sequence[str]) -> str:
    """Evaluate an atomic's program for one lane."""
    values: list[str] = []
    for node in nodes:
        given = [values[argument] for argument in node.arguments]
        match node.op:
            case Op.ARGUMENT:
                values.append(arguments[node.data])
            case Op.CONST:
                kind = element(node.type)
                bits = str(node.data)
                values.append(
                    bits if kind.startswith("i") else writer.let(f"bitcast i{node.type.bits} {bits} to {kind}")
                )
            case Op.SPLAT:
                values.append(given[0])
            case _:
                types = [nodes[argument].type for argument in node.arguments]
                values.append(pure(writer, node, types, given, 1))
    return values[-1]
