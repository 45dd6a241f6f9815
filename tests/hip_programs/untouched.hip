// What is the program's stays as it was: signals, locale, rounding, and what other threads do.
#include "check.h"

#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstring>

__global__ void set(int *x) { x[threadIdx.x] = 3; }

static volatile int interrupts = 0;

static void interrupted(int) { interrupts = interrupts + 1; }

int main() {
    std::signal(SIGINT, interrupted);
    std::signal(SIGUSR1, SIG_IGN);
    std::fesetround(FE_UPWARD);
    int *x;
    CHECK(hipMallocManaged(&x, 64 * sizeof(int)));
    set<<<1, 64>>>(x);
    CHECK(hipDeviceSynchronize());
    EXPECT(x[0] == 3);
    EXPECT(std::fegetround() == FE_UPWARD);
    EXPECT(!std::strcmp(std::setlocale(LC_ALL, nullptr), "C"));
    EXPECT(std::signal(SIGINT, interrupted) == interrupted);
    EXPECT(std::signal(SIGUSR1, SIG_DFL) == SIG_IGN);
    EXPECT(std::signal(SIGTERM, SIG_DFL) == SIG_DFL);
    std::raise(SIGINT);
    EXPECT(interrupts == 1);
    CHECK(hipFree(x));
    return finish("untouched");
}
