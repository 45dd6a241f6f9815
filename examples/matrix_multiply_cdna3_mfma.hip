// C = alpha * A * B + beta * C with v_mfma_f32_16x16x8_xf32 on AMD's CDNA3 GPUs (gfx942).
// On other GPUs the same kernel runs with fused multiply-adds: the host chooses at run time.
//
//     amdclang++ -O3 -std=c++17 -x hip --offload-arch=gfx942 FILE -o matrix_multiply && ./matrix_multiply

#include <hip/hip_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

// Every rounding is written down: the compiler shall not fuse others.
#pragma clang fp contract(off)

// ---- Elements ----

typedef float v2float __attribute__((ext_vector_type(2)));
typedef float v4float __attribute__((ext_vector_type(4)));
using elem_a = float;  // xf32: the matrix core cuts off the low 13 bits
using elem_b = float;  // xf32: the matrix core cuts off the low 13 bits
using elem_c = float;  // f32: accumulators and C

constexpr int wave_size = 64;

__host__ __device__ inline float value_of_a(elem_a element) { return element; }
__host__ __device__ inline float value_of_b(elem_b element) { return element; }

// a * b + c with one rounding.
__host__ __device__ inline elem_c multiply_add(elem_c a, elem_c b, elem_c c) {
    return __builtin_fmaf(a, b, c);
}

__host__ __device__ inline elem_c multiply(elem_c a, elem_c b) { return a * b; }

// ---- Data movement: the tile policy ----

// What a work-group works on: its block of C, for one product of a batch or for several side by side.
struct Block {
    const elem_a* A;  // of its first product: m x k, row-major
    const elem_b* B;  // k x n, row-major
    int m, n, k;
    int products;  // how many of its products there are
    int block_row_start, block_col_start;
    int tid, num_threads;
};

// A strip of A, or of B transposed, in LDS: row after row, k contiguous.
template <typename Elem, int Rows, int K>
struct alignas(16) SharedTile {
    static constexpr int rows = Rows;
    static constexpr int row_elements = K;
    Elem data[Rows * row_elements];

    static __device__ constexpr int place(int, int kk) { return kk; }
    __device__ Elem& at(int row, int kk) { return data[row * row_elements + place(row, kk)]; }
    __device__ const Elem& at(int row, int kk) const { return data[row * row_elements + place(row, kk)]; }
};

// Element (row, kk) of strip t of A, or null outside the matrix: what is not there counts as zero.
template <typename TilePolicy>
__device__ const elem_a* element_of_a(const Block& block, int t, int row, int kk) {
    const int product = TilePolicy::batch == 1 ? 0 : row / TilePolicy::block_tile_m;
    const int i = block.block_row_start + row - product * TilePolicy::block_tile_m;
    const int p = t * TilePolicy::k_tile_size + kk;
    const bool inside = product < block.products && i < block.m && p < block.k;
    return inside ? block.A + ((long long)product * block.m + i) * block.k + p : nullptr;
}

// The same for B: a row of its tile is a column of B.
template <typename TilePolicy>
__device__ const elem_b* element_of_b(const Block& block, int t, int row, int kk) {
    const int product = TilePolicy::batch == 1 ? 0 : row / TilePolicy::block_tile_n;
    const int j = block.block_col_start + row - product * TilePolicy::block_tile_n;
    const int p = t * TilePolicy::k_tile_size + kk;
    const bool inside = product < block.products && j < block.n && p < block.k;
    return inside ? block.B + ((long long)product * block.k + p) * block.n + j : nullptr;
}

// Neighbouring threads read neighbouring elements of memory: along k in A, along n in B.
template <typename TilePolicy, typename Tile>
__device__ void cooperative_load_tile_a(Tile& tile_a, const Block& block, int t) {
    for (int x = block.tid; x < Tile::rows * TilePolicy::k_tile_size; x += block.num_threads) {
        const int row = x / TilePolicy::k_tile_size, kk = x % TilePolicy::k_tile_size;
        const elem_a* element = element_of_a<TilePolicy>(block, t, row, kk);
        tile_a.at(row, kk) = element ? *element : elem_a(0);
    }
}

