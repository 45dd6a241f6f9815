"""A whole HIP program for a pair of policies."""

from __future__ import annotations

from collections.abc import Iterator

from mfma.errors import OptionError
from mfma.gemm.compute import MfmaPolicy, ScalarFMAPolicy
from mfma.gemm.hip.compute_policy import mfma_policy, struct_name
from mfma.gemm.hip.conversions import conversions, written
from mfma.gemm.hip.elements import CPP_TYPES, multiply_add, note, value_function
from mfma.gemm.hip.host import INCLUDES, host
from mfma.gemm.hip.source import fill
from mfma.gemm.hip.tile_policy import STRUCTS, fallback_tile, instance, tile_policies
from mfma.gemm.kernel import Gemm
from mfma.gemm.operands import Memory
from mfma.gemm.protocols import ComputePolicy, TilePolicy
from mfma.isa.signature import signature

__all__ = ["hip"]

SUB_TILE = 4
"""Rows and columns of a thread's outputs in the fallback."""

CONTRACTION = """\
// Every rounding is written down: the compiler shall not fuse others.
#pragma clang fp contract(off)"""


def hip(tile: TilePolicy, compute: ComputePolicy, memory: Memory | None = None, *, device_only: bool = False) -> str:
    """Write a HIP program for a pair of policies.

    The program multiplies with the policies on a CDNA3 GPU, and with fused multiply-adds on any other. It verifies
    every bit of a small product, every element of a ragged one and a sample of a large one that it also times; it
    prints PASSED or FAILED, and its exit code is 1 on the latter.

    Args:
        tile: a tile policy of `mfma.gemm`.
        compute: a compute policy of `mfma.gemm`.
        memory: how B is stored, the formats in memory, and how they are converted on load and on store.
        device_only: write only the kernels, which then need no header at all.

    Raises:
        OptionError: rules that the policies break together, or something that no program is written for.

    >>> from mfma.gemm import MfmaCdna3XF32Policy, SingleBufferTilePolicy
    >>> print(hip(SingleBufferTilePolicy(32, 32, 8), MfmaCdna3XF32Policy()).splitlines()[0])
    // C = alpha * A * B + beta * C with v_mfma_f32_16x16x8_xf32 on AMD's CDNA3 GPUs (gfx942).
    """
    gemm = Gemm(tile, compute, memory or Memory())
    _check(gemm)
    last = _instantiations(gemm) if device_only else _section("Host", host(gemm))
    return "\n\n".join([*_head(gemm, device_only), *_kernel(gemm), last]) + "\n"


def _check(gemm: Gemm) -> None:
    if type(gemm.tile) not in STRUCTS:
        known = ", ".join(struct.__name__ for struct in STRUCTS)
        raise OptionError(
            f"no program is written for the tile policy {type(gemm.tile).__name__}, only for {known}: use one of these."
        )
    if type(gemm.compute) not in (MfmaPolicy, ScalarFMAPolicy):
        raise OptionError(
            f"no program is written for the compute policy {type(gemm.compute).__name__}, only for MfmaPolicy and "
            "ScalarFMAPolicy: use one of these."
        )
    conversions(gemm)


def _section(title: str, text: str) -> str:
    return f"// ---- {title} ----\n\n{text}"


def _head(gemm: Gemm, device_only: bool) -> Iterator[str]:
    """Write what the program is, how it is compiled, and what it needs from outside."""
    is_matrix = isinstance(gemm.compute, MfmaPolicy)
    how = f"{gemm.compute.op.mnemonic} on AMD's CDNA3 GPUs (gfx942)" if is_matrix else "fused multiply-adds on AMD GPUs"
    title = [f"// C = alpha * A * B + beta * C with {how}."]
    if is_matrix and not device_only:
        title.append("// On other GPUs the same kernel runs with fused multiply-adds: the host chooses at run time.")
    command = (
        "clang++ -O3 -std=c++17 -x hip --offload-arch=gfx942 --offload-device-only -nogpulib -nogpuinc -S FILE"
        if device_only
        else "amdclang++ -O3 -std=c++17 -x hip --offload-arch=gfx942 FILE -o matrix_multiply && ./matrix_multiply"
    )
    yield "\n".join([*title, "//", f"//     {command}"])
    yield fill("device_prelude") if device_only else INCLUDES
    yield CONTRACTION


