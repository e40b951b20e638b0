"""What is read from the files of runs, and what is refused."""

import json
from dataclasses import replace

import pytest

from nmt.configuration import Ensemble
from nmt.errors import UserError
from nmt.files import read_json, write_json
from nmt.paper.measurements import run_results
from nmt.paper.results import RunFiles, commits, find_runs
from tests.support.paper_tables import change

ROW = "demo-transformer"


@pytest.fixture
def made(made):
    return made()


def runs_of(made, experiments):
    folder, reproduction, catalog = made
    return find_runs(RunFiles(folder / "runs"), reproduction, catalog, experiments)


def results_of(made, metrics=("bleu", "perplexity")):
    runs = runs_of(made, made[1].experiments)
    return run_results(runs, "test", list(metrics)).set_index(["experiment", "seed"])


def test_commits_and_devices_are_those_of_every_call(made):
    training = runs_of(made, [ROW])[0].training()
    call = training["made_by"][0] | {"commit": "1234567890+", "device": "made-up GPU"}
    change(made, ROW, "training.json", {"made_by": [call, *training["made_by"]]})
    assert commits(runs_of(made, [ROW, "demo-rnnencdec"])) == "1234567890+, abcdef0123"
    assert results_of(made).device[ROW, "1"] == "made-up GPU, made-up CPU"


@pytest.mark.parametrize("content", [b"{}", b"\xff\x00"])
@pytest.mark.parametrize("name", ["training.json", "test.scores.json", "dev.perplexity.json"])
def test_a_damaged_file_is_named(made, name, content):
    path = made[0] / "runs" / "demo" / ROW / "seed-2" / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"^{path} "):
        results_of(made)


def test_a_row_that_shares_a_training_reads_that_one(made):
    """Its model, and so its scores, are its own."""
    folder, reproduction, catalog = made
    shared = catalog.experiment(ROW).model_copy(update={"trained_as": ROW})
    experiments = catalog.experiments | {"best": shared}
    catalog = replace(catalog, experiments=experiments)
    corpus = folder / "runs" / "demo"
    scores = read_json(corpus / ROW / "seed-1" / "test.scores.json")
    write_json(corpus / "best" / "seed-1" / "test.scores.json", scores)
    run, without_scores = find_runs(RunFiles(folder / "runs"), reproduction, catalog, ["best"])
    assert run.training() == read_json(corpus / ROW / "seed-1" / "training.json")
    assert run.metrics()
    assert run.read("test.scores.json") == scores
    assert without_scores.is_trained
    assert not without_scores.has("test.scores.json")


def test_utilization_is_the_mean_over_the_time_of_training(made):
    path = made[0] / "runs" / "demo" / ROW / "seed-1" / "metrics.jsonl"
    # 100 FLOPs at half the device's rate, then 300 at a quarter of it: 400 of 1,400 possible.
    lines = [{"update": 1, "flops": 100, "mfu": 0.5}, {"update": 2, "flops": 400, "mfu": 0.25}]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    result = results_of(made).loc[(ROW, "1")]
    assert result.utilization == pytest.approx(400 / 1400)
    lines[0]["mfu"] = lines[1]["mfu"] = 1.5
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert results_of(made).utilization.isna().all()


def test_an_ensemble_costs_what_its_members_cost(made):
    folder, _, catalog = made
    ensemble = Ensemble(title="Both", members={ROW: (1, 2), "demo-rnnencdec": (1,)})
    catalog = replace(catalog, ensembles={"both": ensemble})
    corpus_folder = folder / "runs" / "demo"
    scores = corpus_folder / "both" / "ensemble" / "test.scores.json"
    write_json(scores, read_json(corpus_folder / ROW / "seed-1" / "test.scores.json"))
    rows = [ROW, "both", "demo-rnnencdec"]
    runs = find_runs(RunFiles(folder / "runs"), made[1], catalog, rows)
    assert [run.experiment for run in runs] == [ROW, ROW, "both", *["demo-rnnencdec"] * 2]
    results = run_results(runs, "test", ["bleu"])
    both = results.iloc[2]
    assert both.seed == f"{ROW} 1, {ROW} 2, demo-rnnencdec 1"
    for column in ("parameters_millions", "flops_6nd", "minutes"):
        assert both[column] == pytest.approx(results[column].iloc[[0, 1, 3]].sum())
    scores.unlink()
    assert run_results(runs, "test", ["bleu"]).bleu.isna().sum() == 1
