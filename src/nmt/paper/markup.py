"""A table as CSV for programs, Markdown and HTML for screens and LaTeX (booktabs) for papers."""

import re
from html import escape

import pandas as pd

from nmt.configuration import METRICS
from nmt.paper.tables import Printed

LABELS = METRICS | {
    "parameters_millions": "parameters (millions)",
    "flops_6nd": "training FLOPs (6 N D + attention)",
}
BOLD = re.compile(r"\*\*(.*)\*\*")  # as Markdown writes it
LEFT = ("system", "device")  # columns of words; numbers stand to the right

# What LaTeX takes for something else than the character itself.
SPECIAL = {character: f"\\{character}" for character in "&%$#_{}"}
SPECIAL |= {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
}
SPECIAL |= {"<": r"\textless{}", ">": r"\textgreater{}", "[": "{[}", "*": "{*}"}
SPECIAL |= {"±": r"$\pm$", "−": "$-$", "×": r"$\times$"}


def csv(table: Printed) -> str:
    """A wide line for each row, numbers in full, with all that the notes say in columns of their
    own.
    """
    return table.rows.to_csv(index=False, lineterminator="\n")


def markdown(table: Printed) -> str:
    parts = [f"# {table.title}"]
    for cells in (scores(table), costs(table)):
        align = ["left" if column in LEFT else "right" for column in cells]
        escaped = cells.replace({r"\|": r"\\|"}, regex=True)  # a title's would end the cell
        parts.append(escaped.to_markdown(index=False, colalign=align, disable_numparse=True))
    parts.append("\n".join(f"- {note}" for note in [*table.notes, *references(table)]))
    return "\n\n".join(parts) + "\n"


PAGE = """<!doctype html>
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


def html(table: Printed) -> str:
    """A page by itself; a Snakemake report shows no Markdown."""
    notes = "\n".join(f"<li>{escape(note)}</li>" for note in [*table.notes, *references(table)])
    body = "\n".join([html_table(scores(table)), html_table(costs(table)), f"<ul>\n{notes}\n</ul>"])
    return PAGE.format(title=escape(table.title), body=body)


def html_table(cells: pd.DataFrame) -> str:
    def cell(tag: str, column: str, text: str) -> str:
        bold = BOLD.fullmatch(text)
        content = f"<strong>{escape(bold[1])}</strong>" if bold else escape(text)
        side = "left" if column in LEFT else "right"
        return f'<{tag} class="{side}">{content}</{tag}>'

    head = "".join(cell("th", column, column) for column in cells)
    rows = (
        "".join(cell("td", column, text) for column, text in row.items())
        for _, row in cells.iterrows()
    )
    return "<table>\n" + "\n".join(f"<tr>{row}</tr>" for row in (head, *rows)) + "\n</table>"


def latex(table: Printed, label: str) -> str:
    """A floating table of two parts, scores and cost; needs no package but booktabs."""
    parts = [
        tabular(cells, table.rows.kind.loc[cells.index]) for cells in (scores(table), costs(table))
    ]
    notes = "\\par\n  ".join(escaped(note) for note in [*table.notes, *references(table)])
    return (
        "\\begin{table}\n  \\centering\\footnotesize\n"
        f"  \\caption{{{escaped(table.title)}}}\n  \\label{{tab:{label}}}\n"
        + "  \\par\\medskip\n".join(parts)
        + f"  \\par\\medskip\\raggedright\\scriptsize\n  {notes}\\par\n\\end{{table}}\n"
    )


def tabular(cells: pd.DataFrame, kinds: pd.Series) -> str:
    """A rule divides the rows that are published only from ours, which follow."""
    align = "".join("l" if column in LEFT else "r" for column in cells)
    texts = cells.map(marked).set_axis([stacked(column) for column in cells], axis="columns")
    lines = texts.to_latex(index=False, escape=False, column_format=align).splitlines()
    cited = int((kinds == "published only").sum())
    if cited:
        lines.insert(lines.index("\\midrule") + 1 + cited, "\\midrule")
    return "".join(f"  {line}\n" for line in lines)


def stacked(header: str) -> str:
    r"""A header over several lines, so that its column stays narrow: "BLEU (cased)" ->
    \shortstack{BLEU\\(cased)}.
    """
    lines = [escaped(line) for line in re.split(r" (?=\()|(?<=,) ", header)]
    return "\\shortstack{" + "\\\\".join(lines) + "}"


def marked(text: str) -> str:
    """Text for LaTeX, bold where Markdown's is."""
    bold = BOLD.fullmatch(text)
    return f"\\textbf{{{escaped(bold[1])}}}" if bold else escaped(text)


