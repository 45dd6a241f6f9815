// Wrong on purpose: a kernel that waits for what never happens.
#include "check.h"

__global__ void wait(int *x) {
    while (__hip_atomic_load(x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
    }
}

int main() {
    int *x;
    CHECK(hipMalloc(&x, 4));
    CHECK(hipMemset(x, 0, 4));
    wait<<<1, 64>>>(x);
    return hipDeviceSynchronize() != hipSuccess;
}
