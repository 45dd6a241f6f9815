"""Code objects: what a file says, against its source, against pyelftools and LLVM's tools; and files that lie."""

import hashlib
import importlib.util
import json
import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import msgpack
import pytest
from click.testing import CliRunner
from elftools.elf.elffile import ELFFile

import codeobject_fuzz as fuzz
from codeobject_edits import GOLDEN, File, host_program
from hip_tools import missing, tool
from mfma.cli import main
from mfma.codeobject import (
    Argument,
    Descriptor,
    ValueKind,
    bundle,
    content,
    elf,
    line_program,
    load_object,
    open_entry,
    read_objects,
)
from mfma.codeobject.relocation import RelocationType
from mfma.codeobject.target import MACHINES, TargetId
from mfma.errors import CodeObjectError, MfmaError

LINKED = "kernels_v6.co", "kernels_v5_dwarf5.co", "kernels_v6_dwarf4.co", "generic.co", "xnack.co", "descriptor.co"
SOURCE = (GOLDEN / "kernels.hip").read_text().split("\n")


def golden(name):
    return (GOLDEN / name).read_bytes()


def opened(name):
    """Open a golden object, whatever its features."""
    (entry,) = read_objects(GOLDEN / name)
    return open_entry(entry)


# --- what the sources say ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LINKED[:5])
def test_kernels_of_the_source(name):
    item = opened(name)
    assert set(item.kernels) == {"scale", "multiply"}
    scale, multiply = item.kernels["scale"], item.kernels["multiply"]
    assert (scale.lds_size, multiply.lds_size) == (64 * 4, 0)
    assert (scale.scratch_size, scale.dynamic_stack) == (0, False)
    assert scale.max_workgroup_size == 128
    assert scale.wavefront_size == 64
    assert scale.required_workgroup_size is None
    visible = [argument for argument in scale.arguments if not argument.hidden]
    assert [(a.offset, a.size, a.kind) for a in visible] == [
        (0, 8, ValueKind.GLOBAL_BUFFER),
        (8, 8, ValueKind.GLOBAL_BUFFER),
        (16, 4, ValueKind.BY_VALUE),
        (20, 4, ValueKind.BY_VALUE),
    ]
    assert visible[0].address_space == "global"
    assert {ValueKind.HIDDEN_GROUP_SIZE_X, ValueKind.HIDDEN_BLOCK_COUNT_X} <= {a.kind for a in scale.arguments}
    assert [a.size for a in multiply.arguments] == [8, 8, 8]
    assert (multiply.kernarg_size, multiply.kernarg_alignment) == (24, 8)
    assert item.function_at(scale.entry).name == "scale"
    assert item.function_at(multiply.entry + 4).name == "multiply"
    assert item.function_at(scale.entry - 4) is None


@pytest.mark.parametrize(
    ("name", "version", "target", "features"),
    [
        ("kernels_v6.co", 6, "gfx942", {"sramecc": "any", "xnack": "any"}),
        ("kernels_v5_dwarf5.co", 5, "gfx942", {"sramecc": "any", "xnack": "any"}),
        ("generic.co", 6, "gfx9-4-generic", {"sramecc": "any", "xnack": "any"}),
        ("xnack.co", 6, "gfx942", {"sramecc": "on", "xnack": "on"}),
    ],
)
def test_target_of_the_compile_line(name, version, target, features):
    item = load_object(GOLDEN / name)
    assert (item.version, item.target, item.features) == (version, target, features)


def test_constants_and_variables_are_in_the_image():
    item = load_object(GOLDEN / "kernels_v6.co")
    weights = item.objects["weights"]
    assert struct.unpack_from("<5f", item.image, weights.address) == (1, 2, 3, 4, 5)
    assert not item.segment_at(weights.address).writable
    counter, where = item.objects["counter"], item.objects["where"]
    assert item.segment_at(counter.address).writable
    assert item.image[counter.address : counter.address + 4] == bytes(4)
    base = 0x7F12_3456_7000
    image = item.relocated(base)
    assert struct.unpack_from("<Q", image, where.address) == (base + counter.address,)
    changed = [n for n, (one, other) in enumerate(zip(item.image, image, strict=True)) if one != other]
    assert set(changed) <= set(range(where.address, where.address + 8))


def test_text_is_what_the_image_has_there():
    for name in LINKED:
        item = opened(name)
        for address, code in item.text:
            assert item.image[address : address + len(code)] == code
        for kernel in item.kernels.values():
            assert any(at <= kernel.entry < at + len(code) for at, code in item.text)


@pytest.mark.parametrize("name", ["kernels_v5_dwarf5.co", "kernels_v6_dwarf4.co"])
def test_source_lines(name):
    item = load_object(GOLDEN / name)
    for kernel, marker in (("scale", "*where += 1"), ("multiply", "mfma_f32_16x16x4f32")):
        symbol = next(s for s in item.symbols if s.name == kernel)
        places = {item.source_line(at) for at in range(symbol.address, symbol.address + symbol.size, 4)} - {None}
        assert {file for file, _ in places} == {"/source/kernels.hip"}
        assert any(marker in SOURCE[line - 1] for _, line in places)
        first = next(n for n, line in enumerate(SOURCE, 1) if f"void {kernel}(" in line)
        last = next(n for n, line in enumerate(SOURCE, 1) if n > first and line == "}")
        assert all(first <= line <= last for _, line in places)
    assert item.source_line(0) is None
    assert item.source_line(1 << 62) is None


def test_no_source_lines_without_debug_information():
    item = load_object(GOLDEN / "kernels_v6.co")
    assert item.source_line(item.kernels["scale"].entry) is None


