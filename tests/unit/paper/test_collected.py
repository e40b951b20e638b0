"""Runs as collect.py has collected them."""

import shutil
import tarfile

import pytest

from nmt.files import write_lines
from nmt.paper.markup import csv
from nmt.paper.results import RunFiles
from nmt.paper.sheets import make_sheet
from tests.support import paper_runs


@pytest.fixture
def collected(tmp_path, root, run_script):
    """Collect made-up runs; return both folders, the reproduction and its catalog."""
    reproduction = paper_runs.reproduction()
    catalog = paper_runs.make_runs(tmp_path, root, reproduction)
    runs = tmp_path / "runs"
    for row in ("demo-transformer", "demo-transformer+beam-1"):
        write_lines(runs / "demo" / row / "seed-1" / "test.translations.txt", ["ein Hund ."])
    folders = ["--runs", runs, "--output", tmp_path / "collected", "--archives=demo"]
    process = run_script("../docs/results/collect", *folders)
    assert process.returncode == 0, process.stderr
    return runs, tmp_path / "collected", reproduction, catalog


def test_tables_are_the_same_from_both(collected):
    runs, folder, reproduction, catalog = collected
    tables = [
        csv(make_sheet("systems", reproduction, catalog, RunFiles(path), {}))
        for path in (runs, folder)
    ]
    assert tables[0] == tables[1]


def test_curves_keep_six_digits(collected):
    runs, folder, *_ = collected
    run = "demo/demo-transformer/seed-1"
    ours, whole = (RunFiles(path).metrics(run) for path in (folder, runs))
    assert len(ours) == len(whole)
    for line, whole_line in zip(ours, whole, strict=True):
        assert all(value == pytest.approx(whole_line[key], rel=1e-5) for key, value in line.items())


def test_translations_of_rows_without_overrides_are_kept(collected):
    with tarfile.open(collected[1] / "demo.tar.xz") as tar:
        assert tar.getnames() == ["demo-transformer/seed-1/test.translations.txt"]
        assert tar.extractfile(tar.getnames()[0]).read() == b"ein Hund .\n"


def test_runs_that_are_there_stay(collected, tmp_path, run_script):
    runs, folder, *_ = collected
    before = RunFiles(folder).collected
    shutil.copytree(runs / "demo" / "demo-transformer", runs / "demo" / "demo-new")
    shutil.rmtree(runs / "demo" / "demo-rnnsearch")
    write_lines(runs / "demo/demo-transformer/seed-1/test.translations.txt", ["eine Katze ."])
    folders = ["--runs", runs, "--output", folder, "--archives=demo"]
    process = run_script("../docs/results/collect", *folders)
    assert process.returncode == 0, process.stderr
    after = RunFiles(folder).collected
    assert before.items() < after.items()
    with tarfile.open(folder / "demo.tar.xz") as tar:
        assert len(tar.getnames()) == 2
        assert tar.extractfile(tar.getnames()[1]).read() == b"eine Katze .\n"
