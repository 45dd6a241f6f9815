// Moves a tile from memory to LDS past the registers. A wave writes 64 words of 4 bytes to consecutive addresses of
// LDS; each lane chooses the word that it fetches.
template <typename Elem, typename Tile, typename Element>
__device__ void direct_load_tile(Tile& tile, const Block& block, Element element) {
#if defined(__gfx942__)
    static_assert(sizeof(Tile) % (4 * wave_size) == 0, "a wave moves 256 bytes at a time");
    constexpr int row_bytes = Tile::row_elements * sizeof(Elem);
    const int wave = __builtin_amdgcn_readfirstlane(block.tid / wave_size), lane_id = block.tid % wave_size;
    for (int first = 4 * wave_size * wave; first < (int)sizeof(Tile); first += 4 * block.num_threads) {
        const int byte = first + 4 * lane_id, row = byte / row_bytes;
        const int kk = Tile::place(row, byte % row_bytes / (int)sizeof(Elem));${place_comment}
        const char* from = (const char*)element(row, kk) + byte % (int)sizeof(Elem);
        char* to = (char*)tile.data + first;  // the same in all lanes: the hardware adds 4 * lane_id
        __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void*)from,
                                         (__attribute__((address_space(3))) void*)to, 4, 0, 0);
    }
#else
    (void)tile, (void)block, (void)element;
    __builtin_trap();  // the host launches SingleBufferTilePolicy on every other GPU
#endif
}

// One buffer that memory fills without passing through registers. Blocks at a ragged edge, and rows that do not
// start at a multiple of 4 bytes, take the way of SingleBufferTilePolicy.
template <int BlockTileM, int BlockTileN, int KTileSize, int Batch = 1>
struct DirectToLdsTilePolicy : SingleBufferTilePolicy<BlockTileM, BlockTileN, KTileSize, Batch> {
    using Single = SingleBufferTilePolicy<BlockTileM, BlockTileN, KTileSize, Batch>;

    static __device__ bool fits(const Block& block, int t) {
        return block.num_threads % wave_size == 0 && block.products >= Batch &&
               block.block_row_start + BlockTileM <= block.m && block.block_col_start + BlockTileN <= block.n &&
               (t + 1) * KTileSize <= block.k && ${whole_words};
    }

    static __device__ void prefetch(typename Single::SharedStorage& smem, const Block& block, int t) {
        if (!fits(block, t)) return Single::prefetch(smem, block, t);
        direct_load_tile<elem_a>(smem.tile_a[0], block,
                                 [&](int row, int kk) { return element_of_a<Single>(block, t, row, kk); });
        direct_load_tile<elem_b>(smem.tile_b_T[0], block,
                                 [&](int row, int kk) { return element_of_b<Single>(block, t, row, kk); });
#if defined(__gfx942__)
        __builtin_amdgcn_s_waitcnt(0x0f70);  // vmcnt(0): a barrier alone does not wait for loads that go to LDS
#endif
    }
};
