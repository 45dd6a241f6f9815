"""``mfma gemm`` and ``mfma tune``."""

import json
import re
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import mfma
from mfma.cli import main

PAGE = "gemm --op f32_16x16x8_xf32 --tile 32x32x8 --waves 2x2"


def run(line, *more, code=0):
    result = CliRunner().invoke(main, [*line.split(), *more])
    assert result.exit_code == code, result.output + str(result.exception)
    return result.output


def refused(line, *more):
    output = run(line, *more, code=2)
    assert output.count("\n") == 1
    return output


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        "A": rng.standard_normal((20, 33)).astype(np.float32),
        "B": rng.standard_normal((33, 40)).astype(np.float32),
        "C": rng.standard_normal((20, 40)).astype(np.float32),
    }
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    return tmp_path, arrays


def test_report_of_sizes():
    output = run(f"{PAGE} -m 64 -n 64 -k 64")
    assert "128 v_mfma_f32_16x16x8_xf32, 4 in each strip" in output
    assert "load A" in output
    facts = json.loads(run(f"{PAGE} -m 64 -n 64 -k 64 --json"))
    assert (facts["instructions"], facts["verified"], facts["shape"]) == (128, False, None)


def test_files_are_multiplied_verified_and_reported_on(files):
    folder, arrays = files
    a, b, c, d = (str(folder / f"{name}.npy") for name in "ABCD")
    output = run(f"{PAGE} {a} {b} --c {c} --alpha 2 --beta 0.5 --verify -o {d}")
    assert "all 800 results have equal bits" in output
    product = mfma.matmul(arrays["A"], arrays["B"], op="f32_16x16x8_xf32")
    wanted = (2 * product.astype(np.float64) + (0.5 * arrays["C"]).astype(np.float64)).astype(np.float32)
    assert np.array_equal(np.load(d), wanted)
    assert "20 × 40 × 33" in output


def test_conversions_on_the_way(files):
    folder, arrays = files
    a, b, d = (str(folder / f"{name}.npy") for name in "ABD")
    run(
        f"gemm --op f32_16x16x16f16 --tile 32x32x16 --waves 2x2 {a} {b} -o {d} --a-format f32 --b-format f32 "
        "--d-format f16 --rounding truncate --verify"
    )
    halves = [mfma.encode(arrays[name], "f16", "truncate") for name in "AB"]
    assert np.array_equal(np.load(d), mfma.encode(mfma.matmul(*halves, op="f32_16x16x16f16"), "f16"))


@pytest.mark.parametrize(
    "line",
    [
        "--op f32_4x4x4f16 --tile 64x16x16 --placement m --buffers double --padding 4",
        "--op f32_4x4x4f16 --tile 4x64x16 --placement n --swizzle 4",
        "--op i32_32x32x16_i8 --tile 64x64x64 --waves 2x2 --buffers direct --b-order column --kwidth 16",
        "--op f64_4x4x4f64 --tile 4x4x16 --placement batch --batch 5",
        "--op f32_32x32x4f16 --tile 32x32x8 --placement k --split-k 2",
        "--scalar 4x4 --tile 32x32x8",
    ],
)
def test_random_operands_verify(line):
    facts = json.loads(run(f"gemm {line} -m 37 -n 41 -k 29 --verify --json"))
    assert facts["verified"] is True
    assert facts["shape"][-2:] == [37, 41]


def test_the_plot_is_written(tmp_path):
    path = tmp_path / "roofline.svg"
    run(f"{PAGE} -m 64 -n 64 -k 64 --svg {path}")
    assert path.read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gemm --tile 32x32x8 -m 1 -n 1 -k 1", "Give --op OP, or --scalar MxN."),
        ("gemm --op f32_16x16x8_xf32 --scalar 4x4 --tile 32x32x8 -m 1 -n 1 -k 1", "Give --op OP, or --scalar MxN."),
        (f"{PAGE} -m 1 -n 1", "or the sizes -m, -n and -k"),
        (f"{PAGE} A.npy", "Give A.npy and B.npy, or neither."),
        (f"{PAGE} A.npy B.npy -m 1", "leave -m, -n and -k out"),
        (f"{PAGE} -m 1 -n 1 -k 1 -o D.npy", "go with A.npy and B.npy"),
        (f"{PAGE} -m 1 -n 1 -k 1 --kwidth 2 --k-order 0", "not both"),
        ("gemm --op f32_16x16x8_xf32 --tile 32x32 -m 1 -n 1 -k 1", "'32x32' is not 3 whole numbers"),
        ("gemm --op f32_16x16x8_xf32 --tile 32x32x7 --waves 2x2 -m 1 -n 1 -k 1", "The nearest legal k_tile_size is 8."),
        ("gemm --op f32_16x16x8_xf32 --target gfx950 --tile 32x32x8 -m 1 -n 1 -k 1", "gfx950"),
        (f"{PAGE} -m 0 -n 1 -k 1", "M is 0"),
        (f"{PAGE} -m 1 -n 1 -k 1 --device H100", "H100"),
        (f"{PAGE} missing.npy B.npy", "cannot read missing.npy"),
        ("tune -m 64 -n 64 --op f32_16x16x16f16", "Give the sizes -m, -n and -k."),
    ],
)
def test_bad_input(line, message):
    assert message in refused(line)


@pytest.fixture
def small(monkeypatch):
    import mfma.gemm  # noqa: F401

    module = sys.modules["mfma.gemm.tune"]
    monkeypatch.setattr(module, "WAVES", ((2, 2),))
    monkeypatch.setattr(module, "STEPS", (1, 2))


def test_tune(small):
    output = run("tune -m 512 -n 512 -k 512 --op f32_16x16x16f16 --op f32_32x32x8f16 --top 5")
    assert len(output.splitlines()) == 6
    facts = json.loads(run("tune -m 512 -n 512 -k 512 --op f32_16x16x16f16 --top 3 --json"))
    cycles = [candidate["cycles"] for candidate in facts["candidates"]]
    assert len(cycles) == 3
    assert cycles == sorted(cycles)


@pytest.mark.parametrize("command", ["gemm", "tune"])
def test_help_ends_with_examples(command):
    assert re.search(rf"Examples:\n  mfma {command}", run(f"{command} --help"))
