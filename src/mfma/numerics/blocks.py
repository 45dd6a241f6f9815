"""The fast kernels of whole products: pack a panel of A and one of B, run the rule over them, block by block.

One native function serves one arithmetic (formats, accumulation rule, ovfl); see `product` for its arguments.
The accumulator is the destination itself, which holds C at the start, as a kernel's accumulator registers do.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from mfma.formats import Format
from mfma.isa.accumulation import Accumulation, FmaChain, GroupSum, IntegerSum
from mfma.native.jit import function_address
from mfma.native.simd import F32, F64, I8, I16, I32, I64, POINTER, Kernel, Value, vector
from mfma.numerics.chain import add_chains, add_integers
from mfma.numerics.group_sum import LANES, Load, Side, add_group
from mfma.numerics.panels import Carrier, carrier, unpack, with_quiet_nans

__all__ = ["COLUMNS", "ROWS", "Arithmetic", "product", "scratch_bytes"]

ROWS = 96
"""Rows of A in a panel: a multiple of the register tiles, and few enough for the panel to stay in cache."""
COLUMNS = 64
"""Columns of B in a panel."""
DEPTH = 128
"""Values of k in a panel: a multiple of every instruction's k and every group."""

SOURCES = tuple(f"mfma.numerics.{name}" for name in ("blocks", "chain", "group_sum", "panels", "nans"))
STORAGE = {8: I8, 16: I16, 32: I32, 64: I64}


@dataclass(frozen=True)
class Arithmetic:
    """What decides the bits of a product: formats, rule, and whether overflow saturates (MODE.FP16_OVFL).

    ``instruction_k`` matters only to saturating integers, which clamp once per instruction.
    """

    a: Format
    b: Format
    out: Format
    accumulation: Accumulation
    saturate: bool = False
    instruction_k: int = 0

    @property
    def held(self) -> Carrier | None:
        """Carrier of a group sum."""
        return carrier(self.a, self.b) if isinstance(self.accumulation, GroupSum) else None

    @property
    def value(self) -> ir.Type:
        """Type that the panels hold."""
        if self.held:
            return self.held.value
        return F64 if self.out.bits == 64 else F32

    @property
    def depth(self) -> int:
        """Values of k per panel."""
        return self.instruction_k if self.saturate and self.instruction_k else DEPTH


def scratch_bytes(arithmetic: Arithmetic) -> int:
    """Bytes of working memory that one call of `product` needs."""
    width = 8 if arithmetic.value == F64 else 4
    panel = (width + 2) * DEPTH
    return (ROWS + COLUMNS) * panel + ROWS * COLUMNS * 8 + 4096


@functools.cache
def product(arithmetic: Arithmetic) -> Callable[..., None]:
    """Native function ``(d, a, b, order, m, n, k, lda, ldb, ldd, count, step_a, step_b, step_d, scratch)``.

    Pointers to codes, row-major with leading dimensions in elements; ``order`` holds the k index of each of
    the ``k`` steps as int64, -1 for a zero on both sides; ``count`` products lie ``step_*`` elements apart.
    """
    types = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 10 + [ctypes.c_void_p]
    address = function_address("product", [arithmetic], lambda module: _write(module, arithmetic), SOURCES)
    return ctypes.CFUNCTYPE(None, *types)(address)


