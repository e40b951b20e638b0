"""Tables: the content of their rows, and how they are printed."""

import io
import re
from html import unescape

import pandas as pd
import pytest

from nmt.configuration import Catalog, Published, Table
from nmt.errors import UserError
from nmt.files import read_json, write_json, write_lines
from nmt.paper import markup
from nmt.paper.cells import result_sheet
from nmt.paper.markup import escape_latex
from nmt.paper.tables import ResultTable, make_table
from tests.support import paper_runs

PAPER = "Somebody et al. 2017, Table 2"
ANOTHER_PAPER = "Others & Co. 2018, 100% of it"
PUBLISHED = [
    {
        "split": "test",
        "metric": "bleu",
        "value": 30.0,
        "experiment": "demo-transformer",
        "source": PAPER,
    },
    {
        "split": "test",
        "metric": "bleu",
        "value": 29.5,
        "system": "Their_system",
        "source": ANOTHER_PAPER,
    },
    {
        "split": "test",
        "metric": "chrf",
        "value": 1.0,
        "system": "Not a column",
        "source": ANOTHER_PAPER,
    },
    {
        "split": "dev",
        "metric": "bleu",
        "value": 2.0,
        "system": "Another split",
        "source": ANOTHER_PAPER,
    },
    {"metric": "flops", "value": 3.3e18, "experiment": "demo-transformer", "source": PAPER},
    {"metric": "flops", "value": 2.3e19, "system": "Their_system", "source": ANOTHER_PAPER},
    {"metric": "parameters", "value": 65, "experiment": "demo-transformer", "source": PAPER},
]


def publishing(catalog: Catalog) -> Catalog:
    """Return the catalog with PUBLISHED as its published numbers."""
    published = [Published(corpus="demo", **entry) for entry in PUBLISHED]
    return catalog.model_copy(update={"published": published})


@pytest.fixture
def made(tmp_path, root):
    """Return made(seeds), the folder, reproduction and catalog of made-up runs.

    The catalog has published numbers for them.
    """

    def make(seeds=(1, 2)):
        reproduction = paper_runs.reproduction(seeds)
        catalog = paper_runs.make_runs(tmp_path, root, reproduction)
        return tmp_path, reproduction, publishing(catalog)

    return make


def table(made, name="systems", significance=None) -> ResultTable:
    folder, reproduction, catalog = made
    return make_table(name, reproduction, catalog, folder / "runs", significance or {})


def csv(table: ResultTable) -> str:
    return markup.csv(result_sheet(table))


def html(table: ResultTable) -> str:
    return markup.html(result_sheet(table))


def markdown(table: ResultTable) -> str:
    return markup.markdown(result_sheet(table))


def latex(table: ResultTable, label: str) -> str:
    return markup.latex(result_sheet(table), label)


# The Transformer is the best, and the RNN with attention may be. TER was not compared.
SIGNIFICANCE = {
    "bleu": {
        "signatures": ["bs:1000", "ar:10000"],
        "systems": {
            "demo-rnnencdec": {
                "interval": 1.5,
                "p_bootstrap": 0.001,
                "p_randomization": 0.002,
                "may_be_best": False,
            },
            "demo-rnnsearch": {
                "interval": 1.25,
                "p_bootstrap": 0.04,
                "p_randomization": 0.06,
                "may_be_best": True,
            },
            "demo-transformer": {
                "interval": 1.0,
                "p_bootstrap": None,
                "p_randomization": None,
                "may_be_best": True,
            },
        },
    }
}


def test_cited_systems_first_then_our_rows_in_order(made):
    rows = table(made()).rows
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
        table((folder, reproduction, catalog)).rows.set_index("experiment").loc["demo-transformer"]
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
    assert row.minutes_per_seed == pytest.approx(91.5 / 60)
    assert row.runs == 2
    assert row.seeds == "1, 2"
    assert row.device == "made-up CPU"
    assert row.threads == "2"
    assert row.commit == "abcdef0123"


def test_one_seed_has_no_deviation(made):
    systems = table(made([5]))
    assert systems.rows.bleu_sd.isna().all()
    assert "±" not in markdown(systems)
    assert "Seeds: 5; one run a row, so no spread is known." in markdown(systems)


def test_what_no_paper_prints_has_no_difference(made):
    rows = table(made()).rows.set_index("title")
    ours = ["bleu", "bleu_difference", "minutes_per_seed"]
    published = ["bleu_published", "bleu_difference", "ter_published"]
    assert rows.loc["RNN with attention", published].isna().all()
    assert rows.loc["Their_system", ours].isna().all()


