"""The kernel lane by lane and the fast run give equal bits, and both those of sums that are put together by hand."""

import ctypes
import ctypes.util
import dataclasses
import platform

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mfma
from mfma.gemm import (
    Conversion,
    DirectToLdsTilePolicy,
    DoubleBufferTilePolicy,
    Gemm,
    Memory,
    MfmaPolicy,
    Placement,
    ScalarFMAPolicy,
    SingleBufferTilePolicy,
)
from mfma.gemm.elementwise import fma

TILES = {
    "single": (SingleBufferTilePolicy, {}),
    "double padded": (DoubleBufferTilePolicy, {"padding": 1}),
    "double swizzled": (DoubleBufferTilePolicy, {"swizzle": True}),
    "direct swizzled": (DirectToLdsTilePolicy, {"swizzle": True}),
}
CASES = [(op.name, place) for op in mfma.ops() for place in (tuple(Placement) if op.blocks > 1 else (Placement.M,))]


def kernel(name, place, tiles="single", waves=(2, 1), per_wave=(1, 2), kwidth=None, **memory):
    policy = MfmaPolicy(name, *waves, *per_wave, placement=place, kwidth=kwidth)
    kind, options = TILES[tiles]
    block_m, block_n = waves[0] * policy.thread_tile_m, waves[1] * policy.thread_tile_n
    k = policy.k_step
    while any(size * policy.batch * k * policy.a.bits % 2048 for size in (block_m, block_n)) or k < 2 * policy.k_step:
        k += policy.k_step
    if options.get("swizzle"):
        k = 1 << (k - 1).bit_length()
        options = {"swizzle": max(k // 4, 32 // policy.a.bits)}
    if kind.direct:
        memory["b_order"] = "column"
    return Gemm(kind(block_m, block_n, k, **options), policy, Memory(**memory))


def random(format, shape, rng):
    if format.is_integer:
        return rng.integers(np.iinfo(format.dtype).min, np.iinfo(format.dtype).max, shape, endpoint=True).astype(
            format.dtype
        )
    numbers = rng.standard_normal(shape) * np.exp2(rng.integers(-4, 5, shape))
    return mfma.encode(numbers, "f32" if format.name == "xf32" else format)


def same(x, y):
    assert x.dtype == y.dtype
    assert x.shape == y.shape
    assert x.tobytes() == y.tobytes()


libm = ctypes.CDLL(ctypes.util.find_library("m"))
libm.fmaf.restype = ctypes.c_float
libm.fmaf.argtypes = [ctypes.c_float] * 3
libm.fma.restype = ctypes.c_double
libm.fma.argtypes = [ctypes.c_double] * 3


def scaled(acc, c, alpha, beta):
    """The epilogue by the C library's fma, or by integers modulo 2**32."""
    if acc.dtype == np.int32:
        total = alpha * acc.astype(np.int64) + beta * np.broadcast_to(c, acc.shape).astype(np.int64)
        return (total & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
    one = {np.dtype(np.float32): libm.fmaf, np.dtype(np.float64): libm.fma}[acc.dtype]
    beta_c = acc.dtype.type(beta) * np.broadcast_to(c, acc.shape)
    pairs = zip(acc.ravel().tolist(), beta_c.ravel().tolist(), strict=True)
    return np.array([one(alpha, x, y) for x, y in pairs], acc.dtype).reshape(acc.shape)


def by_hand(gemm, a, b):
    """Accumulators by whole-matrix products: K padded to strips; blocks along k each by itself, then added."""
    policy, k = gemm.compute, a.shape[-1]
    spare = -k % gemm.tile.k_tile_size
    a = np.concatenate([a, np.zeros((*a.shape[:-1], spare), a.dtype)], axis=-1)
    b = np.concatenate([b, np.zeros((*b.shape[:-2], spare, b.shape[-1]), b.dtype)], axis=-2)
    order = {"kwidth": policy.kwidth}
    if policy.placement is not Placement.K:
        return mfma.matmul(a, b, op=policy.op, k_order=order)
    total = None
    for block in range(policy.op.blocks):
        mine = np.arange(k + spare) % policy.k_step // (policy.k_step // policy.op.blocks) == block
        part = mfma.matmul(a[..., mine], b[..., mine, :], op=policy.op, k_order=order)
        total = part if total is None else (total + part).astype(part.dtype)
    return total


@pytest.mark.parametrize(("name", "place"), CASES)
@pytest.mark.parametrize("tiles", TILES)
def test_simulation_and_run_give_the_bits_of_sums_made_by_hand(name, place, tiles):
    gemm = kernel(name, place, tiles)
    rng = np.random.default_rng(len(name) + len(tiles))
    a, b = random(gemm.compute.a, (2, 37, 29), rng), random(gemm.compute.b, (29, 21), rng)
    c = random(gemm.compute.accumulator, (37, 21), rng)
    alpha, beta = (3, -7) if c.dtype == np.int32 else (float(np.float32(0.3)), float(np.float32(-1.7)))
    simulated = gemm.simulate(a, b, c, alpha, beta)
    same(simulated, gemm.run(a, b, c, alpha, beta))
    same(simulated, scaled(by_hand(gemm, a, b), c, alpha, beta))


@pytest.mark.parametrize(("name", "place"), [case for case in CASES if case[1] is not Placement.K])
def test_with_c_absent_and_alpha_one_the_bits_are_those_of_matmul(name, place):
    gemm = kernel(name, place, "double padded")
    rng = np.random.default_rng(7)
    a, b = random(gemm.compute.a, (19, 70), rng), random(gemm.compute.b, (70, 33), rng)
    same(gemm.simulate(a, b), mfma.matmul(a, b, op=name))
    same(gemm.run(a, b), mfma.matmul(a, b, op=name))


@settings(deadline=None, max_examples=60)
@given(
    case=st.sampled_from(CASES),
    sizes=st.tuples(*[st.integers(0, 70)] * 3),
    width=st.sampled_from([1, 2, 3]),
    split=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_size_kwidth_and_split(case, sizes, width, split, seed):
    held = mfma.op(case[0]).registers.a.elements
    gemm = kernel(*case, waves=(1, 2), per_wave=(2, 1), kwidth=width * held)
    m, n, k = sizes
    rng = np.random.default_rng(seed)
    a, b = random(gemm.compute.a, (m, k), rng), random(gemm.compute.b, (k, n), rng)
    options = {"split_k": min(split, max(-(-k // gemm.compute.k_step), 1))}
    same(gemm.simulate(a, b, **options), gemm.run(a, b, **options))
    if case[1] is not Placement.K:
        whole = mfma.matmul(a, b, op=case[0], k_order={"kwidth": width * held}, **options)
        same(gemm.run(a, b, **options) + 0, whole + 0)  # sums that underflow may differ in the sign of zero


@pytest.mark.parametrize("name", ["f32_16x16x16f16", "f32_4x4x4f16", "f64_4x4x4f64", "i32_16x16x4i8"])
def test_all_bit_patterns(name):
    gemm = kernel(name, Placement.M)
    rng = np.random.default_rng(3)
    a = rng.integers(0, 256, (33, 40 * gemm.compute.a.bits // 8), np.uint8).view(gemm.compute.a.dtype)
    b = rng.integers(0, 256, (40, 17 * gemm.compute.b.bits // 8), np.uint8).view(gemm.compute.b.dtype)
    same(gemm.simulate(a, b), gemm.run(a, b))
    same(gemm.simulate(a, b), mfma.matmul(a, b, op=name))


def test_kwidth_of_the_call_is_the_policy_with_it():
    gemm = kernel("f32_16x16x16f16", Placement.M)
    rng = np.random.default_rng(0)
    a, b = random(gemm.compute.a, (20, 64), rng), random(gemm.compute.b, (64, 20), rng)
    wide = gemm.simulate(a, b, k_order={"kwidth": 8})
    same(wide, mfma.matmul(a, b, op="f32_16x16x16f16", k_order={"kwidth": 8}))
    assert wide.tobytes() != gemm.simulate(a, b).tobytes()


def test_a_permutation_of_k():
    gemm = kernel("f32_16x16x16f16", Placement.M)
    rng = np.random.default_rng(0)
    a, b = random(gemm.compute.a, (20, 50), rng), random(gemm.compute.b, (50, 20), rng)
    order = rng.permutation(50)
    permuted = gemm.simulate(a, b, k_order=order)
    same(permuted, gemm.run(a, b, k_order=order))
    same(permuted, mfma.matmul(a, b, op="f32_16x16x16f16", k_order=order))


@pytest.mark.parametrize("tile", [SingleBufferTilePolicy(32, 32, 8), DoubleBufferTilePolicy(32, 32, 5, padding=1)])
@pytest.mark.parametrize("policy", [ScalarFMAPolicy(4, 4, 8), ScalarFMAPolicy(8, 8, 4), ScalarFMAPolicy(1, 32, 1)])
def test_scalar_policy_is_a_sequential_chain(tile, policy):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 45, 33), (33, 70)))
    gemm = Gemm(tile, policy)
    same(gemm.simulate(a, b), mfma.matmul(a, b, op="f32_16x16x4f32", model="fma"))
    same(gemm.run(a, b), gemm.simulate(a, b))


def test_strides_and_batches_broadcast():
    gemm = kernel("f32_16x16x16f16", Placement.M, "double padded")
    rng = np.random.default_rng(2)
    a = random(gemm.compute.a, (2, 1, 40, 60), rng)[..., ::2, ::-3]
    b = random(gemm.compute.b, (3, 44, 20), rng).swapaxes(1, 2)
    same(gemm.simulate(a, b), mfma.matmul(a, b, op="f32_16x16x16f16"))
    same(gemm.run(a, b), gemm.simulate(a, b))


def test_placement_in_a_batch_larger_than_the_blocks():
    gemm = kernel("f32_16x16x4f16", Placement.BATCH)
    rng = np.random.default_rng(2)
    a, b = random(gemm.compute.a, (7, 20, 9), rng), random(gemm.compute.b, (7, 9, 33), rng)
    same(gemm.simulate(a, b), mfma.matmul(a, b, op="f32_16x16x4f16"))


def test_integers_stay_integers_where_k_is_no_multiple():
    gemm = kernel("i32_16x16x32_i8", Placement.M)
    a = np.full((1, 4601), 127, np.int8)
    assert gemm.simulate(a, a.T).item() == gemm.run(a, a.T).item() == 4601 * 127 * 127


def test_nan_in_c_does_not_matter_with_beta_zero():
    gemm = kernel("f32_16x16x16f16", Placement.M)
    a, c = np.ones((2, 2), np.float16), np.full((2, 2), np.nan, np.float32)
    for compute in (gemm.simulate, gemm.run):
        assert np.array_equal(compute(a, a, c, 0.5, 0.0), np.ones((2, 2), np.float32))
        assert np.array_equal(compute(a, a, c, 0.5, -0.0), np.ones((2, 2), np.float32))
        assert np.isnan(compute(a, a, c)).all()


@pytest.mark.parametrize("rounding", ["rne", "truncate"])
@pytest.mark.parametrize("name", ["f32_16x16x16f16", "f32_32x32x8bf16_1k", "f32_16x16x32_fp8_bf8", "f32_16x16x8_xf32"])
def test_operands_are_converted_on_load_and_results_on_store(name, rounding):
    op = mfma.op(name)
    how = Conversion(rounding)
    gemm = kernel(name, Placement.M, a="f32", b="f32", d="bf16", load=how, store=how)
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((20, 40), (40, 12)))
    c = rng.standard_normal((20, 12)).astype(ml_dtypes.bfloat16)
    acc = mfma.matmul(mfma.encode(a, op.a, rounding), mfma.encode(b, op.b, rounding), op=op)
    wanted = mfma.encode(scaled(acc, c.astype(np.float32), 0.5, 2.0), "bf16", rounding)
    same(gemm.simulate(a, b, c, 0.5, 2.0), wanted)
    same(gemm.run(a, b, c, 0.5, 2.0), wanted)


def test_xf32_is_cut_by_the_instruction_unless_asked_to_be_rounded():
    a, one = np.array([[1.000732421875]], np.float32), np.ones((1, 1), np.float32)
    cut, rounded = (kernel("f32_16x16x8_xf32", Placement.M, a=format) for format in (None, "f32"))
    assert cut.run(a, one).item() == 1.0
    assert rounded.run(a, one).item() == rounded.simulate(a, one).item() == 1.0009765625


def test_half_results_overflow_once_at_store():
    a = np.full((1, 4), 65504, np.float16)
    ones = np.ones((4, 1), np.float16)
    assert kernel("f32_16x16x16f16", Placement.M).run(a, ones).item() == 262016
    half = kernel("f32_16x16x16f16", Placement.M, d="f16")
    assert np.isinf(half.simulate(a, ones)).all()
    saturating = kernel("f32_16x16x16f16", Placement.M, d="f16", store=Conversion(overflow="saturate"))
    assert saturating.simulate(a, ones).item() == 65504


def test_split_k_adds_partial_sums_in_order():
    gemm = kernel("f32_16x16x16f16", Placement.M)
    rng = np.random.default_rng(0)
    a, b = random(gemm.compute.a, (20, 150), rng), random(gemm.compute.b, (150, 20), rng)
    for parts in (1, 2, 3, 7, 10):
        same(gemm.simulate(a, b, split_k=parts), gemm.run(a, b, split_k=parts))
        same(gemm.run(a, b, split_k=parts), mfma.matmul(a, b, op="f32_16x16x16f16", split_k=parts))


def test_progress_ends_with_all_the_work():
    gemm = kernel("f32_16x16x16f16", Placement.M)
    a = np.ones((50, 64), np.float16)
    calls = []
    gemm.simulate(a, a.T, split_k=2, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1][0] == calls[-1][1]
    assert sorted(calls) == calls


def test_fma_rounds_once():
    rng = np.random.default_rng(0)
    for format, one in (("f32", libm.fmaf), ("f64", libm.fma)):
        f = mfma.formats.FORMATS[format]
        x, y, z = (random(f, (500,), rng) for _ in range(3))
        wanted = [one(*values) for values in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)]
        same(fma(x, y, z, f), np.array(wanted, f.dtype))


@pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64", reason="sets the control word of x86-64 glibc"
)
@pytest.mark.parametrize("flags", [0x8040, 0x2000, 0x4000, 0x6000, 0xC040])
def test_environment_of_the_thread_does_not_matter(flags):
    """Subnormals flushed, and other roundings, as another library may have set them on this thread."""
    rng = np.random.default_rng(0)
    mfma_policy, scalar = MfmaPolicy("f32_16x16x1f32", placement="k"), ScalarFMAPolicy(4, 4, 4)
    kernels = [Gemm(SingleBufferTilePolicy(16, 16, 8), policy) for policy in (mfma_policy, scalar)]
    a, b, c = (np.ldexp(random(mfma_policy.a, (8, 8), rng), e) for e in (-70, -70, -140))
    factors = np.float32(2**-130), np.float32(0.7), np.float32(2**-140)

    def everything():
        for gemm in kernels:
            for compute in (gemm.simulate, gemm.run):
                yield compute(a, b, c, factors[1], factors[2])
                yield compute(a, b, c, factors[0], factors[1])
                yield compute(a, b, alpha=factors[1], split_k=2)

    wanted = list(everything())
    saved, changed = (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()
    libm.fegetenv(saved)
    libm.fegetenv(changed)
    changed[7] |= flags
    libm.fesetenv(changed)
    try:
        found = list(everything())
    finally:
        libm.fesetenv(saved)
    for x, y in zip(found, wanted, strict=True):
        same(x, y)


class Careless(SingleBufferTilePolicy):
    """Does not wait for the writes."""

    def acquire(self, shared, t):
        pass


class Hasty(SingleBufferTilePolicy):
    """Overwrites what others may still read."""

    def release(self, shared, t):
        pass


@pytest.mark.parametrize(("kind", "message"), [(Careless, "acquire"), (Hasty, "release")])
def test_a_missing_barrier_is_a_race(kind, message):
    policy = MfmaPolicy("f32_16x16x16f16")
    a = np.ones((16, 64), np.float16)
    with pytest.raises(mfma.OptionError, match=message):
        Gemm(kind(16, 16, 16), policy).simulate(a, a.T)


@dataclasses.dataclass(frozen=True)
class Doubling(MfmaPolicy):
    """A policy of a user: every product counts twice."""

    __init__ = MfmaPolicy.__init__

    def mma(self, acc, a, b):
        return super().mma(super().mma(acc, a, b), a, b)


def test_policies_of_users_take_part():
    gemm = Gemm(SingleBufferTilePolicy(16, 16, 16), Doubling("f32_16x16x16f16"))
    a = np.ones((3, 5), np.float16)
    assert (gemm.simulate(a, a.T) == 10).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"a": np.ones(3, np.float16)}, mfma.OperandShapeError, "one K"),
        ({"a": np.ones((3, 4), np.float16)}, mfma.OperandShapeError, "one K"),
        ({"a": np.ones((3, 3), np.float32)}, mfma.OperandTypeError, "float16"),
        (
            {"a": np.ones((2, 3, 3), np.float16), "b": np.ones((5, 3, 3), np.float16)},
            mfma.OperandShapeError,
            "broadcast",
        ),
        ({"c": np.ones((4, 4), np.float32)}, mfma.OperandShapeError, "C has shape"),
        ({"alpha": "2"}, mfma.OptionError, "alpha is '2', but it is a number"),
        ({"split_k": 2}, mfma.OptionError, "from 1 to 1"),
        ({"split_k": True}, mfma.OptionError, "split_k is True"),
        ({"split_k": 1.5}, mfma.OptionError, "split_k is 1.5"),
        ({"k_order": [0, 0, 1]}, mfma.OptionError, "permutation"),
        ({"k_order": {"width": 8}}, mfma.OptionError, "kwidth"),
        ({"k_order": {"kwidth": 6}}, mfma.OptionError, "multiple of the 4"),
    ],
)
@pytest.mark.parametrize("method", ["simulate", "run"])
def test_bad_arguments(arguments, error, message, method):
    square = np.ones((3, 3), np.float16)
    given_ = {"a": square, "b": square} | arguments
    with pytest.raises(error, match=message):
        getattr(kernel("f32_16x16x16f16", Placement.M), method)(**given_)


def test_factors_beside_integers_are_integers():
    a = np.ones((2, 2), np.int8)
    with pytest.raises(mfma.OptionError, match=r"alpha is 0\.5, but beside i32 accumulators it is an int32"):
        kernel("i32_16x16x32_i8", Placement.M).run(a, a, alpha=0.5)


def test_a_mapping_of_k_needs_a_policy_with_kwidth():
    a = np.ones((2, 2), np.float32)
    with pytest.raises(mfma.OptionError, match="for an MfmaPolicy"):
        Gemm(SingleBufferTilePolicy(8, 8, 2), ScalarFMAPolicy(2, 2, 4)).run(a, a, k_order={"kwidth": 2})
