"""Tables of variations on a base, as AIAYN Table 3."""

import re

import pandas as pd
import pytest

from nmt.files import write_json
from nmt.paper.markup import markdown
from tests.support.paper_tables import part, table


@pytest.fixture
def made_table(made):
    """Return made_table(rows), the made-up runs of a table whose first row is its base."""

    def make(rows, seeds=(1,), corpus="multi30k-en-de", metrics=("perplexity",), **changes):
        columns = {"split": "dev", "metrics": list(metrics)}
        return made(seeds, corpus, experiments=rows, base=rows[0], **columns, **changes)

    return make


@pytest.fixture
def variations(made_table):
    rows = ["table3-base", "heads-1", "width-256", "dropout-2", "smoothing-0", "learned-positions"]
    return table(made_table(rows, corpus="wmt14-en-de", metrics=("perplexity", "tokenized_bleu")))


def measured(made, row, perplexities):
    """Give the row's seeds these perplexities, and none to those that come after."""
    folder = made[0] / "runs" / made[1].corpus / row
    for path in folder.glob("*/dev.perplexity.json"):
        path.unlink()
    for seed, perplexity in enumerate(perplexities, start=1):
        values = {"perplexity": perplexity, "tokens": 5000}
        write_json(folder / f"seed-{seed}" / "dev.perplexity.json", values)


def test_variations_have_blanks_where_a_setting_is_the_base(variations):
    header, *rows = part(markdown(variations), 0)
    settings = ["N", "d_model", "d_ff", "h", "d_k", "d_v", "P_drop", "eps_ls", "updates"]
    assert header[1:10] == settings
    assert header[10:] == ["perplexity ↓", "BLEU (tokenized)", "parameters (millions)", "seeds"]
    assert [row[1:10] for row in rows] == [
        ["6", "512", "2048", "8", "64", "64", "0.1", "0.1", "100,000"],
        ["", "", "", "1", "512", "512", "", "", ""],
        ["", "256", "", "", "32", "32", "", "", ""],
        ["", "", "", "", "", "", "0.2", "", ""],
        ["", "", "", "", "", "", "", "0.0", ""],
        ["", "", "", "", "", "", "", "", ""],
    ]


def test_variations_differ_from_the_base_by_so_much_here_and_in_the_paper(variations):
    rows = variations.data.set_index("experiment")
    expected = rows.perplexity["heads-1"] - rows.perplexity["table3-base"]
    assert rows.perplexity_to_base["heads-1"] == pytest.approx(expected)
    assert rows.perplexity_published_to_base["heads-1"] == pytest.approx(5.29 - 4.92)
    assert rows.tokenized_bleu_published_to_base["width-256"] == pytest.approx(24.5 - 25.8)
    assert rows.parameters_millions_published_to_base["width-256"] == 28 - 65
    header, base, heads, *_ = part(markdown(variations), 1)
    assert header[1:5] == ["perplexity ↓", "Δ base", "published", "Δ base, published"]
    assert base[2] == base[4] == ""
    assert heads[3:5] == ["5.29 [1]", "+0.37"]


def test_rows_in_small_stand_beside_the_differences_of_their_counterparts(made_table):
    rows = ["multi30k-small-transformer", "multi30k-heads-2", "multi30k-dropout-1"]
    metrics = ["perplexity", "lowercased_tokenized_bleu", "bleu"]
    counterparts = {rows[0]: "table3-base", rows[1]: "heads-4"}
    small = table(made_table(rows, (1, 2), metrics=metrics, counterparts=counterparts))
    base, heads, dropout = (small.data.set_index("experiment").loc[row] for row in rows)
    assert (base.perplexity_published, heads.perplexity_published) == (4.92, 5.00)
    assert heads.perplexity_published_to_base == pytest.approx(0.08)
    assert heads.lowercased_tokenized_bleu_published_to_base == pytest.approx(25.5 - 25.8)
    assert pd.isna(heads.bleu_published)  # the paper's BLEU stands in the first column of BLEU
    assert pd.isna(dropout.perplexity_published)
    assert not base.perplexity_may_be_chance
    text = markdown(small)
    assert "repeats in small, on another corpus" in text
    delta = f"{heads.perplexity_to_base:+.2f}".replace("-", "−")
    expected = f"({delta})" if heads.perplexity_may_be_chance else delta
    assert part(text, 1)[2][2] == expected


@pytest.mark.parametrize(
    ("scored", "perplexity", "may_be_chance"),
    [(3, 10.59, True), (3, 10.61, False), (2, 11.14, True), (2, 11.16, False), (0, 10, False)],
)
def test_what_the_seeds_of_the_base_explain_may_be_chance(
    made_table, scored, perplexity, may_be_chance
):
    """Three seeds of standard deviation 0.1: t = 4.303, times 0.1 (1/3 + 1)^0.5 is 0.497.

    Two seeds, of the three that were trained, with 0.0707: t = 12.706, times 0.0707 (1/2 + 1)^0.5
    is 1.100.
    """
    base, row = rows = ["multi30k-small-transformer", "multi30k-dropout-1"]
    folder, reproduction, catalog = made_table(rows, (1, 2, 3))
    seeds = {"default": [1, 2, 3], row: [1]}
    made = (folder, reproduction.changed(seeds=seeds), catalog)
    measured(made, base, [10.0, 10.1, 10.2][:scored])
    measured(made, row, [perplexity] if scored else [])
    small = table(made)
    assert list(small.data.perplexity_may_be_chance) == [False, may_be_chance]
    text = markdown(small)
    assert bool(re.search(r"\(\+(0.49|1.09)\)", text)) == may_be_chance
    assert "sample standard deviation over them where a row has several." in text


@pytest.mark.parametrize(
    ("perplexities", "difference", "may_be_chance"),
    [((10.4,), 0.4, False), ((10.4, 10.3), 0.3, True), ((10.3, 10.401), 0.3005, False)],
)
def test_a_row_that_shares_the_bases_training_is_compared_seed_by_seed(
    made_table, perplexities, difference, may_be_chance
):
    """Two pairs that differ by 0.4 and 0.2: t = 12.706, times 0.1414 (1/2)^0.5 is 1.27."""
    base, beam = rows = ["multi30k-small-transformer", "multi30k-small-transformer+beam-8"]
    folder, reproduction, catalog = made_table(rows, (1, 2, 3))
    catalog = catalog.with_rows(rows)
    seeds = {"default": [1, 2, 3], beam: list(range(1, 1 + len(perplexities)))}
    made = (folder, reproduction.changed(seeds=seeds), catalog)
    measured(made, base, [10.0, 10.1, 12.0])
    measured(made, beam, perplexities)
    sheet = table(made)
    row = sheet.data.set_index("experiment").loc[beam]
    assert row.perplexity_to_base == pytest.approx(difference)
    assert row.perplexity_may_be_chance == may_be_chance
    text = markdown(sheet)
    assert f"{row.title} †: other seeds than {catalog.rows[base].title}" in text
    assert [cells[0] for cells in part(text, 4)[1:]] == [catalog.rows[base].title, f"{row.title} †"]
    assert "one training, whose costs stand in each row" in text