def escaped(text: str) -> str:
    """Plain text for LaTeX."""
    return text.translate(str.maketrans(SPECIAL))


def scores(table: Printed) -> pd.DataFrame:
    """What was measured, as text."""
    return cells(table, table.metrics).assign(seeds=numbers(table.rows.runs, "{:.0f}"))


def costs(table: Printed) -> pd.DataFrame:
    """What it took, as text."""
    rows = table.rows
    found = cells(table, ["parameters_millions", "flops_6nd"])
    if rows.flops_sustained.notna().any():
        found["training FLOPs (sustained rate)"] = numbers(rows.flops_sustained, FORMS["flops_6nd"])
    found["minutes (a seed)"] = numbers(rows.minutes_per_seed, "{:.1f}")
    several = (rows.processes + " × ").where(rows.processes != "1", "")
    found["device"] = (several + rows.device + ", threads: " + rows.threads).fillna("")
    return found[
        (found.drop(columns="system") != "").any(axis="columns")
    ]  # most cited systems have no cost printed


def cells(table: Printed, measures: list[str]) -> pd.DataFrame:
    """Titles and measures; published numbers and differences only where there are any."""
    rows = table.rows
    columns = [
        rows.title.where(rows.kind == "run", rows.title + " (published only)").rename("system")
    ]
    for measure in measures:
        form = FORMS[measure]
        spread = numbers(rows[f"{measure}_sd"], " ± " + form) if measure in METRICS else ""
        texts = numbers(rows[measure], form) + spread
        if f"{measure}_may_be_best" in rows and (rows.kind == "run").sum() > 1:
            texts = texts.where(~rows[f"{measure}_may_be_best"].eq(True), "**" + texts + "**")
        columns.append(texts.rename(LABELS[measure]))
        if measure == next((name for name in measures if f"{name}_interval" in rows), None):
            columns.append(
                numbers(rows[f"{measure}_interval"], "± {:.2f}").rename("interval (95%)")
            )
        if rows[f"{measure}_published"].notna().any():
            marks = rows[f"{measure}_source"].map(
                lambda source: f" [{table.sources.index(source) + 1}]", "ignore"
            )
            texts = numbers(rows[f"{measure}_published"], PRINTED[measure]) + marks.fillna("")
            columns.append(texts.rename("published"))
        if measure != "flops_6nd" and rows[f"{measure}_difference"].notna().any():
            columns.append(
                numbers(rows[f"{measure}_difference"], form.replace(":", ":+")).rename("difference")
            )
    return pd.concat(columns, axis="columns")


FORMS = dict.fromkeys(METRICS, "{:.2f}") | {"parameters_millions": "{:.2f}", "flops_6nd": "{:.1e}"}
# As papers print them: scores with the digits they have, perplexities with two.
PRINTED = dict.fromkeys(METRICS, "{}") | {
    "perplexity": "{:.2f}",
    "parameters_millions": "{:g}",
    "flops_6nd": "{:.1e}",
}


def numbers(values: pd.Series, form: str) -> pd.Series:
    """Empty where there is no number; minus signs as such."""
    texts = [
        "" if pd.isna(value) else form.format(value).replace("-", "−").replace("e+", "e")
        for value in values
    ]
    return pd.Series(texts, index=values.index, dtype=str)


def references(table: Printed) -> list[str]:
    return [f"[{number}] {source}." for number, source in enumerate(table.sources, start=1)]
