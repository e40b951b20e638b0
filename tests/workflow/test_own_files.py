"""Own text in a copy of the repository, both in folders with spaces, by quickstart.py."""

import os
import re
import shlex
import subprocess
import sys

import pytest

from nmt.configuration import read_yaml
from nmt.files import write_lines
from nmt.text.grammar import Grammar, generate
from tests.support.workflows import (
    copy_repository,
    dry_run,
    edited,
    environment,
    planned_jobs,
    restored,
    snakemake,
)

MINE = "../my data/train.en-de.yaml"
SPLITS = ("train", "dev", "test")
EXTRACTED = {f"extract_text corpus=train.en-de, split={split}" for split in SPLITS}
RAW = [
    f"results/corpora/train.en-de/raw/{split}.{language}"
    for split in SPLITS
    for language in ("en", "de")
]


def quickstart(folder):
    files = ["--source", "../my data/train.en", "--target", "../my data/train.de"]
    return subprocess.run(
        [sys.executable, "src/quickstart.py", *files],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    """A copy beside text of 3,000 pairs, which is extracted."""
    folder = copy_repository(tmp_path_factory.mktemp("own") / "a clone")
    grammar = Grammar(read_yaml(folder / "config" / "grammar.yaml", dict))
    pairs = generate(grammar, {"train": 3000}, 1)["train"]
    for side, language in enumerate(("en", "de")):
        path = folder.parent / "my data" / f"train.{language}"
        write_lines(path, (pair[side] for pair in pairs))
    process = quickstart(folder)
    assert process.returncode == 0, process.stderr
    assert "--configfile '../my data/train.en-de.yaml'" in process.stderr
    process = snakemake(folder, *RAW, configuration=MINE)
    assert process.returncode == 0, process.stdout
    return folder


def test_the_file_is_not_written_twice(extracted):
    path = extracted / MINE
    before = path.read_bytes()
    assert quickstart(extracted).returncode == 1
    assert path.read_bytes() == before


def test_lines_that_are_no_pairs_write_nothing(extracted):
    text = extracted.parent / "my data" / "train.de"
    with restored(extracted / MINE, text):
        (extracted / MINE).unlink()
        text.write_bytes(text.read_bytes() + b"one more\n")
        process = quickstart(extracted)
        assert not (extracted / MINE).exists()
    assert process.returncode == 1
    assert "has 3000 lines but" in process.stderr


def test_entries_stand_in_a_file(extracted):
    entries = "vocabularies={other: {size: 500}}"
    process = dry_run(extracted, "--config", entries, configuration="config/demo.yaml")
    assert process.returncode == 1
    assert "one file" in process.stdout


def test_the_text_is_divided(extracted):
    counts = {path: (extracted / path).read_bytes().count(b"\n") for path in RAW}
    assert list(counts.values()) == [2700, 2700, 150, 150, 150, 150]


def test_everything_follows_from_it(extracted):
    jobs = planned_jobs(extracted, configuration=MINE)
    assert {job.split()[0] for job in jobs} >= {
        "normalize_text",
        "train",
        "translate",
        "make_table",
    }
    assert not EXTRACTED & jobs


def test_an_edited_file_is_read_again(extracted):
    path = extracted.parent / "my data" / "train.en"
    os.utime(path)
    assert planned_jobs(extracted, *RAW, configuration=MINE) == set()
    with restored(path):
        path.write_bytes(2 * path.read_bytes())
        os.utime(path, (1e9, 1e9))  # as `cp -p` leaves it: older than what was made of it before
        assert planned_jobs(extracted, *RAW, configuration=MINE) == EXTRACTED


def test_a_date_in_the_future_is_named_with_what_to_do(extracted):
    path = extracted.parent / "my data" / "train.en"
    with restored(path):
        os.utime(path, (2**32, 2**32))
        process = dry_run(extracted, *RAW, configuration=MINE)
    assert process.returncode == 1
    assert f"touch '{path}'" in process.stdout


def test_a_file_that_is_gone_is_named_although_its_text_is_there(extracted):
    path = extracted.parent / "my data" / "train.en"
    with restored(path):
        path.unlink()
        process = dry_run(extracted, *RAW, configuration=MINE)
    assert process.returncode == 1
    assert f"{path} is not there" in process.stdout


def test_another_text_of_the_same_name_is_refused(extracted):
    results = extracted / "results" / "train.en-de"
    results.mkdir()
    with restored(extracted / MINE):
        (extracted / MINE).unlink()
        process = quickstart(extracted)
    results.rmdir()
    assert process.returncode == 1
    assert "results/train.en-de is there" in process.stderr


def test_what_is_held_out_can_be_changed(extracted):
    with edited(extracted / MINE, "test: 150}", "test: 140}"):
        assert planned_jobs(extracted, *RAW, configuration=MINE) == EXTRACTED


def test_a_row_may_start_from_a_model(extracted):
    """That of another row of the workflow, or one from elsewhere, of which the content counts."""
    given = extracted.parent / "my data" / "a model"
    made = "results/runs/train.en-de/my-transformer/seed-1/model"
    write_lines(given / "model.safetensors", ["weights"])
    text = (extracted / MINE).read_text(encoding="utf-8")
    file = extracted.parent / "tuned.yaml"
    for model in (given, made):
        row = f"  tuned: {{base: my-transformer, title: Tuned, initialize_from: {model}}}\n"
        both = text.replace("[my-transformer]", "[my-transformer, tuned]")
        file.write_text(both + row, encoding="utf-8")
        process = dry_run(extracted, "--printshellcmds", configuration=str(file))
        assert process.returncode == 0, process.stdout
        for script, option in (("learn_vocabulary", "model"), ("train", "initialize-from")):
            commands = re.findall(rf"{script}\.py .*", process.stdout)
            starts = [re.search(rf"--{option} (.*?) (?:--|2>>)", line)[1] for line in commands]
            assert sorted(starts) == ["", shlex.quote(str(model))]
