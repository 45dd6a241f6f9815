"""Whole HIP programs from source: host and device code by the clang that is here, linked with this package's runtime.

An installed ROCm is used as it is. Headers and device libraries of a distribution's packages are older than its clang
and lie where that does not look, so they are laid out as the folder of a ROCm.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mfma.errors import OptionError
from mfma.integrations import toolchain
from mfma.integrations.doctor import require
from mfma.integrations.hip import words as command_line
from mfma.integrations.hip.layout import CORRECTIONS, lay_out
from mfma.integrations.hip.library import library_folder
from mfma.integrations.toolchain import Clang

__all__ = ["build", "command", "flags"]

UNLINKED = "hip.bc", "ocml.bc", "oclc_daz_opt_off.bc"
"""What clang used to link by itself, and between them the user of the last, which is only linked where it is needed."""
WITHOUT_SIZE = 22
"""The first clang that does not define a macro which the headers of HIP use before version 7."""


def build(words: Sequence[str]) -> Path:
    """Compile a program; return where it is.

    Without ``-o`` it is kept in the cache, and found there again by its preprocessed source and the flags.

    Args:
        words: sources and flags, as for clang.

    Raises:
        MissingToolError: something to compile with is not installed.
        OptionError: a flag asks for something else than a program, a source is no file, or nothing can be written.
        CalledProcessError: the compiler has failed, after writing its errors to standard error.
    """
    command_line.checked(words)
    whole = [*command(), *command_line.completed(words)]
    runtime = f"-L{library_folder()}"
    if output := command_line.output(words):
        _compile([*whole, runtime])
        return output
    kept = _folder() / f"program-{_key(whole)}"
    if not kept.is_file() or any(word.startswith("-l") for word in words):  # libraries may have changed unseen
        new = kept.with_name(f"tmp{secrets.token_hex(4)}")
        try:
            _compile([*whole, runtime, "-o", str(new)])
            new.replace(kept)
        finally:
            new.unlink(missing_ok=True)
    return kept


def command() -> list[str]:
    """Return the compiler that is here, and the flags by which it uses the HIP that is here.

    Raises:
        MissingToolError: something to compile with is not installed.
        OptionError: there is no folder to lay headers and device libraries out in.
    """
    require("hip")
    compiler = toolchain.clang()
    assert compiler is not None  # `require` has checked
    return [str(compiler.path), *flags(compiler, _rocm())]


def flags(compiler: Clang, root: Path) -> tuple[str, ...]:
    """Return the flags by which a compiler uses the ROCm in a folder, an installed one or one that is laid out."""
    version = toolchain.headers_version(root / "include")
    is_older = compiler.major >= WITHOUT_SIZE and version is not None and version[0] < 7
    size = ("-D__AMDGCN_WAVEFRONT_SIZE=64",) if is_older else ()
    # of its own accord clang looks into the system's headers first, which may be those of another HIP
    found = (f"--rocm-path={root}", "-isystem", str(root / "include"), *size)
    if root == toolchain.rocm():
        return found
    bitcode = [root / "amdgcn" / "bitcode" / name for name in UNLINKED]
    link = [word for file in bitcode if file.exists() for word in ("-mlink-builtin-bitcode", str(file))]
    passed = [part for word in link for part in ("-Xclang", word)]
    return (*found, "-mcode-object-version=5", *passed, *(("-Wno-linker-warnings",) if link else ()))


def _rocm() -> Path:
    """Return the folder of the installed ROCm, or of one that links to what is installed."""
    installed = toolchain.rocm()
    if installed:
        return installed
    include, bitcode = toolchain.headers(), toolchain.device_libraries()
    assert include is not None
    assert bitcode is not None  # `require` has checked both
    content = (include, toolchain.headers_version(include), bitcode, sorted(os.listdir(bitcode)), CORRECTIONS)
    folder = _folder() / f"rocm-{hashlib.sha256(repr(content).encode()).hexdigest()[:32]}"
    if not folder.is_dir():
        new = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}")
        try:
            lay_out(new, include, bitcode)
            with suppress(OSError):  # another process was faster
                new.rename(folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return folder


def _folder() -> Path:
    from mfma.native.jit import cache_dir

    folder = cache_dir()
    if folder is None:
        raise OptionError("there is no folder for compiled programs; set MFMA_CACHE_DIR to one.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(
            f"cannot make the folder {folder}: {error.strerror}; set MFMA_CACHE_DIR to another."
        ) from None
    return folder.absolute()


def _key(whole: Sequence[str]) -> str:
    """Digest of what decides the program, but for libraries that are named by ``-l``."""
    done = subprocess.run([*whole, "-E"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        os.write(2, done.stderr)
        raise subprocess.CalledProcessError(done.returncode, whole)
    status = os.stat(whole[0])
    key = hashlib.sha256(repr((whole, os.getcwd(), status.st_mtime_ns, status.st_size)).encode())
    key.update(done.stdout)
    for word in whole[1:]:
        for name in (word, word.removeprefix("@"), word.partition("=")[2]):
            if name and os.path.isfile(name):
                key.update(Path(name).read_bytes())
    return key.hexdigest()[:32]


def _compile(command: Sequence[str]) -> None:
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