template <typename TilePolicy, typename Tile>
__device__ void cooperative_load_tile_b_T(Tile& tile_b_T, const Block& block, int t) {
    for (int x = block.tid; x < Tile::rows * TilePolicy::k_tile_size; x += block.num_threads) {
        const int product = x / (TilePolicy::block_tile_n * TilePolicy::k_tile_size);
        const int kk = x / TilePolicy::block_tile_n % TilePolicy::k_tile_size;
        const int row = product * TilePolicy::block_tile_n + x % TilePolicy::block_tile_n;
        const elem_b* element = element_of_b<TilePolicy>(block, t, row, kk);
        tile_b_T.at(row, kk) = element ? *element : elem_b(0);
    }
}

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

// ---- Arithmetic: the compute policy ----

// The registers of an operand: element e of a lane in the bits from e * (its width) on.
template <typename Operand, typename Elem>
__device__ Operand packed(const Elem* elements) {
    Operand operand;
    __builtin_memcpy(&operand, elements, sizeof operand);
    return operand;
}

// A wave multiplies with v_mfma_f32_16x16x8_xf32.
struct MfmaCdna3XF32Policy {
    static constexpr const char* name = "MfmaCdna3XF32Policy, v_mfma_f32_16x16x8_xf32";
    static constexpr int waves_m = 2, waves_n = 2;  // of a work-group
    static constexpr int tiles_m = 1, tiles_n = 1;  // of a wave
    static constexpr int op_tile_m = 16, op_tile_n = 16;  // outputs of one instruction
    static constexpr int thread_tile_m = tiles_m * op_tile_m;
    static constexpr int thread_tile_n = tiles_n * op_tile_n;
    static constexpr int batch = 1;
    static constexpr int owner_lanes = wave_size;  // an output sub-tile belongs to a wave
    static constexpr int effective_lanes = 64;
    static constexpr int k_step = 8;
    static constexpr int kwidth = 2;  // consecutive k that a lane loads, for one instruction
    static constexpr int frag_size_m = tiles_m * kwidth;
    static constexpr int frag_size_n = tiles_n * kwidth;

    struct Accumulator {
        v4float tiles[tiles_m][tiles_n];
    };

    static __device__ void zero(Accumulator& acc) { acc = Accumulator{}; }

    static __device__ void thread_tile_offset(int tid, int, int* row, int* col) {
        const int wave = tid / wave_size;
        *row = wave / waves_n * thread_tile_m;
        *col = wave % waves_n * thread_tile_n;
    }

    template <typename Tile>
    static __device__ void load_a(const Tile& tile_a, int tile_a_row, int ki, int lane_id,
                                  elem_a (&a_frag)[frag_size_m]) {
        const int kk = ki + lane_id / 16 * 2;
#pragma unroll
        for (int i = 0; i < tiles_m; ++i) {
            const int row = tile_a_row + op_tile_m * i + lane_id % 16;
            const elem_a* elements = &tile_a.at(row, kk);  // neighbours: one wide read
#pragma unroll
            for (int e = 0; e < kwidth; ++e) a_frag[kwidth * i + e] = elements[e];
        }
    }

    template <typename Tile>
    static __device__ void load_b(const Tile& tile_b_T, int tile_b_col, int ki, int lane_id,
                                  elem_b (&b_frag)[frag_size_n]) {
        const int kk = ki + lane_id / 16 * 2;
#pragma unroll
        for (int j = 0; j < tiles_n; ++j) {
            const int row = tile_b_col + op_tile_n * j + lane_id % 16;
            const elem_b* elements = &tile_b_T.at(row, kk);  // neighbours: one wide read
#pragma unroll
            for (int e = 0; e < kwidth; ++e) b_frag[kwidth * j + e] = elements[e];
        }
    }

    static __device__ void mma(Accumulator& acc, const elem_a (&a_frag)[frag_size_m],
                               const elem_b (&b_frag)[frag_size_n]) {
#if defined(__gfx942__)
#pragma unroll
        for (int i = 0; i < tiles_m; ++i) {
#pragma unroll
            for (int j = 0; j < tiles_n; ++j) {
                acc.tiles[i][j] = __builtin_amdgcn_mfma_f32_16x16x8_xf32(
                    packed<v2float>(&a_frag[kwidth * i]),
                    packed<v2float>(&b_frag[kwidth * j]),
                    acc.tiles[i][j], 0, 0, 0);  // cbsz, abid, blgp
            }
        }
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
#pragma unroll
                for (int g = 0; g < 4; ++g) {
                    const int row = op_tile_m * i + lane_id / 16 * 4 + g;
                    const int column = op_tile_n * j + lane_id % 16;
                    output(0, row, column, acc.tiles[i][j][g]);
                }
            }
        }
    }
};

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

