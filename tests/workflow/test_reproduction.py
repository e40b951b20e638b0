"""The tiny reproduction, from the grammar to tables, figures and the report, in a copy of the
repository.
"""

import base64
import csv
import os
import re
import signal
import subprocess

import pytest
import torch

from nmt.models.weights import load_tensors
from nmt.paper.figures import FIGURES, file_name
from tests.support.workflows import (
    TINY,
    command,
    copy_repository,
    edited,
    environment,
    planned_jobs,
    restored,
    snakemake,
)

TABLES = ("systems", "dev")
ROWS = ("tiny-seq2seq", "tiny-rnnsearch", "tiny-transformer")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy whose path has spaces, after one run of everything."""
    folder = copy_repository(tmp_path_factory.mktemp("reproduction") / "a folder with spaces")
    process = snakemake(folder)
    assert process.returncode == 0, process.stdout
    return folder


def test_every_table_and_figure_is_made(made):
    drawn = FIGURES.keys() - {"differences"}  # no row has a counterpart
    figures = {file_name(figure, table) for table in TABLES for figure in drawn}
    expected = [
        f"tables/{name}.{kind}"
        for name in (*TABLES, "complexity", "corpora")
        for kind in ("csv", "md", "tex")
    ]
    expected += [f"tables/{name}.significance.json" for name in TABLES]
    expected += [f"figures/{name}.{kind}" for name in figures for kind in ("pdf", "png", "csv")]
    made_files = {
        path.relative_to(made / "results/tiny").as_posix(): path
        for path in made.glob("results/tiny/*/*")
    }
    assert sorted(made_files) == sorted(expected)
    assert [name for name, path in made_files.items() if path.stat().st_size < 20] == []


def test_every_page_is_made(made):
    pages = {path.name for path in made.glob("results/tiny/*.html")}
    translations = {f"translations-{name}.html" for name in TABLES}
    assert pages == {"index.html", "explorer.html", *translations}
    index = (made / "results/tiny/index.html").read_text(encoding="utf-8")
    addresses = [name.partition("#")[0] for name in re.findall(r'href="([^"]+)"', index)]
    files = {name for name in addresses if name and not name.startswith(("https:", "data:"))}
    assert [name for name in files if not (made / "results/tiny" / name).exists()] == []


def test_every_step_has_a_log(made):
    logs, benchmarks = (
        {
            path.relative_to(made / "results" / kind).with_suffix("")
            for path in (made / "results" / kind).rglob("*.*")
        }
        for kind in ("logs", "benchmarks")
    )
    assert benchmarks
    assert benchmarks <= logs


def test_checksums_hold(made):
    check = ["sha256sum", "--check", "--quiet", "results/tiny/SHA256SUMS"]
    assert subprocess.run(check, cwd=made).returncode == 0
    listed = (made / "results/tiny/SHA256SUMS").read_text(encoding="utf-8")
    assert "results/runs/tiny/tiny-transformer/seed-1/model/model.safetensors" in listed
    assert "results/tiny/tables/systems.csv" in listed


@pytest.mark.parametrize(
    ("path", "remade_by"),
    [
        ("runs/tiny/tiny-transformer/seed-1/model", "average_checkpoints"),
        ("runs/tiny/tiny-transformer/seed-1/test.translations.txt", "translate"),
        ("tiny/tables/systems.csv", "make_table"),
        ("tiny/figures/attention.pdf", "draw_figure"),
    ],
)
def test_what_was_deleted_comes_back(made, tmp_path, path, remade_by):
    deleted = made / "results" / path
    deleted.rename(tmp_path / "deleted")
    try:
        jobs = {job.split()[0] for job in planned_jobs(made)}
    finally:
        (tmp_path / "deleted").rename(deleted)
    assert remade_by in jobs
    assert "train" not in jobs


def test_a_comment_in_the_code_reruns_nothing(made):
    with edited(made / "src" / "train.py", '"""Train an', '# A comment.\n"""Train an'):
        assert planned_jobs(made) == set()


def test_an_older_grammar_makes_other_text(made):
    grammar = made / "config" / "grammar.yaml"
    with restored(grammar):
        grammar.write_bytes(grammar.read_bytes() + b"# another\n")
        os.utime(grammar, (1e9, 1e9))
        assert "generate_corpus" in {job.split()[0] for job in planned_jobs(made)}


def test_a_changed_row_reruns_that_row_alone(made):
    with edited(made / TINY, "family: seq2seq,", "family: seq2seq, updates: 30,"):
        jobs = planned_jobs(made)
    assert "train corpus=tiny, experiment=tiny-seq2seq, seed=1" in jobs
    of_rows = [job for job in jobs if "experiment=" in job or "row=" in job]
    assert [job for job in of_rows if "tiny-seq2seq" not in job] == []
    of_tables = {job for job in jobs if "table=" in job or "figure=" in job}
    assert "make_table reproduction=tiny, table=systems" in of_tables
    assert not any("=dev" in job for job in of_tables)


