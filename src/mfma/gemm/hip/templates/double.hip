// Two buffers: the next strip travels while this one is computed, with one barrier per strip.
template <int BlockTileM, int BlockTileN, int KTileSize, int Batch = 1>
struct DoubleBufferTilePolicy {
    static constexpr int num_buffers = 2;
    static constexpr int block_tile_m = BlockTileM;
    static constexpr int block_tile_n = BlockTileN;
    static constexpr int k_tile_size = KTileSize;
    static constexpr int batch = Batch;

    struct SharedStorage {
        SharedTile<elem_a, Batch * BlockTileM, KTileSize> tile_a[num_buffers];
        SharedTile<elem_b, Batch * BlockTileN, KTileSize> tile_b_T[num_buffers];
    };

    static __device__ int buf_idx(int t) { return t % num_buffers; }

    static __device__ void prologue(SharedStorage& smem, const Block& block) {
        prefetch(smem, block, 0);
        __syncthreads();
    }

    // The kernel asks for one strip more than there are.
    static __device__ void prefetch(SharedStorage& smem, const Block& block, int t) {
        if (t * k_tile_size >= block.k) return;
        cooperative_load_tile_a<DoubleBufferTilePolicy>(smem.tile_a[buf_idx(t)], block, t);
        cooperative_load_tile_b_T<DoubleBufferTilePolicy>(smem.tile_b_T[buf_idx(t)], block, t);
    }

    static __device__ void acquire(int) {}  // the barrier of the strip before has seen to it
    static __device__ void release(int) { __syncthreads(); }  // until the next strip is there and this one read
};
