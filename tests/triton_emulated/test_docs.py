"""The example of docs/triton.md runs and prints what stands there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
DOCS = Path(__file__).parents[2] / "docs" / "triton.md"


def test_the_example_prints_what_stands_behind_it(tmp_path):
    code, output = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL).groups()
    script = tmp_path / "example.py"
    script.write_text(code, "utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == output
