"""Binary floating point in exact fractions, and everything around it that an instruction's text asks for.

Written from the IEEE standard and the ISA manual, apart from the definitions: numbers are bits, results come from
exact rational arithmetic and one rounding.
"""

import math
import random
import re
import struct
import zlib
from dataclasses import dataclass
from fractions import Fraction

from emulator.forms import check_lanes
from mfma.emulator.semantics.machine import Mode


@dataclass(frozen=True)
class Float:
    """A binary format of ``bits`` with ``mantissa`` of them for the fraction."""

    bits: int
    mantissa: int
    code: str

    @property
    def sign(self):
        return 1 << self.bits - 1

    @property
    def infinity(self):
        return self.sign - (1 << self.mantissa)

    @property
    def bias(self):
        return (1 << self.bits - 2 - self.mantissa) - 1

    @property
    def nan(self):
        return self.infinity | 1 << self.mantissa - 1

    def is_nan(self, x):
        return x & self.sign - 1 > self.infinity

    def is_signaling(self, x):
        return self.infinity < x & self.sign - 1 < self.nan

    def quiet(self, x):
        return x | 1 << self.mantissa - 1

    def is_infinite(self, x):
        return x & self.sign - 1 == self.infinity

    def flush(self, x):
        return x & self.sign if x & self.sign - 1 < 1 << self.mantissa else x

    def number(self, x):
        """The number as a Python float, which holds it exactly."""
        return struct.unpack("<" + self.code, x.to_bytes(self.bits // 8, "little"))[0]

    def fraction(self, x):
        return Fraction(self.number(x))

    def encode(self, value, negative=False):
        """Nearest code, ties to even; ``negative`` is the sign of a zero."""
        value = Fraction(value)
        if not value:
            return self.sign if negative else 0
        magnitude = abs(value)
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        exponent -= magnitude < Fraction(2) ** exponent
        exponent = max(exponent, 1 - self.bias)
        count = round(magnitude / Fraction(2) ** (exponent - self.mantissa))  # Python rounds half to even
        code = min(count + (exponent + self.bias - 1 << self.mantissa), self.infinity)
        return code | (self.sign if value < 0 else 0)

    def convert(self, x, other):
        """Code of another format of this float's nearest number; NaNs keep sign and leading bits."""
        if other.is_nan(x):
            shift = self.mantissa - other.mantissa
            payload = other.quiet(x) & (1 << other.mantissa) - 1
            payload = payload << shift if shift >= 0 else payload >> -shift
            return self.infinity | payload | (self.sign if x & other.sign else 0)
        if other.is_infinite(x):
            return self.infinity | (self.sign if x & other.sign else 0)
        return self.encode(other.fraction(x), bool(x & other.sign))


F16, F32, F64 = Float(16, 10, "e"), Float(32, 23, "f"), Float(64, 52, "d")
FLOATS = {"f16": F16, "f32": F32, "f64": F64}


def arithmetic(float_, function):
    """A function of fractions (and, for infinities and signs of zeros, of floats) on codes."""

    def apply(*codes):
        for code in codes:
            if float_.is_nan(code):
                return float_.quiet(code)
        numbers = [float_.number(code) for code in codes]
        if any(map(math.isinf, numbers)):
            # what is finite does not matter beside an infinity, beyond its sign and whether it is zero
            result = function(*(x if math.isinf(x) or x == 0 else math.copysign(1.0, x) for x in numbers))
            return float_.nan if math.isnan(result) else float_.infinity | (float_.sign if result < 0 else 0)
        exact = function(*map(Fraction, numbers))
        if exact:
            return float_.encode(exact)
        return float_.encode(0, math.copysign(1.0, function(*numbers)) < 0)

    return apply


# values


def edges(float_):
    """Codes of both signs around which something changes."""
    m, infinity, bias = float_.mantissa, float_.infinity, float_.bias
    one = bias << m
    positive = {0, 1, 2, 3, (1 << m) - 1, 1 << m, (1 << m) + 1, 2 << m, infinity - 1, infinity - 2, infinity}
    positive |= {infinity + 1, infinity + 2, float_.nan - 1, float_.nan, float_.nan + 1, float_.sign - 1}
    positive |= {one + delta for delta in (-2, -1, 0, 1, 2)}
    positive |= {one + (k << m) for k in (-1, 1, 2, 3, m - 1, m, m + 1) if 0 < one + (k << m) < infinity}
    positive |= {one + (k << m - 1) for k in (-3, -1, 1, 3, 5)}
    positive |= {one + (m << m) - 1, one + (m + 1 << m) - 1}
    return sorted(positive | {x | float_.sign for x in positive})


def samples(float_):
    """A maker of values for `check_lanes`: edges, numbers of near exponents, short numbers and any bits."""
    special = edges(float_)

    def one(generator):
        kind = generator.randrange(10)
        if kind < 3:
            return generator.choice(special)
        sign, field = generator.getrandbits(1), generator.getrandbits(float_.mantissa)
        if kind < 7:
            if kind < 5:  # few bits: ties, exact results
                field &= -1 << generator.randrange(float_.mantissa)
            exponent = min(max(float_.bias + generator.randint(-6, 6), 0), 2 * float_.bias)
            return sign << float_.bits - 1 | exponent << float_.mantissa | field
        return generator.getrandbits(float_.bits)

    def make(seed, width, count):
        generator = random.Random(zlib.crc32(seed.encode()))
        for _ in range(count):
            value = one(generator)
            if width > float_.bits:
                value |= one(generator) << float_.bits
            yield value

    return make


def mixture(float_, special):
    """A maker of usual values and, every second time, of what a function of a random generator makes."""

    def make(seed, width, count):
        generator = random.Random(zlib.crc32(seed.encode()))
        for value in samples(float_)(seed, width, count):
            ignored = value >> float_.bits << float_.bits
            yield ignored | special(generator) if generator.randrange(2) else value

    return make


# what the text says beside the operation

SELECTS = {f"BYTE_{n}": (8 * n, 8) for n in range(4)} | {f"WORD_{n}": (16 * n, 16) for n in range(2)}
SELECTS["DWORD"] = (0, 32)


def field(text, name, default):
    found = re.search(rf"\b{name}:(\S+)", text)
    return found[1] if found else default


def bits_of(text, name, count):
    """A modifier such as ``op_sel:[0,1]`` as a list."""
    found = field(text, name, "")
    given = [int(bit) for bit in re.findall("[01]", found)]
    return given + [0] * (count - len(given))


def operands(text, results=1):
    """Texts of the sources."""
    body = re.sub(r"\s+(op_sel|op_sel_hi|neg_lo|neg_hi|clamp|mul|div|dst_sel|dst_unused|src[01]_sel)\b.*", "", text)
    return [part.strip() for part in body.split(maxsplit=1)[1].split(",")][results:]


def constant(text, float_):
    """Bits of a source that is a number."""
    if text.startswith("0x"):
        return int(text, 16) << (32 if float_ is F64 else 0)
    if "." in text:
        return float_.encode(Fraction(text))
    return int(text) & (1 << (float_.bits if isinstance(float_, Float) else float_)) - 1


def placed(text, old, result, width, preserve):
    """The destination register after a result of ``width`` bits."""
    if "_sdwa" in text:
        low, size = SELECTS[field(text, "dst_sel", "DWORD")]
        if size == 32:
            return result
        mask = (1 << size) - 1 << low
        kind = field(text, "dst_unused", "UNUSED_PAD")
        part = result << low & mask
        if kind == "UNUSED_PRESERVE":
            return old & ~mask | part
        if kind == "UNUSED_SEXT" and result >> size - 1 & 1:
            return part | -1 << low & 0xFFFF_FFFF
        return part
    if width == 16:
        if bits_of(text, "op_sel", 4)[len(operands(text))]:
            return old & 0xFFFF | result << 16
        return old & 0xFFFF_0000 | result if preserve else result
    return result


def finish(text, float_, code, mode, always_flush=False):
    """A float result after flushing, omod and clamp."""
    flushes = mode.flush_32 if float_ is F32 else mode.flush_16_64
    if flushes or always_flush:
        code = float_.flush(code)
    scale = {"mul:2": 2, "mul:4": 4, "div:2": Fraction(1, 2)}.get(next(iter(re.findall(r"mul:\d|div:2", text)), ""))
    if scale and flushes and not mode.ieee and not float_.is_nan(code) and not float_.is_infinite(code):
        code = float_.flush(float_.encode(float_.fraction(code) * scale))
    if re.search(r"\bclamp\b", text):
        if float_.is_nan(code):
            return 0 if mode.dx10_clamp else code
        number = float_.number(code)
        return 0 if number <= 0 else float_.encode(1) if number >= 1 else code
    return code


def lane_function(text, result, sources, function, mode, *, preserve=False, always_flush=False, accumulate=False):
    """What the instruction does with the registers of one lane, its old result first."""
    texts = operands(text)

    def flush(code, type_):
        flushes = always_flush or (mode.flush_32 if type_ is F32 else mode.flush_16_64)
        return type_.flush(code) if isinstance(type_, Float) and flushes else code

    def apply(old, *registers):
        given = iter(registers)
        codes = []
        for i, (part, type_) in enumerate(zip(texts, sources, strict=True)):
            width = type_.bits if isinstance(type_, Float) else type_
            code = next(given) if re.search(r"[vs]\[?\d", part) else constant(part, type_)
            if "_sdwa" in text:
                low, size = SELECTS[field(text, f"src{i}_sel", "DWORD")]
                code = code >> low & (1 << size) - 1
                if part.startswith("sext") and code >> size - 1 & 1:
                    code |= -1 << size & 0xFFFF_FFFF
            elif width == 16 and bits_of(text, "op_sel", 4)[i]:
                code >>= 16
            code &= (1 << width) - 1
            if isinstance(type_, Float):
                code = code & ~type_.sign if "|" in part else code
                code = code ^ type_.sign if re.match(r"-[|vs]", part) else code
            codes.append(flush(code, type_))
        if accumulate:
            codes.append(flush(old & (1 << result.bits) - 1, result))
        code = function(*codes)
        if isinstance(result, Float):
            code = finish(text, result, code, mode, always_flush)
        return placed(text, old, code, result.bits if isinstance(result, Float) else result, preserve)

    return apply


def check(text, result, sources, function, *, mode=None, rounds=4, **options):
    """Compare the instruction with a function of codes; formats are `Float` or, for integers, their width."""
    mode = mode or Mode()
    registers = [type_ for part, type_ in zip(operands(text), sources, strict=True) if re.search(r"[vs]\[?\d", part)]
    makers = {i: samples(type_) for i, type_ in enumerate(registers) if isinstance(type_, Float)}
    makers.update(options.pop("bits", {}))
    check_lanes(
        text,
        lane_function(text, result, sources, function, mode, **options),
        bits=makers,
        mode=mode,
        rounds=rounds,
        reads_result=True,
    )
