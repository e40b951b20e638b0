"""count_parameters.py: rows have the sizes that papers print."""

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
OTHER_PAPERS = ["sutskever", "gnmt-en-fr", "moe-en-fr", "transformer-60m", "decoder-only-mt"]


@pytest.fixture(scope="module")
def counted(run_script):
    """counted(*arguments) is the table that count_parameters.py prints, by experiment."""

    @cache
    def table(*arguments) -> pd.DataFrame:
        process = run_script("count_parameters", *arguments)
        assert (process.returncode, process.stderr) == (0, "")
        # Outside the outermost bars is nothing.
        printed = io.StringIO(process.stdout)
        cells = pd.read_csv(printed, sep="|", skiprows=[1], skipinitialspace=True).iloc[:, 1:-1]
        cells.columns = cells.columns.str.strip()
        return cells.assign(experiment=cells.experiment.str.strip()).set_index("experiment")

    return table


def test_every_row_is_within_three_percent_of_what_is_published(counted):
    rows = counted(IMPLIED)
    published = rows[rows.published.notna()]
    assert {*ALL, *OTHER_PAPERS} < {*published.index}
    assert published["difference %"].abs().max() < 3


def test_table_3_differs_from_its_base_as_published(counted):
    counts = counted(IMPLIED)[["all", "published"]]
    differences = counts.loc[TABLE_3] - counts.loc["table3-base"]
    assert (differences["all"] - differences["published"]).abs().max() < 1


def test_the_rows_of_other_papers(counted):
    rows = counted()
    assert rows.loc["decoder-only-mt", "without embeddings"] == pytest.approx(76.28, abs=0.005)
    # The printed 158M leave out one of two tables of 30M: those of the RNN without attention.
    for row, published in {"rnn-158m": 158, "rnn-attention-158m": 159}.items():
        assert rows.loc[row, "all"] - 30 == pytest.approx(published, abs=0.2)
        assert rows.loc[row, "without embeddings"] == rows.loc[row, "all"] - 60
    assert rows.loc["sutskever", "all"] == pytest.approx(384, abs=0.5)


def test_a_misspelled_vocabulary_is_refused(run_failing):
    error = run_failing("count_parameters", "--vocabulary=joint-bpe-3700=41000")
    assert "joint-bpe-37000" in error