DIRECTIVES = {
    "group_segment_fixed_size": "group_segment_fixed_size",
    "private_segment_fixed_size": "private_segment_fixed_size",
    "kernarg_size": "kernarg_size",
    "accum_offset": "first_agpr",
    "tg_split": "tg_split",
    "float_round_mode_32": "float_round_mode_32",
    "float_round_mode_16_64": "float_round_mode_16_64",
    "float_denorm_mode_32": "float_denorm_mode_32",
    "float_denorm_mode_16_64": "float_denorm_mode_16_64",
    "dx10_clamp": "enable_dx10_clamp",
    "ieee_mode": "enable_ieee_mode",
    "fp16_overflow": "fp16_ovfl",
    "enable_private_segment": "enable_private_segment",
    "system_sgpr_workgroup_id_x": "enable_sgpr_workgroup_id_x",
    "system_sgpr_workgroup_id_y": "enable_sgpr_workgroup_id_y",
    "system_sgpr_workgroup_id_z": "enable_sgpr_workgroup_id_z",
    "system_sgpr_workgroup_info": "enable_sgpr_workgroup_info",
    "system_vgpr_workitem_id": "enable_vgpr_workitem_id",
    "exception_fp_ieee_invalid_op": "enable_exception_ieee_754_fp_invalid_operation",
    "exception_fp_denorm_src": "enable_exception_fp_denormal_source",
    "exception_fp_ieee_div_zero": "enable_exception_ieee_754_fp_division_by_zero",
    "exception_fp_ieee_overflow": "enable_exception_ieee_754_fp_overflow",
    "exception_fp_ieee_underflow": "enable_exception_ieee_754_fp_underflow",
    "exception_fp_ieee_inexact": "enable_exception_ieee_754_fp_inexact",
    "exception_int_div_zero": "enable_exception_int_divide_by_zero",
    "user_sgpr_dispatch_ptr": "enable_sgpr_dispatch_ptr",
    "user_sgpr_queue_ptr": "enable_sgpr_queue_ptr",
    "user_sgpr_kernarg_segment_ptr": "enable_sgpr_kernarg_segment_ptr",
    "user_sgpr_dispatch_id": "enable_sgpr_dispatch_id",
    "user_sgpr_private_segment_size": "enable_sgpr_private_segment_size",
    "user_sgpr_kernarg_preload_length": "kernarg_preload_spec_length",
    "user_sgpr_kernarg_preload_offset": "kernarg_preload_spec_offset",
    "uses_dynamic_stack": "uses_dynamic_stack",
}
"""Assembler directive after ``.amdhsa_`` -> attribute."""

ELSEWHERE = {"next_free_vgpr", "next_free_sgpr", "reserve_vcc", "reserve_xnack_mask"}
"""Directives that are no fields of their own."""


def directives(text):
    pairs = re.findall(r"^\s*\.amdhsa_(\w+) (\d+)$", text, re.MULTILINE)
    return {name: int(number) for name, number in pairs}


def test_descriptor_of_the_assembly():
    told = directives((GOLDEN / "descriptor.s").read_text())
    descriptor = load_object(GOLDEN / "descriptor.co").kernels["busy"].descriptor
    assert set(told) - ELSEWHERE == set(DIRECTIVES)
    assert {name: getattr(descriptor, DIRECTIVES[name]) for name in set(told) - ELSEWHERE} == {
        name: number for name, number in told.items() if name not in ELSEWHERE
    }
    assert descriptor.vgprs == 104  # 100 in blocks of 8
    assert descriptor.granulated_wavefront_sgpr_count == 8  # pairs of blocks of 8: 60 and 6 for VCC, XNACK and scratch
    assert descriptor.user_sgpr_count == 2 + 2 + 2 + 1 + 5


def test_metadata_of_the_assembly():
    kernel = load_object(GOLDEN / "descriptor.co").kernels["busy"]
    assert kernel.required_workgroup_size == (64, 2, 2)
    assert kernel.uniform_work_group_size
    assert kernel.dynamic_stack
    assert (kernel.sgpr_count, kernel.vgpr_count, kernel.agpr_count) == (60, 100, 60)
    assert (kernel.lds_size, kernel.scratch_size, kernel.kernarg_alignment) == (4096, 128, 16)
    out, source, scratch, picture, blocks, base = kernel.arguments
    assert out == Argument(
        name="out",
        offset=0,
        size=8,
        kind=ValueKind.GLOBAL_BUFFER,
        type_name="float*",
        address_space="global",
        actual_access="write_only",
        is_restrict=True,
    )
    assert source.is_const
    assert source.is_volatile
    assert not source.is_restrict
    assert (scratch.kind, scratch.pointee_align) == (ValueKind.DYNAMIC_SHARED_POINTER, 16)
    assert picture.access == "read_only"
    assert (blocks.hidden, base.hidden, picture.hidden) == (True, True, False)
    assert kernel.metadata[".symbol"] == "busy.kd"


def test_a_function_without_a_size_reaches_to_the_next():
    item = load_object(GOLDEN / "descriptor.co")
    helper = next(symbol for symbol in item.symbols if symbol.name == "helper")
    assert helper.size == 0
    assert item.function_at(helper.address) == helper
    assert item.function_at(helper.address + 4) is None  # the end of the code
    assert item.function_at(helper.address - 4) is None  # busy has four bytes only
    assert item.function_at(1 << 40) is None


# --- relocations ------------------------------------------------------------------------------------------------------

TABLE = 0x39A8  # as llvm-readelf prints it
BASE = 0x7F00_1234_5000
FAR = 0xFEDC_BA98_7654_3210


def test_symbols_of_other_objects_are_asked_for():
    item = load_object(GOLDEN / "descriptor.co")
    for resolve in ({"elsewhere": FAR}, {"elsewhere": FAR}.get):
        words = struct.unpack_from("<3Q", item.relocated(BASE, resolve), TABLE)
        assert words == (FAR + 16, BASE + TABLE + 8, 0)  # maybe is weak
    words = struct.unpack_from("<3Q", item.relocated(BASE, {"elsewhere": 1, "maybe": FAR}), TABLE)
    assert words == (17, BASE + TABLE + 8, FAR)
    with pytest.raises(CodeObjectError, match=r"uses elsewhere, which it does not define; give the address through"):
        item.relocated(BASE)


