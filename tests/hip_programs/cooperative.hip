// A sum over the whole grid in one launch, whose work-groups wait for each other.
#include "check.h"

#include <vector>

__device__ unsigned arrived;

__global__ void sum(const int *in, int *partial, int *out, int n) {
    __shared__ int local[256];
    int total = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        total += in[i];
    local[threadIdx.x] = total;
    for (int half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            local[threadIdx.x] += local[threadIdx.x + half];
    }
    if (threadIdx.x == 0) {
        __hip_atomic_store(&partial[blockIdx.x], local[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __threadfence();
        atomicAdd(&arrived, 1u);
        while (__hip_atomic_load(&arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x)
            __builtin_amdgcn_s_sleep(1);
        int whole = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            whole += __hip_atomic_load(&partial[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        out[blockIdx.x] = whole;
    }
}

int main() {
    int n = 10000, blocks = 12, supported = 0, active = 0, device = 0;
    CHECK(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, device));
    EXPECT(supported == 1);
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&active, sum, 256, 0));
    EXPECT(active >= 1);
    std::vector<int> in(n), out(blocks);
    long long expected = 0;
    for (int i = 0; i < n; i++)
        expected += in[i] = i % 97 - 30;
    int *din, *partial, *dout;
    CHECK(hipMalloc(&din, n * sizeof(int)));
    CHECK(hipMalloc(&partial, blocks * sizeof(int)));
    CHECK(hipMalloc(&dout, blocks * sizeof(int)));
    CHECK(hipMemcpy(din, in.data(), n * sizeof(int), hipMemcpyHostToDevice));
    void *arguments[] = {&din, &partial, &dout, &n};
    CHECK(hipLaunchCooperativeKernel((void *)sum, dim3(blocks), dim3(256), arguments, 0, nullptr));
    CHECK(hipMemcpy(out.data(), dout, blocks * sizeof(int), hipMemcpyDeviceToHost));
    for (int value : out)
        EXPECT(value == expected);
    STATUS(hipLaunchCooperativeKernel((void *)sum, dim3(1000000), dim3(256), arguments, 0, nullptr),
           hipErrorCooperativeLaunchTooLarge);
    return finish("cooperative");
}
