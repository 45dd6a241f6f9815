"""The words of a compiler's command line, as far as they decide what is built."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from mfma.errors import OptionError

__all__ = ["SOURCES", "checked", "completed", "output", "sources"]

SOURCES = (".hip", ".cpp", ".cc", ".cxx", ".cu")
"""Endings of what is compiled, all of them as HIP."""
LINKED = (".o", ".a", ".so", ".bc", ".c", ".s")
"""Endings of other inputs."""
USUAL = ("-O3", "-std=c++17")
"""Flags if none are given."""
ARCHITECTURES = ("--offload-arch=", "--cuda-gpu-arch=", "--amdgpu-target=")
WITH_VALUE = ("-o", "-include", "-imacros", "-MF", "-MT", "-MQ")
"""Flags whose value may look like a source."""
PARTIAL = {
    "-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-shared", "-emit-llvm", "--genco", "--offload-device-only",
    "--offload-host-only", "--cuda-device-only", "--cuda-host-only",
}  # fmt: skip
"""Flags that ask for something else than a program."""


def sources(words: Sequence[str]) -> list[str]:
    """Return what is to be compiled."""
    before = ("", *words)
    return [word for flag, word in zip(before, words, strict=False) if flag not in WITH_VALUE and _is_source(word)]


def output(words: Sequence[str]) -> Path | None:
    """Return what ``-o`` names."""
    after = itertools.pairwise((*words, ""))
    return next((Path(word[2:] or value) for word, value in after if word.startswith("-o")), None)


def checked(words: Sequence[str]) -> list[str]:
    """Return the sources of a whole program.

    Raises:
        OptionError: a flag asks for something else than a program, or a source is no file.
    """
    for word in words:
        if word in PARTIAL:
            raise OptionError(f"{word} does not make a program that can run; leave it out.")
    named = sources(words)
    for source in named:
        if not os.path.isfile(source):
            raise OptionError(f"there is no file {source}; give the path of a source.")
    return named


def completed(words: Sequence[str]) -> list[str]:
    """Return the words with what is left out added, and every source marked as HIP whatever its ending."""
    named = sources(words)
    given = [word for word in words if word not in named]
    usual = () if given else USUAL
    architecture = () if any(word.startswith(ARCHITECTURES) for word in given) else (f"{ARCHITECTURES[0]}gfx942",)
    others = any(word.endswith(LINKED) for word in given)  # clang warns of an -x that no input follows
    marked = (("-x", "hip", word, *(("-x", "none") if others else ())) if word in named else (word,) for word in words)
    return [*usual, *architecture, *itertools.chain.from_iterable(marked)]


def _is_source(word: str) -> bool:
    return not word.startswith("-") and word.endswith(SOURCES)
