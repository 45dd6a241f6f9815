"""Cases of Triton kernels: memory, reductions, integers, control flow, atomics, random numbers.

Integers are compared to the bit. Floats, too, where every order of rounding gives the same: a single correctly rounded
operation, or sums of multiples of 1/8 that are exact. Otherwise a case states its bound and why.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from corpus.case import Case, same
from corpus.cases_triton_common import DTYPES, SCRATCH, launch_facts, numbers, triton_case
from corpus.cases_triton_dot import CASES as DOT
from corpus.cases_triton_math import CASES as MATH

__all__ = ["CASES"]

i32 = np.int32


# --- memory -----------------------------------------------------------------------------------------------------


def add(kind: str, build: str, block: int, n: int, whole: bool = False) -> Case:
    """x + y, correctly rounded; n is no multiple of the block unless ``whole``, and nothing is written beyond n."""
    pad = 0 if whole else 5

    def arguments():
        return [*(numbers(kind, n, seed) for seed in (1, 2)), np.zeros(n + pad, DTYPES[kind]), i32(n)]

    def expected(x, y, out, n):
        with np.errstate(over="ignore"):
            return {2: np.concatenate([x + y, out[n:]])}

    return triton_case(build, build, -(-n // block), arguments, expected)


def grid_stride() -> Case:
    def expected(x, out, n):
        first = np.arange(n, dtype=i32) // 256 * 256
        return {1: x * x + first}

    return triton_case(
        "grid_stride", "grid_stride", 3, lambda: [numbers("i32", 2000, 3), np.zeros(2000, i32), i32(2000)], expected
    )


def strided_copy() -> Case:
    return triton_case(
        "strided_copy",
        "strided_copy",
        (3, 2),
        lambda: [numbers("i16", (37, 70), 4), np.zeros((37, 45), np.int16), i32(37), i32(45), np.int64(70)],
        lambda x, *_: {1: x[:, :45]},
    )


def transpose(kind: str) -> Case:
    def arguments():
        return [numbers(kind, (48, 80), 5), np.zeros((80, 48), DTYPES[kind]), i32(48), i32(80)]

    name = f"transpose_{kind}"
    return triton_case(name, name, (2, 3), arguments, lambda x, *_: {1: x.T})


def shuffle() -> Case:
    def expected(x, out):
        a, b = x[:256], x[256:]
        turned = a.reshape(4, 32, 2).transpose(2, 0, 1).ravel()
        mixed = np.stack([a, b], 1).ravel()
        return {1: np.concatenate([turned, mixed, a[::2], a[1::2], a[::-1], mixed])}

    return triton_case("shuffle", "shuffle", 1, lambda: [numbers("i32", 512, 6), np.zeros(7 * 256, i32)], expected)


def gather() -> Case:
    def arguments():
        index = np.random.default_rng(8).integers(0, 32, (16, 32), i32)
        return [numbers("i32", (16, 32), 7), index, np.zeros((3, 16, 32), i32)]

    def expected(x, index, _):
        along = [np.take_along_axis(x, index % 16, 0), np.take_along_axis(x, index, 1)]
        return {2: np.stack([*along, x.ravel()[index * 16]])}

    return triton_case("gather", "gather", 1, arguments, expected)


# --- rows of floats ---------------------------------------------------------------------------------------------


def softmax(kind: str, columns: int, pitch: int, relative: float, absolute: float = 0.0) -> Case:
    def arguments():
        return [numbers(kind, (3, pitch), 9, 4), np.zeros((3, pitch), DTYPES[kind]), i32(columns), i32(pitch)]

    def expected(x, out, columns, _):
        value = x[:, :columns].astype(np.float64)
        e = np.exp(value - value.max(1, keepdims=True))
        wanted = np.zeros(out.shape)
        wanted[:, :columns] = e / e.sum(1, keepdims=True)
        return {1: wanted}

    name = f"softmax_{kind}"
    return triton_case(name, name, 3, arguments, expected, relative=relative, absolute=absolute)


def layer_norm() -> Case:
    n = 300

    def arguments():
        outputs = [np.zeros((2, n), np.float32), np.zeros(2, np.float32), np.zeros(2, np.float32)]
        return [
            numbers("fp16", (2, n), 10) + np.float16(0.5), *(numbers("fp32", n, seed) for seed in (11, 12)),
            *outputs, i32(n), np.float32(1e-5),
        ]  # fmt: skip

    def expected(x, weight, bias, out, mean, rstd, n, eps):
        x, weight, bias = (v.astype(np.float64) for v in (x, weight, bias))
        mean = x.mean(1)
        rstd = 1 / np.sqrt(x.var(1) + float(eps))
        return {3: (x - mean[:, None]) * rstd[:, None] * weight + bias, 4: mean, 5: rstd}

    # Sums of 300 addends in a tree: at most 2 + log2(256) roundings on each path, of values below 4; then a handful
    # of operations within an ulp. 2^-19 is four times that; the absolute part is for what cancels against the bias.
    return triton_case("layer_norm", "layer_norm", 2, arguments, expected, relative=2**-19, absolute=2**-19)


def reduce_floats(kind: str) -> Case:
    """Multiples of 1/8 below 2^8: every partial sum is exact. The largest value stands twice."""
    n = 403

    def arguments():
        x = np.random.default_rng(13).integers(-2000, 2000, (3, n)).astype(DTYPES[kind]) / 8
        x[:, (77, 301)] = 250
        return [x, np.zeros((3, 3), DTYPES[kind]), np.zeros(3, i32), i32(n)]

    def expected(x, out, where, _):
        return {1: np.stack([x.sum(1), x.max(1), x.min(1)], 1), 2: x.argmax(1).astype(i32)}

    name = f"reduce_{kind}"
    return triton_case(name, name, 3, arguments, expected)


# --- integers ---------------------------------------------------------------------------------------------------


def reduce_rows() -> Case:
    def arguments():
        tile = numbers("i32", (16, 64), 14)
        tile[3, 5] = tile[3, 40] = tile[9, 5] = 2**31 - 1
        tile[7, 60] = tile[7, 61] = -(2**31)
        return [tile, np.zeros(6 * (16 + 64), i32)]

    def expected(x, _):
        found = []
        for axis in (1, 0):
            found += [x.sum(axis, dtype=i32), x.max(axis), x.min(axis), x.argmax(axis), x.argmin(axis)]
            found.append(np.bitwise_xor.reduce(x, axis))
        return {1: np.concatenate(found).astype(i32)}

    return triton_case("reduce_rows", "reduce_rows", 1, arguments, expected)


def scan() -> Case:
    def expected(x, _):
        state = [0]
        for value in x:
            state.append(_wrap(state[-1] * int(value | 1) + int(value >> 3)))
        sums = x.cumsum(dtype=i32)
        from_end = x[::-1].cumsum(dtype=i32)[::-1]
        products, largest = (x | 1).cumprod(dtype=i32), np.maximum.accumulate(x)
        return {1: np.stack([sums, products, from_end, largest, state[1:]]).astype(i32)}

    return triton_case("scan", "scan", 1, lambda: [numbers("i32", 256, 15), np.zeros((5, 256), i32)], expected)


def _wrap(value: int, bits: int = 32) -> int:
    """An integer modulo 2^bits, signed."""
    half = 1 << bits - 1
    return (value + half) % (2 * half) - half


def sort_rows(kind: str, rows: int) -> Case:
    def arguments():
        x = numbers(kind, (rows, 64), 16)
        x[:, 10:14] = x[:, 20:24]
        return [x, np.zeros_like(x), np.zeros_like(x), np.zeros((rows, 8), x.dtype)]

    def expected(x, *_):
        up = np.sort(x, 1)
        return {1: up, 2: up[:, ::-1], 3: up[:, :-9:-1]}

    name = f"sort_{kind}"
    return triton_case(name, name, 1, arguments, expected)


def histogram() -> Case:
    def arguments():
        return [np.random.default_rng(17).integers(0, 32, 1000, i32) // 2 * 2, np.full(32, -1, i32), i32(1000)]

    def expected(x, out, n):
        return {1: np.bincount(x, minlength=32).astype(i32)}

    return triton_case("histogram", "histogram", 1, arguments, expected)


def integers() -> Case:
    n = 300

    def arguments():
        edges = [0, 1, -1, 2, -2, 7, -7, 31, 32, 33, 2**31 - 1, -(2**31), -(2**31) + 1, 0x55555555, -0x55555556]
        pairs = np.array([(a, b) for a in edges for b in edges], i32).T
        x, y = numbers("i32", n, 18), numbers("i32", n, 19) >> np.random.default_rng(20).integers(0, 32, n, i32)
        x[: pairs.shape[1]], y[: pairs.shape[1]] = pairs
        return [x, y, np.zeros((11, n), i32), np.zeros((6, n), np.int64), i32(n)]

    def expected(x, y, *_):
        rows = [_integer_row(int(a), int(b)) for a, b in zip(x, y, strict=True)]
        return {2: np.array([row[0] for row in rows]).T.astype(i32), 3: np.array([row[1] for row in rows]).T}

    return triton_case("integers", "integers", 3, arguments, expected)


def _integer_row(a: int, b: int) -> tuple[list[int], list[int]]:
    """What `integers` computes of one pair, in Python's integers."""
    ua, ub = a % 2**32, b % 2**32
    safe, usafe = 7 if b in (0, -1) else b, ub or 7
    quotient, rest = _divide(a, safe)
    words = [
        quotient, rest, ua // usafe, ua % usafe, a * b + (a ^ b) - (a & ~b),
        (a << (b & 31)) ^ (a >> (b & 31)) ^ (ua >> (ub & 31)), ua * ub >> 32, ua.bit_count(), 32 - ua.bit_length(),
        min(a, b) ^ max(a, b) ^ abs(a >> 1), int(f"{ua:032b}"[::-1], 2),
    ]  # fmt: skip
    la, lb = _wrap(a << 20, 64) ^ b, _wrap(b << 9, 64) ^ a
    ula, ulb = la % 2**64, lb % 2**64
    quotient, rest = _divide(la, 7 if lb in (0, -1) else lb)
    wide = [
        la * lb, quotient, rest, (la >> (lb & 63)) + (la << (lb & 63)), ula * ulb >> 64,
        ula.bit_count() * 1000 + 64 - ula.bit_length(),
    ]  # fmt: skip
    return [_wrap(word) for word in words], [_wrap(word, 64) for word in wide]


