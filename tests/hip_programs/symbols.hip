// Variables of the device and their addresses.
#include "check.h"

__device__ int total;
__device__ double values[16] = {0.5, 1.5};
__constant__ float weights[4];

__global__ void sum() {
    int i = threadIdx.x;
    values[i] += weights[i % 4];
    atomicAdd(&total, i);
}

int main() {
    size_t size = 0;
    CHECK(hipGetSymbolSize(&size, HIP_SYMBOL(values)));
    EXPECT(size == sizeof(double) * 16);
    const float given[4] = {1, 2, 3, 4};
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(weights), given, sizeof given));
    const float third = 30;
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(weights), &third, sizeof third, 2 * sizeof(float)));
    sum<<<1, 16>>>();
    CHECK(hipDeviceSynchronize());
    int found = 0;
    CHECK(hipMemcpyFromSymbol(&found, HIP_SYMBOL(total), sizeof found));
    EXPECT(found == 120);
    double result[16];
    CHECK(hipMemcpyFromSymbol(result, HIP_SYMBOL(values), sizeof result));
    EXPECT(result[0] == 1.5 && result[1] == 3.5 && result[2] == 30 && result[15] == 4);

    double *address;
    CHECK(hipGetSymbolAddress((void **)&address, HIP_SYMBOL(values)));
    CHECK(hipMemset(address, 0, sizeof result));
    sum<<<1, 16>>>();
    double last = 0;
    CHECK(hipMemcpy(&last, address + 15, sizeof last, hipMemcpyDeviceToHost));
    EXPECT(last == 4);
    int on_host = 0;
    EXPECT(hipGetSymbolAddress((void **)&address, &on_host) != hipSuccess);
    EXPECT(hipMemcpyToSymbol(HIP_SYMBOL(weights), given, sizeof given, 4) != hipSuccess);
    return finish("symbols");
}
