"""What a kernel of Triton can be given."""

import collections
import re

import numpy as np
import pytest

import mfma
from mfma import LaunchError

pytestmark = pytest.mark.long


@pytest.fixture
def emulated(triton):
    with mfma.triton.emulate() as emulated:
        yield emulated


def test_numbers(torch, kernels, emulated):
    wide, large = -(1 << 40) - 1, (1 << 64) - (1 << 11)
    out = torch.zeros(10, dtype=torch.float64)
    kernels.scalars[(1,)](out, 5, wide, 0.1, True, 0.1, 0.1, 0.1, -3, large, None)
    half, brain = torch.tensor(0.1).half().item(), torch.tensor(0.1).bfloat16().item()
    assert out.tolist() == [5, wide, float(np.float32(0.1)), 1, half, brain, 0.1, -3, large, 1]
    # 1 and False are compiled in or not: the values count
    kernels.scalars[(1,)](out, i=1, wide=-1, f=-2.5, flag=False, h=2, b=-3, d=4, small=127, u=1, none=out)
    assert out.tolist() == [1, -1, -2.5, 0, 2, -3, 4, 127, 1, 1]
    inf = float("inf")
    kernels.scalars[(1,)](out, 2, 3, 1e300, False, -1e6, 1e300, 1e300, 0, 0, None)
    assert out.tolist() == [2, 3, inf, 0, -inf, inf, 1e300, 0, 0, 1]


def test_tuples(torch, kernels, emulated):
    x, out = torch.arange(16.0), torch.zeros(16)
    pair = collections.namedtuple("pair", "values line")
    for both in ((x, (2.5, 3)), pair(x, (2.5, 3))):
        kernels.of_tuple[(1,)](both, out.zero_(), N=16)
        assert torch.equal(out, x * 2.5 + 3)


def test_descriptors(torch, kernels, emulated):
    from triton.tools.tensor_descriptor import TensorDescriptor

    matrix, out = torch.randn(64, 32), torch.zeros(16, 32)
    kernels.tile_of[(1,)](TensorDescriptor.from_tensor(matrix, [16, 32]), out, M=16, N=32)
    assert torch.equal(out, matrix[16:32])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "int16", "int64"])
def test_a_view_begins_where_it_begins(torch, kernels, emulated, dtype):
    whole = torch.arange(48).to(getattr(torch, dtype))
    kernels.negate[(1,)](whole[16:32], N=16)
    assert whole.tolist() == [*range(16), *range(-16, -32, -1), *range(32, 48)]


@pytest.mark.parametrize(
    "dtype", ["float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3fn", "float8_e5m2", "bfloat16", "float32"]
)
def test_small_floats(torch, kernels, emulated, dtype):
    x = (torch.arange(16) - 8).to(getattr(torch, dtype))
    out = torch.zeros(16, dtype=x.dtype)
    kernels.halves[(1,)](x, out, N=16)
    assert out.float().tolist() == [(i - 8) / 2 for i in range(16)]


def test_views_of_one_storage_overlap(torch, kernels, emulated):
    x = torch.ones(20)
    kernels.add_into[(1,)](x[1:17], x[:16], N=16)  # each element is the sum of all before it
    assert x.tolist() == [1, *range(2, 18), 1, 1, 1]


def test_strided_and_empty_views(torch, kernels, emulated):
    x = torch.arange(32.0)
    kernels.negate[(1,)](x[4:][::7], N=16)  # a pointer to x[4]
    assert x.tolist() == [*range(4), *range(-4, -20, -1), *range(20, 32)]
    kernels.vector_add[(1,)](x[32:], x[32:], torch.empty(0), 0, BLOCK=64)


def test_parameters_and_wrapped_tensors(torch, triton, kernels, emulated):
    weight = torch.nn.Parameter(torch.ones(16))
    kernels.negate[(1,)](weight, N=16)
    assert weight.tolist() == [-1] * 16
    bits = torch.full((16,), 0x3F80_0000, dtype=torch.int32)
    kernels.negate[(1,)](triton.reinterpret(bits, triton.language.float32), N=16)
    assert bits.view(torch.float32).tolist() == [-1] * 16


