"""Tables as text: CSV for programs, Markdown and HTML for screens, LaTeX (booktabs) for papers."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from html import escape

import pandas as pd

# Columns of words; numbers are aligned to the right.
LEFT_ALIGNED = (
    *("system", "device", "vocabulary", "split", "layer"),
    *("claim", "source", "experiment", "verdict"),
)
# Bold cells, as Markdown writes them
BOLD = re.compile(r"\*\*(.*)\*\*")
# Where a header in LaTeX is broken, so that its column stays narrow
HEADER_BREAKS = re.compile(r" (?=\()|(?<=,) ")

# Characters that LaTeX does not print as they are.
LATEX_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {symbol: f"${symbol}$" for symbol in "|<>"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"±": r"$\pm$", "−": "$-$", "×": r"$\times$", "†": r"$\dagger$", "Δ": r"$\Delta$"}
    | {"↓": r"$\downarrow$", "·": r"$\cdot$", "²": "$^2$", "–": "--"}
    | {"[": "{[}"}  # not an option of the line break before it
)


@dataclass(frozen=True)
class Sheet:
    """A table, ready to be written in any form.

    parts: its cells as text, below each other. data: what is written as CSV.
    names: the experiment or ensemble of each row of the parts that shows one, by its index.
    """

    title: str
    parts: list[pd.DataFrame]
    data: pd.DataFrame
    notes: list[str]
    names: dict[int, str] = field(default_factory=dict)


def csv(sheet: Sheet) -> str:
    """Return the table as CSV: numbers with all digits, and all that the notes say as columns."""
    return sheet.data.to_csv(index=False, lineterminator="\n")


def markdown(sheet: Sheet) -> str:
    """Return the table as Markdown: its parts and the notes."""
    notes = "\n".join(f"- {note}" for note in sheet.notes)
    parts = [f"# {sheet.title}", *map(markdown_table, sheet.parts), notes]
    return "\n\n".join(parts) + "\n"


def markdown_table(cells: pd.DataFrame) -> str:
    """Return cells of text as a table in Markdown."""
    alignment = ["left" if column in LEFT_ALIGNED else "right" for column in cells]
    # A vertical bar in a title would end the cell.
    escaped = cells.replace({r"\|": r"\\|"}, regex=True)
    return escaped.to_markdown(index=False, colalign=alignment, disable_numparse=True)


def html(sheet: Sheet, linked: Collection[str] = ()) -> list[str]:
    """Return the parts in HTML.

    linked: experiments and ensembles whose cells lead to the page's #row-NAME.
    """
    tables = []
    for part in sheet.parts:
        cells = part.map(with_bold, escaped=escape, bold="<strong>{}</strong>")
        for index, name in sheet.names.items():
            if name in linked and index in cells.index:
                link = f'<a href="#row-{name}">{{}}</a>'.format
                cells.loc[index] = [link(text) if text else "" for text in cells.loc[index]]
        tables.append(cells.to_html(index=False, escape=False, border=0))
    return tables


def latex(sheet: Sheet, label: str) -> str:
    """Return the table as a LaTeX float, its parts below each other.

    It needs no package but booktabs; `label` is what references to it say after "tab:".
    """
    parts = []
    for part in sheet.parts:
        headers = [
            "\\shortstack{" + "\\\\".join(map(escape_latex, HEADER_BREAKS.split(column))) + "}"
            for column in part
        ]
        alignment = "".join("l" if column in LEFT_ALIGNED else "r" for column in part)
        cells = part.map(with_bold, escaped=escape_latex, bold=r"\textbf{{{}}}").set_axis(
            headers, axis="columns"
        )
        lines = cells.to_latex(index=False, escape=False, column_format=alignment).splitlines()
        cited = sum(index not in sheet.names for index in part.index) if sheet.names else 0
        if cited:  # a rule between the rows that are published only and ours
            lines.insert(lines.index("\\midrule") + 1 + cited, "\\midrule")
        parts.append("".join(f"  {line}\n" for line in lines))
    notes = "\\par\n  ".join(map(escape_latex, sheet.notes))
    return (
        "\\begin{table}\n  \\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}\n"
        f"  \\caption{{{escape_latex(sheet.title)}}}\n  \\label{{tab:{label}}}\n"
        + "  \\par\\medskip\n".join(parts)
        + f"  \\par\\medskip\\raggedright\\scriptsize\n  {notes}\\par\n\\end{{table}}\n"
    )


def with_bold(text: str, escaped: Callable[[str], str], bold: str) -> str:
    """Return a cell escaped, and in the form `bold` where it is bold in Markdown."""
    match = BOLD.fullmatch(text)
    return bold.format(escaped(match[1])) if match else escaped(text)


def escape_latex(text: str) -> str:
    """Return LaTeX that prints the text."""
    return text.translate(LATEX_ESCAPES)
