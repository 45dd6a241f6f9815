"""Triton's driver for the emulator: an MI300X that launches kernels on CPU tensors."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from mfma.emulator.geometry import LARGEST_BLOCK, LARGEST_LDS
from mfma.emulator.module import Function, load
from mfma.integrations.triton.benchmark import Clock, modelled
from mfma.integrations.triton.launcher import Launcher
from mfma.timing.devices import DEVICES

__all__ = ["Driver"]

DEVICE = 942
"""Triton keeps compiled kernels by the number of their device; a real GPU in the same process has a small one."""
STREAM = 0
MEMORY_BUS = 8192
"""Bits of an MI300X's memory interface (AMD, data sheet). The memory's clock, in kHz, follows from its bandwidth."""


class Utilities:
    """What Triton asks of a runtime: the device's properties, and loading of code objects."""

    def __init__(self) -> None:
        self._loaded: weakref.WeakValueDictionary[tuple[str, bytes], Function] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    @staticmethod
    def get_device_properties(device: object) -> dict[str, Any]:
        """Properties of an MI300X, under the names of Triton's AMD backend."""
        found = DEVICES["MI300X"]
        return {
            "max_shared_mem": LARGEST_LDS,
            "max_num_regs": 65_536,
            "multiprocessor_count": found.compute_units,
            "sm_clock_rate": found.clock_mhz * 1000,
            "mem_clock_rate": round(found.hbm_tb_per_s * 1e9 / (2 * MEMORY_BUS / 8)),
            "mem_bus_width": MEMORY_BUS,
            "arch": "gfx942",
            "warpSize": 64,
            "max_threads_per_sm": 2048,
            "cooperativeLaunch": 1,
        }

    def load_binary(
        self, name: str, binary: bytes, shared: int, device: object
    ) -> tuple[None, Function, int, int, int]:
        """Load a kernel: no module for Triton to unload, the kernel, its registers, spills, and largest block.

        Triton unloads a module when its kernel is collected, with whatever driver is active then, and loads again
        before each launch what has none.
        """
        with self._lock:
            function = self._loaded.get((name, binary))
            if function is None:
                function = self._loaded[name, binary] = load(binary)[name]
        kernel = function.kernel
        return None, function, kernel.vgpr_count, kernel.scratch_size // 4, LARGEST_BLOCK

    @staticmethod
    def unload_module(module: object) -> None:
        """Do nothing: Python frees modules."""


class Driver(DriverBase):  # type: ignore[misc]
    """The driver; there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.utils = Utilities()
        self._launchers: weakref.WeakKeyDictionary[Any, Launcher] = weakref.WeakKeyDictionary()

    @classmethod
    @functools.cache
    def instance(cls) -> Driver:
        """The driver of this process."""
        return cls()

    @classmethod
    def is_active(cls) -> bool:
        """Triton never chooses it by itself."""
        return False

    def launcher_cls(self, source: Any, metadata: Any) -> Launcher:
        """What launches a compiled kernel."""
        launcher = self._launchers.get(source)
        if launcher is None:
            launcher = self._launchers[source] = Launcher(source, metadata)
        return launcher

    def get_current_target(self) -> GPUTarget:
        """What kernels are compiled for."""
        return GPUTarget("hip", "gfx942", 64)

    def get_current_device(self) -> int:
        """The only device."""
        return DEVICE

    def set_current_device(self, device: object) -> None:
        """Do nothing: there is one device."""

    def get_current_stream(self, device: object = None) -> int:
        """The only stream; a launch has ended when the call returns."""
        return STREAM

    def get_device_capability(self, device: object = None) -> tuple[int, int]:
        """What torch says of an MI300X."""
        return 9, 4

    def get_device_interface(self) -> type[Clock]:
        """What stands for ``torch.cuda``."""
        return Clock

    def get_active_torch_device(self) -> Any:
        """Where tensors are."""
        import torch

        return torch.device("cpu")

    def get_benchmarker(self) -> Callable[..., Any]:
        """What `triton.autotune` compares configurations with."""
        return modelled

    def get_empty_cache_for_benchmark(self) -> None:
        """There is no cache to flush."""

    def clear_cache(self, cache: object) -> None:
        """Do nothing: there is no cache."""

    def map_python_to_cpp_type(self, ty: str) -> str:
        """What launchers in C++ call a type of Triton."""
        from triton.backends.amd.driver import ty_to_cpp

        return str(ty_to_cpp(ty))

    def assemble_tensormap_to_arg(self, tensormaps_info: object, args: Any) -> Any:
        """Give the arguments as they are: gfx942 has no tensor maps."""
        return args
