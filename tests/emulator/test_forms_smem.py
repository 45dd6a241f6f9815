"""Scalar memory: loads, stores and atomics of the wave, through an address or a buffer resource, whatever EXEC is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emulator.forms import M0, covers, get, put
from emulator.memory_world import BYTES, GLOBAL, World
from emulator.test_forms_memory import INTEGER, resource

WORDS = {"dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16}


def scalar(dwords: int) -> str:
    """Registers from s20 or, as larger tuples need, s32 on."""
    return {1: "s20", 2: "s[20:21]"}.get(dwords, f"s[32:{31 + dwords}]")


def number(dwords: int) -> int:
    """The first of these registers."""
    return 20 if dwords <= 2 else 32


# text of the offset, and its value when registers are set for it
OFFSETS: dict[str, Callable[[World], int]] = {
    "0x40": lambda world: 0x40,
    "-0x20": lambda world: -0x20,
    "s6": lambda world: put(world.before, "s", 6, 0x83) or 0x80,  # the low bits do not count
    "s6 offset:0x13": lambda world: put(world.before, "s", 6, 0x80) or 0x90,
    "m0": lambda world: put(world.before, "s", M0, 0x44) or 0x44,
}
LOADS = [(f"s_load_{name} {scalar(n)}, s[2:3], 0x40", n, "0x40") for name, n in WORDS.items()]
LOADS += [(f"s_load_dwordx2 s[20:21], s[2:3], {offset}", 2, offset) for offset in list(OFFSETS)[1:]]


@pytest.mark.parametrize("case", LOADS, ids=covers("test_load", (case[0] for case in LOADS)))
def test_load(case: tuple[str, int, str]) -> None:
    text, dwords, offset = case
    world = World(text, exec_=0)
    address = world.buffer.address + 0x200 + OFFSETS[offset](world)
    put(world.before, "s", 2, world.buffer.address + 0x203, 2)
    world.begin()
    put(world.expected, "s", number(dwords), world.read(GLOBAL, 0, address, 4 * dwords), dwords)
    world.check(text)


STORES = [
    (f"s_{scratch}store_{name} {scalar(n)}, s[2:3], 0x40", n)
    for scratch in ("", "scratch_")
    for name, n in list(WORDS.items())[:3]
]


@pytest.mark.parametrize("case", STORES, ids=covers("test_store", (case[0] for case in STORES)))
def test_store(case: tuple[str, int]) -> None:
    text, dwords = case
    world = World(text, exec_=0)
    put(world.before, "s", 2, world.buffer.address, 2)
    world.begin()
    value = get(world.before, "s", number(dwords), dwords)
    world.write(GLOBAL, 0, world.buffer.address + 0x40, 4 * dwords, value)
    world.check(text)


SCRATCH = [(f"s_scratch_load_{name} {scalar(n)}, s[2:3], s6", n) for name, n in list(WORDS.items())[:3]]


@pytest.mark.parametrize("case", SCRATCH, ids=covers("test_scratch_load", (case[0] for case in SCRATCH)))
def test_scratch_load(case: tuple[str, int]) -> None:
    """The register counts in 64 bytes."""
    text, dwords = case
    world = World(text, exec_=0)
    put(world.before, "s", 2, world.buffer.address, 2)
    put(world.before, "s", 6, 20)
    world.begin()
    value = world.read(GLOBAL, 0, world.buffer.address + 64 * 20, 4 * dwords)
    put(world.expected, "s", number(dwords), value, dwords)
    world.check(text)


BUFFER = [(f"s_buffer_load_{name} {scalar(n)}, s[8:11], 0x40", n) for name, n in WORDS.items()]


@pytest.mark.parametrize("case", BUFFER, ids=covers("test_buffer_load", (case[0] for case in BUFFER)))
@pytest.mark.parametrize(("records", "stride"), [(BYTES, 0), (0x40 + 8, 0), (0x48 // 8, 8), (0x40, 0)])
def test_buffer_load(case: tuple[str, int], records: int, stride: int) -> None:
    """Dwords behind the last record are zeros; the stride counts only there."""
    text, dwords = case
    world = World(text, exec_=0)
    resource(world, records, stride=stride)
    world.begin()
    size = records * (stride or 1)
    for i in range(dwords):
        offset = 0x40 + 4 * i
        value = world.read(GLOBAL, 0, world.buffer.address + offset, 4) if offset < size else 0
        put(world.expected, "s", number(dwords) + i, value)
    world.check(text)


BUFFER_STORES = [(f"s_buffer_store_{name} {scalar(n)}, s[8:11], 0x40", n) for name, n in list(WORDS.items())[:3]]


@pytest.mark.parametrize("case", BUFFER_STORES, ids=covers("test_buffer_store", (case[0] for case in BUFFER_STORES)))
@pytest.mark.parametrize("records", [0x40, 0x44, BYTES])
def test_buffer_store(case: tuple[str, int], records: int) -> None:
    """Dwords behind the last record are not stored."""
    text, dwords = case
    world = World(text, exec_=0)
    resource(world, records)
    world.begin()
    for i in range(dwords):
        if 0x40 + 4 * i < records:
            value = get(world.before, "s", number(dwords) + i)
            world.write(GLOBAL, 0, world.buffer.address + 0x40 + 4 * i, 4, value)
    world.check(text)


ATOMICS = [
    (f"s_{buffer}atomic_{name}{suffix} {scalar(bits // 32 * (2 if name == 'cmpswap' else 1))}, {base}, 0x40{glc}", name,
     bits, bool(glc))
    for buffer, base in (("", "s[2:3]"), ("buffer_", "s[8:11]"))
    for name in INTEGER
    if name not in ("rsub", "wrxchg", "cmpst", "mskor", "wrap")
    for bits, suffix in ((32, ""), (64, "_x2"))
    for glc in ("", " glc")
]  # fmt: skip


@pytest.mark.parametrize("case", ATOMICS, ids=covers("test_atomic", (case[0] for case in ATOMICS)))
def test_atomic(case: tuple[str, str, int, bool]) -> None:
    text, name, bits, returns = case
    dwords = bits // 32
    total = dwords * (2 if name == "cmpswap" else 1)
    for m, d in ((5, 7), (7, 5), (0, 3), (1 << bits - 1, 1), (3, 3)):
        world = World(text, exec_=0)
        put(world.before, "s", 2, world.buffer.address, 2)
        resource(world, BYTES)
        world.buffer.bytes[0x40 : 0x40 + bits // 8] = list(m.to_bytes(bits // 8, "little"))
        operands = [d, 3] if name == "cmpswap" else [d]
        put(world.before, "s", number(total), sum(value << bits * i for i, value in enumerate(operands)), total)
        world.begin()
        if returns:
            put(world.expected, "s", number(total), m, dwords)
        world.write(GLOBAL, 0, world.buffer.address + 0x40, bits // 8, INTEGER[name](m, operands, bits))
        world.check(text)


NOTHING = [
    "s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol", "s_dcache_discard s[2:3], 0x40",
    "s_dcache_discard_x2 s[2:3], 0x40", "s_atc_probe 1, s[2:3], 0x40", "s_atc_probe_buffer 1, s[8:11], 0x40",
    "buffer_wbl2 sc1", "buffer_inv sc1", "ds_nop",
]  # fmt: skip


@pytest.mark.parametrize("text", covers("test_nothing", NOTHING))
def test_nothing(text: str) -> None:
    world = World(text)
    world.begin()
    world.check(text)


@pytest.mark.parametrize("text", covers("test_clock", ["s_memtime s[20:21]", "s_memrealtime s[20:21]"]))
def test_clock(text: str) -> None:
    """A clock says how many instructions the wave has executed."""
    world = World(text)
    world.begin()
    put(world.expected, "s", 20, 0, 2)
    world.check(text)
