"""HIP programs: what their text says, a few of them run on the host, one compiled."""

import ctypes
import fnmatch
import re
import shutil
import subprocess
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
from mfma.builtins.entry import native_entry
from mfma.cli import main
from mfma.errors import OptionError
from mfma.formats import F32, FORMATS, I8, I32, XF32, arrays
from mfma.formats.codec import decode, encode
from mfma.gemm import (
    Conversion,
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
from mfma.gemm.hip.conversions import Step, function
from mfma.gemm.hip.elements import CPP_TYPES
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
            "std::strncmp": "cstring", "std::atoi": "cstdlib", "std::fprintf": "cstdio",
            "std::chrono": "chrono"}  # fmt: skip
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


@pytest.mark.parametrize(
    ("op", "memory", "message"),
    [
        ("i32_16x16x32_i8", Memory(b="f32"), "converts f32 to i8, as b asks for: an integer format has no code for a"),
        ("i32_16x16x32_i8", Memory(d="f32"), "converts f32 to i32, as d asks for: an integer format has no code"),
        ("i32_16x16x32_i8", Memory(d="i8"), "converts i32 to i8, as d asks for: .* choose overflow='saturate'"),
        ("f32_16x16x16f16", Memory(a="i32"), "converts i32 to f16, as a asks for: most of its random operands would"),
    ],
)
def test_conversions_that_no_program_does_are_refused(op, memory, message):
    with pytest.raises(OptionError, match=message):
        hip(SingleBufferTilePolicy(32, 32, 32), MfmaPolicy(op, 2, 2), memory)


def test_direct_loads_cannot_convert():
    with pytest.raises(OptionError, match="A is f32 in memory, but direct loads cannot convert it"):
        hip(*kernel("f32_16x16x16f16", "direct")[:2], Memory(a="f32", b_order="column"))


def test_formats_that_are_the_kernel_s_own_change_nothing():
    tile, policy = SingleBufferTilePolicy(32, 32, 16), MfmaPolicy("f32_16x16x16f16", 2, 2)
    assert hip(tile, policy, Memory(a="f16", b="f16", d="f32")) == hip(tile, policy)


# ---- Conversions ----

CONVERTED = {
    "f32 to f16": ("f32_16x16x16f16", "single", Memory("f32", "f32")),
    "f32 to f16 and back, B by columns": ("f32_32x32x8f16", "double_padded", Memory("f32", None, "f16", "column")),
    "f32 to bf16": ("f32_16x16x16bf16_1k", "double", Memory("f32", "f32", "bf16")),
    "f32 to bf16, cut": ("f32_16x16x16bf16_1k", "swizzled", Memory(
        "f32", "f32", "bf16", load=Conversion("truncate"), store=Conversion("truncate", "saturate"))),
    "f32 to fp8 and bf8": ("f32_16x16x32_fp8_bf8", "double_swizzled", Memory("f32", "f16")),
    "f32 to fp8, cut and saturated": ("f32_32x32x16_fp8_fp8", "padded", Memory(
        "f32", "bf16", "f16", load=Conversion("truncate", "saturate"))),
    "OCP to FNUZ, fp8 result": ("f32_16x16x32_fp8_fp8", "single", Memory("ocp_fp8", "ocp_bf8", "fp8")),
    "f32 to xf32": ("f32_16x16x8_xf32", "single", Memory("f32", "f64", "xf32")),
    "f64 from f32": ("f64_16x16x4f64", "double", Memory("f32", "i8", "f32")),
    "f32 from i32": ("f32_16x16x4f32", "single", Memory("i32")),
    "f16 result of direct loads": ("f32_16x16x16f16", "direct", Memory(d="f16", b_order="column")),
    "i8 result": ("i32_16x16x32_i8", "single", Memory(d="i8", store=Conversion(overflow="saturate"))),
}  # fmt: skip


def converted(case):
    op, kind, memory = CONVERTED[case]
    tile, compute, _ = kernel(op, kind)
    return tile, compute, memory


@pytest.mark.parametrize("case", CONVERTED)
def test_every_conversion_is_written_once_and_used(case):
    text = hip(*converted(case))
    names = re.findall(r"inline \w[\w ]* (\w+_from_\w+)\(\w[\w ]* element\)", text)
    assert names
    assert len(names) == len(set(names))
    assert all(text.count(f"{name}(") >= 2 for name in names)
    assert max(map(len, text.splitlines())) <= 120


