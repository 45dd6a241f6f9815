"""A table as data: what every renderer takes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Cell", "Table"]

Cell = str | int | float | None
"""None is an empty cell."""


@dataclass(frozen=True)
class Table:
    """A header and rows of the same length; the first ``labels`` columns say what a row is."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    labels: int = 1

    @property
    def is_number(self) -> tuple[bool, ...]:
        """For each column whether it has numbers only, which are aligned to the right."""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.header)
        return tuple(bool(column) and all(isinstance(cell, int | float) for cell in column) for column in columns)

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The rows as text."""
        return tuple(tuple("" if cell is None else str(cell) for cell in row) for row in self.rows)

    def columns(self, first: int, last: int) -> Table:
        """Return the table with its labels and the columns ``first`` to ``last``, the last not included."""
        kept = (*range(self.labels), *range(first, last))
        return Table(
            tuple(self.header[n] for n in kept), tuple(tuple(row[n] for n in kept) for row in self.rows), self.labels
        )
