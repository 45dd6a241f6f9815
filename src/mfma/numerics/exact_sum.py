"""The exact model: the whole sum and C in fixed point, rounded once.

Every product is an integer at a known power of two, so a long enough accumulator holds any sum without an
error (Kulisch, "Computer Arithmetic and Validity", 2013). Its digits have 32 bits and live in int64, so a
billion products may pass before a carry must be taken care of; that happens once, at the end.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from mfma.formats import Format
from mfma.native.jit import function_address
from mfma.native.simd import F32, F64, I8, I16, I32, I64, POINTER, Kernel, Value
from mfma.numerics.panels import decode, with_quiet_nans

__all__ = ["exact_product", "exact_scratch_bytes"]

BLOCK = 16
"""Rows and columns of outputs whose accumulators are open at once."""
DEPTH = 512
"""Values of k that are decoded at a time."""
I128 = ir.IntType(128)
SPECIAL = 1 << 20
"""Exponent that marks an infinity or a NaN."""
STORAGE = {8: I8, 16: I16, 32: I32, 64: I64}


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
        "exact", [a, b, out, saturate], lambda module: _write(module, a, b, out, saturate), sources
    )
    return ctypes.CFUNCTYPE(None, *types)(address)


def _write(module: ir.Module, fa: Format, fb: Format, out: Format, saturate: bool) -> None:
    kernel = Kernel(module, "exact", [POINTER] * 4 + [I64] * 10 + [POINTER])
    d, a, b, order, m, n, ks, lda, ldb, ldd, count, step_a, step_b, step_d, scratch = kernel.arguments
    register = Register.of(fa, fb, out)
    codes_a, codes_b, codes_d = STORAGE[fa.bits], STORAGE[fb.bits], STORAGE[out.bits]
    place = 0

    def memory(width: int, elements: int) -> Value:
        nonlocal place
        start = place
        place += width * elements
        return kernel.address(scratch, start, I8)

    limbs = memory(8, BLOCK * BLOCK * register.digits)
    a_significands, b_significands = memory(8, BLOCK * DEPTH), memory(8, BLOCK * DEPTH)
    a_exponents, b_exponents = memory(4, BLOCK * DEPTH), memory(4, BLOCK * DEPTH)

    def unpack(codes: Value, row: Value, outer: Value, inner: Value, source: Value, into: tuple[Value, Value]) -> None:
        """Decode one element; ``source`` -1 is a zero."""
        code = kernel.load(codes, row * outer + source.maximum(0) * inner, STORAGE[into_format.bits])
        significand, exponent = _parts(code, into_format)
        index = row_in_block * DEPTH + k
        (source < 0).select(significand.like(0), significand).store(into[0], index)
        exponent.store(into[1], index)

    with kernel.loop(count) as batch, kernel.loop(m, step=BLOCK) as i0, kernel.loop(n, step=BLOCK) as j0:
        a0 = kernel.address(a, batch * step_a + i0 * lda, codes_a)
        b0 = kernel.address(b, batch * step_b + j0, codes_b)
        d0 = kernel.address(d, batch * step_d + i0 * ldd + j0, codes_d)
        rows, columns = (m - i0).minimum(BLOCK), (n - j0).minimum(BLOCK)
        with kernel.loop(BLOCK * BLOCK * register.digits) as index:
            kernel.constant(I64, 0).store(limbs, index)
        special = kernel.array(F64, BLOCK * BLOCK)
        with kernel.loop(BLOCK * BLOCK) as index:
            kernel.constant(F64, 0.0).store(special, index)
        one = kernel.constant(I64, 1)
        with kernel.loop(ks, step=DEPTH) as k0:
            here = (ks - k0).minimum(DEPTH)
            with kernel.loop(here) as k:
                source = kernel.load(order, k0 + k, I64)
                with kernel.loop(rows) as row_in_block:
                    into_format = fa
                    unpack(a0, row_in_block, lda, one, source, (a_significands, a_exponents))
                with kernel.loop(columns) as row_in_block:
                    into_format = fb
                    unpack(b0, row_in_block, one, ldb, source, (b_significands, b_exponents))
            with kernel.loop(rows) as i, kernel.loop(columns) as j:
                own = kernel.address(limbs, (i * BLOCK + j) * register.digits, I64)
                with kernel.loop(here) as k:
                    x = kernel.load(a_significands, i * DEPTH + k, I64)
                    y = kernel.load(b_significands, j * DEPTH + k, I64)
                    e = kernel.load(a_exponents, i * DEPTH + k, I32) + kernel.load(b_exponents, j * DEPTH + k, I32)
                    with kernel.builder.if_else((e > SPECIAL // 2).raw, likely=False) as (rare, usual):
                        with usual:
                            _deposit(kernel, register, own, x, y, e, wide=fa.bits == 64)
                        with rare:
                            # Infinities and NaNs are kept as the float64 that their significand stands for.
                            xs = _as_double(x, kernel.load(a_exponents, i * DEPTH + k, I32))
                            ys = _as_double(y, kernel.load(b_exponents, j * DEPTH + k, I32))
                            total = kernel.load(special, i * BLOCK + j, F64) + xs * ys
                            total.store(special, i * BLOCK + j)
        with kernel.loop(rows) as i, kernel.loop(columns) as j:
            own = kernel.address(limbs, (i * BLOCK + j) * register.digits, I64)
            c = kernel.load(d0, i * ldd + j, codes_d)
            significand, exponent = _parts(c, out)
            infinite = exponent > SPECIAL // 2
            with kernel.when(infinite ^ 1):
                _deposit(kernel, register, own, significand, one, exponent, wide=False)
            decided = kernel.load(special, i * BLOCK + j, F64)
            c_value = c.bitcast(F64) if out.bits == 64 else c.bitcast(F32).to(F64)
            decided = infinite.select(decided + c_value, decided)
            rounded = _round(kernel, register, own, out, saturate)
            # A zero sum is -0 only if C and every product are; it is the rare case that pays for looking.
            answer = kernel.array(I64, 1)
            rounded.store(answer)
            minus_zero = 1 << out.bits - 1
            with kernel.when(rounded.equals(0) & c.to(I64, signed=False).equals(_signed(minus_zero, 64))):
                kernel.constant(I64, _signed(minus_zero, 64)).store(answer)
                with kernel.loop(ks) as k:
                    source = kernel.load(order, k, I64)
                    x = kernel.load(a0, i * lda + source.maximum(0), codes_a)
                    y = kernel.load(b0, source.maximum(0) * ldb + j, codes_b)
                    negative = ((x >> fa.bits - 1) & 1).to(I32, signed=False) ^ ((y >> fb.bits - 1) & 1).to(
                        I32, signed=False
                    )
                    product = _parts(x, fa)[0] * _parts(y, fb)[0]
                    with kernel.when((source < 0) | (product.equals(0) & negative.equals(1)) ^ 1):
                        kernel.constant(I64, 0).store(answer)
            bits = decided.bitcast(I64) if out.bits == 64 else decided.to(F32).bitcast(I32).to(I64)
            final = decided.equals(0.0).select(kernel.load(answer, 0, I64), bits)
            with_quiet_nans(final.to(codes_d), out).store(d0, i * ldd + j)
    kernel.finish()


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
    """Value of an element when the other factor is special: only sign and zero of a finite one matter."""
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
    binade = lowest.minimum(out.max_exponent + 1) - out.min_exponent  # one above the largest is infinite already
    code = kept.to(I64) + up.to(I64, signed=False) + (binade.to(I64) << out.significand)
    code = (far | is_zero).select(code.like(0), code)
    infinity = ((1 << out.exponent) - 1) << out.significand
    code = (code >= infinity).select(code.like(infinity - saturate), code)
    sign = kernel.constant(I64, _signed(1 << out.bits - 1, 64))
    return (negative & (is_zero ^ 1)).select(code | sign, code)
