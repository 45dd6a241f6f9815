"""``store_c`` of matrix instructions in C++: which lane and element of the accumulator holds which output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mfma.gemm.compute import MfmaPolicy, Placement
from mfma.gemm.hip.expressions import digits
from mfma.gemm.hip.source import indent
from mfma.isa.spec import WAVE

__all__ = ["adds_blocks", "adds_lanes", "store"]

Table = NDArray[np.int64]

IN_LANE = """\
elem_c sum = acc.tiles[i][j][g];
#pragma unroll
for (int b = 1; b < {blocks}; ++b) sum = add(sum, acc.tiles[i][j][g + {stride} * b]);
"""
ACROSS_LANES = """\
const int block = {block}, lane = lane_id - {stride} * block;  // that of block 0
elem_c sum = from_lane(lane, {value});
#pragma unroll
for (int b = 1; b < {blocks}; ++b) sum = add(sum, from_lane(lane + {stride} * b, {value}));
"""
OUTPUT = """\
const int row = op_tile_m * i + {row};
const int column = op_tile_n * j + {column};
{condition}output({product}, row, column, {value});"""
ELEMENTS = """\
#pragma unroll
for (int g = 0; g < {count}; ++g) {{
{body}
}}"""


def adds_blocks(policy: MfmaPolicy) -> bool:
    """Say whether the outputs are sums over the blocks of an instruction."""
    return policy.placement is Placement.K and policy.op.blocks > 1


def adds_lanes(policy: MfmaPolicy) -> bool:
    """Say whether these sums go across lanes: the blocks lie side by side in lanes, not in the elements of one."""
    _, _, block = _places(policy)
    return adds_blocks(policy) and bool(np.ptp(block[:, 0]))


def store(policy: MfmaPolicy) -> str:
    """Write what hands on every output of accumulator (i, j): a loop over its elements g, if there are several."""
    row, column, block = _places(policy)
    held, blocks = policy.op.registers.cd.elements, policy.op.blocks
    value = "acc.tiles[i][j]" if held == 1 else "acc.tiles[i][j][g]"
    before = condition = ""
    product, count = np.zeros_like(block), held
    if not adds_blocks(policy):
        row = row + policy.op.m * block * (policy.placement is Placement.M)
        column = column + policy.op.n * block * (policy.placement is Placement.N)
        product = block * (policy.placement is Placement.BATCH)
    elif adds_lanes(policy):
        stride = int(np.argmax(block[:, 0] == 1))
        before = ACROSS_LANES.format(block=digits(block[:, 0], "lane_id"), stride=stride, blocks=blocks, value=value)
        condition, value = "if (block == 0) ", "sum"
    else:
        count = held // blocks
        before = IN_LANE.format(stride=int(np.argmax(block[0] == 1)), blocks=blocks)
        value = "sum"
    is_stored = block == 0 if adds_blocks(policy) else np.ones_like(block, np.bool_)
    place = {
        name: digits(table[:, :count], "lane_id", "g", known=is_stored[:, :count])
        for name, table in (("row", row), ("column", column), ("product", product))
    }
    body = before + OUTPUT.format(condition=condition, value=value, **place)
    return body if count == 1 else ELEMENTS.format(count=count, body=indent(body, 4))


def _places(policy: MfmaPolicy) -> tuple[Table, Table, Table]:
    """Row, column and block of every element of the accumulator, (64, elements) each."""
    layout = policy.op.layout("D")
    block, row, column = (layout.pack(x).reshape(WAVE, -1) for x in np.indices(layout.shape))
    return row, column, block