LOW = (1 << 32) - 1
FORMULAS = {
    # Relocation types of LLVM's guide: S symbol, A addend, P place, B base; which bits of the file's 64 change.
    RelocationType.NONE: (lambda s, a, p, b: None, 0),
    RelocationType.ABS32_LO: (lambda s, a, p, b: (s + a) & LOW, 32),
    RelocationType.ABS32_HI: (lambda s, a, p, b: (s + a) % (1 << 64) >> 32, 32),
    RelocationType.ABS64: (lambda s, a, p, b: s + a, 64),
    RelocationType.REL64: (lambda s, a, p, b: (s + a - p) % (1 << 64), 64),
    RelocationType.REL32_LO: (lambda s, a, p, b: (s + a - p) & LOW, 32),
    RelocationType.REL32_HI: (lambda s, a, p, b: (s + a - p) % (1 << 64) >> 32, 32),
    RelocationType.RELATIVE64: (lambda s, a, p, b: b + a, 64),
}


@pytest.mark.parametrize("kind", FORMULAS, ids=str)
@pytest.mark.parametrize("symbol", [0x1_2345_6789, 0x7FFF_0000_1000, 8])
def test_every_type(kind, symbol):
    formula, bits = FORMULAS[kind]
    item = load_object(bytes(File("descriptor.co").relocation(type=kind.number, addend=-20)))
    found = item.relocated(BASE, {"elsewhere": symbol})[TABLE : TABLE + 8]
    expected = formula(symbol, -20, BASE + TABLE, BASE)
    assert int.from_bytes(found[: bits // 8], "little") == (expected or 0) % (1 << 64)
    assert found[bits // 8 :] == item.image[TABLE + bits // 8 : TABLE + 8]


@pytest.mark.parametrize(
    ("kind", "symbol", "fits"),
    [
        (RelocationType.ABS32, 0xFFFF_FFFF - 16, True),
        (RelocationType.ABS32, 0xFFFF_FFFF - 15, False),
        (RelocationType.REL32, BASE + TABLE + (1 << 31) - 17, True),
        (RelocationType.REL32, BASE + TABLE + (1 << 31) - 16, False),
        (RelocationType.REL32, BASE + TABLE - (1 << 31) - 16, True),
        (RelocationType.REL32, BASE + TABLE - (1 << 31) - 17, False),
    ],
)
def test_32_bits_must_be_enough(kind, symbol, fits):
    item = load_object(bytes(File("descriptor.co").relocation(type=kind.number)))
    if fits:
        found = item.relocated(BASE, {"elsewhere": symbol})[TABLE : TABLE + 4]
        place = BASE + TABLE if kind.relative else 0
        assert int.from_bytes(found, "little") == (symbol + 16 - place) & LOW
    else:
        with pytest.raises(CodeObjectError, match=f"has {kind} of elsewhere at 0x39a8, where .* does not fit 32 bits"):
            item.relocated(BASE, {"elsewhere": symbol})


# --- descriptor and target as data ------------------------------------------------------------------------------------


def test_the_fields_of_the_descriptor_are_all_its_bits():
    at = 0
    for field in Descriptor.fields():
        assert field.low == at, field.name
        at = field.high + 1
    assert at == 512


def test_descriptors_keep_their_bytes():
    raw = bytes(range(64))
    descriptor = Descriptor.from_bytes(raw)
    assert bytes(descriptor) == raw
    values = {field.name: getattr(descriptor, field.name) for field in Descriptor.fields()}
    assert bytes(Descriptor(**values)) == raw
    assert Descriptor(encoded_entry_byte_offset=(1 << 64) - 256).kernel_code_entry_byte_offset == -256
    assert Descriptor(encoded_entry_byte_offset=256).kernel_code_entry_byte_offset == 256
    assert Descriptor(reserved_6=1, priv=1).unusable == ("priv", "reserved_6")


@pytest.mark.parametrize(
    ("code", "device", "runs"),
    [
        ("gfx942", "gfx942", True),
        ("gfx942", "gfx942:sramecc+:xnack-", True),
        ("gfx942:xnack+", "gfx942:sramecc+:xnack-", False),
        ("gfx942:xnack+", "gfx942", True),
        ("gfx9-4-generic", "gfx942", True),
        ("gfx9-generic", "gfx942", False),
        ("gfx90a", "gfx942", False),
        ("gfx942", "gfx9-4-generic", False),
    ],
)
def test_who_runs_what(code, device, runs):
    assert TargetId.parse(code).runs_on(TargetId.parse(device)) is runs


def test_an_unknown_processor_keeps_its_number():
    assert str(TargetId.of_flags(0x0FE)) == "processor 0xfe"


# --- files that carry code objects ------------------------------------------------------------------------------------

ENTRIES = [
    ("host", "x86_64-unknown-linux-gnu", "", 0),
    ("hipv4", "amdgcn-amd-amdhsa", "gfx90a", 7320),
    ("hipv4", "amdgcn-amd-amdhsa", "gfx942:sramecc+:xnack-", 7320),
    ("hipv4", "amdgcn-amd-amdhsa", "gfx942:sramecc+:xnack+", 7320),
]


def listed(source):
    return [(entry.kind, entry.triple, entry.target, len(entry.data)) for entry in read_objects(source)]


def packed(plain, version, method=0, **changes):
    """Compress a bundle in the layout of a version."""
    data = zlib.compress(plain)
    digest = int.from_bytes(hashlib.md5(plain).digest()[:8], "little") ^ changes.get("digest", 0)
    size = len(plain) + changes.get("size", 0)
    rest = {
        1: lambda: struct.pack("<IQ", size, digest),
        2: lambda: struct.pack("<IIQ", 8 + 16 + len(data), size, digest),
    }.get(version, lambda: struct.pack("<QQQ", 8 + 24 + len(data), size, digest))()
    return struct.pack("<4sHH", b"CCOB", version, method) + rest + data


@pytest.mark.parametrize(
    "wrap",
    [
        lambda data: data,
        bytearray,
        memoryview,
        host_program,
        *(lambda data, version=version: packed(data, version) for version in (1, 2, 3)),
        lambda data: host_program(packed(data, 3)),
    ],
)
def test_every_wrapping_has_the_same_entries(wrap):
    assert listed(wrap(golden("bundle.hipfb"))) == ENTRIES
    item = load_object(wrap(golden("bundle.hipfb")))
    assert item.features == {"sramecc": "on", "xnack": "off"}
    assert load_object(wrap(golden("bundle.hipfb")), "gfx942:xnack+").features == {"sramecc": "on", "xnack": "on"}


@pytest.mark.parametrize("version", [None, 1, 2, 3])
def test_bundles_of_several_programs_follow_one_another(version):
    one = golden("bundle.hipfb") if version is None else packed(golden("bundle.hipfb"), version)
    assert listed(one + bytes(4096) + one + bytes(8)) == 2 * ENTRIES
    with pytest.raises(CodeObjectError, match=r"has 2 code objects for gfx942; choose one that"):
        load_object(one + one)


def test_entries_share_the_memory_of_the_file():
    data = golden("bundle.hipfb")
    assert all(entry.data.obj is data for entry in read_objects(data))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("hipv4-amdgcn-amd-amdhsa--gfx942", ("hipv4", "amdgcn-amd-amdhsa", "gfx942")),
        ("hip-amdgcn-amd-amdhsa-gfx942:xnack+", ("hip", "amdgcn-amd-amdhsa", "gfx942:xnack+")),
        ("hip-amdgcn-amd-amdhsa-unknown-gfx942", ("hip", "amdgcn-amd-amdhsa-unknown", "gfx942")),
        ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", ("hipv4", "amdgcn-amd-amdhsa", "gfx9-4-generic")),
        ("host-x86_64-unknown-linux-gnu-", ("host", "x86_64-unknown-linux-gnu", "")),
        ("host-x86_64-unknown-linux", ("host", "x86_64-unknown-linux", "")),
    ],
)
def test_ids_of_entries(text, parts):
    data = bundle.MAGIC + struct.pack("<QQQQ", 1, 32, 0, len(text)) + text.encode()
    (entry,) = read_objects(data)
    assert (entry.kind, entry.triple, entry.target) == parts


def test_own_code_comes_before_generic_code():
    objects = {"gfx9-4-generic": golden("generic.co"), "gfx942": golden("kernels_v6.co")}
    assert load_object(bundled(objects)).target == "gfx942"
    assert load_object(bundled({"gfx9-4-generic": golden("generic.co")})).target == "gfx9-4-generic"


def bundled(objects):
    ids = [f"hipv4-amdgcn-amd-amdhsa--{target}".encode() for target in objects]
    at = 32 + sum(24 + len(name) for name in ids)
    header = bundle.MAGIC + struct.pack("<Q", len(ids))
    for name, data in zip(ids, objects.values(), strict=True):
        header += struct.pack("<QQQ", at, len(data), len(name)) + name
        at += len(data)
    return header + b"".join(objects.values())


# --- files that lie ---------------------------------------------------------------------------------------------------


def v6():
    return File("kernels_v6.co")


def assembled():
    return File("descriptor.co")


def debug():
    return File("kernels_v5_dwarf5.co")


def without(key):
    return lambda document: document.pop(key) and None


NOT_ONE = [
    (b"", "is empty; give a code object, an offload bundle or a HIP program"),
    (b"#!/bin/sh", "is neither ELF nor an offload bundle"),
    (b"\x7fELF", "the ELF header should be 64 bytes from byte 0 on, and there are 4 bytes"),
    (v6().header(**{"class": 1}), "is not a 64-bit little-endian ELF file"),
    (host_program(b"", b".text"), r"is a host program \(machine 62\) without .hip_fatbin"),
    (host_program(b"junk"), "byte 0 begins no offload bundle"),
    (golden("gfx90a.co"), "has no code object for gfx942, only for gfx90a; compile it with --offload-arch=gfx942 or"),
    (bundled({}), "has no code object for gfx942, only for none"),
    (bundled({"gfx942": b"text"}), "entry hipv4-amdgcn-amd-amdhsa--gfx942 is not an ELF file"),
    (bundled({"gfx942": host_program(b"")}), "is for machine 62, not for AMD GPUs"),
    (v6().header(abi_version=2), "has OS ABI 64 version 2, not HSA"),
    (v6().header(abi=0), "has OS ABI 0 version 4, not HSA"),
    (v6().header(type=1), "is not linked; link it with ld.lld -shared"),
    (golden("compressed.hipfb"), "is compressed with zstd, and only zlib can be read; unpack it with clang-offload-bu"),
    (packed(golden("bundle.hipfb"), 3, method=7), "is compressed with method 7"),
    (packed(golden("bundle.hipfb"), 4), "is a compressed bundle of version 4; known are"),
]

TABLES = [
    (golden("kernels_v6.co")[:5000], "the table of section headers should be"),
    (v6().header(phoff=1 << 63), "the table of program headers should be"),
    (v6().header(shnum=60000), "has 60,000 section headers; give a linked code object"),
    (v6().header(phentsize=64), "its program headers have 64 bytes, not 56"),
    (v6().header(shstrndx=0), "a name at byte .* of a table of names does not end in it"),
    (v6().program(1, filesz=1 << 40), "a segment has 1,099,511,627,776 bytes in the file and 3,028 in memory"),
    (v6().program(1, memsz=1 << 33), "wants memory up to address 0x200000000; an image may have 1,073,741,824 bytes"),
    (v6().program(1, vaddr=(1 << 64) - 4096), "wants memory up to address 0xfff"),
    (v6().program(1, memsz=1 << 28), "two segments share the memory at 0x1"),
    (v6().program(1, offset=7000), "a segment should be 3,028 bytes from byte 7,000 on"),
    (v6().program(4, offset=1 << 50), "a segment of notes should be"),
    (v6().section(".dynsym", entsize=16), "symbol table .dynsym has entries of 16 bytes, not 24"),
    (v6().section(".dynsym", size=24 << 40), "section .dynsym should be"),
    (v6().section(".dynsym", link=900), "symbol table .dynsym has"),
    (v6().symbols("scale", name=1 << 30), "a name at byte 1,073,741,824 of a table of names does not end in it"),
    (v6().symbols("weights", size=1 << 40), "symbol weights at .* is outside the image"),
    (v6().symbols("weights", value=(1 << 64) - 8), "symbol weights at 0xfffffffffffffff8 is outside the image"),
    (v6().section(".text", size=1 << 20), "section .text is not a part of its own of an executable segment"),
    (v6().section(".rodata", flags=6), "section .rodata is not a part of its own of an executable segment"),
    (v6().section(".rela.dyn", type=9), "has its relocations in .rela.dyn of type REL; link it so that"),
    (v6().section(".rela.dyn", type=19), "has its relocations in .rela.dyn of type RELR; link it"),
    (v6().section(".rela.dyn", size=24 * 1000), "it has more relocations than bytes for them"),
    (v6().section(".rela.dyn", offset=7310), "section .rela.dyn should be"),
    (v6().relocation(type=12), "the relocation at .* has type 12, which gfx942 does not have"),
    (v6().relocation(symbol=77), "the relocation at .* refers to symbol 77 of"),
    (v6().relocation(offset=1 << 60), "R_AMDGPU_RELATIVE64 at 0x1000000000000000 is outside the image of 17,213 bytes"),
    (v6().relocation(type=14), "has R_AMDGPU_REL16 at .*, which no loader applies"),
]

METADATA = [
    (v6().program(4, type=0), "has no metadata of its kernels; give assembly its .amdgpu_metadata"),
    (v6().raw_metadata(b""), "its metadata are not MessagePack"),
    (v6().raw_metadata(b"\xc1"), "its metadata are not MessagePack"),
    (v6().raw_metadata(b"\x91" * 1600), "its metadata are not MessagePack"),
    (v6().raw_metadata(b"\xdd\xff\xff\xff\xff" * 300), "its metadata are not MessagePack"),
    (v6().raw_metadata(b"\xdb\xff\xff\xff\xffabc"), "its metadata are not MessagePack"),
    (v6().raw_metadata(msgpack.packb(["x" * 100])), "its metadata should be a mapping and is list"),
    (v6().raw_metadata(msgpack.packb({"amdhsa.version": [1, 1]})), r"has metadata of version \[1, 1\]; compile it"),
    (v6().metadata(without("amdhsa.target")), "its metadata have no amdhsa.target where there must be one"),
    (v6().header(flags=0xE4C), "its metadata are for amdgcn-amd-amdhsa--gfx942 and its header is for gfx942:sramecc+"),
    (v6().metadata(lambda d: d.update({"amdhsa.target": "gfx942"})), "its metadata are for gfx942 and its header is"),
    (v6().metadata(lambda d: d.update({"amdhsa.kernels": {}})), "have {} as amdhsa.kernels, which must be a list"),
    (v6().metadata(lambda d: d.update({"amdhsa.kernels": [7]})), "an element of amdhsa.kernels should be a mapping"),
    (v6().kernel(name=None), "its metadata have no .name where there must be one"),
    (v6().kernel(name="a\x1b[2J"), "as .name, which must be text of one line"),
    (v6().kernel(sgpr_count=-1), "have -1 as .sgpr_count, which must be a number of 32 bits"),
    (v6().kernel(sgpr_count="x"), "have 'x' as .sgpr_count, which must be a number of 32 bits"),
    (v6().kernel(sgpr_count=True), "have True as .sgpr_count"),
    (v6().kernel(uses_dynamic_stack=2), "have 2 as .uses_dynamic_stack, which must be true or false"),
    (v6().kernel(symbol="other.kd"), "kernel scale has no descriptor of 64 bytes under the name in its metadata"),
    (v6().symbols("scale.kd", size=63), "kernel scale has no descriptor of 64 bytes"),
    (v6().kernel(wavefront_size=32), "kernel scale has waves of 32 lanes, not 64"),
    (v6().kernel(group_segment_fixed_size=8), "kernel scale has 8 bytes of LDS in its metadata and 256 in its desc"),
    (v6().kernel(kernarg_segment_size=999), "kernel scale has 999 bytes of arguments in its metadata and 280 in"),
    (assembled().kernel(private_segment_fixed_size=0), "kernel busy has 0 bytes of scratch in its metadata and 128"),
    (v6().kernel(reqd_workgroup_size=[64, 1]), "the work-group size that scale requires is not three numbers"),
    (v6().argument(value_kind="guess"), "an argument of scale has the value kind 'guess', which no version defines"),
    (v6().argument(offset=1 << 31), "an argument of scale at 2147483648 ends after the 280 bytes of arguments"),
    (v6().descriptor(8 * 48 + 20), "the descriptor of scale has priv set, which must be 0 for gfx942"),
    (v6().descriptor(8 * 60), "the descriptor of scale has reserved_8 set"),
    (v6().descriptor(8 * 16 + 3), "kernel scale begins at .*, which is no multiple of 256 in its code"),
    (v6().descriptor(8 * 16 + 40), "kernel scale begins at .*, which is no multiple of 256 in its code"),
    (v6().symbols("scale.kd", value=0x1B00), "the descriptor of scale at 0x1b00 is not in any segment"),
]

LINES = [
    (debug().lines(0, struct.pack("<I", 7000)), "its table of lines ends within an entry"),
    (debug().lines(4, b"\x03"), "has line tables of DWARF 3; compile it with -gdwarf-4 or -gdwarf-5"),
    (debug().lines(16, b"\x00"), "its table of lines has a line range of 0"),
    (debug().lines(30, b"\x00\xff\xff\xff\x7f"), "its table of lines promises 268,435,455 entries of nothing"),
    (debug().lines(32, b"\x33"), "its table of lines has an entry of form 0x33"),
    (debug().lines(34, b"\xff\xff\xff\x7f"), "a name in .debug_line_str does not end"),
    (debug().lines(50, b"\x05"), "its table of lines has no directory 5"),
    (debug().lines(50, b"\x80" * 12), "its table of lines has a number of more than 64 bits"),
    (debug().lines(68, b"\x09"), "its table of lines has no file 9"),
    (File("kernels_v6_dwarf4.co").section(".debug_info", size=20), "section .debug_info should be 24 bytes"),
]

BUNDLES = [
    (golden("bundle.hipfb")[:30], "the number of entries should be 8 bytes from byte 24 on"),
    (bundle.MAGIC + struct.pack("<Q", 1 << 60), "entry 0 of 1,152,921,504,606,846,976 should be 24 bytes"),
    (bundle.MAGIC + struct.pack("<QQQQ", 1, 1 << 62, 1 << 62, 0), r"entry 0 \(\) should be"),
    (bundle.MAGIC + struct.pack("<QQQQ", 1, 0, 0, 1 << 40), "the ID of entry 0 should have 1,099,511,627,776 charac"),
    (bundle.MAGIC + struct.pack("<QQQQ", 1, 0, 0, 2) + b"\x1b[", "the ID of entry 0 at byte 56 is not text of one l"),
    (bundle.MAGIC + struct.pack("<QQQQ", 1, 0, 0, 2) + b"\xff\xff", "the ID of entry 0 at byte 56 is not text of one"),
    (golden("bundle.hipfb") + b"more", "byte 22,248 begins no offload bundle"),
    (packed(b"no bundle", 3), "what was compressed is no offload bundle"),
    (packed(golden("bundle.hipfb"), 2, digest=1), "a compressed bundle does not have the hash that is promised"),
    (packed(golden("bundle.hipfb"), 3, size=-1), "does not decompress to the 22,247 bytes that are promised"),
    (packed(golden("bundle.hipfb"), 3, size=1), "does not decompress to the 22,249 bytes that are promised"),
    (packed(golden("bundle.hipfb"), 3, size=1 << 40), "a compressed bundle would have 1,099,511,650,024 bytes, where"),
    (packed(golden("bundle.hipfb"), 3)[:-9], "a compressed bundle should be"),
    (b"CCOB" + struct.pack("<HHIQ", 1, 0, 9, 0) + b"junk", r"a compressed bundle does not decompress \(Error -3"),
    (b"CCOB", "the header of a compressed bundle should be 8 bytes"),
]


def everything(data):
    item = load_object(data)
    item.relocated(0)
    for at, code in item.text:
        for address in range(at, at + len(code), 4):
            item.source_line(address)


@pytest.mark.parametrize(("data", "message"), [*NOT_ONE, *TABLES, *METADATA, *LINES, *BUNDLES])
def test_one_sentence_for_every_lie(data, message):
    with pytest.raises(CodeObjectError, match=message) as caught:
        everything(bytes(data))
    said = str(caught.value)
    assert said.startswith("the input")
    assert said.endswith(".")
    assert "\n" not in said
    assert len(said) < 500
    assert isinstance(caught.value, MfmaError | ValueError)


def test_long_names_are_shortened():
    with pytest.raises(CodeObjectError, match=r"kernel k{150,} \.\.\. k* has no descriptor") as caught:
        load_object(bytes(v6().kernel(name="k" * 600, symbol="none")))
    assert len(str(caught.value)) < 500


def test_limits(monkeypatch, tmp_path):
    big = tmp_path / "big.co"
    big.write_bytes(golden("kernels_v5_dwarf5.co"))
    with monkeypatch.context() as patch:
        patch.setattr(content, "LARGEST", 9000)
        with pytest.raises(CodeObjectError, match=r"big.co is larger than 9000 bytes; give a file with less in it\.$"):
            load_object(big)
    with monkeypatch.context() as patch:
        patch.setattr(line_program, "MOST", 5)
        with pytest.raises(CodeObjectError, match="its table of lines has more than 5 entries"):
            load_object(big).source_line(0)
    with monkeypatch.context() as patch:
        patch.setattr(elf, "MOST_TEXT", 20)
        with pytest.raises(CodeObjectError, match="its symbols' names have more than 20 bytes"):
            load_object(big)
    with monkeypatch.context() as patch:
        plain = golden("bundle.hipfb")
        patch.setattr(bundle, "LARGEST", len(plain) + 100)
        with pytest.raises(CodeObjectError, match="would have 22,248 bytes, where 100 are the most"):
            read_objects(packed(plain, 3) + packed(plain, 3))


def test_debug_sections_compressed_otherwise():
    file = File("kernels_v6_dwarf4.co")
    start, _ = file.place(".debug_info")
    file.data[start] = 2  # ELFCOMPRESS_ZSTD
    item = load_object(bytes(file))
    with pytest.raises(CodeObjectError, match=r"has \.debug_info compressed otherwise than with zlib; compile"):
        item.source_line(item.kernels["scale"].entry)


def test_a_directory_that_cannot_be_read_leaves_the_name():
    file = File("kernels_v6_dwarf4.co")
    file.section(
        ".debug_abbrev", name=file.get(file.sections()[".comment"], (0, "I")) if ".comment" in file.sections() else 0
    )
    item = load_object(bytes(file))
    assert item.source_line(item.kernels["scale"].entry)[0] == "kernels.hip"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.co", r"missing.co cannot be read: No such file or directory; give the path of a file\.$"),
        (".", r"\. cannot be read: Is a directory; give the path of a file\.$"),
        ("a\0b", r"cannot be read: .*null.*; give the path of a file\.$"),
    ],
)
def test_paths_that_cannot_be_read(path, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CodeObjectError, match=message):
        load_object(path)


