// Wrong on purpose: an assertion in a kernel does not hold.
#include "check.h"

#include <cassert>

__global__ void check(const int *x) { assert(x[threadIdx.x] < 40); }

int main() {
    int *x;
    CHECK(hipMallocManaged(&x, 64 * sizeof(int)));
    for (int i = 0; i < 64; i++)
        x[i] = i;
    check<<<1, 32>>>(x);
    CHECK(hipDeviceSynchronize());
    std::printf("first\n");
    check<<<1, 64>>>(x);
    (void)hipDeviceSynchronize();
    std::printf("after\n");
    return 0;
}
