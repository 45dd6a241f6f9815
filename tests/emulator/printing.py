"""Build the kernels that print: ``python -m emulator.printing`` in ``tests`` writes golden/emulator/printing*.co."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from corpus.build_hip import COMPILER, REPEATABLE
from hip_tools import rocm, rocm_flags

__all__ = ["GOLDEN", "OBJECTS", "SOURCE", "build"]

GOLDEN = Path(__file__).parent.parent / "golden" / "emulator"
SOURCE = GOLDEN / "printing.hip"
LINKED = "opencl", "oclc_abi_version_500"
"""Libraries with what buffered printing needs, which clang does not link for HIP."""
OBJECTS = {"printing.co": (), "printing_buffered.co": ("-mprintf-kind=buffered", "-DBUFFERED")}
"""File names and flags of their own."""


def build(output: Path, *flags: str) -> Path:
    """Compile the source with more flags; return ``output``."""
    with tempfile.TemporaryDirectory() as folder:
        root = rocm(Path(folder))
        if "-mprintf-kind=buffered" in flags:
            libraries = [root / "amdgcn" / "bitcode" / f"{name}.bc" for name in LINKED]
            flags += tuple(f"-Xclang{more}" for path in libraries for more in ("=-mlink-builtin-bitcode", f"={path}"))
        command = [
            COMPILER, "-x", "hip", "-std=c++17", "--offload-arch=gfx942", "--offload-device-only",
            "--no-gpu-bundle-output", "-O2", *REPEATABLE.split(), *rocm_flags(root), "-Wno-format-security", *flags,
            SOURCE.name, "-o", str(output),
        ]  # fmt: skip
        done = subprocess.run(command, check=False, cwd=GOLDEN, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{output.name}: {done.stderr}")
    output.chmod(0o644)
    return output


if __name__ == "__main__":
    if shutil.which(COMPILER) is None:
        raise SystemExit(f"{COMPILER} is not installed")
    for name, own in OBJECTS.items():
        print(f"{build(GOLDEN / name, *own).stat().st_size:7} {name}", flush=True)
