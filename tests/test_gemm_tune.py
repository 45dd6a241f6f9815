"""The search finds what trying everything finds."""

import sys

import pytest

import mfma
from mfma.gemm import Memory, tune
from mfma.gemm.model import strip
from mfma.gemm.tune import candidates

MODULE = sys.modules["mfma.gemm.tune"]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(MODULE, "WAVES", ((1, 2), (2, 2)))
    monkeypatch.setattr(MODULE, "TILES", ((1, 1), (2, 2)))
    monkeypatch.setattr(MODULE, "STEPS", (1, 2))


@pytest.mark.parametrize("name", ["f32_16x16x16f16", "f32_16x16x4f16", "f64_4x4x4f64", "i32_16x16x32_i8"])
@pytest.mark.parametrize("memory", [Memory(), Memory(b_order="column")])
def test_the_bound_is_below_the_exact_count(small, name, memory):
    seen = 0
    for gemm in candidates(name, memory, batch=4):
        bound, exact = strip(gemm, without_conflicts=True), strip(gemm)
        for pattern, access in exact.lds.items():
            assert bound.lds[pattern].cycles <= access.cycles, (gemm, pattern)
        seen += 1
    assert seen > 20


@pytest.mark.parametrize("name", ["f32_16x16x16f16", "f32_4x4x4f16"])
def test_the_ranking_is_that_of_all_candidates(small, name):
    memory = Memory(b_order="column")
    reports = [gemm.report(500, 300, 700) for gemm in candidates(name, memory)]
    wanted = sorted((r.cycles, r.lds_bytes, r.strip.registers.total) for r in reports)
    found = tune(500, 300, 700, name, memory=memory, top=7)
    ranks = [(c.report.cycles, c.report.lds_bytes, c.report.strip.registers.total) for c in found]
    assert ranks == wanted[:7]


def test_placements_along_the_batch_need_one(small):
    def places(batch):
        return {str(gemm.compute.placement) for gemm in candidates("f32_16x16x4f16", Memory(), batch)}

    assert places(1) == {"m", "n", "k"}
    assert places(3) == {"m", "n", "k", "batch"}


def test_the_best_kernel_computes(small):
    import numpy as np

    (best,) = tune(64, 64, 64, "f32_16x16x16f16", top=1)
    a = np.ones((64, 64), np.float16)
    assert (best.gemm.simulate(a, a) == 64).all()
    assert best.as_dict()["cycles"] == best.report.cycles


def test_progress_reaches_the_end(small):
    calls = []
    tune(64, 64, 64, "f32_16x16x16f16", progress=lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls)
    assert calls[-1][0] == calls[-1][1]


def test_devices_split_and_clock(small):
    (best,) = tune(64, 64, 64, "f32_16x16x16f16", "MI300A", split_k=2, clock_mhz=1000, top=1)
    assert best.report.device.name == "MI300A"
    assert best.report.parts == 2
    assert best.report.peak.clock_mhz == 1000


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"top": 0}, mfma.OptionError, "top is 0"),
        ({"m": 0}, mfma.OptionError, "M is 0"),
        ({"device": "H100"}, mfma.UnknownNameError, "H100"),
        ({"op": "f32_1x1x1f16"}, mfma.UnknownNameError, "f32_1x1x1f16"),
        ({"split_k": 0}, mfma.OptionError, "split_k is 0"),
    ],
)
def test_bad_arguments(small, arguments, error, message):
    with pytest.raises(error, match=message):
        tune(**({"m": 64, "n": 64, "k": 64, "op": "f32_16x16x16f16"} | arguments))
