"""plan.py: what trainings take, against what they took."""

import json
from pathlib import Path

import pandas as pd
import pytest

from nmt.configuration import Training, read_reproduction
from nmt.models.build import build
from nmt.models.flops import multiply_adds
from nmt.models.size import size
from nmt.planning.plan import (
    PlannedTraining,
    amounts_of,
    cost_of,
    makespan,
    mean_multiply_adds,
    trainings_of,
)
from nmt.planning.texts import SYNTHETIC_PAIRS, Texts, middle
from tests.support import tiny_training
from tests.support.families import FAMILIES
from tests.support.files import ROOT

TINY = ROOT / "tests/workflow/tiny"
OPTIONS = ("--catalog", TINY, "--reproduction", TINY / "reproduction.yaml")


@pytest.fixture(scope="module")
def tiny():
    """The reproduction and its catalog."""
    return read_reproduction(TINY / "reproduction.yaml", TINY)


def table(output: str) -> pd.DataFrame:
    lines = [line.strip("|").split("|") for line in output.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line] for line in lines]
    return pd.DataFrame(rows, columns=header).set_index("experiment")


def test_every_training_once_and_the_sum(run_script, tmp_path):
    process = run_script("plan", *OPTIONS, "--gpu=a100", "--price=3", f"--runs={tmp_path}/runs")
    assert process.returncode == 0, process.stderr
    lines = table(process.stdout)
    # tiny-last shares a training, and the ensemble's members are trained once.
    assert list(lines.index[:-1]) == ["tiny-seq2seq", "tiny-rnnsearch", "tiny-transformer"]
    flops = lines["FLOPs"].astype(float)
    seeds = lines["seeds"].astype(int)
    assert flops["all trainings"] == pytest.approx((flops * seeds)[:-1].sum(), rel=0.01)
    assert "at 3 an hour" in process.stdout


def test_tokens_and_flops_are_those_of_the_training(run_script, tmp_path):
    folder = tiny_training.prepare(tmp_path / "made")
    assert run_script("train", *tiny_training.arguments(folder, tmp_path / "run")).returncode == 0
    training = json.loads((tmp_path / "run/training.json").read_text())
    vocabulary = tmp_path / "results/corpora/tiny/tiny-bpe"
    vocabulary.mkdir(parents=True)
    (vocabulary / "tokens").mkdir()
    for split in SYNTHETIC_PAIRS:
        (folder / f"tokens-{split}").rename(vocabulary / "tokens" / split)
    _, catalog = read_reproduction(TINY / "reproduction.yaml", TINY)
    name = training["made_by"][0]["command"].split("--experiment")[1].split()[0].lstrip("=")
    experiment = catalog.experiment(name)
    amounts = amounts_of(experiment, Texts(vocabulary, (0, 0), 100))
    assert amounts.parameters == training["parameters"]
    assert amounts.target_tokens == pytest.approx(training["target_tokens"], rel=0.05)
    assert amounts.flops == pytest.approx(training["flops"], rel=0.05)


def test_flops_are_those_of_updates_with_and_without_a_source_loss():
    model = build(FAMILIES["decoder-only"], 500, 500)
    settings = Training(
        updates=10, batch_tokens=99, warmup=1, interval=5, source_loss=((0, 1.0), (5, 0.0))
    )
    with_source = multiply_adds(model, source_too=True)["source"]
    without = multiply_adds(model)["source"]
    assert with_source > without
    # Updates 1 to 4 learn the source.
    mean = mean_multiply_adds(model, settings)["source"]
    assert mean == pytest.approx(0.4 * with_source + 0.6 * without)


def test_updates_are_timed_where_no_gpu_is_named(run_script, tmp_path):
    options = ("--table=asked-for", "--seconds=0.1", "--devices=1", f"--runs={tmp_path}/runs")
    outputs = (f"--output={tmp_path}/plan.md", f"--csv={tmp_path}/plan.csv")
    process = run_script("plan", *OPTIONS, *options, *outputs)
    assert process.returncode == 0, process.stderr
    [(name, hours, device)] = pd.read_csv(tmp_path / "plan.csv").itertuples(index=False, name=None)
    assert name == "tiny-rnnsearch"
    assert hours > 0
    assert device.endswith("of this machine")
    assert float(table(process.stdout)["hours"]["tiny-rnnsearch"]) > 0
    assert (tmp_path / "plan.md").read_text() == process.stdout


@pytest.mark.parametrize("family", FAMILIES)
def test_what_costs_the_same_is_timed_once(tiny, family):
    experiment = tiny[1].experiment("tiny-rnnsearch")
    alike = [
        experiment.model_copy(update={"model": FAMILIES[family].model_copy(), "title": title})
        for title in ("one", "another")
    ]
    texts = Texts(Path("tokens"), (300, 300), 100)
    assert len({cost_of(one, texts) for one in [experiment, *alike]}) == 2


def test_an_unknown_table_is_named(run_failing):
    assert "unknown table 'system'" in run_failing("plan", *OPTIONS, "--table=system")


def test_ensembles_and_shared_trainings_cost_their_members(tiny):
    reproduction, catalog = tiny
    assert trainings_of(reproduction, catalog, ["dev"]) == {"tiny-transformer": [1]}
    expected = {name: [1] for name in ("tiny-seq2seq", "tiny-rnnsearch", "tiny-transformer")}
    assert trainings_of(reproduction, catalog, ["systems"]) == expected


def test_before_a_corpus_is_there_its_sentences_are_like_news(tiny):
    texts = Texts(Path("nowhere"), (500, 700), max_length=80)
    train = texts.load("train")
    assert not texts.are_there
    assert train.meta["vocabulary_sizes"] == [500, 700]
    assert 25 < train.source.lengths.mean() < 31
    assert train.target.lengths.max() <= 80
    experiment = tiny[1].experiment("tiny-transformer")
    assert amounts_of(experiment, texts).parameters == size(experiment.model, 500, 700).parameters


def test_the_middle_has_the_median(tiny):
    dev = Texts(Path("nowhere"), (500, 500), max_length=80).load("dev")
    lengths = middle(dev, 101).source.lengths
    assert len(lengths) == 101
    assert sorted(lengths)[50] == pytest.approx(sorted(dev.source.lengths)[len(dev) // 2], abs=1)


def test_devices_share_the_trainings(tiny):
    def training(seconds: float, seeds: int) -> PlannedTraining:
        return PlannedTraining("", list(range(seeds)), None, seconds, [])

    trainings = [training(5, 1), training(3, 2), training(2, 1)]
    assert makespan(trainings, 1) == 13
    assert makespan(trainings, 2) == 7
    assert makespan(trainings, 9) == 5
