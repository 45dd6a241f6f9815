"""The table of throughputs: the page's figures, the published rates of each generation, and the laws between them.

Operations, cycles, co-execution and registers of gfx942: AMD's matrix instruction calculator 1.3.2, in
`golden/builtins_cdna3.json`. Rates of other generations: the ROCm pages. Peaks: the MI300 microarchitecture page of
the ROCm documentation.
"""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.errors import OptionError, UnknownNameError
from mfma.isa.catalogue import ops, sparse_ops
from mfma.isa.targets import TARGETS
from mfma.render import WRITERS
from mfma.timing.peak import peak
from mfma.timing.throughput import VECTOR, operations, table, throughput, throughputs

every = pytest.mark.parametrize("op", ops() + sparse_ops(), ids=str)
GOLDEN = Path(__file__).parent / "golden" / "builtins_cdna3.json"


@every
def test_equals_the_record_of_the_instruction(op):
    row = throughput(op)
    assert (row.operations, row.cycles, row.passes, row.coexecution) == (
        *(op.operations, op.cycles, op.passes, op.coexecution),
    )
    assert row.registers == (op.registers.a.vgprs, op.registers.b.vgprs, op.registers.cd.vgprs)


@every
def test_equals_the_peak_of_every_device(op):
    row = throughput(op)
    assert list(row.peaks) == ["MI300X", "MI300A", "MI325X"]
    for device, tflops in row.peaks.items():
        assert tflops == peak(op, device).tflops
        assert row.per_cu_per_cycle == peak(op, device).per_cu_per_cycle


def test_every_builtin_of_the_page_has_its_row():
    names = {row["builtin"].removeprefix("__builtin_amdgcn_mfma_") for row in json.loads(GOLDEN.read_text())}
    assert {row.name for row in throughputs()} == names
    assert len(throughputs()) == 32


def test_the_page_cell_by_cell():
    by_name = {row.name: row for row in throughputs()}
    for golden in json.loads(GOLDEN.read_text()):
        row = by_name[golden["builtin"].removeprefix("__builtin_amdgcn_mfma_")]
        assert row.operations == golden["ops"]
        assert row.cycles == golden["cycles"]
        assert row.passes == golden["passes"]
        assert row.coexecution == golden["valu_coexec"]
        assert row.registers == (golden["vgprs_AB"], golden["vgprs_AB"], golden["vgprs_CD"])


@pytest.mark.parametrize(
    ("name", "target", "cycles", "rate"),
    [
        ("f32_32x32x8f16", "gfx942", 32, 2048),
        ("f32_32x32x8f16", "gfx90a", 64, 1024),
        ("f32_32x32x8f16", "gfx908", 64, 1024),
        ("f32_16x16x16f16", "gfx942", 16, 2048),
        ("f64_16x16x4f64", "gfx90a", 32, 256),
        ("f64_16x16x4f64", "gfx942", 32, 256),
        ("f64_16x16x4f64", "gfx950", 64, 128),
        ("i32_32x32x8i8", "gfx90a", 64, 1024),
        ("i32_32x32x16_i8", "gfx942", 32, 4096),
        ("f32_16x16x32_fp8_fp8", "gfx942", 16, 4096),
        ("f32_32x32x16_f16", "gfx950", 32, 4096),
        ("f32_16x16x8_xf32", "gfx942", 16, 1024),
    ],
)
def test_one_name_has_other_rates_on_other_targets(name, target, cycles, rate):
    row = throughput(name, target)
    assert (row.target, row.cycles, row.per_cu_per_cycle) == (target, cycles, rate)


def test_register_cost_of_older_and_newer_instructions():
    assert throughput("f32_32x32x2bf16", "gfx90a").registers == (1, 1, 32)
    assert throughput("f32_32x32x8f16", "gfx908").registers == (2, 2, 16)
    assert throughput("f32_16x16x32_f16", "gfx950").registers == (4, 4, 4)
    # The format of A and B is a modifier of the block-scaled instructions, so their registers are not fixed.
    scaled = throughput("mfma_scale_f32_32x32x64_f8f6f4", "gfx950")
    assert scaled.registers == (None, None, 16)
    assert (scaled.cycles, scaled.cycles_8bit) == (32, 64)


