"""AMD matrix cores, bit for bit, without the GPU.

>>> import numpy as np, mfma
>>> a = np.full((16, 64), 0.1, np.float16)
>>> mfma.matmul(a, a.T, op="f32_16x16x16f16")[0, 0]
np.float32(0.63968754)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mfma.errors import (
    CodeObjectError,
    EncodingError,
    EvidenceError,
    KernelError,
    LaunchError,
    MemoryFault,
    MfmaError,
    MissingToolError,
    ModifierError,
    OperandShapeError,
    OperandTypeError,
    OptionError,
    UnknownNameError,
    WatchdogError,
)

if TYPE_CHECKING:
    from mfma import builtins, fp8, gemm
    from mfma.asm import lint
    from mfma.builtins.op import Op, op, ops
    from mfma.emulator import Device, load
    from mfma.formats.codec import encode
    from mfma.integrations import triton
    from mfma.isa.choice import choose
    from mfma.isa.errata import errata
    from mfma.layout.chaining import chain
    from mfma.layout.queries import contents, where
    from mfma.matrices.compare import compare
    from mfma.matrices.explain import explain
    from mfma.matrices.matmul import matmul
    from mfma.timing.peak import peak
    from mfma.timing.roofline import roofline
    from mfma.timing.throughput import throughput
    from mfma.timing.timeline import timeline

__version__ = "0.1.0"

__all__ = [
    "CodeObjectError",
    "Device",
    "EncodingError",
    "EvidenceError",
    "KernelError",
    "LaunchError",
    "MemoryFault",
    "MfmaError",
    "MissingToolError",
    "ModifierError",
    "Op",
    "OperandShapeError",
    "OperandTypeError",
    "OptionError",
    "UnknownNameError",
    "WatchdogError",
    "builtins",
    "chain",
    "choose",
    "compare",
    "contents",
    "encode",
    "errata",
    "explain",
    "fp8",
    "gemm",
    "lint",
    "load",
    "matmul",
    "op",
    "ops",
    "peak",
    "roofline",
    "throughput",
    "timeline",
    "triton",
    "where",
]

# Look-ups must start fast, so NumPy, einops and llvmlite are imported when a name that needs them is first used.
_HOMES = {
    "Device": "mfma.emulator",
    "Op": "mfma.builtins.op",
    "op": "mfma.builtins.op",
    "ops": "mfma.builtins.op",
    "chain": "mfma.layout.chaining",
    "choose": "mfma.isa.choice",
    "compare": "mfma.matrices.compare",
    "contents": "mfma.layout.queries",
    "encode": "mfma.formats.codec",
    "errata": "mfma.isa.errata",
    "explain": "mfma.matrices.explain",
    "lint": "mfma.asm",
    "load": "mfma.emulator",
    "matmul": "mfma.matrices.matmul",
    "peak": "mfma.timing.peak",
    "roofline": "mfma.timing.roofline",
    "throughput": "mfma.timing.throughput",
    "timeline": "mfma.timing.timeline",
    "where": "mfma.layout.queries",
}
_MODULES = {
    "builtins": "mfma.builtins",
    "fp8": "mfma.fp8",
    "gemm": "mfma.gemm",
    "triton": "mfma.integrations.triton",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _HOMES:
        value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
        return value
    raise AttributeError(f"module 'mfma' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
