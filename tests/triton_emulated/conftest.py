"""What the tests of Triton's kernels on the emulator share."""

import pytest

from hip_tools import missing

collect_ignore = ["kernels.py"]  # collecting it would import Triton
VERSION = "3.9.0"


@pytest.fixture(scope="session", autouse=True)
def triton(tmp_path_factory):
    """Triton, with an empty cache of its own."""
    try:
        import torch  # noqa: F401
        import triton
    except ImportError:
        missing(f"triton {VERSION} or torch")
    if triton.__version__ != VERSION:
        missing(f"triton {VERSION} (there is {triton.__version__})")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        patch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # the default of Triton 3.9, which warns of it
        yield triton


@pytest.fixture(scope="session")
def torch(triton):
    """The library of the tensors."""
    import torch

    return torch


@pytest.fixture(scope="session")
def kernels(triton):
    """The module of kernels."""
    from triton_emulated import kernels

    return kernels