// ---- The kernel ----

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
    matrix_multiply_generic(const elem_a* __restrict__ A, const elem_b* __restrict__ B, elem_c* __restrict__ C, int m,
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
        elem_c& c = C[((long long)(first + product) * m + i) * n + j];
        c = beta == 0 ? multiply(alpha, value) : multiply_add(alpha, value, multiply(beta, c));
    });
}

// ---- The policies of this program ----

// 256 threads, 2048 bytes of LDS.
using TilePolicy = SingleBufferTilePolicy<32, 32, 8>;
using ComputePolicy = MfmaCdna3XF32Policy;

// For GPUs without the instruction.
using FallbackTilePolicy = SingleBufferTilePolicy<32, 32, 8>;
using FallbackComputePolicy = ScalarFMAPolicy<4, 4, 8>;

// ---- Host ----

#define HIP_CHECK(call)                                                                                   \
    do {                                                                                                  \
        const hipError_t error = (call);                                                                  \
        if (error != hipSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(error)); \
            std::exit(EXIT_FAILURE);                                                                      \
        }                                                                                                 \
    } while (0)

struct Problem {
    int m, n, k, batch;
    elem_c alpha, beta;

    size_t size_a() const { return (size_t)batch * m * k; }
    size_t size_b() const { return (size_t)batch * k * n; }
    size_t size_c() const { return (size_t)batch * m * n; }
};

// ---- Launch ----

template <typename TilePolicy, typename ComputePolicy>
void launch(const Problem& p, const elem_a* A, const elem_b* B, elem_c* C) {
    const auto blocks = [](int size, int tile) { return (unsigned)((size + tile - 1) / tile); };
    const dim3 grid(blocks(p.n, TilePolicy::block_tile_n), blocks(p.m, TilePolicy::block_tile_m),
                    blocks(p.batch, TilePolicy::batch));
    const dim3 threads(KernelTraits<TilePolicy, ComputePolicy>::num_threads);
    matrix_multiply_generic<TilePolicy, ComputePolicy>
        <<<grid, threads>>>(A, B, C, p.m, p.n, p.k, p.batch, p.alpha, p.beta);
    HIP_CHECK(hipGetLastError());
}

template <typename T>
class DeviceArray {
public:
    explicit DeviceArray(const std::vector<T>& host) : bytes(host.size() * sizeof(T)) {
        HIP_CHECK(hipMalloc((void**)&data, bytes));
        HIP_CHECK(hipMemcpy(data, host.data(), bytes, hipMemcpyHostToDevice));
    }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    ~DeviceArray() { HIP_CHECK(hipFree(data)); }

    void copy_to(std::vector<T>& host) const { HIP_CHECK(hipMemcpy(host.data(), data, bytes, hipMemcpyDeviceToHost)); }

    T* data = nullptr;

private:
    size_t bytes;
};

// ---- Operands ----

// The same numbers on every machine.
class Random {
public:
    explicit Random(unsigned seed) : state(seed) {}

    unsigned next() {
        state = 1664525u * state + 1013904223u;
        return state >> 8;  // the low bits of such a generator are hardly random
    }

    // An element with a random sign and mantissa, and its exponent field one of `exponents` from `lowest` on: far
    // enough apart that sums round, near enough that nothing overflows.
    template <typename Elem>
    Elem element(int exponent_bits, int mantissa_bits, unsigned lowest, unsigned exponents) {
        const std::uint64_t sign = next() & 1;
        const std::uint64_t exponent = lowest + next() % exponents;
        const std::uint64_t high = next(), low = next();
        const std::uint64_t mantissa = (high << 40 | low << 16) >> (64 - mantissa_bits);
        const std::uint64_t code = sign << (exponent_bits + mantissa_bits) | exponent << mantissa_bits | mantissa;
        Elem element;
        std::memcpy(&element, &code, sizeof element);
        return element;
    }

private:
    unsigned state;
};

