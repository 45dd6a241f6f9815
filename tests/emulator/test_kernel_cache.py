"""What is kept of whole kernels on disk: a later process gets from it exactly what it would make itself."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

import mfma
from corpus.case import Case
from corpus.cases_hip import CASES as HIP
from corpus.cases_triton import CASES as TRITON
from emulator.forms import golden, instruction
from mfma.codeobject import CodeObject
from mfma.emulator import check, reach
from mfma.emulator.decode import Instruction, Operand, decode
from mfma.emulator.semantics.machine import Mode
from mfma.emulator.semantics.registry import DEFINITIONS
from mfma.emulator.translator import forms, kernel, store, translation
from mfma.emulator.translator.driver import Record
from mfma.emulator.translator.layout import address
from mfma.emulator.translator.store import Store
from mfma.emulator.translator.template import Templates
from mfma.native import jit

CASES: dict[str, Case] = {case.name: case for case in (*HIP, *TRITON)}
MISSING = Path(__file__).parent.parent / "golden" / "emulator" / "missing.co"
ADD, CALLS = "vector: add f32", "flow: calls"
KERNELS = ADD, CALLS, "triton_add_fp32", "triton_gemm_fp16_16", "flow_O0: breaks"
ELSEWHERE = 3 << 16
"""Bytes before the code of a module, so that it is at another address."""


@pytest.fixture(autouse=True)
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Call it to have in memory what a new process has, which is nothing; the cache is this test's own."""

    def begin(folder: Path | None = tmp_path) -> None:
        new = Store(folder)
        for module in (forms, translation, check):
            monkeypatch.setattr(module, "store", lambda: new)
        monkeypatch.setattr(forms, "_templates", cache(lambda mode: Templates(mode, new.known)))

    begin()
    return begin


def launch(name: str, before: int = 0) -> tuple[mfma.Module, str]:
    """Launch a case, and check it; the module, whose image has so many bytes before it, and the report's text."""
    case, device = CASES[name], mfma.Device()
    if before:
        device.space.allocate(before, name="what is there already")
    module = mfma.load(case.path, device)
    arguments = case.arguments()
    report = module[case.kernel].launch(case.grid, case.block, arguments, lds=case.lds)
    case.check(arguments)
    return module, str(report)


def records(module: mfma.Module) -> Iterator[list[Any]]:
    """What native code of a module is, with the places of operands in place of their addresses."""
    for natives in module.natives.values():
        for native in natives:
            words = native.records.copy()
            (operands,) = native._operands or [np.zeros(0, np.int64)]
            has_form = words[:, Record.FORM] != 0
            words[has_form, Record.OPERANDS] -= address(operands)
            words[~has_form, Record.OPERANDS] = 0
            names = [native.examples[kind].mnemonic for kind in native.kinds.tolist()]
            yield [native.base, words.tolist(), operands.tolist(), names]


def refuse(*_: Any) -> None:
    raise AssertionError("this should not be needed")


def kept(folder: Path) -> dict[str, bytes]:
    """What a folder has of whole kernels."""
    return {path.name: path.read_bytes() for path in folder.glob("*.kernel")}


# what comes back


@pytest.mark.parametrize("name", KERNELS)
def test_nothing_is_decoded_or_learned_the_second_time(name, begin, monkeypatch):
    _, first = launch(name)
    begin()
    monkeypatch.setattr(reach, "decode", refuse)
    monkeypatch.setattr(translation, "compile", refuse)
    monkeypatch.setattr(Store, "_read", refuse)
    assert launch(name)[1] == first


@pytest.mark.parametrize("name", KERNELS)
def test_it_is_what_is_made_anew_elsewhere(name, begin, monkeypatch):
    first, _ = launch(name)
    begin()
    read, _ = launch(name, ELSEWHERE)
    monkeypatch.setattr(kernel, "kept", lambda name: None)
    monkeypatch.setattr(check, "store", lambda: Store(None))  # what it decodes is translated, too
    made, _ = launch(name, ELSEWHERE)
    assert made.image.address == read.image.address != first.image.address
    assert list(records(made)) == list(records(read))
    assert any(any(words) for _, found, *_ in records(made) for words in found)