@needs_clang
@pytest.mark.parametrize("case", ["f32 to f16", "f32 to bf16, cut", "f32 to fp8 and bf8", "f32 to xf32"])
def test_kernels_that_convert_compile_without_a_header(tmp_path, case):
    tile, compute, memory = converted(case)
    found = set(matrix_instructions(device_assembly(tmp_path, hip(tile, compute, memory, device_only=True))))
    assert {mnemonic for mnemonic, *_ in found} == {compute.op.mnemonic}


def converts_and_passes(folder, case):
    tile, compute, memory = converted(case)
    program = compiled(folder, hip(tile, compute, memory), compute.op.name)
    for device in ("gfx942", "gfx1100"):
        run = program.run(device, 8, 12, 9)
        assert run.code == 0, run.out
        assert run.out.endswith("PASSED\n")
        assert (run.matrix_instructions > 0) is (device == "gfx942")


SOME = list(CONVERTED)[::5]


@needs_clang
@pytest.mark.parametrize("case", SOME)
def test_programs_that_convert_pass(tmp_path, case):
    converts_and_passes(tmp_path, case)


@pytest.mark.long
@needs_clang
@pytest.mark.parametrize("case", [case for case in CONVERTED if case not in SOME])
def test_all_others_that_convert_pass(tmp_path, case):
    converts_and_passes(tmp_path, case)


@needs_clang
def test_a_program_that_converts_wrongly_fails(tmp_path):
    text, rounds = hip(*converted("f32 to f16")), "result += 2 * rest + (result & 1) > unit;"
    assert text.count(rounds) == 1
    run = compiled(tmp_path, text.replace(rounds, ""), "f32_16x16x16f16").run("gfx942", 8, 12, 9)
    assert (run.code, run.out[-7:]) == (1, "FAILED\n")


MULTIPLY = """
extern "C" void product(const mem_a* a, const mem_b* b, mem_c* c, int m, int n, int k) {
    launch<TilePolicy, ComputePolicy>(Problem{m, n, k, 1, 1, 0}, a, b, c);
}
"""


