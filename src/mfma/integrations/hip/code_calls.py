"""The HIP functions of device code: modules, and launches."""

from __future__ import annotations

import ctypes
import math

from mfma.emulator.module import Function
from mfma.integrations.hip.interface import Dim3, Int, Pointer, Size, Unsigned, implements, leave, read, store, text
from mfma.integrations.hip.launches import Shape, Values, packed, pointed
from mfma.integrations.hip.session import session
from mfma.integrations.hip.status import HipError, Status

BUFFER_POINTER, BUFFER_SIZE, BUFFER_END = 1, 2, 3
"""What the words of ``extra`` announce."""


@implements("__hipRegisterManagedVar")
def register_managed(
    owner: Pointer, shadow: Pointer, initial: Pointer, name: Pointer, size: Size, align: Unsigned
) -> None:
    """Give a managed variable its memory; the program may use it from its first line on."""
    session().code.manage(owner, shadow, initial, text(name), size)


@implements("hipModuleLoad")
def module_load(module: Pointer, path: Pointer) -> None:
    """Load a file."""
    store(module, ctypes.c_size_t, session().modules.load(text(path)))


@implements("hipModuleLoadData")
def module_load_data(module: Pointer, image: Pointer) -> None:
    """Load what is in memory."""
    store(module, ctypes.c_size_t, session().modules.load_data(image))


@implements("hipModuleLoadDataEx")
def module_load_with(module: Pointer, image: Pointer, count: Unsigned, options: Pointer, values: Pointer) -> None:
    """Load what is in memory; options are for a compiler that is not needed."""
    module_load_data(module, image)


@implements("hipModuleUnload")
def module_unload(module: Pointer) -> None:
    """Take a module away."""
    session().modules.unload(module)


@implements("hipModuleGetFunction")
def module_function(function: Pointer, module: Pointer, name: Pointer) -> None:
    """Return the handle of a kernel."""
    found = session().modules.module(module).function(text(name))
    store(function, ctypes.c_size_t, session().modules.enter(found))


@implements("hipModuleGetGlobal")
def module_variable(address: Pointer, size: Pointer, module: Pointer, name: Pointer) -> None:
    """Say where a variable of a module is, and how large."""
    found = session().modules.module(module).variable(text(name))
    if address:
        store(address, ctypes.c_size_t, found.address)
    if size:
        store(size, ctypes.c_size_t, found.size)


@implements("hipGetFuncBySymbol")
def function_by_symbol(function: Pointer, stub: Pointer) -> None:
    """Return the handle of one of the program's own kernels."""
    store(function, ctypes.c_size_t, session().modules.enter(session().code.function(stub)))


def _launch(
    function: Function, grid: Shape, block: Shape, lds: int, stream: int, values: Values, whole: bool = False
) -> None:
    session().streams.stream(stream)
    session().launcher.launch(function, grid, block, lds, values, whole)


@implements("hipLaunchKernel", "hipLaunchKernel_spt")
def launch(stub: Pointer, grid: Dim3, block: Dim3, values: Pointer, lds: Size, stream: Pointer) -> None:
    """Launch one of the program's own kernels."""
    function = session().code.function(stub)
    _launch(function, grid.sizes, block.sizes, lds, stream, pointed(function, values))


@implements("hipExtLaunchKernel")
def launch_between(
    stub: Pointer, grid: Dim3, block: Dim3, values: Pointer, lds: Size, stream: Pointer, start: Pointer, stop: Pointer,
    flags: Int,
) -> None:  # fmt: skip
    """Launch a kernel between two events."""
    if start:
        session().streams.record(start, stream)
    launch(stub, grid, block, values, lds, stream)
    if stop:
        session().streams.record(stop, stream)


@implements("hipLaunchCooperativeKernel", "hipLaunchCooperativeKernel_spt")
def launch_cooperative(stub: Pointer, grid: Dim3, block: Dim3, values: Pointer, lds: Unsigned, stream: Pointer) -> None:
    """Launch a kernel whose work-groups wait for each other, so that all must have room at once."""
    function = session().code.function(stub)
    _launch(function, grid.sizes, block.sizes, lds, stream, pointed(function, values), whole=True)


