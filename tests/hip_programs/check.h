// What the programs here share: each checks itself, prints what it found, and returns 0 if all is right.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

inline int failures = 0;

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        hipError_t status_ = (call);                                                                                   \
        if (status_ != hipSuccess) {                                                                                   \
            std::printf("line %d: %s gives %s\n", __LINE__, #call, hipGetErrorName(status_));                          \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::printf("line %d: not %s\n", __LINE__, #condition);                                                    \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

#define STATUS(call, expected)                                                                                         \
    do {                                                                                                               \
        hipError_t status_ = (call);                                                                                   \
        if (status_ != (expected)) {                                                                                   \
            std::printf("line %d: %s gives %s\n", __LINE__, #call, hipGetErrorName(status_));                          \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

inline int finish(const char *name) {
    if (failures)
        std::printf("%s: %d wrong\n", name, failures);
    else
        std::printf("%s: right\n", name);
    return failures != 0;
}
