"""The tests of instructions run on both engines."""

import pytest

from emulator import forms


def pytest_generate_tests(metafunc):
    """Run every test of an instruction on each engine."""
    if "test_forms_" in metafunc.module.__name__:
        metafunc.parametrize("engine", ["interpreter", "native"], indirect=True)


def pytest_collection_modifyitems(items):
    """Formatted accesses are large, and take long to compile."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if parameters.get("engine") == "native" and any(map(formatted, parameters.values())):
            item.add_marker(pytest.mark.long)


def formatted(parameter):
    """Whether a parameter of a test names an instruction that converts what is in memory."""
    texts = parameter if isinstance(parameter, tuple) else (parameter,)
    rows = [forms.instruction(text).row for text in texts if isinstance(text, str) and text in forms.TEXTS]
    return any(row.access is not None and row.access.components for row in rows)


@pytest.fixture(autouse=True)
def engine(request, monkeypatch):
    """Let `forms.run` take an engine: the interpreter, unless the test is run on each."""
    chosen = getattr(request, "param", "interpreter")
    monkeypatch.setattr(forms, "ENGINE", chosen)
    return chosen
