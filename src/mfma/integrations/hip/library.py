"""The shared libraries that HIP programs load in place of AMD's, built once from the C in ``runtime/``."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from mfma.errors import MissingToolError
from mfma.integrations import toolchain
from mfma.native.jit import cache_dir

__all__ = ["LIBRARIES", "NAMES", "PLAIN", "RTC_NAMES", "RTC_PLAIN", "is_of_rtc", "library_folder", "symbols"]

NAMES = "libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7"
"""What programs of ROCm 5, 6 and 7 look for. They are libraries of their own: a program tells by the name which HIP it
was compiled for, and the meaning of some numbers depends on that."""
PLAIN = "libamdhip64.so"
"""What a linker looks for: the one that fits the headers of HIP that are installed, the newest without any."""
RTC_NAMES = "libhiprtc.so.5", "libhiprtc.so.6", "libhiprtc.so.7"
"""Where programs of newer ROCm look for hipRTC: each passes calls on to the library of the same number in `NAMES`."""
RTC_PLAIN = "libhiprtc.so"
LIBRARIES = *NAMES, *RTC_NAMES, RTC_PLAIN, PLAIN
"""What is in the folder, in the order in which it gets there."""
SOURCES = "entry.c", "registration.c", "start.c"
RTC_SOURCE = "hiprtc.c"
HEADER = "runtime.h"
FLAGS = "-std=gnu11", "-O2", "-fPIC", "-Wall", "-Wextra"


def symbols() -> list[tuple[str, str]]:
    """Version node and name of every function that AMD's library exports, sorted."""
    lines = _text("symbols.txt").splitlines()
    return [(node, name) for node, name in (line.split() for line in lines if not line.startswith("#"))]


def is_of_rtc(name: str) -> bool:
    """Say whether a function is one of hipRTC."""
    return name.startswith("hiprtc")


def library_folder() -> Path:
    """The folder with the libraries under all their names; they are built if that has not been done before.

    Raises:
        MissingToolError: there is no C compiler, no folder to build in, or the compiler refuses.
    """
    compiler = _compiler()
    cache = cache_dir()
    if cache is None:
        raise MissingToolError("the HIP runtime has no folder to be built in; set MFMA_CACHE_DIR to one.")
    folder = cache.absolute() / f"hip-{_key(compiler)}"
    if not (folder / PLAIN).exists():
        _build(compiler, folder)
    return folder


def _text(name: str) -> str:
    return (files("mfma.integrations.hip") / "runtime" / name).read_text()


def _compiler() -> Path:
    found = toolchain.c_compiler()
    if found is None:
        raise MissingToolError(
            "the HIP runtime is built with a C compiler, and there is none; install one, as with `apt install gcc`."
        )
    return found.resolve()


def _headers() -> str:
    """Major version of the headers that programs are compiled with here, of those that have a library."""
    include = toolchain.headers()
    version = toolchain.headers_version(include) if include else None
    majors = [name.rpartition(".")[2] for name in NAMES]
    return str(version[0]) if version and str(version[0]) in majors else majors[-1]


def _key(compiler: Path) -> str:
    """Digest of what decides the libraries: sources, how they are compiled, the compiler, which is the plain one."""
    digest = hashlib.sha256(repr((FLAGS, _headers(), str(compiler), compiler.stat().st_size)).encode())
    for name in (*SOURCES, RTC_SOURCE, HEADER, "symbols.txt"):
        digest.update(_text(name).encode())
    return digest.hexdigest()[:32]


def _build(compiler: Path, folder: Path) -> None:
    """Build beside the folder and move each library there, the plain one last: others may do the same meanwhile."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="hip-", dir=folder.parent) as name:
            made = Path(name)
            _compile(compiler, made)
            for plain in (PLAIN, RTC_PLAIN):
                os.link(made / f"{plain}.{_headers()}", made / plain)
            for library in LIBRARIES:
                os.replace(made / library, folder / library)
    except OSError as error:
        raise MissingToolError(
            f"the HIP runtime cannot be built in {folder}: {error.strerror}; set MFMA_CACHE_DIR to another folder."
        ) from None


def _compile(compiler: Path, folder: Path) -> None:
    for name in (*SOURCES, RTC_SOURCE, HEADER):
        (folder / name).write_text(_text(name))
    exported = symbols()
    (folder / "symbols.h").write_text(_numbered(name for _, name in exported))
    (folder / "versions.map").write_text(_version_script(exported))
    link = "-shared", "-Wl,-z,now", "-Wl,--version-script=versions.map"
    _run(compiler, folder, *FLAGS, "-c", *SOURCES)
    for name in NAMES:
        objects = [Path(source).with_suffix(".o").name for source in SOURCES]
        _run(compiler, folder, *link, f"-Wl,-soname,{name}", *objects, "-o", name, "-ldl", "-lpthread")
    _compile_rtc(compiler, folder, [name for _, name in exported if is_of_rtc(name)])


def _compile_rtc(compiler: Path, folder: Path, names: list[str]) -> None:
    """Build hipRTC's libraries; AMD's have no versions of symbols."""
    (folder / "hiprtc_symbols.h").write_text(_numbered(names))
    listed = "".join(f"  {name};\n" for name in names)
    (folder / "hiprtc.map").write_text(f"{{\nglobal:\n{listed}local:\n  *;\n}};\n")
    link = "-shared", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", "-Wl,--version-script=hiprtc.map"
    for name, runtime in zip(RTC_NAMES, NAMES, strict=True):
        words = f'-DRUNTIME="{runtime}"', RTC_SOURCE, f"-Wl,-soname,{name}", "-o", name, "-L.", f"-l:{runtime}", "-ldl"
        _run(compiler, folder, *FLAGS, *link, *words)


def _numbered(names: Iterable[str]) -> str:
    """List of functions for C, with their places in it."""
    return "".join(f"SYMBOL({number}, {name})\n" for number, name in enumerate(names))


def _run(compiler: Path, folder: Path, *arguments: str) -> None:
    done = subprocess.run([compiler, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingToolError(f"{compiler} cannot build the HIP runtime; it says:\n{done.stderr.rstrip()}")


def _version_script(exported: list[tuple[str, str]]) -> str:
    """Symbols by version node, each node after the one before, as AMD's; nothing else is exported."""
    nodes, before = [], ""
    for node, group in groupby(exported, key=lambda one: one[0]):
        names = "".join(f"  {name};\n" for _, name in group)
        local = "" if before else "local:\n  *;\n"
        nodes.append(f"{node} {{\nglobal:\n{names}{local}}}{before};\n")
        before = f" {node}"
    return "".join(nodes)
