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
from mfma.isa.accumulation import Accumulation, FmaChain, GroupSum
from mfma.native.jit import function_address
from mfma.native.simd import F32, F64, I8, I64, POINTER, Kernel, Value, bits, vector
from mfma.numerics.chain import Walk, add_chains, add_integers
from mfma.numerics.group_sum import LANES, Load, Side, add_group
from mfma.numerics.panels import STORAGE, Carrier, Panel, carrier, with_quiet_nans

__all__ = ["COLUMNS", "Arithmetic", "product", "scratch_bytes"]

COLUMNS = 64
"""Columns of B in a panel."""
DEPTH = 128
"""Values of k in a panel: a multiple of every instruction's k and every group."""

SOURCES = tuple(f"mfma.numerics.{name}" for name in ("blocks", "chain", "group_sum", "panels", "nans"))


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
    def rows(self) -> int:
        """Rows of A in a panel: a multiple of the register tiles, and few enough for the panel to stay in cache.

        Every panel of A decodes all of B anew, which weighs more the faster the rule is.
        """
        return 96 if self.held else 288

    @property
    def depth(self) -> int:
        """Values of k per panel: of integers as many as may share a float32 sum, which saves conversions."""
        if self.saturate and self.instruction_k:
            return self.instruction_k
        return 4 * DEPTH if self.out.is_integer else DEPTH


def scratch_bytes(arithmetic: Arithmetic) -> int:
    """Bytes of working memory that one call of `product` needs."""
    width = 8 if arithmetic.value == F64 else 4
    panel = (width + 2) * max(arithmetic.depth, DEPTH)
    return (arithmetic.rows + COLUMNS) * panel + arithmetic.rows * COLUMNS * 8 + 4096


@functools.cache
def product(arithmetic: Arithmetic) -> Callable[..., None]:
    """Native function ``(d, a, b, order, m, n, k, lda, ldb, ldd, count, step_a, step_b, step_d, scratch)``.

    Pointers to codes, row-major with leading dimensions in elements; ``order`` holds the k index of each of
    the ``k`` steps as int64, -1 for a zero on both sides; ``count`` products lie ``step_*`` elements apart.
    """
    types = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 10 + [ctypes.c_void_p]
    address = function_address("product", [arithmetic], lambda module: _Product(module, arithmetic), SOURCES)
    return ctypes.CFUNCTYPE(None, *types)(address)


