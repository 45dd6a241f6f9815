"""Run an executable that AMD's HIP runtime was meant for: here it finds the emulator in that runtime's place."""

from __future__ import annotations

import os
import platform
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mfma.errors import CodeObjectError, OptionError
from mfma.integrations.doctor import require
from mfma.integrations.hip.environment import environment
from mfma.integrations.hip.library import library_folder

__all__ = ["check", "is_executable", "run"]

RUNTIME = "libamdhip64.so"
SCRIPT, ELF = b"#!", b"\x7fELF"
DF_1_PIE = 0x8000000
RESOLVED = re.compile(r"^\s*(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)
"""A line of the loader's list: what a program needs, and where it is."""
MISSING = re.compile(r"(\S+): cannot open shared object file")
UNFIT = re.compile(r"version `.*' not found")
"""What the loader says of libraries that are not there, or too old."""


def is_executable(path: str | os.PathLike[str]) -> bool:
    """Say whether a file is something to start, for whatever host: a script or an executable.

    Code objects, bundles, object files and libraries are not, and neither is what cannot be read.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.dynamic import DynamicSegment
    from elftools.elf.elffile import ELFFile

    try:
        with open(path, "rb") as file:
            start = file.read(4)
            if start != ELF:
                return start.startswith(SCRIPT)
            elf = ELFFile(file)
            if elf["e_machine"] == "EM_AMDGPU":
                return False
            if elf["e_type"] == "ET_EXEC":
                return True
            segments = list(elf.iter_segments())
            dynamic = (segment for segment in segments if isinstance(segment, DynamicSegment))
            flags = (tag["d_val"] for segment in dynamic for tag in segment.iter_tags("DT_FLAGS_1"))
            return any(segment["p_type"] == "PT_INTERP" for segment in segments) or any(f & DF_1_PIE for f in flags)
    except (OSError, ELFError, ValueError):
        return False


def run(
    program: str | os.PathLike[str],
    arguments: Sequence[str] = (),
    *,
    name: str | None = None,
    device_name: str | None = None,
    engine: str = "native",
    threads: int | None = None,
    timeout: float | None = None,
) -> NoReturn:
    """Become a program, which keeps standard streams, signals and exit code: this process does not come back.

    Args:
        program: an executable of this host that is linked with AMD's HIP runtime.
        arguments: its own arguments.
        name: what it is told to be called; its path if None.
        device_name: see `mfma.integrations.hip.environment.environment`, like the others.

    Raises:
        MissingToolError: what the runtime needs is not installed.
        CodeObjectError: the file is no such executable, or needs a library that is not there.
        OptionError: an option has no such value, or the program cannot be started.
    """
    require("program")
    variables = os.environ | environment(device_name=device_name, engine=engine, threads=threads, timeout=timeout)
    check(program, variables)
    sys.stdout.flush()
    sys.stderr.flush()
    path = os.path.abspath(program)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, and the program would go on doing so
    try:
        os.execve(path, [name or os.fspath(program), *arguments], variables)
    except OSError as error:
        raise OptionError(f"{program} cannot be started: {error.strerror}.") from None


def check(program: str | os.PathLike[str], variables: dict[str, str]) -> None:
    """Check that an executable would find all its libraries, this package's HIP runtime among them.

    Raises:
        CodeObjectError: it would not.
    """
    loader = _loader(Path(program))
    if not os.path.exists(loader):
        raise CodeObjectError(f"{program} is to be loaded by {loader}, which is not here; compile it on this system.")
    listed = subprocess.run(
        [loader, "--list", os.path.abspath(program)], env=variables, capture_output=True, text=True, check=False
    )
    missing = MISSING.search(listed.stderr)
    if missing:
        raise CodeObjectError(
            f"{program} needs {missing[1]}, which is not here; only the HIP runtime is replaced, so name the folder of "
            "other libraries in LD_LIBRARY_PATH."
        )
    if listed.returncode or UNFIT.search(listed.stderr):
        raise CodeObjectError(f"{program} cannot be loaded: {listed.stderr.strip().rstrip('.')}.")
    found = dict(RESOLVED.findall(listed.stdout))
    runtime = next((place for library, place in found.items() if library.startswith(RUNTIME)), None)
    if runtime is None:
        raise CodeObjectError(
            f"{program} is not linked with {RUNTIME}, so nothing of it would run here; link it with -lamdhip64, as "
            "hipcc does."
        )
    if not Path(runtime).resolve().is_relative_to(library_folder().resolve()):
        raise CodeObjectError(
            f"{program} insists on {runtime} (DT_RPATH); link it with -Wl,--enable-new-dtags or without -rpath."
        )


def _loader(program: Path) -> str:
    """Return the loader that a program names, after checking that it is a program of this host.

    Raises:
        CodeObjectError: it is not, or has none.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.segments import InterpSegment

    try:
        with program.open("rb") as file:
            if file.read(2) == SCRIPT:
                raise CodeObjectError(f"{program} is a script; give the executable that it starts.")
            elf = ELFFile(file)
            machine, architecture = elf["e_machine"], elf.get_machine_arch()
            named = [part.get_interp_name() for part in elf.iter_segments() if isinstance(part, InterpSegment)]
    except OSError as error:
        raise CodeObjectError(f"{program} cannot be read: {error.strerror}; give the path of a program.") from None
    except (ELFError, UnicodeDecodeError, struct.error) as error:
        raise CodeObjectError(f"{program} is no executable that can be read: {error}.") from None
    host = platform.machine()
    if MACHINES.get(machine) != host:
        raise CodeObjectError(f"{program} is for {architecture}, and this host is {host}; compile it for {host}.")
    if not named:
        raise CodeObjectError(
            f"{program} is linked statically, so its HIP runtime cannot be replaced; link it without -static."
        )
    return str(named[0])


MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}
"""Machine of an ELF file -> what Python calls such a host."""
