"""Damaged kernels and hostile arguments, see `emulator.fuzz_launch`; each run in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
KINDS = "launch_mutant: run", "launch_mutant: MemoryFault", "launch_mutant: LaunchError", "run_noise: run"
"""What even a short run comes across."""


def fuzz(seed: int, seconds: int, *options: str) -> int:
    """Run the fuzzer; how many iterations it did."""
    command = [sys.executable, "-m", "emulator.fuzz_launch", str(seed), str(seconds), *options]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert not done.stderr
    assert all(kind in done.stdout for kind in KINDS), done.stdout
    return int(re.match(r"\d+", done.stdout)[0])


def test_a_few() -> None:
    assert fuzz(1, 60, "--engine", "interpreter", "--most", "60") == 60


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
def test_half_a_minute_on_both_engines(seed: int) -> None:
    assert fuzz(seed, 30) > 50
