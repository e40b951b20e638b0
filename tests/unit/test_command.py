"""How scripts end: exit codes, and what they print then."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def end(tmp_path):
    """end("raise KeyError") is a process that ran a script with this as its `main`."""

    def run(main: str, *arguments: str, **streams):
        script = tmp_path / "script.py"
        script.write_text(
            "import os, signal, sys\n"
            "from pathlib import Path\n"
            "from nmt import command\n"
            "from nmt.errors import UserError\n"
            "from nmt.files import atomic_write\n"
            f"def main(args):\n    {main}\n"
            "parser = command.arguments('A script.')\n"
            "command.run(main, parser)\n"
        )
        streams = {"stdout": subprocess.PIPE} | streams
        return subprocess.run(
            [sys.executable, script, *arguments],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
            **streams,
        )

    return run


@pytest.mark.parametrize(
    ("main", "code", "printed"),
    [
        ("return None", 0, ""),
        ("return 3", 3, ""),
        ("raise UserError('this is wrong.')", 1, "error: this is wrong."),
        ("raise UserError('\\x1b[2Jwrong.')", 1, "error:  [2Jwrong."),
        ("raise KeyboardInterrupt", 130, "interrupted"),
        ("os.kill(os.getpid(), signal.SIGTERM)", 130, "interrupted"),
        ("os.kill(os.getpid(), signal.SIGHUP)", 130, "interrupted"),
        ("open('missing/file')", 1, "missing/file"),
        ("open('/')", 1, "error: / is a folder"),
        ("Path('/dev/full').write_text('a')", 1, "no disk space left"),
    ],
)
def test_a_script_ends_with_a_code_and_one_sentence(end, main, code, printed):
    process = end(main)
    assert process.returncode == code
    assert printed in process.stderr
    assert process.stderr.count("\n") == bool(printed)


@pytest.mark.parametrize("last", ["return 0", "raise UserError('this is wrong.')"])
def test_a_full_disk_behind_standard_output_is_one_sentence(end, last):
    with open("/dev/full", "w") as full:
        process = end(f"print('not written yet'); {last}", stdout=full)
    assert process.returncode == 1
    assert process.stderr.count("\n") == 1


def test_a_reader_that_goes_away_ends_it_in_silence(end):
    reader, writer = os.pipe()
    os.close(reader)
    process = end("print('nobody reads this')", stdout=writer)
    os.close(writer)
    assert (process.returncode, process.stderr) == (1, "")


def test_a_script_that_is_stopped_leaves_nothing(end, tmp_path):
    process = end(
        "with atomic_write('out') as path: path.touch(); os.kill(os.getpid(), signal.SIGTERM)"
    )
    assert process.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]
