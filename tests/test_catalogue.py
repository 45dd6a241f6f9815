"""The catalogue around the table: names, targets, signatures, and the words of every refusal.

The tests marked `long` ask real compilers. In CI a missing compiler fails them; elsewhere it skips them.
"""

import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfma.errors import UnknownNameError
from mfma.isa import targets
from mfma.isa.catalogue import by_opcode, find, names, ops, select, sparse_ops
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.signature import REGISTER_TYPES, backend_feature, guard_macro, required_feature, signature
from mfma.isa.spec import Pipe
from mfma.isa.spellings import ASSEMBLER_SPELLINGS
from mfma.isa.targets import TARGETS, available, spellings, target, where, why_not

GOLDEN = Path(__file__).parent / "golden"
ROWS = json.loads((GOLDEN / "builtins_cdna3.json").read_text())
CLANG_TYPES = dict(
    line.strip().split(" :: ")
    for line in (GOLDEN / "signatures" / "signatures_gfx942.txt").read_text().splitlines()
    if not line.startswith("#")
)
PAGE_TYPES = (GOLDEN / "signatures" / "page_types.cpp").read_text().splitlines()
DROPPED = {
    "f32_32x32x2bf16": "f32_32x32x4bf16_1k",
    "f32_16x16x2bf16": "f32_16x16x4bf16_1k",
    "f32_4x4x2bf16": "f32_4x4x4bf16_1k",
    "f32_32x32x4bf16": "f32_32x32x8bf16_1k",
    "f32_16x16x8bf16": "f32_16x16x16bf16_1k",
    "i32_32x32x8i8": "i32_32x32x16_i8",
    "i32_16x16x16i8": "i32_16x16x32_i8",
}

# The golden file has the calculator's type names.
TYPE = {"fp64": "f64", "fp32": "f32", "fp16": "f16", "amd_fp8": "fp8", "amd_bf8": "bf8", "int8": "i8", "int32": "i32"}


# The table and its names


@pytest.mark.parametrize(("op", "row"), list(zip(DENSE, ROWS, strict=True)), ids=lambda item: str(item)[:24])
def test_row_equals_the_published_tables(op, row):
    registers = op.registers
    assert row == row | {
        "builtin": op.builtin,
        "isa": op.mnemonic,
        "opcode": hex(op.opcode),
        "M": op.m,
        "N": op.n,
        "K": op.k,
        "blocks": op.blocks,
        "elem_bits": op.a.bits,
        "elems_per_lane_AB": registers.a.elements,
        "vgprs_AB": registers.a.vgprs,
        "elems_per_lane_CD": registers.cd.elements,
        "vgprs_CD": registers.cd.vgprs,
        "cycles": op.cycles,
        "passes": op.passes,
        "ops": op.operations,
        "valu_coexec": op.coexecution,
        "xdl": op.pipe is Pipe.XDL,
        "cbsz_max": op.max_cbsz,
    }
    types = [TYPE.get(row[key], row[key]) for key in ("a_type", "b_type", "cd_type")]
    assert types == [op.a.name, op.b.name, op.out.name]
    assert registers.b.vgprs == registers.a.vgprs


def test_ops_are_the_page_s_32_in_its_order():
    assert [op.builtin for op in ops()] == [row["builtin"] for row in ROWS]
    assert ops() == ops("GFX942") == ops("gfx942:sramecc+:xnack-") == DENSE
    assert sparse_ops() == SPARSE


@given(st.sampled_from(DENSE), st.data())
def test_every_spelling_in_any_case_finds_its_instruction(op, data):
    name = data.draw(st.sampled_from(names(op)))
    upper = data.draw(st.lists(st.booleans(), min_size=len(name), max_size=len(name)))
    mixed = "".join(letter.upper() if up else letter for letter, up in zip(name, upper, strict=True))
    assert find(mixed) is op
    assert find(f" {mixed}\n") is op


