"""A SLURM of our own, for all tests of this process."""

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from slurm.cluster import Cluster, missing_programs
from slurm.workplace import Workplace


@pytest.fixture(scope="session")
def cluster():
    """A cluster of two nodes, for all tests of this process."""
    if missing := missing_programs():
        pytest.skip(f"{', '.join(missing)} missing: run `apt-get install slurm-wlm munge` as root.")
    # Not one of pytest's folders: munged wants its socket where everybody could reach it.
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    cluster = Cluster(folder)
    cluster.start()
    yield cluster
    cluster.stop()
    shutil.rmtree(folder)


@pytest.fixture
def workplace(tmp_path, cluster):
    """Make copies of the repository, in folders whose names have spaces."""
    places = []

    def make(updates: int | None = None) -> Workplace:
        place = Workplace(tmp_path / f"a copy {len(places)}", cluster, updates)
        places.append(place)
        return place

    yield make
    for place in places:
        for number, _ in place.queue():
            cluster.run("scancel", number)
        for number in place.trainers():
            os.kill(number, signal.SIGKILL)
        shutil.rmtree(place.folder, ignore_errors=True)
