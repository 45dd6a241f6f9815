"""Loads, stores and atomics of every memory encoding, one instruction at a time, against bytearrays and integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emulator.forms import LANES, M0, Register, covers, get_lane, put, put_lane, registers_of, signed
from emulator.memory_world import BYTES, GLOBAL, LDS, LOCAL, PRIVATE, SCRATCH, World, flat_address
from mfma.emulator.semantics.machine import Mode

# every encoding's ways to an address: how it is written, and the lanes' places when registers are set for it

Places = list[tuple[str, int]]
"""Of each lane: memory and address in it."""


def _pair(world: World, number: int, values: list[int]) -> None:
    put(world.before, "v", number, values, 2)


def _global_vgpr(world: World, offsets: list[int]) -> Places:
    addresses = [world.buffer.address + offset for offset in offsets]
    _pair(world, 2, [address + 16 for address in addresses])
    return [(GLOBAL, address) for address in addresses]


def _global_sgpr(world: World, offsets: list[int]) -> Places:
    # the VGPR is unsigned: a base that lies below, and offsets above 2**31
    put(world.before, "s", 4, world.buffer.address - 0x9000_0000, 2)
    put(world.before, "v", 2, [offset + 0x9000_0000 - 24 for offset in offsets])
    return [(GLOBAL, world.buffer.address + offset) for offset in offsets]


def _flat(world: World, offsets: list[int]) -> Places:
    places = [flat_address(world, lane, offset % (SCRATCH - 16)) for lane, offset in enumerate(offsets)]
    _pair(world, 2, [address - 12 for _, _, address in places])
    return [(space, address) for space, address, _ in places]


def _private(world: World, offsets: list[int]) -> Places:
    return [(PRIVATE, offset % (SCRATCH - 16)) for offset in offsets]


def _scratch_offset(world: World, offsets: list[int]) -> Places:
    return [(PRIVATE, 32)] * LANES


def _scratch_sgpr(world: World, offsets: list[int]) -> Places:
    put(world.before, "s", 4, 108)
    return [(PRIVATE, 100)] * LANES


def _scratch_vgpr(world: World, offsets: list[int]) -> Places:
    places = _private(world, offsets)
    put(world.before, "v", 2, [address - 4 & 0xFFFF_FFFF for _, address in places])
    return places


def _scratch_both(world: World, offsets: list[int]) -> Places:
    places = _private(world, offsets)
    put(world.before, "s", 4, 1000)
    put(world.before, "v", 2, [address + 4 - 1000 & 0xFFFF_FFFF for _, address in places])
    return places


def _lds(world: World, offsets: list[int]) -> Places:
    places = [(LOCAL, offset % (LDS - 16)) for offset in offsets]
    put(world.before, "v", 2, [address - 20 & 0xFFFF_FFFF for _, address in places])
    return places


def resource(world: World, records: int, *, stride: int = 0, base: int | None = None, word: int = 0x27000) -> None:
    """Put a buffer resource into s[8:11]."""
    base = world.buffer.address if base is None else base
    put(world.before, "s", 8, base | stride << 48 | records << 64 | word << 96, 4)


def _buffer_offset(world: World, offsets: list[int]) -> Places:
    resource(world, 1004 + 16)
    put(world.before, "s", 12, 1000)
    return [(GLOBAL, world.buffer.address + 1004)] * LANES


def _buffer_offen(world: World, offsets: list[int]) -> Places:
    resource(world, BYTES)
    put(world.before, "v", 2, [max(offset - 4, 0) for offset in offsets])
    return [(GLOBAL, world.buffer.address + max(offset, 4)) for offset in offsets]


def _buffer_idxen(world: World, offsets: list[int]) -> Places:
    resource(world, BYTES // 80, stride=80)
    put(world.before, "s", 12, 20)
    put(world.before, "v", 2, [offset // 128 for offset in offsets])
    return [(GLOBAL, world.buffer.address + 20 + 8 + offset // 128 * 80) for offset in offsets]


def _buffer_both(world: World, offsets: list[int]) -> Places:
    resource(world, BYTES // 128, stride=128)
    put(world.before, "v", 2, [offset // 128 for offset in offsets])
    put(world.before, "v", 3, [offset % 112 // 4 * 4 for offset in offsets])
    return [(GLOBAL, world.buffer.address + offset // 128 * 128 + offset % 112 // 4 * 4) for offset in offsets]


WAYS: dict[str, tuple[tuple[str, Callable[[World, list[int]], Places]], ...]] = {
    "global": (("v[2:3], D, off offset:-16", _global_vgpr), ("v2, D, s[4:5] offset:24", _global_sgpr)),
    "flat": (("v[2:3], D offset:12", _flat),),
    "scratch": (
        ("off, D, off offset:32", _scratch_offset),
        ("off, D, s4 offset:-8", _scratch_sgpr),
        ("v2, D, off offset:4", _scratch_vgpr),
        ("v2, D, s4 offset:-4", _scratch_both),
    ),
    "ds": (("v2, D offset:20", _lds),),
    "buffer": (
        ("D, off, s[8:11], s12 offset:4", _buffer_offset),
        ("D, v2, s[8:11], 0 offen offset:4", _buffer_offen),
        ("D, v2, s[8:11], s12 idxen offset:8", _buffer_idxen),
        ("D, v[2:3], s[8:11], 0 idxen offen", _buffer_both),
    ),
}


def tuple_of(dwords: int, file: str = "v") -> str:
    """Registers from number 20 on."""
    return f"{file}20" if dwords == 1 else f"{file}[20:{19 + dwords}]"


def written(encoding: str, mnemonic: str, way: str, data: str, *, load: bool) -> str:
    """Text of an instruction: data stand first in loads and wherever the buffer's text has them."""
    if encoding != "buffer" and load:
        return f"{mnemonic} {data}, {way.replace(', D', '')}"
    return f"{mnemonic} {way.replace('D', data)}"


