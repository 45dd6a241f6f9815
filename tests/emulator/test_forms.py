"""The tests of single instructions as a whole: their words, and that they leave no instruction out."""

import importlib
from pathlib import Path

import pytest

from emulator import forms
from hip_tools import tool
from mfma.emulator.decode import rows
from mfma.emulator.semantics.registry import DEFINITIONS, Basis

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("test_forms_*.py"))
MISSING = {
    # global wave sync orders work-groups through a unit that the driver must allocate first
    "ds_gws_barrier", "ds_gws_init", "ds_gws_sema_br", "ds_gws_sema_p", "ds_gws_sema_release_all", "ds_gws_sema_v",
    # exchanges of graphics shaders
    "ds_condxchg32_rtn_b64",
}  # fmt: skip
"""Instructions that decode but have no definition."""


@pytest.fixture(scope="module", autouse=True)
def _imported():
    for module in MODULES:
        importlib.import_module(f"emulator.{module}")


def test_every_row_is_defined():
    names = {row.name for row in rows()}
    undefined = {name for name in names - set(DEFINITIONS) if not name.startswith("v_smfmac")}
    assert undefined == MISSING
    assert set(DEFINITIONS) <= names


def test_every_definition_is_tested():
    """Matrix instructions have their own tests."""
    plain = {name for name, definition in DEFINITIONS.items() if definition.basis is not Basis.MATRIX}
    assert plain - set(forms.COVERS) == set()


def test_golden_words_are_the_texts_of_the_tests():
    assert set(forms.golden()) == set(forms.TEXTS)


@pytest.mark.long
def test_assembler_makes_the_golden_words():
    tool(forms.COMMAND[0])
    golden = forms.golden()
    assert forms.assemble(golden) == golden
