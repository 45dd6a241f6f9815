"""Headers and device libraries of a distribution's HIP 5, laid out as the folder of a ROCm for a newer clang.

All of it is links, but for two headers that call what clang no longer has.
"""

from __future__ import annotations

import re
from pathlib import Path

from mfma.integrations import toolchain

__all__ = ["CORRECTIONS", "lay_out"]

SAME_GPU = ("oclc_isa_version_942.bc", "oclc_isa_version_940.bc")
"""What clang looks for, and the same by the name of the first gfx942."""
CORRECTIONS = {
    "amd_hip_atomic.h": (
        (
            r"__device__\s+extern\s+unsigned int __builtin_amdgcn_atomic_(inc|dec)\((?:[^)]*)\) __asm\([^)]*\);\s+"
            r"return __builtin_amdgcn_atomic_\1\(\s*address, val, __ATOMIC_RELAXED, 1 [^)]*\);",
            r'return __builtin_amdgcn_atomic_\g<1>32(address, val, __ATOMIC_RELAXED, "agent");',
        ),
    ),
    "amd_hip_fp16.h": (
        (r"\b__llvm_amdgcn_rcp_f16\(", "__builtin_amdgcn_rcph("),
        (
            r"\b__llvm_amdgcn_rcp_2f16\(x\)",
            "_Float16_2{__builtin_amdgcn_rcph(static_cast<__half2_raw>(x).data.x), "
            "__builtin_amdgcn_rcph(static_cast<__half2_raw>(x).data.y)}",
        ),
    ),
}
"""Of headers in ``hip/amd_detail``, what to replace."""


def lay_out(folder: Path, include: Path, bitcode: Path) -> None:
    """Lay out headers and device libraries in a folder that does not exist yet."""
    libraries, headers = folder / "amdgcn" / "bitcode", folder / "include" / "hip"
    for made in (headers / "amd_detail", folder / "lib", folder / "bin", libraries):
        made.mkdir(parents=True)
    _link(include / "hip", headers)
    _link(include / "hip" / "amd_detail", headers / "amd_detail")
    for name, replacements in CORRECTIONS.items():
        _correct(headers / "amd_detail" / name, replacements)
    for library in bitcode.glob("*.bc"):
        (libraries / library.name).symlink_to(library)
    wanted, same = (libraries / name for name in SAME_GPU)
    if same.exists() and not wanted.exists():
        wanted.symlink_to(same.resolve())
    numbers = zip(("MAJOR", "MINOR", "PATCH"), toolchain.headers_version(include) or (), strict=False)
    (folder / "bin" / ".hipVersion").write_text("".join(f"HIP_VERSION_{key}={n}\n" for key, n in numbers))


def _link(source: Path, target: Path) -> None:
    """Link to what is in a folder and is not there yet."""
    for path in source.iterdir() if source.is_dir() else ():
        if not (target / path.name).exists():
            (target / path.name).symlink_to(path)


def _correct(header: Path, replacements: tuple[tuple[str, str], ...]) -> None:
    """Put a corrected copy in the place of a header, if there is something to correct."""
    if not header.exists():
        return
    before = after = header.read_text()
    for pattern, replacement in replacements:
        after = re.sub(pattern, replacement, after)
    if after != before:
        header.unlink()
        header.write_text(after)
