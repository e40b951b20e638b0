"""What is read from the files of runs, and what is refused."""

import gzip
import json

import pytest

from nmt.configuration import Ensemble
from nmt.errors import UserError
from nmt.files import read_json, write_json
from nmt.paper.measurements import run_results
from nmt.paper.results import commits, find_runs, find_trained_runs
from tests.support import paper_runs

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
    runs = runs_of(made, made[1].experiments)
    return run_results(runs, "test", list(metrics))


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
    assert results_of(made).flops_device_time.isna().all()
    path = made[0] / "runs" / "demo" / ROW / "seed-1" / "training.json"
    training = read_json(path)
    training["made_by"][0]["device"] = "Tesla P100-PCIE-16GB"
    write_json(path, training)
    sustained = results_of(made).flops_device_time.dropna()
    assert list(sustained) == [pytest.approx(91 * 9.5e12)]


def test_commits_once_each(made):
    path = made[0] / "runs" / "demo" / ROW / "seed-1" / "training.json"
    training = read_json(path)
    training["made_by"].insert(0, training["made_by"][0] | {"commit": "1234567890+"})
    write_json(path, training)
    assert commits(runs_of(made, [ROW, "demo-rnnencdec"])) == "1234567890+, abcdef0123"


def test_what_is_not_on_disk_is_empty(made):
    (made[0] / "runs" / "demo" / ROW / "seed-2" / "test.scores.json").unlink()
    (made[0] / "runs" / "demo" / "demo-rnnencdec" / "seed-1" / "training.json").unlink()
    results = results_of(made).set_index(["experiment", "seed"])
    assert results.isna().bleu.sum() == 2
    assert results.perplexity.isna().sum() == 1
    assert results.loc[(ROW, "2"), "minutes"] > 0
    assert not results.loc[("demo-rnnencdec", "1"), "is_trained"]


def test_without_any_run_the_error_names_the_first_file_and_its_script(made):
    _, reproduction, catalog = made
    message = r"demo-rnnencdec/seed-1/training.json is not there: .*train.py for experiment"
    with pytest.raises(UserError, match=message):
        find_trained_runs(made[0] / "nowhere", reproduction, catalog, reproduction.experiments)


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
def test_a_run_of_other_settings_is_stale(made, part, key, value):
    path = made[0] / "runs" / "demo" / ROW / "seed-1" / "training.json"
    training = json.loads(path.read_text())
    training["settings"][part][key] = value
    write_json(path, training)
    first, second = runs_of(made, [ROW])
    assert first.stale.startswith(f"trained with {key} {value}, but the configuration says")
    assert second.stale == ""


def test_a_run_on_other_data_than_the_first_is_stale(made):
    path = made[0] / "runs" / "demo" / ROW / "seed-2" / "training.json"
    training = read_json(path)
    training["settings"]["tokens"] = "0" * 64
    write_json(path, training)
    stale = "trained on other data than demo-bpe-2000 has now"
    assert [run.stale for run in runs_of(made, [ROW])] == ["", stale]


def test_the_data_that_are_there_tell_which_runs_are_stale(made):
    meta = made[0] / "corpora" / "demo" / "demo-bpe-2000" / "tokens" / "train" / "meta.json"
    write_json(meta, {"fingerprint": paper_runs.FINGERPRINT})
    assert not any(run.stale for run in runs_of(made, [ROW]))
    write_json(meta, {"fingerprint": "0" * 64})
    assert all(run.stale for run in runs_of(made, [ROW]))


def test_utilization_is_the_mean_over_the_time_of_training(made):
    path = made[0] / "runs" / "demo" / ROW / "seed-1" / "metrics.jsonl"
    # 100 FLOPs at half the device's rate, then 300 at a quarter of it: 400 of 1,400 possible.
    lines = [{"update": 1, "flops": 100, "mfu": 0.5}, {"update": 2, "flops": 400, "mfu": 0.25}]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    result = results_of(made).set_index(["experiment", "seed"]).loc[(ROW, "1")]
    assert result.utilization == pytest.approx(400 / 1400)
    assert result.flops_device_time == pytest.approx(1.5e15 * 1400 / 400)
    lines[0]["mfu"] = lines[1]["mfu"] = 1.5
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert results_of(made).utilization.isna().all()


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
    results = run_results(runs, "test", ["bleu"])
    both = results.iloc[2]
    assert both.seed == f"{ROW} 1, {ROW} 2, demo-rnnencdec 1"
    for column in ("parameters_millions", "flops_6nd", "minutes"):
        assert both[column] == pytest.approx(results[column].iloc[[0, 1, 3]].sum())
    scores.unlink()
    assert run_results(runs, "test", ["bleu"]).bleu.isna().sum() == 1


def test_a_compressed_log_is_read_as_the_log_itself(made):
    """docs/results/data keeps logs so."""
    (run, *_) = runs_of(made, [ROW])
    log = run.path("metrics.jsonl")
    lines = run.metrics()
    compressed = log.with_name("metrics.jsonl.gz")
    compressed.write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()
    assert lines
    assert run.metrics() == lines
    compressed.write_bytes(compressed.read_bytes()[:-9])
    with pytest.raises(UserError, match=r"metrics\.jsonl\.gz is damaged"):
        run.metrics()