@pytest.mark.parametrize("op", DENSE, ids=str)
def test_every_spelling_of_every_instruction(op):
    dotted = op.name.replace("_", ".")
    for name in (
        op.name,
        f"mfma_{op.name}",
        f"amdgcn_mfma_{op.name}",
        f"__builtin_amdgcn_mfma_{op.name}",
        f"llvm.amdgcn.mfma.{dotted}",
        f"rocdl.mfma.{dotted}",
        op.mnemonic,
        *(old for old, mnemonic in ASSEMBLER_SPELLINGS.items() if mnemonic == op.mnemonic),
    ):
        assert find(name) is find(name.upper()) is op
        assert name in names(op)


def test_no_two_instructions_share_a_name():
    everything = [name.lower() for op in DENSE for name in names(op)]
    assert len(set(everything)) == len(everything)
    sparse = [name.lower() for op in SPARSE for name in names(op)]
    assert len(set(sparse)) == len(sparse)
    assert set(everything).isdisjoint(sparse)


def test_the_prefix_decides_what_an_old_spelling_means():
    """The assembler takes it for two blocks; the builtin of that name is another instruction, of other GPUs."""
    assert find("v_mfma_f32_32x32x4bf16").name == "f32_32x32x4bf16_1k"
    with pytest.raises(UnknownNameError, match="use f32_32x32x8bf16_1k"):
        find("f32_32x32x4bf16")


@pytest.mark.parametrize("op", SPARSE, ids=str)
def test_sparse_instructions_are_found_only_when_asked_for(op):
    for name in names(op):
        assert find(name, sparse=True) is op
    with pytest.raises(UnknownNameError, match="nobody has established its arithmetic, so it cannot be called"):
        find(op.builtin)


@pytest.mark.parametrize("op", [*DENSE, *SPARSE], ids=lambda op: op.mnemonic)
def test_opcode_finds_its_instruction(op):
    assert by_opcode(op.opcode) is op


def test_select_by_shape_and_type():
    assert select(m=32, n=32, k=8, a="f16", b="f16") == (find("f32_32x32x8f16"),)
    assert select(m=4, a=find("f64_4x4x4f64").a) == (find("f64_4x4x4f64"),)
    assert {op.b.name for op in select(m=16, a="fp8")} == {"fp8", "bf8"}
    assert len(select(a="i8")) == 5
    assert select() == DENSE


# Refusals


@pytest.mark.parametrize(("name", "replacement"), DROPPED.items())
def test_dropped_builtins_name_their_replacement(name, replacement):
    sentence = (
        f"{name} exists on gfx908 and gfx90a; on gfx942 use {replacement} "
        f"(K {find(replacement).k} instead of {find(replacement).k // 2}). "
        f"clang accepts the call on gfx942 and then fails: Cannot select: intrinsic %llvm.amdgcn.mfma."
    )
    spelled = [s for s in spellings("mfma", name) if s not in ASSEMBLER_SPELLINGS]
    for spelling in spelled:
        with pytest.raises(UnknownNameError, match=re.escape(sentence)):
            find(spelling)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "f32_16x16x32_f16",
            "f32_16x16x32_f16 exists on gfx950; on gfx942 use f32_16x16x16f16 (K 16 instead of 32). "
            "clang says: '__builtin_amdgcn_mfma_f32_16x16x32_f16' needs target feature gfx950-insts.",
        ),
        (
            "__builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4",
            "mfma_scale_f32_16x16x128_f8f6f4 exists on gfx950; on gfx942 no matrix instruction takes block scales",
        ),
        ("i32_16x16x64_i8", "exists on gfx950; on gfx942 use i32_16x16x32_i8 (K 32 instead of 64)."),
        (
            "v_smfmac_f32_16x16x64_f16",
            "smfmac_f32_16x16x64_f16 exists on gfx950; on gfx942 use smfmac_f32_16x16x32_f16 (K 32 instead of 64).",
        ),
        ("f32_32x32x8_f16", "gfx942 has no instruction 'f32_32x32x8_f16'. Did you mean f32_32x32x8f16, "),
        ("__builtin_amdgcn_mfma_f32_32x32x8f61", "Did you mean __builtin_amdgcn_mfma_f32_32x32x8f16"),
        ("xyzzy", "gfx942 has no instruction 'xyzzy'. `mfma list` shows those it has."),
        ("", "gfx942 has no instruction ''. `mfma list` shows those it has."),
        (
            "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32",
            "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32 is not an MFMA instruction: gfx11 and gfx12 GPUs have WMMA "
            "instructions, whose names, operands and register layouts are others",
        ),
        ("v_smfmac_f32_16x16x32_f16", "v_smfmac_f32_16x16x32_f16 is a sparse instruction: its placement is known"),
        ("f32_32x32x32_fp8_fp8", "f32_32x32x32_fp8_fp8 is a sparse instruction: its placement is known"),
        (77, "an instruction name is a string; got 77 (int)."),
        (None, "an instruction name is a string; got None (NoneType)."),
    ],
)
def test_refused_names(name, message):
    with pytest.raises(UnknownNameError, match=re.escape(message)):
        find(name)


