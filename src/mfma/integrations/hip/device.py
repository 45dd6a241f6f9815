"""What programs are told about the device, and which one they use: there is one, an MI300X."""

from __future__ import annotations

import ctypes
import functools
import os
from importlib.resources import files
from typing import Any

from mfma.integrations.hip.interface import Int, Pointer, Size, Unsigned, implements, store, text
from mfma.integrations.hip.memory import CAPACITY, memory
from mfma.integrations.hip.status import HipError, Status
from mfma.timing.devices import DEVICES

__all__ = ["ARCHITECTURE", "UNITS", "checked_device"]

MI300X = DEVICES["MI300X"]
UNITS = MI300X.compute_units
ARCHITECTURE = "gfx942:sramecc+:xnack-"
INT_MAX = (1 << 31) - 1
VERSIONS = {5: 50_221_153, 6: 60_342_133, 7: 70_125_424}
"""``HIP_VERSION`` of one release for each name of the library: 5.2 (Debian), 6.3, 7.1."""

PROPERTIES: dict[str, Any] = {
    # clock, units and memory as in mfma.timing.devices
    "name": "AMD Instinct MI300X",
    "multiProcessorCount": UNITS,
    "clockRate": MI300X.clock_mhz * 1000,
    "totalGlobalMem": CAPACITY,
    # AMD CDNA 3 white paper: 8 stacks of HBM3 with 1,024 bits at 5.2 GT/s, so 2.6 GHz; 4 MiB of L2 for each XCD
    "memoryClockRate": 2_600_000,
    "memoryBusWidth": 8192,
    "l2CacheSize": 4 << 20,
    # AMD Instinct MI300 instruction set architecture, and LLVM's AMDGPUUsage
    "warpSize": 64,
    "sharedMemPerBlock": 65_536,
    "maxSharedMemoryPerMultiProcessor": 65_536,
    "sharedMemPerMultiprocessor": 65_536,
    "sharedMemPerBlockOptin": 65_536,
    "regsPerBlock": 131_072,
    "regsPerMultiprocessor": 131_072,
    "maxThreadsPerBlock": 1024,
    "maxThreadsDim": (1024, 1024, 1024),
    "maxThreadsPerMultiProcessor": 2048,
    "maxBlocksPerMultiProcessor": 2,
    "major": 9,
    "minor": 4,
    "gcnArch": 942,
    "clockInstructionRate": 100_000,
    # what AMD's runtime says of every device (ROCm/clr, hip_device.cpp)
    "maxGridSize": (INT_MAX, 65_536, 65_536),
    "totalConstMem": INT_MAX,
    "memPitch": INT_MAX,
    "textureAlignment": 256,
    "texturePitchAlignment": 256,
    "surfaceAlignment": 256,
    "arch": 0b1001_0111_1111_1111,
    "concurrentKernels": 1,
    "canMapHostMemory": 1,
    "cooperativeLaunch": 1,
    "globalL1CacheSupported": 1,
    "localL1CacheSupported": 1,
    "hostRegisterSupported": 1,
    "ECCEnabled": 1,
    "asyncEngineCount": 8,
    "deviceOverlap": 1,
    "isLargeBar": 1,
    "managedMemory": 1,
    "concurrentManagedAccess": 1,
    "directManagedMemAccessFromHost": 1,
    "unifiedAddressing": 1,
    "streamPrioritiesSupported": 1,
    "memoryPoolsSupported": 1,
}
"""Fields of ``hipDeviceProp_t``; what is not here is 0."""
ATTRIBUTES = {"fineGrainSupport": 1, "wallClockRate": 100_000, "numberOfXccs": 8, "maxAvailableVgprsPerThread": 512}
"""Attributes of a device that are no properties."""
TYPES: dict[str, Any] = {
    "char": ctypes.c_char, "int": ctypes.c_int, "unsigned": ctypes.c_uint, "size_t": ctypes.c_size_t,
}  # fmt: skip


def _lines(name: str) -> list[list[str]]:
    lines = (files("mfma.integrations.hip") / "runtime" / name).read_text().splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


@functools.cache
def _layout(name: str) -> type[ctypes.Structure]:
    """The structure ``hipDeviceProp_t`` of one revision."""
    lines = _lines("properties.txt")
    start = lines.index([f"[{name}]"]) + 1
    fields: list[tuple[str, Any]] = []
    for line in lines[start:]:
        if line[0].startswith("["):
            break
        field, kind, *length = line
        fields.append((field, TYPES[kind] * int(length[0]) if length else TYPES[kind]))
    return type(f"hipDeviceProp_t{name}", (ctypes.Structure,), {"_fields_": fields})


@functools.cache
def _attributes() -> dict[int, tuple[str, int]]:
    """Property and element of each attribute, by number."""
    return {int(number): (name, int(at[0]) if at else 0) for number, _, name, *at in _lines("attributes.txt")}


@functools.cache
def _properties() -> dict[str, Any]:
    return {**PROPERTIES, "gcnArchName": os.environ.get("MFMA_HIP_DEVICE") or ARCHITECTURE}


def _filled(layout: type[ctypes.Structure]) -> ctypes.Structure:
    made = layout()
    for name, kind in layout._fields_:  # type: ignore[misc]
        value = _properties().get(name)
        if isinstance(value, str):
            setattr(made, name, value.encode())
        elif value is not None:
            setattr(made, name, kind(*value) if isinstance(value, tuple) else value)
    return made


def checked_device(device: int) -> None:
    """Refuse every device but the first.

    Raises:
        HipError: it is another one.
    """
    if device:
        raise HipError(Status.INVALID_DEVICE)


