"""Arrays in ``.npy`` files: read as the operands of an instruction, written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mfma.cli.shell import Refusal
from mfma.errors import MfmaError, OperandTypeError
from mfma.formats import Format
from mfma.formats.arrays import FLOATS, is_untyped, raw, view
from mfma.formats.codec import encode

__all__ = ["load", "operand", "replacing", "save", "stored"]


def load(path: str) -> NDArray[Any]:
    """Read an array from a ``.npy`` file; pickled objects and other kinds of file are refused."""
    try:
        with open(path, "rb") as file:
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    except OSError as error:
        raise Refusal(f"cannot read {path}: {error.strerror or error}.") from None
    except (ValueError, EOFError) as error:
        raise Refusal(
            f"{path} is no array that can be read ({str(error).rstrip('.')}): give a .npy file of numbers, "
            "8-bit floats by their bytes (array.view('uint8'))."
        ) from None
    return array


def stored(format: Format) -> Format:
    """Return the format in which memory holds an operand: f32 for xf32, whose low bits only the matrix core cuts."""
    return FLOATS.get(format.dtype, format)


def operand(path: str, format: Format, what: str, *, convert: bool) -> NDArray[Any]:
    """Read an operand as an array of its element type.

    Files of this type, of its integer storage, or of untyped bytes of its width are taken as they are. Other
    numbers are rounded to it if ``convert``, and refused otherwise.
    """
    array = load(path)
    try:
        return view(raw(array, format, what), format)
    except OperandTypeError as error:
        if is_untyped(array.dtype) or array.dtype.kind not in "fiu":
            raise OperandTypeError(f"{error} ({what} is {path}.)") from None
        if not convert:
            raise OperandTypeError(
                f"{what} ({path}) is {array.dtype.name}, but an operand of format {format} is {format.dtype}: "
                "add --convert to round its numbers to that type."
            ) from None
    return encode(array, stored(format))


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Open a new file beside ``path`` that takes its place when all has been written, and vanishes otherwise."""
    place = Path(os.path.realpath(path))
    temporary = place.with_name(f".mfma-{secrets.token_hex(8)}.tmp")
    try:
        if place.exists() and not place.is_file():
            raise Refusal(f"cannot write {path}: it is no regular file.")
        with open(temporary, "xb") as file:
            yield file
        if place.exists():
            temporary.chmod(place.stat().st_mode)
        temporary.replace(place)
    except MfmaError:  # one of them, of a watchdog, is an OSError too
        raise
    except OSError as error:
        raise Refusal(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def save(path: str, file: IO[bytes], array: NDArray[Any]) -> None:
    """Write an array into a file that `replacing` has opened for ``path``."""
    try:
        np.lib.format.write_array(file, array, allow_pickle=False)
    except OSError as error:
        raise Refusal(f"cannot write {path}: {error.strerror or error}.") from None
