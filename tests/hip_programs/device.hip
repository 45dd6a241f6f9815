// What the runtime says about the device: properties and attributes agree.
#include "check.h"

#include <cstring>

int main() {
    int count = 0, device = -1, value = 0;
    CHECK(hipInit(0));
    CHECK(hipGetDeviceCount(&count));
    EXPECT(count >= 1);
    CHECK(hipSetDevice(0));
    CHECK(hipGetDevice(&device));
    EXPECT(device == 0);
    hipDeviceProp_t p;
    CHECK(hipGetDeviceProperties(&p, 0));
    std::printf("%s, %s, %d compute units\n", p.name, p.gcnArchName, p.multiProcessorCount);
    EXPECT(p.warpSize == 64 && p.maxThreadsPerBlock == 1024 && p.sharedMemPerBlock == 65536);
    EXPECT(p.major == 9 && p.minor == 4 && p.maxThreadsDim[2] == 1024 && p.cooperativeLaunch == 1);
    EXPECT(p.arch.hasDoubles && p.arch.hasWarpShuffle && !p.arch.hasDynamicParallelism && p.arch.has3dGrid);
#define AGREE(attribute, field)                                                                                        \
    CHECK(hipDeviceGetAttribute(&value, hipDeviceAttribute##attribute, 0));                                            \
    EXPECT(value == (int)p.field)
    AGREE(WarpSize, warpSize);
    AGREE(MultiprocessorCount, multiProcessorCount);
    AGREE(MaxThreadsPerBlock, maxThreadsPerBlock);
    AGREE(MaxSharedMemoryPerBlock, sharedMemPerBlock);
    AGREE(ClockRate, clockRate);
    AGREE(MemoryClockRate, memoryClockRate);
    AGREE(MemoryBusWidth, memoryBusWidth);
    AGREE(L2CacheSize, l2CacheSize);
    AGREE(MaxGridDimX, maxGridSize[0]);
    AGREE(MaxBlockDimZ, maxThreadsDim[2]);
    AGREE(ComputeCapabilityMajor, major);
    AGREE(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor);
    AGREE(ManagedMemory, managedMemory);
    AGREE(IsLargeBar, isLargeBar);
    EXPECT(hipDeviceGetAttribute(&value, (hipDeviceAttribute_t)5000, 0) != hipSuccess);
    char name[256];
    CHECK(hipDeviceGetName(name, sizeof name, 0));
    EXPECT(!std::strcmp(name, p.name));
    size_t total = 0;
    CHECK(hipDeviceTotalMem(&total, 0));
    EXPECT(total == p.totalGlobalMem);
    int runtime = 0, driver = 0;
    CHECK(hipRuntimeGetVersion(&runtime));
    CHECK(hipDriverGetVersion(&driver));
    EXPECT(runtime / 10000000 == HIP_VERSION_MAJOR && driver == runtime);
    EXPECT(hipGetDeviceProperties(&p, count) != hipSuccess);
    int peer = 1;
    CHECK(hipDeviceCanAccessPeer(&peer, 0, 0));
    EXPECT(peer == 0);
    CHECK(hipDeviceReset());
    return finish("device");
}
