"""How a wave begins: the registers that the hardware sets from the kernel descriptor."""

from __future__ import annotations

import functools
import itertools
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mfma.codeobject import Kernel
from mfma.emulator.arguments import Geometry
from mfma.emulator.geometry import LARGEST_LDS
from mfma.emulator.interpreter.engine import Launch
from mfma.emulator.interpreter.wave import Group, Wave
from mfma.emulator.semantics.machine import ACC, EXEC
from mfma.emulator.semantics.values import WAVE
from mfma.timing.devices import DEVICES

__all__ = ["Start", "dispatch_packet", "resident"]

UNITS = DEVICES["MI300X"].compute_units
UNIT_SIMDS, SIMD_WAVES, SIMD_VGPRS = 4, 8, 512
"""SIMDs of a compute unit; of a SIMD the waves and registers of a lane."""
ROOM = 1 << 29
"""Bytes of the host for registers, LDS and scratch of work-groups that are under way; one gets what it needs."""
PRELOAD_PROLOGUE = 256
"""Bytes at a kernel's entry for firmware that cannot preload arguments; the hardware emulated here skips them."""


@dataclass(frozen=True)
class Start:
    """Makes the work-groups of one launch.

    Attributes:
        kernel: what is launched.
        geometry: its size.
        entry: device address of the kernel's first instruction.
        arguments: device address of the argument segment.
        preloaded: that segment's bytes.
        dispatch: device address of the dispatch packet.
        lds, scratch: bytes per work-group and per lane.
    """

    kernel: Kernel
    geometry: Geometry
    entry: int
    arguments: int
    preloaded: bytes
    dispatch: int
    lds: int
    scratch: int

    def __call__(self, launch: Launch, index: tuple[int, int, int]) -> Group:
        """Make one work-group."""
        group = Group(index, self.lds, launch.float_order)
        scalars, items = self._scalars(index), self.geometry.items
        for number, packed in enumerate(self._items):
            wave = Wave(launch, group, number, self._first, self.mode, self.scratch, launch.block(self.scratch))
            wave.s[: len(scalars)] = scalars
            active = min(WAVE, items - number * WAVE)
            bits = (1 << active) - 1
            wave.s[EXEC], wave.s[EXEC + 1] = bits & 0xFFFF_FFFF, bits >> 32
            wave.v[0] = packed
            group.waves.append(wave)
        return group

    @functools.cached_property
    def _first(self) -> int:
        """Address of the first instruction that runs."""
        return self.entry + (PRELOAD_PROLOGUE if self.kernel.descriptor.kernarg_preload_spec_length else 0)

    @property
    def _items(self) -> npt.NDArray[Any]:
        """Numbers of the work-items in x, y and z as v0 has them, for every wave and lane."""
        x, y, _ = self.geometry.block
        return _items(x, y, self.geometry.waves)

    @functools.cached_property
    def mode(self) -> int:
        """MODE register at the start."""
        d = self.kernel.descriptor
        return (
            d.float_round_mode_32
            | d.float_round_mode_16_64 << 2
            | d.float_denorm_mode_32 << 4
            | d.float_denorm_mode_16_64 << 6
            | d.enable_dx10_clamp << 8
            | d.enable_ieee_mode << 9
            | d.fp16_ovfl << 23
        )

    @functools.cached_property
    def numbers(self) -> tuple[int | None, ...]:
        """SGPRs that begin with the numbers of the work-group in x, y and z; None where the descriptor wants none."""
        d = self.kernel.descriptor
        wanted = d.enable_sgpr_workgroup_id_x, d.enable_sgpr_workgroup_id_y, d.enable_sgpr_workgroup_id_z
        registers = itertools.count(d.user_sgpr_count)
        return tuple(next(registers) if asked else None for asked in wanted)

    def _scalars(self, index: tuple[int, int, int]) -> list[int]:
        """SGPRs from s0 on: what the descriptor asks for, in the order of LLVM's AMDGPUUsage."""
        d = self.kernel.descriptor
        words: list[int] = []
        for wanted, pointer in (
            (d.enable_sgpr_dispatch_ptr, self.dispatch),
            (d.enable_sgpr_queue_ptr, 0),
            (d.enable_sgpr_kernarg_segment_ptr, self.arguments),
            (d.enable_sgpr_dispatch_id, 0),
        ):
            if wanted:
                words += [pointer & 0xFFFF_FFFF, pointer >> 32]
        if d.enable_sgpr_private_segment_size:
            words.append(self.scratch)
        length, offset = d.kernarg_preload_spec_length, d.kernarg_preload_spec_offset
        if length:
            data = self.preloaded.ljust(4 * (offset + length), b"\0")
            words += struct.unpack_from(f"<{length}I", data, 4 * offset)
        words = words[: d.user_sgpr_count] + [0] * max(0, d.user_sgpr_count - len(words))
        words += [number for register, number in zip(self.numbers, index, strict=True) if register is not None]
        if d.enable_sgpr_workgroup_info:
            words.append(self.geometry.waves)
        return words


def resident(kernel: Kernel, geometry: Geometry, lds: int, scratch: int) -> int:
    """Work-groups that are under way at once, at most: those that an MI300X has room for, within `ROOM`.

    Args:
        kernel: what is launched.
        geometry: its size.
        lds, scratch: bytes per work-group and per lane.
    """
    waves = geometry.waves
    in_unit = UNIT_SIMDS * min(SIMD_WAVES, SIMD_VGPRS // kernel.descriptor.vgprs) // waves
    if lds:
        in_unit = min(in_unit, LARGEST_LDS // lds)
    bytes_ = waves * WAVE * (4 * 2 * ACC + scratch) + lds
    return max(1, min(UNITS * in_unit, ROOM // bytes_))


@functools.lru_cache(64)
def _items(x: int, y: int, waves: int) -> npt.NDArray[Any]:
    numbers = np.arange(waves * WAVE, dtype=np.uint32)
    items = (numbers % x | numbers // x % y << 10 | numbers // (x * y) << 20).reshape(-1, WAVE)
    items.flags.writeable = False
    return items


def dispatch_packet(geometry: Geometry, lds: int, scratch: int, arguments: int) -> bytes:
    """The 64 bytes of HSA's kernel dispatch packet, which some kernels read."""
    block, grid = geometry.block, geometry.grid
    sizes = [groups * items for groups, items in zip(grid, block, strict=True)]
    return struct.pack("<HHHHHHIIIIIQQQQ", 2, 3, *block, 0, *sizes, scratch, lds, 0, arguments, 0, 0)
