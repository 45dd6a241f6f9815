// Data of the code object: constants, variables, tables of addresses.
#include "gpu.h"

__constant__ u32 primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
__device__ u32 counter = 100;
__device__ u32 filled[64];
__device__ f64 weights[4] = {0.5, -2.0, 1e300, -0.0};
__device__ u32 first[4] = {10, 11, 12, 13}, second[4] = {20, 21, 22, 23}, third[4] = {30, 31, 32, 33};
__device__ u32 *tables[3] = {first, second + 1, third};
__device__ u32 **indirect = tables + 1;
static __constant__ const char text[] = "a string in .rodata";

#define BEGIN u32 i = id(); if (i >= n) return

KERNEL constants(const u32 *a, u32 *out, u32 n) {
  BEGIN;
  const u8 letters[8] = {'m', 'a', 't', 'r', 'i', 'x', 0, 255};
  out[i] = primes[a[i] & 15] * 1000000 + (u8)text[a[i] % 19] * 1000 + letters[a[i] & 7];
}

KERNEL variables(const u32 *a, u32 *out, f64 *weighted, u32 n) {
  BEGIN;
  out[i] = __hip_atomic_fetch_add(&counter, 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) + filled[i & 63];
  weighted[i] = weights[a[i] & 3];
}

// Writes a variable of the object, and reads what another lane of the wave wrote.
KERNEL writes(const u32 *a, u32 *out, u32 n) {
  BEGIN;
  filled[i & 63] = a[i] ^ 5;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  barrier();
  out[i] = *(volatile u32 *)&filled[(i & 63) ^ 3];
}

KERNEL addresses(const u32 *a, u32 *out, u32 n) {
  BEGIN;
  u32 *from = tables[a[i] % 3];
  out[i] = from[a[i] & 1] * 100 + indirect[0][1] + *indirect[-1];
}

// Pointers found in memory: a table written by the kernel itself.
KERNEL pointers(const u32 *a, const u32 *b, const u32 **table, u32 *out, u32 n) {
  BEGIN;
  table[i] = i & 1 ? a + i : b + n - 1 - i;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  out[i] = **(const u32 *volatile *)&table[i] + 1;
}

// A linked list through memory.
struct Node { const Node *next; u64 value; };
KERNEL links(const u32 *a, Node *nodes, u64 *out, u32 n) {
  u32 i = id();
  if (i < n) {
    nodes[i].next = a[i] < n ? nodes + a[i] : nullptr;
    nodes[i].value = i;
  }
  barrier();
  if (i >= n) return;
  u64 sum = 0;
  for (const Node *at = nodes + i; at; at = at->next) sum = sum * 3 + at->value;
  out[i] = sum;
  barrier();
  nodes[i].next = nullptr;
}
