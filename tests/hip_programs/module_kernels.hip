// A module for modules.hip, which is compiled to a code object by itself.
#include <hip/hip_runtime.h>

struct Pair {
    short a;
    double b;
};

extern "C" __device__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
extern "C" __constant__ float scale = 3.0f;

extern "C" __global__ void apply(double *out, char which, Pair pair, const int *more) {
    int i = threadIdx.x;
    out[i] = which == 't' ? table[i % 8] * scale + pair.a + pair.b + more[i] : -1.0;
}

extern "C" __global__ void nothing() {}