def test_a_dense_name_is_refused_among_the_sparse():
    with pytest.raises(UnknownNameError, match=r"f32_4x4x4f16 is a dense instruction: find it without sparse=True\."):
        find("v_mfma_f32_4x4x4_16b_f16", sparse=True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gfx1100", "gfx1100 has no MFMA instructions: gfx11 and gfx12 GPUs have WMMA instructions"),
        ("gfx1201", "gfx1201 has no MFMA instructions: gfx11 and gfx12 GPUs have WMMA instructions"),
        ("gfx1030", "unknown target 'gfx1030'; known are gfx908, gfx90a, gfx942, gfx950."),
        ("MI300X", "MI300X is not the name of a target; its target is gfx942."),
        ("cdna2", "cdna2 is not the name of a target; its target is gfx90a."),
        ("gfx90a", "gfx90a (CDNA2) is known by the names and rates of its builtins only"),
        ("gfx950", "its arithmetic differs and is not implemented; full records exist for gfx942."),
    ],
)
@pytest.mark.parametrize("ask", [ops, sparse_ops, lambda name: find("f32_4x4x4f16", name), lambda t: by_opcode(1, t)])
def test_refused_targets(ask, name, message):
    with pytest.raises(UnknownNameError, match=re.escape(message)):
        ask(name)


@pytest.mark.parametrize(("opcode", "shown"), [(0x43, "0x43"), ("0x40", "'0x40'")])
def test_refused_opcodes(opcode, shown):
    with pytest.raises(UnknownNameError, match=f"no matrix instruction of gfx942 has opcode {shown}"):
        by_opcode(opcode)


def test_select_names_the_nearest_and_what_they_miss():
    with pytest.raises(
        UnknownNameError, match=re.escape("no instruction with m=16, k=8, a=f16; nearest are ")
    ) as error:
        select(m=16, k=8, a="f16")
    assert "f32_16x16x16f16 (k 16)" in str(error.value)
    assert "f32_32x32x8f16 (m 32)" in str(error.value)


def test_why_not_of_an_unknown_name():
    with pytest.raises(UnknownNameError, match=r"no target has a builtin 'f32_32x32x9f16'\. Did you mean f32_32x32x"):
        why_not("f32_32x32x9f16", "gfx90a")
    with pytest.raises(UnknownNameError, match="v_wmma_i32_16x16x16_iu8 is not an MFMA instruction"):
        why_not("v_wmma_i32_16x16x16_iu8", "gfx90a")