@pytest.mark.parametrize("target", ["", "gfx942:xnak+", "gfx942:xnack", "gfx942:xnack+:xnack-", ":xnack+", "MI300X"])
def test_targets_that_are_none(target):
    message = "is no target ID; give a processor as in gfx942, with features as in gfx942:sramecc.:xnack-"
    with pytest.raises(CodeObjectError, match=message):
        load_object(GOLDEN / "kernels_v6.co", target)


def test_features_in_any_order():
    assert load_object(GOLDEN / "xnack.co", "gfx942:xnack+:sramecc+").features == {"sramecc": "on", "xnack": "on"}


def test_a_path_is_in_the_message():
    with pytest.raises(CodeObjectError, match=r"gfx90a\.co has no code object for gfx942"):
        load_object(str(GOLDEN / "gfx90a.co"))


def test_damaged_files_end_in_one_sentence(monkeypatch):
    fuzz.limited(monkeypatch.setattr)
    read, refused = fuzz.run(4000)
    assert read > 400  # not all mutations matter,
    assert refused > 2000  # and most do


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_damaged_files(monkeypatch, seed):
    fuzz.limited(monkeypatch.setattr)
    fuzz.run(25_000, seed)


# --- the command ------------------------------------------------------------------------------------------------------


def run(*args, code=0):
    result = CliRunner().invoke(main, ["objects", *map(str, args)], prog_name="mfma")
    assert result.exit_code == code, result.output
    return result


