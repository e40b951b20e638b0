"""Pin every package: write requirements.txt and cuda.txt from requirements.in.

The versions are those that are installed. To change a version or add a package, edit
requirements.in and, on Linux with the oldest Python that is supported:

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
# What torch brings on Linux, unless it is a build for the CPU alone
CUDA = re.compile(r"nvidia-|cuda-|triton$")
LINUX = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "os_name": "posix",
}

REQUIREMENTS_HEAD = (
    "# Every package that gets installed, with the packages that ask for it. Made by pin.py: edit"
    " requirements.in instead.\n"
    "#\n"
    '# torch names no build ("+cpu", "+cu130"): any build of this version will do. On Linux the one'
    " on PyPI brings CUDA\n"
    "# libraries, other builds bring other ones or none, so cuda.txt only says which versions they"
    " have where torch asks for\n"
    "# them. The version of Python and of the platform decides nothing else: these pins are for"
    " 3.11, 3.12 and 3.13 alike.\n"
    "\n"
    "--constraint cuda.txt\n"
    "\n"
)
CUDA_HEAD = (
    "# The CUDA libraries that torch brings on Linux. Made by pin.py. These are constraints:"
    " nothing here is installed unless\n"
    "# torch asks for it, and torch itself fixes nearly all of these versions.\n"
    "\n"
)


def requirements(path: Path) -> list[Requirement]:
    """Return the requirements in a file for pip; comments and options are left out."""
    lines = [line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def dependencies(package: Requirement) -> Iterator[Requirement]:
    """Yield what an installed package asks for on Linux, with the extras that are required of it.

    Raises PackageNotFoundError when the package is not installed.
    """
    environments = [{**LINUX, "extra": extra} for extra in ("", *package.extras)]
    for line in distribution(package.name).requires or []:
        requirement = Requirement(line)
        marker = requirement.marker
        if not marker or any(marker.evaluate(environment) for environment in environments):
            yield requirement


def needed(direct: Iterable[Requirement]) -> dict[str, set[str]]:
    """Return the direct requirements and all that they need, with the packages that ask for each.

    Raises PackageNotFoundError for one that is not installed.
    """
    asked_by: dict[str, set[str]] = {
        canonicalize_name(requirement.name): set() for requirement in direct
    }
    queue = list(direct)
    visited = set()
    while queue:
        package = queue.pop()
        key = (package.name, tuple(package.extras))
        if key in visited:
            continue
        visited.add(key)
        package_name = canonicalize_name(package.name)
        for requirement in dependencies(package):
            askers = asked_by.setdefault(canonicalize_name(requirement.name), set())
            askers.add(package_name)
            queue.append(requirement)
    return asked_by


def pin(name: str, asked_by: Iterable[str] = ()) -> str:
    """Return the line that pins a package to its installed version, without a build's label."""
    comment = f"  # {', '.join(sorted(asked_by))}" if asked_by else ""
    return f"{name}=={Version(distribution(name).version).public}{comment}\n"


def main() -> None:
    """Write both files, or exit with what is missing."""
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
    pins = [pin(name, asked_by[name]) for name in sorted(asked_by) if name not in cuda]
    constraints = [pin(name) for name in cuda]
    (ENVS / "requirements.txt").write_text(REQUIREMENTS_HEAD + "".join(pins), encoding="utf-8")
    (ENVS / "cuda.txt").write_text(CUDA_HEAD + "".join(constraints), encoding="utf-8")


if __name__ == "__main__":
    main()
