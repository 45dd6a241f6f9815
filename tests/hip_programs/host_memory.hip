// Memory of the host that kernels use, and what the runtime knows about pointers.
#include "check.h"

#include <cstdlib>

__global__ void reverse(const int *in, int *out, int n) { out[threadIdx.x] = in[n - 1 - threadIdx.x]; }

int main() {
    const int n = 128;
    int *pinned, *view, *device;
    CHECK(hipHostMalloc((void **)&pinned, n * sizeof(int), hipHostMallocMapped));
    CHECK(hipHostGetDevicePointer((void **)&view, pinned, 0));
    CHECK(hipMalloc(&device, n * sizeof(int)));
    for (int i = 0; i < n; i++)
        pinned[i] = i;
    reverse<<<1, n>>>(view, device, n);
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(pinned, device, n * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        EXPECT(pinned[i] == n - 1 - i);

    int *own = (int *)std::aligned_alloc(4096, 4096);
    CHECK(hipHostRegister(own, 4096, hipHostRegisterMapped));
    EXPECT(hipHostRegister(own, 4096, hipHostRegisterMapped) != hipSuccess);
    CHECK(hipHostGetDevicePointer((void **)&view, own, 0));
    reverse<<<1, n>>>(device, view, n);
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < n; i++)
        EXPECT(own[i] == i);
    CHECK(hipHostUnregister(own));
    EXPECT(hipHostUnregister(own) != hipSuccess);
    std::free(own);

    hipPointerAttribute_t about;
    CHECK(hipPointerGetAttributes(&about, device + 3));
#if HIP_VERSION_MAJOR < 6
    EXPECT(about.memoryType == hipMemoryTypeDevice);
#else
    EXPECT(about.type == hipMemoryTypeDevice);
#endif
    EXPECT(about.device == 0 && about.devicePointer == device + 3 && !about.isManaged);
    CHECK(hipPointerGetAttributes(&about, pinned));
#if HIP_VERSION_MAJOR < 6
    EXPECT(about.memoryType == hipMemoryTypeHost);
#else
    EXPECT(about.type == hipMemoryTypeHost);
#endif
    EXPECT(about.hostPointer == pinned);
    hipDeviceptr_t base;
    size_t size = 0;
    CHECK(hipMemGetAddressRange(&base, &size, (hipDeviceptr_t)(device + 5)));
    EXPECT(base == (hipDeviceptr_t)device && size >= n * sizeof(int));
    size_t before = 0, after = 0, total = 0;
    CHECK(hipMemGetInfo(&before, &total));
    void *large;
    CHECK(hipMalloc(&large, (size_t)1 << 30));
    CHECK(hipMemGetInfo(&after, &total));
    EXPECT(before - after >= (size_t)1 << 30 && before <= total);
    CHECK(hipFree(large));
    CHECK(hipHostFree(pinned));
    CHECK(hipFree(device));
    return finish("host_memory");
}