# loads and stores

LOADS: dict[str, tuple[int, bool, int | None]] = {
    # name: bytes, signed, lowest bit of a half
    "ubyte": (1, False, None),
    "sbyte": (1, True, None),
    "ushort": (2, False, None),
    "sshort": (2, True, None),
    "dword": (4, False, None),
    "dwordx2": (8, False, None),
    "dwordx3": (12, False, None),
    "dwordx4": (16, False, None),
    "ubyte_d16": (1, False, 0),
    "ubyte_d16_hi": (1, False, 16),
    "sbyte_d16": (1, True, 0),
    "sbyte_d16_hi": (1, True, 16),
    "short_d16": (2, False, 0),
    "short_d16_hi": (2, False, 16),
}
STORES = {
    # name: bytes, lowest bit of what is stored
    "byte": (1, 0),
    "byte_d16_hi": (1, 16),
    "short": (2, 0),
    "short_d16_hi": (2, 16),
    "dword": (4, 0),
    "dwordx2": (8, 0),
    "dwordx3": (12, 0),
    "dwordx4": (16, 0),
}
DS_LOADS = {
    "u8": "ubyte",
    "i8": "sbyte",
    "u16": "ushort",
    "i16": "sshort",
    "b32": "dword",
    "b64": "dwordx2",
    "b96": "dwordx3",
    "b128": "dwordx4",
    "u8_d16": "ubyte_d16",
    "u8_d16_hi": "ubyte_d16_hi",
    "i8_d16": "sbyte_d16",
    "i8_d16_hi": "sbyte_d16_hi",
    "u16_d16": "short_d16",
    "u16_d16_hi": "short_d16_hi",
}
DS_STORES = {
    "b8": "byte",
    "b8_d16_hi": "byte_d16_hi",
    "b16": "short",
    "b16_d16_hi": "short_d16_hi",
    "b32": "dword",
    "b64": "dwordx2",
    "b96": "dwordx3",
    "b128": "dwordx4",
}

Case = tuple[str, Callable[[World, list[int]], Places], str]


