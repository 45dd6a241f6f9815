"""Compiled gfx942 kernels on the CPU: load, decode, run, report.

    module = mfma.load("kernel.hsaco")
    report = module["name"].launch(grid, block, [array, other_array, 512])

Instructions are decoded by `mfma.emulator.decode` and defined, each once, in `mfma.emulator.semantics`; the
definitions write small programs of typed operations, which `mfma.emulator.translator` compiles to machine code and
`mfma.emulator.interpreter` evaluates with NumPy.
"""

from mfma.emulator.device import Device, DeviceArray
from mfma.emulator.module import Function, Module, load
from mfma.emulator.report import Report

__all__ = ["Device", "DeviceArray", "Function", "Module", "Report", "load"]
