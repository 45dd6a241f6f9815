"""Triton kernels that use the matrix core, compiled for gfx942 without a GPU."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product(a, b, d, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, T: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), T)
    for start in range(0, depth, K):
        x = tl.load(a + i[:, None] * depth + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * N + j[None, :])
        total += tl.dot(x, y)
    tl.store(d + i[:, None] * N + j[None, :], total)


@triton.jit
def product_once(a, b, d, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, T: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + i[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + j[None, :])
    tl.store(d + i[:, None] * N + j[None, :], tl.dot(x, y).to(T) * 3)


@triton.jit
def attention(q, k, v, o, length, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, c = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(q + i[:, None] * K + c[None, :])
    top, weight = tl.full((M,), -1e30, tl.float32), tl.zeros((M,), tl.float32)
    total = tl.zeros((M, K), tl.float32)
    for start in range(0, length, N):
        y = tl.load(k + c[:, None] + (start + j)[None, :] * K)
        z = tl.load(v + (start + j)[:, None] * K + c[None, :])
        scores = tl.dot(x, y)
        new = tl.maximum(top, tl.max(scores, 1))
        e, shrink = tl.exp(scores - new[:, None]), tl.exp(top - new)
        weight = weight * shrink + tl.sum(e, 1)
        total = tl.dot(e.to(tl.float16), z, total * shrink[:, None])
        top = new
    tl.store(o + i[:, None] * K + c[None, :], total / weight[:, None])


TYPES = ("fp16", "bf16", "fp8e4b8", "fp8e5b16", "fp32", "i8")
TILES = ((16, 16, 32), (64, 64, 32))


def compiled():
    """Yield the name and the assembly of each kernel."""
    for name in TYPES:
        result = "*i32" if name == "i8" else "*fp32"
        total = tl.int32 if name == "i8" else tl.float32
        for m, n, k in TILES:
            sizes = {"M": m, "N": n, "K": k, "T": total}
            pointers = {"a": f"*{name}", "b": f"*{name}", "d": result}
            yield f"product {name} {m}x{n}x{k}", _assembly(product, {**pointers, "depth": "i32"}, sizes)
            yield f"product_once {name} {m}x{n}x{k}", _assembly(product_once, pointers, sizes)
    pointers = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "o": "*fp32", "length": "i32"}
    yield "attention", _assembly(attention, pointers, {"M": 64, "N": 64, "K": 64})


def _assembly(kernel, signature, constants):
    source = ASTSource(
        fn=kernel, signature={**signature, **dict.fromkeys(constants, "constexpr")}, constexprs=constants
    )
    target = GPUTarget("hip", "gfx942", 64)
    return triton.compile(source, target=target, options={"num_warps": 4}).asm["amdgcn"]
