// One buffer: load a strip, wait, compute, wait.
template <int BlockTileM, int BlockTileN, int KTileSize, int Batch = 1>
struct SingleBufferTilePolicy {
    static constexpr int num_buffers = 1;
    static constexpr int block_tile_m = BlockTileM;
    static constexpr int block_tile_n = BlockTileN;
    static constexpr int k_tile_size = KTileSize;
    static constexpr int batch = Batch;

    struct SharedStorage {
        SharedTile<elem_a, Batch * BlockTileM, KTileSize> tile_a[num_buffers];
        SharedTile<elem_b, Batch * BlockTileN, KTileSize> tile_b_T[num_buffers];
    };

    static __device__ int buf_idx(int) { return 0; }

    // There is no strip ahead of the first.
    static __device__ void prologue(SharedStorage&, const Block&) {}

    static __device__ void prefetch(SharedStorage& smem, const Block& block, int t) {
        cooperative_load_tile_a<SingleBufferTilePolicy>(smem.tile_a[0], block, t);
        cooperative_load_tile_b_T<SingleBufferTilePolicy>(smem.tile_b_T[0], block, t);
    }

    static __device__ void acquire(int) { __syncthreads(); }  // until every wave has written its part
    static __device__ void release(int) { __syncthreads(); }  // until every wave has read what it needs
};