def test_objects_lists_entries_kernels_and_arguments():
    said = run(GOLDEN / "bundle.hipfb").stdout
    assert re.search(r"^x86_64-unknown-linux-gnu +host +0$", said, re.MULTILINE)
    assert re.search(r"^gfx90a +hipv4 +7320$", said, re.MULTILINE)
    assert said.count("code object  gfx942, version 6") == 2
    assert re.search(r"^features +sramecc on, xnack off$", said, re.MULTILINE)
    assert re.search(r"^relocations +1$", said, re.MULTILINE)
    assert re.search(r"^0x[0-9a-f]+ +20 +no +weights$", said, re.MULTILINE)
    said = run(GOLDEN / "descriptor.co").stdout
    assert re.search(r"^busy +100 +60 +60 +4096 +128\+ +72 +64x2x2$", said, re.MULTILINE)
    assert re.search(r"^ +0 +8 +global_buffer +out +float\*$", said, re.MULTILINE)


def test_objects_as_json():
    first, second, third, fourth = json.loads(run(GOLDEN / "bundle.hipfb", "--json").stdout)
    assert first == {"target": "", "triple": "x86_64-unknown-linux-gnu", "kind": "host", "bytes": 0}
    assert "kernels" not in second
    assert third["features"] == {"sramecc": "on", "xnack": "off"}
    assert [kernel["name"] for kernel in fourth["kernels"]] == ["scale", "multiply"]
    item = load_object(GOLDEN / "bundle.hipfb")
    assert third["kernels"][0]["entry"] == item.kernels["scale"].entry
    assert [a["offset"] for a in third["kernels"][1]["arguments"]] == [0, 8, 16]
    assert {o["name"]: o["writable"] for o in third["objects"]}.items() >= {"weights": False, "counter": True}.items()


