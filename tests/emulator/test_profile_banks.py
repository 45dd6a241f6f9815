"""LDS bank conflicts of profiles: against what kernels are known to do, and what policies of `mfma.gemm` predict."""

from __future__ import annotations

import ctypes
import functools
import json
import re
from math import gcd

import numpy as np
import pytest

import mfma
from corpus.build_hip import GENERATED, compiled, policies
from corpus.case import OBJECTS
from corpus.cases_hip import CASES as HIP
from corpus.cases_hip_gemm import KINDS, _arguments, _kernel
from corpus.cases_triton import CASES as TRITON
from hip_tools import tool
from mfma.emulator.decode import decode, rows
from mfma.emulator.decode.instruction import Instruction, Modifiers, Operand
from mfma.emulator.decode.memory_records import Kind
from mfma.emulator.decode.records import Encoding
from mfma.emulator.profile_activity import Activity, Tally, bank_access
from mfma.emulator.semantics.machine import EXEC
from mfma.emulator.translator import banks
from mfma.emulator.translator.layout import FIELDS, SCALARS, address, block
from mfma.gemm.accesses import accesses
from mfma.gemm.hip import hip
from mfma.native import jit
from mfma.timing.banks import ATOMIC, READ, WRITE, bank_cycles

ENGINES = "native", "interpreter"
CASES = {case.name: case for case in HIP}


def launch(path, kernel, grid, block_, arguments, engine="native"):
    return mfma.load(path)[kernel].launch(grid, block_, arguments, profile=True, engine=engine).profile


def directions(profile):
    """Activity of all instructions that read, write or update LDS."""
    found = dict.fromkeys((READ, WRITE, ATOMIC), Activity())
    for line in profile.lines:
        if line.banked:
            found[bank_access(line.instruction).direction] += line.activity
    return found


# --- the native counter against the rule ------------------------------------------------------------------------------


@functools.cache
def native_counter():
    """The counter of a profiled launch as a function of host addresses and of 1 or -1."""

    def write(module):
        banks.write(module).linkage = "external"

    place = jit.library("bank_counter", [], write, (*banks.SOURCES, __name__))("bank_cycles")
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(place)


def instruction(row, random):
    """An instruction of a row with registers of its own for each operand, and any offsets."""
    first = {slot.field: 256 + 10 + 8 * i for i, slot in enumerate((*row.dst, *row.src))}
    dst, src = (tuple(Operand(first[slot.field], slot.dwords) for slot in slots) for slots in (row.dst, row.src))
    near, far = (int(random.integers(0, 4)) for _ in range(2))
    offset = Modifiers(offset0=near, offset1=far) if row.access.addresses == 2 else Modifiers(offset=37 * near)
    return Instruction(0, 8, 0, row, dst, src, offset)


DS = [row for row in rows() if row.encoding is Encoding.DS and row.access is not None]


