"""What kernels of Triton print and assert."""

import re

import pytest

import mfma

pytestmark = pytest.mark.long
each_engine = pytest.mark.parametrize("engine", ["native", "interpreter"])


@each_engine
def test_device_print(torch, kernels, engine, capsys):
    x = torch.arange(64) * 3
    with mfma.triton.emulate(engine):
        kernels.printing[(1,)](x, N=64, num_warps=1)
    said = capsys.readouterr().out.splitlines()
    found = sorted(tuple(map(int, re.fullmatch(r"pid \(0, 0, 0\) idx \( *(\d+)\) value: (\d+)", line).groups()))
                   for line in said)  # fmt: skip
    assert found == [(i, 3 * i) for i in range(64)]


@each_engine
def test_device_assert(torch, kernels, engine, capfd):
    x = torch.ones(64)
    with mfma.triton.emulate(engine):
        kernels.asserting[(1,)](x, N=64, num_warps=1, debug=True)
        x[5] = -1
        kernels.asserting[(1,)](x, N=64, num_warps=1)  # without debug Triton leaves assertions out
        assert capfd.readouterr() == ("", "")
        with pytest.raises(mfma.KernelError, match=r"asserting\+0x\w+ \(.*kernels\.py:\d+\) `s_trap 2`"):
            kernels.asserting[(1,)](x, N=64, num_warps=1, debug=True)
    out, err = capfd.readouterr()
    assert "not positive" in out + err
