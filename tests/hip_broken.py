"""The page's example with mistakes that it must find in itself."""

from hip_host import compiled
from mfma.gemm import MfmaCdna3XF32Policy, SingleBufferTilePolicy
from mfma.gemm.hip import hip

PAGE = (SingleBufferTilePolicy(32, 32, 8), MfmaCdna3XF32Policy())

BROKEN = {
    "an index of a fragment": ("op_tile_m * i + lane_id % 16;", "op_tile_m * i + lane_id / 4;"),
    "an index of the result": ("lane_id / 16 * 4 + g;", "lane_id / 16 + 4 * g;"),
    "a lost strip": ("t < num_tiles", "t + 1 < num_tiles"),
    "no wait before the products": ("static __device__ void acquire(int) { __syncthreads(); }",
                                    "static __device__ void acquire(int) {}"),
    "no wait before the next strip": ("static __device__ void release(int) { __syncthreads(); }",
                                      "static __device__ void release(int) {}"),
    "an order of k": ("ki + lane_id / 16 * 2", "ki + 6 - lane_id / 16 * 2"),
    "a forgotten beta": ("multiply_add(alpha, value, multiply(beta, c))", "multiply(alpha, value)"),
    "a sum with two roundings": ("multiply_add(alpha, value, multiply(beta, c))", "alpha * value + beta * c"),
    "a bound": ("j >= n) return", "j >= n - 1) return"),
}  # fmt: skip


def wrong(folder, right, instead):
    """Run the example with a mistake."""
    text = hip(*PAGE)
    assert right in text
    run = compiled(folder, text.replace(right, instead), "f32_16x16x8_xf32").run("gfx942", 8, 12, 9)
    assert run.code == 1
    assert run.out.endswith("FAILED\n")