def _write(address: int, data: bytes, room: int) -> None:
    if not address:
        raise HipError(Status.INVALID_VALUE)
    ctypes.memmove(address, data, min(len(data), room))


@implements("hipGetDeviceProperties", "hipGetDevicePropertiesR0000")
def get_properties(properties: Pointer, device: Int) -> None:
    """Fill the structure of HIP 5."""
    checked_device(device)
    layout = _layout("R0000")
    _write(properties, bytes(_filled(layout)), ctypes.sizeof(layout))


@implements("hipGetDevicePropertiesR0600")
def get_properties_r0600(properties: Pointer, device: Int) -> None:
    """Fill the structure of HIP 6 and 7."""
    checked_device(device)
    layout = _layout("R0600")
    _write(properties, bytes(_filled(layout)), ctypes.sizeof(layout))


@implements("hipDeviceGetAttribute")
def get_attribute(value: Pointer, attribute: Int, device: Int) -> None:
    """Look one number up."""
    checked_device(device)
    if attribute not in _attributes():
        raise HipError(Status.INVALID_VALUE)
    name, element = _attributes()[attribute]
    found = {**_properties(), **ATTRIBUTES}.get(name, 0)
    number = found[element] if isinstance(found, tuple) else found
    store(value, ctypes.c_int, min(number, INT_MAX))


@implements("hipGetDeviceCount")
def get_count(count: Pointer) -> None:
    """There is one."""
    store(count, ctypes.c_int, 1)


@implements("hipGetDevice")
def get_device(device: Pointer) -> None:
    """Return the only one."""
    store(device, ctypes.c_int, 0)


@implements("hipDeviceGet")
def get_device_handle(device: Pointer, ordinal: Int) -> None:
    """Return the handle of a device, which is its number."""
    checked_device(ordinal)
    store(device, ctypes.c_int, 0)


@implements("hipSetDevice")
def set_device(device: Int) -> None:
    """Choose the only one."""
    checked_device(device)


@implements("hipChooseDevice", "hipChooseDeviceR0000", "hipChooseDeviceR0600")
def choose_device(device: Pointer, properties: Pointer) -> None:
    """Choose the only one."""
    store(device, ctypes.c_int, 0)


@implements("hipDeviceGetName")
def get_name(name: Pointer, length: Int, device: Int) -> None:
    """Copy the marketing name."""
    checked_device(device)
    if length <= 0:
        raise HipError(Status.INVALID_VALUE)
    _write(name, _properties()["name"].encode()[: length - 1] + b"\0", length)


@implements("hipDeviceGetUuid")
def get_uuid(uuid: Pointer, device: Int) -> None:
    """Copy 16 bytes that no GPU has."""
    checked_device(device)
    _write(uuid, b"mfma emulated 00", 16)


@implements("hipDeviceComputeCapability")
def get_capability(major: Pointer, minor: Pointer, device: Int) -> None:
    """Say the version of the architecture."""
    checked_device(device)
    store(major, ctypes.c_int, PROPERTIES["major"])
    store(minor, ctypes.c_int, PROPERTIES["minor"])


@implements("hipDeviceTotalMem")
def get_total_memory(size: Pointer, device: Int) -> None:
    """Say how large the memory is."""
    checked_device(device)
    store(size, ctypes.c_size_t, CAPACITY)


@implements("hipMemGetInfo")
def get_memory(free: Pointer, total: Pointer) -> None:
    """Say how much memory is left."""
    store(free, ctypes.c_size_t, CAPACITY - memory().used)
    store(total, ctypes.c_size_t, CAPACITY)


@implements("hipDeviceGetPCIBusId")
def get_bus_id(bus_id: Pointer, length: Int, device: Int) -> None:
    """Write an address that is no device's."""
    checked_device(device)
    if length <= 0:
        raise HipError(Status.INVALID_VALUE)
    _write(bus_id, b"0000:00:00.0"[: length - 1] + b"\0", length)


@implements("hipDeviceGetByPCIBusId")
def get_by_bus_id(device: Pointer, bus_id: Pointer) -> None:
    """Find the device by that address."""
    if text(bus_id) not in ("0000:00:00.0", "0000:00:00"):
        raise HipError(Status.INVALID_VALUE)
    store(device, ctypes.c_int, 0)


@implements("hipDeviceCanAccessPeer")
def can_access_peer(can: Pointer, device: Int, peer: Int) -> None:
    """Say no: there is no other device."""
    checked_device(device)
    checked_device(peer)
    store(can, ctypes.c_int, 0)


@implements("hipDeviceEnablePeerAccess")
def enable_peer_access(peer: Int, flags: Unsigned) -> None:
    """Refuse: there is no other device."""
    raise HipError(Status.INVALID_DEVICE)


@implements("hipDeviceGetLimit")
def get_limit(value: Pointer, limit: Int) -> None:
    """Say how much there is of what kernels share: the heap of the device; other limits are not known."""
    if limit != 2:
        raise HipError(Status.UNSUPPORTED_LIMIT)
    store(value, ctypes.c_size_t, 4 << 20)


@implements("hipDeviceGetCacheConfig", "hipDeviceGetSharedMemConfig")
def get_configuration(configuration: Pointer) -> None:
    """Say that nothing is preferred."""
    store(configuration, ctypes.c_int, 0)


@implements("hipDeviceSetCacheConfig", "hipDeviceSetSharedMemConfig")
def set_configuration(configuration: Int) -> None:
    """Do nothing, as on every AMD GPU."""


@implements("hipDeviceSetLimit")
def set_limit(limit: Int, value: Size) -> None:
    """Accept every limit of what kernels share: nothing is limited here."""
