"""Numbers of docs/results.md are those of docs/results/data."""

import re

import numpy as np
import pytest

from nmt.configuration import read_reproduction
from nmt.files import read_json
from nmt.paper.markup import markdown
from nmt.paper.results import RunFiles
from nmt.paper.sheets import make_sheet
from tests.support.files import ROOT

RESULTS = ROOT / "docs" / "results"
FILES = RunFiles(RESULTS / "data")
RUNS = "multi30k-en-de"
TATOEBA = "tatoeba-en-de/tatoeba-transformer/seed-1"
SYSTEMS = {
    "Transformer": "transformer",
    "LSTM, source reversed": "seq2seq",
    "RNNencdec": "rnnencdec",
    "RNNsearch": "rnnsearch",
    "LSTM + global attention + feeding": "luong",
    "the same, orthogonal initialization": "luong+init-orthogonal",
    "ByteNet": "bytenet",
    "ConvS2S": "convs2s",
    "ConvS2S, 6 layers": "convs2s-deep",
    "ConvS2S, kernel 5": "convs2s-kernel-5",
    "GNMT": "gnmt",
    "GNMT, current context": "gnmt+context-current",
    "MoE": "moe",
    "Decoder-only": "decoder-only",
}
# The families that have no row of their own among the learning rates.
MORE_FAMILIES = {
    "GNMT, current context": "gnmt-current",
    "ByteNet, characters": "bytenet-characters",
}
BLEU = "lowercased_tokenized_bleu"


def table(start: str, page: str = "results.md") -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table of a page whose header starts so."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = re.search(rf"^\| {re.escape(start)} .*\n(\|.*\n)+", text, re.MULTILINE)[0]
    header, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines.splitlines()
    ]
    return header, rows