@pytest.mark.parametrize(
    ("name", "on", "sentence"),
    [
        ("f32_16x16x8_xf32", "gfx950", "f32_16x16x8_xf32 exists on gfx942; on gfx950 use the f32 instructions, which "),
        (
            "f32_16x16x32_fp8_bf8",
            "gfx90a",
            "exists on gfx942 and gfx950; on gfx90a use the f16 instructions: f16 holds",
        ),
        ("f64_4x4x4f64", "gfx908", "exists on gfx90a, gfx942 and gfx950; on gfx908 no matrix instruction takes f64."),
        ("f32_4x4x4bf16_1k", "gfx908", "on gfx908 use f32_4x4x2bf16 (K 2 instead of 4)."),
        ("i32_32x32x16_i8", "gfx90a", "on gfx90a use i32_32x32x8i8 (K 8 instead of 16)."),
        ("smfmac_f32_16x16x32_f16", "gfx90a", "on gfx90a there are no sparse instructions: use a dense one."),
        ("f32_16x16x16f16", "gfx1100", "f32_16x16x16f16 does not exist on gfx1100: gfx11 and gfx12 GPUs have WMMA"),
        ("f32_16x16x16f16", "gfx1100", "'__builtin_amdgcn_mfma_f32_16x16x16f16' needs target feature mai-insts."),
    ],
)
def test_why_not_elsewhere(name, on, sentence):
    assert sentence in str(why_not(name, on))


# Targets


def test_each_target_has_its_number_of_builtins():
    assert {item.name: len(item.dense) for item in TARGETS.values()} == {
        "gfx908": 20,
        "gfx90a": 27,
        "gfx942": 32,
        "gfx950": 38,
    }
    assert {item.name: len(item.sparse) for item in TARGETS.values()} == {
        "gfx908": 0,
        "gfx90a": 0,
        "gfx942": 14,
        "gfx950": 28,
    }


def test_availability_agrees_with_why_not():
    for item in TARGETS.values():
        for listing in item.listings:
            for on in TARGETS:
                assert available(listing.builtin, on) is (why_not(listing.builtin, on) is None)
                assert available(listing.builtin, on) is (on in where(listing.builtin))


def test_a_bare_name_means_the_dense_builtin():
    """``f32_16x16x32_f16`` is sparse on gfx942 and dense on gfx950."""
    assert where("f32_16x16x32_f16") == ("gfx950",)
    assert where("smfmac_f32_16x16x32_f16") == ("gfx942", "gfx950")


def test_rates_across_generations():
    rates = {
        item.name: (listing.cycles, listing.operations // listing.cycles * 4)
        for item in TARGETS.values()
        for listing in item.dense
        if listing.name == "f32_32x32x8f16"
    }
    assert rates == {"gfx908": (64, 1024), "gfx90a": (64, 1024), "gfx942": (32, 2048), "gfx950": (32, 2048)}
    doubles = {item.name: [x.cycles for x in item.dense if x.a == "f64"] for item in TARGETS.values()}
    assert doubles == {"gfx908": [], "gfx90a": [32, 16], "gfx942": [32, 16], "gfx950": [64, 32]}


def test_8_bit_floats_mean_other_numbers_on_other_targets():
    assert [item.fp8 and item.fp8.max for item in TARGETS.values()] == [None, None, 240.0, 448.0]
    assert [item.bf8 and item.bf8.has_infinity for item in TARGETS.values()] == [None, None, False, True]


# Signatures


@pytest.mark.parametrize("op", [*DENSE, *SPARSE], ids=lambda op: op.mnemonic)
def test_signature_in_clang_s_types(op):
    assert signature(op).clang == CLANG_TYPES[op.builtin]
    assert signature(op).clang22 == CLANG_TYPES[op.builtin].replace("__fp16", "_Float16")


@pytest.mark.long
@pytest.mark.parametrize(("clang", "types"), [("clang-19", "clang"), ("clang-22", "clang22")])
def test_compilers_declare_these_types(clang, types):
    """The implicit declarations that each compiler makes for a call of every dense builtin."""
    source = "".join(kernel(listing) for listing in TARGETS["gfx942"].dense)
    done = compile_device(tool(clang), "gfx942", source, "-fsyntax-only", "-Xclang", "-ast-dump")
    assert done.returncode == 0, done.stderr.decode()
    declared = dict(re.findall(r"implicit used (__builtin_amdgcn_mfma_\w+) '([^']*)'", done.stdout.decode()))
    vector = re.compile(r"__attribute__\(\(__vector_size__\((\d+) \* sizeof\((\w+)\)\)\)\) \w+")
    found = {name: vector.sub(r"v\1<\2>", text).removesuffix(" noexcept") for name, text in declared.items()}
    assert found == {op.builtin: getattr(signature(op), types) for op in DENSE}


def test_register_types_are_the_page_s():
    ours = [item.declaration for item in REGISTER_TYPES]
    assert ours == [re.sub(r"\s*=", " =", line) for line in PAGE_TYPES]
    assert REGISTER_TYPES[4].typedef == "typedef _Float16 v4half __attribute__((ext_vector_type(4)));"


@pytest.mark.parametrize("op", DENSE, ids=str)
def test_signature_in_the_page_s_types(op):
    """Clang's types, each under the name that the page declares for it."""
    to_page = {"long": "long long", "__fp16": "_Float16"}
    alias = {
        (m[2], m[3]): m[1] for line in PAGE_TYPES if (m := re.match(r"using (\w+)\s*= (\w+) \[\[.*\((\d+)\)", line))
    }

    def page_type(clang_type):
        vector = re.match(r"v(\d+)<(\w+)>", clang_type)
        if not vector:
            return to_page.get(clang_type, clang_type)
        return alias[to_page.get(vector[2], vector[2]), vector[1]]

    result, arguments = re.fullmatch(r"(\S+) \((.*)\)", CLANG_TYPES[op.builtin]).groups()
    expected = f"{page_type(result)} ({', '.join(page_type(each) for each in arguments.split(', '))})"
    assert str(signature(op)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("f32_32x32x8f16", "v16float (v4half, v4half, v16float, int, int, int)"),
        ("f64_4x4x4f64", "double (double, double, double, int, int, int)"),
        ("f64_16x16x4f64", "v4double (double, double, v4double, int, int, int)"),
        ("f32_16x16x4f32", "v4float (float, float, v4float, int, int, int)"),
        ("i32_16x16x32_i8", "v4int (long long, long long, v4int, int, int, int)"),
        ("i32_4x4x4i8", "v4int (int, int, v4int, int, int, int)"),
        ("f32_16x16x8_xf32", "v4float (v2float, v2float, v4float, int, int, int)"),
        ("f32_32x32x4bf16_1k", "v32float (v4bfloat, v4bfloat, v32float, int, int, int)"),
    ],
)
def test_signatures_that_users_get_wrong(name, expected):
    assert str(signature(find(name))) == expected