def _divide(a: int, b: int) -> tuple[int, int]:
    """Quotient and remainder as in C: the quotient is cut toward zero."""
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


def small_integers(kind: str) -> Case:
    n, dtype = 250, DTYPES[kind]

    def arguments():
        x, y = numbers(kind, n, 21), numbers(kind, n, 22)
        y[::9] = 0
        y[(x == np.iinfo(dtype).min) & (y == np.array(-1).astype(dtype))] = 2
        return [x, y, np.zeros((6, n), dtype), i32(n)]

    def expected(x, y, *_):
        rows = []
        for a, b in zip(x.tolist(), y.tolist(), strict=True):
            chosen = a if a < b else b - a
            rows.append([a + b, a * b, a >> 1, max(a, b), chosen, _divide(a, b)[0] if b else 0])
        return {2: np.array(rows).T.astype(dtype)}

    name = f"integers_{kind}"
    return triton_case(name, name, 1, arguments, expected)


# --- control flow -----------------------------------------------------------------------------------------------


def collatz() -> Case:
    def expected(x, *_):
        def steps(value):
            count = 0
            while value > 1:
                value, count = (value // 2 if value % 2 == 0 else 3 * value + 1), count + 1
            return count

        return {1: np.array([steps(int(value)) for value in x], i32)}

    def arguments():
        return [np.random.default_rng(23).integers(1, 1000, 100, i32), np.zeros(100, i32), i32(100)]

    return triton_case("collatz", "collatz", 2, arguments, expected)


def gcd() -> Case:
    def arguments():
        pairs = np.array([(12, 18), (17, 5), (0, 9), (9, 0), (1 << 30, 1 << 20), (832040, 514229), (91, 65)], i32)
        return [pairs[:, 0].copy(), pairs[:, 1].copy(), np.zeros(len(pairs), i32)]

    def expected(x, y, _):
        found = np.gcd(x, y)
        return {2: np.where(found == 1, -1, found).astype(i32)}

    return triton_case("gcd", "gcd", 7, arguments, expected)


def branches() -> Case:
    n = 700

    def expected(x, out, n):
        place = np.arange(n)
        program = place // 128
        zero = np.where(x < 0, -x, np.where(x & 1 == 1, 3 * x, x >> 2))
        one = x.copy()
        for turn in range(program.max()):
            one = np.where(turn < program, one * 5 + 1, one)
        near = place ^ 1
        other = np.where(near < n, x[np.minimum(near, n - 1)], 9)
        two = np.where((x > -100) & (x < 100), other, x)
        return {1: np.choose(program % 3, [zero, one, two]).astype(i32)}

    def arguments():
        return [np.random.default_rng(24).integers(-200, 200, n, i32), np.zeros(n, i32), i32(n)]

    return triton_case("branches", "branches", 6, arguments, expected)


def search() -> Case:
    def arguments():
        generator = np.random.default_rng(25)
        table = np.sort(generator.integers(0, 500, 150, i32))
        return [table, generator.integers(-5, 510, 200, i32), np.zeros(200, i32), i32(150), i32(200)]

    def expected(table, x, *_):
        return {2: np.searchsorted(table, x).astype(i32)}

    return triton_case("search", "search", 2, arguments, expected)


# --- atomics ----------------------------------------------------------------------------------------------------


def atomic_integers() -> Case:
    n, lanes = 300, 384

    def arguments():
        x = np.random.default_rng(26).integers(-(2**20), 2**20, n, i32)
        cells = numbers("i32", 32 + 2 * n + lanes, 27)
        cells[32 + 2 * n :] = np.arange(lanes) % 3 == 0
        return [x, cells, np.array([1, -(2**62), 5], np.int64), np.zeros((3, n), i32), i32(n)]

    def expected(x, cells, wide, old, n):
        place, cells, wide = np.arange(n), cells.copy(), wide.copy()
        swapped, added, compared = (slice(32 + part * n, 32 + (part + 1) * n) for part in range(3))
        old = np.stack([cells[swapped], np.where(x > 0, cells[added], 0), cells[compared]])
        np.add.at(cells, x & 7, x)
        np.maximum.at(cells, 8 + (x & 3), np.abs(x))
        np.minimum.at(cells, 12 + (x & 3), np.abs(x))
        np.bitwise_or.at(cells, 16 + (place & 1), x)
        np.bitwise_and.at(cells, 18 + (place & 1), x)
        cells[20] ^= np.bitwise_xor.reduce(x)
        cells[swapped] = x
        cells[added] += np.where(x > 0, x, 0)
        value = np.zeros(lanes, i32)
        value[:n] = x
        last = cells[32 + 2 * n :]
        last[...] = np.where(last == np.arange(lanes) % 2, value, last)
        np.add.at(wide, x & 1, x.astype(np.int64) * 0x1234567)
        wide[2] = max(wide[2], int(np.abs(x).max()) << 30)
        return {1: cells, 2: wide, 3: old}

    case = triton_case("atomic_integers", "atomic_integers", 3, arguments, expected)

    def check(after):
        # What a masked atomic answers is undefined: the lanes without an addition are not looked at.
        x, old = after[0], after[3]
        old[1, x <= 0] = 0
        case.check(after)

    return dataclasses.replace(case, check=check)


def atomic_extrema() -> Case:
    """As compiled, not as written: Triton 3.9 first reduces neighbouring lanes of a wavefront that share an address.

    It compares them as unsigned numbers there (`llvm.umax`, `llvm.umin`, before a signed `atomicrmw max`, `min`), so of
    lanes with both signs a negative one wins the maximum, and a non-negative one the minimum.
    """
    n = 300

    def arguments():
        x = np.random.default_rng(32).integers(-1000, 1000, n, i32)
        return [x, np.array([-2000, -2000, 3000, 0, 2000, 2000, -3000, 0], i32), i32(n)]

    def expected(x, cells, n):
        cells = cells.copy()
        for first in range(0, n, 16):
            cell, run = first // 16 % 4, x[first : first + 16].view(np.uint32)
            cells[cell] = max(cells[cell], run.max().astype(i32))
            cells[4 + cell] = min(cells[4 + cell], run.min().astype(i32))
        return {1: cells}

    return triton_case("atomic_extrema", "atomic_extrema", 3, arguments, expected)


def atomic_floats() -> Case:
    def arguments():
        x = np.random.default_rng(29).integers(-(2**12), 2**12, 200).astype(np.float32) / 8
        return [x, np.array([0.5, 0, -1, 8, 3, -3], np.float32), i32(200)]

    def expected(x, cells, n):
        cells = cells.copy()
        np.add.at(cells, np.arange(n) & 3, x)
        cells[4:] = max(cells[4], x.max()), min(cells[5], x.min())
        return {1: cells}

    return triton_case("atomic_floats", "atomic_floats", 2, arguments, expected)


def atomic_add(kind: str, build: str) -> Case:
    """Multiples of 1/4 or 1 whose sums the type holds exactly, in any order."""
    n, step = 200, 4 if kind == "fp16" else 1

    def arguments():
        x = (np.random.default_rng(30).integers(-4, 5, n) / step).astype(DTYPES[kind])
        return [x, np.arange(16).astype(DTYPES[kind]), i32(n)]

    def expected(x, cells, n):
        wanted = cells.astype(np.float64)
        np.add.at(wanted, np.arange(n) % 16, x.astype(np.float64))
        return {1: wanted.astype(cells.dtype)}

    return triton_case(build, build, 2, arguments, expected)


def spin_lock() -> Case:
    """The order in which programs get the lock is free, but each gets it once."""
    programs = 12
    facts = launch_facts()["spin_lock"]

    def arguments():
        return [np.zeros(1, i32), np.zeros(1, i32), np.full(programs, -1, i32), *SCRATCH]

    def check(after):
        lock, counter, log = after[:3]
        same(lock, np.zeros(1, i32))
        same(counter, np.array([programs], i32))
        same(np.sort(log), np.arange(programs, dtype=i32))

    return Case(
        "triton_spin_lock", "triton_spin_lock.hsaco", facts["kernel"], (programs, 1, 1), (64 * facts["warps"], 1, 1),
        facts["lds"], arguments, check, quick=True, exact=True,
    )  # fmt: skip


def last_program() -> Case:
    def arguments():
        return [numbers("i32", 6 * 128, 31), np.zeros(6, i32), np.zeros(1, i32), np.zeros(1, i32)]

    def expected(x, *_):
        parts = x.reshape(6, 128).sum(1, dtype=i32)
        return {1: parts, 2: np.array([6], i32), 3: parts.sum(dtype=i32, keepdims=True)}

    return triton_case("last_program", "last_program", 6, arguments, expected)


# --- random numbers ---------------------------------------------------------------------------------------------


def philox(seed: int, low, high=0):
    """Philox4x32-10 of Salmon et al. (2011) with the counter (low, high, 0, 0), as uint32 rows."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    low = np.asarray(low, np.uint64)
    counter = [low, np.broadcast_to(np.asarray(high, np.uint64), low.shape), np.zeros_like(low), np.zeros_like(low)]
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32 & 0xFFFFFFFF)]
    for _ in range(10):
        a, b = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [b >> half ^ counter[1] ^ key[0], b & mask, a >> half ^ counter[3] ^ key[1], a & mask]
        key = [key[0] + np.uint64(0x9E3779B9) & mask, key[1] + np.uint64(0xBB67AE85) & mask]
    return np.stack(counter).astype(np.uint32)


def _uniform(bits):
    """Triton's map of 32 bits to [0, 1): one conversion and one product, both rounded to nearest."""
    value = bits.view(i32)
    return np.where(value < 0, ~value, value).astype(np.float32) * np.float32(4.6566127342e-10)


def random_bits(programs: int, quick: bool) -> Case:
    n = 256 * programs

    def arguments():
        return [np.int64(0x123456789ABCDEF), np.zeros(n, i32), np.zeros(n, np.float32), np.zeros((4, n), i32)]

    def expected(seed, *_):
        place = np.arange(n, dtype=np.uint64)
        bits = philox(int(seed), place)[0]
        wide = place << np.uint64(30)
        return {
            1: bits.view(i32), 2: _uniform(bits),
            3: philox(int(seed), wide & np.uint64(0xFFFFFFFF), wide >> np.uint64(32)).view(i32),
        }  # fmt: skip

    return triton_case(f"random_{n}", "random", programs, arguments, expected, quick=quick)


def random_normal() -> Case:
    def expected(seed, out):
        bits = philox(int(seed), np.arange(out.size, dtype=np.uint64))
        first, second = (_uniform(row).astype(np.float64) for row in bits[:2])
        radius = np.sqrt(-2 * np.log(np.maximum(first, 1e-7)))
        return {1: radius * np.cos(2 * np.pi * second)}

    # The angle below 2π is rounded twice (constant and product): an error below 2^-21 · 1.1, times a radius below 5.7.
    return triton_case(
        "random_normal", "random_normal", 2, lambda: [i32(1234), np.zeros(256, np.float32)], expected,
        relative=2**-20, absolute=7 * 2**-21,
    )  # fmt: skip


CASES = (
    *(add(kind, f"add_{kind}", 256, 1000) for kind in ("fp32", "fp16", "bf16")),
    add("fp32", "add_fp32_buffer", 1024, 1500),
    add("fp16", "add_fp16_buffer", 2048, 2500),
    add("i8", "add_i8_buffer", 4096, 4500),
    add("fp32", "add_fp32_vector", 1024, 2048, whole=True),
    add("fp64", "add_fp64", 256, 700),
    add("i64", "add_i64", 128, 300),
    grid_stride(),
    strided_copy(),
    *(transpose(kind) for kind in ("fp32", "fp16", "i8", "i64")),
    shuffle(),
    gather(),
    # Arguments of exp in [-35, 0]: rounding them times log2(e) moves e by 35 · 1.25 · 2^-24; with the instruction's
    # ulp, a sum of a tree of eight and a correctly rounded quotient that stays below 2^-18.
    softmax("fp32", 401, 410, relative=2**-18),
    # The same, then rounded to f16: 2^-11, and half a step of its subnormals.
    softmax("fp16", 200, 208, relative=2**-11 + 2**-18, absolute=2**-25),
    layer_norm(),
    reduce_floats("fp32"),
    reduce_floats("fp64"),
    reduce_rows(),
    scan(),
    sort_rows("i32", 4),
    sort_rows("fp32", 2),
    histogram(),
    integers(),
    *(small_integers(kind) for kind in ("i8", "i16", "u8")),
    collatz(),
    gcd(),
    branches(),
    search(),
    atomic_integers(),
    atomic_extrema(),
    atomic_floats(),
    *(atomic_add(kind, f"atomic_{kind}") for kind in ("fp64", "fp16", "bf16")),
    atomic_add("fp32", "atomic_buffer"),
    spin_lock(),
    last_program(),
    random_bits(2, quick=True),
    random_bits(64, quick=False),
    random_normal(),
    *MATH,
    *DOT,
)