def test_operands_move_with_the_code(begin):
    """The one above would say nothing if no operand were an address."""
    module, _ = launch(CALLS)
    begin()
    other, _ = launch(CALLS, ELSEWHERE)
    step = other.image.address - module.image.address
    operands = ([word for _, _, words, _ in records(one) for word in words] for one in (module, other))
    assert {b - a for a, b in zip(*operands, strict=True)} == {0, step}


@pytest.mark.parametrize("name", ["triton_gemm_fp16_16", "triton_spin_lock", "triton_histogram", CALLS])
def test_whether_work_groups_are_independent(name, begin, monkeypatch):
    def asked() -> bool:
        module = mfma.load(CASES[name].path)
        return module.independent(module[CASES[name].kernel].kernel)

    first = asked()
    begin()
    monkeypatch.setattr(reach, "decode", refuse)
    assert asked() is first


def test_a_refused_kernel_is_refused_again(begin, tmp_path):
    messages = set()
    for _ in range(3):
        with pytest.raises(
            mfma.LaunchError, match=r"^behind_branch needs instructions that are not implemented: "
        ) as e:
            mfma.load(MISSING)["behind_branch"].launch(1, 64)
        messages.add(str(e.value))
        begin()
    assert len(messages) == 1
    assert not kept(tmp_path)


def test_what_is_kept_of_a_kernel_says_nothing_of_another_one(begin, tmp_path):
    mfma.load(MISSING)["clean"].launch(1, 64)
    assert kept(tmp_path)
    begin()
    with pytest.raises(mfma.LaunchError, match=r"^behind_branch needs"):
        mfma.load(MISSING)["behind_branch"].launch(1, 64)


def test_an_object_that_differs_in_a_bit_is_another_one(begin, tmp_path):
    launch(ADD)
    before = kept(tmp_path)
    code = CASES[ADD].path.read_bytes()
    module = mfma.load(code)
    entry = module[CASES[ADD].kernel].kernel.entry
    add = next(i for i in module.reach.of(entry) if isinstance(i, Instruction) and i.name == "v_add_f32")
    section, text = next((at, text) for at, text in module.code.text if at <= add.address < at + len(text))
    place = code.index(text) + add.address - section
    subtract = (add.word ^ 3 << 25).to_bytes(add.size, "little")
    assert decode(subtract).name == "v_sub_f32"
    begin()
    changed = mfma.load(code[:place] + subtract + code[place + add.size :])
    x, y, out = np.full(64, 5, np.float32), np.full(64, 3, np.float32), np.zeros(64, np.float32)
    changed[CASES[ADD].kernel].launch(1, 64, [x, y, out, 64])
    assert (np.abs(out) == 2).all()
    assert kept(tmp_path).items() > before.items()


def test_what_relocations_write_into_code_counts(begin, monkeypatch):
    """It is no part of the object, for which something is kept already."""
    module, _ = launch(ADD)
    kernel_ = module[CASES[ADD].kernel].kernel
    add = next(i for i in module.reach.of(kernel_.entry) if isinstance(i, Instruction) and i.name == "v_add_f32")
    relocated = CodeObject.relocated

    def subtracting(self: CodeObject, *arguments: Any) -> bytearray:
        image = relocated(self, *arguments)
        image[add.address : add.address + add.size] = (add.word ^ 3 << 25).to_bytes(add.size, "little")
        return image

    monkeypatch.setattr(CodeObject, "relocated", subtracting)
    for _ in range(2):
        begin()
        x, y, out = np.full(64, 5, np.float32), np.full(64, 3, np.float32), np.zeros(64, np.float32)
        mfma.load(CASES[ADD].path)[CASES[ADD].kernel].launch(1, 64, [x, y, out, 64])
        assert (np.abs(out) == 2).all()


def test_what_may_depend_on_the_place_is_not_kept(tmp_path, monkeypatch):
    made = translation.compile

    def uncertain(*arguments: Any) -> Any:
        return [form and dataclasses.replace(form, moving=None) for form in made(*arguments)]

    monkeypatch.setattr(translation, "compile", uncertain)
    launch(ADD)
    (content,) = kept(tmp_path).values()
    assert content.endswith(check.INDEPENDENT)


