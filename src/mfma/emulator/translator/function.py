"""One native function from the program of an instruction: ``i64 form(ptr wave, ptr operands)``.

It returns `DONE`, or `TAKEN` if the wave goes on elsewhere, or `CANNOT` if nothing was changed and the interpreter has
to do the instruction, because it faults or because it is rare. Numbers of registers and constants that the
instruction's words hold are read from ``operands``, so that one function serves many instructions.
"""

from __future__ import annotations

from dataclasses import dataclass

from mfma.emulator.memory import PRIVATE_BASE, SHARED_BASE
from mfma.emulator.semantics.machine import ACC, EXEC, MatrixCall
from mfma.emulator.semantics.values import B1, B64, WAVE, Node, Op
from mfma.emulator.translator import memory
from mfma.emulator.translator.layout import SCALARS, Field
from mfma.emulator.translator.lower import element, fetch, pure, splat, table
from mfma.emulator.translator.schedule import EFFECTS, LEAVES, Schedule, schedule
from mfma.emulator.translator.writer import Writer

__all__ = ["CANNOT", "CHUNK", "DONE", "TAKEN", "Function", "Template", "matrix_instruction", "write"]

CHUNK = 16
"""Lanes that a pass computes at once."""
CHUNKS = WAVE // CHUNK
DONE, CANNOT, TAKEN = range(3)
APERTURE = (1 << 32) - 1
HARDWARE = {
    "shared_base": SHARED_BASE,
    "shared_limit": SHARED_BASE + APERTURE,
    "private_base": PRIVATE_BASE,
    "private_limit": PRIVATE_BASE + APERTURE,
}
"""Hardware registers that are constants."""


@dataclass(frozen=True)
class Template:
    """A program with holes: what instructions that share a function have in common.

    Attributes:
        nodes: those that count; numbers in their data that are operands mean nothing.
        slots: for each node, which operand each of its numbers is, or None if the number stands in the node.
    """

    nodes: tuple[Node, ...]
    slots: tuple[tuple[int | None, ...], ...]


def numbers(node: Node) -> tuple[int, ...]:
    """The numbers of a node's data that an operand can hold."""
    match node.op:
        case Op.MATRIX:
            call: MatrixCall = node.data
            return call.d, call.a, call.b, call.c or 0, call.c_bits
        case Op.CONST | Op.SGPR | Op.SET_SGPR | Op.VGPR | Op.SET_VGPR | Op.VGPR_AT | Op.SET_VGPR_AT | Op.WRITE_LANE:
            return (node.data,)
        case _:
            return ()


def write(name: str, template: Template, declarations: dict[str, str]) -> str:
    """Text of the function; what it needs of the module is added to ``declarations``.

    Raises:
        UnscheduledError: native code cannot run the program.
    """
    return Function(template, declarations).text(name)


