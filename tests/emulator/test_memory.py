"""The address space, what lies between its buffers, and every way to miss them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.emulator.interpreter import memory_nodes
from mfma.emulator.interpreter.float_order import FloatOrder
from mfma.emulator.memory import BASE, LIMIT, PAGE, PRIVATE_BASE, SHARED_BASE, AddressSpace, Buffer, _Table, window
from mfma.emulator.semantics.machine import Access, Space
from mfma.emulator.semantics.values import WAVE
from mfma.errors import MemoryFault, OptionError

LANES = np.arange(WAVE)
ALL = np.ones(WAVE, np.bool_)


def wave(space: AddressSpace | None = None, lds: int = 256, scratch: int = 64) -> Any:
    """A wave that has memory and nothing else."""
    return SimpleNamespace(
        space=space or AddressSpace(),
        lds=np.zeros(lds, np.uint8),
        scratch=np.zeros((WAVE, scratch), np.uint8),
        serial=0,
        float_order=FloatOrder(),
        undo=None,
    )


def addresses(start: int, step: int = 0) -> Any:
    """An address for every lane, in 64 bits that wrap."""
    return np.array([start + step * lane & (1 << 64) - 1 for lane in range(WAVE)], np.uint64)


def only(*lanes: int) -> Any:
    """A mask of these lanes."""
    return np.isin(LANES, lanes)


# laws of the address space

sizes = st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 16)), min_size=1, max_size=8)


@given(sizes)
def test_buffers_do_not_touch(wanted: list[tuple[int, int]]) -> None:
    """Every buffer is aligned, and a page without memory lies between neighbours; the same calls give the same."""
    spaces = [AddressSpace(), AddressSpace()]
    mine, other = (
        [space.allocate(size, name=str(i), alignment=1 << log) for i, (size, log) in enumerate(wanted)]
        for space in spaces
    )
    assert [buffer.address for buffer in mine] == [buffer.address for buffer in other]
    assert mine[0].address >= BASE
    for (_, log), buffer in zip(wanted, mine, strict=True):
        assert buffer.address % max(PAGE, 1 << log) == 0
        assert not buffer.bytes.any()
        assert len(buffer.bytes) == buffer.size
    for lower, upper in pairwise(mine):
        assert upper.address >= lower.end + PAGE
    for aperture in (SHARED_BASE, PRIVATE_BASE):
        assert aperture & 0xFFFF_FFFF == 0
        assert aperture >= LIMIT
    assert list(spaces[0]) == mine


@given(sizes, st.lists(st.integers(-PAGE, 100_000), max_size=20), st.sets(st.integers(0, 7)))
def test_find_agrees_with_a_search(wanted: list[tuple[int, int]], distances: list[int], gone: set[int]) -> None:
    space = AddressSpace()
    buffers = [space.allocate(size, name=str(i)) for i, (size, _) in enumerate(wanted)]
    for i in gone & set(range(len(buffers))):
        space.free(buffers[i])
    live = [buffer for buffer in buffers if buffer.live]
    points = [BASE + distance for distance in distances]
    points += [edge for b in buffers for edge in (b.address - 1, b.address, b.end - 1, b.end)]
    for point in points:
        holding = [b for b in live if b.address <= point < b.end]
        assert space.find(point) is (holding[0] if holding else None)
        nearest = space.nearest(point)
        gaps = {b: max(b.address - point, point - b.end + 1, 0) for b in live}
        assert (nearest is None) is not bool(live)
        assert nearest is None or gaps[nearest] == min(gaps.values())


def test_addresses_are_never_given_out_twice() -> None:
    space = AddressSpace()
    seen = set()
    for i in range(5):
        buffer = space.allocate(100, name=str(i))
        assert buffer.address not in seen
        seen.add(buffer.address)
        space.free(buffer)
        assert space.find(buffer.address) is None
    assert list(space) == []


def test_data_is_shared() -> None:
    """A buffer is a view of the array that it was made from."""
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    space = AddressSpace()
    buffer = space.allocate(data.nbytes, name="data", data=data)
    buffer.bytes[:4] = np.frombuffer(np.float32(7.5).tobytes(), np.uint8)
    assert data[0, 0] == 7.5
    data[2, 3] = -1
    assert buffer.bytes[-4:].tobytes() == np.float32(-1).tobytes()
    short = space.allocate(5, name="short", data=data)
    assert len(short.bytes) == 5
    assert buffer.writable
    data.flags.writeable = False
    assert not space.allocate(4, name="constant", data=data).writable


def test_window_reads_any_byte() -> None:
    memory = np.arange(20, dtype=np.uint8)
    for bytes_ in (1, 2, 4, 8):
        expected = [int.from_bytes(bytes(range(i, i + bytes_)), "little") for i in range(21 - bytes_)]
        assert window(memory, bytes_).tolist() == expected
    assert window(memory[:3], 4).size == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": -1}, "buffer 'b' cannot have -1 bytes; give 0 or more"),
        ({"size": 4, "alignment": 24}, "buffer 'b' cannot be aligned to 24 bytes; give a power of two"),
        ({"size": 1 << 48}, "buffer 'b' of 281,474,976,710,656 bytes does not fit below 0x1000000000000; take fewer"),
        ({"size": 8, "data": np.zeros(7, np.uint8)}, "buffer 'b' has 8 bytes and its array 7; give an array of that"),
        ({"size": 2, "data": np.zeros((4, 4), np.uint8)[:, 0]}, "not C-contiguous; give numpy.ascontiguousarray"),
    ],
)
def test_refused_buffers(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message.replace("(", r"\(")):
        AddressSpace().allocate(**arguments, name="b")


@pytest.mark.parametrize("change", ["plus", "freed"])
def test_a_module_that_is_collected_in_the_midst_of_a_change_frees_its_image(change, monkeypatch) -> None:
    space = AddressSpace()
    image, other = (space.allocate(64, name=name) for name in ("image", "other"))
    compute = getattr(_Table, change)

    def collecting(table: _Table, buffer: Buffer) -> _Table:
        new: _Table = compute(table, buffer)
        if image.live:
            space.free(image)
        return new

    monkeypatch.setattr(_Table, change, collecting)
    if change == "plus":
        new = space.allocate(64, name="new")
        assert list(space) == [other, new]
    else:
        space.free(other)
        assert list(space) == []
    assert [buffer for buffer, _ in space.mapped()] == list(space)


def test_memory_of_a_freed_buffer_is_kept_by_who_has_it() -> None:
    space, data = AddressSpace(), np.arange(8)
    buffer = space.allocate(64, name="data", data=data)
    ((mapped, memory),) = space.mapped()
    assert mapped is buffer
    space.free(buffer)
    assert np.shares_memory(memory, data)
    assert space.mapped() == []


def test_refused_frees() -> None:
    space, other = AddressSpace(), AddressSpace()
    buffer = space.allocate(4, name="b")
    with pytest.raises(OptionError, match="buffer 'b' belongs to another address space; free it there"):
        other.free(buffer)
    space.free(buffer)
    with pytest.raises(OptionError, match="buffer 'b' was freed before; free a buffer once"):
        space.free(buffer)


# faults

A, B = BASE, BASE + 2 * PAGE
"""Where the two buffers of `two_buffers` begin."""


def two_buffers() -> tuple[AddressSpace, Buffer, Buffer]:
    """'a' of a page and, behind a guard page, 'b' of 100 bytes."""
    space = AddressSpace()
    return space, space.allocate(PAGE, name="a"), space.allocate(100, name="b")


RANGE_A = rf"'a' \({A:#x} to {A + 0xFFF:#x}, 4,096 bytes\)"
RANGE_B = rf"'b' \({B:#x} to {B + 99:#x}, 100 bytes\)"


@pytest.mark.parametrize(
    ("start", "step", "bytes_", "lane", "message"),
    [
        (A + PAGE, 4, 4, 0, f"lane 0 and 63 more is outside every buffer, 1 byte behind {RANGE_A}$"),
        (A - 4, 4, 8, 0, f"lane 0 is outside every buffer, 4 bytes before {RANGE_A}$"),
        (B, 2, 4, 49, f"lane 49 and 14 more is in {RANGE_B}, and crosses its end$"),
        (0, 0, 4, 0, "lane 0 and 63 more is outside every buffer; its pointer is null$"),
        ((1 << 64) - 2, 0, 4, 0, "lane 0 and 63 more is outside every buffer, and far from all; if it is"),
        (SHARED_BASE, 0, 4, 0, "lane 0 and 63 more is outside every buffer, and far from all; if it is a pointer"),
    ],
)  # fmt: skip
def test_outside(start: int, step: int, bytes_: int, lane: int, message: str) -> None:
    """Every access that leaves a buffer is named, with its first lane and the buffer nearest to it."""
    space, *buffers = two_buffers()
    one = wave(space)
    address = addresses(start, step)
    access = Access(Space.GLOBAL, bytes_)
    data = [np.full(WAVE, 0xDEAD, np.uint32)] * (bytes_ // 4)
    message = f"of {bytes_} bytes at global address {int(address[lane]):#x} by {message}"
    with pytest.raises(MemoryFault, match=f"^load {message}") as caught:
        memory_nodes.load(one, access, address, ALL)
    fault = caught.value
    assert (fault.lane, fault.address, fault.bytes_) == (lane, int(address[lane]), bytes_)
    assert fault.reason in str(fault)
    assert fault.nearest in buffers
    with pytest.raises(MemoryFault, match=f"^store {message}"):
        memory_nodes.store(one, access, address, ALL, *data)
    assert not any(buffer.bytes.any() for buffer in buffers), "lanes that were in range have stored"


def test_masked_lanes_do_not_fault() -> None:
    space, a, _ = two_buffers()
    address = addresses(a.address - 128, 4)
    loaded = memory_nodes.load(wave(space), Access(Space.GLOBAL, 4), address, LANES >= 32)
    assert loaded.shape == (1, WAVE)
    assert not memory_nodes.load(wave(space), Access(Space.GLOBAL, 4), address, np.zeros(WAVE, np.bool_)).any()
    with pytest.raises(MemoryFault, match="by lane 31 is outside every buffer, 4 bytes before"):
        memory_nodes.load(wave(space), Access(Space.GLOBAL, 4), address, LANES >= 31)


def test_no_buffer_at_all() -> None:
    with pytest.raises(MemoryFault, match=r"by lane 5 is outside every buffer, and there is none$") as caught:
        memory_nodes.load(wave(), Access(Space.GLOBAL, 1), addresses(7), only(5))
    assert caught.value.nearest is None
    assert str(caught.value).startswith("load of 1 byte at ")


def test_use_after_free() -> None:
    space, a, b = two_buffers()
    space.free(a)
    with pytest.raises(MemoryFault, match=f"is in {RANGE_A}, which was freed$") as caught:
        memory_nodes.load(wave(space), Access(Space.GLOBAL, 4), addresses(a.address, 4), ALL)
    assert caught.value.nearest is a
    with pytest.raises(MemoryFault, match=r"by the wave is in 'a' .* which was freed"):
        memory_nodes.load_wave(wave(space), Access(Space.GLOBAL, 8, 4), a.address)
    assert space.nearest(a.address) is b


def test_read_only() -> None:
    space = AddressSpace()
    buffer = space.allocate(512, name="weights", writable=False)
    access = Access(Space.GLOBAL, 4)
    data = np.arange(WAVE, dtype=np.uint32)
    memory_nodes.load(wave(space), access, addresses(buffer.address, 4), ALL)
    with pytest.raises(MemoryFault, match=r"store of 4 bytes .* is in 'weights' .*, which is read-only$"):
        memory_nodes.store(wave(space), access, addresses(buffer.address, 4), ALL, data)
    adding = Access(Space.GLOBAL, 4, 4, lambda m, d: m + d)
    with pytest.raises(MemoryFault, match=r"atomic of 4 bytes .*, which is read-only$"):
        memory_nodes.atomic(wave(space), adding, addresses(buffer.address, 4), ALL, data)
    assert not buffer.bytes.any()


def test_misaligned_atomics() -> None:
    """Atomics need their natural alignment in every space; loads and stores need none."""
    space, a, _ = two_buffers()
    data = np.zeros(WAVE, np.uint64)
    for kind, start in ((Space.GLOBAL, a.address), (Space.FLAT, a.address), (Space.LDS, 0)):
        address = addresses(start + 4, 0)
        if kind is Space.LDS:
            address = address.astype(np.uint32)
        adding = Access(kind, 8, 8, lambda m, d: m + d)
        message = rf"atomic of 8 bytes at {kind.value} address {start + 4:#x} by lane 0 and 63 more is misaligned: "
        with pytest.raises(MemoryFault, match=message + "atomics need a multiple of 8 bytes$"):
            memory_nodes.atomic(wave(space), adding, address, ALL, data)
    odd = addresses(a.address + 3, 5)
    words = np.arange(WAVE, dtype=np.uint32) * np.uint32(0x01010101)
    memory_nodes.store(wave(space), Access(Space.GLOBAL, 4), odd, ALL, words)
    assert (memory_nodes.load(wave(space), Access(Space.GLOBAL, 4), odd, ALL)[0] == words).all()


@pytest.mark.parametrize(("kind", "size"), [(Space.LDS, 256), (Space.SCRATCH, 64)])
def test_local_limits(kind: Space, size: int) -> None:
    name = kind.value
    inside = np.full(WAVE, size - 4, np.uint32)
    words = np.arange(WAVE, dtype=np.uint32)
    one = wave(lds=256, scratch=64)
    memory_nodes.store(one, Access(kind, 4), inside, ALL, words)
    loaded = memory_nodes.load(one, Access(kind, 4), inside, ALL)[0]
    # of one place in LDS the last lane's store stays, scratch has a place for each
    assert loaded.tolist() == ([63] * WAVE if kind is Space.LDS else words.tolist())
    for offset in (size - 3, size, 0xFFFF_FFFC):
        outside = np.where(LANES == 9, np.uint32(offset), np.uint32(0)).astype(np.uint32)
        message = f"store of 4 bytes at {name} address {offset:#x} by lane 9 is outside the {name} of {size} bytes$"
        with pytest.raises(MemoryFault, match=message):
            memory_nodes.store(one, Access(kind, 4), outside, ALL, words + np.uint32(5))
        assert (memory_nodes.load(one, Access(kind, 4), inside, ALL)[0] == loaded).all()
    assert not one.lds[:4].any()


def test_flat_goes_where_the_address_says() -> None:
    """A fault in one aperture stores in none of the others; its offset is what the message has."""
    space, a, _ = two_buffers()
    one = wave(space)
    address = np.where(LANES % 3 == 0, addresses(a.address, 4), addresses(SHARED_BASE, 4))
    address = np.where(LANES % 3 == 2, np.uint64(PRIVATE_BASE + 8), address)
    words = LANES.astype(np.uint32) + np.uint32(1)
    memory_nodes.store(one, Access(Space.FLAT, 4), address, ALL, words)
    for lane in range(WAVE):
        memory, at = [(a.bytes, 4 * lane), (one.lds, 4 * lane), (one.scratch[lane], 8)][lane % 3]
        assert int.from_bytes(memory[at : at + 4].tobytes(), "little") == lane + 1
    assert (memory_nodes.load(one, Access(Space.FLAT, 4), address, ALL)[0] == words).all()
    address[4] = SHARED_BASE + 0x1000
    before = a.bytes.copy(), one.lds.copy(), one.scratch.copy()
    with pytest.raises(MemoryFault, match="at LDS address 0x1000 by lane 4 is outside the LDS of 256 bytes"):
        memory_nodes.store(one, Access(Space.FLAT, 4), address, ALL, words * np.uint32(3))
    address[4] = SHARED_BASE
    address[6] = 12
    with pytest.raises(MemoryFault, match="at global address 0xc by lane 6 is outside every buffer"):
        memory_nodes.store(one, Access(Space.FLAT, 4), address, ALL, words * np.uint32(3))
    for old, new in zip(before, (a.bytes, one.lds, one.scratch), strict=True):
        assert (old == new).all()


def test_wave_loads() -> None:
    space, a, _ = two_buffers()
    a.bytes[:] = np.arange(PAGE) % 251
    got = memory_nodes.load_wave(wave(space), Access(Space.GLOBAL, 64, 4), np.uint64(a.end - 64))
    assert got.tobytes() == a.bytes[-64:].tobytes()
    message = rf"load of 64 bytes at global address {a.end - 60:#x} by the wave is in {RANGE_A}, and crosses its end"
    with pytest.raises(MemoryFault, match=message) as caught:
        memory_nodes.load_wave(wave(space), Access(Space.GLOBAL, 64, 4), np.uint64(a.end - 60))
    assert caught.value.lane is None


# random accesses against a dictionary of bytes

places = st.lists(st.integers(-8, 240), min_size=WAVE, max_size=WAVE)


@settings(max_examples=60)
@given(places, st.sampled_from([1, 2, 4, 8, 12, 16]), st.integers(0, (1 << 64) - 1), st.booleans())
def test_stores_happen_in_lane_order(offsets: list[int], bytes_: int, mask: int, across: bool) -> None:
    """Lanes store one after the other, into whatever buffers; a fault changes nothing."""
    space = AddressSpace()
    first, second = space.allocate(128, name="first"), space.allocate(200, name="second")
    contents = {buffer: bytearray(buffer.size) for buffer in (first, second)}
    words = np.arange(4 * WAVE, dtype=np.uint32).reshape(4, WAVE) * np.uint32(0x9E37_79B9)
    address, faults = [], []
    for lane, offset in enumerate(offsets):
        buffer, at = (second, offset - 120) if across and offset >= 120 else (first, offset)
        address.append(buffer.address + at)
        if not mask >> lane & 1:
            continue
        if 0 <= at <= buffer.size - bytes_:
            contents[buffer][at : at + bytes_] = words[:, lane].tobytes()[:bytes_]
        else:
            faults.append(lane)
    bools = np.array([mask >> lane & 1 for lane in range(WAVE)], np.bool_)
    arguments = wave(space), Access(Space.GLOBAL, bytes_), np.array(address, np.uint64), bools
    if faults:
        with pytest.raises(MemoryFault) as caught:
            memory_nodes.store(*arguments, *words[: max(1, bytes_ // 4)])
        assert caught.value.lane in faults
        contents = {buffer: bytearray(buffer.size) for buffer in (first, second)}
    else:
        memory_nodes.store(*arguments, *words[: max(1, bytes_ // 4)])
    for buffer, expected in contents.items():
        assert buffer.bytes.tobytes() == expected


@given(st.lists(st.integers(0, 5), min_size=WAVE, max_size=WAVE), st.integers(0, (1 << 64) - 1))
def test_atomics_happen_in_lane_order(cells: list[int], mask: int) -> None:
    """An operation that does not commute: memory times 3, plus the operand."""
    space, a, _ = two_buffers()
    access = Access(Space.GLOBAL, 4, 4, lambda m, d: m * 3 + d, rounds=True)
    bools = np.array([mask >> lane & 1 for lane in range(WAVE)], np.bool_)
    operand = np.arange(WAVE, dtype=np.uint32)
    one = wave(space)
    where = np.array([a.address + 4 * cell for cell in cells], np.uint64)
    old = memory_nodes.atomic(one, access, where, bools, operand)
    values = [0] * 6
    for lane in range(WAVE):
        if mask >> lane & 1:
            assert old[0, lane] == values[cells[lane]]
            values[cells[lane]] = (values[cells[lane]] * 3 + lane) % 2**32
    assert a.bytes[:24].view(np.uint32).tolist() == values
    used = Counter(cell for cell, on in zip(cells, bools, strict=True) if on)
    assert one.float_order.lanes == sum(count for count in used.values() if count > 1)


def test_atomic_without_a_new_value() -> None:
    """Without ``combine`` memory keeps what it has."""
    space, a, _ = two_buffers()
    a.bytes[:] = 7
    old = memory_nodes.atomic(wave(space), Access(Space.GLOBAL, 8, 8), addresses(a.address, 8), ALL)
    assert (old == 0x07070707).all()
    assert old.shape == (2, WAVE)
    assert (a.bytes == 7).all()
