"""The tiny reproduction, from the grammar to tables, figures and the report, in a copy of the
repository.
"""

import base64
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import torch

from nmt.archive.manifest import read_manifest
from nmt.archive.verification import Verification
from nmt.errors import UserError
from nmt.files import read_json
from nmt.models.weights import load_tensors
from tests.support.workflows import (
    TINY,
    command,
    copy_repository,
    dry_run,
    environment,
    planned_jobs,
    snakemake,
)

TABLES = ("systems", "dev")
TABLE_FIGURES = (
    "learning-curves",
    "learning-rate",
    "gradient-norms",
    "bleu-by-length",
    "cost",
    "parameters",
    "speed",
    "subword-lengths",
)
FIGURES = (
    *(f"{table}.{figure}" for table in TABLES for figure in TABLE_FIGURES),
    "positional-encodings",
    "attention",
    "encoder-self-attention",
    "decoder-self-attention",
    "alignment",
)
ROWS = ("tiny-seq2seq", "tiny-rnnsearch", "tiny-transformer")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy whose path has spaces, after one run of everything."""
    folder = copy_repository(tmp_path_factory.mktemp("reproduction") / "a folder with spaces")
    process = snakemake(folder)
    assert process.returncode == 0, process.stdout
    return folder


@contextmanager
def restored(*paths):
    """Give files back their bytes and times in the end."""
    before = [(path, path.read_bytes(), path.stat()) for path in paths]
    try:
        yield
    finally:
        for path, content, status in before:
            path.write_bytes(content)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@contextmanager
def edited(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    with restored(path):
        path.write_text(text.replace(old, new), encoding="utf-8")
        yield


def test_every_table_and_figure_is_made(made):
    expected = [
        f"tables/{name}.{kind}"
        for name in TABLES
        for kind in ("csv", "md", "html", "tex", "significance.json")
    ]
    expected += [
        f"tables/{name}.{kind}"
        for name in ("complexity", "corpora")
        for kind in ("csv", "md", "html", "tex")
    ]
    expected += [f"figures/{name}.{kind}" for name in FIGURES for kind in ("pdf", "png", "csv")]
    made_files = {
        path.relative_to(made / "results/tiny").as_posix(): path
        for path in made.glob("results/tiny/*/*")
    }
    assert sorted(made_files) == sorted(expected)
    assert [name for name, path in made_files.items() if path.stat().st_size < 20] == []


def test_every_page_is_made(made):
    pages = {path.name for path in made.glob("results/tiny/*.html")}
    assert pages == {
        "index.html",
        "explorer.html",
        *(f"translations-{name}.html" for name in TABLES),
    }
    index = (made / "results/tiny/index.html").read_text(encoding="utf-8")
    addresses = [name.partition("#")[0] for name in re.findall(r'href="([^"]+)"', index)]
    files = {name for name in addresses if name and not name.startswith(("https:", "data:"))}
    assert len(files) > 30
    assert [name for name in files if not (made / "results/tiny" / name).exists()] == []


def test_every_step_has_a_log_and_a_benchmark(made):
    logs, benchmarks = (
        {
            path.relative_to(made / "results" / kind).with_suffix("")
            for path in (made / "results" / kind).rglob("*.*")
        }
        for kind in ("logs", "benchmarks")
    )
    assert len(benchmarks) > 30
    assert benchmarks <= logs


def test_a_second_run_does_nothing(made):
    process = snakemake(made)
    assert process.returncode == 0
    assert "Nothing to be done" in process.stdout


@pytest.mark.parametrize(
    ("path", "remade_by"),
    [
        ("runs/tiny/tiny-transformer/seed-1/model", "average"),
        ("runs/tiny/tiny-transformer/seed-1/test.translations.txt", "translate"),
        ("runs/tiny/tiny-transformer/seed-1/dev.scores.json", "score"),
        ("runs/tiny/tiny-ensemble/ensemble/test.translations.txt", "translate"),
        ("tiny/tables/systems.csv", "typeset"),
        ("tiny/tables/dev.tex", "typeset"),
        ("tiny/figures/attention.pdf", "figures-systems"),
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


def check_that_a_changed_row_alone_reruns(folder):
    run = "corpus=tiny, experiment=tiny-seq2seq, seed=1"
    with edited(
        folder / "tests/workflow/tiny/experiments/tiny.yaml",
        "family: seq2seq,",
        "family: seq2seq, updates: 30,",
    ):
        jobs = planned_jobs(folder)
    translated = "corpus=tiny, row=tiny-seq2seq, run=seed-1, split=test"
    assert jobs == {
        *(
            f"{rule} {run}"
            for rule in (
                "train",
                "average",
                "attend",
                "measure_gradients",
            )
        ),
        *(f"{rule} {translated}" for rule in ("translate", "score")),
        *(f"{rule} reproduction=tiny, table=systems" for rule in ("compare", "typeset", "browse")),
        *(f"{rule} reproduction=tiny" for rule in ("explore", "publish", "trace")),
        "figures-systems",
        "all",
    }


def test_a_changed_row_reruns_that_row_alone(made):
    check_that_a_changed_row_alone_reruns(made)


@pytest.fixture
def copied(made, tmp_path):
    """A copy without .snakemake, whose files have new times in a random order.

    Benchmarks are the oldest: Snakemake looks at their times, too.
    """
    folder = tmp_path / "a copy"
    shutil.copytree(made, folder, ignore=shutil.ignore_patterns(".snakemake"))
    files = sorted(path for path in folder.glob("results/**/*") if path.is_file())
    random.Random(1).shuffle(files)
    for age, path in enumerate(files):
        then = time.time() - age - 1e6 * ("benchmarks" in path.parts)
        os.utime(path, (then, then))
    return folder


def test_a_copy_repeats_nothing(copied):
    """Snakemake recognizes it by itself."""
    (copied / "results" / "record.json").rename(copied / "away")
    assert len(planned_jobs(copied)) > 20
    (copied / "away").rename(copied / "results" / "record.json")
    process = dry_run(copied)
    assert re.search(r"^Copied results: \d+ outputs are as ", process.stdout, re.MULTILINE)
    assert "Nothing to be done" in process.stdout
    check_that_a_changed_row_alone_reruns(copied)
    text = copied / "results/corpora/tiny/raw/dev.en"
    text.write_text(text.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    jobs = planned_jobs(copied)
    assert "normalize corpus=tiny, preprocessing=spacing, split=dev, language=en" in jobs


def test_a_copy_with_all_that_snakemake_keeps_repeats_nothing(made, tmp_path):
    folder = tmp_path / "a copy"
    shutil.copytree(made, folder, copy_function=shutil.copyfile)
    assert planned_jobs(folder) == set()


def test_what_has_changed_in_a_copy_is_not_kept(copied):
    translations = copied / "results/runs/tiny/tiny-seq2seq/seed-1/test.translations.txt"
    translations.write_text(translations.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    subwords = copied / "results/runs/tiny/tiny-rnnsearch/seed-1/model/target.model"
    subwords.unlink()
    process = dry_run(copied)
    begins = "^Edited since Snakemake used or made them: .*$"
    (sentence,) = re.findall(begins, process.stdout, re.MULTILINE)
    for path in (translations, subwords):
        assert str(path.relative_to(copied)) in sentence
    jobs = planned_jobs(copied)
    assert {
        "score corpus=tiny, row=tiny-seq2seq, run=seed-1, split=test",
        "translate corpus=tiny, row=tiny-rnnsearch, run=seed-1, split=test",
    } <= jobs
    assert not any(job.startswith(("train ", "binarize ", "average ")) for job in jobs)
    assert not any("tiny-transformer" in job for job in jobs)


def test_what_a_copy_makes_itself_is_not_adopted(copied):
    """Check that the record of the rest stays as it was, too."""
    text = "results/corpora/tiny/text/spacing/dev.en"
    (copied / text).unlink()
    assert snakemake(copied, text).returncode == 0
    made_at = (copied / text).stat().st_mtime
    assert planned_jobs(copied, "results/corpora/tiny/tiny-bpe/tokens/train") == set()
    assert (copied / text).stat().st_mtime == made_at
    assert "train" not in {job.split()[0] for job in planned_jobs(copied)}


def test_decoding_changed_trains_nothing(made):
    with edited(
        made / "tests/workflow/tiny/experiments/tiny.yaml",
        "family: rnnsearch,",
        "family: rnnsearch, beam: 3,",
    ):
        jobs = planned_jobs(made)
    assert not any(job.startswith("train ") for job in jobs)
    assert "translate corpus=tiny, row=tiny-rnnsearch, run=seed-1, split=test" in jobs


def test_a_row_that_shares_its_training_has_checkpoints_of_its_own(made):
    own, shared = (
        made / f"results/runs/tiny/{name}/seed-1" for name in ("tiny-last", "tiny-transformer")
    )
    assert (own / "training.json").read_bytes() == (shared / "training.json").read_bytes()
    assert not list(own.glob("state-*"))
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
    with edited(
        made / "tests/workflow/tiny/experiments/tiny.yaml",
        "family: rnnsearch,",
        "family: rnnsearch, average: 1,",
    ):
        jobs = planned_jobs(made)
    ensemble = "corpus=tiny, row=tiny-ensemble, run=ensemble, split=test"
    assert {f"translate {ensemble}", f"score {ensemble}"} <= jobs


def test_an_ensemble_is_a_row_of_the_table(made):
    table = (made / "results/tiny/tables/systems.md").read_text(encoding="utf-8")
    cells = next(
        line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| Ensemble ")
    )
    single = [
        line
        for line in table.splitlines()
        if line.startswith(("| Transformer ", "| RNN with attention "))
    ]
    assert float(cells[1].strip(" *")) >= 0
    assert len(single) == 6  # scores, FLOPs and costs
    assert "Ensemble: tiny-transformer 1, tiny-rnnsearch 1 translate together" in table


def test_a_table_on_request_is_made_when_asked_for(made):
    assert not (made / "results/tiny/tables/asked-for.md").exists()
    jobs = planned_jobs(made, "asked-for")
    assert jobs == {
        "asked-for",
        "figures-asked-for",
        *(f"{rule} reproduction=tiny, table=asked-for" for rule in ("compare", "typeset")),
    }


def test_an_error_is_said_last(made):
    model = made / "results/runs/tiny/tiny-seq2seq/seed-1/model/model.safetensors"
    record = made / "results/record.json"
    with restored(model, record):
        model.write_bytes(model.read_bytes()[:-1])
        process = snakemake(made, "results/runs/tiny/tiny-seq2seq/seed-1/dev.sweep.json")
    assert process.returncode == 1
    sentence, log = process.stdout.splitlines()[-2:]
    assert sentence.startswith(f"{model.relative_to(made)} is damaged (")
    assert log == "(results/logs/tiny/tiny-seq2seq/seed-1/sweep.log)"


def test_a_table_is_a_target(made):
    table = made / "results" / "tiny" / "tables" / "dev.md"
    before = table.read_bytes()
    table.unlink()
    assert {job.split()[0] for job in planned_jobs(made, "dev")} == {"dev", "typeset"}
    assert snakemake(made, "dev").returncode == 0
    assert table.read_bytes() == before


def test_a_second_snakemake_in_the_folder_is_refused(made):
    table = made / "results" / "tiny" / "tables" / "dev.md"
    before = table.read_bytes()
    table.unlink()
    with subprocess.Popen(
        command("dev", "--cores", 1, "--configfile", TINY),
        cwd=made,
        env=environment(made),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as first:
        # The lock of inputs comes first, and both are written after they are there.
        locks = made / ".snakemake" / "locks"
        while not any("dev.md" in lock.read_text() for lock in locks.glob("*.output.lock")):
            assert first.poll() is None
            time.sleep(0.01)
        first.send_signal(signal.SIGSTOP)
        try:
            second = snakemake(made, "dev")
        finally:
            first.send_signal(signal.SIGCONT)
    assert second.returncode == 1
    assert "Directory cannot be locked" in second.stdout
    assert first.returncode == 0
    assert table.read_bytes() == before


def test_the_figures_of_a_table_are_a_target(made):
    assert planned_jobs(made, "figures-dev", "--forcerun", "figures-dev") == {"figures-dev"}


def test_search_is_swept_when_asked_for(made):
    jobs = {job.split()[0] for job in planned_jobs(made, "search")}
    assert jobs == {"sweep", "search"}


def test_status_prints_a_line_a_run(made):
    process = subprocess.run(
        [sys.executable, "src/status.py"], cwd=made, capture_output=True, encoding="utf-8"
    )
    assert process.returncode == 0
    lines = [line for line in process.stdout.splitlines() if line.startswith("tiny/")]
    assert [line.split()[:6] for line in lines] == [
        [f"tiny/{row}/seed-1", "done", "update", "20", "of", "20"] for row in sorted(ROWS)
    ]


def test_the_report_is_one_file_with_all_in_it(made):
    process = snakemake(made, "--report", "report.html")
    assert process.returncode == 0, process.stdout
    report = (made / "report.html").read_text(encoding="utf-8")
    page = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", report, flags=re.DOTALL)
    assert not re.search(r"<\w+[^>]*\s(src|href)=", page)  # nothing is fetched
    for path in [
        *made.glob("results/tiny/tables/*.html"),
        *made.glob("results/tiny/figures/*.png"),
    ]:
        assert base64.b64encode(path.read_bytes()).decode() in report, path.name
    captions = (
        "Learning curves",
        "Learning rate",
        "Positions",
        "Attention",
        "BLEU by source length",
    )
    for caption in (
        *captions,
        "Three systems and two together, barely trained",
        "One training on the dev set, averaged and not",
    ):
        assert f"<strong>{caption}</strong>" in report
    assert "under <strong>Workflow</strong> every step with its command" in report


def test_the_model_translates_plain_text(made):
    model = "results/runs/tiny/tiny-transformer/seed-1/model"
    process = subprocess.run(
        [sys.executable, "src/translate.py", "--model", model, "--threads", "1"],
        cwd=made,
        env=environment(made),
        input="the old man sleeps .\n\nthe dog does not see anna .\n",
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.count("\n") == 3
    assert process.stdout.split("\n")[1] == ""


def script(folder, name, *arguments):
    return subprocess.run(
        [sys.executable, f"src/{name}.py", *map(str, arguments)],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )


def test_an_untouched_reproduction_is_verified(made):
    process = script(made, "verify", "--folder", "results/tiny", "--lines", 2, "--threads", 1)
    assert (process.returncode, process.stderr) == (0, "")
    lines = process.stdout.splitlines()
    assert lines[-1].endswith("0 differs, 0 not here")
    assert not any(line.startswith("differs") for line in lines)
    run = "confirmed: runs/tiny/tiny-transformer/seed-1"
    assert f"{run}/model/model.safetensors: the average of 2 checkpoints" in lines
    assert f"{run}/test.scores.json: scores of the translations" in lines
    assert f"{run}/test.translations.txt: translations of 2 lines by the model" in lines
    ensemble = "confirmed: runs/tiny/tiny-ensemble/ensemble/test.translations.txt"
    assert f"{ensemble}: translations of 2 lines by the model" in lines


@contextmanager
def changed_byte(path, place):
    content = bytearray(path.read_bytes())
    content[int(place * (len(content) - 1))] ^= 1
    with restored(path):
        path.write_bytes(content)
        yield


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("corpora/tiny/raw/test.de", 0.5),
        ("corpora/tiny/text/spacing/train.en", 1),
        ("corpora/tiny/tiny-bpe/subwords/source.model", 0.5),
        ("corpora/tiny/tiny-bpe/tokens/train/source.npy", 0.9),
        ("runs/tiny/tiny-rnnsearch/seed-1/checkpoints/00000010.safetensors", 0.7),
        ("runs/tiny/tiny-seq2seq/seed-1/model/model.safetensors", 0.99),
        ("runs/tiny/tiny-transformer/seed-1/training.json", 0.1),
        ("runs/tiny/tiny-ensemble/ensemble/test.translations.txt", 0.3),
        ("tiny/tables/systems.csv", 0.8),
        ("tiny/figures/attention.pdf", 0.5),
        ("tiny/index.html", 0.5),
    ],
)
def test_a_changed_byte_is_named(made, name, place):
    results = made / "results"
    verification = Verification(results, read_manifest(results / "tiny" / "manifest.json"))
    with changed_byte(results / name, place):
        texts = [item.text for item in verification.checksums() if item.outcome == "differs"]
    assert texts == [f"{name} is not the file of the manifest"]


def test_the_manifest_names_the_inputs_of_each_rule(made):
    """But for figures, which name what they show, and raw text, whose sources are elsewhere."""
    entries = read_json(made / "results/record.json")
    inputs = {
        name: entry["metadata"][1]["input"] for name, entry in entries.items() if entry["metadata"]
    }
    files = read_manifest(made / "results/tiny/manifest.json")["files"]
    compared = [name for name in files if "/figures/" not in name and "/raw/" not in name]
    assert len(compared) > 50
    for name in compared:
        (output,) = [path for path in inputs if is_below(f"results/{name}", path)]
        expected = {path.removeprefix("results/") for path in inputs[output]}
        named = {path.removesuffix("/") for path in files[name]["from"]}
        assert not [path for path in expected if not any(is_below(path, top) for top in named)], (
            name
        )
        assert not [path for path in named if not related(path, expected)], name


def is_below(path, top):
    return path == top or path.startswith(f"{top}/")


def related(path, others):
    return any(is_below(path, other) or is_below(other, path) for other in others)


@pytest.mark.parametrize("place", [0, 0.1, 0.9, 1])
def test_a_changed_byte_of_the_manifest_is_named(made, place):
    manifest = made / "results/tiny/manifest.json"
    with changed_byte(manifest, place), pytest.raises(UserError, match=r"manifest\.json"):
        read_manifest(manifest)


def test_what_is_computed_again_differs_where_inputs_do(made):
    scores = made / "results/runs/tiny/tiny-rnnsearch/seed-1/test.scores.json"
    text = scores.read_text(encoding="utf-8")
    changed = re.sub(r'("chrf": {\s+"score": )', r"\g<1>1", text)
    table = made / "results/tiny/tables/dev.csv"
    lines = table.read_text(encoding="utf-8")
    with restored(scores, table):
        scores.write_text(changed, encoding="utf-8")
        table.write_text(lines.replace("0.", "0.1"), encoding="utf-8")
        process = script(made, "verify", "--folder", "results/tiny", "--lines", 0, "--threads", 1)
    assert process.returncode == 1
    run = "differs: runs/tiny/tiny-rnnsearch/seed-1/test.scores.json"
    assert f"{run}: scores of the translations: chrf" in process.stdout
    assert "differs: tiny/tables/systems.csv: " in process.stdout
    assert "differs: tiny/tables/dev.csv: " in process.stdout


def test_a_reproduction_is_packed_and_made_elsewhere_without_training(made, tmp_path):
    archives = [tmp_path / name for name in ("once.tar.gz", "again.tar.gz")]
    for archive in archives:
        process = script(made, "pack", "--folder", "results/tiny", "--output", archive)
        assert process.returncode == 0, process.stderr
    assert archives[0].read_bytes() == archives[1].read_bytes()

    other = copy_repository(tmp_path / "other")
    assert script(other, "unpack", "--archive", archives[0]).returncode == 0
    assert not list(other.glob("results/runs/**/*.safetensors"))
    process = script(other, "verify", "--folder", "results/tiny")
    assert process.returncode == 0
    assert "scores of the translations" in process.stdout
    assert planned_jobs(other, "results/tiny/index.html") == set()
    figures = [f"figures-{name}" for name in TABLES]
    forced = ("--forcerun", "compare", "browse", "explore", "typeset_corpora", *figures)
    jobs = {job.split()[0] for job in planned_jobs(other, "results/tiny/index.html", *forced)}
    typeset = {"typeset", "typeset_corpora"}
    assert jobs == {"compare", "browse", "explore", "publish", *typeset, *figures}
    index = other / "results/tiny/index.html"
    assert index.read_bytes() == (made / "results/tiny/index.html").read_bytes()


def test_a_training_is_taken_from_an_archive(made, tmp_path):
    archive = tmp_path / "tiny.tar.gz"
    options = ("--folder", "results/tiny", "--with", "checkpoints", "--output", archive)
    assert script(made, "pack", *options).returncode == 0
    other = copy_repository(tmp_path / "other")
    take = ("unpack", "--archive", archive, "--run", "tiny-rnnsearch/seed-1")
    assert "snakemake --until binarize" in script(other, *take).stderr
    assert not (other / "results/runs").exists()
    assert snakemake(other, "--until", "binarize").returncode == 0
    process = script(other, *take)
    assert process.returncode == 0, process.stderr
    jobs = {job.partition(", seed")[0] for job in planned_jobs(other)}
    assert "train corpus=tiny, experiment=tiny-transformer" in jobs
    assert "train corpus=tiny, experiment=tiny-rnnsearch" not in jobs
    assert "average corpus=tiny, experiment=tiny-rnnsearch" in jobs
    error = script(other, *take[:-1], "tiny-rnnserch/seed-1").stderr
    assert "did you mean 'tiny-rnnsearch/seed-1'?" in error
