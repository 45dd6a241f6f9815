// Streams, events between them, priorities, and functions of the host in a stream.
#include "check.h"

#include <vector>

__global__ void scale(int *x, int factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= factor;
}

static int order[4], called = 0;

static void callback(hipStream_t, hipError_t status, void *data) {
    EXPECT(status == hipSuccess);
    order[called++] = *(int *)data;
}

int main() {
    const int n = 512;
    hipStream_t first, second, third;
    CHECK(hipStreamCreate(&first));
    CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
    int least = 7, greatest = 7;
    CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(greatest <= least);
    CHECK(hipStreamCreateWithPriority(&third, hipStreamDefault, greatest));
    unsigned flags = 7;
    CHECK(hipStreamGetFlags(second, &flags));
    EXPECT(flags == hipStreamNonBlocking);
    int priority = 7;
    CHECK(hipStreamGetPriority(third, &priority));
    EXPECT(priority == greatest);

    int *host, *device;
    CHECK(hipHostMalloc((void **)&host, n * sizeof(int), hipHostMallocDefault));
    CHECK(hipMalloc(&device, n * sizeof(int)));
    for (int i = 0; i < n; i++)
        host[i] = i;
    hipEvent_t start, filled, done;
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreateWithFlags(&filled, hipEventDisableTiming));
    CHECK(hipEventCreate(&done));

    int one = 1, two = 2;
    CHECK(hipEventRecord(start, first));
    CHECK(hipMemcpyAsync(device, host, n * sizeof(int), hipMemcpyHostToDevice, first));
    CHECK(hipStreamAddCallback(first, callback, &one, 0));
    scale<<<n / 64, 64, 0, first>>>(device, 3, n);
    CHECK(hipEventRecord(filled, first));
    CHECK(hipStreamWaitEvent(second, filled, 0));
    scale<<<n / 64, 64, 0, second>>>(device, 5, n);
    CHECK(hipMemcpyAsync(host, device, n * sizeof(int), hipMemcpyDeviceToHost, second));
    CHECK(hipStreamAddCallback(second, callback, &two, 0));
    CHECK(hipEventRecord(done, second));
    CHECK(hipEventSynchronize(done));
    CHECK(hipStreamSynchronize(second));
    CHECK(hipEventQuery(done));
    CHECK(hipStreamQuery(first));
    for (int i = 0; i < n; i++)
        EXPECT(host[i] == 15 * i);
    EXPECT(called == 2 && order[0] == 1 && order[1] == 2);

    float milliseconds = -1;
    CHECK(hipEventElapsedTime(&milliseconds, start, done));
    EXPECT(milliseconds >= 0);
    EXPECT(hipEventElapsedTime(&milliseconds, start, filled) != hipSuccess);
    CHECK(hipEventDestroy(start));
    CHECK(hipEventDestroy(filled));
    CHECK(hipEventDestroy(done));
    CHECK(hipStreamDestroy(first));
    CHECK(hipStreamDestroy(second));
    CHECK(hipStreamDestroy(third));
    CHECK(hipHostFree(host));
    CHECK(hipFree(device));
    return finish("streams");
}
