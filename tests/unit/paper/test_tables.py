"""Tables: the content of their rows, and how they are printed."""

import io
import re
from html import unescape

import pandas as pd
import pytest
from support import paper_runs

from nmt.configuration import Catalog, Published, Table
from nmt.errors import UserError
from nmt.files import read_json, write_json
from nmt.paper.markup import csv, escape_latex, html, latex, markdown
from nmt.paper.tables import ResultTable, make_table

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
    assert text.count("| Transformer ") == 2


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
    assert len(tabulars) == 2
    for columns, body in tabulars:
        rows = [line for line in body.splitlines() if line.endswith(r" \\")]
        assert len(rows) == 1 + 4
        for row in rows:
            assert len(re.findall(r"(?<!\\)&", row)) == len(columns) - 1
        # Under the header, and between rows that are published only and ours.
        assert body.count(r"\midrule") == 2
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
    (row,) = rows
    assert row.startswith("| Transformer ")
    assert row.count(mark) == 2
    assert "e37" in row
    assert any(line.startswith("- Diverged: ") for line in lines)
    assert f"({mark})" in html(marked)
    assert f"({mark})" in latex(marked, "label")
    assert list(marked.rows.diverged.fillna(0)) == [0, 0, 0, 1]
