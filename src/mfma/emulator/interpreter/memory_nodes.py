"""The memory nodes of the interpreter: loads, stores and atomics of 64 lanes, and the wave's own loads.

Lanes store in ascending order, so of two lanes that store to one place the higher one wins. Atomics run in ascending
order too: lanes with distinct addresses at once, and lanes that share an address in rounds, the lowest first. Waves
run one after the other between their barriers, so every atomic sees all of those before it. Hardware promises no order
at all; sums of floats, whose bits in memory may depend on it, are noted in ``float_order`` of the wave.

An instruction of several stores (of a buffer's dwords, of two places in LDS) keeps in ``undo`` what it overwrites, so
that all is as before if one of them faults.

Which lanes may access what is the business of `mfma.emulator.interpreter.memory_places`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mfma.emulator.interpreter.float_order import NUMBERS
from mfma.emulator.interpreter.memory_places import (
    ATOMIC,
    LOAD,
    STORE,
    Array,
    Lanes,
    Mask,
    WaveMemory,
    pieces,
    wave_bytes,
)
from mfma.emulator.memory import window
from mfma.emulator.semantics.machine import Access
from mfma.emulator.semantics.values import B32, B64, WAVE, Value

__all__ = ["atomic", "load", "load_wave", "store"]

Words = npt.NDArray[np.uint32]


def load(wave: WaveMemory, access: Access, address: Array, mask: Mask) -> Words:
    """Registers of every lane, shape (parts, 64); zeros outside the mask."""
    registers = np.zeros((max(1, access.bytes_ // 4), WAVE), np.uint32)
    for lanes, memory, offsets in pieces(wave, access, LOAD, address, mask):
        if access.bytes_ <= 4:
            registers[0, lanes] = window(memory, access.bytes_)[offsets]
        else:
            registers[:, lanes] = window(memory, 4)[offsets + np.arange(0, access.bytes_, 4)[:, None]]
    return registers


def store(wave: WaveMemory, access: Access, address: Array, mask: Mask, *registers: Words) -> None:
    """Store registers, each of shape (64,); 1 or 2 bytes are the low ones of one register."""
    for lanes, memory, offsets in pieces(wave, access, STORE, address, mask):
        if access.bytes_ <= 4:
            cells, where = window(memory, access.bytes_), offsets
            values = registers[0][lanes].astype(f"u{access.bytes_}")
        else:
            # lane after lane, so that of overlapping stores the highest lane's stays
            cells, where = window(memory, 4), offsets[:, None] + np.arange(0, access.bytes_, 4)
            values = np.stack(registers, 1)[lanes]
        _keep(wave, cells, where)
        cells[where] = values


def atomic(wave: WaveMemory, access: Access, address: Array, mask: Mask, *operands: Array) -> Words:
    """Replace memory by what ``access.combine`` makes of it and the operands; the old values, shape (parts, 64)."""
    old = np.zeros(WAVE, f"u{access.bytes_}")
    combine = _compiled(access.combine, access.bytes_, len(operands)) if access.combine else None
    for lanes, memory, offsets in pieces(wave, access, ATOMIC, address, mask):
        cells = window(memory, access.bytes_)
        _keep(wave, cells, offsets)
        for members in _rounds(offsets):
            where, who = offsets[members], lanes[members]
            old[who] = cells[where]
            if combine is not None:
                cells[where] = combine(old, *operands)[who]
        if access.rounds:
            _note_order(wave, memory, offsets, lanes)
    return old.view(np.uint32).reshape(WAVE, -1).T


def load_wave(wave: WaveMemory, access: Access, address: Any) -> Words:
    """Registers that the wave loads for itself, shape (parts,)."""
    return wave_bytes(wave, access, int(address)).copy().view(np.uint32)


def _keep(wave: WaveMemory, cells: Array, where: Lanes) -> None:
    if wave.undo is not None:
        wave.undo.append((cells, where, cells[where]))


def _note_order(wave: WaveMemory, memory: Array, offsets: Lanes, lanes: Lanes) -> None:
    if not np.may_share_memory(memory, wave.scratch):  # no two lanes share scratch
        numbers = ((lanes + WAVE * wave.serial) % NUMBERS + 1).astype(np.uint32)
        wave.float_order.note(memory, offsets, numbers)


def _rounds(offsets: Lanes) -> Iterator[Any]:
    """Indices in groups without a repeated offset: first occurrences, second ones, and so on, each in order."""
    order = np.argsort(offsets, kind="stable")
    ordered = offsets[order]
    fresh = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    if fresh.all():
        yield slice(None)
        return
    starts = np.flatnonzero(fresh)
    occurrence = np.empty(len(offsets), np.intp)
    occurrence[order] = np.arange(len(offsets)) - np.repeat(starts, np.diff(np.append(starts, len(offsets))))
    for number in range(int(occurrence.max()) + 1):
        yield np.flatnonzero(occurrence == number)


@functools.cache
def _compiled(combine: Callable[..., Value], bytes_: int, operands: int) -> Callable[..., Array]:
    """The definition of an atomic as a function of arrays of 64 lanes: the old value, then the operands."""
    from mfma.emulator.interpreter.step import Function  # it links memory nodes itself

    return Function(combine, [B64 if bytes_ == 8 else B32] * (1 + operands))