def test_a_copy_with_what_snakemake_keeps_repeats_nothing(made, tmp_path):
    folder = copy_repository(tmp_path / "a copy")
    for name in ("results", ".snakemake/metadata"):
        source = f"{made / name}/"
        (folder / name).mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", f"{source}.", folder / name], check=True)
    assert planned_jobs(folder) == set()


def test_decoding_changed_trains_nothing(made):
    with edited(made / TINY, "family: rnnsearch,", "family: rnnsearch, beam: 3,"):
        jobs = planned_jobs(made)
    assert not any(job.startswith("train ") for job in jobs)
    assert "translate corpus=tiny, row=tiny-rnnsearch, run=seed-1, split=test" in jobs


def test_a_row_that_shares_a_training_has_a_model_of_its_own(made):
    own, shared = (
        made / f"results/runs/tiny/{name}/seed-1" for name in ("tiny-last", "tiny-transformer")
    )
    assert not (own / "training.json").exists()
    last, averaged, model = (
        load_tensors(path)[0]["encoder.0.feed_forward.inner.weight"]
        for path in (
            max((shared / "checkpoints").iterdir()),
            shared / "model" / "model.safetensors",
            own / "model" / "model.safetensors",
        )
    )
    assert torch.equal(model, last)
    assert not torch.equal(model, averaged)


def test_an_ensemble_follows_its_members(made):
    with edited(made / TINY, "family: rnnsearch,", "family: rnnsearch, average: 1,"):
        jobs = planned_jobs(made)
    ensemble = "corpus=tiny, row=tiny-ensemble, run=ensemble, split=test"
    assert {f"translate {ensemble}", f"score {ensemble}"} <= jobs


def test_ensembles_and_translations_from_elsewhere_are_rows_of_the_table_and_the_page(made):
    table = (made / "results/tiny/tables/systems.md").read_text(encoding="utf-8")
    assert re.search(r"^\| Ensemble +\| +\d+\.\d\d ", table, re.MULTILINE)
    assert re.search(r"^\| The references +\| +\*\*100\.00\*\* ", table, re.MULTILINE)
    for page in ("index", "translations-systems"):
        assert "The references" in (made / f"results/tiny/{page}.html").read_text(encoding="utf-8")


def test_a_table_on_request_is_made_when_asked_for(made):
    assert not (made / "results/tiny/tables/asked-for.md").exists()
    jobs = planned_jobs(made, "asked-for")
    assert "make_table reproduction=tiny, table=asked-for" in jobs
    assert "draw_figure reproduction=tiny, figure=asked-for.cost" in jobs
    assert not any(job.startswith(("train ", "translate ")) for job in jobs)


def test_the_best_model_is_offered(made):
    with open(made / "results/tiny/tables/systems.csv", encoding="utf-8", newline="") as file:
        scores = {row["experiment"]: row["bleu"] for row in csv.DictReader(file)}
    best = max(ROWS, key=lambda row: float(scores[row]))
    with restored(made / "results/tiny/tables/systems.md"):
        process = snakemake(made, "--forcerun", "make_table")
    assert f"--model results/runs/tiny/{best}/seed-1/model\n" in process.stdout
    assert TINY in process.stdout.split("# Three systems")[1]


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_stopped_snakemake_stops_trainings_and_says_so_last(made, by_hand):
    training = "results/runs/tiny/tiny-seq2seq+updates-100000/seed-1/training.json"
    options = ("--logger", "nmt", "--config", "updates=100000", "--configfile", TINY)
    process = subprocess.Popen(
        command(training, "--cores", 1, *options),
        cwd=made,
        env=environment(made),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    )
    while "training: " not in process.stdout.readline():
        assert process.poll() is None
    if by_hand:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.terminate()
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "tiny-seq2seq+updates-100000/seed-1: stopped at update " in printed.splitlines()[-1]
    assert max(map(len, printed.splitlines())) < 200  # no commands
    state = (made / training).parent.glob("state-*/state.safetensors")
    assert len(list(state)) == 1


def test_an_error_is_said_last(made):
    model = made / "results/runs/tiny/tiny-seq2seq/seed-1/model/model.safetensors"
    with restored(model):
        model.write_bytes(model.read_bytes()[:-1])
        target = "results/runs/tiny/tiny-seq2seq/seed-1/dev.translations.txt"
        process = snakemake(made, target, "--logger", "nmt")
    assert process.returncode == 1
    sentence, log = process.stdout.splitlines()[-2:]
    assert str(model.relative_to(made)) in sentence
    assert log == "(results/logs/tiny/tiny-seq2seq/seed-1/translate.dev.log)"


def test_the_report_is_one_file_with_all_in_it(made):
    process = snakemake(made, "--report", "report.html")
    assert process.returncode == 0, process.stdout
    report = (made / "report.html").read_text(encoding="utf-8")
    page = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", report, flags=re.DOTALL)
    assert not re.search(r"<\w+[^>]*\s(src|href)=", page)  # nothing is fetched
    for path in [made / "results/tiny/index.html", *made.glob("results/tiny/figures/*.png")]:
        assert base64.b64encode(path.read_bytes()).decode() in report, path.name
    for name in ("learning-curves", "attention", "bleu-by-length"):
        assert FIGURES[name].caption[:60] in report
