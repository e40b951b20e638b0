"""Tables: what stands in which row, and how it is printed."""

import io
import re
from html import unescape

import pandas as pd
import paper_runs
import pytest

from nmt.configuration import METRICS, Catalog, Published, Table
from nmt.errors import UserError
from nmt.files import read_json, write_json
from nmt.paper.markup import csv, escaped, html, latex, markdown
from nmt.paper.tables import MEANINGS, printed

PAPER, OTHER = "Somebody et al. 2017, Table 2", "Others & Co. 2018, 100% of it"
PUBLISHED = [
    {
        "split": "test",
        "metric": "bleu",
        "value": 30.0,
        "experiment": "demo-transformer",
        "source": PAPER,
    },
    {"split": "test", "metric": "bleu", "value": 29.5, "system": "Their_system", "source": OTHER},
    {"split": "test", "metric": "chrf", "value": 1.0, "system": "Not a column", "source": OTHER},
    {"split": "dev", "metric": "bleu", "value": 2.0, "system": "Another split", "source": OTHER},
    {"metric": "flops", "value": 3.3e18, "experiment": "demo-transformer", "source": PAPER},
    {"metric": "flops", "value": 2.3e19, "system": "Their_system", "source": OTHER},
    {"metric": "parameters", "value": 65, "experiment": "demo-transformer", "source": PAPER},
]


def publishing(catalog: Catalog) -> Catalog:
    return catalog.model_copy(
        update={"published": [Published(corpus="demo", **entry) for entry in PUBLISHED]}
    )


@pytest.fixture
def made(tmp_path, root):
    """made(seeds) is (folder, reproduction, catalog) of made-up runs, with published numbers beside
    them.
    """

    def make(seeds=(1, 2)):
        reproduction = paper_runs.reproduction(seeds)
        return (
            tmp_path,
            reproduction,
            publishing(paper_runs.make_runs(tmp_path, root, reproduction)),
        )

    return make


def table(made, name="systems", significance=None):
    folder, reproduction, catalog = made
    return printed(name, reproduction, catalog, folder / "runs", significance or {})


# The Transformer is the best, the RNN with attention may be; what TER says is not known.
CHANCES = {
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
    given = made()
    row = table(given).rows.set_index("experiment").loc["demo-transformer"]
    one, two = (
        read_json(
            given[0] / "runs" / "demo" / "demo-transformer" / f"seed-{seed}" / "test.scores.json"
        )["bleu"]["score"]
        for seed in (1, 2)
    )
    assert row.bleu == pytest.approx((one + two) / 2)
    assert row.bleu_sd == pytest.approx(abs(one - two) / 2**0.5)
    assert (row.bleu_published, row.bleu_source) == (30.0, PAPER)
    assert row.bleu_difference == pytest.approx(row.bleu - 30)
    assert row.parameters_millions_difference == pytest.approx(1.234567 - 65)
    assert row.flops_6nd_published == 3.3e18
    assert row.minutes_per_seed == pytest.approx(91.5 / 60)
    assert (row.runs, row.seeds, row.device, row.threads, row.commit) == (
        2,
        "1, 2",
        "made-up CPU",
        "2",
        "abcdef0123",
    )


def test_one_seed_has_no_deviation(made):
    given = table(made([5]))
    assert given.rows.bleu_sd.isna().all()
    assert "±" not in markdown(given)
    assert "Seeds: 5; one run a row, so no spread is known." in markdown(given)


def test_what_no_paper_prints_has_no_difference(made):
    rows = table(made()).rows.set_index("title")
    assert (
        rows.loc["RNN with attention", ["bleu_published", "bleu_difference", "ter_published"]]
        .isna()
        .all()
    )
    assert rows.loc["Their_system", ["bleu", "bleu_difference", "minutes_per_seed"]].isna().all()


def test_a_system_without_a_printed_cost_is_not_in_the_part_on_cost(made):
    folder, reproduction, catalog = made()
    without = [entry for entry in catalog.published if entry.metric not in ("flops", "parameters")]
    text = markdown(
        table((folder, reproduction, catalog.model_copy(update={"published": without})))
    )
    assert text.count("| Their_system") == 1
    assert text.count("| Transformer ") == 2


def test_csv_keeps_every_digit_and_names_all_that_it_rests_on(made):
    given = table(made())
    frame = pd.read_csv(io.StringIO(csv(given)))
    assert list(frame.columns) == list(given.rows.columns)
    ours = frame[frame.kind == "run"]
    assert ours.bleu.to_numpy() == pytest.approx(
        given.rows.bleu.dropna().to_numpy(dtype=float), rel=1e-12
    )
    assert set(frame.corpus_title) == {
        "Generated English-German sentences of a small grammar (not a benchmark)"
    }
    assert set(frame.bleu_signature) == {"nrefs:1|made-up:bleu"}
    assert set(ours.commit) == {"abcdef0123"}


def test_markdown_is_aligned_and_says_what_it_shows(made):
    text = markdown(table(made()))
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(line) for line in block.splitlines()}) == 1
        assert len({line.count("|") for line in block.splitlines()}) == 1
    transformer = next(line for line in text.splitlines() if line.startswith("| Transformer "))
    assert re.search(r"\d\d\.\d\d ± \d+\.\d\d \| +30\.0 \[2\] \| +[+−]\d+\.\d\d \|", transformer)
    for needed in (
        "Their_system (published only)",
        "29.5 [1]",
        "training FLOPs (6 N D + attention)",
        "3.3e18 [2]",
        "not a benchmark). Split: test (250 sentences).",
        "Seeds: 1, 2; mean ± sample standard deviation",
        "Trained at commit abcdef0123.",
        "(nrefs:1|made-up:ter)",
        f"[1] {OTHER}.",
        f"[2] {PAPER}.",
    ):
        assert needed in text
    assert "Not a column" not in text
    assert "Another split" not in text


