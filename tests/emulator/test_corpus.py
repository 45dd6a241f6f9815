"""Every launch of the corpus: real compilers' kernels against computations that know nothing of the emulator."""

import pytest

import mfma
from corpus.cases_hip import CASES as HIP
from corpus.cases_hip_gemm import every
from corpus.cases_triton import CASES as TRITON

CASES = [*HIP, *TRITON]


def launch(case):
    module = mfma.load(case.path)
    arguments = case.arguments()
    report = module[case.kernel].launch(case.grid, case.block, arguments, lds=case.lds)
    case.check(arguments)
    return report


@pytest.mark.parametrize("case", [case for case in CASES if case.quick], ids=lambda case: case.name)
def test_quick(case):
    assert launch(case).executed > 0


@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in CASES if not case.quick], ids=lambda case: case.name)
def test_long(case):
    assert launch(case).executed > 0


@pytest.mark.long
def test_tiled_programs_of_every_instruction(tmp_path):
    names = []
    for case in every(tmp_path):
        launch(case)
        names.append(case.name.split()[1].rstrip(","))
    assert names == [op.name for op in mfma.ops()]
