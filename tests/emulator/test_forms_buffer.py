"""Buffer resources: what is in range, strides, swizzling, unbound resources, and formatted accesses."""

from __future__ import annotations

import struct
from fractions import Fraction

import pytest

from emulator.forms import LANES, Register, covers, get_lane, put, put_lane, signed
from emulator.memory_world import BYTES, GLOBAL, LOCAL, World
from emulator.test_forms_memory import Float, resource, rounded, tuple_of

WORD = 0x27000
"""Last dword of a resource: 32-bit data."""

LOAD = "buffer_load_dwordx4 v[20:23], v2, s[8:11], s12 offen offset:8"
STORE = "buffer_store_dwordx4 v[20:23], v2, s[8:11], s12 offen offset:8"
ATOMIC = "buffer_atomic_add_x2 v[20:21], v2, s[8:11], s12 offen offset:8 sc0"
NARROW = "buffer_load_ushort v20, v2, s[8:11], s12 offen offset:8"


@pytest.mark.parametrize("text", covers("test_raw_range", [LOAD, STORE, ATOMIC, NARROW]))
def test_raw_range(text: str) -> None:
    """Bytes must end in the buffer, whatever offset they have; dwords of loads and stores each for itself."""
    world = World(text)
    scalar = 1000
    records = scalar + (404 if text == ATOMIC else 402)
    resource(world, records)
    put(world.before, "s", 12, scalar)
    offsets = [388 - 2 * (lane % 16) if lane % 2 else 300 for lane in range(LANES)]
    if text == ATOMIC:
        offsets = [304 + 8 * (lane % 16) for lane in range(LANES)]  # aligned: 0, 8, ..., 400 and behind
    if text == NARROW:
        offsets = [386 + lane % 16 for lane in range(LANES)]
    offsets[0], offsets[2] = 0xFFFF_F000, 0x8000_0000
    offsets[4] = 0xFFFF_FFF8  # with the instruction's offset it wraps to 0
    put(world.before, "v", 2, offsets)
    world.begin()
    starts = [(offset + 8) % 2**32 + scalar for offset in offsets]
    for lane in world.lanes:
        place = world.buffer.address + starts[lane]
        inside = [starts[lane] + 4 * i + 4 <= records for i in range(4)]
        if text == NARROW:
            value = world.read(GLOBAL, lane, place, 2) if starts[lane] + 2 <= records else 0
            put_lane(world.expected, Register("v", 20), lane, value)
        elif text == LOAD:
            words = [world.read(GLOBAL, lane, place + 4 * i, 4) if inside[i] else 0 for i in range(4)]
            put_lane(world.expected, Register("v", 20, 4), lane, sum(word << 32 * i for i, word in enumerate(words)))
        elif text == ATOMIC:
            pair = Register("v", 20, 2)
            old = world.read(GLOBAL, lane, place, 8) if inside[1] else 0
            if inside[1]:
                world.write(GLOBAL, lane, place, 8, old + get_lane(world.before, pair, lane))
            put_lane(world.expected, pair, lane, old)
    for i in range(4) if text == STORE else ():
        for lane in world.lanes:
            if starts[lane] + 4 * i + 4 <= records:
                place = world.buffer.address + starts[lane] + 4 * i
                world.write(GLOBAL, lane, place, 4, int(world.before.v[20 + i, lane]))
    world.check(text)


STRUCTURED = "buffer_load_dwordx2 v[20:21], v[2:3], s[8:11], 0 idxen offen"