def table_of_learning_rates() -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table of learning rates."""
    return table("system | 0.0005")


def learning_rates() -> list[tuple[str, str, str]]:
    """Return system, rate and cell of every perplexity in the table of learning rates."""
    header, rows = table_of_learning_rates()
    return [
        (SYSTEMS[row[0]], rate, cell)
        for row in rows
        for rate, cell in zip(header, row, strict=True)
        if rate[0].isdigit() and cell
    ]


def test_there_are_learning_rates_of_every_system():
    assert {system for system, _, _ in learning_rates()} == set(SYSTEMS.values())


@pytest.mark.parametrize(("system", "rate", "cell"), learning_rates())
def test_perplexities_by_learning_rate_are_those_of_the_runs(system, rate, cell):
    name = f"multi30k-small-{system}+peak_learning_rate-{rate}+updates-1500"
    assert cell.strip("*") == perplexity(f"{RUNS}/{name}/seed-1")


@pytest.mark.parametrize("row", table_of_learning_rates()[1], ids=lambda row: row[0])
def test_minutes_are_the_mean_of_the_runs(row):
    start = f"{RUNS}/multi30k-small-{SYSTEMS[row[0]]}+peak_learning_rate-"
    seconds = [
        FILES.read(path)["cpu_seconds"]
        for path in FILES.collected
        if path.startswith(start) and path.endswith("+updates-1500/seed-1/training.json")
    ]
    assert row[-1] == f"{np.mean(seconds) / 60:.1f}"


@pytest.mark.parametrize("row", table("system | seed")[1], ids=lambda row: f"{row[0]} {row[1]}")
def test_scores_of_the_families_are_those_of_the_runs(row):
    system, seed, *cells = row
    name = "multi30k-small-" + {**SYSTEMS, **MORE_FAMILIES}[system]
    run = f"{RUNS}/{name}/seed-{seed}"
    expected = [score(run, "test_2016_flickr", metric) for metric in (BLEU, "chrf", "ter")]
    for folder in (run, f"{RUNS}/{name}+checkpoint-best/seed-{seed}"):
        if FILES.has(f"{folder}/dev.scores.json"):
            expected += [perplexity(folder), score(folder, "dev", BLEU)]
        else:
            expected += ["", ""]
    minutes = FILES.read(f"{run}/training.json")["cpu_seconds"] / 60
    assert cells == [*expected, f"{minutes:.1f}"]


@pytest.mark.parametrize(
    ("name", "start", "columns"),
    [
        ("table3", "system | perplexity | Δ base", (0, 1, 2, 4, 5, 6, 8)),
        ("positions", "positions | perplexity | Δ base", (0, 1, 2, 3, 4)),
        ("embeddings-and-activations", "embeddings and activation | perplexity", (0, 1, 2, 3, 4)),
        ("subwords", "subwords | BLEU", (0, 1, 2)),
        ("decoder-only", "loss and attention | perplexity", (0, 1, 2, 3, 4)),
    ],
)
def test_rows_beside_a_base_are_as_printed(name, start, columns):
    """Of the rows that were trained: perplexity and BLEU, with their differences."""
    text = (RESULTS / "tables" / f"multi30k-en-de.{name}.md").read_text(encoding="utf-8")
    differences = next(part for part in text.split("\n\n") if "Δ base" in part)
    _, *printed = cells(differences)
    trained = [[row[column] for column in columns] for row in printed if row[1] != "not run"]
    assert table(start)[1] == trained


@pytest.mark.parametrize(("device", "corpus"), [("CPU", RUNS), ("H200", f"{RUNS}.h200")])
def test_whole_trainings_are_those_of_the_runs(device, corpus):
    runs = [f"{corpus}/multi30k-small-transformer/seed-{seed}" for seed in (1, 2, 3)]
    perplexities = [FILES.read(f"{run}/dev.perplexity.json")["perplexity"] for run in runs]
    bleu = [FILES.read(f"{run}/dev.scores.json")[BLEU]["score"] for run in runs]
    expected = [device]
    for numbers in (perplexities, bleu):
        expected.append(", ".join(f"{number:.2f}" for number in numbers))
        expected.append(f"{np.mean(numbers):.2f} ± {np.std(numbers, ddof=1):.2f}")
    assert expected in table("| perplexity, seeds 1, 2, 3", "verification.md")[1]


def test_norms_are_those_of_the_runs():
    """Perplexity and BLEU, the lowest dev perplexity in training, and CPU minutes."""
    reproduction, catalog = read_reproduction(
        ROOT / "config" / "multi30k-en-de.yaml", ROOT / "config"
    )
    expected = []
    for name in reproduction.tables["norms"].experiments:
        run = f"{RUNS}/{name}/seed-1"
        lines = [line for line in FILES.metrics(run) if "dev_perplexity" in line]
        lowest = min(lines, key=lambda line: line["dev_perplexity"])
        final = FILES.read(f"{run}/dev.perplexity.json")["perplexity"]
        expected.append(
            [
                catalog.experiment(name).title,
                f"{final:,.0f}" if final >= 100 else f"{final:.2f}",
                score(run, "dev", BLEU),
                f"{lowest['dev_perplexity']:.2f} ({lowest['update']:,})",
                f"{FILES.read(f'{run}/training.json')['cpu_seconds'] / 60:.1f}",
            ]
        )
    assert table("system | perplexity | BLEU | lowest")[1] == expected


@pytest.mark.parametrize(
    "row", table("system | BLEU (sacreBLEU) | chrF")[1], ids=lambda row: row[0]
)
def test_tatoebas_families_are_those_of_the_runs(row):
    system, *cells = row
    run = f"tatoeba-en-de/tatoeba-small-{SYSTEMS[system]}/seed-1"
    expected = [score(run, "test", metric) for metric in ("bleu", "chrf", "ter")]
    expected += [perplexity(run), score(run, "dev", "bleu")]
    minutes = FILES.read(f"{run}/training.json")["cpu_seconds"] / 60
    assert cells == [*expected, f"{minutes:.1f}"]


@pytest.mark.parametrize(
    ("start", "name"),
    [
        ("system | BLEU (sacreBLEU) | interval", "families"),
        ("system | perplexity | BLEU (sacreBLEU)", "dev"),
    ],
)
def test_columns_of_generated_text_are_as_printed(start, name):
    text = (RESULTS / "tables" / f"demo-families.{name}.md").read_text(encoding="utf-8")
    printed_header, *printed = cells(text.split("\n\n")[1])
    header, rows = table(start)
    columns = [printed_header.index(label) for label in header]
    assert rows == [[row[column] for column in columns] for row in printed]


@pytest.mark.parametrize("row", table("seed | BLEU")[1], ids=lambda row: row[0])
def test_what_gnmt_learns_is_that_of_the_runs(row):
    """BLEU, dev perplexity at the end, and from which update it was below 3."""
    expected = []
    for name in ("demo-small-gnmt", "demo-small-gnmt+context-current"):
        run = f"demo/{name}/seed-{row[0]}"
        lines = FILES.metrics(run)
        below = next(line["update"] for line in lines if line.get("dev_perplexity", 3) < 3)
        expected += [score(run, "test", "bleu"), perplexity(run), f"{below:,}"]
    assert row[1:] == expected


def test_scores_by_length_are_those_of_the_runs():
    header, rows = table("words (sentences)")
    for column, system in enumerate(header[1:], start=1):
        run = f"{RUNS}/multi30k-small-{SYSTEMS[system]}/seed-1"
        scores = FILES.read(f"{run}/test_2016_flickr.scores.json")
        parts = [*scores["bleu_by_source_length"][:4], scores["bleu_by_source_rank"][-1]]
        assert [row[column] for row in rows] == [f"{part['lowercased_bleu']:.1f}" for part in parts]
        sentences = [f"({part['sentences']})" for part in parts[:4]]
        assert [row[0].split()[-1] for row in rows[:4]] == sentences


@pytest.mark.parametrize("system", table("words (sentences of 1,000)")[0][1:])
def test_generated_text_by_length_is_the_mean_of_both_seeds(system):
    header, rows = table("words (sentences of 1,000)")
    runs = [f"demo/demo-small-{SYSTEMS[system]}/seed-{seed}" for seed in (1, 2)]
    scores = [FILES.read(f"{run}/test.scores.json") for run in runs]
    by_seed = [score["bleu_by_source_length"] for score in scores]
    for row, *parts in zip(rows, *by_seed, strict=False):
        first = parts[0]
        assert row[0] == f"{first['from'] or 1} to {first['to'] - 1} ({first['sentences']})"
        assert row[header.index(system)] == f"{np.mean([part['bleu'] for part in parts]):.1f}"


def score(run: str, split: str, metric: str) -> str:
    return f"{FILES.read(f'{run}/{split}.scores.json')[metric]['score']:.2f}"


def perplexity(run: str) -> str:
    return f"{FILES.read(f'{run}/dev.perplexity.json')['perplexity']:.2f}"


@pytest.mark.parametrize("path", sorted((RESULTS / "tables").glob("*.md")), ids=lambda p: p.stem)
def test_printed_tables_are_those_of_the_runs(path):
    reproduction_name, table_name = path.stem.split(".")
    config = ROOT / "config"
    reproduction, catalog = read_reproduction(config / f"{reproduction_name}.yaml", config)
    significance = RESULTS / "data" / "significance" / f"{path.stem}.json"
    compared = read_json(significance) if significance.exists() else {}
    made = markdown(make_sheet(table_name, reproduction, catalog, FILES, compared))
    assert path.read_text(encoding="utf-8") == made, "run sh docs/results/redraw.sh"


def cells(text: str) -> list[list[str]]:
    """Return the cells of all tables of a Markdown text, without spaces."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows]


@pytest.mark.parametrize(
    ("title", "split"), [("Tatoeba's own", "test"), ("newstest2014", "newstest2014")]
)
def test_scores_of_tatoeba_are_those_of_the_run(title, split):
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| {title} \|(.*)\|$", text, re.MULTILINE)[1]
    cells = [cell.strip() for cell in row.split("|")]
    scores = FILES.read(f"{TATOEBA}/{split}.scores.json")
    metrics = [f"{scores[metric]['score']:.2f}" for metric in ("bleu", "chrf", "ter")]
    by_length = [f"{part['bleu']:.1f}" for part in scores["bleu_by_source_length"][:3]]
    assert [cells[0].replace(",", ""), *cells[1:2], *cells[3:]] == [
        str(scores["sentences"]),
        *metrics,
        *by_length,
    ]
