"""The rows of tables."""

from dataclasses import replace

import pytest

from nmt.configuration import read_reproduction
from nmt.errors import UserError
from nmt.files import read_json
from nmt.paper.markup import latex, markdown
from tests.support.paper_tables import PAPER, change, part, table


def bleu_of_seeds(made):
    runs = made[0] / "runs/demo/demo-transformer"
    scores = [read_json(runs / f"seed-{seed}/test.scores.json") for seed in (1, 2)]
    return [score["bleu"]["score"] for score in scores]


def test_cited_systems_first_then_our_rows_in_order(made):
    rows = table(made()).data
    assert list(rows.title) == [
        "Their_system",
        "RNN without attention",
        "RNN with attention",
        "Transformer",
    ]
    assert list(rows.kind) == ["published only", "run", "run", "run"]


def test_a_row_is_the_mean_and_deviation_over_seeds_beside_the_published_number(made):
    made = made()
    row = table(made).data.set_index("experiment").loc["demo-transformer"]
    first, second = bleu_of_seeds(made)
    assert row.bleu == pytest.approx((first + second) / 2)
    assert row.bleu_sd == pytest.approx(abs(first - second) / 2**0.5)
    assert (row.bleu_published, row.bleu_source) == (30.0, PAPER)
    assert row.bleu_difference == pytest.approx(row.bleu - 30)
    assert row.parameters_millions_difference == pytest.approx(1.234567 - 65)
    assert (row.flops_6nd, row.flops_6nd_published) == (1.5e15, 3.3e18)
    assert row.minutes == pytest.approx(91.5 / 60)
    assert row.runs == 2
    assert row.seed == "1, 2"
    assert row.device == "made-up CPU"
    assert row.threads == "2"
    assert row.commit == "abcdef0123"


def test_one_seed_has_no_deviation(made):
    systems = table(made([5]))
    assert systems.data.bleu_sd.isna().all()
    assert "±" not in markdown(systems)
    assert "Seeds: 5; one run a row, so no spread is known." in markdown(systems)


def test_a_system_without_a_printed_cost_is_not_in_the_part_on_cost(made):
    folder, reproduction, catalog = made()
    scores = [entry for entry in catalog.published if entry.metric not in ("flops", "parameters")]
    catalog = replace(catalog, published=scores)
    text = markdown(table((folder, reproduction, catalog)))
    assert text.count("| Their_system") == 1
    assert text.count("| Transformer ") == 4  # scores, costs, speed and seeds


def test_scores_with_different_signatures_are_refused(made):
    made = made()
    bleu = {"score": 30.0, "signature": "nrefs:1|another"}
    change(made, "demo-rnnsearch", "test.scores.json", {"bleu": bleu})
    with pytest.raises(UserError, match=r"^bleu .*nrefs:1\|another"):
        table(made)


def test_perplexity_may_be_over_different_numbers_of_subwords(made):
    made = made((1,), split="dev", metrics=["perplexity"])
    change(made, "demo-rnnsearch", "dev.perplexity.json", {"tokens": 4321})
    text = markdown(table(made))
    assert "(5000 tokens, 4321 tokens)" in text
    # Its metric has no column.
    assert "Another split" not in text


def test_a_row_that_was_not_run_says_so_and_has_no_number(made):
    made = made()
    runs = made[0] / "runs" / "demo"
    (runs / "demo-transformer" / "seed-2" / "training.json").unlink()
    for seed in ("seed-1", "seed-2"):
        (runs / "demo-rnnsearch" / seed / "training.json").unlink()
        (runs / "demo-rnnencdec" / seed / "test.scores.json").unlink()
    systems = table(made)
    rows = systems.data.set_index("experiment")
    assert rows.state["demo-rnnsearch"] == "not run"
    assert rows.state["demo-transformer"] == "1 of 2 seeds scored"
    assert rows.loc["demo-rnnsearch", ["bleu", "ter", "minutes"]].isna().all()
    assert rows.minutes["demo-rnnencdec"] > 0
    text = markdown(systems)
    cells = {row[0]: row[1:] for row in part(text, 0)}
    assert cells["RNN with attention"][0] == "not run"
    assert cells["RNN without attention †"][0] == "not scored"
    assert "Transformer †" in cells
    assert "Transformer †: 1 of 2 seeds scored." in text
    assert "RNN with attention" not in [row[0] for row in part(text, 2)]
    assert "Trained at commit abcdef0123." in text
    assert r"$\dagger$" in latex(systems, "x")


