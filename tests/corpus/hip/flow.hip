// Control flow that differs among lanes, calls, recursion and the stack.
#include "gpu.h"

#define BEGIN u32 i = id(); if (i >= n) return

KERNEL collatz(const u32 *a, u32 *steps, u32 n) {
  BEGIN;
  u64 x = a[i];
  u32 count = 0;
  while (x > 1) {
    x = x & 1 ? 3 * x + 1 : x >> 1;
    count++;
  }
  steps[i] = count;
}

KERNEL gcd(const u32 *a, const u32 *b, u32 *out, u32 n) {
  BEGIN;
  u32 x = a[i], y = b[i];
  while (y) {
    u32 rest = x % y;
    x = y;
    y = rest;
  }
  out[i] = x;
}

KERNEL nested(const i32 *a, i32 *out, u32 n) {
  BEGIN;
  i32 x = a[i], y = 0;
  if (x > 0) {
    if (x & 1) {
      y = x * 3;
      if (x > 100) y -= x / 3;
    } else if (x % 3 == 0) {
      for (i32 k = 0; k < x % 17; k++) y += k * x;
    } else {
      y = -x;
    }
  } else {
    if (x < -100 || (x & 3) == 2) y = x ^ 0x55;
    else y = x - 1;
  }
  out[i] = y;
}

KERNEL table(const u32 *a, const u32 *b, u32 *out, u32 n) {
  BEGIN;
  u32 x = b[i], y;
  switch (a[i]) {
    case 0: y = x + 1; break;
    case 1: y = x * x; break;
    case 2: y = x >> 3; break;
    case 3: x = ~x; [[fallthrough]];
    case 4: y = x ^ 0xff; break;
    case 5: y = x / 10; break;
    case 6: y = x % 10; break;
    case 9: return;
    case 40: y = 7; break;
    default: y = x - a[i];
  }
  out[i] = y;
}

KERNEL breaks(const u32 *a, u32 *out, u32 n, u32 limit) {
  BEGIN;
  u32 sum = 0;
  for (u32 k = 0; k < limit; k++) {
    if (a[i] + k < 3) continue;
    if ((a[i] ^ k) == 29) break;
    for (u32 j = 0;; j++) {
      if (j * j > a[i] + k) break;
      sum += j;
    }
    if (sum > 5000) {
      out[i] = ~sum;
      return;
    }
  }
  out[i] = sum;
}

// Primes by trial division with a label to leave two loops.
KERNEL primes(const u32 *a, u32 *out, u32 n) {
  BEGIN;
  u32 found = 0, x = a[i];
  for (; found < 3; x++) {
    for (u32 d = 2; d * d <= x; d++)
      if (x % d == 0) goto composite;
    found += x > 1;
  composite:;
  }
  out[i] = x;
}

NOINLINE __device__ u32 fibonacci(u32 x) { return x < 2 ? x : fibonacci(x - 1) + fibonacci(x - 2); }
NOINLINE __device__ u32 ackermann(u32 m, u32 x) {
  if (m == 0) return x + 1;
  if (x == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, x - 1));
}
KERNEL recursion(const u32 *a, u32 *out, u32 n) {
  BEGIN;
  out[i] = fibonacci(a[i] & 7) + 1000 * ackermann(a[i] >> 3 & 1, a[i] & 3);
}

NOINLINE __device__ u32 mix(u32 a, u32 b) { return (a ^ b) * 2654435761u; }
NOINLINE __device__ u64 many(u32 a, u64 b, u8 c, const u32 *d, f32 e, vec<u32, 4> f, u32 *out) {
  *out += c;
  return a + b * c + d[a & 3] + (u64)e + f.x - f.w;
}
KERNEL calls(const u32 *a, u32 *low, u64 *out, u32 n) {
  BEGIN;
  u32 x = a[i], local[4] = {x, x + 1, x * 2, 9};
  if (x & 1) x = mix(x, i);
  out[i] = many(x, i, x & 0xff, local, x & 15, vec<u32, 4>{x, i, 3, 4}, &low[i]);
}

NOINLINE __device__ u32 plus(u32 a, u32 b) { return a + b; }
NOINLINE __device__ u32 minus(u32 a, u32 b) { return a - b; }
NOINLINE __device__ u32 times(u32 a, u32 b) { return a * b; }
NOINLINE __device__ u32 shift(u32 a, u32 b) { return a << (b & 7); }
typedef u32 (*Operation)(u32, u32);
__device__ Operation operations[4] = {plus, minus, times, shift};

// A function pointer that differs among the lanes.
KERNEL pointers(const u32 *a, u32 *out, u32 n) {
  BEGIN;
  out[i] = operations[a[i] & 3](a[i], i);
}

// An early return inside a loop, and lanes that never come back to the barrier-free rest.
KERNEL leave(const u32 *a, u32 *out, u32 n) {
  BEGIN;
  for (u32 k = 0; k < 8; k++) {
    if (a[i] >> k & 1) return;
    out[i] += k;
  }
  out[i] |= 0x100;
}

// A uniform loop with a bound in a scalar register, and 64-bit scalar comparison.
KERNEL uniform_loop(const f32 *a, f32 *out, u32 n, u64 rounds) {
  BEGIN;
  f32 sum = 0;
  for (u64 k = 0; k < rounds; k++) sum += a[(k * 7 + i) % n];
  out[i] = sum;
}
