"""Build the HIP objects of the corpus: ``python -m corpus.build_hip [NAME ...]`` in tests/.

One row per object: its name, its source in hip/, and its flags; the last ones are programs that mfma.gemm.hip writes.
The compiler is clang 22.1.8; it gives the same bytes at every build.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from corpus.case import OBJECTS
from hip_cases import kernel
from mfma.gemm.compute import MfmaPolicy
from mfma.gemm.hip import hip
from mfma.gemm.operands import Memory

__all__ = ["COMPILER", "GENERATED", "SOURCES", "VERSION", "build", "built", "compiled", "objects", "policies"]

COMPILER = "clang-22"
VERSION = "22.1.8"
"""The version of the compiler that built the committed objects."""

SOURCES = Path(__file__).parent / "hip"
COMMON = "-x hip --offload-arch=gfx942 --offload-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -std=c++17"
WARNINGS = "-Wall -Wextra -Werror"
REPEATABLE = "-fuse-cuid=none -fdebug-compilation-dir=."
"""No name made from the command line, no folder in the debug information."""
EXACT = "-ffp-contract=off"
"""No fused multiply-adds but those written: the bits follow from the source."""

ROWS = """
vector_O0      vector      -O0 {exact}
vector         vector      -O3 {exact}
vector_v5      vector      -O2 -mcode-object-version=5
vector_debug   vector      -O1 -g {exact}
integers_O0    integers    -O0
integers       integers    -O3
compare        compare     -O3
convert        convert     -O3 {exact}
math           math        -O3 {exact}
math_fused     math        -O3
flow_O0        flow        -O0 {exact}
flow_O1        flow        -O1 {exact}
flow_O2_v5     flow        -O2 {exact} -mcode-object-version=5
flow           flow        -O3 {exact}
scratch_O0     scratch     -O0
scratch_O1     scratch     -O1
scratch        scratch     -O3
lds_O0         lds         -O0 {exact}
lds            lds         -O3 {exact}
lanes          lanes       -O3
atomics        atomics     -O3
globals_O0     globals     -O0
globals        globals     -O3
buffers        buffers     -O3
mfma           mfma        -O3
networks       networks    -O3
rare           rare        -O3
"""

GENERATED = {
    "f32_32x32x8f16": "double_padded",
    "f32_16x16x32_fp8_bf8": "direct_swizzled",
    "f32_16x16x8_xf32": "swizzled",
    "f64_16x16x4f64": "padded",
    "i32_16x16x4i8": "single",
}
"""Instruction -> kind of tile policy of the generated programs that are committed."""


def objects() -> dict[str, tuple[str, list[str]]]:
    """Object's file name -> source, and flags; the source of a generated one is the instruction's name."""
    rows = [row.format(exact=EXACT).split() for row in ROWS.split("\n") if row]
    written = {f"hip_{name}.co": (f"{source}.hip", flags) for name, source, *flags in rows}
    return written | {f"hip_gemm_{op}.co": (op, ["-O3"]) for op in GENERATED}


def policies(op: str, kind: str) -> tuple[object, MfmaPolicy, Memory]:
    """The policies of a generated program: two by two waves."""
    return kernel(op, kind)


def compiled(source: str, flags: list[str], output: Path, text: str | None = None) -> Path:
    """Compile a file of ``SOURCES``, or ``text`` with ``-`` as source; return ``output``.

    Raises:
        RuntimeError: The compiler is missing or refused the source.
    """
    if shutil.which(COMPILER) is None:
        raise RuntimeError(f"{COMPILER} is not installed")
    command = [COMPILER, *COMMON.split(), *WARNINGS.split(), *REPEATABLE.split(), *flags, source, "-o", str(output)]
    done = subprocess.run(command, check=False, cwd=SOURCES, input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{output.name}: {done.stderr}")
    output.chmod(0o644)
    return output


def build(name: str, folder: Path) -> Path:
    """Build one of `objects` in ``folder``; return its path."""
    source, flags = objects()[name]
    if source in GENERATED:
        return compiled("-", flags, folder / name, hip(*policies(source, GENERATED[source]), device_only=True))
    return compiled(source, flags, folder / name)


def built() -> str:
    """The version of the compiler at hand, such as 22.1.8."""
    done = subprocess.run([COMPILER, "-dumpversion"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def main(names: list[str]) -> None:
    """Build the named objects, or all."""
    OBJECTS.mkdir(exist_ok=True)
    for name in names or objects():
        print(f"{build(name, OBJECTS).stat().st_size:7} {name}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
