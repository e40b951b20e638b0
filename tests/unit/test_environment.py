"""The environment: every package is pinned, the files agree, and set_up.sh makes .venv or says in
one line why not.
"""

import ast
import importlib
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
from packaging.utils import canonicalize_name


@pytest.fixture
def pin(root, monkeypatch):
    monkeypatch.syspath_prepend(root / "envs")
    return importlib.import_module("pin")


def names(requirements) -> set[str]:
    return {canonicalize_name(requirement.name) for requirement in requirements}


@pytest.mark.parametrize("file", ["requirements.txt", "cuda.txt"])
def test_pins_are_exact(root, file):
    lines = (root / "envs" / file).read_text(encoding="utf-8").splitlines()
    pins = [
        line.split("  # ")[0]
        for line in lines
        if line and not line.startswith(("#", "--constraint "))
    ]
    assert [
        pin for pin in pins if not re.fullmatch(r"[a-z0-9-]+==[0-9][a-z0-9.]*", pin)
    ] == []  # no "+cpu", no markers
    assert pins == sorted(set(pins), key=lambda pin: pin.split("==")[0])


def test_pins_satisfy_the_direct_requirements(root, pin):
    pins = {
        requirement.name: str(requirement.specifier).removeprefix("==")
        for requirement in pin.requirements(root / "envs/requirements.txt")
    }
    direct = pin.requirements(root / "envs" / "requirements.in")
    assert direct
    assert [
        str(requirement)
        for requirement in direct
        if not requirement.specifier.contains(pins[canonicalize_name(requirement.name)])
    ] == []


def test_all_that_is_needed_is_pinned_and_nothing_else(root, pin):
    needed = set(pin.needed(pin.requirements(root / "envs" / "requirements.in")))
    cuda = {name for name in needed if pin.CUDA.match(name)}
    assert needed - cuda == names(pin.requirements(root / "envs" / "requirements.txt"))
    assert cuda <= names(pin.requirements(root / "envs" / "cuda.txt"))


def test_all_that_is_imported_is_a_direct_requirement(root, pin):
    modules, ours = set(), set()
    for path in (
        path for folder in ("src", "envs", "tests") for path in (root / folder).rglob("*.py")
    ):
        inside = (
            path.parent / "__init__.py"
        ).exists()  # a package, whose modules have its name before their own
        ours |= {path.parent.name} if inside else {path.parent.name, path.stem}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.split(".")[0])
    packages = packages_distributions()
    imported = {
        canonicalize_name(packages.get(name, [name])[0])
        for name in modules - ours - sys.stdlib_module_names
    }
    assert "torch" in imported
    assert imported - names(pin.requirements(root / "envs" / "requirements.in")) == set()


def test_the_conda_files_are_made_from_the_pins(root, pin):
    make_conda = importlib.import_module("make_conda")
    for name, made in (("nmt", make_conda.nmt()), ("text", make_conda.text())):
        assert (root / "envs" / f"{name}.yaml").read_text(encoding="utf-8") == made, (
            "run `python envs/make_conda.py`"
        )
    assert '"torch==2.13.0"' in make_conda.nmt()
    assert "torch" not in make_conda.text()