def test_compiled_kernels_and_warm_up(torch, kernels, emulated):
    compiled = kernels.negate.warmup(torch.float32, N=16, grid=(1,))
    compiled._init_handles()
    assert not emulated.reports
    assert 0 < compiled.n_regs <= 512
    assert compiled.n_spills == 0
    x = torch.ones(16)
    compiled[(1, 1, 1)](x, 16)
    assert x.tolist() == [-1] * 16
    with pytest.raises(LaunchError, match=r"^negate takes 2 arguments and 1 were given; it wants x, N\.$"):
        compiled[(1, 1, 1)](x)


def test_grids(torch, kernels, emulated):
    x = torch.ones(64)
    kernels.negate[lambda meta: (64 // meta["N"], 1)](x, N=16)
    kernels.negate[(2, 1, 1)](x, N=16)
    kernels.negate[(0,)](x, N=16)  # Triton launches nothing
    assert [report.grid for report in emulated.reports] == [(4, 1, 1), (2, 1, 1)]
    assert x.tolist() == [1] * 32 + [-1] * 32
    with pytest.raises(
        LaunchError, match=re.escape("grid is one to three positive numbers (x, y, z), not (1.5, 1, 1)")
    ):
        kernels.negate[(1.5,)](x, N=16)


def test_options_of_the_compiler(torch, kernels, emulated):
    x = torch.ones(64)
    options = {"num_stages": 1, "waves_per_eu": 2, "matrix_instr_nonkdim": 16, "kpack": 2}
    for warps in (1, 2, 8):
        kernels.negate[(1,)](x, N=64, num_warps=warps, **options)
        assert emulated.reports[-1].block == (64 * warps, 1, 1)
    from triton.runtime.errors import OutOfResources

    with pytest.raises(OutOfResources):
        kernels.negate[(1,)](x, N=64, num_warps=32)


def test_what_lies_elsewhere_is_refused(torch, kernels, emulated):
    with pytest.raises(LaunchError, match=r"^x is a torch tensor on meta; copy it to the CPU with \.cpu\(\)\.$"):
        kernels.negate[(1,)](torch.ones(16, device="meta"), N=16)

    class Pointer:
        dtype = torch.float32

        @staticmethod
        def data_ptr():
            return 0x1000

    with pytest.raises(LaunchError, match=r"^x is a pointer and Pointer .* was given; pass a NumPy"):
        kernels.negate[(1,)](Pointer(), N=16)
    with pytest.raises(TypeError):  # Triton's own; torch.from_numpy makes it one
        kernels.negate[(1,)](np.ones(16, np.float32), N=16)


def test_memory_faults_name_the_argument_and_the_line(torch, kernels, emulated):
    x = torch.ones(100)[50:]
    with pytest.raises(mfma.MemoryFault) as caught:
        kernels.failing[(1,)](x, 51, BLOCK=64)
    message = str(caught.value)
    assert re.search(r"work-group \(0, 0, 0\), wave 0, failing\+0x\w+ \(.*/kernels\.py:\d+\)", message)
    line = int(re.search(r"kernels\.py:(\d+)", message)[1])
    from pathlib import Path

    assert "tl.store" in Path(kernels.__file__).read_text().splitlines()[line - 1]
    assert "by lane 50 and 0 more" in message or "by lane 50 is" in message, message
    assert "1 byte behind 'x'" in message


def test_scratch_that_a_kernel_asks_for(torch, triton, kernels, emulated, monkeypatch):
    """Triton's floating-point sanitizer computes with integers modulo 2^32, so no order of sums changes its results."""
    monkeypatch.setattr(triton.knobs.compilation, "instrumentation_mode", "fpsan")
    x, y = torch.randn(64, 32).half(), torch.randn(32, 32).half()
    strides = (32, 1, 32, 1, 32, 1)
    results = []
    for rows, depth in ((32, 32), (64, 16), (16, 32)):
        out = torch.zeros(64, 32)
        compiled = kernels.matmul[(64 // rows,)](
            x, y, out, 64, 32, 32, *strides, BM=rows, BN=32, BK=depth, GROUP=1, ACTIVATION="", num_warps=1
        )
        assert compiled.metadata.profile_scratch_size > 0
        results.append(out.view(torch.int32))
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
    assert not torch.allclose(results[0].view(torch.float32), x.float() @ y.float())
