"""Which tools the features that need some have here, and the one command that installs what is missing.

Every feature that needs a tool calls `require` first, so its error has that command too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from mfma.errors import MissingToolError, OptionError, near
from mfma.integrations import toolchain

__all__ = ["FEATURES", "TOOLS", "TRITON", "Feature", "Finding", "Tool", "examine", "install", "require"]


@dataclass(frozen=True)
class Tool:
    """Something to be installed: its name in the list, and what finds it."""

    name: str
    find: Callable[[], Path | None]
    version: Callable[[Path], str] = lambda _: ""
    apt: str = ""
    """Packages of Debian and Ubuntu; ``NN`` stands for the version of clang."""
    pip: str = ""


@dataclass(frozen=True)
class Feature:
    """Something that works only with tools: how it is called, and the names of the tools."""

    name: str
    what: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """A tool, where it is (None: nowhere) and its version (empty if nothing says it)."""

    tool: Tool
    path: Path | None
    version: str

    @property
    def needed_for(self) -> tuple[str, ...]:
        """Names of the features that need it."""
        return tuple(feature.name for feature in FEATURES.values() if self.tool.name in feature.needs)


def _clang() -> Path | None:
    found = toolchain.clang()
    return found.path if found else None


def _of_clang(find: Callable[[toolchain.Clang], Path | None]) -> Callable[[], Path | None]:
    def found() -> Path | None:
        compiler = toolchain.clang()
        return find(compiler) if compiler else None

    return found


def _lld_version(path: Path) -> str:
    return toolchain.version(path.with_name("ld.lld"))  # under its plain name it does not say


def _headers_version(include: Path) -> str:
    return ".".join(map(str, toolchain.headers_version(include) or ()))


def _package(name: str, pip: str) -> Tool:
    return Tool(name, lambda: toolchain.python_package(name), lambda _: toolchain.package_version(name), pip=pip)


def _python_apt() -> str:
    """The package of the shared library, if Python itself is the distribution's; others bring theirs or have none."""
    return f"libpython3.{sys.version_info.minor}" if sys.base_prefix == toolchain.SYSTEM else ""


TRITON = "triton==3.9.0"
"""What pip calls the version whose driver interface `mfma.integrations.triton` has."""
TOOLS = {
    tool.name: tool
    for tool in (
        Tool("clang", _clang, toolchain.version, "clang-NN"),
        Tool("lld", _of_clang(toolchain.linker), _lld_version, "lld-NN"),
        Tool("clang-offload-bundler", _of_clang(toolchain.bundler), toolchain.version, "clang-tools-NN"),
        Tool("llvm-objcopy", _of_clang(toolchain.objcopy), toolchain.version, "llvm-NN"),
        Tool("HIP headers", toolchain.headers, _headers_version, "libamdhip64-dev"),
        Tool("device libraries", toolchain.device_libraries, apt="rocm-device-libs"),
        Tool("C compiler", toolchain.c_compiler, toolchain.version, "gcc libc6-dev"),
        Tool("libpython", toolchain.libpython, lambda _: sys.version.partition(" ")[0], _python_apt()),
        _package("triton", TRITON),
        _package("torch", "torch"),
    )
}
RUNNING = ("C compiler", "libpython")
COMPILING = ("clang", "lld", "clang-offload-bundler", "llvm-objcopy", "HIP headers", "device libraries")
FEATURES = {
    feature.name: feature
    for feature in (
        Feature("hip", "building and running whole HIP programs (mfma run FILE.hip)", (*COMPILING, *RUNNING)),
        Feature("program", "running built HIP programs (mfma run ./PROGRAM)", RUNNING),
        Feature("triton", "running Triton kernels on the CPU (mfma.triton)", ("triton", "torch")),
    )
}
"""In the order of the list."""

NEWEST_KNOWN = 22
CLANG_NUMBER = re.compile(r"^\s*clang-(\d+) \|", re.MULTILINE)
BY_HAND = {
    "clang": f"clang (of at least {toolchain.OLDEST}; {NEWEST_KNOWN} is best)",
    "libpython": "a Python that was configured with --enable-shared",
}
"""What to say of a tool where no package of this system is known."""


def examine(names: Iterable[str] = FEATURES) -> list[Finding]:
    """Look for all tools of some features; every version is asked for.

    Raises:
        OptionError: there is no such feature.
    """
    wanted = {need for name in names for need in _feature(name).needs}
    return [_finding(tool) for tool in TOOLS.values() if tool.name in wanted]


def require(name: str) -> None:
    """Check that a feature has its tools; fast, since no version is asked for.

    Raises:
        MissingToolError: it lacks one; the message has the command that installs it.
    """
    feature = _feature(name)
    missing = [tool for need in feature.needs if not (tool := TOOLS[need]).find()]
    if missing:
        lacks = _listed([tool.name for tool in missing])
        are = "are" if missing[1:] else "is"
        raise MissingToolError(f"{feature.what} needs {lacks}, which {are} not here; to install: {install(missing)}")


def install(missing: Iterable[Tool]) -> str:
    """Return the command that installs tools, or words where there is none: the system's packages are not known."""
    tools = list(missing)
    has_apt = shutil.which("apt-get") is not None
    apt = [tool for tool in tools if tool.apt and has_apt]
    pip = [tool.pip for tool in tools if tool.pip]
    by_hand = [BY_HAND.get(tool.name, tool.name) for tool in tools if tool not in apt and not tool.pip]
    commands = []
    if apt:
        number = _clang_number() if any("NN" in tool.apt for tool in apt) else ""
        sudo = "" if os.geteuid() == 0 else "sudo "
        packages = " ".join(tool.apt for tool in apt).replace("NN", number)
        commands.append(f"{sudo}apt-get update && {sudo}apt-get install {packages}")
    if pip:
        commands.append(f"pip install {' '.join(pip)}")
    if by_hand:
        means = "the package manager of this system"
        commands = [", and ".join([*([" && ".join(commands)] if commands else []), f"{_listed(by_hand)}, by {means}"])]
    return " && ".join(commands)


def _feature(name: str) -> Feature:
    if name not in FEATURES:
        raise OptionError(
            f"no feature is called {name!r}; there are {_listed(list(FEATURES))}.{near(name, list(FEATURES))}"
        )
    return FEATURES[name]


def _finding(tool: Tool) -> Finding:
    path = tool.find()
    return Finding(tool, path, tool.version(path) if path else "")


def _clang_number() -> str:
    """Version of the clang to install: what is there already, for its linker; else the best of which apt knows."""
    found = toolchain.clang()
    if found and found.path.name == f"clang++-{found.major}":
        return str(found.major)
    names = [f"clang-{number}" for number in range(toolchain.OLDEST, NEWEST_KNOWN + 1)]
    done = subprocess.run(["apt-cache", "madison", *names], capture_output=True, text=True, check=False)
    known = CLANG_NUMBER.findall(done.stdout)
    return max(known, key=int, default=str(NEWEST_KNOWN))


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
