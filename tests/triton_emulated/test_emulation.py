"""The context: what it sets and puts back, its options, hooks, and the fixture for pytest."""

import re
import subprocess
import sys
import threading

import pytest

import mfma

pytestmark = pytest.mark.long


@pytest.fixture
def negated(torch, kernels):
    """Negates 16 ones by a launch and says whether it did."""

    def run():
        x = torch.ones(16)
        kernels.negate[(1,)](x, N=16)
        return x.tolist() == [-1] * 16

    return run


def outside(triton):
    return triton.runtime.driver._active


def test_what_was_there_is_put_back(triton, negated):
    before = outside(triton)
    with mfma.triton.emulate() as outer:
        assert negated()
        with mfma.triton.emulate("interpreter") as inner:
            assert negated()
        assert negated()
        assert (len(outer.reports), len(inner.reports)) == (2, 1)
        with pytest.raises(ZeroDivisionError), mfma.triton.emulate():
            1 / 0  # noqa: B018
        assert negated()
    assert outside(triton) is before
    with pytest.raises(ZeroDivisionError), mfma.triton.emulate():
        1 / 0  # noqa: B018
    assert outside(triton) is before
    with outer:
        assert negated()
    assert len(outer.reports) == 4


def test_threads_have_their_own(triton, negated):
    """The first to enter leaves first; each launch goes to its own thread's emulation."""
    before, found = outside(triton), {}
    entered, left = threading.Event(), threading.Event()

    def second():
        with mfma.triton.emulate("interpreter") as emulated:
            entered.set()
            left.wait(60)
            found["still"] = negated()
        found["reports"] = len(emulated.reports)

    with mfma.triton.emulate() as first:
        assert negated()
        thread = threading.Thread(target=second)
        thread.start()
        entered.wait(60)
        assert negated()
    left.set()
    thread.join()
    assert found == {"still": True, "reports": 1}
    assert len(first.reports) == 2
    assert outside(triton) is before


def test_a_thread_without_its_own_has_the_last(negated):
    found = []
    with mfma.triton.emulate() as emulated:
        thread = threading.Thread(target=lambda: found.append(negated()))
        thread.start()
        thread.join()
    assert found == [True]
    assert len(emulated.reports) == 1


def test_a_kernel_launched_outside_is_refused(torch, kernels):
    with mfma.triton.emulate():
        compiled = kernels.negate.warmup(torch.float32, N=16, grid=(1,))
        run, function = compiled.run, compiled.function
    with pytest.raises(mfma.LaunchError, match=r"launch it inside `with mfma\.triton\.emulate\(\):`\.$"):
        run(1, 1, 1, 0, function, None, None, None, None, torch.ones(16), 16)


def test_reports(negated):
    seen = []
    with mfma.triton.emulate(profile=True, report=seen.append, threads=1) as emulated:
        negated()
    assert seen == emulated.reports
    assert seen[0].profile.executed == seen[0].executed > 0


def test_evidence_that_is_required(torch, kernels):
    x = torch.randn(1, 64)
    with mfma.triton.emulate(require="assumed"):
        kernels.softmax[(1,)](x, torch.empty_like(x), 64, 64, BLOCK=64)
    wanted = r"^softmax used what is less than tested: .*v_exp_f32"
    with mfma.triton.emulate(require="tested"), pytest.raises(mfma.EvidenceError, match=wanted):
        kernels.softmax[(1,)](x, torch.empty_like(x), 64, 64, BLOCK=64)


def test_a_launch_can_take_too_long(torch, kernels):
    lock = torch.ones(1, dtype=torch.int32)  # held by nobody who would give it back
    from corpus.triton_kernels import spin_lock

    with mfma.triton.emulate(timeout=0.5), pytest.raises(mfma.WatchdogError):
        spin_lock[(1,)](lock, lock.clone(), lock.clone(), num_warps=1)


def test_options_are_checked():
    with pytest.raises(mfma.OptionError, match=r"^engine is 'fast'; give native or interpreter\.$"):
        mfma.triton.emulate("fast")
    with pytest.raises(mfma.OptionError, match=r"^'sure' is no level of evidence; give one of recorded, "):
        mfma.triton.emulate(require="sure")
    with pytest.raises(mfma.OptionError, match="threads"):
        mfma.triton.emulate(threads=0)
    with pytest.raises(mfma.OptionError, match=r"^timeout is -1; give a number of at least 0, or None\.$"):
        mfma.triton.emulate(timeout=-1)
    with pytest.raises(mfma.OptionError, match=r"^report is 3; give a function that takes a Report, such as print\.$"):
        mfma.triton.emulate(report=3)


