"""The tests of instructions run on both engines."""

import pytest

from emulator import forms


def pytest_generate_tests(metafunc):
    """Run every test of an instruction on each engine."""
    if "test_forms_" in metafunc.module.__name__:
        metafunc.fixturenames.append("engine")
        metafunc.parametrize("engine", ["interpreter", "native"], indirect=True)


@pytest.fixture
def engine(request, monkeypatch):
    """Let `forms.run` take an engine."""
    monkeypatch.setattr(forms, "ENGINE", request.param)
    return request.param
