// Enough of HIP to run a generated program on the host: work-groups one after the other, their threads as fibers.
//
// A fiber runs until it waits for its work-group (__syncthreads) or for its wave (a matrix instruction, a
// permutation), and a wave runs until all of it waits for the others: whoever forgets a barrier is overtaken. The matrix instruction itself is mfma's, on the registers of 64 lanes: whoever loads the program sets
// `matrix_instruction`. What the program must get right is all the rest: every index, every barrier, the epilogue.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)
#define address_space(number) unused
#define __builtin_amdgcn_ds_bpermute permuted
#define __builtin_amdgcn_readfirstlane(value) (value)
#define __builtin_amdgcn_s_waitcnt(counters)
#define __builtin_amdgcn_global_load_lds(from, to, size, offset, aux) direct_load((const char*)(from), (char*)(to))

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

inline dim3 threadIdx, blockIdx;

using Entry = void (*)(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, int64_t cbsz, int64_t abid,
                       int64_t blgp, int64_t waves, int64_t step_d, int64_t step_a, int64_t step_b, int64_t step_c);
extern "C" {
Entry matrix_instruction = nullptr;
char device_name[256] = "";
long matrix_instructions = 0;  // executed by waves
long direct_loads = 0;         // executed by lanes
}

struct Barrier {
    unsigned waiting = 0, generation = 0;
};

struct Wave {
    Barrier barrier;
    uint32_t a[64 * 2], b[64 * 2], c[64 * 32], d[64 * 32];
    int values[64];
};

constexpr size_t stack_bytes = 64 * 1024;

struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[stack_bytes]};
    const Barrier* barrier = nullptr;  // that it waits for, as long as that has this generation
    unsigned generation = 0;
    bool is_done = false;

    bool can_run() const { return !is_done && (!barrier || barrier->generation != generation); }
};

inline ucontext_t scheduler;
inline std::vector<Fiber> fibers;
inline std::vector<Wave> waves;
inline Barrier work_group;
inline std::function<void()> body;

inline void wait(Barrier& barrier, unsigned members) {
    const unsigned generation = barrier.generation;
    if (++barrier.waiting == members) {
        barrier.waiting = 0;
        ++barrier.generation;
        return;
    }
    Fiber& fiber = fibers[threadIdx.x];
    fiber.barrier = &barrier;
    fiber.generation = generation;
    swapcontext(&fiber.context, &scheduler);
}

inline void __syncthreads() { wait(work_group, fibers.size()); }

inline Wave& wave() { return waves[threadIdx.x / 64]; }
inline void wait_for_wave() { wait(wave().barrier, 64); }

template <typename T>
void put(uint32_t* registers, const T& operand) {
    uint32_t words[sizeof operand / 4];
    std::memcpy(words, &operand, sizeof operand);
    for (size_t r = 0; r < sizeof operand / 4; ++r) registers[64 * r + threadIdx.x % 64] = words[r];
}

template <typename A, typename B, typename C>
C multiplied(A a, B b, C c, int cbsz, int abid, int blgp) {
    put(wave().a, a);
    put(wave().b, b);
    put(wave().c, c);
    wait_for_wave();
    if (threadIdx.x % 64 == 0) {
        matrix_instruction(wave().d, wave().a, wave().b, wave().c, cbsz, abid, blgp, 1, 0, 0, 0, 0);
        ++matrix_instructions;
    }
    wait_for_wave();
    uint32_t words[sizeof c / 4];
    for (size_t r = 0; r < sizeof c / 4; ++r) words[r] = wave().d[64 * r + threadIdx.x % 64];
    std::memcpy(&c, words, sizeof c);
    return c;
}

inline int permuted(int address, int value) {
    wave().values[threadIdx.x % 64] = value;
    wait_for_wave();
    const int result = wave().values[address / 4 % 64];
    wait_for_wave();
    return result;
}

inline void direct_load(const char* from, char* to) {
    std::memcpy(to + 4 * (threadIdx.x % 64), from, 4);
    ++direct_loads;
}

inline void run_fiber() {
    body();
    fibers[threadIdx.x].is_done = true;
    swapcontext(&fibers[threadIdx.x].context, &scheduler);
}

template <typename... Parameters>
struct Launch {
    void (*kernel)(Parameters...);
    dim3 grid, threads;

    void operator()(Parameters... arguments) const {
        body = [&] { kernel(arguments...); };
        for (unsigned z = 0; z < grid.z; ++z)
            for (unsigned y = 0; y < grid.y; ++y)
                for (unsigned x = 0; x < grid.x; ++x) run(dim3(x, y, z));
    }

    void run(dim3 group) const {
        blockIdx = group;
        work_group = Barrier{};
        waves.assign((threads.x + 63) / 64, Wave{});
        if (fibers.size() != threads.x) fibers = std::vector<Fiber>(threads.x);
        for (Fiber& fiber : fibers) {
            fiber.barrier = nullptr;
            fiber.is_done = false;
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack.get();
            fiber.context.uc_stack.ss_size = stack_bytes;
            makecontext(&fiber.context, run_fiber, 0);
        }
        for (bool is_running = true; is_running;) {
            is_running = false;
            for (unsigned first = 0; first < threads.x; first += 64) is_running |= run_wave(first);
        }
    }

    bool run_wave(unsigned first) const {
        bool has_run = false;
        for (bool is_running = true; is_running; has_run |= is_running) {
            is_running = false;
            for (unsigned thread = first; thread < threads.x && thread < first + 64; ++thread) {
                if (!fibers[thread].can_run()) continue;
                is_running = true;
                threadIdx.x = thread;
                swapcontext(&scheduler, &fibers[thread].context);
            }
        }
        return has_run;
    }
};

template <typename... Parameters>
Launch<Parameters...> launch_on_host(void (*kernel)(Parameters...), dim3 grid, dim3 threads) {
    return {kernel, grid, threads};
}

enum hipError_t { hipSuccess };
enum hipMemcpyKind { hipMemcpyHostToDevice, hipMemcpyDeviceToHost };
struct hipDeviceProp_t {
    char gcnArchName[256];
};
using hipEvent_t = std::chrono::steady_clock::time_point;

inline const char* hipGetErrorString(hipError_t) { return "no error"; }
inline hipError_t hipGetLastError() { return hipSuccess; }
inline hipError_t hipDeviceSynchronize() { return hipSuccess; }
inline hipError_t hipGetDevice(int* device) { return *device = 0, hipSuccess; }
inline hipError_t hipMalloc(void** data, size_t bytes) { return *data = std::malloc(bytes), hipSuccess; }
inline hipError_t hipFree(void* data) { return std::free(data), hipSuccess; }
inline hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind) {
    return std::memcpy(to, from, bytes), hipSuccess;
}
inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* props, int) {
    return std::strcpy(props->gcnArchName, device_name), hipSuccess;
}
inline hipError_t hipEventCreate(hipEvent_t*) { return hipSuccess; }
inline hipError_t hipEventDestroy(hipEvent_t) { return hipSuccess; }
inline hipError_t hipEventRecord(hipEvent_t& event, void*) {
    return event = std::chrono::steady_clock::now(), hipSuccess;
}
inline hipError_t hipEventSynchronize(hipEvent_t) { return hipSuccess; }
inline hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
    return *ms = std::chrono::duration<float, std::milli>(stop - start).count(), hipSuccess;
}
