"""The rows of tables."""

from dataclasses import replace

import pytest

from nmt.configuration import Table, read_reproduction
from nmt.errors import UserError
from nmt.files import read_json, write_json
from nmt.paper.markup import latex, markdown
from tests.support import paper_runs
from tests.support.paper_tables import PAPER, part, publishing, table


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
    folder, reproduction, catalog = made()
    row = (
        table((folder, reproduction, catalog)).data.set_index("experiment").loc["demo-transformer"]
    )
    row_folder = folder / "runs" / "demo" / "demo-transformer"
    first = read_json(row_folder / "seed-1" / "test.scores.json")["bleu"]["score"]
    second = read_json(row_folder / "seed-2" / "test.scores.json")["bleu"]["score"]
    assert row.bleu == pytest.approx((first + second) / 2)
    assert row.bleu_sd == pytest.approx(abs(first - second) / 2**0.5)
    assert (row.bleu_published, row.bleu_source) == (30.0, PAPER)
    assert row.bleu_difference == pytest.approx(row.bleu - 30)
    assert row.parameters_millions_difference == pytest.approx(1.234567 - 65)
    assert row.flops_6nd_published == 3.3e18
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
    folder, reproduction, catalog = made()
    path = folder / "runs" / "demo" / "demo-rnnsearch" / "seed-2" / "test.scores.json"
    scores = read_json(path)
    scores["bleu"]["signature"] = "nrefs:1|another"
    write_json(path, scores)
    with pytest.raises(UserError, match=r"^bleu .*nrefs:1\|another"):
        table((folder, reproduction, catalog))


def test_perplexity_may_be_over_different_numbers_of_subwords(tmp_path, root):
    rows = ["demo-rnnsearch", "demo-transformer"]
    dev = Table(title="Dev", experiments=rows, split="dev", metrics=["perplexity"])
    reproduction = paper_runs.reproduction((1,), dev=dev)
    catalog = publishing(paper_runs.make_runs(tmp_path, root, reproduction))
    path = tmp_path / "runs" / "demo" / "demo-rnnsearch" / "seed-1" / "dev.perplexity.json"
    write_json(path, read_json(path) | {"tokens": 4321})
    text = markdown(table((tmp_path, reproduction, catalog), "dev"))
    assert "(4321 tokens, 5000 tokens)" in text
    # Its metric has no column.
    assert "Another split" not in text


def test_a_row_that_was_not_run_says_so_and_has_no_number(made):
    folder, reproduction, catalog = made()
    for seed in (1, 2):
        path = folder / "runs" / "demo" / "demo-rnnsearch" / f"seed-{seed}" / "training.json"
        path.unlink()
    (folder / "runs" / "demo" / "demo-transformer" / "seed-2" / "training.json").unlink()
    scores = folder / "runs" / "demo" / "demo-rnnencdec"
    for seed in (1, 2):
        (scores / f"seed-{seed}" / "test.scores.json").unlink()
    systems = table((folder, reproduction, catalog))
    rows = systems.data.set_index("experiment")
    assert rows.state["demo-rnnsearch"] == "not run"
    assert rows.state["demo-transformer"] == "1 of 2 seeds scored"
    assert rows.loc["demo-rnnsearch", ["bleu", "ter", "minutes"]].isna().all()
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
    folder, reproduction, catalog = made()
    path = folder / "runs" / "demo" / "demo-rnnsearch" / "seed-2" / "test.scores.json"
    write_json(path, read_json(path) | {"sentences": 99})
    assert "Split: test (250, 99 sentences)" in markdown(table((folder, reproduction, catalog)))


def test_the_lowest_perplexity_of_a_vocabulary_is_bold(tmp_path, root):
    rows = ["multi30k-small-transformer", "multi30k-small-rnnsearch"]
    rows += ["multi30k-small-bytenet-characters"]
    dev = Table(title="Dev", experiments=rows, split="dev", metrics=["perplexity"])
    reproduction = paper_runs.reproduction((1,), "multi30k-en-de", dev=dev)
    catalog = paper_runs.make_runs(tmp_path, root, reproduction)
    for row, perplexity in zip(rows, (5.0, 6.0, 2.0), strict=True):
        path = tmp_path / "runs/multi30k-en-de" / row / "seed-1/dev.perplexity.json"
        write_json(path, read_json(path) | {"perplexity": perplexity})
    text = markdown(table((tmp_path, reproduction, catalog), "dev"))
    assert [row[1] for row in part(text, 0)] == ["perplexity ↓", "**5.00**", "6.00", "2.00"]


def test_equal_columns_are_one_and_no_case_counts_without_capitals(tmp_path, root):
    rows = ["transformer-tiny", "transformer-tiny-raw"]
    metrics = ["lowercased_tokenized_bleu", "chrf", "bleu", "tokenized_bleu", "ter"]

    def printed(experiments, metrics=metrics):
        dev = Table(title="Dev", experiments=experiments, split="dev", metrics=metrics)
        reproduction = paper_runs.reproduction((1,), "multi30k-en-de", dev=dev)
        folder = tmp_path / "-".join([*experiments, *metrics])
        catalog = paper_runs.make_runs(folder, root, reproduction)
        return markdown(table((folder, reproduction, catalog), "dev"))

    text = printed(rows[:1])
    lowercased = ["BLEU (lower-cased, tokenized)", "chrF", "TER ↓"]
    assert part(text, 0)[0] == ["system", *lowercased, "seeds"]
    assert text.count("write no capitals") == 2
    header, tiny, raw = part(printed(rows, ["chrf", "bleu", "tokenized_bleu"]), 0)
    assert header == ["system", "chrF", "BLEU (sacreBLEU)", "seeds"]
    assert (tiny[2], bool(raw[2])) == ("", True)


def test_every_seed_has_its_score_beside_the_mean(made):
    folder, reproduction, catalog = made()
    systems = table((folder, reproduction, catalog))
    seeds = part(markdown(systems), 3)
    bleu = "BLEU (sacreBLEU)"
    assert seeds[0] == ["system", bleu, "seed 1", "seed 2", "TER ↓", "seed 1", "seed 2"]
    row = systems.data.set_index("experiment").loc["demo-transformer"]
    scores = [
        read_json(
            folder / "runs" / "demo" / "demo-transformer" / f"seed-{seed}" / "test.scores.json"
        )
        for seed in (1, 2)
    ]
    expected = [score["bleu"]["score"] for score in scores]
    assert [row.bleu_seed_1, row.bleu_seed_2] == expected
    assert seeds[-1][2:4] == [f"{score:.2f}" for score in expected]


def test_a_number_is_published_beside_both_ways_to_tokenize_quotation_marks(tmp_path, root):
    metrics = ["compound_split_bleu", "quotes_mapped_compound_split_bleu"]
    wmt14, _ = read_reproduction(root / "config" / "wmt14-en-de.yaml", root / "config")
    table2 = wmt14.tables["table2"].model_copy(update={"experiments": ["transformer-base"]})
    reproduction = paper_runs.reproduction((1,), "wmt14-en-de", table2=table2)
    catalog = paper_runs.make_runs(tmp_path, root, reproduction)
    systems = table((tmp_path, reproduction, catalog), "table2")
    row = systems.data.set_index("experiment").loc["transformer-base"]
    assert [row[f"{metric}_published"] for metric in metrics] == [27.3, 27.3]
    text = markdown(systems)
    assert "the papers do not say how quotation marks were tokenized" in text
