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
void launch(const Problem& p, const ${mem_a}* A, const ${mem_b}* B, ${mem_c}* C) {
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
    std::vector<${mem_a}> a;
    std::vector<${mem_b}> b;
    std::vector<${mem_c}> c;

    Operands(const Problem& p, unsigned seed) : a(p.size_a()), b(p.size_b()), c(p.size_c()) {
        Random random(seed);
        for (${mem_a}& element : a) element = random.element<${mem_a}>(${random_a});
        for (${mem_b}& element : b) element = random.element<${mem_b}>(${random_b});
        for (${mem_c}& element : c) element = random.element<${mem_c}>(${random_c});
    }
};

// ---- Verification ----

${check}

// Runs the kernel on random operands.
template <typename TilePolicy, typename ComputePolicy>
std::vector<${mem_c}> computed(const Problem& p, const Operands& operands) {
    DeviceArray<${mem_a}> A(operands.a);
    DeviceArray<${mem_b}> B(operands.b);
    DeviceArray<${mem_c}> C(operands.c);
    launch<TilePolicy, ComputePolicy>(p, A.data, B.data, C.data);
    std::vector<${mem_c}> result(p.size_c());
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
    const Problem p{${random_problem}, ${alpha}, ${beta}};
    const Operands operands(p, 42);
    const std::vector<${mem_c}> result = computed<TilePolicy, ComputePolicy>(p, operands);
    size_t good = 0;
    for (size_t at = 0; at < result.size(); ++at) good += is_right<ComputePolicy>(p, operands, at, result[at]);
    return report("random operands", p, good, result.size(), "within tolerance");
}

// Every bit of a small product, computed by mfma: the order and the roundings of the sums show in these bits.
constexpr ${bits_type} ${bits_name}[] = {
${bits}
};
${fallback_bits}
template <typename TilePolicy, typename ComputePolicy, size_t Size>
bool verify_bits(const ${bits_type} (&expected)[Size]) {
    const Problem p{${bits_problem}, ${alpha}, ${beta}};
    const std::vector<${mem_c}> result = computed<TilePolicy, ComputePolicy>(p, Operands(p, 1));
    size_t good = 0;
    for (size_t at = 0; at < Size; ++at) good += std::memcmp(&result[at], &expected[at], sizeof(${mem_c})) == 0;
    return report("expected bits", p, good, Size, "equal");
}

// ---- Timing ----

// Milliseconds that some launches take together, by the clock of the device.
template <typename TilePolicy, typename ComputePolicy>
float milliseconds(const Problem& p, const ${mem_a}* A, const ${mem_b}* B, ${mem_c}* C, int launches) {
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
    DeviceArray<${mem_a}> A(operands.a);
    DeviceArray<${mem_b}> B(operands.b);
    DeviceArray<${mem_c}> C(operands.c);

    // The first launches warm up, unless one of them takes so long that it may as well be the result.
    int launches = 1;
    float total_ms = milliseconds<TilePolicy, ComputePolicy>(p, A.data, B.data, C.data, launches);
    if (total_ms < 200) {
        milliseconds<TilePolicy, ComputePolicy>(p, A.data, B.data, C.data, 2);
        launches = 10;
        total_ms = milliseconds<TilePolicy, ComputePolicy>(p, A.data, B.data, C.data, launches);
    }

    // Beta is 0, so every launch has computed the same. A sample of it is verified: a fast wrong answer is no answer.
    std::vector<${mem_c}> result(p.size_c());
    C.copy_to(result);
    constexpr size_t samples = ${samples};
    Random random(3);
    size_t good = 0;
    for (size_t i = 0; i < samples; ++i) {
        const size_t at = ((size_t)random.next() << 24 | random.next()) % result.size();
        good += is_right<ComputePolicy>(p, operands, at, result[at]);
    }
    const bool passed = report("timed", p, good, samples, "of a sample within tolerance");

    const double seconds = total_ms / launches / 1e3;
    const double bytes = (double)p.size_a() * sizeof(${mem_a}) + (double)p.size_b() * sizeof(${mem_b}) +
                         (double)p.size_c() * sizeof(${mem_c});
    const double operations = 2.0 * p.batch * p.m * p.n * p.k;
    std::printf("average %.3f ms, %.1f GB/s at least, %.2f ${operations_unit}\n", seconds * 1e3, bytes / seconds / 1e9,
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
bool run(const Problem* timed, const ${bits_type} (&expected)[Size]) {
    std::printf("%s\n", ComputePolicy::name);
    bool passed = verify_bits<TilePolicy, ComputePolicy>(expected);
    passed = verify_random<TilePolicy, ComputePolicy>() && passed;
    const Problem large{${timed_problem}, 1, 0}, small{${small_problem}, 1, 0};
    if (!timed) timed = is_slow<TilePolicy, ComputePolicy>(small) ? &small : &large;
    return measure<TilePolicy, ComputePolicy>(*timed) && passed;
}

// The arguments are m, n and k of the timed product.
int main(int argc, char** argv) {
    Problem sizes{0, 0, 0, ${timed_batch}, 1, 0};
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

${choice}
    std::printf("%s\n", passed ? "PASSED" : "FAILED");
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
