"""Names of kernels as C++ source spells them, by the demangler of the C++ library that is there."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Collection

__all__ = ["brief", "demangled", "meant"]

LIBRARIES = "libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib"
ANONYMOUS, HIDDEN = "(anonymous namespace)", "{anonymous}"
NEW_TYPES = {"DF16_": ("Df", "decimal32", "_Float16"), "DF16b": ("Dd", "decimal64", "std::bfloat16_t")}
"""What libraries before GCC 13 do not know, each with a type that they do know and its name."""
BRACKETS = {"<": 1, "(": 1, ">": -1, ")": -1}


@functools.cache
def demangled(name: str) -> str:
    """Spell a name as its source does, or give it back if it is not mangled or no C++ library is there.

    >>> demangled("_Z4fillIfEvPT_i")
    'void fill<float>(float*, int)'
    >>> demangled("matmul_kernel")
    'matmul_kernel'
    """
    if not name.startswith("_Z") or not name.isascii() or "\0" in name:
        return name
    text = _demangler()(name)
    if text != name:
        return text
    stand_in = name
    for new, (old, *_) in NEW_TYPES.items():
        stand_in = stand_in.replace(new, old)
    text = _demangler()(stand_in)
    if text == stand_in:
        return name
    for _, shown, right in NEW_TYPES.values():
        text = text.replace(shown, right)
    return text


def meant(given: str, names: Collection[str]) -> list[str]:
    """Find the mangled names that a spelling may stand for: whole, without parameters, or without template arguments.

    One that is such a name itself stands for no other.

    >>> names = ["_Z4fillIfEvPT_i", "_Z4fillIiEvPT_i", "_Z4copyPfPKf"]
    >>> meant("copy", names), meant("fill<float>", names), len(meant("fill", names))
    (['_Z4copyPfPKf'], ['_Z4fillIfEvPT_i'], 2)
    """
    if given in names:
        return [given]
    given = _closed(given)
    return [name for name in names if given in _spellings(name)]


def brief(name: str) -> str:
    """Spell a name as its source does, without parameters and result.

    >>> brief("_Z4fillIfEvPT_i")
    'fill<float>'
    """
    head = _outside(demangled(name).replace(ANONYMOUS, HIDDEN), "(")
    return head.removeprefix("void ").replace(HIDDEN, ANONYMOUS)  # of templates only the result is part of the name


def _spellings(name: str) -> tuple[str, str, str]:
    """How a name may be spelled."""
    return demangled(name), brief(name), _outside(brief(name), "<")


def _closed(text: str) -> str:
    """Write ``>>`` where C++ before 2011 needs ``> >``."""
    return re.sub("> (?=>)", ">", text)


def _outside(text: str, end: str) -> str:
    """The text before a bracket that stands in no other one."""
    depth = 0
    for at, character in enumerate(text):
        if character == end and depth == 0:
            return text[:at]
        depth += BRACKETS.get(character, 0)
    return text


@functools.cache
def _demangler() -> Callable[[str], str]:
    for library in LIBRARIES:
        try:
            loaded = ctypes.CDLL(library)
            function = loaded.__cxa_demangle
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        return functools.partial(_by_library, function)
    return str


def _by_library(function: Callable[..., int | None], name: str) -> str:
    status = ctypes.c_int()
    found = function(name.encode(), None, None, ctypes.byref(status))
    if not found:
        return name
    try:
        return _closed(ctypes.string_at(found).decode())
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(found))
