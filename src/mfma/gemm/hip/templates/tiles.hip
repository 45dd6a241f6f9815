// What a work-group works on: its block of C, for one product of a batch or for several side by side.
struct Block {
    const ${mem_a}* A;  // of its first product: m x k, row-major
    const ${mem_b}* B;  // ${b_storage}
    int m, n, k;
    int products;  // how many of its products there are
    int block_row_start, block_col_start;
    int tid, num_threads;
};

// A strip of A, or of B transposed, in LDS: row after row, k contiguous.
template <typename Elem, int Rows, int K>
struct alignas(16) SharedTile {
    static constexpr int rows = Rows;
    static constexpr int row_elements = K${padding};${padding_comment}
    Elem data[Rows * row_elements];

${place}
    __device__ Elem& at(int row, int kk) { return data[row * row_elements + place(row, kk)]; }
    __device__ const Elem& at(int row, int kk) const { return data[row * row_elements + place(row, kk)]; }
};

// Element (row, kk) of strip t of A, or null outside the matrix: what is not there counts as zero.
template <typename TilePolicy>
__device__ const ${mem_a}* element_of_a(const Block& block, int t, int row, int kk) {
    const int product = TilePolicy::batch == 1 ? 0 : row / TilePolicy::block_tile_m;
    const int i = block.block_row_start + row - product * TilePolicy::block_tile_m;
    const int p = t * TilePolicy::k_tile_size + kk;
    const bool inside = product < block.products && i < block.m && p < block.k;
    return inside ? block.A + ((long long)product * block.m + i) * block.k + p : nullptr;
}

// The same for B: a row of its tile is a column of B.
template <typename TilePolicy>
__device__ const ${mem_b}* element_of_b(const Block& block, int t, int row, int kk) {
    const int product = TilePolicy::batch == 1 ? 0 : row / TilePolicy::block_tile_n;
    const int j = block.block_col_start + row - product * TilePolicy::block_tile_n;
    const int p = t * TilePolicy::k_tile_size + kk;
    const bool inside = product < block.products && j < block.n && p < block.k;
    return inside ? block.B + ${b_index} : nullptr;
}

// Neighbouring threads read neighbouring elements of memory: along k in A${b_walk_comment}.
template <typename TilePolicy, typename Tile>
__device__ void cooperative_load_tile_a(Tile& tile_a, const Block& block, int t) {
    for (int x = block.tid; x < Tile::rows * TilePolicy::k_tile_size; x += block.num_threads) {
        const int row = x / TilePolicy::k_tile_size, kk = x % TilePolicy::k_tile_size;
        const ${mem_a}* element = element_of_a<TilePolicy>(block, t, row, kk);
        tile_a.at(row, kk) = element ? ${load_a} : elem_a(0);
    }
}

template <typename TilePolicy, typename Tile>
__device__ void cooperative_load_tile_b_T(Tile& tile_b_T, const Block& block, int t) {
    for (int x = block.tid; x < Tile::rows * TilePolicy::k_tile_size; x += block.num_threads) {
${b_walk}
        const ${mem_b}* element = element_of_b<TilePolicy>(block, t, row, kk);
        tile_b_T.at(row, kk) = element ? ${load_b} : elem_b(0);
    }
}
