"""A wave with memory: a device buffer, LDS and scratch full of noise, and what a test expects of all of them.

The expectation is kept as Python bytearrays and register files; `World.check` runs the instruction and compares
everything, so that what a test does not change must not change.
"""

from __future__ import annotations

import zlib
from types import SimpleNamespace
from typing import Any

import numpy as np

from emulator.forms import ADDRESS, EXEC, KEEP_SUBNORMALS, LANES, Registers, noise, put, run, same
from mfma.emulator.interpreter.wave import Group, Wave
from mfma.emulator.memory import PRIVATE_BASE, SHARED_BASE, AddressSpace
from mfma.emulator.semantics.machine import Mode

BYTES, LDS, SCRATCH = 1 << 14, 4096, 512
"""Sizes of the buffer, of LDS and of a lane's scratch."""
GLOBAL, LOCAL, PRIVATE = "global", "LDS", "scratch"


class World:
    """Registers, a buffer, LDS and scratch before an instruction, and as they are to be after it."""

    def __init__(self, seed: str, exec_: int = 0xFFFF_0FFF_F0F3_FFF5) -> None:
        self.random = np.random.default_rng(zlib.crc32(seed.encode()))
        self.before = noise(seed)
        put(self.before, "s", EXEC, exec_, 2)
        self.lanes = [lane for lane in range(LANES) if exec_ >> lane & 1]
        self.space = AddressSpace()
        self.buffer = self.space.allocate(BYTES, name="data", data=self.random.integers(0, 256, BYTES, np.uint8))
        self.lds = self.random.integers(0, 256, LDS, np.uint8)
        self.scratch = self.random.integers(0, 256, (LANES, SCRATCH), np.uint8)
        self.met = 0

    def begin(self) -> None:
        """Copy the state: what happens to the copies is what is expected of the instruction."""
        self.expected = Registers(self.before.v.copy(), self.before.s.copy(), self.before.scc, self.before.mode)
        self.memory = {
            GLOBAL: bytearray(self.buffer.bytes.tobytes()),
            LOCAL: bytearray(self.lds.tobytes()),
            **{(PRIVATE, lane): bytearray(self.scratch[lane].tobytes()) for lane in range(LANES)},
        }

    def cells(self, space: str, lane: int, address: int) -> tuple[bytearray, int]:
        """The expected memory of a lane and the index of an address in it."""
        if space == GLOBAL:
            return self.memory[GLOBAL], address - self.buffer.address
        return self.memory[space if space == LOCAL else (PRIVATE, lane)], address

    def read(self, space: str, lane: int, address: int, bytes_: int) -> int:
        """Expected memory as a number."""
        memory, at = self.cells(space, lane, address)
        assert 0 <= at <= len(memory) - bytes_
        return int.from_bytes(memory[at : at + bytes_], "little")

    def write(self, space: str, lane: int, address: int, bytes_: int, value: int) -> None:
        """Change expected memory."""
        memory, at = self.cells(space, lane, address)
        assert 0 <= at <= len(memory) - bytes_
        memory[at : at + bytes_] = (value & (1 << 8 * bytes_) - 1).to_bytes(bytes_, "little")

    def run(self, text: str, mode: Mode | None = None) -> Wave:
        """Execute the instruction on a wave with this memory."""
        launch: Any = SimpleNamespace(space=self.space)
        wave = Wave(launch, Group((0, 0, 0), 0), 0, ADDRESS, KEEP_SUBNORMALS, 0)
        wave.lds, wave.scratch = self.lds, self.scratch
        wave.v[:], wave.s[:], wave.scc = self.before.v, self.before.s, np.bool_(self.before.scc)
        run(wave, text, mode)
        return wave

    def check(self, text: str, mode: Mode | None = None) -> None:
        """Run the instruction and compare registers and all memory with what is expected."""
        wave = self.run(text, mode)
        same(text, Registers(wave.v, wave.s, int(wave.scc), wave.mode, wave.pc, wave.status), self.expected)
        got = {
            GLOBAL: self.buffer.bytes,
            LOCAL: self.lds,
            **{(PRIVATE, lane): self.scratch[lane] for lane in range(LANES)},
        }
        for name, bytes_ in got.items():
            differing = np.flatnonzero(bytes_ != np.frombuffer(self.memory[name], np.uint8))
            assert not len(differing), f"{text}: byte {differing[0]} of {name} differs, and {len(differing) - 1} more"
        assert wave.float_order.lanes == self.met, text

    def offsets(self, size: int, step: int = 1) -> list[int]:
        """A random offset below ``size`` for every lane, a multiple of ``step``."""
        return [int(x) * step for x in self.random.integers(0, size // step, LANES)]


def flat_address(world: World, lane: int, offset: int) -> tuple[str, int, int]:
    """Space, address there and flat address: lanes take turns in global memory, LDS and scratch."""
    if lane % 3 == 0:
        return GLOBAL, world.buffer.address + offset, world.buffer.address + offset
    if lane % 3 == 1:
        return LOCAL, offset, SHARED_BASE + offset
    return PRIVATE, offset, PRIVATE_BASE + offset
