"""Profiles of launches: counts, operations, bytes, occupancy and cycles against computations of their own.

`ROOM` has what clang 22.1.8 says of kernels with so many registers and bytes of LDS and work-groups of 256
(``-Rpass-analysis=kernel-resource-usage``, "Occupancy [waves/SIMD]"); a long test asks the installed clang again.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import mfma
from corpus.case import OBJECTS
from corpus.cases_hip import CASES as HIP
from corpus.cases_triton import CASES as TRITON
from corpus.cases_triton_dot import GEMMS
from hip_tools import DEVICE, tool
from mfma.emulator.cycles import ASSUMPTIONS, Load, cycles
from mfma.emulator.decode import rows
from mfma.emulator.decode.instruction import Instruction
from mfma.emulator.occupancy import occupancy
from mfma.emulator.profile_lines import Class, class_of
from mfma.emulator.semantics.registry import DEFINITIONS
from mfma.isa.catalogue import find

CASES = {case.name: case for case in (*HIP, *TRITON)}
ENGINES = "native", "interpreter"
VECTOR = OBJECTS / "hip_vector_debug.co"


def profile(case, engine="native", **options):
    module = mfma.load(case.path, mfma.Device())
    report = module[case.kernel].launch(
        case.grid, case.block, case.arguments(), lds=case.lds, engine=engine, profile=True, **options
    )
    return report.profile, report


def add(engine="native", **options):
    """Profile of the sum of 1,000 floats by 16 waves."""
    x = np.arange(1000, dtype=np.float32)
    launch = mfma.load(VECTOR)["add_f32"].launch
    return launch(16, 64, [x, 2 * x, np.zeros_like(x), 1000], engine=engine, profile=True, **options).profile


def gemm(name, engine="native", m=64, n=96, k=128):
    """Profile of a product whose sizes are multiples of every tile."""
    *_, tile, columns = next(row for row in GEMMS if row[0] == name)
    case = CASES[f"triton_gemm_{name}"]
    shapes = (m, k), (n, k) if columns else (k, n), (m, n)
    a, b, c = (np.zeros(shape, x.dtype) for shape, x in zip(shapes, case.arguments()[:3], strict=True))
    launch = mfma.load(case.path)[case.kernel].launch
    arguments = [a, b, c, *map(np.int32, (m, n, k)), None, None]
    grid = m // tile[0], n // tile[1]
    return launch(grid, case.block, arguments, lds=case.lds, engine=engine, profile=True).profile


# --- counts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fp16_32", "fp16_16", "bf16_32", "xf32_16", "i8_16", "fp64_32"])
def test_a_product_has_2mnk_operations(name):
    op = find(next(row[4] for row in GEMMS if row[0] == name))
    found = gemm(name)
    assert found.operations == 2 * 64 * 96 * 128
    assert dict(found.matrix) == {op: 64 * 96 * 128 // (op.m * op.n * op.k)}
    assert found.mix[Class.MFMA] == 64 * 96 * 128 // (op.m * op.n * op.k)


@pytest.mark.parametrize("name", ["lds: reduce", "scratch_O0: generic", "networks: gemm_f16"])
def test_lines_add_up_to_the_report(name):
    found, report = profile(CASES[name])
    total = Counter()
    for line in found.lines:
        total[line.instruction.mnemonic] += line.count
    assert total == {ran.mnemonic: ran.count for ran in report.instructions}
    assert sum(found.mix.values()) == report.executed
    addresses = [line.instruction.address for line in found.lines]
    assert addresses == sorted(set(addresses))


def test_waves_that_compute_the_same_count():
    """Triton gives one tile of 32 x 32 to two waves, and each computes all of it."""
    assert gemm("bf16_32_kpack2").operations == 2 * (2 * 64 * 96 * 128)


def test_a_straight_line_is_executed_once_by_every_wave():
    assert {line.count for line in add().lines} == {16}


def test_without_profile_there_is_none_and_reports_are_the_same():
    case = CASES["lds: reduce"]
    module = mfma.load(case.path)
    plain = module[case.kernel].launch(case.grid, case.block, case.arguments())
    _, report = profile(case)
    assert plain.profile is None
    assert "profile" not in plain.as_dict()
    assert plain == report
    assert plain.as_dict() == {key: value for key, value in report.as_dict().items() if key != "profile"}
    assert report.as_dict()["profile"] == report.profile.as_dict()


def test_threads_add_up():
    case = CASES["triton_gemm_fp16_32"]
    one, two = (profile(case, threads=threads)[0] for threads in (1, 2))
    assert one.as_dict() == two.as_dict()


PREFIXES = {
    "v_mfma_": Class.MFMA, "v_": Class.VALU, "ds_": Class.LDS, "global_": Class.GLOBAL, "flat_": Class.FLAT,
    "scratch_": Class.SCRATCH, "buffer_": Class.BUFFER, "tbuffer_": Class.BUFFER, "s_load": Class.SMEM,
    "s_buffer_": Class.SMEM, "s_store": Class.SMEM, "s_scratch_": Class.SMEM, "s_atomic": Class.SMEM,
    "s_dcache": Class.SMEM, "s_mem": Class.SMEM, "s_atc_": Class.SMEM, "s_cbranch_": Class.BRANCH,
    "s_branch": Class.BRANCH, "s_endpgm": Class.BRANCH, "s_call": Class.BRANCH, "s_setpc": Class.BRANCH,
    "s_swappc": Class.BRANCH, "s_waitcnt": Class.WAIT, "s_barrier": Class.WAIT, "s_nop": Class.WAIT,
    "s_sleep": Class.WAIT, "s_add": Class.SALU, "s_mov": Class.SALU, "s_cmp": Class.SALU, "s_and": Class.SALU,
}  # fmt: skip
"""How mnemonics begin -> their class; an own description of what the records say."""


def test_every_instruction_has_its_class():
    seen = set()
    for row in rows():
        if row.name in DEFINITIONS:
            kind = class_of(Instruction(0, 4, 0, row))
            wanted = next((PREFIXES[start] for start in PREFIXES if row.name.startswith(start)), kind)
            assert kind is wanted, row.name
            seen.add(kind)
    assert seen == set(Class)


# --- lanes and bytes --------------------------------------------------------------------------------------------------


def traffic(found):
    return {one.space: one.row[1:] for one in found.traffic}


def test_bytes_of_a_sum_of_1000_floats():
    for engine in ENGINES:
        assert traffic(add(engine))["global"] == (32, 2 * 4 * 1000, 16, 4 * 1000, 0, 0)


def test_bytes_of_a_product():
    """Of each tile of C a program loads its rows of A and columns of B once, by way of LDS."""
    found = gemm("fp16_32")
    space = traffic(found)
    tiles, read = (64 // 32) * (96 // 32), 2 * (32 * 128 + 128 * 32)
    assert space["global"][1] == tiles * read
    assert space["global"][3] == 4 * 64 * 96
    assert space["LDS"][3] == tiles * read
    assert space["LDS"][1] == tiles * read


def test_bytes_of_scalar_loads_do_not_depend_on_lanes():
    for engine in ENGINES:
        loads = [line for line in add(engine).lines if line.kind is Class.SMEM]
        sizes = {"s_load_dword": 4, "s_load_dwordx2": 8, "s_load_dwordx4": 16}
        wanted = sum(sizes[line.instruction.name] * 16 for line in loads)
        assert traffic(add(engine))["scalar"] == (16 * len(loads), wanted, 0, 0, 0, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_active_lanes(engine):
    found = add(engine)
    lanes = {line.instruction.name: line.lanes for line in found.lines}
    assert lanes["v_add_f32"] == 1000
    assert lanes["global_store_dword"] == 1000
    assert lanes["s_endpgm"] is None
    before = sum(line.lanes == 1024 for line in found.lines)
    valu = [line.lanes for line in found.lines if line.kind is Class.VALU]
    assert before
    assert found.lanes == {Class.VALU: sum(valu) / (16 * len(valu)), Class.GLOBAL: 1000 / 16}
    assert 1000 / 16 < found.lanes[Class.VALU] < 64


def test_atomics_and_lds_and_scratch_have_rows_of_their_own():
    found, _ = profile(CASES["lds: histogram"])
    assert traffic(found)["LDS"][4:] == (sum(
        line.count for line in found.lines if line.instruction.name == "ds_add_u32"
    ), 4 * 1000)  # fmt: skip
    assert {one.space for one in profile(CASES["scratch: spills"])[0].traffic} >= {"scratch", "scalar"}


def test_another_observer_sees_what_it_would_see_alone():
    seen = []

    class Watcher:
        def before(self, wave, instruction):
            seen.append(("before", instruction.name))
            return instruction.name if instruction.name == "v_add_f32" else None

        def after(self, wave, instruction, name):
            seen.append(("after", name))

    found = add(observer=Watcher())
    assert found.as_dict() == add().as_dict()
    assert Counter(kind for kind, _ in seen) == {"before": found.executed, "after": 16}
    assert {name for kind, name in seen if kind == "after"} == {"v_add_f32"}


# --- occupancy and cycles ---------------------------------------------------------------------------------------------

ROOM = (
    # VGPRs, AGPRs, highest SGPR, LDS bytes -> waves of a SIMD
    *((v, 0, 0, 0, n) for v, n in ((24, 8), (64, 8), (65, 7), (72, 7), (85, 5), (102, 4), (129, 3), (170, 2))),
    *((v, a, 0, 0, n) for v, a, n in ((64, 20, 5), (61, 64, 4), (128, 128, 2), (256, 256, 1))),
    *((0, 0, s, 0, n) for s, n in ((80, 8), (90, 8), (94, 8), (95, 7), (96, 7))),
    *((0, 0, 0, lds, n) for lds, n in ((4096, 8), (8192, 8), (8193, 7), (10240, 6), (16384, 4), (65536, 1))),
)  # fmt: skip


@pytest.mark.parametrize(("vgprs", "agprs", "sgpr", "lds", "waves"), ROOM)
def test_occupancy_is_clangs(vgprs, agprs, sgpr, lds, waves):
    kernel = mfma.load(VECTOR)["add_f32"].kernel
    together = -(-vgprs // 4) * 4 * bool(agprs) + agprs or vgprs or 8
    descriptor = type(kernel.descriptor)(granulated_workitem_vgpr_count=-(-together // 8) - 1)
    # clang adds VCC, FLAT_SCRATCH and XNACK_MASK to the SGPRs that the code names
    given = replace(kernel, descriptor=descriptor, sgpr_count=sgpr + 6 if sgpr else 8, lds_size=lds)
    room = occupancy(given, (256, 1, 1))
    assert room.waves_per_simd == waves
    assert occupancy(replace(given, lds_size=0), (16, 16, 1), lds) == room
    limits = {limit.resource: limit.groups for limit in room.limits}
    assert all(limits[name] == min(limits.values()) for name in room.limited_by)


@pytest.mark.long
def test_clang_says_so(tmp_path):
    head = '#define K extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(256,256))) void\n'
    source, wanted = [head], {}
    for vgprs, agprs, sgpr, lds, waves in ROOM:
        name = f"k_{vgprs}_{agprs}_{sgpr}_{lds}"
        named = [f'"{file}{count - 1}"' for file, count in (("v", vgprs), ("a", agprs)) if count]
        named += [f'"s{sgpr - 1}"'] if sgpr else []
        body = f'asm volatile("" ::: {",".join(named)});' if named else ""
        if lds:
            source.append(f"__attribute__((shared)) static char lds_{name}[{lds}];\n")
            body += f'asm volatile("" :: "v"((__attribute__((address_space(3))) char*)lds_{name}));'
        source.append(f"K {name}(int*p) {{ {body} *p = 1; }}\n")
        wanted[name] = waves
    (tmp_path / "kernels.hip").write_text("".join(source))
    flags = "-x hip --offload-arch=gfx942 -O1 -c kernels.hip -o k.co -Rpass-analysis=kernel-resource-usage"
    command = [tool("clang-22"), *DEVICE, *flags.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    said = re.findall(r"Function Name: (\w+) .*?Occupancy \[waves/SIMD\]: (\d+)", done.stderr, re.DOTALL)
    assert {name: int(waves) for name, waves in said} == wanted
    module = mfma.load(tmp_path / "k.co")
    assert {name: occupancy(module[name].kernel, (256, 1, 1)).waves_per_simd for name in module} == wanted


def test_a_group_that_does_not_fit_has_no_room():
    kernel = mfma.load(VECTOR)["add_f32"].kernel
    wide = replace(kernel, descriptor=type(kernel.descriptor)(granulated_workitem_vgpr_count=63))
    room = occupancy(wide, (1024, 1, 1))
    assert (room.groups, room.limited_by) == (0, ("VGPRs and AGPRs",))


F16 = find("f32_32x32x8f16")


@pytest.mark.parametrize(
    ("load", "room", "wanted"),
    [
        # one wave: 10 matrix instructions of 32 cycles, 30 others, 40 slots of 4 cycles
        (Load(1, 1, 40, {F16: 10}, {"VALU": 30}), 8, (320, "matrix core", 1, 1.0)),
        # one wave that waits for its own issue
        (Load(1, 1, 200, {F16: 10}, {"VALU": 190}), 8, (800, "issue of each wave", 1, 320 / 800)),
        # a work-group of 8 waves has two on each SIMD of its compute unit
        (Load(1, 8, 8 * 40, {F16: 8 * 10}, {"VALU": 8 * 30}), 4, (640, "matrix core", 4, 1.0)),
        # 305 work-groups of one wave: a compute unit has two of them, on two SIMDs
        (Load(305, 1, 305 * 40, {}, {"VALU": 305 * 40}), 32, (160, "VALU", 305, 0.0)),
        # banks of LDS are a compute unit's: 305 work-groups have two on one of them
        (Load(305, 1, 305 * 40, {}, {"LDS": 305 * 40}, 305 * 100), 32, (200, "LDS banks", 305, 0.0)),
        # two rounds where a compute unit has room for one of its two work-groups
        (Load(608, 4, 2432 * 40, {}, {"VALU": 2432 * 10}), 1, (320, "issue of each wave", 1216, 0.0)),
    ],
)
def test_cycles(load, room, wanted):
    found = cycles(load, room)
    assert (found.cycles, found.bound, found.simds, found.utilisation) == pytest.approx(wanted)
    assert found.seconds == pytest.approx(wanted[0] / 2.1e9)
    assert found.operations == sum(op.operations * count for op, count in load.matrix.items())


def test_full_matrix_cores_reach_the_peak():
    """As many operations a second as `mfma.peak` says, if all SIMDs do nothing else."""
    found = cycles(Load(304, 4, 1216 * 100, {F16: 1216 * 100}, {}), 1)
    assert found.utilisation == 1
    assert found.tera_operations == pytest.approx(mfma.peak(F16, "MI300X").tflops)


def test_cycles_of_a_launch():
    found = gemm("fp16_32")
    (op, count), waves = next(iter(found.matrix.items())), 6
    assert found.waves == waves
    assert found.cycles.by_unit["matrix core"] == op.cycles * count / waves
    assert found.cycles.by_unit["issue of each wave"] >= 4 * found.executed / waves
    assert found.cycles.simds == waves


# --- text -------------------------------------------------------------------------------------------------------------


def test_text():
    shown = str(add())
    assert "Memory (bytes of active lanes)" in shown
    assert re.search(r"^lanes +62\.9 of 64 active in VALU instructions, on average$", shown, re.MULTILINE)
    for subject, _ in ASSUMPTIONS:
        assert subject in shown
    assert re.search(r"^VALU +\d+ +\d+\.\d% +62\.9$", shown, re.MULTILINE)
    assert "16 waves, 16 work-groups for 304 compute units" in shown
    assert "banks" not in shown[: shown.index("This takes for granted")]


def test_the_listing_has_every_instruction_of_what_ran():
    found = add()
    lines = [line for line in found.listing() if line and not line.startswith(";")]
    assert lines[0].endswith("<add_f32>:")
    counted = [line for line in lines[1:] if not line.startswith(" ")]
    assert len(counted) == len(found.lines)
    (sum_,) = [line for line in counted if "v_add_f32" in line]
    assert sum_.split()[:2] == ["16", f"{1000 / 16:.1f}"]
    assert any(re.fullmatch(r"; .*vector\.hip:\d+", line) for line in found.listing())


def test_the_listing_shows_what_did_not_run_without_a_count():
    x = np.zeros(64, np.float32)
    found = mfma.load(VECTOR)["add_f32"].launch(1, 64, [x, x, x, 0], profile=True).profile
    (skipped,) = [line for line in found.listing() if "v_add_f32" in line]
    assert skipped.startswith("   ")
    assert all(line.instruction.name != "v_add_f32" for line in found.lines)


def test_plain_data_is_json_and_agrees():
    found = add()
    data = json.loads(json.dumps(found.as_dict()))
    assert sum(one["count"] for one in data["instructions"]) == data["executed"] == found.executed
    assert data["traffic"][0] == {
        "space": "global", "loads": 32, "bytes_loaded": 8000, "stores": 16, "bytes_stored": 4000,
        "atomics": 0, "bytes_of_atomics": 0,
    }  # fmt: skip
    assert data["active_lanes"] == {"VALU": found.lanes[Class.VALU], "global": 62.5}
    assert data["lds_banks"]["cycles"] == data["lds_banks"]["instructions"] == 0
    assert data["cycles"]["device"] == "MI300X"