def test_a_system_without_a_printed_cost_is_not_in_the_part_on_cost(made):
    folder, reproduction, catalog = made()
    scores = [entry for entry in catalog.published if entry.metric not in ("flops", "parameters")]
    catalog = catalog.model_copy(update={"published": scores})
    text = markdown(table((folder, reproduction, catalog)))
    assert text.count("| Their_system") == 1
    assert text.count("| Transformer ") == 4  # scores, costs, speed and seeds


def test_csv_keeps_every_digit_and_says_where_numbers_come_from(made):
    systems = table(made())
    frame = pd.read_csv(io.StringIO(csv(systems)))
    assert list(frame.columns) == list(systems.rows.columns)
    ours = frame[frame.kind == "run"]
    bleu = systems.rows.bleu.dropna().to_numpy(dtype=float)
    title = "Generated English-German sentences of a small grammar (not a benchmark)"
    assert ours.bleu.to_numpy() == pytest.approx(bleu, rel=1e-12)
    assert set(frame.corpus_title) == {title}
    assert set(frame.bleu_signature) == {"nrefs:1|made-up:bleu"}
    assert set(ours.commit) == {"abcdef0123"}


def test_markdown_is_aligned_and_says_what_it_shows(made):
    text = markdown(table(made()))
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(line) for line in block.splitlines()}) == 1
        assert len({line.count("|") for line in block.splitlines()}) == 1
    transformer = next(line for line in text.splitlines() if line.startswith("| Transformer "))
    assert re.search(r"\d\d\.\d\d ± \d+\.\d\d \| +30\.0 \[2\] \| +[+−]\d+\.\d\d \|", transformer)
    for expected in (
        "Their_system (published only)",
        "29.5 [1]",
        "training FLOPs (6 N D + attention)",
        "3.3e18 [2]",
        "not a benchmark). Split: test (250 sentences).",
        "Seeds: 1, 2; mean ± sample standard deviation",
        "Trained at commit abcdef0123.",
        "(nrefs:1|made-up:ter)",
        f"[1] {ANOTHER_PAPER}.",
        f"[2] {PAPER}.",
    ):
        assert expected in text
    assert "Not a column" not in text
    assert "Another split" not in text


def test_a_title_stays_in_its_cell(made):
    systems = table(made())
    systems.rows["title"] = "both | of them"
    lines = [line for line in markdown(systems).splitlines() if line.startswith("| both")]
    assert lines
    assert all(line.startswith(r"| both \| of them") for line in lines)


