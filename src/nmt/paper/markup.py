"""Tables as text: CSV for programs, Markdown and HTML for screens, LaTeX (booktabs) for papers."""

import re
from html import escape

import pandas as pd

from nmt.paper.cells import Sheet

# Columns of words; numbers are aligned to the right.
LEFT_ALIGNED = ("system", "device", "vocabulary", "split", "layer")
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
    "†": r"$\dagger$",
    "Δ": r"$\Delta$",
    "–": "--",
    "\u00a0": "~",  # a space at which no line ends
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


def csv(sheet: Sheet) -> str:
    """Return the table as CSV: numbers with all digits, and all that the notes say as columns."""
    return sheet.data.to_csv(index=False, lineterminator="\n")


def markdown(sheet: Sheet) -> str:
    """Return the table as Markdown: its parts and the notes."""
    parts = [f"# {sheet.title}"]
    for cells in sheet.parts:
        alignment = ["left" if column in LEFT_ALIGNED else "right" for column in cells]
        # A vertical bar in a title would end the cell.
        escaped = cells.replace({r"\|": r"\\|"}, regex=True)
        parts.append(escaped.to_markdown(index=False, colalign=alignment, disable_numparse=True))
    parts.append("\n".join(f"- {note}" for note in sheet.notes))
    return "\n\n".join(parts) + "\n"


def html(sheet: Sheet) -> str:
    """Return the table as a complete HTML page, because a Snakemake report shows no Markdown."""
    items = "\n".join(f"<li>{escape(note)}</li>" for note in sheet.notes)
    parts = [*map(html_table, sheet.parts), f"<ul>\n{items}\n</ul>"]
    return HTML_PAGE.format(title=escape(sheet.title), body="\n".join(parts))


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


def latex(sheet: Sheet, label: str) -> str:
    """Return the table as a LaTeX float, its parts below each other.

    It needs no package but booktabs; `label` is what references to it say after "tab:".
    """
    parts = [
        latex_tabular(cells, sum(row in sheet.cited for row in cells.index))
        for cells in sheet.parts
    ]
    notes = "\\par\n  ".join(escape_latex(note) for note in sheet.notes)
    return (
        "\\begin{table}\n  \\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}\n"
        f"  \\caption{{{escape_latex(sheet.title)}}}\n  \\label{{tab:{label}}}\n"
        + "  \\par\\medskip\n".join(parts)
        + f"  \\par\\medskip\\raggedright\\scriptsize\n  {notes}\\par\n\\end{{table}}\n"
    )


def latex_tabular(cells: pd.DataFrame, cited: int) -> str:
    """Return the cells as a tabular; a rule divides the first `cited` rows from ours."""
    alignment = "".join("l" if column in LEFT_ALIGNED else "r" for column in cells)
    headers = [latex_header(column) for column in cells]
    texts = cells.map(latex_cell).set_axis(headers, axis="columns")
    lines = texts.to_latex(index=False, escape=False, column_format=alignment).splitlines()
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