def test_rules_before_training_import_no_more_than_their_environment_has(root, pin):
    rules = [root / "workflow/rules" / f"{name}.smk" for name in ("corpus", "vocabulary")]
    text = "".join(path.read_text(encoding="utf-8") for path in rules)
    scripts = [str(root / "src" / name) for name in re.findall(r"SCRIPTS}/(\w+\.py)", text)]
    assert len(scripts) > 4
    assert "envs/nmt.yaml" not in text
    program = (
        "import runpy, sys\n"
        "before = set(sys.modules)\n"
        f"for sys.argv in [[script, '--help'] for script in {scripts}]:\n"
        "    try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "    except SystemExit: pass\n"
        "print('imported', *set(sys.modules) - before)"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    modules = {name.split(".")[0] for name in process.stdout.rpartition("imported ")[2].split()}
    packages = packages_distributions()
    imported = {
        canonicalize_name(packages[name][0])
        for name in modules - sys.stdlib_module_names
        if name in packages
    }
    pinned = re.findall(r'"(.*)==', importlib.import_module("make_conda").text())
    assert {"numpy", "sentencepiece"} <= imported
    assert imported - {"nmt", "setuptools"} <= {canonicalize_name(name) for name in pinned}


def test_the_container_copies_files_that_exist(root):
    copied = re.findall(
        r"^COPY (.*) \S+$", (root / "envs" / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    files = " ".join(copied).split()
    assert {"envs/requirements.txt", "envs/cuda.txt"} <= set(files)
    assert [file for file in files if not (root / file).is_file()] == []


# set_up.sh, with a program that stands in for Python so that nothing is downloaded.
STAND_IN = """
import os, shutil, sys
from pathlib import Path

wrapper, version, *arguments = sys.argv[1:]
sys.version, sys.version_info = f"{version} (a stand-in)", tuple(map(int, version.split(".")))
if arguments[0] == "-c":
    if "NO_ENSUREPIP" in os.environ:
        sys.modules["ensurepip"] = None
    exec(arguments[1])
elif arguments[:2] == ["-m", "venv"]:
    bin = Path(arguments[2], "bin")
    bin.mkdir()
    shutil.copy(wrapper, bin / "python")
    (bin / "activate").write_text('PATH="$PWD/.venv/bin:$PATH"')
elif arguments[:3] == ["-m", "pip", "install"] and arguments[-2:] == ["--editable", "."]:
    pass
elif arguments[:3] == ["-m", "pip", "install"]:
    assert Path(arguments[-1]).is_file(), arguments
    print("pip has run")
    if "CUT_SHORT" in os.environ:
        os.kill(os.getppid(), 9)
    sys.exit("NO_NETWORK" in os.environ)
"""


@pytest.fixture
def python(tmp_path) -> Callable[[str], Path]:
    """python("3.11.7") is a program that stands in for that Python."""
    (tmp_path / "stand_in.py").write_text(STAND_IN, encoding="utf-8")

    def make(version: str) -> Path:
        path = tmp_path / "some where" / version / "python3"
        path.parent.mkdir(parents=True, exist_ok=True)
        command = shlex.join([sys.executable, str(tmp_path / "stand_in.py"), str(path), version])
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def clone(root, tmp_path) -> Path:
    folder = tmp_path / "a clone"
    folder.mkdir()
    shutil.copytree(root / "envs", folder / "envs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "Makefile", folder)
    return folder


def set_up(clone: Path, python: Path | None = None, *, asked: Path | None = None, **variables: str):
    """Run set_up.sh where `python3` is `python`, and PYTHON=`asked`."""
    return run(
        clone,
        "sh",
        "envs/set_up.sh",
        python=python,
        **({"PYTHON": str(asked)} if asked else {}),
        **variables,
    )


def run(clone: Path, *command: str, python: Path | None = None, **variables: str):
    ours = {"PYTHON", "CORES", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "VIRTUAL_ENV"}
    environment = {key: value for key, value in os.environ.items() if key not in ours}
    environment |= {"PWD": str(clone), "LC_ALL": "C"} | variables
    if python:
        environment["PATH"] = f"{python.parent}{os.pathsep}{environment['PATH']}"
    return subprocess.run(
        command, cwd=clone, env=environment, capture_output=True, text=True, timeout=300
    )


def one_line(done) -> str:
    assert done.returncode == 1, done
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


READY = "The environment in .venv is ready.\n"
NOTHING_TO_DO = "The environment in .venv is up to date.\n"


def test_an_environment_is_made_once(clone, python):
    first = set_up(clone, python("3.11.7"))
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("Making .venv with Python 3.11.\n")
    assert first.stdout.endswith(READY)
    second = set_up(clone, python("3.11.7"))
    assert (second.returncode, second.stdout, second.stderr) == (0, NOTHING_TO_DO, "")


@pytest.mark.parametrize("version", ["2.7.18", "3.9.18", "3.10.13"])
def test_too_old_a_python(clone, python, version):
    message = one_line(set_up(clone, python(version)))
    assert (
        message == f"Python 3.11 or newer is needed; python3 is {version}: run `make"
        " PYTHON=/path/to/python3.12`.\n"
    )
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("version", ["3.11.0", "3.12.1", "3.13.0", "3.20.0", "4.0.0"])
def test_new_enough_a_python(clone, python, version):
    assert set_up(clone, python(version)).stdout.endswith(READY)


def test_no_python(clone, tmp_path):
    missing = tmp_path / "python3.12"
    assert f"{missing} does not run" in one_line(set_up(clone, asked=missing))
    assert not (clone / ".venv").exists()


def test_a_python_that_cannot_make_environments(clone, python):
    assert "python3.11-venv" in one_line(set_up(clone, python("3.11.2"), NO_ENSUREPIP="1"))
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("file", ["requirements.txt", "cuda.txt"])
def test_changed_requirements_are_installed(clone, python, file):
    set_up(clone, python("3.11.7"))
    (clone / ".venv" / "mine").touch()
    with (clone / "envs" / file).open("a") as requirements:
        requirements.write("another==1.0\n")
    again = set_up(clone, python("3.11.7"))
    assert "pip has run" in again.stdout
    assert (clone / ".venv" / "mine").exists()
    assert set_up(clone, python("3.11.7")).stdout == NOTHING_TO_DO


def test_failing_to_install_is_no_success(clone, python):
    failed = set_up(clone, python("3.11.7"), NO_NETWORK="1")
    assert "could not be installed" in one_line(failed)
    assert READY not in failed.stdout
    assert set_up(clone, python("3.11.7")).stdout.endswith(READY)


def test_failing_to_update_keeps_what_is_there(clone, python):
    set_up(clone, python("3.11.7"))
    requirements = clone / "envs" / "requirements.txt"
    before = requirements.read_text(encoding="utf-8")
    requirements.write_text(before + "another==1.0\n", encoding="utf-8")
    assert "could not be installed" in one_line(set_up(clone, python("3.11.7"), NO_NETWORK="1"))
    requirements.write_text(before, encoding="utf-8")
    assert set_up(clone, python("3.11.7")).stdout == NOTHING_TO_DO


def test_a_set_up_that_was_cut_short_is_begun_again(clone, python):
    assert set_up(clone, python("3.11.7"), CUT_SHORT="1").returncode < 0
    (clone / ".venv" / "half").touch()
    again = set_up(clone, python("3.11.7"))
    assert again.stdout.startswith("The last set-up was cut short. Making .venv")
    assert again.stdout.endswith(READY)
    assert not (clone / ".venv" / "half").exists()


def test_a_moved_clone_is_set_up_again(clone, python):
    set_up(clone, python("3.11.7"))
    moved = clone.rename(clone.with_name("moved"))
    again = set_up(moved, python("3.11.7"))
    assert "the repository has moved" in again.stdout
    assert again.stdout.endswith(READY)


def test_a_clone_reached_by_another_path_is_not_set_up_again(clone, python):
    set_up(clone, python("3.11.7"))
    link = clone.with_name("link")
    link.symlink_to(clone, target_is_directory=True)
    assert set_up(link, python("3.11.7")).stdout == NOTHING_TO_DO


def test_an_environment_without_its_python_is_made_again(clone, python):
    set_up(clone, python("3.11.7"))
    (clone / ".venv" / "bin" / "python").unlink()
    again = set_up(clone, python("3.12.1"))
    assert again.stdout.startswith("The Python of .venv has gone. Making .venv with Python 3.12.\n")
    assert again.stdout.endswith(READY)


def test_another_python_is_taken_if_asked_for(clone, python):
    set_up(clone, python("3.11.7"))
    assert set_up(clone, python("3.12.1")).stdout == NOTHING_TO_DO
    again = set_up(clone, python("3.11.7"), asked=python("3.12.1"))
    assert "Making .venv with Python 3.12.\n" in again.stdout
    assert set_up(clone, asked=python("3.12.1")).stdout == NOTHING_TO_DO
    assert "python3 is 3.9.18" in one_line(set_up(clone, asked=python("3.9.18")))
    assert set_up(clone, python("3.11.7")).stdout == NOTHING_TO_DO


def test_an_environment_made_by_hand_is_kept(clone, python):
    (clone / ".venv").mkdir()
    subprocess.run([python("3.11.7"), "-m", "venv", ".venv"], cwd=clone, check=True)
    (clone / ".venv" / "mine").touch()
    assert "Making" not in set_up(clone, python("3.11.7")).stdout
    assert (clone / ".venv" / "mine").exists()
    assert set_up(clone, python("3.11.7")).stdout == NOTHING_TO_DO


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_runs_snakemake_in_the_environment(clone, python):
    set_up(clone, python("3.11.7"))
    program = clone / ".venv" / "bin" / "snakemake"
    program.write_text('#!/bin/sh\necho "arguments: $*"\nexit $CODE\n', encoding="utf-8")
    program.chmod(0o755)
    process = run(clone, "make", CODE="0")
    assert process.returncode == 0, process
    assert process.stdout.startswith(NOTHING_TO_DO)
    assert process.stdout.endswith("arguments: --cores all\n")
    assert run(clone, "make", "CORES=3", CODE="0").stdout.endswith("arguments: --cores 3\n")
    failed = run(clone, "make", CODE="7")
    assert failed.returncode != 0
    assert "Error 7" in failed.stderr
