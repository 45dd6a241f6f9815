"""The compute policy of matrix instructions in C++, every index from the tables that the simulation uses."""

from __future__ import annotations

from mfma.gemm.compute import Fragment, MfmaPolicy, Placement
from mfma.gemm.hip.expressions import digits
from mfma.gemm.hip.source import fill, indent
from mfma.gemm.hip.store import adds_blocks, adds_lanes, store
from mfma.gemm.lds import TileLayout
from mfma.isa.signature import CType, guard_macro, signature

__all__ = ["mfma_policy", "struct_name"]

PLACEMENTS = {
    Placement.M: " Its {} blocks lie next to one another along M and share B.",
    Placement.N: " Its {} blocks lie next to one another along N and share A.",
    Placement.BATCH: " Each of its {} blocks works on another product.",
    Placement.K: " Its {} blocks work on the same outputs,\n// each on its own stretch of k; their sums are added up.",
}

ADD = """\

__device__ inline elem_c add(elem_c a, elem_c b) { return multiply_add(1, a, b); }
"""

FROM_LANE = """\

// The value that another lane of the wave has.
__device__ inline elem_c from_lane(int lane, elem_c value) {
    constexpr int words = sizeof value / 4;
    int registers[words];
    __builtin_memcpy(registers, &value, sizeof value);
#pragma unroll
    for (int word = 0; word < words; ++word) registers[word] = __builtin_amdgcn_ds_bpermute(4 * lane, registers[word]);
    __builtin_memcpy(&value, registers, sizeof value);
    return value;
}
"""


def struct_name(policy: MfmaPolicy) -> str:
    """Return the name of the policy: that of the ROCm page's examples, with the formats of A and B."""
    formats = dict.fromkeys((policy.a.name.upper(), policy.b.name.upper()))
    return f"MfmaCdna3{''.join(formats)}Policy"


def mfma_policy(policy: MfmaPolicy, layout_a: TileLayout, layout_b: TileLayout) -> str:
    """Write the policy for tiles that lie in LDS as the layouts say."""
    op, steps = policy.op, policy.instructions_per_step
    blocks = op.blocks
    return fill(
        "mfma",
        name=struct_name(policy),
        mnemonic=op.mnemonic,
        placement_comment=PLACEMENTS[policy.placement].format(blocks) if blocks > 1 else "",
        waves_m=policy.waves_m,
        waves_n=policy.waves_n,
        tiles_m=policy.tiles_m,
        tiles_n=policy.tiles_n,
        op_tile_m=policy.op_tile_m,
        op_tile_n=policy.op_tile_n,
        batch=policy.batch,
        batch_comment="  // products side by side" if policy.batch > 1 else "",
        effective_lanes=policy.effective_lanes,
        k_step=policy.k_step,
        kwidth=policy.kwidth,
        instructions=f"{steps} instructions" if steps > 1 else "one instruction",
        accumulator=signature(op.record).d,
        helpers=ADD * adds_blocks(policy) + FROM_LANE * adds_lanes(policy),
        load_a=_load(policy, "a", "m", "tile_a", "tile_a_row", policy.fragment_a, layout_a),
        load_b=_load(policy, "b", "n", "tile_b_T", "tile_b_col", policy.fragment_b, layout_b),
        guard=guard_macro(op.record),
        mma=_mma(policy),
        store_c=indent(store(policy), 16),
    )


def _load(
    policy: MfmaPolicy, matrix: str, axis: str, tile: str, first: str, fragment: Fragment, layout: TileLayout
) -> str:
    lanes = fragment.active[:, 0]
    row, k, product = (digits(x[:, 0], "lane_id", known=lanes) for x in (fragment.rows, fragment.ks, fragment.batch))
    frag, index = f"{matrix}_frag", "i" if axis == "m" else "j"
    rows = [first, f"op_tile_{axis} * {index}", row]
    if policy.batch > 1:
        rows.append(f"{product} * (Tile::rows / batch)")
    is_run = layout.swizzle % policy.kwidth == 0  # the elements of a lane stay neighbours
    if policy.kwidth == 1:
        body = f"            {frag}[{index}] = {tile}.at(row, kk);"
    elif is_run:
        body = f"""\
            const elem_{matrix}* elements = &{tile}.at(row, kk);  // neighbours: one wide read
#pragma unroll
            for (int e = 0; e < kwidth; ++e) {frag}[kwidth * {index} + e] = elements[e];"""
    else:
        body = f"""\
#pragma unroll
            for (int e = 0; e < kwidth; ++e) {frag}[kwidth * {index} + e] = {tile}.at(row, kk + e);"""
    return f"""\
    template <typename Tile>
    static __device__ void load_{matrix}(const Tile& {tile}, int {first}, int ki, int lane_id,
                                  elem_{matrix} (&{frag})[frag_size_{axis}]) {{
        const int kk = {" + ".join(["ki", *([k] if k != "0" else [])])};
#pragma unroll
        for (int {index} = 0; {index} < tiles_{axis}; ++{index}) {{
            const int row = {" + ".join(rows)};
{body}
        }}
    }}"""


def _mma(policy: MfmaPolicy) -> str:
    types = signature(policy.op.record)
    cbsz, abid, blgp = policy.modifiers
    held, steps = policy.op.registers.a.elements, policy.instructions_per_step
    loops = f"""\
#pragma unroll
for (int i = 0; i < tiles_m; ++i) {{
#pragma unroll
    for (int j = 0; j < tiles_n; ++j) {{
        acc.tiles[i][j] = {policy.op.builtin}(
            {_operand(types.a, "a_frag", "i", held, steps)},
            {_operand(types.b, "b_frag", "j", held, steps)},
            acc.tiles[i][j], {cbsz}, {abid}, {blgp});  // cbsz, abid, blgp{_because(cbsz, blgp)}
    }}
}}"""
    if steps == 1:
        return indent(loops, 8)
    return indent(f"#pragma unroll\nfor (int r = 0; r < {steps}; ++r) {{\n{indent(loops, 4)}\n}}", 8)


def _because(cbsz: int, blgp: int) -> str:
    if cbsz:
        return ": every block reads A of block 0"
    return ": every block reads B of block 0" if blgp else ""


def _operand(kind: CType, frag: str, index: str, held: int, steps: int) -> str:
    """Write the registers that an instruction takes from a fragment."""
    width = "" if held * steps == 1 else "kwidth * "
    later = "" if steps == 1 else f" + {held} * r" if held > 1 else " + r"
    element = f"{frag}[{width}{index}{later}]"
    return element if held == 1 else f"packed<{kind}>(&{element})"
