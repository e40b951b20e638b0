"""The environment: every package is pinned, and set_up.sh makes .venv or says why not."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest


def pinned(path: Path) -> set[str]:
    """Return the names of the packages in a file for pip, as pip compares them."""
    lines = path.read_text(encoding="utf-8").splitlines()
    names = [re.match(r"[\w.-]*", line)[0] for line in lines if not line.startswith("-")]
    return {re.sub(r"[-_.]+", "-", name).lower() for name in names if name}


def test_pins_are_exact_and_conda_has_the_same(root):
    lines = [
        line
        for name in ("requirements.txt", "cuda.txt")
        for line in (root / "envs" / name).read_text(encoding="utf-8").splitlines()
        if not line.startswith(("#", "--constraint "))
    ]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []  # no "+cpu"
    conda = (root / "envs" / "nmt.yaml").read_text(encoding="utf-8")
    assert re.findall(r'- "([^";]+)', conda) == lines


def test_all_that_is_imported_is_a_direct_requirement_and_pinned(root):
    modules = set()
    for path in [*root.glob("src/**/*.py"), *root.glob("tests/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add(node.module.split(".")[0])
    packages = packages_distributions()
    imported = {
        re.sub(r"[-_.]+", "-", packages.get(name, [name])[0]).lower()
        for name in modules
        - {"nmt", "snakemake_logger_plugin_nmt", "tests", "benchmarks"}
        - sys.stdlib_module_names
    }
    direct = pinned(root / "envs" / "requirements.in")
    # OpenNMT-py, and the second package of fairseq, as Python knows them
    peers = pinned(root / "envs" / "peers.txt") | {"onmt", "fairseq-cli"}
    assert "torch" in imported
    assert imported - direct - peers == set()
    assert direct <= pinned(root / "envs" / "requirements.txt")


def test_what_runs_elsewhere_is_pinned_and_finds_libraries_before_our_files(root):
    """A file such as src/json.py would otherwise be run by all that starts."""
    docker, conda, ci = (
        (root / name).read_text(encoding="utf-8")
        for name in ("envs/Dockerfile", "envs/nmt.yaml", ".github/workflows/ci.yaml")
    )
    assert re.search(r"^FROM \S+@sha256:[0-9a-f]{64}$", docker, re.MULTILINE)
    assert "PYTHONPATH" not in docker + conda
    actions = re.findall(r"uses: (\S+)", ci)
    assert [action for action in actions if not re.search("@[0-9a-f]{40}$", action)] == []
    assert "permissions:\n  contents: read\n" in ci


# A program that stands in for Python, so that nothing is downloaded
STAND_IN = """
import os, shutil, sys
from pathlib import Path

wrapper, version, *arguments = sys.argv[1:]
sys.version_info = tuple(map(int, version.split(".")))
if arguments[0] == "-c":
    exec(arguments[1])
elif arguments[:2] == ["-m", "venv"]:
    bin = Path(arguments[2], "bin")
    bin.mkdir(parents=True)
    shutil.copy(wrapper, bin / "python")
elif arguments[:3] == ["-m", "pip", "install"] and arguments[-2] == "-r":
    print("pip has run")
    sys.exit("NO_NETWORK" in os.environ)
"""


@pytest.fixture
def set_up(root, tmp_path) -> Callable[..., subprocess.CompletedProcess]:
    """set_up(folder, python="3.11.7") runs set_up.sh in a folder that has the repository's envs."""
    (tmp_path / "stand_in.py").write_text(STAND_IN, encoding="utf-8")

    def run(folder: Path, python: str = "3.11.7", **variables: str):
        if not folder.exists():
            shutil.copytree(root / "envs", folder / "envs")
        program = tmp_path / "some where" / python / "python3"
        program.parent.mkdir(parents=True, exist_ok=True)
        command = shlex.join([sys.executable, str(tmp_path / "stand_in.py"), str(program), python])
        program.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        environment = os.environ | {"PYTHON": str(program)} | variables
        return subprocess.run(
            ["sh", "envs/set_up.sh"], cwd=folder, env=environment, capture_output=True, text=True
        )

    return run


def is_made(done: subprocess.CompletedProcess) -> bool:
    """Return whether .venv was made, or made anew, and is ready now."""
    assert (done.returncode, done.stderr) == (0, "")
    return "Making .venv" in done.stdout and "is ready" in done.stdout


def test_an_environment_is_made_once_and_again_where_it_has_moved(set_up, tmp_path):
    assert is_made(set_up(tmp_path / "a clone"))
    (tmp_path / "link").symlink_to(tmp_path / "a clone")
    for folder in ("a clone", "link"):
        assert "up to date" in set_up(tmp_path / folder).stdout
    (tmp_path / "a clone").rename(tmp_path / "moved")
    assert is_made(set_up(tmp_path / "moved"))
    (tmp_path / "moved" / ".venv" / "bin" / "python").unlink()
    assert is_made(set_up(tmp_path / "moved", "3.12.1"))


def test_changed_requirements_are_installed(set_up, tmp_path):
    set_up(tmp_path / "clone")
    with (tmp_path / "clone" / "envs" / "cuda.txt").open("a") as requirements:
        requirements.write("another==1.0\n")
    failed = set_up(tmp_path / "clone", NO_NETWORK="1")
    assert failed.returncode == 1
    assert failed.stderr.count("\n") == 1
    again = set_up(tmp_path / "clone")
    assert "pip has run" in again.stdout
    assert not is_made(again)
    assert "up to date" in set_up(tmp_path / "clone").stdout


def test_too_old_a_python(set_up, tmp_path):
    done = set_up(tmp_path / "clone", "3.10.13")
    assert done.returncode == 1
    assert "make PYTHON=" in done.stderr
    assert not (tmp_path / "clone" / ".venv").exists()
