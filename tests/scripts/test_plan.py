"""plan.py: what trainings will take."""

import json

import pandas as pd
import pytest
import yaml

from tests.support import tiny_training
from tests.support.files import ROOT

HOUR = 3600
RATES = {"tiny-rnnsearch": 0.5, "tiny-transformer": 0.25}  # target tokens a second


@pytest.fixture(scope="module")
def planned(tmp_path_factory, run_script):
    """The folder of the tiny reproduction's data, and the table of its plan, by row."""
    folder = tiny_training.prepare(tmp_path_factory.mktemp("plan") / "made")
    tokens = folder / "corpora" / "tiny" / "tiny-bpe" / "tokens"
    tokens.mkdir(parents=True)
    (tokens / "train").symlink_to(folder / "tokens-train")
    rates = yaml.safe_dump({"A GPU": RATES})
    (folder / "catalog" / "gpu-rates.yaml").write_text(rates, encoding="utf-8")
    options = {
        "catalog": folder / "catalog",
        "reproduction": ROOT / "tests/workflow/tiny/reproduction.yaml",
        "corpora": folder / "corpora",
        "at-once": 2,
        "output": folder / "plan.md",
    }
    process = run_script("plan", *(f"--{name}={value}" for name, value in options.items()))
    assert process.returncode == 0, process.stderr
    assert (folder / "plan.md").read_text(encoding="utf-8") == process.stdout
    lines = [line.strip("|").split("|") for line in process.stdout.splitlines() if "|" in line]
    header, _, *rows = [[cell.strip().replace(",", "") for cell in line] for line in lines]
    return folder, pd.DataFrame(rows, columns=[cell.strip() for cell in header]).set_index("row")


def test_every_training_is_planned_once(planned):
    _, table = planned
    # tiny-last shares a training, and the ensemble's members are trained once.
    rows = ["tiny-seq2seq", "tiny-rnnsearch", "tiny-transformer"]
    assert list(table.index) == [*rows, "sum"]
    assert table["seeds"].astype(int)["sum"] == 3
    hours = table["hours A GPU"].astype(float)
    assert hours["sum"] == pytest.approx(hours[rows].sum(), rel=0.01)


def test_tokens_are_those_of_the_training_and_hours_follow_from_the_rate(
    planned, run_script, tmp_path
):
    folder, table = planned
    process = run_script("train", *tiny_training.arguments(folder, tmp_path / "run"))
    assert process.returncode == 0, process.stderr
    training = json.loads((tmp_path / "run" / "training.json").read_text(encoding="utf-8"))
    row = table.loc["tiny-transformer"]
    target_tokens = training["target_tokens"]
    tokens_an_update = float(row["target tokens an update"])
    assert tokens_an_update == pytest.approx(target_tokens / training["updates"], rel=0.05)
    hours = target_tokens / RATES["tiny-transformer"] / HOUR
    assert float(row["hours A GPU"]) == pytest.approx(hours, rel=0.05)


def test_other_sizes_have_the_flop_rate_of_the_first(planned, run_script, tmp_path):
    folder, table = planned
    flops = {}
    for name in ("tiny-seq2seq", "tiny-rnnsearch"):
        arguments = tiny_training.arguments(folder, tmp_path / name, experiment=name)
        assert run_script("train", *arguments).returncode == 0
        text = (tmp_path / name / "training.json").read_text(encoding="utf-8")
        flops[name] = json.loads(text)["flops"]
    hours = table["hours A GPU"].astype(float)
    ratio = flops["tiny-seq2seq"] / flops["tiny-rnnsearch"]
    assert hours["tiny-seq2seq"] / hours["tiny-rnnsearch"] == pytest.approx(ratio, rel=0.05)
