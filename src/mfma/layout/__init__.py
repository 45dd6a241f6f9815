"""Placement: which lane and register holds which element of A, B, C and D.

A matrix instruction works on 64 lanes at once. Every lane holds a few elements of each operand in its own
registers, and nothing in the instruction says which: that is the layout, and it differs from operand to operand.
Three einops patterns describe it for all dense and sparse instructions of CDNA3. On the left stands the logical
matrix, on the right ``lane element``, an operand as the compiler builtin takes it:

====  ==========================  ============================
A     ``blk i (g s)``             ``(g blk i) s``
B     ``blk (g s) j``             ``(g blk j) s``
C, D  ``(bh bl) (q b r) j``       ``(b bl j) (bh q r)``
====  ==========================  ============================

* A lane holds ``s`` consecutive k of one row of A, or of one column of B. Lanes that rows and blocks leave over
  form ``g`` groups along k. So in a one-block instruction the lane groups split k, in the multi-block ones (all
  but f64) they select the block.
* Of C and D a lane holds one column j: ``r`` consecutive rows (4, or 1 on f64), then ``b`` lane groups that each
  take the next ``r`` rows, then ``q`` rounds of that. ``bl`` blocks lie side by side in the lanes, ``bh`` one after
  the other in the registers.

All axis lengths follow from the record of the instruction (`operand_pattern`), element s of a lane sits at bit
``s·width`` of its registers, lowest first, and the inverse is the same pattern read from right to left.

Worked example: ``f32_4x4x4f16``, 16 independent products of 4x4 matrices.

>>> from mfma.isa.cdna3 import DENSE
>>> op = next(op for op in DENSE if op.name == "f32_4x4x4f16")
>>> print(layout(op, "A").pattern)
blk i (g s) -> (g blk i) s with blk=16, i=4, g=1, s=4
>>> layout(op, "A").pattern.equations
('lane = 4*block + i', 'element = k')

Four f16 of a row fill the two VGPRs of lane ``4*block + i``, so A[2][1] of block 5 is in lane 22, the upper half of
the first register. D has one column per lane, its four rows in four VGPRs:

>>> print(layout(op, "A").locate(i=2, k=1, block=5))
v0{22}.[31:16]
>>> layout(op, "D").pattern.equations
('lane = 4*block + j', 'element = i')
>>> print(layout(op, "D").locate(i=2, j=1, block=5))
v2{21}

Modifiers are not part of the patterns. ``cbsz`` with ``abid``, and ``blgp``, let the hardware take a *lane position*
of A or B from the registers of another lane, so each is a list of 64 lanes (`lane_sources`) beside the pattern. With
``cbsz=2, abid=1`` the blocks of every group of four read A of the group's block 1:

>>> broadcast = layout(op, "A", cbsz=2, abid=1)
>>> print(broadcast.locate(i=2, k=1, block=7))
v0{22}.[31:16]
>>> [element.block for element in broadcast.elements(lane=22, vgpr=0, low_bit=16)]
[4, 5, 6, 7]

On f64 ``blgp`` does not move anything: its three bits negate A, B and C.
"""

from mfma.layout.patterns import Pattern, operand_pattern
from mfma.layout.placement import Layout, layout
from mfma.layout.slots import Element, Slot, SlotArrays
from mfma.layout.sources import lane_sources

__all__ = ["Element", "Layout", "Pattern", "Slot", "SlotArrays", "lane_sources", "layout", "operand_pattern"]
