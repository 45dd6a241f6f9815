"""One kernel of a code object: its metadata and its descriptor, checked against each other."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mfma.codeobject.content import Content
from mfma.codeobject.demangle import demangled
from mfma.codeobject.descriptor import Descriptor
from mfma.codeobject.elf import Symbol
from mfma.codeobject.metadata import Argument, listed, value

if TYPE_CHECKING:
    from mfma.codeobject.object import CodeObject

__all__ = ["Kernel", "read_kernel"]

ENTRY_ALIGNMENT = 256
LANES = 64


@dataclass(frozen=True)
class Kernel:
    """One kernel: what launching it needs. Sizes are in bytes, addresses are virtual ones of the object.

    ``name`` is that of its symbol; ``str()`` spells it as C++ source does.

    ``entry`` is the first instruction; a kernel that has arguments preloaded into SGPRs (see
    ``descriptor.kernarg_preload_spec_length``) starts 256 bytes later where the hardware does that. ``vgpr_count``
    counts registers of both kinds, ``agpr_count`` of them are accumulation VGPRs. ``lds_size`` and ``scratch_size``
    are fixed parts: LDS of a work-group, scratch of a lane.
    """

    name: str
    descriptor: Descriptor
    entry: int
    arguments: tuple[Argument, ...]
    kernarg_size: int
    kernarg_alignment: int
    lds_size: int
    scratch_size: int
    dynamic_stack: bool
    max_workgroup_size: int
    required_workgroup_size: tuple[int, int, int] | None
    uniform_work_group_size: bool
    wavefront_size: int
    sgpr_count: int
    vgpr_count: int
    agpr_count: int
    symbol: Symbol
    metadata: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return demangled(self.name)


def read_kernel(content: Content, item: CodeObject, entry: Mapping[str, Any]) -> Kernel:
    """Read one element of ``amdhsa.kernels`` and what it names.

    Raises:
        CodeObjectError: something is missing, or metadata and descriptor disagree.
    """
    get = functools.partial(value, content, entry)
    name = get(".name", str)
    symbol = item.objects.get(get(".symbol", str))
    if symbol is None or symbol.size != Descriptor.SIZE:
        raise content.damaged(f"kernel {name} has no descriptor of 64 bytes under the name in its metadata")
    descriptor = Descriptor.from_bytes(item.read(symbol.address, Descriptor.SIZE, f"the descriptor of {name}"))
    if descriptor.unusable:
        fields = ", ".join(descriptor.unusable)
        raise content.damaged(f"the descriptor of {name} has {fields} set, which must be 0 for gfx942")
    start = symbol.address + descriptor.kernel_code_entry_byte_offset
    if start % ENTRY_ALIGNMENT or not any(at <= start < at + len(code) for at, code in item.text):
        raise content.damaged(f"kernel {name} begins at {start:#x}, which is no multiple of 256 in its code")
    kernel = Kernel(
        name=name,
        descriptor=descriptor,
        entry=start,
        arguments=tuple(Argument.read(content, one, name) for one in listed(content, entry, ".args")),
        kernarg_size=get(".kernarg_segment_size", int),
        kernarg_alignment=get(".kernarg_segment_align", int),
        lds_size=get(".group_segment_fixed_size", int),
        scratch_size=get(".private_segment_fixed_size", int),
        dynamic_stack=get(".uses_dynamic_stack", bool, False),
        max_workgroup_size=get(".max_flat_workgroup_size", int),
        required_workgroup_size=_required_size(content, name, get(".reqd_workgroup_size", list, None)),
        uniform_work_group_size=get(".uniform_work_group_size", bool, False),
        wavefront_size=get(".wavefront_size", int),
        sgpr_count=get(".sgpr_count", int),
        vgpr_count=get(".vgpr_count", int),
        agpr_count=get(".agpr_count", int, 0),
        symbol=symbol,
        metadata=MappingProxyType(dict(entry)),
    )
    _check(content, kernel)
    return kernel


def _required_size(content: Content, name: str, sizes: list[Any] | None) -> tuple[int, int, int] | None:
    if sizes is None:
        return None
    if len(sizes) != 3 or not all(type(size) is int and 0 < size < 1 << 32 for size in sizes):
        raise content.damaged(f"the work-group size that {name} requires is not three numbers")
    return sizes[0], sizes[1], sizes[2]


def _check(content: Content, kernel: Kernel) -> None:
    """Refuse arguments outside their segment, and sizes other than the descriptor's, where assembly may leave zeros."""
    for argument in kernel.arguments:
        if argument.offset + argument.size > kernel.kernarg_size:
            raise content.damaged(
                f"an argument of {kernel} at {argument.offset} ends after the {kernel.kernarg_size} bytes of arguments"
            )
    descriptor = kernel.descriptor
    for what, told, encoded in (
        ("arguments", kernel.kernarg_size, descriptor.kernarg_size),
        ("LDS", kernel.lds_size, descriptor.group_segment_fixed_size),
        ("scratch", kernel.scratch_size, descriptor.private_segment_fixed_size),
    ):
        if encoded not in (0, told):
            raise content.damaged(
                f"kernel {kernel} has {told} bytes of {what} in its metadata and {encoded} in its descriptor"
            )
    if kernel.wavefront_size != LANES:
        raise content.damaged(f"kernel {kernel} has waves of {kernel.wavefront_size} lanes, not {LANES}")
