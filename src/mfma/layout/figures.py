"""The figures of the documentation: ``python -m mfma.layout.figures docs/figures`` writes them anew."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from mfma.formats import F64
from mfma.isa.catalogue import find
from mfma.isa.cdna3 import DENSE
from mfma.isa.spec import MatrixOp
from mfma.layout.inputs import inputs_picture
from mfma.layout.patterns import Pattern
from mfma.layout.picture import picture
from mfma.layout.placement import layout

__all__ = ["figures", "main"]

EXAMPLES = (
    ("f32_32x32x8f16", "A", (0, 0, 0)),
    ("f32_32x32x8f16", "B", (0, 0, 0)),
    ("f32_16x16x16f16", "A", (0, 0, 0)),
    ("f32_16x16x16f16", "B", (0, 0, 0)),
    ("f32_16x16x32_fp8_fp8", "A", (0, 0, 0)),
    ("f32_4x4x4f16", "A", (0, 0, 0)),
    ("f32_4x4x4f16", "A", (2, 1, 0)),
    ("f32_16x16x1f32", "B", (0, 0, 3)),
    ("f64_16x16x4f64", "A", (0, 0, 1)),
)
"""Instruction, operand, and ``cbsz``, ``abid``, ``blgp``."""

MODIFIERS = ("cbsz", "abid", "blgp")


def figures() -> dict[str, str]:
    """Draw every figure: file name -> SVG document.

    They are the accumulators, one for all instructions that place D alike, operands with and without modifiers,
    and the inputs of one element.

    >>> [name for name in figures() if name.startswith("accumulator")]  # doctest: +NORMALIZE_WHITESPACE
    ['accumulator-32x32-2b.svg', 'accumulator-16x16-4b.svg', 'accumulator-4x4-16b.svg', 'accumulator-32x32-1b.svg',
     'accumulator-16x16-1b.svg', 'accumulator-16x16-1b-f64.svg', 'accumulator-4x4-4b-f64.svg']
    """
    drawn = {}
    for ops in _alike():
        op, *others = ops
        suffix = f"-{op.out}" if op.out is F64 else ""
        note = f"The same for C{', and in ' * bool(others)}{', '.join(map(str, others))}."
        drawn[f"accumulator-{op.m}x{op.n}-{op.blocks}b{suffix}.svg"] = picture(layout(op, "D"), note=note)
    for name, matrix, modifiers in EXAMPLES:
        words = "".join(f"-{field}{value}" for field, value in zip(MODIFIERS, modifiers, strict=True) if value)
        drawn[f"{name}-{matrix}{words}.svg"] = picture(layout(find(name), matrix, *modifiers))
    drawn["f32_32x32x8f16-inputs.svg"] = inputs_picture(find("f32_32x32x8f16"), i=5, j=7)
    return drawn


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the figures to a folder."""
    parser = argparse.ArgumentParser("python -m mfma.layout.figures", description=main.__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in figures().items():
        (folder / name).write_text(document, encoding="utf-8")


def _alike() -> list[list[MatrixOp]]:
    """Group the dense instructions by the placement of D."""
    groups: dict[tuple[Pattern, int], list[MatrixOp]] = {}
    for op in DENSE:
        placed = layout(op, "D")
        groups.setdefault((placed.pattern, placed.bits), []).append(op)
    return list(groups.values())


if __name__ == "__main__":
    main()
