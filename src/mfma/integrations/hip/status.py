"""Status codes of HIP functions."""

from __future__ import annotations

import functools
from enum import IntEnum
from importlib.resources import files

__all__ = ["HipError", "Status", "names_and_texts"]


class Status(IntEnum):
    """What a HIP function returns: those that this runtime has a reason for."""

    SUCCESS = 0
    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    INVALID_CONFIGURATION = 9
    INVALID_PITCH_VALUE = 12
    INVALID_SYMBOL = 13
    INVALID_DEVICE_POINTER = 17
    INVALID_MEMCPY_DIRECTION = 21
    INVALID_DEVICE_FUNCTION = 98
    INVALID_DEVICE = 101
    INVALID_IMAGE = 200
    INVALID_CONTEXT = 201
    NO_BINARY_FOR_GPU = 209
    UNSUPPORTED_LIMIT = 215
    PEER_ACCESS_UNSUPPORTED = 217
    FILE_NOT_FOUND = 301
    INVALID_HANDLE = 400
    NOT_FOUND = 500
    NOT_READY = 600
    HOST_MEMORY_ALREADY_REGISTERED = 712
    HOST_MEMORY_NOT_REGISTERED = 713
    LAUNCH_FAILURE = 719
    COOPERATIVE_LAUNCH_TOO_LARGE = 720
    NOT_SUPPORTED = 801


class HipError(Exception):
    """A HIP function fails with a status, as AMD's would."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.name)
        self.status = status


@functools.cache
def names_and_texts() -> dict[int, tuple[str, str]]:
    """Return HIP's name and the text that AMD's runtime has for every status, by number."""
    lines = (files("mfma.integrations.hip") / "runtime" / "status.txt").read_text().splitlines()
    split = (line.split(" ", 2) for line in lines if not line.startswith("#"))
    return {int(number): (name, text) for number, name, text in split}