class Function:
    """Writer of one function."""

    def __init__(self, template: Template, declarations: dict[str, str]) -> None:
        self.nodes = template.nodes
        self.slots = template.slots
        self.plan: Schedule = schedule(template.nodes)
        self.writer = Writer(declarations)
        self.values: dict[int, str] = {}  # of the wave, or the same in all lanes
        self.here: dict[int, str] = {}  # of the chunk that the present pass is at
        self.masks: dict[int, str] = {}  # masks as 64 bits
        self.arrays: dict[int, str] = {}  # where values of all lanes are in memory
        self.indexed: dict[int, str] = {}  # where the registers that M0 indexes are
        self.hosts: dict[int, str] = {}  # where the host addresses of a memory node's lanes are
        self.cells: dict[int, str] = {}  # where the host addresses of its cells in the record of float sums are
        self.lane = "0"  # first of the chunk
        self.result = str(DONE)
        self.refuses = False

    def text(self, name: str) -> str:
        """Write everything."""
        for time in range(max(self.plan.at, default=0) + 2):
            here = self.plan.at.get(time, [])
            if time & 1:
                self._pass([number for number in here if number in self.plan.inside])
            else:
                self._between(here, self.plan.at.get(time + 1, []))
        writer = self.writer
        writer.do(f"ret i64 {self.result}")
        if self.refuses:
            writer.begin("cannot")
            writer.do(f"ret i64 {CANNOT}")
        return writer.text(name, "ptr noalias %wave, ptr noalias readonly %operands")

    def refuse_unless(self, condition: str) -> None:
        """Leave the instruction to the interpreter if an i1 is false."""
        self.refuses = True
        on = self.writer.label()
        self.writer.do(f"br i1 {condition}, label %{on}, label %cannot")
        self.writer.begin(on)

    # numbers and addresses

    def number(self, index: int, position: int = 0) -> str:
        """A number of a node's data, i64: a constant or an operand."""
        slot = self.slots[index][position]
        if slot is None:
            return str(numbers(self.nodes[index])[position])
        once = self.writer.once
        address = once(f"getelementptr i64, ptr %operands, i64 {slot}")
        return once(f"load i64, ptr {address}")

    def field(self, field: Field) -> str:
        """Address of a field of the wave."""
        return self.writer.once(f"getelementptr i8, ptr %wave, i64 {field.offset}")

    def scalar(self, index: int) -> str:
        """Address of the scalar register that a node names."""
        once = self.writer.once
        base = once(f"getelementptr i8, ptr %wave, i64 {SCALARS}")
        return once(f"getelementptr i32, ptr {base}, i64 {self.number(index)}")

    def row(self, index: int, position: int = 0, more: int = 0) -> str:
        """Address of the vector register that a node names, or of one behind it."""
        once = self.writer.once
        first = once(f"getelementptr [{WAVE} x i32], ptr %wave, i64 {self.number(index, position)}")
        return once(f"getelementptr [{WAVE} x i32], ptr {first}, i64 {more}") if more else first

    def chunk(self, base: str, type_: str) -> str:
        """Address of the present chunk of an array of all lanes."""
        return self.writer.let(f"getelementptr inbounds {type_}, ptr {base}, i64 {self.lane}")

    # values

    def is_uniform(self, index: int) -> bool:
        """Whether a value is the wave's or the same in all lanes."""
        return not self.nodes[index].lanes or index in self.plan.uniform

    def value(self, index: int) -> str:
        """Name of a node's value: of the present chunk, for values of the lanes."""
        if self.is_uniform(index):
            return self.values[index]
        if index not in self.here:
            self.here[index] = self._again(index)
        return self.here[index]

    def _again(self, index: int) -> str:
        """A value of the lanes from what is kept of it."""
        node, let = self.nodes[index], self.writer.let
        if node.op is Op.LANE:
            steps = ", ".join(f"i32 {i}" for i in range(CHUNK))
            first = splat(self.writer, "i32", let(f"trunc i64 {self.lane} to i32"), CHUNK)
            return let(f"add <{CHUNK} x i32> {first}, <{steps}>")
        if node.type == B1:
            bits = let(f"trunc i64 {let(f'lshr i64 {self.mask(index)}, {self.lane}')} to i{CHUNK}")
            return let(f"bitcast i{CHUNK} {bits} to <{CHUNK} x i1>")
        kind = element(node.type)
        return let(f"load <{CHUNK} x {kind}>, ptr {self.chunk(self.array(index), kind)}, align 64")

    def mask(self, index: int) -> str:
        """A mask as 64 bits."""
        node, let = self.nodes[index], self.writer.let
        if node.op is Op.UNBALLOT:
            return self.values[node.arguments[0]]
        if index in self.plan.uniform and index not in self.masks:
            one = let(f"extractelement <{CHUNK} x i1> {self.values[index]}, i64 0")
            return let(f"sext i1 {one} to i64")
        return self.masks[index]

    def array(self, index: int) -> str:
        """Address of the values of all lanes."""
        node = self.nodes[index]
        if node.op is Op.PART:
            base = self.arrays[node.arguments[0]]
            return self.writer.once(f"getelementptr [{WAVE} x i32], ptr {base}, i64 {node.data}")
        if index in self.plan.rows and index not in self.arrays:
            return self.row(index)
        return self.arrays[index]

    # passes

    def _pass(self, inside: list[int]) -> None:
        if not inside:
            return
        kept = [index for index in inside if index in self.plan.ballots]
        for index in inside:
            if index in self.plan.arrays:
                self.arrays[index] = self.writer.room(f"[{WAVE} x {element(self.nodes[index].type)}]")
        carried = ["0"] * len(kept)
        with self.writer.loop(carried, CHUNK, WAVE) as (self.lane, current):
            self.here = {}
            for index in inside:
                value = self._lanes(index)
                if value is not None:
                    self.here[index] = value
                if index in self.plan.arrays:
                    self._put(index, value or "")
                if index in self.plan.ballots:
                    position = kept.index(index)
                    current[position] = self._gathered(value or "", current[position])
        self.masks.update(zip(kept, carried, strict=True))

    def _put(self, index: int, value: str) -> None:
        """Keep the present chunk of a value in memory."""
        kind = element(self.nodes[index].type)
        self.writer.do(f"store <{CHUNK} x {kind}> {value}, ptr {self.chunk(self.arrays[index], kind)}, align 64")

    def _gathered(self, value: str, before: str) -> str:
        """A mask's bits so far, with those of the present chunk."""
        let = self.writer.let
        bits = let(f"zext i{CHUNK} {let(f'bitcast <{CHUNK} x i1> {value} to i{CHUNK}')} to i64")
        return let(f"or i64 {before}, {let(f'shl i64 {bits}, {self.lane}')}")

    def _lanes(self, index: int) -> str | None:
        """Write a node of a pass for the present chunk."""
        node = self.nodes[index]
        match node.op:
            case Op.VGPR | Op.VGPR_AT:
                return self._read(index)
            case Op.SET_VGPR | Op.SET_VGPR_AT:
                self._set(index)
                return None
            case Op.GATHER:
                return self._gather(node)
            case _:
                return self._pure(node)

    def _pure(self, node: Node) -> str:
        arguments, types = node.arguments, [self.nodes[a].type for a in node.arguments]
        if node.op is Op.LOOKUP and self.nodes[arguments[0]].op is Op.LANE:
            kind = element(node.type)
            return self.writer.let(f"load <{CHUNK} x {kind}>, ptr {self.chunk(table(self.writer, node), kind)}")
        width = CHUNK if node.lanes else 1
        return pure(self.writer, node, types, [self.value(a) for a in arguments], width)

    def _registers(self, index: int) -> list[str]:
        """Addresses of the one or two vector registers that a node names."""
        node = self.nodes[index]
        if node.op in (Op.VGPR_AT, Op.SET_VGPR_AT):
            return [self.indexed[index]]
        return [self.row(index, more=i) for i in range(2 if node.type == B64 else 1)]

    def _read(self, index: int) -> str:
        vector, wide = f"<{CHUNK} x i32>", f"<{CHUNK} x i64>"
        let = self.writer.let
        parts = [let(f"load {vector}, ptr {self.chunk(row, 'i32')}, align 64") for row in self._registers(index)]
        if len(parts) == 1:
            return parts[0]
        low, high = (let(f"zext {vector} {part} to {wide}") for part in parts)
        return let(f"or {wide} {low}, {let(f'shl {wide} {high}, splat (i64 32)')}")

    def _set(self, index: int) -> None:
        vector, wide = f"<{CHUNK} x i32>", f"<{CHUNK} x i64>"
        let, node = self.writer.let, self.nodes[index]
        *_, value_of, mask_of = node.arguments
        value, mask = self.value(value_of), self.value(mask_of)
        rows, parts = self._registers(index), [value]
        if len(rows) == 2:
            high = let(f"lshr {wide} {value}, splat (i64 32)")
            parts = [let(f"trunc {wide} {part} to {vector}") for part in (value, high)]
        for row, part in zip(rows, parts, strict=True):
            place = self.chunk(row, "i32")
            old = let(f"load {vector}, ptr {place}, align 64")
            new = let(f"select <{CHUNK} x i1> {mask}, {vector} {part}, {vector} {old}")
            self.writer.do(f"store {vector} {new}, ptr {place}, align 64")

    def _gather(self, node: Node) -> str:
        values, lanes = node.arguments
        writer, kind = self.writer, self.nodes[values].type
        if self.is_uniform(values):
            return self.value(values)
        lane = self.value(lanes)
        if kind == B1:
            bits = splat(writer, "i64", self.mask(values), CHUNK)
            wide = writer.let(f"zext <{CHUNK} x i32> {lane} to <{CHUNK} x i64>")
            moved = writer.let(f"lshr <{CHUNK} x i64> {bits}, {wide}")
            return writer.let(f"trunc <{CHUNK} x i64> {moved} to <{CHUNK} x i1>")
        return fetch(writer, element(kind), self.array(values), lane, CHUNK)

    # between passes

    def _between(self, here: list[int], following: list[int]) -> None:
        """Write what computes and reads, and all checks; then what changes something."""
        self.lane, self.here = "0", {}
        for index in here:
            node = self.nodes[index]
            if node.op in (Op.LOAD, Op.STORE, Op.ATOMIC):
                memory.check(self, index)
            if node.op not in EFFECTS:
                value = self._wave(index)
                if value is not None:
                    self.values[index] = value
                if index in self.plan.arrays:
                    self._fill(index)
        for index in following:
            if self.nodes[index].op in (Op.VGPR_AT, Op.SET_VGPR_AT):
                self._find_register(index)
        for index in here:
            if self.nodes[index].op in EFFECTS:
                self._change(index)

    def _fill(self, index: int) -> None:
        """Keep a value for which there is no pass in memory."""
        self.arrays[index] = self.writer.room(f"[{WAVE} x {element(self.nodes[index].type)}]")
        for first in range(0, WAVE, CHUNK):
            self.lane, self.here = str(first), {}
            self._put(index, self.value(index))

    def _find_register(self, index: int) -> None:
        """Address of the register that M0 indexes; it must be of the same file."""
        let, node = self.writer.let, self.nodes[index]
        first = self.number(index)
        offset = let(f"zext i32 {self.values[node.arguments[0]]} to i64")
        within = let(f"add i64 {let(f'and i64 {first}, {ACC - 1}')}, {offset}")
        self.refuse_unless(let(f"icmp ult i64 {within}, {ACC}"))
        number = let(f"add i64 {first}, {offset}")
        self.indexed[index] = let(f"getelementptr [{WAVE} x i32], ptr %wave, i64 {number}")

    def _wave(self, index: int) -> str | None:  # noqa: PLR0911, PLR0912 one case for each op
        """Write a node between passes that changes nothing."""
        node, let = self.nodes[index], self.writer.let
        match node.op:
            case Op.CONST:
                return self._constant(index)
            case Op.SPLAT:
                return splat(self.writer, element(node.type), self.values[node.arguments[0]], CHUNK)
            case Op.SGPR:
                return let(f"load {element(node.type)}, ptr {self.scalar(index)}, align 4")
            case Op.EXEC_MASK:
                place = self.writer.once(f"getelementptr i8, ptr %wave, i64 {SCALARS + 4 * EXEC}")
                self.masks[index] = let(f"load i64, ptr {place}, align 4")
                return None
            case Op.SCC:
                return let(f"icmp ne i64 {let(f'load i64, ptr {self.field(Field.SCC)}')}, 0")
            case Op.HARDWARE:
                return str(HARDWARE[node.data])
            case Op.BALLOT:
                return self.mask(node.arguments[0])
            case Op.READ_LANE:
                return self._read_lane(node)
            case Op.LOAD:
                memory.load(self, index)
                return None
            case Op.LOAD_WAVE:
                memory.load_wave(self, index)
                return None
            case Op.PART if not node.lanes:
                return memory.part(self, node)
            case _ if node.op in LEAVES:
                return None
            case _:
                return self._pure(node)

    def _constant(self, index: int) -> str:
        type_, let = self.nodes[index].type, self.writer.let
        bits = self.number(index)
        if self.slots[index][0] is not None and type_.bits < 64:
            bits = self.writer.once(f"trunc i64 {bits} to i{type_.bits}")
        kind = element(type_)
        return bits if kind.startswith("i") else let(f"bitcast i{type_.bits} {bits} to {kind}")

    def _read_lane(self, node: Node) -> str:
        values, lane = node.arguments
        let, kind = self.writer.let, element(self.nodes[values].type)
        if self.is_uniform(values):
            return let(f"extractelement <{CHUNK} x {kind}> {self.values[values]}, i64 0")
        number = let(f"zext i32 {self.values[lane]} to i64")
        if kind == "i1":
            return let(f"trunc i64 {let(f'lshr i64 {self.mask(values)}, {number}')} to i1")
        place = let(f"getelementptr {kind}, ptr {self.array(values)}, i64 {number}")
        return let(f"load {kind}, ptr {place}")

    def _change(self, index: int) -> None:
        """Write a node between passes that changes the wave or memory."""
        node, writer = self.nodes[index], self.writer
        given = [self.values.get(argument, "") for argument in node.arguments]
        match node.op:
            case Op.SET_SGPR:
                writer.do(f"store {element(node.type)} {given[0]}, ptr {self.scalar(index)}, align 4")
            case Op.SET_SCC:
                writer.do(f"store i64 {writer.let(f'zext i1 {given[0]} to i64')}, ptr {self.field(Field.SCC)}")
            case Op.WRITE_LANE:
                lane = writer.let(f"zext i32 {given[1]} to i64")
                place = writer.let(f"getelementptr i32, ptr {self.row(index)}, i64 {lane}")
                writer.do(f"store i32 {given[0]}, ptr {place}")
            case Op.STORE:
                memory.store(self, index)
            case Op.ATOMIC:
                memory.atomic(self, index)
            case Op.MATRIX:
                self._matrix(index)
            case Op.JUMP:
                writer.do(f"store i64 {given[0]}, ptr {self.field(Field.PC)}")
                self.result = str(TAKEN)
            case Op.BRANCH:
                self.result = writer.let(f"select i1 {given[0]}, i64 {TAKEN}, i64 {DONE}")
            case _:
                raise NotImplementedError(node.op.name)

    def _matrix(self, index: int) -> None:
        """Call the instruction's native entry on the registers."""
        call: MatrixCall = self.nodes[index].data
        d, a, b = (self.row(index, position) for position in range(3))
        c = self.row(index, 3) if call.c is not None else self._filled(call, self.number(index, 4))
        rest = [call.cbsz, call.abid, call.blgp, 1, 0, 0, 0, 0]
        arguments = [("ptr", pointer) for pointer in (d, a, b, c)] + [("i64", str(number)) for number in rest]
        self.writer.call("void", matrix_name(call.op.mnemonic, call.fp16_ovfl), *arguments)

    def _filled(self, call: MatrixCall, bits: str) -> str:
        """Registers full of a constant."""
        writer, words = self.writer, 2 if call.op.out.bits == 64 else 1
        count = call.op.registers.cd.vgprs
        room = writer.room(f"[{WAVE * count} x i32]")
        parts = [writer.let(f"trunc i64 {bits} to i32")]
        if words == 2:
            parts.append(writer.let(f"trunc i64 {writer.let(f'lshr i64 {bits}, 32')} to i32"))
        vectors = [splat(writer, "i32", part, CHUNK) for part in parts]
        with writer.loop([], CHUNK, WAVE) as (lane, _):
            for row in range(count):
                place = writer.let(f"getelementptr [{WAVE} x i32], ptr {room}, i64 {row}, i64 {lane}")
                writer.do(f"store <{CHUNK} x i32> {vectors[row % words]}, ptr {place}, align 64")
        return room


def matrix_name(mnemonic: str, fp16_ovfl: bool) -> str:
    """Name under which a function calls the native entry of a matrix instruction."""
    return f"matrix.{mnemonic}.{int(fp16_ovfl)}"


def matrix_instruction(name: str) -> tuple[str, bool]:
    """Mnemonic, and whether MODE.FP16_OVFL is set, from the name under which the entry is called."""
    _, mnemonic, fp16_ovfl = name.split(".")
    return mnemonic, fp16_ovfl == "1"
