// Uses an instruction that this project does not emulate, in a place that is never reached.
#include "check.h"

__global__ void barrier(int *x) {
    if (x[0] == 77)
        asm volatile("ds_gws_barrier %0 offset:0 gds" ::"v"(x[1]));
    x[0] = 1;
}

int main() {
    int *x;
    CHECK(hipMalloc(&x, 1024));
    CHECK(hipMemset(x, 0, 1024));
    std::printf("before\n");
    barrier<<<1, 64>>>(x);
    std::printf("after\n");
    return 0;
}
