"""What the records of some code are made of, without addresses of host or device: kept on disk for later processes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import msgpack
import numpy as np
import numpy.typing as npt

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.machine import Mode
from mfma.emulator.translator.driver import Stop
from mfma.emulator.translator.forms import compile
from mfma.emulator.translator.store import Batch, store

__all__ = ["Column", "Translation", "kept", "translated"]

STOPS = {
    "s_barrier": Stop.BARRIER,
    "s_endpgm": Stop.ENDED,
    "s_endpgm_saved": Stop.ENDED,
    "s_endpgm_ordered_ps_done": Stop.ENDED,
    "s_sleep": Stop.YIELDED,
}
"""What only changes whether the wave goes on; the engine does that."""
NONE = -1  # no offset either: those are multiples of 4


class Column(IntEnum):
    """What a translation has of each instruction. Addresses count from the beginning of the code."""

    AT = 0  # address
    SIZE = 1  # dwords
    STOP = 2  # why the native loop returns there if it has no form, a `Stop`
    FORM = 3  # number of its form, or -1
    FIRST = 4  # position of its first operand
    TARGET = 5  # address that its branch goes to, maybe below the base; or -1: there is none, or the form sets pc
    KIND = 6  # number of its mnemonic


@dataclass(frozen=True)
class Translation:
    """Instructions of some code in one mode.

    Attributes:
        rows: int32 (instructions, `Column`).
        operands: int64, those of all instructions.
        moving: int32, positions of the operands to which the address of the code is to be added.
        mnemonics: each of them once.
        functions: names of the forms.
        batches: those that the forms were compiled in.
        addresses: int64, host addresses of the forms, which are this process's own.
    """

    rows: npt.NDArray[np.int32]
    operands: npt.NDArray[np.int64]
    moving: npt.NDArray[np.int32]
    mnemonics: tuple[str, ...]
    functions: tuple[str, ...]
    batches: tuple[Batch, ...]
    addresses: npt.NDArray[np.int64]

    def column(self, column: Column) -> npt.NDArray[np.int64]:
        """One column of the rows."""
        return self.rows[:, column].astype(np.int64)


def translated(instructions: Sequence[Instruction], base: int, mode: Mode, name: str | None) -> Translation:
    """Translate instructions of the code at ``base``, and keep the result under a name.

    It is not kept if the name is None or some operand may depend on where the code is.
    """
    forms = compile(instructions, mode)
    rows = np.full((len(instructions), len(Column)), NONE, np.int32)
    operands: list[int] = []
    moving: list[int] = []
    mnemonics: dict[str, int] = {}
    functions: dict[str, int] = {}
    for row, instruction, form in zip(rows, instructions, forms, strict=True):
        kind = mnemonics.setdefault(instruction.mnemonic, len(mnemonics))
        stop = STOPS.get(instruction.name, Stop.INTERPRET)
        row[: Column.FORM] = instruction.address - base, instruction.size // 4, stop
        row[Column.FIRST], row[Column.KIND] = len(operands), kind
        if form is None:
            continue
        row[Column.FORM] = functions.setdefault(form.function, len(functions))
        if form.branches and instruction.target is not None:
            row[Column.TARGET] = instruction.target - base
        for operand, moves in zip(form.operands, form.moving or [False] * len(form.operands), strict=True):
            if moves:
                moving.append(len(operands))
            operands.append(operand - base if moves else operand)
    batches = tuple({batch.name: batch for batch in map(store().batch, functions)}.values())
    addresses = np.array([store().address(function) for function in functions], np.int64)
    result = Translation(
        rows, np.array(operands, np.int64), np.array(moving, np.int32), tuple(mnemonics), tuple(functions), batches,
        addresses,
    )  # fmt: skip
    if name is not None and all(form is None or form.moving is not None for form in forms):
        store().keep(name, _packed(result))
    return result


def kept(name: str) -> Translation | None:
    """The translation that was kept under a name; None if there is none, or a form is gone."""
    content = store().kept(name)
    if content is None:
        return None
    try:
        rows, operands, moving, mnemonics, functions, packed = msgpack.unpackb(content, use_list=False)
        batches = tuple(Batch(*batch) for batch in packed)
    except (ValueError, TypeError):  # nothing that this module wrote
        return None
    addresses = store().addresses(functions, batches)
    if addresses is None:
        return None
    return Translation(
        np.frombuffer(rows, np.int32).reshape(-1, len(Column)), np.frombuffer(operands, np.int64),
        np.frombuffer(moving, np.int32), mnemonics, functions, batches, np.array(addresses, np.int64),
    )  # fmt: skip


def _packed(translation: Translation) -> bytes:
    t = translation
    arrays = [array.tobytes() for array in (t.rows, t.operands, t.moving)]
    batches = [dataclasses.astuple(batch) for batch in t.batches]
    return bytes(msgpack.packb([*arrays, t.mnemonics, t.functions, batches]))
