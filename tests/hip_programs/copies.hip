// Copies and fills of rectangles, boxes and runs.
#include "check.h"

#include <cstring>
#include <vector>

__global__ void transpose(const int *in, size_t in_pitch, int *out, size_t out_pitch, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        *(int *)((char *)out + x * out_pitch + y * 4) = *(const int *)((const char *)in + y * in_pitch + x * 4);
}

int main() {
    const int width = 50, height = 30;
    std::vector<int> in(width * height), out(width * height, -1);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = 3 * i;
    int *a, *b;
    size_t pitch_a, pitch_b;
    CHECK(hipMallocPitch((void **)&a, &pitch_a, width * 4, height));
    CHECK(hipMallocPitch((void **)&b, &pitch_b, height * 4, width));
    EXPECT(pitch_a >= width * 4 && pitch_b >= height * 4);
    CHECK(hipMemcpy2D(a, pitch_a, in.data(), width * 4, width * 4, height, hipMemcpyHostToDevice));
    transpose<<<dim3(4, 2), dim3(16, 16)>>>(a, pitch_a, b, pitch_b, width, height);
    CHECK(hipMemcpy2DAsync(out.data(), height * 4, b, pitch_b, height * 4, width, hipMemcpyDeviceToHost, nullptr));
    CHECK(hipStreamSynchronize(nullptr));
    for (int x = 0; x < width; x++)
        for (int y = 0; y < height; y++)
            EXPECT(out[x * height + y] == in[y * width + x]);

    CHECK(hipMemset2D(a, pitch_a, 0x11, 5 * 4, 3));
    CHECK(hipMemcpy2D(out.data(), width * 4, a, pitch_a, width * 4, height, hipMemcpyDeviceToHost));
    EXPECT(out[0] == 0x11111111 && out[4] == 0x11111111 && out[5] == in[5] && out[2 * width] == 0x11111111);
    EXPECT(out[3 * width] == in[3 * width]);
    EXPECT(hipMemcpy2D(a, 4, in.data(), width * 4, width * 4, height, hipMemcpyHostToDevice) != hipSuccess);

    unsigned char *run;
    CHECK(hipMalloc((void **)&run, 64));
    CHECK(hipMemset(run, 0x77, 64));
    CHECK(hipMemsetD8((hipDeviceptr_t)run, 0xAB, 3));
    CHECK(hipMemsetD16((hipDeviceptr_t)(run + 8), 0x1234, 2));
    CHECK(hipMemsetD32Async((hipDeviceptr_t)(run + 16), 0x89ABCDEF, 2, nullptr));
    CHECK(hipMemcpyDtoD((hipDeviceptr_t)(run + 32), (hipDeviceptr_t)run, 32));
    unsigned char found[64];
    CHECK(hipMemcpy(found, run, 64, hipMemcpyDefault));
    const unsigned char half[32] = {0xAB, 0xAB, 0xAB, 0x77, 0x77, 0x77, 0x77, 0x77, 0x34, 0x12, 0x34,
                                    0x12, 0x77, 0x77, 0x77, 0x77, 0xEF, 0xCD, 0xAB, 0x89, 0xEF, 0xCD,
                                    0xAB, 0x89, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77};
    EXPECT(!std::memcmp(found, half, 32) && !std::memcmp(found + 32, half, 32));

    hipPitchedPtr box;
    CHECK(hipMalloc3D(&box, make_hipExtent(20, 4, 3)));
    std::vector<unsigned char> cube(20 * 4 * 3), back(cube.size());
    for (size_t i = 0; i < cube.size(); i++)
        cube[i] = i;
    CHECK(hipMemset3D(box, 9, make_hipExtent(20, 4, 3)));
    hipMemcpy3DParms copy = {};
    copy.srcPtr = make_hipPitchedPtr(cube.data(), 20, 20, 4);
    copy.dstPtr = box;
    copy.extent = make_hipExtent(20, 4, 2);
    copy.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&copy));
    copy.srcPtr = box;
    copy.dstPtr = make_hipPitchedPtr(back.data(), 20, 20, 4);
    copy.extent = make_hipExtent(20, 4, 3);
    copy.kind = hipMemcpyDeviceToHost;
    CHECK(hipMemcpy3D(&copy));
    EXPECT(!std::memcmp(back.data(), cube.data(), 160) && back[160] == 9 && back[239] == 9);
    hip_Memcpy2D rectangle = {};
    rectangle.srcMemoryType = hipMemoryTypeHost;
    rectangle.srcHost = in.data();
    rectangle.srcPitch = width * 4;
    rectangle.srcXInBytes = 8;
    rectangle.srcY = 1;
    rectangle.dstMemoryType = hipMemoryTypeDevice;
    rectangle.dstDevice = (hipDeviceptr_t)a;
    rectangle.dstPitch = pitch_a;
    rectangle.dstXInBytes = 4;
    rectangle.dstY = 2;
    rectangle.WidthInBytes = 12;
    rectangle.Height = 2;
    CHECK(hipMemset2D(a, pitch_a, 0, width * 4, height));
    CHECK(hipMemcpyParam2D(&rectangle));
    CHECK(hipMemcpy2D(out.data(), width * 4, a, pitch_a, width * 4, height, hipMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bool inside = x >= 1 && x < 4 && y >= 2 && y < 4;
            EXPECT(out[y * width + x] == (inside ? in[(y - 1) * width + x + 1] : 0));
        }
    CHECK(hipFree(a));
    CHECK(hipFree(b));
    CHECK(hipFree(run));
    CHECK(hipFree(box.ptr));
    return finish("copies");
}
