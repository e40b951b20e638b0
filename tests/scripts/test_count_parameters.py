"""count_parameters.py: rows have the sizes that papers print; large ones need no memory."""

import io
from functools import cache

import pandas as pd
import pytest

# AIAYN does not say how many rows its tables have; those of Table 3 fit with about 41,000.
IMPLIED = "--vocabulary=joint-bpe-37000=41000"
TABLE_3 = ["keys-16", "keys-32", "layers-2", "layers-4", "layers-8", "width-256", "width-1024"]
TABLE_3 += ["feed-forward-1024", "feed-forward-4096"]
# Its big model (213M) has another vocabulary than its base model (65M): no single vocabulary gives
# both to 1M.
ALL = [*TABLE_3, "table3-base", "table3-big"]


@pytest.fixture(scope="module")
def plan_output(run_script):
    """Return plan_output(*arguments), what count_parameters.py prints."""

    # Cached because a call takes seconds.
    @cache
    def plan(*arguments) -> str:
        process = run_script("count_parameters", *arguments)
        assert process.returncode == 0
        assert process.stderr == ""
        return process.stdout

    return plan


@pytest.fixture(scope="module")
def plan_table(plan_output):
    """Return plan_table(*arguments), what it prints as a data frame, by experiment."""

    def plan(*arguments) -> pd.DataFrame:
        file = io.StringIO(plan_output(*arguments))
        table = pd.read_csv(file, sep="|", skiprows=[1], skipinitialspace=True)
        # Outside the outermost bars is nothing.
        cells = table.iloc[:, 1:-1]
        cells.columns = [column.strip() for column in cells.columns]
        return cells.assign(experiment=cells.experiment.str.strip()).set_index("experiment")

    return plan


def test_every_row_is_within_three_percent_of_what_is_published(plan_table):
    rows = plan_table(IMPLIED)
    published = rows[rows.published.notna()]
    assert len(published) == 18
    other_papers = ["sutskever", "gnmt-en-fr", "moe-en-fr", "rnn-attention-158m", "decoder-only-mt"]
    assert {*ALL, *other_papers} < {*published.index}
    assert published["difference %"].abs().max() < 3


def test_table_3_differs_from_its_base_as_published(plan_table):
    rows = plan_table(IMPLIED)
    counts = rows[["all", "published"]]
    differences = counts.loc[TABLE_3] - counts.loc["table3-base"]
    assert (differences["all"] - differences["published"]).abs().max() < 1


def test_the_rows_of_other_papers(plan_table):
    rows = plan_table()
    assert rows.loc["rnn-attention-158m", "all"] == pytest.approx(158, abs=0.5)
    assert rows.loc["decoder-only-mt", "without embeddings"] == pytest.approx(76.28, abs=0.05)
    assert rows.loc["sutskever", "all"] == pytest.approx(384, abs=0.5)


def test_the_documentation_prints_what_the_script_prints(plan_output, root):
    published = [line for line in plan_output(IMPLIED).splitlines() if line.split("|")[5].strip()]
    assert len(published) == 20  # with the header
    assert "\n".join(published) in (root / "docs" / "systems.md").read_text(encoding="utf-8")


def test_a_vocabulary_is_counted_with_another_size(plan_table):
    rows = plan_table()
    larger = plan_table("--vocabulary=joint-bpe-37000=38000")
    difference = larger["all"] - rows["all"]
    assert difference["transformer-base"] == pytest.approx(0.512, abs=0.011)
    assert difference["transformer-tiny"] == 0


def test_a_misspelled_vocabulary_is_refused(run_script):
    process = run_script("count_parameters", "--vocabulary=joint-bpe-3700=41000")
    assert process.returncode != 0
    assert "joint-bpe-37000" in process.stderr
