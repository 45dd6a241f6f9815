"""The tiled programs that mfma.gemm.hip writes, against `mfma.matmul`: the same instruction in the same order of k."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile

import mfma
from corpus.build_hip import GENERATED, compiled, policies
from corpus.case import OBJECTS, Case, expecting
from corpus.cases_hip_matrix import ELEMENTS
from corpus.reference import random_floats
from mfma.gemm.compute import MfmaPolicy
from mfma.gemm.hip import hip
from mfma.gemm.operands import Memory

__all__ = ["CASES", "every"]

KINDS = ("padded", "double_swizzled", "direct", "double", "direct_swizzled", "swizzled")


def _matrix(seed, form, shape):
    dtype = ELEMENTS[form]
    count = int(np.prod(shape))
    if np.dtype(dtype).kind == "i":
        info = np.iinfo(dtype)
        return np.random.default_rng(seed).integers(info.min, info.max, count, dtype, endpoint=True).reshape(shape)
    return random_floats(seed, count, dtype, -6, 6).reshape(shape)


def _arguments(compute: MfmaPolicy, memory: Memory, shape):
    """A, B and C of two products, and C = 1 A B + 0 C."""
    m, n, k = shape
    op = compute.op
    a, b = _matrix(1, op.a.name, (2, m, k)), _matrix(2, op.b.name, (2, k, n))
    if memory.b_order == "column":
        b = np.ascontiguousarray(b.swapaxes(1, 2))
    c = np.zeros((2, m, n), ELEMENTS[op.cd.name])
    sizes = [np.int32(x) for x in (m, n, k, 2)]
    return [a, b, c, *sizes, c.dtype.type(1), c.dtype.type(0)]


def _expected(compute: MfmaPolicy, memory: Memory, model: str, a, b, c, *_):
    if memory.b_order == "column":
        b = np.ascontiguousarray(b.swapaxes(1, 2))
    k_order = None if compute.kwidth == compute.op.registers.a.elements else {"kwidth": compute.kwidth}
    return {2: mfma.matmul(a, b, op=compute.op, model=model, k_order=k_order if model == "hardware" else None)}


def _kernel(path: Path) -> str:
    """The name of the kernel with matrix instructions: its template arguments name the policy."""
    with path.open("rb") as file:
        symbols = [symbol.name for symbol in ELFFile(file).get_section_by_name(".dynsym").iter_symbols()]
    (name,) = (symbol[:-3] for symbol in symbols if symbol.endswith(".kd") and "MfmaCdna3" in symbol)
    return name


def _case(op: str, kind: str, path: Path, quick: bool) -> Case:
    tile, compute, memory = policies(op, kind)
    threads = compute.waves_m * compute.waves_n * 64
    # One and a half tiles each way, and a ragged k.
    m, n, k = tile.block_tile_m * 3 // 2 - 1, tile.block_tile_n * 3 // 2 - 3, tile.k_tile_size + 5
    grid = (-(-n // tile.block_tile_n), -(-m // tile.block_tile_m), -(-2 // compute.batch))
    return expecting(
        f"gemm: {op}, {kind}", str(path.relative_to(OBJECTS)) if path.is_relative_to(OBJECTS) else str(path),
        _kernel(path), grid, threads, functools.partial(_arguments, compute, memory, (m, n, k)),
        functools.partial(_expected, compute, memory, "hardware"), quick=quick,
    )  # fmt: skip


def every(folder: Path) -> Iterator[Case]:
    """Compile a program for each instruction into ``folder``; yield its case."""
    for number, op in enumerate(mfma.ops()):
        kind = KINDS[number % len(KINDS)]
        path = folder / f"hip_gemm_{op.name}_{kind}.co"
        compiled("-", ["-O3"], path, hip(*policies(op.name, kind), device_only=True))
        yield _case(op.name, kind, path, quick=False)


CASES = [_case(op, kind, OBJECTS / f"hip_gemm_{op}.co", quick=True) for op, kind in GENERATED.items()]
