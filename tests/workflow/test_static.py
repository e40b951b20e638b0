"""What can be said of the workflow without running it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

from tests.support.files import ROOT
from tests.support.workflows import TINY, copy_repository, dry_run, environment, planned_jobs

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


MODULE = """
configfile: "config.yaml"

module nmt:
    snakefile: "{snakefile}"
    config: config

use rule * from nmt as nmt_*
"""


def test_another_workflow_may_use_it_as_a_module(clone, tmp_path):
    other = tmp_path / "Snakefile"
    other.write_text(MODULE.format(snakefile=clone / "Snakefile"), encoding="utf-8")
    shutil.copy(clone / TINY, tmp_path / "config.yaml")
    options = {"configuration": str(tmp_path / "config.yaml")}
    alone = planned_jobs(clone, "--directory", tmp_path, **options)
    used = planned_jobs(clone, "--snakefile", other, "--directory", tmp_path, **options)
    assert used == {f"nmt_{job}" for job in alone}


def test_the_environment_need_not_be_activated(clone, tmp_path):
    target = tmp_path / "results/tiny/configuration.json"
    process = subprocess.run(
        [
            Path(sys.executable).with_name("snakemake"),
            target.relative_to(tmp_path),
            *("--workflow-profile", clone / "workflow/profiles/default"),
            *("--directory", tmp_path, "--configfile", TINY),
        ],
        cwd=clone,
        env={"PATH": os.defpath, "PYTHONPATH": str(clone / "src"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert target.exists()


def test_parsing_does_nothing_but_parse(clone, tmp_path):
    """Check that no argument is taken for a command, and that locks stay."""
    lock = tmp_path / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("results/of/another/call\n", encoding="utf-8")
    process = dry_run(clone, "--directory", tmp_path, "--until", "status")
    assert process.returncode != 0
    assert "No rule to produce status" in process.stdout
    assert lock.read_text(encoding="utf-8") == "results/of/another/call\n"


SLURM = ("--workflow-profile", "workflow/profiles/slurm", "--executor", "slurm")


def asked(output: str, rule: str, resource: str = "mem_mb") -> list[int]:
    """Return how much of a resource the jobs of a rule ask for, as a dry run prints it."""
    blocks = re.findall(rf"^ *(?:local)?rule {rule}:\n((?: +\w.*\n)*)", output, re.MULTILINE)
    assert blocks
    return [int(re.search(rf"\b{resource}=(\d+)", block)[1]) for block in blocks]


def test_a_cluster_gets_few_jobs_that_ask_for_what_they_need(clone):
    process = dry_run(clone, *SLURM, configuration="config/wmt14-en-de.yaml")
    assert process.returncode == 0, process.stdout
    submitted = [
        rule
        for rule in re.findall(r"^rule (\S+):", process.stdout, re.MULTILINE)
        if rule not in ("all", "download")  # which run where snakemake does
        and not rule.startswith("figures-")  # which a dry run does not show in their group
    ]
    groups = re.findall(r"Group job (\S+) ", process.stdout)
    # A job for each training and for each model's evaluation, one for all tables and pages
    assert submitted.count("train") == 23
    assert sorted(groups) == ["evaluate"] * 25 + ["tabulate"]
    assert len(submitted) + len(groups) == 69
    big = 213  # million parameters of the paper's big model
    assert max(asked(process.stdout, "average")) > 25 * big
    assert max(asked(process.stdout, "attend")) > 2000
    assert max(asked(process.stdout, "train")) > 24 * big


def test_downloads_run_where_snakemake_does(clone):
    rules = (clone / "workflow/rules/corpus.smk").read_text(encoding="utf-8")
    assert re.search(r"localrules:\s+download,", rules)


def test_a_training_gets_its_gpus_and_memory_for_each_of_its_processes(clone):
    def memory(gpu: int, **settings: int) -> int:
        profile = read(clone / "workflow/profiles/slurm/config.yaml")
        profile["set-resources"]["train"] |= {"gpu": gpu, **settings}
        (clone / "profile").mkdir(exist_ok=True)
        (clone / "profile/config.yaml").write_text(yaml.safe_dump(profile))
        options = ("--workflow-profile", "profile", "--executor", "slurm", "--until", "train")
        output = dry_run(clone, *options).stdout
        assert set(asked(output, "train", "gpu")) == {gpu}
        return max(asked(output, "train")) - 300

    assert memory(gpu=8, nodes=2) == pytest.approx(4 * memory(gpu=1), rel=0.01)


def test_a_vocabulary_s_memory_is_that_of_the_lines_that_it_is_learned_from(clone):
    corpus = clone / "results/corpora/wmt14-en-fr"
    target = "results/corpora/wmt14-en-fr/joint-bpe-32000/subwords"
    (corpus / "text/normalize").mkdir(parents=True)
    for language, size in (("en", 6e9), ("fr", 7e9)):
        with open(corpus / f"text/normalize/train.{language}", "wb") as file:
            file.truncate(int(size))  # a hole, which takes no space
    options = (target, *SLURM, "--allowed-rules", "learn_vocabulary")
    process = dry_run(clone, *options, configuration="config/wmt14-en-fr.yaml")
    assert process.returncode == 0, process.stdout
    assert asked(process.stdout, "learn_vocabulary") == [6300]


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
        (
            "seeds: [1]",
            "seeds: [1]\nseeds: [2]",
            "bad.yaml is not valid YAML: line 8: the key 'seeds' is there twice.",
        ),
        ("seeds: [1]", "seeds: [1, 1]", "bad.yaml: seeds: 1 is there twice"),
        (
            "metrics: [bleu,",
            "metrics: [chrf, bleu,",
            "bad.yaml, tables: systems: metrics: chrf is there twice",
        ),
        (
            "  systems:",
            "  score:",
            "error: the table score has a name that the workflow uses: choose another.",
        ),
        (
            "  systems:",
            "  corpora:",
            "error: the table corpora has a name that the workflow uses: choose another.",
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
        (
            "    split: test",
            "    on_request: true\n    split: test",
            "systems comes first, which is drawn without being asked for: it cannot be on_request",
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
