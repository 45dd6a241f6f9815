"""The tests of instructions run on both engines."""

import pytest

from emulator import forms

MEMORY = "test_forms_memory", "test_forms_buffer", "test_forms_smem"


def pytest_generate_tests(metafunc):
    """Run every test of an instruction on each engine: one after the other, or where it changes no memory at once."""
    if metafunc.module.__name__.endswith(MEMORY):
        metafunc.parametrize("engines", [("interpreter",), ("native",)], ids=" ".join, indirect=True)
    elif "test_forms_" in metafunc.module.__name__:
        metafunc.parametrize("engines", [("interpreter", "native")], ids=" ".join, indirect=True)


def pytest_collection_modifyitems(items):
    """Formatted accesses are large, and take long to compile."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if parameters.get("engines") == ("native",) and any(map(formatted, parameters.values())):
            item.add_marker(pytest.mark.long)


def formatted(parameter):
    """Whether a parameter of a test names an instruction that converts what is in memory."""
    texts = parameter if isinstance(parameter, tuple) else (parameter,)
    rows = [forms.instruction(text).row for text in texts if isinstance(text, str) and text in forms.TEXTS]
    return any(row.access is not None and row.access.components for row in rows)


@pytest.fixture(autouse=True)
def engines(request, monkeypatch):
    """Let `forms.run` take an engine: the interpreter, unless the test is run on each."""
    chosen = getattr(request, "param", ("interpreter",))
    monkeypatch.setattr(forms, "ENGINES", chosen)
    return chosen