@pytest.mark.parametrize("target", TARGETS.values(), ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_laws_of_every_target(target, sparse):
    rows = throughputs(target.name, sparse=sparse)
    assert len(rows) == len(target.sparse if sparse else target.dense)
    for row in rows:
        assert row.per_cu_per_cycle * row.cycles == row.operations * 4
        assert row.passes * 4 == row.cycles
        assert row.coexecution is None or 0 <= row.coexecution < row.cycles
        assert throughput(row.name, target.name) == row


def test_the_table_has_a_column_for_every_device():
    written = table(throughputs())
    assert written.header == (
        *("instruction", "operations", "cycles", "passes", "VALU cycles", "per CU, cycle", "A", "B", "C/D"),
        *("MI300X", "MI300A", "MI325X"),
    )
    assert len(written.rows) == 32
    cells = {row[0]: row[1:] for row in written.rows}
    assert cells["f32_32x32x8f16"] == (16384, 32, 8, 28, 2048, 2, 2, 16, 1307.4, 980.6, 1307.4)
    assert cells["f64_4x4x4f64"] == (512, 16, 4, 0, 128, 2, 2, 2, 81.7, 61.3, 81.7)
    assert cells["f32_32x32x4_xf32"][4:] == (1024, 2, 2, 16, 653.7, 490.3, 653.7)
    assert cells["i32_16x16x32_i8"][-3:] == (2614.9, 1961.2, 2614.9)
    for write in WRITERS.values():
        assert "1307.4" in write(written)


def test_the_table_of_a_target_without_known_devices():
    written = table(throughputs("gfx90a"))
    assert written.header[-1] == "C/D"
    assert len(written.rows) == 27
    assert table([]).rows == ()


@pytest.mark.parametrize(("format", "rate", "tflops"), [("f64", 128, "81.7"), ("f32", 256, "163.4")])
def test_published_vector_rates(format, rate, tflops):
    assert VECTOR[format].per_cu_per_cycle == rate
    assert f"{VECTOR[format].tflops():.1f}" == f"{VECTOR[format].tflops('MI325X'):.1f}" == tflops


def test_matrix_against_vector():
    """f64 matrix instructions double the VALU; those of f32 only match it."""
    assert throughput("f64_16x16x4f64").per_cu_per_cycle == 2 * VECTOR["f64"].per_cu_per_cycle
    assert throughput("f32_32x32x2f32").per_cu_per_cycle == VECTOR["f32"].per_cu_per_cycle


def test_unknown_device_of_a_vector_rate():
    with pytest.raises(UnknownNameError, match="There are no figures for the device 'A100'"):
        VECTOR["f32"].tflops("A100")


def test_str():
    text = "f32_32x32x8f16 on gfx942: 16384 operations in 32 cycles, 2048 per CU and cycle"
    assert str(throughput("v_mfma_f32_32x32x8_f16")) == text


@given(workgroups=st.integers(0, 10**6), waves=st.integers(1, 16), instructions=st.integers(0, 10**6))
@settings(deadline=None)
def test_operations_count_waves_not_threads(workgroups, waves, instructions):
    one = throughput("f32_32x32x8f16").operations
    counted = operations("f32_32x32x8f16", workgroups, 64 * waves, instructions)
    assert counted == one * workgroups * waves * instructions


def test_twice_the_threads_twice_the_operations():
    assert 2 * operations("f32_32x32x8f16", 7, 128) == operations("f32_32x32x8f16", 7, 256)


@pytest.mark.parametrize("threads", [0, 1, 32, 63, 65, 100])
def test_a_wave_that_is_not_full_is_an_error(threads):
    with pytest.raises(OptionError) as caught:
        operations("f32_32x32x8f16", 1, threads)
    assert str(caught.value) == (
        f"a workgroup of {threads} threads does not fill its waves, and a matrix instruction needs all 64 lanes; "
        "give a multiple of 64."
    )


@pytest.mark.parametrize("numbers", [(-1, 64, 1), (1, 64.0, 1), (1, 64, "2")])
def test_counts_are_whole_numbers(numbers):
    with pytest.raises(OptionError) as caught:
        operations("f32_32x32x8f16", *numbers)
    workgroups, threads, instructions = map(repr, numbers)
    assert str(caught.value) == (
        f"workgroups={workgroups}, threads={threads}, instructions={instructions}: give whole numbers from 0."
    )


@pytest.mark.parametrize("name", ["mfma_scale_f32_16x16x128_f8f6f4", "f32_32x32x16_bf16"])
def test_instruction_of_another_target_is_refused(name):
    with pytest.raises(UnknownNameError, match="exists on gfx950; on gfx942"):
        throughput(name)


def test_refusals():
    with pytest.raises(UnknownNameError, match="no target has a builtin 'f32_32x32x8f17'"):
        throughput("f32_32x32x8f17")
    with pytest.raises(UnknownNameError, match="unknown target 'gfx9999'"):
        throughput("f32_32x32x8f16", "gfx9999")
    with pytest.raises(UnknownNameError, match="has no MFMA instructions"):
        throughputs("gfx1100")
    with pytest.raises(UnknownNameError, match=r"given by name, object or record; got 7 \(int\)"):
        throughput(7)


def test_takes_objects():
    import mfma

    assert throughput(mfma.op("f32_32x32x8f16")) == throughput("f32_32x32x8f16")
    assert throughput(dataclasses.replace(ops()[8], target="gfx90a")).cycles == 64


def test_lookup_needs_no_numpy():
    code = "import sys, mfma.timing.throughput; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
