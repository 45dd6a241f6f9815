"""From a file of any kind to its code objects."""

from __future__ import annotations

import os

from mfma.codeobject import bundle, elf
from mfma.codeobject.bundle import Entry
from mfma.codeobject.content import Buffer, Content
from mfma.codeobject.elf import EM_AMDGPU, Elf
from mfma.codeobject.object import CodeObject
from mfma.codeobject.target import GENERIC, MACHINES, TargetId
from mfma.errors import CodeObjectError

__all__ = ["load_object", "open_entry", "read_objects"]

TRIPLE = "amdgcn-amd-amdhsa"
FAT = ".hip_fatbin"


def read_objects(source: str | os.PathLike[str] | Buffer) -> list[Entry]:
    """Return every object of a file: a code object, an offload bundle, or a HIP program or object file that has one.

    Args:
        source: the path of a file, or its bytes.

    Raises:
        CodeObjectError: it is none of these, or damaged.
    """
    return _entries(Content.read(source))


def _entries(content: Content) -> list[Entry]:
    if not len(content):
        raise content.refused("is empty; give a code object, an offload bundle or a HIP program")
    if content.data[:4] != elf.MAGIC:
        if content.data[: len(bundle.MAGIC)] != bundle.MAGIC and content.data[:4] != bundle.COMPRESSED:
            raise content.refused(
                "is neither ELF nor an offload bundle; give a code object, an offload bundle or a HIP program"
            )
        return list(bundle.entries(content))
    file = Elf(content)
    if file.machine == EM_AMDGPU:
        target = TargetId.of_flags(file.flags)
        return [Entry("hip", TRIPLE, str(target), content.data, content.name)]
    fat = file.section(FAT)
    if fat is None:
        raise content.refused(
            f"is a host program (machine {file.machine}) without {FAT}; give one that was compiled from HIP, or the "
            "code object itself"
        )
    return list(bundle.entries(Content(file.bytes_of(fat), content.name)))


def load_object(source: str | os.PathLike[str] | Buffer, target: str = "gfx942") -> CodeObject:
    """Read the code object for a GPU.

    Args:
        source: the path of a code object, of an offload bundle, or of a HIP program or object file; or its bytes.
        target: the processor, with features as in ``gfx942:xnack-`` where a bundle has several for it.

    Raises:
        CodeObjectError: there is none for the target, there are several, the file is damaged, or no GPU has that name.
    """
    content = Content.read(source)
    entries = [entry for entry in _entries(content) if entry.target and len(entry.data)]
    device = TargetId.parse(target)
    if device.processor not in MACHINES.values() or set(str(device).split(":")) != set(target.split(":")):
        raise CodeObjectError(
            f"{target!r} is no target ID; give a processor as in gfx942, with features as in gfx942:sramecc+:xnack-."
        )
    fitting = [entry for entry in entries if entry.target_id.runs_on(device)]
    # The processor's own code before the generic one, and what its drivers set by default before the rest.
    exact = [entry for entry in fitting if entry.target_id.processor == device.processor] or fitting
    usual = [entry for entry in exact if entry.target_id.xnack != "on" and entry.target_id.sramecc != "off"] or exact
    if not usual:
        there = ", ".join(dict.fromkeys(entry.target for entry in entries)) or "none"
        generic = f" or {GENERIC[device.processor]}" if device.processor in GENERIC else ""
        raise content.refused(
            f"has no code object for {target}, only for {there}; compile it with --offload-arch={target}{generic}"
        )
    if len(usual) > 1:
        raise content.refused(
            f"has {len(usual)} code objects for {target}; choose one that `read_objects` returns and give it to "
            "`open_entry`"
        )
    return open_entry(usual[0])


def open_entry(entry: Entry) -> CodeObject:
    """Read the code object that `read_objects` found.

    Raises:
        CodeObjectError: it is damaged, or is the host's.
    """
    return CodeObject(Content(entry.data, entry.name))
