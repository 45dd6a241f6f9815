"""Reports against small cases that were calculated by hand."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import mfma
from mfma.gemm import (
    DirectToLdsTilePolicy,
    DoubleBufferTilePolicy,
    Gemm,
    Memory,
    MfmaCdna3XF32Policy,
    MfmaPolicy,
    ScalarFMAPolicy,
    SingleBufferTilePolicy,
)
from mfma.gemm.registers import register_use

PAGE = Gemm(SingleBufferTilePolicy(32, 32, 8), MfmaCdna3XF32Policy())


def test_the_example_of_the_page():
    report = PAGE.report(64, 64, 64)
    assert report.grid == (2, 2, 1)
    assert (report.threads, report.strips, report.strip.instructions, report.instructions) == (256, 8, 4, 4 * 8 * 4)
    assert report.useful == 1.0
    assert report.lds_bytes == 2 * 32 * 8 * 4
    assert report.bytes_least == 3 * 64 * 64 * 4
    assert report.bytes_requested == (2 + 2 + 1) * 64 * 64 * 4  # two blocks along N read A, two along M read B
    assert report.strip.registers.accumulation == 4
    assert report.strip.registers.fragments == 4
    assert report.strip.registers.staging == 2  # 256 threads move 256 elements of A, and of B
    # 32 bytes a row: rows r and r + 4 share banks, so 16 lanes of 8 bytes take 4 cycles instead of 1.
    load = report.strip.lds["load A"]
    assert (load.instructions, load.width, load.cycles, load.ideal) == (4, 8, 4 * 4 * 4, 4 * 4)


def test_prediction_by_hand():
    report = PAGE.report(64, 64, 64)
    strip = report.strip
    assert strip.load_cycles == 2 * 32 * 8 * 4 // 64
    assert strip.store_lds_cycles == 8 + 64  # B's lanes are 32 bytes apart: 8 of 32 in each bank that is used
    assert strip.load_lds_cycles == 64 + 64
    assert strip.core_cycles == 16
    assert strip.alone_cycles == 500 + 72 + 64 + 128
    assert report.cycles == 8 * 764 + 32 * 32 * 4 // 64
    assert report.bound == "a work-group alone"
    assert report.utilisation == pytest.approx(128 * 16 / (report.cycles * 304 * 4))
    assert report.seconds == pytest.approx(report.cycles / 2.1e9)
    assert report.tflops == pytest.approx(2 * 64**3 / report.seconds / 1e12)
    assert report.share_of_peak == pytest.approx(report.tflops / mfma.peak("f32_16x16x8_xf32").tflops)


def test_ragged_sizes_are_padded_to_blocks_and_strips():
    report = PAGE.report(33, 1, 9)
    assert report.grid == (1, 2, 1)
    assert report.strips == 2
    assert report.instructions == 2 * 2 * 4
    assert report.useful == pytest.approx(2 * 33 * 9 / (16 * 4096))
    assert report.bytes_requested == (33 * 9 + 2 * 9 + 33) * 4


def test_split_k_has_parts_of_whole_steps_and_a_workspace():
    report = PAGE.report(64, 64, 64, split_k=3)  # 8 steps: 3, 3 and 2
    assert report.grid == (2, 2, 3)
    assert report.strips == 8
    assert report.instructions == 128
    assert report.workspace_bytes == 2 * 3 * 64 * 64 * 4
    assert PAGE.report(64, 64, 64, split_k=7).parts == 4  # parts of two steps


def test_batches_and_c():
    report = PAGE.report(64, 64, 64, batch=5, read_c=True)
    assert report.grid == (2, 2, 5)
    assert report.bytes_least == 5 * 4 * 64 * 64 * 4
    side_by_side = Gemm(SingleBufferTilePolicy(16, 16, 4), MfmaPolicy("f32_16x16x4f16", placement="batch"))
    report = side_by_side.report(16, 16, 4, batch=5)
    assert report.grid == (1, 1, 2)
    assert report.instructions == 2
    assert report.lds_bytes == 4 * 2 * 16 * 4 * 2


def test_scalar_kernels_count_fused_multiply_adds():
    report = Gemm(SingleBufferTilePolicy(32, 32, 8), ScalarFMAPolicy(4, 4, 8)).report(32, 32, 16)
    assert report.instructions == 4 * 4 * 16
    assert report.useful == 1.0
    assert report.peak_tflops == pytest.approx(128 * 304 * 2100 / 1e6)
    assert report.strip.core_cycles == 4 * 16 * 8
    assert "v_fma_f32" in str(report)


@pytest.mark.parametrize("place", ["m", "n", "k", "batch"])
@pytest.mark.parametrize("name", ["f32_32x32x4f16", "f32_4x4x4f16", "f64_4x4x4f64"])
def test_every_placement_counts_its_instructions(name, place):
    policy = MfmaPolicy(name, 1, 2, 2, 1, placement=place)
    tile = SingleBufferTilePolicy(policy.thread_tile_m, 2 * policy.thread_tile_n, 2 * policy.k_step)
    assert Gemm(tile, policy).report(1, 1, 1).strip.instructions == 2 * 2 * 2


def test_registers():
    wide = MfmaPolicy("f32_32x32x8f16", 2, 2, 2, 2)
    use = register_use(SingleBufferTilePolicy(128, 128, 32), wide)
    assert (use.accumulation, use.fragments, use.staging) == (64, 8, 32)
    assert use.total == 64 + 64  # 24 more for addresses
    assert use.waves_per_simd == 4
    assert register_use(DirectToLdsTilePolicy(128, 128, 32), wide).staging == 0
    f64 = MfmaPolicy("f64_16x16x4f64")
    assert register_use(SingleBufferTilePolicy(16, 16, 4), f64).accumulation == 8


def test_occupancy_is_limited_by_lds_and_by_registers():
    policy = MfmaPolicy("f32_16x16x16f16", 2, 2)
    assert Gemm(SingleBufferTilePolicy(32, 32, 16), policy).report(1, 1, 1).strip.groups_per_cu == 8
    assert Gemm(SingleBufferTilePolicy(32, 32, 256), policy).report(1, 1, 1).strip.groups_per_cu == 2
    one = MfmaPolicy("f32_32x32x8f16", 1, 1, 4, 4)  # 256 accumulation registers
    report = Gemm(SingleBufferTilePolicy(128, 128, 8), one).report(1, 1, 1)
    assert report.strip.waves_per_simd == 1
    assert "accumulators take all 256 accumulation registers" in report.remarks[0]


def test_large_kernels_come_near_the_peak_and_small_ones_are_bound_by_memory():
    policy = MfmaPolicy("f32_32x32x8f16", 2, 2, 2, 2)
    tile = SingleBufferTilePolicy(128, 128, 16, padding=2)
    big = Gemm(tile, policy).report(8192, 8192, 8192)
    assert 0.6 < big.share_of_peak <= big.utilisation <= 1
    thin = Gemm(SingleBufferTilePolicy(32, 32, 16, padding=4), MfmaPolicy("f32_16x16x16f16", 2, 2))
    assert thin.report(1 << 22, 32, 16, read_c=True).bound == "memory"


def test_conflicts_make_kernels_slower():
    policy = MfmaPolicy("f32_16x16x16f16", 2, 2, 4, 4)
    tiles = DoubleBufferTilePolicy(128, 128, 32), DoubleBufferTilePolicy(128, 128, 32, padding=4)
    plain, padded = (Gemm(tile, policy).report(4096, 4096, 4096) for tile in tiles)
    assert padded.cycles < plain.cycles
    assert any("bank conflicts" in remark for remark in plain.remarks)


def test_conversions_are_named_and_counted():
    memory = Memory(a="f32", b="f32", d="f16")
    report = Gemm(SingleBufferTilePolicy(32, 32, 16), MfmaPolicy("f32_16x16x16f16", 2, 2), memory).report(32, 32, 32)
    assert report.bytes_least == 32 * 32 * (4 + 4 + 2)
    assert "accumulators are f32; f16 is a conversion of the final result" in report.remarks


def test_devices_and_clocks():
    slow = PAGE.report(4096, 4096, 4096, "MI300A", clock_mhz=1000)
    assert slow.peak_tflops == pytest.approx(mfma.peak("f32_16x16x8_xf32", "MI300A", 1000).tflops)
    assert "MI300A" in str(slow)
    with pytest.raises(mfma.UnknownNameError, match="H100"):
        PAGE.report(1, 1, 1, "H100")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"m": 0}, "M is 0, but a size is a whole number from 1"),
        ({"batch": 1.5}, r"batch is 1\.5"),
        ({"split_k": 9}, "split_k is 9, but it is a whole number from 1 to 8"),
        ({"split_k": True}, "split_k is True"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(mfma.OptionError, match=message):
        PAGE.report(**({"m": 64, "n": 64, "k": 64} | arguments))


def test_text_and_json_say_the_same():
    report = PAGE.report(100, 200, 300)
    facts = json.loads(json.dumps(report.as_dict()))
    assert facts["instructions"] == report.instructions
    assert facts["lds"]["load A"]["conflicts"] == report.strip.lds["load A"].conflicts
    assert {"latency", "memory", "LDS"} <= facts["assumptions"].keys()
    assert str(report.instructions) in str(report)
    assert "CDNA3 ISA manual" in report.source


def test_the_plot_has_the_kernel_below_the_roof():
    report = PAGE.report(4096, 4096, 4096)
    root = ET.fromstring(report.svg())
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert {"circle", "path", "title"} <= names
    (dot,) = (element for element in root.iter() if element.tag.endswith("circle"))
    roof = next(element.get("d") for element in root.iter() if element.get("class") == "roof")
    peak_y = float(roof.partition("L")[2].partition("H")[0].split()[1])
    assert float(dot.get("cy")) > peak_y
    words = " ".join(root.itertext())
    assert f"{report.tflops:.1f} TFLOPS predicted" in words
    assert "memory 5.3 TB/s" in words


def test_loads_are_those_of_the_policies_of_users():
    """What the report counts comes from the policy's own loads, whatever they are."""

    class Strided(MfmaPolicy):
        __init__ = MfmaPolicy.__init__

        def load_a(self, tile, rows, ki):
            return tile.read(np.zeros((len(rows), 64, 1), int), np.zeros((len(rows), 64, 1), int))

    policy = Strided("f32_16x16x16f16", 2, 2)
    load = Gemm(SingleBufferTilePolicy(32, 32, 16), policy).report(1, 1, 1).strip.lds["load A"]
    assert (load.width, load.conflicts) == (2, 0)