def test_the_native_counter_follows_the_rule():
    random = np.random.default_rng(0)
    memory = block(0)
    v, s = memory[:SCALARS].view(np.uint32).reshape(512, 64), memory[SCALARS:FIELDS].view(np.uint32)
    seen = set()
    for row in DS:
        given = instruction(row, random)
        access, described = bank_access(given), np.array(banks.description(given), np.int64)
        assert (access is None) == (not described.any())
        if access is None:
            continue
        seen.add((access.direction, access.width, len(access.offsets)))
        sums = np.zeros(banks.SUM_WORDS, np.int64)
        for attempt in range(40):
            places = (
                random.integers(0, 1 << 16, 64), 4 * random.integers(0, 64, 64), 128 * random.integers(0, 40, 64),
                np.arange(64) * access.width, v[access.register] + 4 * random.integers(100),
            )  # fmt: skip
            v[access.register] = places[attempt % len(places)]
            active = [random.random(64) < 0.6, np.ones(64, np.bool_), np.zeros(64, np.bool_)][attempt // 3 % 3]
            s[EXEC : EXEC + 2] = np.packbits(active, bitorder="little").view(np.uint32)
            at = v[access.register] + np.array(access.offsets, np.uint32)[:, None]
            wanted = bank_cycles(at, access.width, access.direction, np.broadcast_to(active, at.shape))
            lost = wanted.cycles - wanted.ideal
            before = sums[: len(Tally)].copy()
            pointers = address(memory), address(described), address(sums)
            native_counter()(*pointers, 1)
            assert list(sums[: len(Tally)] - before) == [0, wanted.ideal, lost, lost > 0], row.name
            native_counter()(*pointers, -1)
            assert list(sums[: len(Tally)]) == list(before)
            native_counter()(*pointers, 1)
    assert {(READ, 16, 1), (WRITE, 12, 1), (READ, 8, 2), (ATOMIC, 8, 2), (WRITE, 1, 1)} <= seen


def test_what_has_no_conflicts():
    without = {row.name for row in DS if bank_access(instruction(row, np.random.default_rng(1))) is None}
    moving = {row.name for row in DS if row.access.kind not in (Kind.LOAD, Kind.STORE, Kind.ATOMIC)}
    assert without == moving | {"ds_append", "ds_consume", "ds_read_addtid_b32", "ds_write_addtid_b32"}


def test_two_equal_offsets_of_a_store_are_one_place():
    both, one = (decode(bytes.fromhex(word), 0) for word in ("00011cd800020100", "00001cd800020100"))
    assert (both.name, one.name) == ("ds_write2_b32", "ds_write2_b32")
    assert bank_access(both).offsets == (0, 4)
    assert bank_access(one).offsets == (0,)


# --- kernels whose conflicts are known --------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_padding_keeps_a_transpose_free_of_conflicts(type_, engine):
    """Rows of 33 elements: the compiler's code, of a tile of 32 x 32."""
    case = next(case for case in HIP if case.object == "hip_lds.co" and case.kernel == f"transpose_{type_}")
    found = launch(case.path, case.kernel, case.grid, case.block, case.arguments(), engine).banks
    assert found.ideal > 0
    assert (found.lost, found.conflicting) == (0, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_atomics_of_all_lanes_on_one_word_follow_one_another(engine):
    """A histogram of equal values: 64 lanes take 64 cycles, of which two phases would be 2."""
    values = np.full(1024, 7, np.uint8)
    out = np.zeros(256, np.uint32)
    found = launch(OBJECTS / "hip_lds.co", "histogram", 4, 256, [values, out, values.size], engine)
    assert out[7] == values.size
    waves = values.size // 64
    assert directions(found)[ATOMIC] == Activity(64 * waves, 2 * waves, 62 * waves, waves)


SOURCE = """
#include "gpu.h"
KERNEL transpose(const f32 *a, f32 *out) {
  __shared__ f32 tile[32 * %(row)d];
  const u32 x = tid(), y = tid_y();
  for (u32 k = 0; k < 32; k += 8) tile[(y + k) * %(row)d + (x %(swizzle)s (y + k))] = a[(y + k) * 32 + x];
  barrier();
  for (u32 k = 0; k < 32; k += 8) out[(y + k) * 32 + x] = tile[x * %(row)d + ((y + k) %(swizzle)s x)];
}
KERNEL strided(f32 *out, u32 stride, u32 every) {
  __shared__ f32 held[64 * 32];
  for (u32 k = tid(); k < 64 * 32; k += 64) held[k] = k;
  barrier();
  if (tid() %% every == 0) out[tid()] = held[tid() * stride];
}
"""


def program(folder, row, swizzle="", *flags):
    tool("clang-22")
    text = SOURCE % {"row": row, "swizzle": swizzle or "+ 0 *"}
    return compiled("-", ["-O3", *flags], folder / f"known_{row}_{bool(swizzle)}.co", text)


@pytest.mark.long
@pytest.mark.parametrize("row", [32, 33, 34, 36, 40, 48])
def test_a_transpose_loses_what_its_rows_share_with_the_banks(row, tmp_path):
    """Columns of a tile: 32 lanes whose words are a row apart meet gcd(row, 32) to a bank."""
    a = np.arange(1024, dtype=np.float32).reshape(32, 32)
    out = np.zeros_like(a)
    found = directions(launch(program(tmp_path, row), "transpose", 1, (32, 8), [a, out]))
    assert np.array_equal(out, a.T)
    accesses_ = 4 * 4  # by 4 waves, 4 times each
    assert found[READ].ideal == 2 * accesses_
    assert found[READ].lost == 2 * accesses_ * (gcd(row, 32) - 1)
    assert (found[WRITE].ideal, found[WRITE].lost) == (2 * accesses_, 0)


@pytest.mark.long
def test_a_swizzle_takes_all_conflicts_away(tmp_path):
    a = np.arange(1024, dtype=np.float32).reshape(32, 32)
    out = np.zeros_like(a)
    found = launch(program(tmp_path, 32, "^"), "transpose", 1, (32, 8), [a, out])
    assert np.array_equal(out, a.T)
    assert found.banks.lost == 0
    assert found.banks.ideal > 0


@pytest.mark.long
def test_conflicts_have_source_lines(tmp_path):
    a = np.zeros((32, 32), np.float32)
    found = launch(program(tmp_path, 32, "", "-g"), "transpose", 1, (32, 8), [a, a.copy()])
    line = next(n for n, text in enumerate(SOURCE.splitlines(), 1) if "tile[x *" in text)
    assert re.search(rf"^[0-9a-f]+ +ds_read.*<stdin>:{line}$", str(found), re.MULTILINE)


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("every", [1, 2, 8, 64])
@pytest.mark.parametrize("stride", [0, 1, 2, 3, 16, 31])
def test_only_active_lanes_meet(stride, every, engine, tmp_path):
    out = np.zeros(64, np.float32)
    found = launch(program(tmp_path, 32), "strided", 1, 64, [out, stride, every], engine)
    lanes = np.arange(0, 64, every)
    assert np.array_equal(out[lanes], stride * lanes)
    wanted = [0, 0, 0, 0]
    for half in (lanes[lanes < 32], lanes[lanes >= 32]):
        words = {int(lane) * stride for lane in half}
        most = max((sum(word % 32 == bank for word in words) for bank in range(32)), default=0)
        wanted = [wanted[0] + len(half), wanted[1] + (most > 0), wanted[2] + most - (most > 0), 0]
    wanted[3] = int(wanted[2] > 0)
    assert directions(found)[READ] == Activity(*wanted)


# --- what policies of mfma.gemm predict -------------------------------------------------------------------------------


def tiled(op, kind, path, engine="native"):
    """Profile of a generated program on whole tiles, what was predicted for it, and the widths of its reads."""
    tile, compute, memory = policies(op, kind)
    strips, groups = 2, -(-2 // compute.batch)
    shape = tile.block_tile_m, tile.block_tile_n, strips * tile.k_tile_size
    arguments, threads = _arguments(compute, memory, shape), compute.waves_m * compute.waves_n * 64
    found = launch(path, _kernel(path), (1, 1, groups), threads, arguments, engine)
    strip = accesses(tile, compute, memory.b_order)
    loads, stores = ((strip[f"{way} A"] + strip[f"{way} B"]) * (strips * groups) for way in ("load", "store"))
    reads = [line for line in found.lines if line.banked and bank_access(line.instruction).direction == READ]
    return found, loads, stores, {bank_access(line.instruction).width for line in reads}


def check(op, kind, path, engine="native"):
    found, loads, stores, widths = tiled(op, kind, path, engine)
    sums = directions(found)
    if "direct" not in kind:  # loads from memory to LDS are not looked at
        assert (sums[WRITE].ideal, sums[WRITE].lost) == (stores.ideal, stores.conflicts)
    if widths == {loads.width}:
        assert (sums[READ].ideal, sums[READ].lost) == (loads.ideal, loads.conflicts)
    return widths == {loads.width}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("op", "kind"), GENERATED.items())
def test_generated_programs_meet_in_banks_as_predicted(op, kind, engine):
    """All but one read LDS as wide as the policy says: of int8 the compiler joins four steps of k to one read."""
    assert check(op, kind, OBJECTS / f"hip_gemm_{op}.co", engine) == (op != "i32_16x16x4i8")


@pytest.mark.long
@pytest.mark.parametrize("op", ["f32_32x32x8f16", "f32_16x16x4f32", "f64_16x16x4f64", "f32_16x16x16bf16_1k"])
def test_policies_predict_conflicts(op, tmp_path):
    compared = []
    for kind in (*KINDS, "single"):
        path = compiled("-", ["-O3"], tmp_path / f"{kind}.co", hip(*policies(op, kind), device_only=True))
        compared.append(check(op, kind, path))
    assert sum(compared) > len(compared) // 2


# --- what a profile shows ---------------------------------------------------------------------------------------------


def test_a_profile_shows_conflicts():
    op = "f32_16x16x8_xf32"
    found, loads, stores, _ = tiled(op, GENERATED[op], OBJECTS / f"hip_gemm_{op}.co")
    total, lost = loads.cycles + stores.cycles, loads.conflicts + stores.conflicts
    shown = str(found)
    assert f"{total:,} cycles of its banks in all, {lost:,} of them lost to conflicts" in shown
    assert "LDS bank conflicts\n" in shown
    data = json.loads(json.dumps(found.as_dict()))
    assert (data["lds_banks"]["cycles"], data["lds_banks"]["cycles_lost"]) == (total, lost)
    assert "assumption" in data["lds_banks"]["source"]
    for key in ("lds_cycles", "lds_cycles_lost"):
        assert sum(line.get(key, 0) for line in data["instructions"]) == data["lds_banks"][key.replace("lds_", "")]
    assert data["cycles"]["by_unit"]["LDS banks"] == total / 2  # of two work-groups on two compute units
    (read, *_) = [line for line in found.listing() if "ds_read_b64" in line]
    assert read.split()[:3] == ["16", "64.0", "+12.0"]
    assert next(found.listing()).endswith("cycles of LDS that one loses to bank conflicts on average")


def test_a_profile_shows_the_worst():
    case = next(case for case in TRITON if case.name == "triton_gemm_fp16_32")
    function = mfma.load(case.path)[case.kernel]
    found = function.launch(case.grid, case.block, case.arguments(), lds=case.lds, profile=True).profile
    losing = sorted(line.activity.lost for line in found.lines if line.activity.lost)
    assert len(losing) == 12
    (table,) = re.findall(r"LDS bank conflicts: the worst 10 of 12\n.*\n((?:[0-9a-f]+ +ds_.*\n)+)", str(found))
    assert [int(line.split()[-1]) for line in table.splitlines()] == losing[:1:-1]
