"""What a kernel needs that is not implemented is found before the launch, wherever the kernel can reach it."""

import re
import subprocess
from pathlib import Path

import pytest

import mfma
from hip_tools import tool
from mfma.emulator.decode import Undecoded
from mfma.emulator.reach import reachable
from mfma.emulator.translator.store import Store

GOLDEN = Path(__file__).parent.parent / "golden" / "emulator"
MISSING = GOLDEN / "missing.co"
SPARSE = "v_smfmac_f32_16x16x32_f16 at 0x2900, sparse+0x0 (./missing.s:81)"


@pytest.mark.parametrize(
    ("kernel", "named"),
    [
        ("behind_branch", "ds_gws_barrier at 0x2110, behind_branch+0x10 (./missing.s:23)"),
        ("behind_call", SPARSE),
        ("behind_table", SPARSE),
        ("after_call", "ds_gws_init at 0x2404, after_call+0x4 (./missing.s:46)"),
        ("undecodable", "0xffffffff (no instruction of gfx942) at 0x2508, undecodable+0x8 (./missing.s:52)"),
    ],
)
def test_missing_instructions_are_named_with_their_place(kernel, named):
    message = f"{kernel} needs instructions that are not implemented: {named}."
    with pytest.raises(mfma.LaunchError, match=f"^{re.escape(message)}$"):
        mfma.load(MISSING)[kernel].launch(1, 64)


def test_lines_are_those_of_the_source():
    """But of a word by .long, which has no line of its own and is told with the one before."""
    lines = (GOLDEN / "missing.s").read_text().splitlines()
    texts = {23: "ds_gws_barrier", 81: "v_smfmac_f32_16x16x32_f16", 46: "ds_gws_init"}
    assert {number: lines[number - 1].split()[0] for number in texts} == texts


def test_what_is_elsewhere_in_the_object_does_not_matter():
    assert mfma.load(MISSING)["clean"].launch(1, 64).executed == 1


def test_many_are_counted(monkeypatch):
    monkeypatch.setattr("mfma.emulator.check.DEFINITIONS", {})
    monkeypatch.setattr("mfma.emulator.check.store", lambda: Store(None))  # where it has run, nothing is missing
    with pytest.raises(mfma.LaunchError, match=r"^typed needs [^;]*s_load_dwordx2 at (.*?; ){5}and 5 more\.$"):
        mfma.load(MISSING)["typed"].launch(1, 64, [None, 0, 0, 0])


def test_reach():
    code = mfma.load(MISSING).code
    reached = {name: list(reachable(code, kernel.entry)) for name, kernel in code.kernels.items()}
    assert [type(item) for item in reached["undecodable"]].count(Undecoded) == 1
    assert [item.name for item in reached["endless"]] == ["s_branch"]
    assert [item.name for item in reached["clean"]] == ["s_endpgm"]
    called = {item.name for item in reached["behind_table"]}
    assert {"v_smfmac_f32_16x16x32_f16", "s_nop"} <= called
    for items in reached.values():
        assert len({item.address for item in items}) == len(items)


@pytest.mark.long
def test_the_object_is_what_the_assembler_makes(tmp_path):
    made, linked = tmp_path / "missing.o", tmp_path / "missing.co"
    flags = ["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-g", "-fdebug-compilation-dir=.", "-filetype=obj"]
    subprocess.run([tool("llvm-mc-22"), *flags, "missing.s", "-o", made], cwd=GOLDEN, check=True)
    subprocess.run([tool("ld.lld-22"), "-shared", made, "-o", linked], check=True)
    new, old = mfma.load(linked).code, mfma.load(MISSING).code
    assert new.text == old.text
    assert new.kernels.keys() == old.kernels.keys()
