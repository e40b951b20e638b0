"""Python programs, run in processes of their own that need not import torch again.

Importing torch takes seconds, and tests call scripts hundreds of times. So a server imports what
scripts import, once for each worker of pytest, and every program runs in a fork of the server: with
arguments, environment variables, working folder, streams and exit code of its own, as if the shell
had started it. Only what Python reads at its start is the server's, PYTHONHASHSEED for example:
`run_script` of conftest.py starts a new interpreter when it is asked for one.
"""

import atexit
import multiprocessing
import os
import resource
import runpy
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

from tests.support.files import ROOT, SOURCE

PIPE_CAPACITY = 65_536  # bytes, on Linux
SECONDS = 300  # that a program may take

FORKS = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Program:
    """A Python program and its surroundings."""

    command: list[str]  # "PATH.py ARGUMENT ..." or "-m MODULE ARGUMENT ..."
    environment: dict[str, str]
    folder: Path
    input: str  # may have surrogates for bytes that are no UTF-8
    largest_file: int | None  # bytes; writing more fails, as on a full disk
    stdout: Path
    stderr: Path


def run_program(
    command: Sequence[object],
    *,
    environment: Mapping[str, str] = os.environ,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    input: str = "",
    largest_file: int | None = None,
    stderr_to_stdout: bool = False,
) -> CompletedProcess:
    """Run a program in a fork of the server, and return how it ended and what it printed.

    env: variables that the environment has besides.
    """
    start_server()
    with tempfile.TemporaryDirectory() as temporary:
        stdout = Path(temporary) / "stdout"
        stderr = stdout if stderr_to_stdout else Path(temporary) / "stderr"
        program = Program(
            command=list(map(str, command)),
            environment={**environment, **(env or {})},
            folder=cwd,
            input=input,
            largest_file=largest_file,
            stdout=stdout,
            stderr=stderr,
        )
        process = FORKS.Process(target=become, args=(program,))
        process.start()
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"{command} took more than {SECONDS} s")
        return CompletedProcess(
            program.command,
            process.exitcode,
            stdout.read_text(encoding="utf-8"),
            "" if stderr_to_stdout else stderr.read_text(encoding="utf-8"),
        )


def start_server() -> None:
    """Start the server unless it runs."""
    FORKS.set_forkserver_preload(["tests.support.preloaded"])
    search_path = os.pathsep.join([str(SOURCE), str(ROOT)])
    with patch.dict(os.environ, PYTHONPATH=search_path):
        forkserver.ensure_running()


def become(program: Program) -> None:
    """Turn this process into one that was started with the program."""
    os.chdir(program.folder)
    os.environ.clear()
    os.environ.update(program.environment)
    open_streams(program)
    if program.largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (program.largest_file, program.largest_file))
    sys.path[:0] = filter(None, program.environment.get("PYTHONPATH", "").split(os.pathsep))
    if sys.path[0] != str(SOURCE):
        forget_package()
    try:
        if program.command[0] == "-m":
            sys.argv = program.command[1:]
            runpy.run_module(program.command[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = program.command
            sys.path.insert(0, str(Path(program.command[0]).resolve().parent))
            runpy.run_path(program.command[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()


def open_streams(program: Program) -> None:
    """Make a pipe with the input standard input, and the files standard output and error."""
    content = program.input.encode(errors="surrogateescape")
    assert len(content) <= PIPE_CAPACITY, "nobody would read while this is written"
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    os.dup2(reading, 0)
    for path, number in ((program.stdout, 1), (program.stderr, 2)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, number)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)


def forget_package() -> None:
    """Forget the modules of this repository: a copy of the repository has its own."""
    for name in list(sys.modules):
        if name.partition(".")[0] in ("nmt", "tests"):
            del sys.modules[name]
