"""The plugin for pytest: a fixture in which Triton's kernels run on the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mfma.integrations.triton import Emulation

__all__ = ["mfma_triton", "pytest_configure", "pytest_itemcollected"]


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker."""
    config.addinivalue_line("markers", "mfma_triton(**options): options of mfma.triton.emulate for the fixture")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a test that has the marker the fixture, too."""
    names = getattr(item, "fixturenames", None)
    if names is not None and "mfma_triton" not in names and item.get_closest_marker("mfma_triton"):
        names.append("mfma_triton")


@pytest.fixture
def mfma_triton(request: pytest.FixtureRequest) -> Iterator[Emulation]:
    """Run the test inside `mfma.triton.emulate`, with the options of its marker ``mfma_triton``."""
    from mfma.integrations.triton import emulate

    marker = request.node.get_closest_marker("mfma_triton")
    with emulate(*(marker.args if marker else ()), **(marker.kwargs if marker else {})) as emulation:
        yield emulation
