"""Numbers of docs/results.md are those of docs/results/data."""

import re

import pytest

from nmt.files import read_json
from tests.support.files import ROOT

RUNS = ROOT / "docs" / "results" / "data" / "runs" / "multi30k-en-de"
SYSTEMS = {
    "Transformer": "transformer",
    "LSTM, source reversed": "seq2seq",
    "RNNencdec": "rnnencdec",
}


def learning_rates() -> list[tuple[str, str, str]]:
    """Return system, rate and cell of every perplexity in the table of learning rates."""
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    table = re.search(r"^\| peak learning rate .*\n(\|.*\n)+", text, re.MULTILINE)
    header, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()
    ]
    return [
        (SYSTEMS[name], row[0], cell)
        for row in rows
        for name, cell in zip(header, row, strict=True)
        if name in SYSTEMS and re.search(r"\d", cell)
    ]


def test_there_are_learning_rates_of_every_system():
    assert {system for system, _, _ in learning_rates()} == set(SYSTEMS.values())


@pytest.mark.parametrize(("system", "rate", "cell"), learning_rates())
def test_perplexities_by_learning_rate_are_those_of_the_runs(system, rate, cell):
    name = f"multi30k-small-{system}+peak_learning_rate-{rate}+updates-1500"
    perplexity = read_json(RUNS / name / "seed-1" / "dev.perplexity.json")["perplexity"]
    assert cell.strip("*") == f"{perplexity:.2f}"
