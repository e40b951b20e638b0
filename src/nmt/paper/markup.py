"""Tables as text: CSV for programs, Markdown and HTML for screens, LaTeX (booktabs) for papers."""

import re
from html import escape

import pandas as pd

from nmt.evaluation.metrics import COSTS, METRICS
from nmt.paper.tables import COST_COLUMNS, ResultTable

# By column: what its header says, how our numbers are printed, and how published ones are. Papers'
# scores keep the digits that they have, perplexities have two.
LABELS = {name: metric.label for name, metric in METRICS.items()}
LABELS |= {column: COSTS[name].label for name, column in COST_COLUMNS.items()}
FORMATS = dict.fromkeys(METRICS, "{:.2f}")
FORMATS |= {"parameters_millions": "{:.2f}", "flops_6nd": "{:.1e}"}
PUBLISHED_FORMATS = dict.fromkeys(METRICS, "{}")
PUBLISHED_FORMATS |= {
    "perplexity": "{:.2f}",
    "parameters_millions": "{:g}",
    "flops_6nd": "{:.1e}",
}
# Columns of words; numbers are aligned to the right.
LEFT_ALIGNED = ("system", "device")
# Bold cells, as Markdown writes them.
BOLD = re.compile(r"\*\*(.*)\*\*")

# Characters that LaTeX does not print as they are.
LATEX_ESCAPES = {character: f"\\{character}" for character in "&%$#_{}"}
LATEX_ESCAPES |= {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "[": "{[}",
    "*": "{*}",
    "±": r"$\pm$",
    "−": "$-$",
    "×": r"$\times$",
}

