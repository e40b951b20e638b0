"""What can be said of the workflow without running it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate
from support.files import ROOT
from support.workflows import TINY, copy_repository, dry_run, environment, planned_jobs

REPRODUCTIONS = [
    path.relative_to(ROOT).as_posix()
    for path in sorted(ROOT.glob("config/*.yaml"))
    if re.search(r"^corpus:", path.read_text(encoding="utf-8"), re.MULTILINE)
]
EXPERIMENTS = [
    path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("config/experiments/*.yaml"))
]


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A copy where nothing was ever run."""
    return copy_repository(tmp_path_factory.mktemp("static") / "a clone")


def read(path: Path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def run(clone: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=clone,
        env=environment(clone),
        capture_output=True,
        encoding="utf-8",
    )


def test_there_are_reproductions():
    assert "config/demo.yaml" in REPRODUCTIONS
    assert len(REPRODUCTIONS) > 3


@pytest.mark.parametrize("configuration", [*REPRODUCTIONS, TINY])
def test_a_dry_run_reaches_every_run_table_and_figure(clone, configuration):
    settings = read(clone / configuration)
    on_request = {name for name, table in settings["tables"].items() if table.get("on_request")}
    by_default = planned_jobs(clone, configuration=configuration)
    jobs = planned_jobs(clone, "all", *on_request, configuration=configuration)
    assert {
        f"typeset reproduction={settings['name']}, table={name}" for name in on_request
    }.isdisjoint(by_default)
    assert "all" in by_default <= jobs
    declared: dict[str, dict] = {"experiments": {}, "ensembles": {}}
    for file in (clone / settings.get("catalog", "config") / "experiments").glob("*.yaml"):
        for kind, entries in read(file).items():
            declared.setdefault(kind, {}).update(entries)
    ensembles = declared["ensembles"]
    seeds_of = settings.get("seeds_of", {})
    trained = set()
    for name, table in settings["tables"].items():
        assert f"typeset reproduction={settings['name']}, table={name}" in jobs
        for row in table["experiments"]:
            seeds = seeds_of.get(row, settings["seeds"])
            members = ensembles[row]["members"] if row in ensembles else {row: seeds}
            trained |= {f"{member}, seed={seed}" for member, own in members.items() for seed in own}
            for run in ["ensemble"] if row in ensembles else [f"seed-{seed}" for seed in seeds]:
                wildcards = (
                    f"corpus={settings['corpus']}, row={row}, run={run}, split={table['split']}"
                )
                assert {f"translate {wildcards}", f"score {wildcards}"} <= jobs
            if "perplexity" in table["metrics"]:
                wildcards = [
                    f"corpus={settings['corpus']}, experiment={row}, seed={seed}" for seed in seeds
                ]
                assert {f"perplexity {run}" for run in wildcards} <= jobs
    runs = {rule: set() for rule in ("train", "share_training", "average")}
    for job in jobs:
        rule, _, wildcards = job.partition(" ")
        if rule in runs:
            runs[rule].add(wildcards.partition("experiment=")[2])
    assert runs["average"] == trained
    sharing = {name for name, row in declared["experiments"].items() if row.get("trained_as")}
    assert runs["share_training"] == {
        run for run in trained if re.split(r"[+,]", run)[0] in sharing or "+checkpoint-best" in run
    }
    assert runs["train"] >= trained - runs["share_training"]
    assert not runs["train"] & runs["share_training"]
    assert {f"figures-{name}" for name in settings["tables"]} <= jobs


def test_results_may_go_to_another_folder(clone, tmp_path):
    folder = tmp_path / "another folder"
    here = planned_jobs(clone, configuration=str(clone / TINY))
    assert planned_jobs(clone, "--directory", folder, configuration=str(clone / TINY)) == here


def test_lint_finds_nothing(clone):
    process = run(clone, "snakemake", "--lint")
    assert process.returncode == 0, process.stdout + process.stderr


def test_the_workflow_is_formatted(clone):
    process = run(clone, "snakefmt", "--check", "Snakefile", "workflow")
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds: [1]", "sedes: [1]", "bad.yaml: unknown key 'sedes': did you mean 'seeds'?"),
        ("seeds: [1]", "seeds: [1, 1]", "bad.yaml: seeds: 1 is there twice"),
        (
            "metrics: [bleu,",
            "metrics: [chrf, bleu,",
            "bad.yaml, tables: systems: metrics: chrf is there twice",
        ),
        (
            "  systems:",
            "  score:",
            "error: the table score has the name of a rule: choose another.",
        ),
        ("seeds: [1]", "seeds: []", "bad.yaml: seeds: List should have at least 1 item"),
        (
            "name: demo",
            "name: my demo",
            "bad.yaml: 'my demo' is no name: take letters, digits, _ . and -, no sign at",
        ),
        (
            "name: demo",
            "name: runs",
            "bad.yaml: name: results/runs is a folder of the workflow's own, choose another",
        ),
        (
            "attention: ",
            "attention: '' #",
            "bad.yaml: attention: String should have at least 1 character",
        ),
        ("corpus: demo", "corpus: demmo", "bad.yaml: unknown corpus 'demmo': did you mean 'demo'?"),
        (
            "[demo-rnnencdec,",
            "[demo-rnnencdek,",
            "unknown experiment 'demo-rnnencdek': did you mean 'demo-rnnencdec'?",
        ),
        ("split: test", "split: tset", "unknown split 'tset'"),
        ("[bleu,", "[blue,", "unknown metric 'blue': did you mean 'bleu'?"),
        ("corpus: demo", "corpus: demo\ncatalog: nowhere", "nowhere/corpora.yaml is not there."),
    ],
)
def test_a_mistake_is_one_sentence(clone, old, new, message):
    good = (clone / "config" / "demo.yaml").read_text(encoding="utf-8")
    assert old in good
    (clone / "bad.yaml").write_text(good.replace(old, new, 1), encoding="utf-8")
    process = dry_run(clone, configuration="bad.yaml")
    assert process.returncode != 0
    (sentence,) = process.stdout.splitlines()
    assert sentence.startswith("error: ")
    assert message in sentence


