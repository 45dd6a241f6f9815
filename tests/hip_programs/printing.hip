// What kernels print stands among what the host prints, in the order of the program.
#include "check.h"

__global__ void hello(int n, double x, const char *name) {
    if (threadIdx.x == 2)
        printf("kernel %d: %.3f from %s, lane %u\n", n, x, name, (unsigned)threadIdx.x);
}

__device__ const char greeting[] = "the device";

__global__ void second() {
    if (threadIdx.x == 0)
        printf("second: %s, %c, %08x, %5.1e, %ld\n", greeting, 'z', 0xBEEFu, 12345.678, -1234567890123L);
}

int main() {
    std::printf("before\n");
    const char *name;
    CHECK(hipGetSymbolAddress((void **)&name, HIP_SYMBOL(greeting)));
    hello<<<1, 64>>>(7, 2.5, name);
    CHECK(hipDeviceSynchronize());
    std::printf("between\n");
    second<<<1, 64>>>();
    CHECK(hipDeviceSynchronize());
    std::printf("after\n");
    return 0;
}
