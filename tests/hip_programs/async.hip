// Memory of a stream's pool, copies in the order of the stream, and a function of the host among them.
#include "check.h"

__global__ void increment(int *x) { x[threadIdx.x] += 1; }

static void doubled(void *data) {
    int *values = (int *)data;
    for (int i = 0; i < 64; i++)
        values[i] *= 2;
}

int main() {
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    int *device, *host;
    CHECK(hipHostMalloc((void **)&host, 64 * sizeof(int), 0));
    CHECK(hipMallocAsync((void **)&device, 64 * sizeof(int), stream));
    CHECK(hipMemsetAsync(device, 0, 64 * sizeof(int), stream));
    for (int i = 0; i < 5; i++)
        increment<<<1, 64, 0, stream>>>(device);
    CHECK(hipMemcpyAsync(host, device, 64 * sizeof(int), hipMemcpyDeviceToHost, stream));
    CHECK(hipLaunchHostFunc(stream, doubled, host));
    CHECK(hipMemcpyAsync(device, host, 64 * sizeof(int), hipMemcpyHostToDevice, stream));
    increment<<<1, 64, 0, stream>>>(device);
    CHECK(hipMemcpyAsync(host, device, 64 * sizeof(int), hipMemcpyDeviceToHost, stream));
    CHECK(hipFreeAsync(device, stream));
    CHECK(hipStreamSynchronize(stream));
    for (int i = 0; i < 64; i++)
        EXPECT(host[i] == 11);
    CHECK(hipHostFree(host));
    CHECK(hipStreamDestroy(stream));
    return finish("async");
}
