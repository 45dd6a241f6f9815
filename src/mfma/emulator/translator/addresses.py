"""Native functions of memory instructions: where every lane's bytes are, and moving them to and from registers.

A `find` function takes the addresses of all lanes and puts the host address of each lane's bytes into an array, and
of lanes outside the mask that of a `sink`. It returns 0, and the instruction is left to the interpreter, if a lane must
not do what it does; the rules are those of `mfma.emulator.interpreter.memory_places`. Movers then need no mask.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from mfma.emulator.interpreter.float_order import CELL, NUMBERS, RECORD, SHARED, Head, Row
from mfma.emulator.memory import PRIVATE_BASE, SHARED_BASE
from mfma.emulator.semantics.machine import Space
from mfma.emulator.semantics.values import WAVE
from mfma.emulator.translator.layout import BUFFER_WORDS, Field
from mfma.native.simd import I1, I8, I32, I64, POINTER, Kernel, Value, vector

__all__ = [
    "FIND_SUMS", "LOCATE", "NOTE_SUMS", "SIZES", "SOURCES", "find_symbol", "load_symbol", "names", "store_symbol",
    "write",
]  # fmt: skip

SIZES = (1, 2, 4, 8, 12, 16)
"""Bytes that a lane can load or store."""
SOURCES = (
    "mfma.emulator.translator.addresses", "mfma.emulator.translator.layout",
    "mfma.emulator.interpreter.float_order", "mfma.emulator.memory",
)  # fmt: skip
CHUNK = 8
START, END, HOST, WRITABLE = range(BUFFER_WORDS)
CELL_SHIFT, RECORD_SHIFT = (bytes_.bit_length() - 1 for bytes_ in (CELL, RECORD.itemsize))
COUNT, WHO = range(2)
LOCATE = "mfma_wave_bytes"
"""Name of the function that finds bytes of global memory."""
FIND_SUMS, NOTE_SUMS = "mfma_find_sums", "mfma_note_sums"
"""Names of the functions that find the cells of float sums in their record, and that write there."""


def find_symbol(space: Space) -> str:
    """Name of the function that finds the bytes of all lanes in a space."""
    return f"mfma_find_{space.value.lower()}"


def load_symbol(bytes_: int) -> str:
    """Name of the function that loads so many bytes for every lane."""
    return f"mfma_load_{bytes_}"


def store_symbol(bytes_: int) -> str:
    """Name of the function that stores so many bytes of every lane."""
    return f"mfma_store_{bytes_}"


def names() -> list[str]:
    """Names of all functions here."""
    movers = [symbol(bytes_) for bytes_ in SIZES for symbol in (load_symbol, store_symbol)]
    return [LOCATE, FIND_SUMS, NOTE_SUMS, *map(find_symbol, Space), *movers]


def write(module: ir.Module) -> None:
    """Add all functions to a module."""
    search = _write_search(module)
    place = _write_place(module, search)
    for space in Space:
        _Finder(module, space, search, place)
    _write_find_sums(module, search)
    _write_note_sums(module)
    for bytes_ in SIZES:
        _write_load(module, bytes_)
        _write_store(module, bytes_)
    for name in names():
        module.globals[name].linkage = "external"


# pieces of code


def _field(kernel: Kernel, wave: Value, field: Field) -> Value:
    return kernel.load(kernel.address(wave, field.offset, I8), 0, I64)


def _pointer(number: Value) -> Value:
    return Value(number.kernel, number.kernel.builder.inttoptr(number.raw, POINTER))


def _number(pointer: Value) -> Value:
    return Value(pointer.kernel, pointer.kernel.builder.ptrtoint(pointer.raw, I64))


def _not_above(left: Value, right: Value) -> Value:
    """Unsigned comparison, ``left <= right``."""
    return Value(left.kernel, left.kernel.builder.icmp_unsigned("<=", left.raw, left.like(right).raw))


def _call(kernel: Kernel, function: ir.Function, *arguments: Value) -> Value:
    return Value(kernel, kernel.builder.call(function, [argument.raw for argument in arguments]))


def _row(kernel: Kernel, row: Value, words: int = BUFFER_WORDS) -> list[Value]:
    return [kernel.load(_pointer(row), word, I64) for word in range(words)]


def _write_search(module: ir.Module) -> ir.Function:
    """``i64 search(table, count, row, address)``: the last row of so many bytes whose first word is not above, or 0."""
    kernel = Kernel(module, "search", [I64, I64, I64, I64], exported=False, result=I64)
    table, count, row, address = kernel.arguments
    with kernel.loop_carrying(64 - count.leading_zeros(), [table, count]) as (_, rows):
        first, left = rows  # those that it may be: the first, and how many
        middle = first + left.shr(1) * row
        before = _not_above(kernel.load(_pointer(middle), START, I64), address)
        rows[:] = [before.select(middle, first), left - left.shr(1)]
    result = kernel.array(I64, 1)
    kernel.constant(I64, 0).store(result)
    with kernel.when(count > 0):
        begins = kernel.load(_pointer(rows[0]), START, I64)
        _not_above(begins, address).select(rows[0], 0).store(result)
    kernel.finish(kernel.load(result, 0, I64))
    return kernel.function


def _search_buffers(kernel: Kernel, search: ir.Function, wave: Value, address: Value) -> Value:
    """The row of the buffer that begins at or last before a device address, or 0."""
    table, count = _field(kernel, wave, Field.BUFFERS), _field(kernel, wave, Field.BUFFER_COUNT)
    return _call(kernel, search, table, count, kernel.constant(I64, 8 * BUFFER_WORDS), address)


def _write_place(module: ir.Module, search: ir.Function) -> ir.Function:
    """``i64 wave_bytes(wave, address, bytes, write)``: host address of bytes of global memory, or 0."""
    kernel = Kernel(module, LOCATE, [POINTER, I64, I64, I64], exported=False, result=I64)
    wave, address, bytes_, writes = kernel.arguments
    row = _search_buffers(kernel, search, wave, address)
    result = kernel.array(I64, 1)
    kernel.constant(I64, 0).store(result)
    with kernel.when(row > 0):
        begins, end, host, writable = _row(kernel, row)
        offset, room = address - begins, end - begins - bytes_
        good = _not_above(offset, room) & (room > -1) & (writable + 1 > writes)
        good.select(host + offset, 0).store(result)
    kernel.finish(kernel.load(result, 0, I64))
    return kernel.function


class _Finder:
    """Writer of ``i64 find(wave, addresses, mask, bytes, alignment, write, sink, hosts)``."""

    def __init__(self, module: ir.Module, space: Space, search: ir.Function, place: ir.Function) -> None:
        types = [POINTER, POINTER, I64, I64, I64, I64, POINTER, POINTER]
        self.kernel = kernel = Kernel(module, find_symbol(space), types, exported=False, result=I64)
        self.wave, self.addresses, self.mask, self.bytes, alignment, self.writes, sink, self.hosts = kernel.arguments
        self.sink = _number(sink)
        self.space = space
        self.element = I64 if space in (Space.GLOBAL, Space.FLAT) else I32
        self.good = kernel.array(I64, 1)
        kernel.constant(I64, 1).store(self.good)
        with kernel.when(alignment > 1):
            self._refuse_if(self._any(lambda lane, address: (address & (alignment - 1)) > 0))
        if self.element == I64:
            self._global(search, place)
        elif space is Space.LDS:
            host, size = (_field(kernel, self.wave, field) for field in (Field.LDS, Field.LDS_SIZE))
            self._limited(size, lambda lane, address: address + host)
        else:
            host, size = (_field(kernel, self.wave, field) for field in (Field.SCRATCH, Field.SCRATCH_SIZE))
            steps = kernel.constant(vector(I64, CHUNK), range(CHUNK))
            self._limited(size, lambda lane, address: (steps + lane) * size + address + host)
        kernel.finish(kernel.load(self.good, 0, I64))

    def _refuse_if(self, condition: Value) -> None:
        with self.kernel.when(condition):
            self.kernel.constant(I64, 0).store(self.good)

    def _chunk(self, lane: Value) -> tuple[Value, Value]:
        """The mask and the addresses of a chunk of lanes."""
        kernel = self.kernel
        bits = self.mask.shr(lane).to(I8)
        mask = Value(kernel, kernel.builder.bitcast(bits.raw, vector(I1, CHUNK)))
        return mask, kernel.load(self.addresses, lane, vector(self.element, CHUNK)).to(I64, signed=False)

    def _any(self, test: Callable[[Value, Value], Value]) -> Value:
        """Whether a test of lane number and address is true for some lane of the mask."""
        kernel = self.kernel
        nobody = [kernel.constant(vector(I1, CHUNK), 0)]
        with kernel.loop_carrying(WAVE, nobody, step=CHUNK) as (lane, found):
            mask, address = self._chunk(lane)
            found[0] = found[0] | (mask & test(lane, address))
        return found[0].any()

    def _put(self, host: Callable[[Value, Value], Value]) -> None:
        """Host addresses from lane numbers and addresses."""
        with self.kernel.loop(WAVE, step=CHUNK) as lane:
            mask, address = self._chunk(lane)
            mask.select(host(lane, address), self.sink.splat(CHUNK)).store(self.hosts, lane)

    def _limited(self, size: Value, host: Callable[[Value, Value], Value]) -> None:
        """Memory of this size, whose addresses are offsets."""
        self._refuse_if(self._any(lambda lane, address: address > size - self.bytes))
        self._put(host)

    def _global(self, search: ir.Function, place: ir.Function) -> None:
        """Nearly always all lanes are in the buffer of the first."""
        kernel = self.kernel
        first = kernel.call("llvm.cttz", self.mask, kernel.constant(I1, 0)) & (WAVE - 1)
        row = _search_buffers(kernel, search, self.wave, kernel.load(self.addresses, first, I64))
        together = kernel.array(I64, 1)
        kernel.constant(I64, 0).store(together)
        with kernel.when(row > 0):
            begins, end, host, writable = _row(kernel, row)
            room = end - begins - self.bytes
            with kernel.when((room > -1) & (writable + 1 > self.writes)):
                outside = self._any(lambda lane, address: _not_above(address - begins, room) ^ 1)
                with kernel.when(outside.equals(0)):
                    self._put(lambda lane, address: address - begins + host)
                    kernel.constant(I64, 1).store(together)
        with kernel.when(kernel.load(together, 0, I64).equals(0)), kernel.loop(WAVE) as lane:
            self.sink.store(self.hosts, lane)
            with kernel.when((self.mask.shr(lane) & 1) > 0):
                address = kernel.load(self.addresses, lane, I64)
                host = _call(kernel, place, self.wave, address, self.bytes, self.writes)
                if self.space is Space.FLAT:
                    host = self._apart(lane, address, host)
                host.store(self.hosts, lane)
                self._refuse_if(host.equals(0))

    def _apart(self, lane: Value, address: Value, host: Value) -> Value:
        """Host address of a lane whose flat address may be in LDS or scratch."""
        offset = address & 0xFFFF_FFFF
        for base, start, limit, own in (
            (SHARED_BASE, Field.LDS, Field.LDS_SIZE, False),
            (PRIVATE_BASE, Field.SCRATCH, Field.SCRATCH_SIZE, True),
        ):
            memory, size = (_field(self.kernel, self.wave, field) for field in (start, limit))
            there = memory + offset + (lane * size if own else 0)
            found = (offset > size - self.bytes).select(there.like(0), there)
            host = address.shr(32).equals(base >> 32).select(found, host)
        return host


# the record of float sums


def _write_find_sums(module: ir.Module, search: ir.Function) -> None:
    """``i64 find(wave, hosts, mask, cells)``: host addresses of what is kept of the cells to which lanes add.

    Those of scratch, which no two lanes share, are 0. It returns 0 if some memory has no record, and says where.
    """
    kernel = Kernel(module, FIND_SUMS, [POINTER, POINTER, I64, POINTER], exported=False, result=I64)
    wave, hosts, mask, cells = kernel.arguments
    head = _pointer(_field(kernel, wave, Field.FLOAT_ORDER))
    rows, count = (kernel.load(head, word, I64) for word in (Head.ROWS, Head.COUNT))
    own, own_size = (_field(kernel, wave, field) for field in (Field.SCRATCH, Field.SCRATCH_SIZE))
    zero = kernel.constant(I64, 0)
    found, missing = kernel.array(I64, len(Row)), kernel.array(I64, 1)  # the row of the lane before
    for word in Row:
        zero.store(found, word)
    zero.store(missing)
    with kernel.loop(WAVE) as lane, kernel.when((mask.shr(lane) & 1) > 0):
        host = kernel.load(hosts, lane, I64)
        with kernel.when(_holds(found, host) ^ 1):
            row = _call(kernel, search, rows, count, kernel.constant(I64, 8 * len(Row)), host)
            with kernel.when(row > 0):
                for word, value in zip(Row, _row(kernel, row, len(Row)), strict=True):
                    value.store(found, word)
        start, first = (kernel.load(found, word, I64) for word in (Row.START, Row.CELLS))
        is_there = _holds(found, host)
        is_there.select(first + ((host - start).shr(CELL_SHIFT) << RECORD_SHIFT), zero).store(cells, lane)
        with kernel.when((is_there ^ 1) & _not_above(own_size * WAVE, host - own)):
            host.store(missing)
    where = kernel.load(missing, 0, I64)
    with kernel.when(where > 0):
        where.store(head, Head.MISSING)
    kernel.finish(where.equals(0).to(I64, signed=False))


def _holds(row: Value, host: Value) -> Value:
    """Whether a host address is in the memory of a row of the record."""
    start, end = (row.kernel.load(row, word, I64) for word in (Row.START, Row.END))
    return _not_above(start, host) & (_not_above(end, host) ^ 1)


def _write_note_sums(module: ir.Module) -> None:
    """``void note(wave, cells, mask)``: take down a sum of each lane, as `FloatOrder.note` does."""
    kernel = Kernel(module, NOTE_SUMS, [POINTER, POINTER, I64], exported=False)
    wave, cells, mask = kernel.arguments
    first = _field(kernel, wave, Field.SERIAL) * WAVE
    with kernel.loop(WAVE) as lane, kernel.when((mask.shr(lane) & 1) > 0):
        cell = kernel.load(cells, lane, I64)
        with kernel.when(cell > 0):
            place = _pointer(cell)
            (kernel.load(place, COUNT, I32) + 1).store(place, COUNT)
            number = kernel.builder.urem((first + lane).raw, first.like(NUMBERS).raw)
            own, before = (Value(kernel, number) + 1).to(I32), kernel.load(place, WHO, I32)
            alone = before.equals(0) | before.equals(own)
            alone.select(own, SHARED).store(place, WHO)
    kernel.finish()


# moving


def _part(kernel: Kernel, pointer: Value, part: int, lane: Value | int) -> Value:
    return kernel.address(pointer, lane + WAVE * part if part else lane, I32)


def _write_load(module: ir.Module, bytes_: int) -> None:
    """``void load(hosts, registers)``: registers of 64 lanes, one behind the other; narrow loads fill with zeros."""
    kernel = Kernel(module, load_symbol(bytes_), [POINTER, POINTER], exported=False)
    hosts, registers = kernel.arguments
    words = max(1, bytes_ // 4)
    if words == 1:
        element = ir.IntType(8 * bytes_)
        with kernel.loop(WAVE) as lane:
            kernel.load(_pointer(kernel.load(hosts, lane, I64)), 0, element).to(I32, signed=False).store(
                registers, lane
            )
    else:
        with kernel.loop(WAVE, step=4) as lane:
            rows = [kernel.load(_pointer(kernel.load(hosts, lane + i, I64)), 0, vector(I32, words)) for i in range(4)]
            for part in range(words):
                _crossed(kernel, rows, part).store(registers, lane + WAVE * part)
    kernel.finish()


def _crossed(kernel: Kernel, vectors: list[Value], element: int) -> Value:
    """One element of each of several vectors."""
    crossed = ir.Constant(vector(I32, len(vectors)), ir.Undefined)
    builder = kernel.builder
    for position, one in enumerate(vectors):
        taken = builder.extract_element(one.raw, ir.Constant(I32, element))
        crossed = builder.insert_element(crossed, taken, ir.Constant(I32, position))
    return Value(kernel, crossed)


def _write_store(module: ir.Module, bytes_: int) -> None:
    """``void store(hosts, register...)``: lane after lane, so that the highest of those at one address wins."""
    words = max(1, bytes_ // 4)
    kernel = Kernel(module, store_symbol(bytes_), [POINTER] * (1 + words), exported=False)
    hosts, *registers = kernel.arguments
    if words == 1:
        with kernel.loop(WAVE) as lane:
            value = kernel.load(registers[0], lane, I32).to(ir.IntType(8 * bytes_))
            value.store(_pointer(kernel.load(hosts, lane, I64)))
    else:
        with kernel.loop(WAVE, step=4) as lane:
            columns = [kernel.load(register, lane, vector(I32, 4)) for register in registers]
            for i in range(4):
                _crossed(kernel, columns, i).store(_pointer(kernel.load(hosts, lane + i, I64)))
    kernel.finish()
