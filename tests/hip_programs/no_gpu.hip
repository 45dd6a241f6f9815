// Has a kernel, and never uses the device.
#include "check.h"

__global__ void unused(int *x) { *x = 1; }

int main(int count, char **) {
    if (count > 5)
        unused<<<1, 1>>>(nullptr);
    std::printf("no call\n");
    return 3;
}
