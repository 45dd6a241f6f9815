"""The exact model: the whole sum and C in fixed point, rounded once.

Every product is an integer at a known power of two, so a long enough accumulator holds any sum without an
error (Kulisch, "Computer Arithmetic and Validity", 2013). Its digits have 32 bits and live in int64, so a
billion products may pass before a carry must be taken care of; that happens once, at the end.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from mfma.formats import Format
from mfma.native.jit import function_address
from mfma.native.simd import F32, F64, I8, I32, I64, POINTER, Kernel, Value
from mfma.numerics.panels import STORAGE, decode, with_quiet_nans

__all__ = ["exact_product", "exact_scratch_bytes"]

BLOCK = 16
"""Rows and columns of outputs whose accumulators are open at once."""
DEPTH = 512
"""Values of k that are decoded at a time."""
I128 = ir.IntType(128)
SPECIAL = 1 << 20
"""Exponent that marks an infinity or a NaN."""


@dataclass(frozen=True)
class Register:
    """The long accumulator of a pair of formats: ``lowest`` is the weight of its last bit."""

    lowest: int
    digits: int

    @classmethod
    def of(cls, a: Format, b: Format, out: Format) -> Register:
        """Smallest that holds 2**30 products and a C."""
        lowest = min(_last_bit(a) + _last_bit(b), _last_bit(out))
        highest = max(a.max_exponent + b.max_exponent + 2, out.max_exponent + 1)
        return cls(lowest, -(-(highest - lowest + 32) // 32) + 5)


def _last_bit(format: Format) -> int:
    # Operands pass through float32 as their decoder gives them, whose significand has 23 bits after the point.
    return format.min_exponent - max(format.significand, 23 if format.bits <= 32 else 52)


def exact_scratch_bytes(a: Format, b: Format, out: Format) -> int:
    """Bytes of working memory that one call needs."""
    return BLOCK * BLOCK * Register.of(a, b, out).digits * 8 + 2 * BLOCK * DEPTH * 12 + 4096


@functools.cache
def exact_product(a: Format, b: Format, out: Format, saturate: bool) -> Callable[..., None]:
    """Native function with the arguments of `mfma.numerics.blocks.product`, for float formats."""
    types = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 10 + [ctypes.c_void_p]
    sources = ("mfma.numerics.exact_sum", "mfma.numerics.panels", "mfma.numerics.nans")
    address = function_address(
        "exact", [a, b, out, saturate], lambda module: _Exact(module, a, b, out, saturate), sources
    )
    return ctypes.CFUNCTYPE(None, *types)(address)


class _Exact:
    """Writer of the function: a block of outputs has its accumulators open while k passes by."""

    def __init__(self, module: ir.Module, a: Format, b: Format, out: Format, saturate: bool):
        self.kernel = kernel = Kernel(module, "exact", [POINTER] * 4 + [I64] * 10 + [POINTER])
        d, self.pa, self.pb, self.order, m, n, ks, lda, ldb, self.ldd, count, *steps, scratch = kernel.arguments
        self.a, self.b, self.out, self.saturate, self.ks = a, b, out, saturate, ks
        self.register = Register.of(a, b, out)
        limbs = BLOCK * BLOCK * self.register.digits
        decoded = BLOCK * DEPTH
        at = [0, *itertools.accumulate((8 * limbs, 8 * decoded, 8 * decoded, 4 * decoded, 4 * decoded))]
        self.limbs, xs, ys, x_exponents, y_exponents, _ = (kernel.address(scratch, place, I8) for place in at)
        self.x, self.y = _Side(a, xs, x_exponents), _Side(b, ys, y_exponents)
        self.specials = kernel.array(F64, BLOCK * BLOCK)
        self.answer = kernel.array(I64, 1)

        types = [STORAGE[f.bits] for f in (a, b, out)]
        with kernel.loop(count) as batch, kernel.loop(m, step=BLOCK) as i0, kernel.loop(n, step=BLOCK) as j0:
            row = kernel.address(self.pa, batch * steps[0] + i0 * lda, types[0])
            column = kernel.address(self.pb, batch * steps[1] + j0, types[1])
            result = kernel.address(d, batch * steps[2] + i0 * self.ldd + j0, types[2])
            rows, columns = (m - i0).minimum(BLOCK), (n - j0).minimum(BLOCK)
            with kernel.loop(limbs) as index:
                kernel.constant(I64, 0).store(self.limbs, index)
            with kernel.loop(BLOCK * BLOCK) as index:
                kernel.constant(F64, 0.0).store(self.specials, index)
            one = kernel.constant(I64, 1)
            with kernel.loop(ks, step=DEPTH) as k0:
                depth = (ks - k0).minimum(DEPTH)
                with kernel.loop(depth) as k:
                    source = kernel.load(self.order, k0 + k, I64)
                    self._unpack(self.x, row, rows, lda, one, source, k)
                    self._unpack(self.y, column, columns, one, ldb, source, k)
                with kernel.loop(rows) as i, kernel.loop(columns) as j, kernel.loop(depth) as k:
                    self._add_product(i, j, k)
            with kernel.loop(rows) as i, kernel.loop(columns) as j:
                zeros = _Zeros(kernel.address(row, i * lda, types[0]), kernel.address(column, j, types[1]), ldb)
                self._finish(kernel.address(result, i * self.ldd + j, types[2]), i * BLOCK + j, zeros)
        kernel.finish()

    def _unpack(
        self, side: _Side, codes: Value, count: Value, outer: Value, inner: Value, source: Value, k: Value
    ) -> None:
        """Decode element ``source`` (-1: zero) of every row of A, or column of B, that is open."""
        kernel = self.kernel
        with kernel.loop(count) as line:
            code = kernel.load(codes, line * outer + source.maximum(0) * inner, STORAGE[side.format.bits])
            significand, exponent = _parts((source < 0).select(code.like(0), code), side.format)
            significand.store(side.significands, line * DEPTH + k)
            exponent.store(side.exponents, line * DEPTH + k)

    def _accumulator(self, output: Value) -> Value:
        return self.kernel.address(self.limbs, output * self.register.digits, I64)

    def _add_product(self, i: Value, j: Value, k: Value) -> None:
        kernel, output = self.kernel, i * BLOCK + j
        (x, ex), (y, ey) = (
            (kernel.load(side.significands, at * DEPTH + k, I64), kernel.load(side.exponents, at * DEPTH + k, I32))
            for side, at in ((self.x, i), (self.y, j))
        )
        with kernel.builder.if_else((ex + ey > SPECIAL // 2).raw, likely=False) as (rare, usual):
            with usual:
                _deposit(kernel, self.register, self._accumulator(output), x, y, ex + ey, wide=self.a.bits == 64)
            with rare:
                product = _as_double(x, ex) * _as_double(y, ey)
                (kernel.load(self.specials, output, F64) + product).store(self.specials, output)

    def _finish(self, d: Value, output: Value, zeros: _Zeros) -> None:
        """Add C, round, and let specials and -0 have their way."""
        kernel, out = self.kernel, self.out
        accumulator = self._accumulator(output)
        c = kernel.load(d, 0, STORAGE[out.bits])
        significand, exponent = _parts(c, out)
        special = exponent > SPECIAL // 2
        with kernel.when(special ^ 1):
            one = kernel.constant(I64, 1)
            _deposit(kernel, self.register, accumulator, significand, one, exponent, wide=False)
        decided = kernel.load(self.specials, output, F64)
        decided = special.select(decided + _as_double(significand, exponent), decided)
        rounded = _round(kernel, self.register, accumulator, out, self.saturate)
        rounded.store(self.answer)
        minus_zero = _signed(1 << out.bits - 1, 64)
        with kernel.when(rounded.equals(0) & c.to(I64, signed=False).equals(minus_zero)):
            kernel.constant(I64, minus_zero).store(self.answer)
            self._look_for_other_than_minus_zero(zeros)
        bits = decided.bitcast(I64) if out.bits == 64 else decided.to(F32).bitcast(I32).to(I64)
        final = decided.equals(0.0).select(kernel.load(self.answer, 0, I64), bits)
        with_quiet_nans(final.to(STORAGE[out.bits]), out).store(d)

    def _look_for_other_than_minus_zero(self, zeros: _Zeros) -> None:
        """A zero sum is -0 only if C and every product are: the rare case that looks at the operands again."""
        kernel = self.kernel
        with kernel.loop(self.ks) as k:
            source = kernel.load(self.order, k, I64)
            x = kernel.load(zeros.row, source.maximum(0), STORAGE[self.a.bits])
            y = kernel.load(zeros.column, source.maximum(0) * zeros.ldb, STORAGE[self.b.bits])
            product = _parts(x, self.a)[0] * _parts(y, self.b)[0]
            negative = (x < 0) ^ (y < 0)
            with kernel.when((source < 0) | (product.equals(0) & negative) ^ 1):
                kernel.constant(I64, 0).store(self.answer)


@dataclass(frozen=True)
class _Side:
    """Decoded operands ``[row of A or column of B, k]``."""

    format: Format
    significands: Value
    exponents: Value


@dataclass(frozen=True)
class _Zeros:
    """Where the codes of one output's operands lie."""

    row: Value
    column: Value
    ldb: Value


