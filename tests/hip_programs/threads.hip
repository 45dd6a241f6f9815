// Many threads of the host that use the device at once, each with a stream of its own.
#include "check.h"

#include <atomic>
#include <thread>
#include <vector>

__global__ void fill(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value + threadIdx.x; }

static std::atomic<int> wrong{0};

static void work(int number) {
    const int n = 256;
    hipStream_t stream;
    int *device;
    std::vector<int> host(n);
    CHECK(hipStreamCreate(&stream));
    for (int round = 0; round < 8; round++) {
        CHECK(hipMalloc(&device, n * sizeof(int)));
        fill<<<n / 64, 64, 0, stream>>>(device, 1000 * number + round);
        CHECK(hipMemcpyAsync(host.data(), device, n * sizeof(int), hipMemcpyDeviceToHost, stream));
        CHECK(hipStreamSynchronize(stream));
        for (int i = 0; i < n; i++)
            wrong += host[i] != 1000 * number + round + i % 64;
        CHECK(hipFree(device));
        wrong += hipMalloc(nullptr, number + 1) != hipErrorInvalidValue;
        wrong += hipGetLastError() != hipErrorInvalidValue;
    }
    CHECK(hipStreamDestroy(stream));
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; i++)
        threads.emplace_back(work, i);
    for (auto &thread : threads)
        thread.join();
    EXPECT(wrong == 0);
    return finish("threads");
}
