"""The kernels that Triton's tutorials teach, on the emulator, against torch on the CPU and `mfma.matmul`.

Each runs on the native engine, and on small sizes on the interpreter.
"""

import numpy as np
import pytest

import mfma
from corpus.case import close, same
from corpus.cases_triton import philox

pytestmark = pytest.mark.long
ENGINES = ("native", "interpreter")
each_engine = pytest.mark.parametrize("engine", ENGINES)


def product(a, b):
    """A·B as ``tl.dot`` chains it over k, for tiles of at least 32 × 32 and ``kpack`` 1."""
    return mfma.matmul(a, b, op="f32_32x32x8f16")


def stretched(torch, rows, columns, seed, dtype):
    """A matrix of numbers over several orders of magnitude."""
    generator = torch.Generator().manual_seed(seed)
    spread = 2.0 ** torch.randint(-6, 4, (rows, columns), generator=generator)
    return (torch.randn(rows, columns, generator=generator) * spread).to(dtype)


def plain(x):
    return x.detach().numpy()


@pytest.mark.parametrize(("engine", "n"), [("native", 98_432), ("interpreter", 1000)])
def test_vector_add(torch, triton, kernels, engine, n):
    x, y, out = torch.randn(n), torch.randn(n), torch.empty(n + 3).fill_(7)
    with mfma.triton.emulate(engine) as emulated:
        kernels.vector_add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=1024)
    same(plain(out[:n]), plain(x + y))
    assert plain(out[n:]).tolist() == [7, 7, 7]
    (report,) = emulated.reports
    assert (report.kernel, report.grid, report.block) == ("vector_add", (-(-n // 1024), 1, 1), (256, 1, 1))


@pytest.mark.parametrize(("engine", "rows", "columns"), [("native", 37, 781), ("interpreter", 2, 100)])
def test_softmax(torch, triton, kernels, engine, rows, columns):
    x, out = torch.randn(rows, columns) * 4, torch.zeros(rows, columns)
    with mfma.triton.emulate(engine):
        block = triton.next_power_of_2(columns)
        kernels.softmax[(rows,)](x, out, columns, x.stride(0), BLOCK=block)
    # A difference below 2^5 is rounded, and its product with log2(e), below 2^6: at most 2^-20 and ln(2) 2^-19 in the
    # exponent; the rest, a tree of at most 10 sums, exp2, and a division, is an order below.
    close(plain(out), plain(torch.softmax(x.double(), 1)), 2.0**-18)


SIZES = {"native": (130, 97, 80), "interpreter": (33, 40, 32)}


def matmul_arguments(x, y, out):
    return (x, y, out, out.shape[0], out.shape[1], x.shape[1], *x.stride(), *y.stride(), *out.stride())


@each_engine
@pytest.mark.parametrize("activation", ["", "leaky"])
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(torch, triton, kernels, engine, activation, transposed):
    m, n, k = SIZES[engine]
    x = stretched(torch, m, k, 1, torch.float16)
    y = stretched(torch, n, k, 2, torch.float16).T if transposed else stretched(torch, k, n, 2, torch.float16)
    out = torch.zeros(m, n, dtype=torch.float16)
    with mfma.triton.emulate(engine) as emulated:
        grid = (triton.cdiv(m, 32) * triton.cdiv(n, 32),)
        kernels.matmul[grid](
            *matmul_arguments(x, y, out), BM=32, BN=32, BK=32, GROUP=3, ACTIVATION=activation, num_warps=1
        )
    wanted = product(x, y.contiguous())
    if activation:
        wanted = np.where(wanted >= 0, wanted, wanted * np.float32(0.01))
    same(plain(out), wanted.astype(np.float16))
    assert "v_mfma_f32_32x32x8_f16" in {ran.mnemonic for ran in emulated.reports[-1].instructions}


def test_tuned_matmul(torch, triton, kernels):
    m, n, k = SIZES["native"]
    x, y = stretched(torch, m, k, 1, torch.float16), stretched(torch, k, n, 2, torch.float16)
    out = torch.zeros(m, n, dtype=torch.float32)
    kernels.tuned.cache.clear()
    with mfma.triton.emulate(profile=True) as emulated:
        kernels.tuned[lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)](
            *matmul_arguments(x, y, out), ACTIVATION=""
        )
    same(plain(out), product(x, y))
    timings = {config: taken[0] for config, taken in kernels.tuned.configs_timings.items()}
    assert set(timings) == set(kernels.CONFIGS)
    assert len(set(timings.values())) > 1
    assert timings[kernels.tuned.best_config] == min(timings.values())
    (report,) = emulated.reports
    assert report.profile.cycles.seconds * 1e3 == min(timings.values())


@each_engine
def test_seeded_dropout(torch, kernels, engine):
    n, p, seed = 500, 0.25, 123
    x, out, again, other = torch.randn(n), *(torch.full((n,), 9.0) for _ in range(3))
    with mfma.triton.emulate(engine):
        for target, number in ((out, seed), (again, seed), (other, seed + 1)):
            kernels.dropout[(2,)](x, target, n, p, seed=number, BLOCK=256)
    # Triton's rand takes the first word as a signed number, folds the negative ones, and scales by about 2^-31.
    words = philox(seed, np.arange(n, dtype=np.uint64))[0].view(np.int32).astype(np.int64)
    uniform = np.where(words < 0, -words - 1, words) * 2.0**-31
    kept = uniform > p
    assert 0.6 < kept.mean() < 0.9
    same(plain(out), np.where(kept, plain(x) / np.float32(0.75), np.float32(0)))
    assert torch.equal(out, again)
    assert not torch.equal(out, other)


@each_engine
def test_layer_norm_forward_and_backward(torch, triton, kernels, engine):
    rows, n = (24, 300) if engine == "native" else (5, 60)
    group, block = 4, triton.next_power_of_2(n)
    x = (torch.randn(rows, n) * 2 - 0.5).requires_grad_()
    w, b = torch.rand(n, requires_grad=True), torch.rand(n, requires_grad=True)
    dy = torch.randn(rows, n) * 0.1
    out, mean, rstd = torch.empty(rows, n), torch.empty(rows), torch.empty(rows)
    dx, dw, db = torch.empty(rows, n), torch.zeros(group, n), torch.zeros(group, n)
    lock = torch.zeros(2 * group, dtype=torch.int32)
    weights, biases = torch.empty(n), torch.empty(n)
    with mfma.triton.emulate(engine):
        kernels.layer_norm[(rows,)](x, w, b, out, mean, rstd, n, 1e-5, BLOCK=block)
        kernels.layer_norm_backward[(rows,)](
            dx, dy, dw, db, x, w, mean, rstd, lock, n, n, GROUP=group, BLOCK=block, num_warps=2
        )
        for part, whole in ((dw, weights), (db, biases)):
            kernels.column_sums[(triton.cdiv(n, 64),)](part, whole, group, n, BM=4, BN=64)
    assert lock.tolist() == [0] * group + [1] * group
    exact = [v.detach().double().requires_grad_() for v in (x, w, b)]
    wanted = torch.nn.functional.layer_norm(exact[0], (n,), exact[1], exact[2], 1e-5)
    wanted.backward(dy.double())
    # Sums of at most 300 numbers below 8 in a tree or 24 in a row: some 16 roundings on each path.
    for got, precise in ((out, wanted), (dx, exact[0].grad), (weights, exact[1].grad), (biases, exact[2].grad)):
        close(plain(got), plain(precise), 2.0**-18, 2.0**-18)


@each_engine
@pytest.mark.parametrize("causal", [False, True])
def test_attention(torch, kernels, engine, causal):
    heads, length, d = (2, 128, 64) if engine == "native" else (1, 32, 16)
    q, k, v = (torch.randn(heads, length, d).half() for _ in range(3))
    out = torch.zeros(heads, length, d)
    with mfma.triton.emulate(engine):
        kernels.attention[(length // 32, heads)](
            q, k, v, out, length, d**-0.5, CAUSAL=causal, BM=32, BN=32, D=d, num_warps=2
        )
    wanted = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
    # Weights are rounded to f16, their sum is not: 2^-11 of the largest |v|, twice that for everything else.
    close(plain(out), plain(wanted), 0.0, 2.0**-10 * float(v.abs().max()))