# what is damaged, gone, or somebody else's

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[:-7],
    "empty": lambda content: b"",
    "changed": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "other": lambda content: b"no such thing" * 100,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_written_anew(damage, begin, tmp_path):
    _, report = launch(ADD)
    intact = kept(tmp_path)
    assert len(intact) == 2
    for file, content in intact.items():
        (tmp_path / file).write_bytes(DAMAGE[damage](content))
    begin()
    assert launch(ADD)[1] == report
    assert kept(tmp_path) == intact


@pytest.mark.parametrize("content", [b"\xc1", b"\x05", msgpack.packb([b"", b"", b"", [], [], [3]])])
def test_what_somebody_else_kept_under_a_name_is_written_anew(content, begin, tmp_path):
    _, report = launch(ADD)
    intact = kept(tmp_path)
    (translated,) = (file for file, whole in intact.items() if not whole.endswith(check.INDEPENDENT))
    jit.write_object(tmp_path / translated, content)
    begin()
    assert launch(ADD)[1] == report
    assert kept(tmp_path) == intact


@pytest.mark.parametrize("line", [b"\xff", b'["a", [], [], 5]', b'["a", [], [], {"x": [1]}]', b"{}"])
def test_damaged_lines_of_the_index_are_passed_over(line, begin, tmp_path):
    launch(ADD)
    for file in kept(tmp_path):
        (tmp_path / file).unlink()
    index = tmp_path / store.INDEX
    index.write_bytes(line + b"\n" + index.read_bytes())
    begin()
    launch(ADD)
    assert index.read_bytes().count(b"\n") == 2  # nothing had to be learned or compiled again


def test_code_that_was_being_translated_when_ctrl_c_came_is_translated_again(monkeypatch):
    class Records(np.ndarray):
        def __setitem__(self, key, value):
            if isinstance(key, tuple) and key[1] == Record.FORM and not interrupted:
                interrupted.append(key)
                raise KeyboardInterrupt
            super().__setitem__(key, value)

    def begin(native, *arguments):
        made(native, *arguments)
        native.records = native.records.view(Records)

    interrupted, made = [], kernel.Native.__init__
    monkeypatch.setattr(kernel.Native, "__init__", begin)
    case = CASES[ADD]
    add = mfma.load(case.path, mfma.Device())[case.kernel]
    with pytest.raises(KeyboardInterrupt):
        add.launch(case.grid, case.block, case.arguments())
    assert interrupted
    assert add.launch(case.grid, case.block, case.arguments()).interpreted == 0


@pytest.mark.parametrize("how", ["gone", "cut"])
def test_forms_that_are_gone_are_compiled_again(how, begin, tmp_path):
    _, report = launch(ADD)
    objects = {path: path.read_bytes() for path in tmp_path.glob("*.o")}
    assert objects
    for path, content in objects.items():
        path.unlink()
        if how == "cut":
            path.write_bytes(content[:-1])
    begin()
    assert launch(ADD)[1] == report
    begin()
    assert launch(ADD)[1] == report
    assert {path.name for path in tmp_path.glob("*.o")} == {path.name for path in objects}


