"""The host's part of a program: operands, verification, timing, and what it prints."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from mfma.formats import F64, Format
from mfma.gemm.compute import MfmaPolicy
from mfma.gemm.hip.compute_policy import struct_name
from mfma.gemm.hip.conversions import Conversions, Step, conversions
from mfma.gemm.hip.expected import Problem, fallback, matrix_core, random_elements
from mfma.gemm.hip.source import fill
from mfma.gemm.kernel import Gemm
from mfma.gemm.protocols import ComputePolicy

__all__ = ["INCLUDES", "expected_output", "host"]

Sizes = tuple[int, int, int, int]
"""m, n, k, batch."""

SAMPLES = 256
"""Elements of the timed product that are verified."""

INCLUDES = """\
#include <hip/hip_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>"""

WIDER: dict[Format, str] = {F64: "long double"}
"""Accumulator -> the type in which the host adds up; ``double`` for the others."""

CUT = """\
// What the multiplier sees: the matrix core cuts off the low {bits} bits, other units take them all.
template <typename ComputePolicy>
float seen(float element) {{
    if (ComputePolicy::owner_lanes == 1) return element;
    std::uint32_t code;
    std::memcpy(&code, &element, sizeof code);
    code &= ~{mask:#x}u;
    std::memcpy(&element, &code, sizeof code);
    return element;
}}

"""

WITHIN = """\
    return std::fabs(computed - expected) <= tolerance;  // not so for a NaN"""
STORED_BETWEEN = """\
    // What is in memory has been rounded again. That keeps the order, so it lies between what the bounds become.
    const mem_c low = {store}((elem_c)(expected - tolerance));
    const mem_c high = {store}((elem_c)(expected + tolerance));
    if (!std::memcmp(&computed, &low, sizeof low) || !std::memcmp(&computed, &high, sizeof high)) return true;
    const elem_c value = {load}(computed);
    return {load}(low) <= value && value <= {load}(high);"""

FALLBACK_BITS = """\

// The same by fused multiply-adds, which other GPUs use.
constexpr {type} fallback_bits[] = {{
{bits}
}};
"""

ASKING = """\
    int device = 0;
    hipDeviceProp_t props;
    HIP_CHECK(hipGetDevice(&device));
    HIP_CHECK(hipGetDeviceProperties(&props, device));
    std::printf("%s: ", props.gcnArchName);
"""
ONE_POLICY = """\
    const bool passed = run<TilePolicy, ComputePolicy>(timed, expected_bits);"""
TWO_POLICIES = """\
    // __gfx942__ is defined only where device code is compiled, so the host asks the device that is there.
    const bool has_instruction = std::strncmp(props.gcnArchName, "gfx942", 6) == 0;
    const bool passed = has_instruction ? run<TilePolicy, ComputePolicy>(timed, matrix_core_bits)
                                        : run<FallbackTilePolicy, FallbackComputePolicy>(timed, fallback_bits);"""


def host(gemm: Gemm) -> str:
    """Write the host's part."""
    compute, accumulator = gemm.compute, gemm.compute.accumulator
    alpha, beta = (3, -2) if accumulator.is_integer else (1.25, -0.75)
    problem = Problem(*_small(gemm), alpha, beta)
    bits_type = f"std::uint{gemm.memory.formats(compute)[2].bits}_t"
    random_a, random_b, random_c = random_elements(gemm)
    is_matrix = isinstance(compute, MfmaPolicy)
    others = FALLBACK_BITS.format(type=bits_type, bits=_hex(fallback(gemm, problem))) if is_matrix else ""
    return fill(
        "host",
        **conversions(gemm).memory_types,
        random_a=random_a,
        random_b=random_b,
        random_c=random_c,
        check=_checking(gemm),
        random_problem=_listed(_ragged(gemm)),
        bits_problem=_listed(_small(gemm)),
        timed_problem=_listed(_timed(gemm)),
        timed_batch=_timed(gemm)[3],
        small_problem=_listed(_quick(gemm)),
        samples=SAMPLES,
        alpha=alpha,
        beta=beta,
        bits_type=bits_type,
        bits_name="matrix_core_bits" if is_matrix else "expected_bits",
        bits=_hex(matrix_core(gemm, problem)),
        fallback_bits=others,
        operations_unit=_unit(compute),
        choice=ASKING + (TWO_POLICIES if is_matrix else ONE_POLICY),
    )


