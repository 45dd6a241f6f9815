"""C's printf on the host, for what a kernel sends: a format and its arguments as the device libraries pack them.

A message is a sequence of 64-bit words: the format, a string; then one word for each number, character and pointer (a
float comes as a double), and as many as it takes for each string, which ends with a zero byte. What is printed is what
glibc prints in the C locale. Unlike ROCm's runtime, a string's words are counted by its length: there a ``%8s`` or
``%.2s`` can shift all arguments behind it.
"""

from __future__ import annotations

import math
import re
import struct
import sys
from typing import Protocol

from mfma.errors import KernelError

__all__ = ["Output", "Streams", "formatted"]

CONVERSION = re.compile(
    rb"%(?P<flags>[-+ #0']*)(?P<width>\*|\d{0,9})(?:\.(?P<precision>\*|\d{0,9}))?"
    rb"(?:hh|h|ll|l|j|z|t|q|L)?(?P<kind>[diouxXcsfFeEgGaApn%])"
)
SIZE = re.compile(r"hh|h|ll|l|j|z|t|q|L")
BITS = {"": 32, "h": 16, "hh": 8, "q": 32, "L": 32}
"""Bits of an integer by its length modifier, as glibc has it on x86-64; 64 for all others."""
BASES = {"d": "d", "i": "d", "u": "d", "o": "o", "x": "x", "X": "X", "p": "x"}
LARGEST = 1 << 16
"""Characters that a width or a precision can ask for."""
FRACTION, BIAS = 52, 1023
"""Bits of a double's fraction, and the bias of its exponent."""


class Output(Protocol):
    """Where a kernel prints: a text file, such as ``sys.stdout`` or ``io.StringIO()``."""

    def write(self, text: str, /) -> object:
        """Take what was printed."""


class Streams:
    """The output streams of a kernel: those given, or the ones that Python has at the time."""

    def __init__(self, stdout: Output | None = None, stderr: Output | None = None) -> None:
        self.stdout = stdout
        self.stderr = stderr

    def print(self, message: bytes, error: bool) -> int:
        """Format a message and write it to one of the streams; return its length in bytes.

        Bytes that are no UTF-8 are written as ``\\xff``.
        """
        data = formatted(message)
        given, default = (self.stderr, sys.stderr) if error else (self.stdout, sys.stdout)
        (default if given is None else given).write(data.decode("utf-8", "backslashreplace"))
        return len(data)


class _Arguments:
    """What comes after the format."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._at = 0
        self.format = self._string()

    def word(self) -> int:
        """The next 64 bits."""
        if self._at + 8 > len(self._message):
            raise KernelError(
                f"printf's format {_shown(self.format)} has more conversions than there are arguments; write a percent "
                "sign as %%"
            )
        self._at += 8
        return int.from_bytes(self._message[self._at - 8 : self._at], "little")

    def integer(self) -> int:
        """The next C int."""
        return _signed(self.word(), 32)

    def string(self) -> bytes:
        """The next string."""
        if self._at >= len(self._message):
            self.word()  # which says that there is none
        return self._string()

    def _string(self) -> bytes:
        """What there is up to a zero byte, or to the end: Triton's assertions that fill their last word have none."""
        end = self._message.find(0, self._at)
        if end < 0:
            end = len(self._message)
        start, self._at = self._at, (end + 8) & ~7
        return self._message[start:end]


def formatted(message: bytes) -> bytes:
    """What a message prints.

    >>> formatted(b"%3d %s!\\0" + (42).to_bytes(8, "little") + b"lanes\\0")
    b' 42 lanes!'

    Raises:
        KernelError: the format has a conversion that C does not have, or too few arguments follow it.
    """
    arguments = _Arguments(message)
    text, at = arguments.format, 0
    parts = []
    while (percent := text.find(b"%", at)) >= 0:
        parts.append(text[at:percent])
        conversion = CONVERSION.match(text, percent)
        if conversion is None:
            raise KernelError(
                f"printf's format {_shown(text)} has no conversion at position {percent}; write a percent sign as %%"
            )
        at = conversion.end()
        parts.append(_converted(conversion, arguments))
    return b"".join([*parts, text[at:]])


def _shown(text: bytes) -> str:
    return repr(text.decode("utf-8", "backslashreplace"))


