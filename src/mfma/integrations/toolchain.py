"""Where the compilers, headers and libraries are that some features need. Nothing is looked for at import.

Each finder returns None where there is nothing; none of them starts a process, unless only the program itself knows
its version. An installed ROCm is used as a whole; without one, clang, the HIP headers and the device libraries of the
system's own packages are.
"""

from __future__ import annotations

import glob
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "Clang", "bundler", "c_compiler", "clang", "device_libraries", "headers", "headers_version", "libpython", "linker",
    "objcopy", "package_version", "python_package", "rocm", "version",
]  # fmt: skip

OLDEST = 19
"""The first clang that knows gfx942 well enough."""
CLANGS = tuple(f"clang++-{number}" for number in (22, 21, 20, OLDEST))
"""Names of compilers with a version, the preferred first."""
ROCM = "/opt/rocm"
SYSTEM = "/usr"
"""Where distributions put their packages, which are no ROCm folder even if a variable says so."""
INCLUDE = ("/usr/include", "/usr/local/include")
BITCODE = (
    "/usr/lib/*/amdgcn/bitcode",
    "/usr/lib/amdgcn/bitcode",
    "/usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode",
    "/usr/lib/clang/*/amdgcn/bitcode",
    "/usr/lib64/rocm/llvm/lib/clang/*/amdgcn/bitcode",
    "/usr/amdgcn/bitcode",
)
"""Where distributions put the device libraries."""
PATIENCE = 20
"""Seconds that a program may take to say its version."""


@dataclass(frozen=True)
class Clang:
    """A compiler of HIP programs."""

    path: Path
    major: int


def rocm() -> Path | None:
    """Folder of an installed ROCm: ``ROCM_PATH``, ``HIP_PATH``, or ``/opt/rocm``, the first with headers of HIP."""
    chosen = (os.environ.get("ROCM_PATH"), os.environ.get("HIP_PATH"), ROCM)
    folders = (Path(folder) for folder in chosen if folder and folder.rstrip("/") != SYSTEM)
    return next((folder for folder in folders if _has_hip(folder / "include")), None)


def clang() -> Clang | None:
    """Return the compiler: that of an installed ROCm, else clang 22, else another one of at least 19."""
    root = rocm()
    if root:
        of_rocm = (root / folder / "clang++" for folder in ("llvm/bin", "lib/llvm/bin"))
        for path in of_rocm:
            if os.access(path, os.X_OK) and (major := _major(path)) >= OLDEST:
                return Clang(path, major)
    for name in CLANGS:
        if found := shutil.which(name):
            return Clang(Path(found), int(name.rpartition("-")[2]))
    found = shutil.which("amdclang++") or shutil.which("clang++")
    if found and (major := _major(Path(found))) >= OLDEST:
        return Clang(Path(found), major)
    return None


def linker(compiler: Clang) -> Path | None:
    """Return the linker of device code that a compiler calls."""
    return _beside(compiler, "lld")


def bundler(compiler: Clang) -> Path | None:
    """Return the program by which a compiler puts host and device code into one file."""
    return _beside(compiler, "clang-offload-bundler")


def objcopy(compiler: Clang) -> Path | None:
    """Return the program that the bundler calls."""
    return _beside(compiler, "llvm-objcopy")


def headers() -> Path | None:
    """Folder in which ``hip/hip_runtime.h`` is."""
    root = rocm()
    folders = [root / "include"] if root else map(Path, INCLUDE)
    return next((folder for folder in folders if _has_hip(folder)), None)


def headers_version(include: Path) -> tuple[int, int, int] | None:
    """Version of the HIP headers in a folder: major, minor, patch."""
    try:
        text = (include / "hip" / "hip_version.h").read_text()
    except OSError:
        return None
    found = dict(re.findall(r"#define\s+HIP_VERSION_(MAJOR|MINOR|PATCH)\s+(\d+)", text))
    if len(found) != 3:
        return None
    return int(found["MAJOR"]), int(found["MINOR"]), int(found["PATCH"])


def device_libraries() -> Path | None:
    """Folder of the device libraries: ``ocml.bc`` and the others."""
    root = rocm()
    patterns = [
        *([f"{glob.escape(str(root))}/{end}" for end in ("amdgcn/bitcode", "lib/llvm/lib/clang/*/lib/amdgcn/bitcode",
                                                        "llvm/lib/clang/*/lib/amdgcn/bitcode")] if root else ()),
        *BITCODE,
    ]  # fmt: skip
    found = (Path(path) for pattern in patterns for path in sorted(glob.glob(pattern), reverse=True))
    return next((folder for folder in found if (folder / "ocml.bc").is_file()), None)


def c_compiler() -> Path | None:
    """Return a compiler of C for this host: ``CC``, or the usual names."""
    names = (os.environ.get("CC"), "cc", "gcc", "clang", *(name.replace("++", "") for name in CLANGS))
    return next((Path(found) for name in names if name and (found := shutil.which(name))), None)


def libpython() -> Path | None:
    """Return the shared library of the running Python."""
    name, folder, several = (sysconfig.get_config_var(key) for key in ("INSTSONAME", "LIBDIR", "MULTIARCH"))
    if not (name and folder and ".so" in name):
        name = f"libpython{sysconfig.get_python_version()}.so.1.0"
    folders = [Path(folder), Path(folder) / (several or ".")] if folder else []
    return next((path for at in folders if (path := at / name).is_file()), None)


def python_package(name: str) -> Path | None:
    """Folder of an installed Python package, which is not imported."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    places = found.submodule_search_locations if found else None
    return Path(places[0]) if places else None


def version(program: Path) -> str:
    """Ask a program for its version: the first number with points that it prints, or an empty string."""
    try:
        done = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=PATIENCE, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\b\d+\.\d+(\.\d+)?", done.stdout)
    return found[0] if found else ""


def package_version(name: str) -> str:
    """Version of an installed Python package, which is not imported."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _has_hip(include: Path) -> bool:
    return (include / "hip" / "hip_runtime.h").is_file()


def _major(compiler: Path) -> int:
    return int(version(compiler).partition(".")[0] or 0)


def _beside(compiler: Clang, name: str) -> Path | None:
    """Find a program as clang does: in its own folder, then on the path."""
    beside = compiler.path.resolve().parent / name
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which(name)
    return Path(found) if found else None
