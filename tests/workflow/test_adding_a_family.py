"""README's worked example: a new family is a module and a few lines, and passes the tests of all
families.
"""

import re
import subprocess
import sys

import pytest
from workflows import ROOT, copy_repository, environment, planned_jobs


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the repository in which the example was followed."""
    folder = copy_repository(tmp_path_factory.mktemp("family") / "a copy")
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("**A family of models**")[2]
    name, module = re.search(r"say\n`([^`]+)`:\n\n```python\n(.*?)```", text, re.DOTALL).groups()
    (folder / name).write_text(module, encoding="utf-8")
    (patch,) = re.findall(r"```diff\n(.*?)```", text, re.DOTALL)
    subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, check=True, encoding="utf-8")
    assert "`python src/write_schemas.py --output\nworkflow/schemas`" in text
    run(folder, "src/write_schemas.py", "--output", "workflow/schemas")
    return folder


def run(folder, *arguments) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_passes_the_tests_of_all_families(extended):
    tests = ["tests/unit/models/test_protocol.py", "tests/unit/decoding/test_search.py"]
    printed = run(extended, "-m", "pytest", "-k", "bag", *tests)
    assert int(re.search(r"(\d+) passed", printed).group(1)) > 10
    assert "skipped" not in printed


def test_its_row_is_trained_scored_and_counted(extended):
    jobs = planned_jobs(extended, configuration="config/demo.yaml")
    assert "train corpus=demo, experiment=demo-bag, seed=1" in jobs
    assert "score corpus=demo, row=demo-bag, run=seed-1, split=test" in jobs
    assert re.search(r"^\| demo-bag +\| 2000 ", run(extended, "src/plan.py"), re.MULTILINE)


def test_it_is_tidy(extended):
    run(extended, "-m", "ruff", "check", "src", "tests")
    run(extended, "-m", "ruff", "format", "--check", "src", "tests")