class Configuration(ctypes.Structure):
    """HIP's ``hipLaunchConfig_t``."""

    _fields_ = (
        ("grid", Dim3), ("block", Dim3), ("lds", ctypes.c_size_t), ("stream", ctypes.c_size_t),
        ("attributes", ctypes.c_size_t), ("count", ctypes.c_uint),
    )  # fmt: skip


@implements("hipLaunchKernelExC")
def launch_configured(configuration: Pointer, stub: Pointer, values: Pointer) -> None:
    """Launch one of the program's own kernels."""
    c = read(configuration, Configuration)
    if c.count:
        leave("attributes of a launch are not implemented; call hipLaunchKernel or hipLaunchCooperativeKernel.")
    launch(stub, c.grid, c.block, values, c.lds, c.stream)


def _given(function: Function, values: int, extra: int) -> Values:
    """The arguments of a launch, from an array of their addresses or from one run of bytes."""
    if values and extra:
        raise HipError(Status.INVALID_VALUE)
    if not extra:
        return pointed(function, values)
    words: dict[int, int] = {}
    while (what := read(extra, ctypes.c_size_t).value) != BUFFER_END:
        if what not in (BUFFER_POINTER, BUFFER_SIZE):
            raise HipError(Status.INVALID_VALUE)
        words[what] = read(extra + 8, ctypes.c_size_t).value
        extra += 16
    size = read(words.get(BUFFER_SIZE, 0), ctypes.c_size_t).value
    return packed(function, ctypes.string_at(words.get(BUFFER_POINTER, 0), size) if size else b"")


@implements("hipModuleLaunchKernel")
def launch_module(
    handle: Pointer, grid_x: Unsigned, grid_y: Unsigned, grid_z: Unsigned, block_x: Unsigned, block_y: Unsigned,
    block_z: Unsigned, lds: Unsigned, stream: Pointer, values: Pointer, extra: Pointer,
) -> None:  # fmt: skip
    """Launch a kernel by its handle."""
    function = session().modules.function(handle)
    shape, block = (grid_x, grid_y, grid_z), (block_x, block_y, block_z)
    _launch(function, shape, block, lds, stream, _given(function, values, extra))


@implements("hipModuleLaunchCooperativeKernel")
def launch_module_cooperative(
    handle: Pointer, grid_x: Unsigned, grid_y: Unsigned, grid_z: Unsigned, block_x: Unsigned, block_y: Unsigned,
    block_z: Unsigned, lds: Unsigned, stream: Pointer, values: Pointer,
) -> None:  # fmt: skip
    """Launch a kernel whose work-groups wait for each other by its handle."""
    function = session().modules.function(handle)
    shape, block = (grid_x, grid_y, grid_z), (block_x, block_y, block_z)
    _launch(function, shape, block, lds, stream, pointed(function, values), whole=True)


@implements(
    "hipExtModuleLaunchKernel",
    "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j",
)
def launch_items(
    handle: Pointer, x: Unsigned, y: Unsigned, z: Unsigned, block_x: Unsigned, block_y: Unsigned, block_z: Unsigned,
    lds: Size, stream: Pointer, values: Pointer, extra: Pointer, start: Pointer, stop: Pointer, flags: Unsigned,
) -> None:  # fmt: skip
    """Launch a kernel by its handle, for a number of work-items."""
    block = block_x, block_y, block_z
    if not math.prod(block):
        raise HipError(Status.INVALID_CONFIGURATION)
    if any(items % size for items, size in zip((x, y, z), block, strict=True)):
        leave("a grid that is no multiple of the block is not implemented; launch whole work-groups.")
    if start:
        session().streams.record(start, stream)
    function = session().modules.function(handle)
    grid = x // block_x, y // block_y, z // block_z
    _launch(function, grid, block, lds, stream, _given(function, values, extra))
    if stop:
        session().streams.record(stop, stream)