def expected_output(gemm: Gemm) -> str:
    """Return what the program prints on a CDNA3 GPU, with ``*`` for what is measured or depends on the device."""
    compute = gemm.compute
    name = f"{struct_name(compute)}, {compute.op.mnemonic}" if isinstance(compute, MfmaPolicy) else "ScalarFMAPolicy"
    lines = [
        f"gfx942*: {name}",
        _line("expected bits", _small(gemm), None, "equal"),
        _line("random operands", _ragged(gemm), None, "within tolerance"),
        _line("timed", _timed(gemm), SAMPLES, "of a sample within tolerance"),
        f"average * ms, * GB/s at least, * {_unit(compute)}",
        "PASSED",
    ]
    return "\n".join(lines) + "\n"


def _line(what: str, sizes: Sizes, count: int | None, how: str) -> str:
    m, n, k, batch = sizes
    elements = count or m * n * batch
    return f"{what}, {m} x {n} x {k}, batch {batch}: {elements} of {elements} elements {how}"


def _small(gemm: Gemm) -> Sizes:
    """Sizes of the product whose bits are known: k ends within a strip."""
    k_tile = gemm.tile.k_tile_size
    return 9, 7, -(-32 // k_tile) * k_tile + 3, min(gemm.compute.batch, 2)


def _ragged(gemm: Gemm) -> Sizes:
    """Sizes of the product that is verified whole: one block is whole, and so are some strips."""
    tile = gemm.tile
    return tile.block_tile_m + 5, tile.block_tile_n + 3, 3 * tile.k_tile_size + 4, gemm.compute.batch + 1


def _timed(gemm: Gemm) -> Sizes:
    return (4096, 4096, 4096, 1) if gemm.compute.batch == 1 else (512, 512, 512, 4 * gemm.compute.batch)


def _quick(gemm: Gemm) -> Sizes:
    """Sizes of the product that is timed where the usual one takes too long."""
    return (256, 256, 256, 1) if gemm.compute.batch == 1 else (64, 64, 64, 4 * gemm.compute.batch)


def _checking(gemm: Gemm) -> str:
    """Write how an element of the result is compared with the host's own sum."""
    compute, accumulator = gemm.compute, gemm.compute.accumulator
    index = "(product * p.n + j) * p.k + kk" if gemm.memory.b_order == "column" else "(product * p.k + kk) * p.n + j"
    made = conversions(gemm)
    a = _value("a", made.a, "(product * p.m + i) * p.k + kk")
    b = _value("b", made.b, index)
    loaded_c, mem_c = made.load_c.of("operands.c[at]"), made.memory_types["mem_c"]
    if accumulator.is_integer:
        return fill("check_int", operand_a=a, operand_b=b, operand_c=loaded_c, mem_c=mem_c, verdict=_exactly(made))
    helper = ""
    if compute.a.ignored:
        helper = CUT.format(bits=compute.a.ignored, mask=(1 << compute.a.ignored) - 1)
        a, b = f"seen<ComputePolicy>({a})", f"seen<ComputePolicy>({b})"
    verdict = STORED_BETWEEN.format(store=made.store_c.name, load=made.load_c.name) if made.converts_c else WITHIN
    c = {"given_c": "", "operand_c": loaded_c}
    if made.converts_c:
        c = {"given_c": f"    const elem_c c = {loaded_c};\n", "operand_c": "c"}
    wide = WIDER.get(accumulator, "double")
    return helper + fill("check_float", wide=wide, operand_a=a, operand_b=b, verdict=verdict, mem_c=mem_c, **c)


def _value(matrix: str, step: Step, index: str) -> str:
    line_break = f"\n{' ' * 12}" if step.converts else ""
    return f"value_of_{matrix}({line_break}{step.of(f'operands.{matrix}[{index}]')})"


def _exactly(made: Conversions) -> str:
    if not made.converts_c:
        return "    return (std::uint32_t)computed == alpha * sum + beta * c;"
    return f"    return computed == {made.store_c.of('(elem_c)(alpha * sum + beta * c)')};"


def _listed(sizes: Sizes) -> str:
    return ", ".join(map(str, sizes))


def _unit(compute: ComputePolicy) -> str:
    return "TOPS" if compute.accumulator.is_integer else "TFLOPS"


def _hex(codes: NDArray[Any]) -> str:
    """Write codes as C++ literals, in lines of at most 120 characters."""
    digits = 2 * codes.itemsize
    literals = [f"0x{int(code):0{digits}x}" for code in codes]
    per_line = 116 // (digits + 4)
    lines = (literals[first : first + per_line] for first in range(0, len(literals), per_line))
    return "\n".join(f"    {', '.join(line)}," for line in lines)
