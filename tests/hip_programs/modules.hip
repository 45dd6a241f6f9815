// Modules that are loaded from a file, and from memory; arguments one by one, and as one run of bytes.
#include "check.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

struct Pair {
    short a;
    double b;
};

static void verify(const double *out, const int *more, float scale, int first) {
    for (int i = 0; i < 64; i++)
        EXPECT(out[i] == (i % 8 ? i % 8 + 1 : first) * scale + 5 + 0.25 + more[i]);
}

static void use(hipModule_t module) {
    hipFunction_t apply, nothing, missing;
    CHECK(hipModuleGetFunction(&apply, module, "apply"));
    CHECK(hipModuleGetFunction(&nothing, module, "nothing"));
    STATUS(hipModuleGetFunction(&missing, module, "missing"), hipErrorNotFound);
    CHECK(hipModuleLaunchKernel(nothing, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr));

    hipDeviceptr_t table;
    size_t size = 0;
    CHECK(hipModuleGetGlobal(&table, &size, module, "table"));
    EXPECT(size == 8 * sizeof(int));
    hipDeviceptr_t scale_address;
    CHECK(hipModuleGetGlobal(&scale_address, &size, module, "scale"));
    EXPECT(size == sizeof(float));
    STATUS(hipModuleGetGlobal(&table, &size, module, "missing"), hipErrorNotFound);
    CHECK(hipModuleGetGlobal(&table, &size, module, "table"));

    double *out;
    int *more;
    CHECK(hipMallocManaged(&out, 64 * sizeof(double)));
    CHECK(hipMallocManaged(&more, 64 * sizeof(int)));
    for (int i = 0; i < 64; i++)
        more[i] = 100 * i;
    char which = 't';
    Pair pair = {5, 0.25};
    void *parameters[] = {&out, &which, &pair, &more};
    CHECK(hipModuleLaunchKernel(apply, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(hipDeviceSynchronize());
    verify(out, more, 3.0f, 1);

    int first = 50;
    float scale = 2.0f;
    CHECK(hipMemcpyHtoD(table, &first, sizeof first));
    CHECK(hipMemcpyHtoD(scale_address, &scale, sizeof scale));
    struct {
        double *out;
        char which;
        Pair pair;
        const int *more;
    } packed = {out, 't', pair, more};
    size_t bytes = sizeof packed;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     HIP_LAUNCH_PARAM_END};
    CHECK(hipModuleLaunchKernel(apply, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
    CHECK(hipDeviceSynchronize());
    verify(out, more, 2.0f, 50);
    int back = 0;
    CHECK(hipMemcpyDtoH(&back, table, sizeof back));
    EXPECT(back == 50);
    CHECK(hipFree(out));
    CHECK(hipFree(more));
    CHECK(hipModuleUnload(module));
}

int main(int, char **arguments) {
    hipModule_t module;
    CHECK(hipModuleLoad(&module, arguments[1]));
    use(module);
    std::ifstream file(arguments[1], std::ios::binary);
    std::vector<char> image((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    CHECK(hipModuleLoadData(&module, image.data()));
    use(module);
    STATUS(hipModuleLoad(&module, "/does/not/exist.hsaco"), hipErrorFileNotFound);
    return finish("modules");
}
