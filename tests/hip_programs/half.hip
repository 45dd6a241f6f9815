// Half precision, and atomics that wrap around.
#include "check.h"

#include <hip/hip_fp16.h>

__global__ void compute(const __half *x, __half *y, unsigned *counts) {
    __half2 inverse = h2rcp(__halves2half2(x[0], x[1]));
    if (threadIdx.x == 0) {
        y[0] = __hadd(x[0], x[1]);
        y[1] = hrcp(x[0]);
        y[2] = __low2half(inverse);
        y[3] = __high2half(inverse);
        y[4] = hsqrt(x[1]);
    }
    atomicInc(counts, 9u);
    atomicDec(counts + 1, 9u);
}

int main() {
    __half x[2] = {__float2half(2), __float2half(4)}, y[5], *given, *results;
    unsigned counts[2], *counters;
    CHECK(hipMalloc(&given, sizeof x));
    CHECK(hipMalloc(&results, sizeof y));
    CHECK(hipMalloc(&counters, sizeof counts));
    CHECK(hipMemset(counters, 0, sizeof counts));
    CHECK(hipMemcpy(given, x, sizeof x, hipMemcpyHostToDevice));
    compute<<<1, 24>>>(given, results, counters);
    CHECK(hipMemcpy(y, results, sizeof y, hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(counts, counters, sizeof counts, hipMemcpyDeviceToHost));
    const float wanted[5] = {6, 0.5f, 0.5f, 0.25f, 2};
    for (int i = 0; i < 5; i++)
        EXPECT(__half2float(y[i]) == wanted[i]);
    EXPECT(counts[0] == 24 % 10);
    EXPECT(counts[1] == 10 - 24 % 10);
    return finish("half");
}
