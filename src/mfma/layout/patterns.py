"""The three einops patterns, with their numbers for one instruction. Nothing else defines placement."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt
from einops import rearrange

from mfma.formats import F64
from mfma.isa.spec import WAVE, MatrixOp

__all__ = ["PATTERNS", "Pattern", "operand_pattern"]

Group = tuple[str, ...]
"""Axes that share one dimension, slowest first."""


@dataclass(frozen=True)
class Pattern:
    """An einops pattern between logical matrices and registers.

    ``logical`` and ``registers`` are its two sides, ``coordinates`` the names of the three dimensions of the logical
    side, and ``sizes`` the length of every axis.
    """

    logical: str
    registers: str
    coordinates: tuple[str, str, str]
    sizes: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"{self.logical} -> {self.registers} with {', '.join(f'{name}={size}' for name, size in self.sizes)}"

    @cached_property
    def lengths(self) -> dict[str, int]:
        """Length of every axis by its name, as einops takes them."""
        return dict(self.sizes)

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Shape (blocks, rows, columns) of the logical side."""
        blocks, rows, columns = (math.prod(self.lengths[axis] for axis in group) for group in _groups(self.logical))
        return blocks, rows, columns

    @cached_property
    def register_shape(self) -> tuple[int, int]:
        """Shape (lanes, elements per lane) of the register side."""
        lanes, elements = (math.prod(self.lengths[axis] for axis in group) for group in _groups(self.registers))
        return lanes, elements

    def to_registers(self, matrices: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Rearrange (..., blocks, rows, columns) to (..., lanes, elements)."""
        return rearrange(matrices, f"... {self.logical} -> ... {self.registers}", **self.lengths)

    def to_matrices(self, registers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Rearrange (..., lanes, elements) to (..., blocks, rows, columns)."""
        return rearrange(registers, f"... {self.registers} -> ... {self.logical}", **self.lengths)

    @property
    def equations(self) -> tuple[str, str]:
        """Say lane and element as sums over the coordinates, in Python's operators.

        >>> from mfma.isa.cdna3 import DENSE
        >>> operand_pattern(DENSE[8], "D").equations  # f32_32x32x8f16
        ('lane = 32*(i//4%2) + j', 'element = 4*(i//8) + i%4')
        """
        digits = dict(_digits(self))
        lane, element = (_sum(group, digits, self.lengths) for group in _groups(self.registers))
        return f"lane = {lane}", f"element = {element}"


def _groups(side: str) -> tuple[Group, ...]:
    return tuple(tuple(token.strip("()").split()) for token in re.findall(r"\([^)]*\)|\w+", side))


def _digits(pattern: Pattern) -> Iterator[tuple[str, str]]:
    """Yield each axis of the logical side with its value, a digit of its coordinate in mixed radix."""
    for coordinate, group in zip(pattern.coordinates, _groups(pattern.logical), strict=True):
        stride = math.prod(pattern.lengths[axis] for axis in group)
        above = 1
        for axis in group:
            size = pattern.lengths[axis]
            stride //= size
            quotient = f"//{stride}" if stride > 1 else ""
            remainder = f"%{size}" if above > 1 else ""  # the top digit needs none
            yield axis, f"{coordinate}{quotient}{remainder}"
            above *= size


def _sum(group: Group, digits: dict[str, str], lengths: dict[str, int]) -> str:
    """Write the position in a register dimension as a sum of strides times digits."""
    stride = math.prod(lengths[axis] for axis in group)
    terms = []
    for axis in group:
        stride //= lengths[axis]
        if lengths[axis] > 1:
            digit = digits[axis]
            factor = digit if digit.isidentifier() else f"({digit})"
            terms.append(f"{stride}*{factor}" if stride > 1 else digit)
    return " + ".join(terms) or "0"


def _along_k(op: MatrixOp, rows: int, elements: int) -> dict[str, int]:
    """Lengths of the axes of A and B: what rows and blocks leave of the 64 lanes splits k."""
    return {"blk": op.blocks, "g": WAVE // (rows * op.blocks), "s": elements}


def _a(op: MatrixOp) -> Pattern:
    lengths = _along_k(op, op.m, op.registers.a.elements)
    return _pattern("blk i (g s)", "(g blk i) s", "i", "k", lengths | {"i": op.m})


def _b(op: MatrixOp) -> Pattern:
    lengths = _along_k(op, op.n, op.registers.b.elements)
    return _pattern("blk (g s) j", "(g blk j) s", "k", "j", lengths | {"j": op.n})


def _accumulator(op: MatrixOp) -> Pattern:
    run = 1 if op.out is F64 else 4
    in_lanes = min(op.blocks, max(1, WAVE * run // (op.m * op.n)))
    lane_groups = WAVE // (in_lanes * op.n)
    lengths = {
        "bh": op.blocks // in_lanes,
        "bl": in_lanes,
        "q": op.m // (lane_groups * run),
        "b": lane_groups,
        "r": run,
        "j": op.n,
    }
    return _pattern("(bh bl) (q b r) j", "(b bl j) (bh q r)", "i", "j", lengths)


def _index(op: MatrixOp) -> Pattern:
    """The sparse index, one nibble for every four k of a row: placed as A is, a quarter as long as k."""
    lengths = _along_k(op, op.m, op.m * (op.k // 4) * op.blocks // WAVE)
    return _pattern("blk i (g s)", "(g blk i) s", "i", "k", lengths | {"i": op.m})


def _pattern(logical: str, registers: str, row: str, column: str, lengths: dict[str, int]) -> Pattern:
    in_order = (axis for group in _groups(logical) for axis in group)
    return Pattern(logical, registers, ("block", row, column), tuple((axis, lengths[axis]) for axis in in_order))


PATTERNS: dict[str, Callable[[MatrixOp], Pattern]] = {
    "A": _a,
    "B": _b,
    "C": _accumulator,
    "D": _accumulator,
    "K": _index,
}


def operand_pattern(op: MatrixOp, matrix: str) -> Pattern:
    """Return the pattern of one operand, ``"A"``, ``"B"``, ``"C"``, ``"D"`` or, if sparse, ``"K"``, without modifiers.

    >>> from mfma.isa.cdna3 import DENSE
    >>> print(operand_pattern(DENSE[26], "B"))  # f64_4x4x4f64
    blk (g s) j -> (g blk j) s with blk=4, g=4, s=1, j=4
    """
    return PATTERNS[matrix](op)
