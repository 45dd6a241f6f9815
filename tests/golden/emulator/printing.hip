// Kernels that print, for tests/emulator/test_hostcall.py. `python -m emulator.printing` in tests builds printing.co,
// and with -mprintf-kind=buffered printing_buffered.co, from this with clang 22 and Debian's HIP 5.2.
#include <hip/hip_runtime.h>
#include <cassert>

__device__ int item() { return blockIdx.x * blockDim.x + threadIdx.x; }

// A number that the host gives, from the items below the second one.
extern "C" __global__ void hello(int number, int items) {
    if (item() < items) printf("item %d of %s: %d\n", item(), "hello", number);
}

// Any format; clang takes no argument for a string if it does not know the format.
extern "C" __global__ void integers(const char* format, long long a, long long b, long long c, int* printed) {
    printed[item()] = printf(format, a, b, c);
}

extern "C" __global__ void doubles(const char* format, double a, double b, int* printed) {
    printed[item()] = printf(format, a, b);
}

// One string per item, `stride` bytes apart, with what comes behind it.
extern "C" __global__ void strings(const char* strings, int stride, int items, int* printed) {
    if (item() < items) {
        const char* mine = strings + stride * item();
        printed[item()] = printf("<%s> [%12s] {%-12s} (%.3s) %d\n", mine, mine, mine, mine, item());
    }
}

// Every item as often as its number says, in both arms of a branch.
extern "C" __global__ void divergent(int items) {
    int n = item();
    if (n >= items) return;
    for (int i = 0; i < n % 5; ++i) {
        if (n & 1) printf("odd %d, %d\n", n, i);
        else printf("even %d, %s\n", n, i ? "again" : "first");
    }
}

// Waves of a work-group between barriers.
extern "C" __global__ void steps(int count) {
    for (int i = 0; i < count; ++i) {
        if (threadIdx.x % 64 == 0) printf("group %d wave %d step %d\n", int(blockIdx.x), int(threadIdx.x) / 64, i);
        __syncthreads();
    }
}

extern "C" __global__ void checked(int limit) {
    printf("item %d\n", item());
    assert(item() < limit);
}

#ifndef BUFFERED
using Two = long __attribute__((ext_vector_type(2)));
extern "C" __device__ Two __ockl_hostcall_preview(
    unsigned, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long,
    unsigned long);

// A request of one's own.
extern "C" __global__ void asks(unsigned service, unsigned long a, unsigned long b, unsigned long c, long* answers) {
    Two answer = __ockl_hostcall_preview(service, a, b, c, 0, 0, 0, 0, 0);
    answers[0] = answer.x;
    answers[1] = answer.y;
}

// The stack of ready packets made to hold one that there is not, or the same one again and again.
extern "C" __global__ void damages(unsigned long entry) {
    auto hidden = (const char __attribute__((address_space(4)))*)__builtin_amdgcn_implicitarg_ptr();
    auto buffer = *(unsigned long* const __attribute__((address_space(4)))*)(hidden + 80);
    ((unsigned long*)buffer[0])[3 * (entry & 1)] = entry;
    buffer[4] = entry;
    __builtin_amdgcn_s_sleep(1);
}
#endif