struct Operands {
    std::vector<elem_a> a;
    std::vector<elem_b> b;
    std::vector<elem_c> c;

    Operands(const Problem& p, unsigned seed) : a(p.size_a()), b(p.size_b()), c(p.size_c()) {
        Random random(seed);
        for (elem_a& element : a) element = random.element<elem_a>(8, 23, 119, 16);
        for (elem_b& element : b) element = random.element<elem_b>(8, 23, 119, 16);
        for (elem_c& element : c) element = random.element<elem_c>(8, 23, 119, 16);
    }
};

// ---- Verification ----

// What the multiplier sees: the matrix core cuts off the low 13 bits, other units take them all.
template <typename ComputePolicy>
float seen(float element) {
    if (ComputePolicy::owner_lanes == 1) return element;
    std::uint32_t code;
    std::memcpy(&code, &element, sizeof code);
    code &= ~0x1fffu;
    std::memcpy(&element, &code, sizeof code);
    return element;
}

// Whether an element of the result is right. Each of the k products and the sums with C may lose a unit in the last
// place of the largest of them, no more.
template <typename ComputePolicy>
bool is_right(const Problem& p, const Operands& operands, size_t at, elem_c computed) {
    const size_t product = at / p.n / p.m, i = at / p.n % p.m, j = at % p.n;
    double sum = 0, magnitude = 0;
    for (size_t kk = 0; kk < (size_t)p.k; ++kk) {
        const double a = seen<ComputePolicy>(value_of_a(operands.a[(product * p.m + i) * p.k + kk]));
        const double b = seen<ComputePolicy>(value_of_b(operands.b[(product * p.k + kk) * p.n + j]));
        sum += a * b;
        magnitude += std::fabs(a * b);
    }
    const double alpha = p.alpha, scaled_c = p.beta == 0 ? 0 : (double)p.beta * operands.c[at];
    const double expected = alpha * sum + scaled_c;
    const double tolerance = (p.k + 8) * (double)std::numeric_limits<elem_c>::epsilon() *
                             (std::fabs(alpha) * magnitude + std::fabs(scaled_c));
    return std::fabs(computed - expected) <= tolerance;  // not so for a NaN
}

// Runs the kernel on random operands.
template <typename TilePolicy, typename ComputePolicy>
std::vector<elem_c> computed(const Problem& p, const Operands& operands) {
    DeviceArray<elem_a> A(operands.a);
    DeviceArray<elem_b> B(operands.b);
    DeviceArray<elem_c> C(operands.c);
    launch<TilePolicy, ComputePolicy>(p, A.data, B.data, C.data);
    std::vector<elem_c> result(p.size_c());
    C.copy_to(result);
    return result;
}

bool report(const char* what, const Problem& p, size_t good, size_t all, const char* how) {
    std::printf("%s, %d x %d x %d, batch %d: %zu of %zu elements %s\n", what, p.m, p.n, p.k, p.batch, good, all, how);
    return good == all;
}

// Every element against the host, in sizes that are multiples of nothing.
template <typename TilePolicy, typename ComputePolicy>
bool verify_random() {
    const Problem p{37, 35, 28, 2, 1.25, -0.75};
    const Operands operands(p, 42);
    const std::vector<elem_c> result = computed<TilePolicy, ComputePolicy>(p, operands);
    size_t good = 0;
    for (size_t at = 0; at < result.size(); ++at) good += is_right<ComputePolicy>(p, operands, at, result[at]);
    return report("random operands", p, good, result.size(), "within tolerance");
}

