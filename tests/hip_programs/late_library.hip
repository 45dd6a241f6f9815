// A library with device code, which late.hip loads while it runs.
#include <hip/hip_runtime.h>

__device__ int offset = 7;

__global__ void fill(int *x) { x[threadIdx.x] = threadIdx.x + offset; }

extern "C" int run(int *x, int more) {
    int now = 0;
    if (hipMemcpyFromSymbol(&now, HIP_SYMBOL(offset), sizeof now) != hipSuccess)
        return 1;
    now += more;
    if (hipMemcpyToSymbol(HIP_SYMBOL(offset), &now, sizeof now) != hipSuccess)
        return 1;
    fill<<<1, 64>>>(x);
    return hipDeviceSynchronize() != hipSuccess;
}