@pytest.mark.parametrize("text", covers("test_structured_range", [STRUCTURED]))
@pytest.mark.parametrize("stride", [0, 24])
def test_structured_range(text: str, stride: int) -> None:
    """With a stride and an index the index decides; without a stride the buffer is raw."""
    world = World(text)
    records = 30
    resource(world, records, stride=stride)
    indices = [lane if lane < 62 else 0xFFFF_FF00 + lane for lane in range(LANES)]
    put(world.before, "v", 2, indices)
    put(world.before, "v", 3, [4 * (lane % 12) for lane in range(LANES)])
    world.begin()
    for lane in world.lanes:
        value = 0
        for i in range(2):
            offset = 4 * (lane % 12)
            if indices[lane] < records if stride else offset + 4 * i + 4 <= records:
                place = world.buffer.address + indices[lane] * stride + offset + 4 * i
                value |= world.read(GLOBAL, lane, place, 4) << 32 * i
        put_lane(world.expected, Register("v", 20, 2), lane, value)
    world.check(text)


@pytest.mark.parametrize("text", covers("test_swizzled", [STRUCTURED]))
@pytest.mark.parametrize("log", [0, 1, 3])
def test_swizzled(text: str, log: int) -> None:
    """Elements of 4 bytes of so many records lie side by side."""
    world = World(text)
    stride, beside = 16, 8 << log
    resource(world, 200, stride=stride | 1 << 15, word=WORD | log << 21)
    put(world.before, "v", 2, [3 * lane for lane in range(LANES)])
    put(world.before, "v", 3, [4 * (lane % 3) for lane in range(LANES)])
    world.begin()
    for lane in world.lanes:
        value = 0
        for i in range(2):
            index, offset = 3 * lane, 4 * (lane % 3) + 4 * i
            place = (index // beside * stride + offset // 4 * 4) * beside + index % beside * 4
            value |= world.read(GLOBAL, lane, world.buffer.address + place, 4) << 32 * i
        put_lane(world.expected, Register("v", 20, 2), lane, value)
    world.check(text)


ADDED = "buffer_load_dword v20, off, s[8:11], 0 offset:4"


@pytest.mark.parametrize("text", covers("test_lane_added", [ADDED]))
def test_lane_added(text: str) -> None:
    """The lane's number is the index, the format's field is part of the stride, and nothing is out of range."""
    world = World(text)
    resource(world, 0, stride=40, word=1 << 23)
    world.begin()
    for lane in world.lanes:
        value = world.read(GLOBAL, lane, world.buffer.address + 40 * lane + 4, 4)
        put_lane(world.expected, Register("v", 20), lane, value)
    world.check(text)


@pytest.mark.parametrize("text", covers("test_long_stride", [ADDED, "buffer_load_dword v20, v2, s[8:11], 0 idxen"]))
def test_long_stride(text: str) -> None:
    """With the lane added, the format's field is bits 17:14 of the stride; one lane is on, so that all fits."""
    lane, stride = 5, 2 << 14 | 40
    world = World(text, exec_=1 << lane)
    put(world.before, "v", 2, [1] * LANES)
    index, offset = (lane, 4) if text == ADDED else (1 + lane, 0)
    resource(world, 2, stride=stride & 0x3FFF, base=world.buffer.address - stride * index, word=1 << 23 | 2 << 15)
    world.begin()
    value = world.read(GLOBAL, lane, world.buffer.address + offset, 4)
    put_lane(world.expected, Register("v", 20), lane, value)
    world.check(text)


INDEXED = "buffer_load_dword v20, v2, s[8:11], 0 idxen"


@pytest.mark.parametrize("text", covers("test_lane_added_to_index", [INDEXED]))
def test_lane_added_to_index(text: str) -> None:
    """Nothing is out of range; such a resource needs no format."""
    world = World(text)
    resource(world, 3, stride=16, word=1 << 23)
    put(world.before, "v", 2, [lane % 5 for lane in range(LANES)])
    world.begin()
    for lane in world.lanes:
        place = world.buffer.address + 16 * (lane % 5 + lane)
        value = world.read(GLOBAL, lane, place, 4)
        put_lane(world.expected, Register("v", 20), lane, value)
    world.check(text)


@pytest.mark.parametrize("text", covers("test_unbound", [ADDED]))
@pytest.mark.parametrize("word", [0, 0x7000])
def test_unbound(text: str, word: int) -> None:
    """A resource without a data format has no memory."""
    world = World(text)
    resource(world, BYTES, word=word)
    world.begin()
    for lane in world.lanes:
        put_lane(world.expected, Register("v", 20), lane, 0)
    world.check(text)


# formats: dfmt -> widths of the components from the lowest bit on

WIDTHS = {1: [8], 2: [16], 3: [8, 8], 4: [32], 5: [16, 16], 6: [11, 11, 10], 7: [10, 11, 11], 8: [2, 10, 10, 10],
          9: [10, 10, 10, 2], 10: [8] * 4, 11: [32] * 2, 12: [16] * 4, 13: [32] * 3, 14: [32] * 4}  # fmt: skip
UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 0, 1, 2, 3, 4, 5, 7
COMPONENTS = {"x": 1, "xy": 2, "xyz": 3, "xyzw": 4}


def meaningful(dfmt: int, nfmt: int) -> bool:
    """Whether a format exists: floats have 10 bits or more, others at most 16 unless they are integers."""
    narrowest, widest = min(WIDTHS[dfmt]), max(WIDTHS[dfmt])
    return narrowest >= 10 if nfmt == FLOAT else nfmt in (UINT, SINT) or widest <= 16


FORMATS = [(dfmt, nfmt) for dfmt in WIDTHS for nfmt in (0, 1, 2, 3, 4, 5, 7) if meaningful(dfmt, nfmt)]


def f32(value: Fraction, negative_zero: bool = False) -> int:
    """Bits of the nearest float."""
    return rounded(value, "f32", negative_zero)


def decoded(bits: int, width: int, nfmt: int) -> int:
    """A component as 32 bits of a register."""
    number = signed(bits, width)
    match nfmt:
        case 0:
            return f32(Fraction(bits, (1 << width) - 1))
        case 1:
            return f32(max(Fraction(number, (1 << width - 1) - 1), Fraction(-1)))
        case 2:
            return f32(Fraction(bits))
        case 3:
            return f32(Fraction(number))
        case 4:
            return bits
        case 5:
            return number & 0xFFFF_FFFF
    if width == 32:
        return bits
    half = bits << (15 - width) if width < 16 else bits
    parsed = Float(half, "f16")
    if parsed.nan or parsed.infinite:
        sign = half >> 15 << 31
        return sign | 0x7F80_0000 | (half & 0x3FF) << 13 | (0x40_0000 if parsed.nan else 0)
    return f32(parsed.value, parsed.negative)


def components_of(bits: int, dfmt: int) -> list[tuple[int, int]]:
    """Bits and widths of the components in memory."""
    found, low = [], 0
    for width in WIDTHS[dfmt]:
        found.append((bits >> low & (1 << width) - 1, width))
        low += width
    return found


TYPED = [
    (f"tbuffer_load_format_{name} {tuple_of(n)}, v2, s[8:11], 0 format:{dfmt | nfmt << 4} offen", n, dfmt, nfmt)
    for dfmt, nfmt in FORMATS
    for name, n in list(COMPONENTS.items())
    if n in (4, len(WIDTHS[dfmt]))
]  # fmt: skip

IDENTITY = sum(4 + i << 3 * i for i in range(4))
"""Component selects of a resource: each its own."""
SOME = [(1, UINT), (2, FLOAT), (5, SINT), (10, UNORM), (10, SSCALED), (11, UINT), (12, FLOAT), (13, UINT), (14, SINT)]
"""Formats that resources have in these tests."""


def in_resource(text: str, dfmt: int, nfmt: int) -> tuple[str, int]:
    """The text of MUBUF for one of MTBUF, with a comment that tells the formats apart, and the resource's word."""
    mubuf = text.replace("tbuffer", "buffer").replace(f" format:{dfmt | nfmt << 4}", "")
    return mubuf, IDENTITY | nfmt << 12 | dfmt << 15


UNTYPED = [
    (f"tbuffer_load_format_{name} {tuple_of(n)}, v2, s[8:11], 0 format:{dfmt | nfmt << 4} offen", n, dfmt, nfmt)
    for dfmt, nfmt in SOME
    for name, n in COMPONENTS.items()
]
covers("test_untyped_load", {in_resource(case[0], *case[2:])[0] for case in UNTYPED})


@pytest.mark.parametrize("case", UNTYPED, ids=[case[0] for case in UNTYPED])
def test_untyped_load(case: tuple[str, int, int, int]) -> None:
    """The same instruction with the format in the resource."""
    typed_load(*in_resource(case[0], *case[2:]), *case[1:])


@pytest.mark.parametrize("case", TYPED, ids=covers("test_typed_load", (case[0] for case in TYPED)))
def test_typed_load(case: tuple[str, int, int, int]) -> None:
    typed_load(case[0], WORD, *case[1:])


def typed_load(text: str, word: int, count: int, dfmt: int, nfmt: int) -> None:
    """Load components of a format, wherever it is given."""
    world = World(text)
    size = sum(WIDTHS[dfmt]) // 8
    resource(world, 4000, word=word)
    offsets = [size * (lane + 1) for lane in range(LANES - 1)] + [4000 - size + 1]  # the last one is not whole
    put(world.before, "v", 2, offsets)
    world.begin()
    for lane in world.lanes:
        values = []
        if offsets[lane] + size <= 4000:
            memory = world.read(GLOBAL, lane, world.buffer.address + offsets[lane], size)
            values = [decoded(*component, nfmt) for component in components_of(memory, dfmt)]
        values = [*values, 0, 0, 0, 0][:count]
        put_lane(world.expected, Register("v", 20, count), lane, sum(v << 32 * i for i, v in enumerate(values)))
    world.check(text)


@pytest.mark.parametrize(
    "text", covers("test_resource_format", ["buffer_load_format_xyzw v[20:23], v2, s[8:11], 0 idxen"])
)
def test_resource_format(text: str) -> None:
    """The resource says the format and which components go where, also 0 and 1."""
    selects = [5, 1, 0, 4]  # G, one, zero, R
    for nfmt, one in ((UINT, 1), (UNORM, 0x3F80_0000)):
        world = World(text)
        word = sum(select << 3 * i for i, select in enumerate(selects)) | nfmt << 12 | 10 << 15
        resource(world, 40, stride=8, word=word)
        put(world.before, "v", 2, list(range(LANES)))
        world.begin()
        for lane in world.lanes:
            values = [0, one, 0, 0]
            if lane < 40:
                memory = world.read(GLOBAL, lane, world.buffer.address + 8 * lane, 4)
                rgba = [decoded(*component, nfmt) for component in components_of(memory, 10)]
                values = [rgba[1], one, 0, rgba[0]]
            put_lane(world.expected, Register("v", 20, 4), lane, sum(v << 32 * i for i, v in enumerate(values)))
        world.check(text)


D16 = [(10, UNORM), (10, SNORM), (10, UINT), (10, SINT), (12, FLOAT)]
D16_LOADS = [
    (f"tbuffer_load_format_d16_{name} {tuple_of((n + 1) // 2)}, v2, s[8:11], 0 format:{dfmt | nfmt << 4} offen", 0, n,
     dfmt, nfmt)
    for name, n in COMPONENTS.items()
    for dfmt, nfmt in D16
]  # fmt: skip
D16_HIGH = [
    (f"tbuffer_load_format_d16_hi_x v20, v2, s[8:11], 0 format:{d | n << 4} offen", 16, 1, d, n) for d, n in D16
]
D16_CASES = [(text, WORD, *rest) for text, *rest in D16_LOADS]
D16_CASES += [(*in_resource(case[0], *case[3:]), *case[1:]) for case in D16_LOADS + D16_HIGH]
covers("test_d16_load", {case[0] for case in D16_CASES})


def to_half(wide: int, nfmt: int) -> int:
    """A component of 32 bits as 16."""
    number = Float(wide, "f32")
    if nfmt in (UINT, SINT):
        return wide & 0xFFFF
    if number.nan or number.infinite:
        return (wide >> 31) << 15 | 0x7C00 | (0x200 | wide >> 13 & 0x3FF if number.nan else 0)
    return rounded(number.value, "f16", number.negative)


@pytest.mark.parametrize("case", D16_CASES)
def test_d16_load(case: tuple[str, int, int, int, int, int]) -> None:
    """Components are 16 bits, two in a register; the upper half of one that has only one is 0."""
    text, word, low, count, dfmt, nfmt = case
    world = World(text)
    size = sum(WIDTHS[dfmt]) // 8
    resource(world, 4000, word=word)
    put(world.before, "v", 2, [size * lane for lane in range(LANES)])
    world.begin()
    for lane in world.lanes:
        memory = world.read(GLOBAL, lane, world.buffer.address + size * lane, size)
        value = 0
        for i, (bits, width) in enumerate(components_of(memory, dfmt)[:count]):
            value |= to_half(decoded(bits, width, nfmt), nfmt) << 16 * i + low
        put_lane(world.expected, Register("v", 20, (count + 1) // 2), lane, value)
    world.check(text)


@pytest.mark.parametrize(
    "text", covers("test_format_to_lds", ["buffer_load_format_x v2, s[8:11], 0 offen offset:4 lds"])
)
def test_format_to_lds(text: str) -> None:
    """The component goes to LDS, where M0 and the offset say, a dword a lane."""
    world = World(text)
    resource(world, 4000, word=IDENTITY | SINT << 12 | 1 << 15)
    put(world.before, "s", 124, 64)
    put(world.before, "v", 2, [7 * lane for lane in range(LANES)])
    world.begin()
    for lane in world.lanes:
        value = signed(world.read(GLOBAL, lane, world.buffer.address + 7 * lane + 4, 1), 8)
        world.write(LOCAL, lane, 64 + 4 + 4 * lane, 4, value)
    world.check(text)


def encoded(register: int, width: int, nfmt: int) -> int:
    """A register as a component: the nearest, or what is nearest in range."""
    ones, top = (1 << width) - 1, (1 << width - 1) - 1
    if nfmt == UINT:
        return min(register, ones)
    if nfmt == SINT:
        return max(min(signed(register, 32), top), -top - 1) & ones
    number = Float(register, "f32")
    if nfmt == FLOAT:
        if width == 32:
            return register
        return rounded(number.value, "f16", number.negative)
    value = number.value
    if number.infinite:
        value = Fraction(-(10**20) if number.negative else 10**20)
    match nfmt:
        case 0:
            scaled = round(min(max(value, 0), 1) * ones)
        case 1:
            scaled = round(min(max(value, -1), 1) * top)
        case 2:
            scaled = int(min(max(value, 0), ones))
        case _:
            scaled = int(min(max(value, -top - 1), top))
    return scaled & ones


STORES = [
    (f"tbuffer_store_format_{name} {tuple_of(n)}, v2, s[8:11], 0 format:{dfmt | nfmt << 4} offen", n, dfmt, nfmt)
    for dfmt, nfmt in FORMATS
    for name, n in COMPONENTS.items()
    if n == len(WIDTHS[dfmt]) and not (nfmt == FLOAT and min(WIDTHS[dfmt]) < 16)
]  # fmt: skip


UNTYPED_STORES = [
    (f"tbuffer_store_format_{name} {tuple_of(n)}, v2, s[8:11], 0 format:{dfmt | nfmt << 4} offen", n, dfmt, nfmt)
    for dfmt, nfmt in SOME
    for name, n in COMPONENTS.items()
    if n == len(WIDTHS[dfmt])
]
D16_STORES = [
    (f"tbuffer_store_format_d16_{name} {tuple_of((n + 1) // 2)}, v2, s[8:11], 0 format:{dfmt | nfmt << 4} offen", n,
     dfmt, nfmt)
    for name, n in COMPONENTS.items()
    for dfmt, nfmt in ((10, UNORM), (5, SINT), (12, UINT), (12, FLOAT), (1, UINT), (2, FLOAT), (3, SNORM))
]  # fmt: skip
D16_HIGH_STORES = [
    (f"tbuffer_store_format_d16_hi_x v20, v2, s[8:11], 0 format:{d | n << 4} offen", 1, d, n)
    for d, n in ((1, UNORM), (2, UINT))
]
D16_STORE_CASES = [(text, WORD, *rest) for text, *rest in D16_STORES]
D16_STORE_CASES += [(*in_resource(case[0], *case[2:]), *case[1:]) for case in D16_STORES + D16_HIGH_STORES]
covers("test_untyped_store", {in_resource(case[0], *case[2:])[0] for case in UNTYPED_STORES})
covers("test_d16_store", {case[0] for case in D16_STORE_CASES})


@pytest.mark.parametrize("case", STORES, ids=covers("test_typed_store", (case[0] for case in STORES)))
def test_typed_store(case: tuple[str, int, int, int]) -> None:
    typed_store(case[0], WORD, *case[1:])


@pytest.mark.parametrize("case", UNTYPED_STORES, ids=[case[0] for case in UNTYPED_STORES])
def test_untyped_store(case: tuple[str, int, int, int]) -> None:
    typed_store(*in_resource(case[0], *case[2:]), *case[1:])


@pytest.mark.parametrize("case", D16_STORE_CASES)
def test_d16_store(case: tuple[str, int, int, int, int]) -> None:
    """Components of 16 bits, two in a register, become those of the format."""
    typed_store(*case, half=True)


def typed_store(text: str, word: int, count: int, dfmt: int, nfmt: int, half: bool = False) -> None:
    """Store components of a format, wherever it is given; those that are missing are 0."""
    world = World(text)
    size = sum(WIDTHS[dfmt]) // 8
    resource(world, size * 60, word=word)
    put(world.before, "v", 2, [size * lane for lane in range(LANES)])
    if nfmt in (UINT, SINT):
        values = [0, 1, 5, 127, 128, 255, 1023, 0x7FFF, 0x8000, 0xFFFF_FFFF, 0xFFFF_FF80, 0x8000_0000, 0x7FFF_FFFF]
    else:
        numbers = [0.0, -0.0, 0.5, 0.3, -0.7, 1.0, -1.0, 1.5, -3.0, 100.25, -100.75, 1000.0]
        numbers += [] if nfmt == FLOAT else [float("inf")]
        values = [int.from_bytes(struct.pack("<e" if half else "<f", x), "little") for x in numbers]
    low = 16 if "_hi" in text else 0
    given = [[values[int(world.random.integers(len(values)))] for _ in range(LANES)] for _ in range(count)]
    for lane in range(LANES):
        registers = [values[lane] for values in given]
        if half:
            registers = [value & 0xFFFF for value in registers] + [0]
            registers = [a << low | b << 16 for a, b in zip(registers[::2], registers[1::2], strict=False)]
        for i, value in enumerate(registers):
            put_lane(world.before, Register("v", 20 + i), lane, value)
    world.begin()
    for lane in world.lanes:
        if lane >= 60:
            continue
        bits, at = 0, 0
        for i, width in enumerate(WIDTHS[dfmt]):
            value = given[i][lane] if i < count else 0
            if half and nfmt not in (UINT, SINT):
                value = int.from_bytes(struct.pack("<f", struct.unpack("<e", value.to_bytes(2, "little"))[0]), "little")
            elif half:
                value = (signed(value, 16) if nfmt == SINT else value & 0xFFFF) & 0xFFFF_FFFF
            bits |= encoded(value, width, nfmt) << at if i < count else 0
            at += width
        world.write(GLOBAL, lane, world.buffer.address + size * lane, size, bits)
    world.check(text)
