// The registers of an operand: element e of a lane in the bits from e * (its width) on.
template <typename Operand, typename Elem>
__device__ Operand packed(const Elem* elements) {
    Operand operand;
    __builtin_memcpy(&operand, elements, sizeof operand);
    return operand;
}
${helpers}
// A wave multiplies with ${mnemonic}.${placement_comment}
struct ${name} {
    static constexpr const char* name = "${name}, ${mnemonic}";
    static constexpr int waves_m = ${waves_m}, waves_n = ${waves_n};  // of a work-group
    static constexpr int tiles_m = ${tiles_m}, tiles_n = ${tiles_n};  // of a wave
    static constexpr int op_tile_m = ${op_tile_m}, op_tile_n = ${op_tile_n};  // outputs of one instruction
    static constexpr int thread_tile_m = tiles_m * op_tile_m;
    static constexpr int thread_tile_n = tiles_n * op_tile_n;
    static constexpr int batch = ${batch};${batch_comment}
    static constexpr int owner_lanes = wave_size;  // an output sub-tile belongs to a wave
    static constexpr int effective_lanes = ${effective_lanes};
    static constexpr int k_step = ${k_step};
    static constexpr int kwidth = ${kwidth};  // consecutive k that a lane loads, for ${instructions}
    static constexpr int frag_size_m = tiles_m * kwidth;
    static constexpr int frag_size_n = tiles_n * kwidth;

    struct Accumulator {
        ${accumulator} tiles[tiles_m][tiles_n];
    };

    static __device__ void zero(Accumulator& acc) { acc = Accumulator{}; }

    static __device__ void thread_tile_offset(int tid, int, int* row, int* col) {
        const int wave = tid / wave_size;
        *row = wave / waves_n * thread_tile_m;
        *col = wave % waves_n * thread_tile_n;
    }

${load_a}

${load_b}

    static __device__ void mma(Accumulator& acc, const elem_a (&a_frag)[frag_size_m],
                               const elem_b (&b_frag)[frag_size_n]) {
#if defined(${guard})
${mma}
#else
        (void)acc, (void)a_frag, (void)b_frag;
        __builtin_trap();  // the host launches ScalarFMAPolicy on every other GPU
#endif
    }

    // Hands every output to `output(product, row, column, value)`.
    template <typename Output>
    static __device__ void store_c(const Accumulator& acc, int lane_id, Output output) {
#pragma unroll
        for (int i = 0; i < tiles_m; ++i) {
#pragma unroll
            for (int j = 0; j < tiles_n; ++j) {
${store_c}
            }
        }
    }
};
