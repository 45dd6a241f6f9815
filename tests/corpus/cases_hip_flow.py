"""Control flow, calls, private memory, and the data of the code object."""

from __future__ import annotations

import functools
import math

import numpy as np

from corpus.case import Case, expecting, same
from corpus.reference import rows, wrapped

__all__ = ["CASES"]

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
COUNT = 100


def _uniform(low, high, *, seed=1, dtype=np.uint32, count=COUNT):
    return np.random.default_rng(seed).integers(low, high, count, dtype)


def _columns(*columns, out=np.uint32, extra=()):
    """Arguments of a kernel f(columns, out, n, extra), and made anew at every call."""
    return [*columns, np.zeros(columns[0].size, out), np.uint32(columns[0].size), *extra]


def _each(function, place=1):
    """The expectation of a kernel that computes ``function(column elements..., i)`` for every work-item."""

    def expected(*arguments):
        columns = [column.tolist() for column in arguments[:place]]
        out = arguments[place]
        return {place: rows([function], [*columns, range(out.size)], out.dtype)}

    return expected


def collatz(x, i):
    steps = 0
    while x > 1:
        x, steps = 3 * x + 1 if x & 1 else x >> 1, steps + 1
    return steps


def nested(x, i):
    if x > 0:
        if x & 1:
            return x * 3 - (x // 3 if x > 100 else 0)
        if x % 3 == 0:
            return sum(k * x for k in range(x % 17))
        return -x
    return x ^ 0x55 if x < -100 or x & 3 == 2 else x - 1


def table(a, x, i):
    cases = [x + 1, x * x, x >> 3, ~x ^ 0xFF, x ^ 0xFF, x // 10, x % 10]
    return cases[a] if a < len(cases) else {9: 0, 40: 7}.get(a, x - a)


def breaks(a, i):
    total = 0
    for k in range(20):
        if a + k < 3:
            continue
        if a ^ k == 29:
            break
        total += sum(range(math.isqrt(a + k) + 1))
        if total > 5000:
            return ~total
    return total


def primes(x, i):
    found = 0
    while found < 3:
        found += x > 1 and all(x % d for d in range(2, math.isqrt(x) + 1))
        x += 1
    return x


def fibonacci(x):
    return x if x < 2 else fibonacci(x - 1) + fibonacci(x - 2)


def recursion(a, i):
    m, x = a >> 3 & 1, a & 3
    return fibonacci(a & 7) + 1000 * (x + 2 if m else x + 1)


def _calls(a, low, out, n):
    results, bytes_ = [], []
    for i, x in enumerate(a.tolist()):
        local = [x, x + 1 & M32, x * 2 & M32, 9]
        y = (x ^ i) * 2654435761 & M32 if x & 1 else x
        c = y & 255
        # The order of 32-bit sums and widening is the source's: a + b * c + d[a & 3] is of 64 bits, all after it too.
        results.append(y + i * c + local[y & 3] + (y & 15) + y - 4)
        bytes_.append(c)
    return {1: low + wrapped(bytes_, np.uint32), 2: wrapped(results, np.uint64)}


def pointers(a, i):
    return (a + i, a - i, a * i, a << (i & 7))[a & 3]


def leave(a, i):
    first = (a & -a).bit_length() - 1 if a & 255 else 8
    return sum(range(first)) | (0 if a & 255 else 0x100)


def _uniform_loop(a, out, n, rounds):
    place, total = np.arange(n), np.zeros(n, np.float32)
    for k in range(int(rounds)):
        total = total + a[(k * 7 + place) % n]
    return {1: total}


def _flow(variant):
    obj = f"hip_{variant}.co"

    def case(kernel, arguments, expected, *, groups=2):
        return expecting(f"{variant}: {kernel}", obj, kernel, groups, 64, arguments, expected)

    yield case("collatz", lambda: _columns(_uniform(1, 60)), _each(collatz))
    yield case(
        "gcd", lambda: _columns(_uniform(0, 500), _uniform(0, 500, seed=2)), _each(lambda x, y, i: math.gcd(x, y), 2)
    )
    yield case("nested", lambda: _columns(_uniform(-250, 250, dtype=np.int32), out=np.int32), _each(nested))
    switched = np.resize(np.array([*range(11), 40, 41, 39, M32], np.uint32), COUNT)
    yield case("table", lambda: _columns(switched, _uniform(0, M32, seed=3)), _each(table, 2))
    yield case("breaks", lambda: _columns(_uniform(0, 60), extra=[np.uint32(20)]), _each(breaks))
    yield case("primes", lambda: _columns(_uniform(0, 90)), _each(primes))
    yield case("recursion", lambda: _columns(_uniform(0, 16, count=70)), _each(recursion))
    made = _uniform(0, M32, count=70)
    yield case("calls", lambda: [made, np.arange(70, dtype=np.uint32), np.zeros(70, np.uint64), np.uint32(70)], _calls)
    yield case("pointers", lambda: _columns(_uniform(0, 1000)), _each(pointers))
    yield case(
        "leave",
        lambda: _columns(
            _uniform(0, 1 << 32, dtype=np.uint64).astype(np.uint32) << np.arange(COUNT, dtype=np.uint32) % 12
        ),
        _each(leave),
    )
    numbers = np.random.default_rng(5).normal(size=COUNT).astype(np.float32)
    yield case("uniform_loop", lambda: _columns(numbers, out=np.float32, extra=[np.uint64(9)]), _uniform_loop)


# --- private memory ---


def _insertion():
    return [_uniform(0, 1000, count=70 * 48), np.zeros(70 * 48, np.uint32), np.uint32(70)]


def _sorted(a, out, n):
    return {1: np.sort(a.reshape(-1, 48), 1).ravel()}


def widths(x, i):
    octets = [x >> (k & 15) & 255 for k in range(24)]
    halves = [(x - octets[2 * k + 1] * 300 + (1 << 15)) % (1 << 16) - (1 << 15) for k in range(12)]
    longs = [0] * 6
    for k in range(6):
        longs[(k + x) % 6] = halves[k] << 4 * k | octets[k]
    total = x
    for value in longs:
        total = (total * 31 + value) & M64
    return total + (octets[x % 24] ^ 128) - 128


def _pressed(count, n=64):
    return [_uniform(0, M32, seed=6, count=count * n), np.zeros(count * n, np.uint32), np.uint32(n)]


def _pressure(count, a, out, n):
    first = a.reshape(count, -1)
    held = [row * np.uint32(2 * k + 1) for k, row in enumerate(first)]
    for turn in range(3):
        active = (turn < 2) | (first[0] & 1 == 1)
        for k in range(count):
            held[k] = np.where(active, held[k] + (held[(k * 5 + 3) % count] ^ np.uint32(turn)), held[k])
    return {1: np.concatenate(held)}


def _scalar_spills():
    return [_uniform(0, M32, seed=7, count=40), np.zeros(COUNT, np.uint32), np.uint32(COUNT)]


def _scalar_sums(a, out, n):
    total = np.arange(n, dtype=np.uint32)
    for _ in range(3):
        for k in range(40):
            total = total * np.uint32(3) + (a[k] ^ np.uint32(k))
    return {1: total}


def _allocated(out, n, count):
    return {0: wrapped([sum((i * k + 1) * (k + 1) for k in range(int(count))) for i in range(out.size)], np.uint32)}


def generic(a, i):
    own, shared, out = [i, 2 * i, 3 * i, 4 * i], 1000 + i, 0
    match a % 3:
        case 0:
            own[a & 3] += 5
            got = own[a & 3]
        case 1:
            shared += 5
            got = shared
        case _:
            got = out + 5
    return got + own[1] + shared


def _scratch(variant):
    obj, optimised = f"hip_{variant}.co", variant != "scratch_O0"

    def case(kernel, arguments, expected, *, groups=2, size=64, quick=True):
        return expecting(f"{variant}: {kernel}", obj, kernel, groups, size, arguments, expected, quick=quick)

    # Not optimised these take a hundred thousand instructions and more.
    yield case("insertion", _insertion, _sorted, quick=optimised)
    yield case("widths", lambda: _columns(_uniform(0, M32, seed=8), out=np.uint64), _each(widths))
    yield case("spills", functools.partial(_pressed, 40), functools.partial(_pressure, 40), groups=1)
    # 1024 work-items, of which one wave has work.
    yield case("fills", functools.partial(_pressed, 80), functools.partial(_pressure, 80), groups=1, size=1024)
    yield case(
        "both",
        functools.partial(_pressed, 150),
        functools.partial(_pressure, 150),
        groups=1,
        size=1024,
        quick=optimised,
    )
    yield case("scalar_spills", _scalar_spills, _scalar_sums)
    yield case("allocates", lambda: [np.zeros(COUNT, np.uint32), np.uint32(COUNT), np.uint32(9)], _allocated)
    yield case("generic", lambda: _columns(_uniform(0, 1000, seed=9)), _each(generic))


# --- data of the code object ---

PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53]
LETTERS = b"matrix\0\xff"
TABLES = ((10, 11), (21, 22), (30, 31))


def constants(a, i):
    return PRIMES[a & 15] * 1000000 + b"a string in .rodata"[a % 19] * 1000 + LETTERS[a & 7]


def _variables(a, out, weighted, n):
    return {1: np.full(n, 100, np.uint32), 2: np.array([0.5, -2.0, 1e300, -0.0])[a & 3]}


def _links():
    random = np.random.default_rng(10)
    # Every list goes upwards, and ends.
    after = [int(random.integers(i + 1, 61)) for i in range(60)]
    return [np.array(after, np.uint32), np.zeros(120, np.uint64), np.zeros(60, np.uint64), np.uint32(60)]


def _linked(a, nodes, out, n):
    sums = []
    for i in range(int(n)):
        total, at = 0, i
        while at < n:
            total, at = total * 3 + at, int(a[at])
        sums.append(total)
    return {1: np.stack([np.zeros(n), np.arange(n)], 1).astype(np.uint64).ravel(), 2: wrapped(sums, np.uint64)}


def _tabled():
    a, b = _uniform(0, M32, seed=11), _uniform(0, M32, seed=12)
    return [a, b, np.zeros(COUNT, np.uint64), np.zeros(COUNT, np.uint32), np.uint32(COUNT)]


def _tabled_check(after):
    """Odd work-items read a[i], even ones b[n - 1 - i], by an address that they stored before."""
    a, b, _, _, n = _tabled()
    i = np.arange(n)
    same(after[3], np.where(i % 2, a, b[::-1]) + np.uint32(1))
    # Two places on in a, two back in b.
    same(np.diff(after[2][1::2]), np.full(COUNT // 2 - 1, 8, np.uint64))
    same(np.diff(after[2][::2].view(np.int64)), np.full(COUNT // 2 - 1, -8, np.int64))


def _globals(variant):
    obj = f"hip_{variant}.co"

    def case(kernel, arguments, expected, *, groups=2):
        return expecting(f"{variant}: {kernel}", obj, kernel, groups, 64, arguments, expected)

    yield case("constants", lambda: _columns(_uniform(0, M32, seed=13)), _each(constants))
    yield case(
        "variables", lambda: [_uniform(0, 9), np.zeros(COUNT, np.uint32), np.zeros(COUNT), np.uint32(COUNT)], _variables
    )
    yield case(
        "writes",
        lambda: _columns(_uniform(0, M32, count=64)),
        lambda a, out, n: {1: a[np.arange(64) ^ 3] ^ 5},
        groups=1,
    )
    yield case(
        "addresses",
        lambda: _columns(_uniform(0, 99, seed=14)),
        _each(lambda a, i: TABLES[a % 3][a & 1] * 100 + 22 + 10),
    )
    yield Case(f"{variant}: pointers", obj, "pointers", (2, 1, 1), (64, 1, 1), 0, _tabled, _tabled_check, True, True)
    yield case("links", _links, _linked, groups=1)


CASES = [
    *_flow("flow"), *_flow("flow_O0"), *_flow("flow_O1"), *_flow("flow_O2_v5"),
    *_scratch("scratch"), *_scratch("scratch_O0"), *_scratch("scratch_O1"),
    *_globals("globals"), *_globals("globals_O0"),
]  # fmt: skip
