"""The kernel by the whole-matrix kernels: the same roundings in the same order as the simulation, no work-groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.formats.arrays import code_dtype, view
from mfma.gemm.operands import Codes, Memory, Operands
from mfma.gemm.protocols import ComputePolicy
from mfma.native.threads import Progress
from mfma.numerics.addition import add_to
from mfma.numerics.fast import multiply

__all__ = ["accumulate"]


def accumulate(
    compute: ComputePolicy,
    memory: Memory,
    given: Operands,
    parts: list[NDArray[np.int64]],
    threads: int | None,
    progress: Progress | None,
) -> NDArray[Any]:
    """Return the accumulators (batch, M, N) after all parts of K have been added up.

    Every partial accumulator of every part takes its k in the order of `ComputePolicy.chains`; its sum is added to
    those before it.
    """
    of_a, of_b, _ = memory.formats(compute)
    a, b = memory.loaded(given.a, of_a, compute.a), memory.loaded(given.b, of_b, compute.b)
    total, chain, within = (_zeros(compute, a, b) for _ in range(3))
    for part_number, part in enumerate(parts):
        for chain_number, order in enumerate(_orders(compute, part)):
            # The first sums go where they are added up, the others into one array that is used again and again.
            target = chain if chain_number else within if part_number else total
            target[...] = 0
            multiply(
                compute.op.record, a, b, target, model=compute.model, order=order, threads=threads, progress=progress
            )
            if chain_number:
                add_to(within if part_number else total, chain, compute.accumulator)
        if part_number:
            add_to(total, within, compute.accumulator)
    return view(total, compute.accumulator)


def _orders(compute: ComputePolicy, part: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    by_step = part.reshape(-1, compute.k_step)
    return [by_step[:, chain].ravel() for chain in compute.chains]


def _zeros(compute: ComputePolicy, a: Codes, b: Codes) -> Codes:
    return np.zeros((a.shape[0], a.shape[1], b.shape[2]), code_dtype(compute.accumulator))
