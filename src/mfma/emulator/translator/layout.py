"""The state of a wave as one block of memory, which native code and NumPy share.

A block begins with the vector registers (``v``, uint32 (512, 64): accumulation registers from row 256 on) and the
scalar ones (``s``, uint32 (128,)). Fields of 64 bits follow, in the order of `Field`, and then the private memory of
the lanes, lane after lane. `buffer_table` is the device memory of a launch as native code looks addresses up in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from mfma.emulator.memory import Buffer, Bytes
from mfma.emulator.semantics.values import WAVE

__all__ = [
    "ALIGNMENT", "BUFFER_WORDS", "FIELDS", "SCALARS", "SCRATCH", "SGPRS", "VGPRS", "Field", "Status", "address",
    "block", "buffer_table",
]  # fmt: skip

VGPRS = 512
SGPRS = 128
SCALARS = 4 * WAVE * VGPRS
"""Byte at which the scalar registers begin."""
FIELDS = SCALARS + 4 * SGPRS
"""Byte at which the fields begin."""
ALIGNMENT = 64
"""Every block begins at a multiple of this, and so does every vector register."""


class Status(IntEnum):
    """What a wave is doing."""

    READY = 0
    YIELDED = 1  # its turn is over; it can go on
    BARRIER = 2
    ENDED = 3


class Field(IntEnum):
    """The fields of 64 bits, by their position behind `FIELDS`."""

    SCC = 0  # 0 or 1
    PC = 1  # device address of the next instruction
    MODE = 2  # the MODE register
    EXECUTED = 3  # instructions so far, the current one included
    TURN = 4  # value of EXECUTED from which on the wave yields at a backward jump
    LDS = 5  # host address of the work-group's LDS
    LDS_SIZE = 6
    SCRATCH = 7  # host address of private memory
    SCRATCH_SIZE = 8  # bytes of one lane
    BUFFERS = 9  # host address of the table of buffers
    BUFFER_COUNT = 10
    FLOAT_ORDER = 11  # host address of `mfma.emulator.interpreter.float_order.Head`
    NUMBER = 12  # of the wave in its work-group
    AT = 13  # address of the instruction that it executes or executed last; 0 before the first
    STATUS = 14  # see `Status`
    SERIAL = 15  # number of the wave in the launch
    CODE = 16  # host address of the code in which native code finds pc, see `mfma.emulator.translator.driver`; or 0

    @property
    def offset(self) -> int:
        """Byte of the field in the block."""
        return FIELDS + 8 * self


SCRATCH = -(-(FIELDS + 8 * len(Field)) // ALIGNMENT) * ALIGNMENT
"""Byte at which private memory begins."""
BUFFER_WORDS = 4
"""Words of 64 bits for a buffer: its first device address, that behind its last, its host address, 1 if writable."""


def block(scratch: int) -> npt.NDArray[np.uint8]:
    """Give zeroed memory for a wave whose lanes have ``scratch`` bytes each.

    >>> address(block(16)) % ALIGNMENT
    0
    """
    size = SCRATCH + WAVE * scratch
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    start = -address(memory) % ALIGNMENT
    return memory[start : start + size]


def address(array: npt.NDArray[Any]) -> int:
    """Host address of an array's first element."""
    return int(array.__array_interface__["data"][0])


def buffer_table(mapped: Iterable[tuple[Buffer, Bytes]]) -> npt.NDArray[np.int64]:
    """Buffers and their memory, sorted by address, shape (buffers, `BUFFER_WORDS`).

    One with protected addresses is several: what reaches across their ends is left to the interpreter.

    >>> from mfma.emulator.memory import AddressSpace
    >>> space = AddressSpace()
    >>> data = space.allocate(64, name="data")
    >>> data.protected = ((data.address + 16, data.address + 32),)
    >>> rows = buffer_table(space.mapped()).tolist()
    >>> [(first - data.address, end - data.address, writable) for first, end, _, writable in rows]
    [(0, 16, 1), (16, 32, 0), (32, 64, 1)]
    """
    rows = []
    for buffer, memory in mapped:
        host = address(memory) - buffer.address
        at = buffer.address
        for first, end in sorted(buffer.protected):
            rows += [(at, first, host + at, buffer.writable), (first, end, host + first, False)]
            at = end
        rows.append((at, buffer.end, host + at, buffer.writable))
    return np.array([row for row in rows if row[0] < row[1]], np.int64).reshape(-1, BUFFER_WORDS)
