"""Formats of kernels that print, against glibc."""

from __future__ import annotations

import ctypes
import math
import platform
import random
import struct
from typing import Any

import pytest

import mfma
from mfma.emulator.hostcall_format import LARGEST, formatted

glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the oracle is glibc's printf")


def snprintf(format_: bytes, *values: Any) -> bytes:
    """What C prints."""
    out = ctypes.create_string_buffer(1 << 10)
    count = ctypes.CDLL(None).snprintf(out, ctypes.c_size_t(len(out)), format_, *values)
    assert 0 <= count < len(out)
    return out.raw[:count]


INTEGERS = (
    "%d|%i|%u", "%lld|%5lli|%-24llu|", "%x %X %#llx", "%o %#o %#llo", "%hhd %hd %hhu", "%+d % d %+lld", "%05d %-5d|%5d",
    "%.3d %8.3d %-8.3lld|", "%.0d|%.d|%#.0llx", "%p %20p %-20p|", "%jd %zu %td", "100%% %d%%", "%%d %d", "%+u % x %ld",
    "no conversion", "", "%lld", "%020lld %-020lld %+.4d", "%#X %#8x %#010llx", "%qd %ld %'d", "%Ld %LX",
)  # fmt: skip
CHARACTERS = "%c%c%c", "%5c|%-5c|%c", "%lc"
STARS = "%*d %lld", "%-*d|%d", "%.*d %d", "%0*lld|", "%*.*lld|", "%*.0d|"
DOUBLES = (
    "%f %F", "%e %E", "%g %G", "%a %A", "%.0f %.0e", "%10.3f|%-12.2e|", "%+.3f % .3f", "%#.0f %#g", "%015.2f %-15f|",
    "%.15g %.17g", "%20a %-20.3A|", "%.1a %.0a", "%lf %le", "%+08.1e % G", "%5f|%05F|", "%.20a %.13a", "%#a %#.0A",
)  # fmt: skip
WIDTHS = (7, 3, 5), (12, 0, -1), (-6, -2, 1 << 35)
NUMBERS = (5, 0, -1), (-(1 << 63), (1 << 63) - 1, 255), (42, -7, 1 << 40), (0, 0, 0)
FLOATS = (
    (0.0, -0.0), (1.5, -2.5), (1e300, 1e-310), (float("inf"), float("-inf")), (float("nan"), 0.1), (12345.678, 5e-5),
    (2.0**-1074, 1.9999999999), (math.pi, -1 / 3), (0.5, 1e15), (math.copysign(math.nan, -1), 9.5),
)  # fmt: skip
FORMATS = [
    *((format_, ctypes.c_longlong, values) for format_ in INTEGERS for values in NUMBERS),
    *((format_, ctypes.c_longlong, (65, 122, 48)) for format_ in CHARACTERS),
    *((format_, ctypes.c_longlong, values) for format_ in STARS for values in WIDTHS),
    *((format_, ctypes.c_double, values) for format_ in DOUBLES for values in FLOATS),
]  # fmt: skip


def message(format_: bytes, *values: Any) -> bytes:
    """A message as the device libraries pack it."""
    data = b""
    for value in (format_, *values):
        data += value + bytes(8 - len(value) % 8) if isinstance(value, bytes) else bytes(value)
    return data


@glibc
@pytest.mark.parametrize(("format_", "kind", "values"), FORMATS)
def test_formats_are_those_of_c(format_: str, kind: Any, values: Any) -> None:
    given = [kind(value) for value in values]
    assert formatted(message(format_.encode(), *given)) == snprintf(format_.encode(), *given)


@glibc
@pytest.mark.parametrize("format_", ["%s", "%10s|", "%-10s|", "%.3s", "%8.2s|", "%.0s|", "%ls", "%.s|"])
@pytest.mark.parametrize("string", [b"", b"a", b"seven!!", b"exactly8", b"a longer string"])
def test_strings_are_those_of_c(format_: str, string: bytes) -> None:
    format_ += " %d"
    expected = snprintf(format_.replace("l", "").encode(), ctypes.c_char_p(string), 77)
    assert formatted(message(format_.encode(), string, ctypes.c_longlong(77))) == expected


@glibc
def test_random_formats_are_those_of_c() -> None:
    chosen = random.Random(7)
    for _ in range(5_000):
        letter = chosen.choice("diouxXfFeEgGaA")
        flags = "".join(chosen.sample("-+ #0", chosen.randrange(4)))
        precision = chosen.choice(["", ".", ".0", ".3", ".13", ".20"])
        length = chosen.choice(["", "hh", "h", "l", "ll", "j", "z", "t"]) if letter in "diouxX" else ""
        format_ = f"<%{flags}{chosen.choice(['', '5', '12', '30'])}{precision}{length}{letter}>".encode()
        bits = chosen.getrandbits(chosen.choice([3, 8, 31, 64]))
        value = ctypes.c_longlong(bits)
        if letter in "fFeEgGaA":
            number = (
                chosen.uniform(-1e6, 1e6) if chosen.random() < 0.5 else struct.unpack("<d", struct.pack("<Q", bits))[0]
            )
            value = ctypes.c_double(number)
        assert formatted(message(format_, value)) == snprintf(format_, value), (format_, value)


def test_a_number_of_characters_is_not_stored() -> None:
    numbers = [ctypes.c_longlong(n) for n in (1, 2, 3)]
    assert formatted(message(b"%d%n %d", *numbers)) == b"1 3"


def test_a_cut_string_shifts_nothing() -> None:
    assert formatted(message(b"%.2s %24s|%d", b"a string of some length", b"b", ctypes.c_longlong(5))) == (
        b"a " + b"b".rjust(25) + b"|5"
    )


def test_strings_without_an_end() -> None:
    assert formatted(b"eight by") == b"eight by"
    assert formatted(b"%s!\0\0\0\0\0abcdefgh") == b"abcdefgh!"


def test_a_string_that_is_not_there() -> None:
    with pytest.raises(mfma.KernelError) as caught:
        formatted(b"%s\0\0\0\0\0\0")
    assert str(caught.value) == (
        "printf's format '%s' has more conversions than there are arguments; write a percent sign as %%"
    )
    with pytest.raises(mfma.KernelError, match="has no conversion at position 0"):
        formatted(b"%" + b"9" * 5000 + b"d\0")
    assert LARGEST == 65_536
