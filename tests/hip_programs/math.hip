// Functions of the device library, against the host's.
#include "check.h"

#include <cmath>

constexpr int FUNCTIONS = 10, N = 64;

__global__ void compute(const float *x, float *y) {
    int i = threadIdx.x;
    float v = x[i], *to = y + i * FUNCTIONS;
    to[0] = powf(v, 2.5f), to[1] = rsqrtf(v), to[2] = fmodf(v, 1.5f), to[3] = erff(v), to[4] = cbrtf(v);
    to[5] = atan2f(v, 2.0f), to[6] = lgammaf(v), to[7] = std::sqrt(v), to[8] = std::pow(v, 1.5f), to[9] = sinf(v);
}

int main() {
    float x[N], y[N][FUNCTIONS], *on_device, *results;
    for (int i = 0; i < N; i++)
        x[i] = 0.375f + 0.25f * i;
    CHECK(hipMalloc(&on_device, sizeof x));
    CHECK(hipMalloc(&results, sizeof y));
    CHECK(hipMemcpy(on_device, x, sizeof x, hipMemcpyHostToDevice));
    compute<<<1, N>>>(on_device, results);
    CHECK(hipMemcpy(y, results, sizeof y, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        double v = x[i];
        const double wanted[FUNCTIONS] = {std::pow(v, 2.5),    1 / std::sqrt(v), std::fmod(v, 1.5), std::erf(v),
                                          std::cbrt(v),        std::atan2(v, 2), std::lgamma(v),    std::sqrt(v),
                                          std::pow(v, 1.5),    std::sin(v)};
        for (int f = 0; f < FUNCTIONS; f++)
            EXPECT(std::fabs(y[i][f] - wanted[f]) <= 1e-6 * std::fmax(1, std::fabs(wanted[f])));
    }
    CHECK(hipFree(on_device));
    CHECK(hipFree(results));
    return finish("math");
}