def test_hooks_of_a_launch(triton, negated):
    knobs, events = triton.knobs.runtime, []
    enter, leave = (lambda data: events.append(("enter", data.get()["name"]))), (lambda data: events.append("leave"))
    knobs.launch_enter_hook.add(enter)
    knobs.launch_exit_hook.add(leave)
    try:
        with mfma.triton.emulate(report=lambda report: events.append(report.kernel)):
            negated()
    finally:
        knobs.launch_enter_hook.remove(enter)
        knobs.launch_exit_hook.remove(leave)
    assert events == [("enter", "negate"), "negate", "leave"]


def test_interpretation_by_triton_is_refused(triton, monkeypatch):
    monkeypatch.setattr(triton.knobs.runtime, "interpret", True)
    before = outside(triton)
    with pytest.raises(mfma.OptionError, match=r"^TRITON_INTERPRET=1 is set, .* unset it before Triton is imported"):
        mfma.triton.emulate().__enter__()
    assert outside(triton) is before


@pytest.mark.parametrize(("module", "package"), [("torch", "torch"), ("triton", "triton==3.9.0")])
def test_what_is_not_installed_is_named(module, package):
    code = f"""
import sys, mfma
sys.modules[{module!r}] = None
try:
    mfma.triton.emulate().__enter__()
except mfma.MissingToolError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    feature = "running Triton kernels on the CPU (mfma.triton)"
    assert done.stdout == f"{feature} needs {module}, which is not here; to install: pip install {package}\n"


def test_another_version_of_triton_is_named(triton):
    code = """
import mfma, torch, triton.backends.driver
del triton.backends.driver.expand_signature
triton.__version__ = "3.4.0"
try:
    mfma.triton.emulate().__enter__()
except mfma.MissingToolError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "Triton 3.4.0 has other drivers than the emulator's is made for; install the version that it is made for with: "
        "pip install triton==3.9.0\n"
    )


def test_a_script_ends_without_a_word(triton, tmp_path):
    """Triton unloads kernels when they are collected, long after the emulation."""
    script = tmp_path / "script.py"
    script.write_text(
        """
import torch, triton, triton.language as tl, mfma

@triton.jit
def twice(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, 2 * tl.load(x + i))

x = torch.ones(16)
with mfma.triton.emulate():
    kernel = twice[(1,)](x, N=16)
del kernel
twice.device_caches.clear()
print(x.sum().item())
""",
        "utf-8",
    )
    done = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("32.0\n", "")


PLUGIN = """
import pytest

def test_engine(mfma_triton):
    assert mfma_triton.engine == "native"

@pytest.mark.mfma_triton(engine="interpreter", profile=True)
def test_options(mfma_triton):
    assert (mfma_triton.engine, mfma_triton.profile) == ("interpreter", True)
    import triton
    assert triton.runtime.driver.active.get_current_target().arch == "gfx942"

def test_outside():
    import triton
    with pytest.raises(RuntimeError):
        triton.runtime.driver.active

@pytest.mark.mfma_triton(threads=1)
def test_by_the_marker_alone():
    import triton
    assert triton.runtime.driver.active.get_current_target().arch == "gfx942"

@pytest.mark.mfma_triton(engine="fast")
def test_wrong(mfma_triton):
    pass
"""


def test_the_fixture_of_the_plugin(triton, tmp_path):
    test = tmp_path / "test_it.py"
    test.write_text(PLUGIN, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-W", "error", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert re.search(r"4 passed, 1 error", done.stdout), done.stdout + done.stderr
    assert "engine is 'fast'; give native or interpreter." in done.stdout
    fixtures = subprocess.run([*command[:-1], "--fixtures", tmp_path], capture_output=True, text=True, check=True)
    assert "mfma_triton" in fixtures.stdout


def test_the_plugin_imports_nothing_heavy():
    heavy = ("numpy", "torch", "triton", "mfma.emulator")
    code = f"import sys, mfma.integrations.pytest_plugin; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
