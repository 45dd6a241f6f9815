"""Native entries: one instruction on raw registers, for compiled callers and for `mfma.op` alike.

The operands are 32-bit registers of 64 lanes, register by register: lane L of register r is word ``64*r + L``
behind the operand's pointer, as an emulator keeps them. Placement comes from the layout's pattern, arithmetic
from the rules of `mfma.numerics`; in registers a row of D is a run of neighbouring lanes, as is a row of B, so
the same vector code that works on whole matrices works here in place.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from mfma.formats import F32 as F32_FORMAT
from mfma.isa.accumulation import GroupSum, IntegerSum
from mfma.isa.spec import WAVE, Blgp, MatrixOp, Operand
from mfma.layout import lane_sources, operand_pattern
from mfma.native.jit import function_address
from mfma.native.simd import F32, F64, I32, I64, POINTER, Kernel, Value, vector
from mfma.numerics.blocks import SOURCES as ARITHMETIC_SOURCES
from mfma.numerics.blocks import Arithmetic
from mfma.numerics.chain import saturated
from mfma.numerics.group_sum import LANES, Load, Side, add_group
from mfma.numerics.panels import Panel, carrier, with_quiet_nans

__all__ = ["NativeEntry", "native_entry"]

SOURCES = ("mfma.builtins.entry", "mfma.layout.patterns", "mfma.layout.sources", *ARITHMETIC_SOURCES)


@dataclass(frozen=True)
class NativeEntry:
    """Machine code of one instruction.

    ``address`` is a C function ``void (uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c,
    int64_t cbsz, int64_t abid, int64_t blgp, int64_t waves, int64_t step_d, int64_t step_a, int64_t step_b,
    int64_t step_c)``; wave w finds its operands ``w * step`` words behind the pointers. D may be C, A or B: a wave
    reads all its operands before it writes. The modifiers must be legal (`mfma.isa.modifiers.check_modifiers`).
    The floating-point environment of the calling thread neither matters nor changes. ``call`` is the function for
    ctypes.
    """

    address: int
    call: Callable[..., None]


@functools.cache
def native_entry(op: MatrixOp, fp16_ovfl: bool = False) -> NativeEntry:
    """Machine code of ``op``, compiled at the first use and kept on disk."""
    saturate = fp16_ovfl and (op.out == F32_FORMAT or op.out.is_integer)
    name = op.mnemonic
    address = function_address(name, [op, saturate], lambda module: _Entry(module, name, op, saturate), SOURCES)
    types = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 8
    return NativeEntry(address, ctypes.CFUNCTYPE(None, *types)(address))


class _Entry:
    """Writer of one entry."""

    def __init__(self, module: ir.Module, name: str, op: MatrixOp, saturate: bool):
        assert op.accumulation is not None
        self.op = op
        self.what = Arithmetic(op.a, op.b, op.out, op.accumulation, saturate)
        self.kernel = kernel = Kernel(module, name, [POINTER] * 4 + [I64] * 8)
        d, a, b, c, cbsz, abid, blgp, waves, step_d, step_a, step_b, step_c = kernel.arguments
        registers = op.registers
        self.a = self._panel(registers.a)
        self.b = self._panel(registers.b)
        self.tile = kernel.array(F64 if op.out.bits == 64 else I32, WAVE * registers.cd.elements)
        self.sources = kernel.array(I64, WAVE)

        with kernel.loop(waves) as wave:
            a_here, b_here, c_here, d_here = (
                kernel.address(pointer, wave * step, I32)
                for pointer, step in ((a, step_a), (b, step_b), (c, step_c), (d, step_d))
            )
            self._read_operand(self.a, registers.a.vgprs, a_here, self._broadcast(cbsz, abid), blgp & 1)
            self._read_operand(self.b, registers.b.vgprs, b_here, self._lane_pattern(blgp), blgp.shr(1) & 1)
            self._read_accumulator(c_here, blgp.shr(2) & 1)
            for strip in self._strips():
                self._add(strip)
            self._write_result(d_here)
        kernel.finish()

    def _panel(self, operand: Operand) -> Panel:
        held, size = self.what.held, WAVE * operand.elements
        values = self.kernel.array(self.what.value, size)
        return Panel(operand.format, held, values, self.kernel.array(held.exponent, size) if held else None)

    def _broadcast(self, cbsz: Value, abid: Value) -> tuple[Value, Callable[[], Value]]:
        """Whether ``cbsz`` acts, and code that gives the lanes that A is then read from."""
        op, kernel = self.op, self.kernel

        def lanes() -> Value:
            with kernel.loop(WAVE) as lane:
                block = lane.shr(op.m.bit_length() - 1) & (op.blocks - 1)
                (lane + ((block >> cbsz << cbsz) + abid - block) * op.m).store(self.sources, lane)
            return self.sources

        return cbsz > 0, lanes

    def _lane_pattern(self, blgp: Value) -> tuple[Value, Callable[[], Value]]:
        """Whether ``blgp`` permutes the lanes of B, and code that gives the lanes it is then read from."""
        op, kernel = self.op, self.kernel
        if op.blgp is not Blgp.LANES:
            return blgp < 0, lambda: self.sources
        table = [lane for value in range(8) for lane in lane_sources(op, "B", blgp=value) or range(WAVE)]

        def lanes() -> Value:
            data = kernel.table(I64, table, "lanes")
            return kernel.address(data, blgp * WAVE, I64)

        return blgp > 0, lanes

    def _read_operand(
        self, panel: Panel, vgprs: int, registers: Value, modifier: tuple[Value, Callable[[], Value]], negate: Value
    ) -> None:
        """Decode registers into a panel ``[element, lane]``, through the lanes that a modifier selects."""
        kernel = self.kernel
        moved = kernel.array(I32, WAVE * vgprs)
        acts, lanes = modifier
        with kernel.builder.if_else(acts.raw, likely=False) as (rare, usual):
            with rare:
                table = lanes()
                for r in range(vgprs):
                    with kernel.loop(WAVE) as lane:
                        source = kernel.load(table, lane, I64)
                        kernel.load(registers, source + r * WAVE, I32).store(moved, lane + r * WAVE)
            with usual, kernel.loop(WAVE * vgprs, step=LANES) as word:
                kernel.load(registers, word, vector(I32, LANES)).store(moved, word)
        with kernel.loop(WAVE, step=LANES) as lane:
            words = [kernel.load(moved, lane + r * WAVE, vector(I32, LANES)) for r in range(vgprs)]
            bits = panel.format.bits
            if bits == 64:
                panel.put(_join(*words) ^ (negate << 63).splat(LANES), lane)
            for element in range(32 * vgprs // bits if bits < 64 else 0):
                word, low = words[element * bits // 32], element * bits % 32
                panel.put(word.shr(low) & ((1 << bits) - 1) if bits < 32 else word, lane + element * WAVE)

    def _read_accumulator(self, registers: Value, negate: Value) -> None:
        kernel, tile, elements = self.kernel, self.tile, self.op.registers.cd.elements
        with kernel.loop(elements) as element, kernel.loop(WAVE, step=LANES) as lane:
            if self.op.out.bits == 64:
                low = kernel.load(registers, element * 2 * WAVE + lane, vector(I32, LANES))
                high = kernel.load(registers, (element * 2 + 1) * WAVE + lane, vector(I32, LANES))
                (_join(low, high) ^ (negate << 63).splat(LANES)).store(tile, element * WAVE + lane)
            else:
                kernel.load(registers, element * WAVE + lane, vector(I32, LANES)).store(tile, element * WAVE + lane)

    def _write_result(self, registers: Value) -> None:
        kernel, tile, elements = self.kernel, self.tile, self.op.registers.cd.elements
        with kernel.loop(elements) as element, kernel.loop(WAVE, step=LANES) as lane:
            if self.op.out.bits == 64:
                code = with_quiet_nans(kernel.load(tile, element * WAVE + lane, vector(I64, LANES)), self.op.out)
                code.to(I32).store(registers, element * 2 * WAVE + lane)
                code.shr(32).to(I32).store(registers, (element * 2 + 1) * WAVE + lane)
            else:
                code = kernel.load(tile, element * WAVE + lane, vector(I32, LANES))
                with_quiet_nans(code, self.op.out).store(registers, element * WAVE + lane)

    def _strips(self) -> Iterator[_Strip]:
        """Runs of neighbouring lanes of the result that one piece of vector code computes.

        A run is a row of one block; of 4x4 blocks, whose rows are short, the same row of four blocks.
        """
        op, kernel = self.op, self.kernel
        rows = kernel.table(I64, _first_lanes(op), "rows")
        if op.n >= LANES:
            with kernel.loop(op.blocks) as block, kernel.loop(op.m) as i:
                yield _Strip(block, i, [], kernel.load(rows, block * op.m + i, I64), op.n)
        else:
            with kernel.loop(op.blocks, step=LANES // op.n) as block:
                for row in range(op.m):
                    spread = [lane // op.n * op.m + row for lane in range(LANES)]
                    yield _Strip(block, None, spread, kernel.load(rows, block * op.m + row, I64), LANES)

    def _loads(self, strip: _Strip, a: Value, b: Value, element: ir.Type) -> tuple[Load, Load]:
        """How a strip loads its row of A and its columns of B from panels."""
        op, kernel = self.op, self.kernel

        def first_lane(k: int, width: int, elements: int) -> Value:
            group, slot = divmod(k, elements)
            return (strip.block + group * op.blocks) * width + slot * WAVE

        def load_a(k: int, first: int, columns: int) -> Value:
            start = first_lane(k, op.m, op.registers.a.elements)
            if strip.i is None:
                return kernel.load(a, start, vector(element, LANES)).shuffle(strip.spread)
            return kernel.load(a, start + strip.i, element)

        def load_b(k: int, first: int, columns: int) -> Value:
            start = first_lane(k, op.n, op.registers.b.elements)
            return kernel.load(b, start + first, vector(element, columns))

        return load_a, load_b

    def _add(self, strip: _Strip) -> None:
        """Run the rule over all k of the instruction for one strip."""
        kernel, tile, rule, what = self.kernel, self.tile, self.op.accumulation, self.what
        x, y = self._loads(strip, self.a.values, self.b.values, what.value)
        if isinstance(rule, GroupSum):
            held = carrier(what.a, what.b)
            xe, ye = self._loads(strip, self.a.exponents, self.b.exponents, held.exponent)
            for first in range(0, self.op.k, rule.group):
                row, columns = Side(_from(x, first), _from(xe, first)), Side(_from(y, first), _from(ye, first))
                add_group(kernel, rule, held, strip.columns, row, columns, tile, strip.offset, saturate=what.saturate)
            return
        for first in range(0, strip.columns, LANES):
            place = strip.offset + first
            result = vector(F64 if what.value == F64 else F32, LANES)
            if isinstance(rule, IntegerSum):
                total = kernel.constant(result, 0.0)
                for k in range(self.op.k):
                    total = y(k, first, LANES).fma(x(k, first, LANES), total)
                c = kernel.load(tile, place, vector(I32, LANES))
                whole = total.to(I32)
                (c.add_saturating(whole) if what.saturate else c + whole).store(tile, place)
            else:
                d = kernel.load(tile, place, result)
                for k in range(self.op.k):
                    u, v = y(k, first, LANES), x(k, first, LANES).splat(LANES)
                    step = u.fma(v, d)
                    d = saturated(u, v, d, step) if what.saturate else step
                d.store(tile, place)


@dataclass(frozen=True)
class _Strip:
    """``columns`` results from lane position ``offset`` of the tile on, and the part of A that makes them.

    Row ``i`` of ``block``; or, if ``i`` is None, one row of several blocks: lane t takes A from lane spread[t].
    """

    block: Value
    i: Value | None
    spread: list[int]
    offset: Value
    columns: int


def _from(load: Load, first: int) -> Load:
    return lambda k, j, n: load(first + k, j, n)


def _join(low: Value, high: Value) -> Value:
    """Two 32-bit registers as one of 64."""
    return low.to(I64, signed=False) | high.to(I64, signed=False) << 32


def _first_lanes(op: MatrixOp) -> list[int]:
    """Where row i of every block of D begins in the tile ``[element, lane]``; its columns follow lane by lane."""
    lanes = operand_pattern(op, "D").to_matrices(np.arange(WAVE * op.registers.cd.elements).reshape(-1, WAVE).T)
    return [int(x) for x in lanes[:, :, 0].ravel()]
