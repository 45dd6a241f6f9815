"""HIP programs of every instruction, placement and tile policy: compiled for three GPUs, linted, run on the host.

The compilers are clang 22 and 19; the headers for whole programs are Debian's HIP 5.2.
"""

import re
import subprocess

import pytest

from hip_broken import BROKEN, PAGE, wrong
from hip_cases import OPS, TILES, kernel, placements
from hip_host import compiled
from hip_tools import device_assembly, matrix_instructions, rocm, rocm_flags, tool
from mfma.asm import lint
from mfma.gemm import Memory, Placement
from mfma.gemm.hip import hip

pytestmark = pytest.mark.long

SINGLE_DOUBLE_DIRECT = (("padded", "single"), ("double_swizzled", "double"), ("direct", "direct"))
CASES = [
    (op, kind, placement)
    for op in OPS
    for place, (kind, _) in enumerate(SINGLE_DOUBLE_DIRECT)
    for placement in dict.fromkeys(placements(op)[(place + more) % len(placements(op))] for more in (0, 1))
]
KINDS = tuple(TILES)
ON_HOST = [
    (op, KINDS[number % len(KINDS)], placements(op)[number % len(placements(op))]) for number, op in enumerate(OPS)
]
"""Each instruction once; whole programs of all of them run on the emulator, too."""


def expected(compute):
    """Mnemonic, registers of D, A, B and C, and modifiers, of the one matrix instruction of a kernel."""
    registers = compute.op.registers
    cd = registers.cd.vgprs
    fields = zip(("cbsz", "abid", "blgp"), compute.modifiers, strict=True)
    modifiers = tuple(f"{name}:{value}" for name, value in fields if value)
    return compute.op.mnemonic, (cd, registers.a.vgprs, registers.b.vgprs, cd), modifiers


@pytest.mark.parametrize(("op", "kind", "placement"), CASES, ids=str)
def test_the_compiler_agrees(tmp_path, op, kind, placement):
    tile, compute, memory = kernel(op, kind, placement)
    assembly = device_assembly(tmp_path, hip(tile, compute, memory, device_only=True))
    found = list(matrix_instructions(assembly))
    assert set(found) == {expected(compute)}
    assert len(found) == tile.k_tile_size // compute.k_step
    report = lint(assembly)
    assert report.findings == ()
    assert report.matrix_instructions == len(found)
    assert set(re.findall(r"; ScratchSize: (\d+)", assembly)) == {"0"}
    assert ("global_load_lds_dword" in assembly) is tile.direct


@pytest.mark.parametrize("tiles", [(2, 2), (4, 1)])
@pytest.mark.parametrize("name", ["f32_32x32x8f16", "i32_16x16x32_i8", "f64_16x16x4f64"])
def test_a_wave_with_several_tiles_and_wide_loads(tmp_path, name, tiles):
    held = kernel(name, "double")[1].kwidth
    tile, compute, memory = kernel(name, "double", tiles=tiles, kwidth=2 * held)
    found = list(matrix_instructions(device_assembly(tmp_path, hip(tile, compute, memory, device_only=True))))
    assert set(found) == {expected(compute)}
    assert len(found) == tiles[0] * tiles[1] * tile.k_tile_size // compute.op.k


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
@pytest.mark.parametrize("op", OPS, ids=str)
def test_other_targets_compile_the_same_file(tmp_path, op, target):
    tile, compute, memory = kernel(op, "direct", placements(op)[-1])
    assembly = device_assembly(tmp_path, hip(tile, compute, memory, device_only=True), target)
    assert list(matrix_instructions(assembly)) == []
    assert "v_fma" in assembly or "v_mad" in assembly or "v_pk_fma" in assembly or "v_mul" in assembly


@pytest.mark.parametrize("kind", ["single", "double_padded", "direct_swizzled"])
@pytest.mark.parametrize(
    "name", ["f32_16x16x8_xf32", "f32_4x4x4f16", "f32_32x32x8bf16_1k", "f32_16x16x32_fp8_bf8", "f64_4x4x4f64",
             "i32_32x32x16_i8"],
)  # fmt: skip
def test_clang_19_compiles_it_too(tmp_path, name, kind):
    tile, compute, memory = kernel(name, kind, Placement.K)
    text = hip(tile, compute, memory, device_only=True)
    assert set(matrix_instructions(device_assembly(tmp_path, text, compiler="clang-19"))) == {expected(compute)}


@pytest.mark.parametrize(("op", "kind", "placement"), ON_HOST, ids=str)
def test_programs_pass_on_the_host(tmp_path, op, kind, placement):
    tool("clang++-22")
    waves = (1, 2) if placement in (Placement.M, Placement.BATCH) else (2, 1)
    tile, compute, memory = kernel(op, kind, placement, waves, tiles=(1, 2) if op.m < 32 else (1, 1))
    program = compiled(tmp_path, hip(tile, compute, memory), op.name)
    run = program.run("gfx942", 8, 12, 9)
    assert run.code == 0, run.out
    assert run.matrix_instructions > 0
    assert (run.direct_loads > 0) is tile.direct
    fallback = program.run("gfx1100", 8, 12, 9)
    assert fallback.code == 0, fallback.out
    assert fallback.matrix_instructions == 0


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_wrong_programs_fail(tmp_path, change):
    tool("clang++-22")
    wrong(tmp_path, *change)


WHOLE = {
    "page": (*PAGE, None),
    "double f16": kernel("f32_32x32x8f16", "double_padded"),
    "direct fp8": kernel("f32_16x16x32_fp8_bf8", "direct_swizzled"),
    "blocks along k": kernel("f64_4x4x4f64", "single", Placement.K),
    "f32 to f16, bf16 result": (*kernel("f32_32x32x8f16", "double")[:2], Memory("f32", "f32", "bf16")),
    "batch of i8": kernel("i32_4x4x4i8", "single", Placement.BATCH),
}


@pytest.mark.parametrize("policies", WHOLE.values(), ids=WHOLE)
def test_whole_programs_compile_with_the_headers_of_hip(tmp_path, policies):
    folder = rocm(tmp_path / "rocm")
    source, program = tmp_path / "program.hip", tmp_path / "program"
    source.write_text(hip(*policies))
    targets = ("--offload-arch=gfx942", "--offload-arch=gfx90a")
    command = [tool("clang++-22"), "-x", "hip", *targets, *rocm_flags(folder), "-std=c++17", "-O3", source]
    done = subprocess.run([*command, "-o", program, "-lamdhip64"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Without a GPU the first call of the runtime fails; the program must say so and end with 1.
    run = subprocess.run([program], check=False, capture_output=True, text=True)
    if not run.stdout:
        assert run.returncode == 1
        assert re.match(r".*program\.hip:\d+: hipGetDevice\(&device\): \S", run.stderr)