def test_the_default_configuration_can_be_changed_key_by_key(clone):
    process = run(clone, "snakemake", "--dry-run", "--config", "corpus=demmo", "name=demo-2")
    assert "error: config/demo.yaml: unknown corpus 'demmo': did you mean 'demo'?" in process.stderr


def test_wmt14_has_variants_with_later_news_commentary(clone):
    name = "wmt14-en-de-v12"
    options = ("--config", f"corpus={name}", f"name={name}")
    jobs = planned_jobs(clone, "table2", *options, configuration="config/wmt14-en-de.yaml")
    assert "download archive=training-parallel-nc-v12.tgz" in jobs
    assert "download archive=training-parallel-nc-v9.tgz" not in jobs


def test_filters_are_a_step_before_all_vocabularies(clone):
    jobs = planned_jobs(clone, configuration="config/tatoeba-en-de.yaml")
    assert "clean corpus=tatoeba-en-de" in jobs
    assert not any("newstest2014" in job for job in jobs)


def test_schemas_and_page_are_those_of_the_classes(clone, tmp_path):
    arguments = ["--schemas", tmp_path / "schemas", "--page", tmp_path / "configuration.md"]
    process = subprocess.run([sys.executable, "src/document.py", *arguments], cwd=clone)
    assert process.returncode == 0
    made = sorted(path for path in tmp_path.rglob("*.*") if path.is_file())
    assert len(made) == 5
    for path in made:
        folder = clone / ("docs" if path.suffix == ".md" else "workflow/schemas")
        assert path.read_text() == (folder / path.name).read_text(), (
            "run `python src/document.py --schemas workflow/schemas --page docs/configuration.md`"
        )


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("corpora", "config/corpora.yaml"),
        *(("experiments", file) for file in EXPERIMENTS),
        *(("reproduction", file) for file in REPRODUCTIONS),
    ],
)
def test_the_configuration_keeps_to_its_schema(root, schema, file):
    schema = str(root / "workflow" / "schemas" / f"{schema}.json")
    values = read(root / file)
    assert f"$schema={os.path.relpath(schema, (root / file).parent)}" in (root / file).read_text()
    validate(values, schema, set_default=False)
    with pytest.raises(WorkflowError):
        validate(values | {"misspelled": {"kez": 1}}, schema, set_default=False)
