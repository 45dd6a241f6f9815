"""A kernel from two policies: simulated as the hardware would run it, run fast with the same bits, and reported on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mfma.errors import OptionError
from mfma.formats.arrays import view
from mfma.gemm import run as fast
from mfma.gemm import simulate as exact
from mfma.gemm.compute import MfmaPolicy
from mfma.gemm.operands import Memory, Number, Operands, epilogue, factor, is_zero, operands, parts
from mfma.gemm.protocols import BrokenRule, ComputePolicy, TilePolicy
from mfma.gemm.validate import validate
from mfma.matrices.order import KOrder
from mfma.native.threads import Progress

if TYPE_CHECKING:
    from mfma.gemm.report import Report
    from mfma.timing.devices import Device

__all__ = ["Gemm"]


@dataclass(frozen=True)
class Gemm:
    """D = alpha·A·B + beta·C by one kernel: a tile policy that moves data, a compute policy that multiplies.

    Args:
        tile: the tile policy.
        compute: the compute policy.
        memory: formats and order of the matrices in memory, and how they are converted; by default as the compute
            policy takes them.

    Raises `OptionError`, with all rules that the two break together.

    K is padded with zeros to whole strips, as the kernel does. Against `mfma.matmul`, which pads to whole
    instructions, that can change the sign of a result that is zero by underflow, nothing else.

    >>> import numpy as np
    >>> from mfma.gemm.tiles import DoubleBufferTilePolicy
    >>> gemm = Gemm(DoubleBufferTilePolicy(32, 32, 16, padding=4), MfmaPolicy("f32_16x16x16f16", 2, 2))
    >>> a, b = np.full((3, 20), 0.1, np.float16), np.ones((20, 2), np.float16)
    >>> gemm.run(a, b, alpha=0.5)[0]
    array([0.99975586, 0.99975586], dtype=float32)
    """

    tile: TilePolicy
    compute: ComputePolicy
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        broken = self.broken_rules()
        if broken:
            raise OptionError(f"No kernel can be made of these policies: {' '.join(map(str, broken))}")

    def broken_rules(self, device: str | Device = "MI300X") -> list[BrokenRule]:
        """Return the rules that this kernel breaks on a device."""
        return validate(self.tile, self.compute, device, self.memory)

    def simulate(
        self,
        a: object,
        b: object,
        c: object = None,
        alpha: Number = 1.0,
        beta: Number = 1.0,
        *,
        k_order: KOrder = None,
        split_k: int = 1,
        progress: Progress | None = None,
    ) -> NDArray[Any]:
        """Compute as the hardware does: work-groups, waves, LDS, the registers of every lane.

        Args:
            a: (..., M, K) in A's memory format; any sizes and strides, leading axes broadcast.
            b: (..., K, N) in B's memory format.
            c: (..., M, N) in D's memory format, or None.
            alpha: factor of A·B, rounded to the accumulator's format; an int32 beside integers.
            beta: factor of C; with 0 C is not read.
            k_order: order in which k is consumed, as in `mfma.matmul`: a permutation, or ``{"kwidth": w}``, which
                stands for the policy with that ``kwidth``.
            split_k: parts of K that are accumulated from zero each and added in ascending order.
            progress: called with the pieces of work done and the pieces in all.

        Returns:
            D, (..., M, N) in D's memory format: ``fma(alpha, acc, beta·C)``, the product and the sum rounded in the
            accumulator's format, then converted.

        Raises:
            OperandShapeError, OperandTypeError, OptionError: what was given cannot be computed.
        """
        gemm, given, factors, cut = self._prepared((a, b, c), (alpha, beta), k_order, split_k)
        acc = exact.accumulate(gemm.tile, gemm.compute, gemm.memory, given, cut, progress)
        return gemm._finish(acc, given, *factors)

    def run(
        self,
        a: object,
        b: object,
        c: object = None,
        alpha: Number = 1.0,
        beta: Number = 1.0,
        *,
        k_order: KOrder = None,
        split_k: int = 1,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[Any]:
        """Compute the same bits as `simulate` with the kernels of `mfma.matmul`; ``threads`` as there."""
        gemm, given, factors, cut = self._prepared((a, b, c), (alpha, beta), k_order, split_k)
        acc = fast.accumulate(gemm.compute, gemm.memory, given, cut, threads, progress)
        return gemm._finish(acc, given, *factors)

    def report(
        self, m: int, n: int, k: int, device: str | Device = "MI300X", *, batch: int = 1, split_k: int = 1,
        read_c: bool = False, clock_mhz: float | None = None,
    ) -> Report:  # fmt: skip
        """Say what the kernel does and how fast it could be; see `mfma.gemm.report`."""
        from mfma.gemm.report import report

        return report(self, m, n, k, device, batch=batch, split_k=split_k, read_c=read_c, clock_mhz=clock_mhz)

    def _ordered(self, k_order: KOrder) -> tuple[Gemm, KOrder]:
        """The kernel that consumes k in the order of a mapping, and what is left to ask of it."""
        if not isinstance(k_order, Mapping):
            return self, k_order
        if not isinstance(self.compute, MfmaPolicy) or list(k_order) != ["kwidth"]:
            raise OptionError(
                f'k_order is {dict(k_order)!r}, but as a mapping it is {{"kwidth": w}}, for an MfmaPolicy.'
            )
        return dataclasses.replace(self, compute=dataclasses.replace(self.compute, kwidth=k_order["kwidth"])), None

    def _prepared(
        self, arrays: tuple[object, object, object], scales: tuple[Number, Number], k_order: KOrder, split_k: int
    ) -> tuple[Gemm, Operands, tuple[NDArray[Any], NDArray[Any]], list[NDArray[np.int64]]]:
        """What both ways of computing begin with: the kernel, checked operands and factors, the parts of k."""
        gemm, order = self._ordered(k_order)
        accumulator = gemm.compute.accumulator
        factors = factor("alpha", scales[0], accumulator), factor("beta", scales[1], accumulator)
        given = operands(gemm.compute, gemm.memory, *arrays)
        return gemm, given, factors, parts(gemm.compute, given.shape[3], gemm.tile.k_tile_size, order, split_k)

    def _finish(self, acc: NDArray[Any], given: Operands, alpha: NDArray[Any], beta: NDArray[Any]) -> NDArray[Any]:
        """Scale, add C, convert: what a thread does with each of its outputs."""
        accumulator, of_d = self.compute.accumulator, self.memory.formats(self.compute)[2]
        c = None
        if given.c is not None and not is_zero(beta):
            c = view(np.ascontiguousarray(self.memory.loaded(given.c, of_d, accumulator)), accumulator)
        d = epilogue(acc, c, alpha, beta, accumulator)
        return self.memory.stored(d, accumulator, of_d).reshape(given.result_shape)