def test_a_title_stays_in_its_cell(made):
    given = table(made())
    given.rows["title"] = "both | of them"
    lines = [line for line in markdown(given).splitlines() if line.startswith("| both")]
    assert lines
    assert all(line.startswith(r"| both \| of them") for line in lines)


def test_latex_would_compile(made):
    """No LaTeX here: environments and braces match, rows are as wide as their tabular, nothing
    special is bare.
    """
    text = latex(table(made()), "made-up-systems")
    open_environments = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if what == "begin":
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
        assert (
            body.count(r"\midrule") == 2
        )  # under the header, and between what is published only and ours
        assert (body.count(r"\toprule"), body.count(r"\bottomrule")) == (1, 1)
    assert r"\caption{Systems \& scores, 100\% made up}" in text
    assert r"Their\_system (published only)" in text


def test_escaping():
    assert escaped("a_b & 5% {x} #1 $2 \\ ~ ^ | < > [1] ± −") == (
        r"a\_b \& 5\% \{x\} \#1 \$2 \textbackslash{} \textasciitilde{} \textasciicircum{}"
        r" \textbar{} "
        r"\textless{} \textgreater{} {[}1] $\pm$ $-$"
    )


def test_scores_got_in_different_ways_are_refused(made):
    given = made()
    path = given[0] / "runs" / "demo" / "demo-rnnsearch" / "seed-2" / "test.scores.json"
    scores = read_json(path)
    scores["bleu"]["signature"] = "nrefs:1|another"
    write_json(path, scores)
    with pytest.raises(
        UserError,
        match=r"bleu was measured in different ways \(nrefs:1|made-up:bleu, nrefs:1|another",
    ):
        table(given)


def test_perplexity_may_be_over_different_numbers_of_subwords(tmp_path, root):
    rows = ["demo-rnnsearch", "demo-transformer"]
    reproduction = paper_runs.reproduction(
        (1,), dev=Table(title="Dev", experiments=rows, split="dev", metrics=["perplexity"])
    )
    catalog = publishing(paper_runs.make_runs(tmp_path, root, reproduction))
    path = tmp_path / "runs" / "demo" / "demo-rnnsearch" / "seed-1" / "dev.perplexity.json"
    write_json(path, read_json(path) | {"tokens": 4321})
    text = markdown(printed("dev", reproduction, catalog, tmp_path / "runs", {}))
    assert "(4321 subwords, 5000 subwords)" in text
    assert "Another split" not in text  # its metric is no column


def test_an_unknown_table_is_an_error(made):
    with pytest.raises(UserError, match="unknown table 'sistems': did you mean 'systems'"):
        table(made(), "sistems")


def test_every_metric_has_its_meaning():
    assert list(MEANINGS) == list(METRICS)


def test_a_difference_inside_the_noise_is_not_printed_as_a_win(made):
    given = table(made(), significance=CHANCES)
    _, scores, *_ = markdown(given).split("\n\n")
    lines = {
        line.split("|")[1].strip(): line.split("|")
        for line in scores.splitlines()
        if line.startswith("|")
    }
    header, without, attention, transformer = (
        lines[name]
        for name in ("system", "RNN without attention", "RNN with attention", "Transformer")
    )
    assert [name.strip() for name in header[2:4]] == ["BLEU (sacreBLEU)", "interval (95%)"]
    assert not without[2].strip().startswith("**")
    assert attention[2].strip().startswith("**")
    assert transformer[2].strip().endswith("**")
    assert [line[3].strip() for line in (without, attention, transformer)] == [
        "± 1.50",
        "± 1.25",
        "± 1.00",
    ]
    assert "approximate randomization over the sentences both say p < 0.05" in markdown(given)
    assert "Interval (95%)" in markdown(given)
    assert "(bs:1000; ar:10000)" in markdown(given)
    assert "\\textbf{" in latex(given, "x")
    assert "**" not in latex(given, "x")
    rows = given.rows.set_index("experiment")
    assert rows.loc["demo-rnnsearch", "bleu_p_randomization"] == 0.06
    page = html(given)
    assert page.count("<strong>") == latex(given, "x").count("\\textbf{")
    assert "**" not in page


def test_html_has_the_cells_of_markdown_and_escapes_them(made):
    given = table(made())
    page = html(given)
    assert "<h1>Systems &amp; scores, 100% made up</h1>" in page
    rows = re.findall("<tr>(.*?)</tr>", page)
    cells = [
        [unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows
    ]
    lines = [line for line in markdown(given).splitlines() if line.startswith("| ")]
    assert cells == [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert page.count("<li>") == len(re.findall("^- ", markdown(given), re.MULTILINE))