HTML_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 14px/1.4 sans-serif; margin: 2em; color: #222; background: #fff; }}
table {{ border-collapse: collapse; margin-bottom: 1.5em; }}
th, td {{ padding: 0.3em 0.8em; text-align: right; vertical-align: bottom; }}
th {{ border-top: 2px solid; border-bottom: 1px solid; }}
tr:last-child td {{ border-bottom: 2px solid; }}
td {{ white-space: nowrap; }}
.left {{ text-align: left; }}
li {{ color: #555; max-width: 60em; overflow-wrap: anywhere; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def csv(table: ResultTable) -> str:
    """Return the table as CSV: numbers with all digits, and all that the notes say as columns."""
    return table.rows.to_csv(index=False, lineterminator="\n")


def markdown(table: ResultTable) -> str:
    """Return the table as Markdown: a part on scores, a part on costs, and the notes."""
    parts = [f"# {table.title}"]
    for cells in (score_cells(table), cost_cells(table)):
        alignment = ["left" if column in LEFT_ALIGNED else "right" for column in cells]
        # A vertical bar in a title would end the cell.
        escaped = cells.replace({r"\|": r"\\|"}, regex=True)
        parts.append(escaped.to_markdown(index=False, colalign=alignment, disable_numparse=True))
    parts.append("\n".join(f"- {note}" for note in notes_and_sources(table)))
    return "\n\n".join(parts) + "\n"


def html(table: ResultTable) -> str:
    """Return the table as a complete HTML page, because a Snakemake report shows no Markdown."""
    items = "\n".join(f"<li>{escape(note)}</li>" for note in notes_and_sources(table))
    parts = [html_table(score_cells(table)), html_table(cost_cells(table)), f"<ul>\n{items}\n</ul>"]
    return HTML_PAGE.format(title=escape(table.title), body="\n".join(parts))


def html_table(cells: pd.DataFrame) -> str:
    """Return the cells as an HTML table."""
    lines = ["".join(html_cell("th", column, column) for column in cells)]
    for _, row in cells.iterrows():
        lines.append("".join(html_cell("td", column, text) for column, text in row.items()))
    return "<table>\n" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>"


def html_cell(tag: str, column: str, text: str) -> str:
    """Return a cell in HTML, with a class that aligns it as its column."""
    bold = BOLD.fullmatch(text)
    content = f"<strong>{escape(bold[1])}</strong>" if bold else escape(text)
    side = "left" if column in LEFT_ALIGNED else "right"
    return f'<{tag} class="{side}">{content}</{tag}>'


def latex(table: ResultTable, label: str) -> str:
    """Return the table as a LaTeX float of two parts, scores and costs.

    It needs no package but booktabs; `label` is what references to it say after "tab:".
    """
    parts = [
        latex_tabular(cells, table.rows.kind.loc[cells.index])
        for cells in (score_cells(table), cost_cells(table))
    ]
    notes = "\\par\n  ".join(escape_latex(note) for note in notes_and_sources(table))
    return (
        "\\begin{table}\n  \\centering\\footnotesize\n"
        f"  \\caption{{{escape_latex(table.title)}}}\n  \\label{{tab:{label}}}\n"
        + "  \\par\\medskip\n".join(parts)
        + f"  \\par\\medskip\\raggedright\\scriptsize\n  {notes}\\par\n\\end{{table}}\n"
    )


def latex_tabular(cells: pd.DataFrame, kinds: pd.Series) -> str:
    """Return the cells as a tabular; a rule divides rows that are published only from ours."""
    alignment = "".join("l" if column in LEFT_ALIGNED else "r" for column in cells)
    headers = [latex_header(column) for column in cells]
    texts = cells.map(latex_cell).set_axis(headers, axis="columns")
    lines = texts.to_latex(index=False, escape=False, column_format=alignment).splitlines()
    cited = int((kinds == "published only").sum())
    if cited:
        lines.insert(lines.index("\\midrule") + 1 + cited, "\\midrule")
    return "".join(f"  {line}\n" for line in lines)


def latex_header(text: str) -> str:
    r"""Return a header on several lines, so that its column stays narrow.

    "BLEU (cased)" becomes \shortstack{BLEU\\(cased)}.
    """
    lines = [escape_latex(line) for line in re.split(r" (?=\()|(?<=,) ", text)]
    return "\\shortstack{" + "\\\\".join(lines) + "}"


def latex_cell(text: str) -> str:
    """Return a cell in LaTeX, bold where it is bold in Markdown."""
    bold = BOLD.fullmatch(text)
    return f"\\textbf{{{escape_latex(bold[1])}}}" if bold else escape_latex(text)


def escape_latex(text: str) -> str:
    """Return LaTeX that prints the text."""
    return "".join(LATEX_ESCAPES.get(character, character) for character in text)


def notes_and_sources(table: ResultTable) -> list[str]:
    """Return the notes, followed by the sources of published numbers as cells refer to them."""
    sources = [f"[{number}] {source}." for number, source in enumerate(table.sources, start=1)]
    return [*table.notes, *sources]


def score_cells(table: ResultTable) -> pd.DataFrame:
    """Return the part of the table on scores, as text."""
    return number_cells(table, table.metrics).assign(
        seeds=format_numbers(table.rows.runs, "{:.0f}")
    )


def cost_cells(table: ResultTable) -> pd.DataFrame:
    """Return the part of the table on costs, as text, without rows that have none."""
    rows = table.rows
    cells = number_cells(table, list(COST_COLUMNS.values()))
    if rows.flops_sustained.notna().any():
        sustained = format_numbers(rows.flops_sustained, FORMATS["flops_6nd"])
        cells["training FLOPs (sustained rate)"] = sustained
    cells["minutes (a seed)"] = format_numbers(rows.minutes_per_seed, "{:.1f}")
    processes = (rows.processes + " × ").where(rows.processes != "1", "")
    cells["device"] = (processes + rows.device + ", threads: " + rows.threads).fillna("")
    # Most papers print no cost of the systems that are only cited.
    has_cost = (cells.drop(columns="system") != "").any(axis="columns")
    return cells[has_cost]


def number_cells(table: ResultTable, columns: list[str]) -> pd.DataFrame:
    """Return the titles and, for each column of the table's rows, one to four columns of text.

    These are our numbers; the interval beside the first metric that has one; published numbers and
    differences to them, where there are any.
    """
    rows = table.rows
    titles = rows.title.where(rows.kind == "run", rows.title + " (published only)")
    texts = [titles.rename("system")]
    with_interval = [column for column in columns if f"{column}_interval" in rows]
    for column in columns:
        texts.append(our_cells(rows, column))
        if column in with_interval[:1]:
            interval = format_numbers(rows[f"{column}_interval"], "± {:.2f}")
            texts.append(interval.rename("interval (95%)"))
        if rows[f"{column}_published"].notna().any():
            texts.append(published_cells(table, column))
        if column != "flops_6nd" and rows[f"{column}_difference"].notna().any():
            signed = FORMATS[column].replace(":", ":+")
            difference = format_numbers(rows[f"{column}_difference"], signed)
            texts.append(difference.rename("difference"))
    return pd.concat(texts, axis="columns")


def our_cells(rows: pd.DataFrame, column: str) -> pd.Series:
    """Return our numbers as text, with their spread; the best ones bold where rows compete."""
    texts = format_numbers(rows[column], FORMATS[column])
    if column in METRICS:
        texts = texts + format_numbers(rows[f"{column}_sd"], " ± " + FORMATS[column])
        texts = texts + rows.apply(divergence, axis="columns")
    may_be_best = f"{column}_may_be_best"
    if may_be_best in rows and (rows.kind == "run").sum() > 1:
        texts = texts.where(~rows[may_be_best].eq(True), "**" + texts + "**")
    return texts.rename(LABELS[column])


def divergence(row: pd.Series) -> str:
    """Return what a score's cell says of trainings that have diverged."""
    if not row.diverged > 0:  # NaN in rows that are published only
        return ""
    if row.diverged == row.runs:
        return " (diverged)"
    return f" ({row.diverged:.0f} of {row.runs:.0f} diverged)"


def published_cells(table: ResultTable, column: str) -> pd.Series:
    """Return the published numbers as text, with references to their sources."""
    numbers = format_numbers(table.rows[f"{column}_published"], PUBLISHED_FORMATS[column])
    references = [
        f" [{table.sources.index(source) + 1}]" if source in table.sources else ""
        for source in table.rows[f"{column}_source"]
    ]
    return (numbers + references).rename("published")


def format_numbers(values: pd.Series, form: str) -> pd.Series:
    """Return numbers as text, empty where there is none, with typographic minus signs.

    Those from a million on have an exponent.
    """
    texts = []
    for value in values:
        if pd.isna(value):
            texts.append("")
            continue
        number_form = form.replace(".2f", ".1e") if abs(value) >= 1e6 else form
        texts.append(number_form.format(value).replace("-", "−").replace("e+", "e"))
    return pd.Series(texts, index=values.index, dtype=str)
