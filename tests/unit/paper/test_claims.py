"""The ledger of claims: differences, their intervals and verdicts by hand, and docs/claims.md."""

import math

import pytest

from nmt.configuration import Claim, read_list
from nmt.errors import UserError
from nmt.paper.claims import claims_page, claims_table
from nmt.paper.results import RunFiles
from tests.support.files import ROOT

CONFIG = ROOT / "config"
FILES = RunFiles(ROOT / "docs" / "results" / "data")
CLAIM = {
    "claim": "One is better",
    "source": "a paper",
    "reproduction": "demo-families",
    "table": "families",
    "metric": "bleu",
}


def ledger_row(**values) -> dict:
    """Return the only row of a ledger of one claim, about runs of two seeds each."""
    return claims_table([Claim.model_validate(CLAIM | values)], CONFIG, FILES).iloc[0].to_dict()


def scores(row: str) -> list[float]:
    """Return the BLEU of a row's two seeds."""
    folder = f"demo/{row}/seed-"
    return [FILES.read(f"{folder}{seed}/test.scores.json")["bleu"]["score"] for seed in (1, 2)]


def test_the_interval_is_students_for_two_means():
    rows = ("demo-small-transformer", "demo-small-rnnsearch")
    found = ledger_row(rows=rows, predicted="higher")
    (a, b), (c, d) = map(scores, rows)
    difference = (a + b - c - d) / 2
    # Two seeds each: the pooled variance is the mean of both, and 2 degrees of freedom remain.
    pooled = ((a - b) ** 2 / 2 + (c - d) ** 2 / 2) / 2
    half = 4.303 * math.sqrt(pooled * (1 / 2 + 1 / 2))
    assert found["difference"] == pytest.approx(difference)
    assert (found["lowest"], found["highest"]) == pytest.approx(
        (difference - half, difference + half)
    )


@pytest.mark.parametrize(
    ("predicted", "within", "expected"),
    [
        ("higher", 0, "refuted"),  # by 7.2 BLEU, and at least 5
        ("lower", 0, "confirmed"),
        ("equal", 1, "refuted"),
        ("equal", 7, "not decided"),
        ("equal", 50, "confirmed"),
    ],
)
def test_a_verdict_needs_the_whole_interval(predicted, within, expected):
    rows = ("demo-small-transformer", "demo-small-rnnsearch")
    assert ledger_row(rows=rows, predicted=predicted, within=within)["verdict"] == expected


def test_what_was_not_run_is_untested(tmp_path):
    claim = Claim.model_validate(
        CLAIM | {"rows": ("demo-small-moe", "demo-small-gnmt"), "predicted": "higher"}
    )
    table = claims_table([claim], CONFIG, RunFiles(tmp_path))
    assert list(table.verdict) == ["untested"]


def test_a_claim_is_about_rows_of_its_table():
    with pytest.raises(UserError, match="demo-transformer"):
        ledger_row(rows=("demo-transformer", "demo-small-rnnsearch"), predicted="higher")


def test_the_ledger_is_that_of_the_runs():
    claims = list(read_list(CONFIG / "claims.yaml", Claim).values())
    assert len(claims) >= 25
    made = claims_page(claims_table(claims, CONFIG, FILES))
    ledger = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert ledger == made, "run sh docs/results/redraw.sh"
