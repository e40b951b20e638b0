"""Every script starts in an interpreter of its own, from any folder."""

import subprocess
import sys

import pytest
from support.files import SOURCE

SCRIPTS = sorted(SOURCE.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_says_how_to_use_it(script, tmp_path):
    process = subprocess.run(
        [sys.executable, script, "--help"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith(f"usage: {script.name} ")