def _signed(pattern: int, bits: int) -> int:
    return pattern - (1 << bits) if pattern >> bits - 1 else pattern


def _parts(code: Value, format: Format) -> tuple[Value, Value]:
    """Signed integer significand (i64) and the power of two (i32) that it counts.

    An infinity or a NaN has the exponent `SPECIAL` and its float64 bits as the significand.
    """
    if format.bits == 64:
        field = (code.shr(52) & 0x7FF).to(I32)
        fraction = code & ((1 << 52) - 1)
        magnitude = (field > 0).select(fraction | (1 << 52), fraction)
        significand = (code < 0).select(magnitude * -1, magnitude)
        special, exponent = field.equals(0x7FF), field.maximum(1) - 1075
        return special.select(code, significand), special.select(exponent.like(SPECIAL), exponent)
    number, exponent, _, special = decode(code.to(I32, signed=False), format)
    value = number.to(F64)
    # Scaled by the code's own exponent the value is an integer: float32 has 23 bits after the point.
    scaled = value * (1023 + 23 - exponent.to(I64) << 52).bitcast(F64)
    significand = special.select(scaled.like(0.0), scaled).to(I64)
    exponent = exponent - 23
    return special.select(value.bitcast(I64), significand), special.select(exponent.like(SPECIAL), exponent)


