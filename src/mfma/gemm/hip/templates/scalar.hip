// A thread multiplies by itself: a rank-1 update of its outputs for every k.
template <int ThreadTileM, int ThreadTileN, int BlockDimX>
struct ScalarFMAPolicy {
    static constexpr const char* name = "ScalarFMAPolicy";
    static constexpr int thread_tile_m = ThreadTileM;
    static constexpr int thread_tile_n = ThreadTileN;
    static constexpr int batch = 1;
    static constexpr int owner_lanes = 1;  // an output sub-tile belongs to a thread
    static constexpr int effective_lanes = 1;
    static constexpr int k_step = 1;
    static constexpr int frag_size_m = ThreadTileM;
    static constexpr int frag_size_n = ThreadTileN;

    struct Accumulator {
        elem_c outputs[ThreadTileM][ThreadTileN];
    };

    static __device__ void zero(Accumulator& acc) { acc = Accumulator{}; }

    static __device__ void thread_tile_offset(int tid, int, int* row, int* col) {
        *row = tid / BlockDimX * ThreadTileM;
        *col = tid % BlockDimX * ThreadTileN;
    }

    template <typename Tile>
    static __device__ void load_a(const Tile& tile_a, int tile_a_row, int ki, int, elem_a (&a_frag)[frag_size_m]) {
#pragma unroll
        for (int i = 0; i < ThreadTileM; ++i) a_frag[i] = tile_a.at(tile_a_row + i, ki);
    }

    template <typename Tile>
    static __device__ void load_b(const Tile& tile_b_T, int tile_b_col, int ki, int, elem_b (&b_frag)[frag_size_n]) {
#pragma unroll
        for (int j = 0; j < ThreadTileN; ++j) b_frag[j] = tile_b_T.at(tile_b_col + j, ki);
    }

    static __device__ void mma(Accumulator& acc, const elem_a (&a_frag)[frag_size_m],
                               const elem_b (&b_frag)[frag_size_n]) {
#pragma unroll
        for (int i = 0; i < ThreadTileM; ++i) {
#pragma unroll
            for (int j = 0; j < ThreadTileN; ++j) {
                acc.outputs[i][j] = multiply_add(value_of_a(a_frag[i]), value_of_b(b_frag[j]), acc.outputs[i][j]);
            }
        }
    }

    template <typename Output>
    static __device__ void store_c(const Accumulator& acc, int, Output output) {
#pragma unroll
        for (int i = 0; i < ThreadTileM; ++i) {
#pragma unroll
            for (int j = 0; j < ThreadTileN; ++j) output(0, i, j, acc.outputs[i][j]);
        }
    }
};