// Every bit of a small product, computed by mfma: the order and the roundings of the sums show in these bits.
constexpr std::uint32_t matrix_core_bits[] = {
    0xc5460c1e, 0xc3db1f18, 0x4603ce91, 0x4577e230, 0xc467d029, 0xc473f566, 0xc44f9933, 0xc51365a6, 0xc5818abe,
    0x44e0d64b, 0xc6b4c1b9, 0x44f53f49, 0xc7273ff6, 0x45f07842, 0x457ae1fa, 0xc62697dc, 0x46544c63, 0x4707bafb,
    0x46682074, 0xc5c5893b, 0x469f840e, 0x455c4d0d, 0xc5457d28, 0xc521f9cc, 0xc3dd6d42, 0x45c929b3, 0xc5ec36cb,
    0xc76d11b4, 0x46526280, 0x4648957b, 0xc71cf9a3, 0xc6042224, 0xc3601957, 0x47559d8a, 0xc70e46fe, 0x472683a4,
    0x45b8b1b0, 0xc5ea1ebc, 0x4387febc, 0xc65cb804, 0x45ac7f76, 0x4610e298, 0xc695bbbe, 0x45b0c565, 0xc64ed8ec,
    0xc51cbb2f, 0x45f7301f, 0x44bbeb30, 0x46ac93b5, 0x465b25e4, 0xc5bf50e2, 0xc6a3e08d, 0x46233980, 0xc6903bbb,
    0xc71e7f38, 0x46d6574d, 0x4650724b, 0x457b0e89, 0x461a0466, 0xc5a302fe, 0x46c179ab, 0xc6fc5afe, 0x468e77a1,
};

// The same by fused multiply-adds, which other GPUs use.
constexpr std::uint32_t fallback_bits[] = {
    0xc5463036, 0xc3db6c2a, 0x4603e6b4, 0x457808e3, 0xc467dc4f, 0xc4740742, 0xc44fc1aa, 0xc5137d5b, 0xc5819f29,
    0x44e13670, 0xc6b4dc55, 0x44f59353, 0xc7275312, 0x45f0aa5c, 0x457af814, 0xc626a731, 0x465466f8, 0x4707c72d,
    0x466866e0, 0xc5c597ed, 0x469fa0b0, 0x455c2ddf, 0xc54594d8, 0xc522334d, 0xc3dd6392, 0x45c95280, 0xc5ec6e05,
    0xc76d2d6c, 0x46528684, 0x4648c2be, 0xc71d09de, 0xc6043498, 0xc35f6a0a, 0x4755c7c6, 0xc70e51d1, 0x4726a939,
    0x45b8dcbe, 0xc5ea2a01, 0x4387f9cc, 0xc65cda1d, 0x45ac92f7, 0x4610eb2c, 0xc695e033, 0x45b0dd2a, 0xc64efb76,
    0xc51cc993, 0x45f79323, 0x44bd50dd, 0x46acb5ab, 0x465b4831, 0xc5bf763c, 0xc6a40065, 0x46235473, 0xc690560c,
    0xc71e91bd, 0x46d679c2, 0x4650a5ea, 0x457b411b, 0x461a0b58, 0xc5a3200b, 0x46c1b1a1, 0xc6fc6820, 0x468e9cb5,
};

template <typename TilePolicy, typename ComputePolicy, size_t Size>
bool verify_bits(const std::uint32_t (&expected)[Size]) {
    const Problem p{9, 7, 35, 1, 1.25, -0.75};
    const std::vector<elem_c> result = computed<TilePolicy, ComputePolicy>(p, Operands(p, 1));
    size_t good = 0;
    for (size_t at = 0; at < Size; ++at) good += std::memcmp(&result[at], &expected[at], sizeof(elem_c)) == 0;
    return report("expected bits", p, good, Size, "equal");
}

// ---- Timing ----

// Milliseconds that some launches take together, by the clock of the device.
template <typename TilePolicy, typename ComputePolicy>
float milliseconds(const Problem& p, const elem_a* A, const elem_b* B, elem_c* C, int launches) {
    hipEvent_t start, stop;
    HIP_CHECK(hipEventCreate(&start));
    HIP_CHECK(hipEventCreate(&stop));
    HIP_CHECK(hipEventRecord(start, nullptr));
    for (int i = 0; i < launches; ++i) launch<TilePolicy, ComputePolicy>(p, A, B, C);
    HIP_CHECK(hipEventRecord(stop, nullptr));
    HIP_CHECK(hipEventSynchronize(stop));
    float total_ms = 0;
    HIP_CHECK(hipEventElapsedTime(&total_ms, start, stop));
    HIP_CHECK(hipEventDestroy(start));
    HIP_CHECK(hipEventDestroy(stop));
    return total_ms;
}