class _Product:
    """Writer of the function: three loops around a block of the result, which one panel of each operand serves."""

    def __init__(self, module: ir.Module, what: Arithmetic):
        self.what = what
        self.kernel = kernel = Kernel(module, "product", [POINTER] * 4 + [I64] * 10 + [POINTER])
        d, a, b, self.order, m, n, ks, lda, ldb, ldd, count, step_a, step_b, step_d, scratch = kernel.arguments
        self.codes_a, self.codes_b, self.codes_d = (STORAGE[f.bits] for f in (what.a, what.b, what.out))
        self.leads = lda, ldb, ldd
        self._memory = 0

        # Rows of A are decoded in full vectors, so the last one may write past a shallow panel.
        self.a = self._panel(scratch, what.a, what.rows * what.depth + LANES)
        self.b = self._panel(scratch, what.b, COLUMNS * what.depth)
        self.block = self._take(scratch, self.codes_d, what.rows * COLUMNS)
        self.gathered = self._take(scratch, self.codes_a, what.depth + LANES)
        self.padded = self._take(scratch, self.codes_b, COLUMNS)

        with kernel.loop(count) as batch:
            a0 = kernel.address(a, batch * step_a, self.codes_a)
            b0 = kernel.address(b, batch * step_b, self.codes_b)
            d0 = kernel.address(d, batch * step_d, self.codes_d)
            with kernel.loop(m, step=what.rows) as i0, kernel.loop(ks, step=what.depth) as k0:
                rows, depth = (m - i0).minimum(what.rows), (ks - k0).minimum(what.depth)
                self._pack_a(a0, i0, rows, k0, depth)
                with kernel.loop(n, step=COLUMNS) as j0:
                    columns = (n - j0).minimum(COLUMNS)
                    self._pack_b(b0, j0, columns, k0, depth)
                    here = kernel.address(d0, i0 * ldd + j0, self.codes_d)
                    self._move_block(here, rows, columns, read=True)
                    self._add(rows, depth)
                    self._move_block(here, rows, columns, read=False)
        kernel.finish()

    def _take(self, scratch: Value, type_: ir.Type, elements: int) -> Value:
        """A piece of the working memory, from a cache line on."""
        start = self._memory
        self._memory += -(-elements * bits(type_) // 512) * 64
        return self.kernel.address(scratch, start, I8)

    def _panel(self, scratch: Value, format: Format, elements: int) -> Panel:
        held = self.what.held
        values = self._take(scratch, self.what.value, elements)
        exponents = self._take(scratch, held.exponent, elements) if held else None
        return Panel(format, held, values, exponents)

    def _pack_a(self, a: Value, i0: Value, rows: Value, k0: Value, depth: Value) -> None:
        """Decode rows ``i0`` and on of A to ``[row, k]``."""
        kernel = self.kernel
        with kernel.loop(rows) as i:
            row = kernel.address(a, (i0 + i) * self.leads[0], self.codes_a)
            with kernel.loop(depth) as k:
                source = kernel.load(self.order, k0 + k, I64)
                code = kernel.load(row, source.maximum(0), self.codes_a)
                (source < 0).select(code.like(0), code).store(self.gathered, k)
            with kernel.loop(depth, step=LANES) as k:
                codes = kernel.load(self.gathered, k, vector(self.codes_a, LANES))
                self.a.put(codes, i * self.what.depth + k)

    def _pack_b(self, b: Value, j0: Value, columns: Value, k0: Value, depth: Value) -> None:
        """Decode columns ``j0`` and on of B to ``[k, column]``; columns that do not exist are zeros."""
        kernel = self.kernel
        with kernel.loop(depth) as k:
            source = kernel.load(self.order, k0 + k, I64)
            row = kernel.address(b, source.maximum(0) * self.leads[1] + j0, self.codes_b)
            whole = columns.equals(COLUMNS) & (source >= 0)

            def decode_from(codes: Value, k: Value = k) -> None:
                with kernel.loop(COLUMNS, step=LANES) as j:
                    self.b.put(kernel.load(codes, j, vector(self.codes_b, LANES)), k * COLUMNS + j)

            with kernel.builder.if_else(whole.raw, likely=True) as (usual, edge):
                with usual:
                    decode_from(row)
                with edge:
                    with kernel.loop(COLUMNS) as j:
                        kernel.constant(self.codes_b, 0).store(self.padded, j)
                    with kernel.loop((source < 0).select(columns.like(0), columns)) as j:
                        kernel.load(row, j, self.codes_b).store(self.padded, j)
                    decode_from(self.padded)

    def _move_block(self, d: Value, rows: Value, columns: Value, read: bool) -> None:
        """Copy a block of accumulators from the destination (``read``) or back to it."""
        kernel, codes = self.kernel, self.codes_d

        def move(block: Value, matrix: Value, index: Value, type_: ir.Type) -> None:
            if read:
                kernel.load(matrix, index, type_).store(block, index)
            else:
                with_quiet_nans(kernel.load(block, index, type_), self.what.out).store(matrix, index)

        with kernel.loop(rows) as i:
            matrix = kernel.address(d, i * self.leads[2], codes)
            block = kernel.address(self.block, i * COLUMNS, codes)
            with kernel.builder.if_else(columns.equals(COLUMNS).raw, likely=True) as (usual, edge):
                with usual, kernel.loop(COLUMNS, step=LANES) as j:
                    move(block, matrix, j, vector(codes, LANES))
                with edge, kernel.loop(columns) as j:
                    move(block, matrix, j, codes)

    def _add(self, rows: Value, depth: Value) -> None:
        """Run the rule over the two panels."""
        what, kernel, rule = self.what, self.kernel, self.what.accumulation
        if not isinstance(rule, GroupSum):
            walk = Walk(kernel, rows, COLUMNS, depth, self.a.values, what.depth, self.b.values, self.block)
            if isinstance(rule, FmaChain):
                add_chains(walk, what.value, saturate=what.saturate)
            else:
                add_integers(walk, saturate=what.saturate)
            return
        held = carrier(what.a, what.b)
        with kernel.loop(depth, step=rule.group) as k0, kernel.loop(rows) as i:
            start = i * what.depth + k0

            def row(panel: Value, type_: ir.Type) -> Load:
                return lambda k, j, n: kernel.load(panel, start + k, type_)

            def columns(panel: Value, type_: ir.Type) -> Load:
                return lambda k, j, n: kernel.load(panel, (k0 + k) * COLUMNS + j, vector(type_, n))

            a = Side(row(self.a.values, held.value), row(self.a.exponents, held.exponent))
            b = Side(columns(self.b.values, held.value), columns(self.b.exponents, held.exponent))
            add_group(kernel, rule, held, COLUMNS, a, b, self.block, i * COLUMNS, saturate=what.saturate)