def test_latex_would_compile(made):
    """Check what can be checked without LaTeX.

    Environments and braces match, rows are as wide as their tabular, and special characters are
    escaped.
    """
    text = latex(table(made()), "made-up-systems")
    open_environments = []
    for command, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if command == "begin":
            open_environments.append(name)
        else:
            assert open_environments.pop() == name
    assert not open_environments

    bare = re.sub(r"\\[&%$#_{}]", "", text)
    depth = 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[%#_^~|<>]", bare)
    assert bare.isascii()

    tabulars = re.findall(
        r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", text, flags=re.DOTALL
    )
    assert len(tabulars) == 4
    for cited, (columns, body) in zip((1, 1, 0, 0), tabulars, strict=True):
        rows = [line for line in body.splitlines() if line.endswith(r" \\")]
        assert len(rows) == 1 + cited + 3
        for row in rows:
            assert len(re.findall(r"(?<!\\)&", row)) == len(columns) - 1
        # Under the header, and between rows that are published only and ours.
        assert body.count(r"\midrule") == 1 + cited
        assert body.count(r"\toprule") == 1
        assert body.count(r"\bottomrule") == 1
    assert r"\caption{Systems \& scores, 100\% made up}" in text
    assert r"Their\_system (published only)" in text


def test_escaping():
    assert escape_latex("a_b & 5% {x} #1 $2 \\ ~ ^ | < > [1] ± −") == (
        r"a\_b \& 5\% \{x\} \#1 \$2 \textbackslash{} \textasciitilde{} \textasciicircum{}"
        r" \textbar{} "
        r"\textless{} \textgreater{} {[}1] $\pm$ $-$"
    )


def test_scores_with_different_signatures_are_refused(made):
    folder, reproduction, catalog = made()
    path = folder / "runs" / "demo" / "demo-rnnsearch" / "seed-2" / "test.scores.json"
    scores = read_json(path)
    scores["bleu"]["signature"] = "nrefs:1|another"
    write_json(path, scores)
    message = r"bleu was measured in different ways \(nrefs:1\|made-up:bleu, nrefs:1\|another"
    with pytest.raises(UserError, match=message):
        table((folder, reproduction, catalog))


def test_perplexity_may_be_over_different_numbers_of_subwords(tmp_path, root):
    rows = ["demo-rnnsearch", "demo-transformer"]
    dev = Table(title="Dev", experiments=rows, split="dev", metrics=["perplexity"])
    reproduction = paper_runs.reproduction((1,), dev=dev)
    catalog = publishing(paper_runs.make_runs(tmp_path, root, reproduction))
    path = tmp_path / "runs" / "demo" / "demo-rnnsearch" / "seed-1" / "dev.perplexity.json"
    write_json(path, read_json(path) | {"tokens": 4321})
    text = markdown(table((tmp_path, reproduction, catalog), "dev"))
    assert "(4321 subwords, 5000 subwords)" in text
    # Its metric has no column.
    assert "Another split" not in text


def test_an_unknown_table_is_an_error(made):
    with pytest.raises(UserError, match="unknown table 'sistems': did you mean 'systems'"):
        table(made(), "sistems")


def test_rows_that_may_be_the_best_are_bold(made):
    systems = table(made(), significance=SIGNIFICANCE)
    text = markdown(systems)
    _, scores, *_ = text.split("\n\n")
    lines = [line for line in scores.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    row_by_title = {row[0]: row for row in cells}
    assert row_by_title["system"][1:3] == ["BLEU (sacreBLEU)", "interval (95%)"]
    bleu = {title: row[1] for title, row in row_by_title.items()}
    assert not bleu["RNN without attention"].startswith("**")
    assert bleu["RNN with attention"].startswith("**")
    assert bleu["Transformer"].endswith("**")
    assert row_by_title["RNN without attention"][2] == "± 1.50"
    assert row_by_title["RNN with attention"][2] == "± 1.25"
    assert row_by_title["Transformer"][2] == "± 1.00"
    assert "approximate randomization over the sentences both say p < 0.05" in text
    assert "Interval (95%)" in text
    assert "(bs:1000; ar:10000)" in text
    rows = systems.rows.set_index("experiment")
    assert rows.loc["demo-rnnsearch", "bleu_p_randomization"] == 0.06


def test_all_forms_have_the_same_bold_cells(made):
    systems = table(made(), significance=SIGNIFICANCE)
    page = html(systems)
    tex = latex(systems, "x")
    assert "\\textbf{" in tex
    assert page.count("<strong>") == tex.count("\\textbf{")
    assert "**" not in tex
    assert "**" not in page


def test_html_has_the_cells_of_markdown_and_escapes_them(made):
    systems = table(made())
    page = html(systems)
    assert "<h1>Systems &amp; scores, 100% made up</h1>" in page
    rows = re.findall("<tr>(.*?)</tr>", page)
    cells = [
        [unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows
    ]
    text = markdown(systems)
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert cells == [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert page.count("<li>") == len(re.findall("^- ", text, re.MULTILINE))


def part(text: str, number: int) -> list[list[str]]:
    """Return the cells of a part of a table in Markdown, header first."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    lines = blocks[number].splitlines()
    del lines[1]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


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
    rows = systems.rows.set_index("experiment")
    assert rows.state["demo-rnnsearch"] == "not run"
    assert rows.state["demo-transformer"] == "1 of 2 seeds run"
    assert rows.loc["demo-rnnsearch", ["bleu", "ter", "minutes_per_seed"]].isna().all()
    text = markdown(systems)
    cells = {row[0]: row[1:] for row in part(text, 0)}
    assert cells["RNN with attention"][0] == "not run"
    assert cells["RNN without attention"][0] == "not scored"
    assert "Transformer †" in cells
    assert "Transformer †: 1 of 2 seeds run." in text
    assert "RNN with attention: not run; `snakemake plan` says how many hours" in text
    assert "RNN with attention" not in [row[0] for row in part(text, 2)]
    assert "Trained at commit abcdef0123." in text
    assert r"$\dagger$" in latex(systems, "x")


def test_a_row_that_was_not_run_says_what_would_fill_it(made):
    folder, reproduction, catalog = made()
    for path in (folder / "runs" / "demo" / "demo-rnnsearch").glob("*/training.json"):
        path.unlink()
    plan = folder / reproduction.name / "plan.csv"
    write_lines(plan, ["experiment,hours,device", "demo-rnnsearch,1.26,2 cores of this machine"])
    systems = table((folder, reproduction, catalog))
    text = markdown(systems)
    cells = {row[0]: row[1:] for row in part(text, 0)}
    assert cells["RNN with attention"][0] == "not run (2.5 h)"  # two seeds
    sentence = "RNN with attention: not run; it would take 2.5 hours of 2 cores of this machine."
    assert sentence in text
    assert systems.rows.planned_hours.count() == 1


def test_a_stale_row_is_marked(made):
    folder, reproduction, catalog = made()
    path = folder / "runs" / "demo" / "demo-transformer" / "seed-1" / "training.json"
    training = read_json(path)
    training["settings"]["model"]["layers"] = 99
    write_json(path, training)
    text = markdown(table((folder, reproduction, catalog)))
    reason = "stale: trained with layers 99, but the configuration says 2."
    assert f"Transformer †: {reason}" in text
    assert part(text, 0)[-1][0] == "Transformer †"


def test_every_seed_has_its_score_beside_the_mean(made):
    folder, reproduction, catalog = made()
    systems = table((folder, reproduction, catalog))
    seeds = part(markdown(systems), 3)
    bleu = "BLEU (sacreBLEU)"
    assert seeds[0] == ["system", bleu, "seed 1", "seed 2", "TER", "seed 1", "seed 2"]
    row = systems.rows.set_index("experiment").loc["demo-transformer"]
    scores = [
        read_json(
            folder / "runs" / "demo" / "demo-transformer" / f"seed-{seed}" / "test.scores.json"
        )
        for seed in (1, 2)
    ]
    expected = [score["bleu"]["score"] for score in scores]
    assert [row.bleu_seed_1, row.bleu_seed_2] == expected
    assert seeds[-1][2:4] == [f"{score:.2f}" for score in expected]


def variations(tmp_path, root, corpus="wmt14-en-de"):
    rows = ["table3-base", "heads-1", "width-256", "dropout-2", "smoothing-0", "learned-positions"]
    table3 = Table(
        title="Table 3",
        experiments=rows,
        split="dev",
        metrics=["perplexity", "tokenized_bleu"],
        base="table3-base",
    )
    reproduction = paper_runs.reproduction((1,), corpus, table3=table3)
    catalog = paper_runs.make_runs(tmp_path, root, reproduction)
    return table((tmp_path, reproduction, catalog), "table3")


def test_variations_have_blanks_where_a_setting_is_the_base(tmp_path, root):
    header, *rows = part(markdown(variations(tmp_path, root)), 0)
    settings = ["N", "d_model", "d_ff", "h", "d_k", "d_v", "P_drop", "eps_ls", "updates"]
    assert header[1:10] == settings
    assert header[10:] == ["perplexity", "BLEU (tokenized)", "parameters (millions)"]
    assert [row[1:10] for row in rows] == [
        ["6", "512", "2048", "8", "64", "64", "0.1", "0.1", "100,000"],
        ["", "", "", "1", "512", "512", "", "", ""],
        ["", "256", "", "", "32", "32", "", "", ""],
        ["", "", "", "", "", "", "0.2", "", ""],
        ["", "", "", "", "", "", "", "0.0", ""],
        ["", "", "", "", "", "", "", "", ""],
    ]


def test_variations_differ_from_the_base_by_so_much_here_and_in_the_paper(tmp_path, root):
    variation = variations(tmp_path, root)
    rows = variation.rows.set_index("experiment")
    expected = rows.perplexity["heads-1"] - rows.perplexity["table3-base"]
    assert rows.perplexity_to_base["heads-1"] == pytest.approx(expected)
    assert rows.perplexity_published_to_base["heads-1"] == pytest.approx(5.29 - 4.92)
    assert rows.tokenized_bleu_published_to_base["width-256"] == pytest.approx(24.5 - 25.8)
    assert rows.parameters_millions_published_to_base["width-256"] == 28 - 65
    header, base, heads, *_ = part(markdown(variation), 1)
    assert header[1:5] == ["perplexity", "Δ base", "published", "Δ base, published"]
    assert base[2] == base[4] == ""
    assert heads[3:5] == ["5.29 [1]", "+0.37"]


def test_rows_in_small_stand_beside_the_differences_of_their_counterparts(tmp_path, root):
    rows = ["multi30k-small-transformer", "multi30k-heads-2", "multi30k-dropout-1"]
    table3 = Table(
        title="Table 3 in small",
        experiments=rows,
        split="dev",
        metrics=["perplexity", "lowercased_tokenized_bleu", "bleu"],
        base=rows[0],
        counterparts={rows[0]: "table3-base", rows[1]: "heads-4"},
    )
    reproduction = paper_runs.reproduction((1, 2), "multi30k-en-de", table3=table3)
    catalog = paper_runs.make_runs(tmp_path, root, reproduction)
    small = table((tmp_path, reproduction, catalog), "table3")
    base, heads, dropout = (small.rows.set_index("experiment").loc[row] for row in rows)
    assert (base.perplexity_published, heads.perplexity_published) == (4.92, 5.00)
    assert heads.perplexity_published_to_base == pytest.approx(0.08)
    assert heads.lowercased_tokenized_bleu_published_to_base == pytest.approx(25.5 - 25.8)
    assert pd.isna(heads.bleu_published)  # the paper's BLEU stands in the first column of BLEU
    assert pd.isna(dropout.perplexity_published)
    # Another corpus, another size: the numbers themselves are not compared.
    assert pd.isna(heads.perplexity_difference)
    spread = 2 * base.perplexity_sd
    for row in (heads, dropout):
        assert row.perplexity_may_be_chance == (abs(row.perplexity_to_base) <= spread)
    assert not base.perplexity_may_be_chance
    text = markdown(small)
    assert "repeats in small, on another corpus" in text
    delta = f"{heads.perplexity_to_base:+.2f}".replace("-", "−")
    expected = f"({delta})" if heads.perplexity_may_be_chance else delta
    assert part(text, 1)[2][2] == expected


def test_counterparts_need_one_for_the_base():
    with pytest.raises(ValueError, match="the base needs one"):
        Table(
            title="Table 3 in small",
            experiments=["base", "other"],
            split="dev",
            metrics=["perplexity"],
            base="base",
            counterparts={"other": "heads-4"},
        )


def test_the_base_may_have_nothing_published(made):
    folder, reproduction, catalog = made(seeds=(1,))
    own = reproduction.tables["systems"]
    base = own.model_copy(update={"base": own.experiments[0]})
    variation = table(
        (folder, reproduction.model_copy(update={"tables": {"systems": base}}), catalog)
    )
    rows = variation.rows.set_index("experiment")
    assert rows.bleu_published_to_base.isna().all()
    assert rows.bleu_to_base["demo-transformer"] == pytest.approx(
        rows.bleu["demo-transformer"] - rows.bleu["demo-rnnencdec"]
    )


def test_a_number_is_published_beside_both_ways_to_tokenize_quotation_marks(tmp_path, root):
    metrics = ["compound_split_bleu", "quotes_mapped_compound_split_bleu"]
    table2 = Table(
        title="Table 2", experiments=["transformer-base"], split="newstest2014", metrics=metrics
    )
    reproduction = paper_runs.reproduction((1,), "wmt14-en-de", table2=table2)
    catalog = paper_runs.make_runs(tmp_path, root, reproduction)
    systems = table((tmp_path, reproduction, catalog), "table2")
    row = systems.rows.set_index("experiment").loc["transformer-base"]
    assert [row[f"{metric}_published"] for metric in metrics] == [27.3, 27.3]
    text = markdown(systems)
    assert "the papers do not say how quotation marks were tokenized" in text


@pytest.mark.parametrize(("seeds", "mark"), [((1,), "diverged"), ((1, 2), "1 of 2 diverged")])
def test_a_training_that_has_diverged_is_marked_in_its_cells(made, seeds, mark):
    made_runs = made(seeds)
    plain = table(made_runs)
    assert "diverged" not in markdown(plain).lower()
    run = made_runs[0] / "runs/demo/demo-transformer/seed-1"
    write_json(run / "training.json", read_json(run / "training.json") | {"diverged": True})
    scores = read_json(run / "test.scores.json")
    scores["ter"]["score"] = 8.5e37
    write_json(run / "test.scores.json", scores)

    marked = table(made_runs)
    lines = markdown(marked).splitlines()
    rows = [line for line in lines if f"({mark})" in line]
    row = rows[0]  # a second part of the table has each seed's score
    assert row.startswith("| Transformer ")
    assert row.count(mark) == 2
    assert "e37" in row
    assert any(line.startswith("- Diverged: ") for line in lines)
    assert f"({mark})" in html(marked)
    assert f"({mark})" in latex(marked, "label")
    assert list(marked.rows.diverged.fillna(0)) == [0, 0, 0, 1]
