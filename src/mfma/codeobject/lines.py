"""Which source line an instruction comes from."""

from __future__ import annotations

import bisect
import contextlib
import functools
import inspect
import io
import posixpath
from collections.abc import Callable
from itertools import chain
from typing import Any

from mfma.codeobject.content import Content
from mfma.codeobject.line_program import Program, Row, Text, programs

__all__ = ["Lines", "Sections"]

LONGEST_NAME = 4096
"""Bytes of the longest name of a file or directory."""

Sections = Callable[[str], Content]
"""Name of a section -> its bytes, none if there is no such section."""


class Lines:
    """The line tables of one object, read when the first address is looked up."""

    def __init__(self, sections: Sections):
        self.sections = functools.cache(sections)
        self.path = functools.cache(self._path)

    def at(self, address: int) -> tuple[str, int] | None:
        """Return file and line of an address, None where they are not known.

        Raises:
            CodeObjectError: the debug information is damaged.
        """
        addresses, rows = self._table
        index = bisect.bisect_right(addresses, address) - 1
        row = rows[index] if index >= 0 else None
        return (self.path(row.program, row.file), row.line) if row and row.line else None

    @functools.cached_property
    def _table(self) -> tuple[list[int], list[Row]]:
        sequences = [sequence for program in programs(self.sections(".debug_line")) for sequence in program.sequences]
        # Where a sequence ends and another begins, the latter counts; the sort is stable.
        sequences.sort(key=lambda sequence: sequence[0].address)
        rows = sorted(chain.from_iterable(sequences), key=lambda row: row.address)
        return [row.address for row in rows], rows

    def _path(self, program: Program, number: int) -> str:
        """Return the path of a file, absolute where that is known."""
        content = self.sections(".debug_line")
        index = number if program.version >= 5 else number - 1
        if not 0 <= index < len(program.files):
            raise content.damaged(f"its table of lines has no file {number}")
        file = program.files[index]
        # Before DWARF 5 directory 0 is not in the table.
        own = file.directory if program.version >= 5 else file.directory - 1
        if own >= len(program.directories):
            raise content.damaged(f"its table of lines has no directory {file.directory}")
        directory = self._text(program.directories[own]) if own >= 0 else ""
        return posixpath.join(self._compilation_directory(program), directory, self._text(file.name))

    def _compilation_directory(self, program: Program) -> str:
        if program.version >= 5:
            return self._text(program.directories[0])
        return self._compilation_directories.get(program.offset, "")

    def _text(self, text: Text) -> str:
        content = self.sections(text.section)
        length = bytes(content.data[text.offset : text.offset + LONGEST_NAME]).find(b"\0")
        if length < 0:
            raise content.damaged(f"a name in {text.section} does not end")
        return content.text(text.offset, length, f"a name in {text.section}")

    @functools.cached_property
    def _compilation_directories(self) -> dict[int, str]:
        """Offset of a line program -> the directory of its compilation; none where that cannot be read."""
        from elftools.dwarf.dwarfinfo import DwarfConfig, DWARFInfo

        sections = dict.fromkeys(tuple(inspect.signature(DWARFInfo).parameters)[1:])
        sections |= {f"{name[1:]}_sec": self._stream(name) for name in (".debug_info", ".debug_abbrev", ".debug_str")}
        found = {}
        # Hostile bytes make pyelftools raise nearly anything; a directory is not worth refusing the line for.
        with contextlib.suppress(Exception):
            information = DWARFInfo(DwarfConfig(True, "AMDGPU", 8), **sections)
            for unit in information.iter_CUs():
                attributes = unit.get_top_DIE().attributes
                if "DW_AT_stmt_list" in attributes and "DW_AT_comp_dir" in attributes:
                    directory = attributes["DW_AT_comp_dir"].value
                    found[attributes["DW_AT_stmt_list"].value] = directory.decode()
        return found

    def _stream(self, name: str) -> Any:
        from elftools.dwarf.dwarfinfo import DebugSectionDescriptor

        data = bytes(self.sections(name).data)
        return DebugSectionDescriptor(io.BytesIO(data), name, None, len(data), 0)
