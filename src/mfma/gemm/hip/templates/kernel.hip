// What every tile policy must be.
template <typename P>
struct TilePolicyTraits {
    static_assert(P::num_buffers == 1 || P::num_buffers == 2, "num_buffers must be 1 or 2");
    static_assert(P::block_tile_m > 0 && P::block_tile_n > 0, "the block of outputs must not be empty");
    static_assert(P::k_tile_size > 0, "k_tile_size must be positive");
    static_assert(P::batch > 0, "batch must be positive");
    static_assert(__is_trivially_destructible(typename P::SharedStorage), "LDS holds plain data");
    static_assert(sizeof(typename P::SharedStorage) <= 64 * 1024, "a work-group has 64 KiB of LDS");
};

// What every compute policy must be.
template <typename P>
struct ComputePolicyTraits {
    static_assert(P::thread_tile_m > 0 && P::thread_tile_n > 0, "the output sub-tile must not be empty");
    static_assert(P::owner_lanes == 1 || P::owner_lanes == wave_size, "an owner is a thread or a wave");
    static_assert(P::effective_lanes > 0 && P::effective_lanes <= P::owner_lanes, "lanes with outputs are the owner's");
    static_assert(P::k_step > 0, "k_step must be positive");
    static_assert(P::frag_size_m > 0 && P::frag_size_n > 0, "fragments must not be empty");
    static_assert(__is_trivially_constructible(typename P::Accumulator), "an accumulator lives in registers");
};

// What the two must be together.
template <typename TilePolicy, typename ComputePolicy>
struct KernelTraits {
    static constexpr int num_threads = TilePolicy::block_tile_m / ComputePolicy::thread_tile_m *
                                       (TilePolicy::block_tile_n / ComputePolicy::thread_tile_n) *
                                       ComputePolicy::owner_lanes;
    static_assert(TilePolicy::block_tile_m % ComputePolicy::thread_tile_m == 0, "sub-tiles must cover the rows");
    static_assert(TilePolicy::block_tile_n % ComputePolicy::thread_tile_n == 0, "sub-tiles must cover the columns");
    static_assert(TilePolicy::k_tile_size % ComputePolicy::k_step == 0, "k_step must divide k_tile_size");
    static_assert(TilePolicy::batch == ComputePolicy::batch, "the policies must agree on the products side by side");
    static_assert(num_threads <= 1024, "a work-group has at most 1024 threads");
};

// C = alpha * A * B + beta * C, for `batch` products that lie one after the other.
template <typename TilePolicy, typename ComputePolicy>
__global__ void __launch_bounds__((KernelTraits<TilePolicy, ComputePolicy>::num_threads))
    matrix_multiply_generic(const ${mem_a}* __restrict__ A, const ${mem_b}* __restrict__ B, ${mem_c}* __restrict__ C, int m,
                            int n, int k, int batch, elem_c alpha, elem_c beta) {
    (void)TilePolicyTraits<TilePolicy>{};
    (void)ComputePolicyTraits<ComputePolicy>{};
    __shared__ typename TilePolicy::SharedStorage smem;

    const int tid = threadIdx.x, lane_id = tid % wave_size;
    const int first = blockIdx.z * TilePolicy::batch;  // product
    const Block block{A + (long long)first * m * k,
                      B + (long long)first * k * n,
                      m,
                      n,
                      k,
                      batch - first,
                      (int)blockIdx.y * TilePolicy::block_tile_m,
                      (int)blockIdx.x * TilePolicy::block_tile_n,
                      tid,
                      KernelTraits<TilePolicy, ComputePolicy>::num_threads};
    int row, col;
    ComputePolicy::thread_tile_offset(tid, lane_id, &row, &col);

    typename ComputePolicy::Accumulator acc;
    ComputePolicy::zero(acc);
    const int num_tiles = (k + TilePolicy::k_tile_size - 1) / TilePolicy::k_tile_size;
    TilePolicy::prologue(smem, block);
    for (int t = 0; t < num_tiles; ++t) {
        TilePolicy::prefetch(smem, block, t + TilePolicy::num_buffers - 1);
        TilePolicy::acquire(t);
        const auto& tile_a = smem.tile_a[TilePolicy::buf_idx(t)];
        const auto& tile_b_T = smem.tile_b_T[TilePolicy::buf_idx(t)];
        for (int ki = 0; ki < TilePolicy::k_tile_size; ki += ComputePolicy::k_step) {
            elem_a a_frag[ComputePolicy::frag_size_m];
            elem_b b_frag[ComputePolicy::frag_size_n];
            ComputePolicy::load_a(tile_a, row, ki, lane_id, a_frag);
            ComputePolicy::load_b(tile_b_T, col, ki, lane_id, b_frag);
            ComputePolicy::mma(acc, a_frag, b_frag);
        }
        TilePolicy::release(t);
    }

    // With beta 0 C is not read: it may hold anything, NaN included.
    ComputePolicy::store_c(acc, lane_id, [&](int product, int i, int j, elem_c value) {
        i += block.block_row_start + row;
        j += block.block_col_start + col;
        if (product >= block.products || i >= m || j >= n) return;
        ${mem_c}& c = C[((long long)(first + product) * m + i) * n + j];
${result}
    });
}
