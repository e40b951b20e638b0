"""Every script starts in an interpreter of its own, from any folder."""

import re
import subprocess
import sys

import pytest

from tests.support.files import SOURCE

# tests/workflow/test_reproduction.py and test_static.py start these.
STARTED_BY_WORKFLOWS = {
    *("attend", "average", "binarize", "compare", "describe", "document", "generate"),
    *("learn_vocabulary", "normalize", "perplexity", "plot", "resolve_configuration", "score"),
    *("share_training", "status", "train", "translate", "typeset"),
}
SCRIPTS = sorted({path.stem for path in SOURCE.glob("*.py")} - STARTED_BY_WORKFLOWS)


@pytest.mark.parametrize("script", SCRIPTS)
def test_it_says_how_to_use_it(script, tmp_path):
    process = subprocess.run(
        [sys.executable, SOURCE / f"{script}.py", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith(f"usage: {script}.py ")


def test_outside_the_environment_it_says_so_in_one_sentence(tmp_path):
    explained = set()
    for script in SOURCE.glob("*.py"):
        process = subprocess.run(
            [sys.executable, "-S", script, "--help"],  # -S: without the environment's packages
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        if process.returncode:
            assert re.fullmatch("error: this Python has no package .*again\\.\n", process.stderr)
            explained.add(script.stem)
        else:
            assert process.stdout.startswith(f"usage: {script.name} ")
    assert {"train", "translate", "score", "plan"} <= explained
