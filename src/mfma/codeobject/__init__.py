"""Compiled kernels as files: AMD GPU code objects, the bundles and programs that carry them, and what is in them.

Layouts are those of LLVM's "User Guide for AMDGPU Backend" (code objects of version 5 and 6, kernel descriptor,
metadata, relocations) and "Clang Offload Bundler". Whatever a file holds, reading it ends in a `CodeObject` or in one
`mfma.errors.CodeObjectError`; sizes are checked before memory is taken.
"""

from mfma.codeobject.bundle import Entry
from mfma.codeobject.descriptor import Descriptor
from mfma.codeobject.elf import Segment, Symbol
from mfma.codeobject.kernel import Kernel
from mfma.codeobject.load import load_object, open_entry, read_objects
from mfma.codeobject.metadata import Argument, ValueKind
from mfma.codeobject.object import CodeObject
from mfma.codeobject.relocation import Relocation

__all__ = [
    "Argument",
    "CodeObject",
    "Descriptor",
    "Entry",
    "Kernel",
    "Relocation",
    "Segment",
    "Symbol",
    "ValueKind",
    "load_object",
    "open_entry",
    "read_objects",
]
