"""The compilers that generated programs are given to."""

import os
import re
import shutil
import subprocess

import pytest

from mfma.integrations import toolchain
from mfma.integrations.hip.compiler import flags
from mfma.integrations.hip.layout import lay_out

DEVICE = ("--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc")
STRICT = ("-std=c++17", "-O3", "-Wall", "-Wextra")
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
    """Lay out the HIP of the system's packages as a ROCm folder."""
    include, bitcode = toolchain.headers(), toolchain.device_libraries()
    if not (include and bitcode):
        missing("HIP (libamdhip64-dev, libamdhip64-5, rocm-device-libs)")
    lay_out(folder, include, bitcode)
    return folder


def rocm_flags(folder):
    """Return the flags for HIP of a folder with the compiler that programs are compiled with."""
    return flags(toolchain.clang() or missing("clang"), folder)