def test_objects_refuses_with_one_line(tmp_path):
    (tmp_path / "text").write_text("text")
    said = run(tmp_path / "text", code=2)
    assert said.stderr == (
        f"mfma: {tmp_path}/text is neither ELF nor an offload bundle; give a code object, an offload bundle or a HIP "
        "program.\n"
    )


def test_readers_are_imported_when_they_are_needed():
    script = "import sys, mfma, mfma.codeobject; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "mfma.codeobject.object" in loaded
    assert not {"msgpack", "elftools"} & set(loaded)


# --- independent readers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LINKED)
def test_pyelftools_reads_the_same_tables(name):
    item = opened(name)
    with (GOLDEN / name).open("rb") as file:
        other = ELFFile(file)
        loaded = [s for s in other.iter_segments("PT_LOAD") if s["p_memsz"]]
        assert [(s.address, s.size, s.writable, s.executable) for s in item.segments] == [
            (s["p_vaddr"], s["p_memsz"], bool(s["p_flags"] & 2), bool(s["p_flags"] & 1)) for s in loaded
        ]
        for segment in loaded:
            at = segment["p_vaddr"]
            assert item.image[at : at + segment["p_filesz"]] == segment.data()
        symbols = {
            (symbol.name, symbol["st_value"], symbol["st_size"])
            for table in (".symtab", ".dynsym")
            for symbol in other.get_section_by_name(table).iter_symbols()
            if symbol.name and symbol["st_info"]["type"] != "STT_FILE"
        }
        assert {(symbol.name, symbol.address, symbol.size) for symbol in item.symbols} == symbols
        section = other.get_section_by_name(".rela.dyn")
        found = [(r["r_offset"], r["r_info_type"], r["r_addend"]) for r in section.iter_relocations()]
        assert [(r.offset, r.type.number, r.addend) for r in item.relocations] == found
        text = other.get_section_by_name(".text")
        assert item.text == [(text["sh_addr"], text.data())]


