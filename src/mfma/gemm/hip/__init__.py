"""HIP programs from policies: complete, readable, with the bits that they must compute."""

from mfma.gemm.hip.host import expected_output
from mfma.gemm.hip.program import hip

__all__ = ["expected_output", "hip"]