@needs_clang
@pytest.mark.parametrize(
    ("op", "memory"),
    [
        ("f32_16x16x16f16", Memory("f32", "f32", "f16")),
        ("f32_16x16x16bf16_1k", Memory("f32", "f32", "bf16")),
        ("f32_16x16x32_fp8_bf8", Memory("f32", "f32", "f16")),
        ("f32_16x16x32_fp8_bf8", Memory("f32", "f32", "bf16", load=Conversion("truncate", "saturate"))),
    ],
)
def test_specials_subnormals_and_ties_go_through_a_kernel(tmp_path, op, memory):
    tile, compute, _ = kernel(op, "single")
    library = ctypes.CDLL(compiled(tmp_path, hip(tile, compute, memory) + MULTIPLY, op).library)
    ctypes.c_void_p.in_dll(library, "matrix_instruction").value = native_entry(compute.op.record).address
    codes = telling_codes(F32, compute.a)
    # One telling number in each row: it shows unmixed in the results, also where it is infinite or NaN.
    m, n, k = 300, 5, 37
    draw = np.random.default_rng(8)
    a = np.zeros((m, k), np.float32)
    last = codes[-len(codes) // 2 :]
    rows = np.concatenate([codes[-18:], draw.choice(last, m - 18)]).view(np.float32)
    a[np.arange(m), np.arange(m) % k] = rows
    b = np.ascontiguousarray(np.broadcast_to(np.float32([1, -1, 0.5, 1.0625, 2.0**-9]), (k, n)))
    wanted = Gemm(tile, compute, memory).run(a, b)
    result = np.empty((m, n), wanted.dtype)
    library.product(*(ctypes.c_void_p(x.ctypes.data) for x in (a, b, result)), m, n, k)
    assert np.isnan(wanted.astype(np.float32)).any()
    assert result.tobytes() == wanted.tobytes()


ALL_FLOATS = [format for format in FORMATS.values() if not format.is_integer]
STEPS = [
    Step(given, wanted, Conversion(rounding, overflow))
    for given in [*ALL_FLOATS, I8, I32]
    for wanted in ALL_FLOATS
    if given != wanted
    for rounding in ("rne", "truncate")
    for overflow in ("ieee", "saturate")
] + [Step(I32, I8, Conversion(overflow="saturate")), Step(I8, I32, Conversion())]


@pytest.fixture(scope="module")
def conversion_library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conversions")
    loop = """
extern "C" void all_{0}({2}* to, const {1}* from, long count) {{
    for (long i = 0; i < count; ++i) to[i] = {0}(from[i]);
}}
"""
    parts = ["#define __host__", "#define __device__"]
    for step in STEPS:
        parts += [function(step), loop.format(step.name, CPP_TYPES[step.given], CPP_TYPES[step.wanted])]
    (folder / "all.cpp").write_text("\n".join(parts))
    flags = ["-std=c++17", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined",
             "-fsanitize-trap=undefined"]  # fmt: skip
    subprocess.run(["clang++-22", *flags, folder / "all.cpp", "-o", folder / "all.so"], check=True)
    return ctypes.CDLL(folder / "all.so")


def telling_codes(given, wanted):
    """All codes of up to 16 bits; of more, random ones, specials, and numbers, ties and their neighbours of wanted."""
    kind = np.dtype(arrays.code_dtype(given))
    if given.bits <= 16:
        return np.arange(1 << given.bits).astype(kind)
    draw = np.random.default_rng(5)
    several = [draw.integers(0, 1 << given.bits, 20000, kind)]
    if given.is_integer:
        several.append(draw.integers(-70000, 70000, 20000).astype(np.int32).view(kind))
        several.append(np.array([0, 1, 127, 128, 129, 2**31 - 1, 2**31, -127, -128, -129]).astype(np.int32).view(kind))
        return np.concatenate(several)
    one, top = 1 << given.significand + given.ignored, (1 << given.bits - 1) - 1
    infinity = top - one + 1
    codes = draw.integers(0, 1 << min(wanted.bits, 62), 20000).astype(arrays.code_dtype(wanted))
    if wanted.bits <= 16:
        codes = np.arange(1 << wanted.bits).astype(codes.dtype)
    with np.errstate(all="ignore"):
        near = encode(decode(codes, wanted), "f64")
        ties = near * (1 + 2.0 ** -(wanted.significand + 1))
        below = near + wanted.tiny / 2 if wanted.tiny / 2 > 0 else near
    for values in (near, ties, below):
        exact = encode(values, given).view(kind)
        several += [exact, exact + kind.type(1), exact - kind.type(1)]
    specials = [0, 1, one - 1, one, infinity - 1, infinity, infinity + 1, top, infinity | one >> 1]
    several.append(np.array([s | sign << given.bits - 1 for s in specials for sign in (0, 1)], kind))
    return np.concatenate(several)


@needs_clang
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_conversions_give_the_bits_of_encode(conversion_library, step):
    codes = np.ascontiguousarray(telling_codes(step.given, step.wanted))
    result = np.empty(codes.size, arrays.code_dtype(step.wanted))
    getattr(conversion_library, f"all_{step.name}")(
        *map(ctypes.c_void_p, (result.ctypes.data, codes.ctypes.data)), ctypes.c_long(codes.size)
    )
    stored = F32 if step.given == XF32 else step.given
    wanted = encode(arrays.view(codes, stored), step.wanted, step.how.rounding, step.how.overflow)
    wrong = np.flatnonzero(result != wanted.view(result.dtype))
    assert not wrong.size, [(hex(codes[i]), hex(result[i]), hex(wanted.view(result.dtype)[i])) for i in wrong[:3]]


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


def test_the_command_converts():
    result = command("--op", "f32_32x32x8f16", "--tile", "32x32x16", "--a-format", "f32", "--d-format", "f16",
                     "--store-rounding", "truncate", "--device-only")  # fmt: skip
    memory = Memory("f32", d="f16", store=Conversion("truncate"))
    tile = SingleBufferTilePolicy(32, 32, 16)
    assert result.output == hip(tile, MfmaPolicy("f32_32x32x8f16"), memory, device_only=True)


def test_the_command_refuses_in_one_line():
    result = command("--op", "f32_32x32x8f16", "--tile", "32x32x64", "--buffers", "direct")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "B is stored by rows, but direct loads move words" in result.stderr
