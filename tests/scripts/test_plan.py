"""plan.py: what trainings will take."""

import pandas as pd
import pytest
import yaml

from nmt.configuration import load_catalog
from nmt.data.tokens import ParallelTokens
from nmt.models.build import build
from nmt.models.flops import multiply_adds, training_flops
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
    }
    process = run_script("plan", *(f"--{name}={value}" for name, value in options.items()))
    assert process.returncode == 0, process.stderr
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


def test_hours_follow_from_the_rate_and_for_other_sizes_from_flops(planned):
    folder, table = planned
    tokens = ParallelTokens.load(folder / "tokens-train")
    lengths = (
        len(tokens),
        *(len(side.tokens) + len(side) for side in (tokens.source, tokens.target)),
    )
    catalog = load_catalog(folder / "catalog")
    seconds = {}
    for name in ("tiny-seq2seq", "tiny-rnnsearch", "tiny-transformer"):
        experiment, row = catalog.experiment(name), table.loc[name]
        target_tokens = experiment.training.updates * float(row["target tokens an update"])
        model = build(experiment.model, *tokens.meta["vocabulary_sizes"])
        flops = training_flops(multiply_adds(model), *lengths)
        seconds[name] = float(row["hours A GPU"]) * HOUR, target_tokens, flops
    for name, rate in RATES.items():
        assert seconds[name][0] == pytest.approx(seconds[name][1] / rate, rel=0.05)
    hours, tokens_trained, flops = seconds["tiny-seq2seq"]
    rate = RATES["tiny-rnnsearch"] * seconds["tiny-rnnsearch"][2] / flops
    assert hours == pytest.approx(tokens_trained / rate, rel=0.05)
