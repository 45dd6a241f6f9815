"""A kernel's arguments as words on the command line: arrays in files, new arrays, and numbers of any type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mfma.cli.files import load
from mfma.cli.shell import Refusal
from mfma.formats import FORMATS

if TYPE_CHECKING:
    from mfma.codeobject import Argument, Kernel

__all__ = ["Arguments"]

TYPES = {
    **{f"{kind}{bits}": f"{letter}{bits // 8}" for kind, letter in (("int", "i"), ("uint", "u"), ("i", "i"), ("u", "u"))
       for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits // 8}" for bits in (16, 32, 64)},
    **{name: format.dtype for name, format in FORMATS.items() if not format.ignored},
    **{format.dtype: format.dtype for format in FORMATS.values()},
}  # fmt: skip
"""What a type is called on the command line -> NumPy's type: NumPy's and ml_dtypes' names, and those of the formats."""

FLOAT_NAMES = {"half": 2, "_Float16": 2, "float": 4, "double": 8}
"""OpenCL's and C's names of floats, as metadata have them -> bytes."""


class Arguments:
    """The words after ``--args``, read for one kernel.

    Attributes:
        words: as they were given.
        values: what the launch takes; equal names of files are one array.
    """

    def __init__(self, kernel: Kernel, words: Sequence[str]) -> None:
        from mfma.emulator.arguments import named

        self.words = tuple(words)
        self._files: dict[str, Any] = {}
        self.values = [self._value(argument, name, word) for argument, name, word in named(kernel, self.words)]

    def target(self, output: str) -> tuple[str, Any]:
        """Path and array of ``-o NAME.npy`` or ``-o NAME.npy=POSITION``."""
        path, _, position = output.rpartition("=")
        if not path:
            path, position = output, ""
        if not path.endswith(".npy"):
            raise Refusal(f"-o {output}: arrays are written to .npy files; give NAME.npy or NAME.npy=POSITION.")
        if position:
            index = int(position) if position.isdecimal() else -1
        else:
            index = self.words.index(path) if path in self.words else -1
        if not 0 <= index < len(self.values) or not isinstance(self.values[index], np.ndarray):
            arrays = [f"{i} ({word})" for i, word in enumerate(self.words) if isinstance(self.values[i], np.ndarray)]
            raise Refusal(
                f"-o {output} names no array among the arguments; give a NAME.npy of --args, or NAME.npy=POSITION with "
                f"the position of an array: {', '.join(arrays) or 'there is none'}."
            )
        return path, self.values[index]

    def _value(self, argument: Argument, name: str, word: str) -> Any:
        from mfma.codeobject import ValueKind

        if word.endswith(".npy"):
            return self._array(word)
        if word.startswith("zeros:"):
            return _zeros(word)
        if word == "null":
            return None if argument.kind is ValueKind.GLOBAL_BUFFER else 0
        if argument.kind is ValueKind.GLOBAL_BUFFER:
            raise Refusal(f"{name} is a pointer and {word!r} was given; give NAME.npy, zeros:TYPE:SHAPE or null.")
        type_, colon, number = word.rpartition(":")
        if colon:
            return _typed(type_, number, word)
        return _number(argument, name, word)

    def _array(self, path: str) -> Any:
        if path not in self._files:
            self._files[path] = load(path)
        return self._files[path]


def _dtype(name: str, word: str) -> np.dtype[Any]:
    if name not in TYPES:
        raise Refusal(f"{word!r} begins with no type; give one of {', '.join(TYPES)}.")
    return np.dtype(TYPES[name])


def _zeros(word: str) -> Any:
    _, name, *shape = word.split(":")
    try:
        (sizes,) = shape
        numbers = [int(n) for n in sizes.split(",")]
        if min(numbers) < 1:
            raise ValueError(sizes)
    except ValueError:
        raise Refusal(f"{word!r} is no array; give zeros:TYPE:SHAPE such as zeros:float32:64,64.") from None
    dtype = _dtype(name, word.removeprefix("zeros:"))
    try:
        return np.zeros(numbers, dtype)
    except ValueError as error:
        raise Refusal(f"{word!r} is no array: {error}.") from None


def _typed(name: str, number: str, word: str) -> Any:
    """A number with its type, as in ``float32:1``: rounded once to a float, exact as an integer."""
    dtype = _dtype(name, word)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        value = _integer(number)
        if value is None or not bounds.min <= value <= bounds.max:
            raise Refusal(f"{word!r} is no number of its type; give an integer from {bounds.min} to {bounds.max}.")
        return dtype.type(value)
    value_ = _float(number)
    if value_ is None:
        raise Refusal(f"{word!r} is no number of its type; give a decimal such as {name}:1.5, inf or nan.")
    return _rounded(value_, dtype, word)


def _rounded(number: float, dtype: np.dtype[Any], word: str) -> Any:
    from mfma.formats.codec import encode

    format = next(format for format in FORMATS.values() if format.dtype == dtype.name and not format.ignored)
    value = encode(np.float64(number), format)[()]
    if not math.isnan(number) and (math.isnan(value) or math.isinf(value) != math.isinf(number)):
        raise Refusal(f"{word!r} is no number of its type; {dtype.name} goes to {format.max:g}.")
    return value


def _number(argument: Argument, name: str, word: str) -> Any:
    """A number without a type: the kernel's metadata or the way in which it is written say what it is."""
    value = _integer(word)
    if value is not None:
        is_float = FLOAT_NAMES.get(argument.type_name) == argument.size
        return float(value) if is_float and not word.lower().lstrip("+-").startswith("0x") else value
    number = _float(word)
    if number is None:
        raise Refusal(
            f"{word!r} is no value for {name}; give an integer, a float such as 1.5, or a number with its type such as "
            "float32:1 (arrays are NAME.npy or zeros:TYPE:SHAPE)."
        )
    if argument.size not in (4, 8) and FLOAT_NAMES.get(argument.type_name) != argument.size:
        types = {2: "float16:{0} or bfloat16:{0}", 1: "fp8:{0} or bf8:{0}"}.get(argument.size, "NAME.npy")
        raise Refusal(
            f"{name} has {argument.size} bytes, so {word!r} may be of several types; give {types.format(word)}."
        )
    return number


def _integer(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
