// Element-wise kernels of every type; the last wave is partly masked.
#include "gpu.h"

#define VECTOR(T)                                                                    \
  KERNEL add_##T(const T *a, const T *b, T *c, u32 n) {                              \
    u32 i = id();                                                                    \
    if (i < n) c[i] = a[i] + b[i];                                                   \
  }                                                                                  \
  KERNEL axpy_##T(T s, const T *x, T *y, u32 n) {                                    \
    for (u32 i = id(); i < n; i += groups() * group_size()) y[i] = s * x[i] + y[i];  \
  }
VECTOR(f32)
VECTOR(f64)
VECTOR(f16)
VECTOR(bf16)
VECTOR(i8)
VECTOR(i16)
VECTOR(i32)
VECTOR(i64)

// Work-items and groups in three dimensions.
KERNEL where(u32 *out, u32 nx, u32 ny) {
  u32 x = group() * group_size() + tid();
  u32 y = group_y() * group_size_y() + tid_y();
  u32 z = group_z() * group_size_z() + tid_z();
  if (x < nx && y < ny)
    out[(z * ny + y) * nx + x] = tid() | tid_y() << 4 | tid_z() << 8 | group() << 12 | group_y() << 16 | group_z() << 20 |
                                 lane() << 24;
}

// Vectors of 2, 3 and 4 elements in memory.
KERNEL wide(const vec<f32, 4> *a, const vec<f32, 2> *b, vec<f32, 4> *c, u32 n) {
  u32 i = id();
  if (i < n) c[i] = a[i].wzyx * b[i].xyxy - a[i];
}

struct __attribute__((packed, aligned(4))) Triple { i32 a, b, c; };
KERNEL triple(const Triple *in, Triple *out, u32 n) {
  u32 i = id();
  if (i < n) out[i] = Triple{in[i].c, in[i].a - in[i].b, in[i].a};
}

// Arguments of every size, which their alignment sets apart.
KERNEL by_value(i8 a, i64 b, i16 c, f32 d, u8 e, f64 f, i64 *out) {
  if (tid() == 0) {
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = (i64)d;
    out[4] = e;
    out[5] = (i64)f;
  }
}
