"""The worked example of docs/extending.md: a new family passes the tests of all families."""

import re
import shutil
import subprocess

import pytest

from tests.support.scripts import run_program
from tests.support.workflows import copy_repository, environment, planned_jobs


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the repository in which the example was followed."""
    folder = copy_repository(tmp_path_factory.mktemp("family") / "a copy")
    example = folder / "docs" / "examples" / "bag_of_words"
    shutil.copy(example / "bag.py", folder / "src" / "nmt" / "models" / "bag.py")
    patch = ["git", "apply", example / "register.patch"]
    subprocess.run(patch, cwd=folder, check=True)
    run(folder, "docs/configuration.py")
    assert "### bag" in (folder / "docs" / "configuration.md").read_text(encoding="utf-8")
    return folder


def run(folder, *arguments) -> str:
    process = run_program(arguments, environment=environment(folder), cwd=folder)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_it_passes_the_tests_of_all_families(extended):
    tests = ["tests/unit/models/test_protocol.py", "tests/unit/decoding/test_search.py"]
    printed = run(extended, "-m", "pytest", "-k", "bag", *tests)
    assert int(re.search(r"(\d+) passed", printed).group(1)) > 10
    assert "skipped" not in printed


def test_its_row_is_trained_scored_and_counted(extended):
    jobs = planned_jobs(extended, configuration="config/demo.yaml")
    assert "train corpus=demo, experiment=demo-bag, seed=1" in jobs
    assert "score corpus=demo, row=demo-bag, run=seed-1, split=test" in jobs
    assert re.search(
        r"^\| demo-bag +\| 2000 ", run(extended, "src/count_parameters.py"), re.MULTILINE
    )


def test_it_is_tidy(extended):
    run(extended, "-m", "ruff", "check", "src", "tests")
    run(extended, "-m", "ruff", "format", "--check", "src", "tests")