def test_a_folder_that_cannot_be_written(begin, tmp_path):
    (tmp_path / "file").write_text("no folder")
    for folder in (tmp_path / "file" / "store", None):
        begin(folder)
        for _ in range(2):
            launch(ADD)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk(tmp_path, monkeypatch):
    """Nothing is left of what could not be written."""
    replace = os.replace

    def full(source: Any, target: Any) -> None:
        if os.fspath(target).endswith(".kernel"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    launch(ADD)
    assert {path.suffix or path.name for path in tmp_path.iterdir()} == {"index", ".o"}


SOURCES = (
    "mfma.emulator.reach", "mfma.emulator.check", "mfma.emulator.decode.decoder", "mfma.emulator.semantics.registry",
    "mfma.emulator.translator.translation", "mfma.emulator.translator.template", "mfma.emulator.translator.workers",
)  # fmt: skip


@pytest.mark.parametrize("source", [*SOURCES, "llvmlite", "CPU"])
def test_every_version_has_a_folder_of_its_own(source, monkeypatch):
    def folder() -> Path | None:
        return store.store.__wrapped__().folder

    before, digest = folder(), jit._source_digest
    if source == "llvmlite":
        monkeypatch.setattr("llvmlite.__version__", "0.0")
    elif source == "CPU":
        monkeypatch.setattr(jit, "host", lambda: ("another", ""))
    else:
        monkeypatch.setattr(jit, "_source_digest", lambda name: digest(name)[:: -1 if name == source else 1])
    assert folder() != before


RUN = f"""
import sys
import numpy as np
import mfma
from mfma.emulator import reach
if sys.argv[1:]:
    reach.decode = None
sys.stdin.readline()
x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
mfma.load({str(CASES[ADD].path)!r})["add_f32"].launch(1, 64, [x, x, out, 64])
assert (out == 2 * x).all(), out
"""


def test_two_processes_at_once(tmp_path):
    """And a third one that finds everything."""

    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", RUN, *arguments], text=True, env=os.environ | {"MFMA_CACHE_DIR": str(tmp_path)},
            stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    both = [start(), start()]
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in both:
        assert process.communicate()[1] == ""
        assert process.returncode == 0
    files = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(name.endswith(".kernel") for name in files) == 2
    assert not [name for name in files if name.startswith("tmp")]
    third = start("without decoding")
    assert third.communicate("\n")[1] == ""
    assert third.returncode == 0


# what is learned of instructions, so that nothing has to be learned twice


def sibling(at: Instruction) -> Instruction:
    """An instruction at another address with other vector registers and literals."""

    def other(operand: Operand) -> Operand:
        code = 256 + (operand.code - 256 + 6) % 200 if operand.code >= 256 else operand.code
        return dataclasses.replace(operand, code=code, literal=operand.literal and operand.literal ^ 0x5A5A)

    dst, src = (tuple(map(other, operands)) for operands in (at.dst, at.src))
    return dataclasses.replace(at, address=at.address + (1 << 33) + 64, dst=dst, src=src)


def holds(at: Instruction, folder: Path) -> bool:
    """Whether what is learned of an instruction is known of its sibling, and is what is learned of that one alone.

    It is known here and, from the folder, in another process.
    """
    here = Templates(Mode(), {})
    if here.find(at) is None:
        return False
    Store(folder).add({}, {}, here.taken())
    alone = Templates(Mode(), {}).find(sibling(at))
    assert alone is not None, at.text
    for templates in here, Templates(Mode(), Store(folder).known):
        found = templates.find(sibling(at))
        assert found is not None, at.text
        assert not templates.taken(), at.text
        assert (found[0].key, found[1:]) == (alone[0].key, alone[1:]), at.text
    return True


def test_what_is_learned_holds_for_others(tmp_path):
    found = [instruction(text) for text in list(golden())[::3]]
    known = [at for at in found if at.name in DEFINITIONS and (at.row.access is None or not at.row.access.components)]
    assert sum(holds(at, tmp_path / str(number)) for number, at in enumerate(known)) > 300


@pytest.mark.parametrize(
    "code",
    ["ff0c04080000f1c1", "01036ed802000014", "d002507e", "f214447c", "0700cbd1040dca23", "8204a8be", "001cc0be"],
    ids=["literal of a double", "scaled offsets", "negative", "float", "float of three", "s_mov", "s_getpc"],
)
def test_numbers_that_follow_others_in_unusual_ways(code, tmp_path):
    at = decode(bytes.fromhex(code), 0x1_2340_0000)
    templates = Templates(Mode(), {})
    found = templates.find(at)
    assert found is not None
    assert found[2] is not None
    assert templates.taken()
    assert holds(at, tmp_path)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("ff14c47d000000e0", "ff14c47d00000070"),  # v_cmp_eq_i64_e32 vcc, literal, v[10:11]
        ("ff0c289400000070", "ff0c2894ffffffff"),  # s_bfe_i64 s[40:41], literal, s12
        ("6a2a80be", "052a80be"),  # s_movrels_b32 s0, ...
        ("002ceabe", "002c82be"),  # s_movreld_b32 ..., s0
    ],
    ids=["negative literal", "positive literal", "from behind the registers that M0 indexes", "to behind those"],
)
def test_what_is_learned_says_nothing_of_numbers_with_another_meaning(first, then):
    learned, other = (decode(bytes.fromhex(code), 0x1_2340_0000) for code in (first, then))
    assert learned.name == other.name
    templates = Templates(Mode(), {})
    assert templates.find(learned)
    found, alone = templates.find(other), Templates(Mode(), {}).find(other)
    assert found is not None
    assert alone is not None
    assert (found[0].key, found[1:]) == (alone[0].key, alone[1:])
