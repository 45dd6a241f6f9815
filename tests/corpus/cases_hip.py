"""All cases of the HIP half of the corpus."""

from __future__ import annotations

from corpus import (
    cases_hip_atomics,
    cases_hip_buffers,
    cases_hip_compare,
    cases_hip_convert,
    cases_hip_floats,
    cases_hip_flow,
    cases_hip_gemm,
    cases_hip_integers,
    cases_hip_lanes,
    cases_hip_lds,
    cases_hip_matrix,
    cases_hip_packed,
    cases_hip_rare,
    cases_hip_vector,
)

__all__ = ["CASES"]

MODULES = (
    cases_hip_vector,
    cases_hip_integers,
    cases_hip_packed,
    cases_hip_compare,
    cases_hip_floats,
    cases_hip_convert,
    cases_hip_flow,
    cases_hip_lds,
    cases_hip_lanes,
    cases_hip_buffers,
    cases_hip_atomics,
    cases_hip_matrix,
    cases_hip_rare,
    cases_hip_gemm,
)
CASES = [case for module in MODULES for case in module.CASES]