def _as_double(significand: Value, exponent: Value) -> Value:
    """Value of a special; of a finite factor beside one only the sign, and whether it is zero, matter."""
    return (exponent > SPECIAL // 2).select(significand.bitcast(F64), significand.to(F64))


def _deposit(kernel: Kernel, register: Register, limbs: Value, x: Value, y: Value, exponent: Value, wide: bool) -> None:
    """Add ``x·y·2**exponent`` to the digits."""
    position = exponent - register.lowest
    digit, shift = (position >> 5).to(I64), (position & 31).to(I64)
    if wide:
        product = x.to(I128) * y.to(I128)
        pieces = [product.to(I64) & 0xFFFFFFFF, (product >> 32).to(I64) & 0xFFFFFFFF]
        pieces += [(product >> 64).to(I64) & 0xFFFFFFFF, (product >> 96).to(I64)]
    else:
        product = x * y
        pieces = [product & 0xFFFFFFFF, product >> 32]
    # The pieces are unsigned but for the last, so a negative product is two's complement digit by digit.
    carry = product.to(I64) & 0
    for index, piece in enumerate(pieces):
        shifted = piece << shift
        low = (shifted & 0xFFFFFFFF) + carry
        (kernel.load(limbs, digit + index, I64) + low).store(limbs, digit + index)
        carry = shifted >> 32
    last = digit + len(pieces)
    (kernel.load(limbs, last, I64) + carry).store(limbs, last)


def _round(kernel: Kernel, register: Register, limbs: Value, out: Format, saturate: bool) -> Value:
    """Take care of the carries and round to nearest even; the code as i64."""
    last = register.digits - 1
    carry = kernel.array(I64, 1)
    zero = kernel.constant(I64, 0)

    def propagate(sign: Value) -> None:
        zero.store(carry)
        with kernel.loop(last) as t:
            total = kernel.load(limbs, t, I64) * sign + kernel.load(carry, 0, I64)
            (total & 0xFFFFFFFF).store(limbs, t)
            (total >> 32).store(carry)
        (kernel.load(limbs, last, I64) * sign + kernel.load(carry, 0, I64)).store(limbs, last)

    propagate(kernel.constant(I64, 1))
    negative = kernel.load(limbs, last, I64) < 0
    with kernel.when(negative):
        propagate(kernel.constant(I64, -1))
    top, low = kernel.array(I64, 1), kernel.array(I64, 1)
    kernel.constant(I64, 3).store(top)
    with kernel.loop(register.digits, start=3) as t, kernel.when(kernel.load(limbs, t, I64).equals(0) ^ 1):
        t.store(top)
    high = kernel.load(top, 0, I64)
    zero.store(low)
    with kernel.loop(high - 3) as t:
        (kernel.load(low, 0, I64) | kernel.load(limbs, t, I64)).store(low)
    whole = zero.to(I128)
    for back in range(4):
        whole = whole << 32 | kernel.load(limbs, high - back, I64).to(I128)
    sticky = kernel.load(low, 0, I64).equals(0) ^ 1
    builder = kernel.builder
    leading = whole.leading_zeros()
    is_zero = whole.equals(0)
    leading = is_zero.select(leading.like(0), leading)
    exponent = (high.to(I32) + 1) * 32 - 1 - leading.to(I32) + register.lowest  # of the leading bit
    x = whole << leading
    sticky = sticky | (x & 1).equals(1)
    x = x.shr(1)  # the leading bit stands at 126, so that a shift by all bits stays below 128
    lowest = exponent.maximum(out.min_exponent)
    shift = ((lowest - exponent) + (126 - out.significand)).minimum(127)  # bits that go
    far = (lowest - exponent) > out.significand + 1
    kept = x.shr(shift.to(I128))
    rest = x & ((kernel.constant(I128, 1) << shift.to(I128)) - 1)
    half = kernel.constant(I128, 1) << (shift - 1).to(I128)
    above = Value(kernel, builder.icmp_unsigned(">", rest.raw, half.raw))
    tie = rest.equals(half)
    up = above | (tie & (sticky | (kept & 1).equals(1)))
    binade = (lowest - out.min_exponent).to(I64)
    code = kept.to(I64) + up.to(I64, signed=False) + (binade << out.significand)
    code = (far | is_zero).select(code.like(0), code)
    infinity = ((1 << out.exponent) - 1) << out.significand
    # Beyond the largest binade the code of an f64 may have run into its sign bit.
    overflow = (lowest > out.max_exponent) | (code >= infinity)
    code = overflow.select(code.like(infinity - saturate), code)
    sign = kernel.constant(I64, _signed(1 << out.bits - 1, 64))
    return (negative & (is_zero ^ 1)).select(code | sign, code)
