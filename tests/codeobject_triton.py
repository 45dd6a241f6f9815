"""Compile a Triton kernel for gfx942 and write its code object to the file that is given."""

import sys
from pathlib import Path


def compiled():
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from triton_kernels import product_once

    sizes = {"M": 32, "N": 32, "K": 16, "T": tl.float32}
    signature = {"a": "*fp16", "b": "*fp16", "d": "*fp32", **dict.fromkeys(sizes, "constexpr")}
    source = ASTSource(fn=product_once, signature=signature, constexprs=sizes)
    return triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options={"num_warps": 4}).asm["hsaco"]


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(compiled())
