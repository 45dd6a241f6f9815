"""Assembler text as tokens, and the operands of a matrix instruction read from them."""

from __future__ import annotations

import re

from mfma.encoding.operands import InlineConstant, Source, Vgprs
from mfma.errors import EncodingError

__all__ = ["Line"]

FILES = {"v": False, "a": True, "acc": True}
"""Name of a register file -> whether it is the accumulation VGPRs."""

TOKEN = re.compile(
    r"""(?P<skipped> [ \t]+ | \s+\Z | /\*.*?\*/ | (?://|;).* )
      | (?P<float> (?:0|[1-9]\d*)(?:\.\d*(?:[eE][-+]?\d+)? | [eE][-+]?\d+) | \.\d+(?:[eE][-+]?\d+)? )
      | (?P<integer> 0[xX][0-9a-fA-F]+ | 0b[01]+ | \d+ )
      | (?P<word> [A-Za-z_]\w* )
      | (?P<mark> [][:,-] )""",
    re.VERBOSE | re.ASCII,
)
REGISTER = re.compile(r"(v|a|acc)(\d{1,9})", re.ASCII)

EXAMPLES = {
    "word": "a name, such as v4, v[0:3] or a[0:15] for registers",
    "integer": "a whole number, as in v[0:3] or cbsz:1",
    "float": "a number, as in 1.0",
}
"""What to write where a token of some kind is wanted."""


class Line:
    """The tokens of a line and how far they have been read."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.position = 0
        at = 0
        while at < len(text):
            token = TOKEN.match(text, at)
            if token is None:
                raise EncodingError(f"{text[at:]!r} cannot be read as assembler text; remove or correct it.")
            at = token.end()
            if token.lastgroup and token.lastgroup != "skipped":
                self.tokens.append((token.lastgroup, token.group()))

    @property
    def at_end(self) -> bool:
        """Whether every token has been read."""
        return self.position == len(self.tokens)

    @property
    def kind(self) -> str:
        """Kind of the next token; empty at the end."""
        return "" if self.at_end else self.tokens[self.position][0]

    @property
    def rest(self) -> str:
        """The tokens that have not been read, for messages."""
        return " ".join(token for _, token in self.tokens[self.position :])

    def take(self, *texts: str) -> bool:
        """Pass over these tokens if they come next, all of them."""
        end = self.position + len(texts)
        here = tuple(token for _, token in self.tokens[self.position : end]) == texts
        if here:
            self.position = end
        return here

    def token(self, wanted: str, kind: str) -> str:
        """Pass over and return the next token, which must be of this kind."""
        if self.kind != kind:
            found = f"stands {self.rest!r}" if self.rest else "the line ends"
            raise EncodingError(f"Where {wanted} should stand, {found}; write {EXAMPLES[kind]}.")
        self.position += 1
        return self.tokens[self.position - 1][1]

    def expect(self, text: str) -> None:
        """Pass over the next token, which must be this one."""
        if not self.take(text):
            found = f"before {self.rest!r}" if self.rest else "at the end of the line"
            raise EncodingError(f"{text!r} is missing {found}; add it.")

    def integer(self, name: str) -> int:
        """Read a whole number: decimal, hexadecimal, binary, or octal after a leading 0."""
        sign = -1 if self.take("-") else 1
        token = self.token(name, "integer")
        try:
            value = int(token, 8 if token.isdigit() and token[0] == "0" else 0)
        except ValueError:
            raise EncodingError(f"{token} is no octal number, as its leading 0 says; drop the 0.") from None
        # The assembler's integers are 64 bits wide, in two's complement.
        return sign * (value - (1 << 64) if value >> 63 == 1 else value)

    def signs(self) -> int:
        """Read ``[a,b,c]`` of ``neg:`` as the bits of the field."""
        self.expect("[")
        bits = [self.integer("neg")]
        while self.take(","):
            bits.append(self.integer("neg"))
        self.expect("]")
        if len(bits) > 3 or set(bits) - {0, 1}:
            raise EncodingError(f"neg takes a 0 or 1 for each of A, B and C, not {bits}; write neg:[1,0,0].")
        return sum(bit << place for place, bit in enumerate(bits))

    def source(self, name: str, bits: int) -> Source:
        """Read registers or an inline constant of elements of ``bits`` bits."""
        sign = -1 if self.take("-") else 1
        if self.kind == "integer":
            return InlineConstant.read(sign * self.integer(name), bits)
        if self.kind == "float":
            return InlineConstant.read(sign * float(self.token(name, "float")), bits)
        if sign < 0:
            raise EncodingError(f"'-' cannot stand before {self.rest!r}; only f64 negates C, with neg:[0,0,1].")
        return self.registers(name)

    def registers(self, name: str) -> Vgprs:
        """Read ``v4``, ``v[4]``, ``v[4:7]`` or the list ``[v4,v5,v6,v7]``."""
        if not self.take("["):
            return self.span(name)
        listed = [self.span(name)]
        while self.take(","):
            listed.append(self.span(name))
        self.expect("]")
        first = listed[0]
        if listed != [Vgprs(first.first + n, 1, first.acc) for n in range(len(listed))]:
            given = ", ".join(map(str, listed))
            raise EncodingError(f"[{given}] is no tuple; list single registers of one file with ascending numbers.")
        return Vgprs(first.first, len(listed), first.acc)

    def span(self, name: str) -> Vgprs:
        """Read ``v4``, ``v[4]`` or ``v[4:7]``."""
        word = self.token(name, "word")
        single = REGISTER.fullmatch(word)
        if single:
            return Vgprs(int(single[2]), 1, FILES[single[1]])
        if word not in FILES:
            raise EncodingError(f"{word!r} is no vector register for {name}; write v4, v[0:3] or a[0:15].")
        self.expect("[")
        first = last = self.integer(name)
        if self.take(":"):
            last = self.integer(name)
        self.expect("]")
        if last < first:
            raise EncodingError(f"{word}[{first}:{last}] runs backwards; write {word}[{last}:{first}].")
        return Vgprs(first, last - first + 1, FILES[word])
