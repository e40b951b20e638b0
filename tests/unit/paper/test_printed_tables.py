"""Printed tables: CSV, Markdown, HTML and LaTeX."""

import io
import re
from html import unescape

import pandas as pd
import pytest

from nmt.paper.markup import csv, html, latex, markdown
from tests.support.paper_tables import ANOTHER_PAPER, PAPER, change, table

# The Transformer is the best, and the RNN with attention may be. TER was not compared.
KEYS = ("interval", "p_bootstrap", "p_randomization", "may_be_best")
SYSTEMS = {
    "demo-rnnencdec": (1.5, 0.001, 0.002, False),
    "demo-rnnsearch": (1.25, 0.04, 0.06, True),
    "demo-transformer": (1.0, None, None, True),
}
SIGNIFICANCE = {
    "bleu": {
        "signatures": ["bs:1000", "ar:10000"],
        "systems": {row: dict(zip(KEYS, SYSTEMS[row], strict=True)) for row in SYSTEMS},
    }
}


def test_csv_keeps_every_digit_and_says_where_numbers_come_from(made):
    systems = table(made())
    frame = pd.read_csv(io.StringIO(csv(systems)))
    assert list(frame.columns) == list(systems.data.columns)
    ours = frame[frame.kind == "run"]
    bleu = systems.data.bleu.dropna().to_numpy(dtype=float)
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
    for cells in systems.parts:
        cells["system"] = "both | of them"
    lines = [line for line in markdown(systems).splitlines() if line.startswith("| both")]
    assert lines
    assert all(line.startswith(r"| both \| of them") for line in lines)


def test_latex_would_compile(made):
    """Check what can be checked without LaTeX.

    Braces match, rows are as wide as their tabular, and special characters are escaped.
    """
    text = latex(table(made()), "made-up-systems")
    bare = re.sub(r"\\[&%$#_{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[%#_^~|<>]", re.sub(r"\$.+?\$", "", bare))
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
    rows = systems.data.set_index("experiment")
    assert rows.loc["demo-rnnsearch", "bleu_p_randomization"] == 0.06


def test_all_forms_have_the_same_bold_cells(made):
    systems = table(made(), significance=SIGNIFICANCE)
    page = "".join(html(systems))
    tex = latex(systems, "x")
    assert "\\textbf{" in tex
    assert page.count("<strong>") == tex.count("\\textbf{")
    assert "**" not in tex
    assert "**" not in page


def test_html_has_the_cells_of_markdown_and_escapes_them(made):
    systems = table(made())
    page = "".join(html(systems))
    rows = re.findall("<tr[^>]*>(.*?)</tr>", page, re.DOTALL)
    cells = [
        [unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows
    ]
    text = markdown(systems)
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert cells == [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_training_that_has_diverged_is_marked_in_its_cells(made):
    made_runs, mark = made((1, 2)), "diverged"
    plain = table(made_runs)
    assert "diverged" not in markdown(plain).lower()
    change(made_runs, "demo-transformer", "training.json", {"diverged": True})
    ter = {"score": 8.5e37, "signature": "nrefs:1|made-up:ter"}
    change(made_runs, "demo-transformer", "test.scores.json", {"ter": ter})
    marked = table(made_runs)
    lines = markdown(marked).splitlines()
    rows = [line for line in lines if f"({mark})" in line]
    row = rows[0]  # a second part of the table has each seed's score
    assert row.startswith("| Transformer ")
    assert row.count(mark) == 2
    assert "e37" in row
    assert any(line.startswith("- Diverged: ") for line in lines)
    assert f"({mark})" in "".join(html(marked))
    assert f"({mark})" in latex(marked, "label")
    assert list(marked.data.diverged.fillna(0)) == [0, 0, 0, 1]
