"""Tiled GEMM from two policies: one moves data, the other multiplies, and any matrix instruction fits in.

>>> import numpy as np
>>> from mfma.gemm import Gemm, MfmaPolicy, SingleBufferTilePolicy
>>> gemm = Gemm(SingleBufferTilePolicy(32, 32, 8), MfmaPolicy("f32_16x16x8_xf32", waves_m=2, waves_n=2))
>>> a, b = np.ones((5, 7), np.float32), np.ones((7, 3), np.float32)
>>> gemm.simulate(a, b)[0]
array([7., 7., 7.], dtype=float32)
>>> np.array_equal(gemm.simulate(a, b), gemm.run(a, b))
True
"""

from mfma.gemm.compute import MfmaCdna3XF32Policy, MfmaPolicy, Placement, ScalarFMAPolicy
from mfma.gemm.kernel import Gemm
from mfma.gemm.operands import Conversion, Memory
from mfma.gemm.protocols import BrokenRule, ComputePolicy, Outputs, TilePolicy
from mfma.gemm.report import Report
from mfma.gemm.tiles import DirectToLdsTilePolicy, DoubleBufferTilePolicy, SingleBufferTilePolicy
from mfma.gemm.tune import Candidate, tune
from mfma.gemm.validate import validate

__all__ = [
    "BrokenRule",
    "Candidate",
    "ComputePolicy",
    "Conversion",
    "DirectToLdsTilePolicy",
    "DoubleBufferTilePolicy",
    "Gemm",
    "Memory",
    "MfmaCdna3XF32Policy",
    "MfmaPolicy",
    "Outputs",
    "Placement",
    "Report",
    "ScalarFMAPolicy",
    "SingleBufferTilePolicy",
    "TilePolicy",
    "tune",
    "validate",
]
