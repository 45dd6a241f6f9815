"""Times: what an autotuner compares, and what `triton.testing.do_bench` measures."""

import pytest

import mfma

pytestmark = pytest.mark.long


def test_modelled_time_is_the_profiles(torch, kernels):
    x = torch.ones(64)
    with mfma.triton.emulate(profile=True) as emulated:
        kernels.negate[(4,)](x, N=16)
        cycles = emulated.reports[-1].profile.cycles
        taken = emulated.do_bench(lambda: kernels.negate[(4,)](x, N=16))
        both = emulated.do_bench(lambda: [kernels.negate[(4,)](x, N=16) for _ in range(2)])
        assert len(emulated.reports) == 1
        assert emulated.do_bench(lambda: None) == 0
        assert emulated.do_bench(lambda: kernels.negate[(4,)](x, N=16), return_mode="all") == [taken]
    assert taken == pytest.approx(cycles.cycles / 2.1e9 * 1e3)  # MI300X: 2,100 MHz
    assert both == pytest.approx(2 * taken)


def test_measured_time_is_the_computers(torch, triton, kernels):
    x, calls = torch.ones(16), []

    def call():
        calls.append(kernels.negate[(1,)](x, N=16))

    with mfma.triton.emulate():
        kernels.negate[(1,)](x, N=16)
        taken = triton.testing.do_bench(call, warmup=1, rep=1)
        median, most = triton.testing.do_bench(call, warmup=1, rep=1, quantiles=[0.5, 1.0])
    assert 0 < taken < 60_000
    assert 0 < median <= most
    assert len(calls) >= 2 * 8


def test_an_autotuner_restores_its_arguments(torch, kernels):
    x = torch.ones(64)
    kernels.tuned_negate.cache.clear()
    with mfma.triton.emulate() as emulated:
        kernels.tuned_negate[(1,)](x)
        assert x.tolist() == [-1] * 64
        assert len(emulated.reports) == 1
        kernels.tuned_negate[(1,)](x)
    assert len(emulated.reports) == 2
    timings = kernels.tuned_negate.configs_timings
    assert all(len(set(times)) == 1 and times[0] > 0 for times in timings.values())
    assert kernels.tuned_negate.best_config in timings


def test_configurations_that_do_not_fit_are_passed_over(torch, triton, kernels):
    configs = [triton.Config({"N": 64}, num_warps=32), triton.Config({"N": 64}, num_warps=2)]
    tuned = triton.autotune(configs, key=[])(kernels.negate)
    with mfma.triton.emulate() as emulated:
        tuned[(1,)](torch.ones(64))
    assert tuned.best_config is configs[1]
    assert tuned.configs_timings[configs[0]][0] == float("inf")
    assert emulated.reports[-1].block == (128, 1, 1)


def test_an_autotuner_that_was_used_here_asks_the_driver_elsewhere(torch, triton, kernels, monkeypatch):
    tuned = triton.autotune([triton.Config({"N": 64}, num_warps=n) for n in (1, 2)], key=[])(kernels.negate)
    with mfma.triton.emulate():
        tuned[(1,)](torch.ones(64))
        benchmarker = tuned.do_bench

    class Other:
        def get_benchmarker(self):
            return lambda fn, quantiles: ["elsewhere", quantiles]

    monkeypatch.setattr(triton.runtime.driver, "_active", Other())
    assert benchmarker(lambda: None, quantiles=(0.5,)) == ["elsewhere", (0.5,)]


def test_heuristics(torch, kernels):
    x = torch.ones(40)[:32]
    with mfma.triton.emulate():
        kernels.heuristic[(1,)](x)
    assert x.tolist() == [-1] * 32


def test_the_device_has_an_mi300xs_properties(triton):
    with mfma.triton.emulate():
        driver = triton.runtime.driver.active
        assert (driver.get_current_target().backend, driver.get_current_target().arch) == ("hip", "gfx942")
        assert driver.get_active_torch_device().type == "cpu"
        properties = driver.utils.get_device_properties(driver.get_current_device())
        assert (properties["multiprocessor_count"], properties["max_shared_mem"]) == (304, 65_536)
        # MI300X data sheet: 5.3 TB/s
        assert triton.testing.get_dram_gbps(driver.get_current_device()) == pytest.approx(5300, rel=0.01)
        assert driver.map_python_to_cpp_type("*fp32") == "hipDeviceptr_t"