def _kernel(gemm: Gemm) -> Iterator[str]:
    """Write what runs on the device."""
    compute = gemm.compute
    policies = [fill("scalar")]
    if isinstance(compute, MfmaPolicy):
        policies.insert(0, mfma_policy(compute, gemm.tile.layout_a(compute), gemm.tile.layout_b(compute)))
    yield _section("Elements", _elements(gemm))
    yield _section("Data movement: the tile policy", tile_policies(gemm))
    yield _section("Arithmetic: the compute policy", "\n\n".join(policies))
    yield _section("The kernel", fill("kernel", result=_result(gemm), **conversions(gemm).memory_types))
    yield _section("The policies of this program", _aliases(gemm))


def _elements(gemm: Gemm) -> str:
    compute = gemm.compute
    accumulator = compute.accumulator
    text = fill(
        "elements",
        vector_types="\n".join(_vector_types(compute)),
        elem_a=CPP_TYPES[compute.a],
        elem_b=CPP_TYPES[compute.b],
        elem_c=CPP_TYPES[accumulator],
        conversions=written(conversions(gemm)),
        note_a=note(compute.a),
        note_b=note(compute.b),
        note_c=note(accumulator),
        values="\n".join(value_function(x, f, accumulator) for x, f in (("a", compute.a), ("b", compute.b))),
        **multiply_add(accumulator),
    )
    return text.lstrip("\n")


def _result(gemm: Gemm) -> str:
    """Write what becomes of an output."""
    made = conversions(gemm)
    if not made.converts_c:
        return "        c = beta == 0 ? multiply(alpha, value) : multiply_add(alpha, value, multiply(beta, c));"
    return f"""\
        const elem_c result = beta == 0
                                  ? multiply(alpha, value)
                                  : multiply_add(alpha, value, multiply(beta, {made.load_c.of("c")}));
        c = {made.store_c.of("result")};"""


def _vector_types(compute: ComputePolicy) -> list[str]:
    if not isinstance(compute, MfmaPolicy):
        return []
    types = signature(compute.op.record)
    return list(dict.fromkeys(kind.typedef for kind in (types.a, types.b, types.d) if not kind.is_scalar))


def _aliases(gemm: Gemm) -> str:
    compute = gemm.compute
    threads = compute.threads(gemm.tile.block_tile_m, gemm.tile.block_tile_n)
    lines = [
        f"// {threads} threads, {gemm.tile.shared_bytes(compute)} bytes of LDS.",
        f"using TilePolicy = {instance(gemm.tile, compute.batch)};",
    ]
    if isinstance(compute, MfmaPolicy):
        struct, size = fallback_tile(gemm)
        lines += [
            f"using ComputePolicy = {struct_name(compute)};",
            "",
            "// For GPUs without the instruction.",
            f"using FallbackTilePolicy = {struct};",
            f"using FallbackComputePolicy = ScalarFMAPolicy<{SUB_TILE}, {SUB_TILE}, {size // SUB_TILE}>;",
        ]
    elif isinstance(compute, ScalarFMAPolicy):
        sizes = f"{compute.thread_tile_m}, {compute.thread_tile_n}, {compute.block_dim_x}"
        lines.append(f"using ComputePolicy = ScalarFMAPolicy<{sizes}>;")
    return "\n".join(lines)


def _instantiations(gemm: Gemm) -> str:
    """Write what makes the compiler emit the kernels, which a whole program does by launching them."""
    types = conversions(gemm).memory_types
    arguments = "const {mem_a}*, const {mem_b}*, {mem_c}*, int, int, int, int, elem_c, elem_c".format(**types)
    pairs = ["TilePolicy, ComputePolicy"]
    if isinstance(gemm.compute, MfmaPolicy):
        pairs.append("FallbackTilePolicy, FallbackComputePolicy")
    return "\n".join(f"template __global__ void matrix_multiply_generic<{pair}>(\n    {arguments});" for pair in pairs)
