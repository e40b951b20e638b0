"""What can be said of the workflow without running it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from nmt.configuration import read_reproduction
from tests.support.files import ROOT
from tests.support.workflows import TINY, copy_repository, dry_run, planned_jobs

REPRODUCTIONS = [
    path.relative_to(ROOT).as_posix()
    for path in sorted(ROOT.glob("config/*.yaml"))
    if re.search(r"^corpus:", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A copy where nothing was ever run."""
    return copy_repository(tmp_path_factory.mktemp("static") / "a clone")


def run(clone: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=clone, capture_output=True, text=True
    )


@pytest.mark.parametrize("configuration", [*REPRODUCTIONS, TINY])
def test_a_dry_run_reaches_every_run_table_and_figure(clone, configuration):
    file = clone / configuration
    reproduction, catalog = read_reproduction(file, file)
    name = reproduction.name
    on_request = reproduction.tables.keys() - reproduction.by_default.tables.keys()
    by_default = planned_jobs(clone, configuration=configuration)
    jobs = planned_jobs(clone, "all", "lecture", *on_request, configuration=configuration)
    assert "all" in by_default <= jobs
    assert f"make_lecture reproduction={name}" in jobs - by_default
    for table in on_request:
        assert f"make_table reproduction={name}, table={table}" not in by_default
    trained, modeled = set(), set()
    for key, table in reproduction.tables.items():
        assert f"make_table reproduction={name}, table={key}" in jobs
        assert f"draw_figure reproduction={name}, figure={key}.learning-curves" in jobs
        for row in table.experiments:
            seeds = reproduction.seeds_for(row)
            for experiment, seed in catalog.trainings(row, seeds):
                modeled.add(f"{experiment}, seed={seed}")
                shared = catalog.experiment(experiment).trained_as
                trained.add(f"{shared or experiment}, seed={seed}")
            ensemble = row in catalog.ensembles
            for run in ["ensemble"] if ensemble else [f"seed-{seed}" for seed in seeds]:
                wildcards = f"corpus={reproduction.corpus}, row={row}, run={run}"
                elsewhere = ensemble and catalog.ensembles[row].translations
                for rule in ("score",) if elsewhere else ("translate", "score"):
                    assert f"{rule} {wildcards}, split={table.split}" in jobs
    for rule, runs in {"train": trained, "average_checkpoints": modeled}.items():
        planned = {job.partition("experiment=")[2] for job in jobs if job.startswith(f"{rule} ")}
        assert planned == runs


def test_results_may_go_to_another_folder(clone, tmp_path):
    folder = tmp_path / "another folder"
    here = planned_jobs(clone, configuration=str(clone / TINY))
    assert planned_jobs(clone, "--directory", folder, configuration=str(clone / TINY)) == here


def test_a_mirror_is_named_to_downloads_only_where_one_is_configured(clone):
    # The environment's NMT_MIRROR would give way to an empty one.
    wanted = ["-p", "results/downloads/multi30k.val.en.gz"]
    multi30k = "config/multi30k-en-de.yaml"
    assert "--mirror" not in dry_run(clone, *wanted, configuration=multi30k).stdout
    configured = dry_run(clone, *wanted, "--config", "mirror=a b", configuration=multi30k)
    assert "--mirror 'a b'" in configured.stdout


def test_parsing_changes_nothing(clone, tmp_path):
    before = {path: path.stat().st_mtime for path in clone.rglob("*.*")}
    process = dry_run(clone, "--directory", tmp_path / "new")
    assert process.returncode == 0, process.stdout
    assert {path: path.stat().st_mtime for path in before} == before
    assert not (tmp_path / "new" / "results").exists()


def test_all_jobs_that_use_a_gpu_are_counted(clone):
    process = dry_run(clone, "--resources", "gpu=2", "--set-resources", "train:gpu=2")
    assert process.returncode == 0, process.stdout
    blocks = re.findall(r"^rule (\w+):\n((?:    .*\n)*)", process.stdout, re.MULTILINE)
    counted = {rule: int(n) for rule, block in blocks for n in re.findall(r"\bgpu=(\d)", block)}
    evaluations = dict.fromkeys(("translate", "record_attention", "measure_perplexity"), 1)
    assert counted == {"train": 2} | evaluations


