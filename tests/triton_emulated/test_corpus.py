"""The corpus's Triton kernels, launched by Triton itself: ``tl.dot`` in all types, atomics, memory, random numbers."""

import importlib
import re

import ml_dtypes
import numpy as np
import pytest

import mfma
from corpus.build_triton import BUILDS
from corpus.cases_triton import CASES
from corpus.cases_triton_common import SCRATCH
from corpus.cases_triton_math import CASES as MATH

pytestmark = pytest.mark.long
FOREIGN = {np.dtype(getattr(ml_dtypes, name)): name for name in (
    "bfloat16", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3fn", "float8_e5m2",
)}  # fmt: skip
LAUNCHED = [case for case in CASES if case.quick and case not in MATH]


def tensor(torch, value):
    """What a user of Triton passes: a tensor that shares the array's memory, or a number."""
    if not isinstance(value, np.ndarray):
        return value.item()
    if value.dtype in FOREIGN:
        return torch.from_numpy(value.view(f"i{value.itemsize}")).view(getattr(torch, FOREIGN[value.dtype]))
    return torch.from_numpy(value)


BY_BOTH = [("native", case) for case in LAUNCHED] + [
    ("interpreter", case) for case in LAUNCHED if re.search(r"atomic|random|lock|gemm_\w+_16$|gemm_fp64$", case.name)
]


@pytest.mark.parametrize(("engine", "case"), BY_BOTH, ids=lambda value: getattr(value, "name", value))
def test_a_kernel_of_the_corpus(torch, triton, engine, case):
    build = BUILDS[re.fullmatch(r"triton_(\w+)\.hsaco", case.object)[1]]
    kernel = getattr(importlib.import_module(f"corpus.{build.module}"), build.kernel)
    types = {"fp32": triton.language.float32, "fp64": triton.language.float64, "i32": triton.language.int32}
    constants = {name: types[value] if name == "T" else value for name, value in build.constants.items()}
    arguments = case.arguments()[: -len(SCRATCH)]
    with mfma.triton.emulate(engine) as emulated:
        kernel[case.grid](
            *(tensor(torch, value) for value in arguments), **constants, num_warps=build.warps, **build.options
        )
    case.check([*arguments, *SCRATCH])
    assert emulated.reports[-1].block == case.block


def test_the_matrix_core_in_every_type_is_launched():
    objects = {case.object for case in LAUNCHED}
    for kind in ("fp16", "bf16", "fp8e4b8_fp8e4b8", "fp8e5b16_fp8e5b16", "fp8e4b8_fp8e5b16", "xf32", "fp32", "i8"):
        assert {f"triton_gemm_{kind}_{edge}.hsaco" for edge in (16, 32)} <= objects
    assert "triton_gemm_fp64.hsaco" in objects