def test_scores_of_different_numbers_of_sentences_show(made):
    made = made()
    change(made, "demo-rnnsearch", "test.scores.json", {"sentences": 99}, seed=2)
    assert "Split: test (250, 99 sentences)" in markdown(table(made))


def test_the_lowest_perplexity_of_a_vocabulary_is_bold(made):
    rows = ["multi30k-small-transformer", "multi30k-small-rnnsearch"]
    rows += ["multi30k-small-bytenet-characters"]
    perplexity = {"split": "dev", "metrics": ["perplexity"]}
    made = made((1,), "multi30k-en-de", experiments=rows, **perplexity)
    for row, value in zip(rows, (5.0, 6.0, 2.0), strict=True):
        change(made, row, "dev.perplexity.json", {"perplexity": value})
    text = markdown(table(made))
    assert [row[1] for row in part(text, 0)] == ["perplexity ↓", "**5.00**", "6.00", "2.00"]


def test_equal_columns_are_one_and_no_case_counts_without_capitals(made):
    rows = ["transformer-tiny", "transformer-tiny-raw"]
    metrics = ["lowercased_tokenized_bleu", "chrf", "bleu", "tokenized_bleu", "ter"]
    folder, reproduction, catalog = made((1,), "multi30k-en-de", experiments=rows, split="dev")

    def printed(**changes):
        tables = {"systems": reproduction.tables["systems"].changed(**changes)}
        return markdown(table((folder, reproduction.changed(tables=tables), catalog)))

    text = printed(experiments=rows[:1], metrics=metrics)
    lowercased = ["BLEU (lower-cased, tokenized)", "chrF", "TER ↓"]
    assert part(text, 0)[0] == ["system", *lowercased, "seeds"]
    assert text.count("write no capitals") == 2
    header, tiny, raw = part(printed(metrics=["chrf", "bleu", "tokenized_bleu"]), 0)
    assert header == ["system", "chrF", "BLEU (sacreBLEU)", "seeds"]
    assert (tiny[2], bool(raw[2])) == ("", True)


def test_every_seed_has_its_score_beside_the_mean(made):
    made = made()
    systems = table(made)
    seeds = part(markdown(systems), 3)
    bleu = "BLEU (sacreBLEU)"
    assert seeds[0] == ["system", bleu, "seed 1", "seed 2", "TER ↓", "seed 1", "seed 2"]
    row = systems.data.set_index("experiment").loc["demo-transformer"]
    expected = bleu_of_seeds(made)
    assert [row.bleu_seed_1, row.bleu_seed_2] == expected
    assert seeds[-1][2:4] == [f"{score:.2f}" for score in expected]


def test_a_number_is_published_beside_both_ways_to_tokenize_quotation_marks(made, root):
    metrics = ["compound_split_bleu", "quotes_mapped_compound_split_bleu"]
    wmt14, _ = read_reproduction(root / "config" / "wmt14-en-de.yaml", root / "config")
    table2 = wmt14.tables["table2"].model_dump() | {"experiments": ["transformer-base"]}
    systems = table(made((1,), "wmt14-en-de", **table2))
    row = systems.data.set_index("experiment").loc["transformer-base"]
    assert [row[f"{metric}_published"] for metric in metrics] == [27.3, 27.3]
    text = markdown(systems)
    assert "the papers do not say how quotation marks were tokenized" in text
