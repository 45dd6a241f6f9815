"""The line programs of DWARF 4 and 5: from bytes to rows.

Read by hand: a header of DWARF 5 can promise any number of entries that take no bytes, which a general reader would go
on to build.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from mfma.codeobject.content import Content
from mfma.codeobject.cursor import Cursor

__all__ = ["File", "Program", "Row", "Text", "programs"]

MOST = 1 << 21
"""Rows, files and directories of one object together that are taken."""

EXTENDED = 0
COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC, FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
END_SEQUENCE, SET_ADDRESS = 1, 2

PATH, DIRECTORY = 1, 2
BLOCK, STRING, UDATA, STRP, LINE_STRP = 0x09, 0x08, 0x0F, 0x0E, 0x1F
FIXED = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}
"""Form -> bytes of a value of fixed size."""
IN_SECTION = {STRP: ".debug_str", LINE_STRP: ".debug_line_str"}


class Text(NamedTuple):
    """A string that is read when it is needed: the section that it stands in and where."""

    section: str
    offset: int


class Row(NamedTuple):
    """From ``address`` on the code is of ``line`` in a file, of none where that is 0; the last row ends a sequence."""

    address: int
    program: Program
    file: int
    line: int
    is_last: bool = False


class File(NamedTuple):
    """A file by name and directory."""

    name: Text
    directory: int


@dataclass(eq=False)
class Program:
    """One line program: its directories and files, and its rows, a sequence after the other."""

    offset: int
    version: int
    directories: list[Text] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    sequences: list[list[Row]] = field(default_factory=list)


@dataclass
class _Machine:
    """The state machine of section 6.2 of the standard, with the parameters in the header of a program."""

    program: Program
    cursor: Cursor
    step: int
    base: int
    span: int
    first: int
    operands: list[int]
    address: int = 0
    file: int = 1
    line: int = 1

    def rows(self) -> Iterator[Row]:
        """Run the program."""
        while self.cursor.at < self.cursor.end:
            code = self.cursor.number(1)
            if code == EXTENDED:
                if self._extended() == END_SEQUENCE:
                    yield Row(self.address, self.program, self.file, 0, is_last=True)
                    self.address, self.file, self.line = 0, 1, 1
            elif code >= self.first:
                advance, more = divmod(code - self.first, self.span)
                self.address += self.step * advance
                self.line += self.base + more
                yield Row(self.address, self.program, self.file, self.line)
            elif code == COPY:
                yield Row(self.address, self.program, self.file, self.line)
            else:
                self._standard(code)

    def _standard(self, code: int) -> None:
        cursor = self.cursor
        if code == ADVANCE_PC:
            self.address += self.step * cursor.leb()
        elif code == ADVANCE_LINE:
            self.line += cursor.leb(signed=True)
        elif code == SET_FILE:
            self.file = cursor.leb()
        elif code == CONST_ADD_PC:
            self.address += self.step * ((255 - self.first) // self.span)
        elif code == FIXED_ADVANCE_PC:
            self.address += cursor.number(2)
        else:
            for _ in range(self.operands[code - 1]):
                cursor.leb()

    def _extended(self) -> int:
        cursor = self.cursor
        end = cursor.leb() + cursor.at
        code = cursor.number(1)
        if code == SET_ADDRESS:
            self.address = cursor.number(8)
        cursor.skip(end - cursor.at)
        return code


def programs(content: Content) -> Iterator[Program]:
    """Yield the programs in the bytes of ``.debug_line``.

    Raises:
        CodeObjectError: they are damaged, too long, or of another version.
    """
    return _Reader(content).programs()


class _Reader:
    """Reads programs as long as there is room for what they hold."""

    def __init__(self, content: Content):
        self.content = content
        self.room = MOST

    def programs(self) -> Iterator[Program]:
        """Yield the programs in their order."""
        content, at = self.content, 0
        while at < len(content):
            cursor = Cursor(content, at, len(content), "its table of lines")
            length, width = cursor.number(4), 4
            if length == 0xFFFFFFFF:
                length, width = cursor.number(8), 8
            start = cursor.skip(length)
            cursor.at, cursor.end = start, start + length
            version = cursor.number(2)
            if version not in (4, 5):
                raise content.refused(f"has line tables of DWARF {version}; compile it with -gdwarf-4 or -gdwarf-5")
            yield self._program(Program(at, version), cursor, width)
            at = start + length

    def _program(self, program: Program, cursor: Cursor, width: int) -> Program:
        if program.version >= 5:
            cursor.skip(2)  # the sizes of addresses and of segment selectors
        length = cursor.number(width)
        body = cursor.at + length
        step, _, _, base, span, first = (cursor.number(1) for _ in range(6))
        operands = [cursor.number(1) for _ in range(first - 1)]
        if not span:
            raise cursor.content.damaged(f"{cursor.what} has a line range of 0")
        if program.version >= 5:
            program.directories = [text for text, _ in self._entries(cursor, width)]
            program.files = [File(*entry) for entry in self._entries(cursor, width)]
        else:
            program.directories = list(self._names(cursor))
            program.files = [File(name, _directory(cursor)) for name in self._names(cursor)]
        cursor.at = min(body, cursor.end)
        machine = _Machine(program, cursor, step, base - (base >> 7 << 8), span, first, operands)
        rows: list[Row] = []
        for row in machine.rows():
            self._spend(cursor)
            rows.append(row)
            if row.is_last:
                program.sequences.append(rows)
                rows = []
        return program

    def _spend(self, cursor: Cursor) -> None:
        """Count a row, a file or a directory."""
        self.room -= 1
        if self.room < 0:
            raise cursor.content.damaged(f"{cursor.what} has more than {MOST:,} entries")

    def _names(self, cursor: Cursor) -> Iterator[Text]:
        """Yield the strings up to an empty one."""
        while (start := cursor.text()) + 1 < cursor.at:
            self._spend(cursor)
            yield Text(".debug_line", start)

    def _entries(self, cursor: Cursor, width: int) -> Iterator[tuple[Text, int]]:
        """Yield name and directory of the entries in the self-describing form of DWARF 5."""
        formats = [(cursor.leb(), cursor.leb()) for _ in range(cursor.number(1))]
        count = cursor.leb()
        if not formats and count:
            raise cursor.content.damaged(f"{cursor.what} promises {count:,} entries of nothing")
        for _ in range(count):
            self._spend(cursor)
            name, directory = Text(".debug_line", 0), 0
            for content, form in formats:
                if form == STRING:
                    found: Text | int = Text(".debug_line", cursor.text())
                elif form in IN_SECTION:
                    found = Text(IN_SECTION[form], cursor.number(width))
                elif form == UDATA:
                    found = cursor.leb()
                elif form in FIXED:
                    found = cursor.number(FIXED[form])
                elif form == BLOCK:
                    found = cursor.skip(cursor.leb())
                else:
                    raise cursor.content.damaged(f"{cursor.what} has an entry of form {form:#x}")
                if content == PATH and isinstance(found, Text):
                    name = found
                elif content == DIRECTORY and isinstance(found, int):
                    directory = found
            yield name, directory


def _directory(cursor: Cursor) -> int:
    """Read what follows a file's name in DWARF 4: directory, time and size."""
    directory, _, _ = cursor.leb(), cursor.leb(), cursor.leb()
    return directory
