// Atomic operations on memory of the device and of work-groups.
#include "check.h"

struct Results {
    unsigned sum, smallest, largest, bits;
    unsigned long long wide;
    float real;
    double fine;
};

__global__ void all(Results *r, unsigned *histogram, int n) {
    __shared__ unsigned local[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 8)
        local[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&local[i * 7 % 8], 1u);
    atomicAdd(&r->sum, (unsigned)i);
    atomicMin(&r->smallest, 5u + (unsigned)i);
    atomicMax(&r->largest, (unsigned)i);
    atomicOr(&r->bits, 1u << i % 32);
    atomicAdd(&r->wide, 1ull << 40);
    atomicAdd(&r->real, 0.5f);
    unsigned long long *fine = (unsigned long long *)&r->fine, seen = *fine, before;
    do {
        before = seen;
        seen = atomicCAS(fine, before, __double_as_longlong(__longlong_as_double(before) + 0.25));
    } while (seen != before);
    __syncthreads();
    if (threadIdx.x < 8)
        atomicAdd(&histogram[threadIdx.x], local[threadIdx.x]);
}

int main() {
    const int n = 512;
    Results *r, host = {0, ~0u, 0, 0, 0, 0, 0};
    unsigned *histogram, counts[8];
    CHECK(hipMalloc(&r, sizeof *r));
    CHECK(hipMalloc(&histogram, sizeof counts));
    CHECK(hipMemcpy(r, &host, sizeof host, hipMemcpyHostToDevice));
    CHECK(hipMemset(histogram, 0, sizeof counts));
    all<<<n / 128, 128>>>(r, histogram, n);
    CHECK(hipMemcpy(&host, r, sizeof host, hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(counts, histogram, sizeof counts, hipMemcpyDeviceToHost));
    EXPECT(host.sum == n * (n - 1) / 2);
    EXPECT(host.smallest == 5 && host.largest == n - 1 && host.bits == ~0u);
    EXPECT(host.wide == (unsigned long long)n << 40);
    EXPECT(host.real == n * 0.5f && host.fine == n * 0.25);
    for (unsigned count : counts)
        EXPECT(count == n / 8);
    return finish("atomics");
}
