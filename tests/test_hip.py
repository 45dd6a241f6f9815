"""HIP programs: what their text says, a few of them run on the host, one compiled."""

import fnmatch
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from hip_broken import BROKEN, PAGE, wrong
from hip_cases import OPS, kernel, placements
from hip_host import compiled
from hip_tools import device_assembly, matrix_instructions
from mfma.cli import main
from mfma.errors import OptionError
from mfma.gemm import (
    DoubleBufferTilePolicy,
    Gemm,
    Memory,
    MfmaCdna3XF32Policy,
    MfmaPolicy,
    Placement,
    ScalarFMAPolicy,
    SingleBufferTilePolicy,
)
from mfma.gemm.hip import expected_output, hip
from mfma.gemm.hip.expressions import digits

EXAMPLE = Path(__file__).parents[1] / "examples" / "matrix_multiply_cdna3_mfma.hip"
needs_clang = pytest.mark.skipif(not shutil.which("clang++-22"), reason="clang 22 is not installed")


def is_fulfilled(pattern, output):
    lines, wanted = output.splitlines(), pattern.splitlines()
    return len(lines) == len(wanted) and all(map(fnmatch.fnmatchcase, lines, wanted))


# ---- Expressions ----


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5), st.integers(0, 40)), max_size=6))
def test_an_expression_gives_its_table(parts):
    lane, g = np.indices((64, 64))
    table = sum(((lane, g)[axis] >> bit & 1) * weight for axis, bit, weight in parts) + np.zeros((64, 64), np.int64)
    python = digits(table, "lane", "g").replace("/", "//")
    assert np.array_equal(eval(python) + 0 * lane, table)


@pytest.mark.parametrize("table", [np.arange(64) ** 2, 1 + np.arange(64), np.arange(64) % 3])
def test_no_expression_for_what_is_no_sum_of_digits(table):
    with pytest.raises(AssertionError, match="not a sum of digits of lane_id"):
        digits(table, "lane_id")


# ---- Text ----


@pytest.mark.parametrize("op", OPS, ids=str)
def test_the_builtin_is_called_once_behind_its_guard_with_literal_modifiers(op):
    for placement in placements(op):
        tile, compute, memory = kernel(op, "double", placement)
        text = hip(tile, compute, memory)
        call = text.index(f"{op.builtin}(")
        assert text.count("__builtin_amdgcn_mfma_") == 1
        assert text.rindex("#if", 0, call) == text.rindex("#if defined(__gfx942__)", 0, call)
        modifiers = re.compile(r"acc\.tiles\[i\]\[j\],\s+(\d+), (\d+), (\d+)\);").search(text, call)
        assert tuple(map(int, modifiers.groups())) == compute.modifiers


def test_only_the_headers_of_hip_and_of_the_standard_library():
    headers = re.findall(r"#include (.*)", hip(*PAGE))
    assert headers[0] == "<hip/hip_runtime.h>"
    assert all(re.fullmatch(r"<[a-z]+>", header) for header in headers[1:])
    assert "#include" not in hip(*PAGE, device_only=True)


def test_every_name_of_std_has_its_header():
    text = hip(*PAGE)
    used = {"std::vector": "vector", "std::uint": "cstdint", "std::fabs": "cmath", "std::memc": "cstring",
            "std::printf": "cstdio", "std::exit": "cstdlib", "std::numeric_limits": "limits",
            "std::strncmp": "cstring", "std::atoi": "cstdlib", "std::fprintf": "cstdio"}  # fmt: skip
    for name in set(re.findall(r"std::\w+", text)):
        header = next(header for start, header in used.items() if name.startswith(start))
        assert f"#include <{header}>" in text, name


@pytest.mark.parametrize("op", OPS, ids=str)
@pytest.mark.parametrize("kind", ["single", "double", "direct"])
def test_the_fallback_covers_its_block_exactly_and_fits_into_lds(op, kind):
    assert _fallback_block(*kernel(op, kind, waves=(1, 1), strip=64)) == 32


def test_the_fallback_of_long_strips_has_a_smaller_block():
    assert _fallback_block(SingleBufferTilePolicy(16, 32, 320), MfmaPolicy("f32_16x16x4f32", 1, 2)) == 16


def _fallback_block(tile, compute, memory=None):
    text = hip(tile, compute, memory, device_only=True)
    m, n, k = map(int, re.search(r"FallbackTilePolicy = \w+<(\d+), (\d+), (\d+)>", text).groups())
    scalar = ScalarFMAPolicy(*map(int, re.search(r"ScalarFMAPolicy<(\d+), (\d+), (\d+)>", text).groups()))
    rows, columns = scalar.thread_tile_offset(np.arange(scalar.threads(m, n)))
    cells = np.zeros((m, n), int)
    for row, column in zip(rows, columns, strict=True):
        cells[row : row + scalar.thread_tile_m, column : column + scalar.thread_tile_n] += 1
    assert (cells == 1).all()
    assert k == tile.k_tile_size
    assert tile.num_buffers * k * (m * compute.a.bits + n * compute.b.bits) // 8 <= 65536
    assert m == n
    return m


def test_lines_are_not_too_long():
    for op in OPS:
        tile, compute, memory = kernel(op, "direct_swizzled", placements(op)[-1])
        for line in hip(tile, compute, memory).splitlines():
            assert len(line) <= 120, line
            assert line == line.rstrip()


# ---- Refusals ----


class OwnTile(SingleBufferTilePolicy):
    pass


class OwnCompute(MfmaPolicy):
    pass


def test_broken_rules_are_refused_together():
    with pytest.raises(OptionError, match=r"block_tile_m.*k_tile_size"):
        hip(SingleBufferTilePolicy(48, 32, 12), MfmaCdna3XF32Policy())