def test_a_cluster_gets_few_jobs_that_ask_for_what_they_need(clone):
    profile = yaml.safe_load((clone / "profiles/slurm/config.yaml").read_text(encoding="utf-8"))
    del profile["logger"]  # all words of snakemake's own
    (clone / "wordy").mkdir()
    (clone / "wordy/config.yaml").write_text(yaml.safe_dump(profile), encoding="utf-8")
    slurm = ("--workflow-profile", "wordy", "--executor", "slurm")
    process = dry_run(clone, *slurm, configuration="config/wmt14-en-de.yaml")
    assert process.returncode == 0, process.stdout
    blocks = re.findall(r"^ *rule (\w+):\n((?: +\w.*\n)*)", process.stdout, re.MULTILINE)
    trainings = [block for rule, block in blocks if rule == "train"]
    assert len(trainings) == 23
    for block in trainings:
        assert re.search(r"\bgpu=1\b", block)
        assert int(re.search(r"\bmem_mb=(\d+)", block)[1]) > 8000
    # One job for each model's evaluation, and one for all tables, figures and pages
    groups = re.findall(r"Group job (\S+) ", process.stdout)
    assert sorted(groups) == ["evaluate"] * 25 + ["tabulate"]
    rules = {rule for rule, _ in blocks}
    named = {*profile["groups"], *profile["set-resources"], *profile["set-threads"]}
    assert named - rules <= {"plan", "make_lecture"}


def test_lint_finds_nothing(clone):
    process = run(clone, "snakemake", "--lint")
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.parametrize(
    ("arguments", "configuration", "said"),
    [
        ([], "config/missing.yaml", "config/missing.yaml"),
        ([], "broken.yaml", "line 2"),
        ([], "bad.yaml", "bad.yaml"),
        (["sistems"], TINY, "sistems"),
        (["--directory", "a {brace}"], TINY, "a {brace} has a brace"),
    ],
)
def test_what_snakemake_refuses_is_one_sentence(clone, arguments, configuration, said):
    (clone / "broken.yaml").write_text("name: x\n  corpus: [1\n", encoding="utf-8")
    good = (clone / TINY).read_text(encoding="utf-8")
    (clone / "bad.yaml").write_text(good.replace("seeds:", "sedes:"), encoding="utf-8")
    process = dry_run(clone, "--logger=nmt", *arguments, configuration=configuration)
    assert process.returncode == 1
    assert said in process.stdout.splitlines()[-1]
    assert "Traceback" not in process.stdout
    assert '  File "' not in process.stdout


def test_a_dry_run_ends_with_the_trainings(clone):
    process = dry_run(clone, "--logger", "nmt")
    assert process.returncode == 0, process.stdout
    _, trainings = process.stdout.split(" of them trainings:\n")
    names = ["tiny-rnnsearch", "tiny-seq2seq", "tiny-transformer"]
    assert sorted(trainings.splitlines()) == [f"{name}, seed 1" for name in names]


def test_the_default_configuration_can_be_changed_key_by_key(clone):
    process = run(clone, "snakemake", "--dry-run", "--config", "corpus=demmo", "name=demo-2")
    assert "config/demo.yaml" in process.stderr
    assert "'demo'" in process.stderr


def test_a_dry_run_names_no_more_than_is_asked_for(clone):
    jobs = planned_jobs(clone, configuration="config/tatoeba-en-de.yaml")
    assert not any("newstest2014" in job for job in jobs)
    only = ("--config", "only=[demo-rnnsearch]")
    jobs = planned_jobs(clone, *only, configuration="config/demo.yaml")
    trained = [job for job in jobs if job.startswith("train ")]
    assert trained == ["train corpus=demo, experiment=demo-rnnsearch, seed=1"]


def test_a_figure_waits_for_all_that_was_measured(clone):
    jobs = planned_jobs(clone, "results/tiny/figures/dev.cost.png")
    assert "measure_perplexity corpus=tiny, experiment=tiny-last, seed=1" in jobs
