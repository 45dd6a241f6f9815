// The first program of every tutorial.
#include "check.h"

#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

int main() {
    const int n = 1000;
    const size_t size = n * sizeof(float);
    std::vector<float> a(n), b(n), c(n, -1.0f);
    for (int i = 0; i < n; i++)
        a[i] = i, b[i] = 2.0f * i + 0.5f;
    float *da, *db, *dc;
    CHECK(hipMalloc(&da, size));
    CHECK(hipMalloc(&db, size));
    CHECK(hipMalloc(&dc, size));
    CHECK(hipMemcpy(da, a.data(), size, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(db, b.data(), size, hipMemcpyHostToDevice));
    add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(c.data(), dc, size, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        EXPECT(c[i] == a[i] + b[i]);
    CHECK(hipFree(da));
    CHECK(hipFree(db));
    CHECK(hipFree(dc));
    return finish("vector_add");
}
