"""Rules for the whole collection."""

import importlib.util
import os
import signal

import pytest

# Modules that only the tests of optional tools import.
collect_ignore = ["hip_host.py", "triton_kernels.py"]


def pytest_configure() -> None:
    """Refuse to skip silently where everything is supposed to be there; and let Ctrl-C reach what tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell inherit "ignored"
    if os.environ.get("CI") and importlib.util.find_spec("torch") is None:
        raise pytest.UsageError("CI is set, but torch, which operands may be tensors of, is not installed.")