def test_own_tile_policies_are_refused():
    with pytest.raises(OptionError, match="for the tile policy OwnTile, only for SingleBufferTilePolicy, Double"):
        hip(OwnTile(32, 32, 8), MfmaCdna3XF32Policy())


def test_own_compute_policies_are_refused():
    with pytest.raises(OptionError, match="for the compute policy OwnCompute, only for MfmaPolicy and Scalar"):
        hip(SingleBufferTilePolicy(32, 32, 8), OwnCompute("f32_16x16x8_xf32", 2, 2))


def test_conversions_are_refused():
    policy = MfmaPolicy("f32_16x16x16f16", 2, 2)
    with pytest.raises(OptionError, match="a is f32 in memory, but a program takes it as f16, as the instruction does"):
        hip(SingleBufferTilePolicy(32, 32, 16), policy, Memory(a="f32"))
    assert hip(SingleBufferTilePolicy(32, 32, 16), policy, Memory(a="f16", d="f32"))


# ---- The example ----


def test_the_example_is_what_is_generated():
    assert EXAMPLE.read_text() == hip(*PAGE)


def test_the_expected_output_is_that_of_the_example():
    assert EXAMPLE.with_suffix(".expected.txt").read_text() == expected_output(Gemm(*PAGE))


# ---- Run on the host ----


@needs_clang
def test_the_example_runs_and_prints_what_is_expected(tmp_path):
    run = compiled(tmp_path, hip(*PAGE), "f32_16x16x8_xf32").run("gfx942:sramecc+:xnack-", 40, 30, 20)
    wanted = EXAMPLE.with_suffix(".expected.txt").read_text().replace("4096 x 4096 x 4096", "40 x 30 x 20")
    assert run.code == 0
    assert run.matrix_instructions > 0
    assert is_fulfilled(wanted, run.out), run.out


@needs_clang
def test_other_gpus_fall_back(tmp_path):
    program = compiled(tmp_path, hip(*PAGE), "f32_16x16x8_xf32")
    for device in ("gfx90a:sramecc+:xnack-", "gfx1100"):
        run = program.run(device, 40, 30, 20)
        assert run.code == 0
        assert run.out.startswith(f"{device}: ScalarFMAPolicy\n")
        assert run.out.endswith("PASSED\n")
        assert run.matrix_instructions == 0


@needs_clang
@pytest.mark.parametrize(
    ("op", "kind", "placement", "options"),
    [
        ("f32_4x4x4f16", "double_swizzled", "k", {"tiles": (1, 2)}),
        ("f64_4x4x4f64", "direct", "batch", {}),
        ("f32_16x16x32_fp8_bf8", "direct_swizzled", "m", {"kwidth": 16}),
    ],
)
def test_programs_pass(tmp_path, op, kind, placement, options):
    tile, compute, memory = kernel(op, kind, placement, (2, 1), **options)
    run = compiled(tmp_path, hip(tile, compute, memory), op).run("gfx942", 8, 12, 9)
    assert run.code == 0, run.out
    assert run.out.endswith("PASSED\n")
    assert (run.direct_loads > 0) is tile.direct


@needs_clang
def test_the_scalar_policy_passes(tmp_path):
    text = hip(DoubleBufferTilePolicy(24, 32, 5, padding=1), ScalarFMAPolicy(3, 4, 8))
    run = compiled(tmp_path, text).run("gfx1100", 8, 12, 9)
    assert run.code == 0
    assert run.out.startswith("gfx1100: ScalarFMAPolicy\nexpected bits")


@needs_clang
@pytest.mark.parametrize("what", ["an index of the result", "no wait before the next strip", "an order of k"])
def test_wrong_programs_fail(tmp_path, what):
    wrong(tmp_path, *BROKEN[what])


@needs_clang
def test_bad_arguments_are_refused(tmp_path):
    program = compiled(tmp_path, hip(*PAGE), "f32_16x16x8_xf32")
    for sizes in ((40, 30), (40, 0, 30)):
        run = program.run("gfx942", *sizes)
        assert (run.code, run.out) == (1, "")
        assert run.err == "usage: program [M N K], each at least 1\n"


# ---- Compiled ----


@needs_clang
def test_the_kernel_compiles_without_a_header(tmp_path):
    tile, compute, memory = kernel("f32_16x16x4f16", "direct", Placement.N, tiles=(2, 1))
    found = set(matrix_instructions(device_assembly(tmp_path, hip(tile, compute, memory, device_only=True))))
    assert found == {("v_mfma_f32_16x16x4_4b_f16", (16, 2, 2, 16), ("cbsz:2",))}


# ---- Command line ----


def command(*args):
    return CliRunner().invoke(main, ["hip", *map(str, args)], prog_name="mfma")


def test_the_command_writes_the_example(tmp_path):
    file = tmp_path / "example.hip"
    result = command("--op", "f32_16x16x8_xf32", "--tile", "32x32x8", "--waves", "2x2", "-o", file)
    assert (result.exit_code, result.output) == (0, f"{file}\n")
    assert file.read_text() == EXAMPLE.read_text()


def test_the_command_prints_what_is_not_written_to_a_file():
    result = command(
        "--op", "f32_32x32x8f16", "--tile", "64x32x16", "--buffers", "double", "--device-only", "--padding", 4
    )
    tile, compute = DoubleBufferTilePolicy(64, 32, 16, padding=4), MfmaPolicy("f32_32x32x8f16", tiles_m=2)
    assert result.output == hip(tile, compute, device_only=True)


def test_the_command_refuses_in_one_line():
    result = command("--op", "f32_32x32x8f16", "--tile", "32x32x64", "--buffers", "direct")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "B is stored by rows, but direct loads move words" in result.stderr
