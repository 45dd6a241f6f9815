"""Triton kernels of the corpus: elementary functions and conversions."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def unary(x, out, n, F: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, F(tl.load(x + i, mask=i < n, other=1)), mask=i < n)


@triton.jit
def binary(x, y, out, n, F: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n, other=1), tl.load(y + i, mask=i < n, other=1)
    tl.store(out + i, F(a, b), mask=i < n)


@triton.jit
def fused(x, y, z, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c = tl.load(x + i, mask=i < n), tl.load(y + i, mask=i < n), tl.load(z + i, mask=i < n)
    tl.store(out + i, tl.fma(a, b, c), mask=i < n)
    tl.store(out + n + i, a * b + c, mask=i < n)
    tl.store(out + 2 * n + i, tl.clamp(a, -2.0, 2.0), mask=i < n)
    tl.store(out + 3 * n + i, tl.maximum(a, b), mask=i < n)
    tl.store(out + 4 * n + i, tl.minimum(a, b), mask=i < n)
    tl.store(out + 5 * n + i, tl.maximum(a, c, propagate_nan=tl.PropagateNan.ALL), mask=i < n)
    tl.store(out + 6 * n + i, tl.abs(a) - (-b), mask=i < n)


@triton.jit
def convert(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0).to(out.dtype.element_ty), mask=i < n)


@triton.jit
def convert_toward_zero(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, value.to(out.dtype.element_ty, fp_downcast_rounding="rtz"), mask=i < n)


@triton.jit
def exp(a):
    return tl.exp(a)


@triton.jit
def exp2(a):
    return tl.exp2(a)


@triton.jit
def log(a):
    return tl.log(a)


@triton.jit
def log2(a):
    return tl.log2(a)


@triton.jit
def sqrt(a):
    return tl.sqrt(a)


@triton.jit
def sqrt_rn(a):
    return tl.sqrt_rn(a)


@triton.jit
def rsqrt(a):
    return tl.rsqrt(a)


@triton.jit
def sin(a):
    return tl.sin(a)


@triton.jit
def cos(a):
    return tl.cos(a)


@triton.jit
def erf(a):
    return tl.erf(a)


@triton.jit
def floor(a):
    return tl.floor(a)


@triton.jit
def ceil(a):
    return tl.ceil(a)


@triton.jit
def rint(a):
    return libdevice.rint(a)


@triton.jit
def trunc(a):
    return libdevice.trunc(a)


@triton.jit
def tanh(a):
    return libdevice.tanh(a)


@triton.jit
def atan(a):
    return libdevice.atan(a)


@triton.jit
def cosh(a):
    return libdevice.cosh(a)


@triton.jit
def expm1(a):
    return libdevice.expm1(a)


@triton.jit
def sigmoid(a):
    return tl.sigmoid(a)


@triton.jit
def divide(a, b):
    return a / b


@triton.jit
def fdiv(a, b):
    return tl.fdiv(a, b)


@triton.jit
def div_rn(a, b):
    return tl.div_rn(a, b)


@triton.jit
def fmod(a, b):
    return libdevice.fmod(a, b)


@triton.jit
def remainder(a, b):
    return a % b


@triton.jit
def power(a, b):
    return libdevice.pow(a, b)


@triton.jit
def hypot(a, b):
    return libdevice.hypot(a, b)
