// Memory that host and device share: allocated, and declared.
#include "check.h"

__managed__ int counts[4] = {10, 20, 30, 40};
__managed__ float factor = 0.5f;

__global__ void count(float *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        values[i] *= factor;
        atomicAdd(&counts[i % 4], 1);
    }
}

int main() {
    const int n = 256;
    EXPECT(counts[2] == 30);
    counts[3] = 100;
    factor = 2.0f;
    float *values;
    CHECK(hipMallocManaged(&values, n * sizeof(float)));
    for (int i = 0; i < n; i++)
        values[i] = i;
    count<<<n / 64, 64>>>(values, n);
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < n; i++)
        EXPECT(values[i] == 2.0f * i);
    EXPECT(counts[0] == 74 && counts[1] == 84 && counts[2] == 94 && counts[3] == 164);
    CHECK(hipMemset(values, 0, n * sizeof(float)));
    CHECK(hipDeviceSynchronize());
    EXPECT(values[n - 1] == 0.0f);
    CHECK(hipFree(values));
    return finish("managed");
}
