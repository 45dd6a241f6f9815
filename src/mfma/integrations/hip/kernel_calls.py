"""The HIP functions that tell what kernels need, and how much of the GPU they fill."""

from __future__ import annotations

import ctypes

from mfma.codeobject import Kernel
from mfma.emulator.geometry import LARGEST_BLOCK, LARGEST_LDS
from mfma.emulator.module import Function
from mfma.emulator.occupancy import occupancy
from mfma.integrations.hip.device import UNITS
from mfma.integrations.hip.interface import Int, Pointer, Size, Unsigned, implements, read, store
from mfma.integrations.hip.session import session
from mfma.integrations.hip.status import HipError, Status

WAVE = 64
SHARED_ATTRIBUTE = 8
"""hipFuncAttributeMaxDynamicSharedMemorySize"""
CARVEOUT_ATTRIBUTE = 9
VERSION = 94
"""Architecture 9.4, as AMD's runtime gives it for the version of code."""


class Attributes(ctypes.Structure):
    """HIP's ``hipFuncAttributes``."""

    _fields_ = (
        ("binary_version", ctypes.c_int), ("cache_mode", ctypes.c_int), ("constant_bytes", ctypes.c_size_t),
        ("local_bytes", ctypes.c_size_t), ("largest_dynamic_lds", ctypes.c_int), ("largest_block", ctypes.c_int),
        ("registers", ctypes.c_int), ("carveout", ctypes.c_int), ("ptx_version", ctypes.c_int),
        ("lds_bytes", ctypes.c_size_t),
    )  # fmt: skip


def _largest_block(kernel: Kernel) -> int:
    return min(kernel.max_workgroup_size or LARGEST_BLOCK, LARGEST_BLOCK)


@implements("hipFuncGetAttributes")
def function_attributes(attributes: Pointer, stub: Pointer) -> None:
    """Say what a kernel needs."""
    found = read(attributes, Attributes)
    kernel = session().code.function(stub).kernel
    ctypes.memset(attributes, 0, ctypes.sizeof(found))
    found.local_bytes, found.lds_bytes = kernel.scratch_size, kernel.lds_size
    found.largest_dynamic_lds = LARGEST_LDS - kernel.lds_size
    found.largest_block = _largest_block(kernel)
    found.registers = kernel.vgpr_count
    found.binary_version = found.ptx_version = VERSION


@implements("hipFuncGetAttribute")
def function_attribute(value: Pointer, attribute: Int, handle: Pointer) -> None:
    """Say one of the things that a kernel needs."""
    kernel = session().modules.function(handle).kernel
    numbers = {
        0: _largest_block(kernel),
        1: kernel.lds_size,
        2: 0,
        3: kernel.scratch_size,
        4: kernel.vgpr_count,
        5: VERSION,
        6: VERSION,
        7: 0,
        8: LARGEST_LDS - kernel.lds_size,
        9: 0,
    }
    if attribute not in numbers:
        raise HipError(Status.INVALID_VALUE)
    store(value, ctypes.c_int, numbers[attribute])


@implements("hipFuncSetAttribute")
def set_function_attribute(stub: Pointer, attribute: Int, value: Int) -> None:
    """Accept what needs no setting: a kernel may have all dynamic LDS that there is."""
    if attribute not in (SHARED_ATTRIBUTE, CARVEOUT_ATTRIBUTE):
        raise HipError(Status.INVALID_VALUE)
    kernel = session().code.function(stub).kernel
    if attribute == SHARED_ATTRIBUTE and not 0 <= value <= LARGEST_LDS - kernel.lds_size:
        raise HipError(Status.INVALID_VALUE)


@implements("hipFuncSetCacheConfig", "hipFuncSetSharedMemConfig")
def set_function_configuration(stub: Pointer, configuration: Int) -> None:
    """Do nothing, as on every AMD GPU."""


def _groups(function: Function, block: int, lds: int) -> int:
    """Work-groups of a compute unit."""
    if block <= 0 or lds < 0:
        raise HipError(Status.INVALID_VALUE)
    if block > _largest_block(function.kernel):
        return 0
    return occupancy(function.kernel, (block, 1, 1), lds).groups


@implements("hipOccupancyMaxActiveBlocksPerMultiprocessor")
def active_groups(count: Pointer, stub: Pointer, block: Int, lds: Size) -> None:
    """Say how many work-groups a compute unit has room for."""
    store(count, ctypes.c_int, _groups(session().code.function(stub), block, lds))


@implements("hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")
def active_groups_with(count: Pointer, stub: Pointer, block: Int, lds: Size, flags: Unsigned) -> None:
    """Say how many work-groups a compute unit has room for."""
    active_groups(count, stub, block, lds)


@implements("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor")
def module_active_groups(count: Pointer, handle: Pointer, block: Int, lds: Size) -> None:
    """Say how many work-groups a compute unit has room for."""
    store(count, ctypes.c_int, _groups(session().modules.function(handle), block, lds))


@implements("hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")
def module_active_groups_with(count: Pointer, handle: Pointer, block: Int, lds: Size, flags: Unsigned) -> None:
    """Say how many work-groups a compute unit has room for."""
    module_active_groups(count, handle, block, lds)


def _best(grid: int, block: int, function: Function, lds: int, limit: int) -> None:
    """Store the largest block of those that leave the most waves on a compute unit, and the grid that fills the GPU."""
    largest = _largest_block(function.kernel)
    if 0 < limit < largest:
        largest = limit
    sizes = range(WAVE, largest + 1, WAVE) if largest >= WAVE else (largest,)
    best = max(sizes, key=lambda size: (_groups(function, size, lds) * -(-size // WAVE), size))
    groups = _groups(function, best, lds)
    if not groups:
        raise HipError(Status.INVALID_VALUE)
    store(block, ctypes.c_int, best)
    store(grid, ctypes.c_int, groups * UNITS)


@implements("hipOccupancyMaxPotentialBlockSize")
def best_block(grid: Pointer, block: Pointer, stub: Pointer, lds: Size, limit: Int) -> None:
    """Say which block fills the GPU."""
    _best(grid, block, session().code.function(stub), lds, limit)


@implements("hipModuleOccupancyMaxPotentialBlockSize")
def module_best_block(grid: Pointer, block: Pointer, handle: Pointer, lds: Size, limit: Int) -> None:
    """Say which block fills the GPU."""
    _best(grid, block, session().modules.function(handle), lds, limit)


@implements("hipModuleOccupancyMaxPotentialBlockSizeWithFlags")
def module_best_block_with(
    grid: Pointer, block: Pointer, handle: Pointer, lds: Size, limit: Int, flags: Unsigned
) -> None:
    """Say which block fills the GPU."""
    module_best_block(grid, block, handle, lds, limit)
