"""What the compiler tells the runtime about kernels: the MessagePack document in the note NT_AMDGPU_METADATA."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from mfma.codeobject.content import Content
from mfma.codeobject.elf import Elf

__all__ = ["Argument", "ValueKind", "document", "listed", "record", "value"]

OWNER, NT_AMDGPU_METADATA = b"AMDGPU", 32
VERSIONS = ([1, 2],)
"""``amdhsa.version`` of code objects of version 5 and 6."""
LONGEST_ARRAY = 1 << 15
"""Kernels of one object, or arguments of one kernel, that are plausible; the reader reserves room for so many."""

T = TypeVar("T")


class ValueKind(enum.Enum):
    """What an argument is; everything that begins with ``hidden`` is the runtime's part."""

    BY_VALUE = "by_value"
    GLOBAL_BUFFER = "global_buffer"
    DYNAMIC_SHARED_POINTER = "dynamic_shared_pointer"
    SAMPLER = "sampler"
    IMAGE = "image"
    PIPE = "pipe"
    QUEUE = "queue"
    HIDDEN_NONE = "hidden_none"
    HIDDEN_GLOBAL_OFFSET_X = "hidden_global_offset_x"
    HIDDEN_GLOBAL_OFFSET_Y = "hidden_global_offset_y"
    HIDDEN_GLOBAL_OFFSET_Z = "hidden_global_offset_z"
    HIDDEN_PRINTF_BUFFER = "hidden_printf_buffer"
    HIDDEN_HOSTCALL_BUFFER = "hidden_hostcall_buffer"
    HIDDEN_DEFAULT_QUEUE = "hidden_default_queue"
    HIDDEN_COMPLETION_ACTION = "hidden_completion_action"
    HIDDEN_MULTIGRID_SYNC_ARG = "hidden_multigrid_sync_arg"
    HIDDEN_HEAP_V1 = "hidden_heap_v1"
    HIDDEN_DYNAMIC_LDS_SIZE = "hidden_dynamic_lds_size"
    HIDDEN_PRIVATE_BASE = "hidden_private_base"
    HIDDEN_SHARED_BASE = "hidden_shared_base"
    HIDDEN_QUEUE_PTR = "hidden_queue_ptr"
    HIDDEN_BLOCK_COUNT_X = "hidden_block_count_x"
    HIDDEN_BLOCK_COUNT_Y = "hidden_block_count_y"
    HIDDEN_BLOCK_COUNT_Z = "hidden_block_count_z"
    HIDDEN_GROUP_SIZE_X = "hidden_group_size_x"
    HIDDEN_GROUP_SIZE_Y = "hidden_group_size_y"
    HIDDEN_GROUP_SIZE_Z = "hidden_group_size_z"
    HIDDEN_REMAINDER_X = "hidden_remainder_x"
    HIDDEN_REMAINDER_Y = "hidden_remainder_y"
    HIDDEN_REMAINDER_Z = "hidden_remainder_z"
    HIDDEN_GRID_DIMS = "hidden_grid_dims"

    def __str__(self) -> str:
        return self.value


VALUE_KINDS = {kind.value: kind for kind in ValueKind}


@dataclass(frozen=True)
class Argument:
    """``size`` bytes at ``offset`` of the kernel's arguments, and what they are; names and types may be absent.

    ``access`` is how the kernel may use an image or a pipe, ``actual_access`` what it does with any argument.
    ``pointee_align`` is the alignment in bytes that the kernel needs of an address in LDS.
    """

    name: str
    offset: int
    size: int
    kind: ValueKind
    type_name: str = ""
    address_space: str | None = None
    access: str | None = None
    actual_access: str | None = None
    pointee_align: int | None = None
    is_const: bool = False
    is_restrict: bool = False
    is_volatile: bool = False
    is_pipe: bool = False

    @functools.cached_property
    def hidden(self) -> bool:
        """Whether the runtime gives it, not the caller."""
        return self.kind.name.startswith("HIDDEN_")

    @classmethod
    def read(cls, content: Content, entry: Mapping[str, Any], kernel: str) -> Argument:
        """Read one element of ``.args``."""
        kind = value(content, entry, ".value_kind", str)
        if kind not in VALUE_KINDS:
            raise content.damaged(f"an argument of {kernel} has the value kind {kind!r}, which no version defines")
        return cls(
            name=value(content, entry, ".name", str, ""),
            offset=value(content, entry, ".offset", int),
            size=value(content, entry, ".size", int),
            kind=VALUE_KINDS[kind],
            type_name=value(content, entry, ".type_name", str, ""),
            address_space=value(content, entry, ".address_space", str, None),
            access=value(content, entry, ".access", str, None),
            actual_access=value(content, entry, ".actual_access", str, None),
            pointee_align=value(content, entry, ".pointee_align", int, None),
            is_const=value(content, entry, ".is_const", bool, False),
            is_restrict=value(content, entry, ".is_restrict", bool, False),
            is_volatile=value(content, entry, ".is_volatile", bool, False),
            is_pipe=value(content, entry, ".is_pipe", bool, False),
        )


def document(elf: Elf) -> Mapping[str, Any]:
    """Read the metadata of a code object.

    Raises:
        CodeObjectError: there are none, they are not MessagePack, or of another version.
    """
    content = elf.content
    for note in elf.notes():
        if note.owner == OWNER and note.type == NT_AMDGPU_METADATA:
            break
    else:
        raise content.refused("has no metadata of its kernels; give assembly its .amdgpu_metadata")
    found = record(content, _unpacked(content, note.content), "its metadata")
    version = found.get("amdhsa.version")
    if version not in VERSIONS:
        raise content.refused(f"has metadata of version {version}; compile it with -mcode-object-version=5 or 6")
    return found


def _unpacked(content: Content, data: memoryview) -> Any:
    import msgpack

    most = min(len(data) // 8, LONGEST_ARRAY)
    try:
        return msgpack.unpackb(data, max_array_len=most, max_map_len=most, max_ext_len=0)
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError, OverflowError) as error:
        reason = str(error) or type(error).__name__
        raise content.damaged(f"its metadata are not MessagePack of any plausible shape ({reason})") from None


class _Required:
    """The default of what must be there."""


def value(content: Content, entry: Mapping[str, Any], key: str, kind: type[T], default: Any = _Required) -> Any:
    """Return the value of a key, checked: a number must fit 32 bits, a truth value may be 0 or 1."""
    found = entry.get(key, default)
    if found is _Required:
        raise content.damaged(f"its metadata have no {key} where there must be one")
    if found is default:
        return found
    if kind is bool and found in (0, 1):
        found = bool(found)
    if type(found) is not kind or not _is_plausible(found):
        raise content.damaged(f"its metadata have {found!r} as {key}, which must be {NOUNS[kind]}")
    return found


def _is_plausible(found: Any) -> bool:
    if isinstance(found, str):
        return found.isprintable()
    return not isinstance(found, int) or 0 <= found < 1 << 32


NOUNS: dict[type, str] = {int: "a number of 32 bits", str: "text of one line", bool: "true or false", list: "a list"}


def listed(content: Content, entry: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings that a key lists."""
    for item in value(content, entry, key, list, []):
        yield record(content, item, f"an element of {key}")


def record(content: Content, item: Any, what: str) -> Mapping[str, Any]:
    """Return a value if it is a mapping with text as keys."""
    if not isinstance(item, dict) or not all(isinstance(key, str) for key in item):
        raise content.damaged(f"{what} should be a mapping and is {type(item).__name__}")
    return item