template <typename TilePolicy, typename ComputePolicy>
bool measure(const Problem& p) {
    const Operands operands(p, 7);
    DeviceArray<elem_a> A(operands.a);
    DeviceArray<elem_b> B(operands.b);
    DeviceArray<elem_c> C(operands.c);

    // The first launches warm up, unless one of them takes so long that it may as well be the result.
    int launches = 1;
    float total_ms = milliseconds<TilePolicy, ComputePolicy>(p, A.data, B.data, C.data, launches);
    if (total_ms < 200) {
        milliseconds<TilePolicy, ComputePolicy>(p, A.data, B.data, C.data, 2);
        launches = 10;
        total_ms = milliseconds<TilePolicy, ComputePolicy>(p, A.data, B.data, C.data, launches);
    }

    // Beta is 0, so every launch has computed the same. A sample of it is verified: a fast wrong answer is no answer.
    std::vector<elem_c> result(p.size_c());
    C.copy_to(result);
    constexpr size_t samples = 256;
    Random random(3);
    size_t good = 0;
    for (size_t i = 0; i < samples; ++i) {
        const size_t at = ((size_t)random.next() << 24 | random.next()) % result.size();
        good += is_right<ComputePolicy>(p, operands, at, result[at]);
    }
    const bool passed = report("timed", p, good, samples, "of a sample within tolerance");

    const double seconds = total_ms / launches / 1e3;
    const double bytes = (double)p.size_a() * sizeof(elem_a) + (double)p.size_b() * sizeof(elem_b) +
                         (double)p.size_c() * sizeof(elem_c);
    const double operations = 2.0 * p.batch * p.m * p.n * p.k;
    std::printf("average %.3f ms, %.1f GB/s at least, %.2f TFLOPS\n", seconds * 1e3, bytes / seconds / 1e9,
                operations / seconds / 1e12);
    return passed;
}

// Whether the device takes longer for a small product than any GPU does: it is an emulator.
template <typename TilePolicy, typename ComputePolicy>
bool is_slow(const Problem& small) {
    const Operands operands(small, 7);
    const auto start = std::chrono::steady_clock::now();
    computed<TilePolicy, ComputePolicy>(small, operands);
    return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(20);
}

// Without a product to be timed it chooses one that takes moments, not hours.
template <typename TilePolicy, typename ComputePolicy, size_t Size>
bool run(const Problem* timed, const std::uint32_t (&expected)[Size]) {
    std::printf("%s\n", ComputePolicy::name);
    bool passed = verify_bits<TilePolicy, ComputePolicy>(expected);
    passed = verify_random<TilePolicy, ComputePolicy>() && passed;
    const Problem large{4096, 4096, 4096, 1, 1, 0}, small{256, 256, 256, 1, 1, 0};
    if (!timed) timed = is_slow<TilePolicy, ComputePolicy>(small) ? &small : &large;
    return measure<TilePolicy, ComputePolicy>(*timed) && passed;
}

// The arguments are m, n and k of the timed product.
int main(int argc, char** argv) {
    Problem sizes{0, 0, 0, 1, 1, 0};
    if (argc == 4) {
        sizes.m = std::atoi(argv[1]);
        sizes.n = std::atoi(argv[2]);
        sizes.k = std::atoi(argv[3]);
    }
    if (argc != 1 && (sizes.m < 1 || sizes.n < 1 || sizes.k < 1)) {
        std::fprintf(stderr, "usage: %s [M N K], each at least 1\n", argv[0]);
        return EXIT_FAILURE;
    }
    const Problem* timed = argc == 1 ? nullptr : &sizes;

    int device = 0;
    hipDeviceProp_t props;
    HIP_CHECK(hipGetDevice(&device));
    HIP_CHECK(hipGetDeviceProperties(&props, device));
    std::printf("%s: ", props.gcnArchName);
    // __gfx942__ is defined only where device code is compiled, so the host asks the device that is there.
    const bool has_instruction = std::strncmp(props.gcnArchName, "gfx942", 6) == 0;
    const bool passed = has_instruction ? run<TilePolicy, ComputePolicy>(timed, matrix_core_bits)
                                        : run<FallbackTilePolicy, FallbackComputePolicy>(timed, fallback_bits);
    std::printf("%s\n", passed ? "PASSED" : "FAILED");
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
