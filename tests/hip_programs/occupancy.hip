// What fits on a compute unit, and what kernels need.
#include "check.h"

__global__ void light(int *x) { x[threadIdx.x] = threadIdx.x; }

__global__ void __launch_bounds__(128) heavy(int *x) {
    __shared__ int local[8192];
    local[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = local[127 - threadIdx.x];
}

int main() {
    int count = 0;
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&count, light, 1024, 0));
    EXPECT(count == 2); // 2,048 work-items of a compute unit
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&count, light, 64, 0));
    EXPECT(count == 32);
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&count, light, 64, 16384));
    EXPECT(count == 4);
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&count, heavy, 128, 0));
    EXPECT(count == 2); // 32 of 64 KiB of LDS
    int grid = 0, block = 0, units = 0;
    CHECK(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0));
    CHECK(hipOccupancyMaxPotentialBlockSize(&grid, &block, (const void *)light, 0, 0));
    EXPECT(block == 1024 && grid == 2 * units);
    CHECK(hipOccupancyMaxPotentialBlockSize(&grid, &block, (const void *)light, 0, 256));
    EXPECT(block == 256 && grid == 8 * units);

    hipFuncAttributes attributes;
    CHECK(hipFuncGetAttributes(&attributes, (const void *)heavy));
    EXPECT(attributes.sharedSizeBytes == 32768 && attributes.maxThreadsPerBlock == 128);
    EXPECT(attributes.localSizeBytes == 0 && attributes.numRegs > 0);
    CHECK(hipFuncSetAttribute((const void *)light, hipFuncAttributeMaxDynamicSharedMemorySize, 65536));
    int *x;
    CHECK(hipMalloc(&x, 1024));
    heavy<<<1, 256>>>(x); // more than its bounds say
    EXPECT(hipGetLastError() != hipSuccess);
    heavy<<<1, 128>>>(x);
    CHECK(hipGetLastError());
    int host = 0;
    STATUS(hipFuncGetAttributes(&attributes, &host), hipErrorInvalidDeviceFunction);
    return finish("occupancy");
}
