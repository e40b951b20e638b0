"""What is read from the files of runs, and what is refused."""

import json

import pytest
from support import paper_runs

from nmt.configuration import Ensemble
from nmt.errors import UserError
from nmt.files import read_json, write_json
from nmt.paper.results import commits, find_runs, run_results

ROW = "demo-transformer"


@pytest.fixture
def made(tmp_path, root):
    """Return the folder, reproduction and catalog of made-up runs."""
    reproduction = paper_runs.reproduction()
    return tmp_path, reproduction, paper_runs.make_runs(tmp_path, root, reproduction)


def runs_of(made, experiments):
    folder, reproduction, catalog = made
    return find_runs(folder / "runs", reproduction, catalog, experiments)


def results_of(made, metrics=("bleu", "perplexity")):
    _, reproduction, catalog = made
    runs = runs_of(made, reproduction.experiments)
    return run_results(runs, "test", list(metrics), catalog)


def test_every_row_with_every_seed_in_the_order_asked_for(made):
    runs = runs_of(made, [ROW, "demo-rnnencdec"])
    assert [(run.experiment, run.seed) for run in runs] == [
        (ROW, 1),
        (ROW, 2),
        ("demo-rnnencdec", 1),
        ("demo-rnnencdec", 2),
    ]


def test_a_line_holds_what_the_files_say(made):
    results = results_of(made)
    line = results[(results.experiment == ROW) & (results.seed == "2")].iloc[0]
    folder = made[0] / "runs" / "demo" / ROW / "seed-2"
    scores = read_json(folder / "test.scores.json")
    assert line.bleu == scores["bleu"]["score"]
    assert line.bleu_signature == "nrefs:1|made-up:bleu"
    assert line.sentences == 250
    assert line.perplexity == read_json(folder / "dev.perplexity.json")["perplexity"]
    assert line.parameters_millions == pytest.approx(1.234567)
    assert line.flops_6nd == 1.5e15
    assert line.minutes == pytest.approx(92 / 60)
    assert line.device == "made-up CPU"
    assert line.threads == "2"
    assert line.commit == "abcdef0123"


def test_only_a_known_device_has_a_sustained_rate(made):
    assert results_of(made).flops_sustained.isna().all()
    path = made[0] / "runs" / "demo" / ROW / "seed-1" / "training.json"
    training = read_json(path)
    training["made_by"][0]["device"] = "Tesla P100-PCIE-16GB"
    write_json(path, training)
    sustained = results_of(made).flops_sustained.dropna()
    assert list(sustained) == [pytest.approx(91 * 9.5e12)]


def test_commits_once_each(made):
    path = made[0] / "runs" / "demo" / ROW / "seed-1" / "training.json"
    training = read_json(path)
    training["made_by"].insert(0, training["made_by"][0] | {"commit": "1234567890+"})
    write_json(path, training)
    assert commits(runs_of(made, [ROW, "demo-rnnencdec"])) == "1234567890+, abcdef0123"


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("training.json", "train.py"),
        ("test.scores.json", "score.py"),
        ("dev.perplexity.json", "perplexity.py"),
    ],
)
def test_the_error_for_a_missing_file_names_its_script(made, name, script):
    (made[0] / "runs" / "demo" / ROW / "seed-2" / name).unlink()
    message = rf"seed-2/{name} is not there: .*{script} for experiment {ROW}, seed 2"
    with pytest.raises(UserError, match=message):
        results_of(made)


@pytest.mark.parametrize("content", [b"{}", b"[]", b"\xff\x00", b""])
@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("training.json", "train.py"),
        ("test.scores.json", "score.py"),
        ("dev.perplexity.json", "perplexity.py"),
    ],
)
def test_a_damaged_file_is_named(made, name, script, content):
    path = made[0] / "runs" / "demo" / ROW / "seed-2" / name
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        results_of(made)
    assert str(error.value).startswith(f"{path} is ")
    assert str(error.value).endswith(
        f": delete it and let snakemake make it, or run src/{script} for experiment {ROW}, seed 2;"
        " no training that was finished is repeated."
    )


def test_files_of_other_metrics_need_not_exist(made):
    (made[0] / "runs" / "demo" / ROW / "seed-2" / "dev.perplexity.json").unlink()
    assert len(results_of(made, ["bleu"])) == 6


@pytest.mark.parametrize(
    ("part", "key", "value"), [("model", "layers", 99), ("training", "warmup", 77)]
)
def test_a_run_of_other_settings_is_refused(made, part, key, value):
    path = made[0] / "runs" / "demo" / ROW / "seed-1" / "training.json"
    training = json.loads(path.read_text())
    training["settings"][part][key] = value
    write_json(path, training)
    with pytest.raises(UserError, match=rf"trained with {key} {value}, but the configuration says"):
        runs_of(made, [ROW])


def test_a_run_on_other_data_is_refused(made):
    path = made[0] / "runs" / "demo" / ROW / "seed-2" / "training.json"
    training = read_json(path)
    training["settings"]["tokens"] = "0" * 64
    write_json(path, training)
    with pytest.raises(UserError, match=r"seed-2 was trained on other data than .*seed-1"):
        results_of(made)


def test_an_ensemble_costs_what_its_members_cost(made):
    folder, reproduction, catalog = made
    ensemble = Ensemble(title="Both", members={ROW: (1, 2), "demo-rnnencdec": (1,)})
    catalog = catalog.model_copy(update={"ensembles": {"both": ensemble}})
    corpus_folder = folder / "runs" / "demo"
    scores = corpus_folder / "both" / "ensemble" / "test.scores.json"
    write_json(scores, read_json(corpus_folder / ROW / "seed-1" / "test.scores.json"))
    rows = [ROW, "both", "demo-rnnencdec"]
    runs = find_runs(folder / "runs", reproduction, catalog, rows)
    experiments = [run.experiment for run in runs]
    assert experiments == [ROW, ROW, "both", "demo-rnnencdec", "demo-rnnencdec"]
    results = run_results(runs, "test", ["bleu"], catalog)
    both = results.iloc[2]
    assert both.seed == f"{ROW} 1, {ROW} 2, demo-rnnencdec 1"
    for column in ("parameters_millions", "flops_6nd", "minutes"):
        assert both[column] == pytest.approx(results[column].iloc[[0, 1, 3]].sum())
    scores.unlink()
    message = r"ensemble/test.scores.json is not there: .*score.py for ensemble both"
    with pytest.raises(UserError, match=message):
        run_results(runs, "test", ["bleu"], catalog)
