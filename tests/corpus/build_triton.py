"""Compile the corpus's Triton kernels for gfx942: ``python -m corpus.build_triton`` in ``tests``.

Writes ``objects/triton_NAME.hsaco`` and ``objects/triton_launch.json``: of every object the name of its kernel, the
wavefronts of a program and the bytes of dynamic LDS, which a launcher takes from Triton's metadata, not from the file.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["BUILDS", "CONVERSIONS", "LAUNCH", "OBJECTS", "Build", "compiled", "main"]

OBJECTS = Path(__file__).parent / "objects"
LAUNCH = OBJECTS / "triton_launch.json"


@dataclass(frozen=True)
class Build:
    """A kernel and what it is compiled for.

    ``types`` are those of the arguments in order, in Triton's spelling. After a colon stand the letters of Triton's
    own argument specialisation: D, divisible by 16; S, a pointer into less than 2 GiB, which permits buffer
    instructions. What is in ``constants`` is no argument of the compiled kernel.
    """

    name: str
    module: str
    kernel: str
    types: str
    constants: dict[str, object]
    warps: int = 4
    options: dict[str, object] = field(default_factory=dict)
    line_info: bool = False


def _build(name, module, kernel, types, warps=4, line_info=False, options=None, **constants):
    return Build(name, module, kernel, types, constants, warps, options or {}, line_info)


MEMORY, MATH, DOT = "triton_kernels", "triton_kernels_math", "triton_kernels_dot"


def _memory():
    for kind in ("fp32", "fp16", "bf16"):
        yield _build(f"add_{kind}", MEMORY, "vector_add", f"*{kind} *{kind} *{kind} i32", BLOCK=256)
    for kind, block in (("fp32", 1024), ("fp16", 2048), ("i8", 4096)):
        types = " ".join([f"*{kind}:DS"] * 3)
        yield _build(f"add_{kind}_buffer", MEMORY, "vector_add", f"{types} i32", BLOCK=block)
    yield _build("add_fp32_vector", MEMORY, "vector_add", "*fp32:D *fp32:D *fp32:D i32:D", line_info=True, BLOCK=1024)
    yield _build("add_fp64", MEMORY, "vector_add", "*fp64:D *fp64:D *fp64:D i32", 2, BLOCK=256)
    yield _build("add_i64", MEMORY, "vector_add", "*i64:D *i64:D *i64:D i32", 1, BLOCK=128)
    yield _build("grid_stride", MEMORY, "grid_stride", "*i32:D *i32:D i32", 2, BLOCK=256)
    yield _build("strided_copy", MEMORY, "strided_copy", "*i16 *i16 i32 i32 i64", M=16, N=32)
    for kind, warps in (("fp32", 4), ("fp16", 4), ("i8", 2), ("i64", 1)):
        types = f"*{kind}:DS *{kind}:DS i32:D i32:D"
        yield _build(f"transpose_{kind}", MEMORY, "transpose", types, warps, M=32, N=32)
    yield _build("shuffle", MEMORY, "shuffle", "*i32:D *i32:D", 2, N=256)
    yield _build("softmax_fp32", MEMORY, "softmax", "*fp32:D *fp32:D i32 i32", BLOCK=512)
    yield _build("softmax_fp16", MEMORY, "softmax", "*fp16:DS *fp16:DS i32 i32:D", 2, BLOCK=256)
    types = "*fp16:D *fp32:D *fp32:D *fp32:D *fp32 *fp32 i32 fp32"
    yield _build("layer_norm", MEMORY, "layer_norm", types, BLOCK=256)
    yield _build("reduce_rows", MEMORY, "reduce_rows", "*i32:D *i32:D", M=16, N=64)
    for kind in ("fp32", "fp64"):
        yield _build(f"reduce_{kind}", MEMORY, "reduce_floats", f"*{kind} *{kind} *i32 i32", BLOCK=512)
    yield _build("scan", MEMORY, "scan", "*i32:D *i32:D", 2, N=256)
    yield _build("sort_i32", MEMORY, "sort_rows", "*i32:D *i32:D *i32:D *i32:D", 2, M=4, N=64)
    yield _build("sort_fp32", MEMORY, "sort_rows", "*fp32:D *fp32:D *fp32:D *fp32:D", 1, M=2, N=64)
    yield _build("histogram", MEMORY, "histogram", "*i32:D *i32:D i32", BLOCK=1024, BINS=32)
    yield _build("gather", MEMORY, "gather", "*i32:D *i32:D *i32:D", 2, M=16, N=32)


def _control():
    yield _build("random", MEMORY, "random_bits", "i64 *i32:D *fp32:D *i32:D", 2, N=256)
    yield _build("random_normal", MEMORY, "normal_numbers", "i32 *fp32:D", 1, N=128)
    yield _build("integers", MEMORY, "integers", "*i32:D *i32:D *i32:D *i64:D i32", 2, BLOCK=128)
    for kind in ("i8", "i16", "u8"):
        yield _build(f"integers_{kind}", MEMORY, "small_integers", f"*{kind} *{kind} *{kind} i32", 1, BLOCK=256)
    yield _build("collatz", MEMORY, "collatz", "*i32:D *i32:D i32", 1, BLOCK=64)
    yield _build("gcd", MEMORY, "greatest_divisor", "*i32 *i32 *i32", 1)
    yield _build("branches", MEMORY, "branches", "*i32:D *i32:D i32", 1, line_info=True, BLOCK=128)
    yield _build("search", MEMORY, "search", "*i32:D *i32:D *i32:D i32 i32", 1, BLOCK=128)
    yield _build("atomic_integers", MEMORY, "atomic_integers", "*i32:D *i32:D *i64:D *i32:D i32", 2, BLOCK=128)
    yield _build("atomic_extrema", MEMORY, "atomic_extrema", "*i32:D *i32:D i32", 2, BLOCK=128)
    yield _build("atomic_floats", MEMORY, "atomic_floats", "*fp32:D *fp32:D i32", 2, BLOCK=128)
    for kind in ("fp64", "fp16", "bf16"):
        yield _build(f"atomic_{kind}", MEMORY, "atomic_add_only", f"*{kind}:D *{kind}:D i32", 1, BLOCK=128)
    yield _build("atomic_buffer", MEMORY, "atomic_add_only", "*fp32:DS *fp32:DS i32", 1, BLOCK=128)
    yield _build("spin_lock", MEMORY, "spin_lock", "*i32 *i32 *i32", 1)
    yield _build("last_program", MEMORY, "last_program", "*i32:D *i32 *i32 *i32", 2, BLOCK=128)


UNARY = {
    "fp32": "exp exp2 log log2 sqrt sqrt_rn rsqrt sin cos erf floor ceil rint trunc tanh atan cosh expm1 sigmoid",
    "fp64": "exp log sqrt sin erf floor rint tanh",
}
BINARY = {"fp32": "divide fdiv div_rn fmod remainder power hypot", "fp64": "divide fmod"}
# Fusion, on by default in Triton 3.9, breaks the error terms of these functions' arithmetic in two parts.
UNFUSED = {*(f"{name}_fp64" for name in UNARY["fp64"].split()), "power_fp32"}
CONVERSIONS = {
    "fp64": "fp32 i32 i64 fp16",
    "fp32": "fp16 bf16 fp8e4b8 fp8e5b16 fp8e5 fp8e4nv fp64 i32 i64 u32 i8",
    "fp16": "fp32 bf16 fp8e4b8 fp8e5b16 i32",
    "bf16": "fp32 fp16 fp8e4b8",
    "fp8e4b8": "fp32 fp16 bf16",
    "fp8e5b16": "fp32 fp16",
    "fp8e5": "fp16",
    "fp8e4nv": "fp16",
    "i64": "fp32 fp64 i32",
    "u64": "fp32",
    "i32": "fp32 fp64 fp16 i64 i8",
    "u32": "fp32",
    "i8": "fp32 i32",
    "u8": "i32",
}


def _function(name, kernel, types, function):
    options = {"enable_fp_fusion": name not in UNFUSED}
    return _build(name, MATH, kernel, types, 1, options=options, F=function, BLOCK=256)


def _math():
    for kind, functions in UNARY.items():
        for function in functions.split():
            types = f"*{kind}:D *{kind}:D i32"
            yield _function(f"{function}_{kind}", "unary", types, function)
    for kind, functions in BINARY.items():
        for function in functions.split():
            types = f"*{kind}:D *{kind}:D *{kind}:D i32"
            yield _function(f"{function}_{kind}", "binary", types, function)
    for kind in ("fp32", "fp16", "fp64"):
        types = f"*{kind}:D *{kind}:D *{kind}:D *{kind}:D i32"
        yield _build(f"fma_{kind}", MATH, "fused", types, 1, BLOCK=256)
    for source, targets in CONVERSIONS.items():
        for target in targets.split():
            types = f"*{source}:D *{target}:D i32"
            yield _build(f"convert_{source}_{target}", MATH, "convert", types, 1, BLOCK=256)
    yield _build("convert_fp32_fp16_rtz", MATH, "convert_toward_zero", "*fp32:D *fp16:D i32", 1, BLOCK=256)


def _gemm(
    name, kinds, tile, warps=4, *, result="fp32", nonkdim=0, kpack=1, stages=2, precision=None, columns=False, s="S"
):
    a, b = kinds if isinstance(kinds, tuple) else (kinds, kinds)
    types = f"*{a}:D{s} *{b}:D{s} *{result}:D{s} i32 i32:D i32:D"
    options = {"matrix_instr_nonkdim": nonkdim, "kpack": kpack, "num_stages": stages}
    bm, bn, bk = tile
    return _build(
        f"gemm_{name}", DOT, "gemm", types, warps, options=options,
        BM=bm, BN=bn, BK=bk, T=result, PRECISION=precision, B_BY_COLUMNS=columns,
    )  # fmt: skip


def _dot():
    e4, e5 = "fp8e4b8", "fp8e5b16"
    small, big = (32, 32, 32), (64, 64, 64)
    for kind in ("fp16", "bf16"):
        yield _gemm(f"{kind}_32", kind, small, 1, nonkdim=32)
        yield _gemm(f"{kind}_16", kind, small, 1, nonkdim=16)
        yield _gemm(f"{kind}_32_kpack2", kind, small, 2, nonkdim=32, kpack=2, columns=True)
        yield _gemm(f"{kind}_16_kpack2", kind, small, 2, nonkdim=16, kpack=2, columns=True)
        yield _gemm(f"{kind}_tile64", kind, big, 4)
    yield _gemm("fp16_16x16_flat", "fp16", (16, 16, 32), 1, nonkdim=16, s="")
    yield _gemm("fp16_one_stage", "fp16", small, 2, stages=1, columns=True)
    yield _gemm("fp16_three_stages", "fp16", small, 2, stages=3, columns=True)
    yield _gemm("fp16_tile128", "fp16", (128, 128, 32), 4)
    for a, b in ((e4, e4), (e5, e5), (e4, e5), (e5, e4)):
        for nonkdim in (16, 32):
            yield _gemm(f"{a}_{b}_{nonkdim}", (a, b), small, 1, nonkdim=nonkdim, columns=True)
    yield _gemm(f"{e4}_kpack2", e4, (32, 32, 64), 2, nonkdim=32, kpack=2, columns=True)
    yield _gemm(f"{e4}_rows", e4, (32, 32, 64), 2, nonkdim=16, kpack=1)
    yield _gemm("fp8e4nv", "fp8e4nv", small, 1, columns=True)
    for nonkdim in (16, 32):
        yield _gemm(f"xf32_{nonkdim}", "fp32", small, 1, nonkdim=nonkdim, precision="tf32")
        yield _gemm(f"fp32_{nonkdim}", "fp32", small, 1, nonkdim=nonkdim, precision="ieee")
    yield _gemm("xf32_kpack2", "fp32", small, 2, nonkdim=32, kpack=2, precision="tf32", columns=True)
    yield _gemm("fp32_kpack2", "fp32", small, 2, nonkdim=32, kpack=2, precision="ieee", columns=True)
    for nonkdim in (16, 32):
        yield _gemm(f"i8_{nonkdim}", "i8", small, 1, result="i32", nonkdim=nonkdim, columns=nonkdim == 16)
    yield _gemm("i8_kpack2", "i8", (64, 64, 64), 4, result="i32", kpack=2)
    yield _gemm("fp64", "fp64", (16, 16, 16), 1, result="fp64")
    yield _gemm("fp64_32", "fp64", (32, 32, 16), 2, result="fp64", columns=True)
    types = "*fp16:DS *fp16:DS *fp16:DS i32 i32:D i32:D"
    yield _build("gemm_persistent", DOT, "gemm_persistent", types, 2, BM=32, BN=32, BK=32, GROUP=2)
    yield _build("gemm_split", DOT, "gemm_split", "*bf16:D *bf16:D *fp32:D i32:D i32:D i32:D", 2, BM=32, BN=32, BK=32)
    yield _build(
        "gemm_scaled", DOT, "gemm_scaled", f"*{e4}:DS *{e4}:DS *fp32:DS *fp32:DS *fp32:DS i32:D i32:D", 2,
        options={"enable_fp_fusion": False}, BM=32, BN=32, BK=64,
    )  # fmt: skip
    for kind, causal in (("fp16", False), ("bf16", True)):
        types = f"*{kind}:DS *{kind}:DS *{kind}:DS *fp32:DS i32:D fp32"
        yield _build(f"attention_{kind}", DOT, "attention", types, 2, CAUSAL=causal, BM=32, BN=32, D=32)
    types = "*fp16:DS *fp16:DS *fp16:DS *fp16:DS i32:D fp32"
    yield _build("attention_d64", DOT, "attention", types, 4, CAUSAL=False, BM=64, BN=64, D=64)


BUILDS = {build.name: build for part in (_memory, _control, _math, _dot) for build in part()}


def compiled(build: Build):
    """Compile one kernel; what Triton returns has the code object as ``asm["hsaco"]`` and ``metadata``."""
    import importlib

    import triton
    import triton.language as tl
    from triton.backends.amd.compiler import HIPBackend
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = {"fp32": tl.float32, "fp64": tl.float64, "i32": tl.int32}
    module = importlib.import_module(f"corpus.{build.module}")
    kernel = getattr(module, build.kernel)
    constants = dict(build.constants)
    if "T" in constants:
        constants["T"] = types[constants["T"]]
    if "F" in constants:
        constants["F"] = getattr(module, constants["F"])
    names = [name for name in kernel.arg_names if name not in constants]
    fields = [text.partition(":") for text in build.types.split()]
    signature = {name: kind for name, (kind, _, _) in zip(names, fields, strict=True)}
    source = ASTSource(
        fn=kernel,
        signature={name: signature.get(name, "constexpr") for name in kernel.arg_names},
        constexprs=constants,
        attrs={
            (kernel.arg_names.index(name),): HIPBackend.parse_attr(letters)
            for name, (_, _, letters) in zip(names, fields, strict=True)
            if letters
        },
    )
    options = {"num_warps": build.warps, "enable_fp_fusion": True, **build.options}
    path = kernel.file_name
    # Line tables name the source by its bare name, whatever folder it lies in.
    kernel.file_name = f"{build.module}.py"
    try:
        with triton.knobs.compilation.scope():
            triton.knobs.compilation.disable_line_info = not build.line_info
            return triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=options)
    finally:
        kernel.file_name = path


def main(names: list[str]) -> None:
    """Compile the named kernels, or all."""
    launch = json.loads(LAUNCH.read_text()) if LAUNCH.exists() else {}
    launch = {name: facts for name, facts in launch.items() if name in BUILDS}
    OBJECTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        for name in names or BUILDS:
            kernel = compiled(BUILDS[name])
            (OBJECTS / f"triton_{name}.hsaco").write_bytes(kernel.asm["hsaco"])
            facts = kernel.metadata
            launch[name] = {"kernel": facts.name, "warps": facts.num_warps, "lds": facts.shared}
    rows = [f"  {json.dumps(name)}: {json.dumps(launch[name])}" for name in sorted(launch)]
    LAUNCH.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