def cases(names: dict[str, Any], ds_names: dict[str, str], verb: str) -> Iterator[Case]:
    """Every access by one way, and one access in every way; text, how to set addresses, kind of access."""
    for encoding, ways in WAYS.items():
        kinds = ds_names if encoding == "ds" else {name: name for name in names}
        for name, kind in kinds.items():
            dwords = max(1, names[kind][0] // 4)
            word = {"load": "read", "store": "write"}[verb] if encoding == "ds" else verb
            for number, (way, locate) in enumerate(ways):
                if number and kind not in ("ushort", "short", "dword", "dwordx3"):
                    continue
                for file in "va" if kind in ("dwordx4", "short_d16_hi", "byte") else "v":
                    data = tuple_of(dwords, file)
                    text = written(encoding, f"{encoding}_{word}_{name}", way, data, load=verb == "load")
                    yield text, locate, kind


LOAD_CASES = list(cases(LOADS, DS_LOADS, "load"))
STORE_CASES = list(cases(STORES, DS_STORES, "store"))


def data_register(text: str, dwords: int) -> Register:
    """The register tuple that begins at number 20."""
    (found,) = (r for r in registers_of(text) if r.number == 20)
    assert found.dwords == dwords
    return found


@pytest.mark.parametrize("case", LOAD_CASES, ids=covers("test_load", (case[0] for case in LOAD_CASES)))
def test_load(case: Case) -> None:
    text, locate, kind = case
    bytes_, is_signed, low = LOADS[kind]
    world = World(text)
    places = locate(world, world.offsets(BYTES - 16))
    world.begin()
    register = data_register(text, max(1, bytes_ // 4))
    for lane in world.lanes:
        space, address = places[lane]
        value = world.read(space, lane, address, bytes_)
        if is_signed:
            value = signed(value, 8 * bytes_)
        if low is not None:
            value = (value & 0xFFFF) << low  # the other half becomes 0, as with ECC
        put_lane(world.expected, register, lane, value)
    world.check(text)


@pytest.mark.parametrize("case", STORE_CASES, ids=covers("test_store", (case[0] for case in STORE_CASES)))
def test_store(case: Case) -> None:
    text, locate, kind = case
    bytes_, low = STORES[kind]
    world = World(text)
    places = locate(world, world.offsets(BYTES - 16))
    world.begin()
    register = data_register(text, max(1, bytes_ // 4))
    dwords = bytes_ // 4 if text.startswith("buffer") else 1  # dwords through a buffer are stores of their own
    for i in range(max(dwords, 1)):
        for lane in world.lanes:
            space, address = places[lane]
            value = get_lane(world.before, register, lane) >> low
            step = bytes_ if dwords <= 1 else 4
            world.write(space, lane, address + 4 * i, step, value >> 32 * i)
    world.check(text)


TO_LDS = {"ubyte": (1, False), "sbyte": (1, True), "ushort": (2, False), "sshort": (2, True), "dword": (4, False)}
TO_LDS_CASES = [
    (f"{encoding}_load_lds_{kind} {way}", locate, kind)
    for kind in TO_LDS
    for encoding, way, locate in (
        ("global", "v[2:3], off offset:-16", _global_vgpr),
        ("global", "v2, s[4:5] offset:24", _global_sgpr),
        ("scratch", "v2, off offset:4", _scratch_vgpr),
    )
] + [(f"buffer_load_{kind} v2, s[8:11], 0 offen offset:4 lds", _buffer_offen, kind) for kind in TO_LDS]


@pytest.mark.parametrize("case", TO_LDS_CASES, ids=covers("test_to_lds", (case[0] for case in TO_LDS_CASES)))
def test_to_lds(case: Case) -> None:
    text, locate, kind = case
    bytes_, is_signed = TO_LDS[kind]
    world = World(text)
    put(world.before, "s", M0, 512)
    places = locate(world, world.offsets(BYTES - 16))
    world.begin()
    offset = int(text.split("offset:")[1].split()[0])
    for lane in world.lanes:
        value = world.read(*(places[lane][0], lane, places[lane][1], bytes_))
        value = signed(value, 8 * bytes_) if is_signed else value
        world.write(LOCAL, lane, 512 + offset + 4 * lane, 4, value)
    world.check(text)


# DS with two addresses, or with none

TWO = [
    (f"ds_{verb}2{stride}_b{bits} {arguments} offset0:{first} offset1:{second}", bits // 8 * (64 if stride else 1))
    for bits in (32, 64)
    for stride in ("", "st64")
    for first, second in ((1, 3), (2, 2))
    for verb, arguments in (
        ("read", f"{tuple_of(bits // 16)}, v2"),
        ("write", f"v2, {tuple_of(bits // 32)}, v[30:31]" if bits == 64 else "v2, v20, v30"),
    )
]


@pytest.mark.parametrize(("text", "unit"), TWO, ids=covers("test_two_addresses", (text for text, _ in TWO)))
def test_two_addresses(text: str, unit: int) -> None:
    world = World(text)
    bases = world.offsets(1000)
    put(world.before, "v", 2, bases)
    world.begin()
    bytes_ = 8 if "b64" in text else 4
    steps = [unit * int(part.split(":")[1]) for part in text.split() if part.startswith("offset")]
    if "read" in text:
        register = data_register(text, bytes_ // 2)
        for lane in world.lanes:
            low, high = (world.read(LOCAL, lane, bases[lane] + step, bytes_) for step in steps)
            put_lane(world.expected, register, lane, low | high << 8 * bytes_)
    else:
        for number, step in ((20, steps[0]), (30, steps[1])):
            if number == 30 and steps[0] == steps[1]:
                continue  # one address: one store, of the first data
            for lane in world.lanes:
                value = get_lane(world.before, Register("v", number, bytes_ // 4), lane)
                world.write(LOCAL, lane, bases[lane] + step, bytes_, value)
    world.check(text)


@pytest.mark.parametrize(
    "text", covers("test_addtid", ["ds_read_addtid_b32 v20 offset:8", "ds_write_addtid_b32 v20 offset:8"])
)
def test_addtid(text: str) -> None:
    world = World(text)
    put(world.before, "s", M0, 0xABCD_0100)
    world.begin()
    for lane in world.lanes:
        address = 0x100 + 8 + 4 * lane
        if "read" in text:
            put_lane(world.expected, Register("v", 20), lane, world.read(LOCAL, lane, address, 4))
        else:
            world.write(LOCAL, lane, address, 4, int(world.before.v[20, lane]))
    world.check(text)


@pytest.mark.parametrize("text", covers("test_append", ["ds_append v20 offset:4", "ds_consume v20 offset:4"]))
@pytest.mark.parametrize("exec_", [0xFFFF_0FFF_F0F3_FFF0, 1 << 63, 0])
def test_append(text: str, exec_: int) -> None:
    world = World(text, exec_)
    put(world.before, "s", M0, 0x100)
    world.begin()
    old = world.read(LOCAL, 0, 0x104, 4)
    for lane in world.lanes:
        put_lane(world.expected, Register("v", 20), lane, old)
    count = len(world.lanes) if "append" in text else -len(world.lanes)
    world.write(LOCAL, 0, 0x104, 4, old + count)
    world.check(text)


# between lanes


def _swizzle(lane: int, pattern: int) -> int:
    """Lane that the pattern makes a lane read, from the manual's loops over 4 and over 32 lanes."""
    if pattern & 0x8000:
        return lane // 4 * 4 + (pattern // 4 ** (lane % 4)) % 4
    and_, or_, xor = (pattern >> shift & 31 for shift in (0, 5, 10))
    return lane // 32 * 32 + ((lane % 32 & and_ | or_) ^ xor)


SWIZZLES = ["swizzle(QUAD_PERM, 1, 0, 3, 2)", "swizzle(SWAP, 16)", "swizzle(REVERSE, 8)", "swizzle(BROADCAST, 8, 3)",
            'swizzle(BITMASK_PERM, "01pi0")']  # fmt: skip


@pytest.mark.parametrize(
    "text", covers("test_swizzle", (f"ds_swizzle_b32 v20, v2 offset:{pattern}" for pattern in SWIZZLES))
)
def test_swizzle(text: str) -> None:
    from emulator.forms import instruction

    world = World(text)
    world.begin()
    pattern = instruction(text).modifiers.offset
    for lane in world.lanes:
        source = _swizzle(lane, pattern)
        put_lane(
            world.expected, Register("v", 20), lane, int(world.before.v[2, source]) if source in world.lanes else 0
        )
    world.check(text)


@pytest.mark.parametrize("text", covers("test_bpermute", ["ds_bpermute_b32 v20, v2, v3 offset:4"]))
def test_bpermute(text: str) -> None:
    world = World(text)
    world.begin()
    for lane in world.lanes:
        source = (int(world.before.v[2, lane]) + 4) // 4 % 64
        put_lane(
            world.expected, Register("v", 20), lane, int(world.before.v[3, source]) if source in world.lanes else 0
        )
    world.check(text)


@pytest.mark.parametrize("text", covers("test_permute", ["ds_permute_b32 v20, v2, v3 offset:8"]))
def test_permute(text: str) -> None:
    world = World(text)
    world.begin()
    received = [0] * LANES
    for lane in world.lanes:
        received[(int(world.before.v[2, lane]) + 8) // 4 % 64] = int(world.before.v[3, lane])
    for lane in world.lanes:
        put_lane(world.expected, Register("v", 20), lane, received[lane])
    world.check(text)


# atomics

Reference = Callable[..., int]
ALL_ONES = {32: 0xFFFF_FFFF, 64: 0xFFFF_FFFF_FFFF_FFFF}

INTEGER: dict[str, Callable[[int, list[int], int], int]] = {
    # memory, operands, bits; the result is cut to its bits
    "swap": lambda m, o, n: o[0],
    "cmpswap": lambda m, o, n: o[0] if m == o[1] else m,
    "add": lambda m, o, n: m + o[0],
    "sub": lambda m, o, n: m - o[0],
    "smin": lambda m, o, n: min(m, o[0], key=lambda x: signed(x, n)),
    "umin": lambda m, o, n: min(m, o[0]),
    "smax": lambda m, o, n: max(m, o[0], key=lambda x: signed(x, n)),
    "umax": lambda m, o, n: max(m, o[0]),
    "and": lambda m, o, n: m & o[0],
    "or": lambda m, o, n: m | o[0],
    "xor": lambda m, o, n: m ^ o[0],
    "inc": lambda m, o, n: 0 if m >= o[0] else m + 1,
    "dec": lambda m, o, n: o[0] if m == 0 or m > o[0] else m - 1,
    # DS alone
    "rsub": lambda m, o, n: o[0] - m,
    "wrxchg": lambda m, o, n: o[0],
    "cmpst": lambda m, o, n: o[1] if m == o[0] else m,
    "mskor": lambda m, o, n: m & ~o[0] | o[1],
    "wrap": lambda m, o, n: m - o[0] if m >= o[0] else m + o[1],
}
DS_INTEGER = {
    "add_u": "add", "sub_u": "sub", "rsub_u": "rsub", "inc_u": "inc", "dec_u": "dec", "min_i": "smin", "max_i": "smax",
    "min_u": "umin", "max_u": "umax", "and_b": "and", "or_b": "or", "xor_b": "xor", "mskor_b": "mskor",
    "cmpst_b": "cmpst",
}  # fmt: skip
TWO_OPERANDS = ("cmpswap", "cmpst", "mskor", "wrap")

CELLS = 12
"""Places that the lanes of an atomic share."""
VALUES = {
    32: [0, 1, 2, 3, 5, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF],
    64: [0, 1, 2, 3, 5, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1],
}

# text, way to the address, operation, bits, operands, whether the old value comes back
Atomic = tuple[str, Callable[[World, list[int]], Places], str, int, bool]


def _memory_atomics() -> Iterator[Atomic]:
    names = [name for name in INTEGER if name not in ("rsub", "wrxchg", "cmpst", "mskor", "wrap")]
    for encoding in ("global", "flat", "buffer"):
        way, locate = WAYS[encoding][1 if encoding == "buffer" else 0]
        for name in names:
            for bits in (32, 64):
                data = tuple_of(bits // 32 * (2 if name == "cmpswap" else 1))
                mnemonic = f"{encoding}_atomic_{name}" + ("_x2" if bits == 64 else "")
                for returns in (False, True):
                    if encoding == "buffer":
                        text = written(encoding, mnemonic, way, data, load=False)
                    elif returns:
                        result = "v30" if bits == 32 else "v[30:31]"
                        text = f"{mnemonic} {result}, {way.replace('D', data)}"
                    else:
                        text = f"{mnemonic} {way.replace('D', data)}"
                    yield text + (" sc0" if returns else ""), locate, name, bits, returns


def _ds_atomics() -> Iterator[Atomic]:
    for name, operation in DS_INTEGER.items():
        for bits in (32, 64):
            data = tuple_of(bits // 32)
            second = f", {'v24' if bits == 32 else 'v[24:25]'}" if operation in TWO_OPERANDS else ""
            stem, kind = name.rsplit("_", 1)
            yield f"ds_{name}{bits} v2, {data}{second} offset:20", _lds, operation, bits, False
            result = "v30" if bits == 32 else "v[30:31]"
            yield f"ds_{stem}_rtn_{kind}{bits} {result}, v2, {data}{second} offset:20", _lds, operation, bits, True
    yield "ds_wrap_rtn_b32 v30, v2, v20, v24 offset:20", _lds, "wrap", 32, True
    yield "ds_wrxchg_rtn_b32 v30, v2, v20 offset:20", _lds, "wrxchg", 32, True
    yield "ds_wrxchg_rtn_b64 v[30:31], v2, v[20:21] offset:20", _lds, "wrxchg", 64, True


ATOMICS = [*_memory_atomics(), *_ds_atomics()]


def operands_of(world: World, text: str, lane: int, bits: int) -> list[int]:
    """Data of an atomic: one tuple, or v20 and v24 of DS."""
    dwords = bits // 32
    numbers = [20, 24] if text.startswith("ds") else [20, 20 + dwords]
    return [get_lane(world.before, Register("v", number, dwords), lane) for number in numbers]


def run_atomic(
    world: World,
    text: str,
    locate: Callable[[World, list[int]], Places],
    bits: int,
    returns: bool,
    values: list[int],
    reference: Callable[[int, list[int]], int],
    mode: Mode | None = None,
    ordered: bool = False,
) -> None:
    """Run an atomic whose lanes share cells, and compare with one lane after the other.

    If it is ``ordered``, lanes that share a cell are to be counted.
    """
    bytes_ = bits // 8
    offsets = [64 + offset for offset in world.offsets(CELLS * bytes_, bytes_)]
    places = locate(world, offsets)
    pick = lambda: values[int(world.random.integers(len(values)))]  # noqa: E731
    for number in (20, 20 + bits // 32, 24):
        put(world.before, "v", number, [pick() for _ in range(LANES)], bits // 32)
    users = Counter(places[lane] for lane in world.lanes if places[lane][0] != PRIVATE)
    world.met = sum(count for count in users.values() if count > 1) if ordered else 0
    world.begin()
    for lane in world.lanes:  # memory gets such values too
        space, address = places[lane]
        world.write(space, lane, address, bytes_, pick())
    world.buffer.bytes[:] = np.frombuffer(world.memory[GLOBAL], np.uint8)
    world.lds[:] = np.frombuffer(world.memory[LOCAL], np.uint8)
    for lane in range(LANES):
        world.scratch[lane] = np.frombuffer(world.memory[PRIVATE, lane], np.uint8)
    result = 20 if text.startswith("buffer") else 30
    for lane in world.lanes:
        space, address = places[lane]
        old = world.read(space, lane, address, bytes_)
        if returns:
            put_lane(world.expected, Register("v", result, bits // 32), lane, old)
        world.write(space, lane, address, bytes_, reference(old, operands_of(world, text, lane, bits)))
    world.check(text, mode)


@pytest.mark.parametrize("case", ATOMICS, ids=covers("test_atomic", (case[0] for case in ATOMICS)))
def test_atomic(case: Atomic) -> None:
    text, locate, name, bits, returns = case
    world = World(text)
    run_atomic(world, text, locate, bits, returns, VALUES[bits], lambda m, o: INTEGER[name](m, o, bits))


SWAPS = [
    (
        f"ds_wrxchg2{stride}_rtn_b{bits} {tuple_of(bits // 16)}, v2, {data} offset0:1 offset1:3",
        bits,
        64 if stride else 1,
    )
    for bits, data in ((32, "v30, v32"), (64, "v[30:31], v[32:33]"))
    for stride in ("", "st64")
]


@pytest.mark.parametrize(
    ("text", "bits", "stride"), SWAPS, ids=covers("test_two_swaps", (text for text, _, _ in SWAPS))
)
def test_two_swaps(text: str, bits: int, stride: int) -> None:
    world = World(text)
    bytes_ = bits // 8
    bases = world.offsets(800, bytes_)
    put(world.before, "v", 2, bases)
    world.begin()
    # all lanes swap at the first address, then all at the second
    for i, number in enumerate((30, 32)):
        for lane in world.lanes:
            address = bases[lane] + (1, 3)[i] * bytes_ * stride
            old = Register("v", 20 + i * bits // 32, bits // 32)
            put_lane(world.expected, old, lane, world.read(LOCAL, lane, address, bytes_))
            world.write(LOCAL, lane, address, bytes_, get_lane(world.before, Register("v", number, bits // 32), lane))
    world.check(text)


# atomics of floats: formats as (exponent bits, mantissa bits), numbers as fractions

FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


class Float:
    """The bits of a float taken apart."""

    def __init__(self, bits: int, format_: str, flush: bool = False) -> None:
        exponent_bits, self.mantissa_bits = FORMATS[format_]
        self.format, self.bits = format_, bits
        self.sign_bit = 1 << exponent_bits + self.mantissa_bits
        self.largest = (1 << exponent_bits) - 1
        exponent = bits >> self.mantissa_bits & self.largest
        if flush and not exponent:
            self.bits = bits = bits & self.sign_bit
        mantissa = bits & (1 << self.mantissa_bits) - 1
        self.negative = bool(bits & self.sign_bit)
        self.nan = exponent == self.largest and mantissa != 0
        self.infinite = exponent == self.largest and not mantissa
        self.quiet_bit = 1 << self.mantissa_bits - 1
        self.signaling = self.nan and not bits & self.quiet_bit
        scale = max(exponent, 1) - (self.largest >> 1) - self.mantissa_bits
        significand = mantissa | (1 << self.mantissa_bits if exponent else 0)
        self.value = Fraction(0)
        if not (self.nan or self.infinite):
            self.value = (-1 if self.negative else 1) * significand * Fraction(2) ** scale

    @property
    def order(self) -> tuple[int, Fraction, int]:
        """Sorts numbers, with -0 below +0."""
        side = (-1 if self.negative else 1) if self.infinite else 0
        return side, self.value, 0 if self.negative else 1


def rounded(value: Fraction, format_: str, negative_zero: bool) -> int:
    """Bits of the float nearest to a number, ties to even."""
    exponent_bits, mantissa_bits = FORMATS[format_]
    bias = (1 << exponent_bits - 1) - 1
    sign = 1 << exponent_bits + mantissa_bits
    if not value:
        return sign if negative_zero else 0
    magnitude = abs(value)
    lowest = 1 - bias - mantissa_bits
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()  # or one more than that
    scale = max(exponent - (magnitude < Fraction(2) ** exponent) - mantissa_bits, lowest)
    units = round(magnitude / Fraction(2) ** scale)  # Python rounds to even
    if units == 1 << mantissa_bits + 1:
        units, scale = units >> 1, scale + 1
    # the exponent's field joins the mantissa's highest, hidden bit
    bits = units + (scale - lowest << mantissa_bits)
    return min(bits, ((1 << exponent_bits) - 1) << mantissa_bits) | (sign if value < 0 else 0)


def float_sum(m: int, d: int, format_: str, flush: bool) -> int:
    """The manual's rules of a sum."""
    a, b = Float(m, format_, flush), Float(d, format_, flush)
    for operand in (a, b):
        if operand.nan:
            return operand.bits | operand.quiet_bit
    if a.infinite or b.infinite:
        if a.infinite and b.infinite and a.negative != b.negative:
            return a.largest << a.mantissa_bits | a.quiet_bit
        return a.bits if a.infinite else b.bits
    negative_zero = a.negative and b.negative
    return Float(rounded(a.value + b.value, format_, negative_zero), format_, flush).bits


def float_choice(m: int, d: int, format_: str, flush: bool, sign: int) -> int:
    """The manual's rules of the smaller (``sign`` -1) or larger one."""
    a, b = Float(m, format_), Float(d, format_)
    for operand in (a, b):
        if operand.signaling:
            return operand.bits | operand.quiet_bit
    if a.nan or b.nan:
        return m if b.nan else d
    left, right = Float(m, format_, flush).order, Float(d, format_, flush).order
    return d if (right > left if sign > 0 else right < left) else m


def float_swap(m: int, compared: int, new: int, format_: str, flush: bool) -> int:
    """The manual's rules of a compare-and-swap."""
    a, b = Float(m, format_, flush), Float(compared, format_, flush)
    equal = not (a.nan or b.nan) and (a.infinite, a.value) == (b.infinite, b.value)
    equal = equal and (not a.infinite or a.negative == b.negative)
    return Float(new, format_, flush).bits if equal else m


def halves(function: Callable[[int, int], int], m: int, d: int) -> int:
    """A function of 16 bits, on both halves."""
    return function(m & 0xFFFF, d & 0xFFFF) | function(m >> 16, d >> 16) << 16


def float_values(format_: str, generator: Any) -> list[int]:
    """Special values, subnormals, ordinary numbers of near magnitudes."""
    exponent_bits, mantissa_bits = FORMATS[format_]
    sign, top = 1 << exponent_bits + mantissa_bits, (1 << exponent_bits) - 1
    one = (top >> 1) << mantissa_bits
    values = [0, 1, (1 << mantissa_bits) - 1, 1 << mantissa_bits, one, one + 1, one - 1, (top << mantissa_bits) - 1]
    values += [top << mantissa_bits, (top << mantissa_bits) + 5, (top << mantissa_bits) | 1 << mantissa_bits - 1 | 9]
    values += [(top << mantissa_bits) + 6, 2, 3]
    values = [*values, *values]  # special pairs are to meet often
    values += [one + int(generator.integers(0, 4 << mantissa_bits)) for _ in range(8)]
    return values + [value | sign for value in values]


# what stands in memory and DS names, its format, and whether LDS flushes its subnormals when the mode says so
FLOATS = [
    (f"{encoding}_atomic_{name}", format_, False)
    for encoding in ("global", "flat", "buffer")
    for name, format_ in (
        ("add_f32", "f32"), ("add_f64", "f64"), ("min_f64", "f64"), ("max_f64", "f64"), ("pk_add_f16", "f16"),
        ("pk_add_bf16", "bf16"),
    )
    if (encoding, name) != ("buffer", "pk_add_bf16")
] + [
    ("ds_add_f32", "f32", True), ("ds_add_f64", "f64", False), ("ds_min_f32", "f32", True), ("ds_max_f32", "f32", True),
    ("ds_min_f64", "f64", True), ("ds_max_f64", "f64", True), ("ds_pk_add_f16", "f16", True),
    ("ds_pk_add_bf16", "bf16", True), ("ds_cmpst_f32", "f32", True), ("ds_cmpst_f64", "f64", True),
]  # fmt: skip


def _float_cases() -> Iterator[tuple[str, Callable[[World, list[int]], Places], str, str, bool, bool]]:
    for mnemonic, format_, flushes in FLOATS:
        encoding = mnemonic.split("_")[0]
        kind = next(kind for kind in ("add", "min", "max", "cmpst") if kind in mnemonic.split("_"))
        wide = format_ == "f64"
        way, locate = WAYS[encoding][1 if encoding == "buffer" else 0]
        data = tuple_of(2 if wide else 1)
        if kind == "cmpst":
            data += ", v[24:25]" if wide else ", v24"
        for returns in (False, True):
            name, text = mnemonic, way.replace("D", data)
            if returns and encoding != "buffer":
                text = f"{'v[30:31]' if wide else 'v30'}, {text}"
            if returns and encoding == "ds":
                stem, type_ = mnemonic.rsplit("_", 1)
                name = f"{stem}_rtn_{type_}"
            elif returns:
                text += " sc0"
            yield f"{name} {text}", locate, kind, format_, flushes, returns


FLOAT_CASES = list(_float_cases())


@pytest.mark.parametrize("case", FLOAT_CASES, ids=covers("test_float_atomic", (case[0] for case in FLOAT_CASES)))
@pytest.mark.parametrize("mode", [Mode(), Mode(flush_32=True, flush_16_64=True)], ids=["keep", "flush"])
def test_float_atomic(case: tuple[Any, ...], mode: Mode) -> None:
    text, locate, kind, format_, flushes, returns = case
    flush = flushes and mode.flush_32
    bits = 64 if format_ == "f64" else 32

    def reference(m: int, operands: list[int]) -> int:
        if kind == "cmpst":
            return float_swap(m, *operands, format_, flush)
        if kind != "add":
            return float_choice(m, operands[0], format_, flush, 1 if kind == "max" else -1)
        if bits == 32 and format_ != "f32":
            return halves(lambda m, d: float_sum(m, d, format_, flush), m, operands[0])
        return float_sum(m, operands[0], format_, flush)

    for round_ in range(4):
        world = World(f"{text} {round_}")
        values = float_values(format_, world.random)
        if kind == "cmpst":  # few values, so that many are equal
            values = [value for value in values if Float(value, format_).value < 1][: 12 if round_ % 2 else None]
        if format_ in ("f16", "bf16"):
            values = [low | high << 16 for low, high in zip(values, world.random.permutation(values), strict=True)]
            values = [int(value) for value in values]
        run_atomic(world, text, locate, bits, returns, values, reference, mode, ordered=kind == "add")
