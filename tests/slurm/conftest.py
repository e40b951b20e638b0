"""A SLURM of our own, for all tests of this process."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster, missing_programs
from tests.slurm.workplace import UPDATES, Workplace
from tests.support.workflows import snakemake


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Start with the test that takes longest, and leave the others in random order."""
    items.sort(key=lambda item: item.path.name != "test_reproduction.py")


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


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory, cluster):
    """A folder in which the training has been run on this machine, without SLURM.

    It is made by one of pytest's processes for all of them.
    """
    of_process = tmp_path_factory.getbasetemp()
    folder = (of_process.parent if "PYTEST_XDIST_WORKER" in os.environ else of_process) / "local"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        place = Workplace(folder / "a copy", cluster)
        training = place.run / "training.json"
        if not training.exists():
            target = str(training.relative_to(place.folder))
            options = ["--config", f"updates={UPDATES}", "--set-threads", "train=1"]
            process = snakemake(place.folder, target, *options)
            assert process.returncode == 0, process.stdout
    return place


@pytest.fixture
def workplace(tmp_path, cluster, request):
    """Make copies of the repository, in folders whose names have spaces, with the corpus or not."""
    places = []

    def make(updates: int = UPDATES, with_corpus: bool = True) -> Workplace:
        place = Workplace(tmp_path / f"a copy & (more), {len(places)}", cluster, updates)
        if with_corpus:
            made = request.getfixturevalue("undisturbed").folder / "results/corpora"
            shutil.copytree(made, place.folder / "results/corpora", symlinks=True)
        places.append(place)
        return place

    yield make
    for place in places:
        place.stop()
        shutil.rmtree(place.folder, ignore_errors=True)
    cluster.wait("the nodes", cluster.is_idle)
