// Uses the device before main begins and after it has returned.
#include "check.h"

__device__ int seed = 3;

__global__ void fill(int *x) { x[threadIdx.x] = seed * threadIdx.x; }

struct Table {
    int *values;
    Table() {
        CHECK(hipMallocManaged(&values, 64 * sizeof(int)));
        CHECK(hipMemset(values, 0, 64 * sizeof(int)));
    }
    ~Table() {
        CHECK(hipFree(values));
        finish("static_objects");
    }
};

static Table table;

int main() {
    fill<<<1, 64>>>(table.values);
    CHECK(hipDeviceSynchronize());
    EXPECT(table.values[63] == 189);
    return 0;
}