def printed(*command):
    return subprocess.run([tool(command[0]), *map(str, command[1:])], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module", params=[*LINKED, "hip", "triton"])
def compiled(request, tmp_path_factory):
    """Golden objects, and two that today's compilers make, with debug information."""
    if request.param in LINKED:
        return GOLDEN / request.param
    path = tmp_path_factory.mktemp("compiled") / f"{request.param}.co"
    if request.param == "hip":
        flags = ("--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "--offload-arch=gfx942")
        printed("clang-22", "-x", "hip", *flags, "-O1", "-g", GOLDEN / "kernels.hip", "-o", path)
    else:
        environment = {"TRITON_CACHE_DIR": str(path.parent), "TRITON_DEFAULT_FP_FUSION": "1"}
        if importlib.util.find_spec("triton") is None:
            missing("triton==3.9.0")
        script = [sys.executable, Path(__file__).parent / "codeobject_triton.py", path]
        subprocess.run(script, check=True, env=os.environ | environment)
    return path


@pytest.mark.long
def test_objdump_prints_the_same_descriptors(compiled):
    item = opened(compiled)
    told = printed("llvm-objdump-22", "-D", "-j", ".rodata", compiled)
    blocks = dict(re.findall(r"^\.amdhsa_kernel (\S+)\n(.*?)^\.end_amdhsa_kernel", told, re.MULTILINE | re.DOTALL))
    assert set(blocks) == set(item.kernels)
    for name, block in blocks.items():
        descriptor = item.kernels[name].descriptor
        fields = {key: number for key, number in directives(block).items() if key not in ELSEWHERE}
        assert {key: getattr(descriptor, DIRECTIVES[key]) for key in fields} == fields
        assert descriptor.vgprs == directives(block)["next_free_vgpr"]


@pytest.mark.long
def test_readelf_prints_the_same_arguments(compiled):
    item = opened(compiled)
    told = printed("llvm-readelf-22", "--notes", compiled)
    arguments = re.findall(
        r"\.offset: +(\d+)\n(?: +\.pointee_align: .*\n)? +\.size: +(\d+)\n(?:.*\n)*? +\.value_kind: +(\w+)", told
    )
    assert [(int(offset), int(size), kind) for offset, size, kind in arguments] == [
        (a.offset, a.size, str(a.kind)) for kernel in item.kernels.values() for a in kernel.arguments
    ]
    for attribute, key in (("lds_size", "group_segment_fixed_size"), ("vgpr_count", "vgpr_count")):
        numbers = re.findall(rf"^ +(?:- )?\.{key}: +(\d+)$", told, re.MULTILINE)
        assert [getattr(kernel, attribute) for kernel in item.kernels.values()] == [int(number) for number in numbers]


@pytest.mark.long
def test_addr2line_finds_the_same_lines(compiled):
    item = opened(compiled)
    addresses = [at for start, code in item.text for at in range(start, start + len(code), 4) if item.function_at(at)]
    told = printed("llvm-addr2line-22", "-e", compiled, *map(hex, addresses)).split("\n")
    for address, line in zip(addresses, told, strict=False):
        file, _, number = line.partition(" ")[0].rpartition(":")
        expected = None if number in ("0", "?") else (file, int(number))
        assert item.source_line(address) == expected, hex(address)


@pytest.mark.long
def test_objcopy_lays_out_the_same_image(compiled, tmp_path):
    item = opened(compiled)
    printed("llvm-objcopy-22", "-O", "binary", compiled, tmp_path / "image")
    image = (tmp_path / "image").read_bytes()
    with compiled.open("rb") as file:
        start = min(section["sh_addr"] for section in ELFFile(file).iter_sections() if section["sh_flags"] & 2)
    assert item.image[start : start + len(image)] == image
    assert not any(item.image[start + len(image) :])


@pytest.mark.long
def test_programs_of_the_compiler(tmp_path):
    """A host object and a linked pair of them, from sources without HIP's headers."""
    source = tmp_path / "program.hip"
    source.write_text(
        "#define __global__ __attribute__((global))\n"
        "struct dim3 { unsigned x, y, z; };\n"
        'extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, struct ihipStream_t *);\n'
        'extern "C" __global__ void NAME(float *x) { *x = 1; }\n'
    )
    flags = ("-x", "hip", "--offload-arch=gfx942", "--offload-arch=gfx90a", "-nogpulib", "-nogpuinc", "-c", source)
    objects = []
    for name in ("first", "second"):
        objects.append(tmp_path / f"{name}.o")
        printed("clang-22", *flags, f"-DNAME={name}", "-o", objects[-1])
        assert set(load_object(objects[-1]).kernels) == {name}
    printed("ld.lld-22", "-shared", "--unresolved-symbols=ignore-all", *objects, "-o", tmp_path / "both.so")
    entries = [entry for entry in read_objects(tmp_path / "both.so") if entry.target == "gfx942"]
    assert [set(open_entry(entry).kernels) for entry in entries] == [{"first"}, {"second"}]
    printed("clang-22", *flags, "-DNAME=packed", "--offload-compress", "-o", tmp_path / "packed.o")
    with pytest.raises(CodeObjectError, match="is compressed with zstd"):
        load_object(tmp_path / "packed.o")


@pytest.mark.long
@pytest.mark.parametrize(("number", "processor"), MACHINES.items(), ids=str)
def test_machines_of_the_assembler(number, processor, tmp_path):
    if processor in ("gfx940", "gfx941"):
        pytest.skip("LLVM 22 has dropped it")
    (tmp_path / "none.s").write_text("")
    flags = ("-triple=amdgcn-amd-amdhsa", "--amdhsa-code-object-version=6", "-filetype=obj")
    printed("llvm-mc-22", *flags, f"-mcpu={processor}", tmp_path / "none.s", "-o", tmp_path / "none.o")
    (entry,) = read_objects(tmp_path / "none.o")
    assert (entry.target, MACHINES[number]) == (processor, processor)
