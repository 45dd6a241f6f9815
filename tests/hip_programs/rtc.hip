// Kernels that are compiled from strings: values, headers, options, name expressions, and errors in the log.
#include "check.h"

#include <hip/hiprtc.h>

#include <cstring>
#include <string>
#include <vector>

static void expect_rtc(int line, const char *what, hiprtcResult found, hiprtcResult wanted) {
    if (found != wanted) {
        std::printf("line %d: %s gives %s\n", line, what, hiprtcGetErrorString(found));
        failures++;
    }
}
#define RTC_STATUS(call, expected) expect_rtc(__LINE__, #call, (call), (expected))
#define RTC(call) RTC_STATUS(call, HIPRTC_SUCCESS)

static std::string log_of(hiprtcProgram program) {
    size_t size = 0;
    RTC(hiprtcGetProgramLogSize(program, &size));
    std::string log(size, '\0');
    RTC(hiprtcGetProgramLog(program, &log[0]));
    return log;
}

static hipModule_t load(hiprtcProgram program) {
    size_t size = 0;
    RTC(hiprtcGetCodeSize(program, &size));
    EXPECT(size > 0);
    std::vector<char> code(size);
    RTC(hiprtcGetCode(program, code.data()));
    hipModule_t module;
    CHECK(hipModuleLoadData(&module, code.data()));
    return module;
}

static void launch(hipModule_t module, const char *name, void **parameters) {
    hipFunction_t function;
    CHECK(hipModuleGetFunction(&function, module, name));
    CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(hipDeviceSynchronize());
}

static void values(const char *architecture) {
    const char *source = "extern \"C\" __global__ void saxpy(float a, const float *x, float *y, size_t n) {\n"
                         "    size_t i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         "    if (i < n)\n"
                         "        y[i] = a * x[i] + y[i];\n"
                         "}\n";
    hiprtcProgram program;
    RTC(hiprtcCreateProgram(&program, source, "saxpy.cu", 0, nullptr, nullptr));
    std::string option = std::string("--gpu-architecture=") + architecture;
    const char *options[] = {option.c_str(), "-ffp-contract=off"};
    RTC(hiprtcCompileProgram(program, 2, options));
    EXPECT(log_of(program).empty());
    hipModule_t module = load(program);
    RTC(hiprtcDestroyProgram(&program));

    float *x, *y, a = 2.5f;
    size_t n = 100;
    CHECK(hipMallocManaged(&x, 128 * sizeof(float)));
    CHECK(hipMallocManaged(&y, 128 * sizeof(float)));
    for (int i = 0; i < 128; i++)
        x[i] = i + 0.5f, y[i] = -i;
    void *parameters[] = {&a, &x, &y, &n};
    launch(module, "saxpy", parameters);
    for (int i = 0; i < 128; i++)
        EXPECT(y[i] == (i < 100 ? 2.5f * (i + 0.5f) - i : -i));
    CHECK(hipModuleUnload(module));
    CHECK(hipFree(x));
    CHECK(hipFree(y));
}

