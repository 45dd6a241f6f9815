"""The compilers that generated programs are given to."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

DEVICE = ("--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc")
STRICT = ("-std=c++17", "-O3", "-Wall", "-Wextra")
BITCODE = Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
MATRIX = re.compile(r"^\s*(v_s?mfma\w*)\s+(.*?)\s*(?:;.*)?$", re.MULTILINE)


def missing(what):
    """Fail where everything must be there, skip elsewhere."""
    message = f"{what} is not installed"
    pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)


def tool(name):
    return shutil.which(name) or missing(name)


def device_assembly(folder, text, target="gfx942", compiler="clang-22", *flags):
    """Compile a device-only program without a warning; return the assembly."""
    source = folder / "kernel.hip"
    source.write_text(text)
    command = [
        tool(compiler),
        "-x",
        "hip",
        "-std=c++17",
        f"--offload-arch={target}",
        *DEVICE,
        "-O3",
        "-Wall",
        "-Wextra",
    ]
    done = subprocess.run([*command, *flags, "-S", source, "-o", "-"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def matrix_instructions(assembly):
    """Yield mnemonic, registers of every operand (0 for a constant), and the rest of the line."""
    for mnemonic, rest in MATRIX.findall(assembly):
        *operands, last = rest.split(", ")
        last, *modifiers = last.split()
        yield mnemonic, tuple(map(_registers, [*operands, last])), tuple(modifiers)


def _registers(operand):
    several = re.fullmatch(r"[va]\[(\d+):(\d+)\]", operand)
    if several:
        first, last = map(int, several.groups())
        return last - first + 1
    return int(bool(re.fullmatch(r"[va]\d+", operand)))


def rocm(folder):
    """Lay out Debian's HIP 5.2 as a ROCm folder in which clang 22 finds what it needs."""
    if not (Path("/usr/include/hip").is_dir() and BITCODE.is_dir()):
        missing("HIP (libamdhip64-dev, libamdhip64-5, rocm-device-libs)")
    bitcode = folder / "amdgcn" / "bitcode"
    for made in (folder / "include", folder / "lib", folder / "bin", bitcode):
        made.mkdir(parents=True)
    (folder / "include" / "hip").symlink_to("/usr/include/hip")
    for library in BITCODE.glob("*.bc"):
        (bitcode / library.name).symlink_to(library)
    (bitcode / "oclc_isa_version_942.bc").symlink_to(BITCODE / "oclc_isa_version_940.bc")
    version = {"MAJOR": 5, "MINOR": 2, "PATCH": 21153}
    (folder / "bin" / ".hipVersion").write_text("".join(f"HIP_VERSION_{key}={n}\n" for key, n in version.items()))
    return folder


def rocm_flags(folder):
    """Flags for HIP 5.2 with clang 22, which no longer links hip.bc by itself."""
    bitcode = folder / "amdgcn" / "bitcode" / "hip.bc"
    link = ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(bitcode), "-Wno-linker-warnings")
    return (f"--rocm-path={folder}", "-mcode-object-version=5", "-D__AMDGCN_WAVEFRONT_SIZE=64", *link)
