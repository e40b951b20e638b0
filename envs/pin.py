"""Pins every package: writes requirements.txt and cuda.txt from requirements.in and from what is
installed.

To change a version or add a package, edit requirements.in and, on Linux with the oldest Python that
is supported:

    python3.11 -m venv /tmp/fresh
    /tmp/fresh/bin/pip install -r envs/requirements.in
    /tmp/fresh/bin/python envs/pin.py
    /tmp/fresh/bin/python envs/make_conda.py
"""

import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ENVS = Path(__file__).resolve().parent
CUDA = re.compile(
    r"nvidia-|cuda-|triton$"
)  # what torch brings on Linux, unless it is a build for the CPU alone
LINUX = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "os_name": "posix",
}

REQUIREMENTS = """\
# Every package that gets installed, with the packages that ask for it. Made by pin.py: edit requirements.in instead.
#
# torch names no build ("+cpu", "+cu130"): any build of this version will do. On Linux the one on PyPI brings CUDA
# libraries, other builds bring other ones or none, so cuda.txt only says which versions they have where torch asks for
# them. The version of Python and of the platform decides nothing else: these pins are for 3.11, 3.12 and 3.13 alike.

--constraint cuda.txt

"""
CONSTRAINTS = """\
# The CUDA libraries that torch brings on Linux. Made by pin.py. These are constraints: nothing here is installed unless
# torch asks for it, and torch itself fixes nearly all of these versions.

"""


def requirements(path: Path) -> list[Requirement]:
    """The requirements in a file of pip's; comments and options are left out."""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def dependencies(wanted: Requirement) -> Iterator[Requirement]:
    """What an installed package asks for on Linux, with the extras that are wanted of it."""
    for line in distribution(wanted.name).requires or []:
        requirement = Requirement(line)
        extras = ["", *wanted.extras]
        if not requirement.marker or any(
            requirement.marker.evaluate({**LINUX, "extra": extra}) for extra in extras
        ):
            yield requirement


def needed(direct: Iterable[Requirement]) -> dict[str, set[str]]:
    """The direct requirements and all that they need, each with the packages that ask for it.

    Raises PackageNotFoundError for one that is not installed.
    """
    asked_by: dict[str, set[str]] = {
        canonicalize_name(requirement.name): set() for requirement in direct
    }
    todo, seen = list(direct), set()
    while todo:
        wanted = todo.pop()
        if (key := (wanted.name, tuple(wanted.extras))) in seen:
            continue
        seen.add(key)
        for requirement in dependencies(wanted):
            asked_by.setdefault(canonicalize_name(requirement.name), set()).add(
                canonicalize_name(wanted.name)
            )
            todo.append(requirement)
    return asked_by


def pin(name: str, asked_by: Iterable[str] = ()) -> str:
    why = f"  # {', '.join(sorted(asked_by))}" if asked_by else ""
    return f"{name}=={Version(distribution(name).version).public}{why}\n"


def main() -> None:
    try:
        asked_by = needed(requirements(ENVS / "requirements.in"))
    except PackageNotFoundError as error:
        sys.exit(f"{error.name} is not installed: follow the steps in {__file__}.")
    cuda = sorted(name for name in asked_by if CUDA.match(name))
    if not cuda:
        sys.exit(
            "this torch brings no CUDA libraries, so cuda.txt cannot be written: install PyPI's"
            " torch, on Linux."
        )
    pins = (pin(name, asked_by[name]) for name in sorted(asked_by) if name not in cuda)
    (ENVS / "requirements.txt").write_text(REQUIREMENTS + "".join(pins), encoding="utf-8")
    (ENVS / "cuda.txt").write_text(CONSTRAINTS + "".join(map(pin, cuda)), encoding="utf-8")


if __name__ == "__main__":
    main()