def test_scalars_declare_nothing():
    scalar = signature(find("f32_16x16x4f32")).a
    assert (scalar.is_scalar, scalar.declaration, scalar.typedef, str(scalar)) == (True, "", "", "float")


def test_features_and_guard():
    assert {required_feature(op) for op in DENSE if op.a.name in ("fp8", "bf8")} == {"fp8-insts"}
    assert {required_feature(op) for op in DENSE if op.a.name not in ("fp8", "bf8")} == {"mai-insts"}
    assert {op.name for op in DENSE if backend_feature(op) != required_feature(op)} == {
        "f32_32x32x4_xf32",
        "f32_16x16x8_xf32",
    }
    assert {guard_macro(op) for op in DENSE} == {"__gfx942__"}


# Real compilers


def tool(name):
    path = shutil.which(name)
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{name} is not installed")
    return path


def compile_device(clang, on, source, *flags):
    command = [clang, "-x", "hip", f"--offload-arch={on}", "--offload-device-only", "--no-gpu-bundle-output"]
    command += ["-nogpulib", "-nogpuinc", "-O1", *flags, "-", "-o", "-"]
    return subprocess.run(command, input=source.encode(), capture_output=True, check=False)


SCALED = {"f32": "float", "f64": "double", "xf32": "float", "f16": "_Float16", "bf16": "short"}


def vector(element, count):
    return f"{element} __attribute__((ext_vector_type({count})))" if count > 1 else element


