// Wrong on purpose: a kernel stores far behind the end of its buffer.
#include "check.h"

__global__ void store(int *x) { x[threadIdx.x + (1 << 28)] = 1; }

int main() {
    int *x;
    CHECK(hipMalloc(&x, 1024));
    std::printf("before\n");
    store<<<1, 64>>>(x);
    (void)hipDeviceSynchronize();
    std::printf("after\n");
    return 0;
}