def _converted(conversion: re.Match[bytes], arguments: _Arguments) -> bytes:
    """What one conversion prints."""
    kind, flags = conversion["kind"].decode(), set(conversion["flags"].decode())
    if kind == "%":
        return b"%"
    width = arguments.integer() if conversion["width"] == b"*" else int(conversion["width"] or 0)
    if width < 0:
        width, flags = -width, flags | {"-"}
    given = conversion["precision"]
    precision = None if given is None else arguments.integer() if given == b"*" else int(given or 0)
    if precision is not None and precision < 0:
        precision = None
    if max(width, precision or 0) > LARGEST:
        raise KernelError(f"{_shown(conversion[0])} of printf asks for more than {LARGEST:,} characters")
    if kind == "s":
        string = arguments.string()[:precision]
        return string.ljust(width) if "-" in flags else string.rjust(width)
    word = arguments.word()
    if kind == "n":  # there is no memory of the kernel's to store to
        return b""
    if kind == "c":
        character = bytes([word & 0xFF])
        return character.ljust(width) if "-" in flags else character.rjust(width)
    if kind == "p" and not word:
        sign, prefix, digits, zeros = "", "", "(nil)", False
    elif kind in BASES:
        size = SIZE.search(conversion[0].decode("latin-1"))
        bits = 64 if kind == "p" else BITS.get(size[0] if size else "", 64)
        sign, prefix, digits, zeros = _integer(kind, flags, precision, word, bits)
    else:
        sign, prefix, digits, zeros = _float(kind, flags, precision, word)
    sign = sign or ("+" if "+" in flags else " " if " " in flags else "") if kind in "diaAeEfFgG" else ""
    if zeros and "0" in flags and "-" not in flags:
        digits = digits.rjust(width - len(sign) - len(prefix), "0")
    whole = sign + prefix + digits
    return (whole.ljust(width) if "-" in flags else whole.rjust(width)).encode()


def _signed(word: int, bits: int) -> int:
    value = word & (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def _integer(kind: str, flags: set[str], precision: int | None, word: int, bits: int) -> tuple[str, str, str, bool]:
    """Sign, prefix, digits, and whether zeros may fill the width."""
    value = _signed(word, bits) if kind in "di" else word & (1 << bits) - 1
    digits = format(abs(value), BASES[kind])
    if precision is not None:
        digits = digits.rjust(precision, "0") if value or precision else ""
    prefix = ""
    if kind == "p" or "#" in flags:
        if kind == "o" and not digits.startswith("0"):
            digits = f"0{digits}"
        elif kind in "xXp" and value:
            prefix = "0X" if kind == "X" else "0x"
    return "-" if value < 0 else "", prefix, digits, precision is None


def _float(kind: str, flags: set[str], precision: int | None, word: int) -> tuple[str, str, str, bool]:
    """Sign, prefix, digits, and whether zeros may fill the width."""
    sign = "-" if word >> 63 else ""
    value = abs(struct.unpack("<d", word.to_bytes(8, "little"))[0])
    if not math.isfinite(value):
        name = "nan" if math.isnan(value) else "inf"
        return sign, "", name.upper() if kind.isupper() else name, False
    if kind in "aA":
        digits = _hexadecimal(word & (1 << 63) - 1, precision, "#" in flags)
        return (sign, "0X", digits.upper(), True) if kind == "A" else (sign, "0x", digits, True)
    alternate = "#" if "#" in flags else ""
    return sign, "", format(value, f"{alternate}.{6 if precision is None else precision}{kind}"), True


def _hexadecimal(word: int, precision: int | None, point: bool) -> str:
    """A double's digits in base 16 and its power of two, without 0x."""
    exponent, significand = word >> FRACTION, word & (1 << FRACTION) - 1
    if exponent:
        significand |= 1 << FRACTION
    power = max(exponent, 1) - BIAS if word else 0
    places = FRACTION // 4
    if precision is not None and precision < places:
        cut = 4 * (places - precision)
        half, rest = 1 << cut - 1, significand & (1 << cut) - 1
        significand >>= cut
        significand += rest > half or (rest == half and significand & 1)
        places = precision
    whole, fraction = significand >> 4 * places, significand & (1 << 4 * places) - 1
    digits = f"{fraction:0{places}x}" if places else ""
    digits = digits.rstrip("0") if precision is None else digits.ljust(precision, "0")
    return f"{whole:x}{'.' if digits or point else ''}{digits}p{power:+d}"
