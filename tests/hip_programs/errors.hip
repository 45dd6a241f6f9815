// Statuses of wrong calls, and where they are kept.
#include "check.h"

#include <cstring>
#include <thread>

__global__ void touch(int *x) { x[0] = 1; }

extern __shared__ int dynamic[];
__global__ void shared(int *x) {
    dynamic[threadIdx.x] = threadIdx.x;
    __syncthreads();
    x[0] = dynamic[0];
}

int main() {
    EXPECT(hipGetLastError() == hipSuccess);
    void *pointer = nullptr;
    STATUS(hipMalloc(nullptr, 16), hipErrorInvalidValue);
    EXPECT(hipPeekAtLastError() == hipErrorInvalidValue);
    EXPECT(hipPeekAtLastError() == hipErrorInvalidValue);
    hipError_t elsewhere = hipErrorUnknown;
    std::thread([&] { elsewhere = hipPeekAtLastError(); }).join();
    EXPECT(elsewhere == hipSuccess); // each thread has its own
    EXPECT(hipGetLastError() == hipErrorInvalidValue);
    EXPECT(hipGetLastError() == hipSuccess);

    STATUS(hipMalloc(&pointer, (size_t)1 << 46), hipErrorOutOfMemory);
    STATUS(hipSetDevice(1000), hipErrorInvalidDevice);
    STATUS(hipFree(nullptr), hipSuccess);
    CHECK(hipMalloc(&pointer, 256));
    int host[64];
    STATUS(hipMemcpy(pointer, host, 512, hipMemcpyHostToDevice), hipErrorInvalidValue);
    STATUS(hipMemcpy(nullptr, host, 16, hipMemcpyHostToDevice), hipErrorInvalidValue);
    STATUS(hipMemcpy(pointer, host, 16, (hipMemcpyKind)77), hipErrorInvalidMemcpyDirection);
    STATUS(hipFree((char *)pointer + 16), hipErrorInvalidValue);
    (void)hipGetLastError();

    touch<<<0, 64>>>((int *)pointer);
    EXPECT(hipGetLastError() != hipSuccess);
    touch<<<1, 2048>>>((int *)pointer);
    EXPECT(hipGetLastError() != hipSuccess);
    shared<<<1, 64, 100000>>>((int *)pointer);
    EXPECT(hipGetLastError() != hipSuccess);
    shared<<<1, 64, 65536>>>((int *)pointer);
    EXPECT(hipGetLastError() == hipSuccess);
    void *arguments[] = {&pointer};
    STATUS(hipLaunchKernel(host, dim3(1), dim3(64), arguments, 0, nullptr), hipErrorInvalidDeviceFunction);
    (void)hipGetLastError();

    CHECK(hipFree(pointer));
    STATUS(hipFree(pointer), hipErrorInvalidValue); // a second time
    EXPECT(!std::strcmp(hipGetErrorName(hipErrorOutOfMemory), "hipErrorOutOfMemory"));
    EXPECT(!std::strcmp(hipGetErrorString(hipErrorInvalidValue), "invalid argument"));
    EXPECT(!std::strcmp(hipGetErrorString(hipSuccess), "no error"));
    return finish("errors");
}