static void names() {
    const char *source = "#include \"operation.h\"\n"
                         "#include <deep/factor.h>\n"
                         "namespace tools {\n"
                         "__constant__ int offset = 5;\n"
                         "__device__ int last[2];\n"
                         "template <typename T, int N> __global__ void apply(T *out) {\n"
                         "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         "    T value = (T)(operation(N, i) + offset);\n"
                         "    out[i] = __shfl(value, 63 - threadIdx.x) * (T)FACTOR;\n"
                         "    if (i == 127) last[1] = N;\n"
                         "}\n"
                         "}\n"
                         "static __global__ void over(int *out) { out[threadIdx.x] = 1; }\n"
                         "static __global__ void over(float *out) {\n"
                         "    out[threadIdx.x] = __half2float(__float2half(2.0f));\n"
                         "}\n";
    const char *headers[] = {"__device__ inline int operation(int n, int i) { return n * i; }\n",
                             "constexpr int FACTOR = SCALE + 1;\n"};
    const char *header_names[] = {"operation.h", "deep/factor.h"};
    hiprtcProgram program;
    RTC(hiprtcCreateProgram(&program, source, "names.cu", 2, headers, header_names));
    const char *floats = "tools::apply<float, 3>", *unsigneds = "&tools::apply<unsigned int, 2 + 2>";
    const char *overloaded = "(void (*)(float *))over", *last = "&tools::last", *offset = "&tools::offset";
    const char *all[] = {floats, unsigneds, overloaded, last, offset};
    for (const char *one : all)
        RTC(hiprtcAddNameExpression(program, one));
    const char *lowered = nullptr;
    RTC_STATUS(hiprtcGetLoweredName(program, floats, &lowered), HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
    const char *options[] = {"-DSCALE=2", "-std=c++17"};
    RTC(hiprtcCompileProgram(program, 2, options));
    EXPECT(log_of(program).empty());
    hipModule_t module = load(program);
    auto find = [&](const char *expression) {
        const char *found = "";
        RTC(hiprtcGetLoweredName(program, expression, &found));
        return std::string(found);
    };
    EXPECT(find(floats) == "_ZN5tools5applyIfLi3EEEvPT_");
    EXPECT(find(unsigneds) == "_ZN5tools5applyIjLi4EEEvPT_");
    EXPECT(find(offset) == "_ZN5tools6offsetE");
    RTC_STATUS(hiprtcGetLoweredName(program, "tools::apply<int, 3>", &lowered), HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID);

    int five = 7, written[2] = {};
    hipDeviceptr_t address;
    size_t size = 0;
    CHECK(hipModuleGetGlobal(&address, &size, module, find(offset).c_str()));
    EXPECT(size == sizeof(int));
    CHECK(hipMemcpyDtoH(&five, address, sizeof five));
    EXPECT(five == 5);
    float *out;
    unsigned *counts;
    CHECK(hipMallocManaged(&out, 128 * sizeof(float)));
    CHECK(hipMallocManaged(&counts, 128 * sizeof(unsigned)));
    void *parameters[] = {&out}, *others[] = {&counts};
    launch(module, find(floats).c_str(), parameters);
    launch(module, find(unsigneds).c_str(), others);
    for (int i = 0; i < 128; i++) {
        int other = i / 64 * 64 + 63 - i % 64;
        EXPECT(out[i] == (3 * other + 5) * 3);
        EXPECT(counts[i] == (4u * other + 5) * 3);
    }
    CHECK(hipModuleGetGlobal(&address, &size, module, find(last).c_str()));
    CHECK(hipMemcpyDtoH(written, address, sizeof written));
    EXPECT(size == sizeof written && written[0] == 0 && written[1] == 4);
    launch(module, find(overloaded).c_str(), parameters);
    EXPECT(out[0] == 2.0f && out[63] == 2.0f);
    CHECK(hipModuleUnload(module));
    RTC(hiprtcDestroyProgram(&program));
}

static void errors() {
    const char *source = "extern \"C\" __global__ void broken(int *out) {\n"
                         "    out[0] = 1;\n"
                         "    out[1] = missing;\n"
                         "}\n"
                         "template <typename T> __global__ void fine(T *out) { *out = 1; }\n";
    hiprtcProgram program;
    RTC(hiprtcCreateProgram(&program, source, "broken.cu", 0, nullptr, nullptr));
    RTC_STATUS(hiprtcCompileProgram(program, 0, nullptr), HIPRTC_ERROR_COMPILATION);
    std::string log = log_of(program);
    EXPECT(log.find("broken.cu:3:") != std::string::npos);
    EXPECT(log.find("undeclared identifier 'missing'") != std::string::npos);
    size_t size = 1;
    RTC(hiprtcGetCodeSize(program, &size));
    EXPECT(size == 0);
    const char *repaired[] = {"-Dmissing=3"};
    RTC(hiprtcDestroyProgram(&program));

    RTC(hiprtcCreateProgram(&program, source, "broken.cu", 0, nullptr, nullptr));
    RTC(hiprtcAddNameExpression(program, "fine<nothing>"));
    RTC_STATUS(hiprtcCompileProgram(program, 1, repaired), HIPRTC_ERROR_COMPILATION);
    EXPECT(log_of(program).find("nothing") != std::string::npos);
    RTC(hiprtcDestroyProgram(&program));

    const char *other[] = {"-Dmissing=3", "--gpu-architecture=compute_70"};
    RTC(hiprtcCreateProgram(&program, source, nullptr, 0, nullptr, nullptr));
    RTC_STATUS(hiprtcCompileProgram(program, 2, other), HIPRTC_ERROR_COMPILATION);
    EXPECT(log_of(program).find("compute_70") != std::string::npos);
    RTC(hiprtcDestroyProgram(&program));

    RTC(hiprtcCreateProgram(&program, source, nullptr, 0, nullptr, nullptr));
    RTC_STATUS(hiprtcAddNameExpression(program, nullptr), HIPRTC_ERROR_INVALID_INPUT);
    RTC_STATUS(hiprtcGetLoweredName(program, "fine<int>", nullptr), HIPRTC_ERROR_INVALID_INPUT);
    RTC_STATUS(hiprtcGetCodeSize(program, nullptr), HIPRTC_ERROR_INVALID_INPUT);
    RTC(hiprtcDestroyProgram(&program));
    RTC_STATUS(hiprtcDestroyProgram(nullptr), HIPRTC_ERROR_INVALID_INPUT);
    RTC_STATUS(hiprtcCreateProgram(nullptr, source, nullptr, 0, nullptr, nullptr), HIPRTC_ERROR_INVALID_PROGRAM);
    RTC_STATUS(hiprtcCreateProgram(&program, "", nullptr, 0, nullptr, nullptr), HIPRTC_ERROR_INVALID_INPUT);
    RTC_STATUS(hiprtcCreateProgram(&program, source, nullptr, 1, nullptr, nullptr), HIPRTC_ERROR_INVALID_INPUT);
    EXPECT(std::strcmp(hiprtcGetErrorString(HIPRTC_ERROR_COMPILATION), "HIPRTC_ERROR_COMPILATION") == 0);
    CHECK(hipGetLastError()); // hipRTC's failures are no failures of the HIP runtime
}

int main() {
    int major = 0, minor = -1;
    RTC(hiprtcVersion(&major, &minor));
    EXPECT(major >= 9 && minor >= 0);
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    values(properties.gcnArchName);
    names();
    errors();
    return finish("rtc");
}
