// Loads a library with device code after the device has been used, twice: the second time it is as new.
#include "check.h"

#include <dlfcn.h>

__global__ void clear(int *x) { x[threadIdx.x] = 0; }

int main(int, char **arguments) {
    int *x;
    CHECK(hipMallocManaged(&x, 64 * sizeof(int)));
    clear<<<1, 64>>>(x);
    CHECK(hipDeviceSynchronize());
    EXPECT(x[5] == 0);
    for (int round = 0; round < 2; round++) {
        void *library = dlopen(arguments[1], RTLD_NOW);
        if (!library) {
            std::printf("%s\n", dlerror());
            return 1;
        }
        auto run = (int (*)(int *, int))dlsym(library, "run");
        EXPECT(run(x, 100) == 0);
        for (int i = 0; i < 64; i++)
            EXPECT(x[i] == i + 107);
        clear<<<1, 64>>>(x);
        CHECK(hipDeviceSynchronize());
        EXPECT(x[63] == 0);
        dlclose(library);
    }
    CHECK(hipFree(x));
    return finish("late");
}