def operand(listing, kind, elements):
    if kind in SCALED:
        # The wide bf16 forms of gfx950 take bf16 itself.
        return vector("__bf16" if kind == "bf16" and listing.feature == "gfx950-insts" else SCALED[kind], elements)
    if kind == "f8f6f4":
        return vector("int", 8)
    return "long" if elements == 8 and not listing.sparse else vector("int", elements // 4)


def kernel(listing):
    """A kernel of one call; the types are worked out here from shapes, not taken from the package."""
    accumulators = listing.m * listing.m * listing.blocks // 64
    result = vector({"f32": "float", "f64": "double", "i32": "int"}[listing.out.name], accumulators)
    elements = listing.m * listing.k * listing.blocks // 64
    a = operand(listing, listing.a, elements // 2 if listing.sparse else elements)
    b = operand(listing, listing.b, elements)
    tail = {"mfma": "0, 0, 0", "mfma_scale": "0, 0, 0, index, 0, index", "smfmac": "index, 0, 0"}[listing.family]
    types = "".join(
        re.sub(r"^(.*?)( __attribute__.*)?$", rf"typedef \1 {name}\2; ", text)
        for name, text in (("A", a), ("B", b), ("C", result))
    )
    return (
        f"namespace {listing.family}_{listing.name} {{ {types}"
        f'extern "C" __attribute__((global)) void k_{listing.family}_{listing.name}(C *d, A a, B b, C c, int index) '
        f"{{ *d = {listing.builtin}(a, b, c, {tail}); }} }}\n"
    )


def every_listing():
    return {listing.builtin: listing for item in TARGETS.values() for listing in item.listings}


def mnemonics(assembly):
    return re.findall(r"^\s+(v_(?:mfma|smfmac)\w+)", assembly.decode(), re.MULTILINE)


@pytest.mark.long
@pytest.mark.parametrize("clang", ["clang-22", "clang-19"])
@pytest.mark.parametrize("on", TARGETS)
def test_clang_selects_exactly_the_listed_builtins(clang, on):
    clang_path = tool(clang)
    if (clang, on) == ("clang-19", "gfx950"):
        pytest.skip("clang 19 does not know gfx950")
    done = compile_device(clang_path, on, "".join(map(kernel, TARGETS[on].listings)), "-S")
    assert done.returncode == 0, done.stderr.decode()
    assert len(mnemonics(done.stdout)) == len(TARGETS[on].listings)
    if on == "gfx942":
        assert set(mnemonics(done.stdout)) == {op.mnemonic for op in (*DENSE, *SPARSE)}

    missing = [listing for name, listing in every_listing().items() if not available(name, on)]
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda listing: compile_device(clang_path, on, kernel(listing), "-S"), missing))
    for listing, run in zip(missing, runs, strict=True):
        reason = re.search(r"(?:clang says: |then fails: )(.*)\.$", why_not(listing.builtin, on))[1]
        if clang == "clang-19" and listing.feature == "gfx950-insts":
            reason = f"use of undeclared identifier '{listing.builtin}'"
        assert run.returncode != 0, listing
        assert reason in run.stderr.decode(), listing


@pytest.mark.long
@pytest.mark.parametrize("on", ["gfx1100", "gfx1201"])
def test_clang_says_the_same_about_gpus_without_mfma(on):
    run = compile_device(tool("clang-22"), on, kernel(TARGETS["gfx942"].dense[0]), "-S")
    assert re.search(r"clang says: (.*)\.$", why_not("f32_32x32x1f32", on))[1] in run.stderr.decode()


@pytest.mark.long
@pytest.mark.parametrize(
    ("clang", "spelling"), [("clang-22", "declaration"), ("clang-22", "typedef"), ("clang-19", "typedef")]
)
def test_register_types_and_signatures_compile(clang, spelling):
    lines = [getattr(item, spelling) for item in REGISTER_TYPES]
    for op in DENSE:
        types = signature(op)
        lines.append(
            f"__attribute__((global)) void k_{op.name}({types.d} *d, {types.a} a, {types.b} b, {types.c} c) "
            f"{{ *d = {op.builtin}(a, b, c, 0, 0, 0); }}"
        )
    done = compile_device(tool(clang), "gfx942", "\n".join(lines), "-S", "-Wall", "-Werror")
    assert done.returncode == 0, done.stderr.decode()
    assert sorted(mnemonics(done.stdout)) == sorted(op.mnemonic for op in DENSE)


