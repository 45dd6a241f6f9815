"""Triton kernels of the corpus: memory, integers, reductions, control flow, atomics, random numbers."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def grid_stride(x, out, n, BLOCK: tl.constexpr):
    for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = first + tl.arange(0, BLOCK)
        value = tl.load(x + i, mask=i < n, other=0)
        tl.store(out + i, value * value + first, mask=i < n)


@triton.jit
def strided_copy(x, out, rows, columns, pitch, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    inside = (i < rows)[:, None] & (j < columns)[None, :]
    tile = tl.load(x + i[:, None].to(tl.int64) * pitch + j[None, :], mask=inside, other=-1)
    tl.store(out + i[:, None].to(tl.int64) * columns + j[None, :], tile, mask=inside)


@triton.jit
def transpose(x, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    inside = (i < rows)[:, None] & (j < columns)[None, :]
    tile = tl.load(x + i[:, None] * columns + j[None, :], mask=inside, other=0)
    tl.store(out + j[:, None] * rows + i[None, :], tl.trans(tile), mask=tl.trans(inside))


@triton.jit
def shuffle(x, out, N: tl.constexpr):
    """Reshape, permute, join, split, interleave, flip and broadcast, each in its row of N."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    other = tl.load(x + N + i)
    tl.store(out + i, tl.reshape(tl.permute(tl.reshape(value, (4, N // 8, 2)), (2, 0, 1)), (N,)))
    tl.store(out + N + tl.arange(0, 2 * N), tl.interleave(value, other))
    even, odd = tl.split(tl.reshape(value, (N // 2, 2)))
    half = tl.arange(0, N // 2)
    tl.store(out + 3 * N + half, even)
    tl.store(out + 3 * N + N // 2 + half, odd)
    tl.store(out + 4 * N + i, tl.flip(value, 0))
    tl.store(out + 5 * N + tl.arange(0, 2 * N), tl.reshape(tl.join(value, other), (2 * N,)))


@triton.jit
def softmax(x, out, columns, pitch, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    value = tl.load(x + row * pitch + j, mask=j < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * pitch + j, (e / tl.sum(e, 0)).to(out.dtype.element_ty), mask=j < columns)


@triton.jit
def layer_norm(x, weight, bias, out, mean_out, rstd_out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        j = first + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + j, mask=j < columns, other=0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        j = first + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + j, mask=j < columns, other=0).to(tl.float32)
        part = tl.where(j < columns, value - mean, 0.0)
        squares += part * part
    rstd = 1 / tl.sqrt(tl.sum(squares, 0) / columns + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    for first in range(0, columns, BLOCK):
        j = first + tl.arange(0, BLOCK)
        inside = j < columns
        w, b = tl.load(weight + j, mask=inside), tl.load(bias + j, mask=inside)
        value = tl.load(x + row * columns + j, mask=inside, other=0).to(tl.float32)
        tl.store(out + row * columns + j, (value - mean) * rstd * w + b, mask=inside)


@triton.jit
def _xor(a, b):
    return a ^ b


@triton.jit
def _affine(a, b, c, d):
    """(a, b) then (c, d), as maps t -> a t + b."""
    return a * c, b * c + d


@triton.jit
def reduce_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    """Sum, maximum, minimum, first argmax and argmin, and xor along each axis of an integer tile."""
    i, j = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(out + i, tl.sum(tile, 1))
    tl.store(out + M + i, tl.max(tile, 1))
    tl.store(out + 2 * M + i, tl.min(tile, 1))
    tl.store(out + 3 * M + i, tl.argmax(tile, 1))
    tl.store(out + 4 * M + i, tl.argmin(tile, 1))
    tl.store(out + 5 * M + i, tl.reduce(tile, 1, _xor))
    out += 6 * M
    tl.store(out + j, tl.sum(tile, 0))
    tl.store(out + N + j, tl.max(tile, 0))
    tl.store(out + 2 * N + j, tl.min(tile, 0))
    tl.store(out + 3 * N + j, tl.argmax(tile, 0))
    tl.store(out + 4 * N + j, tl.argmin(tile, 0))
    tl.store(out + 5 * N + j, tl.xor_sum(tile, 0))


@triton.jit
def reduce_floats(x, out, where, n, BLOCK: tl.constexpr):
    """Sum, maximum, minimum, argmax of a masked row a program."""
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + j, mask=j < n, other=0.0)
    top = tl.where(j < n, value, -float("inf"))
    tl.store(out + 3 * row, tl.sum(value, 0))
    best, place = tl.max(top, 0, return_indices=True)
    tl.store(out + 3 * row + 1, best)
    tl.store(out + 3 * row + 2, tl.min(tl.where(j < n, value, float("inf")), 0))
    tl.store(where + row, place)


@triton.jit
def scan(x, out, N: tl.constexpr):
    """Sums, products modulo 2^32, sums from the end, running maxima, and a linear recurrence."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(out + i, tl.cumsum(value, 0))
    tl.store(out + N + i, tl.cumprod(value | 1, 0))
    tl.store(out + 2 * N + i, tl.cumsum(value, 0, reverse=True))
    tl.store(out + 3 * N + i, tl.associative_scan(value, 0, _maximum))
    _, state = tl.associative_scan((value | 1, value >> 3), 0, _affine)
    tl.store(out + 4 * N + i, state)


@triton.jit
def _maximum(a, b):
    return tl.maximum(a, b)


@triton.jit
def sort_rows(x, up, down, top, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    place = i[:, None] * N + j[None, :]
    tile = tl.load(x + place)
    tl.store(up + place, tl.sort(tile))
    tl.store(down + place, tl.sort(tile, descending=True))
    tl.store(top + i[:, None] * 8 + tl.arange(0, 8)[None, :], tl.topk(tile, 8))


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(out + tl.arange(0, BINS), tl.histogram(value, BINS, mask=i < n))


@triton.jit
def gather(x, index, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    place = i[:, None] * N + j[None, :]
    tile, which = tl.load(x + place), tl.load(index + place)
    tl.store(out + place, tl.gather(tile, which % M, 0))
    tl.store(out + M * N + place, tl.gather(tile, which, 1))
    tl.store(out + 2 * M * N + place, tl.load(x + which * M))


@triton.jit
def random_bits(seed, bits, uniform, wide, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(bits + i, tl.randint(seed, i))
    tl.store(uniform + i, tl.rand(seed, i))
    a, b, c, d = tl.randint4x(seed, i.to(tl.int64) << 30)
    total = tl.num_programs(0) * N
    tl.store(wide + i, a)
    tl.store(wide + total + i, b)
    tl.store(wide + 2 * total + i, c)
    tl.store(wide + 3 * total + i, d)


@triton.jit
def normal_numbers(seed, out, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + i, tl.randn(seed, i))


@triton.jit
def integers(x, y, out, wide, n, BLOCK: tl.constexpr):
    """Arithmetic and bit tricks on int32, and on int64 in ``wide``: a row of n for each."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    a, b = tl.load(x + i, mask=inside, other=1), tl.load(y + i, mask=inside, other=1)
    ua, ub = a.to(tl.uint32, bitcast=True), b.to(tl.uint32, bitcast=True)
    safe = tl.where((b == 0) | (b == -1), 7, b)
    usafe = tl.where(ub == 0, 7, ub)
    tl.store(out + i, a // safe, mask=inside)
    tl.store(out + n + i, a % safe, mask=inside)
    tl.store(out + 2 * n + i, ua // usafe, mask=inside)
    tl.store(out + 3 * n + i, ua % usafe, mask=inside)
    tl.store(out + 4 * n + i, a * b + (a ^ b) - (a & ~b), mask=inside)
    shifted = (a << (b & 31)) ^ (a >> (b & 31)) ^ (ua >> (ub & 31)).to(tl.int32, bitcast=True)
    tl.store(out + 5 * n + i, shifted, mask=inside)
    tl.store(out + 6 * n + i, tl.umulhi(ua, ub), mask=inside)
    tl.store(out + 7 * n + i, libdevice.popc(a), mask=inside)
    tl.store(out + 8 * n + i, libdevice.clz(a), mask=inside)
    tl.store(out + 9 * n + i, tl.minimum(a, b) ^ tl.maximum(a, b) ^ tl.abs(a >> 1), mask=inside)
    turned = tl.inline_asm_elementwise("v_bfrev_b32 $0, $1", "=v,v", [a], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + 10 * n + i, turned, mask=inside)
    la, lb = (a.to(tl.int64) << 20) ^ b, (b.to(tl.int64) << 9) ^ a
    lsafe = tl.where((lb == 0) | (lb == -1), 7, lb)
    tl.store(wide + i, la * lb, mask=inside)
    tl.store(wide + n + i, la // lsafe, mask=inside)
    tl.store(wide + 2 * n + i, la % lsafe, mask=inside)
    tl.store(wide + 3 * n + i, (la >> (lb & 63)) + (la << (lb & 63)), mask=inside)
    tl.store(wide + 4 * n + i, tl.umulhi(la.to(tl.uint64, bitcast=True), lb.to(tl.uint64, bitcast=True)), mask=inside)
    tl.store(wide + 5 * n + i, libdevice.popc(la) * 1000 + libdevice.clz(la), mask=inside)


@triton.jit
def small_integers(x, y, out, n, BLOCK: tl.constexpr):
    """Arithmetic in the width of the operands."""
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n, other=1), tl.load(y + i, mask=i < n, other=1)
    tl.store(out + i, a + b, mask=i < n)
    tl.store(out + n + i, a * b, mask=i < n)
    tl.store(out + 2 * n + i, a >> 1, mask=i < n)
    tl.store(out + 3 * n + i, tl.maximum(a, b), mask=i < n)
    tl.store(out + 4 * n + i, tl.where(a < b, a, b - a), mask=i < n)
    tl.store(out + 5 * n + i, tl.where(b == 0, 0, a // tl.where(b == 0, 3, b)), mask=i < n)


@triton.jit
def collatz(x, steps, n, BLOCK: tl.constexpr):
    """Steps to 1 of every element: the block loops until its slowest element is there."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=1)
    count = tl.zeros((BLOCK,), tl.int32)
    while tl.max(value, 0) > 1:
        going = value > 1
        value = tl.where(going, tl.where(value % 2 == 0, value // 2, 3 * value + 1), value)
        count += going.to(tl.int32)
    tl.store(steps + i, count, mask=i < n)


@triton.jit
def greatest_divisor(x, y, out):
    """Euclid's algorithm on scalars: uniform control flow."""
    p = tl.program_id(0)
    a, b = tl.load(x + p), tl.load(y + p)
    while b != 0:
        a, b = b, a % b
    if a == 1:
        tl.store(out + p, -1)
    else:
        tl.store(out + p, a)


@triton.jit
def branches(x, out, n, BLOCK: tl.constexpr):
    """Another path for every program, a nested choice for every element."""
    p = tl.program_id(0)
    i = p * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    if p % 3 == 0:
        value = tl.where(value < 0, -value, tl.where(value & 1 == 1, 3 * value, value >> 2))
    elif p % 3 == 1:
        for _ in range(p):
            value = value * 5 + 1
    else:
        value = tl.where((value > -100) & (value < 100), tl.load(x + (i ^ 1), mask=i < n, other=9), value)
    tl.store(out + i, value, mask=i < n)


@triton.jit
def search(table, x, out, size, n, BLOCK: tl.constexpr):
    """Binary search of every element in a sorted table: loads that depend on loads."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    low, high = tl.zeros((BLOCK,), tl.int32), tl.zeros((BLOCK,), tl.int32) + size
    while tl.max(high - low, 0) > 0:
        middle = (low + high) // 2
        going = low < high
        less = tl.load(table + middle, mask=going, other=0) < value
        low, high = tl.where(going & less, middle + 1, low), tl.where(going & ~less, middle, high)
    tl.store(out + i, low, mask=i < n)


@triton.jit
def atomic_integers(x, cells, wide, old, n, BLOCK: tl.constexpr):
    """Integer atomics of many lanes on few cells; ``old`` gets what the elements' own cells held.

    Compare-and-swap knows no mask: it happens in every lane.
    """
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    value = tl.load(x + i, mask=inside, other=0)
    tl.atomic_add(cells + (value & 7), value, mask=inside)
    size = tl.abs(value)
    tl.atomic_max(cells + 8 + (value & 3), size, mask=inside)
    tl.atomic_min(cells + 12 + (value & 3), size, mask=inside)
    tl.atomic_or(cells + 16 + (i & 1), value, mask=inside)
    tl.atomic_and(cells + 18 + (i & 1), value, mask=inside)
    tl.atomic_xor(cells + 20 + i * 0, value, mask=inside)
    tl.atomic_add(wide + (value & 1), value.to(tl.int64) * 0x1234567, mask=inside)
    tl.atomic_max(wide + 2 + i * 0, size.to(tl.int64) << 30, mask=inside)
    tl.store(old + i, tl.atomic_xchg(cells + 32 + i, value, mask=inside), mask=inside)
    tl.store(old + n + i, tl.atomic_add(cells + 32 + n + i, value, mask=inside & (value > 0)), mask=inside)
    tl.store(old + 2 * n + i, tl.atomic_cas(cells + 32 + 2 * n + i, i & 1, value), mask=inside)


@triton.jit
def atomic_extrema(x, cells, n, BLOCK: tl.constexpr):
    """Signed extrema: sixteen neighbouring lanes share each of four cells."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_max(cells + (i >> 4 & 3), value, mask=i < n)
    tl.atomic_min(cells + 4 + (i >> 4 & 3), value, mask=i < n)


@triton.jit
def atomic_floats(x, cells, n, BLOCK: tl.constexpr):
    """Float atomics: add to 4 cells, largest and smallest of all; no answer is used."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(cells + (i & 3), value, mask=i < n)
    tl.atomic_max(cells + 4 + i * 0, value, mask=i < n)
    tl.atomic_min(cells + 5 + i * 0, value, mask=i < n)


@triton.jit
def atomic_add_only(x, cells, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(cells + i % 16, tl.load(x + i, mask=i < n, other=0), mask=i < n)


@triton.jit
def spin_lock(lock, counter, log):
    """Programs take a lock in turn; ``counter`` is not atomic, ``log`` says who held it when."""
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    turn = tl.load(counter, volatile=True)
    tl.store(log + turn, tl.program_id(0))
    tl.store(counter, turn + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def last_program(x, partial, counter, out, BLOCK: tl.constexpr):
    """Every program leaves a partial sum; the one that finishes last adds them up."""
    p, programs = tl.program_id(0), tl.num_programs(0)
    tl.store(partial + p, tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK)), 0))
    tl.debug_barrier()
    if tl.atomic_add(counter, 1) == programs - 1:
        j = tl.arange(0, BLOCK)
        tl.store(out, tl.sum(tl.load(partial + j, mask=j < programs, other=0, volatile=True), 0))
