"""The roofline: counts by brute force, bounds by exact fractions, and products whose bound is known."""

import dataclasses
import math
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.errors import OptionError, UnknownNameError
from mfma.isa.catalogue import find, ops, sparse_ops
from mfma.timing.devices import DEVICES
from mfma.timing.peak import peak
from mfma.timing.roofline import roofline

HBM = {"MI300X": Fraction(53, 10), "MI300A": Fraction(53, 10), "MI325X": Fraction(6)}  # TB/s

sizes = st.integers(1, 300)
some_op = st.sampled_from(ops())
some_device = st.sampled_from(sorted(DEVICES))


def test_a_large_square_product_is_bound_by_the_matrix_cores():
    line = roofline(4096, 4096, 4096, "f32_32x32x8f16")
    assert line.bound == "compute"
    assert line.instructions == 128 * 128 * 512
    assert line.operations == line.padded_operations == 2 * 4096**3
    assert line.bytes == 4096 * 4096 * (2 + 2 + 4)
    assert line.intensity == 1024
    assert f"{line.ridge:.1f}" == "246.7"
    assert f"{line.tflops:.1f}" == "1307.4"
    assert line.seconds == line.compute_seconds > line.memory_seconds


def test_a_matrix_times_a_vector_is_bound_by_the_memory():
    line = roofline(8192, 1, 8192, "f32_16x16x16f16")
    assert line.bound == "memory"
    assert line.seconds == line.memory_seconds
    assert line.useful == 1 / 16
    assert line.bytes == 8192 * 8192 * 2 + 8192 * 2 + 8192 * 4


def test_bandwidth_decides_between_devices():
    """Between the ridges of two devices, one is bound by its memory and the other is not."""
    x, newer = (roofline(1024, 1024, 1024, "f32_32x32x8f16", name) for name in ("MI300X", "MI325X"))
    assert x.memory_seconds / newer.memory_seconds == pytest.approx(6.0 / 5.3)
    assert (x.ridge, newer.ridge) == (pytest.approx(1307.4432 / 5.3), pytest.approx(1307.4432 / 6))


@given(m=sizes, n=sizes, k=sizes, op=some_op, batch=st.integers(1, 3))
@settings(deadline=None)
def test_instructions_by_walking_over_the_tiles(m, n, k, op, batch):
    tiles = [(b, i, j) for b in range(batch) for i in range(0, m, op.m) for j in range(0, n, op.n)]
    chains = [tiles[start : start + op.blocks] for start in range(0, len(tiles), op.blocks)]
    steps = len(range(0, k, op.k))
    line = roofline(m, n, k, op, batch=batch)
    assert line.tiles == len(tiles)
    assert line.instructions == len(chains) * steps
    assert 0 < line.useful <= 1
    assert line.padded_operations == line.instructions * 2 * op.m * op.n * op.k * op.blocks


@given(m=sizes, n=sizes, k=sizes, op=some_op, device=some_device, c=st.booleans(), mhz=st.integers(100, 3000))
@settings(deadline=None)
def test_bounds_in_exact_fractions(m, n, k, op, device, c, mhz):
    line = roofline(m, n, k, op, device, read_c=c, clock_mhz=mhz)
    gpu = DEVICES[device]
    operations_a_second = Fraction(op.operations, op.cycles) * gpu.matrix_cores * mhz * 10**6
    compute = line.padded_operations / operations_a_second
    moved = m * k * op.a.bits + k * n * op.b.bits + m * n * op.out.bits * (1 + c)
    memory = Fraction(moved, 8) / (HBM[device] * 10**12)
    assert line.bytes == moved // 8
    assert math.isclose(line.compute_seconds, compute, rel_tol=1e-12)
    assert math.isclose(line.memory_seconds, memory, rel_tol=1e-12)
    assert math.isclose(line.seconds, max(compute, memory), rel_tol=1e-12)
    assert line.bound == ("compute" if line.compute_seconds >= line.memory_seconds else "memory")
    assert line.chain_seconds >= line.compute_seconds * (1 - 1e-12)
    assert line.tflops <= line.peak.tflops * (1 + 1e-12)


def test_without_splitting_k_a_small_product_fills_few_matrix_cores():
    line = roofline(32, 32, 8192, "f32_32x32x8f16")
    assert line.chains == 1
    assert math.isclose(line.chain_seconds, 1024 * 32 / 2.1e9)
    assert math.isclose(line.chain_seconds, 1216 * line.compute_seconds)


def test_several_blocks_take_several_tiles():
    line = roofline(128, 8, 4, "f32_4x4x4f16")
    assert (line.tiles, line.chains, line.instructions, line.useful) == (64, 4, 4, 1.0)