@pytest.mark.long
def test_intrinsic_names_are_those_clang_emits():
    source = "".join(kernel(listing) for listing in TARGETS["gfx942"].listings)
    done = compile_device(tool("clang-22"), "gfx942", source, "-S", "-emit-llvm")
    emitted = set(re.findall(r"declare .* @(llvm\.amdgcn\.s?mfmac?[\w.]+)\(", done.stdout.decode()))
    assert emitted == {listing.intrinsic for listing in TARGETS["gfx942"].listings}
    for op in DENSE:
        assert spellings(op.family, op.name)[4] in emitted


@pytest.mark.long
@pytest.mark.parametrize("op", DENSE, ids=str)
def test_the_back_end_needs_its_feature(op):
    listing = next(item for item in TARGETS["gfx942"].dense if item.builtin == op.builtin)
    without = ["-S", "-Xclang", "-target-feature", "-Xclang", f"-{backend_feature(op)}"]
    done = compile_device(tool("clang-22"), "gfx942", kernel(listing), *without)
    assert done.returncode != 0
    assert ("Cannot select" in done.stderr.decode()) is (backend_feature(op) != required_feature(op))


@pytest.mark.long
@pytest.mark.parametrize("on", TARGETS)
def test_cycles_agree_with_llvm_s_scheduling_model(on):
    """One pass is four cycles. LLVM 22 has 4 passes for ``f64_4x4x4f64`` on gfx950, where the page has 32 cycles."""
    mca = tool("llvm-mca-22")
    done = compile_device(tool("clang-22"), on, "".join(map(kernel, TARGETS[on].listings)), "-S")
    lines = re.findall(r"^\s+(v_(?:mfma|smfmac).*)$", done.stdout.decode(), re.MULTILINE)
    for listing, line in zip(TARGETS[on].listings, lines, strict=True):
        command = [mca, "-mtriple=amdgcn", f"-mcpu={on}", "-iterations=1", "-instruction-info"]
        report = subprocess.run(command, input=line.encode(), capture_output=True, check=True).stdout.decode()
        passes = float(re.search(r"^ *1 +\d+ +([\d.]+) .*v_s?mfmac?", report, re.MULTILINE)[1])
        if (on, listing.name) == ("gfx950", "f64_4x4x4f64"):
            assert (passes, listing.cycles) == (4, 32)
        else:
            assert 4 * passes == listing.cycles, listing


@pytest.mark.long
@pytest.mark.parametrize("clang", ["clang-22", "clang-19"])
def test_compilers_check_only_that_modifiers_are_constant(clang):
    source = kernel(next(item for item in TARGETS["gfx942"].dense if item.name == "f32_4x4x4f16"))
    accepted = compile_device(tool(clang), "gfx942", source.replace("0, 0, 0", "9, 20, 8"), "-S")
    assert accepted.returncode == 0
    assert b"cbsz:9 abid:20 blgp:8" in accepted.stdout
    refused = compile_device(tool(clang), "gfx942", source.replace("0, 0, 0", "index, 0, 0"), "-S")
    assert "must be a constant integer" in refused.stderr.decode()


@pytest.mark.long
def test_modifiers_out_of_range_are_cut_to_their_fields(tmp_path):
    source = kernel(next(item for item in TARGETS["gfx942"].dense if item.name == "f32_4x4x4f16"))
    linked = compile_device(tool("clang-22"), "gfx942", source.replace("0, 0, 0", "9, 20, 8"), "-c")
    assert linked.returncode == 0, linked.stderr.decode()
    (tmp_path / "object").write_bytes(linked.stdout)
    text = subprocess.check_output([tool("llvm-objdump-22"), "-d", tmp_path / "object"], text=True)
    assert re.search(r"v_mfma_f32_4x4x4_16b_f16 .* cbsz:1 abid:4\s*//", text)


def test_targets_module_has_no_row_of_its_own_for_gfx942():
    assert [item.builtin for item in target("gfx942").listings] == [op.builtin for op in (*DENSE, *SPARSE)]
    assert targets.TARGETS["gfx942"] is target("gfx942")