def _write(module: ir.Module, what: Arithmetic) -> None:
    kernel = Kernel(module, "product", [POINTER] * 4 + [I64] * 10 + [POINTER])
    d, a, b, order, m, n, ks, lda, ldb, ldd, count, step_a, step_b, step_d, scratch = kernel.arguments
    held, depth = what.held, what.depth
    value, exponent = what.value, held.exponent if held else None
    result = STORAGE[what.out.bits]
    codes_a, codes_b = STORAGE[what.a.bits], STORAGE[what.b.bits]

    # Working memory: the panels, then the block of accumulators.
    place = 0

    def memory(type_: ir.Type, elements: int) -> Value:
        nonlocal place
        width = {F32: 4, F64: 8}.get(type_) or type_.width // 8
        start = place
        place += -(-elements * width // 64) * 64
        return kernel.address(scratch, start, I8)

    # Rows of A are decoded in full vectors, so the last one may write past a shallow panel.
    a_values, b_values = memory(value, ROWS * depth + LANES), memory(value, depth * COLUMNS)
    a_exponents = memory(exponent, ROWS * depth + LANES) if exponent else None
    b_exponents = memory(exponent, depth * COLUMNS) if exponent else None
    accumulators = memory(result, ROWS * COLUMNS)
    row_codes = memory(codes_a, depth + LANES)
    column_codes = memory(codes_b, COLUMNS)

    def put(codes: Value, format: Format, values: Value, exponents: Value | None, index: Value) -> None:
        """Decode codes into a panel."""
        if format.bits == 64:
            codes.bitcast(F64).store(values, index)
            return
        unpack(codes.to(I32, signed=False), format, value, held, values, exponents, index)

    with kernel.loop(count) as batch:
        a0 = kernel.address(a, batch * step_a, codes_a)
        b0 = kernel.address(b, batch * step_b, codes_b)
        d0 = kernel.address(d, batch * step_d, result)
        with kernel.loop(m, step=ROWS) as i0:
            rows = (m - i0).minimum(ROWS)
            with kernel.loop(ks, step=depth) as k0:
                here = (ks - k0).minimum(depth)
                with kernel.loop(rows) as i:
                    row = kernel.address(a0, (i0 + i) * lda, codes_a)
                    with kernel.loop(here) as k:
                        source = kernel.load(order, k0 + k, I64)
                        code = kernel.load(row, source.maximum(0), codes_a)
                        (source < 0).select(code.like(0), code).store(row_codes, k)
                    with kernel.loop(here, step=LANES) as k:
                        put(
                            kernel.load(row_codes, k, vector(codes_a, LANES)),
                            what.a,
                            a_values,
                            a_exponents,
                            i * depth + k,
                        )
                with kernel.loop(n, step=COLUMNS) as j0:
                    columns = (n - j0).minimum(COLUMNS)
                    whole = columns.equals(COLUMNS)
                    with kernel.loop(here) as k:
                        source = kernel.load(order, k0 + k, I64)
                        row = kernel.address(b0, source.maximum(0) * ldb + j0, codes_b)
                        with kernel.builder.if_else((whole & (source >= 0)).raw, likely=True) as (usual, edge):
                            with usual:
                                for first in range(0, COLUMNS, LANES):
                                    put(
                                        kernel.load(row, first, vector(codes_b, LANES)),
                                        what.b,
                                        b_values,
                                        b_exponents,
                                        k * COLUMNS + first,
                                    )
                            with edge:
                                for first in range(0, COLUMNS, LANES):
                                    kernel.constant(vector(codes_b, LANES), 0).store(column_codes, first)
                                with kernel.loop((source < 0).select(columns.like(0), columns)) as j:
                                    kernel.load(row, j, codes_b).store(column_codes, j)
                                with kernel.loop(COLUMNS, step=LANES) as j:
                                    put(
                                        kernel.load(column_codes, j, vector(codes_b, LANES)),
                                        what.b,
                                        b_values,
                                        b_exponents,
                                        k * COLUMNS + j,
                                    )
                    _copy(kernel, what.out, accumulators, d0, rows, columns, whole, (i0, j0, ldd), read=True)
                    _add(kernel, what, rows, here, a_values, a_exponents, b_values, b_exponents, accumulators)
                    _copy(kernel, what.out, accumulators, d0, rows, columns, whole, (i0, j0, ldd), read=False)
    kernel.finish()


def _copy(
    kernel: Kernel,
    out: Format,
    accumulators: Value,
    d: Value,
    rows: Value,
    columns: Value,
    whole: Value,
    place: tuple[Value, Value, Value],
    read: bool,
) -> None:
    """Move the block of accumulators from the destination (``read``) or back to it."""
    i0, j0, ldd = place
    result = STORAGE[out.bits]

    def move(block: Value, matrix: Value, index: Value | int, type_: ir.Type) -> None:
        if read:
            kernel.load(matrix, index, type_).store(block, index)
        else:
            with_quiet_nans(kernel.load(block, index, type_), out).store(matrix, index)

    with kernel.loop(rows) as i:
        matrix = kernel.address(d, (i0 + i) * ldd + j0, result)
        block = kernel.address(accumulators, i * COLUMNS, result)
        with kernel.builder.if_else(whole.raw) as (usual, edge):
            with usual:
                for first in range(0, COLUMNS, LANES):
                    move(block, matrix, first, vector(result, LANES))
            with edge, kernel.loop(columns) as j:
                move(block, matrix, j, result)


def _add(
    kernel: Kernel,
    what: Arithmetic,
    rows: Value,
    ks: Value,
    a: Value,
    a_exponents: Value | None,
    b: Value,
    b_exponents: Value | None,
    accumulators: Value,
) -> None:
    """Run the rule over a panel of A and one of B."""
    match what.accumulation:
        case FmaChain():
            rows = (rows + 5) // 6 * 6
            add_chains(kernel, what.value, rows, COLUMNS, ks, a, what.depth, b, accumulators, what.saturate)
        case IntegerSum():
            rows = (rows + 5) // 6 * 6
            add_integers(kernel, rows, COLUMNS, ks, a, what.depth, b, accumulators, what.saturate)
        case GroupSum() as rule:
            held = what.held
            assert held and a_exponents and b_exponents
            with kernel.loop(ks, step=rule.group) as k0, kernel.loop(rows) as i:
                start = i * what.depth + k0

                def row(panel: Value, type_: ir.Type) -> Load:
                    return lambda k, j, n: kernel.load(panel, start + k, type_)

                def columns(panel: Value, type_: ir.Type) -> Load:
                    return lambda k, j, n: kernel.load(panel, (k0 + k) * COLUMNS + j, vector(type_, n))

                add_group(
                    kernel,
                    rule,
                    held,
                    COLUMNS,
                    Side(row(a, held.value), row(a_exponents, held.exponent)),
                    Side(columns(b, held.value), columns(b_exponents, held.exponent)),
                    accumulators,
                    i * COLUMNS,
                    saturate=what.saturate,
                )
