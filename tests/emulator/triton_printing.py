"""Triton kernels that print, compiled for gfx942 without a GPU."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def printing(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < n, other=-1)
    tl.device_print("values", values, i * 3)
    tl.device_print("program", tl.program_id(0))
    tl.device_print("bits", i, hex=True)


@triton.jit
def asserting(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < n, other=0)
    tl.device_assert(values < 50, "a value is too large")


def compiled(kernel, kind, block, warps):
    """The code object of a kernel for arrays of a type."""
    source = ASTSource(
        fn=kernel, signature={"x": f"*{kind}", "n": "i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": block}
    )
    options = {"num_warps": warps, "debug": True, "enable_fp_fusion": True}
    return triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=options).asm["hsaco"]
