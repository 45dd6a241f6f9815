"""Run generated HIP programs on the host, with mfma's matrix instructions: see hip_on_host/hip/hip_runtime.h.

As a script it runs one compiled program, in a process of its own: a wrong program may do anything.
"""

import ctypes
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mfma.builtins.entry import native_entry
from mfma.isa.catalogue import find

SHIM = Path(__file__).parent / "hip_on_host"
LAUNCH = re.compile(r"(matrix_multiply_generic<TilePolicy, ComputePolicy>)\s*<<<grid, threads>>>")
COUNTS = ("matrix_instructions", "direct_loads")


@dataclass(frozen=True)
class Run:
    """What a program did: exit code, output, and how many instructions of some kinds it executed."""

    code: int
    out: str
    err: str
    matrix_instructions: int
    direct_loads: int


@dataclass(frozen=True)
class HostProgram:
    """A program as a shared library, and its matrix instruction or an empty string."""

    library: Path
    op: str

    def run(self, device, *sizes):
        """Run ``main`` as on a device of this name, timing a product of these sizes."""
        counts = self.library.with_suffix(".json")
        command = [sys.executable, __file__, self.library, self.op, device, *map(str, sizes)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode in (0, 1), f"{done.returncode}: {done.stderr}"
        return Run(done.returncode, done.stdout, done.stderr, **json.loads(counts.read_text()))


def compiled(folder, text, op="", compiler="clang++-22"):
    """Compile a program, the text of one, for the host."""
    text, launches = LAUNCH.subn(r"launch_on_host(\1, grid, threads)", text)
    assert launches == 1
    source, library = folder / "program.cpp", folder / "program.so"
    source.write_text(text)
    defines = ["-D__gfx942__=1", *([f"-D{find(op).builtin}=multiplied"] if op else [])]
    command = [compiler, "-std=c++17", "-O1", "-fPIC", "-shared", "-Wno-unknown-attributes", f"-I{SHIM}", *defines]
    done = subprocess.run([*command, source, "-o", library], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return HostProgram(library, op)


def main(library, op, device, *sizes):
    loaded = ctypes.CDLL(library)
    (ctypes.c_char * 256).in_dll(loaded, "device_name").value = device.encode()
    if op:
        ctypes.c_void_p.in_dll(loaded, "matrix_instruction").value = native_entry(find(op)).address
    arguments = [b"program", *(size.encode() for size in sizes)]
    code = loaded.main(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None))
    counts = {name: ctypes.c_long.in_dll(loaded, name).value for name in COUNTS}
    Path(library).with_suffix(".json").write_text(json.dumps(counts))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