@pytest.mark.parametrize("op", ops(), ids=str)
def test_bytes_follow_the_formats(op):
    line = roofline(64, 64, 64, op)
    width = {"f64": 8, "f32": 4, "xf32": 4, "f16": 2, "bf16": 2, "fp8": 1, "bf8": 1, "i8": 1}
    assert line.bytes == 64 * 64 * (width[op.a.name] + width[op.b.name] + (8 if op.out.name == "f64" else 4))


def test_formulas_say_what_they_compute():
    """Every printed calculation, read back and done again."""
    line = roofline(100, 30, 7, "f32_4x4x4f16", "MI300A", batch=3, read_c=True)
    printed = dict(line.formulas)
    assert printed["tiles"] == "3 × ⌈100 / 4⌉ × ⌈30 / 4⌉ = 600 of 4×4"
    assert printed["instructions"] == "⌈600 tiles / 16 blocks⌉ × ⌈7 / 4⌉ = 76"
    assert printed["operations"] == "3 × 2·100·30·7 = 126000"
    assert printed["padded operations"] == "76 × 2048 = 155648; 81.0% of them useful"
    assert printed["bytes"] == "3 × (100·7·16 + 7·30·16 + 100·30·32 × 2 (C and D)) bits / 8 = 77460"
    assert printed["intensity"] == "126000 / 77460 = 1.6 operations per byte"
    assert printed["ridge"] == "490.3 TFLOPS / 5.3 TB/s = 92.5 operations per byte"
    assert printed["peak"] == peak("f32_4x4x4f16", "MI300A").formula
    assert printed["without split K"] == "⌈38 / 912 matrix cores⌉ × 2 × 8 cycles / 2100 MHz = 7.62 ns"
    assert printed["memory bound"] == "77460 / 5.3 TB/s = 14.6 ns"
    assert printed["at best"].endswith("bound by the memory")
    assert 3 * (100 * 7 * 16 + 7 * 30 * 16 + 100 * 30 * 32 * 2) // 8 == 77460
    assert all(name in str(line) for name in printed)


def test_units():
    text = str(roofline(4096, 4096, 4096, "i32_32x32x16_i8", "MI325X"))
    assert "2614.9 TOPS" in text
    assert "bound by the matrix cores" in text
    assert re.search(r"compute bound +137438953472 / 2614.9 TOPS = 52.6 µs", text)


def test_times_are_shown_in_a_fitting_unit():
    shown = [dict(roofline(n, n, n, "f64_16x16x4f64").formulas)["compute bound"].split(" = ")[1] for n in (16, 4**6)]
    assert shown == ["0.0501 ns", "841 µs"]


def test_source_names_the_bandwidth():
    assert "memory: stated by AMD" in roofline(1, 1, 1, ops()[0]).source
    assert "memory: quoted from AMD by others" in roofline(1, 1, 1, ops()[0], "MI300A").source
    assert "clock: as asked for" in roofline(1, 1, 1, ops()[0], clock_mhz=1000).source


def test_takes_objects_devices_and_integers_of_numpy():
    import mfma

    expected = roofline(64, 64, 64, "f32_32x32x8f16", "MI300A")
    assert roofline(np.int64(64), 64, 64, mfma.op("f32_32x32x8f16"), DEVICES["MI300A"]) == expected
    assert type(roofline(np.int64(64), 64, 64, "f32_32x32x8f16").m) is int


@pytest.mark.parametrize("size", [0, -1, 1.0, "4", True, None])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_bad_size_is_an_error(size, place):
    given = [16, 16, 16]
    given[place] = size
    with pytest.raises(OptionError) as caught:
        roofline(*given, "f32_16x16x16f16")
    assert str(caught.value) == f"{'MNK'[place]} is {size!r}, but a size is a whole number from 1."


def test_bad_batch_is_an_error():
    with pytest.raises(OptionError, match="batch is 0, but a size is a whole number from 1"):
        roofline(1, 1, 1, "f32_16x16x16f16", batch=0)


@pytest.mark.parametrize("device", ["A100", "MI250X", "", None])
def test_unknown_device_is_an_error(device):
    with pytest.raises(UnknownNameError, match="no other part is taken in its place"):
        roofline(16, 16, 16, "f32_16x16x16f16", device)


def test_sparse_instruction_is_refused():
    with pytest.raises(OptionError) as caught:
        roofline(16, 16, 16, sparse_ops()[0])
    assert str(caught.value) == (
        "f32_16x16x32_f16 is a sparse instruction, and its bytes depend on how the kernel stores the indices; "
        "give a dense instruction."
    )


def test_device_of_ones_own():
    half = dataclasses.replace(DEVICES["MI300X"], name="half", hbm_tb_per_s=2.65)
    line = roofline(64, 64, 64, find("f32_16x16x16f16"), half)
    assert line.memory_seconds == 2 * roofline(64, 64, 64, "f32_16x16x16f16").memory_seconds


def test_lookup_needs_no_numpy():
    code = "import sys, mfma.timing.roofline; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
