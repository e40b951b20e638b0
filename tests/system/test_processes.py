"""The same maths on any number of processes, and what happens when one of them ends."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
import torch

from nmt.files import read_json
from nmt.models.weights import load_tensors
from tests.support.killed_trainings import LONGEST, last_update, wait_for
from tests.support.tiny_training import arguments, prepare
from tests.system.learn_in_parts import KINDS, losses, together


@cache
def learned_by(processes: int) -> dict[str, list[float]]:
    """Return the losses of KINDS, the same parts learned by so many processes."""
    return losses(processes)


@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("family", KINDS)
def test_processes_that_share_four_parts_equal_one_that_has_them_all(processes, family):
    expected = learned_by(1)[family]
    assert learned_by(processes)[family] == pytest.approx(expected, abs=1e-6)


@contextmanager
def two_processes(folder: Path, root: Path, run: Path) -> Iterator[subprocess.Popen]:
    """Start train.py with two processes, and yield half way through its updates."""
    train = [root / "src" / "train.py", *arguments(folder, run, device_tokens=500)]
    with subprocess.Popen(
        [*together(2), *train], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        wait_for(lambda: last_update(run) >= 20 or process.poll() is not None)
        yield process


@pytest.fixture(scope="module")
def folder(tmp_path_factory, run_script):
    """A folder with all that trainings need, and a finished one, FOLDER/whole."""
    folder = tmp_path_factory.mktemp("processes")
    prepare(folder, updates=150, interval=10, batch_tokens=1000, bleu_interval=0)
    process = run_script("train", *arguments(folder, folder / "whole", device_tokens=500))
    assert process.returncode == 0, process.stderr
    return folder


# A service's stop signals all processes of a job.
@pytest.mark.parametrize(
    ("number", "to_all"),
    [(signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGUSR1, False)],
)
def test_another_number_of_processes_may_go_on(folder, root, run_script, tmp_path, number, to_all):
    run = tmp_path / "run"
    with two_processes(folder, root, run) as process:
        for worker in [number_of(run, rank) for rank in (0, 1) if to_all]:
            os.kill(worker, number)
        process.send_signal(number)
        output, _ = process.communicate(timeout=LONGEST)
    assert "the same command goes on" in output
    last = last_update(run)
    assert 20 <= last < 150
    assert run_script("train", *arguments(folder, run, device_tokens=500)).returncode == 0
    made = read_json(run / "training.json")
    assert [call["processes"] for call in made["made_by"]] == [2, 1]
    assert made["seconds"] < made["device_seconds"] < 2 * made["seconds"]
    tensors, _ = load_tensors(run / "checkpoints" / "00000150.safetensors")
    expected, _ = load_tensors(folder / "whole" / "checkpoints" / "00000150.safetensors")
    for name, tensor in tensors.items():
        torch.testing.assert_close(tensor, expected[name], rtol=0, atol=1e-3)


def test_processes_hear_this_machine_alone_and_one_that_dies_takes_the_others_with_it(
    folder, root, tmp_path
):
    run = tmp_path / "run"
    with two_processes(folder, root, run) as process:
        ranks = [number_of(run, rank) for rank in (0, 1)]
        listening = [where for number in [process.pid, *ranks] for where in addresses(number)]
        assert set(listening) == {"0100007F"}  # 127.0.0.1
        os.kill(number_of(run, 1), signal.SIGKILL)
        output, _ = process.communicate(timeout=LONGEST)
    assert process.returncode != 0
    assert "error: another process of this training has ended" in output


def number_of(run: Path, rank: int) -> int:
    """Return the number of the process of that rank that trains in this folder."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            variables = (process / "environ").read_bytes()
        except OSError:
            continue  # it has ended
        if str(run).encode() in words and f"LOCAL_RANK={rank}".encode() in variables:
            return int(process.name)
    raise AssertionError(f"there is no process {rank}")


def addresses(process: int) -> Iterator[str]:
    """Yield the addresses at which a process listens, as /proc/net has them."""
    opened = {os.readlink(file) for file in Path(f"/proc/{process}/fd").iterdir()}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in opened:
                yield fields[1].partition(":")[0]
